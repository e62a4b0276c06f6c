"""What gpu-burn and SuperBench print, as results. Foreign text: lines that do not fit are passed over."""

from __future__ import annotations

import re
from dataclasses import replace

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError
from rigright.base.units import GIGA, MIB
from rigright.base.words import say
from rigright.machine.bench.figures import spread
from rigright.machine.bench.record import Result

TITLES = {
    "gpu_burn": say("stress test of each GPU, with gpu-burn"),
    "superbench": say("copies to, from and between GPUs, with SuperBench"),
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
_COPY = re.compile(r"^((?:cpu|gpu)\w{0,12}_(?:to|and)_(?:cpu|gpu)\w{0,60}) ([\d.]{1,12})$", re.MULTILINE)
_ENDS = re.compile(r"(cpu|gpu(?:_all|\d{1,3}))_(?:to|and)_(cpu|gpu(?:_all|\d{1,3}))(\w*)\Z")
_NUMA = re.compile(r"_under_numa(\d{1,18})")


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
    results = [
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
    if not results:
        raise DataError(say("not gpu-burn output"))
    return results


def superbench(text: str) -> list[Result]:
    """The copies of SuperBench's gpu-copy, or the figures of its summary of one node."""
    results = [
        result
        for name, value in _COPY.findall(text)[:_MOST_FIGURES]
        if (result := _copy(name, value)) is not None
    ]
    for line in text.splitlines()[:_MOST_LINES] if '"node"' in text[:100_000] else ():
        try:
            given = bounded_json(line)
        except ValueError:
            continue
        if isinstance(given, dict) and "node" in given:
            results += [
                result
                for name, value in list(given.items())[:_MOST_FIGURES]
                if (result := _figure(str(name), value)) is not None
            ]
    if not results:
        raise DataError(say("not SuperBench output"))
    return results


def _copy(name: str, value: str | float, *, more: tuple[tuple[str, str], ...] = ()) -> Result | None:
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
    return spread(
        f"{what} {how}".strip(),
        on=places[0] if same else f"{places[0]} {'<->' if both else '->'} {places[1]}",
        values=[rate],
        unit="bytes_per_s",
        settings=(("tool", "SuperBench"), *more),
    )


def _figure(name: str, value: object) -> Result | None:
    """One figure of a summary; those we hold against nothing are left out."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < GIGA:
        return None
    bench, _, rest = name.partition("/")
    metric, _, rank = rest.partition(":")
    if bench.startswith("gpu-copy-bw") and metric.endswith("_bw"):
        return _copy(metric.removesuffix("_bw").removesuffix("_uni"), float(value))
    match = re.fullmatch(r"(\w+?)_(\d{1,15})_busbw", metric)
    if match is None or not bench.startswith(("nccl-bw", "rccl-bw")) or rank not in {"", "0"}:
        return None
    names = {"allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter"}
    collective = names.get(match[1], match[1].replace("alltoall", "all_to_all"))
    result = spread(
        f"{collective} {int(match[2]) / MIB:g} MiB",
        on="gpu all",
        values=[float(value) * GIGA],
        unit="bytes_per_s",
        settings=(("tool", "SuperBench"), ("counted", "busbw")),
    )
    return replace(result, part="nccl_tests")
