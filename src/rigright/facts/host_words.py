"""A host in words: "64gb ddr5-6000 + 7950x", "epyc 7443, 256gb 8ch ddr4-3200", "cpu only, 64gb".

A processor that no table knows is taken by its family: the name tells generation, channels and memory.
"""

from __future__ import annotations

import re
from functools import cache

from rigright.base.errors import AskError
from rigright.base.loader import records, rows
from rigright.base.patterns import pattern
from rigright.base.record import dataclass, replace
from rigright.base.units import GIB, GIGA, KIB, MEGA
from rigright.base.words import say
from rigright.facts.chips import Chip
from rigright.facts.cpus import CHANNEL_BYTES, benched_cpus, cpus
from rigright.facts.hosts import USUAL_BYTES, USUAL_MTS, Host, Socket, host_chip

RAM_GIB = (16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)  # sizes that machines are built with
LEAST_BYTES, MOST_BYTES = GIB, 64 * KIB * GIB  # of a machine's memory
_CASE = re.IGNORECASE
_SIZE = r"(?:(?P<many>\d{1,2})\s*[x×*]\s*)?(?P<size>\d+(?:\.\d+)?)\s*(?P<unit>gi?b|g|ti?b|t)"
_KIND = r"(?P<kind>lp-?ddr[45]x?|ddr[345])(?:[\s-]*(?P<speed>\d{4,5}))?"
_RAM = r"(?:ram\b|dram\b|memory\b|system|host|main|内存|主存|ddr[345]|lpddr|[ru]dimm|so-?dimm|ecc\b|reg\b)"
_CHANNELS = pattern(
    r"(?P<count>\d{1,2})\s*-?\s*(?:ch(?:annels?)?\b|通道)"
    r"|(?P<word>single|dual|quad|hexa|octa|单|双|四|六|八|十二)[\s-]*(?:channel\b|通道)",
    _CASE,
)
_WORDS = {"single": 1, "dual": 2, "quad": 4, "hexa": 6, "octa": 8} | dict(
    zip(("单", "双", "四", "六", "八", "十二"), (1, 2, 4, 6, 8, 12), strict=True)
)
_PARTS = pattern(r"\s*(?:[+,，;；、&]|\bwith\b|\band\b|和|带)\s*", _CASE)
_BEFORE = pattern(rf"(?:{_RAM}\s*[:：]?\s*)?{_SIZE}(?![a-z0-9])(?=(?:\s+of)?\s*{_RAM})", _CASE)
_BEHIND = pattern(rf"(?:ram|dram|memory|内存|主存)\s*[:：]?\s*{_SIZE}(?![a-z0-9])", _CASE)
_BARE = pattern(rf"\s*{_SIZE}\s*", _CASE)
_KINDS = pattern(rf"(?<![a-z]){_KIND}(?:\s*(?:mt/s|mhz))?(?:\s*(?:ecc|reg|rdimm|udimm|so-?dimm)\b)*", _CASE)
_SPEED = pattern(r"\b(?P<speed>\d{4,5})\s*(?:mt/?s|mhz)\b|(?<=ram )(?P<bare>\d{4})\b", _CASE)
_LEFT = pattern(
    r"\b(?:of|ecc|reg|registered|[ru]dimms?|system|host|main|memory|ram|dram|cpu|processor)\b"
    r"|内存|主存|处理器",
    _CASE,
)
_OF_CPU = pattern(
    r"\b(?:(?:mini|gaming|my|old|home)[- ]?)?pc\b|\b(?:desktop|server|workstation|tower|rig|laptop)\b|"
    r"\b(?:amd|intel|ryzen|xeon|core|threadripper|epyc)\b|\((?:r|tm)\)|@ *[\d.]+ *ghz|\d+-core\b",
    _CASE,
)
_DISK = pattern(
    r"(?:\d+\s*[x×*]\s*)?(?:\d+(?:\.\d+)?\s*[tg]b\s*)?"
    r"(?:(?:pcie\s*)?(?:gen\s*)?(?P<gen>[345])(?:\.0)?\s*)?\b(?P<disk>nvme|m\.2|ssd|hdd|sata)\b(?:\s*ssd)?",
    _CASE,
)
_COUNT = (
    r"(?:(?P<sockets>[1248])\s*[x×*]\s*|(?P<dual>dual|two|双路?)\s+)?"
    r"(?:amd\s+|intel\s+)?(?:processor\s+)?"
)
_CORES = pattern(r"\s*(?P<cores>\d{1,3})[\s-]*(?:cores?|c\b|核)", _CASE)
_ALONE = pattern(r"\bcpu[\s-]*only\b|\b(?:no|without(?: a)?) gpus?\b|纯处理器|无显卡", _CASE)
_LABELS = pattern(
    r"(?:\b(?:gpus?|cards?|cpu|board|(?P<kept>ram|memory))|显卡|处理器|主板|(?P<memory>内存))\s*[:：]", _CASE
)
_TWICE = pattern(r"\s*[x×*]\s*(?P<count>[248])\b")
_SIGNS = pattern(r"ddr|\d\s*[gt]|\d{4}[xkfwgh]")  # one is in all that speaks of memory or a bare model
_MODEL = pattern(r"[a-z]*\d+[a-z]*\d*[a-z]*")
_BARE_MODEL = pattern(
    rf"(?<![a-z0-9]){_COUNT}(?P<name>[0-9]{{4,5}}(?:x3d2?|xt|x|k|ks|kf|f|wx|g|hx)|[0-9]{{4}}ws)(?![a-z0-9])",
    _CASE,
)
DISK_BYTES_PER_S = {
    "nvme": 5.0 * GIGA, "m.2": 5.0 * GIGA, "ssd": 0.5 * GIGA, "sata": 0.5 * GIGA, "hdd": 0.2 * GIGA,
}  # fmt: skip
_NVME_BYTES_PER_S = {3: 3.2 * GIGA, 4: 6.5 * GIGA, 5: 12.0 * GIGA}


