"""The pieces of one machine: each section of each file by the form that it is, all of them laid together.

Files of a machine, and answers to what live readers ask, are read by those readers as on the machine.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from rigright.base.errors import DataError
from rigright.base.patterns import pattern
from rigright.base.tables import DATA, read_toml
from rigright.base.words import Sentence, say
from rigright.machine.bundle.recording import Recording, Replay
from rigright.machine.filled import devices_filled, keyed
from rigright.machine.opened.archive import Member
from rigright.machine.opened.forms import PastedForm, forms, forms_of
from rigright.machine.opened.ports_text import port_files
from rigright.machine.opened.text import Section, sections, text_of
from rigright.machine.probe import joined, probe
from rigright.machine.record import Machine, Read
from rigright.machine.system import Event, System
from rigright.machine.world import CommandOutput

SUPPORTED = (
    "nvidia-smi, nvidia-bug-report.log.gz, dmesg, journalctl, syslog, amd-smi, rocm-smi, xpu-smi, lspci, "
    "hl-smi, dmidecode, lshw, sensors, lscpu, lsblk, smartctl, ibstat, perfquery, iblinkinfo, mlxlink, "
    "collect_env, dcgmi diag"
)
_KEYS = {  # of what stands in lists, by what it is the same
    "pci": ("address",),
    "disks": ("name",),
    "ports": ("name",),
    "mounts": ("path",),
    "slots": ("name",),
    "sensors": ("name", "kind"),
    "paths": ("a", "b"),
}
_MOST_NAMED = 40
BENCHMARK = "benchmark log"  # a form whose figures `bench --from` reads
_WINDOWS = re.compile(r"^(?:PS )?[A-Z]:\\[^\n<>|]{0,100}>\s*\S", re.MULTILINE)  # its prompt
_LOGS = re.compile(
    r"(?:^|/)(?:var/log|pstore)/|\.(?:log|txt)\Z"
)  # files of a system that are text to be read
_SAME_S = 2.0  # clocks of the kernel and of what writes its lines down
_FILE = re.compile(r"/(?:proc|sys|etc|run|var/lib|lib/modules|dev)/\S+")
_SYNCED = re.compile(r"(?:System clock synchronized|NTP synchronized|NTPSynchronized)[:=] *(yes|no)")
_INFINIBAND = re.compile(
    r"(?:.*/)?(?P<inside>[^/]+/(?:ports/\d{1,3}/.+|hca_type|fw_ver|board_id|node_guid|node_type|hw_rev))\Z"
)
_ROOTED = re.compile(r"(?P<above>|.*?/)(?P<inside>(?:proc|sys|etc|run|dev|lib/modules|var/lib)/.+)\Z")
_MODULE_ROW = re.compile(r"^(\w+) +(\d{1,18}) +(\d{1,18}) *(\S*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Pieces:
    """All that was found so far."""

    name: str
    of_form: dict[PastedForm, list[Section]] = field(default_factory=dict)
    reads: list[Read] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    commands: dict[tuple[str, ...], str] = field(default_factory=dict)
    read_as: dict[str, None] = field(default_factory=dict)
    unread: dict[str, None] = field(default_factory=dict)
    members: dict[str, bytes] = field(default_factory=dict)  # of a tree
    cut: dict[str, None] = field(default_factory=dict)
    seen: list[int] = field(default_factory=list)  # characters of each text

    def add_machine(self, machine: Machine, *, form: str) -> None:
        """A machine that was saved or lies there as a tree, beside other pieces."""
        self.reads.append(_read_of(machine))
        self.read_as[form] = None

    def add(self, member: Member, *, alone: bool) -> None:
        """A file: one of a machine's own, or text that tools printed."""
        if member.is_cut:
            self.cut[member.name] = None
        if member.is_cut and not member.raw:
            return
        if not alone and not _LOGS.search(member.name) and _rooted({member.name: member.raw}):
            self.members[member.name] = member.raw
            return
        try:
            text = text_of(member.raw, name=member.name)
        except DataError:
            if alone:
                raise
            self.unread[member.name] = None
            return
        if text.strip():
            self.seen.append(len(text))
        if _WINDOWS.search(text):
            self.reads.append(Read(fields={"system": System(os_name="Windows")}))
        known = [section.head for section in sections(text) if self._add_section(section)]
        for head in known:  # the words around an answer that was read
            self.unread.pop(head, None)
        if not known and not alone:
            self.unread.setdefault(member.name)

    def _add_section(self, section: Section) -> bool:
        """Whether anything in it could be read."""
        answer = _answer(section) if section.text.strip() else None
        if answer is not None:
            path, text = answer
            if isinstance(path, str):
                self.files.setdefault(path, text.encode("utf-8", "replace"))
                self.read_as.setdefault(path)
            else:
                self.commands.setdefault(path, text)
                self.read_as.setdefault(path[0])
            self._keep((form for form in forms() if form.log and form.matches(section)), section)
            return True
        printed, answers = port_files(section.text)
        if printed:
            self.files.update(printed)
            self.commands.update(answers)
            self.read_as.setdefault("ethtool")
            return True
        known = self._keep(forms_of(section), section)
        if not known and section.head and section.text.strip():
            self.unread.setdefault(section.head)
        return known

    def _keep(self, known: Iterable[PastedForm], section: Section) -> bool:
        """A section for each form that it is; whether there is any."""
        kept = list(known)
        for form in kept:
            self.of_form.setdefault(form, []).append(section)
            self.read_as.setdefault(form.name)
        return bool(kept)

    def machine(self) -> Machine:
        """All of it as one machine."""
        reads = [*self.reads]
        for form in forms():
            reads += _read(form, self.of_form.get(form, []))
        tree = {**_rooted(self.members), **self.files}
        if self.members:
            self.read_as.setdefault("/proc, /sys, /etc")
        if tree or self.commands:
            reads.append(_read_tree(tree, self.commands))
        if not any(read.fields or read.unseen for read in reads) and BENCHMARK not in self.read_as:
            raise DataError(self._unknown())
        machine = joined(_laid(reads))
        return replace(
            machine,
            read_as=tuple(self.read_as)[:_MOST_NAMED],
            unread=tuple(self.unread)[:_MOST_NAMED],
            cut=tuple(self.cut)[:_MOST_NAMED],
        )

    def _unknown(self) -> Sentence:
        if not self.unread and not self.seen:
            return say("{file} is empty", file=self.name)
        heads = ", ".join(self.unread)[:200]
        if heads:
            return say(
                "{file}: format not recognised ({heads}); supported: {supported}",
                file=self.name,
                heads=heads,
                supported=SUPPORTED,
            )
        return say(
            "{file}: format not recognised; supported: {supported}", file=self.name, supported=SUPPORTED
        )


