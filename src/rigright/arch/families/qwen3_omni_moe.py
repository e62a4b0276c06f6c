"""Qwen Omni: a thinker that sees, hears and writes. What speaks (talker, vocoder) is told apart."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch import merging
from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.families.whisper import audio_encoder
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Tower
from rigright.arch.stack import Stack, conv, layer, linear, table
from rigright.base.words import say

MATCHES = (
    "qwen3_omni_moe",
    "qwen3_omni_moe_thinker",
    "Qwen3OmniMoeForConditionalGeneration",
    "Qwen3OmniMoeThinkerForConditionalGeneration",
    "qwen2_5_omni",
    "qwen2_5_omni_thinker",
    "Qwen2_5OmniForConditionalGeneration",
    "Qwen2_5OmniThinkerForConditionalGeneration",
    "Qwen2_5OmniModel",
)
_SPEAKING = ("talker_config", "code2wav_config", "token2wav_config")
_FRAMES = 3000  # of 30 seconds


def read(config: Config, name: str) -> Arch:
    """Read a Qwen Omni config, whole or the thinker alone."""
    told = config.word("model_type", default="qwen3_omni_moe")
    new = "3" in told.split("_", maxsplit=1)[0]
    kind = "qwen3_omni_moe_thinker" if new else "qwen2_5_omni_thinker"
    stem = kind.removesuffix("_thinker")
    thinker = config.part("thinker_config") if "thinker_config" in config else config
    thinker = full(thinker.over(model_type=kind), kind)
    arch = language(thinker, name, kind=f"{stem}_text")
    eye = part(thinker, "vision_config", kind=f"{stem}_vision_encoder")
    ear = part(thinker, "audio_config", kind=f"{stem}_audio_encoder")
    towers = (merging.qwen3(eye), ear_tower(ear)) if new else (merging.qwen25(eye), _whisper(ear))
    whole = join(config.over(model_type=told), arch, towers=towers)
    silent = not any(config.raw.get(key) for key in _SPEAKING)
    doubt = say("the speech output (talker, vocoder) is not counted")
    return whole if silent else replace(whole, warnings=(*whole.warnings, doubt))


def _whisper(ear: Config) -> Tower:
    """Whisper's encoder without a position table, and two tokens around each sound."""
    outputs = ear.size("output_dim")
    handed = linear("project", (outputs, ear.size("d_model")), sites=ear.size("max_source_positions") // 2)
    return audio_encoder(ear, name="audio", positions=False, after=(*handed, *table(2, outputs)))


def ear_tower(ear: Config) -> Tower:
    """Three convolutions over the spectrogram, layers with all biases, two projections."""
    hidden, wide = ear.size("d_model"), ear.size("downsample_hidden_size")
    bands = ear.size("num_mel_bins")
    for _ in range(3):
        bands = (bands + 1) // 2
    tok = _FRAMES // 8
    stack = Stack(
        hidden=hidden, heads=ear.size("encoder_attention_heads"), width=ear.size("encoder_ffn_dim"), tok=tok
    )
    return Tower(
        name="audio",
        hidden=hidden,
        layers=(layer(stack),) * ear.layers("encoder_layers"),
        outer=(
            *conv("conv", (wide, 1, 3, 3), sites=tok * bands * 16),
            *conv("conv", (wide, wide, 3, 3), sites=tok * bands * 4),
            *conv("conv", (wide, wide, 3, 3), sites=tok * bands),
            *linear("patch", (hidden, wide * bands), bias=False, sites=tok),
            *norm(hidden, bias=True),
            *linear("project", (hidden, hidden), sites=tok),
            *linear("project", (ear.size("output_dim"), hidden), sites=tok),
        ),
        sample_tok=tok,
    )
