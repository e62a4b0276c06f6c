"""KServe: an InferenceService around the same pod as that of Kubernetes."""

from __future__ import annotations

from rigright.export.commands import in_container, made_first, one_node, serves
from rigright.export.launch import Launch
from rigright.export.launches.kubernetes import applied, files, notes, pod_spec
from rigright.export.text import dumps

NAME = "kserve"
FILE = "inferenceservice.yaml"


def export(launch: Launch) -> dict[str, str]:
    """The service, what it reads, and the load."""
    # its own way over several nodes takes a runtime that it knows, and no command of a plan
    serves(launch, NAME)
    one_node(launch, NAME, instead="kubernetes, slurm")
    spec = pod_spec(launch)
    container = spec["containers"][0] | {"name": "kserve-container"}
    port = container["ports"][0]["containerPort"]
    container["ports"] = [{"containerPort": port, "protocol": "TCP"}]
    count = len(launch.servers)
    service = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {
            "name": launch.name,
            "annotations": {"serving.kserve.io/deploymentMode": "Standard"},
        },
        "spec": {
            "predictor": {
                "minReplicas": count,
                "maxReplicas": count,
                "deploymentStrategy": {"type": "Recreate"},  # the GPUs are not there twice
                **spec,
                "containers": [container],
            }
        },
    }
    reached = f"kubectl port-forward service/{launch.name}-predictor {port}:80"
    texts = (*launch.head, *notes(launch), *applied(launch, FILE), reached)
    made = made_first(in_container(launch.servers[0]), f"kubectl exec deployment/{launch.name}-predictor -- ")
    return {FILE: dumps(service, *texts, *made), **files(launch)}
