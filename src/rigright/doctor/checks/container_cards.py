"""Whether containers can be handed a card.

Docker needs NVIDIA's container toolkit and a runtime called nvidia (or, since Docker 25, CDI files that
name the cards); podman needs CDI. With the toolkit installed and the runtime not configured, `--gpus all`
fails with "could not select device driver". CDI files made by an older driver name libraries that are
gone.

Docker or podman and cards here: no toolkit: note; toolkit but neither runtime nor CDI: warning. Source:
NVIDIA container toolkit guide.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Step, Verdict, as_root, seen, step
from rigright.doctor.stack import installed, is_contained

TITLE = say("containers can be handed a card")
_SHOW = "docker info --format '{{json .Runtimes}}'; nvidia-ctk cdi list"
_TRY = "docker run --rm --gpus all ubuntu nvidia-smi"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine's container engine."""
    software = case.machine.software
    cards = any(one.vendor == "nvidia" for one in case.machine.devices)
    engine = software.docker or installed(case, r"podman|containerd(?:\.io)?")
    if not cards or not engine or is_contained(case):
        return
    runtimes, cdi = software.docker_runtimes, software.cdi
    if "nvidia" in (runtimes or ()):
        yield Fine(says=say("runtime nvidia is configured"))
    elif cdi and any(name.startswith("nvidia.com/gpu=") for name in cdi):
        yield Fine(says=say("{count} devices by CDI", count=len(cdi)))
    elif software.container_toolkit is None:
        yield _finding(
            "note",
            say("NVIDIA's container toolkit is not installed"),
            steps=(step(say("the lines that install it on this system"), "rigright setup --script"),),
        )
    elif runtimes is None:
        yield NotSeen(why=say("the container engine does not answer to this user"), see="sudo docker info")
    else:
        yield _finding(
            "warning",
            say("the container toolkit is installed, but no engine is told of it"),
            steps=(
                as_root(say("tell Docker of it"), "nvidia-ctk runtime configure --runtime=docker"),
                as_root(
                    say("start Docker anew; running containers stop"),
                    "systemctl restart docker",
                    disturbs=True,
                ),
                as_root(
                    say("for podman: name the cards by CDI"),
                    "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
                ),
            ),
        )


def _finding(severity: Severity, title: Sentence, *, steps: tuple[Step, ...]) -> Finding:
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(say("no runtime nvidia, no CDI device"), _SHOW),
        why=say("containers start without any card, or do not start"),
        fix=steps,
        verify=_TRY,
    )
