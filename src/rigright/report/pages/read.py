"""The page of `read`: how many claims hold, what is true where they do not, what was not understood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rigright.base import telling
from rigright.base.page import Commands, Line, Page, Part, Points, Shown, Tone, table
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
    parts: list[Part] = []
    for verdict in (WRONG, DATED, UNKNOWN, RIGHT):
        claims = [claim for claim in result.claims if claim.verdict == verdict]
        if claims and (details or verdict != RIGHT):
            parts += _group(claims, verdict, most=len(claims) if details else SHOWN.get(verdict, 0))
    parts += _errors(result.errors)
    parts += _unread(result, most=len(result.not_understood) if details else _SHOWN_UNREAD)
    if result.cut:
        parts.append(Line.warn(say("only the first part was read: it is very long")))
    if not details and (result.right or len(result.not_understood) > _SHOWN_UNREAD):
        parts.append(Line.dim(say("--details lists every claim and sentence")))
    return Page.of(verdict_line(result), parts, tone=_tone(result))


def _tone(result: ReadGuide) -> Tone:
    if result.wrong:
        return "bad"
    if result.dated:
        return "warn"
    return "good" if result.right and not result.unknown and not result.not_understood else "plain"


def verdict_line(result: ReadGuide) -> Sentence:
    """The answer: how many claims, and how many of each verdict."""
    counts = (
        say("{count} right", count=result.right) if result.right else None,
        say("{count} wrong", count=result.wrong) if result.wrong else None,
        say("{count} dated", count=result.dated) if result.dated else None,
        say("{count} not checked", count=result.unknown) if result.unknown else None,
    )
    claims = say("{count} claims", count=len(result.claims))
    sentence = with_commas(counts)
    stated = claims if sentence is None else say("{claims}: {counts}", claims=claims, counts=sentence)
    if result.errors:
        stated = say("{said}; {count} errors explained", said=stated, count=len(result.errors))
    if result.not_understood:
        stated = say(
            "{said}; {count} sentences not understood", said=stated, count=len(result.not_understood)
        )
    return stated


def _group(claims: Sequence[GuideClaim], verdict: Verdict, *, most: int) -> Iterator[Part]:
    """Claims of one verdict with what is true, and the commands that show it."""
    shown = claims[:most]
    yield Points.of(map(_claim_line, shown), title=WORDS[verdict], tone=_TONES[verdict])
    if len(claims) > most:
        yield Line.dim(say("and {count} more", count=len(claims) - most))
    commands = dict.fromkeys(claim.command for claim in shown if claim.command)
    if commands:
        yield Commands(items=tuple(commands))


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
    if not errors:
        return
    items = tuple(
        say(
            'line {line}: "{says}": {means}',
            line=error.line,
            says=error.says,
            means=error.means,
        )
        if error.do is None
        else say(
            'line {line}: "{says}": {means}; {do}',
            line=error.line,
            says=error.says,
            means=error.means,
            do=error.do,
        )
        for error in errors
    )
    yield Points.of(items, title=say("errors"), tone="warn")
    yield Commands(items=tuple(dict.fromkeys(error.command for error in errors)))


def _unread(result: ReadGuide, *, most: int) -> Iterator[Part]:
    if not result.not_understood:
        return
    shown = result.not_understood[:most]
    items = tuple(
        say('line {line}: "{says}"', line=unread_line.line, says=unread_line.text) for unread_line in shown
    )
    yield Points.of(items, title=say("not understood, and so not checked"), tone="dim")
    if len(result.not_understood) > most:
        yield Line.dim(say("and {count} more", count=len(result.not_understood) - most))


def sheet(result: ReadGuide) -> Page:
    """One row a claim, then what was not understood."""
    heads = ("line", "verdict", "about", "kind", "says", "truth", "command")
    rows: list[tuple[Shown, ...]] = [
        (
            str(claim.line),
            claim.verdict,
            claim.about or "",
            claim.kind,
            claim.says,
            claim.truth or "",
            claim.command or "",
        )
        for claim in result.claims
    ]
    rows += [
        (
            str(error.line),
            "error",
            "",
            "",
            error.says,
            error.means,
            error.command,
        )
        for error in result.errors
    ]
    rows += [
        (str(unread_line.line), "not understood", "", "", unread_line.text, "", "")
        for unread_line in result.not_understood
    ]
    columns = heads
    return Page.of(verdict_line(result), table(columns, rows))


def _answer_words(result: ReadGuide) -> Sentence | str:
    """How many claims there are, and how many of each verdict."""
    return verdict_line(result)


plain = telling.RecordPrinter(ReadGuide, answer=_answer_words)
