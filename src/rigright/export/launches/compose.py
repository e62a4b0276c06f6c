"""Docker Compose: a container a server, with GPUs by the container toolkit, and a health check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rigright.export.clients import SCRIPTS, balancer
from rigright.export.commands import (
    CONFIG,
    MODELS,
    files_beside,
    image_of,
    in_container,
    made_first,
    one_node,
    serves,
    words_in_container,
)
from rigright.export.launch import Launch
from rigright.export.text import dumps

NAME = "compose"
_PROXY = "nginx:1.28"
_SHM_GIB = 2  # of each GPU: NCCL and the engine's workers talk over it


def export(launch: Launch) -> dict[str, str]:
    """The services, what they read, and the load."""
    serves(launch, NAME)
    one_node(launch, NAME)
    servers = launch.servers
    several = len(servers) > 1
    names = [f"{launch.name}-{place}" if several else launch.name for place in range(len(servers))]
    beside = files_beside(in_container(servers[0]))
    bench = {name: beside.pop(name) for name in SCRIPTS if name in beside}
    services = {name: _service(item, beside) for name, item in zip(names, servers, strict=True)}
    if several:
        port = launch.program.port
        inside = replace(launch, host="0.0.0.0", port=port or 0)  # noqa: S104 - inside its container
        beside["nginx.conf"] = balancer(inside, [f"{name}:{port}" for name in names])
        services["balancer"] = {
            "image": _PROXY,
            "ports": [f"127.0.0.1:{launch.port}:{port}"],
            "volumes": [_bound("./nginx.conf", "/etc/nginx/nginx.conf")],
            "restart": "unless-stopped",
            "depends_on": {name: {"condition": "service_healthy"} for name in names},
        }
    data = {"name": launch.name, "services": services, "volumes": {"models": {}}}
    texts = list(launch.head)
    if launch.weights_folder is None:
        texts.append("for a model behind a licence: HF_TOKEN=... in the environment, or in a file .env here")
    texts += [
        "docker compose up --detach --wait",
        *made_first(in_container(servers[0]), f"docker compose exec {names[0]} "),
    ]
    return {"compose.yaml": dumps(data, *texts), **beside, **bench}


def _bound(source: str, target: str) -> dict[str, Any]:
    """Something of this machine at a place in the container; $ is doubled, since Compose fills in $NAME."""
    return {"type": "bind", "source": source.replace("$", "$$"), "target": target, "read_only": True}


def _service(launch: Launch, beside: Mapping[str, str]) -> dict[str, Any]:
    """One server."""
    inside = in_container(launch)
    words = [word.replace("$", "$$") for word in words_in_container(inside)]
    folder = launch.weights_folder
    cached = {"type": "volume", "source": "models", "target": launch.program.cache}
    environment = {name: value.replace("$", "$$") for name, value in inside.placed_environment.items()}
    if folder is None:
        environment["HF_TOKEN"] = "${HF_TOKEN:-}"  # noqa: S105 - of whoever starts it
    if launch.vendor == "AMD":  # all of its cards are in the container
        environment["HIP_VISIBLE_DEVICES"] = launch.visible
    gpus = [str(launch.first_gpu + place) for place in range(launch.gpus)]
    device = {"driver": "nvidia", "device_ids": gpus, "capabilities": ["gpu"]}
    amd = {
        "devices": ["/dev/kfd", "/dev/dri"],
        "group_add": ["video"],
        "security_opt": ["seccomp=unconfined"],  # ROCm maps memory between its processes
        "cap_add": ["SYS_PTRACE"],
    }
    toolkit = {"deploy": {"resources": {"reservations": {"devices": [device]}}}}
    return {
        "image": image_of(launch),
        "entrypoint": words[:1],
        "command": words[1:],
        "ports": [f"127.0.0.1:{launch.port}:{inside.port}"],
        "environment": environment,
        "volumes": [
            cached,
            *([] if folder is None else [_bound(folder if folder != "." else "./", MODELS)]),
            *(_bound(f"./{name}", CONFIG + name) for name in beside),
        ],
        "shm_size": f"{_SHM_GIB * launch.gpus}gb",
        "restart": "unless-stopped",
        "healthcheck": {
            "test": ["CMD-SHELL", launch.program.check],
            "interval": "15s",
            "timeout": "10s",
            "retries": 3,
            "start_period": f"{launch.startup_s}s",
        },
        **(toolkit if launch.vendor == "NVIDIA" else {}),
        **(amd if launch.vendor == "AMD" else {}),
    }
