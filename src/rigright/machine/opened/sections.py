"""A pasted text, cut where one command's answer ends and the next begins: one table of the marks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rigright.base.bounded import bounded_json_at
from rigright.base.tables import DATA, read_toml
from rigright.base.units import MIB

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
_OF_JOURNAL = '"__REALTIME_TIMESTAMP"'
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
    """A text cut at each JSON document in it, among prose or behind another; a journal stays whole."""
    done = 0
    documents = _DOCUMENT.finditer(text) if _OF_JOURNAL not in text else iter(())
    for match, _ in zip(documents, range(_MOST_DOCUMENTS), strict=False):
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
