"""Chips, machines or clouds side by side for one work: each takes it as well as it can."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rigright.arch import count
from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.words import assuming, say
from rigright.choice.work import AUTO, side_by_side
from rigright.cost.estimate import scaled
from rigright.cost.layers import generates, lanes
from rigright.demand import SAMPLES, PlanWish, Serving
from rigright.facts.chips import Chip
from rigright.money.lifetime import HOURS_PER_MONTH, MONTHS_PER_YEAR, Payback, payback
from rigright.money.tariff import power_usd_per_h, tariff_in
from rigright.predict.timed import Speed
from rigright.search.find import takes_images
from rigright.search.record import Plan
from rigright.verbs.comparing.sheets import Compared, Contender, RankPass, Roof
from rigright.verbs.ordering import orders_for, things_for
from rigright.verbs.own import today
from rigright.verbs.plan import arch_of, market_of, understood


def _roof_of(arch: Arch, plan: Plan, *, speed: Speed) -> Roof:
    """The roof of one card, and both passes of one of its ranks."""
    weights = plan.work.weights if isinstance(plan.work, Serving) else "bf16"
    # passes that make everybody's next token: a rank of a pipeline works on one part after another
    layout, memory = plan.layout, plan.ranks[0]
    seqs = speed.running / layout.dp / layout.pp
    context = speed.prompt_tok + speed.output_tok / 2
    ranks = layout.tp * layout.pp
    value = max(plan.work.context_tok, 1) if isinstance(plan.work, Serving) else 1
    caches = float(memory.cache_bytes + memory.states_bytes) / layout.pp * min(context / value, 1.0)
    read = float(memory.weights_bytes) * _touched(arch, seqs) + caches
    return Roof(
        peak_flops_per_s=_stated_flops_per_s(plan.chip, weights),
        bytes_per_s=plan.chip.mem_bytes_per_s,
        token=RankPass(
            flops=layout.pp * seqs * _flops_per_tok(arch, context) / ranks,
            size_bytes=layout.pp * read,
            time_s=speed.token_pass.total_s,
        ),
        prompt=_prompt(arch, plan, speed=speed),
    )


def _stated_flops_per_s(chip: Chip, weights: str) -> float:
    """The dense rate a vendor states for weights of a format; 16 bit for what the chip cannot multiply."""
    plain = chip.training_flops_per_s or chip.fp16_flops_per_s or chip.fp32_flops_per_s or 0.0
    if weights.startswith("fp8"):
        return chip.fp8_flops_per_s or plain
    if weights in {"nvfp4", "mxfp4"}:
        return chip.fp4_flops_per_s or plain
    return chip.int8_ops_per_s or plain if weights == "int8" else plain


def _prompt(arch: Arch, plan: Plan, *, speed: Speed) -> RankPass:
    """The passes of one prompt: each reads the weights once, and writes what it caches."""
    ranks = plan.layout.tp * plan.layout.pp
    flops = speed.prompt_tok * _flops_per_tok(arch, speed.prompt_tok / 2)
    return RankPass(
        flops=flops / ranks,
        size_bytes=float(plan.ranks[0].weights_bytes) * _touched(arch, speed.prompt_tok),
        time_s=speed.prompt_pass.total_s,
    )


def _flops_per_tok(arch: Arch, context_tok: float) -> float:
    pairs = sum(
        times * count.flops_per_pair(mixer) * min(context_tok, mixer.window_tok or context_tok)
        for mixer, times in lanes(arch).items()
    )
    return count.flops_per_tok(arch.trunk, head_tied=arch.tied) + pairs


def _touched(arch: Arch, tok: float) -> float:
    """Share of the weights that so many tokens go through, all experts as likely."""
    whole, active = count.params(arch), count.active_params(arch)
    ffn = next(
        (layer.ffn for layer in arch.trunk.layers if layer.ffn is not None and layer.ffn.experts), None
    )
    if ffn is None or active >= whole:
        return 1.0
    missed = math.pow(1 - ffn.per_tok / ffn.experts, max(tok, 1.0))
    routed = (whole - active) / (1 - ffn.per_tok / ffn.experts)
    return 1 - routed * missed / whole


if TYPE_CHECKING:
    from rigright.arch.record import Arch
    from rigright.search.record import SearchResult
    from rigright.verbs.comparing.things import Thing


RATES = ("output_tok_per_s", "train_tok_per_s", *SAMPLES)
ALIKE = 1.25  # figures that differ less are of the same work


def compare(
    things: Sequence[str], *, model: str | None = None, wish: PlanWish | None = None, asked: str = ""
) -> Compared:
    """Compare machines for a model's work, or engines, formats and methods on the machine `wish` is on.

    Without a model the things are models. `asked` is the command to build on.
    """
    from rigright.verbs.comparing.alike import alike
    from rigright.verbs.comparing.things import read_things
    from rigright.verbs.planning.checks import check

    wish = wish or PlanWish()
    shared = None if model is None else arch_of(model, wish)
    if wish.on is None:
        things, wish = things_for(things, wish), replace(wish, power_w=None)
    market = replace(market_of(wish, day=today()), ordered=orders_for(wish, named=True))
    read = read_things(tuple(things), arch=shared, wish=wish, market=market)
    archs = [own for thing in read if (own := thing.arch or shared) is not None]
    for thing, own in zip(read, archs, strict=True):
        check(own, thing.wish)
    arch, wish = archs[0], replace(wish, work=read[0].wish.work)
    other = next((own.name for own in archs if generates(own) != generates(arch)), None)
    if other is not None:
        raise AskError(say("{first} and {second} do different work", first=arch.name, second=other))
    item = side_by_side(
        arch,
        wish,
        machines=[thing.chips for thing in read],
        named=all(thing.whole and not thing.label for thing in read),
    )
    read = tuple(replace(thing, wish=replace(thing.wish, work=item.work, users=item.users)) for thing in read)
    read, answers, unlike = alike(arch, read)
    rows = zip(archs, read, answers, strict=True)
    contenders = tuple(_contender(own, thing, answer=answer) for own, thing, answer in rows)
    sentences = (note for thing in read for note in thing.notes)
    chat = (assuming(say("chat")),) if (wish.work, item.work) == (AUTO, "chat") else ()
    assumed = (*unlike, *chat)
    return Compared(
        model=", ".join(dict.fromkeys(own.name for own in archs)),
        wish=understood(arch, wish, answer=answers[0]),
        contenders=contenders,
        notes=tuple(dict.fromkeys((*sentences, *assumed, *(note for own in archs for note in own.warnings)))),
        asked=asked,
        model_asked=model or "",
        payback=_payback(contenders, wish),
    )


def _payback(contenders: Sequence[Contender], wish: PlanWish) -> tuple[int, Payback] | None:
    """Of two that do the same, one bought and one rented: when buying has paid for itself."""
    able = [(place, item.plan) for place, item in enumerate(contenders) if item.plan and item.fits]
    if [plan.supply.how for _, plan in sorted(able, key=lambda row: row[1].supply.how)] != ["buy", "rent"]:
        return None
    (place, own), (_, rent) = sorted(able, key=lambda row: row[1].supply.how)
    price, hour, watts = own.figures.get("usd"), rent.figures.get("usd_per_h"), own.figures.get("power_w")
    rates = [plan.figures[name].value for plan in (own, rent) for name in RATES if name in plan.figures]
    if not rates or max(rates) > min(rates) * ALIKE or price is None or hour is None or watts is None:
        return None  # they do not the same, or a price is not known
    hours = HOURS_PER_MONTH * wish.duty
    power = scaled(watts, float(power_usd_per_h(1.0, tariff_in(wish, own.chip.segment))) * hours)
    paid = payback(price, own=power, other=scaled(hour, hours), months=wish.years * MONTHS_PER_YEAR)
    return place, paid


def _contender(arch: Arch, thing: Thing, *, answer: SearchResult) -> Contender:
    """One thing at its best."""
    plan = answer.plans[0] if answer.plans else answer.nearest
    timed = roof = None
    if plan is not None and isinstance(plan.work, Serving) and not takes_images(arch, thing.wish):
        from rigright.predict.speed import speed
        from rigright.search.record import case_of, traffic_of

        load = traffic_of(plan, understood(arch, thing.wish, answer=answer), arch=arch)
        timed = speed(case_of(arch, plan), traffic=load)
        roof = _roof_of(arch, plan, speed=timed)
    return Contender(
        asked=thing.asked,
        label=thing.label,
        model=arch.name,
        plan=plan,
        fits=bool(answer.plans),
        broken=answer.broken,
        speed=timed,
        roof=roof,
    )
