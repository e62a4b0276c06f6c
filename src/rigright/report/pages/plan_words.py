"""Plans in words: their supply, layout, formats, money and figures, as cells and sentences use them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rigright.base.money import show_money
from rigright.base.page import Shown
from rigright.base.units import KILO, show_count, show_seconds, show_short, show_watts
from rigright.base.words import DOUBT, Sentence, say, with_commas, worded
from rigright.cost.estimate import SECONDS_PER_DAY, Estimate
from rigright.demand import Layout, PlanWish, Serving, Training
from rigright.facts.clouds import cloud_shown
from rigright.facts.engines import find_engine
from rigright.facts.hosts import CPU
from rigright.report.pages.brief import (
    done_in,
    expected,
    images_rate,
    limit_time,
    little_spare,
    money_words,
    safe_load,
    show_tokens,
)
from rigright.report.pages.figures import FIGURES, SAMPLES, TIME_NAMES, amount, rate_of, symbol
from rigright.search import named
from rigright.search.record import Plan

_MOST_CERTAIN = 99  # per cent: nothing is surer than that
MARKS = {
    "measured": say("your own benchmarks"),
    "fitted": say("benchmarks of this GPU generation"),
    "physics": say("datasheet only"),
}
_SPEEDS = ("tpot_s", "train_tok_per_s", *SAMPLES)
USED_CARDS = say("used cards carry no warranty")
BOUNDS = {
    **TIME_NAMES,
    "cache": say("KV cache full: requests queue"),
    "prompts": say("prefill workers busy: requests queue"),
}

_WORKS = {
    "serve": say("serve"),
    "chat": say("chat"),
    "rag": say("RAG"),
    "agent": say("agent"),
    "batch": say("batch"),
    "rerank": say("rerank"),
    "speech": say("speech to text"),
    "finetune": say("fine-tune"),
    "pretrain": say("pre-train"),
    "image": say("images"),
    "embed": say("embeddings"),
}


def supply(plan: Plan) -> Sentence:
    """Where the cards come from."""
    own = plan.supply
    if own.how == "own":
        return say("your own")
    return say("rent {label}", label=cloud_shown(own.label)) if own.how == "rent" else say("buy")


def source(plan: Plan) -> Shown:
    """The machine: whether its cards are used, and of a rented one who rents it out."""
    if plan.supply.how != "rent":
        return (
            say("{machine}, used", machine=named.machine(plan)) if plan.supply.used else named.machine(plan)
        )
    cloud = plan.supply.label.removeprefix(f"{plan.supply.n_units}x ").partition(" ")[0]
    return say("{machine}, {cloud}", machine=named.machine(plan), cloud=cloud_shown(cloud))


def workers(plan: Plan) -> Sentence | str:
    """How the work is cut, in workers of two sorts where it is: "prefill 2x tp2 + decode 1x tp4"."""
    if plan.prefill is None:
        return layout(plan.layout)
    prefill, decode = (named.pool(item) for item in (plan.prefill, plan.layout))
    return say("prefill {prefill} + decode {decode}", prefill=prefill, decode=decode)


def layout(result: Layout) -> Sentence | str:
    """How the work is cut: "tp 2, 4 replicas"."""
    cuts = [
        f"{name} {getattr(result, name)}" for name in ("tp", "pp", "cp", "ep") if getattr(result, name) > 1
    ]
    cuts += ["attention dp"] if result.attention_dp else []
    text = ", ".join(cuts)
    if result.dp == 1:
        return text or say("one GPU")
    if not text:
        return say("{count} replicas, one GPU each", count=result.dp)
    return say("{cuts}; {count} replicas", cuts=text, count=result.dp)


def formats(plan: Plan) -> Sentence | str:
    """What weights and caches are kept in; of a training, its method and how states are cut."""
    if not isinstance(plan.work, Serving):
        sharding = "" if plan.work.sharding == "none" else plan.work.sharding
        return with_commas([worded("method")(plan.work.method), sharding]) or ""
    weights = plan.work.weights.removeprefix("gguf:")
    return weights if plan.work.kv == "16bit" else say("{weights}, {kv} KV", weights=weights, kv=plan.work.kv)


def step(work: Training) -> Sentence:
    """What one optimizer step of a rank is made of."""
    size = f"{work.micro_batch} x {work.accumulate or 1}"
    if work.recompute in {None, "none"}:
        return say("micro-batches {size}", size=size)
    return say("micro-batches {size}, recompute {recompute}", size=size, recompute=work.recompute)


def transcribes(plan: Plan) -> bool:
    """Whether it writes down what is said."""
    return "audio_h_per_h" in plan.figures


def takes_samples(plan: Plan) -> bool:
    """Whether it is on whole images or texts."""
    return any(name in plan.figures for name in SAMPLES)


def estimate(plan: Plan, name: str) -> Estimate | None:
    """A figure as it is shown: of one user alone the speed that tokens come at, as benchmarks give it."""
    result, pace = plan.figures.get(name), plan.figures.get("tpot_s")
    if name != "output_tok_per_s" or plan.concurrency != 1 or pace is None or transcribes(plan):
        return result
    return replace(pace, value=1 / pace.value, low=1 / pace.high, high=1 / pace.low)


def speed(plan: Plan) -> Shown:
    """How fast, and how long all of it takes where that is known, in a verdict."""
    name = rate_of(plan.figures)
    result = estimate(plan, name)
    if result is None:
        return ""
    rate = show_short(result.value)
    sentence: Shown = {
        "audio_h_per_h": say("{hours} hours of audio per hour", hours=rate),
        "images_per_s": images_rate(rate, compiled=plan.work.compiled),
        "texts_per_s": say("{rate} texts/s", rate=rate),
    }.get(name, say("{rate} tok/s", rate=rate))
    users, days = plan.concurrency, plan.figures.get("days")
    if name == "output_tok_per_s" and users is not None and users > 1:
        sentence = expected(rate, users=users, safe=plan.safe)
    if days is None:
        return sentence
    parts = [done_in(days), sentence]
    return with_commas(reversed(parts) if name == "audio_h_per_h" else parts) or ""


def safe(plan: Plan) -> Shown:
    """The load whose limits surely hold, where it is a smaller one."""
    if plan.safe is None or plan.concurrency is None or plan.safe.concurrency >= plan.concurrency:
        return ""
    return safe_load(plan.safe)


def certain(plan: Plan) -> str:
    """The chance that it keeps the limits of time; of an open load the safe one stands for it."""
    if plan.safe is not None or not plan.certainty:
        return ""
    return f"{min(int(100 * min(plan.certainty.values())), _MOST_CERTAIN)}%"


def load(plan: Plan) -> Shown:
    """Requests in flight, in a verdict."""
    return say("concurrency {users}", users=f"{plan.concurrency:,.0f}") if plan.concurrency else ""


def context(plan: Plan, wish: PlanWish) -> Shown:
    """How long a sequence may be, in a verdict where that is asked or one person chats."""
    if not isinstance(plan.work, Serving) or takes_samples(plan) or transcribes(plan):
        return ""
    if wish.context_tok is None and wish.work != "chat":
        return ""
    return say("{tokens} context", tokens=show_tokens(plan.work.context_tok))


def money_of(plan: Plan, wish: PlanWish) -> Shown:
    """What it costs and when that was so, in a verdict."""
    return money_words(plan.figures, plan.supply, currency=wish.currency)


def known_by(plan: Plan) -> Shown:
    """What the speed is based on, with its band."""
    name = rate_of(plan.figures)
    result = estimate(plan, name)
    if result is None or not basis(plan):
        return ""
    band = f"{show_short(result.low)}-{show_short(result.high)}"
    unit = FIGURES[name].head
    return say("80 % band {band} {unit}, based on {basis}", band=band, unit=unit, basis=basis(plan))


def basis(plan: Plan) -> Shown:
    """What the speed is known from."""
    estimate = next((plan.figures[name] for name in _SPEEDS if name in plan.figures), None)
    if estimate is not None and estimate.mark == "fitted" and (plan.host or plan.chip.vendor == CPU):
        return say("benchmarks of CPUs in this class")
    return "" if estimate is None else MARKS.get(estimate.mark, estimate.mark)


def engine(plan: Plan) -> Sentence | str:
    """Who runs it, and how it drafts."""
    if not isinstance(plan.work, Serving):
        return plan.work.trainer
    if not plan.drafts.drafted_tok:
        return plan.work.engine
    shown = {"engine": plan.work.engine, "count": plan.drafts.drafted_tok}
    if plan.drafts.own:
        return say("{engine}, drafts {count} with its own MTP head", **shown)
    by = {"eagle3": "EAGLE-3", "ngram": "n-gram"}.get(plan.drafts.method, plan.drafts.model)
    return say("{engine}, drafts {count} with {by}", **shown, by=by)


def concurrency(plan: Plan) -> str:
    """Requests in flight."""
    return "" if not plan.concurrency else f"{plan.concurrency:,.0f}"


def why(plan: Plan) -> Shown:
    """Why it is among the options, in a cell; of a doubt no more than that there is one."""
    if not plan.reasons:
        return ""
    first = plan.reasons[0]
    doubtful = first.kind == DOUBT and "what" in dict(first.values)
    return say("cheaper, less certain") if doubtful else first


def work(wish: PlanWish) -> Shown:
    """What is asked: the kind of work, its lengths, its load, its limits."""
    lengths: Shown = ""
    if wish.prompt_tok and wish.output_tok:
        prompt, output = f"{wish.prompt_tok:,}", f"{wish.output_tok:,}"
        lengths = say("{prompt} prompt + {output} output tokens", prompt=prompt, output=output)
    if wish.work == "speech":
        lengths = ""
    lengths = lengths or _size(wish)
    load: Shown = ""
    if wish.users is not None:
        load = say("concurrency {users}", users=_plainly(wish.users))
    elif wish.rate_per_s is not None:
        load = say("{rate} requests/s", rate=_plainly(wish.rate_per_s))
    sentences = [_WORKS.get(wish.work, ""), *_learning(wish), lengths, load, *_many(wish), *limits(wish)]
    return with_commas(sentences) or ""


def _plainly(number: float) -> str:
    """A number somebody typed, never as a power of ten."""
    return f"{number:,.0f}" if number >= KILO else f"{number:g}"


def _many(wish: PlanWish) -> list[Shown]:
    """How many samples, and until when."""
    if wish.samples is None or wish.train_tok is not None:
        return []
    count = show_count(wish.samples * wish.epochs)
    within = wish.days is not None and wish.work not in {"finetune", "pretrain"}
    days = show_seconds(wish.days * SECONDS_PER_DAY) if within and wish.days is not None else ""
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
        worded("method")(wish.method or ""),
        "" if wish.train_tok is None else say("{tokens} tokens", tokens=show_count(wish.train_tok)),
        "" if not (seq and batch) else say("steps of {batch} x {seq}", batch=f"{batch:,}", seq=f"{seq:,}"),
        "" if wish.days is None else say("within {time}", time=show_seconds(wish.days * SECONDS_PER_DAY)),
    ]


def limits(wish: PlanWish) -> list[Sentence]:
    """What was asked for, limit by limit."""
    currency = wish.currency
    hour, million = wish.usd_per_h, wish.usd_per_mtok
    pairs: tuple[tuple[Shown, str | None], ...] = (
        ("TTFT", None if wish.ttft_s is None else limit_time(wish.ttft_s)),
        ("TPOT", None if wish.tpot_s is None else limit_time(wish.tpot_s)),
        (say("batch time"), None if wish.latency_s is None else show_seconds(wish.latency_s)),
        (say("{sign}/hour", sign=symbol(currency)), None if hour is None else amount(hour, currency)),
        (
            say("{sign}/1M tok", sign=symbol(currency)),
            None if million is None else amount(million, currency),
        ),
        (say("power"), None if wish.power_w is None else show_watts(wish.power_w)),
    )
    sentences = [say("{name} <= {bound}", name=name, bound=bound) for name, bound in pairs if bound]
    if wish.percentile is not None and (wish.ttft_s or wish.tpot_s):
        sentences.append(say("for {share} of requests", share=f"{wish.percentile:.0%}"))
    if wish.budget_usd is not None:
        sentences.append(say("budget {usd}", usd=wish.budget_said or show_money(wish.budget_usd, currency)))
    if wish.tok_per_s is not None:
        sentences.append(say("at least {rate} tok/s", rate=show_short(wish.tok_per_s)))
    return sentences


def little_left(plan: Plan) -> Iterator[Sentence]:
    """That its fullest card is nearly full, where no engine fills it on purpose."""
    if not isinstance(plan.work, Serving) or not plan.ranks:
        return
    rank, pooled = plan.ranks[0], find_engine(plan.work.engine).pool == "share"
    fills = plan.in_ram is not None or (pooled and not takes_samples(plan) and float(rank.unit_bytes) > 0)
    yield from little_spare(float(rank.spare_bytes), total_bytes=plan.total_bytes, fills=fills)
