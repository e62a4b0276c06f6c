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
)
from rigright.base.units import TERA
from rigright.base.words import OLD_PRICE, Sentence, say, with_commas, with_semicolons
from rigright.choice.ways import quality_class
from rigright.demand import Serving
from rigright.facts.chips import short
from rigright.facts.clouds import providers_of
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
from rigright.report.pages.compare_sheets import claim
from rigright.report.pages.figures import TIME_NAMES
from rigright.report.pages.plan_next import explain_flags
from rigright.report.pages.plan_words import Row, across, plans_table, rows_across, table_across
from rigright.search import named
from rigright.verbs.comparing.sheets import HALF, Compared, Contender, Lead, Roof

_LETTERS = "ABCDEFGH"
_LEFT, RIGHT = 0.3, 3.0  # how far beyond its points a roof is drawn


def page(result: Compared, *, why: bool = False, details: bool = False) -> Page:
    """The page for people; `why` shows what each stands under: its roof."""
    able = [contender.plan for contender in result.contenders if contender.plan is not None]
    models = ", ".join(dict.fromkeys(model_name(item.model) for item in result.contenders))
    work = say("{model}: {work}", model=models, work=words.work(result.wish))
    roofs = (why or details) and any(contender.roof for contender in result.contenders)
    things = [item.label for item in result.contenders if item.plan is not None and item.label]
    brief = plans_table(able, wish=result.wish, compared=True, things=things) if able else None
    return Page.of(
        _verdict(result),
        (Line.dim(work), _table(result)) if details else brief,
        _roofs(result) if roofs else None,
        map(Line.bad, _misses(result)),
        old_prices(plan.supply.as_of for plan in able if plan.supply.stale),
        note_lines(_notes(result), details=details),
        Commands.next(_next(result, details=details) if result.asked else ()),
    )


def _names(result: Compared) -> list[str]:
    """What each is called: by its machine, where that tells it apart from the others."""
    works = [None if item.plan is None else item.plan.work for item in result.contenders]
    kept = [work.weights if isinstance(work, Serving) else "" for work in works]
    unlike = len({HALF[0] if form in HALF else form for form in kept}) > 1

    def name(item: Contender, form: str) -> str:
        if unlike and form and not form.lower().startswith(item.label.lower()):
            return f"{item.label} ({form})"
        if item.label or item.plan is None or providers_of(item.asked):
            return item.label or short(item.asked)
        return named.machine(item.plan).removeprefix("1x ")

    names = [name(item, short_format(form)) for item, form in zip(result.contenders, kept, strict=True)]
    pairs = zip(result.contenders, names, strict=True)
    return [item.asked if names.count(called) > 1 else called for item, called in pairs]


def _verdict(result: Compared) -> Line:
    """Who is how much faster, cheaper, or content with less power."""
    plans = [contender.plan for contender in result.contenders if contender.plan]
    if not plans:
        return Line.bad(say("none of these can run {model}", model=model_name(result.model)))
    years = result.wish.years if len({plan.supply.how for plan in plans}) > 1 else None
    names = _names(result)
    leads = ((lead.places, _claim(lead, result, names=names, years=years)) for lead in result.claims)
    claims = grouped((*_better(result), *leads, *_paid_off(result)))
    sentence = with_semicolons(
        say("{name}: {claims}", name=", ".join(names[place] for place in places), claims=with_commas(told))
        for places, told in claims.items()
    )
    if sentence is not None and len(result.contenders) > 2 and not any(lead.than for lead in result.claims):
        sentence = say("{verdict} (vs next best)", verdict=sentence)
    return _doubted(sentence, result) or Line.good(sentence or say("no meaningful difference"))


def _claim(lead: Lead, result: Compared, *, names: list[str], years: float | None) -> Sentence:
    """How far somebody is ahead, and of whom, where that is not the next."""
    ahead = claim(lead, even=result.is_even, years=years)
    return ahead if lead.than is None else say("{claim} (vs {name})", claim=ahead, name=names[lead.than])


def _doubted(sentence: Sentence | None, result: Compared) -> Line | None:
    """The answer with who misses a limit or may run out of memory; None where nobody does."""
    rows = list(zip(result.contenders, _names(result), strict=True))
    lost = [
        name for item, name in rows if item.plan is None and {one.limit for one in item.broken} == {"memory"}
    ]
    missed = [name for item, name in rows if not item.fits and name not in lost]
    tight = [name for item, name in rows if item.fits and item.plan and item.plan.is_tight]
    doubts = (
        say("does not fit: {names}", names=", ".join(lost) or None),
        say("misses the limits: {names}", names=", ".join(missed) or None),
        say("memory may not be enough: {names}", names=", ".join(tight) or None),
    )
    return Line.warn(with_semicolons((sentence, *doubts)) or "") if lost or missed or tight else None


def _better(result: Compared) -> Iterator[tuple[tuple[int, ...], Sentence]]:
    """Who runs weights of a better class than another does: the rest is then no like against like."""
    able = {
        place: item.plan.work.weights
        for place, item in enumerate(result.contenders)
        if item.fits and item.plan is not None and isinstance(item.plan.work, Serving)
    }
    classes = {place: quality_class(find_format(form).loss_rank) for place, form in able.items()}
    if len(set(classes.values())) > 1:
        best = tuple(place for place, own in classes.items() if own == min(classes.values()))
        forms = ", ".join(dict.fromkeys(short_format(able[place]) for place in best))
        yield best, say("better quality ({format})", format=forms)


