"""Takes what is private out of what was read of a machine, by the rows of data/redaction.toml.

A private text gets a made-up name in its own shape: the same for the same within one bundle, and never to be
traced back, since the key that makes the names is thrown away.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from rigright.base.patterns import pattern
from rigright.base.tables import DATA, read_toml
from rigright.machine.bundle.recording import Recording
from rigright.machine.parts.surroundings import matters, shown
from rigright.machine.pci import capabilities
from rigright.machine.record import Machine
from rigright.machine.smbios import structures
from rigright.machine.stored import plain, restored
from rigright.machine.world import CommandOutput

_LEAST_NAME = 3  # letters, to be looked for in every text
_MOST_VALUE = 200  # of a file that holds one value
_ASKED = {"HOME", "container"}  # variables that readers ask for by name
_PACKAGES = {"site-packages", "dist-packages"}
_FIRMWARE, _CONFIG = "/sys/firmware/dmi/tables/DMI", "/config"
_STRINGS = {  # kind of SMBIOS structure -> where in it the numbers of its private strings stand
    1: (0x07,),
    2: (0x07, 0x08),
    3: (0x07, 0x08),
    4: (0x20, 0x21),
    17: (0x18, 0x19),
    22: (0x07,),
    39: (0x07, 0x08),
}
_UUID_AT, _UUID_END = 0x08, 0x18  # of structure 1
_SERIAL_NUMBER, _SERIAL_AT, _SERIAL_END = 0x0003, 4, 12  # of a capability in configuration space


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionRule:
    """One kind of private text; the columns are those of the table."""

    kind: str
    pattern: re.Pattern[str]
    text: str | None = None
    spares: re.Pattern[str] | None = None
    looks_like_version: bool = False
    hides: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()


@cache
def rules() -> tuple[RedactionRule, ...]:
    """All of them, in the order of the table."""

    def rule(row: dict[str, Any]) -> RedactionRule:
        patterns: dict[str, Any] = {name: pattern(row[name]) for name in ("pattern", "spares") if name in row}
        return RedactionRule(**{**row, **patterns})

    return tuple(map(rule, _table()["rule"]))


@cache
def _table() -> dict[str, Any]:
    return read_toml(DATA / "redaction.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """The made-up names of one bundle, and the names that its machine keeps private."""

    names: tuple[RedactionRule, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)  # kind -> how many distinct ones
    _pseudonyms: dict[str, str] = field(default_factory=dict)  # private -> made up, which stays as it is
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def name(self, kind: str, text: str) -> str:
        """The made-up name of a private text, in its shape."""
        if text not in self._pseudonyms:
            cells = max(len(text), 8)
            digits = hmac.new(self._key, text.lower().encode("utf-8", "replace"), hashlib.sha512).hexdigest()
            fresh = (digits * (cells // len(digits) + 1))[:cells]
            pseudonym = _SHAPES[kind](text, fresh) if kind in _SHAPES else f"{kind}-{fresh[:6]}"
            self._pseudonyms[text] = self._pseudonyms[pseudonym] = pseudonym
            self.counts[kind] += 1
        return self._pseudonyms[text]

    def text(self, text: str, *, has_versions: bool = False) -> str:
        """A text by every rule; numbers such as 12.4.5.8 stay where versions stand."""
        for rule in (*rules(), *self.names):
            if not (has_versions and rule.looks_like_version):
                text = rule.pattern.sub(partial(self._match, rule), text)
        return text

    def _match(self, rule: RedactionRule, match: re.Match[str]) -> str:
        """One match of a rule."""
        group = "private" if "private" in match.re.groupindex else 0
        private = match[group]
        if rule.kind == "home":
            public = self._home(private, rule)
        elif rule.spares is not None and rule.spares.fullmatch(private):
            public = private
        elif rule.text is not None:
            public = rule.text
            self.counts[rule.kind] += 1
        else:
            public = self.name(rule.kind, private)
        start, end = (at - match.start() for at in match.span(group))
        return f"{match[0][:start]}{public}{match[0][end:]}"

    def _home(self, path: str, rule: RedactionRule) -> str:
        """A path below the homes: the user and what he called things, but not what a package holds."""
        user, *parts = re.split(r"([/\\])", path)
        own = next((place for place, part in enumerate(parts) if part in _PACKAGES), len(parts))
        public = (
            part if rule.spares is not None and rule.spares.fullmatch(part) else self.name("path", part)
            for part in parts[:own]
        )
        return "".join((self.name("user", user), *public, *parts[own:]))

    def file(self, name: str, raw: bytes) -> bytes:
        """One file: a binary table by its own layout, one of a private value by that, any other as text."""
        if name == _FIRMWARE:
            return self.firmware(raw)
        if name.endswith(_CONFIG) and b"\0" in raw:
            return self.config_space(raw)
        text = raw.decode("utf-8", "surrogateescape")
        kind, value = _table()["files"].get(name.rpartition("/")[2]), text.strip()
        if kind is not None and value.strip("0") and len(value) < _MOST_VALUE:
            text = text.replace(value, self.name(kind, value))
        else:
            text = self.text(text, has_versions=_is_versioned(name))
        return text.encode("utf-8", "surrogateescape")

    def firmware(self, raw: bytes) -> bytes:
        """SMBIOS with other serials and tags of the same length; what no reader reads is blank."""
        table = bytearray(len(raw))
        for structure in structures(raw):
            table[structure.at : structure.end] = raw[structure.at : structure.end]
            for at in _STRINGS.get(structure.kind, ()):
                begin, end = structure.span(at)
                if begin < end:
                    serial = self.name("serial", raw[begin:end].decode("latin-1"))
                    table[begin:end] = serial.encode("latin-1", "replace")[: end - begin].ljust(end - begin)
            if structure.kind == 1 and len(structure.body) >= _UUID_END:
                self._number(table, slice(structure.at + _UUID_AT, structure.at + _UUID_END))
        return bytes(table)

    def config_space(self, raw: bytes) -> bytes:
        """A PCI function's, with another serial number; of a network card that would be its address."""
        table = bytearray(raw)
        for number, at in capabilities(raw):
            if number == _SERIAL_NUMBER and at + _SERIAL_END <= len(raw):
                self._number(table, slice(at + _SERIAL_AT, at + _SERIAL_END))
        return bytes(table)

    def _number(self, table: bytearray, at: slice) -> None:
        """Put another number in the place of one."""
        table[at] = bytes.fromhex(self.name("guid", table[at].hex()))

    def recording(self, kept: Recording) -> Recording:
        """All that was read, with made-up names in the place of private ones; in paths too."""

        @cache
        def path(text: str) -> str:
            return self.text(text, has_versions=True)

        return Recording(
            files={path(name): self.file(name, raw) for name, raw in kept.files.items()},
            folders={path(name): tuple(map(path, names)) for name, names in kept.folders.items()},
            links={path(name): None if to is None else path(to) for name, to in kept.links.items()},
            there={path(name): there for name, there in kept.there.items()},
            closed={path(name): closed for name, closed in kept.closed.items()},
            commands={tuple(map(path, argv)): self._output(argv, out) for argv, out in kept.commands.items()},
            env={
                name: self.text(shown(name, value))
                for name, value in kept.env.items()
                if name in _ASKED or matters(name)
            },
        )

    def _output(self, argv: tuple[str, ...], output: CommandOutput) -> CommandOutput:
        versioned = _is_versioned(" ".join(argv))
        out, err = (self.text(text, has_versions=versioned) for text in (output.out, output.err))
        return replace(output, out=out, err=err)

    def machine(self, machine: Machine) -> Machine:
        """The record itself."""
        return restored(Machine, self._value(plain(machine)), where="machine")

    def _value(self, value: Any, name: str = "", *, has_versions: bool = False) -> Any:
        """A value of the record, below the field of a name."""
        has_versions = has_versions or name == "software"
        if isinstance(value, list):
            return [self._value(item, has_versions=has_versions) for item in value]
        if isinstance(value, dict):
            return {key: self._value(item, key, has_versions=has_versions) for key, item in value.items()}
        if not isinstance(value, str):
            return value
        kind = _table()["fields"].get(name)
        if kind is None:
            return self.text(value, has_versions=has_versions)
        return value if value == "root" else self.name(kind, value)


