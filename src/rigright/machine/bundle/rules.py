"""What is private in the text of a machine, and what stands in its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rigright.machine.bundle.marks import Marks

_UUID = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-fA-F])")
_WELL_KNOWN = {  # of EFI: all machines bear them
    "8be4df61-93ca-11d2-aa0d-00e098032b8c",
    "605dab50-e046-4300-abb6-3dd810dd8b23",
    "d719b2cb-3d3a-4596-a3bc-dad00e67656f",
}
_PAIRS = re.compile(r"(?<![0-9a-fA-F:])[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5,19}(?![0-9a-fA-F:])")
_DASHED = re.compile(r"(?<![0-9a-fA-F-])[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2}){7}(?![0-9a-fA-F-])")
_GUID4 = re.compile(r"(?<![0-9a-fA-F:])[0-9a-f]{4}(?::[0-9a-f]{4}){3}(?![0-9a-fA-F:])")
_GUID = re.compile(r"(?i)(guid\W{0,4}(?:0x)?)([0-9a-f]{16})(?![0-9a-f])")
_IP6 = re.compile(
    r"(?<![0-9a-fA-F:.])(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?![0-9a-fA-F:])"
    r"|(?<![0-9a-fA-F:.])(?:fe80|fd[0-9a-f]{2}|2[0-9a-f]{3})(?:::?[0-9a-f]{1,4}){1,7}(?![0-9a-fA-F:])"
)
_IP4 = re.compile(
    r"(?<![\w.-])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w-]|\.\d)"
)
_OPEN_IP4 = re.compile(r"(?:127\.|0\.|255\.|198\.1[89]\.)|\d+\.0\.0\.0\Z")
_SERIAL = re.compile(
    r"""(?ix)(
        (?:serial(?:[\s_-]?(?:number|num|no\.?))?
            | asset[\s_]?tag | unique[\s_]?id | hive[\s_]?id | wwn | wwid | eui64 | nguid)
        ["']? \s* (?:[:=>]|\x20(?=\d{6,})) \s* ["']?
    )([^\s"',<>{}()\[\]]{3,64})"""
)
_NO_SERIAL = re.compile(r"(?i)\A(?:n/?a|none|null|not|unknown|default|to|o\.e\.m\.|true|false|0+|0x0+)\Z")
_SECRET = re.compile(
    r"(?i)((?:token|secret|passw(?:or)?d|passwd|api[_-]?key|access[_-]?key|credential)[\w-]{0,30}[\"']?\s*[=:]\s*)"
    r"(?!\s)[^\s\"',;]{1,400}"
)
_LOGIN = re.compile(r"([a-z][a-z0-9+.-]{1,12}://)[^/\s@\"']{1,200}@")
_MOUNTED = re.compile(r"(?m)^([A-Za-z0-9][\w.-]{0,200}|\[[0-9a-f:]+\]):(?=/)")
_LOGGED = re.compile(  # a line of a log: when, who, "kernel:"
    r"(?m)^(\d{9,11}\.\d+ |\w{3} [ \d]\d \d\d:\d\d:\d\d |\d{4}-\d\d-\d\dT[\d:.,+Z-]{8,24} )"
    r"([\w.-]{1,253})(?= kernel: )"
)
_HOME = re.compile(r"(?P<root>/(?:home|Users)/|[A-Z]:\\Users\\)(?P<rest>[^\s:\"',;<>|*?\0)\]]+)")
_PLAIN_PART = re.compile(
    r"(?i)\A(?:\.?v?env\w{0,8}|envs|lib(?:64)?|bin|include|share|etc|(?:site|dist)-packages|python[\d.]*|"
    r"(?:mini|ana|mamba)(?:conda|forge)\d?|conda-meta|\.?conda|\.cache|\.local|\.config|pip|pip\.conf|"
    r"pyvenv\.cfg|Scripts|\.pyenv|versions|[\d.]+)\Z"
)
_PACKAGES = re.compile(r"(?:site|dist)-packages\Z")
_ORDINARY = {  # no names to be looked for in every text
    *("root", "user", "users", "admin", "ubuntu", "debian", "linux", "localhost", "nvidia", "gpu", "server"),
    *("node", "host", "home", "test", "main", "computer", "desktop", "laptop", "workstation", "machine"),
    *("kernel", "none", "default", "system", "local", "master", "worker"),
}
_LEAST_NAME = 3


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules with the names that this machine keeps private."""

    marks: Marks
    hosts: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    serials: tuple[str, ...] = ()

    def hide(self, text: str, *, has_versions: bool = False) -> str:
        """The text with made-up names; numbers such as 12.4.5.8 stay where versions stand."""
        for rule in _RULES if not has_versions else _RULES_BUT_IP4:
            text = rule(self.marks, text)
        for kind, names in (("serial", self.serials), ("host", self.hosts), ("user", self.users)):
            text = self._named(kind, names, text=text)
        return text

    def _named(self, kind: str, names: Iterable[str], *, text: str) -> str:
        for name in names:
            if name in text:
                pattern = re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])")
                text = pattern.sub(lambda match: self.marks.of(kind, match[0]), text)
        return text


def private_names(texts: Iterable[str | None]) -> tuple[str, ...]:
    """Names that can be looked for everywhere: long enough, and no ordinary word; longest first."""
    kept = {name for name in texts if name and len(name) >= _LEAST_NAME and name.lower() not in _ORDINARY}
    return tuple(sorted(kept, key=lambda name: (-len(name), name)))


def _whole(
    pattern: re.Pattern[str], kind: str, *, spared: Callable[[str], object]
) -> Callable[[Marks, str], str]:
    """A rule that renames all that a pattern finds, but for what is spared."""

    def rule(marks: Marks, text: str) -> str:
        return pattern.sub(lambda match: match[0] if spared(match[0]) else marks.of(kind, match[0]), text)

    return rule


def _behind(pattern: re.Pattern[str], kind: str) -> Callable[[Marks, str], str]:
    """A rule that renames what stands behind a label."""

    def one(marks: Marks, match: re.Match[str]) -> str:
        return match[0] if _NO_SERIAL.match(match[2]) else match[1] + marks.of(kind, match[2])

    return lambda marks, text: pattern.sub(lambda match: one(marks, match), text)


def _secrets(marks: Marks, text: str) -> str:
    pair = _SECRET.subn(r"\1(kept out)", text)
    logins = _LOGIN.subn(r"\1", pair[0])
    if pair[1] + logins[1]:
        marks.counts["secret"] += pair[1] + logins[1]
    return logins[0]


def _mounts(marks: Marks, text: str) -> str:
    return _MOUNTED.sub(lambda match: marks.of("host", match[1]) + ":", text)


def _logs(marks: Marks, text: str) -> str:
    return _LOGGED.sub(lambda match: match[1] + marks.of("host", match[2]), text)


def _homes(marks: Marks, text: str) -> str:
    return _HOME.sub(lambda match: match["root"] + _parts(marks, match["rest"]), text)


def _parts(marks: Marks, rest: str) -> str:
    """A path below the homes: the user and what he called things renamed, what installers call them kept."""
    user, *parts = re.split(r"([/\\])", rest)
    texts = [user if user.startswith("user-") else marks.of("user", user)]
    is_package = False
    for part in parts:
        is_package = is_package or bool(_PACKAGES.match(part))
        plain = is_package or part in {"", "/", "\\"} or _PLAIN_PART.match(part) or part.startswith("path-")
        texts.append(part if plain else marks.of("path", part))
    return "".join(texts)


def _is_nothing(text: str) -> bool:
    """All zeros, or all ones: nobody's."""
    return not set(text.lower()) - set("0:-f") or set(text.lower()) <= set("0:-")


_RULES_BUT_IP4 = (
    _secrets,
    _homes,
    _whole(_UUID, "uuid", spared=lambda text: text.lower() in _WELL_KNOWN or _is_nothing(text)),
    _behind(_SERIAL, "serial"),
    _whole(_PAIRS, "hardware address", spared=_is_nothing),
    _whole(_DASHED, "guid", spared=_is_nothing),
    _whole(_IP6, "network address 6", spared=lambda text: text.startswith("2001:db8") or _is_nothing(text)),
    _whole(_GUID4, "guid", spared=_is_nothing),
    _behind(_GUID, "guid"),
    _mounts,
    _logs,
)
_RULES = (*_RULES_BUT_IP4, _whole(_IP4, "network address", spared=_OPEN_IP4.match))
