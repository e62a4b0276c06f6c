"""llama.cpp: `llama-server`, and `vllm bench serve` for the load."""

from __future__ import annotations

from rigright.export.clients import loads, replicas
from rigright.export.launch import Launch, ServerSettings
from rigright.export.text import Words, given, script

NAME = "llama.cpp"
KILO_MIB = 1024  # MiB of a GiB


def export(launch: Launch) -> dict[str, str]:
    """The servers, what deals requests out to them, and the load."""
    files = replicas(
        launch,
        lambda item: script(command(item), head=(*item.head, item.answers), environment=item.environment),
    )
    # the server closes connections that idle, just as the client sends on them: each request has its own
    return {**files, **loads(launch, backend="openai", header="Connection=close")}


def command(launch: Launch) -> Words:
    """The server's command: its slots share one cache, so that `-c` holds all of their contexts."""
    served = launch.serving
    split = ",".join(map(str, served.split)) if launch.pp > 1 else None
    return (
        ("llama-server",),
        *given(
            ("--model" if launch.weights_folder else "--hf-repo", launch.model),
            ("--alias", launch.name),
            ("--host", launch.host),
            ("--port", launch.port),
            ("--n-gpu-layers", 999 if served.gpu_layers is None else served.gpu_layers),
            ("--n-cpu-moe", served.cpu_moe),
            ("--numa", "distribute" if served.numa else None),
            ("--split-mode", "layer" if launch.pp > 1 else "none"),
            ("--tensor-split", split),
            ("--ctx-size", served.context_tok * served.max_seqs),
            ("--parallel", served.max_seqs),
            ("--batch-size", served.batch_tok),
            ("--ubatch-size", served.batch_tok),
            ("--cache-type-k", served.kv),
            ("--cache-type-v", served.kv),
            ("--flash-attn", _flash(served)),
            ("--cache-ram", served.kv_ram_gib and int(served.kv_ram_gib * KILO_MIB)),
            *_drafted(served),
        ),
        ("--metrics",),
    )


def _drafted(served: ServerSettings) -> tuple[tuple[str, object], ...]:
    """Tokens drafted by the model's own head, by another model, or from what was written before."""
    if not served.drafted_tok:
        return ()
    count = "--spec-ngram-simple-size-m" if served.draft_method == "ngram" else "--spec-draft-n-max"
    flag = "--spec-draft-model" if (served.draft_model or "").endswith(".gguf") else "--spec-draft-hf"
    return (
        ("--spec-type", served.draft_word),
        (count, served.drafted_tok),
        (flag, served.draft_model),
        ("--spec-draft-ngl", 999 if served.draft_model else None),
    )


def _flash(served: ServerSettings) -> str:
    """Attention without the score matrix: as planned; a small cache needs it."""
    if served.flash is None:
        return "on" if served.kv not in {"f16", "f32"} else "auto"
    return "on" if served.flash else "off"
