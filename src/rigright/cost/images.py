"""Time of networks that process whole samples: work of one, rates that chips reach, seconds of a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rigright.arch import count
from rigright.arch.image_kinds import ImageKind
from rigright.arch.record import Arch, Layer, Mixer, Tower, Weight, is_matrix
from rigright.base.record import dataclass
from rigright.base.units import GIGA, MEGA
from rigright.cost.links import Wire, all_reduce_s
from rigright.demand import Numbers
from rigright.facts.chips import Chip
from rigright.facts.cpus import CpuRate

KERNELS = 250  # a pass starts, of a network whose layers nobody counted
FOLDED = frozenset({"windowed", "hybrid"})  # kins whose attention no fused kernel runs: scores are written
AROUND = 2.5  # kernels for each that multiplies: norms, activations, sums


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageWork:
    """One forward pass of one sample. Numbers, or arrays with one entry a run."""

    macs: Numbers  # multiply-adds of matrices, convolutions and attention
    acts: Numbers  # elements that matrices and convolutions write
    pairs: Numbers  # scores of attention, all heads
    params: Numbers
    kernels: Numbers = KERNELS  # that a pass starts


def work_of_sample(arch: Arch, kind: ImageKind, *, tok: int) -> ImageWork:
    """The work of every tower; `tok` is the text's length, where towers have no length of their own."""
    parts = [work_of_tower(tower, tok=tok) for tower in arch.towers]
    pairs = sum(part.pairs for part in parts)
    folded = kind.kin in FOLDED
    return ImageWork(
        macs=count.flops_per_sample(arch, tok=tok) / 2,
        acts=sum(part.acts for part in parts) + (pairs if folded else 0.0),
        pairs=0.0 if folded else pairs,
        params=count.params(arch),
        kernels=sum(part.kernels for part in parts),
    )


def work_of_tower(tower: Tower, *, tok: int = 1) -> ImageWork:
    """The work of one tower."""
    length = 1 if count.fixed(tower) else tok
    layers = Counter(tower.layers)
    matrices = [(weight, times) for weight, times in count.weights((tower,)) if is_matrix(weight)]
    return ImageWork(
        macs=count.tower_flops(tower, tok=tok) / 2,
        acts=sum(_written(weight) * times for weight, times in matrices) * length
        + sum(_looked(layer, tok) * times for layer, times in layers.items()),
        pairs=sum(_pairs(layer, tok) * times for layer, times in layers.items()),
        params=sum(count.elems(weight) * weight.copies * n for weight, n in count.weights((tower,))),
        kernels=AROUND * sum(times for _, times in matrices),
    )


def work_of_counts(*, gmacs: float, mactivs: float, params_m: float | None) -> ImageWork:
    """The work as benchmark tables print it: 10^9 multiply-adds, 10^6 elements written."""
    return ImageWork(macs=gmacs * GIGA, acts=mactivs * MEGA, pairs=0.0, params=(params_m or 0.0) * MEGA)


def _looked(layer: Layer, tok: int) -> float:
    """Elements that attention itself writes."""
    return sum(
        count.places(layer, part, which="q", tok=tok) * mixer.heads * mixer.value_dim
        for mixer, part in ((layer.mixer, "attn"), (layer.cross, "cross"))
        if mixer is not None and mixer.heads
    )


def _written(weight: Weight) -> float:
    used = weight.copies if weight.used is None else weight.used
    return weight.shape[0] * weight.sites * used


def _pairs(layer: Layer, tok: int) -> float:
    return sum(
        _scores(mixer, layer, part=part, tok=tok)
        for mixer, part in ((layer.mixer, "attn"), (layer.cross, "cross"))
        if mixer is not None and mixer.heads
    )


def _scores(mixer: Mixer, layer: Layer, *, part: str, tok: int) -> float:
    queries = count.places(layer, part, which="q", tok=tok)
    keys = count.places(layer, part, which="k", tok=tok)
    seen = keys if mixer.window_tok is None else min(keys, mixer.window_tok)
    return float(mixer.heads) * queries * seen


