"""What Gemma 3n and 4 share: layers that read another's cache, and token tables for every layer."""

from __future__ import annotations

from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Sizes
from rigright.arch.record import Cut, Mixer, Weight
from rigright.base.record import replace


def shared_attention(config: Config, hidden: int, *, mixer: Mixer, values: bool) -> Block:
    """Attention with a norm on each head of q and k; without `values` the keys serve as values too."""
    biased = config.flag("attention_bias", default=False)
    kv_width = mixer.kv_heads * mixer.key_dim
    weights = (
        *matrix("attn.q", mixer.heads * mixer.key_dim, inputs=hidden, cut=Cut.OUT, bias=biased),
        *matrix("attn.k", kv_width, inputs=hidden, cut=Cut.KV, bias=biased),
        *(matrix("attn.v", kv_width, inputs=hidden, cut=Cut.KV, bias=biased) if values else ()),
        *matrix("attn.o", hidden, inputs=mixer.heads * mixer.key_dim, cut=Cut.IN, bias=biased),
        *norm(mixer.key_dim) * 2,
    )
    return Block(weights, mixer=mixer)


def borrow(attention: Block) -> Block:
    """The same attention, reading an earlier layer's cache: no keys, no values, no norm on keys."""
    if attention.mixer is None:
        return attention
    own = tuple(weight for weight in attention.weights if not weight.role.startswith(("attn.k", "attn.v")))
    return Block(own[:-1], mixer=replace(attention.mixer, shares_cache=True))


def per_layer_tables(config: Config, size: Sizes) -> tuple[Weight, ...]:
    """A small token table for every layer, the projection that joins it, and its norm."""
    inner = config.whole("hidden_size_per_layer_input", default=0)
    if not inner:
        return ()
    rows = config.size("vocab_size_per_layer_input", default=size.vocab)
    return (
        Weight(role="embed.layer", shape=(rows, size.layers * inner), cut=Cut.VOCAB),
        *matrix("project", size.layers * inner, inputs=size.hidden, cut=Cut.WHOLE),
        *norm(inner),
    )
