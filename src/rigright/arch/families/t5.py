"""T5 and its kin: encoder and decoder with relative positions, one token table for both and the head."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.heads import dense_label, labels, vocab_head
from rigright.arch.record import Arch, Layer, Mix, Tower, Weight
from rigright.arch.stack import Stack, layer, table

MATCHES = (
    "t5",
    "mt5",
    "umt5",
    "longt5",
    "T5ForConditionalGeneration",
    "T5EncoderModel",
    "T5WithLMHeadModel",
    "MT5ForConditionalGeneration",
    "UMT5ForConditionalGeneration",
)
_KINDS = ("t5", "mt5", "umt5", "longt5")


def read(config: Config, name: str) -> Arch:
    """Read a T5 config."""
    told = config.word("model_type", default="t5")
    kind = told if told in _KINDS else "t5"
    config = full(config, kind)
    classes = config.items("architectures", default=[])
    called = str(classes[0]) if classes else ""
    hidden, vocab = config.size("d_model"), config.size("vocab_size")
    encoder = _tower(config, kind, decodes=False)
    if called.endswith(("EncoderModel", "ForTokenClassification")):
        head = _label(config, hidden) if called.endswith("Classification") else ()
        towers: tuple[Tower, ...] = (
            replace(encoder, outer=(*embedding(vocab, hidden), *encoder.outer, *head)),
        )
    else:
        decoder = _tower(config, kind, decodes=True)
        generates = called.endswith(("ForConditionalGeneration", "LMHeadModel")) or not called
        head = vocab_head(vocab, hidden, tied=True, bias=False) if generates else ()
        marks = dense_label(hidden, labels(config)) if called.endswith("SequenceClassification") else ()
        spans = _label(config, hidden) if called.endswith("QuestionAnswering") else ()
        towers = (
            encoder,
            replace(decoder, outer=(*embedding(vocab, hidden), *decoder.outer, *head, *marks, *spans)),
        )
    return Arch(
        name=name,
        family=kind,
        task="text" if len(towers) > 1 else "embed",
        towers=towers,
        vocab=vocab,
        tied=len(towers) > 1,  # whatever the config says: the class always ties
        max_context_tok=config.maybe("n_positions"),
        dtype="fp32",
    )


def _label(config: Config, hidden: int) -> tuple[Weight, ...]:
    classes = labels(config)
    return (Weight(role="head", shape=(classes, hidden)), Weight(role="head.bias", shape=(classes,)))


def _tower(config: Config, kind: str, *, decodes: bool) -> Tower:
    """The encoder, or the decoder that also looks at it."""
    hidden = config.size("d_model")
    counts = ("num_decoder_layers", "num_layers") if decodes else ("num_layers",)
    return Tower(
        name="decoder" if decodes else "encoder",
        hidden=hidden,
        layers=_layers(config, kind, count=config.layers(*counts), decodes=decodes),
        outer=norm(hidden),
    )


def _layers(config: Config, kind: str, *, count: int, decodes: bool) -> tuple[Layer, ...]:
    hidden, heads = config.size("d_model"), config.size("num_heads")
    stack = Stack(
        hidden=hidden,
        heads=heads,
        head_dim=config.size("d_kv"),
        width=config.size("d_ff"),
        gated=config.word("feed_forward_proj", default="relu").startswith("gated"),
        biases="",
        norm_bias=False,
        cross_hidden=hidden if decodes else 0,
        kind=Mix.FULL if decodes else Mix.BOTH,
    )
    buckets = table(config.size("relative_attention_num_buckets"), heads)
    wide = not decodes and "transient" in str(config.raw.get("encoder_attention_type"))
    always = norm(hidden) if wide else ()
    first = replace(stack, extra=(*buckets * (2 if wide else 1), *always))
    rest = replace(stack, extra=(*(buckets if kind == "umt5" else ()), *always))
    return tuple(layer(rest if index else first) for index in range(count))
