"""Whisper: convolutions over mel frames, an audio encoder, a text decoder that looks at it."""

from __future__ import annotations

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.heads import labels, vocab_head
from rigright.arch.record import Arch, Mix, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table

MATCHES = ("whisper", "WhisperForConditionalGeneration", "WhisperModel")
_NO_KEY_BIAS = "qvoudc"


def read(config: Config, name: str) -> Arch:
    """Read a Whisper config."""
    config = full(config, "whisper")
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
