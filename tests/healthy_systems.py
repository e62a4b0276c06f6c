"""What runs on machines in good order: system, driver, packages, a framework, a quiet log, what commands say.

Pieces for fake_trees.grow, for healthy_hosts. A scenario with another driver says so in [host.driver].
"""

from __future__ import annotations

from rigright.machine.running.services import MATTER

DRIVER = "580.95.05"
KERNEL = "6.8.0-87-generic"
QUIET = (
    "Linux version 6.8.0-87-generic (buildd@lcy02) #88-Ubuntu SMP",
    "nvidia: loading out-of-tree module taints kernel.",
    "nvidia-nvlink: Nvlink Core is being initialized, major device number 234",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build",
    "EXT4-fs (nvme0n1p2): mounted filesystem 1d2c with ordered data mode. Quota mode: none.",
    "nvme nvme0: 64/0/0 default/read/poll queues",
)


def running(*, cards, board, served=False, switched=False, infiniband=False):
    """All the pieces, for a machine with so many cards."""
    modules = {"nvidia": "nvidia_uvm,nvidia_modeset,", "nvidia_uvm": "", "nvidia_modeset": ""}
    services = {"chrony": "active", "nvidia-persistenced": "active"}
    commands = {
        "timedatectl show -p NTPSynchronized --value": "yes\n",
        "modinfo -F version nvidia": f"{DRIVER}\n",
        "modinfo -F license nvidia": "Dual MIT/GPL\n",
    }
    if infiniband:
        modules |= {"nvidia_peermem": "", "mlx5_ib": "", "ib_core": "nvidia_peermem,mlx5_ib,"}
    if switched:
        services["nvidia-fabricmanager"] = "active"
        commands["nv-fabricmanager --version"] = f"Fabric Manager version is : {DRIVER}\n"
    return {
        "system": {
            "os": ("ubuntu", "24.04"),
            "kernel": KERNEL,
            "dmi": board,
            "modules": modules,
            "sysctls": {"vm.swappiness": 10, "vm.overcommit_memory": 0, "kernel.numa_balancing": 0},
            "limits": {"nofile": 1048576, "memlock": "unlimited" if served else 16 * 2**30},
            "secure_boot": 0,
        },
        "driver": {
            "loaded": DRIVER,
            "open": True,
            "files": [*(f"nvidia{number}" for number in range(cards)), "nvidiactl", "nvidia-uvm"],
        },
        "packages": {
            f"nvidia-driver-580{'-server' if served else ''}-open": f"{DRIVER}-0ubuntu0.24.04.1",
            f"libnvidia-compute-580{'-server' if served else ''}": f"{DRIVER}-0ubuntu0.24.04.1",
        },
        "pythons": {
            "/opt/venv": {
                "version": "3.12",
                "packages": {"numpy": "2.3.4"},
                "torch": {"version": "2.9.1+cu130", "cuda": "13.0"},
            }
        },
        "log": list(QUIET),
        "commands": commands | {asked(): told(services)},
    }


def asked():
    """The line that asks for the services that matter."""
    return " ".join(("systemctl", "show", "-p", "Id", "-p", "LoadState", "-p", "ActiveState", *MATTER))


def told(services):
    """What systemd says of them; the others are not there."""
    blocks = [
        f"Id={name}.service\nLoadState={'loaded' if name in services else 'not-found'}\n"
        f"ActiveState={services.get(name, 'inactive')}"
        for name in MATTER
    ]
    return "\n\n".join(blocks) + "\n"
