"""Plans in words and tables: supply, layout, formats, money and figures, a plan a row or a column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from rigright.base.money import show_money
from rigright.base.page import Heading, Shown, Table, known, number, prose, table
from rigright.base.units import KILO, show_count, show_seconds, show_short, show_watts
from rigright.base.words import DOUBT, Sentence, say, with_commas
from rigright.cost.estimate import SECONDS_PER_DAY, Estimate, scaled
from rigright.demand import SAMPLES, Layout, PlanWish, Serving, Training
from rigright.facts.clouds import cloud_shown
from rigright.facts.hosts import CPU
from rigright.report.pages.brief import (
    done_in,
    expected,
    method_label,
    money_words,
    safe_load,
    samples_rate,
    show_tokens,
)
from rigright.report.pages.figures import (
    COLUMNS,
    FIGURES,
    RATES,
    TIME_NAMES,
    amount,
    figure_rows,
    rate_of,
    symbol,
)
from rigright.search import named
from rigright.search.record import Plan
from rigright.search.sure import limit_time

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
    machine = named.machine(plan)
    if plan.supply.how != "rent":
        return say("{machine}, used", machine=machine) if plan.supply.used else machine
    cloud = plan.supply.label.removeprefix(f"{plan.supply.n_units}x ").partition(" ")[0]
    return say("{machine}, {cloud}", machine=machine, cloud=cloud_shown(cloud))


def workers(plan: Plan) -> Sentence | str:
    """How the work is cut, in workers of two sorts where it is: "prefill 2x tp2 + decode 1x tp4"."""
    if plan.prefill is None:
        return layout(plan.layout)
    prefill, decode = (named.pool(item) for item in (plan.prefill, plan.layout))
    return say("prefill {prefill} + decode {decode}", prefill=prefill, decode=decode)


def layout(result: Layout) -> Sentence | str:
    """How the work is cut: "tp 2, 4 replicas"."""
    counts = {name: getattr(result, name) for name in ("tp", "pp", "cp", "ep")}
    cuts = [f"{name} {count}" for name, count in counts.items() if count > 1]
    text = ", ".join([*cuts, *(["attention dp"] if result.attention_dp else [])])
    if result.dp == 1:
        return text or say("one GPU")
    if not text:
        return say("{count} replicas, one GPU each", count=result.dp)
    return say("{cuts}; {count} replicas", cuts=text, count=result.dp)


def formats(plan: Plan) -> Sentence | str:
    """What weights and caches are kept in; of a training, its method and how states are cut."""
    if not isinstance(plan.work, Serving):
        sharding = "" if plan.work.sharding == "none" else plan.work.sharding
        return with_commas([method_label(plan.work), sharding]) or ""
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
    }.get(name, say("{rate} tok/s", rate=rate))
    if name in SAMPLES:
        sentence = samples_rate(name.removesuffix("_per_s"), result.value, compiled=plan.work.compiled)
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


def known_by(plan: Plan) -> Shown | None:
    """What the speed is based on, with its band."""
    name = rate_of(plan.figures)
    result = estimate(plan, name)
    if result is None or not basis(plan):
        return None
    figure = FIGURES[name]
    shown = scaled(result, figure.scale)
    fields = {"unit": figure.head, "basis": basis(plan)}
    band = f"{show_short(shown.low)}-{show_short(shown.high)}"
    return say("80 % band {band} {unit}, based on {basis}", band=band, **fields)


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
    learns = wish.work in {"finetune", "pretrain"}
    seq, batch = wish.seq_tok, wish.global_batch
    step = {"batch": f"{batch:,}", "seq": f"{seq:,}"} if seq and batch else {"batch": None, "seq": None}
    load = say("{rate} requests/s", rate=known(wish.rate_per_s, _plainly))
    if wish.users is not None:
        load = say("concurrency {users}", users=_plainly(wish.users))
    within = say("within {time}", time=known(wish.days, lambda days: show_seconds(days * SECONDS_PER_DAY)))
    many = wish.samples if wish.train_tok is None else None
    sentences = (
        _WORKS.get(wish.work, ""),
        method_label(wish) if learns else None,
        say("{tokens} tokens", tokens=known(wish.train_tok, show_count)) if learns else None,
        say("steps of {batch} x {seq}", **step) if learns else None,
        within if learns else None,
        _lengths(wish),
        load,
        say("{count} in all", count=known(many, lambda samples: show_count(samples * wish.epochs))),
        within if many is not None and not learns else None,
        *limits(wish),
    )
    return with_commas(sentences) or ""


def _lengths(wish: PlanWish) -> Shown | None:
    """How long a request is, or how large a sample."""
    if wish.prompt_tok and wish.output_tok and wish.work != "speech":
        prompt, output = f"{wish.prompt_tok:,}", f"{wish.output_tok:,}"
        return say("{prompt} prompt + {output} output tokens", prompt=prompt, output=output)
    if wish.work == "embed" and wish.prompt_tok:
        return say("{tokens} tokens each", tokens=f"{wish.prompt_tok:,}")
    if wish.picture is None:
        return None
    size = say("{wide} x {high} pixels", wide=wish.picture.width_px, high=wish.picture.height_px)
    if wish.length is None:
        return size
    if wish.length.seconds is not None:
        return say("{size}, {time} long", size=size, time=show_seconds(wish.length.seconds))
    return say("{size}, {frames} frames", size=size, frames=wish.length.frames)


def _plainly(number: float) -> str:
    """A number somebody typed, never as a power of ten."""
    return f"{number:,.0f}" if number >= KILO else f"{number:g}"


def limits(wish: PlanWish) -> Iterator[Sentence]:
    """What was asked for, limit by limit."""
    currency, sign = wish.currency, symbol(wish.currency)
    pairs: tuple[tuple[Shown, str | None], ...] = (
        ("TTFT", known(wish.ttft_s, limit_time)),
        ("TPOT", known(wish.tpot_s, limit_time)),
        (say("batch time"), known(wish.latency_s, show_seconds)),
        (say("{sign}/hour", sign=sign), known(wish.usd_per_h, lambda usd: amount(usd, currency))),
        (say("{sign}/1M tok", sign=sign), known(wish.usd_per_mtok, lambda usd: amount(usd, currency))),
        (say("power"), known(wish.power_w, show_watts)),
    )
    yield from (say("{name} <= {bound}", name=name, bound=bound) for name, bound in pairs)
    share = wish.percentile if wish.ttft_s or wish.tpot_s else None
    yield say("for {share} of requests", share=known(share, "{:.0%}".format))
    budget = known(wish.budget_usd, lambda usd: wish.budget_said or show_money(usd, currency))
    yield say("budget {usd}", usd=budget)
    yield say("at least {rate} tok/s", rate=known(wish.tok_per_s, show_short))


MOST_PLANS = 3
_IN_ANSWER = frozenset({*RATES, "usd", "usd_per_h"})  # what is alike in all line 1 has already
_OF_TOKENS = frozenset({"output_tok_per_s", "ttft_s", "tpot_s", "usd_per_mtok"})  # none where audio is heard

Row = tuple[Shown, ...]


def plans_table(
    plans: Sequence[Plan], *, wish: PlanWish, compared: bool = False, things: Sequence[str] = ()
) -> Table:
    """A row a plan; unless things are compared, what is alike in all stands in the answer above.

    `things`: what each is called where they are no machines.
    """
    alone = len(plans) == 1
    columns: list[tuple[Heading, list[Shown]]] = [("", list(things))] if things else []

    def add(head: Heading, read: Callable[[Plan], Shown], *, least: int = 1, always: bool = False) -> None:
        cells = [read(plan) for plan in plans]
        if always or (any(cells) and len(set(cells)) >= least):
            columns.append((head, cells))

    add(prose(say("machine")), source, least=2, always=compared and not things)
    add(say("format"), formats, least=2)
    add(number(say("concurrency")), concurrency, least=2)
    power = compared or alone or wish.power_w is not None or wish.aim == "power"
    heard = any(transcribes(plan) for plan in plans)
    for name in COLUMNS:
        if (heard and name in _OF_TOKENS) or (name == "power_w" and not power):
            continue
        head = number(FIGURES[name].titled(currency=wish.currency, percentile=wish.percentile))
        least = 2 if name in _IN_ANSWER and not compared else 1
        add(head, partial(_figure, name=name, wish=wish), least=least)
        if name == "tpot_s":
            add(number(say("certain")), certain, least=2)
        if name == "output_tok_per_s" and (compared or not alone):
            add(number(say("safe")), safe)
    if not alone and not compared:
        add(prose(say("why")), why)
    return table((column for column, _ in columns), zip(*(cells for _, cells in columns), strict=True))


def _figure(plan: Plan, *, name: str, wish: PlanWish) -> str:
    return FIGURES[name].cell(estimate(plan, name), wish.currency, how=plan.supply.how)


def across(plans: Iterable[Plan | None], head: Sentence, *, value: Callable[[Plan], Shown]) -> Row:
    """A row with a cell a plan; an empty one of what has none."""
    return (head, *("" if plan is None else value(plan) for plan in plans))


def rows_across(
    plans: Sequence[Plan | None],
    figures: Sequence[Mapping[str, Estimate]],
    *,
    wish: PlanWish,
    best: Mapping[str, tuple[int, ...]],
) -> Iterator[Row]:
    """Plans across, a row each: where they come from, how the work is cut, formats, engine, load, figures."""
    known = [plan for plan in plans if plan is not None]
    learns = any(isinstance(plan.work, Training) for plan in known)
    pairs: tuple[tuple[Sentence, Callable[[Plan], Shown]], ...] = (
        (say("source"), supply),
        (say("layout"), workers),
        (say("method") if learns else say("weights"), formats),
        (say("engine"), engine),
        (say("step"), lambda plan: step(plan.work) if isinstance(plan.work, Training) else ""),
        (say("concurrency"), concurrency),
        (say("safe tok/s at concurrency"), safe),
    )
    yield from (across(plans, head, value=value) for head, value in pairs)
    heard = any(map(transcribes, known))
    for name, row in figure_rows(figures, wish, best=best):
        if not (heard and name in _OF_TOKENS):
            yield row


def table_across(heads: Iterable[str], rows: Iterable[Row], *, title: Sentence) -> Table:
    """Figures down, things across: it stays readable on a narrow screen; empty rows are left out."""
    return table(("", *map(prose, heads)), (row for row in rows if any(row[1:])), title=title)


def options_table(plans: Sequence[Plan], *, wish: PlanWish) -> Table:
    """The options of a plan with all that is known of each."""
    ends = any("days" in plan.figures for plan in plans)
    figures = [
        {name: figure for name, figure in plan.figures.items() if ends or name != "usd_total"}
        for plan in plans
    ]
    machines = [named.machine(plan) for plan in plans]
    many = len(plans) > 1
    rows: tuple[Row, ...] = (
        (say("machine"), *(machines if many else ())),
        *rows_across(plans, figures, wish=wish, best={}),
        across(plans, say("limited by"), value=lambda plan: BOUNDS.get(plan.bound, plan.bound)),
        across(plans, say("based on"), value=basis),
        across(plans, say("price as of"), value=lambda plan: plan.supply.as_of or ""),
        across(plans, say("why"), value=lambda plan: with_commas(plan.reasons) or ""),
    )
    heads = [str(place) for place in range(1, len(plans) + 1)] if many else machines
    return table_across(heads, rows, title=say("options"))
