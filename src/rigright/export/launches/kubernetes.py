"""Kubernetes: a Deployment with probes and a Service; over several nodes a LeaderWorkerSet."""

from __future__ import annotations

from typing import Any

from rigright.base.errors import AskError
from rigright.base.units import GIGA
from rigright.base.words import say
from rigright.export.clients import SCRIPTS
from rigright.export.commands import (
    CONFIG,
    MODELS,
    files_beside,
    image_of,
    in_container,
    made_first,
    serves,
    words_in_container,
    workers_of,
)
from rigright.export.launch import Launch
from rigright.export.text import HEAD, RANK, Variable, Words, dumps

NAME = "kubernetes"
FILES = "files.yaml"
_RESOURCES = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Intel": "gpu.intel.com/i915"}
_SHM_GIB = 2  # of each GPU: NCCL and the engine's workers talk over it
_WAIT_S = 10  # between two looks at a server that starts
_GROUP = {HEAD: "LWS_LEADER_ADDRESS", RANK: "LWS_WORKER_INDEX"}  # what a LeaderWorkerSet tells its pods


def export(launch: Launch) -> dict[str, str]:
    """The pods and their Service, what they read, and the load."""
    serves(launch, NAME)
    own = launch.servers[0]
    several = own.nodes > 1
    if several and own.program.per_gpu:
        raise AskError(
            say("{engine} is started once a GPU over several nodes", engine=own.program.label),
            hint=say("export {fitting}", fitting="slurm"),
        )
    labels = {"app": launch.name}
    # the first pod of a group answers for all of it
    selector = labels | ({"leaderworkerset.sigs.k8s.io/worker-index": "0"} if several else {})
    port = own.program.port
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": launch.name, "labels": labels},
        "spec": {"selector": selector, "ports": [{"name": "http", "port": port, "targetPort": port}]},
    }
    kind = "leaderworkerset" if several else "deployment"
    pods = _group(launch, labels) if several else _deployment(launch, labels)
    texts = (
        *launch.head,
        *notes(launch),
        *applied(launch, f"{kind}.yaml", "service.yaml"),
        f"kubectl port-forward service/{launch.name} {port}",
    )
    return {
        f"{kind}.yaml": dumps(
            pods, *texts, *made_first(in_container(own), f"kubectl exec {kind}/{launch.name} -- ")
        ),
        "service.yaml": dumps(service),
        **files(launch),
    }


def notes(launch: Launch) -> tuple[str, ...]:
    """Comments: what the cluster must have."""
    texts = []
    if launch.weights_folder is None:
        size = round(launch.serving.weights_bytes / GIGA)
        texts += [
            (
                f"each pod downloads {size} GB of weights as it starts; "
                'mount a PersistentVolumeClaim at volume "models" to keep them'
            ),
            "for a model behind a licence: kubectl create secret generic hf-token --from-literal=token=...",
        ]
    elif not launch.weights_folder.startswith("/"):
        texts.append(f"the claim models holds {launch.model}")
    return tuple(texts)


def applied(launch: Launch, *names: str) -> tuple[str, ...]:
    """A comment: the command that hands the files over."""
    return ("kubectl apply -f " + " -f ".join((*names, *(name for name in files(launch) if name == FILES))),)


def files(launch: Launch) -> dict[str, str]:
    """The load; and what the command reads, as a ConfigMap."""
    beside = files_beside(in_container(launch.servers[0]))
    fields = {name: beside.pop(name) for name in SCRIPTS if name in beside}
    if beside:
        config = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{launch.name}-files"},
            "data": beside,
        }
        fields[FILES] = dumps(config)
    return fields


def _deployment(launch: Launch, labels: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": launch.name, "labels": labels},
        "spec": {
            "replicas": len(launch.servers),
            "strategy": {"type": "Recreate"},  # the GPUs are not there twice
            "progressDeadlineSeconds": launch.startup_s + 600,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(launch)},
        },
    }


