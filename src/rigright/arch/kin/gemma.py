"""Gemma 3n and 4: the eyes and ears before their decoders."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.conformer import FRAMES, Conformer, ear_tower
from rigright.arch.defaults import part
from rigright.arch.families import kind_of
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.stack import Stack, conv, eye_tower, linear, table, vector
from rigright.base.errors import DataError
from rigright.base.record import replace
from rigright.base.tables import DATA, read_rows, text, whole
from rigright.base.words import say

_SEEN_TOK = 256  # an image becomes 16 x 16 tokens


def read_gemma3n(config: Config, name: str) -> Arch:
    """Gemma 3n: a MobileNet eye known by its name alone, an ear of conformer layers, a Gemma 3n decoder."""
    arch = language(config, name, kind="gemma3n_text")
    number = arch.trunk.hidden
    eye, ear = (
        part(config, "vision_config", kind="gemma3n_vision"),
        part(config, "audio_config", kind="gemma3n_audio"),
    )
    whole_arch = join(config, arch, towers=(_gemma3n_eye(eye, number), _gemma3n_ear(ear, number)))
    doubt = say("vision network {kind}: parameters counted, compute not counted", kind=_called(eye))
    return replace(whole_arch, warnings=(*whole_arch.warnings, doubt))


def _called(eye: Config) -> str:
    return eye.word("architecture", default="mobilenetv5_300m_enc")


def _entry(config: Config, number: int, *, tok: int) -> tuple[Weight, ...]:
    """Tokens of its own for a sense, norms for hard and soft ones, a projection."""
    width = config.size("hidden_size")
    return (
        *table(config.size("vocab_size"), width),
        *norm(width) * 2,
        *linear("project", (number, width), bias=False, sites=tok),
    )


def _gemma3n_eye(eye: Config, number: int) -> Tower:
    called = _called(eye)
    rows = read_rows(DATA / "arch" / "timm.csv", {"model": text, "params": whole})
    known = next((row["params"] for row in rows if row["model"] == called), None)
    if known is None:
        raise DataError(
            say('{where}: "{key}" cannot be {value}', where=eye.where, key="architecture", value=called)
        )
    network = Weight(role="other", shape=(known,))
    outer = (network, *_entry(eye, number, tok=_SEEN_TOK))
    return Tower(name="vision", hidden=eye.size("hidden_size"), layers=(), outer=outer, sample_tok=_SEEN_TOK)


def _gemma3n_ear(config: Config, number: int) -> Tower:
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
    return ear_tower(ear, after=_entry(config, number, tok=tok))


PATCHES = 2520  # of an image that becomes 280 tokens of 3 x 3 patches


def read_gemma4(config: Config, name: str) -> Arch:
    """Gemma 4: an eye with gated layers, an ear of conformer layers where there is one, a Gemma 4 decoder."""
    kind = kind_of(config, "gemma4")
    arch = language(config, name, kind=f"{kind}_text")
    number = arch.trunk.hidden
    build = (_flat_eye, _flat_ear) if kind == "gemma4_unified" else (_gemma4_eye, _gemma4_ear)
    senses = zip(("vision_config", "audio_config"), (f"{kind}_vision", f"{kind}_audio"), build, strict=True)
    towers = tuple(
        tower(part(config, key, kind=sense), number)
        for key, sense, tower in senses
        if config.raw.get(key) is not None
    )
    return join(config, arch, towers=towers)


def _gemma4_eye(config: Config, number: int) -> Tower:
    """Patches as flat pixels, two axes of positions, four norms a layer."""
    hidden, head = config.size("hidden_size"), config.size("head_dim")
    stack = Stack(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        kv_heads=config.size("num_key_value_heads"),
        head_dim=head,
        width=config.size("intermediate_size"),
        gated=True,
        biases="",
        norms=4,
        norm_bias=False,
        qk_norm=head,
        tok=PATCHES,
    )
    pixels = 3 * config.size("patch_size") ** 2
    pool = config.size("pooling_kernel_size", default=3) ** 2
    return eye_tower(
        stack,
        config.layers("num_hidden_layers"),
        outer=(
            *conv("patch", (hidden, pixels), bias=False, sites=PATCHES),
            *table(2 * config.size("position_embedding_size"), hidden),
            *linear("project", (number, hidden), bias=False, sites=PATCHES // pool),
        ),
    )


def _gemma4_ear(config: Config, number: int) -> Tower:
    hidden, width = config.size("hidden_size"), config.size("output_proj_dims")
    first, second = config.sizes("subsampling_conv_channels")
    ear = Conformer(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        layers=config.layers("num_hidden_layers"),
        kernel=config.size("conv_kernel_size"),
        channels=(first, second),
        bands=first // 4,
        window_tok=config.whole("attention_chunk_size") + config.whole("attention_context_left"),
    )
    handed = linear("project", (width, hidden), sites=FRAMES // 4)
    return ear_tower(ear, after=(*handed, *linear("project", (number, width), bias=False, sites=FRAMES // 4)))


def _flat_eye(config: Config, number: int) -> Tower:
    """No layers of its own: patches are projected and the language model looks at them."""
    width = config.size("mm_embed_dim", "hidden_size")
    pixels = 3 * (config.size("patch_size") * config.size("pooling_kernel_size", default=3)) ** 2
    rows = config.size("mm_posemb_size", "position_embedding_size")
    weights: tuple[Weight, ...] = (
        *norm(pixels, bias=True),
        *linear("patch", (width, pixels), sites=PATCHES),
        *norm(width, bias=True) * 2,
        *vector(rows, 2, width),
        *linear("project", (number, width), bias=False, sites=PATCHES),
    )
    return Tower(name="vision", hidden=width, layers=(), outer=weights, sample_tok=PATCHES)


def _flat_ear(config: Config, number: int) -> Tower:
    width = config.size("audio_embed_dim", "output_proj_dims", "hidden_size")
    weights = linear("project", (number, width), bias=False, sites=FRAMES // 4)
    return Tower(name="audio", hidden=width, layers=(), outer=weights, sample_tok=FRAMES // 4)
