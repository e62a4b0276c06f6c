"""A plan of post-training as facts by name, which data/post_flags.toml hands to the words of programs."""

from __future__ import annotations

from typing import Any

from rigright.base.tables import DATA, read_toml
from rigright.export.launch import Launch
from rigright.export.text import Variable
from rigright.facts.training import objectives

DIVIDING = {"none": 1, "fsdp": -1, "hsdp": 8}  # ranks that divide the states; -1: all
DTYPES = {"bf16": "bfloat16", "fp16": "float16"}
USUAL_LR, ADAPTER_LR = 1e-6, 1e-5  # of a loss with rollouts; half of it of others


def settings_of(launch: Launch, *sections: str) -> dict[str, Any]:
    """Each word of a program with its value, of the sections that are for it."""
    table, facts = read_toml(DATA / "post_flags.toml"), facts_of(launch)
    facts["estimator"] = table["estimators"].get(sections[0].partition(" ")[0], {}).get(launch.post.objective)
    rows = ((word, name) for section in sections for word, name in table[section].items())
    values = ((word, name[1:] if name[0] == "=" else facts[name]) for word, name in rows)
    return {word: value for word, value in values if value is not None}


def facts_of(launch: Launch) -> dict[str, Any]:
    """The facts; None says nothing."""
    trained, post = launch.training, launch.post
    row, adapts, judged = objectives()[post.objective], trained.is_adapter, post.objective == "ppo"
    step = trained.micro_batch * trained.accumulate * launch.dp
    rate, kl = ADAPTER_LR if adapts else USUAL_LR, bool(trained.references)
    recomputed = trained.recompute == "full"
    modules = f"[{','.join(trained.targets)}]" if trained.targets else "all-linear"
    return {
        "model": launch.model, "data": Variable("DATA"), "eval": Variable("EVAL"), "yes": True,
        "gpus": launch.gpus, "nodes": launch.nodes, "step": step, "micro": trained.micro_batch,
        "prompts": max(step // post.group, 1), "group": post.group, "seq_tok": trained.seq_tok,
        "prompt_tok": trained.seq_tok - post.completion_tok, "completion_tok": post.completion_tok,
        "lr": rate, "small_lr": rate / 2, "steps": trained.steps or None,
        "epochs": max(int(trained.epochs), 1), "recomputed": recomputed, "chunked": trained.chunked_loss,
        "params_away": trained.offload == "all-cpu", "states_away": trained.offload != "none",
        "dividing": DIVIDING.get(trained.sharding), "zero_stage": trained.zero_stage,
        "dtype": DTYPES.get(trained.precision), "model_dtype": "bf16" if adapts else "fp32",
        "quantised": trained.method == "qlora", "rank": trained.rank if adapts else None,
        "alpha": 2 * trained.rank if adapts else None, "dropout": trained.dropout if adapts else None,
        "targets": trained.targets if adapts and trained.targets else None,
        "modules": modules if adapts else None,
        "load_format": "safetensors" if adapts else None,  # the engine loads the base itself
        "variant": row.loss_type or None, "precomputed": not kl if row.references else None,
        "beta": 0.001 if kl else 0.0, "kl_loss": kl and not judged, "kl_in_reward": kl if judged else None,
        "rollout_tp": post.rollout_tp, "sleeps": post.rollout == "sleep",
        "share": round(trained.rollout_share, 2), "engines": max(launch.ranks // post.rollout_tp, 1),
        "ref_nodes": launch.nodes if kl else None, "ref_gpus": launch.gpus if kl else None,
        "judge_nodes": launch.nodes if judged else None, "judge_gpus": launch.gpus if judged else None,
        "judged": judged or None, "critic": launch.model if judged else None,
        "critic_recomputed": recomputed if judged else None,
        "critic_micro": trained.micro_batch if judged else None,
        "reward_model": Variable("REWARD") if judged else None,
        "reward_url": None if judged else Variable("REWARD"),
    }  # fmt: skip
