"""Image encoders, alone, beside a text encoder or before a text decoder."""

from __future__ import annotations

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.families import kind_of
from rigright.arch.heads import labels, task, vocab_head
from rigright.arch.kin.bert import encoder as bert_tower
from rigright.arch.record import Arch, Mix, Tower, Weight
from rigright.arch.stack import Stack, layer, linear, table, vector
from rigright.arch.vision import KINDS, vit_tower
from rigright.base.errors import DataError
from rigright.base.record import replace
from rigright.base.words import say

_WHOLE = ("clip", "siglip", "siglip2", "chinese_clip", "metaclip_2", "owlvit", "owlv2", "aimv2")


_TEXTS = (
    "clip_text_model",
    "siglip_text_model",
    "siglip2_text_model",
    "metaclip_2_text_model",
    "owlvit_text_model",
    "owlv2_text_model",
    "aimv2_text_model",
)


_SIGMOID = frozenset({"siglip", "siglip2"})


def read_clip(config: Config, name: str) -> Arch:
    """CLIP, SigLIP and their kin: a text encoder and a vision transformer that meet in one space."""
    kind = kind_of(config, "clip")
    classes = config.items("architectures", default=[])
    if kind in _TEXTS or str(classes[:1]).find("TextModel") >= 0:
        towers: tuple[Tower, ...] = (_alone(config, kind if kind in _TEXTS else f"{kind}_text_model"),)
    else:
        towers = _both(full(config, kind), kind)
    vocab = max(
        (weight.shape[0] for tower in towers for weight in tower.outer if weight.role == "embed"), default=0
    )
    return Arch(name=name, family=kind, task="image-text", towers=towers, vocab=vocab, dtype="fp32")


def _alone(config: Config, kind: str) -> Tower:
    config = full(config, kind)
    if task(config, "") != "WithProjection":
        return text_tower(config, kind)
    shared = linear("project", (config.size("projection_dim"), config.size("hidden_size")), bias=False)
    return text_tower(config, kind, after=shared)


def _both(config: Config, kind: str) -> tuple[Tower, ...]:
    """Both towers, each with its projection into the shared space; or the eye with a classifier."""
    eye = part(config, "vision_config")
    eye_kind, hidden = eye.word("model_type"), eye.size("hidden_size")
    if task(config, "") == "ForImageClassification":
        return (vit_tower(eye, eye_kind, after=linear("head", (labels(config), hidden))),)
    scale = vector(1) * (2 if kind in _SIGMOID else 1)
    text = part(config, "text_config")
    text_kind = text.word("model_type")
    if kind in _SIGMOID:
        seen: tuple[Weight, ...] = ()
        weights: tuple[Weight, ...] = ()
    else:
        shared = config.size("projection_dim")
        seen = linear("project", (shared, hidden), bias=False)
        weights = linear("project", (shared, text.size("hidden_size")), bias=False)
    return (
        text_tower(text, text_kind, after=(*weights, *scale)),
        vit_tower(eye, eye_kind, after=seen),
    )


def text_tower(config: Config, kind: str, *, after: tuple[Weight, ...] = ()) -> Tower:
    """The text side: words and positions, layers, a last norm."""
    if kind == "chinese_clip_text_model":
        from rigright.arch.kin.bert import encoder

        tower = encoder(config, "bert", asked="bare")
        return Tower(name="encoder", hidden=tower.hidden, layers=tower.layers, outer=(*tower.outer, *after))
    hidden = config.size("hidden_size")
    modern = kind.startswith("aimv2")
    biases = "qkvo" * config.flag("qkv_bias", default=False) + "gud" * config.flag("mlp_bias", default=False)
    stack = Stack(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        width=config.size("intermediate_size"),
        gated=modern,
        biases=biases if modern else "qkvogud",
        norm_bias=not modern,
    )
    shared = config.maybe("projection_size") or hidden
    return Tower(
        name="encoder",
        hidden=hidden,
        layers=(layer(stack),) * config.layers("num_hidden_layers"),
        outer=(
            *embedding(config.size("vocab_size"), hidden),
            *table(config.size("max_position_embeddings"), hidden),
            *norm(hidden, bias=not modern),
            *(linear("project", (shared, hidden)) if kind.startswith("siglip") else ()),
            *after,
        ),
    )


_POOLED = frozenset({"vit", "deit"})  # bare models of these end in a dense layer


_BARE = frozenset({"data2vec-vision"})  # bare models of these do not pool


_DOUBLE = frozenset({"dinov2", "dinov2_with_registers"})  # the head sees class token and mean patch


def read_vit(config: Config, name: str) -> Arch:
    """Image encoders and classifiers that are vision transformers: ViT, DeiT, BEiT, DINO and their kin."""
    kind = kind_of(config, "vit")
    asked = task(config, "ForImageClassification")
    pools = bool(asked) or kind not in _BARE
    return Arch(
        name=name,
        family=kind,
        task="vision",
        towers=(vit_tower(config, kind, after=_head(config, kind, asked=asked), tail=pools),),
        dtype="fp32",
    )


def _head(config: Config, kind: str, *, asked: str) -> tuple[Weight, ...]:
    hidden = config.size("hidden_size")
    if asked == "WithProjection":
        return linear("project", (config.size("projection_dim"), hidden), bias=False)
    if asked.startswith("ForImageClassification"):
        twice = asked.endswith("WithTeacher")
        classes = linear("head", (labels(config), hidden * (2 if kind in _DOUBLE else 1)))
        return classes * (2 if twice else 1)
    pooled = config.maybe("pooler_output_size") or hidden
    return linear("project", (pooled, hidden)) if kind in _POOLED and not asked else ()


_SPARE_ROWS = 2


def read_vision_encoder_decoder(config: Config, name: str) -> Arch:
    """An image encoder and a text decoder of any two families, joined by attention, as in TrOCR."""
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
        number = words.size("d_model", "hidden_size")
        given = words.maybe("cross_attention_hidden_size")
        bridge = linear("project", (number, hidden)) if hidden != number and given is None else ()
        seen = vit_tower(eye, eye_kind, after=(*pooled, *bridge))
        decoder = _trocr(words, given) if kind == "trocr" else _bert(words)
        towers = seen, decoder
    vocab = max(weight.shape[0] for weight in towers[-1].outer if weight.role == "embed")
    return Arch(
        name=name, family="vision-encoder-decoder", task="image-text", towers=towers, vocab=vocab, tied=True
    )


def _trocr(words: Config, number: int | None) -> Tower:
    hidden, vocab = words.size("d_model"), words.size("vocab_size")
    stack = Stack(
        hidden=hidden,
        heads=words.size("decoder_attention_heads"),
        width=words.size("decoder_ffn_dim"),
        cross_hidden=number or hidden,
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
