"""How the completions of a post-training are written: engines, their share of a GPU, weights they get."""

from __future__ import annotations

from rigright.base.record import dataclass
from rigright.predict.rollout import sync_bytes, written
from rigright.verbs.training.case import TrainingOnCards


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """Engines that write the completions of a step."""

    mode: str  # "sleep", "colocate", "apart"
    prompts: int  # of a step
    group: int  # completions of each
    prompt_tok: int
    completion_tok: int
    engines: int
    engine_gpus: int  # of each
    at_once: int  # completions that an engine writes at once
    share: float  # of the memory of a GPU, for its weights and cache (gpu_memory_utilization)
    sync_bytes: float  # of new weights, that each of its GPUs gets in a step


def rollout_of(case: TrainingOnCards) -> Rollout | None:
    """The engines of a training; None where nothing is written."""
    training, layout, post = case.training, case.layout, case.training.post
    if post is None or not post.rollout:
        return None
    load = written(training, layout)
    ranks = int(layout.tp * layout.pp * layout.dp * layout.cp)
    step = int(training.micro_batch * (training.accumulate or 1) * layout.dp)
    parts = case.memory().by_phase["rollout"]
    taken = float((parts["engine"] + parts["kv"]).max())
    return Rollout(
        mode=post.rollout,
        prompts=-(-step // post.group),
        group=post.group,
        prompt_tok=int(training.seq_tok - post.completion_tok),
        completion_tok=post.completion_tok,
        engines=max((post.rollout_gpus or ranks) // post.rollout_tp, 1),
        engine_gpus=post.rollout_tp,
        at_once=int(load.at_once),
        share=taken / case.card_bytes,
        sync_bytes=sync_bytes(case.arch, training),
    )
