"""What of a model learns: towers that train, that stages divide, that only run; matrices with LoRA."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from rigright.arch import count
from rigright.arch.blocks import head
from rigright.arch.count import params
from rigright.arch.record import Arch, Cut, Tower, Weight, is_bias, part
from rigright.base.errors import AskError
from rigright.base.record import kept
from rigright.base.words import say
from rigright.demand import Training

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


GROUPS = {
    "attn": frozenset({"attn", "cross", "mixer"}),
    "ffn": frozenset({"ffn", "shared"}),
    "experts": frozenset({"expert"}),
    "all": frozenset({"attn", "cross", "mixer", "ffn", "shared", "expert"}),
    "linear": frozenset({"attn", "cross", "mixer", "ffn", "shared"}),
}
NAMES = frozenset({"q", "k", "v", "o", "qkv", "gate", "up", "down", "gate_up"})
FUSED = {"qkv": frozenset({"q", "k", "v"}), "gate_up": frozenset({"gate", "up"})}


def check_targets(targets: str) -> None:
    """Every word names a group or a matrix."""
    unknown = [word for word in targets.split() if word not in GROUPS and word not in NAMES]
    if unknown or not targets.split():
        raise AskError(
            say(
                'cannot put adapters on "{asked}"; use {known}',
                asked=" ".join(unknown) or targets,
                known=", ".join((*GROUPS, *sorted(NAMES))),
            )
        )


def is_target(weight: Weight, targets: str) -> bool:
    """Whether this matrix carries an adapter."""
    if len(weight.shape) != 2 or is_bias(weight) or part(weight) not in GROUPS["all"]:
        return False
    last = weight.role.rpartition(".")[2]
    names = FUSED.get(last, frozenset({last}))
    return any(
        part(weight) in GROUPS[word] if word in GROUPS else word in names or word == last
        for word in targets.split()
    )


@cache
def adapted(arch: Arch, targets: str) -> float:
    """Matrices of a layer that carry an adapter, on average."""
    layers = arch.trunk.layers
    counts = {id(layer): sum(is_target(weight, targets) for weight in layer.weights) for layer in layers}
    return sum(counts[id(layer)] for layer in layers) / len(layers)


def halves(weight: Weight) -> tuple[tuple[int, Cut], tuple[int, Cut]]:
    """Elements of A and of B for each unit of rank, and how each is cut."""
    outputs, inputs = weight.shape
    cut_a = weight.cut if weight.cut in {Cut.IN, Cut.EXPERT} else Cut.WHOLE
    cut_b = Cut.WHOLE if weight.cut == Cut.IN else weight.cut
    return (inputs * weight.copies, cut_a), (outputs * weight.copies, cut_b)


def learnt_params(arch: Arch, training: Training) -> int:
    """Parameters that learn: all, or those of the adapters."""
    if training.method == "full":
        return params(arch)
    elems = sum(
        sum(size for size, _ in halves(weight))
        for layer in arch.trunk.layers
        for weight in layer.weights
        if is_target(weight, training.targets)
    )
    return int(elems * training.rank)
