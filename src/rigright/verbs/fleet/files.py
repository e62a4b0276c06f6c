"""Files with which Slurm or Kubernetes ask the nodes by themselves; nothing is installed by printing them."""

from __future__ import annotations

import base64
import os
import re
import shlex
import sys
from string import Template
from typing import Literal

from rigright.base.errors import AskError
from rigright.base.tables import DATA
from rigright.base.words import say
from rigright.machine.remote.parcel import RemoteRequest, parcel, script, start_line
from rigright.verbs.fleet.hosts import MOST_NODES
from rigright.verbs.fleet.jobs import PATIENCE_S

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
