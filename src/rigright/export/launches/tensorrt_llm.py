"""TensorRT-LLM: `trtllm-serve` with its file of options."""

from __future__ import annotations

from rigright.export.clients import vllm_bench
from rigright.export.launch import Launch
from rigright.export.text import Words, given, script
from rigright.export.yaml import dumps

NAME = "tensorrt-llm"
OPTIONS = "llm_api_options.yaml"


def export(launch: Launch) -> dict[str, str]:
    """The server, its options and its load."""
    served = launch.serving
    options = {
        "kv_cache_config": {"dtype": served.kv, "free_gpu_memory_fraction": served.share},
        "enable_attention_dp": launch.attention_dp,
        "cuda_graph_config": {"max_batch_size": served.max_seqs} if served.graphs else None,
    }
    return {
        OPTIONS: dumps(options, *launch.head),
        "serve.sh": script(command(launch), head=launch.head, environment=launch.environment),
        "bench.sh": vllm_bench(launch, backend="openai"),
    }


def command(launch: Launch) -> Words:
    """The server's command."""
    served = launch.serving
    return (
        ("trtllm-serve", launch.model),
        *given(
            ("--host", launch.host),
            ("--port", launch.port),
            ("--tp_size", launch.tp),
            ("--pp_size", launch.pp),
            ("--ep_size", launch.ep),
            ("--max_batch_size", served.max_seqs),
            ("--max_num_tokens", served.budget_tok),
            ("--max_seq_len", served.context_tok),
            ("--extra_llm_api_options", OPTIONS),
        ),
    )