@cache
def _families() -> tuple[tuple[tuple[str, ...], re.Pattern[str], Socket], ...]:
    """Processors whose names look alike: words of which one is in every such name, and a pattern of it."""
    sockets = records("cpu_families.csv", Socket, read={"mem_kind": lambda cell: cell.partition(" ")[0]})
    names = rows("cpu_families.csv", "words", "pattern")
    return tuple(
        (tuple(words.split()), pattern(rf"(?<![a-z0-9]){_COUNT}(?P<name>{text})(?![a-z0-9])", _CASE), socket)
        for (words, text), socket in zip(names, sockets, strict=True)
    )


@cache
def _models() -> dict[str, tuple[str, int, float]]:
    """Processors by the word of their name that no other bears: name, cores, clock."""
    known = [(cpu.name, cpu.cores, cpu.base_hz) for cpu in benched_cpus()]
    known += [(cpu.name, cpu.cores, cpu.base_hz or 0.0) for cpu in cpus()]
    fields: dict[str, tuple[str, int, float]] = {}
    for name, cores, base_hz in known:
        model = " ".join(_MODEL.findall(name.lower().replace("-", " ").replace("+", "")))
        fields[model] = (name, cores, base_hz)
    return fields


def find_processor(words: str) -> Socket | None:
    """The processor a text names: by its own row, else by its family."""
    row = _find(words)
    return None if row is None else row[0]


def _find(words: str) -> tuple[Socket, int, re.Match[str]] | None:
    """A processor in a text, how many of it, and where it stands; the longest name wins."""
    named = _named(words)
    bare = _bare_model(words)
    if bare is not None:
        named = named or [bare]
    if not named:
        return None
    hit, own = max(named, key=lambda pair: (any(c.isdigit() for c in pair[0]["name"]), len(pair[0]["name"])))
    model = " ".join(_MODEL.findall(hit["name"].lower().replace("-", " ").replace("+", "")))
    exact = _models().get(model) or next(
        (row for key, row in _models().items() if not model.isdigit() and key.endswith(f" {model}")), None
    )
    if exact is not None:
        own = replace(own, name=exact[0], cores=exact[1], base_hz=exact[2])
    elif own.name not in {name for name, _, _ in _models().values()} and any(map(str.isdigit, hit["name"])):
        own = replace(own, name=hit["name"].strip())
    fields = hit.groupdict()
    sockets = int(fields.get("sockets") or (2 if fields.get("dual") else 1))
    return own, sockets, hit


