"""BERT and its kin: encoders that see both ways, with their task heads."""

from __future__ import annotations

from collections import Counter

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.heads import label_head, labels, task, vocab_head
from rigright.arch.record import Arch, Layer, Mix, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table, vector
from rigright.base.record import dataclass, replace

_LAST_WORD = frozenset({"ForMaskedLM", "ForPreTraining", "ForCausalLM", "LMHeadModel", "GenerationDecoder"})


_BERT_POOLS = frozenset(
    {"", "ForPreTraining", "ForSequenceClassification", "ForNextSentencePrediction", "ForMultipleChoice"}
)


_ROBERTA_POOLS = frozenset({"", "ForMultipleChoice"})


_GTE_POOLS = frozenset({"ForSequenceClassification"})


_ALWAYS = _BERT_POOLS | _LAST_WORD | {"ForTokenClassification", "ForQuestionAnswering"}


def embedder(config: Config, name: str, *, family: str, tower: Tower, words: bool = False) -> Arch:
    """A model of one encoder; `words`: its head is for words, usually the token table itself."""
    return Arch(
        name=name,
        family=family,
        task="embed",
        towers=(tower,),
        vocab=config.size("vocab_size"),
        tied=words and config.flag("tie_word_embeddings", default=True),
        max_context_tok=config.maybe("max_position_embeddings"),
        dtype="fp32",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """In what an encoder differs from BERT."""

    pools: frozenset[str] = _BERT_POOLS  # tasks whose class has a pooler
    dense: frozenset[str] = frozenset()  # tasks whose class has a dense layer before the labels
    types: bool = True  # token types
    positions: bool = True  # a learned position table
    embed_norm: bool = True
    last_norm: bool = False  # norms stand before the parts, and one after the last
    biases: str = "qkvogudc"
    gated: bool = False
    head: str = "masked"  # "masked", "electra" (norm first), "plain" (no layer before the words)
    twice: bool = True  # an untied head has a bias beside its matrix's own
    ordered: bool = True  # pretraining also tells the order of sentences
    extra_tables: tuple[str, ...] = ()  # keys of more position tables (layout)
    spare_rows: int = 0  # rows of the position table beyond the longest context


_LABELS = frozenset({"ForSequenceClassification"})


_CHOICES = _LABELS | {"ForMultipleChoice"}


_ROBERTA = Traits(pools=_ROBERTA_POOLS, dense=_LABELS)


_KINDS = {
    "bert": Traits(),
    "ernie": Traits(),
    "roc_bert": Traits(ordered=False),
    "rembert": Traits(twice=False),
    "bert-generation": Traits(pools=frozenset(), types=False, head="plain"),
    "xmod": _ROBERTA,
    "nystromformer": Traits(pools=frozenset(), dense=_CHOICES, spare_rows=2),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "data2vec-text": _ROBERTA,
    "ibert": _ROBERTA,
    "jina_embeddings_v3": Traits(pools=_ROBERTA_POOLS, dense=_LABELS, positions=False),
    "roberta-prelayernorm": Traits(pools=_ROBERTA_POOLS, dense=_LABELS, last_norm=True),
    "xlm-roberta-xl": Traits(pools=_ROBERTA_POOLS, dense=_LABELS, last_norm=True, embed_norm=False),
    "megatron-bert": Traits(last_norm=True, embed_norm=False),
    "distilbert": Traits(pools=frozenset(), types=False, dense=_CHOICES, twice=False),
    "mpnet": Traits(pools=_ROBERTA_POOLS, dense=_LABELS, types=False),
    "electra": Traits(pools=frozenset(), head="electra", dense=_CHOICES, twice=False),
    "layoutlm": Traits(pools=_ALWAYS, extra_tables=("max_2d_position_embeddings",) * 4),
    "nomic_bert": Traits(pools=_BERT_POOLS - {""}, positions=False, gated=True, biases=""),
    "gte": Traits(pools=_GTE_POOLS, positions=False, gated=True, biases="qkvod", twice=False),
    "longformer": _ROBERTA,
    "big_bird": Traits(pools=_ALWAYS, dense=_LABELS),
    "roformer": Traits(pools=frozenset(), dense=_LABELS, positions=False),
}


# the widths of the word table and of the layer before the logits, where they are their own
_NARROWER = {
    "electra": ("embedding_size", "embedding_size"),
    "roformer": ("embedding_size", "embedding_size"),
    "rembert": ("input_embedding_size", "output_embedding_size"),
}


_OTHER_NAMES = {"new": "gte"}


_NOMIC = {  # the names of the published configs
    "hidden_size": "n_embd",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "intermediate_size": "n_inner",
    "max_position_embeddings": "n_positions",
}


_FALLBACK = "ForMaskedLM"


def read_bert(config: Config, name: str) -> Arch:
    """Encoders of BERT's shape: embeddings with norms, bidirectional layers, and a head for the task."""
    kind = config.word("model_type", default="bert").replace("xlm_roberta", "xlm-roberta")
    kind = _OTHER_NAMES.get(kind, kind)
    if kind == "nomic_bert":
        config = config.over(**{key: config.raw[old] for key, old in _NOMIC.items() if old in config.raw})
    kind = kind if kind in _KINDS else "bert"
    config = full(config, kind)
    asked = task(config, "" if "architectures" not in config else _FALLBACK)
    tower = encoder(config, kind, asked=asked)
    return embedder(
        config,
        name,
        family=kind,
        tower=tower,
        words=asked in _LAST_WORD and kind != "rembert",
    )


def encoder(config: Config, kind: str, *, asked: str = "") -> Tower:
    """The tower of one kind, with the head of a task."""
    traits = _KINDS[kind]
    hidden = config.size("hidden_size", "dim")
    width, before = (
        config.size(_NARROWER[kind][end], default=hidden) if kind in _NARROWER else hidden for end in (0, 1)
    )
    pooled = linear("project", (hidden, hidden)) if asked in traits.pools else ()
    # words, positions, token types, and the norm over their sum
    positions = ("max_position_embeddings",) * traits.positions + traits.extra_tables
    types = config.whole("type_vocab_size", default=2) if traits.types else 0
    return Tower(
        name="encoder",
        hidden=hidden,
        layers=_layers(config, kind, hidden=hidden),
        outer=(
            *embedding(config.size("vocab_size"), width),
            *(weight for key in positions for weight in table(config.size(key) + traits.spare_rows, width)),
            *(table(types, width) if types else ()),
            *(norm(width, bias=True) if traits.embed_norm else ()),
            *_strange(config, kind, hidden=hidden),
            *(linear("project", (hidden, width)) if width != hidden else ()),
            *(norm(hidden, bias=True) if traits.last_norm else ()),
            *pooled,
            *_bert_head(config, kind, asked=asked, hidden=hidden, width=before),
        ),
    )


def _layers(config: Config, kind: str, *, hidden: int) -> tuple[Layer, ...]:
    traits = _KINDS[kind]
    heads = config.size("num_attention_heads", "n_heads")
    crossed = config.flag("add_cross_attention", default=False)
    # nyströmformer's convolution over the values of each head
    rows = config.maybe("conv_kernel_size")
    extra = {
        "longformer": linear("attn.q", (hidden, hidden)) * 3,
        "nystromformer": (Weight(role="attn.conv", shape=(heads, 1, rows, 1)),) if rows else (),
        "xmod": _adapters(config, hidden) if kind == "xmod" else (),
    }
    stack = Stack(
        hidden=hidden,
        heads=heads,
        head_dim=config.maybe("head_dim") if kind in {"nomic_bert", "gte"} else None,
        width=config.size("intermediate_size", "hidden_dim"),
        gated=traits.gated,
        biases=traits.biases,
        cross_hidden=hidden if crossed else 0,
        kind=Mix.FULL if config.flag("is_decoder", default=False) else Mix.BOTH,
        extra=extra.get(kind, ()),
    )
    return (layer(stack),) * config.layers("num_hidden_layers", "n_layers")


def _adapters(config: Config, hidden: int) -> tuple[Weight, ...]:
    """X-MOD's narrow layers, one pair for each language; a token takes one."""
    narrow = hidden // config.size("adapter_reduction_factor")
    pair = (*linear("ffn.adapter", (narrow, hidden)), *linear("ffn.adapter", (hidden, narrow)))
    own_norm = norm(hidden, bias=True) if config.flag("adapter_layer_norm", default=False) else ()
    return (*pair * len(config.items("languages")), *own_norm)


def _strange(config: Config, kind: str, *, hidden: int) -> tuple[Weight, ...]:
    """Tables that one kind alone has."""
    heads = config.size("num_attention_heads", "n_heads")
    if kind == "mpnet":
        return table(config.size("relative_attention_num_buckets", default=32), heads)
    if kind == "roformer":
        return table(config.size("max_position_embeddings"), hidden // heads)
    if kind == "ernie" and config.flag("use_task_id", default=False):
        return table(config.size("task_type_vocab_size"), hidden)
    if kind == "roc_bert":
        # roCBert's tables of sounds and shapes, and what joins them to the words
        asked = {key: config.flag(f"enable_{key}", default=True) for key in ("pronunciation", "shape")}
        widths = {key: config.size(f"{key}_embed_dim") for key in asked}
        tables = (table(config.size(f"{key}_vocab_size"), width) for key, width in widths.items())
        joined = hidden + sum(width for key, width in widths.items() if asked[key])
        joins = config.flag("concat_input", default=True)
        return (
            *(weight for each in tables for weight in each),
            *(linear("project", (hidden, joined)) if joins else ()),
        )
    return norm(hidden, bias=True) if kind == "xmod" and config.flag("pre_norm", default=False) else ()


def _bert_head(config: Config, kind: str, *, asked: str, hidden: int, width: int) -> tuple[Weight, ...]:
    """What the task puts on top."""
    traits = _KINDS[kind]
    vocab = config.size("vocab_size")
    tied = kind != "rembert" and config.flag("tie_word_embeddings", default=True)
    if asked == "ForPreTraining" and traits.head == "electra":
        return (*linear("project", (hidden, hidden)), *linear("head", (1, hidden)))
    if asked in _LAST_WORD:
        ordered = linear("head", (2, hidden)) if asked == "ForPreTraining" and traits.ordered else ()
        if traits.head == "electra":
            dense = (*norm(width, bias=True), *linear("project", (width, hidden)))
        elif traits.head == "plain":
            dense = ()
        else:
            dense = (*linear("project", (width, hidden)), *norm(width, bias=True))
        return (*dense, *vocab_head(vocab, width, tied=tied, twice=traits.twice), *ordered)
    return label_head(config, asked, hidden=hidden, dense=traits.dense)


_POOLS = frozenset({"", "ForPreTraining", "ForSequenceClassification", "ForMultipleChoice"})


def read_albert(config: Config, name: str) -> Arch:
    """ALBERT: a few groups of layers, each used again and again, above a narrow token table."""
    asked = task(config, "" if "architectures" not in config else "ForMaskedLM")
    hidden, width = config.size("hidden_size"), config.size("embedding_size")
    vocab = config.size("vocab_size")
    outer = (
        *embedding(vocab, width),
        *table(config.size("max_position_embeddings"), width),
        *table(config.whole("type_vocab_size"), width),
        *norm(width, bias=True),
        *linear("project", (hidden, width)),
        *(linear("project", (hidden, hidden)) if asked in _POOLS else ()),
        *_albert_head(config, asked, hidden=hidden, width=width),
    )
    # each group's weights stand in its first layer and count for all the passes through them
    groups = max(config.layers("num_hidden_groups", default=1), 1)
    passes = config.layers("num_hidden_layers")
    stack = Stack(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        width=config.size("intermediate_size"),
    )
    whole = layer(stack)
    number = config.layers("inner_group_num", default=1)
    reused = replace(whole, weights=())
    layers: list[Layer] = []
    turns = Counter(index * groups // passes for index in range(passes))
    for group in range(groups):
        uses = turns[group]
        own = replace(whole, weights=tuple(replace(weight, sites=max(uses, 1)) for weight in whole.weights))
        layers += [*(own,) * number, *(reused,) * (max(uses - 1, 0) * number)]
    return embedder(
        config,
        name,
        family="albert",
        tower=Tower(name="encoder", hidden=hidden, layers=tuple(layers), outer=outer),
        words=asked in {"ForMaskedLM", "ForPreTraining"},
    )


def _albert_head(config: Config, asked: str, *, hidden: int, width: int) -> tuple[Weight, ...]:
    if asked in {"ForMaskedLM", "ForPreTraining"}:
        ordered = linear("head", (labels(config), hidden)) if asked == "ForPreTraining" else ()
        tied = config.flag("tie_word_embeddings", default=True)
        words = vocab_head(config.size("vocab_size"), width, tied=tied, twice=True)
        return (*linear("project", (width, hidden)), *norm(width, bias=True), *words, *ordered)
    return label_head(config, asked, hidden=hidden)


def read_esm(config: Config, name: str) -> Arch:
    """ESM-2: a protein language model of BERT's kind."""
    asked = task(config, "" if "architectures" not in config else "ForMaskedLM")
    hidden, count = config.size("hidden_size"), config.layers("num_hidden_layers")
    heads = config.size("num_attention_heads")
    absolute = config.word("position_embedding_type", default="absolute") == "absolute"
    before = config.flag("emb_layer_norm_before", default=False)
    tower = Tower(
        name="encoder",
        hidden=hidden,
        layers=(layer(Stack(hidden=hidden, heads=heads, width=config.size("intermediate_size"))),) * count,
        outer=(
            *embedding(config.size("vocab_size"), hidden),
            *(table(config.size("max_position_embeddings"), hidden) if absolute else ()),
            *(norm(hidden, bias=True) if before else ()),
            *norm(hidden, bias=True),
            *linear("other", (1, count * heads)),  # which residues touch
            *_esm_head(config, asked, hidden=hidden),
        ),
    )
    return embedder(
        config,
        name,
        family="esm",
        tower=tower,
        words=asked == "ForMaskedLM",
    )


def _esm_head(config: Config, asked: str, *, hidden: int) -> tuple[Weight, ...]:
    if asked == "ForMaskedLM":
        tied = config.flag("tie_word_embeddings", default=True)
        words = vocab_head(config.size("vocab_size"), hidden, tied=tied)
        return (*linear("project", (hidden, hidden)), *norm(hidden, bias=True), *words)
    head = label_head(config, asked, hidden=hidden, dense=_LABELS)
    return head or linear("project", (hidden, hidden))


_MANY_LABELS = 10


def read_layoutlmv3(config: Config, name: str) -> Arch:
    """LayoutLMv3: words, their places on a page, and the page's image in one encoder."""
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    stack = Stack(hidden=hidden, heads=heads, width=config.size("intermediate_size"))
    vocab = config.size("vocab_size")
    # where a word stands: left, top, height, width; and how far from the others
    rows = config.size("max_2d_position_embeddings")
    far = table(heads, config.size("rel_pos_bins"))
    across = table(heads, config.size("rel_2d_pos_bins")) * 2
    tower = Tower(
        name="encoder",
        hidden=hidden,
        layers=(layer(stack),) * config.layers("num_hidden_layers"),
        outer=(
            *embedding(vocab, hidden),
            *table(config.size("max_position_embeddings"), hidden),
            *table(config.size("type_vocab_size"), hidden),
            *norm(hidden, bias=True),
            *table(rows, config.size("coordinate_size")) * 2,
            *table(rows, config.size("shape_size")) * 2,
            *(far if config.flag("has_relative_attention_bias", default=True) else ()),
            *(across if config.flag("has_spatial_attention_bias", default=True) else ()),
            *(_page(config, hidden) if config.flag("visual_embed", default=True) else ()),
            *_layoutlmv3_head(config, hidden),
        ),
    )
    return embedder(config, name, family="layoutlmv3", tower=tower)


def _page(config: Config, hidden: int) -> tuple[Weight, ...]:
    """The image of the page as patches behind the words."""
    side = config.size("patch_size")
    tok = (config.size("input_size") // side) ** 2
    return (
        *conv("patch", (hidden, config.size("num_channels"), side, side), sites=tok),
        *vector(1, hidden),
        *table(tok + 1, hidden),
        *norm(hidden, bias=True) * 2,
    )


def _layoutlmv3_head(config: Config, hidden: int) -> tuple[Weight, ...]:
    """Few labels of words have no dense layer of their own."""
    dense = {"ForSequenceClassification", "ForQuestionAnswering"}
    many = {"ForTokenClassification"} if labels(config) >= _MANY_LABELS else set()
    return label_head(config, task(config, ""), hidden=hidden, dense=dense | many)
