"""Rates that chips reach on image networks: compute, feature maps, kernel launches, after corrections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rigright.arch.image_kinds import ImageKind
from rigright.base.record import dataclass
from rigright.demand import Numbers
from rigright.facts.chips import Chip
from rigright.facts.cpus import CpuRate

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
    """A processor: it computes in 32 bit whatever it is told, but for integers of engines made for them."""
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
