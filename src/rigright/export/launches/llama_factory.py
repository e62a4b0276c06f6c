"""LLaMA-Factory: its configuration, and the launch."""

from __future__ import annotations

from typing import Any

from rigright.export.launch import Launch
from rigright.export.launches import deepspeed, transformers
from rigright.export.text import Variable, Words, dumps, script

NAME = "llama-factory"
CONFIG = "train.yaml"


def export(launch: Launch) -> dict[str, str]:
    """The configuration and the launch."""
    files = {CONFIG: dumps(config(launch), *launch.head)}
    if "deepspeed" in config(launch):
        files[deepspeed.CONFIG] = deepspeed.export(launch)[deepspeed.CONFIG]
    files["train.sh"] = script(command(launch), head=launch.head, environment=launch.environment)
    return files


def command(launch: Launch) -> Words:
    """The launch; it starts torchrun itself, which reads from the environment how many there are."""
    own = (("llamafactory-cli", "train", CONFIG),)
    if launch.ranks == 1:
        return own
    counts = {
        "FORCE_TORCHRUN": 1,
        "NNODES": launch.nodes,
        "NPROC_PER_NODE": launch.gpus,
        "MASTER_PORT": 29500,
    }
    places = (Variable("NODE_RANK", before="NODE_RANK="), Variable("HEAD", before="MASTER_ADDR="))
    words = (*(f"{name}={value}" for name, value in counts.items()), *(places if launch.nodes > 1 else ()))
    return ("env", *words), *own


def config(launch: Launch) -> dict[str, Any]:
    """What `llamafactory-cli train` reads; the data set and its template are the user's to name."""
    trained = launch.training
    pure = trained.mixed == "bf16" and not trained.is_adapter
    if pure and trained.sharding == "zero3":
        raise launch.program.refuses("precision bf16, sharding zero3")
    fields: dict[str, Any] = {
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
        # what it trains in full has fp32 weights unless told otherwise; adapters are fp32 in the plan too
        **({"pure_bf16": True} if pure else {}),
        "torch_compile": trained.compiled,
        "enable_liger_kernel": trained.trainer == transformers.LIGER,
        **({} if trained.flash else {"flash_attn": "disabled"}),
        "disable_gradient_checkpointing": trained.recompute != "full",
        "save_steps": 100,
        "enable_jit_checkpoint": True,  # SIGTERM saves
        **({"max_steps": trained.steps} if trained.steps else {"num_train_epochs": trained.epochs}),
    }
    if trained.is_adapter:
        fields |= {
            "lora_rank": trained.rank,
            "lora_alpha": 2 * trained.rank,
            "lora_dropout": trained.dropout,
            "lora_target": ",".join(trained.targets) or "all",
            "use_dora": trained.method == "dora",
        }
    if trained.method == "qlora":
        fields |= {"quantization_bit": 4, "quantization_method": "bnb"}
    if trained.sharding.startswith("zero") and trained.method != "qlora":
        fields["deepspeed"] = deepspeed.CONFIG
    if trained.sharding in {"fsdp", "hsdp"}:
        sharded = transformers.sharded(launch)
        sharded["fsdp_config"]["activation_checkpointing"] = False  # it recomputes by a way of its own
        fields |= sharded
    return fields
