"""BART and its kin: encoder and decoder with learned or fixed position tables."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.heads import dense_label, labels, vocab_head
from rigright.arch.record import Arch, Mix, Tower, Weight
from rigright.arch.stack import Stack, layer, linear, table
from rigright.base.words import Sentence, say


@dataclass(frozen=True, slots=True, kw_only=True)
class BartTraits:
    """In what one of them differs from BART."""

    spare_rows: int | None = 2  # rows of the position table beyond the context; None: computed, no table
    embed_norm: bool = True
    last_norm: bool = False
    attn_bias: bool = True  # what a config without "use_bias" has


_KINDS = {
    "bart": BartTraits(),
    "mbart": BartTraits(last_norm=True),
    "plbart": BartTraits(),
    "pegasus": BartTraits(spare_rows=0, embed_norm=False, last_norm=True),
    "marian": BartTraits(spare_rows=0, embed_norm=False),
    "m2m_100": BartTraits(spare_rows=None, embed_norm=False, last_norm=True),
    "blenderbot": BartTraits(spare_rows=0, embed_norm=False, last_norm=True),
    "blenderbot-small": BartTraits(spare_rows=0),
    "mvp": BartTraits(),
    "bigbird_pegasus": BartTraits(spare_rows=0, embed_norm=False, last_norm=True, attn_bias=False),
}
MATCHES = (
    "bart",
    "mbart",
    "plbart",
    "pegasus",
    "marian",
    "m2m_100",
    "blenderbot",
    "blenderbot-small",
    "mvp",
    "bigbird_pegasus",
    "BartForConditionalGeneration",
    "MarianMTModel",
    "M2M100ForConditionalGeneration",
)


def read(config: Config, name: str) -> Arch:
    """Read a BART-like config."""
    told = config.word("model_type", default="bart")
    kind = told if told in _KINDS else "bart"
    config = full(config, kind)
    classes = config.items("architectures", default=[])
    called = str(classes[0]) if classes else "ForConditionalGeneration"
    hidden, vocab = config.size("d_model"), config.size("vocab_size")
    generates = called.endswith(("ForConditionalGeneration", "MTModel", "ForCausalLM"))
    alone = called.endswith("ForCausalLM")
    tied = config.flag("tie_word_embeddings", default=True) and not (alone and kind == "bigbird_pegasus")
    shared = config.flag("share_encoder_decoder_embeddings", default=True)
    own = () if shared else embedding(config.size("decoder_vocab_size", default=vocab), hidden)
    head = vocab_head(vocab, hidden, tied=tied, bias=False) if generates else ()
    if called.endswith("ForSequenceClassification"):
        said = any(key in config.raw for key in ("id2label", "num_labels"))
        usual = 3 if config.raw.get("model_type") == "bart" else 2
        label = dense_label(hidden, labels(config) if said else usual)
    else:
        label = linear("head", (labels(config), hidden)) if called.endswith("QuestionAnswering") else ()
    outer = (*(own or embedding(vocab, hidden)), *head, *label)
    reader = _tower(config, kind, name="encoder", outer=embedding(vocab, hidden) if own else ())
    writer = _tower(config, kind, name="decoder", outer=outer)
    if config.flag("use_prompt", default=False):
        prompts: tuple[Sentence, ...] = (
            say("{where}: the learned prompts before each layer are not counted", where=config.where),
        )
    else:
        prompts = ()
    return Arch(
        name=name,
        family=kind,
        task="text",
        towers=(writer,) if alone else (reader, writer),
        vocab=vocab,
        tied=tied and generates,
        max_context_tok=config.maybe("max_position_embeddings"),
        dtype="fp32",
        warnings=prompts,
    )


def _tower(config: Config, kind: str, *, name: str, outer: tuple[Weight, ...]) -> Tower:
    traits = _KINDS[kind]
    hidden = config.size("d_model")
    decodes = name == "decoder"
    stack = Stack(
        hidden=hidden,
        heads=config.size(f"{name}_attention_heads"),
        width=config.size(f"{name}_ffn_dim"),
        biases="qkvoudc" if config.flag("use_bias", default=traits.attn_bias) else "ud",
        cross_hidden=hidden if decodes else 0,
        kind=Mix.FULL if decodes else Mix.BOTH,
    )
    rows = None if traits.spare_rows is None else config.size("max_position_embeddings") + traits.spare_rows
    return Tower(
        name=name,
        hidden=hidden,
        layers=(layer(stack),) * config.layers(f"{name}_layers"),
        outer=(
            *outer,
            *(table(rows, hidden) if rows else ()),
            *norm(hidden, bias=True) * (traits.embed_norm + traits.last_norm),
        ),
    )
