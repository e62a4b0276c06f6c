"""Bytes that somebody saved, as plain text, and that cut where one command's answer ends and the next begins.

It may be in any coding; colours, and what was set before each line, are taken off.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from typing import Any

from rigright.base.bounded import bounded_json_at
from rigright.base.errors import DataError
from rigright.base.tables import DATA, read_toml
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.running.kernel_log import begins_at
from rigright.machine.running.messages import KERNEL, TEXT, fit, kernel_fit, message_patterns

_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
_LOOKED_AT = 2000  # bytes, to tell UTF-16 without its mark
_MOST_ZEROS = 0.3
_MOST_STRANGE = 0.1  # of characters: bytes that are no UTF-8
_ESCAPES = re.compile(  # of a terminal; or of its colours alone, as text that lost the byte before them
    r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[()][0-9A-B])"
    r"|(?:\^\[|\\x1b|\\u001b|\\033|\\e)\[[0-9;]{0,12}[mK]|(?<![\w\]])\[[0-9;]{1,12}m(?![\w\]]{0,2}\])|\[0m"
)
_ODD = str.maketrans(  # what forums and editors put in the place of plain characters
    {"\xa0": " ", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\0": None}
    | dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff")
)
_ENTITY = re.compile(r"&(?:lt|gt|quot|apos|amp|#\d{2,4}|#x[0-9a-f]{2,4});", re.IGNORECASE)
_HIGH = re.compile(rb"[\x80-\xff]+")
_RUN_ON = re.compile(
    r"^(</nvidia_smi_log>|[\]}])(?=[^\s,;:\]})])", re.MULTILINE
)  # files joined without a line break
_OVERSTRUCK = re.compile(r".\x08")
_FIRST_LINES = 40
_MOST_MESSAGE = 4000  # of one message
_LEAST_LINE = 12  # characters that say something
_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
_OWN_STAMP = re.compile(
    rf"(?:<\d+>|\w+ *:\w+ *: )?\[?\s*(?:\d+\.\d{{3,6}}\]|{_STAMP}|(?:\w{{3}} )?\w{{3}} [ \d]\d \d\d:\d\d:)"
)


def text_of(raw: bytes, *, name: str) -> str:
    """Text in UTF-8 or UTF-16, line by line as the tool wrote it."""
    text = raw.decode(_coding(raw), "replace")
    if text.count("\0") > len(text) // 100:
        raise DataError(say("{file} is not text: it contains zero bytes", file=name))
    if text[:_LOOKED_AT].count("\ufffd") > _MOST_STRANGE * len(text[:_LOOKED_AT]):
        raise DataError(say("{file} is not text", file=name))
    text = text.translate(_ODD).replace("\r\n", "\n").replace("\r", "\n")
    if "&" in text and not text.lstrip().startswith("<?xml"):
        text = _ENTITY.sub(lambda match: html.unescape(match[0]), text)
    text = _ESCAPES.sub("", text)
    if "\x08" in text:
        text = _OVERSTRUCK.sub("", text)
    text = _unwrapped(_set_out(_RUN_ON.sub(r"\1\n", text)))
    printed = _printed(text)
    return _rejoined(_set_out(text if printed == text else _unwrapped(printed)))


def _set_out(text: str) -> str:
    """The text without the margin that all its lines share."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return textwrap.dedent(text) if first[:1] in {" ", "\t"} else text


def _coding(raw: bytes) -> str:
    """UTF-16 by its mark, or by the zero in every other byte; else UTF-8."""
    for mark, coding in _MARKS:
        if raw.startswith(mark):
            return coding
    first = raw[:_LOOKED_AT]
    for start, coding in ((1, "utf-16-le"), (0, "utf-16-be")):
        half = first[start::2]
        other = first[1 - start :: 2]
        printed = sum(byte > 31 or byte in b"\t\n\r" for byte in other)
        if half and half.count(0) > _MOST_ZEROS * len(half) and printed == len(other):
            return coding
    strange = raw[:_LOOKED_AT].decode("utf-8", "replace").count("\ufffd")
    runs = _HIGH.findall(raw[:_LOOKED_AT]) if strange else []
    is_even = 2 * strange > len(runs) > 0 and all(len(run) % 2 == 0 for run in runs[:-1])
    return "gb18030" if is_even and "\ufffd" not in raw.decode("gb18030", "replace")[:-1] else "utf-8"


