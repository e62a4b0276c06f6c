"""CLIP, SigLIP and their kin: a text encoder and a vision transformer that meet in one space."""

from __future__ import annotations

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.heads import labels, task
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.stack import Stack, layer, linear, table, vector
from rigright.arch.vision import vit_tower

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
MATCHES = (
    "clip",
    "siglip",
    "siglip2",
    "chinese_clip",
    "metaclip_2",
    "owlvit",
    "owlv2",
    "aimv2",
    "clip_text_model",
    "siglip_text_model",
    "siglip2_text_model",
    "metaclip_2_text_model",
    "owlvit_text_model",
    "owlv2_text_model",
    "aimv2_text_model",
    "CLIPModel",
    "CLIPTextModel",
    "CLIPTextModelWithProjection",
    "SiglipModel",
)
_SIGMOID = frozenset({"siglip", "siglip2"})


def read(config: Config, name: str) -> Arch:
    """Read the config of both sides, or of the text side alone."""
    told = config.word("model_type", default="clip")
    kind = told if told in MATCHES else "clip"
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
        said: tuple[Weight, ...] = ()
    else:
        shared = config.size("projection_dim")
        seen = linear("project", (shared, hidden), bias=False)
        said = linear("project", (shared, text.size("hidden_size")), bias=False)
    return (
        text_tower(text, text_kind, after=(*said, *scale)),
        vit_tower(eye, eye_kind, after=seen),
    )


def text_tower(config: Config, kind: str, *, after: tuple[Weight, ...] = ()) -> Tower:
    """The text side: words and positions, layers, a last norm."""
    if kind == "chinese_clip_text_model":
        from rigright.arch.families.bert import encoder

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
