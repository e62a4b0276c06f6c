"""Language models with Whisper's ear: Qwen2-Audio, Voxtral, Audio Flamingo."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.families.whisper import audio_encoder
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Weight
from rigright.arch.stack import linear

MATCHES = (
    "qwen2_audio",
    "Qwen2AudioForConditionalGeneration",
    "voxtral",
    "VoxtralForConditionalGeneration",
    "audioflamingo3",
    "musicflamingo",
    "glmasr",
    "GlmAsrForConditionalGeneration",
)
_KINDS = {
    "qwen2_audio": "qwen2_audio_encoder",
    "voxtral": "voxtral_encoder",
    "audioflamingo3": "audioflamingo3_encoder",
    "musicflamingo": "audioflamingo3_encoder",
    "glmasr": "glmasr_encoder",
}
_LLAMAS = frozenset({"voxtral", "glmasr"})  # kinds whose language part is Llama's where not said
_ROTARY = frozenset({"glmasr"})  # kinds whose ear has no table of places


def read(config: Config, name: str) -> Arch:
    """Read a language model that hears."""
    told = config.word("model_type", default="qwen2_audio")
    kind = told if told in _KINDS else "qwen2_audio"
    config = full(config, kind)
    arch = language(config, name, kind="llama" if kind in _LLAMAS else "qwen2")
    ear = part(config, "audio_config", kind=_KINDS[kind])
    ear = ear.over(max_source_positions=ear.size("max_source_positions", "max_position_embeddings"))
    projected = _projector(config, ear, kind=kind, said=arch.trunk.hidden)
    tower = audio_encoder(ear, name="audio", positions=kind not in _ROTARY, after=projected)
    return join(config, arch, towers=(tower,), task="audio-text")


def _projector(config: Config, ear: Config, *, kind: str, said: int) -> tuple[Weight, ...]:
    hidden = ear.size("d_model", "hidden_size")
    tok = ear.size("max_source_positions")
    if kind == "qwen2_audio":
        return linear("project", (said, hidden), sites=tok // 2)
    if kind == "voxtral":
        folded = ear.size("intermediate_size", "encoder_ffn_dim")
        sites = tok * hidden // folded
        return (
            *linear("project", (said, folded), bias=False, sites=sites),
            *linear("project", (said, said), bias=False, sites=sites),
        )
    if kind == "glmasr":
        folded = ear.size("intermediate_size")
        sites = tok * hidden // folded
        return (
            *linear("project", (2 * said, folded), sites=sites),
            *linear("project", (said, 2 * said), sites=sites),
        )
    biased = config.flag("projector_bias", default=True)
    return (
        *linear("project", (said, hidden), bias=biased, sites=tok // 2),
        *linear("project", (said, said), bias=biased, sites=tok // 2),
    )
