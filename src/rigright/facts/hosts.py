"""What stands around the cards, read from words: "64gb ddr5-6000 + 7950x", "epyc 7443, 256gb 8ch ddr4-3200".

A processor that no table knows is taken by its family: the name tells generation, channels and memory.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from functools import cache

from rigright.base.record import dataclass
from rigright.base.tables import DATA, CellReader, number, read_rows, scaled, text, whole
from rigright.base.units import GIB, GIGA, KIB, MEGA
from rigright.base.words import Sentence, say, with_commas
from rigright.facts.chips import Chip, memory_share
from rigright.facts.cpu_rates import VECTOR_FLOPS, vectors
from rigright.facts.cpus import CHANNEL_BYTES, cpus

CPU = "CPU"  # the vendor of a chip that is a processor: engines know them all alike
USUAL_BYTES = 64 * GIB
USUAL_MTS = {"DDR3": 1600 * MEGA, "DDR4": 3200 * MEGA, "DDR5": 5600 * MEGA, "LPDDR5X": 7467 * MEGA}
_SIZE = r"(?:(?P<many>\d{1,2})\s*[x×*]\s*)?(?P<size>\d+(?:\.\d+)?)\s*(?P<unit>gi?b|g|ti?b|t)"
_KIND = r"(?P<kind>lp-?ddr[45]x?|ddr[345])(?:[\s-]*(?P<speed>\d{4,5}))?"
_RAM_WORD = r"(?:ram\b|dram\b|memory\b|system|host|main|内存|主存|ddr[345]|lpddr|[ru]dimm|so-?dimm|ecc\b|reg\b)"
_CHANNELS = r"(?:(?P<count>\d{1,2})\s*-?\s*(?:ch(?:annels?)?\b|通道)|(?P<word>single|dual|quad|hexa|octa|单|双|四|六|八|十二)[\s-]*(?:channel\b|通道))"
_WORDS = {"single": 1, "dual": 2, "quad": 4, "hexa": 6, "octa": 8} | dict(
    zip(("单", "双", "四", "六", "八", "十二"), (1, 2, 4, 6, 8, 12), strict=True)
)
_PARTS = re.compile(r"\s*(?:[+,，;；、&]|\bwith\b|\band\b|和|带)\s*", re.IGNORECASE)
_SIZED = re.compile(
    rf"(?:{_RAM_WORD}\s*[:：]?\s*)?{_SIZE}\b(?=(?:\s+of)?\s*(?:{_CHANNELS.replace('?P<count>', '').replace('?P<word>', '')}\s*)?{_RAM_WORD})"
    rf"|(?:ram|dram|memory|内存|主存)\s*[:：]?\s*{_SIZE.replace('many', 'many2').replace('size', 'size2').replace('unit', 'unit2')}\b",
    re.IGNORECASE,
)
_BARE = re.compile(rf"\s*{_SIZE}\s*", re.IGNORECASE)
_KINDS = re.compile(rf"(?<![a-z]){_KIND}(?:\s*(?:mt/s|mhz))?(?:\s*(?:ecc|reg|rdimm|udimm|so-?dimm)\b)*", re.IGNORECASE)
_SPEED = re.compile(r"\b(?P<speed>\d{4,5})\s*(?:mt/?s|mhz)\b|(?<=ram )(?P<bare>\d{4})\b", re.IGNORECASE)
_CHANNELED = re.compile(_CHANNELS, re.IGNORECASE)
_LEFT = re.compile(r"\b(?:of|ecc|reg|registered|[ru]dimms?|system|host|main|memory|ram|dram|cpu|processor)\b|内存|主存|处理器", re.IGNORECASE)
_OF_CPU = re.compile(
    r"\b(?:amd|intel|ryzen|xeon|core|threadripper|epyc)\b|\((?:r|tm)\)|@ *[\d.]+ *ghz|\d+-core\b", re.IGNORECASE
)
_DISK = re.compile(
    r"(?:\d+\s*[x×*]\s*)?(?:\d+(?:\.\d+)?\s*[tg]b\s*)?(?:(?:pcie\s*)?(?:gen\s*)?(?P<gen>[345])(?:\.0)?\s*)?\b(?P<disk>nvme|m\.2|ssd|hdd|sata)\b(?:\s*ssd)?",
    re.IGNORECASE,
)
_COUNT = r"(?:(?P<sockets>[1248])\s*[x×*]\s*|(?P<dual>dual|two|双路?)\s+)?(?:amd\s+|intel\s+)?(?:processor\s+)?"
_CORES = re.compile(r"\s*(?P<cores>\d{1,3})[\s-]*(?:cores?|c\b|核)", re.IGNORECASE)
_CPU_ONLY = re.compile(r"\bcpu[\s-]*only\b|\b(?:no|without(?: a)?) gpus?\b|纯处理器|无显卡", re.IGNORECASE)
_LABELS = re.compile(r"\b(?:gpus?|cards?|cpu|ram|memory|board)\s*[:：]|(?:显卡|处理器|内存)\s*[:：]", re.IGNORECASE)
_TWICE = re.compile(r"\s*[x×*]\s*(?P<count>[248])\b")
_MODEL = re.compile(r"[a-z]*\d+[a-z]*\d*[a-z]*")
DISK_BYTES_PER_S = {"nvme": 5.0 * GIGA, "m.2": 5.0 * GIGA, "ssd": 0.5 * GIGA, "sata": 0.5 * GIGA, "hdd": 0.2 * GIGA}
_NVME_BYTES_PER_S = {3: 3.2 * GIGA, 4: 6.5 * GIGA, 5: 12.0 * GIGA}


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """One socket. None is not known."""

    name: str
    architecture: str
    segment: str  # "server", "desktop", "mobile"
    cores: int
    base_hz: float
    mem_kind: str  # "DDR5"
    mem_channels: int
    mem_transfers_per_s: float
    pcie_gen: int
    pcie_lanes: int
    max_sockets: int
    tdp_w: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Processor and memory of a machine; what nobody said is as such machines usually are."""

    cpu: Processor
    sockets: int = 1
    ram_bytes: float = USUAL_BYTES
    ram_kind: str = "DDR5"
    channels: int = 2  # of all sockets, filled
    transfers_per_s: float = USUAL_MTS["DDR5"]
    disk_bytes_per_s: float | None = None
    assumed: tuple[str, ...] = ()  # fields that nobody said

    @property
    def mem_bytes_per_s(self) -> float:
        """Peak of all channels."""
        return self.channels * self.transfers_per_s * CHANNEL_BYTES

    @property
    def shown(self) -> str:
        """The host for people: "Ryzen 9 7950X, 64 GB DDR5-6000 (2 channels, 96 GB/s)"."""
        cpu = f"{self.sockets}x {self.cpu.name}" if self.sockets > 1 else self.cpu.name
        size = f"{self.ram_bytes / GIB:g} GB {self.ram_kind}-{self.transfers_per_s / MEGA:.0f}"
        return f"{cpu}, {size}"

    @property
    def said(self) -> str:
        """The same as words that mean it again."""
        count = f"{self.sockets}x " if self.sockets > 1 else ""
        kind = f"{self.channels}ch {self.ram_kind.lower()}-{self.transfers_per_s / MEGA:.0f}"
        return f"{count}{self.cpu.name} + {self.ram_bytes / GIB:g}gb {kind}"

    @property
    def notes(self) -> tuple[Sentence, ...]:
        """What was taken as usual, in one line."""
        told = {
            "cpu": self.cpu.name,
            "ram": f"{self.ram_bytes / GIB:g} GB",
            "transfers": f"{self.ram_kind}-{self.transfers_per_s / MEGA:.0f}",
            "channels": f"{self.channels} channels",
        }
        shown = [say("{part}", part=words) for name, words in told.items() if name in self.assumed]
        return (say("assumed of the host: {parts}", parts=with_commas(shown)),) if shown else ()


