"""Cards: faster ones in the place of those that are there, or one more of the same."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rigright.base.words import say
from rigright.build.judge import judge
from rigright.build.machine import Cards, Rig
from rigright.build.record import Change, Fit, Standing
from rigright.build.ruling import IMPOSSIBLE, OK
from rigright.cost.estimate import Estimate
from rigright.cost.prices import priced, quote_of
from rigright.facts.chips import Chip, chips
from rigright.facts.shop.cards import PASSIVE, Plugs, shape_of
from rigright.facts.shop.tables import Finished

_LEAST_FASTER = 1.15
_SHARED_OUT = 0.9  # of what another card adds, where work can be shared out
_HOST_W, _SPARE = 250.0, 1.25  # of the machine without cards; what a supply should have above its load
_STEP_W = 50.0
SLOT_W = 75.0  # what a slot feeds without a plug
_EXAMPLE = "llama-3.1-8b"  # a comparison is of some model's work
_MODULES = ("SXM", "OAM", "module", "SoC", "cloud")


def propose(standing: Standing) -> Iterator[Change]:
    """Every card one can buy that does what binds faster, in the slots and of the maker that are there."""
    if not standing.chips or standing.chips[0].unified_memory:
        return
    old = min(standing.chips, key=lambda chip: chip.plain_flops_per_s or 0.0)
    if old.form.startswith(_MODULES):
        return
    yield from _another(standing, old)
    for new in chips():
        if new.vendor == old.vendor and not new.form.startswith(_MODULES) and not new.unified_memory:
            yield from _instead(standing, old, new=new)


def _instead(standing: Standing, old: Chip, *, new: Chip) -> Iterator[Change]:
    """A new card for each that is there."""
    # how many times as fast the new one does what an accelerator can be bound by
    flops = _ratio(new.plain_flops_per_s, old.plain_flops_per_s)
    memory = _ratio(new.mem_bytes_per_s, old.mem_bytes_per_s)
    found = {"gpu_memory": memory, "compute": flops, "power": flops}
    helps = {cause: ratio for cause, ratio in found.items() if ratio is not None and ratio > 1.0}
    usd = _price(new, count=len(standing.chips), standing=standing)
    if usd is None or max(helps.values(), default=0.0) < _LEAST_FASTER or new.launch <= old.launch:
        return
    count = len(standing.chips)
    more_w = count * (new.tdp_w - old.tdp_w) if new.tdp_w and old.tdp_w else None
    yield Change(
        kind="cards",
        title=say("{count}x {new} instead of {old}", count=count, new=new.name, old=old.name),
        helps=helps,
        usd=usd,
        fits=tuple(_fits(standing, new, watts=count * (new.tdp_w or 0.0))),
        more_w=more_w,
        command=f"rigright compare {old.id} {new.id} --for {_EXAMPLE}",
        source=new.sources,
    )


def _another(standing: Standing, old: Chip) -> Iterator[Change]:
    """One more of the same."""
    usd = _price(old, count=1, standing=standing)
    if usd is None:
        return
    count = len(standing.chips)
    ratio = 1.0 + _SHARED_OUT / count
    free = standing.free_slots
    slot = Fit(
        says=say("a free slot with 8 lanes or more"),
        holds=None if free is None else any(one >= 8 for one in free),
    )
    watts = sum(chip.tdp_w or 0.0 for chip in standing.chips) + (old.tdp_w or 0.0)
    yield Change(
        kind="cards",
        title=say("one more {chip}, where the work can be shared out", chip=old.name),
        helps=dict.fromkeys(("compute", "gpu_memory", "power", "small_kernels"), ratio),
        usd=usd,
        fits=(slot, _supply(standing, watts)),
        more_w=old.tdp_w,
        source=old.sources,
    )


def _ratio(new: float | None, old: float | None) -> float | None:
    return new / old if new and old else None


def _price(chip: Chip, *, count: int, standing: Standing) -> Estimate | None:
    """What so many cost; a card nobody sells any more has no price."""
    quote = quote_of(chip, today=standing.today)
    if quote is None:
        return None
    one = priced(quote, standing.today)
    return Estimate(
        value=one.value * count, low=one.low * count, high=one.high * count, mark=one.mark, as_of=one.as_of
    )


def _fits(standing: Standing, new: Chip, *, watts: float) -> Iterator[Fit]:
    yield _supply(standing, watts)
    if standing.used_bytes is not None:
        yield Fit(
            says=say("its memory holds what is in use"), holds=new.mem_usable_bytes >= standing.used_bytes
        )
    if standing.slot_gen is not None and new.pcie_gen is not None and standing.slot_gen < new.pcie_gen:
        yield Fit(
            says=say("the slots are PCIe {have}, the card can {can}: copies stay as fast as now",
                     have=standing.slot_gen, can=new.pcie_gen),
            holds=True,
        )  # fmt: skip
    yield from _by_rules(standing.chips[0], new)


def _by_rules(old: Chip, new: Chip) -> Iterator[Fit]:
    """What the rules of whole machines say of a card in the place of another."""
    shape = shape_of(new)
    wide = shape.least_slots
    if old.slots is not None and wide is not None and wide > old.slots and not _bay_of(old):
        yield Fit(says=say("it is {slots} slots wide: look whether it fits", slots=f"{wide:g}"), holds=None)
    bay = _bay_of(old)
    if bay is not None:
        rig = Rig(machine=bay, cards=(Cards(chip=new, count=1, shape=shape),))
        for one in judge(rig, ("machine",)):
            if one.verdict != OK:
                yield Fit(says=one.says, holds=False if one.verdict == IMPOSSIBLE else None)


def _bay_of(old: Chip) -> Finished | None:
    """The place of a card that relies on its machine: fed by the slot alone, or cooled by the chassis.

    None: it brings its own plugs and fans, and what else goes in depends on a case nobody described.
    """
    shape = shape_of(old)
    passive = shape.cooling == PASSIVE
    slot_fed = shape.plugs == Plugs() and (old.tdp_w or 0.0) <= SLOT_W
    if not passive and not slot_fed:
        return None
    return Finished(
        name=f"a place of {old.name}",
        words=(),
        kind="slim" if slot_fed else "server",
        cards_max=1,
        card_slots=old.slots,
        card_m=old.length_m,
        passive_ok=passive,
        card_w=SLOT_W if slot_fed else old.tdp_w,
        source=old.sources,
        as_of=old.as_of,
        confidence=old.confidence,
    )


def _supply(standing: Standing, cards_w: float) -> Fit:
    """Whether the power supply carries it with room to spare."""
    need_w = (cards_w + _HOST_W) * _SPARE
    sold_w = math.ceil(need_w / _STEP_W) * _STEP_W
    says = say("a power supply of {need} W or more", need=f"{sold_w:.0f}")
    return Fit(says=says, holds=None if standing.supply_w is None else standing.supply_w >= need_w)