def _read(form: PastedForm, sections: list[Section]) -> list[Read]:
    """All sections of a form, together or one by one."""
    if form.together is not None and sections:
        under = [replace(section, head=section.head or form.together) for section in sections]
        return [form.reading(Section(head="", text="".join(section.whole for section in under)))]
    return [form.reading(section) for section in sections]


def _laid(reads: list[Read]) -> list[Read]:
    """Every thing once: what several readings tell of one card, disk or moment lies together."""
    lists: dict[str, tuple[Any, ...]] = {}
    rest: list[Read] = []
    for read in reads:
        kept = {}
        for name, value in read.fields.items():
            if name == "devices":
                lists[name] = devices_filled(lists.get(name, ()), value)
            elif name == "events":
                lists[name] = _together(lists.get(name, ()), value)
            elif name in _KEYS and isinstance(value, tuple):
                lists[name] = keyed((*lists.get(name, ()), *value), _KEYS[name])
            else:
                kept[name] = value
        rest.append(replace(read, fields=kept))
    return [*rest, Read(fields=lists)]


def _together(first: tuple[Event, ...], then: tuple[Event, ...]) -> tuple[Event, ...]:
    """The events of both, oldest first."""
    if not first or not then:
        return first or then
    events = list(first)
    open_: dict[tuple[object, ...], list[int]] = defaultdict(list)  # places that no other event has met yet
    for place, event in enumerate(first):
        open_[_key(event)].append(place)
    for event in then:
        near = open_[_key(event)]
        meant = next((number for number in near if _is_same(events[number], event)), None)
        if meant is None:
            events.append(event)
            continue
        near.remove(meant)
        mine = events[meant]
        events[meant] = replace(
            mine,
            at_s=event.at_s if mine.at_s is None else mine.at_s,
            up_s=event.up_s if mine.up_s is None else mine.up_s,
            earlier=mine.earlier if mine.earlier is not None else event.earlier,
        )
    if all(item.at_s is not None for item in events):
        events.sort(key=lambda item: item.at_s or 0.0)
    elif all(item.up_s is not None and item.at_s is None and not item.earlier for item in events):
        events.sort(key=lambda item: item.up_s or 0.0)
    return tuple(events)


