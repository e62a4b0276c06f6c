"""Which towers of a model train, which are split over pipeline stages, which only run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from rigright.arch import count
from rigright.arch.blocks import head
from rigright.arch.record import Arch, Tower, Weight, part
from rigright.base.record import kept

ENTRY = frozenset({"embed", "position", "patch", "project"})
DENOISERS = frozenset({"unet", "dit", "transformer"})
OPTIONAL = frozenset({"vision", "audio"})  # towers a step of text alone does not run
WRITERS = frozenset({"text", "decoder"})
PLAIN_BYTES = 2  # of an element in 16 bit


def learners(arch: Arch) -> tuple[Tower, ...]:
    """Towers that learn in full training: the denoiser of a diffusion model, else all."""
    return tuple(tower for tower in arch.towers if tower.name in DENOISERS) or arch.towers


def trunk_of(arch: Arch) -> Tower:
    """The tower that pipeline stages divide."""
    return next((tower for tower in arch.towers if tower.name in DENOISERS), arch.trunk)


def companions(arch: Arch) -> tuple[Tower, ...]:
    """Towers beside the trunk that learn and always run, such as an encoder."""
    trunk = trunk_of(arch)
    return tuple(
        tower
        for tower in learners(arch)
        if tower is not trunk and not (tower.name in OPTIONAL and trunk.name in WRITERS)
    )


@cache
def untied(arch: Arch) -> Arch:
    """With a head of its own, as programs keep it that copy the table of a tied one."""
    trunk = arch.trunk
    if not arch.tied or not arch.vocab:
        return arch
    own = replace(trunk, outer=(*trunk.outer, *head(arch.vocab, trunk.hidden, tied=False)))
    return replace(arch, tied=False, towers=tuple(own if tower is trunk else tower for tower in arch.towers))


@cache
def bystander_bytes(arch: Arch) -> float:
    """Towers that only run: text encoders and the VAE of a diffusion model, in 16 bit."""
    idle = tuple(tower for tower in arch.towers if tower not in learners(arch))
    return sum(
        count.elems(weight) * weight.copies * times * PLAIN_BYTES for weight, times in count.weights(idle)
    )


def is_entry(weight: Weight) -> bool:
    """Whether it stands before the first layer."""
    return part(weight) in ENTRY


@kept
def kv_heads_of(arch: Arch) -> int:
    """Key-value heads of the trunk, for cuts by kv heads."""
    mixers = {id(layer.mixer): layer.mixer for layer in arch.trunk.layers}.values()
    return max((mixer.kv_heads for mixer in mixers if mixer is not None), default=1) or 1
