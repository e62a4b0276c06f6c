"""ALBERT: a few groups of layers, each used again and again, above a narrow token table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.heads import labels, task, vocab_head
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.stack import Stack, layer, linear, table

MATCHES = ("albert", "AlbertModel", "AlbertForMaskedLM")
_POOLS = frozenset({"", "ForPreTraining", "ForSequenceClassification", "ForMultipleChoice"})


def read(config: Config, name: str) -> Arch:
    """Read an ALBERT config."""
    config = full(config, "albert")
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
        *_head(config, asked, hidden=hidden, width=width),
    )
    tied = asked in {"ForMaskedLM", "ForPreTraining"} and config.flag("tie_word_embeddings", default=True)
    # each group's weights stand in its first layer and count for all the passes through them
    groups = max(config.layers("num_hidden_groups", default=1), 1)
    passes = config.layers("num_hidden_layers")
    stack = Stack(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        width=config.size("intermediate_size"),
    )
    whole = layer(stack)
    told = config.layers("inner_group_num", default=1)
    reused = replace(whole, weights=())
    layers: list[Layer] = []
    turns = Counter(index * groups // passes for index in range(passes))
    for group in range(groups):
        uses = turns[group]
        own = replace(whole, weights=tuple(replace(weight, sites=max(uses, 1)) for weight in whole.weights))
        layers += [*(own,) * told, *(reused,) * (max(uses - 1, 0) * told)]
    return Arch(
        name=name,
        family="albert",
        task="embed",
        towers=(Tower(name="encoder", hidden=hidden, layers=tuple(layers), outer=outer),),
        vocab=vocab,
        tied=tied,
        max_context_tok=config.maybe("max_position_embeddings"),
        dtype="fp32",
    )


def _head(config: Config, asked: str, *, hidden: int, width: int) -> tuple[Weight, ...]:
    if asked in {"ForMaskedLM", "ForPreTraining"}:
        ordered = linear("head", (labels(config), hidden)) if asked == "ForPreTraining" else ()
        tied = config.flag("tie_word_embeddings", default=True)
        words = vocab_head(config.size("vocab_size"), width, tied=tied, twice=True)
        return (*linear("project", (width, hidden)), *norm(width, bias=True), *words, *ordered)
    classes = {
        "ForSequenceClassification": labels(config),
        "ForTokenClassification": labels(config),
        "ForQuestionAnswering": 2,
        "ForMultipleChoice": 1,
    }.get(asked)
    return linear("head", (classes, hidden)) if classes else ()
