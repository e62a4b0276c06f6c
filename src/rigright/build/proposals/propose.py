"""Machines around cards: boards, processors, cases, supplies of the tables, cut by rules, the cheapest first.

A board with its processor and memory is a base. Bases that break no rule are taken by price; each is given
the first case, supplies and cooler that the rules allow, until no cheaper machine can follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import cache, lru_cache
from itertools import product
from typing import TypeVar

from rigright.base.record import dataclass
from rigright.base.units import GIB
from rigright.base.words import Sentence, say
from rigright.build.judge import DOUBT, IMPOSSIBLE, OK, Ruling, judge
from rigright.build.machine import SAFE_SHARE, Cards, Modules, Rig
from rigright.build.proposals.order import items_of, memory_line, processor_line
from rigright.build.proposals.record import (
    CHEAPEST,
    GROWING,
    LABELS,
    RECOMMENDED,
    BuildWish,
    Proposal,
    Proposed,
    Refusal,
)
from rigright.build.rules.power import BASE_W, EFFICIENCY, load_w
from rigright.build.rules.slots import is_open
from rigright.cost.power import Busy, draw_w, machine_w
from rigright.facts.chips import Chip, by_id
from rigright.facts.cpus import cpus
from rigright.facts.shop.cards import PASSIVE, SOLDERED, shape_of
from rigright.facts.shop.cpus import CpuFamily, Processor, processor_named
from rigright.facts.shop.tables import (
    Board,
    Cooler,
    Enclosure,
    Finished,
    PowerSupply,
    boards,
    cases,
    coolers,
    finished,
    supplies,
)
from rigright.facts.units import devices_of, sold_count
from rigright.money.lifetime import FREE
from rigright.money.machine_price import line_usd
from rigright.money.prices import cpu_usd
from rigright.terms.fitted import power_terms

_OF_BASE = ("socket", "firmware", "cpu-count", "memory-type", "memory-slots", "memory-modules", "memory-size",
            "memory-registered", "slots", "lanes", "shared-lanes", "pluggable", "makers")  # fmt: skip
OF_CASE = ("spacing", "case-board", "card-length", "air", "cooler-height", "rack")
_OF_ROOM = ("breaker", "voltage", "rack")
_OF_SUPPLY = ("watts", "plugs", "eps", "voltage")
_MODULES_GB = (8, 16, 32, 48, 64, 96, 128)
DOUBT_USD = 400.0  # what a doubt is worth avoiding
_LEAST_RAM_BYTES = 32 * GIB
_LEAST_LIMIT = 0.55  # of a card's power, below which a limit costs too much speed
_GROWN = (2, 4, 8)
_MODERN_M = 0.3  # room for a card in servers that are made now
_LOAD_SHARE = 0.8  # of a supply; comes to what makers of cards ask for: 1,000 W for an RTX 5090
_DDR5_SINCE = "2022-09"  # servers of cards since then
_MOST_IN_BOX = 16  # modules; racks of more bring their own memory
Bought = TypeVar("Bought", Cooler, Enclosure)


@dataclass(frozen=True, slots=True, kw_only=True)
class BareRig:
    """A board with its processors and memory."""

    rig: Rig
    usd: float
    doubts: int  # a BIOS that may be old is none: who orders asks for a new one

    @property
    def socket(self) -> str | None:
        """Of its processor."""
        family = None if self.rig.processor is None else self.rig.processor.family
        return None if family is None else family.socket


def propose(wanted: BuildWish, *, today: date) -> Proposed:
    """The cheapest machine, the one to take, and one with room to grow."""
    cards = cards_of(wanted)
    if any(card.chip.form.startswith(SOLDERED) for card in cards):
        return _sold_whole(wanted, cards, today=today)
    refusals: dict[str, Refusal] = {}
    flat = wanted.circuit is not None and wanted.circuit.is_flat
    made = [
        None if flat else variant(label, wanted, cards=cards, today=today, refusals=refusals)
        for label in LABELS
    ]
    server = _in_server(wanted, cards, today=today) if cards and wanted.processor is None else None
    if server is not None:
        passive = any(card.shape.cooling == PASSIVE and card.chip.around == "server" for card in cards)
        made = [made[0], server if passive or made[1] is None else made[1], made[2] or server]
    proposals = tuple(
        replace(proposal, label=label)
        for proposal, label in zip(made, LABELS, strict=True)
        if proposal is not None and not _refuse("--room", _against_room(proposal), refusals=refusals)
    )
    sentence = None if proposals else nearest(wanted, cards, today=today)
    return Proposed(variants=proposals, refusals=tuple(refusals.values()), nearest=sentence)


def cards_of(wanted: BuildWish) -> tuple[Cards, ...]:
    """The cards of one machine."""
    chips = ((by_id()[chip], count) for chip, count in wanted.cards)
    return tuple(Cards(chip=chip, count=count, shape=shape_of(chip)) for chip, count in chips)


def _against_room(proposal: Proposal) -> list[Ruling]:
    """What rules say of a machine where it stands."""
    return [ruling for ruling in proposal.rules if ruling.rule in _OF_ROOM]


def _in_server(wanted: BuildWish, cards: tuple[Cards, ...], *, today: date) -> Proposal | None:
    """The smallest server that takes the cards without a doubt, with memory as large as theirs."""
    count = sum(card.count for card in cards)
    value = max(_LEAST_RAM_BYTES, wanted.ram_bytes, sum(card.chip.mem_bytes * card.count for card in cards))
    for machine in sorted(
        finished(), key=lambda item: ((item.card_m or 0.0) < _MODERN_M, item.cards_max, item.name)
    ):
        rig = Rig(machine=machine, cards=cards, modules=(_filled(value, cards),), room=wanted.circuit)
        enough = machine.psu_w is None or (load_w(rig) or 0.0) <= machine.psu_w
        if (
            machine.kind != "server"
            or not machine.passive_ok
            or machine.cards_max < max(count, 2)
            or not enough
        ):
            continue
        if all(ruling.verdict == OK for ruling in judge(rig, ("machine", "rack"))):
            limited, limit_w = _within(rig, wanted)
            if limited is not None:
                return finish(RECOMMENDED, limited, wanted=wanted, today=today, limit_w=limit_w)
    return None


def _filled(need: float, cards: tuple[Cards, ...]) -> Modules:
    """Sixteen registered modules or more that hold so much, of the cards' time."""
    kind = "DDR5" if max(card.chip.launch for card in cards) >= _DDR5_SINCE else "DDR4"
    each = next((item for item in (16, 32, 64, 96, 128) if 16 * item * GIB >= need), 128)
    count = max(16, 8 * math.ceil(need / (8 * each * GIB)))
    return Modules(
        count=count, each_bytes=each * GIB, total_bytes=count * each * GIB, type=kind, registered=True
    )


