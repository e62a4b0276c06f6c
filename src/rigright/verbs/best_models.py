"""The best models that a budget runs, and on which machine: where money was named and no model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from rigright.arch.count import active_params, params
from rigright.arch.record import Arch
from rigright.arch.sources.quality import rated, series_of
from rigright.base.errors import AskError, RigError
from rigright.base.money import show_money
from rigright.base.record import replace
from rigright.base.words import say
from rigright.choice.work import AUTO, USUAL_TOK_PER_S, works
from rigright.cost.layers import generates, transcribes
from rigright.demand import PlanWish, Serving
from rigright.facts.chips import Chip
from rigright.facts.fabrics import PCIE_LANES, pcie_bytes_per_s
from rigright.facts.hosts import Host
from rigright.search.market import Market
from rigright.search.question import COUNTS, Question, kinds_of, spilling
from rigright.search.record import LOSSY, RAM, SHORT
from rigright.search.supply import paid_for
from rigright.verbs.fit import BEST_SHARE, FitWish, models_of, usefulness
from rigright.verbs.planning.planned import ModelChoice, Planned

TRIED, SHOWN = 5, 4  # models that are searched for, and that are told
LEAST_BYTES = 0.55  # of a parameter, in four bits with their scales and what stays wider
RAM_SHARE = 0.5  # of its bandwidth that any engine reaches
WEIGHTS_SHARE = 0.95  # of a memory at most
DOUBLINGS = 10  # steps in each, within which models are as large
Ask = Callable[..., tuple[object, object, Planned]]


def models_for(wish: PlanWish, *, market: Market, ask: Ask) -> tuple[ModelChoice, ...]:
    """The most useful models that run well for the money, the best first; then a better one for more.

    `ask` plans one of them.
    """
    longest = max(wish.prompt_tok or 0, wish.output_tok or 0, wish.context_tok or 0)
    archs = [
        arch
        for arch in models_of(FitWish(licence=wish.licence))[0]
        if generates(arch) and not transcribes(arch) and (arch.max_context_tok or longest) >= longest
    ]
    archs.sort(key=lambda arch: -rated(arch)[0])
    if not archs:
        raise AskError(say("no model matches all filters; remove one"))
    choices = _found(_in_reach(archs, wish, market=market), wish, ask=ask)
    if not choices:
        budget = show_money(wish.budget_usd or 0.0, wish.currency)
        raise RigError(
            say("no machine for {budget} runs a model well", budget=budget),
            hint=say(
                "raise --budget; what a card alone runs: {command}", command="rigright fit rtx-3060-12gb"
            ),
        )
    choices.sort(key=lambda choice: -choice.usefulness)
    known = {series_of(choice.model) for choice in choices}
    better = (arch for arch in archs if rated(arch)[0] > choices[0].usefulness)
    larger = sorted((arch for arch in better if series_of(arch.name) not in known), key=params)[:1]
    freed = replace(wish, budget_usd=None, budget_said=None, aim="price", buy=True)
    for choice in _found([(arch, SHORT) for arch in larger], freed, ask=ask):
        choices.append(replace(choice, is_more=True))
    return tuple(choices)


def _found(archs: Iterable[tuple[Arch, int]], wish: PlanWish, *, ask: Ask) -> list[ModelChoice]:
    """Plans that keep what everybody wants, one of each series; each model beside what it may settle for.

    What is as large as one that failed, fails.
    """
    result: dict[str, ModelChoice] = {}
    tried, failed = 0, set[tuple[int, ...]]()
    for arch, most in archs:
        sizes = params(arch), active_params(arch)
        series, size = series_of(arch.name), tuple(round(DOUBLINGS * math.log2(one)) for one in sizes)
        if size in failed or series in result:
            continue
        tried += 1
        if tried > TRIED or len(result) == SHOWN:
            break
        planned = ask(arch.name, wish, most=most)[2]
        first = planned.plans[0].work if planned.result.level < LOSSY else None
        if isinstance(first, Serving):
            result[series] = ModelChoice(planned=planned, usefulness=usefulness(arch, first.weights))
        else:
            failed.add(size)
    return list(result.values())


def _in_reach(archs: Sequence[Arch], wish: PlanWish, *, market: Market) -> Iterator[tuple[Arch, int]]:
    """Models that some machine for the money has room for, and reads fast enough, in four bits at all."""
    kinds = kinds_of(wish, counts=COUNTS, market=market)
    question = Question(arch=archs[-1], wish=replace(wish, users=wish.users or 1.0), market=market,
                        kinds=kinds, ways=())  # fmt: skip
    spilled = spilling(question)
    paid = [*paid_for(question).values(), *paid_for(spilled).values()]
    limits = [
        (
            kind.room_bytes,
            kind.chip.mem_bytes_per_s * kind.counts[-1],
            0.0 if kind.host is None else kind.host.ram_bytes,
            1.0 if kind.host is None else kind.host.mem_bytes_per_s,
            1.0 if kind.host is None else _link_bytes_per_s(kind.chip, kind.host),
        )
        for kind in paid
    ]
    table = np.array(limits).reshape(-1, 5).T
    ttft_s = wish.ttft_s or works()["serve" if wish.work == AUTO else wish.work].ttft_s or math.inf
    for arch in archs:
        room, rate, ram, ram_rate, link = table
        size, read = params(arch) * LEAST_BYTES, active_params(arch) * LEAST_BYTES
        moved = np.clip(1 - room / size, 0.0, 1.0)
        seconds = read * (1 - moved) / (rate * BEST_SHARE) + read * moved / (ram_rate * RAM_SHARE)
        is_quick = (seconds * USUAL_TOK_PER_S <= 1) & (size * moved <= link * ttft_s)
        fits = (size <= (room + ram) * WEIGHTS_SHARE) & is_quick
        if fits.any():
            yield arch, RAM if (fits & (table[2] > 0)).any() else SHORT


def _link_bytes_per_s(chip: Chip, host: Host) -> float:
    """How fast what lies in main memory crosses to the card, which it does for each prompt."""
    gen = min(chip.pcie_gen or host.cpu.pcie_gen, host.cpu.pcie_gen)
    return pcie_bytes_per_s(gen, chip.pcie_lanes or PCIE_LANES)
