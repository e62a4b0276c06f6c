"""Llama 3.2 Vision: an eye of two transformers, and a decoder with layers that look at the image."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import attention as attend
from rigright.arch.blocks import dense, embedding, gqa, head, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.record import Arch, Layer, Mix, Tower
from rigright.arch.stack import Stack, conv, layer, linear, table, vector
from rigright.arch.vision import patches

MATCHES = ("mllama", "MllamaForConditionalGeneration", "mllama_text_model", "MllamaForCausalLM")
_CROSSING = (3, 8, 13, 18, 23, 28, 33, 38)
_SPARE_WORDS = 8  # rows of the token table beyond the vocabulary, for the image token


def read(config: Config, name: str) -> Arch:
    """Read a Llama 3.2 Vision config, or its decoder alone."""
    alone = config.raw.get("model_type") == "mllama_text_model"
    config = full(config, "mllama_text_model" if alone else "mllama")
    text = config if alone else part(config, "text_config", kind="mllama_text_model")
    hidden, heads, vocab = text.size("hidden_size"), text.size("num_attention_heads"), text.size("vocab_size")
    mixer = gqa(heads, text.size("num_key_value_heads", default=heads), head_dim=hidden // heads)
    own = attend(hidden, mixer)
    looks = attend(hidden, replace(mixer, kind=Mix.CROSS), qk_norm=hidden // heads, part="cross")
    ffn = dense(hidden, text.size("intermediate_size"))
    shared = (*norm(hidden) * 2, *ffn.weights)
    plain = Layer(weights=(*own.weights, *shared), mixer=mixer, ffn=ffn.ffn)
    crossing = Layer(weights=(*looks.weights, *shared, *vector(1) * 2), cross=looks.mixer, ffn=ffn.ffn)
    told = text.raw.get("cross_attention_layers")
    at = set(_CROSSING if told is None else text.sizes("cross_attention_layers"))
    count = text.layers("num_hidden_layers")
    decoder = Tower(
        name="text",
        hidden=hidden,
        layers=tuple(crossing if index in at else plain for index in range(count)),
        outer=(
            *embedding(vocab + _SPARE_WORDS, hidden),
            *norm(hidden),
            *head(vocab, hidden, tied=_tied(text)),
        ),
    )
    towers = (decoder,) if alone else (decoder, _eye(part(config, "vision_config"), decoder.hidden))
    return Arch(
        name=name,
        family="mllama",
        task="image-text",
        towers=towers,
        vocab=text.size("vocab_size"),
        tied=_tied(text),
        max_context_tok=text.maybe("max_position_embeddings"),
    )


def _tied(text: Config) -> bool:
    return text.flag("tie_word_embeddings", default=False)


def _eye(eye: Config, said: int) -> Tower:
    """Tiles of an image, each with its positions, seen alone and then together."""
    hidden, tiles = eye.size("hidden_size"), eye.layers("max_num_tiles")
    seen = patches(eye)
    tok = tiles * (seen + 1)
    stack = Stack(
        hidden=hidden,
        heads=eye.size("attention_heads", "num_attention_heads"),
        width=eye.size("intermediate_size"),
        biases="ud",
        tok=tok,
    )
    local = layer(replace(stack, window_tok=seen + 1))
    whole = layer(replace(stack, extra=vector(1) * 2))
    shapes = len(eye.items("supported_aspect_ratios", default=[])) or _ratios(tiles)
    # A class token; positions in a tile, of tiles before and after, and of both, each with a gate
    per_shape = shapes + 1
    return Tower(
        name="vision",
        hidden=hidden,
        layers=(
            *(local,) * eye.layers("num_hidden_layers"),
            *(whole,) * eye.layers("num_global_layers"),
        ),
        outer=(
            *conv("patch", (hidden, 3, *(eye.size("patch_size"),) * 2), bias=False, sites=tiles * seen),
            *vector(hidden),
            *table(seen + 1, hidden),
            *table(per_shape, tiles * (seen + 1) * hidden),
            *table(per_shape, tiles * hidden) * 2,
            *vector(1) * 3,
            *norm(hidden, bias=True) * 2,
            *linear("project", (said, eye.size("vision_output_dim")), sites=tok),
        ),
        sample_tok=tok,
    )


def _ratios(tiles: int) -> int:
    """Aspect ratios of up to so many tiles: widths times heights."""
    return sum(tiles // wide for wide in range(1, tiles + 1))