def _named(text: str) -> list[tuple[re.Match[str], Socket]]:
    """Every family that a text names, and where: in the order of the table."""
    plain = text.casefold()
    likely = [family for family in _families() if any(word in plain for word in family[0])]
    hits = [(looks.search(text), socket) for _, looks, socket in likely]
    return [(hit, socket) for hit, socket in hits if hit is not None]


def _bare_model(words: str) -> tuple[re.Match[str], Socket] | None:
    """A model without its maker or series: "7950x", "14900k", "w5-3425"; such words mean no card."""
    for word in _BARE_MODEL.finditer(words):
        exact = next(
            (row for key, row in _models().items() if key.split()[-1:] == [word["name"].lower()]), None
        )
        own = None if exact is None else next((own for _, own in _named(exact[0])), None)
        if exact is not None and own is not None:
            return word, replace(own, name=exact[0], cores=exact[1], base_hz=exact[2])
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A text without its words for the host, and what they say."""

    plain: str
    host: Host | None = None
    only: bool = False  # the text names no cards


def _speaks_of_hosts(words: str) -> bool:
    """Whether a text may name memory or a processor, which most texts for cards do not."""
    plain = words.casefold()
    named = any(word in plain for texts, _, _ in _families() for word in texts)
    return named or ":" in plain or "：" in plain or _SIGNS.search(plain) is not None


def take_host(words: str) -> Taken:
    """The host that a text tells of, and the rest of it."""
    return _taken(words) if _speaks_of_hosts(words) else Taken(plain=words)


def _taken(words: str) -> Taken:
    plain = _LABELS.sub(lambda match: f" {match['kept'] or match['memory'] or ''} ", words)
    alone = _ALONE.search(plain)
    plain = plain if alone is None else _cut(plain, alone)
    cpu = _find(plain)
    if cpu is not None:
        after = _TWICE.match(plain[cpu[2].end() :])
        plain = _cut(plain, cpu[2])
        if after is not None:
            cpu = (cpu[0], int(after["count"]), cpu[2])
            plain = plain.replace(after[0], " ", 1)
        plain = _OF_CPU.sub(" ", plain)
    cores = _CORES.search(plain) if cpu is not None else None
    if cores is not None:
        plain = _cut(plain, cores)
    disk = _DISK.search(plain)
    if disk is not None:
        plain = _cut(plain, disk)
    channels = _CHANNELS.search(plain)
    if channels is not None:
        plain = _cut(plain, channels)
    ram_bytes, plain = _take_size(plain, lonely=cpu is not None or alone is not None)
    kind = _KINDS.search(plain)
    if kind is not None:
        plain = _cut(plain, kind)
    speed = _SPEED.search(plain)
    if speed is not None:
        plain = _cut(plain, speed)
    if cpu is None and ram_bytes is None and kind is None:
        return Taken(plain=words)
    plain = _LEFT.sub(" ", plain)
    plain = " + ".join(part for part in _PARTS.split(plain) if any(map(str.isalnum, part)))
    own = None if cpu is None else cpu[0]
    if own is not None and cores is not None:
        own = replace(own, cores=int(cores["cores"]))
    fields = _HostWords(
        cpu=own,
        sockets=1 if cpu is None else cpu[1],
        ram_bytes=ram_bytes,
        kind=None if kind is None else kind["kind"].upper().replace("LP-", "LP"),
        transfers_per_s=_transfers(kind, speed),
        channels=_channels(channels),
        disk_bytes_per_s=_disk_rate(disk),
    )
    return Taken(plain=plain.strip(), host=host_of(fields), only=alone is not None or not plain.strip())


def find_host(words: str) -> Host:
    """The host a text tells of, all of it a host."""
    host = take_host(words).host
    return host_of(_HostWords()) if host is None else host


@cache
def ram_hosts() -> dict[Host, str]:
    """Machines that are bought for their main memory -> the words for each, the smallest first."""
    return {find_host(words): words for (words,) in rows("ram_hosts.csv", "host")}


@dataclass(frozen=True, slots=True, kw_only=True)
class _HostWords:
    cpu: Socket | None = None
    sockets: int = 1
    ram_bytes: float | None = None
    kind: str | None = None
    transfers_per_s: float | None = None
    channels: int | None = None
    disk_bytes_per_s: float | None = None


def words_of(chip: Chip) -> str:
    """A processor that works as a chip, as words that mean it again; what is as usual stays unsaid."""
    name, _, memory = chip.name.partition(" (")
    plain = name.removeprefix("dual ")
    text = f"{plain if plain == name else f'2x {plain}'} + {memory.partition(' ')[0]}gb"
    usual = host_chip(find_host(text))
    if (usual.mem_type, usual.mem_bytes_per_s) == (chip.mem_type, chip.mem_bytes_per_s):
        return text
    transfers = float(chip.mem_type.rpartition("-")[2]) * MEGA
    channels = round(chip.mem_bytes_per_s / (transfers * CHANNEL_BYTES))
    return f"{text} {channels}ch {chip.mem_type.lower()}"


def host_of(fields: _HostWords) -> Host:
    """A host with what nobody said taken as usual: processor and memory tell of each other."""
    cpu, assumed = fields.cpu, []
    if cpu is None:
        cpu = _usual_processor(fields)
        assumed.append("cpu")
    kind = fields.kind or cpu.mem_kind
    transfers = fields.transfers_per_s
    if transfers is None:
        assumed.append("transfers")
        transfers = (
            cpu.mem_transfers_per_s if kind == cpu.mem_kind else USUAL_MTS.get(kind, cpu.mem_transfers_per_s)
        )
    channels = fields.channels
    if channels is None:
        assumed.append("channels")
        channels = cpu.mem_channels * fields.sockets
    if fields.ram_bytes is None:
        assumed.append("ram")
    return Host(
        cpu=cpu,
        sockets=fields.sockets,
        ram_bytes=fields.ram_bytes
        or max(USUAL_BYTES, channels * 16 * GIB if cpu.segment == "server" else 0.0),
        ram_kind=kind,
        channels=channels,
        transfers_per_s=transfers,
        disk_bytes_per_s=fields.disk_bytes_per_s,
        assumed=tuple(assumed),
    )


def _usual_processor(fields: _HostWords) -> Socket:
    """What such memory usually stands beside: a server where it is much or has many channels."""
    much = (fields.ram_bytes or 0.0) > 256 * GIB or (fields.channels or 0) > 4
    old = (fields.kind or "").startswith("DDR4")
    name = {(True, False): "EPYC Genoa", (True, True): "EPYC Milan", (False, True): "Ryzen 5000"}
    words = name.get((much, old), "Ryzen 7700")
    row = _find(words)
    if row is None:  # pragma: no cover - the table bears them
        raise LookupError(words)
    return row[0]


def _cut(words: str, match: re.Match[str]) -> str:
    return f"{words[: match.start()]} {words[match.end() :]}"


def _take_size(plain: str, *, lonely: bool) -> tuple[float | None, str]:
    """Bytes of memory: named as such, or a size that stands alone after a plus or beside a processor."""
    match = _BEFORE.search(plain) or _BEHIND.search(plain)
    if match is not None:
        return _bytes(match), _cut(plain, match)
    parts = _PARTS.split(plain)
    marks = _PARTS.findall(plain)
    for place, part in enumerate(parts):
        alone = _BARE.fullmatch(part)
        after_plus = place > 0 and "+" in marks[place - 1]
        if alone is not None and (lonely or (after_plus and len(parts) > 1)):
            kept = [other for where, other in enumerate(parts) if where != place]
            return _bytes(alone), " + ".join(kept)
    return None, plain


def _bytes(match: re.Match[str]) -> float:
    unit = GIB * (KIB if match["unit"].lower().startswith("t") else 1)
    size = int(match["many"] or 1) * float(match["size"]) * unit
    if not LEAST_BYTES <= size <= MOST_BYTES:
        raise AskError(
            say('"{text}" is not a valid system memory size', text=match[0].strip()),
            hint=say("for example {example}", example="rtx 4090 + 64gb"),
        )
    return size


def _transfers(kind: re.Match[str] | None, speed: re.Match[str] | None) -> float | None:
    text = (kind and kind["speed"]) or (speed and (speed["speed"] or speed["bare"]))
    return float(text) * MEGA if text else None


def _channels(match: re.Match[str] | None) -> int | None:
    if match is None:
        return None
    return int(match["count"]) if match["count"] else _WORDS[match["word"].lower()]


def _disk_rate(match: re.Match[str] | None) -> float | None:
    if match is None:
        return None
    return _NVME_BYTES_PER_S.get(int(match["gen"] or 0)) or DISK_BYTES_PER_S[match["disk"].lower()]
