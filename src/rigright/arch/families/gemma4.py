"""Gemma 4: an eye with gated layers, an ear of conformer layers where there is one, a Gemma 4 decoder."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.conformer import FRAMES, Conformer, ear_tower
from rigright.arch.defaults import full, part
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table, vector

MATCHES = (
    "gemma4",
    "Gemma4ForConditionalGeneration",
    "gemma4_unified",
    "Gemma4UnifiedForConditionalGeneration",
)
PATCHES = 2520  # of an image that becomes 280 tokens of 3 x 3 patches


def read(config: Config, name: str) -> Arch:
    """Read a Gemma 4 config."""
    kind = config.word("model_type", default="gemma4")
    kind = kind if kind in MATCHES else "gemma4"
    config = full(config, kind)
    arch = language(config, name, kind=f"{kind}_text")
    said = arch.trunk.hidden
    build = (_flat_eye, _flat_ear) if kind == "gemma4_unified" else (_eye, _ear)
    senses = zip(("vision_config", "audio_config"), (f"{kind}_vision", f"{kind}_audio"), build, strict=True)
    towers = tuple(
        tower(part(config, key, kind=sense), said)
        for key, sense, tower in senses
        if config.raw.get(key) is not None
    )
    return join(config, arch, towers=towers)


def _eye(config: Config, said: int) -> Tower:
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
    return Tower(
        name="vision",
        hidden=hidden,
        layers=(layer(stack),) * config.layers("num_hidden_layers"),
        outer=(
            *conv("patch", (hidden, pixels), bias=False, sites=PATCHES),
            *table(2 * config.size("position_embedding_size"), hidden),
            *linear("project", (said, hidden), bias=False, sites=PATCHES // pool),
        ),
        sample_tok=PATCHES,
    )


def _ear(config: Config, said: int) -> Tower:
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
    return ear_tower(ear, after=(*handed, *linear("project", (said, width), bias=False, sites=FRAMES // 4)))


def _flat_eye(config: Config, said: int) -> Tower:
    """No layers of its own: patches are projected and the language model looks at them."""
    width = config.size("mm_embed_dim", "hidden_size")
    pixels = 3 * (config.size("patch_size") * config.size("pooling_kernel_size", default=3)) ** 2
    rows = config.size("mm_posemb_size", "position_embedding_size")
    weights: tuple[Weight, ...] = (
        *norm(pixels, bias=True),
        *linear("patch", (width, pixels), sites=PATCHES),
        *norm(width, bias=True) * 2,
        *vector(rows, 2, width),
        *linear("project", (said, width), bias=False, sites=PATCHES),
    )
    return Tower(name="vision", hidden=width, layers=(), outer=weights, sample_tok=PATCHES)


def _flat_ear(config: Config, said: int) -> Tower:
    width = config.size("audio_embed_dim", "output_proj_dims", "hidden_size")
    weights = linear("project", (said, width), bias=False, sites=FRAMES // 4)
    return Tower(name="audio", hidden=width, layers=(), outer=weights, sample_tok=FRAMES // 4)
