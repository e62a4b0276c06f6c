"""Ray Serve: an application of its LLM library, over as many nodes as the plan has."""

from __future__ import annotations

from dataclasses import replace

from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.export.clients import vllm_bench
from rigright.export.commands import serves
from rigright.export.launch import Launch
from rigright.export.launches import vllm
from rigright.export.text import Variable, dumps

NAME = "ray"


def export(launch: Launch) -> dict[str, str]:
    """What `serve run` reads."""
    serves(launch, NAME)
    if launch.program.id != vllm.NAME:
        raise AskError(
            say("Ray Serve runs vLLM, but the plan uses {engine}", engine=launch.program.label),
            hint=say("plan with --mode serve --engine vllm"),
        )
    if launch.attention_dp:
        raise AskError(
            say("Ray Serve cannot start attention data parallelism from one config"),
            hint=say("export {fitting}", fitting="vllm, slurm"),
        )
    # the same flags as the command has, by their names in Python; Ray places the ranks itself
    own = {"--host", "--port"}
    fields = {
        group[0].removeprefix("--").replace("-", "_"): True if len(group) == 1 else _value(group[1])
        for group in vllm.command(launch)[1:]
        if group[0] not in own
        and not any(isinstance(word, Variable) for word in group)
        and group[0] != "--nnodes"
    }
    model = {
        "model_loading_config": {"model_id": launch.name, "model_source": launch.model},
        "engine_kwargs": {name: value for name, value in fields.items() if name != "data_parallel_size"},
        "runtime_env": {"env_vars": launch.placed_environment},
        "deployment_config": {
            "num_replicas": launch.dp,
            "max_ongoing_requests": 2 * launch.serving.max_seqs,
        },
    }
    application = {
        "name": launch.name,
        "route_prefix": "/",
        "import_path": "ray.serve.llm:build_openai_app",
        "args": {"llm_configs": [model]},
    }
    head = (
        *launch.head,
        "Ray 2.60, whose own vLLM is 0.29: serve run serve.yaml",
        launch.answers.replace(launch.program.health, "/-/healthz"),
    )
    return {
        "serve.yaml": dumps({"applications": [application]}, *head),
        "bench.sh": vllm_bench(replace(launch, tokenizer=launch.model), backend="openai"),
    }


def _value(text: str) -> object:
    """A number as a number, and what a flag takes as JSON as the tables that it is."""
    if text.startswith("{"):
        return bounded_json(text.encode())
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
