"""vLLM: `vllm serve`, and `vllm bench serve` for the load."""

from __future__ import annotations

import json

from rigright.export.clients import loads, replicas
from rigright.export.commands import workers_of
from rigright.export.launch import Launch
from rigright.export.text import HEAD, RANK, Words, given, script

NAME = "vllm"


def export(launch: Launch) -> dict[str, str]:
    """The server and its load."""
    files = replicas(
        launch,
        lambda item: script(
            command(item),
            head=(*item.head, item.answers),
            environment=item.environment | _meeting(item),
            workers=workers_of(item),
        ),
    )
    return {**files, **loads(launch, backend="vllm")}


def command(launch: Launch) -> Words:
    """The server's command."""
    served = launch.serving
    if launch.ep not in {1, launch.tp * launch.cp}:  # it has one word: over all ranks, or whole
        choice = f"ep {launch.ep}, tp {launch.tp}"
        raise launch.program.refusal(choice)
    # attention over tp ranks, each with sequences of its own: vLLM counts those as its data parallelism
    tp, dp = (1, launch.tp) if launch.attention_dp else (launch.tp, launch.dp)
    draft: dict[str, object] = {"method": served.draft_word, "num_speculative_tokens": served.drafted_tok}
    draft |= {"model": served.draft_model} if served.draft_model else {}
    draft |= {"prompt_lookup_max": 4} if served.draft_method == "ngram" else {}
    return (
        ("vllm", "serve", launch.model),
        *given(
            ("--host", launch.host),
            ("--port", launch.port),
            ("--tensor-parallel-size", tp),
            ("--pipeline-parallel-size", launch.pp),
            ("--data-parallel-size", dp),
            ("--enable-expert-parallel", launch.ep > 1),
            ("--prefill-context-parallel-size", launch.cp if launch.cp > 1 else None),
            ("--nnodes", launch.nodes if launch.nodes > 1 else None),
            ("--node-rank", RANK if launch.nodes > 1 else None),
            ("--master-addr", HEAD if launch.nodes > 1 else None),
            ("--dtype", {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}[served.dtype]),
            ("--quantization", served.converts),
            ("--kv-cache-dtype", served.kv),
            ("--max-model-len", served.context_tok),
            ("--max-num-seqs", served.max_seqs),
            ("--max-num-batched-tokens", served.budget_tok),
            ("--gpu-memory-utilization", served.share),
            ("--enforce-eager", not served.graphs),
            ("--max-cudagraph-capture-size", served.graph_seqs),
            ("--limit-mm-per-prompt", json.dumps({"image": served.images}) if served.images else None),
            ("--kv-transfer-config", _handed(launch)),
            ("--kv-offloading-size", served.kv_ram_gib if served.kv_nvme_gib is None else None),
            ("--speculative-config", json.dumps(draft) if served.drafted_tok else None),
        ),
    )


def _handed(launch: Launch) -> str | None:
    """How the cache of a prompt gets from the worker that made it to the one that goes on, or to a drive."""
    if launch.serving.kv_nvme_gib is not None and not launch.stage:
        return json.dumps({"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"})
    if not launch.stage:
        return None
    role = {"prefill": "kv_producer", "decode": "kv_consumer"}[launch.stage]
    return json.dumps({"kv_connector": launch.program.apart[launch.vendor], "kv_role": role})


def _meeting(launch: Launch) -> dict[str, str]:
    return {"VLLM_NIXL_SIDE_CHANNEL_PORT": str(launch.handover)} if launch.stage else {}
