"""Messages of any text, whatever stands around them, and lines that look like errors and are not known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice

from rigright.base.units import MIB
from rigright.machine.opened.sections import Section
from rigright.machine.record import Read
from rigright.machine.running.kernel_log import parsed
from rigright.machine.running.log_lines import address, event_of
from rigright.machine.running.messages import FIELD, MESSAGE, TEXT, UNKNOWN, MessagePattern, fit, possible
from rigright.machine.system import Event

MOST_EVENTS = 400
MOST_LINE, MOST_TEXT = 2000, 600  # characters looked at, and kept
MOST_DOCUMENT = MIB  # characters of a document whose fields stand over several lines
MOST_LINES = 500_000
_LOOKS_LIKE = re.compile(
    r"(?<![\w-])(?:errors?|fail(?:ed|ure|s)?|fatal|panic|exception|aborted|segfault|unhealthy|critical|"
    r"unable to|cannot|could not|timed ?out|time-?out)(?![\w=-])|\*ERROR\*|\w(?:Error|Exception): "
    r"|错误|失败|异常|超时",
    re.IGNORECASE,
)
_SAYS_NONE = re.compile(
    r"(?i)\b(?:no|0|without|zero|non-?fatal|ignor\w+|not an?|if|retry on) (?:\w+ )?(?:errors?|failures?)"
    r"|(?:errors?|fail\w*|failures?|critical|occurred|exceptions?|timeouts?)\W{0,4}[:=|]\W{0,4}"
    r"(?:0(?!x|\.?[1-9])|none\b|no\b|n/?a\b|false\b|ok\b|\[\]|null\b|not active)|error_?(?:log|rate|count)"
)
_DOCUMENT = re.compile(r"\s*\[?\s*\{\s*\"")
_HEADING = re.compile(r"\s*[\w #/()&-]{1,40}:?\s*")
_OF_TRACEBACK = re.compile(r"\s*(?:File \"|Traceback|raise |\^+\s*$|During handling|The above exception)")
_TALKS = re.compile(  # a line of some program's log
    r"\b(?:INFO|WARN(?:ING)?|ERROR|DEBUG|CRITICAL|FATAL|TRACE)\b|^[IWEF]\d{4} \d\d:\d\d|\blevel=\w+"
    r"|\"level\"\s*:|^\S{0,3}\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d",
    re.MULTILINE,
)


def holds_messages(section: Section) -> bool:
    """Whether a line of it is a known message of a program, a service or a tool."""
    return next(_messages(section.text, possible(section.text, TEXT)), None) is not None


def read_messages(section: Section) -> Read:
    """Each of them as an event."""
    return _events(_messages(section.text, possible(section.text, TEXT)))


def holds_fields(section: Section) -> bool:
    """Whether a text that nothing else reads has a known field, or is what programs log."""
    if _TALKS.search(section.text[:20_000]):
        return True
    result = chain(_messages(section.text, possible(section.text, FIELD, TEXT)), _unknown(section.text))
    return next(result, None) is not None


def read_fields(section: Section) -> Read:
    """Its fields, and what looks like an error and is not known."""
    return _events(chain(_messages(section.text, possible(section.text, FIELD)), _unknown(section.text)))


def _events(events: Iterator[Event]) -> Read:
    return Read(fields={"events": tuple(dict.fromkeys(islice(events, MOST_EVENTS)))})


def _messages(text: str, rows: tuple[MessagePattern, ...]) -> Iterator[Event]:
    """The messages of a text: those of each line, and fields of a document that stand over several."""
    if not rows:
        return
    for line in _lines(text):
        pair = fit(line, rows)
        if pair is not None and event_of(line) is None:  # what the kernel's log tells is told there
            yield _event(pair[1])
    if _DOCUMENT.match(text) and text.count("\n") > 1:
        whole = " ".join(text[:MOST_DOCUMENT].split())
        for row in (message_pattern for message_pattern in rows if message_pattern.scope == FIELD):
            yield from (_event(match) for match in islice(row.pattern.finditer(whole), MOST_EVENTS))


def _lines(text: str) -> Iterator[str]:
    return (line[:MOST_LINE] for line in islice(text.splitlines(), MOST_LINES))


def _event(match: re.Match[str]) -> Event:
    """What was said, from where it fits on: the table finds it again by that."""
    fields = match.groupdict()
    pid = fields.get("pid")
    return Event(
        kind=MESSAGE,
        text=match.string[match.start() : max(match.end(), match.start() + MOST_TEXT)].strip(),
        pci=address(fields.get("pci")),
        pid=int(pid[:9]) if pid else None,
    )


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
            yield Event(kind=UNKNOWN, text=_bare(line)[:MOST_TEXT])


def _bare(line: str) -> str:
    """A line without the stamp of the log that it stands in."""
    return next((text for _, _, text in parsed(line) if text), line).strip()
