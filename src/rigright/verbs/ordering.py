"""Machines of which somebody said more than their cards, put together as `build` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rigright.base.errors import AskError, maybe
from rigright.base.everyday import paid
from rigright.base.money import home_of
from rigright.base.record import dataclass, replace
from rigright.base.units import to_gib
from rigright.base.words import ENGLISH, say
from rigright.cost.estimate import Estimate, scaled
from rigright.demand import PlanWish
from rigright.facts.chips import Chip, by_id
from rigright.facts.clouds import providers_of
from rigright.facts.hosts import CPU, Host
from rigright.facts.nodes import Node, find_node, rented_from
from rigright.facts.prices import orders
from rigright.facts.tariffs import currency_at, find_place
from rigright.facts.units import devices_of
from rigright.money.machine_price import NOTHING, Stored
from rigright.options.read import read_wish
from rigright.verbs.own import today
from rigright.verbs.seen.here import is_place, limited

if TYPE_CHECKING:
    from datetime import date

    from rigright.build.machine import Circuit, Rig
    from rigright.build.proposals.record import BuildWish, Proposal, Proposed
    from rigright.demand import PlanWish
    from rigright.money import machine_price

MANY = 4096  # machines that are kept
OF_PLACE = ("breaker", "noise")
UNSOLD = frozenset({*OF_PLACE, "air", "spacing"})  # doubts with which a machine is not offered unasked


def beside(host: Host | None, wanted: BuildWish) -> BuildWish:
    """The same with the processor and the memory that somebody spoke of."""
    if host is None:
        return wanted
    named = "cpu" not in host.assumed
    return replace(
        wanted,
        processor=host.cpu.name if named else None,
        sockets=host.sockets if named else None,
        ram_bytes=host.ram_bytes,  # what the work was counted with
    )


def counted(node: Node) -> tuple[tuple[str, int], ...]:
    """The cards of one of its machines, by chip."""
    counts = Counter(card.chip.id for card in node.cards if card.chip.id in by_id())
    return tuple((chip, -(-count // by_id()[chip].devices)) for chip, count in counts.items())


def limit_of(node: Node | None) -> float | None:
    """The power limit of its cards, where somebody said one."""
    chips = () if node is None else (card.chip for card in node.cards if not card.chip.is_instance)
    limits = (chip.tdp_w for chip in chips if chip.tdp_w != by_id().get(chip.id, chip).tdp_w)
    return min(filter(None, limits), default=None)


def wanted_for(node: Node) -> BuildWish:
    """The machines that a node means."""
    from rigright.build.proposals.record import BuildWish

    wanted = BuildWish(cards=counted(node), machines=node.n_nodes, limit_w=limit_of(node))
    return beside(node.host, wanted)


def node_in(machine: object) -> Node | None:
    """A machine in words, as a plan's file has it; None where it is no such text."""
    return maybe(lambda: find_node(machine) if isinstance(machine, str) else None)


def host_in(machine: object) -> Host | None:
    """What it has beside its cards."""
    node = node_in(machine)
    return None if node is None else node.host


