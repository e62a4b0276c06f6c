"""Over Slurm: one task on every node of an allocation, by srun, which speaks to all of them at once."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from threading import Event
from typing import Any

from rigright.base.errors import AskError, MissingError
from rigright.base.patience import patience
from rigright.base.words import say
from rigright.machine.remote.parcel import parcel, start_line
from rigright.machine.remote.talk import talk
from rigright.verbs.fleet.by_shell import by_one_srun, is_without_python
from rigright.verbs.fleet.hosts import listed
from rigright.verbs.fleet.outcome import Emit, Errand, Hearing, NodeOutcome, Remote, gathered
from rigright.verbs.fleet.troubles import BROKEN_OFF, LATE, complaint_about, meant, trouble

NAME = "Slurm"
IDLE = "idle"
SINFO_S = 30.0
QUEUE_S = 30.0  # beside the nodes' own time: to be given the nodes, to send, to come to an end
OPTIONS = (
    "--ntasks-per-node=1",
    "--label",  # lines come whole, and say which task they are of
    *("--kill-on-bad-exit=0", "--wait=0", "--export=ALL", "--cpu-bind=none", "--job-name=rigright"),
)
_STATE = re.compile(r"[a-z]+")


def run(way: Remote) -> Iterator[NodeOutcome]:
    """Every node of the allocation; those that srun names and that say nothing come last."""
    wanted, others = _expected(way)
    yield from (
        NodeOutcome(node=node, trouble=say("skipped: Slurm state {state}", state=state))
        for node, state in others
    )
    yield from (NodeOutcome(node=node) for node in wanted)
    job = Errand(nodes=wanted, ask=way.ask)
    yield from (outcome for _, outcome in gathered([(job, partial(_srun, way, job))], at_once=1))


def nodes(way: Remote) -> tuple[str, ...]:
    """Those that are known before they are asked: of this job, or idle; of options only srun knows."""
    return _expected(way)[0]


def ask(way: Remote, jobs: Sequence[Errand]) -> Iterator[tuple[Errand, NodeOutcome]]:
    """One srun for each job, all of them at the same time."""
    return gathered([(job, partial(_job, way, job)) for job in jobs], at_once=len(jobs))


def _job(way: Remote, job: Errand, *, emit: Emit, stop: Event) -> None:
    """One srun of several: what it refuses is told of its nodes."""
    try:
        _srun(way, job.at(job.nodes[0]), emit=emit, stop=stop)
    except MissingError as error:
        for node in job.nodes:
            emit(NodeOutcome(node=node, trouble=error.sentence))


def _srun(way: Remote, job: Errand, *, emit: Emit, stop: Event) -> None:
    """What one srun brings, node by node; those that tell nothing come last, each with the reason."""
    srun = shutil.which("srun")
    if srun is None:
        raise MissingError(say("srun not found: run this on a login node"))
    expected, texts = set(job.nodes), set[str]()

    def take(fields: dict[str, Any]) -> None:
        name, others = str(fields.get("node"))[:253], listed(fields.get("nodes"))
        for node in sorted(others - expected - {name}):
            emit(NodeOutcome(node=node))
        expected.update(others, {name})
        texts.add(name)
        emit(NodeOutcome(node=name, reply=fields))

    heard = Hearing(take)
    argv = (srun, *_options(way, job.nodes), *OPTIONS)
    command = shlex.split(start_line(python=way.python, as_root=way.as_root))
    data = parcel(job.ask, lifeline=False)  # srun ends what it started by itself
    until_s = job.ask.patience_s + patience(QUEUE_S)
    talked = talk((*argv, *command), data=data, heard=heard.hear, patience_s=until_s, stop=stop)
    why, last = trouble(talked, heard.words), meant(talked.complaints)
    if why == LATE and last is not None and not texts:
        why = say("timed out; srun says: {why}", why=last)
    if is_without_python(heard.words):
        for outcome in by_one_srun(
            argv, sorted(expected - texts), ask=job.ask, as_root=way.as_root, why=why, stop=stop
        ):
            texts.add(outcome.node)
            emit(outcome)
    for node in sorted(expected - texts):
        emit(NodeOutcome(node=node, trouble=complaint_about(node, talked) or why))
    if not expected:
        raise MissingError(say("srun returned no answer from any node: {why}", why=why))


def _options(way: Remote, named: tuple[str, ...]) -> tuple[str, ...]:
    """Options of srun: the user's, else those for this job or for idle nodes, which are taken whole."""
    usual = ("--overlap",) if "SLURM_JOB_ID" in os.environ else ("--exclusive", f"--immediate={int(QUEUE_S)}")
    where = ("--nodes", str(len(named)), "--nodelist", ",".join(named)) if named else ()
    return (*(_split(way) or usual), *where)


def _split(way: Remote) -> list[str]:
    try:
        return shlex.split(way.where)
    except ValueError as error:
        raise AskError(say("cannot read the options of srun: {why}", why=error)) from None


def _expected(way: Remote) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """Nodes that are going to be asked, and those left out with their state."""
    if _split(way):
        return (), []
    if "SLURM_JOB_ID" in os.environ:
        return tuple(sorted(listed(os.environ.get("SLURM_JOB_NODELIST")))), []
    fields = _states()
    left = [(node, state) for node, state in fields.items() if state != IDLE]
    return tuple(node for node, state in fields.items() if state == IDLE), left


def _states() -> dict[str, str]:
    """Node -> its state, as sinfo says it; at least one of them is idle."""
    lines: list[bytes] = []
    sinfo = shutil.which("sinfo") or "sinfo"
    talked = talk((sinfo, "-h", "-N", "-o", "%N %T"), heard=lines.append, patience_s=patience(SINFO_S))
    if talked.ended != "done" or talked.code:
        why = LATE if talked.ended == "late" else meant(talked.complaints) or BROKEN_OFF
        raise MissingError(say("sinfo failed: {why}", why=why))
    fields: dict[str, str] = {}
    for line in lines:
        name, _, state = line.decode("utf-8", "replace").strip().partition(" ")
        word = (
            None if state.endswith("*") else _STATE.match(state.strip().lower())
        )  # "idle*" does not respond
        if name:
            fields.setdefault(name, word[0] if word else "not responding")
    if IDLE not in fields.values():
        shown = ", ".join(sorted(set(fields.values()))) or "?"
        raise MissingError(
            say("no idle Slurm nodes (states: {states}); choose nodes with srun options", states=shown)
        )
    return fields
