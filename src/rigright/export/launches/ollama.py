"""Ollama: a Modelfile, and the server with its environment."""

from __future__ import annotations

from rigright.export.clients import vllm_bench
from rigright.export.launch import Launch
from rigright.export.text import Words, comments, script

NAME = "ollama"


def export(launch: Launch) -> dict[str, str]:
    """The model, the server and its load."""
    served = launch.serving
    lines = [f"FROM {launch.model}", f"PARAMETER num_ctx {served.context_tok}"]
    if served.gpu_layers is not None:
        lines.append(f"PARAMETER num_gpu {served.gpu_layers}")
    made = f"# ollama create {launch.name} -f Modelfile\n"
    environment = {
        **launch.environment,
        "OLLAMA_HOST": f"{launch.host}:{launch.port}",
        "OLLAMA_NUM_PARALLEL": str(served.max_seqs),
        "OLLAMA_MAX_LOADED_MODELS": "1",
        "OLLAMA_KEEP_ALIVE": "-1",
        "OLLAMA_FLASH_ATTENTION": "1",
        "OLLAMA_KV_CACHE_TYPE": served.kv,
    }
    return {
        "Modelfile": comments(launch.head) + made + "\n".join(lines) + "\n",
        "serve.sh": script(command(launch), head=launch.head, environment=environment),
        "bench.sh": vllm_bench(launch, backend="openai"),
    }


def command(launch: Launch) -> Words:
    """The server's command: what it is told stands in its environment."""
    del launch
    return (("ollama", "serve"),)
