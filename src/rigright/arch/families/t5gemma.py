"""T5Gemma: Gemma 2's layers as encoder and decoder, four norms a layer and two around each look across."""

from __future__ import annotations

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.decoder import SLIDING, layer_types
from rigright.arch.defaults import full, part
from rigright.arch.heads import vocab_head
from rigright.arch.record import Arch, Layer, Mix, Tower, Weight
from rigright.arch.stack import Stack, layer

MATCHES = ("t5gemma", "T5GemmaForConditionalGeneration", "T5GemmaEncoderModel", "T5GemmaModel")


def read(config: Config, name: str) -> Arch:
    """Read a T5Gemma config."""
    config = full(config, "t5gemma")
    reader, writer = (part(config, key, kind="t5_gemma_module") for key in ("encoder", "decoder"))
    classes = config.items("architectures", default=[])
    called = str(classes[0]) if classes else "T5GemmaForConditionalGeneration"
    alone = called.endswith("EncoderModel")
    vocab, hidden = writer.size("vocab_size"), writer.size("hidden_size")
    tied = config.flag("tie_word_embeddings", default=True)
    head = vocab_head(vocab, hidden, tied=tied, bias=False) if called.endswith("Generation") else ()
    read_words = embedding(reader.size("vocab_size"), reader.size("hidden_size"))
    encoder = _tower(reader, "encoder", outer=read_words)
    written = (*embedding(vocab, hidden), *head)
    decoder = _tower(writer, "decoder", outer=written, across=reader.size("hidden_size"))
    return Arch(
        name=name,
        family="t5gemma",
        task="embed" if alone else "text",
        towers=(encoder,) if alone else (encoder, decoder),
        vocab=vocab,
        tied=tied and bool(head or not alone),
        max_context_tok=writer.maybe("max_position_embeddings"),
    )


def _tower(config: Config, name: str, *, outer: tuple[Weight, ...], across: int = 0) -> Tower:
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
