"""Completions that a model learns from are written by an engine in each step: its memory, its time.

The laws are those of serving and of training; this joins them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from rigright.arch.count import params
from rigright.arch.record import Arch
from rigright.base.record import replace
from rigright.base.words import DECIDES, Sentence, say
from rigright.cost.memory.kv import token_bytes
from rigright.cost.memory.serving import serving_memory
from rigright.cost.speed.rates import Rates
from rigright.cost.speed.step import Pass
from rigright.cost.training.memory import EngineBytes
from rigright.cost.training.rates import TrainingRates
from rigright.cost.training.setup import Setup
from rigright.cost.training.time import LEARNT, TrainingTime
from rigright.demand import Layout, Numbers, PostTraining, Serving, Training
from rigright.facts.chips import Chip, by_id
from rigright.facts.engines import find_engine, how_runs
from rigright.facts.formats import find_kv_format
from rigright.facts.nodes import chip_card
from rigright.facts.training import find_trainer, objectives
from rigright.predict.served import DEFAULT_SEQS, prompt_alone, server_rates, token_pass
from rigright.terms.memory import device_of, started, weigh
from rigright.terms.speed import work_of

ENGINE, WEIGHTS, KV = "vllm", "bf16", "16bit"
USUAL = "h100-sxm5-80gb"  # kernels and graphs of an engine are counted on such a card
WEIGHT_BYTES = 2
NEVER_TIMED = (0.6, 1.5)  # measured over predicted, of a step that is assembled from two laws


def rollout_load(training: Training, layout: Layout) -> tuple[Numbers, Numbers, Numbers]:
    """Completions that an engine writes in a step, those at once, and their prompts."""
    post = _post(training)
    whole = np.asarray(training.micro_batch, dtype=float) * layout.dp
    whole = whole * (layout.pp if training.accumulate is None else training.accumulate)
    ranks = np.asarray(layout.tp) * layout.pp * layout.dp * layout.cp
    seqs = np.ceil(whole / np.maximum((post.rollout_gpus or ranks) / post.rollout_tp, 1))
    return seqs, np.ceil(np.minimum(seqs, DEFAULT_SEQS) / post.waves), np.ceil(seqs / post.group)


def _post(training: Training) -> PostTraining:
    if training.post is None:
        raise ValueError("a training on given texts writes none")
    return training.post


@lru_cache(maxsize=64)
def _awake(arch: Arch, tp: int) -> tuple[float, float]:
    """Bytes of an engine on each of its GPUs: what stays while it sleeps, and what it lets go of."""
    serving = Serving(engine=ENGINE, weights=WEIGHTS, kv=KV, context_tok=1)
    device = device_of(chip_card(by_id()[USUAL]), find_engine(ENGINE))
    memory = serving_memory(
        arch, weigh(arch, WEIGHTS), start=started(serving), layout=Layout(tp=tp), device=device
    )
    stays = memory.libraries_bytes + memory.graphs_bytes + memory.tables_bytes
    return float(stays), float(memory.weights_bytes + memory.step_bytes)


def engine_bytes(arch: Arch, training: Training, *, layout: Layout) -> EngineBytes:
    """What the engine takes of each of its GPUs; the cache holds what it writes at once."""
    post = _post(training)
    stays, awake = _awake(arch, post.rollout_tp)
    if find_trainer(training.trainer).shares_weights:
        awake -= float(weigh(arch, WEIGHTS).total_bytes) / post.rollout_tp
    form = find_kv_format(KV)
    each = token_bytes(arch, Layout(tp=post.rollout_tp), element_bytes=form.element_bytes)
    held = rollout_load(training, layout)[1] * np.asarray(training.seq_tok)
    return EngineBytes(
        mode=post.rollout, always_bytes=stays, awake_bytes=max(awake, 0.0), cache_bytes=held * each
    )


def rollout_rates(chips: Sequence[Chip]) -> Rates:
    """What chips reach while completions are written, in their order; nan where the engine does not run."""
    rates = server_rates(chips, find_engine(ENGINE), weights=WEIGHTS)
    able = np.array([runs_engine(chip) for chip in chips])
    return replace(rates, step_s=np.where(able, rates.step_s, np.nan))


def runs_engine(chip: Chip) -> bool:
    """Whether the engine runs there."""
    return any(how_runs(ENGINE, form, chip=chip) for form in ("bf16", "fp16"))


def sync_bytes(arch: Arch, training: Training) -> float:
    """New weights that each GPU of an engine gets in a step."""
    return WEIGHT_BYTES * params(arch) / _post(training).rollout_tp


def rollout_s(arch: Arch, training: Training, *, layout: Layout, rates: TrainingRates) -> Numbers:
    """Seconds until the last completion is written, each of its full length; weights come first."""
    post, (seqs, at_once, prompts) = _post(training), rollout_load(training, layout)
    work, cut = work_of(arch, weights=WEIGHTS, kv=KV), Layout(tp=post.rollout_tp)
    speed: Rates = rates.rollout
    prompt_tok = np.asarray(training.seq_tok, dtype=float) - post.completion_tok
    asked = Pass(prefill_tok=prompts * prompt_tok, prefill_seqs=prompts)
    budget = device_of(chip_card(by_id()[USUAL]), find_engine(ENGINE)).budget_tok
    prompt = prompt_alone(work, speed, layout=cut, prompt=asked, budget_tok=budget)
    context = prompt_tok + post.completion_tok / 2
    token = token_pass(work, speed, layout=cut, seqs=at_once, context_tok=context)
    passes = np.ceil(seqs / at_once) * post.completion_tok
    return prompt.total_s + passes * token.total_s + sync_bytes(arch, training) / rates.pcie_bytes_per_s


def post_time(
    arch: Arch, setup: Setup, *, plain: TrainingTime, layout: Layout, rates: TrainingRates
) -> TrainingTime:
    """A step of post-training: completions are written, scored, and learnt from; `plain`: of one learner."""
    training, pairs = setup.training, 1 if setup.objective is None else setup.objective.sequences
    scoring = np.asarray(plain.scoring_s)
    # critics learn beside the model
    parts = {name: getattr(plain, name) * setup.learning for name in LEARNT}
    written_s: Numbers = np.zeros(())
    if _post(training).rollout:
        written_s = rollout_s(arch, training, layout=layout, rates=rates)
    step = (plain.step_s - scoring) * setup.learning + scoring + written_s
    slower = plain.step_s / step
    parts |= {name: getattr(plain, name) * slower for name in ("tok_per_s_per_chip", "mfu", "hfu")}
    parts |= {"step_s": step, "rollout_s": written_s, "samples_per_s": plain.samples_per_s * slower / pairs}
    return replace(plain, **parts)


def post_notes(training: Training, *, chip: Chip) -> Iterator[Sentence]:
    """What was taken of the models around the one that learns, and of what is written."""
    post, setup = _post(training), objectives()[_post(training).objective]
    if post.rollout and not runs_engine(chip):
        yield say("vLLM does not run on {chip}: the speed of the rollout is not known", chip=chip.name).of(
            DECIDES
        )
    if post.rollout:
        yield say("every completion is taken at its full length; shorter ones end sooner")
    if setup.rewards:
        yield say("reward model and critic are taken as large as the model")
    if setup.references and training.references and training.method == "full" and post.rollout:
        yield say("with a reference model (KL term); --references 0 trains without")
