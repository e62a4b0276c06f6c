"""Diffusion transformers: layers steered by a time's embedding, in one stream or in two that meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.stack import Stack, layer, linear, vector
from rigright.arch.vision import sides
from rigright.base.record import dataclass, replace

TIME = 256  # numbers a time step is first written as


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """What a sample is where the config does not say: latent frames, height, width; tokens of the text."""

    frames: int = 1
    high: int = 128
    wide: int = 128
    text_tok: int = 256
    patch: int = (
        0  # side of the square of latent places that is a token, where the config says something else
    )

    def tokens(self, config: Config, *, patch: int) -> int:
        """Tokens of a sample: squares of the latent, over its frames."""
        value, side = config.raw.get("sample_size"), self.patch or patch
        high, wide = (self.high, self.wide) if value is None else sides(value, self.high)
        deep = config.raw.get("latent_frames")
        frames = deep if isinstance(deep, int) and deep > 0 else self.frames
        return frames * max(high // side, 1) * max(wide // side, 1)


def steered(plain: Layer, *weights: Weight) -> Layer:
    """The layer with what turns the time's embedding into its factors, applied once a sample."""
    return replace(plain, weights=(*plain.weights, *weights))


def beside(first: Layer, second: Layer) -> Layer:
    """Two streams that attend to each other: the second's attention is told apart by its roles."""
    added = tuple(
        replace(weight, role=weight.role.replace("attn.", "attn.add_", 1)) for weight in second.weights
    )
    return replace(
        first,
        weights=(*first.weights, *added),
        map_elems=(*first.map_elems, *second.map_elems),
        kept_elems=first.kept_elems + second.kept_elems,
    )


def embedder(width: int, inputs: int, *, middle: int | None = None, bias: bool = True) -> tuple[Weight, ...]:
    """Two layers from a number or vector to an embedding, once a sample."""
    return (
        *linear("project", (middle or width, inputs), bias=bias),
        *linear("project", (width, middle or width), bias=bias),
    )


def painter(
    name: str, family: str, *, layers: tuple[Layer, ...], outer: tuple[Weight, ...], hidden: int, tok: int
) -> Arch:
    """The whole transformer as an Arch."""
    tower = Tower(name="dit", hidden=hidden, layers=layers, outer=outer, sample_tok=tok)
    return Arch(name=name, family=family, task="image", towers=(tower,), dtype="bf16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What all of them share."""

    config: Config
    hidden: int
    heads: int
    tok: int
    text_tok: int

    @property
    def head(self) -> int:
        """The width of a head."""
        return self.hidden // self.heads

    def stack(self, **more: Any) -> Stack:
        """A layer over the image, looking at a text of its own width."""
        base = Stack(
            hidden=self.hidden,
            heads=self.heads,
            width=4 * self.hidden,
            norms=0,
            cross_hidden=self.hidden,
            cross_norms=0,
            steers=4,
            tok=self.tok,
        )
        return replace(base, **more)

    def layers(self, stack: Stack, *, factors: int = 6, key: str = "num_layers") -> tuple[Layer, ...]:
        """As many as the config says, each with its factors; a text answers from its own places."""
        own = layer(stack)
        looks = ("cross.k", "cross.v")
        placed = tuple(
            replace(weight, sites=self.text_tok) if weight.role.startswith(looks) else weight
            for weight in own.weights
        )
        whole = replace(own, weights=(*placed, *(vector(factors, self.hidden) if factors else ())))
        return (whole,) * self.config.layers(key)


Parts = tuple[tuple[Layer, ...], tuple[Weight, ...]]
Kinds = dict[str, tuple[Canvas, Callable[[Scene], Parts]]]


def read_scene(config: Config, name: str, *, kinds: Kinds, family: str | None = None) -> Arch:
    """Read a config of one of the kinds; the first where it names none."""
    value = config.raw.get("_class_name")
    kind = value if isinstance(value, str) and value in kinds else next(iter(kinds))
    config = full(config, kind)
    heads = config.size("num_attention_heads", "n_heads")
    hidden = config.maybe("hidden_size", "dim") or heads * config.size("attention_head_dim")
    canvas, parts = kinds[kind]
    many = isinstance(config.raw.get("patch_size"), list | tuple)
    side = config.sizes("patch_size")[-1] if many else config.size("patch_size", default=2)
    scene = Scene(
        config=config,
        hidden=hidden,
        heads=heads,
        tok=canvas.tokens(config, patch=side),
        text_tok=canvas.text_tok,
    )
    layers, outer = parts(scene)
    return painter(name, family or kind, layers=layers, outer=outer, hidden=hidden, tok=scene.tok)
