"""The paper for whoever signs: a plan, with its costs over the years and the machine to order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, DataError, MissingError, RigError
from rigright.base.files import expanded, read_bounded, unwritten, write_whole
from rigright.base.record import Inner, dataclass
from rigright.base.units import MIB
from rigright.base.words import Sentence, say
from rigright.cost.estimate import Estimate
from rigright.demand import PlanWish
from rigright.verbs.own import today
from rigright.verbs.runs.planned import estimate_in

if TYPE_CHECKING:
    from rigright.verbs.build import Assembled
    from rigright.verbs.costing import Costed, CostWay

LIKELY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One plan, as its file holds it."""

    machine: str
    how: str  # "buy", "rent", "own"
    seller: Inner[str]
    engine: str
    weights: str
    n_nodes: Inner[int]
    used: Inner[bool]
    stale: Inner[bool]
    as_of: Inner[str]
    figures: Mapping[str, Estimate]
    reasons: Inner[tuple[str, ...]]
    notes: Inner[tuple[str, ...]]
    rank_bytes: Inner[Estimate | None]
    room_bytes: Inner[float | None]  # of a GPU, for a plan


class Rejected(NamedTuple):
    """What does not do, and why."""

    label: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The paper."""

    model: str
    licence: Inner[str | None]
    wish: Inner[PlanWish]
    fits: bool
    options: tuple[Candidate, ...]  # the recommended one first
    rejected: tuple[Rejected, ...]
    broken: Inner[tuple[str, ...]]  # the limits that nothing meets
    notes: Inner[tuple[str, ...]]
    today: str
    plan: str  # the plan's
    asked: Inner[str]  # what makes it, where it was not saved
    cost: Costed | None = None
    order: Assembled | None = None
    open: Inner[tuple[Sentence, ...]] = ()  # what could not be stated, and why

    @property
    def first(self) -> Candidate:
        """What is recommended."""
        return self.options[0]

    @property
    def instead(self) -> CostWay | None:
        """Another way to have the machine that likely costs less than buying it."""
        other = None if self.cost is None or self.first.how != "buy" else self.cost.other
        return (
            other
            if other is not None and other.buy_is_cheaper is not None and other.buy_is_cheaper < LIKELY
            else None
        )

    @property
    def is_doubtful(self) -> bool:
        """Whether the years speak against the way that was planned; one run of a training takes no years."""
        made = self.cost
        other = None if made is None else made.other
        buys = other is not None and other.buy_is_cheaper is not None and other.buy_is_cheaper > 1 - LIKELY
        rents = self.first.how == "rent" and "days" not in self.first.figures and self.wish.buy is not False
        return self.instead is not None or (rents and buys)


MOST_BYTES = 16 * MIB
MOST_LISTED, MOST_LETTERS = 12, 400
SAVED = "plan.json"


def report(
    model: str | None = None,
    *,
    wish: PlanWish | None = None,
    from_file: str | None = None,
    language: str = "en",
    asked: str = "",
) -> Decided:
    """The paper of a plan that `plan --json` wrote, or of a model that is planned for now."""
    if (model is None) == (from_file is None):
        raise AskError(say("give one plan: output of `plan --json`, or a model with options of `plan`"))
    if from_file is not None:
        return decided(_plan_in(from_file), file=from_file)
    from rigright.base.plain import settle
    from rigright.verbs.plan import plan
    from rigright.verbs.planning.planned import as_data

    result = plan(model or "", wish=wish or PlanWish())
    return decided(settle(as_data(result, language), language), file=SAVED, asked=asked)


def _plan_in(file: str) -> Mapping[str, Any]:
    """What `plan --json` wrote."""
    try:
        data = bounded_json(read_bounded(file, MOST_BYTES))
    except ValueError:
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("plans"), list):
        raise DataError(
            say("{file} is not a plan", file=file),
            hint=say("write one with {command}", command="rigright plan MODEL --json"),
        )
    return data


def decided(data: Mapping[str, Any], *, file: str, asked: str = "") -> Decided:
    """The paper of a plan's data."""
    from rigright.verbs.build import around_plan
    from rigright.verbs.cost import cost
    from rigright.verbs.runs.planned import run_of

    listed = [*data["plans"], data.get("nearest")]
    candidates = tuple(_candidate(item) for item in listed if isinstance(item, dict))[:MOST_LISTED]
    value = data.get("wish")
    if not candidates or not isinstance(value, dict):
        raise DataError(
            say("{file} contains no machine to decide on", file=file),
            hint=say("relax a limit of the plan; `rigright plan` shows which"),
        )
    result = Decided(
        model=_text(data.get("model")),
        licence=_text(data.get("licence")) or None,
        wish=_wish(value),
        fits=data.get("fits") is True,
        options=candidates,
        rejected=tuple(Rejected(*pair) for pair in _rejected(data.get("why_not"))),
        broken=tuple(reason for _, reason in _rejected(data.get("broken")) if reason),
        notes=_texts(data.get("notes")),
        today=today().isoformat(),
        plan=file,
        asked=asked,
    )
    missing: list[Sentence] = []
    try:
        result = replace(result, cost=cost(run_of(data)))
    except RigError as error:
        missing.append(say("no multi-year costs: {why}", why=error.whole))
    if result.first.how == "buy":
        try:
            result = replace(result, order=around_plan(data, result.wish))
        except RigError as error:
            missing.append(say("no bill of materials: {why}", why=error.whole))
    return replace(result, open=tuple(missing))


