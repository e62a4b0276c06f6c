"""`fleet`: the same question to many machines, over what people already run."""

from __future__ import annotations

import argparse
from typing import Any, Literal

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.terminal import written_over
from rigright.options.machine_rows import AUTO

STAGE = "machine"
SUMMARY = say("probe, doctor or bench many machines: over ssh, Slurm or Kubernetes")
_WAYS = {"hosts": "ssh", "slurm": "slurm", "kubernetes": "kubernetes", "from_folder": "folder"}
_FLAGS = ("--hosts", "--slurm", "--kubernetes", "--from")


def answer(options: argparse.Namespace) -> Answer:
    """Ask the nodes, look after this one, or print files."""
    if options.what == "health":
        return _health(options)
    if options.accept is not None:
        return _accept(options)
    return _files(options) if options.what == "files" else _fleet(options)


def _fleet(options: argparse.Namespace) -> Answer:
    from rigright.report.pages import fleet as pages
    from rigright.verbs.fleet.verb import fleet

    result = fleet(
        options.what,
        wish=_wish(options),
        progress=lambda number, silent, count: _progress(
            number, silent, count=count, language=options.language
        ),
    )
    return Answer.of(pages, result, options=options, take="everything", exit_code=result.exit_code)


def _accept(options: argparse.Namespace) -> Answer:
    from rigright.report.formats.markdown import render
    from rigright.report.pages import accept as pages
    from rigright.report.screen import Screen
    from rigright.verbs.fleet.accept.accept import BURN_S, AcceptWish, accept
    from rigright.verbs.fleet.accept.folder import keep_reports

    if options.what != "bench":
        raise AskError(say("--accept belongs to bench: rigright fleet bench --accept FOLDER"))
    wish = AcceptWish(
        fleet=_wish(options),
        folder=options.accept,
        burn_s=BURN_S if options.burn is None else options.burn,
        disk=options.disk,
        parts=options.parts or (),
    )
    result = accept(
        wish,
        progress=lambda sentence, so_far: written_over(
            say("{what}: {done} of {all}", what=sentence, done=so_far[0], all=so_far[1]),
            options.language,
            is_last=so_far[0] == so_far[1],
        ),
    )
    screen = Screen(language=options.language)
    result = keep_reports(result, lambda verdict: render(pages.node_page(verdict, result), screen))
    return Answer.of(pages, result, options=options, take="everything", exit_code=result.exit_code)


def _health(options: argparse.Namespace) -> Answer:
    from rigright.report.pages import fleet as pages
    from rigright.verbs.fleet.health import health

    result = health(only=options.only or (), drain=options.drain, node=options.node)
    return Answer(
        page=lambda: pages.health_page(result),
        plain=lambda language: pages.health_plain(result, language),
        exit_code=result.exit_code,
        record=result,
    )


def _files(options: argparse.Namespace) -> Answer:
    from rigright.report.pages import export as pages
    from rigright.verbs.fleet.health import files

    if [options.slurm is None, options.kubernetes is None, not options.shell].count(False) != 1:
        raise AskError(say("no target given: use --slurm, --kubernetes or --shell"))
    kind: Literal["slurm", "kubernetes", "shell"] = "slurm" if options.shell is False else "shell"
    if options.kubernetes is not None:
        kind = "kubernetes"
    fields = files(kind, image=options.image, nodes=options.nodes, metrics=options.metrics)
    return Answer(
        page=lambda: pages.files_page(fields),
        plain=lambda language: pages.files_plain(pages.PrintedFiles(files=fields), language),
        text=lambda: pages.text(fields),
    )


def _wish(options: argparse.Namespace) -> Any:
    from rigright.verbs.fleet.jobs import PARALLEL, FleetWish
    from rigright.verbs.fleet.verb import bench_of

    way = _way(options)
    return FleetWish(
        over=_WAYS[way],
        where="" if getattr(options, way) == AUTO else getattr(options, way),
        only=options.only or (),
        plan=options.plan,
        baseline=options.baseline,
        bench=bench_of(options.parts or (), full=options.full, python=options.python),
        patience_s=options.timeout,
        parallel=PARALLEL if options.parallel is None else options.parallel,
        python=options.python,
        as_root=options.sudo,
        options=options.options or (),
        save=options.save,
    )


def _way(options: argparse.Namespace) -> str:
    ways = [name for name in _WAYS if getattr(options, name) is not None]
    if len(ways) == 1:
        return ways[0]
    flags = ", ".join(_FLAGS)
    if ways:
        raise AskError(say("use only one of {flags}", flags=flags))
    raise AskError(say("no nodes given: use one of {flags}", flags=flags))


def _progress(number: int, silent: int, *, count: int, language: str) -> None:
    sentence = say(
        "{told} of {count} nodes answered, {silent} unreachable", told=number, silent=silent, count=count
    )
    written_over(sentence, language, is_last=number + silent == count)
