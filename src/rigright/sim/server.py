"""One replica: prompts wait, are let in by a policy, and become sequences that make tokens pass by pass.

A replica has a clock. Passes alike, in which nobody comes, ends or runs out of cache, are leapt over in one
stride. With a policy that plans ahead, a pass is settled while the one before it runs: who arrives meanwhile
is a pass later at work, and a seat is free a pass later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from math import isnan
from typing import NamedTuple

import numpy as np

from rigright.sim.decodes import Decodes
from rigright.sim.load import Book
from rigright.sim.log import Log
from rigright.sim.pace import Pace
from rigright.sim.prefix import PrefixStore
from rigright.sim.room import PassRoom, Policy, WaitingPrompt, fill

NEVER = float("inf")
_NOBODY: list[int] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """What a replica is: its pace, its policy and its room."""

    pace: Pace
    policy: Policy
    blocks: int  # of cache
    block_tok: int
    max_seqs: int
    budget_tok: int  # of one pass
    chunks: bool = True  # a prompt may be cut over passes
    most_context_tok: int | None = None  # of one request
    spread: float = 1.0  # blocks for each that there is, where what all prompts begin with is kept once
    tiers: tuple[tuple[float, float], ...] = ()  # for caches beside its GPUs: tokens, and tokens a second
    request_s: float = 0.0  # a request is on its way to the queue, and its answer to the user

    def holds(self, tok: np.ndarray) -> np.ndarray:
        """Whether requests that grow to so many tokens can be served at all."""
        fits: np.ndarray = -(-tok // self.block_tok) <= self.blocks
        return fits if self.most_context_tok is None else fits & (tok <= self.most_context_tok)


class SimPass(NamedTuple):
    """One pass, settled."""

    tok: int  # of prompts
    pairs: float  # keys they see, summed
    prompts: int
    seqs: int  # sequences that make a token
    standing: int  # sequences that wait while prompts are worked on
    context_tok: int  # of them together
    firsts: list[int]  # whose prompt ends here
    ending: list[tuple[int, int]]  # who ends here, with the blocks that come free


class Server:
    """A replica at work."""

    def __init__(
        self, shop: Replica, book: Book, *, on_end: Callable[[int, float], None] | None = None
    ) -> None:
        self.shop, self.book = shop, book
        self.clock = 0.0
        self.log = Log()
        self.preempted = 0
        self.free = shop.blocks
        self._on_end = on_end
        self._inbox: list[tuple[float, int]] = []
        self._waiting: deque[int] = deque()
        self._partial: dict[int, tuple[int, int]] = {}  # let in, its prompt not done: so far, of so many
        self._seated: dict[int, int] = {}  # in order of admission -> tokens held where no sequence yet
        self._made: dict[int, int] = {}  # tokens of those that lost their cache
        self._decodes = Decodes(shop.block_tok)
        self._beat = 0
        self._blocked = False  # the first that waits cannot be let in before something changes
        self._now: SimPass | None = None
        known = book.sessions
        self._store = PrefixStore(shop.tiers, cuts=not known.block_tok) if known is not None else None
        self._opened = -1  # the beat at which a batch was let in, where the next waits for its end

    @property
    def _free_tok(self) -> float:
        """Room for what requests leave."""
        return self.free * self.shop.block_tok / self.shop.spread

    @property
    def load(self) -> int:
        """Requests here, at work or waiting."""
        return len(self._seated) + len(self._waiting) + len(self._inbox)

    @property
    def next_s(self) -> float:
        """When this replica does its next thing; NEVER where nothing is left to do."""
        if self._now is None and not (self._waiting or self._seated):
            return max(self.clock, self._inbox[0][0]) if self._inbox else NEVER
        return self.clock

    def submit(self, request: int, at_s: float) -> None:
        """A request comes in; its cache must fit (see `Shop.holds`)."""
        heappush(self._inbox, (at_s + self.shop.request_s, request))

    def run(self, until_s: float = NEVER) -> None:
        """Work until the clock has reached a moment, or nothing is left to do."""
        ahead, inbox = self.shop.policy.ahead, self._inbox
        while self.next_s < until_s:
            now = self._now
            if now is None or (inbox and inbox[0][0] <= self.clock):
                self._receive()
                now = now or self._plan()
                if now is None:
                    return
            if (
                now.seqs
                and not (now.tok or now.ending or now.firsts)
                and (self._blocked or not self._waiting)
            ):
                self._now = now
                if self._leap(now, until_s):
                    self._now = self._plan() if ahead else None
                    continue
            following = self._plan() if ahead else None
            self._work(now)
            self._now = following

    def _receive(self) -> None:
        """Who has arrived by now waits; an idle replica moves its clock to the next arrival."""
        inbox = self._inbox
        if self._now is None and not (self._waiting or self._seated):
            self.clock = max(self.clock, inbox[0][0])
        while inbox and inbox[0][0] <= self.clock:
            if not self._waiting:
                self._blocked = False
            self._waiting.append(heappop(inbox)[1])

    def _leap(self, now: SimPass, until_s: float) -> bool:
        """Run passes alike up to the next event; False where the next pass is not like this one."""
        block, decodes = self.shop.block_tok, self._decodes
        beats = decodes.next_end() - self._beat
        beats = min(beats, self.free // now.seqs * block + 1)  # the first of them has its blocks already
        gap = NEVER if self._waiting or not self._inbox else self._inbox[0][0] - self.clock
        gap = min(gap, until_s - self.clock)
        if beats < 2 or gap <= 0:
            return False
        done, took = self.shop.pace.stride(now.seqs, now.context_tok, beats=beats, gap_s=gap)
        if done > 1:
            self.free -= decodes.growth(self._beat + 1, done - 1)
        self._beat += done - 1
        self._pass_time(took, done, now=now)
        return True

    def _work(self, now: SimPass) -> None:
        """Run one pass."""
        pace, book = self.shop.pace, self.book
        if now.tok:
            took = pace.pass_s(
                now.tok, now.pairs / now.tok, prompts=now.prompts, seqs=now.seqs, context_tok=now.context_tok
            )
        else:
            took = pace.decode_s(now.seqs, now.context_tok) if now.seqs else 0.0
        self._pass_time(took, 1, now=now)
        if not (now.firsts or now.ending):
            return
        for request in now.firsts:
            if isnan(book.first_s[request]):
                book.first_s[request] = self.clock + book.load_s[request]
        for request, blocks in now.ending:
            self._release(request, blocks)

    def _release(self, request: int, blocks: int) -> None:
        book = self.book
        book.last_s[request] = self.clock + book.load_s[request]
        del self._seated[request]
        if self._store is not None:
            self._store.shelves[0].shrink(self._free_tok)
            room = (self.free + blocks) * self.shop.block_tok / self.shop.spread
            self._store.end(book.seen(request), left=book.left(request), free_tok=room)
        self.free += blocks
        self._blocked = False
        if self._on_end is not None:
            self._on_end(request, self.clock)

    def _pass_time(self, took_s: float, passes: int, *, now: SimPass) -> None:
        self.clock += took_s
        used = self.shop.blocks - self.free
        self.log.add((self.clock, took_s, passes, now.seqs, used, now.tok, now.standing))

    def _plan(self) -> SimPass | None:
        """Settle the next pass, from what is known now."""
        decodes, policy = self._decodes, self.shop.policy
        beat = self._beat + 1
        grown = decodes.growth(beat)
        evicted = grown > self.free
        if evicted:
            grown = self._make_room(beat)
        asks = self._partial or (self._waiting and not (evicted or self._blocked))
        picks = self._pick(grown) if asks else []
        seqs = decodes.count if policy.mixes or not picks else 0
        if not picks and not seqs:
            return None
        context, standing, ending = decodes.context_tok(beat), decodes.count - seqs, []
        if seqs or policy.mixes:
            self.free -= grown
            self._beat = beat
            ending = decodes.ending(beat)
        tok, pairs, firsts = self._take(picks, ending) if picks else (0, 0.0, _NOBODY)
        return SimPass(tok, pairs, len(picks), seqs, standing, context if seqs else 0, firsts, ending)

    def _make_room(self, beat: int) -> int:
        """The newest give their cache back until next tokens have theirs: what these take."""
        grown = self._decodes.growth(beat)
        while grown > self.free:
            decodes, book = self._decodes, self.book
            request = next(
                item for item in reversed(self._seated) if item in decodes or item in self._partial
            )
            if request in decodes:
                base, final = decodes.leave(request)
                self._made[request] = book.output[request] - (final - beat + 1)
                number = base + beat - 1
            else:
                _, number = self._partial.pop(request)
            del self._seated[request]
            if self._store is not None:
                self._store.end(book.seen(request), left=(), free_tok=self._free_tok)
            self.free += -(-number // self.shop.block_tok)
            self._waiting.appendleft(request)
            self._blocked = False
            self.preempted += 1
            grown = self._decodes.growth(beat)
        return grown

    def _pick(self, grown: int) -> list[tuple[WaitingPrompt, int]]:
        """Whom the policy lets in, and how much of each prompt is worked on."""
        shop, decodes, running = self.shop, self._decodes, len(self._seated)
        if shop.policy.drains and self._is_closed(running):
            self._blocked = True
            return []
        beside = decodes.count if shop.policy.mixes else 0
        room = PassRoom(
            tok=shop.budget_tok * shop.pace.rounds - beside,
            seats=shop.max_seqs - running,
            blocks=self.free - (grown if shop.policy.mixes else 0),
            block_tok=shop.block_tok,
            running=running,
            chunks=shop.chunks,
        )
        if shop.policy.keeps:
            # what those that were let in will still make
            begun = sum(self.book.output[request] for request in self._partial)
            room.promise(shop.policy.keeps, self._decodes.promised_tok(self._beat + 1) + begun)
        picks = fill(self._queue(), room)
        self._blocked = not picks
        return picks

    def _is_closed(self, running: int) -> bool:
        """Whether a batch is at work: it takes more in until it makes its next tokens."""
        if not running:
            self._opened = self._beat
        return self._opened != self._beat

    def _queue(self) -> Iterator[WaitingPrompt]:
        """Prompts in order: those begun, then those that wait."""
        book, made = self.book, self._made
        for request, (done, target) in self._partial.items():
            yield WaitingPrompt(request, target - done, 0, book.output[request])
        for request in self._waiting:
            target = book.prompt[request] + made.get(request, 0)
            if self._store is not None:
                room = self._free_tok
                found, book.load_s[request] = self._store.find(book.seen(request), free_tok=room)
                book.cached[request] = min(found, book.prompt[request] - 1)
            left = max(target - book.cached[request], 1) if self.shop.policy.computes else 0
            yield WaitingPrompt(request, left, target, book.output[request] - made.get(request, 0))

    def _take(
        self, picks: list[tuple[WaitingPrompt, int]], ending: list[tuple[int, int]]
    ) -> tuple[int, float, list[int]]:
        """Work on what was picked: tokens, keys they see, whose prompt ends; who is done with it is added."""
        total, pairs, firsts = 0, 0.0, []
        for ask, tok in picks:
            done, target = self._seat(ask) if ask.hold_tok else self._partial.pop(ask.request)
            total += tok
            pairs += tok * (done + tok / 2)
            if done + tok < target:
                self._partial[ask.request] = done + tok, target
                continue
            firsts.append(ask.request)
            left = self.book.output[ask.request] - self._made.pop(ask.request, 0) - 1
            if left:
                self._decodes.join(ask.request, beat=self._beat, held_tok=target, left_tok=left)
            else:
                ending.append((ask.request, -(-target // self.shop.block_tok)))
        return total, pairs, firsts

    def _seat(self, ask: WaitingPrompt) -> tuple[int, int]:
        """Let a prompt in: what of it is done, and how long it is."""
        request = ask.request
        if self._waiting[0] == request:
            self._waiting.popleft()
        else:
            self._waiting.remove(request)
        self._seated[request] = ask.hold_tok
        if self._store is not None:
            self._store.start(self.book.seen(request))
        self.free -= -(-ask.hold_tok // self.shop.block_tok)
        if isnan(self.book.started_s[request]):
            self.book.started_s[request] = self.clock
        return ask.hold_tok - ask.left_tok, ask.hold_tok
