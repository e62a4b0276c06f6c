"""OpenRLHF: one command of the program for the loss, every choice a flag."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.export.launch import Launch
from rigright.export.text import Variable, Words, given, script

NAME = "openrlhf"
PROGRAMS = {"dpo": "train_dpo", "reward": "train_rm"}  # every other loss is of the one with rollouts
ROLLED = "train_ppo_ray"
ESTIMATORS = {"grpo": "group_norm", "rloo": "rloo", "ppo": "gae"}


def export(launch: Launch) -> dict[str, str]:
    """The command."""
    return {"train.sh": script(command(launch), head=launch.head, environment=launch.environment)}


def command(launch: Launch) -> Words:
    """On Ray where completions are written; else one program a GPU, as DeepSpeed starts it."""
    post = launch.post
    trained = launch.training
    able = {"lora", "qlora", "full", "bf16", "none", "zero1", "zero2", "zero3", "optimizer-cpu"}
    for choice in {trained.method, trained.precision, trained.sharding, trained.offload} - able:
        raise AskError(
            say("{engine} is not exported with {choice}", engine=launch.program.label, choice=choice)
        )
    if post.rollout:
        return ("python3", "-m", f"openrlhf.cli.{ROLLED}"), *_rolled(launch), *_batch(launch)
    if launch.nodes > 1:
        raise AskError(
            say(
                "{engine} is not exported with {choice}",
                engine=launch.program.label,
                choice=f"{launch.nodes} nodes",
            )
        )
    start = (
        "deepspeed",
        "--num_gpus",
        str(launch.gpus),
        "--module",
        f"openrlhf.cli.{PROGRAMS[post.objective]}",
    )
    return start, *_offline(launch), *_batch(launch)


def _batch(launch: Launch) -> Words:
    trained = launch.training
    step = trained.micro_batch * trained.accumulate * launch.dp
    targets = (
        (("--ds.lora.target_modules", *trained.targets),) if trained.is_adapter and trained.targets else ()
    )
    return targets + given(
        ("--train.micro_batch_size", trained.micro_batch),
        ("--train.batch_size", step),
        ("--train.max_epochs", 1 if launch.post.rollout else max(int(trained.epochs), 1)),
        ("--data.max_len", trained.seq_tok),
        ("--ds.zero_stage", trained.zero_stage),
        ("--ds.adam_offload", trained.offload != "none"),
        ("--ds.use_liger_kernel", trained.chunked_loss),
        ("--ds.load_in_4bit", trained.method == "qlora"),
        ("--ds.lora.rank", trained.rank if trained.is_adapter else None),
        ("--ds.lora.alpha", 2 * trained.rank if trained.is_adapter else None),
        ("--ds.lora.dropout", trained.dropout if trained.is_adapter else None),
        ("--ckpt.output_dir", "out"),
        ("--ckpt.save_steps", 100),
    )  # fmt: skip


def _offline(launch: Launch) -> Words:
    trained = launch.training
    return given(
        ("--model.model_name_or_path", launch.model),
        ("--data.dataset", Variable("DATA")),
        ("--data.apply_chat_template", True),
        ("--model.gradient_checkpointing_enable", trained.recompute == "full"),
        ("--adam.lr", 5e-6 if trained.is_adapter else 5e-7),
    )


def _rolled(launch: Launch) -> Words:
    trained, post = launch.training, launch.post
    step = trained.micro_batch * trained.accumulate * launch.dp
    places = (
        "actor",
        *(("ref",) if trained.references else ()),
        *(("critic", "reward") if _ppo(launch) else ()),
    )
    return given(
        ("--actor.model_name_or_path", launch.model),
        ("--data.prompt_dataset", Variable("DATA")),
        ("--data.apply_chat_template", True),
        *(pair for name in places for pair in (
            (f"--{name}.num_nodes", launch.nodes), (f"--{name}.num_gpus_per_node", launch.gpus))),
        ("--train.colocate_all", True),
        ("--vllm.num_engines", max(launch.ranks // post.rollout_tp, 1)),
        ("--vllm.tensor_parallel_size", post.rollout_tp),
        ("--vllm.gpu_memory_utilization", round(trained.rollout_share, 2)),
        ("--vllm.enable_sleep", post.rollout == "sleep"),
        ("--algo.advantage.estimator", ESTIMATORS[post.objective]),
        ("--algo.kl.use_loss", bool(trained.references) and not _ppo(launch)),
        ("--algo.kl.init_coef", 0.001 if trained.references else 0),
        ("--rollout.n_samples_per_prompt", post.group),
        ("--rollout.batch_size", max(step // post.group, 1)),
        ("--rollout.micro_batch_size", trained.micro_batch),
        ("--rollout.max_new_tokens", post.completion_tok),
        ("--actor.gradient_checkpointing_enable", trained.recompute == "full"),
        ("--train.num_episodes", max(int(trained.epochs), 1)),
        ("--reward.model_name_or_path", Variable("REWARD") if _ppo(launch) else None),
        ("--reward.remote_url", None if _ppo(launch) else Variable("REWARD")),
    )  # fmt: skip


def _ppo(launch: Launch) -> bool:
    return launch.post.objective == "ppo"
