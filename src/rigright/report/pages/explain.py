"""The page of `explain` for a model that serves: verdict, bar and table of memory, limits, what to change."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from rigright.base.units import GIB, show_bytes, to_gib
from rigright.base.words import Sentence, say, tell
from rigright.report.explained import PARTS, CardUse, Explained, Limits
from rigright.report.page import Bar, Bars, Column, Commands, Line, Page, Part, Piece, Points, Shown, Table
from rigright.report.pages.samples import plain_samples, sample_lines, sample_table
from rigright.report.pages.speed import plain_speed, speed_lines, speed_table
from rigright.report.pages.why import reasons_table

NAMES = {
    "weights": say("weights"),
    "cache": say("cache"),
    "states": say("states"),
    "step": say("step"),
    "tables": say("workspaces"),
    "graphs": say("graphs"),
    "collectives": say("collectives"),
    "context": say("process"),
    "slack": say("libraries, fragments"),
    "unused": say("cache, spare"),
    "memory": say("memory of a card"),
    "rates": say("rates"),
}
BESIDE_TENSORS = frozenset({"graphs", "collectives", "context", "slack"})
GENEROUS_SPARE = 0.1  # of a card: below it the verdict says that it is tight

Group = tuple[int, CardUse]  # so many cards alike


def page(result: Explained, *, why: bool = False) -> Page:
    """The page for people."""
    parts: list[Part] = [_verdict(result), _bars(result), _table(result)]
    if result.limits is not None:
        parts.append(Points(items=tuple(_limits(result, result.limits))))
    if result.speed is not None:
        parts += [speed_table(result.speed), Points(items=tuple(speed_lines(result.speed)))]
    if result.samples is not None:
        parts += [sample_table(result.samples), Points(items=tuple(sample_lines(result.samples)))]
    if result.remedies:
        parts.append(_remedies(result))
    if why:
        parts.append(reasons_table(result.reasons, NAMES))
    parts += [Line(said=note, tone="dim") for note in result.notes]
    if result.asked:
        parts.append(Commands(items=tuple(_next(result)), title=say("next")))
    return Page(title=_title(result), parts=tuple(parts))


def _title(result: Explained) -> Sentence:
    return say(
        "{model} in {format} on {machine} with {engine} {version}",
        model=result.model,
        format=result.weights_format,
        machine=result.machine,
        engine=result.engine,
        version=result.engine_version,
    )


def _verdict(result: Explained) -> Line:
    card, limits = result.fullest, result.limits
    sizes = dict(card.parts_bytes)
    if not result.fits:
        return Line(said=_refusal(result, card), tone="bad")
    tight = card.spare_bytes < GENEROUS_SPARE * card.total_bytes
    told = {
        "machine": result.machine,
        "weights": show_bytes(sizes["weights"]),
        "total": show_bytes(card.total_bytes),
    }
    start = (
        say("fits: {machine}; weights take {weights} of the {total} of each card", **told)
        if len(groups(result.cards)) == 1
        else say("fits: {machine}; weights take {weights} of the {total} of the fullest card", **told)
    )
    if limits is not None and limits.pool_tok is not None:
        said = say("{start}; room for {tokens} tokens of cache", start=start, tokens=f"{limits.pool_tok:,}")
    else:
        said = say("{start}; {spare} to spare", start=start, spare=show_bytes(card.spare_bytes))
    return Line(said=said, tone="warn" if tight else "good")


def _refusal(result: Explained, card: CardUse) -> Sentence:
    missing = say(
        "does not fit: {missing} too much on {chip}", missing=show_bytes(-card.spare_bytes), chip=card.chip
    )
    first = next((one for one in result.remedies if one.fits), None)
    return (
        missing
        if first is None
        else say("{refusal}; {change} would do", refusal=missing, change=first.change)
    )


def _kept_free(cards: list[CardUse]) -> list[tuple[Shown, ...]]:
    """The share an engine leaves to others, where it leaves one."""
    asked = [sum(size for _, size in card.parts_bytes) for card in cards]
    kept = [card.free_bytes - need - card.spare_bytes for card, need in zip(cards, asked, strict=True)]
    return (
        [(say("kept free by the engine"), *(_gib(size) for size in kept))] if max(kept) > 0.01 * GIB else []
    )


def groups(cards: tuple[CardUse, ...]) -> list[Group]:
    """Cards one after another that are used alike, counted."""

    def alike(card: CardUse) -> tuple[object, ...]:
        return card.chip, card.parts_bytes, card.pool_bytes, card.total_bytes, card.free_bytes

    return [(len(same), same[0]) for _, grouped in groupby(cards, alike) for same in [list(grouped)]]


def pieces(card: CardUse) -> list[tuple[str, float]]:
    """Parts of a card, and what the engine sets aside beyond what was asked."""
    sizes = dict(card.parts_bytes)
    spare = card.pool_bytes - sizes["cache"] - sizes["states"]
    return [*card.parts_bytes, ("unused", max(spare, 0.0))]


def _label(count: int, card: CardUse) -> str:
    return card.chip if count == 1 else f"{count}x {card.chip}"


def _bars(result: Explained) -> Bars:
    return Bars(
        bars=tuple(
            Bar(
                label=_label(count, card),
                pieces=tuple(
                    Piece(name=NAMES[part], size=size, shown=show_bytes(size)) for part, size in pieces(card)
                ),
                limit=card.total_bytes,
                shown=f"{to_gib(card.used_bytes):.1f} / {to_gib(card.total_bytes):.1f} GiB",
            )
            for count, card in groups(result.cards)
        )
    )


def _table(result: Explained) -> Table:
    shown = groups(result.cards)
    rows: list[tuple[Sentence | str, ...]] = [
        (NAMES[part], *(_gib(dict(pieces(card))[part]) for _, card in shown))
        for part in (*PARTS, "unused")
        if any(dict(pieces(card))[part] > 0 for _, card in shown)
    ]
    rows += [
        (say("allocated by tensors"), *(_gib(_allocated(card)) for _, card in shown)),
        (say("shown by the driver"), *(_gib(card.used_bytes) for _, card in shown)),
        (
            say("  80 % band"),
            *(f"{to_gib(card.low_bytes):.2f}-{to_gib(card.high_bytes):.2f}" for _, card in shown),
        ),
        (say("free on the card"), *(_gib(card.free_bytes) for _, card in shown)),
        *_kept_free([card for _, card in shown]),
        (say("left after what was asked"), *(_gib(card.spare_bytes) for _, card in shown)),
    ]
    if any(card.layers for _, card in shown):
        rows.insert(0, (say("layers"), *(_layers(card) for _, card in shown)))
    heads = [Column(head=_label(count, card), right=True) for count, card in shown]
    return Table(
        title=say("memory of a card, GiB"),
        columns=(Column(head=say("part"), flexible=True), *heads),
        rows=tuple(rows),
    )


def _gib(size_bytes: float) -> str:
    return f"{to_gib(size_bytes):.2f}"


def _layers(card: CardUse) -> str:
    return "" if card.layers is None else f"{card.layers[0]}-{card.layers[1] - 1}"


def _allocated(card: CardUse) -> float:
    """What the framework's tensors come to, the pool included."""
    sizes = dict(pieces(card))
    return sum(size for part, size in sizes.items() if part not in BESIDE_TENSORS)


