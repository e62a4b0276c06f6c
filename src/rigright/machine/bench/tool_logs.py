"""What gpu-burn, SuperBench, bandwidthTest, hipBusBandwidth, GPU STREAM, perftest and fio print, as results.

Foreign text: lines that do not fit are passed over. `READERS` is every form that is read; a text that is of
another gives nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import islice, pairwise

from rigright.base.bounded import bounded_json
from rigright.base.units import GIGA, MEGA, MIB
from rigright.base.words import say
from rigright.machine.bench.logs import collective_in, nccl_tests, nvbandwidth
from rigright.machine.bench.record import Result
from rigright.machine.bench.tasks import spread

TITLES = {  # of parts that are read alone
    "gpu_burn": say("stress test of each GPU, with gpu-burn"),
    "superbench": say("copies to, from and between GPUs, with SuperBench"),
    "perftest": say("RDMA between ports, with perftest"),
}
_MOST_LINES = 50_000
_MOST_FIGURES = 20_000
_LATEST = 20  # readings of a card: it is warm by then
_BURN = re.compile(
    r"^\s{0,4}(\d{1,3}(?:\.\d{1,2})?)%\s+proc'd: (.{1,4000}?)\s+errors: (.{1,2000}?)\s+temps:", re.MULTILINE
)
_RATE = re.compile(r"\((\d{1,9}) Gflop/s\)")
_ERRORS = re.compile(r"(-?\d{1,12})(?:\s+\((DIED!)\))?")
_JUDGED = re.compile(r"^\s{0,8}GPU (\d{1,3}): (OK|FAULTY)\s*$", re.MULTILINE)
_DOUBLES, _TENSOR = re.compile(r"using DOUBLES"), re.compile(r"using Tensor Cores", re.IGNORECASE)
_COPY_LINE = re.compile(r"^((?:cpu|gpu)\w{0,12}_(?:to|and)_(?:cpu|gpu)\w{0,60}) ([\d.]{1,12})$", re.MULTILINE)
_ENDS = re.compile(r"(cpu|gpu(?:_all|\d{1,3}))_(?:to|and)_(cpu|gpu(?:_all|\d{1,3}))(\w*)\Z")
_NUMA = re.compile(r"_under_numa(\d{1,18})")
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


def gpu_burn(text: str) -> list[Result]:
    """The last rates of each card under gpu-burn, and the values that came out wrong."""
    lines = text.replace("\r", "\n")
    kind = "fp64" if _DOUBLES.search(lines) else "tensor cores" if _TENSOR.search(lines) else "fp32"
    rates: dict[int, list[float]] = {}
    wrong: dict[int, int] = {}
    for match in _BURN.finditer(lines):
        for card, rate in enumerate(_RATE.findall(match[2])):
            rates.setdefault(card, []).append(float(rate) * GIGA)
        for card, (errors, died) in enumerate(_ERRORS.findall(match[3])):
            if not died:  # of a process that died no count is one
                wrong[card] = max(wrong.get(card, 0), int(errors))
    for card, value in _JUDGED.findall(lines):
        if value == "FAULTY":
            wrong[int(card)] = max(wrong.get(int(card), 0), 1)
            rates.setdefault(int(card), [])
    return [
        spread(
            f"{kind} burn",
            on=f"gpu {card}",
            values=values[-_LATEST:] or [0.0],
            unit="flops_per_s",
            settings=(("tool", "gpu-burn"), *((("wrong", str(wrong[card])),) if wrong.get(card) else ())),
        )
        for card, values in sorted(rates.items())
        if any(values) or wrong.get(card)
    ]


def superbench(text: str) -> list[Result]:
    """The copies of SuperBench's gpu-copy, or the figures of its summary of one node."""
    figures = [_superbench_copy(name, value) for name, value in _COPY_LINE.findall(text)[:_MOST_FIGURES]]
    for line in text.splitlines()[:_MOST_LINES] if '"node"' in text[:100_000] else ():
        try:
            given = bounded_json(line)
        except ValueError:
            continue
        if isinstance(given, dict) and "node" in given:
            figures += [
                _summary_figure(str(name), value) for name, value in list(given.items())[:_MOST_FIGURES]
            ]
    return [figure for figure in figures if figure is not None]


def _superbench_copy(name: str, value: str | float) -> Result | None:
    """A copy by its name: "cpu_to_gpu0_by_dma_under_numa0"."""
    ends, numa = _ENDS.match(_NUMA.sub("", name)), _NUMA.search(name)
    try:
        rate = float(value) * GIGA
    except ValueError:
        return None
    if ends is None or not 0 < rate < GIGA * GIGA:
        return None
    places = [re.sub(r"gpu_?", "gpu ", end) for end in ends.groups()[:2]]
    host, how = "cpu" in places, ends[3].strip("_").replace("_", " ")
    same = places[0] == places[1]
    if host and numa is not None:
        places = [f"cpu {numa[1]}" if place == "cpu" else place for place in places]
    both = "_and_" in name
    what = (
        "copy" if same else "both ways" if both else "h2d" if ends[1] == "cpu" else "d2h" if host else "p2p"
    )
    on = places[0] if same else f"{places[0]} {'<->' if both else '->'} {places[1]}"
    return _figure("", f"{what} {how}".strip(), on=on, rate=rate, tool="SuperBench")


