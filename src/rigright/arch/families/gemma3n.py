"""Gemma 3n: a MobileNet eye known by its name alone, an ear of conformer layers, a Gemma 3n decoder."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.conformer import FRAMES, Conformer, ear_tower
from rigright.arch.defaults import full, part
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.stack import linear, table
from rigright.base.errors import DataError
from rigright.base.tables import DATA, read_rows, text, whole
from rigright.base.words import say

MATCHES = ("gemma3n", "Gemma3nForConditionalGeneration", "Gemma3nModel")
_SEEN_TOK = 256  # an image becomes 16 x 16 tokens


def read(config: Config, name: str) -> Arch:
    """Read a Gemma 3n config."""
    config = full(config, "gemma3n")
    arch = language(config, name, kind="gemma3n_text")
    said = arch.trunk.hidden
    eye, ear = (
        part(config, "vision_config", kind="gemma3n_vision"),
        part(config, "audio_config", kind="gemma3n_audio"),
    )
    whole_arch = join(config, arch, towers=(_eye(eye, said), _ear(ear, said)))
    doubt = say("vision network {kind}: parameters counted, compute not counted", kind=_called(eye))
    return replace(whole_arch, warnings=(*whole_arch.warnings, doubt))


def _called(eye: Config) -> str:
    return eye.word("architecture", default="mobilenetv5_300m_enc")


def _entry(config: Config, said: int, *, tok: int) -> tuple[Weight, ...]:
    """Tokens of its own for a sense, norms for hard and soft ones, a projection."""
    width = config.size("hidden_size")
    return (
        *table(config.size("vocab_size"), width),
        *norm(width) * 2,
        *linear("project", (said, width), bias=False, sites=tok),
    )


def _eye(eye: Config, said: int) -> Tower:
    called = _called(eye)
    rows = read_rows(DATA / "arch" / "timm.csv", {"model": text, "params": whole})
    known = next((row["params"] for row in rows if row["model"] == called), None)
    if known is None:
        raise DataError(
            say('{where}: "{key}" cannot be {value}', where=eye.where, key="architecture", value=called)
        )
    network = Weight(role="other", shape=(known,))
    outer = (network, *_entry(eye, said, tok=_SEEN_TOK))
    return Tower(name="vision", hidden=eye.size("hidden_size"), layers=(), outer=outer, sample_tok=_SEEN_TOK)


def _ear(config: Config, said: int) -> Tower:
    first, second = config.sizes("sscp_conv_channel_size")
    features = config.size("input_feat_size")
    ear = Conformer(
        hidden=config.size("hidden_size"),
        heads=config.size("conf_num_attention_heads"),
        layers=config.layers("conf_num_hidden_layers"),
        kernel=config.size("conf_conv_kernel_size"),
        channels=(first, second),
        bands=features // 4,
        features=features,
        window_tok=config.whole("conf_attention_chunk_size") + config.whole("conf_attention_context_left"),
    )
    tok = FRAMES // 4 // config.size("conf_reduction_factor", default=4)
    return ear_tower(ear, after=_entry(config, said, tok=tok))
