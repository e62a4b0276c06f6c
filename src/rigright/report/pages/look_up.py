"""What was looked up, as a page and as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rigright.base.money import USD, currency_of
from rigright.base.page import (
    Column,
    Commands,
    Line,
    Page,
    Part,
    Points,
    Shown,
    Table,
    Tone,
    facts,
    prose,
    table,
)
from rigright.base.words import Sentence, say, tell
from rigright.report.pages.figures import symbol
from rigright.verbs.look_up.listing import Findings, Listing, ListingField, Unit, source_shown, yes_no

UNKNOWN = "-"
_MOST_COMMANDS = 3  # commands a page of findings ends with


def page(result: Listing) -> Page:
    """One record in full, or many as a table."""
    kind, count = result.kind, len(result.records)
    in_full = count == 1 or kind.full
    parts = [part for record in result.records for part in _one(result, record, titled=count > 1) if in_full]
    title = _heading(kind.title, result)
    if count == 1:
        answer = next((field for field in kind.fields if field.key == kind.answer), None)
        name = say("{kind}: {name}", kind=kind.title, name=_shown(kind.fields[0], result.records[0]))
        title = name if answer is None else _shown(answer, result.records[0])
    elif not result.total:
        title = say("{kind}: nothing matches these filters", kind=kind.title)
    sources = dict.fromkeys(map(source_shown, result.records) if result.with_sources else ())
    return Page.of(
        title,
        parts if in_full or not result.records else _table(result),
        map(Line.dim, result.notes),
        Points.of(sources, title=say("Sources"), tone="dim"),
        tone="plain" if result.total else "warn",
    )


def findings_page(findings: Findings) -> Page:
    """The one thing a word names in full, then the other kinds that speak of it."""
    hit, text = findings.hit, findings.text
    quoted = text if text.replace("-", "").replace(".", "").isalnum() else f'"{text}"'

    def commands(names: Iterable[str]) -> Commands:
        items = [f"rigright look-up {name} {quoted}" for name in names]
        return Commands(items=tuple(items[:_MOST_COMMANDS]))

    if hit is not None:
        shown = page(hit)
        others = {name: found.total for name, found in findings.found.items() if found.kind is not hit.kind}
        counts = ", ".join(f"{name} {count}" for name, count in others.items())
        also = Line.dim(say("also in: {kinds}", kinds=counts or None))
        return Page.of(shown.title, *shown.parts, also, commands(others))
    tables = (replace(_table(found), title=_heading(name, found)) for name, found in findings.found.items())
    more = [
        name
        for name, found in findings.found.items()
        if found.total > len(found.records) or len(findings.found) == 1
    ]
    return Page.of(say('"{text}" in all tables', text=text), tables, commands(more))


def _heading(name: Shown, listing: Listing) -> Shown:
    """What is listed, and how many."""
    if listing.total > len(listing.records):
        return say("{kind}: {shown} of {total}", kind=name, shown=len(listing.records), total=listing.total)
    return say("{kind}: {total}", kind=name, total=listing.total)


def findings_plain(findings: Findings, language: str) -> dict[str, Any]:
    """The same as data: the thing it names, and what speaks of it by kind."""
    return {
        "text": findings.text,
        "hit": plain(findings.hit, language)[0] if findings.hit is not None else None,
        "found": {
            name: {"total": listing.total, "records": plain(listing, language)}
            for name, listing in findings.found.items()
        },
    }


def plain(result: Listing, language: str) -> list[dict[str, Any]]:
    """Every record with every field, in SI units and bytes; unknown is null."""
    tells = result.kind.tells
    return [tells(record, language) for record in result.records]


def kinds_page(summaries: dict[str, Sentence]) -> Page:
    """Everything that can be looked up."""
    examples = ("rigright look-up 4090", "rigright look-up clouds h100 --sort per_chip --reverse")
    kinds = table((say("kind"), prose("")), summaries.items())
    return Page.of(say("Look-up kinds"), kinds, Commands(items=examples))


def kinds_plain(summaries: dict[str, Sentence], language: str) -> dict[str, str]:
    """The same for scripts."""
    return {name: tell(summary, language) for name, summary in summaries.items()}


def _table(result: Listing) -> Table:
    """The fields that fit beside each other; a column that would stay empty is left out."""
    kind, records = result.kind, result.records
    columns, cells = [], []
    for field in (*(field for field in kind.fields if field.listed), *result.also):
        shown = [_shown(field, record, currency=result.currency) for record in records]
        if any(cell not in {"", UNKNOWN} for cell in shown):
            right = field.right or any(_is_number(field.read(record)) for record in records)
            columns.append(Column(head=_head(field, result), right=right, flexible=field.flexible))
            cells.append(shown)
    tones: list[Tone] = ["dim" if getattr(record, "stale", False) else "plain" for record in records]
    return table(columns, zip(*cells, strict=True), tones=tones)


def _head(field: ListingField, result: Listing) -> Sentence:
    """What a column is called, with the sign of the currency that is asked for."""
    money = (("sign", symbol(result.currency)),)
    return replace(field.head, values=money) if field.unit.money else field.head


def _one(result: Listing, record: Any, *, titled: bool) -> tuple[Part, ...]:
    """Every field that is known, one under another, then what the kind adds."""
    kind = result.kind
    known = [
        (_head(field, result), _shown(field, record, currency=result.currency))
        for field in kind.fields
        if field.read(record) is not None and field.key != "unconfirmed"
    ]
    first, rest = known[0], known[1:]
    answer = next((field.head for field in kind.fields if field.key == kind.answer), None)
    shown = ((head, cell) for head, cell in rest if cell not in {"", UNKNOWN} and (titled or head != answer))
    every = facts(shown, title=first[1] if titled else None)
    return (every, *(kind.parts(record) if kind.parts else ()))


def _shown(field: ListingField, record: Any, *, currency: str = USD) -> Shown:
    value = field.read(record)
    if value is None:
        return UNKNOWN
    unit = field.unit
    if unit.money and currency != USD:
        unit = unit._replace(scale=1 / currency_of(currency).per_usd)
    if field.show is not None:
        return field.show(value)
    if isinstance(value, tuple):
        return ", ".join(str(_cell(item, unit)) for item in value)
    return _cell(value, unit)


def _cell(value: Any, unit: Unit) -> Shown:
    """One value in its unit."""
    if isinstance(value, bool):
        return yes_no(value)
    if not _is_number(value):
        return value if isinstance(value, Sentence) else str(value)
    return (
        f"{value:,}"
        if isinstance(value, int) and unit.scale == 1
        else unit.written.format(value / unit.scale)
    )


def _is_number(value: object) -> bool:
    """Whether it stands right."""
    return isinstance(value, int | float) and not isinstance(value, bool)
