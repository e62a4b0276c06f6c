"""Reads a guide: passages, the claims of each, what they are held against; nothing of it is run or looked up."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rigright.base.cells import tables_of
from rigright.base.errors import AskError, DataError, RigError
from rigright.base.files import read_bounded
from rigright.base.words import say
from rigright.build.listed import is_parts_table
from rigright.build.ruling import DOUBT, IMPOSSIBLE
from rigright.verbs.build import check_text
from rigright.verbs.read import models
from rigright.verbs.read.claims import claim_of, figures, without_twins
from rigright.verbs.read.commands import commands_in
from rigright.verbs.read.passages import MOST_BYTES, SHOWN, Passage, lines_of, passages
from rigright.verbs.read.prices import prices_in
from rigright.verbs.read.ratios import ratios
from rigright.verbs.read.record import (
    RIGHT,
    UNKNOWN,
    WRONG,
    ExplainedError,
    GuideClaim,
    ReadGuide,
    UnreadLine,
    Verdict,
)
from rigright.verbs.read.sayings import errors_in, myths_in
from rigright.verbs.read.subjects import Subject
from rigright.verbs.read.wording import made_no_more, rented, traits

STDIN = "-"
MOST_CONFIGURATIONS = 40  # of a text, that are worked out
_RULED: dict[str, Verdict] = {IMPOSSIBLE: WRONG, DOUBT: UNKNOWN}


def read(file: str) -> ReadGuide:
    """The guide in a file; `-` is standard input; what is no file and has a space is the text itself."""
    if file == STDIN:
        return read_text(sys.stdin.buffer.read(MOST_BYTES + 1), name="stdin")
    is_text = any(sign.isspace() for sign in file.strip()) and not Path(file[:200]).exists()
    if is_text:
        return read_text(file, name=file.strip()[:SHOWN])
    return read_text(read_bounded(file, MOST_BYTES), name=Path(file).name)


def read_text(raw: bytes | str, *, name: str = "text", command: str | None = None) -> ReadGuide:
    """The same of a text; `command` judges a list of parts in it."""
    text = _decoded(raw, name=name)
    lines, cut = lines_of(text[:MOST_BYTES])
    if not any(line.strip() for line in lines):
        raise AskError(say("{file} is empty", file=name), hint=say("give a guide: a file, -, or its text"))
    claims: list[GuideClaim] = []
    errors: list[ExplainedError] = []
    unread: list[UnreadLine] = []
    listed = list(_parts(lines, command=command or f"rigright build --check {name}"))
    in_list = {line for claim_lines, _ in listed for line in claim_lines}
    configurations = 0
    for passage in passages(lines):
        found = list(_claims(passage))
        for model, machine, works in models.configurations(passage):
            configurations += 1
            if configurations <= MOST_CONFIGURATIONS:
                found.append(_configured(passage, model, machine, works=works))
            else:
                found.append(_left_out(passage, machine))
        told = list(errors_in(passage))
        claims += found
        errors += told
        if not found and not told and passage.line not in in_list and _says_anything(passage):
            unread.append(UnreadLine(line=passage.line, text=passage.around(0)))
    claims += [claim for _, rulings in listed for claim in rulings]
    taken = {one.line for one in claims} | {one.line for one in errors}
    rest = tuple(one for one in unread if one.text.count(" | ") < 1 or one.line not in taken)
    judged = sorted(without_twins(claims), key=lambda one: one.line)
    return ReadGuide(
        name=name, lines=len(lines), claims=tuple(judged), errors=tuple(dict.fromkeys(errors)),
        not_understood=tuple(dict.fromkeys(rest)), cut=cut or len(text) > MOST_BYTES,
    )  # fmt: skip


def _decoded(raw: bytes | str, *, name: str) -> str:
    if isinstance(raw, str):
        return raw
    if b"\0" in raw:
        raise DataError(say("{file} is not text", file=name), hint=say("give a guide: a file, -, or its text"))
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", errors="replace")


def _says_anything(passage: Passage) -> bool:
    """Whether there are words at all, or a figure."""
    return sum(sign.isalnum() for sign in passage.text) > 1


def _claims(passage: Passage) -> Iterator[GuideClaim]:
    """Every claim of a passage but its configurations."""
    yield from figures(passage)
    yield from traits(passage)
    yield from ratios(passage)
    yield from prices_in(passage)
    yield from commands_in(passage)
    yield from made_no_more(passage)
    yield from rented(passage)
    yield from myths_in(passage)


def _configured(passage: Passage, subject: Subject, machine: str, *, works: bool) -> GuideClaim:
    """A model on a machine."""
    text = f"{passage.topic} {passage.whole if subject.start < 0 else passage.text}"
    fmt, context = models.settings_of(text)
    method = models.method_of(f"{passage.topic} {passage.text}")
    name = subject.name.partition("#")[0]
    if method is not None:
        verdict, truth, command = models.judge_training(name, machine, method, works=works)
    else:
        verdict, truth, command = models.judge(name, machine, fmt, context, works=works)
    return claim_of(passage, max(subject.start, 0), subject, kind="configuration", verdict=verdict, truth=truth, command=command)


def _left_out(passage: Passage, machine: str) -> GuideClaim:
    truth = say("not checked: more than {count} configurations", count=MOST_CONFIGURATIONS)
    command = f'rigright explain MODEL --on "{machine}"'
    return claim_of(passage, 0, None, kind="configuration", verdict=UNKNOWN, truth=truth, command=command)


def _parts(lines: Sequence[str], *, command: str) -> Iterator[tuple[set[int], list[GuideClaim]]]:
    """Lists of parts in tables, each judged whole as `build --check` does."""
    for table in tables_of(lines):
        if not is_parts_table(table):
            continue
        raw = "\n".join(lines[table.head_at : table.end])
        at = {place + 1 for place, _ in table.rows} | {table.head_at + 1}
        passage = Passage(table.head_at + 1, " | ".join(cells[0] for _, cells in table.rows)[:SHOWN])
        try:
            checked = check_text(raw)
        except RigError as error:
            yield at, [claim_of(passage, 0, None, kind="parts", verdict=UNKNOWN, truth=error.sentence, command=command)]
            continue
        yield at, [
            claim_of(passage, 0, None, kind="parts", verdict=_RULED.get(one.verdict, RIGHT), truth=one.reason if one.do is None else say("{wrong}; {do}", wrong=one.reason, do=one.do), command=command)
            for one in checked.rules
        ]
