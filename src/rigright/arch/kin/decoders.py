"""Decoders with a part that no row can say: tables, runs, experts or layers by a rule of their own."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.blocks import Block, matrix
from rigright.arch.config import Config
from rigright.arch.decoder import (
    LAYERS,
    Draft,
    Sizes,
    Style,
    attend,
    feed,
    layer,
    read_sizes,
    text_arch,
    warned,
)
from rigright.arch.experts import Mixture, moe, routing
from rigright.arch.record import Arch, Cut, Layer, Mix, Mixer, Weight
from rigright.arch.ssm import vector
from rigright.base.errors import DataError
from rigright.base.record import replace
from rigright.base.words import say


def assumed(_: Config, arch: Arch) -> Arch:
    """A decoder nobody has named, with what was taken for granted."""
    layer = arch.trunk.layers[0] if arch.trunk.layers else None
    roles = {weight.role for weight in (*(layer.weights if layer else ()), *arch.trunk.outer)}
    gated = layer is None or layer.ffn is None or layer.ffn.gated
    biased = any(role.startswith("attn.q") and role.endswith(".bias") for role in roles)
    note = say(
        "assumed: {norm}, {ffn}, {biases}; compare the parameter count with the published one",
        norm=say("LayerNorm") if "norm.bias" in roles else say("RMSNorm"),
        ffn=say("a gated feed-forward") if gated else say("a feed-forward without a gate"),
        biases=say("biases on q, k and v") if biased else say("no biases on q, k and v"),
    )
    return warned(arch, note)


def narrowed(config: Config, arch: Arch) -> Arch:
    """The token table of another width than the layers, with a projection in and one out."""
    hidden = arch.trunk.hidden
    narrow = config.size("word_embed_proj_dim", default=hidden)
    if narrow == hidden:
        return arch
    bridges = (
        *matrix("project", hidden, inputs=narrow, cut=Cut.WHOLE),
        *matrix("project", narrow, inputs=hidden, cut=Cut.WHOLE),
    )
    tables = tuple(
        replace(weight, shape=(weight.shape[0], narrow)) if weight.role in {"embed", "head"} else weight
        for weight in arch.trunk.outer
    )
    return replace(arch, towers=(replace(arch.trunk, outer=(*tables, *bridges)),))


def read_hrm_text(config: Config, name: str) -> Arch:
    """HRM-Text: two stacks of layers run in nested cycles; every run keeps a cache of its own."""
    biased = config.flag("attention_bias", default=False)
    hidden = config.size("hidden_size")
    style = Style(
        family="hrm_text",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        norms=0,
        last_norm=False,
        outer=vector("other", hidden),
        gate="wide",
        gate_bias=biased,
    )
    size = read_sizes(config)
    slow, fast = config.size("H_cycles"), config.size("L_cycles")
    stack = config.maybe("num_layers_per_stack") or size.layers
    each = layer(hidden, style, attend(size, style), feed(size, style))
    again = replace(each, weights=())  # a later run of the same weights
    runs = slow * (fast + 1) * stack
    first = (_run(each, slow * fast),) * stack + (_run(each, slow),) * stack
    return text_arch(config, name, style=style, size=size, layers=first + (again,) * (runs - 2 * stack))


def _run(each: Layer, times: int) -> Layer:
    return replace(each, weights=tuple(replace(weight, sites=times) for weight in each.weights))


def read_jetmoe(config: Config, name: str) -> Arch:
    """JetMoE: attention has experts too, each with its own queries and outputs."""
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


def step3(draft: Draft) -> tuple[Block, ...]:
    """Step-3's attention: compressed queries, few key-value heads."""
    size, rank = draft.size, draft.config.size("share_q_dim")
    whole = blocks.attention(size.hidden, blocks.gqa(size.heads, size.kv_heads, head_dim=size.head_dim))
    weights = (
        *matrix("attn.q_a", rank, inputs=size.hidden, cut=Cut.WHOLE),
        *blocks.norm(rank),
        *matrix("attn.q_b", size.heads * size.head_dim, inputs=rank, cut=Cut.OUT),
        *(weight for weight in whole.weights if weight.role != "attn.q"),
    )
    return (Block(weights, mixer=whole.mixer),) * size.layers


WIDTH_STEP = 256


def read_nemotron_nas(config: Config, name: str) -> Arch:
    """Nemotron from a search (Super 49B, Ultra 253B): Llama whose layers differ in attention and width."""
    values = config.items("block_configs", default=[])
    layers = config.layers(*LAYERS, default=len(values))
    if len(values) != layers:
        raise DataError(
            say(
                "{where}: {told} blocks are described, the model has {layers} layers",
                where=config.where,
                told=len(values),
                layers=layers,
            )
        )
    size = read_sizes(config, kv_heads=1, width=0, layers=layers)
    built = [
        _layer(Config({"block": block}, config.where).part("block"), size, config=config) for block in values
    ]
    return text_arch(config, name, style=Style(family="nemotron_nas"), size=size, layers=built)


def _layer(block: Config, size: Sizes, *, config: Config) -> Layer:
    attention = _attention(block.part("attention"), size, config=config)
    ffn = _feed(block.part("ffn"), size, config=config)
    parts = [part for part in (attention, ffn) if part is not None]
    return Layer(
        weights=tuple(weight for part in parts for weight in (*blocks.norm(size.hidden), *part.weights)),
        mixer=attention.mixer if attention else None,
        ffn=ffn.ffn if ffn else None,
    )


def _attention(block: Config, size: Sizes, *, config: Config) -> Block | None:
    if block.flag("no_op", default=False):
        return None
    if block.flag("replace_with_linear", default=False):
        return Block(blocks.matrix("attn.o", size.hidden, inputs=size.hidden, cut=Cut.WHOLE))
    per_group = block.size("n_heads_in_group", default=1)
    if size.heads % per_group:
        raise DataError(
            say(
                "{where}: {heads} heads cannot be split into groups of {group}",
                where=block.where,
                heads=size.heads,
                group=per_group,
            )
        )
    biased = config.flag("attention_bias", default=False)
    mixer = blocks.gqa(
        size.heads, size.heads // per_group, head_dim=size.head_dim, window_tok=block.maybe("window_length")
    )
    return blocks.attention(size.hidden, mixer, qkv_bias=biased, out_bias=biased)


def _feed(block: Config, size: Sizes, *, config: Config) -> Block | None:
    if block.flag("no_op", default=False):
        return None
    if block.flag("replace_with_linear", default=False):
        return Block(blocks.matrix("ffn.down", size.hidden, inputs=size.hidden, cut=Cut.WHOLE))
    exact = int(2 * block.number("ffn_mult") * size.hidden / 3)
    width = -(-exact // WIDTH_STEP) * WIDTH_STEP
    return blocks.dense(size.hidden, width, bias=config.flag("mlp_bias", default=False))
