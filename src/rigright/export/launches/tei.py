"""Text Embeddings Inference: `text-embeddings-router`, and `vllm bench serve` for the load."""

from __future__ import annotations

from rigright.export.clients import RESULT
from rigright.export.commands import one_node
from rigright.export.launch import Launch
from rigright.export.text import SEED, Words, given, script

NAME = "tei"
_REQUESTS = 1000


def export(launch: Launch) -> dict[str, str]:
    """The server and its load."""
    one_node(launch, NAME)
    text_tok = launch.passing.text_tok or 0
    load = given(
        ("--backend", "openai-embeddings"),
        ("--base-url", f"http://127.0.0.1:{launch.port}"),
        ("--endpoint", "/v1/embeddings"),
        ("--model", launch.model),
        ("--dataset-name", "random"),
        ("--random-input-len", text_tok),
        ("--num-prompts", _REQUESTS),
        ("--max-concurrency", launch.passing.batch),
        ("--seed", SEED),
    )
    saved: Words = (("--save-result",), ("--result-filename", RESULT))
    head = (f"{launch.name}: sends texts of {text_tok} tokens once the server answers",)
    return {
        "serve.sh": script(
            command(launch), head=(*launch.head, launch.answers), environment=launch.environment
        ),
        "bench.sh": script((("vllm", "bench", "serve"), *load, *saved), head=head, environment={}),
    }


def command(launch: Launch) -> Words:
    """The server's command: it fills batches by tokens."""
    passed = launch.passing
    return (
        ("text-embeddings-router",),
        *given(
            ("--model-id", launch.model),
            ("--hostname", launch.host),
            ("--port", launch.port),
            ("--dtype", "float32" if passed.dtype == "fp32" else "float16"),
            ("--max-batch-tokens", max(passed.batch * (passed.text_tok or 1), 16384)),
        ),
        ("--auto-truncate",),
    )