def _unwrapped(text: str) -> str:
    """The lines without what a container engine, a cluster or a forum set before each of them."""
    for form, inner in _WRAPS:
        first = [line for line in islice(text.splitlines(), _FIRST_LINES) if line.strip()]
        if first and 2 * sum(form.match(line) is not None for line in first) > len(first):
            lines = ((form.match(line), line) for line in text.splitlines())
            text = "\n".join(inner(match) if match else line for match, line in lines)
    return text


def _stamped(at: str, line: str) -> str:
    """The line under its own stamp; what the kernel said without one under that which was set before it."""
    if _OWN_STAMP.match(line) or (not line.startswith("kernel: ") and begins_at(line) != 0):
        return line
    return f"{at} container kernel: {line.removeprefix('kernel: ')}"


_LINES_OF = (  # keys of documents under which collectors of logs, clusters and tools keep lines
    *("log", "message", "msg", "MESSAGE", "line", "stdout", "stderr", "_raw", "textPayload", "short_message"),
)
_TIMES_OF = (
    *(
        "_SOURCE_REALTIME_TIMESTAMP",
        "__REALTIME_TIMESTAMP",
        "time",
        "ts",
        "timestamp",
        "@timestamp",
        "_time",
        "at",
    ),
)
_WRAPPER = re.compile(rf'"(?:{"|".join(map(re.escape, _LINES_OF))}|values)"\s*:')
_WRAPPED = re.compile(r"^[^{\n]{0,120}?(?=\{\s*\"|\[\s*\{)", re.MULTILINE)
_UNIX = re.compile(r"(\d{10})\.?((?:\d{3}){0,3})\d{0,2}")


def _printed(text: str) -> str:
    """The text, where each document that passes on lines of a log, or what a command printed, is those."""
    if not _WRAPPER.search(text):
        return text
    parts, done = [], 0
    for match in islice(_WRAPPED.finditer(text), _MOST_SECTIONS * 100):
        if match.start() < done:
            continue
        start, end = match.end(), text.find("\n", match.end())
        for stop in (end if end >= 0 else len(text), start + _MOST_CHARS):
            try:
                value, size = bounded_json_at(text[start:stop], 0)
            except ValueError:
                continue
            lines = [*_strings(value, "")]
            if any(len(line) >= _LEAST_LINE for line in lines):
                label = "" if match[0].rstrip().endswith("=>") else match[0]
                parts += [text[done : match.start()], "\n".join(f"{label}{line}" for line in lines)]
                done = start + size
            break
    return "".join((*parts, text[done:]))


def _strings(value: object, at: str) -> Iterator[str]:
    """Lines that a document holds, under the time that stands beside them."""
    if isinstance(value, list):
        is_pair = len(value) == 2 and all(isinstance(part, str) for part in value)
        if not (is_pair and _UNIX.fullmatch(value[0])):
            for part in value:
                yield from _strings(part, at)
            return
        value = {"time": value[0], "line": value[1]}  # as Loki has them
    if isinstance(value, dict):
        yield from lines_of(value, at=at)
        at = _time_of(value) or at
        for part in value.values():
            if isinstance(part, dict | list):
                yield from _strings(part, at)


def lines_of(entry: Mapping[str, Any], *, at: str = "") -> Iterator[str]:
    """What an entry of a log says: when, who, what."""
    at = _time_of(entry) or at
    words = {str(part) for part in entry.values()}
    for key in _LINES_OF:
        said = entry.get(key)
        if key == "MESSAGE" and isinstance(said, list):  # bytes that are no UTF-8
            said = bytes(part & 255 for part in said[:_MOST_MESSAGE] if isinstance(part, int)).decode(
                "utf-8", "replace"
            )
        if not isinstance(said, str):
            continue
        if "_TRANSPORT" in entry:
            who = "kernel" if entry["_TRANSPORT"] == "kernel" else "program"
            yield f"{at or '0000000000.0'} host {who}: {' '.join(said[:_MOST_MESSAGE].splitlines())}"
        else:
            who = "kernel: " if words & {"kernel", "kern"} else ""
            yield from (_stamped(at, who + line) if at else who + line for line in said.splitlines())


def _time_of(entry: Mapping[str, Any]) -> str:
    return next((stamp for key in _TIMES_OF if key in entry and (stamp := _iso(str(entry[key])))), "")


