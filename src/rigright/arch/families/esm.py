"""ESM-2: a protein language model of BERT's kind."""

from __future__ import annotations

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.heads import dense_label, labels, task, vocab_head
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.stack import Stack, layer, linear, table

MATCHES = ("esm", "EsmModel", "EsmForMaskedLM")


def read(config: Config, name: str) -> Arch:
    """Read an ESM config."""
    config = full(config, "esm")
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
            *_head(config, asked, hidden=hidden),
        ),
    )
    return Arch(
        name=name,
        family="esm",
        task="embed",
        towers=(tower,),
        vocab=config.size("vocab_size"),
        tied=asked == "ForMaskedLM" and config.flag("tie_word_embeddings", default=True),
        max_context_tok=config.maybe("max_position_embeddings"),
        dtype="fp32",
    )


def _head(config: Config, asked: str, *, hidden: int) -> tuple[Weight, ...]:
    if asked == "ForMaskedLM":
        tied = config.flag("tie_word_embeddings", default=True)
        words = vocab_head(config.size("vocab_size"), hidden, tied=tied)
        return (*linear("project", (hidden, hidden)), *norm(hidden, bias=True), *words)
    if asked == "ForSequenceClassification":
        return dense_label(hidden, labels(config))
    if asked == "ForTokenClassification":
        return linear("head", (labels(config), hidden))
    return linear("project", (hidden, hidden))
