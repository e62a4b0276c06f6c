"""What `collect.sh` printed of a machine without a new Python, as a world that the live readers read."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from rigright.base.errors import DataError
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.bundle.recording import Recording, Replay
from rigright.machine.probe import probe
from rigright.machine.record import Machine
from rigright.machine.system import Event, System
from rigright.machine.vendors.nvidia import SMI
from rigright.machine.world import ABSENT, PAST_TIME, PATIENCE_S, CommandOutput

_FIRST = re.compile(rb"(?:\A|\n)(rigright-collect[a-z0-9-]{0,80}) 1\r?\n")
_LOOKED_BYTES = 65_536  # at the start: a banner may stand before it
_MOST_PARTS = 20_000
_MOST_FILES = 200_000
MOST_BYTES = MIB  # of a file that is no text, written as hex
_MOST_DIGITS = 12  # of a time
_MOST_STEPS = 40  # of links that lead to links
_ENDED = {124, 137, 143}  # what `timeout` says of a command that it ended
_HOST = re.compile(rb"^rigright-collect[a-z0-9-]{0,80} host (\S{1,253})$", re.MULTILINE)
_FILE = re.compile(r"^==> (.*) <==$\n", re.MULTILINE)
_LINK = re.compile(r" (/\S+) -> (\S+)$", re.MULTILINE)
_OCTETS = re.compile(r"\b[0-9a-f]{2}\b")
_PLACED = re.compile(r"^[dl]\S+ .*? (/\S+)(?: -> \S+)?$", re.MULTILINE)


class _Collected(Replay):
    """A machine as it was collected: links lead on from wherever they are asked, `df` told of every mount."""

    def link(self, path: str) -> str | None:
        """Where a path really lies."""
        links = self.kept.links
        above, name = posixpath.split(path)
        known = self.has(path) or posixpath.join(_place(above, links), name) in links
        text = _place(path, links)
        return text if known or self.has(text) else None

    def run(self, *argv: str, patience_s: float = PATIENCE_S) -> CommandOutput | None:
        """What the command said."""
        return Replay.run(self, *(argv[:2] if argv[0] == "df" else argv), patience_s=patience_s)


def is_collected(raw: bytes) -> bool:
    """Whether these bytes are such an answer."""
    return _FIRST.search(raw[:_LOOKED_BYTES]) is not None


def read_collected(raw: bytes, *, name: str) -> Machine:
    """The machine, by the readers of live ones; what ends too early is read up to there."""
    match = _FIRST.search(raw[:_LOOKED_BYTES])
    if match is None:
        raise DataError(say("{file} is not output of collect.sh", file=name))
    mark = match[1].decode()
    text = raw[match.end() :].decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    parts = list(_parts(text, mark))
    kept = _kept(parts)
    machine = probe(_Collected(kept=kept, env=kept.env), origin=name)
    fields = {kind: rest for kind, rest, _ in parts if kind in {"now", "user"}}
    system = machine.system
    if fields.get("now", "").isdecimal() and len(fields["now"]) < _MOST_DIGITS:
        system = replace(system, now_s=float(fields["now"]))
    if fields.get("user", "").isdecimal():
        system = replace(system, as_root=fields["user"] == "0")
    is_whole = bool(parts) and parts[-1][0] == "end"
    return replace(machine, system=system, events=_dated(machine, system), cut=() if is_whole else (name,))


def _dated(machine: Machine, system: System) -> tuple[Event, ...] | None:
    """Its events at their time: the kernel's log counts from the start of the machine."""
    if machine.events is None or system.now_s is None or system.up_s is None:
        return machine.events
    began_s = system.now_s - system.up_s
    return tuple(
        replace(event, at_s=began_s + event.up_s) if event.at_s is None and event.up_s is not None else event
        for event in machine.events
    )


def host_of(raw: bytes) -> str | None:
    """What the machine calls itself in such an answer."""
    match = _HOST.search(raw[:_LOOKED_BYTES])
    return None if match is None else match[1].decode("utf-8", "replace")


