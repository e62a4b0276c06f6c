"""Transformers: a script that generates as planned; or what its Trainer is stated, and PEFT's adapter."""

from __future__ import annotations

import json
from typing import Any

from rigright.base.words import say
from rigright.export.commands import one_group, one_node
from rigright.export.launch import TORCH_TYPES, Launch, ServerSettings
from rigright.export.launches import deepspeed
from rigright.export.text import comments, template

NAME = "transformers"
NOTES = "notes.txt"  # JSON has no comments
LIGER = "liger"
_STORED = {
    "int8": ", quantization_config=BitsAndBytesConfig(load_in_8bit=True)",
    "nf4": ', quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4",'
    " bnb_4bit_compute_dtype=torch.{dtype})",
}


def export(launch: Launch) -> dict[str, str]:
    """The script; or a file for `HfArgumentParser.parse_json_file`, and PEFT's where adapters are trained."""
    if launch.served is not None:
        return {"generate.py": _generate(launch, launch.served)}
    files = {"training_args.json": json.dumps(arguments(launch), indent=2) + "\n"}
    if "deepspeed" in arguments(launch):
        files[deepspeed.CONFIG] = deepspeed.export(launch)[deepspeed.CONFIG]
    trained = launch.training
    if launch.why:
        files[NOTES] = comments(launch.head)
    if trained.is_adapter:
        adapter = {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": launch.model,
            "r": trained.rank,
            "lora_alpha": 2 * trained.rank,
            "lora_dropout": trained.dropout,
            "use_dora": trained.method == "dora",
            "target_modules": list(trained.targets) or "all-linear",
        }
        files["adapter_config.json"] = json.dumps(adapter, indent=2, ensure_ascii=False) + "\n"
    return files


def _generate(launch: Launch, served: ServerSettings) -> str:
    """One batch of prompts, the layers spread over the GPUs."""
    one_node(launch, NAME)
    if launch.dp > 1:
        raise launch.program.refusal(f"dp {launch.dp}", hint=say("export {fitting}", fitting="vllm, sglang"))
    dtype = TORCH_TYPES[served.dtype]
    text = template("generate").format(
        loader="AutoModelForImageTextToText" if served.sees else "AutoModelForCausalLM",
        environment=json.dumps(launch.environment),
        devices=json.dumps("auto" if launch.pp > 1 else launch.device),
        model=launch.model,
        batch=served.max_seqs,
        context=served.context_tok,
        output=served.load.output_tok,
        dtype=dtype,
        stored=_STORED.get(served.weights, "").format(dtype=dtype),
    )
    needs = "needs: python3 -m pip install transformers accelerate bitsandbytes"
    return comments((*launch.head, needs, "to fine-tune instead: --mode finetune")) + text


def arguments(launch: Launch) -> dict[str, Any]:
    """The fields of `TrainingArguments`."""
    trained = launch.training
    return {
        "output_dir": "out",
        "per_device_train_batch_size": trained.micro_batch,
        "gradient_accumulation_steps": trained.accumulate,
        "gradient_checkpointing": trained.recompute == "full" and trained.sharding not in {"fsdp", "hsdp"},
        "optim": trained.optimizer,
        "bf16": trained.precision == "bf16",
        "fp16": trained.precision == "fp16",
        "torch_compile": trained.compiled,
        "use_liger_kernel": trained.trainer == LIGER,
        **({"max_steps": trained.steps} if trained.steps else {"num_train_epochs": trained.epochs}),
        "save_strategy": "steps",
        "save_steps": 100,
        "enable_jit_checkpoint": True,  # SIGTERM saves
        **(sharded(launch) if trained.sharding in {"fsdp", "hsdp"} else {}),
        **({"deepspeed": deepspeed.CONFIG} if trained.sharding.startswith("zero") else {}),
    }


def sharded(launch: Launch) -> dict[str, Any]:
    """FSDP2 by the Trainer's own words; it recomputes by itself then."""
    trained = launch.training
    one_group(launch)
    return {
        "fsdp": True,
        "fsdp_config": {
            "version": 2,
            "reshard_after_forward": True,
            "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "state_dict_type": "SHARDED_STATE_DICT",
            "activation_checkpointing": trained.recompute == "full",
            "cpu_offload": trained.offload == "all-cpu",
            # rank 0 alone may not quantise what the others wait for
            "cpu_ram_efficient_loading": trained.method != "qlora",
        },
    }
