"""What chips reach in an engine: computing, reading, sending, and fixed costs, after corrections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rigright.base.units import GIGA
from rigright.cost.links import Wire
from rigright.demand import Numbers
from rigright.facts.chips import Chip
from rigright.facts.classes import terms_of
from rigright.facts.corrections import corrections
from rigright.facts.engines import Engine
from rigright.facts.links import pcie_bytes_per_s

NETWORK_BYTES_PER_S = 50 * GIGA  # a rank's share of the network where nobody says: 400 Gbit/s
SUBJECT = "speed_serving"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Each figure a number, or an array with one entry a chip."""

    flops_per_s: Numbers  # dense, in the format the engine computes in, as reached by large shapes
    attention_flops_per_s: Numbers  # 16 bit
    mem_bytes_per_s: Numbers  # as reached when streaming weights
    layer_s: Numbers  # fixed cost of a layer of a pass
    step_s: Numbers  # fixed cost of a pass
    half_tok: Numbers  # tokens of a pass at which a multiplication reaches half its rate
    wire: Wire


def rates_of(chips: Sequence[Chip], engine: Engine, *, weights: str) -> Rates:
    """The rates of chips, in their order, for weights of a format."""
    tables = corrections(SUBJECT)
    terms = [{**terms_of(tables["chips"], chip), **tables["engines"].get(engine.id, {})} for chip in chips]
    peaks = np.array([_peak(chip, weights) for chip in chips])
    plain = np.array([_peak(chip, "bf16") for chip in chips])
    return Rates(
        flops_per_s=peaks * _column(terms, "compute"),
        attention_flops_per_s=plain * _column(terms, "attention"),
        mem_bytes_per_s=np.array([chip.mem_bytes_per_s for chip in chips]) * _column(terms, "memory"),
        layer_s=_column(terms, "layer_s"),
        step_s=_column(terms, "step_s"),
        half_tok=_column(terms, "half_tok"),
        wire=_wire(chips, terms),
    )


def _column(terms: Sequence[dict[str, float]], name: str) -> np.ndarray:
    return np.array([term[name] for term in terms], dtype=float)


def _peak(chip: Chip, weights: str) -> float:
    """Dense rate in the format weights are multiplied in; what the chip lacks is done in 16 bit."""
    plain = chip.training_flops_per_s or chip.fp16_flops_per_s or 2 * (chip.fp32_flops_per_s or np.nan)
    if weights.startswith("fp8"):
        return chip.fp8_flops_per_s or plain
    if weights in {"nvfp4", "mxfp4"}:
        return chip.fp4_flops_per_s or chip.fp8_flops_per_s or plain
    if weights == "int8":
        return chip.int8_ops_per_s or plain
    return plain


def _wire(chips: Sequence[Chip], terms: Sequence[dict[str, float]]) -> Wire:
    linked = np.array([(chip.link_max_chips or 0) > 1 for chip in chips])
    inner = np.array([_link_bytes_per_s(chip) for chip in chips])
    return Wire(
        bytes_per_s=inner * _column(terms, "link"),
        start_s=np.where(linked, _column(terms, "link_start_s"), _column(terms, "pcie_start_s")),
        domain=np.array([max(chip.link_max_chips or 8, 1) for chip in chips], dtype=float),
        outer_bytes_per_s=np.full(len(chips), NETWORK_BYTES_PER_S),
        outer_start_s=_column(terms, "network_start_s"),
    )


def _link_bytes_per_s(chip: Chip) -> float:
    if chip.link_one_way_bytes_per_s and (chip.link_max_chips or 0) > 1:
        return chip.link_one_way_bytes_per_s
    return pcie_bytes_per_s(chip.pcie_gen or 4, chip.pcie_lanes or 16)
