"""FLUX and its kin: streams of text and image beside each other, then in one."""

from __future__ import annotations

from typing import Any

from rigright.arch.blocks import feed_forward, norm
from rigright.arch.config import Config
from rigright.arch.dit import TIME, Canvas, Kinds, Parts, Scene, beside, embedder, read_scene, steered
from rigright.arch.record import Arch, Ffn, Layer, Weight
from rigright.arch.stack import Stack, at, conv, layer, linear, table, vector
from rigright.base.record import replace


def read_flux(config: Config, name: str) -> Arch:
    """FLUX and its like (Chroma, HunyuanVideo, Qwen-Image, FLUX.2, AuraFlow): two streams, then one."""
    return read_scene(config, name, kinds=_KINDS, family="flux")


def _stack(scene: Scene, **more: Any) -> Stack:
    """A layer of one stream."""
    return scene.stack(**{"cross_hidden": 0, "qk_norm": scene.head, **more})


def _double(scene: Scene, stack: Stack, *, factors: int, bias: bool = True) -> Layer:
    """One layer of two streams, each with so many factors from the time."""
    text = layer(replace(stack, tok=scene.text_tok))
    steering = linear("project", (factors * scene.hidden, scene.hidden), bias=bias) * 2 if factors else ()
    return steered(beside(layer(stack), text), *steering)


def _single(scene: Scene, *, factors: int) -> Layer:
    """Attention and feed-forward side by side over both, one projection back."""
    hidden, tok = scene.hidden, scene.tok + scene.text_tok
    own = layer(_stack(scene, tok=tok))
    parallel = tuple(w for w in own.weights if not w.role.startswith(("attn.o", "ffn.down")))
    back = at(linear("ffn.down", (hidden, 5 * hidden)), tok)
    steering = linear("project", (factors * hidden, hidden)) if factors else ()
    return steered(replace(own, weights=(*parallel, *back)), *steering)


def _flux(scene: Scene) -> Parts:
    config, hidden = scene.config, scene.hidden
    guided = config.flag("guidance_embeds", default=False)
    outer = (
        *embedder(hidden, TIME) * (2 if guided else 1),
        *embedder(hidden, config.size("pooled_projection_dim")),
        *linear("project", (hidden, config.size("joint_attention_dim")), sites=scene.text_tok),
        *linear("patch", (hidden, config.size("in_channels")), sites=scene.tok),
        *linear("project", (2 * hidden, hidden)),
        *linear("head", (_outputs(config), hidden), sites=scene.tok),
    )
    return _doubles_then_singles(scene, factors=6, single_factors=3), outer


def _outputs(config: Config) -> int:
    patch = config.size("patch_size", default=1)
    return patch * patch * (config.maybe("out_channels") or config.size("in_channels"))


def _doubles_then_singles(scene: Scene, *, factors: int, single_factors: int) -> tuple[Layer, ...]:
    config = scene.config
    return (
        *(_double(scene, _stack(scene), factors=factors),) * config.layers("num_layers"),
        *(_single(scene, factors=single_factors),) * config.layers("num_single_layers"),
    )


def _chroma(scene: Scene) -> Parts:
    """The factors come from one small network for all layers."""
    config, hidden = scene.config, scene.hidden
    inner, steps = config.size("approximator_hidden_dim"), config.layers("approximator_layers")
    factors = 3 * config.layers("num_single_layers") + 12 * config.layers("num_layers") + 2
    network = (
        *linear("project", (inner, config.size("approximator_num_channels")), sites=factors),
        *linear("project", (inner, inner), sites=factors) * (2 * steps),
        *norm(inner) * steps,
        *linear("project", (hidden, inner), sites=factors),
    )
    outer = (
        *network,
        *linear("project", (hidden, config.size("joint_attention_dim")), sites=scene.text_tok),
        *linear("patch", (hidden, config.size("in_channels")), sites=scene.tok),
        *linear("head", (_outputs(config), hidden), sites=scene.tok),
    )
    return _doubles_then_singles(scene, factors=0, single_factors=0), outer


