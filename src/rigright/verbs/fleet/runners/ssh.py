"""Over ssh, with the keys and the configuration that the user has: nothing has to be installed there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from threading import Event

from rigright.base.errors import MissingError
from rigright.base.patience import patience
from rigright.base.words import say
from rigright.machine.remote.parcel import RemoteRequest, parcel, start_line
from rigright.machine.remote.shell import start_shell
from rigright.machine.remote.talk import talk
from rigright.verbs.fleet.by_shell import SHELL_S, ShellReader, collector, is_without_python, outcome_of
from rigright.verbs.fleet.hosts import hosts_of
from rigright.verbs.fleet.outcome import Emit, Errand, Hearing, NodeOutcome, Remote, gathered
from rigright.verbs.fleet.troubles import trouble

NAME = "ssh"
CONNECT_S = 10
REACH_S = 15.0  # beside the node's own time: to connect, to send, to come to an end
OPTIONS = (
    "-T",
    *("-o", "BatchMode=yes"),  # a question nobody answers is an error at once
    *("-o", f"ConnectTimeout={CONNECT_S}"),
    *("-o", "ControlMaster=no"),
    *("-o", "ServerAliveInterval=10"),
    *("-o", "ServerAliveCountMax=3"),
    *("-o", "ClearAllForwardings=yes"),
    *("-o", "ForwardAgent=no"),
    *("-o", "LogLevel=ERROR"),
)


def run(way: Remote) -> Iterator[NodeOutcome]:
    """Every host, so many at once."""
    hosts = nodes(way)
    yield from (NodeOutcome(node=host) for host in hosts)
    yield from (outcome for _, outcome in ask(way, (Errand(nodes=hosts, ask=way.ask),)))


def nodes(way: Remote) -> tuple[str, ...]:
    """The hosts that were named."""
    return hosts_of(way.where)


def ask(way: Remote, jobs: Sequence[Errand]) -> Iterator[tuple[Errand, NodeOutcome]]:
    """Every host of every job; those that meet wait for each other, so all of them are asked at once."""
    ssh = shutil.which("ssh")
    if ssh is None:
        raise MissingError(say("ssh not found: install an OpenSSH client"))
    argv = (ssh, *OPTIONS, *way.options, "--")
    tasks = []
    for job in jobs:
        placed = job.at(_address(argv, job.nodes[0])) if job.ask.meeting else job
        tasks += [(job, partial(_host, way, (*argv, host), ask=placed.of(host))) for host in job.nodes]
    at_once = len(tasks) if any(job.ask.meeting for job in jobs) else way.parallel
    return gathered(tasks, at_once=at_once)


def _address(argv: Sequence[str], host: str) -> str:
    """What the user's configuration puts in the place of a host's name: other nodes do not have it."""
    lines: list[bytes] = []
    talk((*argv[:1], "-G", *argv[1:], host), heard=lines.append, patience_s=patience(CONNECT_S))
    names = [line.split(maxsplit=1)[1].strip() for line in lines if line.lower().startswith(b"hostname ")]
    return names[0].decode("utf-8", "replace") if names else host.rpartition("@")[2]


def _host(way: Remote, argv: Sequence[str], *, ask: RemoteRequest, emit: Emit, stop: Event) -> None:
    """Ask one host; by its shell where it has no Python for us."""
    host = argv[-1]
    heard = Hearing()
    start = (*argv, start_line(python=way.python, as_root=way.as_root))
    until_s = ask.patience_s + patience(REACH_S)
    talked = talk(start, data=parcel(ask), heard=heard.hear, patience_s=until_s, stop=stop)
    if heard.answers:
        emit(NodeOutcome(node=host, reply=heard.answers[-1]))
        return
    why = trouble(talked, heard.words)
    if not is_without_python(heard.words):
        emit(NodeOutcome(node=host, trouble=why))
        return
    shell = ShellReader()
    start = (*argv, start_shell(as_root=way.as_root))
    patience_s = max(patience(SHELL_S), ask.patience_s)
    talked = talk(start, data=collector(), heard=shell.hear, patience_s=patience_s, stop=stop)
    late = trouble(talked) if talked.ended == "late" else why
    emit(outcome_of(host, bytes(shell.heard), ask=ask, otherwise=late))
