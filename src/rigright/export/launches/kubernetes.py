"""Kubernetes: a Deployment with probes and a Service; GPUs by the device plugin, room in /dev/shm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rigright.export.commands import command_of, needs_image, one_node
from rigright.export.launch import Launch
from rigright.export.text import flat
from rigright.export.yaml import dumps

NAME = "kubernetes"
_RESOURCES = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Intel": "gpu.intel.com/i915"}
_SHM_GIB = 2  # of each GPU: NCCL and the engine's workers talk over it


def export(launch: Launch) -> dict[str, str]:
    """A Deployment and its Service."""
    one_node(launch, NAME)
    own = launch.servers[0]
    labels = {"app": launch.name}
    pod = {"metadata": {"labels": labels}, "spec": pod_spec(launch)}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": launch.name, "labels": labels},
        "spec": {
            "replicas": len(launch.servers),
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": pod,
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": launch.name, "labels": labels},
        "spec": {
            "selector": labels,
            "ports": [{"name": "http", "port": own.program.port, "targetPort": own.program.port}],
        },
    }
    return {"deployment.yaml": dumps(deployment, *launch.head), "service.yaml": dumps(service)}


def pod_spec(launch: Launch) -> dict[str, Any]:
    """The pod of one server: it counts its own GPUs from 0."""
    own = replace(launch.servers[0], host="0.0.0.0", port=launch.program.port or 0)  # noqa: S104 - inside its pod
    shared = {"medium": "Memory", "sizeLimit": f"{_SHM_GIB * own.gpus}Gi"}
    # the image's own entry point is left aside; $(NAME) would be filled in, $$(NAME) is not
    words = [word.replace("$(", "$$(") for word in flat(command_of(own))]
    gpus = {_RESOURCES[own.vendor]: str(own.gpus)} if own.vendor in _RESOURCES else {}
    container: dict[str, Any] = {
        "name": "server",
        "image": needs_image(own),
        "command": words[:1],
        "args": words[1:],
        "ports": [{"name": "http", "containerPort": own.port}],
        "env": [
            {"name": name, "value": value}
            for name, value in own.environment.items()
            if not name.endswith("VISIBLE_DEVICES")
        ],
        "resources": {"limits": gpus, "requests": gpus},
        "startupProbe": {**probe(own), "periodSeconds": 10, "failureThreshold": 180},
        "readinessProbe": {**probe(own), "periodSeconds": 5},
        "livenessProbe": {**probe(own), "periodSeconds": 20, "failureThreshold": 3},
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - of the pod
            {"name": "models", "mountPath": "/root/.cache"},
        ],
    }
    return {
        "containers": [container],
        "volumes": [{"name": "shm", "emptyDir": shared}, {"name": "models", "emptyDir": {}}],
    }


def probe(launch: Launch) -> dict[str, Any]:
    """What asks the server whether it is well."""
    return {"httpGet": {"path": launch.program.health, "port": launch.port}, "timeoutSeconds": 5}
