"""Loads: requests, made up by a process (the same again for a seed) or read from a trace."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError
from rigright.base.tables import bad_cell, number, open_rows, read_cells, text
from rigright.base.units import KILO
from rigright.base.words import Sentence, say
from rigright.demand import Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """Requests that repeat what came before: sessions of so many turns, or blocks known by their hashes."""

    turns: float = inf
    seen_tok: float = 0.0  # of an average prompt
    shared_tok: int = 0  # that all begin with
    first: int = 0  # requests that start a session; the others follow their session's answers
    block_tok: int = 0  # of what a hash is of; 0: no hashes
    hashes: tuple[tuple[int, ...], ...] = ()  # of each request


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Requests in the order they arrive; one entry each."""

    arrival_s: np.ndarray
    prompt_tok: np.ndarray
    output_tok: np.ndarray
    cached_tok: np.ndarray  # of the prompt, found in the prefix cache
    users: int | None = None  # a closed loop: so many at once, each asks again when it has its answer
    think_s: float = 0.0  # between an answer and the next question
    sessions: Sessions | None = None  # memory decides what is found; None: `cached_tok` is
    steady: bool = False  # users come one by one: what counts is the time while all of them are there

    @property
    def count(self) -> int:
        """Requests."""
        return len(self.arrival_s)

    @property
    def rate_per_s(self) -> float:
        """How many arrive a second, over the time in which they do; inf where all are there at once."""
        span = float(self.arrival_s[-1] - self.arrival_s[0]) if self.count else 0.0
        return (self.count - 1) / span if span > 0 else float("inf")

    def only(self, kept: np.ndarray) -> Load:
        """Some of the requests."""
        return replace(
            self,
            arrival_s=self.arrival_s[kept],
            prompt_tok=self.prompt_tok[kept],
            output_tok=self.output_tok[kept],
            cached_tok=self.cached_tok[kept],
            sessions=self.sessions,
        )


class Book:
    """What each request is and what became of it, by its number; flat arrays that are read one by one."""

    __slots__ = (
        *("arrival_s", "away_s", "cached", "first_s", "last_s", "load_s", "output", "prompt"),
        *("session", "sessions", "started_s", "turn", "_step"),
    )

    def __init__(self, load: Load) -> None:
        never = np.full(load.count, np.nan)
        self.arrival_s, self.prompt = _flat("d", load.arrival_s), _flat("q", load.prompt_tok)
        self.output, self.cached = _flat("q", load.output_tok), _flat("q", load.cached_tok)
        self.started_s, self.first_s, self.last_s = (_flat("d", never) for _ in range(3))
        away = np.random.default_rng(load.count).exponential(load.think_s, load.count)
        self.away_s = _flat("d", away)  # before each, of sessions: no two users think alike
        self.sessions, self.load_s = load.sessions, _flat("d", np.zeros(load.count))
        number = np.arange(load.count)
        self.session, self.turn = _flat("q", number), _flat("q", np.ones(load.count))
        if load.sessions is not None and load.sessions.turns != inf:  # as if they had been there
            self._step = 2 * (load.prompt_tok.mean() - load.sessions.shared_tok) / (load.sessions.turns + 1)
            self.turn = _flat("q", 1 + number % int(load.sessions.turns) * (load.users is not None))
            for request in range(load.count):
                self._lengthen(request)

    def follow(self, old: int, new: int) -> None:
        """A request comes after another of its session, or starts a new one."""
        turns = self.sessions.turns if self.sessions is not None else 1
        if self.turn[old] < turns:
            self.session[new], self.turn[new] = self.session[old], self.turn[old] + 1
        else:
            self.turn[new] = 1
        self._lengthen(new)

    def _lengthen(self, request: int) -> None:
        """Prompts of a session grow turn by turn around their mean."""
        known = self.sessions
        if known is not None and known.turns != inf:
            self.prompt[request] = known.shared_tok + max(int(self._step * self.turn[request]), 1)

    def seen(self, request: int) -> list[tuple[int, int]]:
        """The pieces of its prompt that may lie in a cache."""
        known = self.sessions
        if known is None:
            return []
        if known.block_tok:
            return [(key, known.block_tok) for key in known.hashes[request]]
        ends = known.turns != inf
        own = self._step * (self.turn[request] - 1) if ends else known.seen_tok - known.shared_tok
        return [(-1, known.shared_tok), (self.session[request], max(int(own), 0))]

    def left(self, request: int) -> list[tuple[int, int]]:
        """What it leaves in the cache: its prompt, and its answer."""
        pieces = self.seen(request)
        if self.sessions is None or self.sessions.block_tok:
            return pieces
        (key, shared), (session, _) = pieces
        return [(key, shared), (session, self.prompt[request] + self.output[request] - shared)]


def _flat(code: str, values: np.ndarray) -> array[Any]:
    """As Python's own array, whose items are read faster than NumPy's."""
    return array(code, np.ascontiguousarray(values, dtype=code).tobytes())


