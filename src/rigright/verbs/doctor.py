"""Reads the machine and what a plan expects of it, runs every check, and writes the fixes as a script."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rigright.arch.sources import zoo
from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, RigError
from rigright.base.files import is_there, no_file, read_bounded, unwritten, write_whole
from rigright.base.units import GIB, MIB
from rigright.base.words import say
from rigright.doctor.baseline import load
from rigright.doctor.examine import Examined, case_of, chosen, examine
from rigright.doctor.record import Checked, Evidence, Finding, Wanted
from rigright.facts.chips import by_id
from rigright.facts.nodes import find_node
from rigright.verbs.last_results import before_of, results_of
from rigright.verbs.probe import probe

_EXPLAIN = "rigright explain "
MOST_BYTES = 64 * MIB
MOST_CHIPS = 4096


def doctor(
    from_file: str | None = None,
    *,
    only: tuple[str, ...] = (),
    plan: str | None = None,
    baseline: str | None = None,
    before: str | None = None,
) -> Examined:
    """Examine this machine, or the one a file tells of; `plan` is what it shall run.

    `before` is an earlier reading of it, for what is judged by how fast it grows.
    """
    start = time.perf_counter()
    chosen(only)  # a wrong name is told before the machine is read
    wanted = None if plan is None else wanted_of(plan)
    expected = load(baseline)
    machine = probe(from_file)
    is_here = from_file is None
    if is_here and plan is not None and wanted is not None:
        wanted = _with_servers(wanted, plan)
    earlier = probe(before) if before is not None else before_of(machine) if is_here else None
    case = case_of(
        machine,
        results=results_of(machine, from_file),
        wanted=wanted,
        baseline=expected,
        before=earlier,
    )
    examined = examine(case, only)
    checks = tuple(map(_with_figures, examined.checks))
    return replace(examined, checks=checks, seconds=time.perf_counter() - start)


def _with_figures(checked: Checked) -> Checked:
    """The same, where a message names a model and a card: with what `explain` says of both."""
    if checked.check != "messages":
        return checked
    findings = (_figured(item) if isinstance(item, Finding) else item for item in checked.verdicts)
    return replace(checked, verdicts=tuple(findings))


def _figured(finding: Finding) -> Finding:
    """A finding with the figures behind the command that it prints; as it is where some name is unknown."""
    asked = next((step.command for step in finding.fix if (step.command or "").startswith(_EXPLAIN)), None)
    words = shlex.split(asked or "")[2:]
    # a log names no file to open and no page to fetch
    if not words or "GPU" in words or zoo.exact(words[0]) is None:
        return finding
    from rigright.verbs.explain import explain

    try:
        result = explain(words[0], words[2])
    except RigError:
        return finding
    for card in result.cards[:1]:
        total, need = (f"{size / GIB:.1f}" for size in (card.total_bytes, card.used_bytes))
        given = {"model": result.model, "weights": result.weights, "machine": result.machine}
        shows = say(
            "{model} in {weights} on {machine}: {need} of {total} GiB", need=need, total=total, **given
        )
        finding = replace(finding, evidence=(*finding.evidence, Evidence(shows=shows, command=asked)))
    return finding


def write_script(path: str, text: str) -> None:
    """Write the script of fixes; a file that is there is left as it is."""
    try:
        write_whole(Path(path), text, fresh=True)
    except FileExistsError:
        raise AskError(
            say("{file} already exists; use another file, or remove it first", file=path)
        ) from None
    except OSError as error:
        raise unwritten(path, error) from None


def wanted_of(plan: str) -> Wanted:
    """The plan in a file; else cards such as "8x h100"."""
    path = Path(plan)
    names_file = path.suffix == ".json" or "/" in plan
    if is_there(path) and (names_file or path.is_file()):
        # the best plan of an answer of `plan --json`, or one plan of it on its own
        data = _json(path)
        plans = data.get("plans") if isinstance(data, dict) else None
        value = plans[0] if isinstance(plans, list) and plans else data
        if not isinstance(value, dict) or not isinstance(value.get("chip"), str):
            raise _no_plan(plan)
        work = value["work"] if isinstance(value.get("work"), dict) else {}
        layout = value["layout"] if isinstance(value.get("layout"), dict) else {}
        n_chips, n_nodes = _count(value.get("n_chips"), plan), _count(value.get("n_nodes", 1), plan)
        return Wanted(
            chips=_chips(value, max(1, n_chips // n_nodes), file=plan),
            engine=_word(work.get("engine")),
            engine_version=_word(work.get("engine_version")),
            weights=_word(work.get("weights")),
            tp=_count(layout.get("tp", 1), plan),
            training="trainer" in work,
        )
    if names_file:
        raise no_file(plan)
    return Wanted(chips=tuple(card.chip.id for card in find_node(plan).cards))


def _chips(row: dict[str, Any], count: int, *, file: str) -> tuple[str, ...]:
    """Those of a node; none where a processor does all the work."""
    if row["chip"] in by_id():
        return (row["chip"],) * count
    try:
        node = find_node(str(row.get("machine")))
    except AskError:
        raise _no_plan(file) from None
    return () if node.has_no_cards else tuple(card.chip.id for card in node.cards)


def _with_servers(wanted: Wanted, plan: str) -> Wanted:
    """The same, with the servers of its engine that run here; none where no whole answer is given."""
    from rigright.verbs.launch import launch_of, read_plan
    from rigright.verbs.launch_check import servers_of

    if wanted.training or not Path(plan).is_file():
        return wanted
    try:
        launch = launch_of(read_plan(plan), None)
    except AskError:
        return wanted
    return replace(wanted, servers=tuple(servers_of(launch)), target=launch.program.id, file=plan)


def _json(path: Path) -> Any:
    raw = read_bounded(path, MOST_BYTES)
    try:
        return bounded_json(raw)
    except ValueError:
        raise _no_plan(str(path)) from None


def _count(value: Any, file: str) -> int:
    if not isinstance(value, int) or not 1 <= value <= MOST_CHIPS:
        raise _no_plan(file)
    return value


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _no_plan(file: str) -> AskError:
    return AskError(
        say(
            "{file} contains no plan; create one with `rigright plan MODEL ... --json > plan.json`", file=file
        )
    )
