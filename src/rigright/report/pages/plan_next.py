"""What to type after `plan`, with everything filled in."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

from rigright.demand import PlanWish, Serving, Training
from rigright.facts.nodes import find_node
from rigright.report.pages import plan_words as words
from rigright.report.pages.brief import again
from rigright.search import named
from rigright.search.record import Plan
from rigright.verbs.planning.planned import Planned

LENGTHS = frozenset({"--prompt", "--output", "--context"})  # fixed where windows of sound are heard


def next_commands(result: Planned, first: Plan) -> Iterator[str]:
    """Commands with everything filled in."""
    model = result.model_asked
    alone = result if first.prefill is None else replace(result, wish=replace(result.wish, rate_per_s=None))
    for pool in _pools(first):
        yield shlex.join(["rigright", "explain", model, *_there(alone, pool), *_picture(result, pool)])
    plays = isinstance(first.work, Serving) and not (words.takes_samples(first) or words.transcribes(first))
    if plays and _alike_workers(first) is not None and not first.drafts.drafted_tok:
        yield shlex.join(["rigright", "simulate", model, *_simulate_flags(result, first)])
    machines = list(dict.fromkeys(named.machine_flag(plan) for plan in result.shown))
    if len(machines) > 1:
        yield shlex.join(["rigright", "compare", *machines[:3], "--for", model, *_work_flags(result)])
    if not result.reasons:
        yield f"{result.asked} --why"


def on_instead(result: Planned, plan: Plan) -> str:
    """The same question of a machine that does."""
    machine = named.machine_flag(plan)
    return again(result.asked, f"--on {shlex.quote(machine)}")


def _there(result: Planned, plan: Plan) -> list[str]:
    """The flags of the plan; one of a whole machine that was looked at stays on it, with its free memory."""
    flags = explain_flags(plan, wish=result.wish)
    paid = plan.n_chips if plan.supply.n_chips is None else plan.supply.n_chips
    if result.wish.on is None or paid != plan.n_chips:
        return flags
    if plan.n_chips != (result.seen_cards or find_node(result.wish.on).n_cards):
        return flags
    return ["--on", result.wish.on, *flags[2:]]


def _picture(result: Planned, plan: Plan) -> list[str]:
    """The size of pictures, where one was said or is the generator's own."""
    side = result.wish.image_px if isinstance(plan.work, Serving) and words.takes_samples(plan) else None
    return [] if side is None else ["--image-size", str(side)]