def _iso(stamp: str) -> str:
    """A time as logs stamp it; "" where it is none."""
    if unix := _UNIX.fullmatch(stamp):
        return f"{unix[1]}.{unix[2] or 0}"
    return stamp if re.fullmatch(rf"{_STAMP}|\w{{3}} \d{{4}}-\d\d-\d\d [\d:.]{{8,16}} \S+", stamp) else ""


_WRAPS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"> ?(.*)"), lambda m: m[1]),  # quoted in a mail or a thread
    (re.compile(r"\[(?:pod|container)/[^\]\s]{1,200}\] (.*)"), lambda m: m[1]),  # kubectl logs --prefix
    # docker compose logs; a table has more cells
    (
        re.compile(r"(?:[\w./-]{1,78}[-_]\d{1,2}|[\w./-]{1,80}(?=\s{0,20} \| [^|]*\Z))\s{0,20} \| (.*)"),
        lambda m: m[1],
    ),
    (  # containerd; kubectl logs --timestamps, docker logs -t: nothing else stamps so finely
        re.compile(rf"({_STAMP}) (?:std(?:out|err) [FP] |(?<=\.\d{{9}}Z )|(?<=\.\d{{9}}[+-]\d\d:\d\d ))(.*)"),
        lambda m: _stamped(m[1], m[2]),
    ),
)


# --- lines that were cut

_NARROWEST, _WIDEST = 60, 160  # columns of what a terminal or a mail cut
_TERMINALS = (80, 100, 120, 132, 160)
_MOST_CUT, _MOST_PIECES = 5000, 5  # lines of such a text, and of one that was cut
_OWN_LINE = re.compile(  # what does not go on from the line before
    r"[|+*>#\[{<=-]|\d{4}-\d|\w{3} [ \d]\d \d\d:|Traceback|\w*(?:Error|Exception): "
    r"|(?:NVRM|amdgpu|mlx5_core|nvidia)\b|INFO|WARN|ERROR"
)


def _rejoined(text: str) -> str:
    """Lines that a terminal or a mail cut at its width, joined where a message stands across the cut."""
    lines = text.splitlines()
    width = max(map(len, lines), default=0)
    if not _NARROWEST <= width <= _WIDEST or not 1 < len(lines) <= _MOST_CUT:
        return text
    glues = ("", " ") if width in _TERMINALS else (" ", "")  # cut within words, or between them
    result, place = [], 0
    while place < len(lines):
        pieces = [lines[place]]
        for last, piece in pairwise(lines[place : place + _MOST_PIECES]):
            first = piece.split(" ", 1)[0]
            is_full = len(last) == width or (first and len(last) + 1 + len(first) > width)
            if not is_full or _OWN_LINE.match(piece):
                break
            pieces.append(piece)
        count = next(filter(None, (_pieces_of_one(pieces, glue) for glue in glues)), None)
        result.append(pieces[0] if count is None else count[0])
        place += 1 if count is None else count[1]
    return "\n".join(result)


def _pieces_of_one(pieces: list[str], glue: str) -> tuple[str, int] | None:
    """The line that pieces make and how many they are, where a message stands across their cuts."""
    if len(pieces) == 1:
        return None
    lines = glue.join(pieces), pieces[0]
    pair, alone = (kernel_fit(line, KERNEL) or fit(line, message_patterns(TEXT)) for line in lines)
    if pair is None or not pair[1].start() < len(pieces[0]) < pair[1].end():
        return None
    if alone is not None and alone[0] is pair[0]:  # the rest adds nothing
        return None
    ends = accumulate(len(piece) + len(glue) for piece in pieces)
    count = next(number for number, end in enumerate(ends, 1) if pair[1].end() <= end)
    return glue.join(pieces[:count]), count


# --- sections

