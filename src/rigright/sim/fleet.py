"""Replicas behind a router; and prompts and next tokens on workers of their own, with caches sent between."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import inf, nextafter

import numpy as np

from rigright.sim.load import ENDLESS_TURNS, Book, Load
from rigright.sim.server import NEVER, Replica, Server

ROUTERS = ("round-robin", "least-busy")
ALONE = 4096  # requests that a replica without others is handed together


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """How the cache of a prompt comes from the worker that read it to the one that goes on."""

    token_bytes: float
    bytes_per_s: float
    start_s: float

    def time_s(self, tok: int) -> float:
        """For a prompt of so many tokens."""
        return self.start_s + tok * self.token_bytes / self.bytes_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaFleet:
    """Replicas alike; with `prefill`, they only make next tokens and others read the prompts."""

    shop: Replica
    replicas: int = 1
    router: str = "least-busy"
    prefill: Replica | None = None
    prefill_replicas: int = 0
    handover: Handover | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A load that was played: what became of each request, and the servers with their logs."""

    book: Book
    servers: tuple[Server, ...]  # that make next tokens
    prefill_servers: tuple[Server, ...]
    refused: np.ndarray  # the numbers of those that nobody can hold

    @property
    def end_s(self) -> float:
        """When the last request was done."""
        return max(server.clock for server in self.servers)


def play(load: Load, fleet: ReplicaFleet) -> Played:
    """Play a load to its end; requests that no replica can hold are refused."""
    book = Book(load)
    fits = fleet.shop.holds(load.prompt_tok + load.output_tok)
    if fleet.prefill is not None:
        fits &= fleet.prefill.holds(load.prompt_tok + 1)
    feed = _Feed(load, book, requests=array("q", np.flatnonzero(fits).tobytes()))
    servers, readers = (
        _together(feed, fleet) if fleet.prefill is None else _apart(feed, fleet, prefill=fleet.prefill)
    )
    _drive(feed, [*readers, *servers], coupled=bool(readers) or load.users is not None)
    return Played(
        book=book,
        servers=tuple(servers),
        prefill_servers=tuple(readers),
        refused=np.flatnonzero(~fits),
    )


def _together(feed: _Feed, fleet: ReplicaFleet) -> tuple[list[Server], list[Server]]:
    servers = [Server(fleet.shop, feed.book, on_end=feed.ended) for _ in range(fleet.replicas)]
    known = feed.load.sessions
    feed.enter = _router(servers, fleet.router)
    if known is not None and not known.block_tok:  # where their session's cache is
        feed.enter = lambda request, at_s: servers[feed.book.session[request] % len(servers)].submit(
            request, at_s
        )
    return servers, []


def _apart(feed: _Feed, fleet: ReplicaFleet, *, prefill: Replica) -> tuple[list[Server], list[Server]]:
    """Prompts are read by some, next tokens made by others; the first token comes with the prompt."""
    book, handover = feed.book, fleet.handover
    stated = replace(feed.load, sessions=None)  # workers of prompts find what is stated
    later = Book(stated)
    reading = Book(stated)
    reading.output = array("q", [1]) * feed.load.count

    def read(request: int, at_s: float) -> None:
        book.started_s[request] = reading.started_s[request]
        book.first_s[request] = at_s
        if book.output[request] == 1:
            made(request, at_s)
        else:
            sent_s = 0.0 if handover is None else handover.time_s(book.prompt[request])
            go_on(request, at_s + sent_s)

    def made(request: int, at_s: float) -> None:
        book.last_s[request] = at_s
        feed.ended(request, at_s)

    readers = [Server(prefill, reading, on_end=read) for _ in range(fleet.prefill_replicas)]
    makers = [Server(fleet.shop, later, on_end=made) for _ in range(fleet.replicas)]
    feed.enter, go_on = _router(readers, fleet.router), _router(makers, fleet.router)
    return makers, readers


Submit = Callable[[int, float], None]


class _Feed:
    """Hands out requests: at their moments, or as users of a closed loop get their answers."""

    def __init__(self, load: Load, book: Book, *, requests: array[int]) -> None:
        self.load, self.book = load, book
        self.enter: Submit = _nowhere
        first = load.sessions.first if load.sessions is not None else 0
        at_once = load.users or first or len(requests)
        self.first, self._rest = requests[:at_once], iter(requests[at_once:])

    def ended(self, old: int, at_s: float) -> None:
        """Somebody has an answer; a user of a closed loop asks again, and a session has its next turn."""
        book, known = self.book, self.load.sessions
        turns = inf if known is None or self.load.users is not None else min(known.turns, ENDLESS_TURNS)
        if book.turn[old] >= turns:
            return
        request = next(self._rest, None)
        if request is not None:
            if known is not None:
                book.follow(old, request)
            at_s += self.load.think_s if known is None else book.away_s[request]
            self.book.arrival_s[request] = at_s
            self.enter(request, at_s)


def _nowhere(_request: int, _at_s: float) -> None:
    """Before there are servers."""


def _router(servers: Sequence[Server], kind: str) -> Submit:
    """Who gets a request: each in turn, or the one with fewest."""
    turns = count()

    def in_turn(request: int, at_s: float) -> None:
        servers[next(turns) % len(servers)].submit(request, at_s)

    def to_least(request: int, at_s: float) -> None:
        min(servers, key=lambda server: server.load).submit(request, at_s)

    return in_turn if kind == "round-robin" or len(servers) == 1 else to_least


def _drive(feed: _Feed, servers: Sequence[Server], *, coupled: bool) -> None:
    """Hand out requests in time and let the servers work; where one's end is another's request, in step."""
    advance = _in_step if coupled and len(servers) > 1 else _each
    stride = 1 if len(servers) > 1 else ALONE
    for place, request in enumerate(feed.first):
        at_s = feed.book.arrival_s[request]
        if place % stride == 0:
            advance(servers, at_s)
        feed.enter(request, at_s)
    advance(servers, NEVER)


def _each(servers: Sequence[Server], until_s: float) -> None:
    for server in servers:
        server.run(until_s)


def _in_step(servers: Sequence[Server], until_s: float) -> None:
    """The server furthest behind goes first, and no further than the next one's next thing."""
    while True:
        moments = [server.next_s for server in servers]
        first_s = min(moments)
        if first_s >= until_s:
            return
        first = moments.index(first_s)
        moments[first] = until_s
        servers[first].run(max(min(moments), nextafter(first_s, NEVER)))
