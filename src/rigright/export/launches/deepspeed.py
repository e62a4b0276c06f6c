"""DeepSpeed: its configuration, and the launch of the user's own script."""

from __future__ import annotations

import json
from typing import Any

from rigright.export.launch import Launch
from rigright.export.launches import torchrun
from rigright.export.text import Words, script

NAME = "deepspeed"
CONFIG = "ds_config.json"
_PLAIN = {"deepspeed", "pytorch"}  # trainers whose script reads the file alone


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
    zero: dict[str, Any] = {"stage": trained.zero_stage}
    what, _, store = trained.offload.partition("-")
    where = {"device": store, "pin_memory": True, **({"nvme_path": "nvme"} if store == "nvme" else {})}
    found: dict[str, Any] = {}
    if what in {"optimizer", "all"}:
        zero["offload_optimizer"] = where
        # DeepSpeed makes its own AdamW for processors; the Trainer fills in what is "auto"
        usual = {"lr": 2e-5, "weight_decay": 0.0}
        params = usual if trained.trainer in _PLAIN else dict.fromkeys(usual, "auto")
        found["optimizer"] = {"type": "AdamW", "params": params}
    if what == "all" and trained.zero_stage == 3:
        zero["offload_param"] = where
    if trained.zero_stage == 3:
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    return found | {
        "train_micro_batch_size_per_gpu": trained.micro_batch,
        "gradient_accumulation_steps": trained.accumulate,
        "gradient_clipping": 1.0,
        "zero_optimization": zero,
        "bf16": {"enabled": trained.precision == "bf16"},
        "fp16": {"enabled": trained.precision == "fp16"},
    }