def redaction_of(machine: Machine, kept: Recording) -> Redaction:
    """A redaction that knows the private names which this machine told of itself."""
    host = machine.system.host
    users = [kept.env.get(name) for name in ("USER", "LOGNAME", "SUDO_USER", "USERNAME")]
    users += [program.user for device in machine.devices for program in device.programs or ()]
    serials = [
        text
        for device in machine.devices
        for text in (device.serial, None if "-" in (device.uuid or "-") else device.uuid)
    ]
    return Redaction(
        names=(
            *name_rules("serial", serials),
            *name_rules("host", [host, host and host.partition(".")[0]]),
            *name_rules("user", users),
        )
    )


def name_rules(kind: str, names: Iterable[str | None]) -> tuple[RedactionRule, ...]:
    """A rule for names that can be looked for everywhere: long enough, and no ordinary word."""
    ordinary = _table()["ordinary"]
    known = {name for name in names if name and len(name) >= _LEAST_NAME and name.lower() not in ordinary}
    longest_first = "|".join(map(re.escape, sorted(known, key=lambda name: (-len(name), name))))
    anywhere = re.compile(rf"(?<![A-Za-z0-9])(?:{longest_first})(?![A-Za-z0-9])")
    return (RedactionRule(kind=kind, pattern=anywhere),) if known else ()


def _is_versioned(name: str) -> bool:
    return any(word in name for word in _table()["versioned"])


def _hexadecimal(text: str, digits: str) -> str:
    """Its hexadecimal digits anew; dashes and colons stay."""
    fresh = iter(digits)
    result = re.sub(r"[0-9a-fA-F]", lambda _: next(fresh), text)
    return result.upper() if text.isupper() else result


def _serial(text: str, digits: str) -> str:
    """As long, digits for digits, letters for letters."""
    letters = "ABCDEFGHJKLMNPQR"
    return "".join(
        str(int(new, 16) % 10) if old.isdigit() else letters[int(new, 16)] if old.isalpha() else old
        for old, new in zip(text, digits, strict=False)
    )


_SHAPES: Mapping[str, Callable[[str, str], str]] = {  # (text, fresh digits) -> made-up name
    "uuid": _hexadecimal,
    "guid": _hexadecimal,
    "hardware address": lambda text, digits: "02" + _hexadecimal(text, digits)[2:],  # locally administered
    "network address": lambda _, digits: "198.18.{}.{}".format(*bytes.fromhex(digits[:4])),  # RFC 2544
    "network address 6": lambda _, digits: f"2001:db8::{digits[:4]}:{digits[4:8]}",  # RFC 3849
    "serial": _serial,
}
