"""Logs among what was pasted: the kernel's in any coat, journalctl's, the fabric manager's; and messages."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from rigright.base.units import MIB
from rigright.machine.opened.text import lines_of
from rigright.machine.record import Read
from rigright.machine.running.kernel_log import begins_at, is_stamped, parsed
from rigright.machine.running.log_lines import event_of, events_of
from rigright.machine.running.messages import (
    FIELD,
    MESSAGE,
    SUBJECT,
    TEXT,
    UNKNOWN,
    MessagePattern,
    fit,
    message_patterns,
    possible,
    values_of,
)
from rigright.machine.system import Event
from rigright.machine.values import address

_MOST_ENTRIES = 500_000
_MOST_MESSAGE = 4000  # of one message
_ENTRY = re.compile(  # how one begins: in `-o export`, and in `-o verbose`, where it tells the time
    r"__CURSOR=|(?P<at>\w{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \S+) \[s="
)
_ENTRY_FIELD = re.compile(r"(?:[ ]{4})?([A-Z_0-9]{1,64})=(.*)")


def _entries(text: str) -> str:
    """A journal's `-o export` or `-o verbose`, an entry a line: its head, then a field a line."""
    text = textwrap.dedent(text) if text[:1] in {" ", "\t"} else text
    if not _ENTRY.match(text.lstrip("\n")):
        return text
    entries: list[dict[str, str]] = []
    for line in islice(text.splitlines(), _MOST_ENTRIES):
        head = _ENTRY.match(line)
        if head or not entries:
            entries.append({"at": head["at"]} if head and head["at"] else {})
        if match := _ENTRY_FIELD.match(line):
            entries[-1].setdefault(match[1], match[2])
    return "\n".join(line for entry in entries for line in lines_of(entry))


_MOST_EVENTS = 400
_MOST_LINE, _MOST_TEXT = 2000, 600  # characters looked at, and kept
_MOST_DOCUMENT = MIB  # characters of a document whose fields stand over several lines
_MOST_LINES = 500_000
_LOOKS_LIKE = re.compile(
    r"(?<![\w-])(?:errors?|fail(?:ed|ure|s)?|fatal|panic|exception|aborted|segfault|unhealthy|critical|"
    r"unable to|cannot|could not|timed ?out|time-?out)(?![\w=-])|\*ERROR\*|\w(?:Error|Exception): "
    r"|错误|失败|异常|超时",
    re.IGNORECASE,
)
_SAYS_NONE = re.compile(
    r"(?i)\b(?:no|0|without|zero|non-?fatal|ignor\w+|not an?|if|retry on) (?:\w+ )?(?:errors?|failures?)"
    r"|(?:errors?|fail\w*|failures?|critical(?: warning)?|occurred|exceptions?|timeouts?)"
    r"\W{0,4}\s{0,40}[:=|]\s{0,40}\W{0,4}"
    r"(?:0(?!x0*[1-9a-f]|\.?[1-9])|none\b|no\b|n/?a\b|false\b|ok\b|\[\]|null\b|not active)"
    r"|error_?(?:log|rate|count)|(?:errors?|failures?|timeouts?) 0(?![\w.])"
)
_DOCUMENT = re.compile(r"\s*\[?\s*\{\s*\"")
_HEADING = re.compile(r"\s*\"?[\w #/()&-]{1,40}\"?[:,]?\s*[\[{]?\s*")
_OF_TRACEBACK = re.compile(r"\s*(?:File \"|Traceback|raise |\^+\s*$|During handling|The above exception)")
_TALKS = re.compile(  # a line of some program's log
    r"\b(?:INFO|WARN(?:ING)?|ERROR|DEBUG|CRITICAL|FATAL|TRACE)\b|^[IWEF]\d{4} \d\d:\d\d|\blevel=\w+"
    r"|\"level\"\s*:|^\S{0,3}\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d",
    re.MULTILINE,
)


_OF_HARDWARE = re.compile(  # what only tools for such machines print
    r"(?i)^(?!\s*[\[{]).*\b(?:nvidia|cuda|rocm|amdgpu|gpu|npu|nvlink|mellanox|infiniband|pcie?|nvme|watts|numa|loss)\b|\dit/s\]",
    re.MULTILINE,
)
_LOG_COMMANDS = re.compile(
    r"(?:dmesg|journalctl)\b|/var/(?:log|lib/systemd/pstore)/(?:kern|syslog|messages|dmesg)"
)
_PANIC = re.compile(r"(?:Panic|Oops|Emergency|Shutdown|Unknown)#\d+ Part\d+")
_LOOKED_AT = 400  # lines, to tell what most of them are
_LEAST_SHARE = 0.3  # of them


