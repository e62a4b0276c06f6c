"""Qwen3-ASR: the ear of Qwen3-Omni, a Qwen3 decoder."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.families.qwen3_omni_moe import ear_tower
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch

MATCHES = ("qwen3_asr", "Qwen3ASRForConditionalGeneration")


def read(config: Config, name: str) -> Arch:
    """Read a Qwen3-ASR config."""
    config = full(config, "qwen3_asr")
    arch = language(config, name, kind="qwen3")
    ear = part(config, "audio_config", kind="qwen3_asr_encoder")
    return join(config, arch, towers=(ear_tower(ear),), task="audio-text")
