"""What a published benchmark sends and which limits it keeps, where a row names the benchmark alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

from rigright.arch.record import Arch, Tower
from rigright.base.record import dataclass
from rigright.base.tables import DATA, CellReader, Row, number, read_rows, text
from rigright.base.units import MEGA

MLPERF = "mlperf"
OPEN = frozenset({"Server", "Interactive"})  # scenarios of MLPerf whose requests come at random
WHOLE = frozenset({"gemma3"})  # families that see a picture as one sample, whatever its size
SOME = math.nan
TILE_TOK = 1024  # a tower of fewer patches sees tiles, and the picture made small once more


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedLoad:
    """What a row's benchmark sends; None: neither the row nor its benchmark says."""

    prompt_tok: float | None = None
    output_tok: float | None = None
    states_prompt: bool = False  # by the row itself
    states_output: bool = False
    unsure: bool = False  # the benchmark's lengths are estimates of ours
    samples: float = 0.0  # that the tower for pictures works on, for a request
    rate_per_s: float | None = None
    requests: float | None = None  # of the whole run; nan: a run of which nobody says how many it sent
    ttft_p99_s: float | None = None
    tpot_p99_s: float | None = None
    median: bool = False  # the figure is that of the middle pass, not the mean
    manner: str = ""  # how such runs are tuned


def load_of(row: Row, arch: Arch) -> ServedLoad:
    """The load of a row: its own columns, the means of its note, then what its benchmark is known to send."""
    scenario = row.get("scenario") or ""
    name = MLPERF if scenario else str(row.get("task") or "")
    known = _first_row(_loads(), arch, load=name) if name else {}
    limits = _first_row(_limits(), arch, scenario=scenario) if scenario in OPEN else {}
    prompt, output = row.get("prompt_tok"), row.get("output_tok")
    if output is None:
        output = row.get("mean_output_tok") or known.get("output_tok")
    if prompt is None:
        prompt = row.get("mean_prompt_tok") or known.get("prompt_tok")
    samples = _samples(arch, known) if row.get("prompt_tok") is None else 0.0
    if prompt is not None and samples:
        prompt += samples * picture_tok(eye_of(arch))
    rate = row.get("scheduled_samples_per_s") or row.get("rate_per_s")
    return ServedLoad(
        prompt_tok=prompt, output_tok=output, samples=samples,
        states_prompt=row.get("prompt_tok") is not None, states_output=row.get("output_tok") is not None,
        rate_per_s=rate,
        requests=_requests(row),
        unsure=known.get("confidence") == "low",
        ttft_p99_s=limits.get("ttft_p99_s"), tpot_p99_s=limits.get("tpot_p99_s"),
        median=row.get("itl_p50_ms") is not None or bool(row.get("median_pass")),
        manner=MLPERF if name == MLPERF else "",
    )  # fmt: skip


def _requests(row: Row) -> float | None:
    """Requests of a run: told, or some where the row says who measured it or when; None: of a service."""
    value: float | None = row.get("requests")
    if row.get("rate_per_s"):
        return value
    return SOME if value is None and (row.get("source") or row.get("measured")) else value


def is_loaded(row: Row) -> bool:
    """Whether a row that names no mode speaks of many requests: they arrive at a rate."""
    value = row.get("scheduled_samples_per_s") or row.get("rate_per_s")
    return not row.get("mode") and bool(value)


def eye_of(arch: Arch) -> Tower | None:
    """The tower that sees."""
    return next((tower for tower in arch.towers if tower.name == "vision" and tower.sample_tok), None)


def picture_tok(eye: Tower | None) -> float:
    """Tokens that a sample of the tower becomes in the prompt."""
    if eye is None:
        return 0.0
    made = [weight.sites for weight in eye.outer if weight.role.startswith("project") and weight.sites > 1]
    return float(min(made, default=eye.sample_tok or 0))


def _samples(arch: Arch, known: Row) -> float:
    eye = eye_of(arch)
    if eye is None or not known.get("pictures"):
        return 0.0
    if arch.family in WHOLE:
        return float(known["pictures"])
    patch = next(
        (weight.shape[-1] for weight in eye.outer if weight.role == "patch" and len(weight.shape) > 2), 14
    )
    share = known["megapixels"] * MEGA / ((eye.sample_tok or 1) * patch * patch)
    return float(known["pictures"] * (share + (1 if (eye.sample_tok or 0) < TILE_TOK else 0)))


def _first_row(rows: tuple[Row, ...], arch: Arch, **cells: str) -> Row:
    """The first row of such cells whose model the name contains; one without a model holds all."""
    name = arch.name.lower()
    return next(
        (
            row
            for row in rows
            if (row.get("model") or "").lower() in name
            and all(row[column] == cell for column, cell in cells.items())
        ),
        {},
    )


@cache
def _loads() -> tuple[Row, ...]:
    numbers = dict.fromkeys(("prompt_tok", "output_tok", "pictures", "megapixels"), number)
    return _table("served_loads.csv", "load", numbers=numbers)


@cache
def _limits() -> tuple[Row, ...]:
    return _table(
        "served_limits.csv", "scenario", numbers=dict.fromkeys(("ttft_p99_s", "tpot_p99_s"), number)
    )


def _table(name: str, by: str, *, numbers: Mapping[str, CellReader]) -> tuple[Row, ...]:
    texts = dict.fromkeys((by, "model", "source", "as_of", "confidence"), text)
    readers: dict[str, CellReader] = {**texts, **numbers}
    return tuple(read_rows(DATA / name, readers, required=(by, "source")))
