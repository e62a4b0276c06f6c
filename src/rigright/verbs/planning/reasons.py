"""Where the figures of a plan come from: formula, numbers in it, facts with source and date, runs behind."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.arch.image_kinds import arch_kind
from rigright.arch.record import Arch
from rigright.base.units import TERA, show_bytes, show_seconds, show_usd
from rigright.base.words import say
from rigright.choice.networks import ENGINE
from rigright.cost.bands import band
from rigright.cost.known import Ran, ran
from rigright.demand import SAMPLES, PlanWish, Serving, Training
from rigright.facts.engines import find_engine
from rigright.facts.formats import find_format
from rigright.money.tariff import tariff_in
from rigright.predict.speed import speed
from rigright.search.market import Market
from rigright.search.record import Plan, case_of, traffic_of
from rigright.terms.known import known_of_one
from rigright.terms.memory import weigh
from rigright.verbs.serving.explained import Reason
from rigright.verbs.serving.reasons import Row, reasons_of, speed_rows, what_was_seen

MONEY = "data/money.toml"
TRAINING, IMAGES, STREAMS = "speed_training", "speed_images", "speed_streams"


def reasons(arch: Arch, plan: Plan, *, wish: PlanWish, market: Market) -> tuple[Reason, ...]:
    """A row for each figure of a plan."""
    if plan.figures.keys() & set(SAMPLES):
        memory = _memory(arch, plan, work=plan.work) if isinstance(plan.work, Serving) else ()
        return reasons_of((*memory, *_samples(arch, plan), *_money(plan, wish, market=market)))
    if not isinstance(plan.work, Serving):
        return reasons_of((*_trained(arch, plan, work=plan.work), *_money(plan, wish, market=market)))
    case = case_of(arch, plan)
    rows = (
        *_memory(arch, plan, work=plan.work),
        *(
            speed_rows(case, speed(case, traffic=traffic_of(plan, wish, arch=arch)))
            if plan.prefill is None
            else _apart(plan)
        ),
        *_money(plan, wish, market=market),
    )
    return reasons_of(rows)


def _apart(plan: Plan) -> Iterator[Row]:
    """Where the speed of workers for prompts and workers for tokens comes from."""
    ttft, tpot = plan.figures["ttft_s"], plan.figures["tpot_s"]
    terms, engine = "data/corrections/speed_serving.toml", find_engine(plan.work.engine)  # type: ignore[union-attr]
    yield (
        "ttft",
        say("queue for a prefill worker + prefill + KV cache transfer"),
        f"{show_seconds(ttft.value)} ({show_seconds(ttft.low)}-{show_seconds(ttft.high)})",
        f"{terms}; {engine.apart_source}",
    )
    yield (
        "tpot",
        say("a decode step"),
        f"{show_seconds(tpot.value)} ({show_seconds(tpot.low)}-{show_seconds(tpot.high)})",
        f"{plan.chip.sources} ({plan.chip.as_of}); {terms}",
    )


def _samples(arch: Arch, plan: Plan) -> Iterator[Row]:
    """Where the speed on whole images or texts comes from."""
    chip = plan.chip
    name = next(name for name in SAMPLES if name in plan.figures)
    estimate, unit = plan.figures[name], name.replace("_per_s", "/s")
    subject = STREAMS if name == "texts_per_s" else IMAGES
    engine, kind = (ENGINE, arch.task) if subject == STREAMS else ("", arch_kind(arch).kin)
    known = known_of_one(subject, chip, what=Ran(engine=engine, kind=kind))
    yield (
        unit,
        say("operations per sample / achieved rate for this type of network, + fixed cost per batch"),
        f"{estimate.value / plan.n_chips:,.4g} x {plan.n_chips}",
        f"{chip.sources} ({chip.as_of}); data/corrections/{subject}.toml",
    )
    edges = f"{unit} x{estimate.low / estimate.value:.2f}-{estimate.high / estimate.value:.2f}"
    yield "80 %", what_was_seen(chip, known), edges, f"data/corrections/bands_{subject}.toml"


def _trained(arch: Arch, plan: Plan, *, work: Training) -> Iterator[Row]:
    """Where the speed of a training comes from."""
    chip, mfu = plan.chip, plan.figures.get("mfu")
    peak = chip.training_flops_per_s or chip.fp16_flops_per_s or 0.0
    trained = f"data/corrections/{TRAINING}.toml"
    yield (
        "tok/s",
        say("forward + backward + recomputation + optimizer + exposed communication + pipeline bubble"),
        f"{peak / TERA:,.0f} TFLOP/s x MFU {0.0 if mfu is None else mfu.value:.2f} x {plan.n_chips}",
        f"{chip.sources} ({chip.as_of}); {trained}",
    )
    known = known_of_one(TRAINING, chip, what=ran(arch, engine=work.trainer))
    low, high = band("train_tok_per_s", known=known)
    edges = f"tok/s x{float(low):.2f}-{float(high):.2f}"
    yield "80 %", what_was_seen(chip, known), edges, f"data/corrections/bands_{TRAINING}.toml"
    yield (
        "memory",
        say("parameters, gradients and optimizer state + activations + workspace of the fullest rank"),
        f"{show_bytes(plan.rank_bytes.value)} of {show_bytes(plan.room_bytes)}",
        f"data/corrections/memory_training.toml; {chip.mem_source}",
    )


def _memory(arch: Arch, plan: Plan, *, work: Serving) -> Iterator[Row]:
    form, layout = find_format(work.weights), plan.layout
    yield (
        "weights",
        say("elements x bits per weight of each tensor, split over tp and pp"),
        f"{form.label}; tp {layout.tp}, pp {layout.pp}; {show_bytes(weigh(arch, work.weights).total_bytes)}",
        f"{arch.source or arch.name}; {form.source}",
    )
    yield (
        "memory",
        say("GPU memory available to programs"),
        f"{plan.chip.name}: {show_bytes(plan.room_bytes)}",
        plan.chip.mem_source,
    )


def _money(plan: Plan, wish: PlanWish, *, market: Market) -> Iterator[Row]:
    supply, chip = plan.supply, plan.chip
    if supply.how == "rent" and supply.usd_per_h is not None:
        yield (
            "$/h",
            say("the instance's price x instances"),
            f"{supply.label}: {show_usd(supply.usd_per_h.value)}",
            f"{supply.usd_per_h.why} ({supply.as_of})",
        )
        return
    price = market.cards.get(chip.id)
    if supply.how == "buy" and price is not None:
        host = supply.host_usd
        around = "" if host is None or not host.value else f" + {show_usd(host.value)}"
        yield (
            "$",
            say("cards x price + rest of the machine"),
            f"{plan.n_chips} x {show_usd(price.usd)}{around}",
            f"{price.source} ({price.as_of})" + (f"; {host.why} ({host.as_of})" if host and around else ""),
        )
    tariff = tariff_in(wish, chip.segment)
    hours = f"{tariff.years:g} x 8,766 h x {tariff.duty:g}"
    yield (
        "$/h",
        say("price / hours of use + kW x PUE x tariff"),
        f"{hours}; PUE {tariff.pue:g}; {show_usd(tariff.usd_per_kwh)}/kWh",
        MONEY,
    )
