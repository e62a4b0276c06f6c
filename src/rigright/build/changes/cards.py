"""Cards: faster ones in the place of those that are there, or one more of the same."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rigright.base.units import KILO
from rigright.base.words import Sentence, say
from rigright.build.change import Change, Fit, Standing
from rigright.build.judge import IMPOSSIBLE, OK, judge
from rigright.build.machine import SAFE_SHARE, Cards, Rig
from rigright.build.rules.power import EFFICIENCY
from rigright.cost.estimate import Estimate
from rigright.facts.chips import Chip, chips
from rigright.facts.shop.cards import BLOWER, PASSIVE, Plugs, shape_of
from rigright.facts.shop.tables import Finished
from rigright.money.prices import priced, quote_of

_LEAST_FASTER = 1.15
_SHARED_OUT = 0.9  # of what another card adds, where work can be shared out
_HOST_W, _SPARE = 250.0, 1.25  # of the machine without cards; what a supply should have above its load
_STEP_W = 50.0
_NEARLY = 1.05  # of the old card, for one that drops in: 2 W or 1 mm more are none
SLOT_W = 75.0  # what a slot feeds without a plug
_FLAT_SLOTS = 2.0  # of a card in a server lower than a card is high
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
        slotted = not (new.form.startswith(_MODULES) or new.unified_memory)
        if new.vendor == old.vendor and new.offered and slotted:
            yield from _instead(standing, old, new=new)


def _instead(standing: Standing, old: Chip, *, new: Chip) -> Iterator[Change]:
    """A new card for each that is there."""
    # how many times as fast the new one does what an accelerator can be bound by
    flops = _ratio(new.plain_flops_per_s, old.plain_flops_per_s)
    memory = _ratio(new.mem_bytes_per_s, old.mem_bytes_per_s)
    fields = {"gpu_memory": memory, "compute": flops, "power": flops}
    helps = {cause: ratio for cause, ratio in fields.items() if ratio is not None and ratio > 1.0}
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
        fits=tuple(_fits(standing, old, new=new)),
        more_w=more_w,
        drops_in=_drops_in(old, new),
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
        says=say("free PCIe slot, x8 or wider"),
        holds=None if free is None else any(number >= 8 for number in free),
    )
    watts = sum(chip.tdp_w or 0.0 for chip in standing.chips) + (old.tdp_w or 0.0)
    yield Change(
        kind="cards",
        title=say("one more {chip}, if the workload scales", chip=old.name),
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
    estimate = priced(quote, standing.today)
    return Estimate(
        value=estimate.value * count,
        low=estimate.low * count,
        high=estimate.high * count,
        mark=estimate.mark,
        as_of=estimate.as_of,
    )


def _drops_in(old: Chip, new: Chip) -> bool:
    """Whether a card goes where the old one stood: no wider, longer, hungrier, on its plugs and its air."""
    was, is_now = shape_of(old), shape_of(new)
    sizes = ((is_now.least_slots, was.usual_slots), (is_now.least_m, was.usual_m), (new.tdp_w, old.tdp_w))
    fits = all(value is not None and most is not None and value <= _NEARLY * most for value, most in sizes)
    return fits and _fed(old, new) is True and (is_now.cooling == PASSIVE) == (was.cooling == PASSIVE)


def _fed(old: Chip, new: Chip) -> bool | None:
    """Whether the plugs of the old card feed the new one."""
    was, is_now = shape_of(old).plugs, shape_of(new).plugs
    if was is None or is_now is None:
        return None
    fed = is_now.h12v <= was.h12v and is_now.pcie <= was.pcie and is_now.eps <= was.eps
    return True if fed else None


def _fits(standing: Standing, old: Chip, *, new: Chip) -> Iterator[Fit]:
    """Form, watts, power plugs, slots: what keeps a card out, first."""
    shape, was = shape_of(new), shape_of(old)
    drops_in = _drops_in(old, new)
    wide, long = shape.least_slots, shape.least_m
    yield Fit(
        says=say(
            "form: {form}, {slots} slots wide, {length} mm long",
            form=new.form,
            slots="?" if wide is None else f"{wide:g}",
            length="?" if long is None else f"{long * KILO:.0f}",
        ),
        holds=True if drops_in else None,
    )
    if shape.cooling == PASSIVE and was.cooling != PASSIVE:
        yield Fit(says=say("passively cooled: needs server airflow"), holds=None)
    count = len(standing.chips)
    if drops_in:
        yield Fit(
            says=say("{watts} W each; {old} W supplied and cooled today",
                     watts=f"{new.tdp_w:.0f}", old=f"{old.tdp_w:.0f}"),
            holds=True,
        )  # fmt: skip
    else:
        yield _supply(standing, count * (new.tdp_w or 0.0))
    yield Fit(
        says=say("power connectors per card: {plugs}", plugs=_plug_words(shape.plugs)), holds=_fed(old, new)
    )
    if standing.slot_gen is not None and new.pcie_gen is not None and standing.slot_gen < new.pcie_gen:
        yield Fit(
            says=say("slots are PCIe {have}, the GPU supports {can}: copies stay as fast as now",
                     have=standing.slot_gen, can=new.pcie_gen),
            holds=True,
        )  # fmt: skip
    if standing.used_bytes is not None:
        yield Fit(
            says=say("enough memory for what is in use now"),
            holds=new.mem_usable_bytes >= standing.used_bytes,
        )
    yield from _by_rules(old, new)
    rig = Rig(cards=(Cards(chip=new, count=count, shape=shape),), room=standing.room)
    loud = (ruling for ruling in judge(rig, ("noise",)) if ruling.verdict != OK)
    yield from (Fit(says=ruling.reason, holds=False) for ruling in loud)
    if standing.room is not None and standing.room.is_flat and not drops_in:
        flat = shape.cooling in {PASSIVE, BLOWER} and (wide or 0.0) <= _FLAT_SLOTS
        says = say(
            "lies in a server of {most}U: 2 slots wide, passive or with a blower", most=standing.room.units
        )
        yield Fit(says=says, holds=None if flat else False)


def _plug_words(plugs: Plugs | None) -> Sentence | str:
    """Power plugs for people."""
    if plugs is None:
        return say("not known")
    kinds = ((plugs.h12v, "12V-2x6"), (plugs.pcie, "8-pin PCIe"), (plugs.eps, "8-pin EPS"))
    texts = [f"{count}x {name}" for count, name in kinds if count]
    return ", ".join(texts) if texts else say("none, powered by the slot")


def _by_rules(old: Chip, new: Chip) -> Iterator[Fit]:
    """What the rules of whole machines say of a card in the place of another."""
    shape = shape_of(new)
    wide = shape.least_slots
    if old.slots is not None and wide is not None and wide > old.slots and not _bay_of(old):
        yield Fit(says=say("{slots} slots wide: check clearance", slots=f"{wide:g}"), holds=None)
    bay = _bay_of(old)
    if bay is not None:
        rig = Rig(machine=bay, cards=(Cards(chip=new, count=1, shape=shape),))
        for ruling in judge(rig, ("machine",)):
            if ruling.verdict != OK:
                yield Fit(says=ruling.reason, holds=False if ruling.verdict == IMPOSSIBLE else None)


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
    wall_w = (cards_w + _HOST_W) / EFFICIENCY
    rated_w = None if standing.room is None else standing.room.rated_w
    if rated_w is not None and wall_w > rated_w * SAFE_SHARE:
        names = {"wall": f"{wall_w:,.0f}", "safe": f"{rated_w * SAFE_SHARE:,.0f}"}
        says = say("{wall} W at the wall; the circuit allows {safe} W continuously", **names)
        return Fit(says=says, holds=False)
    says = say("power supply of {need} W or more", need=f"{sold_w:.0f}")
    return Fit(says=says, holds=None if standing.supply_w is None else standing.supply_w >= need_w)
