"""JetMoE: experts for attention too: each has queries and outputs of its own, all share keys and values."""

from __future__ import annotations

from rigright.arch.blocks import Block, matrix
from rigright.arch.config import Config
from rigright.arch.decoder import Style, layer, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, moe, routing
from rigright.arch.record import Arch, Cut, Mix, Mixer, Weight

MATCHES = ("jetmoe", "JetMoeForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a JetMoE config."""
    config = full(config, "jetmoe")
    style = Style(family="jetmoe")
    kv_heads, top = config.size("num_key_value_heads"), config.size("num_experts_per_tok")
    width = config.size("kv_channels")
    size = read_sizes(
        config,
        heads=kv_heads * top,
        kv_heads=kv_heads,
        head_dim=width,
        tied=config.flag("tie_word_embeddings", default=True),
    )
    count = config.size("num_local_experts")
    experts = moe(size.hidden, routing(config, shared=False), mixture=Mixture())
    shift = Weight(role="other", shape=(size.hidden,))
    rows = kv_heads * width
    mixer = Mixer(kind=Mix.FULL, heads=kv_heads * top, kv_heads=kv_heads, key_dim=width, value_dim=width)
    attention = (
        *(
            Weight(role=role, shape=shape, cut=Cut.EXPERT, copies=count, used=top)
            for role, shape in (("attn.q", (rows, size.hidden)), ("attn.o", (size.hidden, rows)))
        ),
        *matrix("router", count, inputs=size.hidden, cut=Cut.WHOLE),
        *matrix("attn.k", rows, inputs=size.hidden, cut=Cut.KV),
        *matrix("attn.v", rows, inputs=size.hidden, cut=Cut.KV),
        shift,
    )
    feed = Block((*experts.weights, shift), ffn=experts.ffn)
    same = layer(size.hidden, style, Block(attention, mixer=mixer), feed)
    return text_arch(config, name, style=style, size=size, layers=(same,) * size.layers)
