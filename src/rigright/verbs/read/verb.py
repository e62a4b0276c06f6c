"""Reads a guide: its passages, the claims of each, what they are held against; nothing of it is run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from rigright.base.cells import is_rule, tables_of
from rigright.base.errors import AskError, DataError, RigError
from rigright.base.files import STDIN, called, read_bounded
from rigright.base.patterns import pattern
from rigright.base.words import say
from rigright.build.judge import DOUBT, IMPOSSIBLE
from rigright.build.listed import is_parts_table, lists_in
from rigright.verbs.build import check_text
from rigright.verbs.read.claims import claim_of, figures, orders, ratios
from rigright.verbs.read.commands import commands_in
from rigright.verbs.read.models import configured, machines, needs
from rigright.verbs.read.passages import MOST_BYTES, SHOWN, Passage, lines_of, passages
from rigright.verbs.read.prices import prices_in
from rigright.verbs.read.record import (
    RIGHT,
    UNKNOWN,
    WRONG,
    ClaimVerdict,
    ExplainedError,
    GuideClaim,
    ReadGuide,
    UnreadLine,
    Verdict,
)
from rigright.verbs.read.subjects import CHIP, subjects
from rigright.verbs.read.wording import errors_in, sayings, wordings

_MOST_CONFIGURATIONS = 40  # of a text, that are worked out
_ENDING = pattern(r"\A[/.~]|\.[A-Za-z0-9]{1,5}\Z")  # of a file's name, or how its path begins
_COLUMN = pattern(r"([^()]{1,16}?)\s?\(([A-Za-z/%]{1,10})\)")
_ROW = pattern(
    r"([A-Za-z][A-Za-z0-9 .\-]{0,24}?[0-9])([0-9][0-9.,]{0,20})(?:\s?\([A-Z0-9 ]{1,8}\)([0-9][0-9.,]{0,16}))?"
)
_NUMBER = pattern(r"\d{1,3}(?:,\d{3})?(?:\.\d{1,2})?|\d{4}(?:\.\d{1,2})?")
_MOST_ROWS, _MOST_COLUMNS = 12, 5
_RULED: dict[str, Verdict] = {IMPOSSIBLE: WRONG, DOUBT: UNKNOWN}


def read(file: str) -> ReadGuide:
    """The guide in a file; `-` is standard input; what is no file and reads like a sentence is the text."""
    if not is_file(file) and (any(sign.isspace() for sign in file.strip()) or _is_sentence(file)):
        return read_text(file, name=file.strip()[:SHOWN])
    return read_text(read_bounded(file, MOST_BYTES), name=called(file), list_file=file)


def _is_sentence(text: str) -> bool:
    """Whether a word without spaces is Chinese prose, and no name of a file."""
    return not text.isascii() and _ENDING.search(text) is None


def is_file(text: str) -> bool:
    """Whether there is such a file; what no system takes for a path is none."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def read_text(raw: bytes | str, *, name: str = "text", list_file: str = STDIN) -> ReadGuide:
    """The same of a text; a list of parts in it is judged by `build --check` of a file."""
    lines, cut = lines_of(decoded(raw, name=name))
    if not any(line.strip() for line in lines):
        raise AskError(say("{file} is empty", file=name), hint=say("give a guide: a file, -, or its text"))
    claims, errors, unread = list[GuideClaim](), list[ExplainedError](), list[UnreadLine]()
    listed: set[int] = set()
    for at, judged in _parts_lists(lines, command=f"rigright build --check {shlex.quote(list_file)}"):
        listed |= at
        claims += judged
    for claim in _glued_rows(lines):
        listed.add(claim.line)
        claims.append(claim)
    left = _MOST_CONFIGURATIONS
    document = "\n".join(lines).casefold()
    for passage in passages(lines):
        passage.document = document
        readers = [claim for reader in READERS for claim in reader(passage)]
        for subject, machine in machines(passage):
            left -= 1
            if left < 0:
                truth = say(
                    "only the first {count} configurations of a text are worked out",
                    count=_MOST_CONFIGURATIONS,
                )
                verdict = ClaimVerdict(verdict=UNKNOWN, truth=truth, command=machine.command)
                readers.append(claim_of(passage, 0, subject=subject, kind="configuration", verdict=verdict))
            else:
                readers += configured(passage, subject, machine=machine)
        explained = list(errors_in(passage))
        claims += readers
        errors += explained
        says = sum(sign.isalnum() for sign in passage.text) > 1
        if says and not readers and not explained and passage.line not in listed:
            unread.append(UnreadLine(line=passage.line, text=passage.around(0)))
    taken, explained_at = {item.line for item in claims}, {error.line for error in errors}
    return ReadGuide(
        name=name,
        lines=len(lines),
        claims=tuple(dict.fromkeys(sorted(claims, key=lambda item: item.line))),
        errors=tuple(dict.fromkeys(errors)),
        not_understood=tuple(
            dict.fromkeys(
                unread_line
                for unread_line in unread
                if unread_line.line not in explained_at
                and (" | " not in unread_line.text or unread_line.line not in taken)
            )
        ),
        cut=cut,
    )