def _hunyuan(scene: Scene) -> Parts:
    """Video: patches over frames, and the text refined before it enters."""
    config, hidden = scene.config, scene.hidden
    guided = config.flag("guidance_embeds", default=True)
    outer = (
        *_cubes(scene),
        *embedder(hidden, TIME) * (3 if guided else 2),
        *_refined_text(config, scene),
        *embedder(hidden, config.size("pooled_projection_dim")),
    )
    layers = _doubles_then_singles(scene, factors=6, single_factors=3)
    return (*_refiners(scene), *layers), outer


def _hunyuan15(scene: Scene) -> Parts:
    """Its successor: double streams alone, and beside the text a spelling of it and a picture."""
    config, hidden = scene.config, scene.hidden
    spelt, picture = config.size("text_embed_2_dim"), config.size("image_embed_dim")
    outer = (
        *_cubes(scene),
        *embedder(hidden, TIME) * 2,
        *_refined_text(config, scene),
        *vector(3, hidden),
        *norm(spelt, bias=True),
        *at(embedder(2048, spelt), scene.text_tok),
        *linear("project", (hidden, 2048), sites=scene.text_tok),
        *norm(picture, bias=True),
        *embedder(hidden, picture, middle=picture),
        *norm(hidden, bias=True),
    )
    doubles = (_double(scene, _stack(scene), factors=6),) * config.layers("num_layers")
    return (*_refiners(scene), *doubles), outer


def _cubes(scene: Scene) -> tuple[Weight, ...]:
    """From cubes of the latent to the width, and back."""
    config, hidden = scene.config, scene.hidden
    patch, deep = config.size("patch_size"), config.size("patch_size_t")
    return (
        *conv("patch", (hidden, config.size("in_channels"), deep, patch, patch), sites=scene.tok),
        *linear("project", (2 * hidden, hidden)),
        *linear("head", (patch * patch * deep * config.size("out_channels"), hidden), sites=scene.tok),
    )


def _refined_text(config: Config, scene: Scene) -> tuple[Weight, ...]:
    text = config.size("text_embed_dim")
    return (*embedder(scene.hidden, text), *linear("project", (scene.hidden, text), sites=scene.text_tok))


def _refiners(scene: Scene) -> tuple[Layer, ...]:
    """Layers over the text before it enters."""
    width = int(scene.hidden * scene.config.number("mlp_ratio"))
    refined = layer(_stack(scene, tok=scene.text_tok, width=width, norms=2, qk_norm=0, extra=()))
    refiner = steered(refined, *linear("project", (2 * scene.hidden, scene.hidden)))
    return (refiner,) * scene.config.layers("num_refiner_layers")


