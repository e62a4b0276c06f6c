"""The kernel's log in whichever form it is to be had, line by line with its times."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import datetime

from rigright.base.units import MEGA, MIB
from rigright.machine.running.asking import run_command
from rigright.machine.running.messages import GOOD, KERNEL, kernel_fit, kernel_marks
from rigright.machine.running.release import uptime_s
from rigright.machine.world import World

Line = tuple[float | None, float | None, str]  # seconds since 1970, since boot, text

JOURNAL = (
    *("journalctl", "_TRANSPORT=kernel", "-o", "short-unix", "--no-pager", "-q"),
    *("--since", "-30d", "-n", "20000"),
)
FILES = ("/var/log/kern.log", "/var/log/messages", "/var/log/syslog", "/var/log/dmesg")
PATIENCE_S = 4.0
MOST_BYTES = 16 * MIB
MOST_CHARS = 2000  # of one message
_MOST_OF_LABEL = 200  # of them, before it
_CLOCK = r"\d\d:\d\d:\d\d"
_DATE = rf"\d{{4}}[-/]\d\d[-/]\d\d[T ]{_CLOCK}(?:[.,]\d+)?(?:Z| ?UTC|[+-]\d\d:?\d\d)?"
_DAY = rf"\w{{3}} [ \d]\d (?:\d{{4}} )?{_CLOCK}"
_STAMPED = re.compile(  # as dmesg, journalctl, syslog and the kernel's own device print
    r"\[\s*\+?\d+\.\d+(?: <[^>\n]{1,20}>)?\]|\[\w{3}[ \d]\d \d\d:\d\d\]|\d+,\d+,\d{1,18},[^;]*;"
    rf"|\[\w{{3}} {_DAY}(?: \d{{4}})?\]|\d{{4}}-\d\d-\d\dT{_CLOCK},|(?:(?:\S+: )?kern: +\w+: )?\[{_DATE}\]:? "
    rf"|(?:(?:\w{{3}} )?{_DATE}(?: [A-Z]{{2,5}})?|{_DAY}(?:\.\d+)?|\d{{9,11}}\.\d+) (?:[^\s:]+ )?kernel:"
)
_RECORD = re.compile(  # what stands over several lines; and a boot
    r"(?:\{\d{1,9}\})?\[Hardware Error\]: |BERT: Error records|NVRM: |Linux version \d|-- (?:Boot|Reboot)"
)
_OF_RECORDS = ("linux version", "-- boot", "-- reboot", "[hardware error]", "bert: error records")
_LABEL_END = re.compile(r"(?:^|[^\w./-]|\d-|\\[nrt])\Z")  # of a date, a host, a level, a key
_KEEPER = r"(?:systemd-networkd|dhcpcd)\[\d+\]: \S{1,40}: (?:Lost|Gained|carrier)"  # links alone
_OF_A_PROGRAM = re.compile(  # which any user may write, and which may repeat what the kernel wrote
    rf"(?:(?:{_DAY}(?:\.\d+)?|(?:\w{{3}} )?{_DATE}(?: [A-Z]{{2,5}})?|\d{{9,11}}\.\d+)"
    rf" [^\s:]+ (?!kernel:|{_KEEPER})[\w./@-]+(?:\[\d+\])?: |"
    rf"\[\s*\d+\.\d+\] [\w.-]+ (?!kernel:|{_KEEPER})[\w./@-]+\[\d+\]: )"
)
_TIME = re.compile(
    rf"(?P<iso>{_DATE})|(?P<day>\w{{3}} [ \d]\d (?:(?P<inner>\d{{4}}) )?{_CLOCK})(?: (?P<year>\d{{4}}))?"
    r"|\d+,\d+,(?P<us>\d{1,18}),[^;]*;|(?<![\d.])(?P<unix>\d{9,11}(?:\.\d+)?)(?![\d.])"
    r"|\[\s*(?P<boot>\d+\.\d+)(?: <[^>\n]{1,20}>)?\]"
)
_BY_A_PROGRAM = re.compile(rf"(?<!\S)(?!kernel\b|{_KEEPER})[\w./@-]{{1,80}}\[\d{{1,9}}\]: ")
_RUNS_ON = re.compile(r"\s+NVRM: ")  # the next line of a message
_LEVEL = re.compile(r"(?:<\d+>|(?:kern|user|daemon|syslog|auth|local\d) *:\w+ *: )")  # "<6>"; of dmesg -x
_A_DAY_S = 86400
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def is_stamped(line: str) -> bool:
    """Whether a line bears the stamp of a system's log, be it the kernel's or a program's."""
    line = _LEVEL.sub("", line[:MOST_CHARS], count=1)
    return any(form.match(line) for form in (_STAMPED, _OF_A_PROGRAM))


