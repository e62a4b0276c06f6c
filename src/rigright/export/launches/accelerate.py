"""Accelerate: its configuration, and the launch of the user's own script."""

from __future__ import annotations

from typing import Any

from rigright.export.launch import Launch
from rigright.export.launches import deepspeed, torchrun
from rigright.export.text import HEAD, RANK, Words, dumps, given, script

NAME = "accelerate"
CONFIG = "accelerate.yaml"


def export(launch: Launch) -> dict[str, str]:
    """The configuration and the launch."""
    return {
        CONFIG: dumps(config(launch), *launch.head),
        "train.sh": script(command(launch), head=launch.head, environment=launch.environment),
        **torchrun.training_script(launch, NAME),
    }


def command(launch: Launch) -> Words:
    """The launch; of several nodes, that of each, which is told its rank."""
    joined = given(("--machine_rank", RANK), ("--main_process_ip", HEAD), ("--main_process_port", 29500))
    place = joined if launch.nodes > 1 else ()
    return ("accelerate", "launch"), ("--config_file", CONFIG), *place, (launch.script,)


def config(launch: Launch) -> dict[str, Any]:
    """What `accelerate launch --config_file` reads."""
    trained = launch.training
    fields: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": "NO" if launch.ranks == 1 else "MULTI_GPU",
        "mixed_precision": "no" if trained.precision == "fp32" else trained.precision,
        "num_machines": launch.nodes,
        "num_processes": launch.ranks,
        "machine_rank": 0,
        "main_training_function": "main",
        "rdzv_backend": "static",
        "same_network": True,
        "use_cpu": False,
    }
    if trained.sharding.startswith("zero"):
        given = deepspeed.config(launch)
        zero = given["zero_optimization"]
        own: dict[str, Any] = {
            "gradient_accumulation_steps": trained.accumulate,
            "gradient_clipping": given["gradient_clipping"],
            "zero_stage": zero["stage"],
            "offload_optimizer_device": zero.get("offload_optimizer", {}).get("device", "none"),
            "offload_param_device": zero.get("offload_param", {}).get("device", "none"),
            "zero3_init_flag": zero["stage"] == 3,
        }
        fields |= {"distributed_type": "DEEPSPEED", "deepspeed_config": own}
    if trained.sharding in {"fsdp", "hsdp"}:
        fields |= {
            "distributed_type": "FSDP",
            "fsdp_config": {
                "fsdp_version": 2,
                "fsdp_reshard_after_forward": True,
                "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
                "fsdp_state_dict_type": "SHARDED_STATE_DICT",
                "fsdp_activation_checkpointing": trained.recompute == "full",
                "fsdp_offload_params": trained.offload == "all-cpu",
                "fsdp_cpu_ram_efficient_loading": True,
            },
        }
    if trained.sharding == "hsdp" and launch.copies > 1:
        sizes = {"dp_replicate": launch.copies, "dp_shard": launch.dp // launch.copies, "tp": 1, "cp": 1}
        fields["parallelism_config"] = {
            f"parallelism_config_{name}_size": size for name, size in sizes.items()
        }
    if trained.compiled:
        fields["dynamo_config"] = {"dynamo_backend": "INDUCTOR"}
    return fields