def _mochi(scene: Scene) -> Parts:
    """Video and a narrower text; the last layer leaves the text where it is."""
    config, hidden, tok = scene.config, scene.hidden, scene.tok
    narrow, text_tok = config.size("pooled_projection_dim"), scene.text_tok
    text, patch = config.size("text_embed_dim"), config.size("patch_size")
    stack = _stack(scene, width=8 * hidden // 3, gated=True, biases="o")
    own = steered(layer(stack), *linear("project", (4 * hidden, hidden)))
    seen = at(
        (
            *(w for name in "qkv" for w in linear(f"attn.add_{name}", (hidden, narrow), bias=False)),
            *norm(scene.head) * 2,
        ),
        text_tok,
    )
    fed = feed_forward(narrow, 8 * narrow // 3, gated=True, biases="")
    more = (*seen, *at((*linear("attn.add_o", (narrow, hidden)), *fed), text_tok))
    whole = steered(own, *more, *linear("project", (4 * narrow, hidden)))
    last = steered(own, *seen, *linear("project", (narrow, hidden)))
    inputs = config.size("in_channels")
    outer = (
        *conv("patch", (hidden, inputs, patch, patch), sites=tok),
        *vector(3, hidden // 2),
        *embedder(hidden, config.size("time_embed_dim")),
        *linear("project", (narrow, text), sites=text_tok),
        *(w for width in (2 * text, text, hidden) for w in linear("project", (width, text))),
        *linear("project", (2 * hidden, hidden)),
        *linear("head", (patch * patch * (config.maybe("out_channels") or inputs), hidden), sites=tok),
    )  # fmt: skip
    return (*(whole,) * (config.layers("num_layers") - 1), last), outer


def _hidream(scene: Scene) -> Parts:
    """Two streams, then one; the image's feed-forward is one of some experts beside a shared one."""
    config, hidden, tok = scene.config, scene.hidden, scene.tok
    patch, inputs = config.size("patch_size", default=2), config.size("in_channels")
    width = _rounded(8 * hidden / 3)
    dense = _stack(scene, width=width, gated=True, biases="qkvo", extra=norm(hidden) * 2, qk_norm=0)
    double = beside(
        _with_experts(layer(replace(dense, width=0)), config, hidden=hidden, width=width, sites=tok),
        layer(replace(dense, tok=scene.text_tok)),
    )
    both = tok + scene.text_tok
    single = _with_experts(
        layer(replace(dense, width=0, tok=both)), config, hidden=hidden, width=width, sites=both
    )
    captions = config.sizes("caption_channels")
    looks = config.layers("num_layers") + config.layers("num_single_layers") + 1
    outer = (
        *embedder(hidden, TIME),
        *embedder(hidden, config.size("text_emb_dim")),
        *linear("patch", (hidden, patch * patch * inputs), sites=tok),
        *linear("project", (hidden, captions[0]), bias=False, sites=scene.text_tok) * looks,
        *linear("project", (2 * hidden, hidden)),
        *linear("head", (patch * patch * (config.maybe("out_channels") or inputs), hidden), sites=tok),
    )
    return (
        *(steered(double, *linear("project", (12 * hidden, hidden))),) * config.layers("num_layers"),
        *(steered(single, *linear("project", (6 * hidden, hidden))),) * config.layers("num_single_layers"),
    ), outer


def _rounded(width: float) -> int:
    return -(-int(width) // 256) * 256


def _with_experts(own: Layer, config: Config, *, hidden: int, width: int, sites: int) -> Layer:
    count, used = config.size("num_routed_experts"), config.size("num_activated_experts")
    shared = _rounded(int(2 * (2 * hidden) / 3))
    experts = (
        Weight(role=role, shape=shape, copies=count, used=used, sites=sites)
        for role, shape in (
            ("expert.gate", (width, hidden)),
            ("expert.up", (width, hidden)),
            ("expert.down", (hidden, width)),
        )
    )
    fed = at(feed_forward(hidden, shared, gated=True, biases=""), sites)
    router = linear("router", (count, hidden), bias=False)
    ffn = Ffn(width=width, gated=True, experts=count, per_tok=used, shared_width=shared)
    return replace(own, weights=(*own.weights, *experts, *fed, *router), ffn=ffn)


def _qwen(scene: Scene) -> Parts:
    config, hidden = scene.config, scene.hidden
    patch = config.size("patch_size")
    outputs = config.maybe("out_channels") or config.size("in_channels")
    outer = (
        *embedder(hidden, TIME),
        *norm(config.size("joint_attention_dim")),
        *linear("patch", (hidden, config.size("in_channels")), sites=scene.tok),
        *linear("project", (hidden, config.size("joint_attention_dim")), sites=scene.text_tok),
        *linear("project", (2 * hidden, hidden)),
        *linear("head", (patch * patch * outputs, hidden), sites=scene.tok),
    )
    doubles = (_double(scene, _stack(scene), factors=6),) * config.layers("num_layers")
    return doubles, outer


def _flux2(scene: Scene) -> Parts:
    """No biases, gated feed-forwards, and one set of factors for all layers."""
    config, hidden, tok = scene.config, scene.hidden, scene.tok
    width = int(hidden * config.number("mlp_ratio"))
    stack = _stack(scene, width=width, gated=True, biases="")
    double = _double(scene, stack, factors=0)
    both = tok + scene.text_tok
    merged = (
        *linear("attn.qkv", (3 * hidden + 2 * width, hidden), bias=False, sites=both),
        *linear("attn.o", (hidden, hidden + width), bias=False, sites=both),
        *norm(scene.head) * 2,
    )
    single = replace(layer(replace(stack, tok=both)), weights=merged)
    guided = config.flag("guidance_embeds", default=True)
    inputs = config.size("in_channels")
    steps = config.size("timestep_guidance_channels", default=TIME)
    patch = config.size("patch_size", default=1)
    outer = (
        *embedder(hidden, steps, bias=False) * (2 if guided else 1),
        *linear("project", (6 * hidden, hidden), bias=False) * 2,
        *linear("project", (3 * hidden, hidden), bias=False),
        *linear("patch", (hidden, inputs), bias=False, sites=tok),
        *linear("project", (hidden, config.size("joint_attention_dim")), bias=False, sites=scene.text_tok),
        *linear("project", (2 * hidden, hidden), bias=False),
        *linear(
            "head", (patch * patch * (config.maybe("out_channels") or inputs), hidden), bias=False, sites=tok
        ),
    )
    layers = (*(double,) * config.layers("num_layers"), *(single,) * config.layers("num_single_layers"))
    return layers, outer


def _aura(scene: Scene) -> Parts:
    config, hidden, tok = scene.config, scene.hidden, scene.tok
    width = -(-int(4 * hidden * 2 / 3) // 256) * 256
    stack = _stack(scene, width=width, gated=True, biases="", qk_norm=0)
    both = layer(replace(stack, tok=tok + scene.text_tok))
    single = steered(both, *linear("project", (6 * hidden, hidden), bias=False))
    patch, inputs = config.size("patch_size"), config.size("in_channels")
    outer = (
        *vector(8, hidden),
        *table(config.size("pos_embed_max_size"), hidden),
        *linear("patch", (hidden, inputs * patch * patch), sites=tok),
        *linear("project", (hidden, config.size("joint_attention_dim")), bias=False, sites=scene.text_tok),
        *embedder(hidden, TIME),
        *linear("project", (2 * hidden, hidden), bias=False),
        *linear(
            "head", (patch * patch * (config.maybe("out_channels") or inputs), hidden), bias=False, sites=tok
        ),
    )
    doubles = (_double(scene, stack, factors=6, bias=False),) * config.layers("num_mmdit_layers")
    return (*doubles, *(single,) * config.layers("num_single_dit_layers")), outer


_KINDS: Kinds = {
    "FluxTransformer2DModel": (Canvas(text_tok=512, patch=2), _flux),
    "ChromaTransformer2DModel": (Canvas(text_tok=512, patch=2), _chroma),
    "HunyuanVideoTransformer3DModel": (Canvas(frames=33, high=90, wide=160, patch=2), _hunyuan),
    "HunyuanVideo15Transformer3DModel": (Canvas(frames=31, high=30, wide=53), _hunyuan15),
    "MochiTransformer3DModel": (Canvas(frames=28, high=60, wide=106), _mochi),
    "HiDreamImageTransformer2DModel": (Canvas(text_tok=256), _hidream),
    "QwenImageTransformer2DModel": (Canvas(text_tok=512, patch=2), _qwen),
    "Flux2Transformer2DModel": (Canvas(text_tok=512, patch=2), _flux2),
    "AuraFlowTransformer2DModel": (Canvas(patch=2), _aura),
}
