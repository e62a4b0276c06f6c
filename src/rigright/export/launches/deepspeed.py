"""DeepSpeed: its configuration, and the launch of the user's own script."""

from __future__ import annotations

import json
from typing import Any

from rigright.base.words import say
from rigright.export.commands import one_group
from rigright.export.launch import Launch
from rigright.export.launches import torchrun
from rigright.export.text import Words, script

NAME = "deepspeed"
CONFIG = "ds_config.json"
GRADS_STAGE, WHOLE_STAGE = 2, 3  # of ZeRO: gradients are divided; weights too
_PLAIN = {"deepspeed", "pytorch"}  # trainers whose script reads the file alone
_ON_PROCESSORS = {"adamw": "AdamW", "adamw-fused": "AdamW", "lion": "Lion"}


def export(launch: Launch) -> dict[str, str]:
    """The configuration and the launch."""
    return {
        CONFIG: json.dumps(config(launch), indent=2) + "\n",
        "train.sh": script(command(launch), head=launch.head, environment=launch.environment),
    }


def command(launch: Launch) -> Words:
    """The launch; over several nodes torchrun's, which needs neither ssh nor a file of hosts."""
    started = (("deepspeed",), ("--num_gpus", str(launch.gpus)), (launch.script,))
    return *(started if launch.nodes == 1 else torchrun.command(launch)), ("--deepspeed", CONFIG)


def config(launch: Launch) -> dict[str, Any]:
    """What `deepspeed.initialize` reads."""
    trained = launch.training
    one_group(launch)
    stage = _stage(launch)
    zero: dict[str, Any] = {"stage": stage}
    what, _, store = trained.offload.partition("-")
    where = {"device": store, "pin_memory": True, **({"nvme_path": "nvme"} if store == "nvme" else {})}
    fields: dict[str, Any] = {}
    if what in {"optimizer", "all"}:
        _check_offload(launch, stage)
        zero["offload_optimizer"] = where
        # DeepSpeed makes its own optimizers for processors; the Trainer fills in what is "auto"
        usual = {"lr": 2e-5, "weight_decay": 0.0}
        params = usual if trained.trainer in _PLAIN else dict.fromkeys(usual, "auto")
        fields["optimizer"] = {"type": _ON_PROCESSORS[trained.chosen], "params": params}
    if what == "all":
        zero["offload_param"] = where
    if stage == WHOLE_STAGE:
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    return fields | {
        "train_micro_batch_size_per_gpu": trained.micro_batch,
        "gradient_accumulation_steps": trained.accumulate,
        "gradient_clipping": 1.0,
        "zero_optimization": zero,
        "bf16": _bf16(launch, stage),
        "fp16": {"enabled": trained.precision == "fp16"},
        **({"data_types": {"grad_accum_dtype": "fp32"}} if trained.mixed == "bf16-mixed" else {}),
    }


def _stage(launch: Launch) -> int:
    """The ZeRO stage: one GPU has nobody to divide with, and may offload in every stage."""
    trained = launch.training
    if launch.dp > 1 or trained.offload == "none":
        return trained.zero_stage
    return WHOLE_STAGE if trained.offload.startswith("all") else max(trained.zero_stage, GRADS_STAGE)


def _check_offload(launch: Launch, stage: int) -> None:
    """Refuse what DeepSpeed has no way to keep in main memory."""
    trained = launch.training
    if stage < (WHOLE_STAGE if trained.offload.startswith("all") else 1):
        raise launch.program.refuses(
            f"offload {trained.offload}, sharding {trained.sharding}", hint=say("use --sharding zero3")
        )
    if trained.chosen not in _ON_PROCESSORS:
        raise launch.program.refuses(f"offload {trained.offload}, optimizer {trained.chosen}")


def _bf16(launch: Launch, stage: int) -> dict[str, Any]:
    """16 bit beside fp32 master weights, which DeepSpeed keeps unless it is told not to."""
    trained = launch.training
    fields: dict[str, Any] = {"enabled": trained.precision == "bf16"}
    if trained.mixed == "bf16" and not trained.is_adapter:
        if stage == 0:
            raise launch.program.refuses(
                f"precision {trained.mixed}, sharding none", hint=say("use --sharding zero1 | zero2 | zero3")
            )
        fields |= {"bf16_master_weights_and_grads": True, "bf16_optimizer_states": True}
    return fields
