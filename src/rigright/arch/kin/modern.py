"""Encoders after BERT: disentangled positions, gates and windows."""

from __future__ import annotations

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.heads import label_head, labels, task, vocab_head
from rigright.arch.kin.bert import embedder
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table, vector
from rigright.base.record import replace

_POOLS = frozenset({"ForSequenceClassification", "ForMultipleChoice"})


def read_deberta(config: Config, name: str) -> Arch:
    """DeBERTa, first and second form: attention to content and to relative positions apart."""
    kind = "deberta" if config.word("model_type", default="deberta-v2") == "deberta" else "deberta-v2"
    config = full(config, kind)
    asked = task(config, "" if "architectures" not in config else "ForMaskedLM")
    hidden = config.size("hidden_size")
    stack = Stack(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        head_dim=config.maybe("attention_head_size") if kind == "deberta-v2" else None,
        width=config.size("intermediate_size"),
        biases="qvoud" if kind == "deberta" else "qkvoud",
        extra=_relative(config, kind, hidden=hidden),
    )
    width = config.size("embedding_size", default=hidden)
    types = config.whole("type_vocab_size", default=0)
    tower = Tower(
        name="encoder",
        hidden=hidden,
        layers=(layer(stack),) * config.layers("num_hidden_layers"),
        outer=(
            *embedding(config.size("vocab_size"), width),
            *(
                table(config.size("max_position_embeddings"), width)
                if config.flag("position_biased_input", default=True)
                else ()
            ),
            *(table(types, width) if types else ()),
            *(linear("project", (hidden, width), bias=False) if width != hidden else ()),
            *norm(hidden, bias=True),
            *(
                _distances(config, kind, hidden=hidden)
                if config.flag("relative_attention", default=False)
                else ()
            ),
            *_convolution(config, kind, hidden=hidden),
            *_deberta_head(config, asked, hidden=hidden),
        ),
    )
    return embedder(
        config,
        name,
        family=kind,
        tower=tower,
        words=asked == "ForMaskedLM",
    )


def _relative(config: Config, kind: str, *, hidden: int) -> tuple[Weight, ...]:
    """What a layer adds for relative positions."""
    heads = config.size("num_attention_heads")
    talk = config.flag("talking_head", default=False) and kind == "deberta"
    mixing = linear("attn.talk", (heads, heads), bias=False) * 2 if talk else ()
    if not config.flag("relative_attention", default=False) or config.flag("share_att_key", default=False):
        return mixing
    # which of content-to-position and position-to-content attention it has
    value = config.raw.get("pos_att_type")
    kinds = frozenset(
        value.lower().split("|")
        if isinstance(value, str)
        else map(str, config.items("pos_att_type", default=[]))
    )
    return (
        *mixing,
        *(linear("attn.k", (hidden, hidden), bias=kind != "deberta") if "c2p" in kinds else ()),
        *(linear("attn.q", (hidden, hidden)) if "p2c" in kinds else ()),
    )


def _distances(config: Config, kind: str, *, hidden: int) -> tuple[Weight, ...]:
    """The table of relative positions, and its norm."""
    furthest = config.number("max_relative_positions", default=-1)
    span = int(furthest) if furthest >= 1 else config.size("max_position_embeddings")
    buckets = int(config.number("position_buckets", default=-1)) if kind == "deberta-v2" else -1
    normed = "layer_norm" in str(config.raw.get("norm_rel_ebd") or "none") and kind == "deberta-v2"
    rows = 2 * (buckets if buckets > 0 else span)
    return (*table(rows, hidden), *(norm(hidden, bias=True) if normed else ()))


def _convolution(config: Config, kind: str, *, hidden: int) -> tuple[Weight, ...]:
    kernel = config.whole("conv_kernel_size", default=0)
    if not kernel or kind == "deberta":
        return ()
    groups = config.size("conv_groups", default=1)
    return (*conv("conv", (hidden, hidden // groups, kernel)), *norm(hidden, bias=True))


def _deberta_head(config: Config, asked: str, *, hidden: int) -> tuple[Weight, ...]:
    width = config.size("embedding_size", default=hidden)
    pooled = linear("project", (config.size("pooler_hidden_size", default=hidden), hidden))
    if asked == "ForMaskedLM":
        tied = config.flag("tie_word_embeddings", default=True)
        vocab = config.size("vocab_size")
        if not config.flag("legacy", default=True):
            return (*linear("project", (hidden, hidden)), *norm(hidden, bias=True), *vector(vocab))
        words = vocab_head(vocab, width, tied=tied, twice=True)
        return (*linear("project", (width, hidden)), *norm(width, bias=True), *words)
    return (*(pooled if asked in _POOLS else ()), *label_head(config, asked, hidden=hidden))


_LABELS = {"ForSequenceClassification", "ForTokenClassification"}


def read_modernbert(config: Config, name: str) -> Arch:
    """ModernBERT: rotary, gated, pre-normed, most layers seeing only a window."""
    asked = task(config, "" if "architectures" not in config else "ForMaskedLM")
    hidden = config.size("hidden_size")
    count = config.layers("num_hidden_layers")
    period = config.size("global_attn_every_n_layers", default=3)
    values = config.items("layer_types", default=[])
    slides = [
        values[index] == "sliding_attention" if index < len(values) else bool(index % period)
        for index in range(count)
    ]
    biases = "qkvo" * config.flag("attention_bias", default=False) + "gud" * config.flag(
        "mlp_bias", default=False
    )
    whole = Stack(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        width=config.size("intermediate_size"),
        gated=True,
        biases=biases,
        norm_bias=_shifts(config),
    )
    window = config.size("local_attention", "sliding_window", default=128)
    local = replace(whole, window_tok=window)
    stacks = [local if slide else whole for slide in slides]
    tower = Tower(
        name="encoder",
        hidden=hidden,
        layers=tuple(layer(replace(stack, norms=2 if index else 1)) for index, stack in enumerate(stacks)),
        outer=(
            *embedding(config.size("vocab_size"), hidden),
            *norm(hidden, bias=_shifts(config)) * 2,
            *_modernbert_head(config, asked, hidden=hidden),
        ),
    )
    return embedder(
        config,
        name,
        family="modernbert",
        tower=tower,
        words=asked == "ForMaskedLM",
    )


def _shifts(config: Config) -> bool:
    return config.flag("norm_bias", default=False)


def _modernbert_head(config: Config, asked: str, *, hidden: int) -> tuple[Weight, ...]:
    if not asked:
        return ()
    shared = (
        *linear("project", (hidden, hidden), bias=config.flag("classifier_bias", default=False)),
        *norm(hidden, bias=_shifts(config)),
    )
    if asked == "ForMaskedLM":
        biased = config.flag("decoder_bias", default=True)
        tied = config.flag("tie_word_embeddings", default=True)
        return (*shared, *vocab_head(config.size("vocab_size"), hidden, tied=tied, bias=biased))
    classes = labels(config) if asked in _LABELS else {"ForMultipleChoice": 1}.get(asked, 2)
    return (*shared, *linear("head", (classes, hidden)))


def opened(_: Config, arch: Arch) -> Arch:
    """A decoder whose first norm stands behind the token table instead."""
    first, *rest = arch.trunk.layers
    weights = tuple(weight for weight in first.weights if not weight.role.startswith("norm"))
    norms = [weight for weight in first.weights if weight.role.startswith("norm")]
    first = replace(first, weights=(*norms[len(norms) // 2 :], *weights))
    return replace(arch, towers=(replace(arch.trunk, layers=(first, *rest)),))
