"""Whole machines: a list of parts judged, and the parts around the cards put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, DataError
from rigright.base.files import called, read_bounded
from rigright.base.money import USD, currencies
from rigright.base.record import Inner, dataclass, derived
from rigright.base.units import KILO, MEGA, MIB, TERA
from rigright.base.words import ENGLISH, Sentence, say
from rigright.build.judge import OK, Ruling, judge, worst
from rigright.build.listed import ListLine, lines_of
from rigright.build.machine import Rig
from rigright.build.parse import rig_of
from rigright.build.proposals.record import BuildWish, Proposal, Proposed, Refusal, recommended
from rigright.demand import PlanWish
from rigright.facts.chips import Chip, by_id
from rigright.facts.formats import GgufMix, find_format, ggml_types
from rigright.facts.nodes import Node, find_node
from rigright.money.machine_price import NOTHING, Stored, stored_of
from rigright.verbs.ordering import (
    beside,
    counted,
    host_in,
    limit_of,
    node_in,
    orders_for,
    paid_node,
    read_room,
    wanted_for,
)
from rigright.verbs.own import today
from rigright.verbs.runs.planned import planned_usd
from rigright.verbs.seen.here import limited, looked_at

EXITS = {"ok": 0, "doubt": 10, "impossible": 20}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedList:
    """A person's list, as it was read, and what the rules say of it."""

    rig: Inner[Rig]
    rules: tuple[Ruling, ...]
    read: tuple[ListLine, ...]  # each as it was written

    @derived
    def unknown(self) -> tuple[ListLine, ...]:
        """Lines that no table knows."""
        return tuple(ListLine(part=part, text=text) for part, text in self.rig.unknown)

    @derived
    def verdict(self) -> str:
        """On the whole."""
        return worst(self.rules)

    @derived
    def exit_code(self) -> int:
        """By the verdict."""
        return EXITS[self.verdict]

    @property
    def against(self) -> tuple[Ruling, ...]:
        """What is not fine, the worst first."""
        return tuple(ruling for ruling in self.rules if ruling.verdict != OK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """Machines around some cards, or around those of a plan."""

    cards: str  # of one machine: "2x GeForce RTX 4090"
    wanted: Inner[BuildWish]
    proposed: Inner[Proposed]
    today: str  # prices are stale or not against it
    model: str | None = None  # whose plan it is
    notes: tuple[Sentence, ...] = ()  # what was assumed, and what to know
    currency: Inner[str] = "USD"
    asked: Inner[str] = ""  # the command that asks this again

    @derived
    def machines(self) -> int:
        """Such machines that are wanted."""
        return self.wanted.machines

    @derived
    def variants(self) -> tuple[Proposal, ...]:
        """Machines to choose from."""
        return self.proposed.variants

    @derived
    def nearest(self) -> Sentence | None:
        """Where nothing holds the cards: what comes closest."""
        return self.proposed.nearest

    @derived
    def rejected(self) -> tuple[Refusal, ...]:
        """Parts that would not do."""
        return self.proposed.refusals

    @derived
    def budget_usd(self) -> float | None:
        """What it may cost."""
        return self.wanted.budget_usd

    @derived
    def buildable(self) -> bool:
        """Whether there is a machine to order."""
        return self.first is not None

    @property
    def first(self) -> Proposal | None:
        """The one to take."""
        return recommended(self.proposed.variants)

    @derived
    def over_budget(self) -> bool:
        """Whether what it costs is more than was said."""
        limit, first = self.wanted.budget_usd, self.first
        return limit is not None and first is not None and first.usd.value * first.machines > limit


MOST_PLAN_BYTES = 16 * MIB
MOST_IN_ONE = 64  # cards that one machine is asked to hold
_BESIDE = 1.1  # main memory over weights that are read from it
PETA = KILO * TERA
_BOUGHT = frozenset(
    {"budget", "buy", "currency", "have", "own", "place", "prices", "room", "used", "watts"}
)  # of parts, or of who asks and where


def check(file: str, *, room: str | None = None) -> CheckedList:
    """Judge the list of parts in a file; `room` is a line `room:` more."""
    return check_text(read_bounded(file, MIB), name=called(file), room=room)


def check_text(raw: bytes | str, *, name: str = "list", room: str | None = None) -> CheckedList:
    """Judge a list of parts."""
    lines = lines_of(raw, name=name)
    if room is not None:
        read_room(room)
        lines = (
            *(list_line for list_line in lines if list_line.part != "room"),
            *lines_of(f"room: {room}", name="--room"),
        )
    rig = rig_of(lines)
    known = (rig.processor, rig.board, rig.modules, rig.cards, rig.supplies, rig.case, rig.machine, rig.disks)
    if rig.unknown and not any(known) and rig.cooler is None:
        raise AskError(
            say("{file} contains no known parts", file=name),
            hint=say("write one part per line: {example}", example="gpu: 2x RTX 4090"),
        )
    return CheckedList(rig=rig, rules=judge(rig), read=tuple(lines))


def build(
    what: str | None = None, *, wish: PlanWish | None = None, from_file: str | None = None, asked: str = ""
) -> Assembled:
    """Machines around cards ("2x rtx 4090"), a model's plan, or one that `plan --json` wrote."""
    wish = wish or PlanWish()
    _check_bought(wish)
    if what is None and from_file is None:  # a machine that stands behind an option
        what, wish = wish.on or wish.owned, replace(wish, on=None)
    if from_file is not None:
        for option in _of_models(wish):
            raise AskError(say("--from already has a plan: --{option} would change it", option=option))
        return around_plan(_plan_in(from_file), wish, asked=asked)
    if what is None:
        raise AskError(
            say("nothing to build"),
            hint=say(
                "give cards, a model or a parts list: {example}", example='rigright build "2x rtx 4090"'
            ),
        )
    if wish.power_w is not None and _cards_in(what) is not None:
        what, wish = limited(what, wish.power_w), replace(wish, power_w=None)
    node = _cards_in(what)
    if node is not None:
        for option in _of_models(wish):
            raise AskError(
                say("{option} needs a model, but {machine} is a machine", option=f"--{option}", machine=what),
                hint=say("give a model in place of the cards, or remove {option}", option=f"--{option}"),
            )
        return _assembled(_around_node(node, wish), wish, asked=asked, notes=node.notes)
    from rigright.verbs.plan import plan
    from rigright.verbs.planning.planned import as_data, no_machine

    planned = plan(what, wish=wish if wish.buy is not None else replace(wish, buy=True))
    if planned.first is None:
        raise no_machine(planned)
    return around_plan(as_data(planned, ENGLISH), wish, asked=asked)


def _check_bought(wish: PlanWish) -> None:
    """Refuse what says something of rented machines."""
    rented = {"rent": wish.buy is False, "cloud": bool(wish.clouds), "spot": wish.spot}
    for option in (name for name, is_said in rented.items() if is_said):
        raise AskError(
            say("build plans a machine to buy: {option} does not apply", option=f"--{option}"),
            hint=say("remove {option}", option=f"--{option}"),
        )


def _of_models(wish: PlanWish) -> list[str]:
    """Options that were said and only change which cards a model is planned on."""
    from rigright.options.read import values_in

    return [name for name in values_in(wish, "build") if name not in _BOUGHT]


def _around_node(node: Node, wish: PlanWish, *, stored: Stored = NOTHING) -> BuildWish:
    """What a machine in words asks for: its cards, and of its host what was said."""
    return replace(
        wanted_for(node), budget_usd=wish.budget_usd, currency=wish.currency, used=wish.used, stored=stored,
        owned=_there(wish.owned, node),
    )  # fmt: skip


def _every(node: Node) -> tuple[tuple[str, int], ...]:
    """The cards of all its machines, by chip."""
    return tuple((chip, count * node.n_nodes) for chip, count in counted(node))


def _there(owned: str | None, node: Node) -> tuple[tuple[str, int], ...]:
    """The cards that are owned; others than a machine holds are refused."""
    if owned is None:
        return ()
    pairs = _every(looked_at(owned) or find_node(owned))
    if not dict(pairs).keys() & dict(counted(node)).keys():
        raise AskError(
            say("two machines: {one} and {option} {other}", one=node.shown, option="--own", other=owned),
            hint=say("--own names those of its cards that are there already"),
        )
    return pairs


def _cards_in(what: str) -> Node | None:
    """The cards a text names; None where it names something else, such as a model."""
    try:
        return find_node(what)
    except AskError as error:
        counted = what.strip()[:1].isdigit() and " " in what.strip()
        if counted or "could mean" in str(error):
            raise
        return None


def _plan_in(file: str) -> Mapping[str, Any]:
    """What `plan --json` wrote."""
    name = called(file)
    wrong = DataError(
        say("{file} is not a plan", file=name),
        hint=say("write one with {command}", command="rigright plan MODEL --json"),
    )
    try:
        value = bounded_json(read_bounded(file, MOST_PLAN_BYTES))
    except ValueError:
        raise wrong from None
    if not isinstance(value, dict) or not isinstance(value.get("plans"), list):
        raise wrong
    return value


def around_plan(data: Mapping[str, Any], wish: PlanWish, *, asked: str = "") -> Assembled:
    """The machine of a plan: its cards, memory and disks for its model."""
    plans = [item for item in (*data["plans"], data.get("nearest")) if isinstance(item, dict)]
    value = data.get("wish")
    asked_for = value if isinstance(value, dict) else {}
    currency = str(asked_for.get("currency"))
    if wish.currency == USD and currency in currencies():
        wish = replace(wish, currency=currency)
    have, room = (text if isinstance(text, str) else None for text in map(asked_for.get, ("have", "room")))
    wish = replace(wish, have=wish.have or have, room=wish.room or room)
    wanted = _wanted_by(plans[0] if plans else {}, asked_for, wish=wish, params=data.get("params"))
    if wanted is None:
        raise DataError(
            say("the plan has no known GPU"),
            hint=say("write one with {command}", command="rigright plan MODEL --buy --json"),
        )
    model = data.get("model")
    return _assembled(wanted, wish, asked=asked, model=model if isinstance(model, str) else None)


def _wanted_by(
    plan: Mapping[str, Any], asked_for: Mapping[str, Any], *, wish: PlanWish, params: object
) -> BuildWish | None:
    """What a plan of a file asks for; None where it names no chip that is known."""
    work, supply = asked_for.get("work"), plan.get("supply")
    stored = stored_of(
        _number(params),
        work=work if isinstance(work, str) else None,
        train_tok=_number(asked_for.get("train_tok")),
    )
    used = wish.used or (isinstance(supply, dict) and supply.get("used") is True)
    chip = by_id().get(str(plan.get("chip")))
    whole = paid_node(plan, asked_for)
    named = whole or node_in(plan.get("machine"))
    if named is not None and (chip is None or named.is_mixed):
        is_own = isinstance(supply, dict) and supply.get("how") == "own"
        mixed = replace(wish, used=used, owned=named.shown if is_own else None)
        build_wish = _around_node(named, mixed, stored=stored)
        return replace(build_wish, cards_usd=planned_usd(plan, asked_for, wish=wish))
    if chip is None:
        return None
    host = (None if named is None else named.host) or host_in(asked_for.get("on"))
    count, nodes = _whole(plan.get("n_chips")), _whole(plan.get("n_nodes"))
    if whole is not None:
        count, nodes = whole.n_cards, whole.n_nodes
    served = plan.get("work")
    in_ram = isinstance(served, dict) and isinstance(served.get("offload"), dict)
    weights = _number(params) * (_bytes_of(served.get("weights")) if isinstance(served, dict) else 2.0)
    each = max(1, -(-count // (nodes * chip.devices)))
    return beside(host, BuildWish(
        cards=((chip.id, each),), machines=nodes, stored=stored,
        ram_bytes=_BESIDE * weights if in_ram else 0.0, limit_w=limit_of(named), budget_usd=wish.budget_usd,
        currency=wish.currency, used=used, owned=_owned_in(supply, asked_for, chip=chip, every=each * nodes),
        cards_usd=planned_usd(plan, asked_for, wish=wish),
    ))  # fmt: skip


def _owned_in(
    supply: object, asked_for: Mapping[str, Any], *, chip: Chip, every: int
) -> tuple[tuple[str, int], ...]:
    """The cards of a plan that are there already."""
    how = supply.get("how") if isinstance(supply, dict) else None
    if how == "own":
        return ((chip.id, every),)
    mine = node_in(asked_for.get("owned")) if how == "buy" else None
    return () if mine is None else _every(mine)


def _bytes_of(weights: object) -> float:
    """How many bytes a parameter takes in a format; 16 bit where it is none that is known."""
    try:
        result = find_format(weights) if isinstance(weights, str) else None
    except AskError:
        return 2.0
    if isinstance(result, GgufMix):
        block = ggml_types().get(result.base)
        return 0.6 if block is None else block.block_bytes / block.block_elems
    return 2.0 if result is None else result.bits / 8


def _number(value: object) -> float:
    """A figure from a file: finite and not below zero, 0 where it is none."""
    fine = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= PETA
    return float(value) if fine and isinstance(value, int | float) else 0.0


def _whole(value: object) -> int:
    """A count from a file: at least one."""
    return max(1, min(int(_number(value)), int(MEGA)))


def _assembled(wanted: BuildWish, wish: PlanWish, *, asked: str, **fields: Any) -> Assembled:
    """Put it together."""
    from rigright.build.proposals.there import proposed

    day, orders = today(), orders_for(wish)
    wanted = replace(wanted, pc=orders.pc, circuit=orders.circuit)
    each = sum(count for _, count in wanted.cards)
    soldered = bool(wanted.cards) and all(
        not by_id()[chip].form.startswith("PCIe") for chip, _ in wanted.cards
    )
    if each > MOST_IN_ONE and not soldered:
        raise AskError(
            say("{count} cards do not fit in one machine", count=each),
            hint=say(
                "use several machines: {example}",
                example=f'"{-(-each // 8)} nodes of 8x {wanted.cards[0][0]}"',
            ),
        )
    shown = " + ".join(f"{count}x {by_id()[chip].name}" for chip, count in wanted.cards)
    if not wanted.cards:
        shown = (
            f"{wanted.sockets}x {wanted.processor}" if (wanted.sockets or 1) > 1 else wanted.processor or ""
        )
    return Assembled(
        cards=shown, wanted=wanted, proposed=proposed(wanted, today=day), today=day.isoformat(),
        currency=wish.currency, asked=asked, **fields,
    )  # fmt: skip
