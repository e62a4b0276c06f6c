"""FLUX and its kin: streams of text and image beside each other, then in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.dit import TIME, Canvas, beside, embedder, painter, steered
from rigright.arch.record import Arch, Layer, Weight
from rigright.arch.stack import Stack, at, conv, layer, linear, table, vector
from rigright.base.record import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """What all of them share."""

    config: Config
    heads: int
    head: int
    tok: int
    text_tok: int

    @property
    def hidden(self) -> int:
        """The width of both streams."""
        return self.heads * self.head

    def stack(self, **more: Any) -> Stack:
        """A layer of one stream."""
        base = Stack(
            hidden=self.hidden,
            heads=self.heads,
            width=4 * self.hidden,
            norms=0,
            qk_norm=self.head,
            steers=4,
            tok=self.tok,
        )
        return replace(base, **more)

    def double(self, stack: Stack, *, factors: int, bias: bool = True) -> Layer:
        """One layer of two streams, each with so many factors from the time."""
        text = layer(replace(stack, tok=self.text_tok))
        wide = factors * self.hidden
        steering = linear("project", (wide, self.hidden), bias=bias) * 2 if factors else ()
        return steered(beside(layer(stack), text), *steering)

    def single(self, *, factors: int) -> Layer:
        """Attention and feed-forward side by side over both, one projection back."""
        hidden, tok = self.hidden, self.tok + self.text_tok
        own = layer(self.stack(tok=tok))
        parallel = tuple(w for w in own.weights if not w.role.startswith(("attn.o", "ffn.down")))
        back = at(linear("ffn.down", (hidden, 5 * hidden)), tok)
        steering = linear("project", (factors * hidden, hidden)) if factors else ()
        return steered(replace(own, weights=(*parallel, *back)), *steering)


def read_flux(config: Config, name: str) -> Arch:
    """FLUX and its like (Chroma, HunyuanVideo, Qwen-Image, FLUX.2, AuraFlow): two streams, then one."""
    value = config.raw.get("_class_name")
    kind = value if isinstance(value, str) and value in _KINDS else "FluxTransformer2DModel"
    config = full(config, kind)
    heads, head = config.size("num_attention_heads"), config.size("attention_head_dim")
    canvas, parts = _KINDS[kind]
    streams = Streams(
        config=config,
        heads=heads,
        head=head,
        tok=canvas.tokens(config),
        text_tok=canvas.text_tok,
    )
    layers, outer = parts(streams)
    return painter(name, "flux", layers=layers, outer=outer, hidden=streams.hidden, tok=streams.tok)


Parts = tuple[tuple[Layer, ...], tuple[Weight, ...]]


def _flux(streams: Streams) -> Parts:
    config, hidden = streams.config, streams.hidden
    guided = config.flag("guidance_embeds", default=False)
    outer = (
        *embedder(hidden, TIME) * (2 if guided else 1),
        *embedder(hidden, config.size("pooled_projection_dim")),
        *linear("project", (hidden, config.size("joint_attention_dim")), sites=streams.text_tok),
        *linear("patch", (hidden, config.size("in_channels")), sites=streams.tok),
        *linear("project", (2 * hidden, hidden)),
        *linear("head", (_outputs(config), hidden), sites=streams.tok),
    )
    return _doubles_then_singles(streams, factors=6, single_factors=3), outer


def _outputs(config: Config) -> int:
    patch = config.size("patch_size", default=1)
    return patch * patch * (config.maybe("out_channels") or config.size("in_channels"))


def _doubles_then_singles(streams: Streams, *, factors: int, single_factors: int) -> tuple[Layer, ...]:
    config = streams.config
    return (
        *(streams.double(streams.stack(), factors=factors),) * config.layers("num_layers"),
        *(streams.single(factors=single_factors),) * config.layers("num_single_layers"),
    )


def _chroma(streams: Streams) -> Parts:
    """The factors come from one small network for all layers."""
    config, hidden = streams.config, streams.hidden
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
        *linear("project", (hidden, config.size("joint_attention_dim")), sites=streams.text_tok),
        *linear("patch", (hidden, config.size("in_channels")), sites=streams.tok),
        *linear("head", (_outputs(config), hidden), sites=streams.tok),
    )
    return _doubles_then_singles(streams, factors=0, single_factors=0), outer


def _hunyuan(streams: Streams) -> Parts:
    """Video: patches over frames, and the text refined before it enters."""
    config, hidden = streams.config, streams.hidden
    patch, deep = config.size("patch_size"), config.size("patch_size_t")
    text = config.size("text_embed_dim")
    guided = config.flag("guidance_embeds", default=True)
    refined = layer(
        streams.stack(
            tok=streams.text_tok,
            width=int(hidden * config.number("mlp_ratio")),
            norms=2,
            qk_norm=0,
            extra=(),
        )
    )
    refiner = steered(refined, *linear("project", (2 * hidden, hidden)))
    outer = (
        *conv("patch", (hidden, config.size("in_channels"), deep, patch, patch), sites=streams.tok),
        *embedder(hidden, TIME) * (3 if guided else 2),
        *embedder(hidden, text),
        *linear("project", (hidden, text), sites=streams.text_tok),
        *embedder(hidden, config.size("pooled_projection_dim")),
        *linear("project", (2 * hidden, hidden)),
        *linear("head", (patch * patch * deep * config.size("out_channels"), hidden), sites=streams.tok),
    )
    layers = _doubles_then_singles(streams, factors=6, single_factors=3)
    return (*(refiner,) * config.layers("num_refiner_layers"), *layers), outer


def _qwen(streams: Streams) -> Parts:
    config, hidden = streams.config, streams.hidden
    patch = config.size("patch_size")
    outputs = config.maybe("out_channels") or config.size("in_channels")
    outer = (
        *embedder(hidden, TIME),
        *norm(config.size("joint_attention_dim")),
        *linear("patch", (hidden, config.size("in_channels")), sites=streams.tok),
        *linear("project", (hidden, config.size("joint_attention_dim")), sites=streams.text_tok),
        *linear("project", (2 * hidden, hidden)),
        *linear("head", (patch * patch * outputs, hidden), sites=streams.tok),
    )
    doubles = (streams.double(streams.stack(), factors=6),) * config.layers("num_layers")
    return doubles, outer


def _flux2(streams: Streams) -> Parts:
    """No biases, gated feed-forwards, and one set of factors for all layers."""
    config, hidden, tok = streams.config, streams.hidden, streams.tok
    width = int(hidden * config.number("mlp_ratio"))
    stack = streams.stack(width=width, gated=True, biases="")
    double = streams.double(stack, factors=0)
    both = tok + streams.text_tok
    merged = (
        *linear("attn.qkv", (3 * hidden + 2 * width, hidden), bias=False, sites=both),
        *linear("attn.o", (hidden, hidden + width), bias=False, sites=both),
        *norm(streams.head) * 2,
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
        *linear("project", (hidden, config.size("joint_attention_dim")), bias=False, sites=streams.text_tok),
        *linear("project", (2 * hidden, hidden), bias=False),
        *linear(
            "head", (patch * patch * (config.maybe("out_channels") or inputs), hidden), bias=False, sites=tok
        ),
    )
    layers = (*(double,) * config.layers("num_layers"), *(single,) * config.layers("num_single_layers"))
    return layers, outer


def _aura(streams: Streams) -> Parts:
    config, hidden, tok = streams.config, streams.hidden, streams.tok
    width = -(-int(4 * hidden * 2 / 3) // 256) * 256
    stack = streams.stack(width=width, gated=True, biases="", qk_norm=0)
    both = layer(replace(stack, tok=tok + streams.text_tok))
    single = steered(both, *linear("project", (6 * hidden, hidden), bias=False))
    patch, inputs = config.size("patch_size"), config.size("in_channels")
    outer = (
        *vector(8, hidden),
        *table(config.size("pos_embed_max_size"), hidden),
        *linear("patch", (hidden, inputs * patch * patch), sites=tok),
        *linear("project", (hidden, config.size("joint_attention_dim")), bias=False, sites=streams.text_tok),
        *embedder(hidden, TIME),
        *linear("project", (2 * hidden, hidden), bias=False),
        *linear(
            "head", (patch * patch * (config.maybe("out_channels") or inputs), hidden), bias=False, sites=tok
        ),
    )
    doubles = (streams.double(stack, factors=6, bias=False),) * config.layers("num_mmdit_layers")
    return (*doubles, *(single,) * config.layers("num_single_dit_layers")), outer


_KINDS: dict[str, tuple[Canvas, Callable[[Streams], Parts]]] = {
    "FluxTransformer2DModel": (Canvas(text_tok=512), _flux),
    "ChromaTransformer2DModel": (Canvas(text_tok=512), _chroma),
    "HunyuanVideoTransformer3DModel": (Canvas(frames=33, high=90, wide=160), _hunyuan),
    "QwenImageTransformer2DModel": (Canvas(text_tok=512), _qwen),
    "Flux2Transformer2DModel": (Canvas(text_tok=512), _flux2),
    "AuraFlowTransformer2DModel": (Canvas(), _aura),
}
