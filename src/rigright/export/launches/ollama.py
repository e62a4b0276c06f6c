"""Ollama: a Modelfile, and the server, which is told the rest in its environment."""

from __future__ import annotations

from rigright.export.clients import loads, replicas
from rigright.export.commands import made_first
from rigright.export.launch import Launch
from rigright.export.text import Words, comments, script

NAME = "ollama"


def export(launch: Launch) -> dict[str, str]:
    """The model, the servers and their load."""
    files = replicas(
        launch,
        lambda item: script(
            command(item), head=(*item.head, item.answers, *made_first(item)), environment=item.environment
        ),
    )
    return {**beside(launch), **files}


def beside(launch: Launch) -> dict[str, str]:
    """What makes the model, and the load."""
    served = launch.serving
    model = launch.model if launch.model.startswith(("/", ".", "~")) else f"./{launch.model}"
    model = f"hf.co/{launch.model}" if launch.weights_folder is None else model
    lines = [f"FROM {model}", f"PARAMETER num_ctx {served.context_tok}"]
    if served.gpu_layers is not None:
        lines.append(f"PARAMETER num_gpu {served.gpu_layers}")
    if served.batch_tok is not None:
        lines.append(f"PARAMETER num_batch {served.batch_tok}")
    return {
        "Modelfile": comments((*launch.head, *made_first(launch))) + "\n".join(lines) + "\n",
        **loads(launch, backend="openai"),
    }


def command(launch: Launch) -> Words:
    """The server's command: what it is told stands in its environment."""
    del launch
    return (("ollama", "serve"),)
