"""Docker Compose: a container a server, with GPUs by the container toolkit, and a health check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rigright.export.commands import command_of, needs_image, one_node
from rigright.export.launch import Launch
from rigright.export.text import flat
from rigright.export.yaml import dumps

NAME = "compose"


def export(launch: Launch) -> dict[str, str]:
    """The services."""
    one_node(launch, NAME)
    servers = launch.servers
    names = [launch.name if len(servers) == 1 else f"{launch.name}-{place}" for place in range(len(servers))]
    services = {name: _service(one) for name, one in zip(names, servers, strict=True)}
    data = {"name": launch.name, "services": services, "volumes": {"models": {}}}
    return {"compose.yaml": dumps(data, *launch.head)}


def _service(launch: Launch) -> dict[str, Any]:
    """One server; Compose fills in $NAME, and takes $$ for a dollar."""
    inside = replace(launch, host="0.0.0.0", port=launch.program.port or 0)  # noqa: S104 - inside its container
    words = [word.replace("$", "$$") for word in flat(command_of(inside))]
    gpus = [str(launch.first_gpu + place) for place in range(launch.gpus)]
    device = {"driver": "nvidia", "device_ids": gpus, "capabilities": ["gpu"]}
    amd = {"devices": ["/dev/kfd", "/dev/dri"], "group_add": ["video", "render"]}
    toolkit = {"deploy": {"resources": {"reservations": {"devices": [device]}}}}
    return {
        "image": needs_image(launch),
        "entrypoint": words[:1],
        "command": words[1:],
        "ports": [f"127.0.0.1:{launch.port}:{inside.port}"],
        "environment": {
            name: value for name, value in launch.environment.items() if not name.endswith("VISIBLE_DEVICES")
        },
        "volumes": ["models:/root/.cache"],
        "shm_size": "8gb",
        "ipc": "host",
        "restart": "unless-stopped",
        "healthcheck": {
            "test": ["CMD-SHELL", launch.program.check],
            "interval": "15s",
            "timeout": "10s",
            "retries": 3,
            "start_period": "30m",
        },
        **(toolkit if launch.vendor == "NVIDIA" else amd if launch.vendor == "AMD" else {}),
    }