def _parts(text: str, mark: str) -> Iterator[tuple[str, str, str]]:
    """Each part: its kind, the rest of its first line, what follows."""
    pieces = re.split(rf"^{re.escape(mark)} ", text, maxsplit=_MOST_PARTS, flags=re.MULTILINE)
    for piece in pieces[1:]:
        head, _, body = piece.partition("\n")
        kind, _, rest = head.partition(" ")
        yield kind, rest, body


def _kept(parts: list[tuple[str, str, str]]) -> Recording:
    """What the readers will be answered."""
    kept = Recording()
    root = ""
    links: dict[str, str] = {}
    for place, (kind, rest, body) in enumerate(parts):
        if kind == "root":
            root = rest.rstrip("/")
        elif kind == "env":
            lines = (line.partition("=") for line in body.splitlines())
            kept.env.update({name: value for name, sign, value in lines if sign})
        elif kind == "command":
            after = parts[place + 1] if place + 1 < len(parts) else None
            output = _output(body, after)
            with suppress(ValueError):  # words of the script, or none of ours
                argv = tuple(shlex.split(rest))
                kept.commands.update({} if output is None else {argv: output})
        elif kind == "absent" and rest == SMI[0]:
            kept.commands[SMI] = CommandOutput(code=ABSENT, out="")
        elif kind == "links":
            links |= {_below(path, root): _below(to, root) for path, to in _LINK.findall(body)}
            kept.there.update(dict.fromkeys((_below(path, root) for path in _PLACED.findall(body)), True))
        else:
            _keep(kept, kind, rest=rest, body=body, root=root)
    for path in sorted(links, key=len):  # where each really lies, those that others lie behind first
        above, last = posixpath.split(path)
        kept.links[posixpath.join(_place(above, kept.links), last)] = links[path]
    kept.there.update({posixpath.dirname(path): True for path in kept.files})
    return kept


def _output(body: str, after: tuple[str, str, str] | None) -> CommandOutput | None:
    """What a command said, by the part that follows; None where it was still speaking at the end of all.

    One without a code never came to its end: it hung, or said more than anybody hears.
    """
    if after is not None and after[0] == "code":
        return CommandOutput(code=_code(after[1]), out=body.removesuffix("\n"))
    if after is None and body.strip():
        return None
    return CommandOutput(code=PAST_TIME, out="")


def _keep(kept: Recording, kind: str, *, rest: str, body: str, root: str) -> None:
    """What stands alone: files, folders, places."""
    if kind == "folder":
        names = tuple(sorted(line for line in body.splitlines() if line and "/" not in line))
        kept.folders[_below(rest, root)] = names
    elif kind == "files":
        kept.files.update(_files(body, root))
    elif kind == "bytes":
        octets = _OCTETS.findall(body[:MOST_BYTES])
        kept.files[_below(rest, root)] = bytes(int(octet, 16) for octet in octets)
    elif kind == "there":
        kept.there[_below(rest, root)] = True


def _code(text: str) -> int:
    code = int(text) if re.fullmatch(r"\d{1,3}", text) else PAST_TIME
    return PAST_TIME if code in _ENDED else code


def _below(path: str, root: str) -> str:
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path


def _files(body: str, root: str) -> dict[str, bytes]:
    """Each file under its name."""
    pieces = _FILE.split(body, maxsplit=_MOST_FILES)
    contents: dict[str, bytes] = {}
    for path, content in zip(pieces[1::2], pieces[2::2], strict=False):
        contents[_below(path, root)] = content.removesuffix("\n").encode("utf-8", "surrogateescape")
    contents.pop("/dev/null", None)  # asked last: a file that is asked alone would bear no name
    return contents


def _place(path: str, links: Mapping[str, str | None]) -> str:
    """Where a path really lies, every link on the way followed; links are known by where they really lie."""
    at, left, steps = "/", path.split("/"), 0
    while left:
        name, *left = left
        if name == "..":
            at = posixpath.dirname(at)
        if name in {"", ".", ".."}:
            continue
        here = posixpath.join(at, name)
        to = links.get(here) if steps < _MOST_STEPS else None
        if to is None:
            at = here
            continue
        steps += 1
        left = [*to.split("/"), *left]
        at = "/" if to.startswith("/") else at
    return at
