"""Zamba 1 and 2: Mamba layers; before some of them stands one of a few transformer blocks shared by all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rigright.arch import blocks
from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, layer, text_arch
from rigright.arch.defaults import full
from rigright.arch.families.bamba import beside
from rigright.arch.families.mamba import bare_sizes, dt_rank
from rigright.arch.plan import kind_of, listed
from rigright.arch.record import Arch, Cut, Layer, Weight
from rigright.arch.ssm import Mamba, mamba, mamba2

MATCHES = ("zamba", "ZambaForCausalLM", "zamba2", "Zamba2ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Zamba config."""
    second = config.raw.get("model_type") == "zamba2"
    config = full(config, "zamba2" if second else "zamba")
    hidden = config.size("hidden_size")
    style = Style(family=kind_of(config, MATCHES), norms=1)
    state = mamba2(_dims2(config, hidden)) if second else mamba(_dims(config, hidden))
    plain = layer(hidden, style, state)
    hybrids = [kind == "hybrid" for kind in _kinds(config, second=second)]
    joined = _joined(config, plain, state=state, uses=sum(hybrids), second=second)
    size = bare_sizes(config, tied=config.flag("tie_word_embeddings", default=True))
    layers = tuple(next(joined) if is_hybrid else plain for is_hybrid in hybrids)
    return text_arch(config, name, style=style, size=size, layers=layers)


def _kinds(config: Config, *, second: bool) -> list[object]:
    layers = config.layers("num_hidden_layers")
    told = listed(config, "layers_block_type", layers=layers)
    if told:
        return told
    chosen = set(config.sizes("hybrid_layer_ids", default=()))
    if not second:
        period, offset = config.size("attn_layer_period"), config.whole("attn_layer_offset")
        chosen = {2, *(index + 3 for index in range(layers) if index % period == offset)}
    chosen = chosen or {6, 12, 18, 24, 30, 36, 42, 47, 51}
    return ["hybrid" if index in chosen else "mamba" for index in range(layers)]


def _joined(config: Config, plain: Layer, *, state: Block, uses: int, second: bool) -> Iterator[Layer]:
    """The layers with a shared block: the first to use a block bears its weights."""
    hidden = config.size("hidden_size")
    count = config.size("num_mem_blocks", default=1)
    # attention over the state and the token's embedding side by side: twice the model's width
    wide = 2 * config.size("hidden_size")
    heads = config.size("num_attention_heads")
    mixer = blocks.gqa(
        heads,
        config.maybe("num_key_value_heads") or heads,
        head_dim=config.maybe("attention_head_dim") or wide // heads,
    )
    attention = beside(blocks.attention(wide, mixer), state)
    for use in range(uses):
        times = len(range(use, uses, count))
        block = _block(config, attention, state=state) if use < count else ()
        own = (
            *matrix("project", hidden, inputs=hidden, cut=Cut.WHOLE),
            *(_adapters(config) if second else ()),
        )
        yield replace(
            plain,
            weights=(*plain.weights, *own, *(replace(weight, sites=times) for weight in block)),
            mixer=attention.mixer,
            ffn=blocks.dense(hidden, _width(config)).ffn,
        )


def _width(config: Config) -> int:
    return config.maybe("intermediate_size") or 4 * config.size("hidden_size")


def _block(config: Config, attention: Block, *, state: Block) -> tuple[Weight, ...]:
    hidden = config.size("hidden_size")
    mixer = attention.mixer
    rows = mixer.heads * mixer.value_dim if mixer else 0
    queries = attention.weights[: len(attention.weights) - len(state.weights)]
    return (
        *(weight for weight in queries if weight.role != "attn.o"),
        *matrix("attn.o", hidden, inputs=rows, cut=Cut.IN),
        *blocks.dense(hidden, _width(config), bias=config.flag("add_bias_linear", default=False)).weights,
        *norm(2 * hidden),
        *norm(hidden),
    )


def _adapters(config: Config) -> tuple[Weight, ...]:
    """What each use of a shared block adds of its own: low-rank terms on the feed-forward, and on q, k, v."""
    hidden, rank = config.size("hidden_size"), config.size("adapter_rank")
    wide = 2 * hidden
    low = (
        *matrix("ffn.gate_up.a", rank, inputs=hidden, cut=Cut.WHOLE),
        *matrix("ffn.gate_up.b", 2 * _width(config), inputs=rank, cut=Cut.OUT),
    )
    if not config.flag("use_shared_attention_adapter", default=False):
        return low
    pair = (
        *matrix("attn.qkv.a", rank, inputs=wide, cut=Cut.WHOLE),
        *matrix("attn.qkv.b", wide, inputs=rank, cut=Cut.OUT),
    )
    return (*low, *pair * 3)


def _dims(config: Config, hidden: int) -> Mamba:
    return Mamba(
        hidden=hidden,
        inner=config.size("mamba_expand") * hidden,
        state=config.size("mamba_d_state"),
        conv=config.size("mamba_d_conv"),
        dt_rank=dt_rank(config, "mamba_dt_rank", hidden=hidden),
        bias=config.flag("mamba_proj_bias", default=False),
        conv_bias=config.flag("mamba_conv_bias", default=True),
    )


def _dims2(config: Config, hidden: int) -> Mamba:
    return Mamba(
        hidden=hidden,
        inner=config.size("mamba_expand") * hidden,
        state=config.size("mamba_d_state"),
        conv=config.size("mamba_d_conv"),
        heads=config.size("n_mamba_heads"),
        groups=config.size("mamba_ngroups"),
        bias=config.flag("add_bias_linear", default=False),
        conv_bias=config.flag("use_conv_bias", default=True),
        inner_norms=True,
    )
