"""A list of parts as a person writes it, line by line: which line says what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from rigright.base.cells import TextTable, cells_of, tables_of
from rigright.base.errors import AskError, DataError
from rigright.base.numerals import simplified
from rigright.base.record import dataclass
from rigright.base.words import say

MOST_LINES = 200
MOST_TEXT_LINES = 5000  # in which a table of parts is looked for
_MOST_KEY = 16  # signs before the colon
LEAST_KINDS = 3  # kinds of part that the rows of such a table begin with
MOST_LINE_CHARS = 400
KINDS = {
    "cpu": "cpu cpus processor processors 处理器 中央处理器 cpu型号",
    "board": "board motherboard mainboard mobo mb 主板",
    "ram": "ram memory mem dram 内存 记忆体 内存条",
    "gpu": "gpu gpus card cards graphics video vga accelerator accelerators 显卡 加速卡 gpu卡 独显",
    "psu": "psu psus power supply supplies 电源",
    "case": "case chassis enclosure frame rack 机箱 机架 机壳",
    "ssd": "ssd disk disks drive drives storage hdd nvme m.2 硬盘 固态 固态硬盘 存储 机械硬盘",
    "cooler": "cooler cooling aio heatsink 散热 散热器 cpu散热 水冷 风冷",
    "room": "room breaker circuit outlet mains wall 房间 电路 空开 插座 市电 供电",
    "machine": "machine server system host workstation laptop computer 整机 机器 服务器 主机 工作站 笔记本",
    "nic": "nic network ethernet 网卡 网络",
    "note": "note notes fans fan riser risers other misc os monitor extras 备注 风扇 延长线 其他 系统",
}
_LINE = re.compile(r"\A(?P<key>[^:=|\t]{1,40}?)\s*(?:[:=|\t]|\s-\s)\s*(?P<value>.+)\Z")
_BULLET = re.compile(r"\A(?:[-*•·|>]+|\d{1,2}[.)])\s+|\A\|")
_PRICE = re.compile(  # one, or from one to another
    r"(?:@\s*)?(?:[$€£¥]\s?\d[\d,.]*k?(?:\s?[-–~至到]\s?[$€£¥]?\s?\d[\d,.]*k?)?"
    r"|\b\d[\d,.]*\s*(?:usd|eur|rmb|元|块)\b)",
    re.IGNORECASE,
)
_PRICED = re.compile(r"price|budget|cost|usd|total|subtotal|价|预算|费用|金额|合计|小计", re.IGNORECASE)
_COUNTED = re.compile(r"\A(?:qty|count|quantity|number|amount|pcs|units?|#|数量|个数)\Z", re.IGNORECASE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)?")
_BETWEEN = re.compile(r"[,;，；、]\s*")
_JOINTS = re.compile(r"[,;，；、]|\s(?:and|on|in|with|plus)\s(?:an?\s|the\s)?|\s\+\s", re.IGNORECASE)
_GUESSES = (
    ("ram", r"\bddr[345]\b|\br?dimm\b"),
    ("cpu", r"\b(?:ryzen|threadripper|epyc|xeon|i[3579][- ]\d{4,5}|ultra \d)\b|锐龙|酷睿|至强|霄龙"),
    ("cpu", r"\b(?:\d{4}x(?:3d)?|1[0-4]\d{3}k[fs]?)\b"),
    ("gpu", r"(?<![a-z0-9])(?:rtx|gtx|radeon|tesla|geforce|quadro|instinct|arc [ab]\d{3}|[2345]0[6-9]0)\b"),
    ("gpu", r"\b(?:[ahlbpv]\d{2,3}s?|mi\d{2,3}x?)\b"),
    ("psu", r"\b\d{3,4} ?w(?![a-z0-9])"),
    ("board", r"\b(?:[abhqwxz]\d{3}[em]?|trx\d0|wrx\d0|romed8|h1[1-4]ssl)\b"),
    ("ssd", r"\b(?:nvme|ssd|hdd|m\.2|\d ?tb)\b"),
    ("case", r"\b(?:tower|frame|chassis|case|\du)\b|机箱"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLine:
    """One line of the list."""

    part: str  # its kind: "cpu", "board" ...
    text: str  # as it is read: half-width, without prices and bullets


def lines_of(raw: bytes | str, *, name: str) -> tuple[ListLine, ...]:
    """What a list states; a file that is none is an error."""
    if isinstance(raw, bytes):
        if b"\0" in raw:
            raise _not_a_list(name)
        try:
            raw = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise _not_a_list(name) from None
    lines = raw.splitlines()
    listed = [text_table for text_table in tables_of(lines[:MOST_TEXT_LINES]) if is_parts_table(text_table)]
    runs = list(lists_in(lines[:MOST_TEXT_LINES]))
    number = sum(bool(line.strip()) for line in lines)
    if listed:  # what stands around it is no list
        lines = [line for text_table in listed for line in written_out(text_table)]
    elif runs and number > 2 * sum(end - start for start, end in runs):
        lines = [line for start, end in runs for line in lines[start:end]]
    if len(lines) > MOST_LINES:
        raise DataError(
            say("{file} has {count} lines", file=name, count=len(lines)),
            hint=say("a parts list has at most {most}", most=MOST_LINES),
        )
    list_lines = tuple(list_line for line in lines for list_line in _read_line(line[:MOST_LINE_CHARS]))
    if not any(list_line.part != "note" for list_line in list_lines):
        raise AskError(
            say("{file} contains no parts", file=name),
            hint=say("write one part per line: {example}", example="gpu: 2x RTX 4090"),
        )
    return list_lines


def lists_in(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where lines of a text that begin with kinds of part make a list: the first, and the one behind it."""
    start = place = 0
    while place <= len(lines):
        kind = _keyed_kind(lines[place]) if place < len(lines) else None
        if kind is None:
            kinds = {_keyed_kind(line) for line in lines[start:place]}
            if len(kinds - {"note"}) >= LEAST_KINDS:
                yield start, place
            start = place + 1
        place += 1


