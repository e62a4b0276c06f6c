"""Plans in words: their supply, layout, formats, money and figures, as cells and sentences use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rigright.base.units import KILO, show_count, show_seconds, show_short, show_usd, show_watts
from rigright.base.words import Sentence, say, with_commas
from rigright.cost.estimate import Estimate
from rigright.demand import Layout, PlanWish, Serving, Training
from rigright.report.page import Shown
from rigright.report.pages.speed import TIME_NAMES, between, time_between
from rigright.search.record import Plan

DAY_S = 86400
MARKS = {
    "measured": say("your own runs"),
    "fitted": say("runs of such chips"),
    "physics": say("the data sheet alone"),
}
SAMPLES = ("images_per_s", "texts_per_s")
SPEEDS = ("tpot_s", "train_tok_per_s", *SAMPLES)
BOUNDS = {
    **TIME_NAMES,
    "cache": say("room for caches: requests wait"),
    "prompts": say("workers for prompts: requests wait"),
}

WORKS = {
    "serve": say("serve"),
    "chat": say("chat"),
    "batch": say("batch"),
    "finetune": say("fine-tune"),
    "pretrain": say("pre-train"),
    "image": say("images"),
    "embed": say("texts to vectors"),
}


def is_mixed(plan: Plan) -> bool:
    """Whether its cards are unlike: their chip then bears all their names."""
    return " + " in plan.chip.name


def machine(plan: Plan) -> str:
    """The cards of a plan: "8x H100 SXM5 80GB", "2 x (8x H200)"."""
    if is_mixed(plan):
        return plan.chip.name
    if plan.n_nodes <= 1:
        return f"{plan.n_chips}x {plan.chip.name}"
    each = -(-plan.n_chips // plan.n_nodes)
    if each * plan.n_nodes != plan.n_chips:
        return f"{plan.n_chips}x {plan.chip.name}"
    return f"{plan.n_nodes} x ({each}x {plan.chip.name})"


def machine_flag(plan: Plan) -> str:
    """The same as --on takes it."""
    if is_mixed(plan):
        return plan.chip.name
    each = -(-plan.n_chips // max(plan.n_nodes, 1))
    if plan.n_nodes > 1 and each * plan.n_nodes == plan.n_chips:
        return f"{plan.n_nodes} nodes of {each}x {plan.chip.id}"
    return f"{plan.n_chips}x {plan.chip.id}"


def supply(plan: Plan) -> Sentence:
    """Where the cards come from."""
    own = plan.supply
    if own.how == "own":
        return say("yours already")
    return say("rent {label}", label=own.label) if own.how == "rent" else say("buy")


def workers(plan: Plan) -> Sentence | str:
    """How the work is cut, in workers of two sorts where it is: "prefill 2x tp2 + decode 1x tp4"."""
    if plan.prefill is None:
        return layout(plan.layout)
    prefill, decode = (pool(one) for one in (plan.prefill, plan.layout))
    return say("prefill {prefill} + decode {decode}", prefill=prefill, decode=decode)


def pool(found: Layout) -> str:
    """Workers alike: "2x tp4"."""
    cuts = [f"{name}{getattr(found, name)}" for name in ("tp", "pp", "ep") if getattr(found, name) > 1]
    cuts += ["dp attention"] if found.attention_dp else []
    return " ".join([f"{found.dp}x", *(cuts or ["tp1"])])


def layout(found: Layout) -> Sentence | str:
    """How the work is cut: "tp 2, 4 replicas"."""
    cuts = [f"{name} {getattr(found, name)}" for name in ("tp", "pp", "cp", "ep") if getattr(found, name) > 1]
    cuts += ["attention dp"] if found.attention_dp else []
    told = ", ".join(cuts)
    if found.dp == 1:
        return told or say("one card")
    if not told:
        return say("{count} replicas, a card each", count=found.dp)
    return say("{cuts}; {count} replicas", cuts=told, count=found.dp)


def formats(plan: Plan) -> Sentence | str:
    """What weights and caches are kept in; of a training, its method and how states are cut."""
    if not isinstance(plan.work, Serving):
        told = [plan.work.method, "" if plan.work.sharding == "none" else plan.work.sharding]
        return ", ".join(filter(None, told))
    weights = plan.work.weights.removeprefix("gguf:")
    return (
        weights if plan.work.kv == "16bit" else say("{weights}, cache {kv}", weights=weights, kv=plan.work.kv)
    )


def step(work: Training) -> Sentence:
    """What one optimizer step of a rank is made of."""
    size = f"{work.micro_batch} x {work.accumulate or 1}"
    if work.recompute in {None, "none"}:
        return say("micro-batches {size}", size=size)
    return say("micro-batches {size}, recompute {recompute}", size=size, recompute=work.recompute)


def figure(name: str, found: Estimate | None) -> str:
    """One figure with its band, as its kind is shown."""
    if found is None:
        return ""
    return _SHOWN.get(name, between)(found)


def _usd_between(found: Estimate) -> str:
    edges = f"{show_usd(found.low).lstrip('$')}-{show_usd(found.high).lstrip('$')}"
    return show_usd(found.value) if found.low == found.high else f"{show_usd(found.value)} ({edges})"


def _usd_of_thousand(found: Estimate) -> str:
    return _usd_between(
        replace(found, value=found.value * KILO, low=found.low * KILO, high=found.high * KILO)
    )


def _share(found: Estimate) -> str:
    return f"{found.value:.0%}"


def _days(found: Estimate) -> str:
    seconds = replace(found, value=found.value * DAY_S, low=found.low * DAY_S, high=found.high * DAY_S)
    return time_between(seconds)


def _power(found: Estimate) -> str:
    return show_watts(found.value)


_SHOWN: dict[str, Callable[[Estimate], str]] = {
    **dict.fromkeys(("ttft_s", "tpot_s", "latency_s"), time_between),
    **dict.fromkeys(("usd", "usd_per_h", "usd_per_mtok", "usd_total"), _usd_between),
    **dict.fromkeys(("usd_per_image", "usd_per_text"), _usd_of_thousand),
    **dict.fromkeys(("headroom", "mfu"), _share),
    "power_w": _power,
    "days": _days,
}


def speed(plan: Plan) -> Shown:
    """How fast, in a verdict."""
    trained = plan.figures.get("train_tok_per_s")
    if trained is not None:
        return _training(plan, trained)
    if takes_samples(plan):
        return _sampled(plan)
    found, users = plan.figures.get("output_tok_per_s"), plan.concurrency
    if found is None:
        return ""
    if users is None or users <= 1:
        return say("{rate} tok/s", rate=between(found))
    return say("{rate} tok/s for {users} at once", rate=between(found), users=f"{users:,.0f}")


def takes_samples(plan: Plan) -> bool:
    """Whether it is on whole images or texts."""
    return any(name in plan.figures for name in SAMPLES)


def _sampled(plan: Plan) -> Shown:
    """How many a second, and how long all of them take where that is known."""
    drawn, read = (plan.figures.get(name) for name in SAMPLES)
    told = say("{rate} images/s", rate=between(drawn)) if drawn else ""
    told = say("{rate} texts/s", rate=between(read)) if read else told
    days = plan.figures.get("days")
    return told if days is None else with_commas([say("done in {time}", time=_days(days)), told]) or ""


def _training(plan: Plan, rate: Estimate) -> Shown:
    """How long it takes, where that is known, and how fast."""
    days, told = plan.figures.get("days"), say("{rate} tok/s", rate=between(rate))
    return told if days is None else with_commas([say("done in {time}", time=_days(days)), told]) or ""


def money(plan: Plan) -> Shown:
    """What it costs, in a verdict."""
    figures = plan.figures
    if plan.supply.how == "own":
        return say("yours already")
    if plan.supply.how == "buy":
        known = figures.get("usd")
        return say("no price known") if known is None else say("{usd} to buy", usd=show_usd(known.value))
    whole = figures.get("usd_total") if "days" in figures else None
    if whole is not None:
        return say("{usd} in all", usd=show_usd(whole.value))
    known = figures.get("usd_per_h")
    return say("no price known") if known is None else say("{usd} an hour", usd=show_usd(known.value))


def at_percentile(name: str, head: Sentence, *, wish: PlanWish) -> Sentence:
    """The head of a row, with the share of requests its figures hold for."""
    if wish.percentile is None or name not in {"ttft_s", "tpot_s"}:
        return head
    return say("{figure}, p{share}", figure=head, share=f"{100 * wish.percentile:g}")


def known_by(plan: Plan) -> Shown:
    """What the speed is known by."""
    found = next((plan.figures[name] for name in SPEEDS if name in plan.figures), None)
    return "" if found is None else MARKS.get(found.mark, found.mark)


def power(plan: Plan) -> str:
    """What it draws, in a verdict."""
    found = plan.figures.get("power_w")
    return "" if found is None else show_watts(found.value)


def engine(plan: Plan) -> Sentence | str:
    """Who runs it, and how it drafts."""
    if not isinstance(plan.work, Serving):
        return plan.work.trainer
    if not plan.drafts.drafted_tok:
        return plan.work.engine
    shown = {"engine": plan.work.engine, "count": plan.drafts.drafted_tok}
    if plan.drafts.own:
        return say("{engine}, drafts {count} with its own MTP head", **shown)
    return say("{engine}, drafts {count}", **shown)


def at_once(plan: Plan) -> str:
    """Requests in flight."""
    return "" if not plan.concurrency else f"{plan.concurrency:,.0f}"


def work(wish: PlanWish) -> Shown:
    """What is asked: the kind of work, its lengths, its load, its limits."""
    lengths: Shown = ""
    if wish.prompt_tok and wish.output_tok:
        prompt, output = f"{wish.prompt_tok:,}", f"{wish.output_tok:,}"
        lengths = say("{prompt} tokens in, {output} out", prompt=prompt, output=output)
    lengths = lengths or _size(wish)
    load: Shown = ""
    if wish.users is not None:
        load = say("{users} at once", users=_plainly(wish.users))
    elif wish.rate_per_s is not None:
        load = say("{rate} requests a second", rate=_plainly(wish.rate_per_s))
    told = [WORKS[wish.work], *_learning(wish), lengths, load, *_many(wish), *limits(wish)]
    return with_commas(told) or ""


def _plainly(number: float) -> str:
    """A number somebody typed, never as a power of ten."""
    return f"{number:,.0f}" if number >= KILO else f"{number:g}"


def _many(wish: PlanWish) -> list[Shown]:
    """How many samples, and until when."""
    if wish.samples is None or wish.train_tok is not None:
        return []
    count = show_count(wish.samples * wish.epochs)
    within = wish.days is not None and wish.work not in {"finetune", "pretrain"}
    days = show_seconds(wish.days * DAY_S) if within and wish.days is not None else ""
    return [say("{count} in all", count=count), say("within {time}", time=days) if days else ""]


def _size(wish: PlanWish) -> Shown:
    """How large a sample is."""
    if wish.work == "embed" and wish.prompt_tok:
        return say("{tokens} tokens each", tokens=f"{wish.prompt_tok:,}")
    if wish.image_px:
        return say("{px} x {px} pixels", px=wish.image_px)
    return ""


def _learning(wish: PlanWish) -> list[Shown]:
    """What is trained on: method, tokens, sequences, deadline."""
    if wish.work not in {"finetune", "pretrain"}:
        return []
    seq, batch = wish.seq_tok, wish.global_batch
    return [
        wish.method or "",
        "" if wish.train_tok is None else say("{tokens} tokens", tokens=show_count(wish.train_tok)),
        "" if not (seq and batch) else say("steps of {batch} x {seq}", batch=f"{batch:,}", seq=f"{seq:,}"),
        "" if wish.days is None else say("within {time}", time=show_seconds(wish.days * DAY_S)),
    ]


def limits(wish: PlanWish) -> list[Sentence]:
    """What was asked for, limit by limit."""
    told = {
        "TTFT": None if wish.ttft_s is None else show_seconds(wish.ttft_s),
        "TPOT": None if wish.tpot_s is None else show_seconds(wish.tpot_s),
        say("a batch"): None if wish.latency_s is None else show_seconds(wish.latency_s),
        "$/h": None if wish.usd_per_h is None else show_usd(wish.usd_per_h),
        "$/M tok": None if wish.usd_per_mtok is None else show_usd(wish.usd_per_mtok),
        "W": None if wish.power_w is None else show_watts(wish.power_w),
    }
    found = [say("{name} at most {bound}", name=name, bound=bound) for name, bound in told.items() if bound]
    if wish.percentile is not None and (wish.ttft_s or wish.tpot_s):
        found.append(say("for {share} of requests", share=f"{wish.percentile:.0%}"))
    if wish.budget_usd is not None:
        found.append(say("budget {usd}", usd=wish.budget_said or show_usd(wish.budget_usd)))
    if wish.tok_per_s is not None:
        found.append(say("at least {rate} tok/s", rate=show_short(wish.tok_per_s)))
    return found