def _candidate(plan: Mapping[str, Any]) -> Candidate:
    supply, work = _mapping(plan.get("supply")), _mapping(plan.get("work"))
    figures = {name: estimate_in(value) for name, value in _mapping(plan.get("figures")).items()}
    nodes = _number(plan.get("n_nodes"))
    return Candidate(
        machine=_text(plan.get("machine")) or _text(plan.get("chip")),
        how=_text(supply.get("how")),
        seller=_text(supply.get("label")),
        engine=_text(work.get("engine") or work.get("trainer")),
        weights=_text(work.get("weights") or work.get("method")),
        n_nodes=1 if nodes is None else max(1, int(nodes)),
        used=supply.get("used") is True,
        stale=supply.get("stale") is True,
        as_of=_text(supply.get("as_of")),
        figures={name: estimate for name, estimate in figures.items() if estimate is not None},
        reasons=_texts(plan.get("reasons")),
        notes=_texts(plan.get("notes")),
        rank_bytes=estimate_in(plan.get("rank_bytes")),
        room_bytes=_number(plan.get("room_bytes")),
    )


def _rejected(value: object) -> Iterator[tuple[str, str]]:
    for item in value[:MOST_LISTED] if isinstance(value, list) else ():
        if isinstance(item, dict) and _text(item.get("label")):
            yield _text(item.get("label")), _text(item.get("reason"))


def _wish(given: Mapping[str, Any]) -> PlanWish:
    """The wish of a file: of each field what may stand there, else as if nobody had said it."""
    usual = PlanWish()
    kept: dict[str, Any] = {}
    for field in fields(usual):
        value, kind = given.get(field.name), str(field.type)
        if kind.startswith("str") and isinstance(value, str):
            kept[field.name] = _text(value)
        elif kind.startswith("int") and (number := _number(value)) is not None:
            kept[field.name] = int(number)
        elif kind.startswith("float") and (number := _number(value)) is not None:
            kept[field.name] = number
    return replace(usual, **kept)


def _number(value: object) -> float | None:
    fine = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e30
    return float(value) if fine and isinstance(value, int | float) else None


def _text(value: object) -> str:
    return value[:MOST_LETTERS] if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    listed = value[:MOST_LISTED] if isinstance(value, list) else []
    return tuple(text for text in map(_text, listed) if text)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def is_plan(what: str) -> bool:
    """Whether a name is that of a file with a plan, and not of a model."""
    return what.lower().endswith(".json") and Path(what).name != "config.json"


def write(file: str, html: str) -> None:
    """Write the document; its ending says as what."""
    path = expanded(file)
    ending = path.suffix.lower()
    if ending not in {".html", ".htm", ".pdf"}:
        raise AskError(say('cannot write "{file}"', file=file), hint=say("end its name in .html or .pdf"))
    try:
        if ending != ".pdf":
            write_whole(path, html)
            return
        from rigright.machine.browser import printed

        made = printed(html)
        if made is None:
            raise MissingError(
                say("PDF output needs Chromium, Chrome or Edge; none worked here"),
                hint=say("write .html and print that from any browser"),
            )
        write_whole(path, made)
    except OSError as error:
        raise unwritten(file, error) from None
