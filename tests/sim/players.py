"""A toy engine to play on: a law simple enough to reckon by hand, and shops of any policy."""

from __future__ import annotations

import numpy as np

from rigright.sim.load import Load
from rigright.sim.pace import Pace
from rigright.sim.room import policies
from rigright.sim.server import Replica

POLICIES = ("vllm", "vllm_sync", "static", "sglang", "tensorrt_llm", "tensorrt_llm_max")
BASE_S, TOKEN_S, CONTEXT_S, PAIR_S = 0.01, 1e-5, 1e-7, 1e-9


def law(content):
    """Linear in everything: lines between points of its tables are the law itself."""
    tok, seqs = np.asarray(content.prefill_tok, float), np.asarray(content.decode_seqs, float)
    return (
        BASE_S
        + TOKEN_S * (tok + seqs)
        + CONTEXT_S * seqs * content.decode_context_tok
        + PAIR_S * tok * content.prefill_seen_tok
    )


def make_shop(policy="vllm", *, blocks=4096, block_tok=16, seats=8, budget=512, pace=None, **more):
    rules = policies()[policy]
    more.setdefault("chunks", rules.chunks)
    return Replica(
        pace=pace or Pace(law, most_seqs=seats, most_tok=budget, most_context=4096),
        policy=rules,
        blocks=blocks,
        block_tok=block_tok,
        max_seqs=seats,
        budget_tok=budget,
        **more,
    )


def make_load(rows, *, users=None, think_s=0.0):
    """Rows of (arrival, prompt, output) or (arrival, prompt, output, cached)."""
    rows = sorted((*row, 0) if len(row) == 3 else row for row in rows)
    arrival, prompt, output, cached = (np.array(column) for column in zip(*rows, strict=True))
    return Load(
        arrival_s=arrival.astype(float),
        prompt_tok=prompt,
        output_tok=output,
        cached_tok=np.minimum(cached, prompt - 1),
        users=users,
        think_s=think_s,
    )


def log_of(server):
    return server.log.columns()


def slow_replay(load, shop):
    """The same engine told pass by pass and sequence by sequence: no sums, no heaps, no strides."""
    return _Slow(load, shop).run()


class _Slow:
    """vLLM's scheduler in its plainest form, for caches that never run out."""

    def __init__(self, load, shop):
        self.shop, self.load = shop, load
        self.clock = 0.0
        self.waiting, self.running = [], []
        self.todo = list(range(load.count))
        self.first, self.last = {}, {}
        self.done = dict.fromkeys(self.todo, 0)  # tokens of the prompt
        self.made = dict.fromkeys(self.todo, 0)  # as settled
        self.told = dict.fromkeys(self.todo, 0)  # as made

    def run(self):
        flying = None
        while self.todo or self.waiting or self.running:
            if flying is None and not (self.waiting or self.running):
                self.clock = max(self.clock, self.load.arrival_s[self.todo[0]])
            while self.todo and self.load.arrival_s[self.todo[0]] <= self.clock:
                self.waiting.append(self.todo.pop(0))
            flying = flying or self.settle()
            after = self.settle() if self.shop.policy.ahead else None
            self.work(flying)
            flying = after
        count = self.load.count
        return [self.first[one] for one in range(count)], [self.last[one] for one in range(count)]

    def settle(self):
        decodes, chunks = [], []
        room = self.shop.budget_tok
        for one in self.running:
            if self.done[one] == self.load.prompt_tok[one] and self.made[one] < self.load.output_tok[one]:
                decodes.append((one, self.load.prompt_tok[one] + self.made[one]))
                room -= 1
        begun = [one for one in self.running if self.done[one] < self.load.prompt_tok[one]]
        for one in [*begun, *self.waiting[: self.shop.max_seqs - len(self.running)]]:
            if room < 1:
                break
            tok = min(int(self.load.prompt_tok[one]) - self.done[one], room)
            chunks.append((one, tok, self.done[one]))
            room -= tok
            if one in self.waiting:
                self.waiting.remove(one)
                self.running.append(one)
            self.done[one] += tok
        ready = [one for one, _, _ in chunks if self.done[one] == self.load.prompt_tok[one]]
        for one in [*ready, *(one for one, _ in decodes)]:
            self.made[one] += 1
        return (decodes, chunks, ready) if decodes or chunks else None

    def work(self, settled):
        decodes, chunks, ready = settled
        tok = sum(one for _, one, _ in chunks)
        pairs = sum(tok * (done + tok / 2) for _, tok, done in chunks)
        took = BASE_S + TOKEN_S * (tok + len(decodes)) + CONTEXT_S * sum(held for _, held in decodes)
        self.clock += took + PAIR_S * pairs
        for one in [*ready, *(one for one, _ in decodes)]:
            self.told[one] += 1
            self.first.setdefault(one, self.clock)
            if self.told[one] == self.load.output_tok[one]:
                self.last[one] = self.clock
                self.running.remove(one)
