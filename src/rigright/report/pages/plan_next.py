"""What to type after `plan`, with everything filled in."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any, cast

from rigright.choice.work import AUTO, is_home, spoken, usual_work
from rigright.demand import Layout, PlanWish, Serving, Training, TrainingWish
from rigright.facts.nodes import find_node
from rigright.options.read import fields_of, typed
from rigright.options.row import SAMPLES, TEXT, TRAINS
from rigright.report.pages import plan_words as words
from rigright.report.pages.brief import again
from rigright.search import named
from rigright.search.record import Plan
from rigright.verbs.planning.planned import Addition, Planned

_LENGTHS = frozenset({"prompt_tok", "output_tok", "context_tok"})  # fixed where windows of sound are heard
CUTS = ("tp", "pp", "dp", "ep", "cp")
_FULL_LOAD = frozenset({"cost", "price", "quality", "speed"})  # aims that take all the load the limits leave
_LIMITED = ("budget_usd", "usd_per_h", "usd_per_mtok", "power_w")
_PRICES = (
    "clouds", "spot", "used", "tariff_usd_per_kwh", "place", "customer", "pue", "years", "duty",
    "prices_file", "currency",
)  # fmt: skip
BESIDE = {"buy": ("clouds", "spot"), "rent": ("used",), "own": ("clouds", "spot", "used", "buy")}
_DECIDED = frozenset({"offload"})  # of a server: by the memory of its machine, which the command names


def next_commands(result: Planned, first: Plan) -> Iterator[str]:
    """Commands with everything filled in."""
    model = result.model_asked
    alone = result if first.prefill is None else replace(result, wish=replace(result.wish, rate_per_s=None))
    for pool in () if lost_choices(first) else _pools(first):
        yield shlex.join(["rigright", "explain", model, *_there(alone, pool), *_picture(result, pool)])
    plays = isinstance(first.work, Serving) and not (words.takes_samples(first) or words.transcribes(first))
    plays = plays and not {*lost_choices(first, "simulate")} - {"batch"}  # its load says how many
    if plays and _alike_workers(first) is not None and not first.drafts.drafted_tok:
        yield shlex.join(["rigright", "simulate", model, *_simulate_flags(result, first)])
    machines = list(dict.fromkeys(named.machine_flag(plan) for plan in result.shown))
    if len(machines) > 1:
        yield shlex.join(["rigright", "compare", *machines[:3], "--for", model, *_work_flags(result)])
    if not result.why:
        yield f"{result.asked} --why"


def on_instead(result: Planned, other: Planned) -> str:
    """The same question of a machine that does; the kind of work is said where another would be assumed."""
    machine, wish = other.wish.on or "", result.typed
    flags, work = f"--on {shlex.quote(machine)}", other.wish.work
    if wish.work == AUTO and work in spoken():
        chips = tuple(card.chip for card in find_node(machine).cards)
        flags += "" if usual_work(wish, home=is_home(chips)) == work else f" --mode {work}"
    if other.typed.quality != wish.quality:
        flags += f" --quality {other.typed.quality}"
    return again(result.asked, flags, without="--max-chips")


def on_step(result: Planned, step: Addition) -> str:
    """The same question once something is added, or of what is rented instead."""
    typed_next = on_instead(result, step.planned)
    return again(typed_next, "--rent") if step.kind == "rent" else typed_next


def _there(result: Planned, plan: Plan, *, verb: str = "explain") -> list[str]:
    """The flags of the plan; one of a whole machine that was named stays on it, with its free memory."""
    owns = plan.supply.how == "own"
    machine = result.wish.owned if owns else result.wish.on
    flags = partial(explain_flags, plan, wish=result.wish, open_length=result.open_length, verb=verb)
    if machine is None:
        return flags()
    cards = result.seen_cards or find_node(machine).n_cards
    paid = cards if owns else _paid(plan)
    keeps = paid == plan.n_chips or (verb == "explain" and isinstance(plan.work, Serving))
    return flags(machine=machine, cards=cards) if paid == cards and keeps else flags()


def _paid(plan: Plan) -> int:
    """Cards that are paid for."""
    return plan.n_chips if plan.supply.n_chips is None else plan.supply.n_chips


def _picture(result: Planned, plan: Plan) -> list[str]:
    """The size of pictures, where one was said or is the generator's own."""
    wish = result.wish
    if not words.takes_samples(plan) or wish.picture is None:
        return []
    length = [] if wish.length is None else ["--frames", str(wish.length)]
    return ["--image-size", str(wish.picture), *length]


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
            supply=replace(plan.supply, n_chips=n_chips),
        )  # fmt: skip


def _alike_workers(plan: Plan) -> int | None:
    """Workers for prompts for each one for tokens, as a simulation takes them; None where they are unlike."""
    if plan.prefill is None:
        return 0
    workers, rest = divmod(plan.prefill.dp, plan.layout.dp)
    return None if rest or plan.prefill != replace(plan.layout, dp=plan.prefill.dp) else workers


