"""Axolotl: its configuration, and the launch."""

from __future__ import annotations

from typing import Any

from rigright.export.launch import Launch
from rigright.export.launches import accelerate, deepspeed, torchrun
from rigright.export.text import Words

NAME = "axolotl"
CONFIG = "axolotl.yaml"


def export(launch: Launch) -> dict[str, str]:
    """The configuration and the launch."""
    return deepspeed.beside({CONFIG: config(launch)}, launch, command=command(launch))


def command(launch: Launch) -> Words:
    """The launch; of several nodes, that of each."""
    if launch.nodes == 1:
        return (("axolotl", "train", CONFIG),)
    return ("axolotl", "train", CONFIG), ("--launcher", "torchrun"), ("--",), *torchrun.ranks(launch)


def config(launch: Launch) -> dict[str, Any]:
    """What `axolotl train` reads; the data set is the user's to name."""
    trained = launch.training
    fields: dict[str, Any] = {
        "base_model": launch.model,
        "datasets": [{"path": "data.jsonl", "type": "alpaca"}],
        "output_dir": "./out",
        "sequence_len": trained.seq_tok,
        "micro_batch_size": trained.micro_batch,
        "gradient_accumulation_steps": trained.accumulate,
        "optimizer": trained.optimizer,
        "learning_rate": 2e-4 if trained.is_adapter else 2e-5,
        "bf16": trained.precision == "bf16",
        "fp16": trained.precision == "fp16",
        "gradient_checkpointing": trained.recompute == "full",
        "torch_compile": trained.compiled,
        **({} if trained.flash else {"eager_attention": True}),
        **({"chunked_cross_entropy": True} if trained.chunked_loss else {}),
        "save_steps": 100,
        "auto_resume_from_checkpoints": True,
        **({"max_steps": trained.steps} if trained.steps else {"num_epochs": trained.epochs}),
    }
    if trained.is_adapter:
        fields |= {
            "adapter": "qlora" if trained.method == "qlora" else "lora",
            "load_in_4bit": trained.method == "qlora",
            "peft_use_dora": trained.method == "dora",
            "lora_r": trained.rank,
            "lora_alpha": 2 * trained.rank,
            "lora_dropout": trained.dropout,
            **(
                {"lora_target_modules": list(trained.targets)}
                if trained.targets
                else {"lora_target_linear": True}
            ),
        }
    if trained.sharding.startswith("zero"):
        fields["deepspeed"] = deepspeed.CONFIG
    if trained.sharding in {"fsdp", "hsdp"}:
        value = accelerate.config(launch)["fsdp_config"]
        kept = ("reshard_after_forward", "auto_wrap_policy", "state_dict_type", "offload_params")
        words = {name: value[f"fsdp_{name}"] for name in (*kept, "cpu_ram_efficient_loading")}
        # rank 0 alone may not quantise what the others wait for
        words["cpu_ram_efficient_loading"] = not fields.get("load_in_4bit")
        fields |= {"fsdp_version": 2, "fsdp_config": words}
        if trained.sharding == "hsdp" and launch.copies > 1:
            fields |= {"dp_replicate_size": launch.copies, "dp_shard_size": launch.dp // launch.copies}
    return fields