def _group(launch: Launch, labels: dict[str, str]) -> dict[str, Any]:
    """A LeaderWorkerSet: one pod a node; if one falls, all of them start anew."""
    worker = pod_spec(launch, workers_of(launch))
    container = worker["containers"][0]
    for name in ("ports", "startupProbe", "readinessProbe", "livenessProbe"):
        del container[name]  # the first node alone answers
    pods = {
        name: {"metadata": {"labels": labels}, "spec": spec}
        for name, spec in (("leaderTemplate", pod_spec(launch)), ("workerTemplate", worker))
    }
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": launch.name, "labels": labels},
        "spec": {
            "replicas": len(launch.servers),
            "startupPolicy": "LeaderCreated",
            "leaderWorkerTemplate": {
                "size": launch.servers[0].nodes,
                "restartPolicy": "RecreateGroupOnPodRestart",
                **pods,
            },
        },
    }


def pod_spec(launch: Launch, extra: Words = ()) -> dict[str, Any]:
    """The pod of one server, or of one node of it: it counts its own GPUs from 0."""
    own = in_container(launch.servers[0])
    words = [_filled(word) for word in words_in_container(own, extra)]
    gpus = {_RESOURCES[own.vendor]: str(own.gpus)} if own.vendor in _RESOURCES else {}
    env: list[dict[str, Any]] = [
        {"name": name, "value": value.replace("$(", "$$(")} for name, value in own.placed_environment.items()
    ]
    if launch.weights_folder is None:
        secret = {"secretKeyRef": {"name": "hf-token", "key": "token", "optional": True}}
        env.append({"name": "HF_TOKEN", "valueFrom": secret})
    volumes = {
        "shm": ("/dev/shm", {"emptyDir": {"medium": "Memory", "sizeLimit": f"{_SHM_GIB * own.gpus}Gi"}}),  # noqa: S108 - of the pod
        "models": _models(launch),
    }
    if FILES in files(launch):
        volumes["files"] = (CONFIG.rstrip("/"), {"configMap": {"name": f"{launch.name}-files"}})
    container: dict[str, Any] = {
        "name": "server",
        "image": image_of(own),
        "command": words[:1],
        "args": words[1:],
        "ports": [{"name": "http", "containerPort": own.port}],
        "env": env,
        "resources": {"limits": gpus, "requests": gpus},
        # until it answers once, the other probes wait: it downloads and loads
        "startupProbe": {
            **_probe(own),
            "periodSeconds": _WAIT_S,
            "failureThreshold": -(-own.startup_s // _WAIT_S),
        },
        "readinessProbe": {**_probe(own), "periodSeconds": 5},
        "livenessProbe": {**_probe(own), "periodSeconds": 20, "failureThreshold": 3},
        "securityContext": {"allowPrivilegeEscalation": False, "seccompProfile": {"type": "RuntimeDefault"}},
        "volumeMounts": [
            {
                "name": name,
                "mountPath": path,
                **({"readOnly": True} if path in {MODELS, CONFIG.rstrip("/")} else {}),
            }
            for name, (path, _) in volumes.items()
        ],
    }
    return {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 120,
        "containers": [container],
        "volumes": [{"name": name, **source} for name, (_, source) in volumes.items()],
    }


def _models(launch: Launch) -> tuple[str, dict[str, Any]]:
    """Where weights lie in the container, and what is mounted there."""
    folder = launch.weights_folder
    if folder is None:
        return launch.program.cache, {"emptyDir": {}}
    if folder.startswith("/"):
        return MODELS, {"hostPath": {"path": folder, "type": "Directory"}}
    return MODELS, {"persistentVolumeClaim": {"claimName": "models"}}


def _filled(word: str) -> str:
    """A word as Kubernetes reads it: $(NAME) is filled in, $$(NAME) is not."""
    if isinstance(word, Variable):
        return f"$({_GROUP[word]}){word.after}"
    return word.replace("$(", "$$(")


def _probe(launch: Launch) -> dict[str, Any]:
    """What asks the server whether it is well."""
    return {"httpGet": {"path": launch.program.health, "port": launch.port}, "timeoutSeconds": 5}
