"""verl: one command of its trainer, with every choice as an override of its configuration."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.export.launch import Launch
from rigright.export.text import Variable, Words, script

NAME = "verl"
GROUPS = {"none": 1, "fsdp": -1, "hsdp": 8}  # ranks that divide the states; -1: all
WIDE = {"bf16": "bfloat16", "fp16": "float16"}
ESTIMATORS = {"grpo": "grpo", "rloo": "rloo", "ppo": "gae"}


def export(launch: Launch) -> dict[str, str]:
    """The command."""
    return {"train.sh": script(command(launch), head=launch.head, environment=launch.environment)}


def command(launch: Launch) -> Words:
    """The trainer and its overrides."""
    return ("python3", "-m", "verl.trainer.main_ppo"), *((_word(*pair),) for pair in overrides(launch))


def _word(name: str, value: object) -> str:
    return Variable(value, before=f"{name}=") if isinstance(value, Variable) else f"{name}={value}"


def overrides(launch: Launch) -> tuple[tuple[str, object], ...]:
    """Each key of its configuration that the plan decides."""
    trained, post = launch.training, launch.post
    apart = {f"sharding {trained.sharding}"} - {f"sharding {name}" for name in GROUPS}
    apart |= {f"offload {trained.offload}"} & {"offload optimizer-nvme", "offload all-nvme"}
    for choice in ({trained.method} & {"qlora", "dora"}) | ({trained.precision} - set(WIDE)) | apart:
        raise AskError(
            say("{engine} is not exported with {choice}", engine=launch.program.label, choice=choice)
        )
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    step = trained.micro_batch * trained.accumulate * launch.dp
    micro = trained.micro_batch
    pairs: dict[str, object] = {
        "algorithm.adv_estimator": ESTIMATORS[post.objective],
        "data.train_files": Variable("DATA"),
        "data.val_files": Variable("EVAL"),
        "data.train_batch_size": max(step // post.group, 1),
        "data.max_prompt_length": trained.seq_tok - post.completion_tok,
        "data.max_response_length": post.completion_tok,
        "actor_rollout_ref.model.path": launch.model,
        "actor_rollout_ref.model.enable_gradient_checkpointing": trained.recompute == "full",
        "actor_rollout_ref.model.use_liger": trained.chunked_loss,
        f"{actor}.strategy": "fsdp2",
        f"{actor}.ppo_mini_batch_size": max(step // post.group, 1),
        f"{actor}.ppo_micro_batch_size_per_gpu": micro,
        f"{actor}.optim.lr": 1e-5 if trained.is_adapter else 1e-6,
        f"{actor}.use_kl_loss": bool(trained.references) and post.objective != "ppo",
        f"{actor}.fsdp_config.dtype": WIDE[trained.precision],
        f"{actor}.fsdp_config.model_dtype": "bf16" if trained.is_adapter else "fp32",
        f"{actor}.fsdp_config.param_offload": trained.offload == "all-cpu",
        f"{actor}.fsdp_config.optimizer_offload": trained.offload != "none",
        f"{actor}.fsdp_config.fsdp_size": GROUPS[trained.sharding],
        f"{rollout}.name": "vllm",
        f"{rollout}.n": post.group,
        f"{rollout}.tensor_model_parallel_size": post.rollout_tp,
        f"{rollout}.gpu_memory_utilization": round(trained.rollout_share, 2),
        f"{rollout}.free_cache_engine": post.rollout == "sleep",
        f"{rollout}.log_prob_micro_batch_size_per_gpu": micro,
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": micro,
        "trainer.n_gpus_per_node": launch.gpus,
        "trainer.nnodes": launch.nodes,
        "trainer.save_freq": 100,
        "trainer.total_epochs": max(int(trained.epochs), 1),
    }
    if trained.steps:
        pairs["trainer.total_training_steps"] = trained.steps
    return tuple((pairs | _adapters(launch) | _judges(launch)).items())


def _adapters(launch: Launch) -> dict[str, object]:
    trained, model = launch.training, "actor_rollout_ref.model"
    if not trained.is_adapter:
        return {}
    return {
        "actor_rollout_ref.rollout.load_format": "safetensors",  # the engine loads the base itself
        f"{model}.lora_rank": trained.rank,
        f"{model}.lora_alpha": 2 * trained.rank,
        f"{model}.target_modules": f"[{','.join(trained.targets)}]" if trained.targets else "all-linear",
    }


def _judges(launch: Launch) -> dict[str, object]:
    """The critic and the reward model of PPO."""
    trained = launch.training
    if launch.post.objective != "ppo":
        return {}
    return {
        "algorithm.use_kl_in_reward": bool(trained.references),
        "critic.model.path": launch.model,
        "critic.model.enable_gradient_checkpointing": trained.recompute == "full",
        "critic.ppo_micro_batch_size_per_gpu": trained.micro_batch,
        "reward.reward_model.enable": True,
        "reward.reward_model.model_path": Variable("REWARD"),
    }