@cache
def _families() -> tuple[tuple[re.Pattern[str], Processor], ...]:
    readers: dict[str, CellReader] = dict.fromkeys(
        ("pattern", "family", "architecture", "segment", "mem_type", "source", "as_of", "confidence"), text
    )
    readers |= dict.fromkeys(
        ("max_sockets", "cores", "mem_channels", "pcie_gen", "pcie_lanes_free"), whole
    )
    readers |= {"base_ghz": scaled(GIGA), "mem_mt_per_s": scaled(MEGA), "tdp_w": number}
    rows = read_rows(DATA / "cpu_families.csv", readers, required=tuple(readers))
    return tuple(
        (
            re.compile(rf"(?<![a-z0-9]){_COUNT}(?P<name>{row['pattern']})(?![a-z0-9])", re.IGNORECASE),
            Processor(
                name=row["family"],
                architecture=row["architecture"],
                segment=row["segment"],
                cores=row["cores"],
                base_hz=row["base_ghz"],
                mem_kind=row["mem_type"].partition(" ")[0],
                mem_channels=row["mem_channels"],
                mem_transfers_per_s=row["mem_mt_per_s"],
                pcie_gen=row["pcie_gen"],
                pcie_lanes=row["pcie_lanes_free"],
                max_sockets=row["max_sockets"],
                tdp_w=row["tdp_w"],
                source=row["source"],
            ),
        )
        for row in rows
    )


