"""Encoders and decoders joined by attention: T5, BART, Whisper and their kin."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.decoder import SLIDING, layer_types
from rigright.arch.defaults import part
from rigright.arch.families import kind_of
from rigright.arch.heads import dense_label, labels, vocab_head
from rigright.arch.record import Arch, Layer, Mix, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table
from rigright.base.record import replace
from rigright.base.words import Sentence, say

_T5_KINDS = ("t5", "mt5", "umt5", "longt5")


def read_t5(config: Config, name: str) -> Arch:
    """T5 and its kin: encoder and decoder with relative positions, one token table for both and the head."""
    kind = kind_of(config, "t5")
    classes = config.items("architectures", default=[])
    called = str(classes[0]) if classes else ""
    hidden, vocab = config.size("d_model"), config.size("vocab_size")
    encoder = _t5_tower(config, kind, decodes=False)
    if called.endswith(("EncoderModel", "ForTokenClassification")):
        head = _label(config, hidden) if called.endswith("Classification") else ()
        towers: tuple[Tower, ...] = (
            replace(encoder, outer=(*embedding(vocab, hidden), *encoder.outer, *head)),
        )
    else:
        decoder = _t5_tower(config, kind, decodes=True)
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


def _t5_tower(config: Config, kind: str, *, decodes: bool) -> Tower:
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


def read_t5gemma(config: Config, name: str) -> Arch:
    """T5Gemma: Gemma 2's layers as encoder and decoder, two norms around each look across."""
    reader, writer = (part(config, key, kind="t5_gemma_module") for key in ("encoder", "decoder"))
    classes = config.items("architectures", default=[])
    called = str(classes[0]) if classes else "T5GemmaForConditionalGeneration"
    alone = called.endswith("EncoderModel")
    vocab, hidden = writer.size("vocab_size"), writer.size("hidden_size")
    tied = config.flag("tie_word_embeddings", default=True)
    head = vocab_head(vocab, hidden, tied=tied, bias=False) if called.endswith("Generation") else ()
    read_words = embedding(reader.size("vocab_size"), reader.size("hidden_size"))
    encoder = _t5gemma_tower(reader, "encoder", outer=read_words)
    written = (*embedding(vocab, hidden), *head)
    decoder = _t5gemma_tower(writer, "decoder", outer=written, across=reader.size("hidden_size"))
    return Arch(
        name=name,
        family="t5gemma",
        task="embed" if alone else "text",
        towers=(encoder,) if alone else (encoder, decoder),
        vocab=vocab,
        tied=tied and bool(head or not alone),
        max_context_tok=writer.maybe("max_position_embeddings"),
    )


def _t5gemma_tower(config: Config, name: str, *, outer: tuple[Weight, ...], across: int = 0) -> Tower:
    count, window = config.layers("num_hidden_layers"), config.maybe("sliding_window")
    kinds = layer_types(
        config, count, default=lambda index: "full_attention" if index % 2 else "sliding_attention"
    )
    hidden = config.size("hidden_size")
    return Tower(
        name=name,
        hidden=hidden,
        layers=tuple(_layer(config, window if kind in SLIDING else None, across=across) for kind in kinds),
        outer=(*outer, *norm(hidden)),
    )