def _supplies(passage: Passage) -> Iterator[GuideClaim]:
    """A power supply for cards, judged by the rules of `build --check`."""
    cards = [subject for subject in passage.subjects if subject.kind == CHIP]
    for quantity in passage.figures if cards else ():
        if quantity.unit != "w" or not passage.is_of_supply(quantity):
            continue
        before = [subject for subject in cards if subject.end <= quantity.start]
        card = (before[-1:] or cards[:1])[0]
        parts = f"GPU: {card.count}x {card.name}\nPSU: {quantity.mid:.0f}W"
        for rule in (each for each in check_text(parts).rules if "psu" in each.parts):
            verdict = ClaimVerdict(
                verdict=WRONG if rule.verdict in _RULED else RIGHT, truth=rule.reason,
                command=f'rigright build "{card.count}x {card.name}"',
            )  # fmt: skip
            yield claim_of(passage, quantity.start, subject=card, kind="power supply", verdict=verdict)


def decoded(raw: bytes | str, *, name: str) -> str:
    """Text of bytes: UTF-8, or what older Chinese editors write."""
    if isinstance(raw, str):
        return raw[:MOST_BYTES]
    if b"\0" in raw:
        raise DataError(
            say("{file} is not text", file=name), hint=say("give a guide: a file, -, or its text")
        )
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", errors="replace")


READERS = (figures, needs, wordings, ratios, orders, prices_in, commands_in, sayings, _supplies)


def _parts_lists(lines: Sequence[str], *, command: str) -> Iterator[tuple[set[int], list[GuideClaim]]]:
    """Lists of parts, in tables or line by line, each judged whole as `build --check` does."""
    tables = [(table.head_at, table.end) for table in tables_of(lines) if is_parts_table(table)]
    for start, end in (*tables, *lists_in(lines)):
        shown = " | ".join(line.strip(" |") for line in lines[start:end] if not is_rule(line))
        passage = Passage(start + 1, shown)
        try:
            rules = check_text("\n".join(lines[start:end])).rules
        except RigError as error:
            rules = ()
            verdicts = [ClaimVerdict(verdict=UNKNOWN, truth=error.sentence, command=command)]
        else:
            verdicts = [
                ClaimVerdict(
                    verdict=_RULED.get(ruling.verdict, RIGHT),
                    truth=ruling.reason
                    if ruling.do is None
                    else say("{wrong}; {do}", wrong=ruling.reason, do=ruling.do),
                    command=command,
                )
                for ruling in rules
            ]
        yield (
            set(range(start + 1, end + 1)),
            [claim_of(passage, 0, kind="parts", verdict=verdict) for verdict in verdicts],
        )


def _glued_rows(lines: Sequence[str]) -> Iterator[GuideClaim]:
    """Figures of such rows: the split in which most of them hold, where all but one of them do."""
    for place, line in enumerate(lines):
        columns = _COLUMN.findall(line)
        if (
            not 1 <= len(columns) <= _MOST_COLUMNS
            or "|" in line
            or len(line) > 100
            or line.endswith((".", "。"))
        ):
            continue
        for number, row in enumerate(lines[place + 1 : place + 1 + _MOST_ROWS], place + 2):
            if not row.strip() or _COLUMN.search(row):
                break
            yield from _best_split(row.strip(), columns, number=number)


def _best_split(row: str, columns: Sequence[tuple[str, str]], *, number: int) -> list[GuideClaim]:
    best: tuple[int, list[GuideClaim]] = 0, []
    match = _ROW.match(row)
    text = f"{match[1]}{match[2]}" if match else ""
    for end in range(2, len(text)):
        named = subjects(text[:end]) if text[end].isdigit() else ()
        if [(name.start, name.end) for name in named] != [(0, end)]:
            continue
        for cells in _splits(text[end:], match[3] or "" if match else "", count=len(columns)):
            cases = (
                Passage(number, f"{cell} {unit}", topic=title, above=(named[0].elsewhere,), whole=row)
                for cell, (title, unit) in zip(cells, columns, strict=True)
            )
            claims = [claim for case in cases for claim in figures(case) if claim.verdict in {RIGHT, WRONG}]
            hold = sum(claim.verdict == RIGHT for claim in claims)
            if hold > best[0] and len(claims) == len(columns):
                best = hold, claims
    return best[1] if best[0] >= max(len(columns) - 1, 1) else []


def _splits(digits: str, rest: str, *, count: int) -> Iterator[tuple[str, ...]]:
    """Ways to cut digits into numbers; those behind a bracket begin another cell."""
    together = f"{digits}{rest}"
    for places in combinations(range(1, len(together)), count - 1):
        cells = tuple(
            together[low:high] for low, high in zip((0, *places), (*places, len(together)), strict=True)
        )
        if (not rest or len(digits) in places) and all(_NUMBER.fullmatch(cell) for cell in cells):
            yield cells
