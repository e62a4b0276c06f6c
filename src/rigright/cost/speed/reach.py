"""Rates that chips reach for one stream or a static batch, derived from their hardware.

Such engines unpack weights in the chip's cores: a core processes a fixed number of weights per clock,
whatever the memory bandwidth. The share of the bandwidth they reach is therefore a consequence, not a
constant: low where memory is fast and cores are few. Power also limits large multiplications.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rigright.base.record import dataclass
from rigright.base.units import GIGA
from rigright.cost.speed.eras import table_of
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine
from rigright.facts.formats import GGUF, Format, GgufMix

BITS = 8
WIDE_BYTES = 1.5  # of an element that is multiplied as it is stored
LANES = 128  # of a core, where the vendor does not count them
USUAL_HZ = 1.5 * GIGA  # of cores whose rates nobody states
DENSE_OPS = 1024  # of 16 bit, a usual core does in a clock
PACKED = 2.1  # 16-bit operations of a lane for one of 32, at most; matrix units do more
BLEND = 4  # how sharply the slower of memory and cores decides
KERNEL = "/"  # parts a format from the kernel that reads it: "hqq4/codebook"

Terms = dict[str, Any]

FIXED = (
    *("layer_s", "moe_layer_s", "latent_layer_s", "eager_layer_s", "step_s", "seq_s", "half_tok"),
    *("expert_half_tok", "expert_compute", "expert_memory", "host_step_s", "host_expert_s", "touched"),
    *("split_layer_s", "hop_s", "piped", "piped_elems"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementForm:
    """How an element of a format lies in memory, and the names its terms go by, the narrower last."""

    weights: str  # the format
    elem_bytes: float
    names: tuple[str, ...]


def stream_terms(tables: Mapping[str, Any], engine: Engine, *, chip: Chip, stored: ElementForm) -> Terms:
    """The terms of a chip in an engine's table and in what that is based on; a format's come last.

    Empty where the tables know nothing of the engine.
    """
    merged: Terms = {}
    table = table_of(tables, engine, chip=chip)
    if table is None:
        return merged
    for name in reversed(chain(tables, table)):
        own = tables["engines"][name]
        merged |= chip.terms_in(own)
        for key in stored.names:
            merged |= own.get("formats", {}).get(key, {})
        for key in engine.options:
            merged |= own.get("options", {}).get(key, {})
    return {"lanes": tables["lanes"].get(chip.architecture, LANES), **merged}


def chain(tables: Mapping[str, Any], table: str) -> tuple[str, ...]:
    """An engine's table, what it is based on, and so on."""
    base = tables["engines"][table].get("base")
    return (table,) if base is None else (table, *chain(tables, base))


def stored_in(form: Format | GgufMix, *, weights: str = "") -> ElementForm:
    """The size of an element of a format and the names of its terms, with the kernel that is named."""
    kernel = weights.partition(KERNEL)[2]
    if isinstance(form, GgufMix):
        own = form.id.removeprefix(GGUF)
        kind = form.types.get(own, form.types[form.base])
        elem_bytes = kind.block_bytes / kind.block_elems
        names: tuple[str, ...] = (form.base, own)
    else:
        scales = form.group_bytes / form.group if form.group else 0.0
        elem_bytes, names = form.bits / BITS + scales, (form.id,)
    wide = f"{round(elem_bytes * BITS)}bit"
    named = (wide, *names, kernel) if kernel else (wide, *names)
    return ElementForm(weights=weights or form.id, elem_bytes=elem_bytes, names=named)


def reached(chip: Chip, terms: Terms, *, elem_bytes: float) -> dict[str, float]:
    """The figures of Rates for one chip, but for its wires."""
    cores = cores_per_s(chip, terms["lanes"])
    bandwidth = chip.mem_bytes_per_s
    # large multiplications wait for cores and for power; none is sooner than the sheet says
    peak = _peak_flops_per_s(chip, terms)
    per_flop_s = 1 / (peak * terms["compute"])
    if chip.tdp_w:
        per_flop_s += 1 / (chip.tdp_w * terms["flops_per_joule"])
    gemm = min(1 / per_flop_s, peak)
    # the most operations a second that the sheet states, in whatever format
    sheet = (chip.fp8_flops_per_s, chip.int8_ops_per_s, chip.fp4_flops_per_s)
    narrow = min(
        gemm * terms["format_compute"], max(_peak_flops_per_s(chip, terms), *(rate or 0.0 for rate in sheet))
    )
    if elem_bytes < WIDE_BYTES and (chip.fp16_flops_per_s or 0.0) <= PACKED * (chip.fp32_flops_per_s or 0.0):
        # without matrix units, sums of 8-bit products in plain lanes are faster
        narrow = max(narrow, (chip.int8_ops_per_s or 0.0) * terms["dot8"])
    per_pair_s = terms["token_attention_core"] / cores + terms["token_attention_bytes"] / bandwidth
    prompt_pair_s = (
        1 / (_peak_flops_per_s(chip, terms) * terms["attention"]) + terms["attention_core"] / cores
    )
    return {
        "flops_per_s": narrow,
        "plain_flops_per_s": narrow if elem_bytes >= WIDE_BYTES else gemm,
        "attention_flops_per_s": 1 / prompt_pair_s,
        "token_attention_flops_per_s": 1 / per_pair_s,
        "mem_bytes_per_s": _streamed(
            bandwidth * terms["memory"], cores * elem_bytes / (terms["core"] * terms["core_pace"])
        ),
        "kv_bytes_per_s": bandwidth * terms["kv_memory"],
        "absorbed": terms["absorbed"],
        "score_s": terms["score_core"] / cores + terms["score_bytes"] / bandwidth,
        "reread_s": terms["reread"] / bandwidth,
        "act_s": terms["act_core"] / cores + terms["act_bytes"] / bandwidth,
        "unpack_s": terms["unpack_bytes"] / bandwidth,
        "host_layer_s": terms["host_layer_s"] * terms["format_host"],
        **{name: terms[name] for name in FIXED},
    }  # fmt: skip


def cores_per_s(chip: Chip, lanes: float = LANES) -> float:
    """Cores (of a vendor's counting) times their clock; `lanes` counts those a stated rate tells twice.

    Where neither is stated, cores are as many as the dense rate would need of usual ones.
    """
    if chip.cores and chip.sms:
        lanes = chip.cores / chip.sms
    if chip.fp32_flops_per_s:
        return chip.fp32_flops_per_s / (2 * lanes)
    if chip.sms:
        return chip.sms * USUAL_HZ
    return (chip.training_flops_per_s or np.nan) / DENSE_OPS


def _streamed(by_memory: float, by_cores: float) -> float:
    return float((by_memory**-BLEND + by_cores**-BLEND) ** (-1 / BLEND))


def _peak_flops_per_s(chip: Chip, terms: Mapping[str, float]) -> float:
    """What 16-bit multiplications could reach: GeForce is faster where an engine accumulates in 16 bit.

    Old chips multiply 16 bit slower than 32 bit, and engines then take 32; a chip that states no rate
    has what its cores' lanes can do.
    """
    fast = chip.fp16_flops_per_s if terms["acc16"] else chip.training_flops_per_s
    stated = fast or chip.fp16_flops_per_s or chip.bf16_flops_per_s
    lanes = 2 * LANES * chip.sms * USUAL_HZ if chip.sms else np.nan
    plain = chip.fp32_flops_per_s or lanes
    return max(stated, plain) if stated else plain
