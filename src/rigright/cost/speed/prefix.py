"""Prefix caches of sessions that come back: what of a prompt is still there, where, and how it returns.

Sessions are away while their users think or their requests queue. What they leave is kept until others need
the room, the longest unused first: of absences of random length such a share is found as fits, where all
return (Che's approximation for LRU; here it is exact for exponential absences). Sessions that have had their
last turn leave caches that nobody asks for again. Tiers beside the GPUs hold copies of all that was computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rigright.base.record import dataclass, replace
from rigright.demand import Layout, Numbers, Traffic

ROUNDS = 12  # from a cold cache up to the first load at which as much is found as it counts on
NEWTON = 12
LEAST_RANDOM = 0.15  # of absences: queues are not quite alike
ALIKE = 1.45  # power of that share: Erlang absences of 2 to 8 stages
LATE95, LATE99 = 3.0, 4.6  # of a wait that few meet, exponential
NORMAL = 0.4  # 1 / sqrt(2 pi)
MOST_BUSY = 0.95  # of a link that caches return over
LEAST = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class KvTiers:
    """Room for caches beside the GPUs of a replica, and how fast tokens return from there."""

    ram_tok: Numbers = 0.0
    ram_tok_per_s: Numbers = np.inf
    disk_tok: Numbers = 0.0
    disk_tok_per_s: Numbers = np.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixHits:
    """Shares of an average prompt that are found, by tier."""

    gpu: Numbers
    ram: Numbers
    disk: Numbers
    reload_s: Numbers  # what lies not on the GPUs takes

    @property
    def share(self) -> Numbers:
        """On any tier."""
        return self.gpu + self.ram + self.disk


def kept_share(
    room_tok: Numbers, *, away: Numbers, context_tok: Numbers, turns: Numbers, random: Numbers = 1.0
) -> Numbers:
    """The share of returning contexts that is found; `random`: what of an absence is of random length."""
    fits = room_tok / np.maximum(away * context_tok, LEAST)
    gone = 1 / np.asarray(turns, dtype=float)  # of all that is left, what nobody comes back for
    life = np.zeros_like(np.asarray(fits + gone, dtype=float))  # until dropped, in mean absences
    for _ in range(NEWTON if np.any(gone > 0) else 0):  # from below: the sum is concave
        left = np.exp(-life)
        life = life + (fits - (1 - gone) * (1 - left) - gone * life) / ((1 - gone) * left + gone)
    share = np.where(gone > 0, 1 - np.exp(-life), np.minimum(fits, 1.0))
    return share ** np.maximum(random, LEAST_RANDOM) ** -ALIKE


def hits_of(
    traffic: Traffic, tiers: KvTiers, *, pool_tok: Numbers, running: Numbers, away: Numbers, per_s: Numbers
) -> PrefixHits:
    """What is found of an average prompt on a replica; `traffic.cached_tok`: all that was seen before."""
    own = np.maximum(traffic.cached_tok - traffic.shared_tok, 0.0)
    context = traffic.prompt_tok - traffic.shared_tok + traffic.output_tok
    at_work = running * (context - traffic.output_tok / 2)
    left = np.maximum(pool_tok - traffic.shared_tok - at_work, 0.0)
    rooms = [left]
    for size in (tiers.ram_tok, tiers.disk_tok):  # copies of what is at work lie there too
        rooms.append(np.maximum(rooms[-1], size - running * context))
    random = np.minimum(traffic.think_s * per_s / np.maximum(away, LEAST), 1.0)  # the rest of it is a queue
    asked: Any = {"away": away, "context_tok": context, "turns": traffic.turns, "random": random}
    gpu, ram, disk = (kept_share(room, **asked) for room in rooms)
    ram, disk = np.maximum(ram - gpu, 0.0), np.maximum(disk - np.maximum(ram, gpu), 0.0)
    time_s = own * (ram / tiers.ram_tok_per_s + disk / tiers.disk_tok_per_s)
    time_s = time_s / (1 - np.minimum(per_s * time_s, MOST_BUSY))  # others' caches return over the same link
    prompt = np.maximum(traffic.prompt_tok, 1)
    shared = np.minimum(traffic.shared_tok, traffic.cached_tok)
    return PrefixHits(
        gpu=(shared + own * gpu) / prompt, ram=own * ram / prompt, disk=own * disk / prompt, reload_s=time_s
    )


def with_sessions(
    ask: Callable[[Traffic], Any], traffic: Traffic, *, tiers: KvTiers, layout: Layout, pool_tok: Numbers,
    most: Numbers,
) -> Any:  # fmt: skip
    """A service whose requests belong to sessions: the load, and what it finds of its prompts.

    More hits make it faster, and a faster service has fewer at work and more room: what is found grows from
    a cold cache until both agree. Of users that think, those are in flight whose answers are being made; at
    some moments more of them than have room (`most`), who queue.
    """
    dp, users, think = layout.dp, traffic.concurrency, traffic.think_s
    now = replace(traffic, think_s=None, cached_tok=np.minimum(traffic.shared_tok, traffic.cached_tok))
    queue_s: Numbers = 0.0
    for _ in range(ROUNDS):
        service = ask(now)
        per_s = service.requests_per_s / dp
        if users is None:
            away = per_s * (think + service.waiting_s)
        else:
            flight = now.concurrency / dp / np.maximum(per_s, LEAST)
            thinking = think / (think + flight + queue_s)
            queue_s = _over(now.concurrency / dp + queue_s * per_s, most, thinking=thinking) / per_s
            away = np.maximum(users / dp - service.running, 0.0)
            now = replace(now, concurrency=users * flight / (flight + queue_s + think))
        state = {"running": service.running, "away": away, "per_s": per_s}
        hits = hits_of(traffic, tiers, pool_tok=pool_tok, **state)
        now = replace(now, cached_tok=hits.share * traffic.prompt_tok, reload_s=hits.reload_s)
    late = {"ttft_s": 1.0, "waiting_s": 1.0, "ttft_p95_s": LATE95, "ttft_p99_s": LATE99}
    waits = {name: getattr(service, name) + factor * queue_s for name, factor in late.items()}
    return replace(service, hits=hits, **waits)


def _over(flight: Numbers, most: Numbers, *, thinking: Numbers) -> Numbers:
    """Requests in flight beyond room, where fewer are on average: users come and go by themselves."""
    spread = np.sqrt(np.maximum(flight * thinking, LEAST))
    short = np.maximum(most - flight, 0.0) / spread
    return np.where(flight < most, spread * np.exp(-(short**2) / 2) * NORMAL / (1 + short**2), 0.0)