def variant(
    label: str, wanted: BuildWish, *, cards: tuple[Cards, ...], today: date, refusals: dict[str, Refusal]
) -> Proposal | None:
    """The cheapest machine of a kind; one with room to grow holds more cards, else twice the memory."""
    refusals = {} if label == GROWING else refusals  # of more cards than were asked for
    tried = dict.fromkeys((_grown(cards), cards)) if label == GROWING else (cards,)
    rigs = (_best(label, wanted, cards=item, today=today, refusals=refusals) for item in tried)
    best = next((item for item in rigs if item is not None), None)
    if best is None:
        return None
    counts = zip(best.cards, cards, strict=True)
    rig = replace(best, cards=tuple(replace(item, count=now.count) for item, now in counts))
    limited, limit_w = _within(rig, wanted)
    if limited is None:
        _refuse("--room", judge(replace(rig, room=wanted.circuit), ("breaker",)), refusals=refusals)
        return None
    return finish(label, limited, wanted=wanted, today=today, limit_w=limit_w)


def _best(
    label: str, wanted: BuildWish, *, cards: tuple[Cards, ...], today: date, refusals: dict[str, Refusal]
) -> Rig | None:
    """The cheapest rig; for the one to take, a doubt costs as much as money."""
    doubt_usd = 0.0 if label == CHEAPEST else DOUBT_USD
    bases = sorted(
        _bases(wanted, cards, label=label, today=today, refusals=refusals),
        key=lambda bare_rig: bare_rig.usd + doubt_usd * bare_rig.doubts,
    )
    best: tuple[float, Rig] | None = None
    for base in bases:
        if best is not None and base.usd + doubt_usd * base.doubts >= best[0]:
            break
        for usd, rig in _complete(base, doubt_usd=doubt_usd, refusals=refusals):
            if best is None or usd < best[0]:
                best = (usd, rig)
    return None if best is None else best[1]


