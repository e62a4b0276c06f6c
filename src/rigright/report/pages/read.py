"""The page of `read`: how many claims hold, what is true where they do not, what was not understood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rigright.base import telling
from rigright.base.page import Commands, Line, Page, Part, Points, Tone, table
from rigright.base.words import Sentence, say, with_commas
from rigright.verbs.read.record import (
    DATED,
    RIGHT,
    UNKNOWN,
    WRONG,
    ExplainedError,
    GuideClaim,
    ReadGuide,
    Verdict,
)

SHOWN = {WRONG: 8, DATED: 4, UNKNOWN: 3}  # claims of a verdict that the short page lists
_SHOWN_UNREAD = 4
WORDS = {RIGHT: say("right"), WRONG: say("wrong"), DATED: say("dated"), UNKNOWN: say("not checked")}
_TONES: dict[str, Tone] = {RIGHT: "good", WRONG: "bad", DATED: "warn", UNKNOWN: "dim"}


def page(result: ReadGuide, *, details: bool = False) -> Page:
    """The page for people."""
    every = (WRONG, DATED, UNKNOWN, RIGHT) if details else tuple(SHOWN)
    more = not details and (result.right or len(result.not_understood) > _SHOWN_UNREAD)
    answer = _answer(result)
    if answer is not None and not details:
        return Page.of(
            Line(text=answer[0], tone=_tone(result)), Commands(items=tuple(filter(None, answer[1:])))
        )
    cut = say("only the first part was read: it is very long")
    return Page.of(
        Line(text=_verdict(result), tone=_tone(result)),
        (part for verdict in every for part in _group(result, verdict, details=details)),
        _errors(result.errors),
        _unread(result, most=None if details else _SHOWN_UNREAD),
        Line.warn(cut) if result.cut else None,
        Line.dim(say("--details lists every claim and sentence")) if more else None,
    )


def _tone(result: ReadGuide) -> Tone:
    if result.wrong:
        return "bad"
    if result.dated:
        return "warn"
    return "good" if result.right and not result.unknown and not result.not_understood else "plain"


def _answer(result: ReadGuide) -> tuple[Sentence, str | None] | None:
    """What holds, and what shows it, where a line says one thing."""
    said: tuple[GuideClaim | ExplainedError, ...] = (*result.claims, *result.errors)
    if result.lines > 1 or len(said) != 1 or result.not_understood:
        return None
    (one,) = said
    if isinstance(one, ExplainedError):
        text = one.means if one.do is None else say("{wrong}; {do}", wrong=one.means, do=one.do)
        return text, one.command
    return say("{said}: {truth}", said=WORDS[one.verdict], truth=one.truth or "?"), one.command


def _verdict(result: ReadGuide) -> Sentence:
    """The answer: what holds, or how many claims there are of each verdict."""
    answer = _answer(result)
    if answer is not None:
        return answer[0]
    counts = with_commas(
        (
            say("{count} right", count=result.right or None),
            say("{count} wrong", count=result.wrong or None),
            say("{count} dated", count=result.dated or None),
            say("{count} not checked", count=result.unknown or None),
        )
    )
    stated = say("{count} claims", count=len(result.claims))
    if counts is not None:
        stated = say("{claims}: {counts}", claims=stated, counts=counts)
    if result.errors:
        stated = say("{said}; {count} errors explained", said=stated, count=len(result.errors))
    missed = len(result.not_understood)
    return say("{said}; {count} sentences not understood", said=stated, count=missed) if missed else stated


def _group(result: ReadGuide, verdict: Verdict, *, details: bool) -> Iterator[Part]:
    """Claims of one verdict with what is true, and the commands that show it."""
    claims = [claim for claim in result.claims if claim.verdict == verdict]
    shown = claims if details else claims[: SHOWN[verdict]]
    if not shown:
        return
    yield Points.of(map(_claim_line, shown), title=WORDS[verdict], tone=_TONES[verdict])
    yield from _more(claims, len(shown))
    yield Commands(items=tuple(dict.fromkeys(claim.command for claim in shown if claim.command)))


def _more(things: Sequence[object], most: int | None) -> Iterator[Line]:
    """How many there are beyond those that are shown."""
    if most is not None and len(things) > most:
        yield Line.dim(say("and {count} more", count=len(things) - most))


def _claim_line(claim: GuideClaim) -> Sentence:
    """Where it stands, what it says, what is true."""
    sentence = say('line {line}: "{says}"', line=claim.line, says=claim.says)
    if claim.truth is None:
        return sentence
    about = (claim.about or "").rpartition("/")[2]
    if claim.about is None or claim.kind == "command":
        return say("{said}: {truth}", said=sentence, truth=claim.truth)
    if about.casefold() in claim.says.casefold():
        return say("{said}: {about}: {truth}", said=sentence, about=claim.title, truth=claim.truth)
    return say(
        "{said}: {about}, {kind}: {truth}", said=sentence, about=about, kind=claim.title, truth=claim.truth
    )


def _errors(errors: Sequence[ExplainedError]) -> Iterator[Part]:
    yield Points.of(map(_error_line, errors), title=say("errors"), tone="warn")
    yield Commands(items=tuple(dict.fromkeys(error.command for error in errors)))


def _error_line(error: ExplainedError) -> Sentence:
    fields = {"line": error.line, "says": error.says, "means": error.means}
    if error.do is None:
        return say('line {line}: "{says}": {means}', **fields)
    return say('line {line}: "{says}": {means}; {do}', do=error.do, **fields)


def _unread(result: ReadGuide, *, most: int | None) -> Iterator[Part]:
    shown = result.not_understood[:most]
    items = (say('line {line}: "{says}"', line=row.line, says=row.text) for row in shown)
    yield Points.of(items, title=say("not understood, and so not checked"), tone="dim")
    yield from _more(result.not_understood, most)


def sheet(result: ReadGuide) -> Page:
    """One row a claim, then what was not understood."""
    heads = ("line", "verdict", "about", "kind", "says", "truth", "command")
    rows = (
        *(
            (row.line, row.verdict, row.about, row.kind, row.says, row.truth, row.command)
            for row in result.claims
        ),
        *((row.line, "error", None, None, row.says, row.means, row.command) for row in result.errors),
        *((row.line, "not understood", None, None, row.text, None, None) for row in result.not_understood),
    )
    return Page.of(_verdict(result), table(heads, ((str(line), *cells) for line, *cells in rows)))


plain = telling.RecordPrinter(ReadGuide, answer=_verdict)