def _keyed_kind(line: str) -> str | None:
    """The kind of part that a line begins with, behind a bullet and before a colon."""
    text = simplified(line[:MOST_LINE_CHARS]).replace("**", "").strip()
    if len(cells_of(text)) > 1:
        return None
    while match := _BULLET.match(text):
        text = text[match.end() :].strip()
    keyed = _LINE.match(text)
    return None if keyed is None or len(keyed["key"]) > _MOST_KEY else _kind(keyed["key"])


def is_parts_table(table: TextTable) -> bool:
    """Whether the rows of a table are the parts of a machine."""
    kinds = {_kind(cells[0]) for _, cells in table.rows}
    return len(kinds - {None, "note"}) >= LEAST_KINDS


def written_out(table: TextTable) -> Iterator[str]:
    """Its rows as lines of a list: the part, how many, and what it is, without prices."""
    head = table.head
    priced = {place for place, name in enumerate(head) if _PRICED.search(name)}
    counted = next((place for place, name in enumerate(head) if _COUNTED.match(name)), None)
    for _, (part, *cells) in table.rows:
        names = {place: cell for place, cell in enumerate(cells, 1) if cell and place not in priced}
        count = names.pop(counted, "") if counted is not None else ""
        many = f"{count}x " if count.isdecimal() and count != "1" else ""
        kept = ", ".join(cell for cell in map(_unpriced, names.values()) if cell)
        if kept:
            yield f"{part.strip('*_ `')}: {many}{kept}"


def _unpriced(text: str) -> str:
    return _PRICE.sub("", text).strip(" |,;")


def _not_a_list(name: str) -> DataError:
    return DataError(
        say("{file} is not text", file=name),
        hint=say("write one part per line: {example}", example="gpu: 2x RTX 4090"),
    )


def _read_line(line: str) -> Iterator[ListLine]:
    text = simplified(line).replace("×", "x").strip()
    text = "".join(sign for sign in text if sign.isprintable() or sign == "\t")
    while match := _BULLET.match(text):
        text = text[match.end() :].strip()
    text = _LINK.sub(r"\1", text).replace("**", "").strip("| ")
    if not text or text.startswith(("#", "//", "---", "===")):
        return
    parts = _BETWEEN.split(text)
    if len(parts) > 1 and all(map(_has_key, parts)):
        for part in parts:
            yield from _read_line(part)
        return
    keyed = _LINE.match(text) or _spaced().match(text)
    if keyed is not None:
        kind = _kind(keyed["key"] or keyed.groupdict().get("short") or "")
        value = _unpriced(keyed["value"])
        if kind is not None and value:
            yield ListLine(part=kind, text=text if kind == "note" else value)
        if kind is not None:
            return
    plain = _unpriced(text)
    pieces = [plain] if len(set(_guessed(plain))) < 2 else _JOINTS.split(plain)  # a sentence of several parts
    for piece in filter(None, map(str.strip, pieces)):
        yield ListLine(part=next(_guessed(piece), "note"), text=piece)


def _has_key(text: str) -> bool:
    """Whether a piece of a line is keyed itself: a line may hold a whole list."""
    keyed = _LINE.match(text.strip())
    return keyed is not None and _kind(keyed["key"]) is not None


@cache
def _spaced() -> re.Pattern[str]:
    """A line whose key stands before its part without a mark: "显卡 双4090", "内存64G", "GPU 2x RTX 4090"."""
    names = sorted((name for names in KINDS.values() for name in names.split()), key=len, reverse=True)
    chinese = "|".join(re.escape(name) for name in names if not name.isascii())
    return re.compile(
        rf"\A(?:(?P<key>{chinese})(?=[\s0-9a-z双单两二三四六八])|(?P<short>[cg]pu|ram|psu|ssd|nic)(?=\s))\s*"
        rf"(?P<value>.+)\Z",
        re.IGNORECASE,
    )


def _guessed(text: str) -> Iterator[str]:
    """Kinds of part that the words of a text speak of."""
    return (kind for kind, shape in _GUESSES if re.search(shape, text.casefold()))


def _kind(key: str) -> str | None:
    """Which kind of part a key means."""
    words = re.sub(r"[^a-z0-9.\u4e00-\u9fff]+", " ", key.casefold()).split()
    known = {name: kind for kind, names in KINDS.items() for name in names.split()}
    return next((known[text] for text in ("".join(words), *words[-1:], *words[:1]) if text in known), None)