@cache
def _models() -> dict[str, tuple[str, int, float]]:
    """Processors by the word of their name that no other bears: name, cores, clock."""
    readers: dict[str, CellReader] = {"name": text, "cores": whole, "base_ghz": scaled(GIGA)}
    benched = read_rows(DATA / "cpus_benched.csv", readers, required=tuple(readers))
    known = [(row["name"], row["cores"], row["base_ghz"]) for row in benched]
    known += [(cpu.name, cpu.cores, cpu.base_hz or 0.0) for cpu in cpus()]
    found: dict[str, tuple[str, int, float]] = {}
    for name, cores, base_hz in known:
        model = " ".join(_MODEL.findall(name.lower().replace("-", " ").replace("+", "")))
        found[model] = (name, cores, base_hz)
    return found


def find_processor(words: str) -> Processor | None:
    """The processor a text names: by its own row, else by its family."""
    found = _find(words)
    return None if found is None else found[0]


def _find(words: str) -> tuple[Processor, int, re.Match[str]] | None:
    """A processor in a text, how many of it, and where it stands; the longest name wins."""
    hits = [(one.search(words), own) for one, own in _families()]
    named = [(hit, own) for hit, own in hits if hit is not None]
    bare = _bare_model(words)
    if bare is not None:
        named = named or [bare]
    if not named:
        return None
    hit, own = max(named, key=lambda one: (any(c.isdigit() for c in one[0]["name"]), len(one[0]["name"])))
    model = " ".join(_MODEL.findall(hit["name"].lower().replace("-", " ").replace("+", "")))
    exact = _models().get(model) or next(
        (one for key, one in _models().items() if not model.isdigit() and key.endswith(f" {model}")), None
    )
    if exact is not None:
        own = replace(own, name=exact[0], cores=exact[1], base_hz=exact[2])
    elif own.name not in {name for name, _, _ in _models().values()} and any(map(str.isdigit, hit["name"])):
        own = replace(own, name=hit["name"].strip())
    said = hit.groupdict()
    sockets = int(said.get("sockets") or (2 if said.get("dual") else 1))
    return own, sockets, hit


