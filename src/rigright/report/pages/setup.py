"""The page of `setup`: what goes together, the steps that install it, and what is not known."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base import telling
from rigright.base.page import Commands, Line, Page, Part, Points, Shown, Table, facts
from rigright.base.words import Sentence, say, worded
from rigright.report.typed import typed
from rigright.verbs.setup.choice import WINDOWS, Installed, Pick, SetUp


def page(result: SetUp, asked: str = "rigright setup") -> Page:
    """The page for people."""
    if result.already is not None:
        return _done(result, result.already)
    pick, kept = result.pick, result.without_new_driver
    return Page.of(
        _verdict(result),
        _machine(result),
        None if pick is None else _set(result, pick),
        None if kept is None else Line(text=_kept(result, kept), tone="strong"),
        _steps(result),
        Points.of(result.notes, title=say("worth knowing")),
        Points.of(result.unknown if pick else result.unknown[1:], title=say("not known"), tone="warn"),
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


def _machine(result: SetUp) -> Line:
    return Line.dim(say("software for {machine}", machine=result.system.shown))


def _done(result: SetUp, already: Installed) -> Page:
    """Nothing is to be done."""
    sentence = say(
        "nothing to do: {name} {version} in {python} matches driver {driver} and these GPUs",
        name=already.name,
        version=f"{already.version} ({already.build})" if already.build else already.version,
        python=already.python,
        driver=result.system.driver or "?",
    )
    bench = f"rigright bench --quick --python {shlex.quote(already.python)}"
    rows: tuple[tuple[Shown, Shown], ...] = (
        (already.name, already.version),
        (say("Python"), already.python),
        (say("driver now"), result.system.driver or "?"),
    )
    notes = Points.of(result.notes, title=say("worth knowing"))
    steps = Commands.next(("rigright doctor", bench))
    return Page.of(Line.good(sentence), _machine(result), facts(rows), notes, steps)


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
    if pick.installer is not None:
        return say("installed by {installer}", installer=pick.installer)
    if pick.build is None and pick.image is not None and not pick.pip:
        return say("image {image}", image=pick.image)
    if pick.least_driver is None:
        return say("build {build}, Python {python}", build=pick.build or "-", python=result.python or "3")
    if pick.cuda is None:
        return say("driver {driver} or newer", driver=pick.least_driver)
    return say(
        "CUDA {cuda}, Python {python}, driver {driver} or newer",
        cuda=pick.cuda,
        python=result.python or "3",
        driver=pick.least_driver,
    )


def _set(result: SetUp, pick: Pick) -> Table:
    """What goes together, one part a row."""
    pairs: list[tuple[Shown, Shown]] = []
    if result.driver_branch is not None:
        kind = say("open") if result.open_kernel else say("proprietary")
        pairs.append(
            (
                say("driver"),
                say(
                    "branch {branch}, {kind} kernel module; at least {least}",
                    branch=result.driver_branch,
                    kind=kind,
                    least=pick.least_driver or "?",
                ),
            )
        )
    if result.system.driver:
        pairs.append((say("driver now"), result.system.driver))
    if pick.cuda:
        pairs.append((say("CUDA"), pick.cuda))
    if result.toolkit:
        pairs.append((say("CUDA toolkit"), result.toolkit))
    if pick.torch:
        pairs.append(("torch", f"{pick.torch} ({pick.build})"))
    if pick.pythons and pick.pip:
        pairs.append(
            (say("Python"), say("{python}, of {span}", python=result.python or "3", span=pick.pythons))
        )
    if pick.image:
        pairs.append((say("image"), pick.image))
    if pick.source:
        pairs.append(
            (
                say("source"),
                say(
                    "{source}; {date}, confidence {confidence}",
                    source=pick.source,
                    date=pick.as_of,
                    confidence=worded("confidence")(pick.confidence),
                ),
            )
        )
    return facts(pairs)


def _kept(result: SetUp, kept: Pick) -> Sentence:
    return say(
        "to keep driver {driver}: {name} {version}, CUDA {cuda} ({packages})",
        driver=result.system.driver,
        name=kept.name,
        version=kept.version,
        cuda=kept.cuda or "?",
        packages=" ".join(kept.pip),
    )


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