ENDLESS_TURNS = 20  # of sessions that are said to go on
DAY_SWING = 0.8  # of a day's rate, from its mean to its top
CURVE_POINTS = 4096
CLOSED = "closed"
TOGETHER = "together"  # a closed loop whose users all start at the same moment, as benchmarks do
UNLIKE = 0.1  # of lengths of answers to users that go on: were all alike, their prompts would fall into step
LOOPS = frozenset({CLOSED, TOGETHER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """How requests arrive."""

    kind: str = "poisson"  # a key of PROCESSES, or one of LOOPS
    spread: float = 2.0  # gamma: standard deviation of gaps over their mean; 1 is Poisson, 0 a metronome
    burst: int = 10  # burst: requests that come together
    period_s: float = 86_400.0  # diurnal: from top to top
    think_s: float = 0.0  # closed: between an answer and the next question
    life_s: float = 0.0  # closed: users start at any moment of it, as if they had been there; 0: all at once


def made_load(traffic: Traffic, *, count: int, process: Arrivals, seed: int) -> Load:
    """So many requests of a traffic."""
    dice = np.random.default_rng(seed)
    users, starts = None, count
    returns = traffic.think_s is not None and traffic.cached_tok > 0  # memory decides what
    if process.kind in LOOPS:
        users = max(min(int(traffic.concurrency), count), 1)
        moments = np.zeros(count)
        moments[:users] = np.sort(dice.uniform(0, process.life_s + process.think_s, users))
        moments -= moments[0]
    else:
        starts = max(int(count / min(traffic.turns, ENDLESS_TURNS)), 1) if returns else count
        rate = float(traffic.rate_per_s) * starts / count
        moments = np.zeros(count)
        moments[:starts] = PROCESSES[process.kind](dice, starts, rate_per_s=rate, process=process)
        moments[starts:] = moments[starts - 1]
        moments -= moments[0]
    steady = users is not None and process.life_s > 0
    spread = traffic.output_spread
    if spread is None:
        spread = UNLIKE if steady else 0.0
    prompt = lengths(dice, count, mean=traffic.prompt_tok, spread=traffic.prompt_spread)
    return Load(
        arrival_s=moments,
        prompt_tok=prompt,
        output_tok=lengths(
            dice,
            count,
            mean=traffic.output_tok,
            spread=spread,
        ),
        cached_tok=np.minimum(np.full(count, int(traffic.cached_tok)), prompt - 1),
        users=users,
        think_s=process.think_s,
        steady=steady,
        sessions=None
        if not returns
        else Sessions(
            turns=traffic.turns, seen_tok=traffic.cached_tok, shared_tok=int(traffic.shared_tok),
            first=users or starts,
        ),
    )  # fmt: skip


def lengths(dice: np.random.Generator, count: int, *, mean: float, spread: float) -> np.ndarray:
    """Whole lengths of at least one token, log-normal around a mean."""
    if spread <= 0:
        return np.full(count, max(int(mean), 1))
    sigma = np.sqrt(np.log1p(spread * spread))
    drawn = dice.lognormal(np.log(mean) - sigma * sigma / 2, sigma, count)
    return np.maximum(np.rint(drawn), 1).astype(int)


Moments = Callable[..., np.ndarray]  # dice and count; the rate and the process by name


def _poisson(dice: np.random.Generator, count: int, *, rate_per_s: float, process: Arrivals) -> np.ndarray:
    del process  # nothing to choose
    return np.cumsum(dice.exponential(1 / rate_per_s, count))


def _gamma(dice: np.random.Generator, count: int, *, rate_per_s: float, process: Arrivals) -> np.ndarray:
    if process.spread <= 0:
        return np.arange(count) / rate_per_s
    shape = 1 / process.spread**2
    return np.cumsum(dice.gamma(shape, 1 / (rate_per_s * shape), count))


def _burst(dice: np.random.Generator, count: int, *, rate_per_s: float, process: Arrivals) -> np.ndarray:
    bursts = -(-count // process.burst)
    starts = np.cumsum(dice.exponential(process.burst / rate_per_s, bursts))
    return np.repeat(starts, process.burst)[:count]


def _diurnal(dice: np.random.Generator, count: int, *, rate_per_s: float, process: Arrivals) -> np.ndarray:
    """A rate that swings over a day around its mean, from its lowest: time stretched until it is even."""
    even = np.cumsum(dice.exponential(1.0, count))
    days = np.ceil(even[-1] / rate_per_s / process.period_s) + 1
    turn = np.linspace(0, days, int(days) * CURVE_POINTS + 1)
    due = rate_per_s * process.period_s * (turn - DAY_SWING * np.sin(2 * np.pi * turn) / (2 * np.pi))
    return np.interp(even, due, turn * process.period_s)


PROCESSES: dict[str, Moments] = {
    "poisson": _poisson,
    "gamma": _gamma,
    "burst": _burst,
    "diurnal": _diurnal,
}


MOST_TOK = 2**31
MOST_S = 1e10
MOST_REQUESTS = 2_000_000
MOST_LISTED = 5
MEASURED = {"first_token_s", "last_token_s"}
NEEDED = ("arrival_s", "prompt_tok", "output_tok")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The requests that can be read, by arrival, and every name in the order of the file."""

    load: Load
    names: tuple[str | None, ...]  # of all rows; those without one go by their number
    places: np.ndarray  # of each request of the load, its row among all
    first_s: np.ndarray  # as measured; nan where the file does not tell
    last_s: np.ndarray
    notes: tuple[Sentence, ...] = ()


def _tokens(cell: str) -> int:
    value = number(cell)
    if value != int(value) or not 1 <= value <= MOST_TOK:
        raise ValueError(cell)
    return int(value)


def _moment(cell: str) -> float:
    value = number(cell)
    if not 0 <= value <= MOST_S:
        raise ValueError(cell)
    return value


_READERS = {
    "request": text,
    "arrival_s": _moment,
    "prompt_tok": _tokens,
    "output_tok": _tokens,
    "cached_tok": lambda cell: 0 if number(cell) == 0 else _tokens(cell),
    "first_token_s": _moment,
    "last_token_s": _moment,
}


def hashed_trace(lines: Iterable[str], name: str) -> Trace:
    """Read a trace whose prompts are told by hashes of their blocks: a JSON object a line, as Mooncake's."""
    rows: list[tuple[float, int, int, tuple[int, ...]]] = []
    for place, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            given = bounded_json(line)
            hashes = tuple(map(int, given.get("hash_ids") or ()))
            tokens = (_tokens(str(given["input_length"])), _tokens(str(given["output_length"])))
            rows.append((_moment(str(given["timestamp"])) / KILO, *tokens, hashes))
        except (ValueError, KeyError, TypeError, AttributeError):
            lacks = {"file": name, "line": place, "fields": "timestamp, input_length, output_length"}
            raise DataError(say("{file} line {line} lacks {fields}", **lacks)) from None
    if not rows:
        raise DataError(say("{file} contains no requests", file=name))
    order = sorted(range(len(rows)), key=lambda place: rows[place][0])
    every = tuple(rows[place][3] for place in order)
    moments, prompt, output = (np.array([rows[place][column] for place in order]) for column in range(3))
    each = max((-(-tok // len(keys)) for _, tok, _, keys in rows if keys), default=1)
    never = np.full(len(rows), np.nan)
    load = Load(
        arrival_s=moments, prompt_tok=prompt, output_tok=output, cached_tok=np.zeros_like(prompt),
        sessions=Sessions(block_tok=2 ** (each - 1).bit_length(), hashes=every) if any(every) else None,
    )  # fmt: skip
    return Trace(load=load, names=(None,) * len(rows), places=np.array(order), first_s=never, last_s=never)


def read_trace(lines: Iterable[str], name: str) -> Trace:
    """Read the lines of a trace; `name` is what complaints call it."""
    names: list[str | None] = []
    columns = {column: array("d") for column in _READERS if column != "request"}  # a row is kept as numbers
    places = array("q")
    faults: list[Sentence] = []
    for line, raw in open_rows(lines, name, required=NEEDED, most_rows=MOST_REQUESTS + 1):
        row, bad = read_cells(raw, _READERS, required=NEEDED)
        names.append(row["request"])
        if len(names) > MOST_REQUESTS:
            raise DataError(say("{file} has more than {most} requests", file=name, most=f"{MOST_REQUESTS:,}"))
        needed = [column for column in bad if column not in MEASURED]
        if needed:
            if len(faults) <= MOST_LISTED:
                faults.append(bad_cell(Path(name), line, column=needed[0], cell=raw.get(needed[0])).sentence)
            continue
        places.append(len(names) - 1)
        for column, values in columns.items():
            value = row[column]
            values.append(np.nan if value is None else value)
    if not places:
        raise DataError(faults[0] if faults else say("{file} contains no requests", file=name))
    # the first faults, and how many more there are
    more = len(names) - len(places) - MOST_LISTED
    sentences = tuple(faults[:MOST_LISTED])
    if more > 0:
        sentences += (say("{count} more unreadable rows", count=more),)
    order = np.argsort(np.asarray(columns["arrival_s"]), kind="stable")
    whole = {column: np.asarray(columns.pop(column))[order] for column in list(columns)}
    prompt = whole["prompt_tok"].astype(int)
    cached = np.nan_to_num(whole["cached_tok"]).astype(int)
    return Trace(
        load=Load(
            arrival_s=whole["arrival_s"],
            prompt_tok=prompt,
            output_tok=whole["output_tok"].astype(int),
            cached_tok=np.minimum(cached, prompt - 1),
        ),
        names=tuple(names),
        places=np.array(places)[order],
        first_s=whole["first_token_s"],
        last_s=whole["last_token_s"],
        notes=sentences,
    )
