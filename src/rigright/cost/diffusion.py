"""Time of image and video generation: denoising steps on one GPU or several, then decoding to pixels.

Matrices and attention run one after the other, plus the memory traffic of eager layers between them; a
layer takes at least its launch overhead. GPUs share tokens (Ulysses, ring) or the two guidance passes;
one GPU decodes the pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rigright.arch.denoisers import Denoiser
from rigright.base.record import dataclass
from rigright.base.units import MEGA
from rigright.cost.links import Wire
from rigright.cost.power import Busy
from rigright.demand import Numbers
from rigright.facts.chips import Chip

SUBJECT = "speed_diffusion"
ELEM_BYTES = 2
SHARP = 4  # how nearly a pass is the longer of working and starting


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffusionRun:
    """What is made, and how; on cards of one kind."""

    height: float
    width: float
    frames: float
    steps: float
    batch: Numbers = 1
    ranks: int = 1  # cards
    guided: int = 1  # of them, groups that share the two passes of guidance
    ring: int = 1  # cards of a ring; the others of a group exchange heads (Ulysses)
    compiled: bool = False
    cache: str = ""  # of activations: a name in the table


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffusionTime:
    """Seconds of the whole batch."""

    compute_s: Numbers  # of a card: what computing alone would take
    work_s: Numbers  # and what it computes or moves
    total_s: Numbers

    @property
    def busy(self) -> Busy:
        """What of a card is in use."""
        return Busy(compute=self.compute_s / self.total_s, work=np.minimum(self.work_s / self.total_s, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffusionRates:
    """What chips reach; arrays with one entry a chip, nan where nobody says what it computes."""

    flops_per_s: Numbers  # as stated
    linear_flops_per_s: Numbers
    attention_flops_per_s: Numbers
    mem_bytes_per_s: Numbers
    wire_bytes_per_s: Numbers


def diffusion_rates(chips: Sequence[Chip], *, wire: Wire, tables: Mapping[str, Any]) -> DiffusionRates:
    """What chips reach with such networks, in their order."""
    terms = [chip.terms_in(tables["chips"]) for chip in chips]
    peak = np.array([chip.plain_flops_per_s or 2 * (chip.fp32_flops_per_s or np.nan) for chip in chips])
    return DiffusionRates(
        flops_per_s=peak,
        linear_flops_per_s=peak * [term["linear"] for term in terms],
        attention_flops_per_s=peak * [term["attention"] for term in terms],
        mem_bytes_per_s=np.array([chip.mem_bytes_per_s for chip in chips]) * [row["memory"] for row in terms],
        wire_bytes_per_s=np.asarray(wire.bytes_per_s, dtype=float),
    )


def diffusion_time(
    net: Denoiser, rates: DiffusionRates, *, run: DiffusionRun, tables: Mapping[str, Any]
) -> DiffusionTime:
    """From a prompt to pixels, on each of some chips."""
    each, memory = tables["run"], rates.mem_bytes_per_s
    tok = net.tokens(height=run.height, width=run.width, frames=run.frames) + net.text_tok
    passes = max(net.passes / run.guided, 1)
    samples = run.batch * passes
    cards = run.ranks / run.guided  # that share a sequence
    heads = max(cards / run.ring, 1)
    squares = net.layers * net.params_a_width2 * net.width**2
    moved = net.layers * samples * tok * net.width * ELEM_BYTES / cards
    compute_s = (
        2
        * samples
        / cards
        * (
            tok * squares / rates.linear_flops_per_s
            + 2 * net.looks * net.width * tok**2 / rates.attention_flops_per_s
        )
    )
    moves_s = moved * each["traffic"] * (each["compiled"] if run.compiled else 1.0) / memory
    # heads go four ways to the others of a group; keys and values go round the ring
    swapped, rung = 4 * (heads - 1) / heads, 2 * (run.ring - 1)
    wire_s = moved * (swapped + rung) * each["links"] / rates.wire_bytes_per_s
    copies_s = moved * (swapped * each["copies"] + rung * each["ring_copies"]) / memory
    started = (
        each["layer_s"] + each["ring_layer_s"] * (run.ring - 1) + (each["rank_layer_s"] if cards > 1 else 0.0)
    )
    starts_s = net.layers * started * (each["compiled"] if run.compiled else 1.0)
    worked_s = compute_s + moves_s + copies_s
    step_s = np.hypot((worked_s + wire_s) ** (SHARP / 2), starts_s ** (SHARP / 2)) ** (2 / SHARP)
    steps = run.steps * tables["caches"].get(run.cache, 1.0)
    pixels = run.batch * run.frames * run.height * run.width
    draw_s = pixels * tables["draws"][net.draw] * MEGA / rates.flops_per_s
    return DiffusionTime(
        compute_s=steps * compute_s,
        work_s=steps * worked_s + draw_s,
        total_s=steps * step_s + draw_s + each["start_s"],
    )
