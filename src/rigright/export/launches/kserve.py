"""KServe: an InferenceService around the same pod as that of Kubernetes."""

from __future__ import annotations

from rigright.export.commands import one_node
from rigright.export.launch import Launch
from rigright.export.launches.kubernetes import pod_spec
from rigright.export.yaml import dumps

NAME = "kserve"


def export(launch: Launch) -> dict[str, str]:
    """The service."""
    one_node(launch, NAME)
    spec = pod_spec(launch)
    container = spec["containers"][0] | {"name": "kserve-container"}
    container["ports"] = [{"containerPort": container["ports"][0]["containerPort"], "protocol": "TCP"}]
    count = len(launch.servers)
    service = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {
            "name": launch.name,
            "annotations": {"serving.kserve.io/deploymentMode": "RawDeployment"},
        },
        "spec": {
            "predictor": {
                "minReplicas": count,
                "maxReplicas": count,
                "containerConcurrency": launch.serving.max_seqs,
                **spec,
                "containers": [container],
            }
        },
    }
    return {"inferenceservice.yaml": dumps(service, *launch.head)}
