"""Time of one stream, of static batches and of encoders: terms of engines, and of chips below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.record import Dial, Path, Subject, Tables
from lab.terms import term
from rigright.base.tables import Row
from rigright.cost.known import kind_of
from rigright.cost.speed.eras import table_of
from rigright.cost.speed.reach import chain
from rigright.terms.speed import stored
from rigright.verbs.validate.ask import RunAsk, RunSet, is_encoding, runs_of
from rigright.verbs.validate.stream_asks import (
    EncoderAsk,
    encoder_figures,
    read_encoder,
    read_stream,
)

MODES = frozenset({"single", "batch"})
TIMES = 1.0  # spread of terms that are seconds, clocks or bytes
SHARES = 0.35  # and of shares of a peak
SHARE = frozenset({"memory", "kv_memory", "compute", "attention", "piped"})
OF_CHIPS = {  # what classes of chips, and chips within them, differ in
    "compute": (0.15, 0.1), "layer_s": (0.15, 0.15), "memory": (0.05, 0.05), "act_core": (0.1, 0.05),
}  # fmt: skip
SEVERAL = 3  # chips in a table, for any to differ from it
SECTIONS = ("formats", "options")  # terms of a format, and of a build or run, below those of all
GIVEN = frozenset(
    {"acc16", "ubatch_tok", "graph_tok", "absorbed", "core_pace", "dot8", "latent_layer_s"}
)  # no terms to fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Rows read: streams sorted into arrays, and encoders."""

    runs: RunSet
    streams: tuple[int, ...]  # places of the rows
    encoders: tuple[EncoderAsk, ...]
    encoding: tuple[int, ...]


def prepare(rows: Sequence[Row]) -> Prepared:
    """Read every row once."""
    encoding = tuple(place for place, row in enumerate(rows) if is_encoding(row))
    streams = tuple(place for place in range(len(rows)) if place not in set(encoding))
    return Prepared(
        runs=runs_of([read_stream(rows[place]) for place in streams]),
        streams=streams,
        encoders=tuple(read_encoder(rows[place]) for place in encoding),
        encoding=encoding,
    )


def predict(ready: Prepared, tables: Tables) -> np.ndarray:
    """The figure of each row, in its unit."""
    values = np.full(len(ready.streams) + len(ready.encoding), np.nan)
    values[list(ready.streams)] = ready.runs.figures(tables)
    values[list(ready.encoding)] = encoder_figures(ready.encoders, tables)
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a row's terms stand: its tables, the narrowest first, its chip, and names of its format."""

    tables: tuple[Path, ...]
    kind: str
    chip: str
    formats: tuple[str, ...]
    options: tuple[str, ...] = ()


def dials(rows: Sequence[Row], tables: Tables) -> tuple[Dial, ...]:
    """Every term above zero of the tables in use; below it classes and chips, where a table has several."""
    places = [_place(row, tables) for row in rows]
    used = dict.fromkeys(table for place in places for table in place.tables)
    result: list[Dial] = []
    for table in used:
        own = _at(tables, table)
        for name, value in own.get("all", {}).items():
            # rows that take a term from this table: no narrower one bears it
            touched = tuple(
                number
                for number, place in enumerate(places)
                if next((texts for texts in place.tables if name in _at(tables, texts).get("all", {})), None)
                == table
            )
            if value > 0 and touched and not _is_given((*table, "all", name), tables):
                result.append(_dial((*table, "all", name), tables, touched=touched))
                result += _of_chips((*table, "all", name), places, touched=touched)
        result += _of_sections(table, tables, places=places)
    return tuple(result)


def _is_given(path: Path, tables: Tables) -> bool:
    """Whether a term is none to fit: by its name, or because the table says that it is from physics alone."""
    _, table, *inner = path
    return path[-1] in GIVEN or ".".join(inner) in tables["given"].get(table, ())


def _dial(path: Path, tables: Tables, *, touched: tuple[int, ...]) -> Dial:
    name = path[-1]
    return Dial(
        path=path,
        parent=_parent(path, tables),
        prior=tables["priors"].get(name, 1.0),
        spread=SHARES if name in SHARE and path[-3] != "options" else TIMES,
        high=1.0 if name in {"memory", "kv_memory", "piped"} else np.inf,
        touches=touched,
    )