def finish(label: str, rig: Rig, *, wanted: BuildWish, today: date, limit_w: float | None = None) -> Proposal:
    """A machine with its order and its rulings."""
    rig = replace(rig, room=wanted.circuit)
    more = 2.0 if label == GROWING else 1.0
    return Proposal(
        label=label,
        rig=rig,
        items=tuple(items_of(rig, wanted, more=more, today=today)),
        rules=judge(rig),
        wall_w=_wall_w(rig),
        limit_w=limit_w,
        machines=wanted.machines,
    )


def _wall_w(rig: Rig) -> float | None:
    """What it draws at the wall at most; of a machine that is sold whole what its supplies give."""
    machine = rig.machine
    if machine is not None and machine.psu_w is not None and machine.kind in {"modules", "closed"}:
        return machine.psu_w
    need = load_w(rig)
    if need is None or machine is None:
        return None if need is None else need / EFFICIENCY
    return max(need / EFFICIENCY, sum(_full_w(cards) for cards in rig.cards))


def _full_w(cards: Cards) -> float:
    """What a finished server draws with its cards at full load."""
    power = power_terms([cards.chip])
    drawn = draw_w(power, Busy(compute=1.0, work=1.0))
    return float(machine_w(power, drawn, count=cards.count).value[0])


def _grown(cards: tuple[Cards, ...]) -> tuple[Cards, ...]:
    """The same with the next usual count of the first kind."""
    if not cards:
        return ()
    first = cards[0]
    return (
        replace(first, count=next((number for number in _GROWN if number > first.count), first.count)),
        *cards[1:],
    )


def _bases(
    wanted: BuildWish, cards: tuple[Cards, ...], *, label: str, today: date, refusals: dict[str, Refusal]
) -> Iterator[BareRig]:
    """Every board with the cheapest processor that suits it, and memory in its channels."""
    count = sum(card.count for card in cards)
    value = sum(card.chip.mem_bytes * card.count for card in cards)
    as_many = count == sum(number for _, number in wanted.cards)
    share = {CHEAPEST: 0.5, RECOMMENDED: 1.0, GROWING: 2.0 if as_many else 1.0}[label]
    more = 2.0 if label == GROWING and as_many else 1.0
    least = _LEAST_RAM_BYTES * (1 if label == CHEAPEST else 2 * more)
    need = max(least, share * value, more * wanted.ram_bytes)
    if label == CHEAPEST and wanted.stored.weights_bytes:
        need = max(_LEAST_RAM_BYTES, min(need, wanted.stored.weights_bytes), wanted.ram_bytes)
    for board in boards():
        price = own_usd(board)
        if price is None or not board.together:
            continue  # what its slots bear is not known
        if wanted.sockets is not None and board.cpus != wanted.sockets:
            continue
        chosen = _processor(board, wanted, cores=max(6, 2 * count), today=today)
        if chosen is None:
            continue
        processor, usd = chosen
        n_cpus = board.cpus or 1
        modules = _memory(board, processor.family, need=need, sockets=n_cpus)
        if modules is None:
            continue
        rig = Rig(
            processor=processor, cpu_count=n_cpus, board=board, modules=(modules,), cards=cards,
            room=wanted.circuit,
        )  # fmt: skip
        rulings = judge(rig, _OF_BASE)
        if _refuse(board.name, rulings, refusals=refusals, also=("slots", "display")):
            continue
        ram = line_usd(memory_line(modules), today)
        whole = price + usd * n_cpus + (0.0 if ram is None else ram.value)
        yield BareRig(
            rig=rig,
            usd=whole,
            doubts=sum(ruling.verdict == DOUBT and ruling.rule != "firmware" for ruling in rulings),
        )


def own_usd(part: Board | Cooler | Enclosure | PowerSupply) -> float | None:
    """What a part's own row says it costs."""
    return None if part.usd_low is None or part.usd_high is None else (part.usd_low + part.usd_high) / 2