def paid_node(plan: Mapping[str, Any], asked: Mapping[str, Any]) -> Node | None:
    """The machine that a plan of a file was asked on: all of it is paid for, however little works.

    None where none was named, or one that was looked at.
    """
    supply = plan.get("supply")
    is_own = isinstance(supply, dict) and supply.get("how") == "own"
    return node_in(asked.get("owned" if is_own else "on"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """Puts machines together, in the PC that is there and for the room that they stand in."""

    pc: Rig | None = None
    circuit: Circuit | None = None
    is_named: bool = False  # for one machine: worth putting together where a shelf of a rack costs more

    @property
    def host(self) -> Host | None:
        """Processor and memory of the PC, where both were said."""
        modules = () if self.pc is None else self.pc.modules
        size = sum(item.total_bytes or 0.0 for item in modules)
        if self.pc is None or not size:
            return None
        from rigright.facts.host_words import find_host

        cpu = "" if self.pc.processor is None else f"{self.pc.processor.name} + "
        board = None if self.pc.board is None else self.pc.board.mem_type
        return find_host(f"{cpu}{to_gib(size):.0f}gb {modules[0].type or board or ''} ram")

    @property
    def is_bound(self) -> bool:
        """Whether what stands around cards is decided by more than the cards."""
        place = self.circuit
        racked = place is not None and (place.is_flat or (self.is_named and place.units is not None))
        return self.pc is not None or racked

    def stands(self, chips: Sequence[tuple[Chip, int]], *, boxes: int) -> bool:
        """Whether machines alike, each with so many devices, can stand there at full power."""
        cards = tuple((chip.id, count) for chip, count in chips if chip.vendor != CPU)
        if (self.pc is None and self.circuit is None) or not cards:
            return True
        from rigright.build.judge import OK, judge
        from rigright.build.machine import Cards, Rig
        from rigright.facts.shop.cards import shape_of

        room = None if self.circuit is None else replace(self.circuit, circuits=self.circuit.circuits / boxes)
        rig = Rig(room=room, cards=tuple(
            Cards(chip=chip, count=-(-count // devices_of(chip)), shape=shape_of(chip))
            for chip, count in chips
        ))  # fmt: skip
        if all(chip.form.startswith("PCIe") for chip, _ in chips):
            if any(ruling.verdict != OK for ruling in judge(_as_ordered(rig), OF_PLACE)):
                return False
            if not self.is_bound:
                return True
        made = _made(self, cards, machines=boxes, today=today())
        return (
            made is not None and made.limit_w is None and UNSOLD.isdisjoint(item.rule for item in made.doubts)
        )

    def proposed(self, node: Node) -> Proposed:
        """Machines around the cards of a node, bought for that place."""
        from rigright.build.proposals.there import proposed

        wanted = replace(wanted_for(node), circuit=self.circuit, pc=self.pc)
        return proposed(wanted, today=today())

    def __call__(
        self, cards: machine_price.Cards, machines: int, *, host: Host | None, stored: Stored, today: date
    ) -> Estimate | None:
        """What stands around cards in such machines; None where none can be put together."""
        made = _made(self, cards, machines=machines, host=host, stored=stored, today=today)
        return None if made is None or not made.is_ordered else scaled(made.around_usd, made.machines)


def _as_ordered(rig: Rig) -> Rig:
    """Cards with what decides of power and noise around them, as such a machine is ordered."""
    from rigright.facts.shop.cpus import processor_named
    from rigright.facts.shop.tables import finished

    cards = rig.cards[0]
    lines = orders().get((cards.chip.id, cards.count), ())
    cpu = next((line for line in lines if line.kind == "cpu"), None)
    rig = replace(rig, processor=processor_named(cpu.variant), cpu_count=cpu.count) if cpu else rig
    if not any(line.kind == "chassis" for line in lines):
        return rig
    return replace(rig, machine=next(item for item in finished() if item.kind == "server"))


@lru_cache(maxsize=MANY)
def _made(
    orders: Orders, cards: machine_price.Cards, *, machines: int, today: date, host: Host | None = None,
    stored: Stored = NOTHING,
) -> Proposal | None:  # fmt: skip
    """The machine to take."""
    from rigright.build.proposals.record import BuildWish, recommended
    from rigright.build.proposals.there import proposed

    counts = tuple((chip, -(-count // by_id()[chip].devices)) for chip, count in cards)
    wanted = BuildWish(cards=counts, machines=machines, stored=stored, circuit=orders.circuit, pc=orders.pc)
    wanted = beside(host, wanted)
    if not wanted.cards and wanted.processor is None:
        return None
    return recommended(proposed(wanted, today=today).variants)


def orders_for(wish: PlanWish, *, named: bool = False) -> Orders:
    """Who puts machines together for a wish; `named`: few, that somebody named."""
    pc = None if wish.have is None else _read_pc(wish.have)
    circuit = None if wish.room is None else read_room(wish.room)
    return Orders(pc=pc, circuit=circuit, is_named=named or wish.on is not None)


def _read_pc(text: str) -> Rig:
    """A PC in words."""
    from rigright.build.parse import pc_of

    try:
        rig = pc_of(text)
    except AskError:  # it names no part
        rig = None
    if rig is None or rig.cards or rig.unknown:
        wrong = rig.unknown[0][1] if rig is not None and rig.unknown else text
        raise AskError(
            say('cannot read "{text}" as {what}', text=wrong[:60], what=say("a PC without its GPUs")),
            hint=say("for example {example}", example='--have "b650, 64gb, 850w" --own "rtx 3060"'),
        )
    return rig


def read_room(text: str) -> Circuit:
    """A room in words."""
    from rigright.build.parse import room_of

    circuit = room_of(text)
    partly = circuit is not None and (circuit.volts is None) != (circuit.amps is None)
    if circuit is None or partly or (circuit.volts is not None and not circuit.rated_w):
        raise AskError(
            say('cannot read "{text}" as {what}', text=text[:60], what=say("voltage and current")),
            hint=say("for example {example}", example="110V 15A, 220V 16A, home 220V, rack 2U, quiet"),
        )
    return circuit


def wish_of(
    words: Mapping[str, str | None], *, verb: str = "plan", beside: Sequence[str | None] = (),
    language: str = ENGLISH,
) -> PlanWish:  # fmt: skip
    """The wish that options tell; `beside`: what else was typed."""
    wish = read_wish(words, verb=verb, home=paid_in(words, beside, language=language))
    machines = () if verb == "compare" else (wish.on, wish.owned, *beside)
    is_used = any(name is not None and paid(name)[0] == "used" for name in machines)
    return replace(wish, used=True) if is_used else wish


def paid_in(words: Mapping[str, str | None], beside: Sequence[str | None], *, language: str) -> str:
    """The currency of who asks: by the place of a question, else by its words and language."""
    place = words.get("place")
    local = currency_at(find_place(place)) if place else None
    return home_of((*words.values(), *beside), language, place=local)


def settled(wish: PlanWish) -> PlanWish:
    """The same with a machine that is named as it runs under the watts and in the place that are said."""
    if wish.have is not None and wish.buy is None:
        wish = replace(wish, buy=True)
    if wish.on is not None:
        clouds = wish.clouds
        if wish.buy is None and not clouds and not is_place(wish.on):
            clouds = rented_from(wish.on)
        return replace(wish, power_w=None, on=named_for(wish.on, wish), clouds=clouds)
    if wish.owned is not None and wish.power_w is not None:
        return replace(wish, power_w=None, owned=limited(wish.owned, wish.power_w))
    return wish


def named_for(name: str, wish: PlanWish) -> str:
    """A machine in words with its power limit; one that cannot be bought for its place is refused."""
    text = name if wish.power_w is None else limited(name, wish.power_w)
    rented = wish.buy is False or wish.clouds or wish.spot
    if rented or (wish.have is None and wish.room is None):
        return text
    if is_place(text):
        return text
    from rigright.build.proposals.record import recommended

    node = find_node(text)
    made = orders_for(wish).proposed(node)
    first = recommended(made.variants)
    if first is None:
        raise AskError(
            made.refused(node.shown, in_pc=wish.have is not None),
            hint=say("change {option}, or rent: --rent", option="--have" if wish.have else "--room"),
        )
    return text if first.limit_w is None else limited(text, first.limit_w * node.n_cards)


def things_for(names: Sequence[str], wish: PlanWish) -> tuple[str, ...]:
    """The same of what is compared; under a power limit a card means one card."""
    plain = wish.power_w is None and wish.have is None and wish.room is None
    return tuple(
        name if plain or ":" in name or providers_of(name) else _thing_for(name, wish) for name in names
    )


def _thing_for(name: str, wish: PlanWish) -> str:
    text = named_for(name, wish)
    return text if text == name or text[0].isdigit() else f"1x {text}"