def _pools(plan: Plan) -> Iterator[Plan]:
    """The plan itself; of workers apart, each pool as a plan of its own: tokens first, then prompts.

    A pool alone has no load that it could be asked with, only the sequences that it holds.
    """
    if plan.prefill is None or not isinstance(plan.work, Serving):
        yield plan
        return
    for layout, batch in ((plan.layout, plan.work.batch), (plan.prefill, plan.prefill.dp)):
        n_chips = layout.tp * layout.pp * layout.dp
        yield replace(
            plan, layout=layout, prefill=None, concurrency=None, n_chips=n_chips,
            n_nodes=-(-n_chips * plan.n_nodes // plan.n_chips), work=replace(plan.work, batch=batch),
        )  # fmt: skip


def _alike_workers(plan: Plan) -> int | None:
    """Workers for prompts for each one for tokens, as a simulation takes them; None where they are unlike."""
    if plan.prefill is None:
        return 0
    workers, rest = divmod(plan.prefill.dp, plan.layout.dp)
    return None if rest or plan.prefill != replace(plan.layout, dp=plan.prefill.dp) else workers


def _simulate_flags(result: Planned, plan: Plan) -> list[str]:
    """The same plan with its load, played request by request."""
    wish = result.wish
    flags = _there(result, replace(next(_pools(plan)), concurrency=plan.concurrency))
    load = {
        "--prefill-workers": _alike_workers(plan) or None,
        "--ttft": None if wish.ttft_s is None else f"{wish.ttft_s:g}s",
        "--tpot": None if wish.tpot_s is None else f"{wish.tpot_s:g}s",
    }
    return [
        *flags,
        *(word for flag, value in load.items() if value is not None for word in (flag, str(value))),
    ]


def explain_flags(plan: Plan, *, wish: PlanWish | None = None) -> list[str]:
    """The plan as `explain` is asked for it, under the load that it was planned for."""
    flags, wish = ["--on", named.machine_flag(plan)], wish or PlanWish()
    if not isinstance(plan.work, Serving):
        return [*flags, *_training_flags(plan, plan.work)]
    work, layout = plan.work, plan.layout
    if words.takes_samples(plan):
        length = ["--context", str(work.context_tok)] if "texts_per_s" in plan.figures else []
        steps = [] if wish.steps is None else ["--steps", str(wish.steps)]
        compiled = ["--compiled"] if work.compiled else []
        said = ["--weights", work.weights, *length, *steps, "--batch", str(int(work.batch)), *compiled]
        return [*flags, *said]
    told = {
        "--engine": work.engine, "--weights": work.weights.removeprefix("gguf:"), "--kv": work.kv,
        "--context": work.context_tok, "--prompt": work.prompt_tok, "--output": wish.output_tok,
        "--cached": f"{wish.cached_share:g}" if wish.cached_share else None,
        "--percentile": None if wish.percentile is None else f"{100 * wish.percentile:.12g}",
        "--draft": f"{wish.draft:g}" if wish.draft is not None and plan.drafts.drafted_tok else None,
        "--draft-tokens": plan.drafts.drafted_tok or None,
        **_load(plan, work, wish=wish),
        "--step-tokens": None if work.offload is not None else work.budget_tok,
        "--max-seqs": work.max_seqs,
        "--util": None if work.utilisation is None else f"{work.utilisation:g}",
    }  # fmt: skip
    told = {flag: value for flag, value in told.items() if not (words.transcribes(plan) and flag in LENGTHS)}
    flags += [word for flag, value in told.items() if value is not None for word in (flag, str(value))]
    cuts = [(name, getattr(layout, name)) for name in ("tp", "pp", "dp", "ep", "cp")]
    flags += [word for name, count in cuts if count > 1 for word in (f"--{name}", str(count))]
    switches = {
        "--attention-dp": layout.attention_dp,
        "--no-graphs": not work.graphs,
        "--compiled": work.compiled,
    }
    return [*flags, *(flag for flag, is_on in switches.items() if is_on)]


def _load(plan: Plan, work: Serving, *, wish: PlanWish) -> dict[str, str]:
    """Requests in flight, or that arrive; of what has neither, the sequences that it holds."""
    if plan.concurrency is not None:
        return {"--concurrency": f"{plan.concurrency:.12g}"}
    if wish.rate_per_s is None:
        return {"--batch": str(int(work.batch))}
    return {"--rate": f"{wish.rate_per_s * wish.growth:.12g}"}


def _training_flags(plan: Plan, work: Training) -> list[str]:
    layout = plan.layout
    told = {
        "--trainer": work.trainer, "--optimizer": work.optimizer, "--offload": work.offload,
        "--precision": work.precision,
        "--seq": work.seq_tok, "--micro-batch": work.micro_batch, "--accumulate": work.accumulate,
        "--virtual-stages": work.virtual_stages,
        "--schedule": work.schedule if layout.pp > 1 else None,
        **{f"--{name}": getattr(layout, name) for name in ("tp", "pp", "dp", "ep", "cp")},
    }  # fmt: skip
    kept = {"--micro-batch", "--accumulate"}
    kept |= {"--ep"} if max(layout.tp, layout.pp, layout.cp, layout.ep) > 1 else set()
    said = {flag: value for flag, value in told.items() if flag in kept or value not in {None, "none", 1}}
    said |= {} if work.recompute is None else {"--recompute": work.recompute}  # a trainer may have its own
    flags = [word for flag, value in said.items() for word in (flag, str(value))]
    flags += ["--sharding", work.sharding] if layout.dp > 1 or work.sharding != "none" else []
    usual = Training()
    adapters = {"--rank": work.rank, "--targets": work.targets} if work.method != "full" else {}
    adapters |= {"--base": work.base} if work.method == "qlora" else {}
    told = {flag: value for flag, value in adapters.items() if value != getattr(usual, flag[2:])}
    flags += [word for flag, value in told.items() for word in (flag, str(value))]
    switches = {
        "--no-flash": not work.flash, "--chunked-loss": work.chunked_loss, "--compiled": work.compiled,
        "--sequence-parallel": layout.sequence_parallel,
    }  # fmt: skip
    return ["--train", work.method, *flags, *(flag for flag, is_on in switches.items() if is_on)]


def _work_flags(result: Planned) -> list[str]:
    wish = result.wish
    told = {
        "--mode": None if wish.work == "serve" else wish.work,
        "--prompt": wish.prompt_tok, "--output": wish.output_tok, "--context": wish.context_tok,
        "--draft": None if wish.draft is None else f"{wish.draft:g}",
        "--draft-tokens": wish.draft_tok,
        "--concurrency": None if wish.users is None else f"{wish.users:.12g}",
        "--rate": None if wish.rate_per_s is None else f"{wish.rate_per_s:.12g}",
        "--tokens": None if wish.train_tok is None else f"{wish.train_tok:.0f}",
        "--image-size": wish.image_px, "--steps": wish.steps,
        "--seq": wish.seq_tok, "--batch": wish.global_batch,
        "--method": wish.method,
    }  # fmt: skip
    fixed = LENGTHS if wish.work == "speech" else frozenset()
    kept = {flag: value for flag, value in told.items() if value is not None and flag not in fixed}
    return [word for flag, value in kept.items() for word in (flag, str(value))]
