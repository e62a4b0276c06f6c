"""SGLang: `python3 -m sglang.launch_server`, and `vllm bench serve` for the load."""

from __future__ import annotations

import json

from rigright.export.clients import loads, replicas
from rigright.export.launch import Launch, ServerSettings
from rigright.export.text import RANK, Variable, Words, given, script

NAME = "sglang"


def export(launch: Launch) -> dict[str, str]:
    """The server and its load."""
    files = replicas(
        launch,
        lambda item: script(command(item), head=(*item.head, item.answers), environment=item.environment),
    )
    return {**files, **loads(launch, backend="openai")}


def command(launch: Launch) -> Words:
    """The server's command; of several nodes, that of each, which knows its rank."""
    served = launch.serving
    if served.drafted_tok and launch.pp > 1 and launch.stage != "prefill":
        choice = f"drafts, pp {launch.pp}"
        raise launch.program.refusal(choice)
    # attention over tp ranks, each with sequences of its own: SGLang counts those as its data parallelism,
    # and what it is told of requests and of a pass as of all of them
    ranks = launch.tp if launch.attention_dp else 1
    dp = ranks if launch.attention_dp else launch.dp
    budget_tok = None if served.budget_tok is None else served.budget_tok * ranks
    return (
        ("python3", "-m", "sglang.launch_server"),
        *given(
            ("--model-path", launch.model),
            ("--host", launch.host),
            ("--port", launch.port),
            ("--tp-size", launch.tp),
            ("--pp-size", launch.pp),
            ("--dp-size", dp),
            ("--ep-size", launch.ep),
            ("--nnodes", launch.nodes if launch.nodes > 1 else None),
            ("--node-rank", RANK if launch.nodes > 1 else None),
            ("--dist-init-addr", Variable("HEAD", ":20000") if launch.nodes > 1 else None),
            ("--enable-dp-attention", launch.attention_dp),
            ("--dtype", {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}[served.dtype]),
            ("--quantization", served.converts),
            ("--kv-cache-dtype", served.kv),
            ("--context-length", served.context_tok),
            ("--max-running-requests", served.max_seqs * ranks),
            ("--chunked-prefill-size", budget_tok),
            ("--mem-fraction-static", served.share),
            ("--disable-cuda-graph", not served.graphs),
            ("--cuda-graph-max-bs-decode", served.graph_seqs),
            (
                "--limit-mm-data-per-request",
                json.dumps({"image": served.images}) if served.images else None,
            ),
            ("--disaggregation-mode", launch.stage or None),
            (
                "--disaggregation-transfer-backend",
                launch.program.apart[launch.vendor] if launch.stage else None,
            ),
            ("--disaggregation-bootstrap-port", launch.handover if launch.stage == "prefill" else None),
            ("--enable-hierarchical-cache", bool(served.kv_ram_gib or served.kv_nvme_gib)),
            ("--hicache-size", served.kv_ram_gib and max(int(served.kv_ram_gib / launch.tp), 1)),
            ("--hicache-storage-backend", "file" if served.kv_nvme_gib else None),
            *_drafted(served),
        ),
    )


def _drafted(served: ServerSettings) -> tuple[tuple[str, object], ...]:
    """Tokens drafted one after another, by a head or a model; else from what was written before."""
    count, word = served.drafted_tok, served.draft_word
    if not count:
        return ()
    if served.draft_method == "ngram":
        return ("--speculative-algorithm", word), ("--speculative-num-draft-tokens", count)
    return (
        ("--speculative-algorithm", word),
        ("--speculative-draft-model-path", served.draft_model),
        ("--speculative-num-steps", count),
        ("--speculative-eagle-topk", 1),
        ("--speculative-num-draft-tokens", count + 1),
    )
