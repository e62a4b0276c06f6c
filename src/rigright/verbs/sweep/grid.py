"""Reads a grid: a CSV whose columns are options of `plan`; "a | b" in a cell asks for both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from rigright.base.errors import DataError
from rigright.base.tables import open_rows
from rigright.base.units import MEGA
from rigright.base.words import say
from rigright.verbs.runs.files import read_text
from rigright.verbs.sweep.swept import SweepQuestion

BETWEEN = "|"
MOST_QUESTIONS = int(MEGA)
NEEDED = ("model",)
USERS = frozenset({"users", "concurrency"})
BESIDE = 8  # questions that differ in these alone, and are scored in one call


def read_grid(asked: str, *, known: frozenset[str]) -> tuple[SweepQuestion, ...]:
    """Every question of a grid, in its order."""
    text = read_text(asked)
    rows: list[tuple[int, Mapping[str, str]]] = []
    for line, raw in open_rows(text.lines, text.name, required=NEEDED):
        strange = [name for name in raw if name.strip() not in known] if not rows else []
        if strange:
            raise DataError(
                say(
                    '{file}: unknown column "{column}"; known: {known}',
                    file=text.name,
                    column=strange[0],
                    known=", ".join(sorted(known)),
                )
            )
        rows.append((line, {name: cell for name, cell in raw.items() if cell.strip()}))
    if not rows:
        raise DataError(say("{file} has a header but no rows", file=text.name))
    count = sum(prod(map(len, _choices(raw).values())) for _, raw in rows)
    if count > MOST_QUESTIONS:
        raise DataError(
            say(
                "{file} asks {count} questions; the limit is {most}",
                file=text.name,
                count=f"{count:,}",
                most=f"{MOST_QUESTIONS:,}",
            )
        )
    spread = [(line, words) for line, raw in rows for words in _products(raw)]
    beside = _beside([words for _, words in spread])
    return tuple(
        SweepQuestion(index=index, line=line, words=words, beside=beside[index])
        for index, (line, words) in enumerate(spread)
    )


def _beside(asked: Sequence[Mapping[str, str]]) -> list[tuple[str, ...]]:
    """For each question the users of those near it that ask the same."""
    alike: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for index, words in enumerate(asked):
        key = tuple(item for item in words.items() if item[0] not in USERS)
        alike.setdefault(key, []).append(index)
    texts: list[tuple[str, ...]] = [()] * len(asked)
    for places in alike.values():
        for start in range(0, len(places), BESIDE):
            near = places[start : start + BESIDE]
            users = {words[name]: None for words in map(asked.__getitem__, near) for name in USERS & {*words}}
            for index in near:
                texts[index] = tuple(users)
    return texts


def _products(raw: Mapping[str, str]) -> Iterator[dict[str, str]]:
    choices = _choices(raw)
    for combination in product(*choices.values()):
        yield dict(zip(choices, combination, strict=True))


def _choices(raw: Mapping[str, str]) -> dict[str, list[str]]:
    """The values each filled cell asks for."""
    return {
        name.strip(): [value.strip() for value in cell.split(BETWEEN)]
        for name, cell in raw.items()
        if cell.strip()
    }