def begins_at(line: str) -> int | None:
    """Where in a line the kernel's words begin, by the table of its messages."""
    if not any(map(line.lower().__contains__, (*kernel_marks(), *_OF_RECORDS))):  # as nearly every line
        return None
    pair, record = kernel_fit(line, KERNEL) or kernel_fit(line, GOOD), _RECORD.search(line)
    starts = [match.start() for match in (pair and pair[1], record) if match is not None]
    return min(starts, default=None)


def _behind_label(line: str, now_s: float | None) -> Line | None:
    """What the kernel says in a line that something else labelled."""
    start = begins_at(line)
    if start is None or start > _MOST_OF_LABEL or not _LABEL_END.search(label := line[:start]):
        return None
    at_s = since_s = None
    for stamp in _TIME.finditer(label):
        if stamp["boot"] or stamp["us"]:
            since_s = float(stamp["boot"]) if stamp["boot"] else int(stamp["us"][:15]) / MEGA
        elif at_s is None:
            at_s = _at(stamp, now_s)
    return at_s, since_s, line[start:].rstrip("\"'`| ")


def _at(stamp: re.Match[str], now_s: float | None) -> float | None:
    """The time that a stamp tells."""
    if stamp["day"]:
        year = stamp["year"] or stamp["inner"]
        day = " ".join(word for word in stamp["day"].split() if word != year)
        return _local(int(year), day) if year else _of_this_year(day, now_s)
    return _iso(stamp["iso"]) if stamp["iso"] else float(stamp["unix"])


def kernel_log(world: World) -> Iterator[Line] | None:
    """Every line that may tell of a fault; None where the log is closed to us."""
    text = _text(world)
    if text is None:
        return None
    now_s = time.time() if world.is_live else None
    return parsed(text, now_s=now_s, up_s=uptime_s(world))


def _text(world: World) -> str | None:
    journal = run_command(world, *JOURNAL, patience_s=PATIENCE_S)
    if journal is not None and journal.code == 0 and " kernel: " in journal.out:
        return journal.out
    ring = run_command(world, "dmesg")
    if ring is not None and ring.code == 0 and ring.out.strip():
        return ring.out
    return next((text for file in FILES if (text := world.text(file, most=MOST_BYTES))), None)


def parsed(
    text: str, *, now_s: float | None = None, up_s: float | None = None, repeated: bool = False
) -> Iterator[Line]:
    """Each line that tells something with what its stamp says; uptime becomes a time where now is known.

    A stretch of lines that tell nothing, or are another program's, is one empty line. `repeated`: what
    programs repeat of the kernel's counts as its own.
    """
    booted_s = now_s - up_s if now_s is not None and up_s is not None else None
    for line in _messages(text, repeated=repeated):
        if not line:
            yield None, None, ""
            continue
        at_s, since_s, given = _behind_label(_LEVEL.sub("", line, count=1), now_s) or (None, None, "")
        if at_s is None and since_s is not None and booted_s is not None:
            at_s = booted_s + since_s
        yield (at_s, since_s, given) if given else (None, None, "")


def _messages(text: str, *, repeated: bool) -> Iterator[str]:
    """Lines of the kernel, those of one message together; "" for a stretch of others."""
    kept, passing = "", False
    for line in text.splitlines():
        if begins_at(line) is None or (not repeated and _is_of_a_program(line)):
            if kept:
                yield kept
            if not passing:
                yield ""
            kept, passing = "", True
            continue
        passing = False
        if _RUNS_ON.match(line) and "NVRM" in kept and len(kept) < MOST_CHARS:
            kept += " " + line.strip()
            continue
        if kept:
            yield kept
        kept = line
    if kept:
        yield kept


def _is_of_a_program(line: str) -> bool:
    """Whether a program's name stands before what is said, and that name is no word of the kernel's own."""
    match = _OF_A_PROGRAM.match(line) or _BY_A_PROGRAM.search(line[:_MOST_OF_LABEL])
    if match is None:
        return False
    start = begins_at(line)
    return start is None or start >= match.end()


def _iso(stamp: str) -> float | None:
    try:
        return datetime.fromisoformat(
            re.sub(" ?UTC", "Z", stamp).replace(",", ".").replace("/", "-")
        ).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _local(year: int, stamp: str) -> float | None:
    """A stamp such as "Nov  3 10:20:30" in a year, by the clock of this place; much faster than strptime."""
    month, day, clock = stamp.split()
    hour, minute, second = map(int, clock.split(":"))
    try:
        at = datetime(year, _MONTHS.index(month) + 1, int(day), hour, minute, second)  # noqa: DTZ001 - as logs are
        return at.timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _of_this_year(stamp: str, now_s: float | None) -> float | None:
    """A stamp without its year: the last time that day was; unknown where now is."""
    if now_s is None:
        return None
    year = time.localtime(now_s).tm_year
    for guess in (year, year - 1):
        at_s = _local(guess, stamp)
        if at_s is not None and at_s <= now_s + _A_DAY_S:
            return at_s
    return None