_MOST_SECTIONS = 2000
_PROGRAMS = "|".join(map(re.escape, read_toml(DATA / "pasted.toml")["programs"]))
_COMMAND = rf"(?:(?:sudo|time)\s+(?:-\w\s+)*)?(?:\S{{0,120}}/)?(?:{_PROGRAMS})(?![\w.:-])[^\n]{{0,300}}"
_FILE = r"/(?:proc|sys|etc|var|run)/[^\s:]{1,200}"
_SHELL = (  # what stands before a command that was typed
    r"(?:\([\w.-]{1,40}\) ?)?(?:# )?(?:\[[\w.-]{1,40}@[^\]\n]{1,100}\]|[\w./~-]{0,60}"
    r"|PS [^\n>|]{0,100}|[A-Z]:\\[^\n>|]{0,100}"
    r"|[\w.-]{1,60}@[\w.-]{1,80}[^\n$#%>|]{0,100}|In \[\d{1,4}\]: ?)"
    r"(?:[$#%>!\u276f\u03bb\u00bb]|\u279c\s+\S{1,40})"
)
_HEADS = "|".join(
    (
        rf"{_SHELL}[ \t]*(?P<typed>{_COMMAND})",
        r"[\w.-]{1,60}@[\w.-]{1,80}:[^\n$#%>|]{0,100}[$#%][ \t]+(?P<any>\S[^\n]{0,300})",
        rf"\++ (?P<traced>{_COMMAND})",  # a script under `set -x`
        rf"\*\*\* (?P<filed>{_FILE})",  # nvidia-bug-report
        r"_{20,}\n\s{0,4}(?:\*\*\* ls: [^\n]{0,300}\n)?(?P<reported>[^\s*_][^\n]{0,300})",
        r"==> (?P<tailed>\S{1,300}) <==",  # head, tail
        rf"[-=#*+~]{{2,40}}[ \t]{{0,8}}(?P<ruled>{_COMMAND}|{_FILE}(?:[ \t]*[-=#*+~:]{{1,80}})?)",
        r"(?P<fence>`{3,}[^\n]{0,80})",  # of a thread
        r"(?P<echoed>(?:sudo )?(?:\S{0,120}/)?(?:dmesg|lspci|nvidia-smi|amd-smi)(?: -[^\n:]{0,120})?):",
    )
)
_HEAD = re.compile(rf"^[ \t]{{0,4}}(?:{_HEADS})[ \t]*$", re.MULTILINE)
_KNOWN = re.compile(_COMMAND)
_DOCUMENT = re.compile(r"^(?:\{[ \t]*\n\s{0,40}\"|\[[ \t]*\n\s{0,40}\{)", re.MULTILINE)  # over several lines
_MOST_DOCUMENTS, _MOST_CHARS = 256, 4 * MIB  # of one
_BEFORE = re.compile(r"(?:sudo|time)\s+(?:-\w\s+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A stretch of text and the command or file that it answers; "" where nothing tells."""

    head: str
    text: str

    @property
    def whole(self) -> str:
        """As it was typed."""
        return f"$ {self.head}\n{self.text}\n" if self.head else f"{self.text}\n"


def sections(text: str) -> list[Section]:
    """Every stretch that holds something, in order."""
    result: list[Section] = []
    head, start = "", 0
    for match in _HEAD.finditer(text):
        if len(result) >= _MOST_SECTIONS:
            break
        if begins_at(match[0]) is not None:  # it names a device as a program is named: nvme
            continue
        _add(result, head, text=text[start : match.start()])
        stated = "" if match["fence"] else next(part for part in match.groups() if part)
        head, start = named(stated, prose=bool(match["reported"])), match.end()
    _add(result, head, text=text[start:])
    return result


def named(text: str, *, prose: bool = False) -> str:
    """A command by its bare name, without sudo, folder and rulers behind it; a file as it stands.

    Where prose may stand, what is neither names nothing.
    """
    bare = _BEFORE.sub("", text.strip(), count=1).rstrip("-=#*+~: \t") if text else ""
    program, space, rest = bare.partition(" ")
    if not _KNOWN.match(bare) and not bare.startswith("/") and prose:
        return ""
    if program in {"cat", "zcat"} and "|" not in rest and rest.startswith("/"):
        return rest.split()[0]
    if program.startswith("/") and not space and "/bin/" not in program:
        return bare
    return program.rpartition("/")[2] + space + rest


def _add(sections: list[Section], head: str, *, text: str) -> None:
    bare = re.sub(r"^\*\*\* ls: .*$", "", text, flags=re.MULTILINE) if "*** ls: " in text else text
    parts = [part for part in _around_documents(bare) if part.strip()]
    if parts or head:
        sections += [Section(head=head, text=part.strip("\n")) for part in parts or [""]]


def _around_documents(text: str) -> Iterator[str]:
    """A text cut at each JSON document in it, among prose or behind another."""
    done = 0
    for match in islice(_DOCUMENT.finditer(text), _MOST_DOCUMENTS):
        if match.start() < done:
            continue
        try:
            _, size = bounded_json_at(text[match.start() : match.start() + _MOST_CHARS], 0)
        except ValueError:
            continue
        yield text[done : match.start()]
        done = match.start() + size
        yield text[match.start() : done]
    yield text[done:]
