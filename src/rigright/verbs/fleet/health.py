"""One node looks after itself: every check, and on a sure fault it leaves Slurm with the reason.

For Slurm's HealthCheckProgram. It drains and never resumes: a person does that, after mending.
A node that is drained already keeps the reason that somebody gave it.
"""

from __future__ import annotations

import os
import re
import shutil

from rigright.base.errors import AskError, MissingError
from rigright.base.patience import patience
from rigright.base.words import say
from rigright.doctor.binding.judgement import conclude
from rigright.doctor.examine import Examined, case_of, chosen, examine
from rigright.doctor.record import Finding
from rigright.machine.probe import probe
from rigright.machine.remote.agent import node_name
from rigright.machine.remote.talk import Talked, talk
from rigright.machine.world import World, here
from rigright.verbs.fleet.nodes import NodeHealth
from rigright.verbs.fleet.troubles import trouble

PATIENCE_S = 15.0  # for scontrol: Slurm ends a health check that takes a minute
MOST_REASON = 240  # characters; Slurm cuts nothing, but tables do
_MOST_FAULTS = 3  # named in the reason
PATHS = ("/usr/bin", "/usr/local/bin", "/opt/slurm/bin", "/usr/sbin")  # Slurm gives its program a bare PATH
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_STATE = re.compile(r"\bState=(\S+)")
_UNFIT = re.compile(r"[^ -~]|[\"'\\`$]")


def health(*, only: tuple[str, ...] = (), drain: bool = False, node: str | None = None) -> NodeHealth:
    """Examine this node; with `drain`, a sure fault takes it out of Slurm."""
    chosen(only)
    world = here()
    name = node or node_name(world)
    if not _NODE.fullmatch(name):
        raise AskError(say('"{node}" is not a node name', node=name[:60]))
    examined = examine(case_of(probe(world)), only)
    faults = sure_faults(examined)
    if not faults:
        return NodeHealth(node=name, examined=examined)
    reason = reason_of(faults)
    done = "nothing"
    if drain:
        done = _drained(name, reason, world=world)
    return NodeHealth(node=name, examined=examined, done=done, reason=reason)


def sure_faults(examined: Examined) -> tuple[Finding, ...]:
    """What takes a node out of work: faults that are sure, and follow from no other; causes first."""
    return tuple(
        cause.finding
        for cause in conclude(examined).causes
        if cause.finding.severity == "fault" and cause.finding.confidence == "sure"
    )


def reason_of(faults: tuple[Finding, ...]) -> str:
    """The reason as `sinfo -R` shows it: one line of plain letters."""
    fields = dict.fromkeys(
        f"{finding.about}: {finding.title}" if finding.about else str(finding.title) for finding in faults
    )
    shown = list(fields)[:_MOST_FAULTS]
    more = f" (and {len(fields) - len(shown)} more)" if len(fields) > len(shown) else ""
    text = _UNFIT.sub(" ", f"rigright: {'; '.join(shown)}")
    return text[: MOST_REASON - len(more)] + more


def _drained(node: str, reason: str, *, world: World) -> str:
    path = os.pathsep.join((world.env.get("PATH") or "", *PATHS))
    scontrol = shutil.which("scontrol", path=path)
    if scontrol is None:
        raise MissingError(say("scontrol not found: {node} was not drained", node=node))
    talked = talk((scontrol, "show", "node", node), patience_s=patience(PATIENCE_S))
    match = _STATE.search(talked.output.decode("utf-8", "replace"))
    if talked.ended != "done" or talked.code or match is None:
        raise _refused(node, talked)
    if "DRAIN" in match[1].upper():
        return "drained before"
    line = (scontrol, "update", f"NodeName={node}", "State=DRAIN", f"Reason={reason}")
    talked = talk(line, patience_s=patience(PATIENCE_S))
    if talked.ended != "done" or talked.code:
        raise _refused(node, talked)
    return "drained"


def _refused(node: str, talked: Talked) -> MissingError:
    return MissingError(say("Slurm refused to drain {node}: {why}", node=node, why=trouble(talked)))
