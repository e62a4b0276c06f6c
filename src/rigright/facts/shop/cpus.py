"""Processors by loose names: of the tables, or of a family whose numbers they bear ("EPYC 7302P")."""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated

from rigright.base.loader import records
from rigright.base.record import dataclass
from rigright.base.tables import scaled
from rigright.base.units import GIB
from rigright.facts.cpus import CpuModel, cpus
from rigright.facts.shop.find import named

_BARE = (  # what stands before a number that is said alone
    (r"\A\d{4}[xge](?:3d|t|e)?\d?\Z|\A\d{4}x3d2?\Z", ("ryzen 9 {}", "threadripper {}")),
    (r"\A\d{4}wx\Z", ("threadripper pro {}",)),
    (r"\A\d{4,5}(?:k|kf|ks|f|t)?\Z", ("i7 {}", "ryzen 5 {}", "epyc {}", "xeon gold {}")),
    (r"\A\d{4}[pf]\Z|\A\d[f]\d{2}\Z", ("epyc {}",)),
    (r"\A(?:e5 )?\d{4}[wl]?v\d\Z|\Ae5 \d{4}\w* ?v?\d?\Z", ("xeon e5 {}",)),
    (r"\Aw[3579] \d{4}x?\Z|\A(?:gold|silver|platinum|bronze) \d{4}\w?\Z", ("xeon {}",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuFamily:
    """Processors of one generation and socket: what all of them share."""

    id: str
    name: str
    pattern: str
    socket: str
    mem: frozenset[str]  # "DDR4", "DDR5"
    modules: frozenset[str]  # "udimm", "rdimm", "lrdimm"
    channels: int
    mem_max_bytes: Annotated[float, "mem_max_gb"]  # of one socket
    card_lanes: int  # that slots of cards may have
    lanes_free: int  # those, and of drives beside them
    gen: int
    max_cpus: int
    tdp_w: float  # of the largest
    peak: float  # times its stated power that one draws at most
    source: str
    as_of: str
    confidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """A processor that somebody names."""

    name: str
    family: CpuFamily | None
    row: CpuModel | None = None  # of data/cpus.csv
    tdp_w: float | None = None  # None: no table holds it; its family's largest is assumed
    cores: int | None = None
    igpu: bool | None = None

    @property
    def peak_w(self) -> float | None:
        """What it draws at most: of desktop ones more than is stated as their heat."""
        ratio = 1.0 if self.family is None else self.family.peak
        return None if self.power_w is None else ratio * self.power_w

    @property
    def power_w(self) -> float | None:
        """Its stated power (TDP), where that is known of it or of its family."""
        return self.tdp_w or (None if self.family is None else self.family.tdp_w)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bought:
    name: str
    vendor: str | None = None
    cores: int | None
    tdp_w: float | None
    igpu: bool | None
    row: CpuModel | None = None


@cache
def families() -> dict[str, CpuFamily]:
    """Every family by its id."""
    read = records("parts/cpu_families.csv", CpuFamily, read={"mem_max_bytes": scaled(GIB)})
    return {cpu_family.id: cpu_family for cpu_family in read}


def processor_named(text: str) -> Processor | None:
    """The processor a loose name means; None where it is none that is known."""
    text = _plain(text)
    matching = named(text, _table())
    if matching:
        bought = matching[0]
        return Processor(
            name=bought.name,
            family=_family(bought.name),
            row=bought.row,
            tdp_w=bought.tdp_w,
            cores=bought.cores,
            igpu=bought.igpu,
        )
    tries = [text, *(form.format(text) for shape, forms in _BARE if re.search(shape, text) for form in forms)]
    for name in tries:
        family = _family(name)
        if family is not None:
            return Processor(name=name, family=family)
    return None


def _family(name: str) -> CpuFamily | None:
    plain = _plain(name)
    return next(
        (cpu_family for cpu_family in families().values() if re.search(cpu_family.pattern, plain)), None
    )


def _plain(name: str) -> str:
    """A name as patterns are written."""
    name = re.sub(
        r"\((?:r|tm)\)|[®™]|\b(?:amd|intel|core|cpu|processor|\d+-cores?)\b(?!.*ultra)", " ", name.lower()
    )
    name = re.sub(r"\b(?:amd|intel|cpu)\b|[,_/]", " ", name)
    name = re.sub(r"\br([3579])[ -]?(?=\d{4})", r"ryzen \1 ", name)
    name = re.sub(r"\btr(?= pro|\s?\d{4})", "threadripper", name)
    name = re.sub(r"(?<=[a-z0-9])-(?=[a-z0-9])", " ", name)
    return " ".join(name.split())


@cache
def _table() -> tuple[_Bought, ...]:
    ours = (
        _Bought(
            name=cpu_model.name,
            vendor=cpu_model.vendor,
            cores=cpu_model.cores,
            tdp_w=cpu_model.tdp_w,
            igpu=None,
            row=cpu_model,
        )
        for cpu_model in cpus()
    )
    return (*ours, *records("parts/processors.csv", _Bought))
