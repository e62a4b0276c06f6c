"""`fleet`: the same question to many machines, over what people already run."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, Literal

from rigright.base.errors import AskError
from rigright.base.units import parse_count, parse_seconds
from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.machine_options import add_baseline
from rigright.faces.cli.terminal import written_over

STAGE = "machine"
SUMMARY = say("probe, doctor or bench many machines: over ssh, Slurm, Ray or Kubernetes")
WHATS = ("probe", "doctor", "bench", "health", "files")
BARE = "auto"  # a way whose value is left out
_WAYS = {"hosts": "ssh", "slurm": "slurm", "ray": "ray", "kubernetes": "kubernetes", "from_folder": "folder"}
_FLAGS = ("--hosts", "--slurm", "--ray", "--kubernetes", "--from")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `fleet`."""
    parser.add_argument(
        "what",
        metavar="WHAT",
        choices=WHATS,
        help=str(
            say(
                "probe, doctor or bench: every node; health: this node, for a scheduler; files: "
                "files for Slurm or Kubernetes"
            )
        ),
    )
    _add_ways(parser)
    _add_asking(parser)
    _add_node(parser)


def _add_ways(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hosts",
        metavar="HOSTS",
        help=str(say("over ssh: 'node[01-08],gpu9', or a file with one host per line")),
    )
    parser.add_argument(
        "--slurm",
        metavar="OPTIONS",
        nargs="?",
        const=BARE,
        help=str(
            say(
                'over Slurm: options of srun such as --slurm="-p gpu -N 4"; bare: all idle nodes, or this job'
            )
        ),
    )
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        nargs="?",
        const=BARE,
        help=str(say("over Ray: host:port of the head node")),
    )
    parser.add_argument(
        "--kubernetes",
        metavar="LABELS",
        nargs="?",
        const=BARE,
        help=str(say("from the logs of rigright pods, with kubectl; optional: their label selector")),
    )
    parser.add_argument(
        "--from",
        dest="from_folder",
        metavar="FOLDER",
        help=str(say("from files collected otherwise: one file or folder per node")),
    )


def _add_asking(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only", metavar="CHECKS", help=str(say("doctor: only these checks or groups, comma-separated"))
    )
    parser.add_argument(
        "--for",
        dest="plan",
        metavar="PLAN",
        help=str(say('doctor: check for a plan.json, or GPUs: "8x h100"')),
    )
    add_baseline(parser)
    parser.add_argument(
        "--parts", metavar="PARTS", help=str(say("bench: only these parts, comma-separated: gemm,ram"))
    )
    parser.add_argument("--full", action="store_true", help=str(say("bench: full instead of quick")))
    parser.add_argument(
        "--accept",
        metavar="FOLDER",
        help=str(say("bench: pass or fail each node; FOLDER keeps the results, the same command resumes")),
    )
    parser.add_argument("--burn", metavar="TIME", help=str(say("accept: burn-in time; default 10min")))
    parser.add_argument("--disk", metavar="FOLDER", help=str(say("accept: a folder on the disk to measure")))
    parser.add_argument("--timeout", metavar="TIME", help=str(say("timeout per node: 90s, 10min")))
    parser.add_argument("--parallel", metavar="N", help=str(say("nodes asked in parallel; default 32")))
    parser.add_argument("--python", metavar="PATH", help=str(say("Python on the nodes, 3.10 or newer")))
    parser.add_argument("--sudo", action="store_true", help=str(say("run as root through passwordless sudo")))
    parser.add_argument("--options", metavar="WORDS", help=str(say('for ssh or kubectl: "-p 2222 -i key"')))
    parser.add_argument("--save", metavar="FOLDER", help=str(say("save every answer, for --from")))
    parser.add_argument("--all", action="store_true", dest="everything", help=str(say("show full tables")))


def _add_node(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--drain", action="store_true", help=str(say("health: drain this node in Slurm on a confirmed fault"))
    )
    parser.add_argument("--node", metavar="NAME", help=str(say("health: Slurm name of this node")))
    parser.add_argument(
        "--shell",
        action="store_true",
        help=str(say("files: a script that collects data on machines without Python, for `doctor --from`")),
    )
    parser.add_argument("--image", metavar="IMAGE", help=str(say("files: image for Kubernetes")))
    parser.add_argument(
        "--metrics", action="store_true", help=str(say("files: Prometheus metrics instead of a probe"))
    )
    parser.add_argument("--nodes", metavar="N", help=str(say("files: number of nodes for the Job")))


def answer(options: argparse.Namespace) -> Answer:
    """Ask the nodes, look after this one, or print files."""
    if options.what == "health":
        return _health(options)
    if options.accept is not None:
        return _accept(options)
    return _files(options) if options.what == "files" else _fleet(options)


