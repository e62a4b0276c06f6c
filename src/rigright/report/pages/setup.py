"""The page of `setup`: what goes together, the steps that install it, and what is not known."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base import telling
from rigright.base.page import Commands, Line, Page, Part, Points, Shown, Table, facts
from rigright.base.words import Sentence, say
from rigright.report.setup_files import sourced
from rigright.report.typed import typed
from rigright.verbs.setup.choice import WINDOWS, Installed, Pick, SetUp


def page(result: SetUp, asked: str = "rigright setup") -> Page:
    """The page for people."""
    pick, kept, already = result.pick, result.without_new_driver, result.already
    machine = Line.dim(say("software for {machine}", machine=result.system.shown))
    notes = Points.of(result.notes, title=say("worth knowing"))
    if already is not None:
        return Page.of(*_done(result, already, machine=machine), notes, Commands.next(_checks(already)))
    unknown = result.unknown if pick else result.unknown[1:]
    return Page.of(
        _verdict(result),
        machine,
        None if pick is None else _set(result, pick),
        None if kept is None else Line(text=_kept(result, kept), tone="strong"),
        _steps(result),
        notes,
        Points.of(unknown, title=say("not known"), tone="warn"),
        Commands.next(() if pick is None else _next(result, pick, asked=asked)),
    )


def _next(result: SetUp, pick: Pick, *, asked: str) -> Iterator[str]:
    """The files it can be written to, and the check behind it."""
    in_windows = result.system.os_id == WINDOWS
    yield f"{asked} --script {'setup.ps1' if in_windows else 'setup.sh'}"
    if pick.pip:
        yield f"{asked} --requirements requirements.txt"
    if not in_windows and "nvidia" in result.system.vendors:
        yield f"{asked} --docker Dockerfile"
    yield "rigright doctor --only 'driver,software,containers'"


def _done(result: SetUp, already: Installed, *, machine: Line) -> tuple[Line, Line, Table]:
    """Nothing is to be done."""
    driver = result.system.driver or "?"
    build = f"{already.version} ({already.build})" if already.build else already.version
    fields = {"name": already.name, "version": build, "python": already.python, "driver": driver}
    sentence = say(
        "nothing to do: {name} {version} in {python} matches driver {driver} and these GPUs", **fields
    )
    rows = ((already.name, already.version), (say("Python"), already.python), (say("driver now"), driver))
    return Line.good(sentence), machine, facts(rows)


def _checks(already: Installed) -> tuple[str, str]:
    return "rigright doctor", f"rigright bench --quick --python {shlex.quote(already.python)}"


def _verdict(result: SetUp) -> Line:
    pick = result.pick
    if pick is None:
        return Line.bad(next(iter(result.unknown), say("no known version fits")))
    if pick.no_kernels_for is not None:
        names = {".".join(map(str, pair)): name for pair, name in result.system.capabilities}
        sentence = say(
            "{name} {version} is built for CUDA {cuda}, without kernels for {chip} (compute {capability})",
            name=pick.name, version=pick.version, cuda=pick.cuda, chip=names[pick.no_kernels_for],
            capability=pick.no_kernels_for,
        )  # fmt: skip
        return Line.warn(sentence)
    sentence = say("{name} {version}: {rest}", name=pick.name, version=pick.version, rest=_rest(result, pick))
    if result.instead is None:
        return Line.good(sentence)
    return Line.warn(say("{why}; nearest is {set}", why=result.instead, set=sentence))


def _rest(result: SetUp, pick: Pick) -> Sentence:
    python = result.python or "3"
    if pick.installer is not None:
        return say("installed by {installer}", installer=pick.installer)
    if pick.build is None and pick.image is not None and not pick.pip:
        return say("image {image}", image=pick.image)
    if pick.least_driver is None:
        return say("build {build}, Python {python}", build=pick.build or "-", python=python)
    if pick.cuda is None:
        return say("driver {driver} or newer", driver=pick.least_driver)
    fields = {"cuda": pick.cuda, "python": python, "driver": pick.least_driver}
    return say("CUDA {cuda}, Python {python}, driver {driver} or newer", **fields)


def _set(result: SetUp, pick: Pick) -> Table:
    """What goes together, one part a row."""
    fields = {
        "kind": say("open") if result.open_kernel else say("proprietary"),
        "least": pick.least_driver or "?",
    }
    driver = say(
        "branch {branch}, {kind} kernel module; at least {least}", branch=result.driver_branch, **fields
    )
    pythons = pick.pythons if pick.pip else None
    python = say("{python}, of {span}", python=result.python or "3", span=pythons or None)
    rows: tuple[tuple[Shown, Shown | None], ...] = (
        (say("driver"), driver),
        (say("driver now"), result.system.driver),
        (say("CUDA"), pick.cuda),
        (say("CUDA toolkit"), result.toolkit),
        ("torch", f"{pick.torch} ({pick.build})" if pick.torch else None),
        (say("Python"), python),
        (say("image"), pick.image),
        (say("source"), sourced(pick)),
    )
    return facts(rows)


def _kept(result: SetUp, kept: Pick) -> Sentence:
    fields = {"driver": result.system.driver, "packages": " ".join(kept.pip), "cuda": kept.cuda or "?"}
    return say(
        "to keep driver {driver}: {name} {version}, CUDA {cuda} ({packages})",
        name=kept.name, version=kept.version, **fields,
    )  # fmt: skip


def _steps(result: SetUp) -> Iterator[Part]:
    """Each step: why, and its commands as they are typed."""
    for number, step in enumerate(result.steps, 1):
        yield Line(text=say("{number}. {title}: {why}", number=number, title=step.title, why=step.why))
        by_root = result.system.by_root
        commands = (typed(command, needs_root=step.as_root, by_root=by_root) for command in step.commands)
        yield Commands(items=tuple(commands))


def asked_line(words: list[tuple[str, str | None]]) -> str:
    """The question as it was typed, for the lines of what to type next."""
    texts = [f"{name} {shlex.quote(value)}" for name, value in words if value is not None]
    return " ".join(["rigright setup", *texts])


plain = telling.RecordPrinter(SetUp)