def _paid_off(result: Compared) -> Iterator[tuple[tuple[int, ...], Sentence]]:
    """Of two that do the same, one bought and one rented: how long until the price is saved."""
    if result.payback is None:
        return
    place, paid = result.payback
    if math.isfinite(paid.high):
        months = months_between(paid.low, paid.high)
        yield (place,), say("the price equals {months} months of rent", months=months)
    elif math.isfinite(paid.months):
        least = months_shown(paid.low)
        yield (place,), say("the price equals {months} months of rent or more", months=least)


def _misses(result: Compared) -> Iterator[Sentence]:
    """What each breaks that breaks a limit."""
    for contender, name in zip(result.contenders, _names(result), strict=True):
        if not contender.fits:
            reasons: Shown = with_commas(broken.reason for broken in contender.broken) or say("nothing fits")
            yield say("{label}: {reason}", label=name, reason=reasons)


def _table(result: Compared) -> Table:
    """Figures down, things across; the best of each row is marked."""
    things = result.contenders
    plans, figures = [item.plan for item in things], [item.figures for item in things]
    names = (item.asked if item.plan is None else named.machine(item.plan) for item in things)
    best = {lead.figure: lead.places for lead in result.leads if lead.than is None}
    reasons = (item.broken[0].reason if item.broken and not item.fits else "" for item in things)
    rows: tuple[Row, ...] = (
        ("", *(item.label for item in things)),
        (say("machine"), *names),
        *rows_across(plans, figures, wish=result.wish, best=best),
        (say("decode limited by"), *(_bound(item, "token_pass") for item in things)),
        (say("prefill limited by"), *(_bound(item, "prompt_pass") for item in things)),
        across(plans, say("based on"), value=words.basis),
        (say("limits missed"), *reasons),
    )
    return table_across(_LETTERS[: len(things)], rows, title=say("side by side (* best in its row)"))


def _bound(contender: Contender, which: str) -> Shown:
    return "" if contender.speed is None else TIME_NAMES[getattr(contender.speed, which).bound]


def _roofs(result: Compared) -> Plot:
    """Each card's roof, with its next tokens as a small letter and its prompts as a digit."""
    rows = [(place, item, item.roof) for place, item in enumerate(result.contenders) if item.roof is not None]
    passes = [part.flops_per_byte for _, _, roof in rows for part in (roof.token, roof.prompt)]
    left, right = min(passes) * _LEFT, max(passes) * RIGHT
    curves, spots = [], []
    for order, (place, contender, roof) in enumerate(rows):
        letter = _LETTERS[place]
        chip = "" if contender.plan is None else short(contender.plan.chip.name)
        peak, rate = f"{roof.peak_flops_per_s / TERA:,.0f}", f"{roof.bytes_per_s / TERA:.2f}"
        name = say("{chip}: {peak} TFLOP/s dense, {rate} TB/s", chip=chip, peak=peak, rate=rate)
        curves.append(Curve(letter=letter, name=name, points=_edge(roof, left, right=right)))
        decode, prefill = say("decode on {name}", name=letter), say("prefill on {name}", name=letter)
        both = ((letter.lower(), decode, roof.token), (str(place + 1), prefill, roof.prompt))
        for mark, name, part in both:
            x, y = part.flops_per_byte, part.flops_per_s / TERA
            spots.append(Spot(letter=mark, name=name, x=x, y=y, curve=order))
    return Plot(
        curves=tuple(curves), spots=tuple(spots), title=say("roofline"),
        x_name=say("FLOP per byte read"), y_name=say("TFLOP/s per GPU, dense"),
    )  # fmt: skip


def _edge(roof: Roof, left: float, *, right: float) -> tuple[tuple[float, float], ...]:
    """The roof: rising with what is read, then flat."""
    ridge = roof.peak_flops_per_s / roof.bytes_per_s
    start = min(left, ridge)
    points = ((start, start * roof.bytes_per_s), (ridge, roof.peak_flops_per_s))
    flat = (max(right, ridge), roof.peak_flops_per_s)
    return tuple((x, y / TERA) for x, y in (*points, flat))


def _notes(result: Compared) -> Iterator[Shown]:
    yield from result.notes
    noted = grouped(
        (note, name)
        for contender, name in zip(result.contenders, _names(result), strict=True)
        for note in (() if contender.plan is None else contender.plan.notes)
        if note.kind != OLD_PRICE
    )
    for sentence, names in noted.items():
        yield say("{label}: {reason}", label=", ".join(names), reason=sentence)


def _next(result: Compared, *, details: bool) -> Iterator[str]:
    ahead = {lead.figure: lead.places[0] for lead in result.claims}
    best = result.contenders[ahead.get("usd_per_mtok", next(iter(ahead.values()), 0))]
    plan = best.plan
    if plan is not None:
        flags = explain_flags(plan, wish=result.wish)
        model = result.model_asked or best.asked
        yield shlex.join(["rigright", "explain", model, *flags])
    yield f"{result.asked} --json" if details else f"{result.asked} --details"


plain = telling.RecordPrinter(Compared, named.plan_told, verdict=answer_of(_verdict))
