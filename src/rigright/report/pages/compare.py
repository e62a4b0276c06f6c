"""The page of `compare`: who wins what, figures side by side, rooflines, where the time goes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from rigright.base.units import TERA
from rigright.base.words import Sentence, say, tell, with_commas, with_semicolons
from rigright.demand import Training
from rigright.report.compared import Compared, Contender, Pass, Roof
from rigright.report.page import Column, Commands, Curve, Line, Page, Part, Plot, Shown, Spot, Table
from rigright.report.pages import plan_words as words
from rigright.report.pages.plan_data import plain_plan
from rigright.report.pages.plan_next import explain_flags
from rigright.report.pages.speed import TIME_NAMES, plain_estimate, plain_speed

LETTERS = "ABCDEFGH"
HEADS = {
    "ttft_s": say("first token"),
    "tpot_s": say("next tokens"),
    "output_tok_per_s": say("tok/s"),
    "train_tok_per_s": say("tok/s"),
    "images_per_s": say("images/s"),
    "texts_per_s": say("texts/s"),
    "latency_s": say("a batch"),
    "mfu": say("MFU"),
    "days": say("done in"),
    "usd": say("to buy"),
    "usd_per_h": say("an hour"),
    "usd_per_mtok": say("M tokens"),
    "usd_per_image": say("1,000 images"),
    "usd_per_text": say("1,000 texts"),
    "usd_total": say("in all"),
    "power_w": say("power"),
    "tok_per_joule": say("tokens a joule"),
    "headroom": say("memory free"),
}
LEFT, RIGHT = 0.3, 3.0  # how far beyond its points a roof is drawn


def page(result: Compared) -> Page:
    """The page for people."""
    parts: list[Part] = [_verdict(result), _table(result)]
    parts += [_roofs(result)] if any(one.roof for one in result.contenders) else []
    parts += [Line(said=note, tone="dim") for note in _notes(result)]
    if result.asked:
        parts.append(Commands(items=tuple(_next(result)), title=say("next")))
    title = say("{model}: {work}", model=result.model, work=words.work(result.wish))
    return Page(title=title, parts=tuple(parts))


def _name(place: int, one: Contender) -> str:
    return f"{LETTERS[place]}. {one.asked if one.plan is None else words.machine(one.plan)}"


def _verdict(result: Compared) -> Line:
    """Who is first in what."""
    if not any(one.plan for one in result.contenders):
        return Line(said=say("none of them can do it"), tone="bad")
    told: list[Shown] = []
    for place, one in enumerate(result.contenders):
        won = [HEADS[name] for name in HEADS if place in result.wins.get(name, ())]
        if won:
            told.append(say("{name} is first in {figures}", name=_name(place, one), figures=with_commas(won)))
    missed = [_name(place, one) for place, one in enumerate(result.contenders) if not one.fits]
    said: Shown = with_semicolons(told) or say("all are alike")
    if missed:
        said = say("{verdict}; not within the limits: {names}", verdict=said, names=", ".join(missed))
    return Line(said=said, tone="warn" if missed else "good")


def _table(result: Compared) -> Table:
    """Figures down, things across; the best of each row is marked."""
    things = result.contenders
    served = any(one.speed for one in things)
    learns = any(one.plan is not None and isinstance(one.plan.work, Training) for one in things)
    rows: list[tuple[Shown, ...]] = [
        (say("from"), *_each(things, words.supply)),
        (say("layout"), *_each(things, words.workers)),
        (say("method") if learns else say("weights"), *_each(things, words.formats)),
        (say("engine"), *_each(things, words.engine)),
    ]
    rows += [] if learns else [(say("at once"), *_each(things, words.at_once))]
    for name, head in HEADS.items():
        cells = tuple(words.figure(name, one.figures.get(name)) for one in things)
        best = result.wins.get(name, ())
        marked = tuple(f"* {cell}" if place in best else cell for place, cell in enumerate(cells))
        told = words.at_percentile(name, head, wish=result.wish)
        rows += [(told, *marked)] if any(cells) else []
    waits = (say("tokens wait for"), "token_pass"), (say("prompts wait for"), "prompt_pass")
    if served:
        rows += [(head, *(_bound(one, which) for one in things)) for head, which in waits]
    rows.append((say("speed known by"), *_each(things, words.known_by)))
    if not all(one.fits for one in things):
        rows.append((say("breaks"), *(one.broken[0].reason if one.broken else "" for one in things)))
    names = [one.asked if one.plan is None else words.machine(one.plan) for one in things]
    rows.insert(0, (say("machine"), *names))
    heads = [Column(head=LETTERS[place], flexible=True) for place in range(len(things))]
    return Table(
        title=say("side by side (* best of its row)"), columns=(Column(head=""), *heads), rows=tuple(rows)
    )


def _each(things: tuple[Contender, ...], told: Any) -> Iterator[Shown]:
    for one in things:
        yield "" if one.plan is None else told(one.plan)


def _bound(one: Contender, which: str) -> Shown:
    return "" if one.speed is None else TIME_NAMES[getattr(one.speed, which).bound]


def _roofs(result: Compared) -> Plot:
    """Each card's roof, with its next tokens as a small letter and its prompts as a digit."""
    known = [(place, one, one.roof) for place, one in enumerate(result.contenders) if one.roof is not None]
    passes = [part.flops_per_byte for _, _, roof in known for part in (roof.token, roof.prompt)]
    left, right = min(passes) * LEFT, max(passes) * RIGHT
    curves, spots = [], []
    for order, (place, one, roof) in enumerate(known):
        letter = LETTERS[place]
        chip = "" if one.plan is None else one.plan.chip.name
        curves.append(
            Curve(letter=letter, name=_roof_name(chip, roof), points=_edge(roof, left, right=right))
        )
        spots.append(
            _spot(letter.lower(), say("next tokens of {name}", name=letter), part=roof.token, curve=order)
        )
        spots.append(
            _spot(str(place + 1), say("prompts of {name}", name=letter), part=roof.prompt, curve=order)
        )
    return Plot(
        curves=tuple(curves),
        spots=tuple(spots),
        x_name=say("FLOP for each byte read"),
        y_name=say("TFLOP/s of one card, dense"),
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


def _spot(letter: str, name: Sentence, *, part: Pass, curve: int) -> Spot:
    return Spot(letter=letter, name=name, x=part.flops_per_byte, y=part.flops_per_s / TERA, curve=curve)


def _notes(result: Compared) -> Iterator[Shown]:
    yield from result.notes
    for place, one in enumerate(result.contenders):
        if one.plan is None:
            reason = one.broken[0].reason if one.broken else say("nothing fits, and nothing comes near")
            yield say("{label}: {reason}", label=_name(place, one), reason=reason)
            continue
        for note in one.plan.notes:
            yield say("{label}: {reason}", label=_name(place, one), reason=note)


def _next(result: Compared) -> Iterator[str]:
    best = result.wins.get("usd_per_mtok") or result.wins.get("output_tok_per_s") or (0,)
    plan = result.contenders[best[0]].plan
    if plan is not None:
        yield shlex.join(["rigright", "explain", result.model_asked, *explain_flags(plan)])
    yield f"{result.asked} --json"


def plain(result: Compared, language: str) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "model": result.model,
        "wish": {one.name: getattr(result.wish, one.name) for one in fields(result.wish)},
        "verdict": tell(_verdict(result).said, language),
        "things": [_thing(one, language) for one in result.contenders],
        "wins": {
            name: [result.contenders[place].asked for place in places] for name, places in result.wins.items()
        },
        "notes": list(result.notes),
    }


def _thing(one: Contender, language: str) -> dict[str, Any]:
    joule = one.figures.get("tok_per_joule")
    return {
        "asked": one.asked,
        "fits": one.fits,
        "plan": None if one.plan is None else plain_plan(one.plan, language),
        "tok_per_joule": plain_estimate(joule),
        "speed": plain_speed(one.speed),
        "roof": None if one.roof is None else _plain_roof(one.roof),
        "broken": [tell(rejection.reason, language) for rejection in one.broken],
    }


def _plain_roof(roof: Roof) -> dict[str, Any]:
    return {
        "peak_flops_per_s": roof.peak_flops_per_s,
        "bytes_per_s": roof.bytes_per_s,
        **{
            name: {"flops_per_byte": part.flops_per_byte, "flops_per_s": part.flops_per_s}
            for name, part in (("token", roof.token), ("prompt", roof.prompt))
        },
    }
