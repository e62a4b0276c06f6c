"""DeepSpeed: its configuration, and the launch of the user's own script."""

from __future__ import annotations

import json
from typing import Any

from rigright.export.launch import Launch
from rigright.export.text import Words, given, script

NAME = "deepspeed"
CONFIG = "ds_config.json"
_STORES = {"cpu": "cpu", "nvme": "nvme"}


def export(launch: Launch) -> dict[str, str]:
    """The configuration and the launch."""
    return {
        CONFIG: json.dumps(config(launch), indent=2) + "\n",
        "train.sh": script(command(launch), head=launch.head, environment=launch.environment),
    }


def command(launch: Launch) -> Words:
    """The launch; of several nodes, with the file that names them."""
    return (
        ("deepspeed",),
        *given(
            ("--num_nodes", launch.nodes),
            ("--num_gpus", launch.gpus),
            ("--hostfile", "hostfile" if launch.nodes > 1 else None),
        ),
        (launch.script,),
        ("--deepspeed", CONFIG),
    )


def config(launch: Launch) -> dict[str, Any]:
    """What `deepspeed.initialize` reads."""
    trained = launch.training
    zero: dict[str, Any] = {"stage": trained.zero_stage}
    what, _, store = trained.offload.partition("-")
    if what in {"optimizer", "all"}:
        zero["offload_optimizer"] = {"device": store, "pin_memory": True}
    if what == "all" and trained.zero_stage == 3:
        zero["offload_param"] = {"device": store, "pin_memory": True}
    if trained.zero_stage == 3:
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    return {
        "train_micro_batch_size_per_gpu": trained.micro_batch,
        "gradient_accumulation_steps": trained.accumulate,
        "gradient_clipping": 1.0,
        "zero_optimization": zero,
        "bf16": {"enabled": trained.precision == "bf16"},
        "fp16": {"enabled": trained.precision == "fp16"},
    }