SUBJECT = "speed_images"
ELEM_BYTES = {"16bit": 2.0, "fp32": 4.0, "tf32": 4.0, "fp8": 2.0, "int8": 1.0}
CPU_INT8 = 16.0  # matrix units of processors (AMX, VNNI) over their vectors in 32 bit
Terms = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRates:
    """Each figure a number, or an array with one entry a run."""

    flops_per_s: Numbers
    mem_bytes_per_s: Numbers
    elem_bytes: Numbers  # of a map's element
    traffic: Numbers  # times an element that a matrix wrote is moved, in a forward pass
    pair_traffic: Numbers  # and a score of attention
    starts: Numbers  # kernels that start, for each that is counted
    launch_s: Numbers  # a kernel from the program that asks for it, while others run
    kernel_s: Numbers  # a kernel that has begun, whatever it does
    sharp: Numbers  # 1: computing and moving add; more: they overlap
    back_compute: Numbers
    back_traffic: Numbers
    state_bytes: Numbers  # an optimizer moves a parameter
    hidden: Numbers  # share of a step that gradients can be sent in
    drag: Numbers  # how much longer a step is with every doubling of chips


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRun:
    """How a network is run."""

    precision: str = "16bit"  # "16bit" (amp, bf16, fp16), "tf32", "fp32", "fp8", "int8"
    channels_last: bool = False
    compiled: bool = False
    fused_attention: bool = True
    engine: str = ""  # that compiled the whole network ahead: "tensorrt", "openvino", "neuron"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipRates:
    """Where it runs: stated rates in one precision, and the terms of such chips."""

    flops_per_s: float
    mem_bytes_per_s: float
    terms: Terms


def image_rates(
    places: Sequence[ChipRates],
    *,
    kinds: Sequence[ImageKind],
    runs: Sequence[ImageRun],
    tables: Mapping[str, Any],
) -> ImageRates:
    """The rates of runs, each on its place with its kind of network, in their order."""
    common = tables["run"]
    chip, kind = [place.terms for place in places], [_kind_terms(tables, kind) for kind in kinds]
    narrow = np.array([run.precision in {"16bit", "fp8", "int8"} for run in runs])
    ahead = [tables["ahead"].get(run.engine, {}) for run in runs]
    compiled = np.array([run.compiled for run in runs])
    last = np.array([run.channels_last for run in runs])
    fused = np.array([run.fused_attention for run in runs])
    wide = np.where(narrow, 1.0, _column(chip, "compute32"))
    eager = _column(kind, "traffic") * np.where(compiled, _column(kind, "fused"), 1.0)
    return ImageRates(
        flops_per_s=_rate(places, "flops_per_s")
        * _column(chip, "compute")
        * wide
        * _column(kind, "compute")
        * np.array([own.get("compute", 1.0) for own in ahead]),
        mem_bytes_per_s=_rate(places, "mem_bytes_per_s") * _column(chip, "memory"),
        elem_bytes=np.array([ELEM_BYTES[run.precision] for run in runs]),
        traffic=(eager + np.where(narrow & ~last, _column(kind, "reorder"), 0.0))
        * np.array([own.get("traffic", 1.0) for own in ahead]),
        pair_traffic=np.where(fused, 0.0, common["pair_traffic"]),
        starts=_column(kind, "starts"),
        kernel_s=_column(chip, "kernel_s"),
        launch_s=np.where(compiled, common["compiled_launch_s"], common["launch_s"]),
        back_compute=_column(kind, "back_compute") * np.where(last, _column(kind, "back_last"), 1.0),
        back_traffic=_column(kind, "back_traffic"),
        sharp=common["sharp"],
        state_bytes=common["state_bytes"],
        hidden=common["hidden"],
        drag=common["drag"],
    )


def place_of(chip: Chip, precision: str, *, tables: Mapping[str, Any]) -> ChipRates:
    """A chip, with its dense rate in a precision."""
    return ChipRates(
        flops_per_s=_flops_per_s(chip, precision),
        mem_bytes_per_s=chip.mem_bytes_per_s,
        terms=chip.terms_in(tables["chips"]),
    )


def cpu_place(cpu: CpuRate, precision: str = "fp32", *, tables: Mapping[str, Any]) -> ChipRates:
    """A processor: it computes in 32 bit whatever it is asked, but for integers of engines made for them."""
    return ChipRates(
        flops_per_s=cpu.flops_per_s * (CPU_INT8 if precision == "int8" else 1.0),
        mem_bytes_per_s=cpu.mem_bytes_per_s,
        terms={**tables["chips"]["all"], **tables["chips"].get("cpu", {})},
    )


