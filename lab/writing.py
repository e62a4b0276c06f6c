"""Writes what a calibration found: terms and bands, each with the runs it rests on."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Sequence
from pathlib import Path

from lab import tables_text
from lab.record import Subject
from lab.refit import Refit, coverage_by, support
from rigright.base.tables import DATA
from rigright.verbs.calibrate import toml

FOLDER = DATA / "corrections"
_FITTED = "# Fitted by `python -m lab refit` on"


def write_tables(subject: Subject, done: Refit, *, files: Sequence[str]) -> tuple[str, ...]:
    """Both tables of a subject; the names of the files."""
    name = subject.name
    terms, bands = FOLDER / f"{subject.table or name}.toml", FOLDER / f"bands_{name}.toml"
    toml.write(terms, terms_text(terms, done, files=files))
    toml.write(bands, bands_text(name, done, files=files))
    return terms.name, bands.name


def terms_text(path: Path, done: Refit, *, files: Sequence[str]) -> str:
    """The table of terms: its own words kept, and behind each fitted term the runs it rests on."""
    old = path.read_text(encoding="utf-8") if path.is_file() else f"# {path.stem}"
    head = [line for line in tables_text.head_of(old).splitlines() if not line.startswith(_FITTED)]
    behind = {
        path: f"{runs} runs, {sources} sources" for path, (runs, sources) in support(done.fitted).items()
    }
    comments = tables_text.comments_of(old) | behind
    return tables_text.dump(
        done.fitted.tables, head="\n".join([*head, f"{_FITTED} {_rests_on(done, files)}"]), comments=comments
    )


def bands_text(name: str, done: Refit, *, files: Sequence[str]) -> str:
    """The table of bands, with how often each way of leaving out was held."""
    text = "; ".join(
        f"{item.by} {item.inside:.0%} ({item.width:.2g}x)" for item in coverage_by(done.coverages)
    )
    head = (
        f"# Bands of {name}: four of five runs lie between low and high deviations about what is predicted;\n"
        "# each level that nobody measured (seen) adds its variance, in logarithms. Bands made without\n"
        "# what was left out held (high over low):\n"
        f"# {text}. Made by `python -m lab refit` on {_rests_on(done, files)}"
    )
    counts: dict[tuple[str, ...], str] = {
        ("bands", figure, "within"): f"{int((done.runs.figure == place).sum())} left-out runs"
        for place, figure in enumerate(done.runs.figures)
        if figure in done.bands
    }
    return tables_text.dump({"bands": done.bands, "seen": done.seen}, head=head, comments=counts)


def _rests_on(done: Refit, files: Sequence[str]) -> str:
    keys = done.fitted.problem.keys
    sources = len({key.get("source", "") for key in keys})
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    return f"{len(keys)} runs of {sources} sources ({', '.join(files)}), {today}."


def bands_kept(name: str) -> dict[str, dict[str, float]]:
    """The bands as they are committed, by figure."""
    path = FOLDER / f"bands_{name}.toml"
    read = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return dict(read.get("bands", {}))
