"""Services that matter here, and their state."""

from __future__ import annotations

from rigright.machine.running.asking import run_command
from rigright.machine.world import World

MATTER = (
    "nvidia-persistenced",
    "nvidia-fabricmanager",
    "nvidia-imex",
    "nvidia-dcgm",
    "nvidia-powerd",
    "nvidia-cdi-refresh",
    "docker",
    "containerd",
    "kubelet",
    "slurmd",
    "chrony",
    "chronyd",
    "systemd-timesyncd",
    "ntp",
    "ntpsec",
    "unattended-upgrades",
    "irqbalance",
    "tuned",
    "thermald",
    "ollama",
    "display-manager",
)


def services(world: World) -> tuple[tuple[str, str], ...] | None:
    """Each service that is installed and its state: ("docker", "active"); None where nobody keeps any."""
    asked = run_command(
        world, "systemctl", "show", "-p", "Id", "-p", "LoadState", "-p", "ActiveState", *MATTER
    )
    if asked is None or asked.code != 0:
        return None
    pairs = []
    for block in asked.out.strip().split("\n\n"):
        fields = dict(line.partition("=")[::2] for line in block.splitlines())
        name = fields.get("Id", "").removesuffix(".service")
        if name and fields.get("LoadState") not in {None, "not-found"}:
            pairs.append((name, fields.get("ActiveState", "")))
    return tuple(dict(pairs).items())
