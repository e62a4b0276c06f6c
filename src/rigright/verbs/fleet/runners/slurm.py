"""Over Slurm: one task on every node of an allocation, by srun, which speaks to all of them at once."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence

from rigright.base.errors import AskError, MissingError
from rigright.base.patience import patience
from rigright.base.words import Sentence, say
from rigright.machine.remote.talk import Talked, talk
from rigright.verbs.fleet.hosts import listed
from rigright.verbs.fleet.jobs import Ear, FleetWish, Runner, program
from rigright.verbs.fleet.nodes import NodeReport
from rigright.verbs.fleet.troubles import LATE, complaint_about, meant, trouble

_IDLE = "idle"
_SINFO_S = 30.0
_QUEUE_S = 30  # to be given the nodes
_OPTIONS = (
    "--ntasks-per-node=1",
    "--label",  # lines come whole, and say which task they are of
    *("--kill-on-bad-exit=0", "--wait=0", "--export=ALL", "--cpu-bind=none", "--job-name=rigright"),
)
_STATE = re.compile(r"[a-z]+")


class _Slurm(Runner):
    """One srun for all nodes of a job."""

    name, flag = "Slurm", "slurm"
    is_shared = True  # and ends by itself what it started
    reach_s = float(_QUEUE_S)

    def __init__(self, wish: FleetWish) -> None:
        super().__init__(wish)
        try:
            self._options = shlex.split(wish.where)
        except ValueError as error:
            raise AskError(say("cannot read the options of srun: {why}", why=error)) from None
        self._srun = program("srun", missing=say("srun not found: run this on a login node"))
        self._is_job = "SLURM_JOB_ID" in os.environ

    def expected(self) -> Iterator[NodeReport]:
        """Of this job, else of all nodes the idle ones; of options only srun knows."""
        if self._options:
            return
        if self._is_job:
            for node in sorted(listed(os.environ.get("SLURM_JOB_NODELIST"))):
                yield NodeReport(node=node)
            return
        states = sorted(_states().items(), key=lambda pair: pair[1] == _IDLE)
        for node, state in states:
            why = None if state == _IDLE else say("skipped: Slurm state {state}", state=state)
            yield NodeReport(node=node, trouble=why)

    def argv(self, nodes: Sequence[str], line: str) -> tuple[str, ...]:
        """With the user's options, else those for this job or for idle nodes, which are taken whole."""
        usual = ("--overlap",) if self._is_job else ("--exclusive", f"--immediate={_QUEUE_S}")
        where = ("--nodes", str(len(nodes)), "--nodelist", ",".join(nodes)) if nodes else ()
        return (self._srun, *(self._options or usual), *where, *_OPTIONS, *shlex.split(line))

    def silence(self, talked: Talked, ear: Ear, *, node: str) -> Sentence:
        """What srun says of this node, else of all of them."""
        why, last = trouble(talked, ear.words), meant(talked.complaints)
        if why == LATE and last is not None and not ear.answered:
            why = say("timed out; srun says: {why}", why=last)
        if not node:
            return say("srun returned no answer from any node: {why}", why=why)
        return complaint_about(node, talked) or why


def _states() -> dict[str, str]:
    """Node -> its state, as sinfo says it; at least one of them is idle."""
    sinfo = shutil.which("sinfo") or "sinfo"
    talked = talk((sinfo, "-h", "-N", "-o", "%N %T"), patience_s=patience(_SINFO_S))
    if talked.ended != "done" or talked.code:
        raise MissingError(say("sinfo failed: {why}", why=trouble(talked)))
    states: dict[str, str] = {}
    for line in talked.output.decode("utf-8", "replace").splitlines():
        name, _, state = line.strip().partition(" ")
        word = _STATE.match(state.strip().lower())
        if name:  # "idle*" does not respond
            states.setdefault(name, word[0] if word and not state.endswith("*") else "not responding")
    if _IDLE not in states.values():
        shown = ", ".join(sorted(set(states.values()))) or "?"
        raise MissingError(
            say("no idle Slurm nodes (states: {states}); choose nodes with srun options", states=shown)
        )
    return states


RUNNER = _Slurm
