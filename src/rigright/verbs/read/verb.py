"""Reads a guide: its passages, the claims of each, what they are held against; nothing of it is run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rigright.base.cells import is_rule, tables_of
from rigright.base.errors import AskError, DataError, RigError
from rigright.base.files import read_bounded
from rigright.base.words import say
from rigright.build.judge import DOUBT, IMPOSSIBLE
from rigright.build.listed import is_parts_table, lists_in
from rigright.verbs.build import check_text
from rigright.verbs.read.claims import claim_of, figures, ratios, without_twins
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
from rigright.verbs.read.sayings import errors_in, myths_in
from rigright.verbs.read.wording import wordings

STDIN = "-"
_MOST_CONFIGURATIONS = 40  # of a text, that are worked out
READERS = (figures, needs, wordings, ratios, prices_in, commands_in, myths_in)
_RULED: dict[str, Verdict] = {IMPOSSIBLE: WRONG, DOUBT: UNKNOWN}


def read(file: str) -> ReadGuide:
    """The guide in a file; `-` is standard input; what is no file and has a space is the text itself."""
    if file == STDIN:
        return read_text(sys.stdin.buffer.read(MOST_BYTES + 1), name="stdin")
    if any(sign.isspace() for sign in file.strip()) and not is_file(file):
        return read_text(file, name=file.strip()[:SHOWN])
    return read_text(read_bounded(file, MOST_BYTES), name=Path(file).name, list_file=file)


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
    left = _MOST_CONFIGURATIONS
    for passage in passages(lines):
        readers = [claim for reader in READERS for claim in reader(passage)]
        for subject, machine in machines(passage):
            left -= 1
            if left < 0:
                truth = say("not checked: more than {count} configurations", count=_MOST_CONFIGURATIONS)
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
    taken = {item.line for item in claims}
    return ReadGuide(
        name=name,
        lines=len(lines),
        claims=tuple(sorted(without_twins(claims), key=lambda item: item.line)),
        errors=tuple(dict.fromkeys(errors)),
        not_understood=tuple(
            dict.fromkeys(
                unread_line
                for unread_line in unread
                if " | " not in unread_line.text or unread_line.line not in taken
            )
        ),
        cut=cut,
    )


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