def _layer(config: Config, window_tok: int | None, *, across: int) -> Layer:
    """The decoder slides over what it wrote; the encoder sees both ways inside its window."""
    sees = Mix.WINDOW if window_tok is not None else Mix.FULL
    return layer(
        Stack(
            hidden=config.size("hidden_size"),
            heads=config.size("num_attention_heads"),
            kv_heads=config.size("num_key_value_heads"),
            head_dim=config.size("head_dim"),
            width=config.size("intermediate_size"),
            gated=True,
            biases="qkvo" * config.flag("attention_bias", default=False),
            norms=4,
            norm_bias=False,
            cross_hidden=across,
            cross_norms=2,
            kind=sees if across else Mix.BOTH,
            window_tok=window_tok,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BartTraits:
    """In what one of them differs from BART."""

    spare_rows: int | None = 2  # rows of the position table beyond the context; None: computed, no table
    embed_norm: bool = True
    last_norm: bool = False
    attn_bias: bool = True  # what a config without "use_bias" has


_BART_KINDS = {
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


def read_bart(config: Config, name: str) -> Arch:
    """BART and its kin: encoder and decoder with learned or fixed position tables."""
    kind = kind_of(config, "bart")
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
        flag = any(key in config.raw for key in ("id2label", "num_labels"))
        usual = 3 if config.raw.get("model_type") == "bart" else 2
        label = dense_label(hidden, labels(config) if flag else usual)
    else:
        label = linear("head", (labels(config), hidden)) if called.endswith("QuestionAnswering") else ()
    outer = (*(own or embedding(vocab, hidden)), *head, *label)
    reader = _bart_tower(config, kind, name="encoder", outer=embedding(vocab, hidden) if own else ())
    writer = _bart_tower(config, kind, name="decoder", outer=outer)
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


def _bart_tower(config: Config, kind: str, *, name: str, outer: tuple[Weight, ...]) -> Tower:
    traits = _BART_KINDS[kind]
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


_NO_KEY_BIAS = "qvoudc"


def read_whisper(config: Config, name: str) -> Arch:
    """Whisper: convolutions over mel frames, an audio encoder, a text decoder that looks at it."""
    classes = config.items("architectures", default=[])
    called = str(classes[0]) if classes else "ForConditionalGeneration"
    vocab = config.size("vocab_size")
    tied = config.flag("tie_word_embeddings", default=True)
    hidden = config.size("d_model")
    if called.endswith("AudioClassification"):
        width = config.size("classifier_proj_size")
        head = (*linear("project", (width, hidden)), *linear("head", (labels(config), width)))
        towers: tuple[Tower, ...] = (audio_encoder(config, after=head),)
    else:
        generates = not called.endswith("Model")
        head = vocab_head(vocab, hidden, tied=tied, bias=False) if generates else ()
        writer = _decoder(config, (*embedding(vocab, hidden), *head))
        towers = (writer,) if called.endswith("ForCausalLM") else (audio_encoder(config), writer)
    return Arch(
        name=name,
        family="whisper",
        task="speech",
        towers=towers,
        vocab=vocab,
        tied=tied and towers[-1].name == "decoder",
        max_context_tok=config.maybe("max_target_positions"),
        dtype="fp16",
    )


def audio_encoder(
    config: Config, *, name: str = "encoder", positions: bool = True, after: tuple[Weight, ...] = ()
) -> Tower:
    """Two convolutions that halve the frames, positions, layers, a norm, and what follows."""
    hidden, tok = config.size("d_model", "hidden_size"), config.size("max_source_positions")
    stack = Stack(
        hidden=hidden,
        heads=config.size("encoder_attention_heads", "num_attention_heads"),
        width=config.size("encoder_ffn_dim", "intermediate_size"),
        biases=_NO_KEY_BIAS,
        tok=tok,
    )
    return Tower(
        name=name,
        hidden=hidden,
        layers=(layer(stack),) * config.layers("encoder_layers", "num_hidden_layers"),
        outer=(
            *conv("conv", (hidden, config.size("num_mel_bins"), 3), sites=2 * tok),
            *conv("conv", (hidden, hidden, 3), sites=tok),
            *(table(tok, hidden) if positions else ()),
            *norm(hidden, bias=True),
            *after,
        ),
        sample_tok=tok,
    )


def _decoder(config: Config, words: tuple[Weight, ...]) -> Tower:
    hidden = config.size("d_model")
    stack = Stack(
        hidden=hidden,
        heads=config.size("decoder_attention_heads"),
        width=config.size("decoder_ffn_dim"),
        biases=_NO_KEY_BIAS,
        cross_hidden=hidden,
        kind=Mix.FULL,
    )
    return Tower(
        name="decoder",
        hidden=hidden,
        layers=(layer(stack),) * config.layers("decoder_layers"),
        outer=(*words, *table(config.size("max_target_positions"), hidden), *norm(hidden, bias=True)),
    )