@cache
def _priced_processors(today: date) -> tuple[tuple[float, Processor], ...]:
    """Every processor of the table that has a price, the cheapest first."""
    pairs = []
    for row in cpus():
        named, usd = processor_named(row.name), cpu_usd(row, today)
        if named is not None and named.family is not None and usd is not None:
            pairs.append((usd.value, named))
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def _processor(board: Board, wanted: BuildWish, *, cores: int, today: date) -> tuple[Processor, float] | None:
    """The cheapest processor with enough cores that the board's chipset runs, or the named one."""
    processor = None if wanted.processor is None else processor_named(wanted.processor)
    for usd, named in _priced_processors(today) if processor is None else [_with_price(processor, today)]:
        if named.family is None or named.family.socket != board.socket:
            continue
        if processor is None and (named.row is None or named.row.cores < cores):
            continue
        if named.row is not None and named.row.max_sockets < (board.cpus or 1):
            continue
        rig = Rig(processor=named, board=board)
        if all(ruling.verdict != IMPOSSIBLE for ruling in judge(rig, ("socket", "firmware"))):
            return named, usd
    return None


def _with_price(processor: Processor, today: date) -> tuple[float, Processor]:
    """A processor that was named, with its price; 0 where nobody knows."""
    line = processor_line(processor)
    usd = None if line is None else line_usd(line, today)
    return (0.0 if usd is None else usd.value), processor


def _memory(board: Board, family: CpuFamily | None, *, need: float, sockets: int) -> Modules | None:
    """Modules alike in all channels that hold what is needed."""
    if family is None or board.mem_slots is None or board.mem_type is None:
        return None
    rows = family.channels * sockets
    registered = "udimm" not in family.modules or bool(board.registered)
    counts = [number for number in (rows, 2 * rows) if number <= board.mem_slots] or [board.mem_slots]
    sizes = [
        number for number in _MODULES_GB if registered or number <= (32 if board.mem_type == "DDR4" else 64)
    ]
    sizes = (
        [size for size in sizes if size in {16, 32, 64, 128}]
        if registered or board.mem_type == "DDR4"
        else sizes
    )
    for count, each in product(counts, sizes):
        if count * each * GIB >= need:
            return Modules(
                count=count,
                each_bytes=each * GIB,
                total_bytes=count * each * GIB,
                type=board.mem_type,
                registered=registered,
            )
    return None


def _refuse(
    name: str, rulings: Iterable[Ruling], *, refusals: dict[str, Refusal], also: Sequence[str] = ()
) -> bool:
    """Whether something speaks against a part; the first such thing is kept."""
    for ruling in rulings:
        if ruling.verdict == IMPOSSIBLE or (ruling.verdict == DOUBT and ruling.rule in also):
            refusals.setdefault(name, Refusal(part=name, rule=ruling.rule, reason=ruling.reason))
            return True
    return False


def _complete(
    base: BareRig, *, doubt_usd: float, refusals: dict[str, Refusal]
) -> Iterator[tuple[float, Rig]]:
    """A base in the cases that take it, the cheapest first, with supplies and a cooler."""
    fans = _of_price(
        coolers(), lambda cooler: judge(replace(base.rig, cooler=cooler), ("cooler",)), also=True
    )
    fans = [cooler for cooler in fans if cooler.holds_w and base.socket in (cooler.sockets or ())]
    sets = supplies_for(base.rig, refusals=refusals)
    for case in sorted(
        (enclosure for enclosure in cases() if enclosure.usd_low),
        key=lambda enclosure: enclosure.usd_low or 0.0,
    ):
        hung = case.kind in {"open frame", "rack 4U GPU"}
        rig = replace(base.rig, case=case, remarks="riser" if hung else "")
        if not _holds(case, rig):
            continue
        rulings = judge(rig, OF_CASE)
        if _refuse(case.name, rulings, refusals=refusals, also=() if hung else ("spacing",)):
            continue
        fits = (replace(rig, cooler=cooler) for cooler in fans)
        cooled = next((fit for fit in fits if not _against(fit, "cooler-height")), None)
        units = next(
            (
                supplies
                for supplies in sets
                if (len(supplies) == 1 or is_open(rig))
                and not _against(replace(rig, supplies=supplies), "psu-form")
            ),
            None,
        )
        if cooled is None or cooled.cooler is None or units is None:
            continue
        doubts = base.doubts + sum(ruling.verdict == DOUBT and ruling.rule != "spacing" for ruling in rulings)
        bought: tuple[Cooler | Enclosure | PowerSupply, ...] = (case, cooled.cooler, *units)
        around = sum(own_usd(cooler) or 0.0 for cooler in bought)
        usd = base.usd + around + 50.0 * hung * rig.n_cards
        yield usd + doubt_usd * doubts, replace(cooled, supplies=units)
        if doubts == base.doubts and not hung:
            return


