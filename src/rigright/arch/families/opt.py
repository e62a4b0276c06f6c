"""OPT: GPT-2 with two rows more of positions, the first model with a narrower token table too."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import matrix
from rigright.arch.config import Config
from rigright.arch.decoder import CONTEXT, Style, read_decoder
from rigright.arch.record import Arch, Cut

MATCHES = ("opt", "OPTForCausalLM")


SPARE_ROWS = 2


def read(config: Config, name: str) -> Arch:
    """Read an OPT config."""
    biased = config.flag("enable_bias", default=True)
    before = config.flag("do_layer_norm_before", default=True)
    style = Style(
        family="opt",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=biased,
        gated=False,
        norm="layer" if config.flag("layer_norm_elementwise_affine", default=True) else "none",
        last_norm=before and not config.flag("_remove_final_layer_norm", default=False),
        positions=config.size(*CONTEXT) + SPARE_ROWS,
    )
    arch = read_decoder(config, name, style=style)
    narrow = config.size("word_embed_proj_dim", default=arch.trunk.hidden)
    return arch if narrow == arch.trunk.hidden else _narrowed(arch, narrow)


def _narrowed(arch: Arch, narrow: int) -> Arch:
    """The token table of another width than the layers, with a projection in and one out."""
    hidden = arch.trunk.hidden
    bridges = (
        *matrix("project", hidden, inputs=narrow, cut=Cut.WHOLE),
        *matrix("project", narrow, inputs=hidden, cut=Cut.WHOLE),
    )
    tables = tuple(
        replace(weight, shape=(weight.shape[0], narrow)) if weight.role in {"embed", "head"} else weight
        for weight in arch.trunk.outer
    )
    return replace(arch, towers=(replace(arch.trunk, outer=(*tables, *bridges)),))