def _limits(result: Explained, limits: Limits) -> Iterator[Sentence]:
    serving = result.serving
    yield say(
        "asked: {batch} x {context} tokens, cache in {kv}; each further token costs {bytes} a card",
        batch=serving.batch,
        context=f"{serving.context_tok:,}",
        kv=serving.kv,
        bytes=show_bytes(limits.token_bytes),
    )
    if limits.context_tok == 0 and limits.pool_tok == 0:
        yield say("the engine will not start: nothing is left for the cache")
        return
    if limits.pool_tok is not None:
        yield say(
            "the engine will log about {tokens} tokens of cache ({low} to {high}) in {blocks} blocks",
            tokens=f"{limits.pool_tok:,}",
            low=f"{limits.pool_low_tok:,}",
            high=f"{limits.pool_high_tok:,}",
            blocks=f"{limits.blocks:,}",
        )
    if limits.context_tok is None:
        yield say(
            "largest context with {batch} at once: no limit, nothing grows with it", batch=serving.batch
        )
    elif limits.context_tok == limits.model_context_tok:
        yield say(
            "largest context with {batch} at once: {context} tokens, all the model allows",
            batch=serving.batch,
            context=f"{limits.context_tok:,}",
        )
    else:
        yield say(
            "largest context with {batch} at once: {context} tokens",
            batch=serving.batch,
            context=f"{limits.context_tok:,}",
        )
    yield say(
        "most at once with {context} tokens each: {batch}",
        context=f"{serving.context_tok:,}",
        batch=f"{limits.batch:,}",
    )