def _against(rig: Rig, rule: str) -> bool:
    """Whether a rule finds anything wrong."""
    return any(ruling.verdict != OK for ruling in judge(rig, (rule,)))


def _of_price(
    table: Iterable[Bought], result: Callable[[Bought], Iterable[Ruling]], *, also: bool
) -> list[Bought]:
    """The rows with a price that no rule refuses (`also`: nor doubts), the cheapest first."""
    bad = {IMPOSSIBLE, DOUBT} if also else {IMPOSSIBLE}
    known = sorted((cooler for cooler in table if cooler.usd_high), key=lambda cooler: cooler.usd_high or 0.0)
    return [cooler for cooler in known if not any(ruling.verdict in bad for ruling in result(cooler))]


def _holds(case: Enclosure, rig: Rig) -> bool:
    """Whether a frame has as many places; few cards need none."""
    if case.kind not in {"open frame", "rack 4U GPU"}:
        return True
    places = [int(word) for word in case.name.split() if word.isdecimal()]
    return rig.n_cards >= 3 and (not places or places[0] >= rig.n_cards) and case.name != "test bench"


def supplies_for(rig: Rig, *, refusals: dict[str, Refusal]) -> Sequence[tuple[PowerSupply, ...]]:
    """Supplies that carry the machine, those without a doubt first: one, or up to four alike."""
    drawing = Rig(cards=rig.cards, processor=rig.processor, cpu_count=rig.cpu_count, room=rig.room)
    supplies, against = _judged_supplies(drawing)
    for name, why in against:
        refusals.setdefault(name, why)
    return supplies


@lru_cache(maxsize=64)
def _judged_supplies(
    drawing: Rig,
) -> tuple[tuple[tuple[PowerSupply, ...], ...], tuple[tuple[str, Refusal], ...]]:
    """For what draws power, whatever is around it: supplies that carry it, and why others do not."""
    known = [supply for supply in supplies() if supply.usd_low and supply.form != "CRPS"]
    tries = [
        (count * (supply.usd_low or 0.0), (supply,) * count)
        for supply, count in product(known, (1, 2, 3, 4))
        if count == 1 or (supply.watts or 0) >= 1200
    ]
    against: dict[str, Refusal] = {}
    fine: list[tuple[PowerSupply, ...]] = []
    doubted: list[tuple[PowerSupply, ...]] = []
    for _, units in sorted(tries, key=lambda pair: pair[0]):
        rulings = judge(replace(drawing, supplies=units), _OF_SUPPLY)
        name = f"{len(units)}x {units[0].name}" if len(units) > 1 else units[0].name
        if not _refuse(name, rulings, refusals=against):
            tight = (load_w(drawing) or 0.0) > _LOAD_SHARE * sum(supply.watts or 0.0 for supply in units)
            doubt = tight or any(ruling.verdict == DOUBT and ruling.rule != "voltage" for ruling in rulings)
            (doubted if doubt else fine).append(units)
    return (*fine, *doubted), tuple(against.items())