def _simulate_flags(result: Planned, plan: Plan) -> list[str]:
    """The same plan with its load, played request by request."""
    played = replace(next(_pools(plan)), concurrency=plan.concurrency)
    flags = _there(result, played, verb="simulate")
    return [*flags, *typed("simulate", {"prefill_workers": _alike_workers(plan) or None})]


def explain_flags(
    plan: Plan,
    *,
    wish: PlanWish | None = None,
    open_length: bool = False,
    verb: str = "explain",
    machine: str | None = None,
    cards: int | None = None,
) -> list[str]:
    """The plan as `explain` is asked for it, under the load and the limits that it was planned for.

    `verb`: another that is asked so. A load that nobody stated is as high as the limits leave it again.
    `machine`: that was named, with its cards; else it is that of the plan, idle cards that are paid included.
    """
    asked = wish or PlanWish(users=plan.concurrency)
    serves = isinstance(plan.work, Serving)
    fields = _served(plan, asked) if serves else _trained(plan, asked)
    paid = verb == "explain" and any(getattr(asked, name) is not None for name in _LIMITED)
    aim = None if asked.aim in _FULL_LOAD else asked.aim
    fixed = (asked.users, asked.rate_per_s, aim, None if asked.on or not paid else paid)
    is_open = verb == "explain" and all(value is None for value in fixed)
    fields |= {"users": None} if is_open and plan.concurrency is not None else {}
    length = "prompt_tok" if serves else "seq_tok"
    fields |= {length: None} if verb == "explain" and open_length else {}
    whole = plan
    if machine is None and verb == "explain" and serves and " + " not in plan.supply.label:
        cards = _paid(plan)
        whole = replace(plan, n_chips=cards)
    if verb == "explain" and (cards or 0) > plan.n_chips:  # else those that idle would work as well
        alone = words.takes_samples(plan)
        fields |= {name: getattr(plan.layout, name) for name in (("dp",) if alone else ("tp", "pp", "dp"))}
    flag = "--own" if paid and plan.supply.how == "own" else "--on"
    money = _money(plan, asked) if paid else {}
    named_so = named.machine_flag(whole) if machine is None else machine
    chosen = {name: value for name, value in _chosen(plan) if name not in fields}  # behind the usual order
    return [flag, named_so, *typed(verb, fields | chosen | money, kinds=_kinds(plan))]


def _money(plan: Plan, wish: PlanWish) -> dict[str, Any]:
    """Limits of money and power, and what prices hang on; bought or rented as the plan is."""
    usual, how = PlanWish(), plan.supply.how
    fields = {name: getattr(wish, name) for name in (*_LIMITED, *_PRICES)}
    fields = {name: value for name, value in fields.items() if value != getattr(usual, name)}
    fields |= {"budget_usd": wish.budget_said} if wish.budget_said else {}
    fields |= {"buy": how == "buy"} if how != "own" else {}
    return {name: None if name in BESIDE.get(how, ()) else value for name, value in fields.items()}


def lost_choices(plan: Plan, verb: str = "explain") -> tuple[str, ...]:
    """Choices of a plan that a verb has no option for, by name: it would answer for another plan."""
    known = fields_of(verb, kinds=_kinds(plan)) | _DECIDED
    return tuple(name for name, value in _chosen(plan) if value is not None and name not in known)


def _kinds(plan: Plan) -> frozenset[str]:
    return TEXT | SAMPLES if isinstance(plan.work, Serving) else TRAINS


def _chosen(plan: Plan) -> Iterator[tuple[str, Any]]:
    """Every choice, None where it is the usual one."""
    post = getattr(plan.work, "post", None)
    for record in (plan.work, plan.layout, *((post,) if post else ())):
        for field in fields(record):
            if field.name == "post":
                continue
            value = getattr(record, field.name)
            usual = value == field.default or (field.default is None and not value)
            yield field.name, None if usual else value


def _served(plan: Plan, wish: PlanWish) -> dict[str, Any]:
    work, layout = cast("Serving", plan.work), plan.layout
    if words.takes_samples(plan):
        length = work.context_tok if "texts_per_s" in plan.figures else None
        fields = {
            "weights": work.weights, "context_tok": length, "steps": wish.steps, "batch": int(work.batch),
            "compiled": work.compiled, "rate_per_s": _grown(wish.rate_per_s, wish), **_amount(wish),
            "latency_s": wish.latency_s,
        }  # fmt: skip
        return fields | dict.fromkeys(name for name, _ in _chosen(plan) if name not in fields)
    image_tok = 0 if wish.images is None else wish.images.tok
    fields = {
        "engine": work.engine, "weights": work.weights.removeprefix("gguf:"), "kv": work.kv,
        "context_tok": work.context_tok, "prompt_tok": work.prompt_tok and int(work.prompt_tok) - image_tok,
        "output_tok": wish.output_tok, "images": wish.images,
        "cached_share": wish.cached_share or None, "turns": wish.turns, "think_s": wish.think_s,
        "shared_tok": wish.shared_tok, "kv_store": work.kv_store,
        **_limits(plan, wish),
        "drafting": wish.drafting if plan.drafts.drafted_tok else None,
        "draft_tok": plan.drafts.drafted_tok or None,
        **_load(plan, work, wish=wish),
        "budget_tok": None if work.offload is not None else work.budget_tok,
        "max_seqs": work.max_seqs,
        "utilisation": work.utilisation,
        **{name: _cut(layout, name) for name in CUTS},
        "attention_dp": layout.attention_dp or None,
    }  # fmt: skip
    if plan.has_experts and layout.tp > 1:  # else these would be chosen anew
        fields |= {"ep": layout.ep, "attention_dp": layout.attention_dp}
    return fields | dict.fromkeys(_LENGTHS if words.transcribes(plan) else ())


