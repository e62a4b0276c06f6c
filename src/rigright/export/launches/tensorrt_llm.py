"""TensorRT-LLM: `trtllm-serve` with its file of options."""

from __future__ import annotations

from rigright.base.units import GIB
from rigright.export.clients import loads, replicas
from rigright.export.commands import one_node
from rigright.export.launch import Launch, ServerSettings
from rigright.export.text import Words, dumps, given, script

NAME = "tensorrt-llm"
OPTIONS = "llm_api_options.yaml"


def export(launch: Launch) -> dict[str, str]:
    """The servers, their options and their load; over several nodes somebody else starts every rank."""
    one_node(launch, NAME)
    files = replicas(
        launch,
        lambda item: script(command(item), head=(*item.head, item.answers), environment=item.environment),
    )
    return {**beside(launch), **files}


def beside(launch: Launch) -> dict[str, str]:
    """What its command reads, and the load."""
    served = launch.serving
    options = {
        "dtype": {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}[served.dtype],
        "kv_cache_config": {"dtype": served.kv, "free_gpu_memory_fraction": served.share}
        | ({"host_cache_size": int(served.kv_ram_gib * GIB)} if served.kv_ram_gib else {}),
        "enable_attention_dp": launch.attention_dp,
        "cuda_graph_config": {"max_batch_size": served.graph_seqs} if served.graphs else None,
        **({"speculative_config": _drafted(served)} if served.drafted_tok else {}),
    }
    return {OPTIONS: dumps(options, *launch.head), **loads(launch, backend="openai")}


def command(launch: Launch) -> Words:
    """The server's command; of several nodes, that of each GPU, whose rank its starter knows."""
    served = launch.serving
    return (
        *((("trtllm-llmapi-launch",),) if launch.nodes > 1 else ()),
        ("trtllm-serve", launch.model),
        *given(
            ("--host", launch.host),
            ("--port", launch.port),
            ("--tp_size", launch.tp),
            ("--pp_size", launch.pp),
            ("--ep_size", launch.ep),
            ("--cp_size", launch.cp if launch.cp > 1 else None),
            ("--max_batch_size", served.max_seqs),
            ("--max_num_tokens", served.budget_tok),
            ("--max_seq_len", served.context_tok),
            ("--extra_llm_api_options", launch.files_at + OPTIONS),
        ),
    )


def _drafted(served: ServerSettings) -> dict[str, object]:
    """Tokens drafted by the model's own heads, by another model, or from what was written before."""
    if served.draft_method == "mtp":
        return {"decoding_type": served.draft_word, "num_nextn_predict_layers": served.drafted_tok}
    drafts = {"decoding_type": served.draft_word, "max_draft_len": served.drafted_tok}
    if served.draft_model is None:
        return drafts | {"max_matching_ngram_size": 4}
    return drafts | {"speculative_model_dir": served.draft_model}