def _within(rig: Rig, wanted: BuildWish) -> tuple[Rig | None, float | None]:
    """The rig as the breaker bears it, its cards limited where they must be; None: not even then."""
    if wanted.limit_w is not None:
        least = (replace(cards, limit_w=min(wanted.limit_w, cards.watts or math.inf)) for cards in rig.cards)
        rig = replace(rig, cards=tuple(least))
    need, circuit = load_w(rig), wanted.circuit
    if circuit is None or circuit.rated_w is None or need is None or not rig.cards:
        return rig, wanted.limit_w
    safe = circuit.rated_w * SAFE_SHARE * EFFICIENCY
    if need <= safe:
        return rig, wanted.limit_w
    share = (safe - rig.cpu_w - BASE_W) / (rig.cards_w or 1.0)
    rated = sum((cards.chip.tdp_w or 0.0) * cards.count for cards in rig.cards)
    if share * (rig.cards_w or 0.0) < _LEAST_LIMIT * rated:
        return None, None
    limited = tuple(
        replace(cards, limit_w=math.floor(share * (cards.watts or 0.0) / 10) * 10.0) for cards in rig.cards
    )
    return replace(rig, cards=limited), limited[0].limit_w


def _sold_whole(wanted: BuildWish, cards: tuple[Cards, ...], *, today: date) -> Proposed:
    """The machine that chips are part of, as often as it takes, with as many of them as are sold in it."""
    first = cards[0]
    names = {"chip": first.chip.name, "form": first.chip.form, "count": first.count}
    each = devices_of(first.chip)
    every = first.count * wanted.machines
    more = every - wanted.there(first.chip.id, every)
    if 0 < more < every:  # who has some has them in machines of their own
        cards = (replace(first, count=more), *cards[1:])
        return _sold_whole(replace(wanted, machines=1, owned=()), cards, today=today)
    sold = sold_count(first.chip, first.count * each) // each
    machine = machine_of(first.chip, sold)
    if machine is None or len(cards) > 1:
        says = say("{chip} is {form}: sold only in complete machines", **names)
        return Proposed(variants=(), refusals=(), nearest=says)
    number = math.ceil(sold / max(machine.cards_max, 1))
    kept = sold // number
    whole = replace(first, count=kept if machine.kind == "modules" else 1)
    rig = Rig(machine=machine, cards=(whole,))
    if machine.kind == "modules" and kept <= _MOST_IN_BOX:
        rig = replace(rig, modules=(_filled(1.5 * whole.chip.mem_bytes * kept, cards),))
    made = finish(RECOMMENDED, rig, wanted=replace(wanted, machines=wanted.machines * number), today=today)
    against = next((item for item in _against_room(made) if item.verdict == IMPOSSIBLE), None)
    if against is not None:
        return Proposed(variants=(), refusals=(), nearest=against.sentence)
    if not more:
        made = replace(
            made, items=tuple(replace(item, usd=FREE, line=None, owned=True) for item in made.items)
        )
    if first.count == sold:
        return Proposed(variants=(made,), refusals=())
    says = say("{machine} is sold with {held}, not with {count}", machine=machine.name, held=kept, **names)
    return Proposed(variants=(made,), refusals=(), nearest=says)


def machine_of(chip: Chip, count: int) -> Finished | None:
    """The smallest finished machine that holds such chips."""
    fitting = [
        item
        for item in finished()
        if any(chip.id.startswith(begin) for begin in item.chips or ())
        and item.kind == ("closed" if chip.around is None else "modules")
    ]
    roomy = [item for item in fitting if item.cards_max >= count] or fitting
    return min(roomy, key=lambda item: item.cards_max, default=None)


def nearest(wanted: BuildWish, cards: tuple[Cards, ...], *, today: date) -> Sentence:
    """What comes nearest where one machine cannot hold it: several alike, a server, fewer cards."""
    if wanted.circuit is not None and wanted.circuit.is_flat:
        return say("no known server of at most {units}U holds them", units=wanted.circuit.units)
    count = sum(card.count for card in cards)
    if not cards:
        return say("no known board supports {name}", name=wanted.processor or "")
    for each in (number for number in range(count // 2, 0, -1) if count % number == 0 and len(cards) == 1):
        fewer = (replace(cards[0], count=each),)
        if variant(CHEAPEST, wanted, cards=fewer, today=today, refusals={}) is not None:
            return say(
                "closest: {machines} machines with {each}x {chip} each",
                machines=count // each, each=each, chip=cards[0].chip.name,
            )  # fmt: skip
    return say("closest: rent a machine, or use fewer cards; `--why` shows why each part was ruled out")
