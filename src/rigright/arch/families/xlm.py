"""XLM and FlauBERT's kin: norms after each part and after the token table, perhaps vectors of languages."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.decoder import CONTEXT, Style, both_ways, read_decoder, read_sizes
from rigright.arch.record import Arch, Weight

MATCHES = ("xlm", "XLMWithLMHeadModel", "XLMModel")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    size = read_sizes(config, width=1)
    languages = config.size("n_langs", default=1)
    spoken = languages > 1 and config.flag("use_lang_emb", default=True)
    style = Style(
        family="xlm",
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        gated=False,
        norm="layer",
        last_norm=False,
        head_bias="XLMModel" not in config.items("architectures", default=[]),
        positions=config.size(*CONTEXT, default=512),
        outer=(
            *((Weight(role="embed.language", shape=(languages, size.hidden)),) if spoken else ()),
            *norm(size.hidden, bias=True),
        ),
    )
    arch = read_decoder(config, name, style=style, width=4 * size.hidden)
    return arch if config.flag("causal", default=False) else both_ways(arch)
