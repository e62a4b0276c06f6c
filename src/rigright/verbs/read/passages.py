"""A text as passages: sentences, cells of tables with what their row and column are, and lines of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from rigright.base.cells import TextTable, tables_of
from rigright.base.numerals import simplified
from rigright.base.patterns import pattern
from rigright.base.units import MIB
from rigright.verbs.read.quantities import StatedQuantity, quantities, unit_in
from rigright.verbs.read.subjects import ClaimSubject, generation, subjects

MOST_BYTES = MIB
MOST_LINES, MOST_LINE_CHARS, _MOST_PASSAGE = 20_000, 4000, 1200
SHOWN = 110  # signs of a passage that an answer quotes
_MOST_HEADING = 40  # signs of a line that names what the lines under it are about
_END = pattern(r"[。！？!?;；]+\s*|(?<=[A-Za-z0-9)）\]\"'%])\.(?:\s+|\Z)|\s•\s")
_BULLET = pattern(
    r"\A\s*(?:[-*•·>+]+\s+|\d{1,2}[.)、]\s+|#{1,6}\s*|[一二三四五六七八九十]{1,3}[、.]\s*|\(\d{1,2}\)\s*)"
)
_CODE = pattern(
    r"\A(?:import|from|def|return|for|if|with|class) [\w.*]|[\w\])]\s?=\s?[\w.\"'\[{(]+\(?"
    r"|\b(?:[a-z]\w*[_.]\w+|print|len|range)\(|\A\s*[$%>] "
)
_HEADING = pattern(r"\s*(?:#|\d{1,2}(?:\.\d{1,2}){1,2}\s|[一二三四五六七八九十]+、)")
_AGAIN = pattern(
    r"[.。!?；;\s]*(?:it|its|they|this card|the card|它|其|该卡|该显卡|这张卡|这款)", re.IGNORECASE
)
_NUMBER = pattern(r"[~≈约]?\s?[\d,]{1,12}(?:\.\d{1,6})?")
_BOLD = pattern(r"(?<!\w)\*\*|\*\*(?![\w(])")  # and no power of Python's
_GLUED = pattern(
    r"(?<=[\dK])(\s?(?:[KMGT]i?B(?:/s)?|[GM]Hz|TFLOPS|年|万|tokens))(?=\d)"
)  # cells that a web page lost
_MOST_JOINED = 16  # lines of one command or call
_PROSE = pattern(r"\A[^#=(){}]*[\u4e00-\u9fff]{4}[^=(){};]*\Z|。")  # a fence that nobody closed
_SUPPLY = pattern(r"(?:电源|psu|power supply|power supplies|supply)[^,;，。\d]{0,14}\Z", re.IGNORECASE)
_OF_SUPPLY = pattern(r"[^,;，。\d]{0,14}(?:电源|psu|power supply|power supplies)", re.IGNORECASE)
_FENCE = pattern(r"\A\s*(?:```|~~~)")


class Passage:
    """One sentence, cell or line of code, with what stands above it."""

    def __init__(
        self,
        line: int,
        text: str,
        *,
        topic: str = "",
        above: Sequence[ClaimSubject] = (),
        is_code: bool = False,
        whole: str | None = None,
    ) -> None:
        self.line, self.text, self.topic = line, text, topic.casefold()
        self.above, self.whole = tuple(above), whole or text
        self.document = text.casefold()
        self.is_code = is_code or (not topic and _CODE.search(text) is not None)

    @cached_property
    def plain(self) -> str:
        """In lower case, sign by sign."""
        lower = self.text.lower()
        return lower if len(lower) == len(self.text) else self.text

    @cached_property
    def subjects(self) -> tuple[ClaimSubject, ...]:
        """What it names."""
        return subjects(self.text)

    @cached_property
    def quantities(self) -> tuple[StatedQuantity, ...]:
        """Its figures."""
        return quantities(self.text)

    @cached_property
    def besides(self) -> str:
        """Its words besides the names in it."""
        ends = [0, *(subject.end for subject in self.subjects)]
        starts = [*(subject.start for subject in self.subjects), len(self.plain)]
        return " ".join(self.plain[end:start] for end, start in zip(ends, starts, strict=True))

    @cached_property
    def figures(self) -> tuple[StatedQuantity, ...]:
        """Those of them that are no part of a name."""
        named = self.subjects
        return tuple(
            q for q in self.quantities if not any(subject.start <= q.start < subject.end for subject in named)
        )

    def is_of_supply(self, quantity: StatedQuantity) -> bool:
        """Whether watts are those of a power supply."""
        before, behind = self.text[: quantity.start], self.text[quantity.end :]
        return bool(_SUPPLY.search(before) or _OF_SUPPLY.match(behind))

    def around(self, start: int) -> str:
        """The passage, or so much of it around a place as an answer quotes."""
        text = self.whole if self.whole != self.text else self.text
        if len(text) <= SHOWN:
            return text
        at = max(0, min(start - SHOWN // 2, len(text) - SHOWN)) if text is self.text else 0
        cut = text[at : at + SHOWN].strip()
        return f"{'…' if at else ''}{cut}{'…' if at + SHOWN < len(text) else ''}"


def lines_of(raw: str) -> tuple[list[str], bool]:
    """The lines of a text in plain signs, bounded; and whether some were left out."""
    lines = raw.splitlines()
    cut = len(lines) > MOST_LINES or any(len(line) > MOST_LINE_CHARS for line in lines[:MOST_LINES])
    return [_plain(line[:MOST_LINE_CHARS]) for line in lines[:MOST_LINES]], cut


def _plain(line: str) -> str:
    text = simplified(line)
    kept = "".join(sign for sign in text if sign.isprintable() or sign == "\t")
    return _GLUED.sub(r"\1 ", _BOLD.sub("", kept).replace("`", " ")) if not _FENCE.match(kept) else kept


def passages(lines: Sequence[str]) -> Iterator[Passage]:
    """Every passage of a text, in its order."""
    tables = {table.head_at: table for table in tables_of(lines)}
    above: tuple[ClaimSubject, ...] = ()
    place, fenced = 0, False
    while place < len(lines):
        if place in tables and not fenced:
            yield from _of_table(tables[place])
            place = tables[place].end
            continue
        line, first = lines[place], place + 1
        place += 1
        if _FENCE.match(line):
            fenced = not fenced
            continue
        line, place = _continued(lines, place)
        text = _unmarked(line)
        if not text:
            continue
        is_item = line.lstrip() != text and _HEADING.match(line) is None
        above = above if is_item else _above(line, text, above=above)
        near = above if is_item or len(text) <= _MOST_HEADING else ()
        is_code = fenced and _PROSE.search(text) is None
        for sentence in [text[:_MOST_PASSAGE]] if is_code else sentences(text):
            passage = Passage(first, sentence, above=near, is_code=is_code)
            yield passage
            following = passage.subjects or passage.above
            if _AGAIN.match(text[text.find(sentence) + len(sentence) :]):  # "It draws 350 W" speaks on
                near = tuple(subject.elsewhere for subject in following[-1:])


def _continued(lines: Sequence[str], place: int) -> tuple[str, int]:
    """The line before a place, with those that its backslash or open bracket goes on to; and the next."""
    line, end, most = lines[place - 1], place, min(len(lines), place + _MOST_JOINED)
    while line.endswith("\\") and end < most:
        line, end = f"{line[:-1].rstrip()} {lines[end].strip()}", end + 1
    call, last = line, end
    while _CODE.search(line) and call.count("(") > call.count(")") and last < most:
        call, last = f"{call} {lines[last].strip()}", last + 1
    return (line, end) if call.count("(") > call.count(")") else (call, last)


def _unmarked(line: str) -> str:
    text = line.strip()
    for _ in range(4):
        bullet = _BULLET.match(text)
        if bullet is None:
            break
        text = text[bullet.end() :].strip()
    return text


def _above(line: str, text: str, *, above: tuple[ClaimSubject, ...]) -> tuple[ClaimSubject, ...]:
    """What the lines under this one are about: a short line that is hardly more than a name says it."""
    if len(text) > _MOST_HEADING or text[-1] in "。.!?;" or re.match(r"[^:]{1,16}:\s*\S", text):
        return above if len(text) > _MOST_HEADING else ()
    named = subjects(text)
    bare = sum(subject.end - subject.start for subject in named)
    if named and len(text) - bare <= 14 and not _quantities_outside(text, named):
        return tuple(subject.elsewhere for subject in named)
    return () if _HEADING.match(line) else above


def _quantities_outside(text: str, named: Sequence[ClaimSubject]) -> bool:
    """Whether a text has figures besides its names."""
    return any(
        quantity.unit not in {"count", "none"}
        and not any(name.start <= quantity.start < name.end for name in named)
        for quantity in quantities(text)
    )


def sentences(text: str) -> Iterator[str]:
    """The sentences of a line, each of bounded length."""
    start = 0
    for end in _END.finditer(text):
        piece = text[start : end.start()].strip()
        start = end.end()
        if piece:
            yield piece[:_MOST_PASSAGE]
    rest = text[start:].strip()
    while rest:
        yield rest[:_MOST_PASSAGE]
        rest = rest[_MOST_PASSAGE:]


def _of_table(table: TextTable) -> Iterator[Passage]:
    """Cells with the subject of their row, or of their column where the heads name it."""
    heads = [subjects(cell) for cell in table.head]
    if sum(map(bool, heads)) > 1:
        yield from _by_columns(table, heads)
        return
    for place, cells in table.rows:
        whole = " | ".join(cells)
        first = next((subjects(cell) for cell in cells if subjects(cell)), ()) or generation(cells[0])
        above = tuple(subject.elsewhere for subject in first[:1])
        yield Passage(place + 1, cells[0], whole=whole)
        for number, cell in enumerate(cells[1:], 1):
            head = table.head[number] if number < len(table.head) else ""
            topic = f"{head} {'' if first and subjects(cells[0]) else cells[0]}"
            if cell:
                yield Passage(place + 1, measured(cell, head), topic=topic, above=above, whole=whole)


def measured(cell: str, head: str) -> str:
    """A cell with the unit that its head names, where it is a bare number."""
    if not _NUMBER.fullmatch(cell):
        return cell
    unit = unit_in(head)
    return f"{cell} {unit}" if unit else cell


def _by_columns(table: TextTable, heads: Sequence[tuple[ClaimSubject, ...]]) -> Iterator[Passage]:
    for place, cells in table.rows:
        for number, cell in enumerate(cells[1:], 1):
            named = heads[number] if number < len(heads) else ()
            above = tuple(subject.elsewhere for subject in named)
            if cell:
                yield Passage(
                    place + 1, measured(cell, cells[0]), topic=cells[0], above=above,
                    whole=f"{named[0].text if named else ''} | {cells[0]} | {cell}",
                )  # fmt: skip