def _remedies(result: Explained) -> Table:
    return Table(
        title=say("what to change, most bytes saved first"),
        columns=(
            Column(head=say("change"), flexible=True),
            Column(head=say("saves GiB"), right=True),
            Column(head=say("then")),
            Column(head=say("price"), flexible=True),
        ),
        rows=tuple(
            (one.change, _gib(one.saves_bytes), say("fits") if one.fits else say("not yet"), one.price)
            for one in result.remedies
        ),
        tones=tuple("good" if one.fits else "plain" for one in result.remedies),
    )


def _next(result: Explained) -> Iterator[str]:
    fitting = next((one for one in result.remedies if one.fits and one.flag), None)
    if fitting is not None:
        yield f"{result.asked} {fitting.flag}"
    yield f"{result.asked} --why"


def plain(result: Explained, language: str) -> dict[str, Any]:
    """The same for scripts: bytes and tokens; keys stay as they are."""
    serving, limits = result.serving, result.limits
    return {
        "model": result.model,
        "params": result.params,
        "machine": result.machine,
        "engine": result.engine,
        "engine_version": result.engine_version,
        "weights": result.weights_format,
        "kv": serving.kv,
        "context_tok": serving.context_tok,
        "batch": serving.batch,
        "budget_tok": serving.budget_tok,
        "max_seqs": serving.max_seqs,
        "utilisation": serving.utilisation,
        "layout": {name: getattr(result.layout, name) for name in ("tp", "pp", "dp", "ep", "cp")},
        "fits": result.fits,
        "verdict": tell(_verdict(result).said, language),
        "cards": [_card(card) for card in result.cards],
        "limits": None
        if limits is None
        else {name: getattr(limits, name) for name in type(limits).__slots__},
        "speed": plain_speed(result.speed),
        "samples": plain_samples(result.samples),
        "remedies": [
            {
                "change": one.change,
                "price": one.price,
                "saves_bytes": round(one.saves_bytes),
                "fits": one.fits,
                "flag": one.flag,
            }
            for one in result.remedies
        ],
        "why": [
            {"part": one.part, "formula": one.formula, "numbers": one.facts, "source": one.source}
            for one in result.reasons
        ],
        "notes": list(result.notes),
    }


def _card(card: CardUse) -> dict[str, Any]:
    return {
        "index": card.index,
        "chip": card.chip_id,
        "name": card.chip,
        "layers": None if card.layers is None else list(card.layers),
        "parts_bytes": {part: round(size) for part, size in pieces(card)},
        "pool_bytes": round(card.pool_bytes),
        "allocated_bytes": round(_allocated(card)),
        "used_bytes": round(card.used_bytes),
        "used_low_bytes": round(card.low_bytes),
        "used_high_bytes": round(card.high_bytes),
        "free_bytes": round(card.free_bytes),
        "total_bytes": round(card.total_bytes),
        "spare_bytes": round(card.spare_bytes),
    }