def _flops_per_s(chip: Chip, precision: str) -> float:
    """Dense rate; what the chip cannot do is done in the next wider format it can; nan: nobody says."""
    half = (chip.fp8_flops_per_s or chip.int8_ops_per_s or (chip.fp4_flops_per_s or np.nan) / 2) / 2
    narrow = chip.plain_flops_per_s or chip.fp32_flops_per_s or half
    wide = chip.fp32_flops_per_s or narrow / 2
    if precision == "int8":
        return chip.int8_ops_per_s or chip.fp8_flops_per_s or narrow
    if precision == "fp8":
        return chip.fp8_flops_per_s or narrow
    if precision == "tf32":
        return chip.tf32_flops_per_s or wide
    return wide if precision == "fp32" else narrow


def _kind_terms(tables: Mapping[str, Any], kind: ImageKind) -> Terms:
    kinds = tables["kinds"]
    return {**kinds["all"], **kinds.get(kind.kin, {}), **kinds.get(kind.id, {})}


def _column(terms: Sequence[Terms], name: str) -> np.ndarray:
    return np.array([term[name] for term in terms], dtype=float)


def _rate(places: Sequence[ChipRates], name: str) -> np.ndarray:
    return np.array([getattr(place, name) for place in places], dtype=float)


BACK_LAUNCHES = 3.0  # kernels of a training step over those of a forward pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTime:
    """Seconds of one step of one chip's batch, by what they go into."""

    compute_s: Numbers  # what computing alone would take
    memory_s: Numbers  # and moving maps and weights
    launch_s: Numbers  # and starting kernels
    busy_s: Numbers  # the three, overlapped
    state_s: Numbers  # the optimizer
    link_s: Numbers  # gradients that nothing hides

    @property
    def total_s(self) -> Numbers:
        """The step."""
        return self.busy_s + self.state_s + self.link_s


def forward(work: ImageWork, rates: ImageRates, *, batch: Numbers) -> ImageTime:
    """A forward pass over so many samples."""
    compute_s, memory_s = _parts(work, rates, batch=batch)
    return _time(work, rates, compute_s=compute_s, memory_s=memory_s, passes=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learns:
    """What of a network learns in a step."""

    share: float = 1.0  # of its parameters
    back: float = 1.0  # of a whole backward pass: without gradients of weights it is half
    again: float = 0.0  # forward passes that are run once more for it


WHOLE = Learns()


def train(
    work: ImageWork,
    rates: ImageRates,
    *,
    batch: Numbers,
    ranks: Numbers = 1,
    wire: Wire | None = None,
    learns: Learns = WHOLE,
) -> ImageTime:
    """A training step over so many samples a chip; gradients are summed over `ranks` chips."""
    compute_s, memory_s = _parts(work, rates, batch=batch)
    alone = _time(
        work,
        rates,
        compute_s=compute_s * (1 + learns.again + learns.back * rates.back_compute),
        memory_s=memory_s * (1 + learns.again + learns.back * rates.back_traffic),
        passes=BACK_LAUNCHES + learns.again,
    )
    learning = learns.share * work.params
    summed_s = 0.0 if wire is None else all_reduce_s(rates.elem_bytes * learning, ranks, wire=wire)
    return ImageTime(
        compute_s=alone.compute_s,
        memory_s=alone.memory_s,
        launch_s=alone.launch_s,
        busy_s=alone.busy_s * (1 + rates.drag * np.log2(np.maximum(ranks, 1))),
        state_s=learning * rates.state_bytes / rates.mem_bytes_per_s,
        link_s=np.maximum(summed_s - rates.hidden * alone.busy_s, 0.0),
    )


def _parts(work: ImageWork, rates: ImageRates, *, batch: Numbers) -> tuple[Numbers, Numbers]:
    compute_s = 2 * work.macs * batch / rates.flops_per_s
    moved = batch * (work.acts * rates.traffic + work.pairs * rates.pair_traffic) + work.params
    return compute_s, moved * rates.elem_bytes / rates.mem_bytes_per_s


def _time(
    work: ImageWork, rates: ImageRates, *, compute_s: Numbers, memory_s: Numbers, passes: float
) -> ImageTime:
    kernels = work.kernels * rates.starts * passes
    launch_s = kernels * rates.launch_s
    both_s = (compute_s**rates.sharp + memory_s**rates.sharp) ** (1 / rates.sharp)
    return ImageTime(
        compute_s=compute_s,
        memory_s=memory_s,
        launch_s=launch_s,
        busy_s=np.maximum(both_s + kernels * rates.kernel_s, launch_s),
        state_s=0.0,
        link_s=0.0,
    )
