"""Rates that chips reach in training: compute, mixing, memory, network, and a trainer's fixed costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rigright.base.record import dataclass
from rigright.cost.links import Wire
from rigright.cost.training.setup import Setup
from rigright.demand import Numbers, Training
from rigright.facts.chips import Chip
from rigright.facts.fabrics import pcie_bytes_per_s

SUBJECT = "speed_training"
PLAIN = "16bit"
RECIPES = {"fp8": "fp8", "fp8-mixed": "fp8", "fp8-current": "fp8", "fp8-delayed": "fp8", "mxfp8": "mxfp8"}
RECIPES |= {"nvfp4": "nvfp4"}

Terms = Mapping[str, Any]  # of data/corrections/speed_training.toml


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRates:
    """Each figure a number, or an array with one entry a chip."""

    peak_flops_per_s: Numbers  # dense, in the format of multiplications: what MFU is told against
    matmul_flops_per_s: Numbers  # as reached by large shapes in that format
    plain_flops_per_s: Numbers  # the same in 16 bit: the head
    mixing_flops_per_s: Numbers  # attention, 16 bit
    scan_flops_per_s: Numbers  # linear attention and state spaces
    mem_bytes_per_s: Numbers
    pcie_bytes_per_s: Numbers
    half_tok: Numbers  # rows of a multiplication at which it reaches half its rate
    half_width: Numbers  # the same of the dimension it sums over
    half_group: Numbers  # rows of one expert
    half_seq: Numbers  # tokens of a sequence at which attention reaches half its rate
    backward_mixing: Numbers  # time of attention backward over forward
    eager: Numbers  # share of the cheap operations that are kernels of their own
    moved: Numbers  # bytes that cheap operations move, over what they need
    cast_bytes: Numbers  # moved to round one element going into a multiplication
    dequantise_bytes: Numbers  # moved to make one element of a 4-bit base whole
    adapter_bytes: Numbers  # moved for one element that goes in or comes out of an adapter
    layer_s: Numbers  # the host's work for one pass through one layer
    gather_s: Numbers  # further, where its weights are gathered
    expert_s: Numbers  # further, where the layer sends tokens to experts
    step_s: Numbers  # fixed cost of a step
    tp_bare: Numbers  # share of communication that nothing hides, by kind
    dp_bare: Numbers
    pp_bare: Numbers
    ep_bare: Numbers
    cp_bare: Numbers
    unbalanced: Numbers  # share of what the fullest stage exceeds the others by that stays after tuning
    spread: Numbers  # how much longer a step takes with each doubling of ranks beyond eight
    wire: Wire
    rollout: Any = None  # of serving, where an engine writes what is learnt from


def matmul_of(training: Training) -> str:
    """The format of multiplications: as told, or as the precision's name says."""
    return training.matmul or RECIPES.get(training.precision or "", PLAIN)


def reached(chips: Sequence[Chip], setup: Setup, *, terms: Terms, wire: Wire) -> TrainingRates:
    """The rates of chips, in their order, under a trainer and in a format of multiplications."""
    habits = _trainer_terms(terms, setup)
    rows = [{**habits, **chip.terms_in(terms["chips"])} for chip in chips]
    formats = [_format(chip, matmul_of(setup.training)) for chip in chips]
    peaks = np.array([_peak(chip, name) for chip, name in zip(chips, formats, strict=True)])
    plain = np.array([_peak(chip, PLAIN) for chip in chips])
    reach = _column(rows, "kernel") * _column(rows, "compute")
    # what attention reaches, by kernels everybody has or by the vendor's own
    kernel = [row["own_mixing_kernel" if row["vendor_mixing"] else "mixing_kernel"] for row in rows]
    mixing = np.asarray(np.array(kernel, dtype=float) * _column(rows, "mixing"))
    return TrainingRates(
        peak_flops_per_s=peaks,
        matmul_flops_per_s=peaks * reach * _of_format(rows, formats, term="reach"),
        plain_flops_per_s=plain * reach * _column(rows, "reach_16bit"),
        mixing_flops_per_s=plain * mixing,
        scan_flops_per_s=plain * _column(rows, "scan"),
        mem_bytes_per_s=np.array([chip.mem_bytes_per_s for chip in chips]) * _column(rows, "memory"),
        pcie_bytes_per_s=np.array([_slot(chip) for chip in chips]) * _column(rows, "pcie"),
        cast_bytes=_of_format(rows, formats, term="cast"),
        wire=wire,
        **{name: _column(rows, name) for name in SAME},
    )


SAME = (  # fields that are terms as they stand
    "half_tok",
    "half_width",
    "half_group",
    "half_seq",
    "backward_mixing",
    "eager",
    "moved",
    "dequantise_bytes",
    "adapter_bytes",
    "layer_s",
    "gather_s",
    "expert_s",
    "step_s",
    "tp_bare",
    "dp_bare",
    "pp_bare",
    "ep_bare",
    "cp_bare",
    "unbalanced",
    "spread",
)


def _trainer_terms(tables: Terms, setup: Setup) -> dict[str, float]:
    """The terms of a trainer: its own before its kind's, its kind's before everybody's."""
    merged: dict[str, Any] = {}
    kinds = ("compiled",) if setup.training.compiled else ()
    program = setup.trainer.program or setup.trainer.id
    for key in ("all", tables["kinds"].get(program, ""), program, *kinds):
        merged |= tables["trainers"].get(key, {})
    return merged


def _column(rows: Sequence[Mapping[str, float]], name: str) -> np.ndarray:
    return np.array([term[name] for term in rows], dtype=float)


def _of_format(rows: Sequence[Mapping[str, float]], formats: Sequence[str], *, term: str) -> np.ndarray:
    return np.array([row[f"{term}_{name}"] for row, name in zip(rows, formats, strict=True)], dtype=float)


def _format(chip: Chip, asked: str) -> str:
    """The format itself where the chip has it, else the next wider one."""
    if asked == "nvfp4" and chip.fp4_flops_per_s:
        return asked
    if asked != PLAIN and chip.fp8_flops_per_s:
        return "fp8" if asked == "nvfp4" else asked
    return PLAIN


def _peak(chip: Chip, matmul: str) -> float:
    """Dense rate of a format that the chip has."""
    plain = chip.plain_flops_per_s or chip.fp32_flops_per_s or np.nan
    if matmul == "nvfp4":
        return chip.fp4_flops_per_s or plain
    return plain if matmul == PLAIN else chip.fp8_acc32_flops_per_s or chip.fp8_flops_per_s or plain


def _slot(chip: Chip) -> float:
    return pcie_bytes_per_s(chip.pcie_gen or 4, chip.pcie_lanes or 16)
