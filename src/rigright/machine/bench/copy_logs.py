"""What bandwidthTest, hipBusBandwidth, GPU STREAM and perftest print, as results; other lines are left."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice, pairwise

from rigright.base.errors import DataError
from rigright.base.units import GIGA, MEGA, MIB
from rigright.base.words import say
from rigright.machine.bench.figures import Settings, spread
from rigright.machine.bench.record import Result

TITLES = {"perftest": say("RDMA between ports, with perftest")}
_MOST_ROWS = 50_000
_MOST_BYTES_PER_S = 1000 * 1000 * GIGA
_NAMES = {"h2d": "h2d", "d2h": "d2h", "d2d": "copy", "host to device": "h2d", "device to host": "d2h"}
_NAMES["device to device"] = "copy"
_SHMOO = re.compile(
    r"^bandwidthTest-(H2D|D2H|D2D)(?:-(Pinned|Paged))?, Bandwidth = ([\d.]{1,12}) ([GM])B/s,.{0,60}? "
    r"Size = (\d{1,15}) bytes",
    re.MULTILINE,
)
_TABLE = re.compile(
    r"^ ?(Host to Device|Device to Host|Device to Device) Bandwidth, \d+ Device\(s\)\s*\n"
    r" ?(PINNED|PAGEABLE) Memory Transfers\s*\n"
    r"\s{0,8}Transfer Size \(Bytes\)\s+Bandwidth\(([GM])B/s\)\s*\n"
    r"((?:\s{0,8}\d{1,15}\s+[\d.]{1,12}\s*\n?){1,400})",
    re.MULTILINE,
)
_BUS = re.compile(
    r"^\s{0,8}(H2D|D2H)_Bandwidth_(pinned|unpinned)\s+\S{1,12}\s+GB/sec\s+([\d.]{1,12})\s", re.MULTILINE
)
_STREAM = re.compile(
    r"^STREAM_(COPY|SCALE|ADD|TRIAD)_(\w{1,12})_gpu_(\d{1,3})_buffer_\d{1,15}_block_\d{1,6}\s+([\d.]{1,12})",
    re.MULTILINE,
)
_PERFTEST = re.compile(
    r"^[ \t]{0,40}(RDMA_Write|RDMA_Read|Send|Atomic\w*) (?:Bidirectional )?BW Test", re.MULTILINE
)
_PORT = re.compile(r"\bDevice\s*: (\S{1,40})")
_UNIT = re.compile(r"BW average\[(MB|Gb|GB|MiB)/sec\]")
_PERF_ROW = re.compile(
    r"^[ \t]{0,8}(\d{1,15})[ \t]+\d{1,15}[ \t]+(?:inf|[\d.]{1,14})[ \t]+([\d.]{1,14})[ \t]+[\d.]{1,14}",
    re.MULTILINE,
)
_PERF_UNITS = {"MB": MIB, "MiB": MIB, "Gb": GIGA / 8, "GB": GIGA}


def copies(text: str) -> list[Result]:
    """The best rate of each kind of copy: of bandwidthTest, hipBusBandwidth and GPU STREAM."""
    best: dict[tuple[str, str, str, str], list[float]] = {}
    for match in islice(_SHMOO.finditer(text), _MOST_ROWS):
        what = _copy(match[1], match[2] or "")
        best.setdefault((*what, "gpu 0", "bandwidthTest"), []).append(_rate(match[3], match[4]))
    for match in islice(_TABLE.finditer(text), _MOST_ROWS):
        what = _copy(match[1], match[2])
        rates = [_rate(line.split()[1], match[3]) for line in match[4].splitlines() if line.strip()]
        best.setdefault((*what, "gpu 0", "bandwidthTest"), []).extend(rates)
    for match in islice(_BUS.finditer(text), _MOST_ROWS):
        what = _copy(match[1], match[2])
        best.setdefault((*what, "gpu 0", "hipBusBandwidth"), []).append(_rate(match[3], "G"))
    for match in islice(_STREAM.finditer(text), _MOST_ROWS):
        key = ("device_memory", match[1].lower(), f"gpu {match[3]}", "GPU STREAM")
        best.setdefault(key, []).append(_rate(match[4], "G"))
    results = [
        _figure(part, what, on=on, rate=max(rates), settings=(("tool", tool),))
        for (part, what, on, tool), rates in best.items()
        if 0 < max(rates) < _MOST_BYTES_PER_S
    ]
    if not results:
        raise DataError(say("not output of a test of copies"))
    return results


def perftest(text: str) -> list[Result]:
    """The rate at the largest message of each test of ib_write_bw and its kin."""
    results: list[Result] = []
    starts = [match.start() for match in islice(_PERFTEST.finditer(text), _MOST_ROWS)]
    for start, end in pairwise([*starts, len(text)]):
        piece = text[start:end]
        head, port, unit = _PERFTEST.search(piece), _PORT.search(piece), _UNIT.search(piece)
        rows = [
            (int(item[1]), float(item[2]))
            for item in islice(_PERF_ROW.finditer(piece), _MOST_ROWS)
            if _is_real(item[2])
        ]
        if head is None or unit is None or not rows:
            continue
        size, rate = max(rows)
        value = rate * _PERF_UNITS[unit[1]]
        if 0 < value < _MOST_BYTES_PER_S:
            name = head[1].lower().replace("rdma_", "")
            results.append(
                _figure("perftest", f"{name} {size / MIB:g} MiB", on=port[1] if port else "port", rate=value,
                        settings=(("tool", "perftest"),))
            )  # fmt: skip
    if not results:
        raise DataError(say("not perftest output"))
    return results


def _copy(name: str, memory: str) -> tuple[str, str]:
    """The part and name of a copy, as our own benchmarks have it."""
    way = _NAMES[name.lower()]
    if way == "copy":
        return "device_memory", way
    return "transfer", f"{way} {'pinned' if memory.lower() in {'', 'pinned'} else 'pageable'}"


def _rate(number: str, unit: str) -> float:
    return float(number) * (GIGA if unit == "G" else MEGA) if _is_real(number) else 0.0


def _is_real(number: str) -> bool:
    return re.fullmatch(r"\d{1,12}(?:\.\d{0,12})?", number) is not None


def _figure(part: str, what: str, *, on: str, rate: float, settings: Settings) -> Result:
    return replace(spread(what, on=on, values=[rate], unit="bytes_per_s", settings=settings), part=part)
