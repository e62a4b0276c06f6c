"""Nodes that ask themselves: files for Slurm or Kubernetes; a node leaves its queue on a sure fault."""

from __future__ import annotations

import base64
import os
import re
import shlex
import shutil
import sys
from string import Template
from typing import Literal

from rigright.base.errors import AskError, MissingError
from rigright.base.patience import patience
from rigright.base.tables import DATA
from rigright.base.words import say
from rigright.doctor.binding.judgement import conclude
from rigright.doctor.examine import Examined, case_of, chosen, examine
from rigright.doctor.record import Finding
from rigright.machine.probe import probe
from rigright.machine.remote.agent import node_name
from rigright.machine.remote.parcel import RemoteRequest, parcel, script, start_line
from rigright.machine.remote.talk import Talked, talk
from rigright.machine.world import World, here
from rigright.verbs.fleet.hosts import MOST_NODES
from rigright.verbs.fleet.jobs import PATIENCE_S
from rigright.verbs.fleet.nodes import NodeHealth
from rigright.verbs.fleet.troubles import trouble

_FOLDER = DATA / "fleet"
_SCRIPT = "/etc/slurm/rigright-health.sh"
IMAGE = "python:3.13-slim"
_STAYS_S = 120  # a pod of the Job stays after its answer, so that no other takes its node
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")
_DAEMON = """\
  selector: {matchLabels: {app.kubernetes.io/name: rigright-probe}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 100%}}"""
_JOB = """\
  completions: $nodes
  parallelism: $nodes
  backoffLimit: $nodes
  activeDeadlineSeconds: 1800
  ttlSecondsAfterFinished: 3600"""
_APART = """\
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - labelSelector: {matchLabels: {app.kubernetes.io/name: rigright-probe}}
            topologyKey: kubernetes.io/hostname"""


def files(
    kind: Literal["slurm", "kubernetes", "shell"],
    *,
    image: str | None = None,
    nodes: int | None = None,
    metrics: bool = False,
) -> dict[str, str]:
    """File name -> text.

    For Kubernetes a DaemonSet that probes; with `nodes` a Job that asks so many once; with `metrics` a
    DaemonSet that serves them, for which an image has to hold rigright. For a shell the script that reads a
    machine without Python.
    """
    if kind == "shell":
        return {"collect.sh": script()}
    if kind == "slurm":
        command = shlex.join([sys.executable, "-P", "-m", "rigright"])
        conf = os.environ.get("SLURM_CONF")  # Slurm passes it on to no health program
        settings = "" if conf is None else f"export SLURM_CONF={shlex.quote(conf)}"
        return {
            _SCRIPT.rpartition("/")[2]: _filled("health.sh", command=command, settings=settings),
            "slurm.conf": _filled("slurm.conf", script=_SCRIPT),
        }
    if image is not None and not _IMAGE.fullmatch(image):
        raise AskError(say('"{image}" is not an image name', image=image[:60]))
    if not metrics:
        return {"rigright-probe.yaml": _manifest(image or IMAGE, nodes)}
    if image is None:
        raise AskError(say("metrics need an image with rigright; add --image"))
    return {"rigright-watch.yaml": _filled("watch.yaml", image=image)}


def _manifest(image: str, nodes: int | None) -> str:
    if nodes is not None and not 1 <= nodes <= MOST_NODES:
        raise AskError(say("use 1 to {most} nodes, got {count}", most=MOST_NODES, count=nodes))
    data = parcel(RemoteRequest(patience_s=PATIENCE_S), lifeline=False)
    asked = f"{start_line()} < /parcel/parcel"
    return _filled(
        "probe.yaml",
        parcel=base64.b64encode(data).decode(),
        api="apps/v1" if nodes is None else "batch/v1",
        kind="DaemonSet" if nodes is None else "Job",
        spec=_DAEMON if nodes is None else Template(_JOB).substitute(nodes=nodes),
        restart="restartPolicy: Always" if nodes is None else "restartPolicy: Never",
        affinity="" if nodes is None else _APART,
        image=image,
        line=f"while true; do {asked}; sleep 3600; done" if nodes is None else f"{asked}; sleep {_STAYS_S}",
    )


def _filled(name: str, **values: object) -> str:
    text = Template((_FOLDER / name).read_text(encoding="utf-8")).substitute(values)
    return "".join(line for line in text.splitlines(keepends=True) if line.strip())


_SCONTROL_S = 15.0  # for scontrol: Slurm ends a health check that takes a minute
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
    talked = talk((scontrol, "show", "node", node), patience_s=patience(_SCONTROL_S))
    match = _STATE.search(talked.output.decode("utf-8", "replace"))
    if talked.ended != "done" or talked.code or match is None:
        raise _refused(node, talked)
    if "DRAIN" in match[1].upper():
        return "drained before"
    line = (scontrol, "update", f"NodeName={node}", "State=DRAIN", f"Reason={reason}")
    talked = talk(line, patience_s=patience(_SCONTROL_S))
    if talked.ended != "done" or talked.code:
        raise _refused(node, talked)
    return "drained"


def _refused(node: str, talked: Talked) -> MissingError:
    return MissingError(say("Slurm refused to drain {node}: {why}", node=node, why=trouble(talked)))