def read_kernel_log(text: str, _head: str) -> Read:
    """The faults it tells of; those that programs repeat where the kernel itself tells of none."""
    text = _entries(text)
    crashed = _PANIC.match(text.lstrip()) is not None  # kept by firmware over the start that came after
    ways = (parsed(text, repeated=repeated) for repeated in (False, True))
    result = next(filter(None, map(events_of, ways)), ())
    events = tuple(replace(event, earlier=True) for event in result) if crashed else result
    return Read(fields={"events": events})


def _is_mostly_log(text: str) -> bool:
    """Whether most of its first lines bear the stamp of a log."""
    lines = [line for line in text[: _LOOKED_AT * 200].splitlines()[:_LOOKED_AT] if line.strip()]
    stamped = sum(is_stamped(line) or _PANIC.match(line) is not None for line in lines)
    return stamped > 0 and stamped >= _LEAST_SHARE * len(lines)


def is_log(text: str, head: str) -> bool:
    """A log, what a command of logs printed, or a few lines of one among others."""
    if _LOG_COMMANDS.match(head) and "Operation not permitted" not in text[:400]:
        return True
    text = _entries(text)
    return _is_mostly_log(text) or any(begins_at(line) is not None for line in text.splitlines())


def holds_messages(text: str) -> bool:
    """Whether a line of it is a known message of a program, a service or a tool."""
    return next(_messages(text, possible(text, TEXT)), None) is not None


def read_messages(text: str) -> Read:
    """Each of them as an event, and the model and the card that the text names."""
    rows = possible(text, SUBJECT)
    pairs = (fit(line, rows) for line in (_lines(text) if rows else ()))
    named = (Event(kind=pair[0].kind, text=pair[1]["name"].strip()) for pair in pairs if pair is not None)
    return _events(chain(_messages(text, possible(text, TEXT)), dict.fromkeys(named)))


def holds_fields(text: str) -> bool:
    """Whether a text that nothing else reads has a known field, or is what programs log."""
    if any(form.search(text[:20_000]) for form in (_TALKS, _OF_HARDWARE)):
        return True
    result = chain(_messages(text, possible(text, FIELD, TEXT)), _unknown(text))
    return next(result, None) is not None


def read_fields(text: str) -> Read:
    """Its fields, and what looks like an error and is not known."""
    return _events(chain(_messages(text, possible(text, TEXT, FIELD)), _unknown(text)))


def _events(events: Iterator[Event]) -> Read:
    return Read(fields={"events": tuple(dict.fromkeys(islice(events, _MOST_EVENTS)))})


def _messages(text: str, rows: tuple[MessagePattern, ...]) -> Iterator[Event]:
    """The messages of a text: those of each line, and fields of a document that stand over several."""
    if not rows:
        return
    headings = {row.under for row in rows if row.under is not None}
    above: dict[re.Pattern[str] | None, str] = {}
    for line in _lines(text):
        above |= {head: f"{match[0]}\n" for head in headings if (match := head.search(line))}
        pair = fit(line, rows)
        if pair is not None and event_of(line) is None:  # what the kernel's log tells is stated there
            yield _event(*pair, above=above.get(pair[0].under, ""))
    if _DOCUMENT.match(text) and text.count("\n") > 1:
        whole = " ".join(text[:_MOST_DOCUMENT].split())
        for row in (pattern for pattern in message_patterns(FIELD) if pattern in rows):
            head = row.under.search(whole) if row.under is not None else None
            of = f"{head[0]}\n" if head is not None else ""
            matches = islice(row.pattern.finditer(whole), _MOST_EVENTS)
            yield from (_event(row, match, above=of) for match in matches)


def _lines(text: str) -> Iterator[str]:
    return (line[:_MOST_LINE] for line in islice(text.splitlines(), _MOST_LINES))


def _event(row: MessagePattern, match: re.Match[str], *, above: str = "") -> Event:
    """What was said, from where it fits on, under its heading: the table finds it again by that."""
    text = above + match.string[match.start() : max(match.end(), match.start() + _MOST_TEXT)].strip()
    again = row.pattern.search(text) if above else match
    fields = values_of(row, again or match)
    pid = fields.get("pid")
    return Event(kind=MESSAGE, text=text, pci=address(fields.get("pci")), pid=int(pid[:9]) if pid else None)


def _unknown(text: str) -> Iterator[Event]:
    """Lines that look like errors, and of which no row knows what they mean."""
    rows = possible(text, TEXT, FIELD)
    for line in _lines(text):
        if (
            _LOOKS_LIKE.search(line)
            and not _SAYS_NONE.search(line)
            and not _OF_TRACEBACK.match(line)
            and not _HEADING.fullmatch(line)
            and fit(line, rows) is None
            and event_of(line) is None
        ):
            said = next((text for *_, text in parsed(line) if text), line)
            yield Event(kind=UNKNOWN, text=said.strip()[:_MOST_TEXT])