def _summary_figure(name: str, value: object) -> Result | None:
    """One figure of a summary; those we hold against nothing are left out."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < GIGA:
        return None
    bench, _, rest = name.partition("/")
    metric, _, rank = rest.partition(":")
    if bench.startswith("gpu-copy-bw") and metric.endswith("_bw"):
        return _superbench_copy(metric.removesuffix("_bw").removesuffix("_uni"), float(value))
    match = re.fullmatch(r"(\w+?)_(\d{1,15})_busbw", metric)
    if match is None or not bench.startswith(("nccl-bw", "rccl-bw")) or rank not in {"", "0"}:
        return None
    what = f"{collective_in(match[1]) or match[1]} {int(match[2]) / MIB:g} MiB"
    figure = _figure("nccl_tests", what, on="gpu all", rate=float(value) * GIGA, tool="SuperBench")
    return replace(figure, settings=(*figure.settings, ("counted", "busbw")))


def copies(text: str) -> list[Result]:
    """The best rate of each kind of copy: of bandwidthTest, hipBusBandwidth and GPU STREAM."""
    best: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for match in islice(_SHMOO.finditer(text), _MOST_LINES):
        what = _copy(match[1], match[2] or "")
        best[*what, "gpu 0", "bandwidthTest"].append(_rate(match[3], match[4]))
    for match in islice(_TABLE.finditer(text), _MOST_LINES):
        what = _copy(match[1], match[2])
        rates = [_rate(line.split()[1], match[3]) for line in match[4].splitlines() if line.strip()]
        best[*what, "gpu 0", "bandwidthTest"] += rates
    for match in islice(_BUS.finditer(text), _MOST_LINES):
        what = _copy(match[1], match[2])
        best[*what, "gpu 0", "hipBusBandwidth"].append(_rate(match[3], "G"))
    for match in islice(_STREAM.finditer(text), _MOST_LINES):
        best["device_memory", match[1].lower(), f"gpu {match[3]}", "GPU STREAM"].append(_rate(match[4], "G"))
    return [
        _figure(part, what, on=on, rate=max(rates), tool=tool)
        for (part, what, on, tool), rates in best.items()
        if 0 < max(rates) < _MOST_BYTES_PER_S
    ]


def perftest(text: str) -> list[Result]:
    """The rate at the largest message of each test of ib_write_bw and its kin."""
    results: list[Result] = []
    starts = [match.start() for match in islice(_PERFTEST.finditer(text), _MOST_LINES)]
    for start, end in pairwise([*starts, len(text)]):
        piece = text[start:end]
        head, port, unit = _PERFTEST.search(piece), _PORT.search(piece), _UNIT.search(piece)
        rows = [
            (int(item[1]), float(item[2]))
            for item in islice(_PERF_ROW.finditer(piece), _MOST_LINES)
            if _is_real(item[2])
        ]
        if head is None or unit is None or not rows:
            continue
        size, rate = max(rows)
        value = rate * _PERF_UNITS[unit[1]]
        if 0 < value < _MOST_BYTES_PER_S:
            what = f"{head[1].lower().replace('rdma_', '')} {size / MIB:g} MiB"
            on = port[1] if port else "port"
            results.append(_figure("perftest", what, on=on, rate=value, tool="perftest"))
    return results


_FIO_JOB = re.compile(
    r"^\S{1,60}: \(g=\d{1,4}\): rw=(rand)?(\w{1,12}), bs=(?:\(R\) )?([\d.]{1,9})([KM]i?)?B?\b", re.MULTILINE
)
_FIO_RATE = re.compile(r"^\s{0,8}(READ|WRITE): bw=\S{3,20} \(([\d.]{1,12})([MG])B/s\)", re.MULTILINE)


def fio(text: str) -> list[Result]:
    """What fio moved to and from its files, all jobs of a group together."""
    jobs = {(bool(job[1]), job[3] + (job[4] or "").removesuffix("i")) for job in _FIO_JOB.finditer(text)}
    if len(jobs) != 1:
        return []
    is_random, block = jobs.pop()
    kind = f"random {{}} {block}iB" if is_random else "sequential {}"
    rows = islice(_FIO_RATE.finditer(text), _MOST_LINES)
    pairs = ((kind.format(row[1].lower()), _rate(row[2], row[3])) for row in rows)
    return [_figure("disk", what, on="disk", rate=rate, tool="fio") for what, rate in pairs if rate]


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


def _figure(part: str, what: str, *, on: str, rate: float, tool: str) -> Result:
    result = spread(what, on=on, values=[rate], unit="bytes_per_s", settings=(("tool", tool),))
    return replace(result, part=part)


READERS: tuple[tuple[str, Callable[[str, str], list[Result]]], ...] = (  # part, and what reads text of a file
    ("nvbandwidth", lambda text, _: nvbandwidth(text)),
    ("nccl_tests", lambda text, name: nccl_tests(text, file=name)),
    ("gpu_burn", lambda text, _: gpu_burn(text)),
    ("superbench", lambda text, _: superbench(text)),
    ("transfer", lambda text, _: copies(text)),
    ("perftest", lambda text, _: perftest(text)),
    ("disk", lambda text, _: fio(text)),
)
