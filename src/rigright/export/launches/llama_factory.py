"""LLaMA-Factory: its configuration, and the launch."""

from __future__ import annotations

from typing import Any

from rigright.export.launch import Launch
from rigright.export.launches import deepspeed
from rigright.export.text import Words, script
from rigright.export.yaml import dumps

NAME = "llama-factory"
CONFIG = "train.yaml"


def export(launch: Launch) -> dict[str, str]:
    """The configuration and the launch."""
    files = {CONFIG: dumps(config(launch), *launch.head)}
    if "deepspeed" in config(launch):
        files[deepspeed.CONFIG] = deepspeed.export(launch)[deepspeed.CONFIG]
    environment = launch.environment | ({"FORCE_TORCHRUN": "1"} if launch.ranks > 1 else {})
    files["train.sh"] = script(command(launch), head=launch.head, environment=environment)
    return files


def command(launch: Launch) -> Words:
    """The launch; over several nodes NNODES, NODE_RANK, MASTER_ADDR and MASTER_PORT say who is who."""
    del launch
    return (("llamafactory-cli", "train", CONFIG),)


def config(launch: Launch) -> dict[str, Any]:
    """What `llamafactory-cli train` reads; the data set and its template are the user's to name."""
    trained = launch.training
    found: dict[str, Any] = {
        "model_name_or_path": launch.model,
        "stage": "sft",
        "do_train": True,
        "finetuning_type": "lora" if trained.is_adapter else "full",
        "dataset": "alpaca_en_demo",
        "template": "default",
        "cutoff_len": trained.seq_tok,
        "output_dir": "out",
        "per_device_train_batch_size": trained.micro_batch,
        "gradient_accumulation_steps": trained.accumulate,
        "learning_rate": 1e-4 if trained.is_adapter else 1e-5,
        "optim": trained.optimizer,
        "bf16": trained.precision == "bf16",
        "fp16": trained.precision == "fp16",
        "disable_gradient_checkpointing": trained.recompute == "none",
        "save_steps": 100,
        **({"max_steps": trained.steps} if trained.steps else {"num_train_epochs": trained.epochs}),
    }
    if trained.is_adapter:
        found |= {
            "lora_rank": trained.rank,
            "lora_alpha": 2 * trained.rank,
            "lora_target": ",".join(trained.targets) or "all",
            "use_dora": trained.method == "dora",
        }
    if trained.method == "qlora":
        found |= {"quantization_bit": 4, "quantization_method": "bnb"}
    if trained.sharding.startswith("zero") and trained.method != "qlora":
        found["deepspeed"] = deepspeed.CONFIG
    return found
