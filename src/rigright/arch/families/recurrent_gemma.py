"""RecurrentGemma: gated linear recurrences, a window of attention every third layer."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, layer, read_sizes, text_arch
from rigright.arch.decoder import feed as dense
from rigright.arch.defaults import full
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Layer
from rigright.arch.ssm import rg_lru

MATCHES = ("recurrent_gemma", "RecurrentGemmaForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a RecurrentGemma config."""
    config = full(config, "recurrent_gemma")
    biased = config.flag("attention_bias", default=False)
    style = Style(family="recurrent_gemma", qkv_bias=biased, out_bias=True, ffn_bias=True)
    size = read_sizes(
        config,
        tied=config.flag("tie_word_embeddings", default=True),
        width=config.size("intermediate_size") // 2,
    )
    width = config.maybe("lru_width") or size.hidden
    feed = dense(size, style)
    mixers = {
        True: attend(size, style, window_tok=config.size("attention_window_size")),
        False: rg_lru(size.hidden, width, heads=size.heads, kernel=config.size("conv1d_width")),
    }

    def build(attends: bool) -> Layer:  # noqa: FBT001 (a key of `repeat`)
        return layer(size.hidden, style, mixers[attends], feed)

    kinds = config.items("block_types", "_block_types", default=("recurrent", "recurrent", "attention"))
    attends = (kinds[index % len(kinds)] == "attention" for index in range(size.layers))
    return text_arch(config, name, style=style, size=size, layers=repeat(attends, build))
