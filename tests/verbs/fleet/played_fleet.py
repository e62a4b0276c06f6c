"""A fleet that is played in this process: nodes whose figures scatter, some of them bad.

The figures come from a seed, the node and the run, so that a fleet that is asked again answers the same.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from rigright.base.words import say
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.device import Device
from rigright.machine.host import Cpu, Memory
from rigright.machine.record import Machine
from rigright.machine.system import System
from rigright.verbs.fleet.nodes import NodeReport

H100 = "NVIDIA H100 80GB HBM3"
TERA, GIGA = 1e12, 1e9
FULL = {  # part, what, unit -> a healthy figure, and by how much cards and runs differ
    ("gemm", "bf16 square", "flops_per_s"): (790 * TERA, 0.008),
    ("gemm", "fp8 square", "flops_per_s"): (1450 * TERA, 0.01),
    ("device_memory", "copy", "bytes_per_s"): (2.95 * TERA, 0.004),
    ("memory_values", "kept what was written", "ratio"): (0.83, 0.0),
    ("transfer", "h2d pinned", "bytes_per_s"): (55 * GIGA, 0.006),
    ("sustained", "bf16, warm", "flops_per_s"): (710 * TERA, 0.012),
    ("sustained", "kept of the start", "ratio"): (0.96, 0.006),
}
DISK = {
    ("disk", "sequential read", "bytes_per_s"): (6.8 * GIGA, 0.03),
    ("disk", "random read", "ops_per_s"): (900_000.0, 0.05),
}
PAIR = (370 * GIGA, 0.02)


@dataclass
class Played:
    """Which nodes are bad, and in what way; `asked` remembers every question."""

    count: int = 64
    cards: int = 4  # of each node
    seed: int = 0
    gpu: dict = field(default_factory=dict)  # (node, card) -> share of the rate
    wrong: set = field(default_factory=set)  # (node, card)
    odd: set = field(default_factory=set)  # (node, card): always the same wrong product
    link: dict = field(default_factory=dict)  # node -> share of the rate
    disk: dict = field(default_factory=dict)  # node -> share of the rate
    path: dict = field(default_factory=dict)  # frozenset of two nodes -> share
    racks: dict = field(default_factory=dict)  # (first, after the last) of the names -> share over their edge
    once: dict = field(default_factory=dict)  # (node, part) -> share, in its first run only
    silent: set = field(default_factory=set)
    missing: set = field(default_factory=set)  # nodes that lost a card
    no_torch: set = field(default_factory=set)
    asked: list = field(default_factory=list)

    @property
    def names(self):
        return tuple(f"n{number:02}" for number in range(1, self.count + 1))

    def known(self, known):
        """Its names, whatever is known of it."""
        return tuple(dict.fromkeys((*known, *self.names)))

    def chance(self, *words):
        return random.Random(f"{self.seed} {words}")  # noqa: S311

    def asking(self, jobs):
        for job in jobs:
            for node in job.nodes:
                self.asked.append((job.request.bench.parts, job.nodes if job.request.meeting else (node,)))
                yield job, self.answer(job, node)

    def answer(self, job, node):
        if node in self.silent:
            return NodeReport(node=node, trouble=say("unreachable: no route to host"))
        results, skipped = [], []
        for part in job.request.bench.parts:
            run = sum(node in nodes and part in parts for parts, nodes in self.asked)
            found = list(self.figures(node, part, job, run))
            results += [one for one in found if isinstance(one, Result)]
            skipped += [one for one in found if isinstance(one, Skipped)]
        told = {"machine": self.machine(node), "results": tuple(results), "skipped": tuple(skipped)}
        return NodeReport(node=node, **told, seconds=1.0)

    def machine(self, node):
        cards = self.cards - (node in self.missing)
        return Machine(
            devices=tuple(Device(index=index, vendor="nvidia", name=H100) for index in range(cards)),
            cpu=Cpu(name="Xeon"),
            memory=Memory(total_bytes=2**41),
            system=System(host=node),
        )

    def figures(self, node, part, job, run):
        from rigright.machine.bench.table import NO_TORCH

        if node in self.no_torch and part != "disk":
            yield Skipped(part=part, why=NO_TORCH)
            return
        if part == "nodes":
            if node == job.nodes[0]:
                yield self.together(job)
            return
        share = self.once.get((node, part), 1.0) if run == 1 else 1.0
        for (name, what, unit), (full, scatter) in (FULL | DISK).items():
            if name != part:
                continue
            things = (
                ["/"]
                if part == "disk"
                else [f"gpu {index}" for index in range(len(self.machine(node).devices))]
            )
            for on in things:
                one = full * self.chance(node, what, on, run).gauss(1.0, scatter) * share
                one *= self.disk.get(node, 1.0) if part == "disk" else 1.0
                if part in {"gemm", "sustained"} and unit != "ratio":
                    one *= self.gpu.get((node, on), 1.0)
                yield result(part, what, on, one, unit, self.settings(node, on, what))

    def settings(self, node, on, what):
        if what != "bf16, warm":
            return ()
        return (
            ("wrong", "3" if (node, on) in self.wrong else "0"),
            ("sum", "bad" if (node, on) in self.odd else "a1b2"),
            ("torch", "2.9.1"),
        )

    def together(self, job):
        full, scatter = PAIR
        share = min(self.link.get(node, 1.0) for node in job.nodes)
        share = min([share, *(value for pair, value in self.path.items() if pair <= set(job.nodes))])
        for (first, last), value in self.racks.items():
            inside = [first <= node < last for node in job.nodes]
            share = min(share, value) if any(inside) and not all(inside) else share
        if share == 0:
            return Skipped(part="nodes", why=say("the nodes could not connect: {why}", why="timed out"))
        value = full * share * self.chance(job.nodes).gauss(1.0, scatter)
        return result("nodes", "all_reduce 1024 MiB", "gpu all", value, "bytes_per_s", (("wrong", "0"),))


def result(part, what, on, value, unit, settings):
    chip = H100 if on.startswith("gpu") else None
    told = {"part": part, "what": what, "on": on, "unit": unit, "settings": settings, "chip": chip}
    return Result(**told, value=value, low=value, high=value, repeats=5)


def with_(fleet, **changes):
    """The same fleet, as if nobody had asked it yet."""
    return replace(fleet, asked=[], **changes)
