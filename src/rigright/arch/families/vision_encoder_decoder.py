"""An image encoder and a text decoder of any two families, joined by attention: TrOCR, image captioners."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.families.bert import encoder as bert_tower
from rigright.arch.heads import vocab_head
from rigright.arch.record import Arch, Mix, Tower
from rigright.arch.stack import Stack, layer, linear, table
from rigright.arch.vision import KINDS, vit_tower
from rigright.base.errors import DataError
from rigright.base.words import say

MATCHES = ("vision-encoder-decoder", "VisionEncoderDecoderModel", "trocr", "TrOCRForCausalLM")
_SPARE_ROWS = 2


def read(config: Config, name: str) -> Arch:
    """Read a config of both, or of TrOCR's decoder alone."""
    if config.raw.get("model_type") == "trocr":
        alone = full(config, "trocr")
        towers: tuple[Tower, ...] = (_trocr(alone, alone.maybe("cross_attention_hidden_size")),)
    else:
        eye, words = part(config, "encoder", kind="vit"), part(config, "decoder", kind="trocr")
        eye_kind, kind = eye.word("model_type"), words.word("model_type")
        if eye_kind not in KINDS or kind not in {"trocr", "bert"}:
            strange = kind if eye_kind in KINDS else eye_kind
            raise DataError(
                say('{where}: "{key}" cannot be {value}', where=config.where, key="model_type", value=strange)
            )
        hidden = eye.size("hidden_size")
        pooled = linear("project", (hidden, hidden)) if eye_kind in {"vit", "deit"} else ()
        said = words.size("d_model", "hidden_size")
        told = words.maybe("cross_attention_hidden_size")
        bridge = linear("project", (said, hidden)) if hidden != said and told is None else ()
        seen = vit_tower(eye, eye_kind, after=(*pooled, *bridge))
        decoder = _trocr(words, told) if kind == "trocr" else _bert(words)
        towers = seen, decoder
    vocab = max(weight.shape[0] for weight in towers[-1].outer if weight.role == "embed")
    return Arch(
        name=name, family="vision-encoder-decoder", task="image-text", towers=towers, vocab=vocab, tied=True
    )


def _trocr(words: Config, told: int | None) -> Tower:
    hidden, vocab = words.size("d_model"), words.size("vocab_size")
    stack = Stack(
        hidden=hidden,
        heads=words.size("decoder_attention_heads"),
        width=words.size("decoder_ffn_dim"),
        cross_hidden=told or hidden,
        kind=Mix.FULL,
    )
    learned = words.flag("use_learned_position_embeddings", default=True)
    rows = words.size("max_position_embeddings") + _SPARE_ROWS
    return Tower(
        name="decoder",
        hidden=hidden,
        layers=(layer(stack),) * words.layers("decoder_layers"),
        outer=(
            *embedding(vocab, hidden),
            *(table(rows, hidden) if learned else ()),
            *(norm(hidden, bias=True) if words.flag("layernorm_embedding", default=True) else ()),
            *vocab_head(vocab, hidden, tied=True, bias=False),
        ),
    )


def _bert(words: Config) -> Tower:
    decodes = words.over(add_cross_attention=True, is_decoder=True)
    return replace(bert_tower(decodes, "bert", asked="LMHeadModel"), name="decoder")
