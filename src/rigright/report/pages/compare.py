"""The page of `compare`: ratios, figures side by side, rooflines, where the time goes."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator

from rigright.base import telling
from rigright.base.page import (
    Commands,
    Curve,
    Line,
    Page,
    Plot,
    Shown,
    Spot,
    Table,
    answer_of,
    grouped,
    prose,
    table,
)
from rigright.base.units import TERA, show_short
from rigright.base.words import OLD_PRICE, Sentence, say, with_commas, with_semicolons
from rigright.choice.ways import quality_class
from rigright.demand import Serving, Training
from rigright.facts.chips import short
from rigright.facts.formats import find_format
from rigright.report.pages import plan_words as words
from rigright.report.pages.brief import (
    model_name,
    months_between,
    months_shown,
    note_lines,
    old_prices,
    short_format,
)
from rigright.report.pages.figures import TIME_NAMES, figure_rows
from rigright.report.pages.plan_next import explain_flags
from rigright.report.pages.plan_table import across, plan_rows, plans_table
from rigright.search import named
from rigright.verbs.comparing.compared import LESS, Compared, Contender, RankPass, Roof

_LETTERS = "ABCDEFGH"
_CLAIMS = (  # in the order of the verdict: the first of the figures that two of them have
    (("output_tok_per_s", "train_tok_per_s", "images_per_s", "texts_per_s"), "faster"),
    (("usd_per_mtok",), "per token"),
    (("usd_total",), "in total"),
    (("usd_per_image",), "per image"),
    (("usd_per_text",), "per text"),
    (("usd",), "to buy"),
    (("usd_per_h",), "to rent"),
    (("power_w",), "power"),
)
_RATE = "output_tok_per_s"
_APART = 1.1  # below it two figures are the same
_NEARLY = 0.06
FRACTIONS = {
    2: say("half"), 3: say("a third"), 4: say("a quarter"), 5: say("a fifth"), 6: say("a sixth"),
    7: say("a seventh"), 8: say("an eighth"), 9: say("a ninth"), 10: say("a tenth"),
}  # fmt: skip
_LEFT, RIGHT = 0.3, 3.0  # how far beyond its points a roof is drawn


def page(result: Compared, *, why: bool = False, details: bool = False) -> Page:
    """The page for people; `why` shows what each stands under: its roof."""
    able = [contender.plan for contender in result.contenders if contender.plan is not None]
    work = say("{model}: {work}", model=model_name(result.model), work=words.work(result.wish))
    roofs = (why or details) and any(contender.roof for contender in result.contenders)
    brief = plans_table(able, wish=result.wish, compared=True) if able else None
    return Page.of(
        _verdict(result),
        (Line.dim(work), _table(result)) if details else brief,
        _roofs(result) if roofs else None,
        map(Line.bad, _misses(result)),
        old_prices(plan.supply.as_of for plan in able if plan.supply.stale),
        note_lines(_notes(result), details=details),
        Commands.next(_next(result, details=details) if result.asked else ()),
    )


def _name(contender: Contender) -> str:
    return (
        short(contender.asked)
        if contender.plan is None
        else named.machine(contender.plan).removeprefix("1x ")
    )


def _verdict(result: Compared) -> Line:
    """Who is how much faster, cheaper, or content with less power."""
    if not any(contender.plan for contender in result.contenders):
        return Line.bad(say("none of these can run {model}", model=model_name(result.model)))
    sentences: dict[int, list[Sentence]] = {}
    for place, quality in _better(result):
        sentences.setdefault(place, []).append(quality)
    paid = {contender.plan.supply.how for contender in result.contenders if contender.plan}
    even = (
        len({contender.plan.concurrency for contender in result.contenders if contender.plan}) == 1
    )  # under the same load
    for names, claim in _CLAIMS:
        for name in names:
            known = {
                place: contender.figures[name]
                for place, contender in enumerate(result.contenders)
                if name in contender.figures and contender.fits and _is_alike(contender, name, paid=paid)
            }
            if len(known) < 2:
                continue
            sign = 1 if name in LESS else -1
            best, *others = sorted(known, key=lambda place: known[place].value * sign)
            low, high = sorted((known[best], known[others[0]]), key=lambda estimate: estimate.value)
            ratio = high.value / low.value
            if ratio >= _APART and (low.value < high.low or low.high < high.value):
                sentences.setdefault(best, []).append(
                    _claim(claim if name != _RATE or even else "throughput", ratio)
                )
            break
    for place, payback in _paid_off(result):
        sentences.setdefault(place, []).append(payback)
    sentence: Sentence = with_semicolons(
        say("{name}: {claims}", name=_name(result.contenders[place]), claims=with_commas(claims) or "")
        for place, claims in sentences.items()
    ) or say("no meaningful difference")
    if sentences and len(result.contenders) > 2:
        sentence = say("{verdict} (vs next best)", verdict=sentence)
    return _doubted(sentence if sentences else None, result) or Line.good(sentence)


def _doubted(sentence: Sentence | None, result: Compared) -> Line | None:
    """The answer with who misses a limit or may run out of memory; None where nobody does."""
    missed = [_name(contender) for contender in result.contenders if not contender.fits]
    tight = [
        _name(contender) for contender in result.contenders if contender.fits and _may_lack_memory(contender)
    ]
    parts = [sentence] if sentence is not None else []
    parts += [say("misses the limits: {names}", names=", ".join(missed))] if missed else []
    parts += [say("memory may not be enough: {names}", names=", ".join(tight))] if tight else []
    return Line.warn(with_semicolons(parts) or "") if missed or tight else None


def _may_lack_memory(contender: Contender) -> bool:
    """Whether the peak of a training may pass what its card holds; an engine that serves keeps within."""
    plan = contender.plan
    return plan is not None and plan.is_tight


def _better(result: Compared) -> Iterator[tuple[int, Sentence]]:
    """Who runs weights of a better class than another does: the rest is then no like against like."""
    able = {
        place: contender.plan.work.weights
        for place, contender in enumerate(result.contenders)
        if contender.fits and contender.plan is not None and isinstance(contender.plan.work, Serving)
    }
    classes = {place: quality_class(find_format(form).loss_rank) for place, form in able.items()}
    if len(set(classes.values())) < 2:
        return
    for place, own in classes.items():
        if own == min(classes.values()):
            yield place, say("better quality ({format})", format=short_format(able[place]))


def _paid_off(result: Compared) -> Iterator[tuple[int, Sentence]]:
    """Of two that do the same, one bought and one rented: how long until the price is saved."""
    if result.payback is None:
        return
    place, paid = result.payback
    if math.isfinite(paid.high):
        yield place, say("the price equals {months} months of rent",
                         months=months_between(paid.low, paid.high))  # fmt: skip
    elif math.isfinite(paid.months):
        yield place, say("the price equals {months} months of rent or more",
                         months=months_shown(paid.low))  # fmt: skip


def _is_alike(contender: Contender, name: str, *, paid: set[str]) -> bool:
    """Prices to buy are held against prices to buy, rent against rent, and what follows from them so too."""
    how = {"usd": "buy", "usd_per_h": "rent"}.get(name)
    if name.startswith("usd_") and how is None:
        return len(paid) == 1
    return contender.plan is not None and how in {None, contender.plan.supply.how}


def _claim(kind: str, ratio: float) -> Sentence:
    """One ratio: "4.4x faster", "a ninth of the power"."""
    part = FRACTIONS.get(round(ratio)) if abs(ratio - round(ratio)) < _NEARLY * ratio else None
    times, less = show_short(ratio).removesuffix(".0"), f"{(1 - 1 / ratio) * 100:.0f}"
    if kind == "power" and part is not None:
        return say("{part} of the power", part=part)
    return {
        "throughput": say("{times}x the throughput", times=times),
        "faster": say("{times}x faster", times=times),
        "per token": say("{percent} % cheaper per token", percent=less),
        "in total": say("{percent} % cheaper in total", percent=less),
        "per image": say("{percent} % cheaper per image", percent=less),
        "per text": say("{percent} % cheaper per text", percent=less),
        "to buy": say("{percent} % cheaper to buy", percent=less),
        "to rent": say("{percent} % cheaper to rent", percent=less),
        "power": say("{percent} % less power", percent=less),
    }[kind]


def _misses(result: Compared) -> Iterator[Sentence]:
    """What each breaks that breaks a limit."""
    for contender in result.contenders:
        if not contender.fits:
            reasons: Shown = with_commas(broken.reason for broken in contender.broken) or say("nothing fits")
            yield say("{label}: {reason}", label=_name(contender), reason=reasons)


def _table(result: Compared) -> Table:
    """Figures down, things across; the best of each row is marked."""
    things = result.contenders
    plans = [contender.plan for contender in things]
    names = (item.asked if item.plan is None else named.machine(item.plan) for item in things)
    rows: list[tuple[Shown, ...]] = [(say("machine"), *names), *plan_rows(plans)]
    if not any(plan is not None and isinstance(plan.work, Training) for plan in plans):
        rows.append(across(plans, say("concurrency"), value=words.concurrency))
    known = figure_rows([item.figures for item in things], result.wish, best=result.best_places)
    rows += (row for _, row in known)
    if any(contender.speed for contender in things):
        waits = (say("decode limited by"), "token_pass"), (say("prefill limited by"), "prompt_pass")
        rows += [(head, *(_bound(contender, which) for contender in things)) for head, which in waits]
    rows.append(across(plans, say("based on"), value=words.basis))
    if not all(contender.fits for contender in things):
        reasons = (contender.broken[0].reason if contender.broken else "" for contender in things)
        rows.append((say("limits missed"), *reasons))
    heads = (prose(_LETTERS[place]) for place in range(len(things)))
    return table(("", *heads), rows, title=say("side by side (* best in its row)"))


def _bound(contender: Contender, which: str) -> Shown:
    return "" if contender.speed is None else TIME_NAMES[getattr(contender.speed, which).bound]


def _roofs(result: Compared) -> Plot:
    """Each card's roof, with its next tokens as a small letter and its prompts as a digit."""
    known = [
        (place, item, item.roof) for place, item in enumerate(result.contenders) if item.roof is not None
    ]
    passes = [part.flops_per_byte for _, _, roof in known for part in (roof.token, roof.prompt)]
    left, right = min(passes) * _LEFT, max(passes) * RIGHT
    curves, spots = [], []
    for order, (place, contender, roof) in enumerate(known):
        letter = _LETTERS[place]
        chip = "" if contender.plan is None else short(contender.plan.chip.name)
        curves.append(
            Curve(letter=letter, name=_roof_name(chip, roof), points=_edge(roof, left, right=right))
        )
        spots.append(
            _spot(letter.lower(), say("decode on {name}", name=letter), part=roof.token, curve=order)
        )
        spots.append(
            _spot(str(place + 1), say("prefill on {name}", name=letter), part=roof.prompt, curve=order)
        )
    return Plot(
        curves=tuple(curves),
        spots=tuple(spots),
        x_name=say("FLOP per byte read"),
        y_name=say("TFLOP/s per GPU, dense"),
        title=say("roofline"),
    )