def _fleet(options: argparse.Namespace) -> Answer:
    from rigright.report.pages import fleet as pages
    from rigright.verbs.fleet.frame import fleet

    result = fleet(
        options.what,
        wish=_wish(options),
        progress=lambda told, silent, count: _progress(told, silent, count=count, language=options.language),
    )
    return Answer(
        page=lambda: pages.page(result, everything=options.everything),
        plain=lambda language: pages.plain(result, language),
        exit_code=result.exit_code,
        record=result,
    )


def _accept(options: argparse.Namespace) -> Answer:
    from rigright.report.formats.markdown import render
    from rigright.report.pages import accept as pages
    from rigright.report.pages import accept_report
    from rigright.report.screen import Screen
    from rigright.verbs.fleet.accept.folder import keep_reports
    from rigright.verbs.fleet.accept.frame import BURN_S, AcceptWish, accept

    if options.what != "bench":
        raise AskError(say("--accept belongs to bench: rigright fleet bench --accept FOLDER"))
    wish = AcceptWish(
        folder=options.accept,
        burn_s=BURN_S if options.burn is None else _seconds(options.burn),
        disk=options.disk,
        parts=_listed(options.parts),
        baseline=options.baseline,
    )
    result = accept(
        _wish(options),
        wish,
        progress=lambda said, so_far: written_over(
            say("{what}: {done} of {all}", what=said, done=so_far[0], all=so_far[1]),
            options.language,
            is_last=so_far[0] == so_far[1],
        ),
    )
    screen = Screen(language=options.language)
    result = keep_reports(result, lambda one: render(accept_report.page(one, result), screen))
    return Answer(
        page=lambda: pages.page(result, everything=options.everything),
        plain=lambda language: pages.plain(result, language),
        exit_code=result.exit_code,
        record=result,
    )


def _health(options: argparse.Namespace) -> Answer:
    from rigright.report.pages import health as pages
    from rigright.verbs.fleet.health import health

    found = health(only=_listed(options.only), drain=options.drain, node=options.node)
    done, reason = found.done, found.reason
    return Answer(
        page=lambda: pages.page(found.node, found.examined, done=done, reason=reason),
        plain=lambda language: pages.plain(
            pages.NodeHealth(node=found.node, examined=found.examined, done=done, reason=reason), language
        ),
        exit_code=found.exit_code,
        record=found,
    )


def _files(options: argparse.Namespace) -> Answer:
    from rigright.report.pages import files as pages
    from rigright.verbs.fleet.files import files

    if [options.slurm is None, options.kubernetes is None, not options.shell].count(False) != 1:
        raise AskError(say("no target given: use --slurm, --kubernetes or --shell"))
    nodes = None if options.nodes is None else parse_count(options.nodes)
    kind: Literal["slurm", "kubernetes", "shell"] = "slurm" if options.shell is False else "shell"
    if options.kubernetes is not None:
        kind = "kubernetes"
    found = files(kind, image=options.image, nodes=nodes, metrics=options.metrics)
    return Answer(
        page=lambda: pages.page(found),
        plain=lambda language: pages.plain(pages.PrintedFiles(files=found), language),
        text=lambda: pages.text(found),
    )


def _wish(options: argparse.Namespace) -> Any:
    from rigright.verbs.fleet.frame import FleetWish, bench_of

    way = _way(options)
    return FleetWish(
        over=_WAYS[way],
        where="" if getattr(options, way) == BARE else getattr(options, way),
        only=_listed(options.only),
        plan=options.plan,
        baseline=options.baseline,
        bench=bench_of(_listed(options.parts), full=options.full, python=options.python),
        patience_s=None if options.timeout is None else _seconds(options.timeout),
        parallel=_parallel(options.parallel),
        python=options.python,
        as_root=options.sudo,
        options=_words(options.options, "--options"),
        save=options.save,
    )


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _way(options: argparse.Namespace) -> str:
    told = [name for name in _WAYS if getattr(options, name) is not None]
    if len(told) == 1:
        return told[0]
    flags = ", ".join(_FLAGS)
    if told:
        raise AskError(say("use only one of {flags}", flags=flags))
    raise AskError(say("no nodes given: use one of {flags}", flags=flags))


def _words(text: str | None, option: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text or ""))
    except ValueError as error:
        raise AskError(say("cannot read {option}: {why}", option=option, why=error)) from None


def _seconds(text: str) -> float:
    seconds = parse_seconds(text)
    if seconds < 1:
        raise AskError(say("the timeout must be at least 1s, got {text}", text=text))
    return seconds


def _parallel(text: str | None) -> int:
    from rigright.verbs.fleet.came import PARALLEL

    count = PARALLEL if text is None else parse_count(text)
    if not 1 <= count <= 512:
        raise AskError(say("parallel nodes must be 1 to 512, got {count}", count=count))
    return count


def _progress(told: int, silent: int, *, count: int, language: str) -> None:
    said = say(
        "{told} of {count} nodes answered, {silent} unreachable", told=told, silent=silent, count=count
    )
    written_over(said, language, is_last=told + silent == count)