def _key(event: Event) -> tuple[object, ...]:
    return event.kind, event.pci, event.code, " ".join(event.text.split())[:160]


def _is_same(device: Event, other: Event) -> bool:
    """Whether both tell of one moment, as far as their stamps go."""
    if device.at_s is not None and other.at_s is not None:
        return abs(device.at_s - other.at_s) <= _SAME_S
    if device.up_s is not None and other.up_s is not None:
        return abs(device.up_s - other.up_s) <= _SAME_S
    return True


# --- files and answers as a machine that answers as the recorded one did


def _answer(section: Section) -> tuple[str, str] | tuple[tuple[str, ...], str] | None:
    """The file, or the command as readers ask it, that a section answers, and the answer."""
    head, text = section.head, section.text
    if "No such file" in text[:200] or "Permission denied" in text[:200] or "command not found" in text[:200]:
        return None
    if head.startswith("lsmod") and _MODULE_ROW.search(text):  # without its heading, where grep cut it
        return "/proc/modules", _loaded(f"Module Size Used by\n{text}")
    path = head if _FILE.fullmatch(head) else _place_of("begins", text, kind="file")
    if path is not None:
        return path, _loaded(text) if path == "/proc/modules" else text.strip("\n") + "\n"
    argv = _place_of("typed", head, kind="command") or _place_of("begins", text, kind="command")
    if argv is not None and argv[0] == "timedatectl":
        synced = _SYNCED.search(text)
        return None if synced is None else (argv, synced[1] + "\n")
    return None if argv is None else (argv, text + "\n")


def _place_of(known_by: str, text: str, *, kind: str) -> Any:
    """The file, or the command, whose answer the beginning of a text is."""
    return next((place for find, place in _places(known_by, kind) if find.match(text)), None)


@cache
def _places(known_by: str, kind: str) -> tuple[tuple[re.Pattern[str], Any], ...]:
    rows = (row for row in read_toml(DATA / "pasted.toml")["answer"] if kind in row)
    return tuple(
        (pattern(text, re.MULTILINE), tuple(row[kind]) if kind == "command" else row[kind])
        for row in rows
        for text in row.get(known_by, ())
    )


def _loaded(text: str) -> str:
    """Loaded modules as /proc/modules has them; lsmod leaves out what is the same of all."""
    if " 0x" in text:
        return text
    rows = _MODULE_ROW.findall(text)
    return "".join(f"{name} {size} {count} {users or '-'} Live 0x0\n" for name, size, count, users in rows)


def _rooted(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a machine among those of an archive, by their place below its root."""
    contents: dict[str, bytes] = {}
    tops = sorted({match["above"] for name in members if (match := _ROOTED.match(name))}, key=len)
    for name, raw in members.items():
        match = _ROOTED.match(name)
        if match and match["above"] == tops[0]:
            contents["/" + match["inside"]] = raw
        elif match := _INFINIBAND.match(name):
            contents["/sys/class/infiniband/" + match["inside"]] = raw
    return contents


def _read_tree(files: Mapping[str, bytes], commands: Mapping[tuple[str, ...], str]) -> Read:
    """What files and answers tell, and nothing of what they do not hold."""
    folders: dict[str, set[str]] = {}
    for path in map(PurePosixPath, files):
        for inside in (path, *path.parents):
            if inside.name:
                folders.setdefault(str(inside.parent), set()).add(inside.name)
    kept = Recording(
        files=dict(files),
        folders={path: tuple(sorted(names)) for path, names in folders.items()},
        commands={argv: CommandOutput(code=0, out=out) for argv, out in commands.items()},
    )
    return _read_of(probe(Replay(kept=kept)))


def _read_of(machine: Machine) -> Read:
    """A machine as what was read of it: fields that say something."""
    bare = Machine()
    return Read(fields={
        field.name: value
        for field in fields(Machine)
        if field.name not in {"schema", "origin", "unseen"}
        and (value := getattr(machine, field.name)) != getattr(bare, field.name)
        and value != ()
    })  # fmt: skip