def _roof_name(chip: str, roof: Roof) -> Sentence:
    return say(
        "{chip}: {peak} TFLOP/s dense, {rate} TB/s",
        chip=chip,
        peak=f"{roof.peak_flops_per_s / TERA:,.0f}",
        rate=f"{roof.bytes_per_s / TERA:.2f}",
    )


def _edge(roof: Roof, left: float, *, right: float) -> tuple[tuple[float, float], ...]:
    """The roof: rising with what is read, then flat."""
    ridge = roof.peak_flops_per_s / roof.bytes_per_s
    start = min(left, ridge)
    points = ((start, start * roof.bytes_per_s), (ridge, roof.peak_flops_per_s))
    flat = (max(right, ridge), roof.peak_flops_per_s)
    return tuple((x, y / TERA) for x, y in (*points, flat))


def _spot(letter: str, name: Sentence, *, part: RankPass, curve: int) -> Spot:
    return Spot(letter=letter, name=name, x=part.flops_per_byte, y=part.flops_per_s / TERA, curve=curve)


def _notes(result: Compared) -> Iterator[Shown]:
    yield from result.notes
    noted = grouped(
        (note, _name(contender))
        for contender in result.contenders
        for note in (() if contender.plan is None else contender.plan.notes)
        if note.kind != OLD_PRICE
    )
    for sentence, names in noted.items():
        yield say("{label}: {reason}", label=", ".join(names), reason=sentence)


def _next(result: Compared, *, details: bool) -> Iterator[str]:
    best = result.best_places.get("usd_per_mtok") or result.best_places.get("output_tok_per_s") or (0,)
    plan = result.contenders[best[0]].plan
    if plan is not None:
        flags = explain_flags(plan, wish=result.wish)
        yield shlex.join(["rigright", "explain", result.model_asked, *flags])
    yield f"{result.asked} --json" if details else f"{result.asked} --details"


plain = telling.RecordPrinter(Compared, named.plan_told, verdict=answer_of(_verdict))