def _cut(layout: Layout, name: str) -> int | None:
    count: int = getattr(layout, name)
    return count if count > 1 else None


def _load(plan: Plan, work: Serving, *, wish: PlanWish) -> dict[str, Any]:
    """Requests in flight, or that arrive; of what has neither, the sequences that it holds."""
    if plan.concurrency is not None:
        return {"users": plan.concurrency, "batch": None}
    if wish.rate_per_s is None:
        return {"batch": int(work.batch)}
    return {"rate_per_s": _grown(wish.rate_per_s, wish), "batch": None}


def _grown(asked: float | None, wish: PlanWish) -> float | None:
    return None if asked is None else asked * wish.growth


def _limits(plan: Plan, wish: PlanWish) -> dict[str, Any]:
    """The kind of work where it is not what would be assumed, and the limits of its times."""
    asked = replace(wish, users=plan.concurrency if wish.users is not None else None)
    assumed = usual_work(asked, home=named.is_mixed(plan) or is_home((plan.chip,)))
    return {
        "work": None if words.transcribes(plan) or wish.work in {assumed, AUTO} else wish.work,
        "ttft_s": wish.ttft_s, "tpot_s": wish.tpot_s, "percentile": wish.percentile,
        "tok_per_s": _grown(wish.tok_per_s, wish), "requests": wish.samples, "days": wish.days,
    }  # fmt: skip


def _amount(wish: PlanWish) -> dict[str, Any]:
    """How much is to be done, and by when; tokens that samples come to are not said beside them."""
    return {
        "train_tok": wish.train_tok if wish.samples is None else None, "samples": wish.samples,
        "epochs": wish.epochs if wish.epochs != 1 else None, "days": wish.days,
    }  # fmt: skip


def _trained(plan: Plan, wish: PlanWish) -> dict[str, Any]:
    from rigright.choice.training import work_of

    work, layout = cast("Training", plan.work), plan.layout
    usual, cut = Training(), max(layout.tp, layout.pp, layout.cp, layout.ep) > 1
    adapters, quantized = work.method != "full", work.method == "qlora"
    cuts = {name: getattr(layout, name) for name in CUTS}
    assumed = work_of(TrainingWish(method=work.method, trainer=work.trainer, **cuts), cards=plan.n_chips)
    return {
        "work": None if wish.work in {assumed, AUTO} else wish.work,
        **_amount(wish), **_post_trained(work),
        "method": work.method, "trainer": work.trainer, "optimizer": work.optimizer,
        "offload": None if work.offload == "none" else work.offload, "precision": work.precision,
        "seq_tok": None if words.takes_samples(plan) else work.seq_tok,
        "micro_batch": work.micro_batch, "accumulate": work.accumulate,
        "virtual_stages": work.virtual_stages if work.virtual_stages != 1 else None,
        "schedule": work.schedule if layout.pp > 1 else None,
        "sequence_parallel": layout.sequence_parallel if layout.tp > 1 else None,
        **{name: layout.ep if name == "ep" and cut else _cut(layout, name) for name in CUTS},
        "recompute": work.recompute,  # a trainer may have its own
        "sharding": work.sharding if layout.dp > 1 or work.sharding != "none" else None,
        "rank": work.rank if adapters and work.rank != usual.rank else None,
        "targets": work.targets if adapters and work.targets != usual.targets else None,
        "base": work.base if quantized and work.base != usual.base else None,
    }  # fmt: skip


def _post_trained(work: Training) -> dict[str, Any]:
    """The loss of post-training, and how its completions are written."""
    post = work.post
    if post is None:
        return {}
    from rigright.facts.training import objectives

    usual, names = objectives()[post.objective].references, ("group", "completion_tok", "rollout_tp", "waves")
    engine = {name: getattr(post, name) if post.rollout else None for name in names}
    references = None if work.references == usual else work.references
    return {"objective": post.objective, "references": references, **engine, "rollout": None}


def _work_flags(result: Planned) -> list[str]:
    """What was asked of the plan, as `compare` is asked it."""
    wish, fixed = result.wish, _LENGTHS if result.wish.work == "speech" else frozenset()
    usual = {"work": "serve"}
    stated = {
        field.name: getattr(wish, field.name)
        for field in fields(wish)
        if field.name not in fixed and getattr(wish, field.name) not in {field.default, usual.get(field.name)}
    }
    stated |= {"prompt_tok": (wish.prompt_tok or 0) - wish.images.tok} if wish.images else {}
    stated |= {"train_tok": _amount(wish)["train_tok"]}
    return typed("compare", stated | ({"budget_usd": wish.budget_said} if wish.budget_said else {}))
