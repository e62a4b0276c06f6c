"""Multi-head latent attention: one compressed vector a token, shared by all heads, and its sparse indexer."""

from __future__ import annotations

from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.plan import listed
from rigright.arch.record import Cut, Mix, Mixer
from rigright.base.record import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """The dimensions of latent attention."""

    hidden: int
    heads: int
    q_rank: int | None  # None: queries are not compressed
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int
    bias: bool = False
    window_tok: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A lightning indexer: which keys each query reads."""

    heads: int
    dim: int
    topk_tok: int


def read_latent(config: Config, **given: int | None) -> Latent:
    """The dimensions as DeepSeek and its kin name them; what is given stands before them."""
    window = given.get("window_tok")
    return Latent(
        hidden=config.size("hidden_size"),
        heads=given.get("heads") or config.size("num_attention_heads"),
        q_rank=config.maybe("q_lora_rank"),
        kv_rank=given.get("kv_rank") or config.size("kv_lora_rank"),
        nope_dim=given.get("nope_dim") or config.whole("qk_nope_head_dim"),
        rope_dim=config.whole("qk_rope_head_dim", default=0),
        value_dim=config.size("v_head_dim"),
        bias=config.flag("attention_bias", default=False),
        window_tok=window,
    )


def mla(latent: Latent) -> Block:
    """Latent attention with its weights."""
    key_dim = latent.nope_dim + latent.rope_dim
    mixer = Mixer(
        kind=Mix.LATENT if latent.window_tok is None else Mix.WINDOW,
        heads=latent.heads,
        kv_heads=1,
        key_dim=key_dim,
        value_dim=latent.value_dim,
        latent_dim=latent.kv_rank + latent.rope_dim,
        window_tok=latent.window_tok,
    )
    up_rows = latent.heads * (latent.nope_dim + latent.value_dim)
    rows = latent.heads * key_dim
    if latent.q_rank:
        queries = (
            *matrix("attn.q_a", latent.q_rank, inputs=latent.hidden, cut=Cut.WHOLE, bias=latent.bias),
            *norm(latent.q_rank),
            *matrix("attn.q_b", rows, inputs=latent.q_rank, cut=Cut.OUT),
        )
    else:
        queries = matrix("attn.q", rows, inputs=latent.hidden, cut=Cut.OUT)
    weights = (
        *queries,
        *matrix("attn.kv_a", mixer.latent_dim, inputs=latent.hidden, cut=Cut.WHOLE, bias=latent.bias),
        *norm(latent.kv_rank),
        *matrix("attn.kv_b", up_rows, inputs=latent.kv_rank, cut=Cut.OUT),
        *matrix(
            "attn.o", latent.hidden, inputs=latent.heads * latent.value_dim, cut=Cut.IN, bias=latent.bias
        ),
    )
    return Block(weights, mixer=mixer)


def read_index(config: Config) -> Index:
    """The indexer's dimensions."""
    return Index(
        heads=config.size("index_n_heads"),
        dim=config.size("index_head_dim"),
        topk_tok=config.size("index_topk"),
    )


def indexed(attention: Block, latent: Latent, *, index: Index, own: bool = True) -> Block:
    """Latent attention that reads only the keys its indexer chose; without its own, an earlier layer's."""
    if attention.mixer is None:
        return attention
    mixer = replace(attention.mixer, topk_tok=index.topk_tok, index_dim=index.dim if own else 0)
    weights = (
        *matrix(
            "attn.index.q", index.heads * index.dim, inputs=latent.q_rank or latent.hidden, cut=Cut.WHOLE
        ),
        *matrix("attn.index.k", index.dim, inputs=latent.hidden, cut=Cut.WHOLE),
        *norm(index.dim, bias=True),
        *matrix("attn.index.weight", index.heads, inputs=latent.hidden, cut=Cut.WHOLE),
    )
    return Block((*attention.weights, *(weights if own else ())), mixer=mixer)


def owners(config: Config, layers: int, *, period: int = 1) -> list[bool]:
    """Whether each layer has its own indexer, as each `period`-th has, or uses an earlier layer's choice."""
    values = listed(config, "indexer_types", layers=layers)
    if values:
        return [kind == "full" for kind in values]
    pattern = config.raw.get("index_topk_pattern")
    if isinstance(pattern, str | list) and len(pattern) >= layers:
        return [kind in {"F", "full"} for kind in pattern[:layers]]
    period = max(config.whole("index_topk_freq", default=period), 1)
    offset = config.whole("index_skip_topk_offset", default=2)
    return [max(index - offset + 1, 0) % period == 0 for index in range(layers)]