def _bare_model(words: str) -> tuple[re.Match[str], Processor] | None:
    """A model without its maker or series: "7950x", "14900k", "w5-3425"; such words mean no card."""
    for word in re.finditer(rf"(?<![a-z0-9]){_COUNT}(?P<name>[0-9]{{4,5}}(?:x3d2?|xt|x|k|ks|kf|f|wx|g|hx)|[0-9]{{4}}ws)(?![a-z0-9])", words, re.IGNORECASE):
        exact = next((one for key, one in _models().items() if key.split()[-1:] == [word["name"].lower()]), None)
        own = None if exact is None else next((own for one, own in _families() if one.search(exact[0])), None)
        if exact is not None and own is not None:
            return word, replace(own, name=exact[0], cores=exact[1], base_hz=exact[2])
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A text without its words for the host, and what they say."""

    plain: str
    host: Host | None = None
    only: bool = False  # the text names no cards


def take_host(words: str) -> Taken:
    """The host that a text tells of, and the rest of it."""
    plain = _LABELS.sub(" ", words)
    alone = _CPU_ONLY.search(plain)
    plain = plain if alone is None else _cut(plain, alone)
    cpu = _find(plain)
    if cpu is not None:
        after = _TWICE.match(plain[cpu[2].end() :])
        plain = _cut(plain, cpu[2])
        if after is not None:
            cpu = (cpu[0], int(after["count"]), cpu[2])
            plain = plain.replace(after[0], " ", 1)
    cores = _CORES.search(plain) if cpu is not None else None
    if cores is not None:
        plain = _cut(plain, cores)
    disk = _DISK.search(plain)
    if disk is not None:
        plain = _cut(plain, disk)
    ram_bytes, plain = _take_size(plain, lonely=cpu is not None)
    kind = _KINDS.search(plain)
    if kind is not None:
        plain = _cut(plain, kind)
    speed = _SPEED.search(plain)
    if speed is not None:
        plain = _cut(plain, speed)
    channels = _CHANNELED.search(plain)
    if channels is not None and (ram_bytes or cpu or kind):
        plain = _cut(plain, channels)
    if cpu is None and ram_bytes is None and kind is None:
        return Taken(plain=words)
    plain = _LEFT.sub(" ", plain) if cpu is None else _OF_CPU.sub(" ", _LEFT.sub(" ", plain))
    plain = " + ".join(part for part in _PARTS.split(plain) if part.strip())
    own = None if cpu is None else cpu[0]
    if own is not None and cores is not None:
        own = replace(own, cores=int(cores["cores"]))
    told = _Told(
        cpu=own,
        sockets=1 if cpu is None else cpu[1],
        ram_bytes=ram_bytes,
        kind=None if kind is None else kind["kind"].upper().replace("LP-", "LP"),
        transfers_per_s=_transfers(kind, speed),
        channels=_channels(channels),
        disk_bytes_per_s=_disk_rate(disk),
    )
    return Taken(plain=plain.strip(), host=host_of(told), only=alone is not None or not plain.strip())


def find_host(words: str) -> Host:
    """The host a text tells of, all of it a host."""
    found = take_host(words).host
    return host_of(_Told()) if found is None else found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    cpu: Processor | None = None
    sockets: int = 1
    ram_bytes: float | None = None
    kind: str | None = None
    transfers_per_s: float | None = None
    channels: int | None = None
    disk_bytes_per_s: float | None = field(default=None)


def host_of(told: _Told) -> Host:
    """A host with what nobody said taken as usual: the processor by its memory, the memory by its processor."""
    cpu, assumed = told.cpu, []
    if cpu is None:
        cpu = usual_processor(told)
        assumed.append("cpu")
    kind = told.kind or cpu.mem_kind
    transfers = told.transfers_per_s
    if transfers is None:
        assumed.append("transfers")
        transfers = cpu.mem_transfers_per_s if kind == cpu.mem_kind else USUAL_MTS.get(kind, cpu.mem_transfers_per_s)
    channels = told.channels
    if channels is None:
        assumed.append("channels")
        channels = cpu.mem_channels * told.sockets
    if told.ram_bytes is None:
        assumed.append("ram")
    return Host(
        cpu=cpu,
        sockets=told.sockets,
        ram_bytes=told.ram_bytes or max(USUAL_BYTES, channels * 16 * GIB if cpu.segment == "server" else 0.0),
        ram_kind=kind,
        channels=channels,
        transfers_per_s=transfers,
        disk_bytes_per_s=told.disk_bytes_per_s,
        assumed=tuple(assumed),
    )


def usual_processor(told: _Told) -> Processor:
    """What such memory usually stands beside: a server where it is much or has many channels."""
    much = (told.ram_bytes or 0.0) > 256 * GIB or (told.channels or 0) > 4
    old = (told.kind or "").startswith("DDR4")
    name = {(True, False): "EPYC Genoa", (True, True): "EPYC Milan", (False, True): "Ryzen 5000"}
    words = name.get((much, old), "Ryzen 7700")
    found = _find(words)
    if found is None:  # pragma: no cover - the table bears them
        raise LookupError(words)
    return found[0]


def host_chip(host: Host, *, threads: int | None = None) -> Chip:
    """The processor as a chip that engines run on, its memory that of the machine."""
    known = vectors().get(host.cpu.architecture)
    flops_per_cycle = VECTOR_FLOPS if known is None else known.flops_per_cycle
    cores = host.cpu.cores * host.sockets
    cores = cores if threads is None else min(cores, threads)
    flops = cores * host.cpu.base_hz * flops_per_cycle
    share = memory_share(CPU, "soc", mem_bytes=host.ram_bytes)
    name = f"{host.sockets}x {host.cpu.name}" if host.sockets > 1 else host.cpu.name
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return Chip(
        **dict.fromkeys(_UNTOLD),
        id=f"cpu-{slug}",
        name=f"{name} ({host.ram_bytes / GIB:g} GB {host.ram_kind}-{host.transfers_per_s / MEGA:.0f})",
        vendor=CPU,
        segment="soc",
        architecture=("two sockets" if host.sockets > 1 else host.cpu.segment)
        + ("" if known is None or known.dot8 else " without VNNI"),
        launch="",
        isa="cpu",
        mem_bytes=host.ram_bytes,
        mem_options_bytes=(host.ram_bytes,),
        mem_usable_bytes=host.ram_bytes,
        mem_program_bytes=host.ram_bytes * share.program,
        mem_estimated=True,
        mem_source=share.why,
        mem_confidence="low",
        mem_type=f"{host.ram_kind}-{host.transfers_per_s / MEGA:.0f}",
        mem_bytes_per_s=host.mem_bytes_per_s,
        ecc=False,
        unified_memory=True,
        devices=1,
        fp32_flops_per_s=flops,
        fp16_flops_per_s=flops,
        fp16_acc32_flops_per_s=flops,
        bf16_flops_per_s=flops,
        int8_ops_per_s=4 * flops,
        sparsity=False,
        sms=cores,
        cores=int(cores * flops_per_cycle / 2),
        form="SoC",
        tdp_w=None,
        offered=False,
        pci_ids=(),
        sources=host.cpu.source,
        as_of="2026-11",
        confidence="med",
        notes="",
    )


_UNTOLD = (
    *("bus_bits", "tf32_flops_per_s", "fp8_flops_per_s", "fp8_acc32_flops_per_s", "fp4_flops_per_s"),
    *("l2_bytes", "last_cache_bytes", "tensor_core_gen", "link", "msrp_usd", "msrp_source"),
    *("link_both_ways_bytes_per_s", "link_one_way_bytes_per_s", "link_max_chips", "pcie_gen", "pcie_lanes"),
    *("slots", "length_m", "power_connectors", "ended", "pci_source"),
)  # fmt: skip


def _cut(words: str, found: re.Match[str]) -> str:
    return f"{words[: found.start()]} {words[found.end() :]}"


def _take_size(plain: str, *, lonely: bool) -> tuple[float | None, str]:
    """Bytes of memory: named as such, or a size that stands alone after a plus or beside a processor."""
    found = _SIZED.search(plain)
    if found is not None:
        return _bytes(found), _cut(plain, found)
    parts = _PARTS.split(plain)
    marks = _PARTS.findall(plain)
    for place, part in enumerate(parts):
        alone = _BARE.fullmatch(part)
        after_plus = place > 0 and "+" in marks[place - 1]
        if alone is not None and (lonely or (after_plus and len(parts) > 1)):
            kept = [other for where, other in enumerate(parts) if where != place]
            return _bytes(alone), " + ".join(kept)
    return None, plain


def _bytes(found: re.Match[str]) -> float:
    said = found.groupdict()
    size = float(said.get("size") or said.get("size2") or 0)
    unit = (said.get("unit") or said.get("unit2") or "gb").lower()
    many = int(said.get("many") or said.get("many2") or 1)
    return many * size * GIB * (KIB if unit.startswith("t") else 1)


def _transfers(kind: re.Match[str] | None, speed: re.Match[str] | None) -> float | None:
    told = (kind and kind["speed"]) or (speed and (speed["speed"] or speed["bare"]))
    return float(told) * MEGA if told else None


def _channels(found: re.Match[str] | None) -> int | None:
    if found is None:
        return None
    return int(found["count"]) if found["count"] else _WORDS[found["word"].lower()]


def _disk_rate(found: re.Match[str] | None) -> float | None:
    if found is None:
        return None
    return _NVME_BYTES_PER_S.get(int(found["gen"] or 0)) or DISK_BYTES_PER_S[found["disk"].lower()]