def _parent(path: Path, tables: Tables) -> Path | None:
    """The same term where a table builds on another's; of a format, else of all; None: of nobody's."""
    kind, table, *section, name = path
    below = () if kind == "encoders" else chain(tables, table)
    bases = (*below[1:], *(("plain",) if kind == "encoders" and table != "plain" else ()))
    asked = [
        (kind, base, *section, name) for base in bases if base != "plain" or name not in tables["priors"]
    ]
    if section[0] in SECTIONS:
        asked += [(kind, base, "all", name) for base in (table, *bases)]
    return next((values for values in asked if (term(tables, values) or 0.0) > 0), None)


def _of_chips(above: Path, places: Sequence[_Place], *, touched: tuple[int, ...]) -> Iterator[Dial]:
    *table, _, name = above
    chips = {places[number].chip: places[number].kind for number in touched}
    if name not in OF_CHIPS or len(chips) < SEVERAL:
        return
    by_class, by_chip = OF_CHIPS[name]
    for kind in dict.fromkeys(chips.values()):
        rows = tuple(number for number in touched if places[number].kind == kind)
        yield Dial(path=(*table, kind, name), parent=above, spread=by_class, touches=rows)
    for chip, kind in chips.items():
        rows = tuple(number for number in touched if places[number].chip == chip)
        yield Dial(path=(*table, chip, name), parent=(*table, kind, name), spread=by_chip, touches=rows)


def _of_sections(table: Path, tables: Tables, *, places: Sequence[_Place]) -> Iterator[Dial]:
    for section in SECTIONS:
        for own, terms in _at(tables, table).get(section, {}).items():
            touched = tuple(
                number
                for number, place in enumerate(places)
                if table in place.tables and own in getattr(place, section)
            )
            for name, value in terms.items():
                if touched and value > 0 and not _is_given((*table, section, own, name), tables):
                    yield _dial((*table, section, own, name), tables, touched=touched)


def _at(tables: Tables, table: Path) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = tables[table[0]].get(table[1], {})
    return fields


def _place(row: Row, tables: Tables) -> _Place:
    if is_encoding(row):
        encoder = read_encoder(row)
        return _Place(
            tables=(("encoders", encoder.engine),),
            kind=encoder.chip.kind.id,
            chip=encoder.chip.id,
            formats=(encoder.precision,),
        )
    ask = read_stream(row)
    table = table_of(tables, ask.case.engine, chip=ask.chip)
    names = chain(tables, table) if table is not None else ()
    return _Place(
        tables=tuple(("engines", name) for name in names if name != "plain"),
        kind=ask.chip.kind.id,
        chip=ask.chip.id,
        formats=stored(ask.case.form).names,
        options=ask.case.engine.options,
    )


def keys(row: Row) -> Mapping[str, str]:
    """What is left out whole, and what bands are stated by."""
    ask: EncoderAsk | RunAsk = read_encoder(row) if is_encoding(row) else read_stream(row)
    arch = ask.arch if isinstance(ask, EncoderAsk) else ask.case.arch
    return {
        "source": row.get("source") or "",
        "chip": ask.chip.id,
        "model": arch.name,
        "engine": ask.engine if isinstance(ask, EncoderAsk) else _built(ask),
        "metric": row["metric"],
        "class": ask.chip.kind.id,
        "kind": kind_of(arch),
    }


def _built(ask: RunAsk) -> str:
    """The engine with what it computed with: a backend that nobody ran is an engine that nobody ran."""
    return f"{ask.case.engine.id} {ask.case.engine.backend_on(ask.chip.vendor)}".strip()


SUBJECT = Subject(
    name="speed_streams",
    kind="inference",
    teaches=lambda row: row.get("mode") in MODES and bool(row.get("value")),
    measured=lambda row: float(row["value"]),
    prepare=prepare,
    predict=predict,
    dials=dials,
    keys=keys,
    noise=0.1,
)
