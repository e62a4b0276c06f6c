"""The parts of the benchmark, a row each, and why one of them cannot run here.

A part runs in a child process alone: a card that hangs or dies costs this part, not the tool. Its function
takes the `BenchRequest` and gives results, each as soon as it is measured; what it raises is why the rest of
it was not. What a figure should reach stands in `data/bench_expected.csv`.
"""

from __future__ import annotations

import difflib
import importlib.util
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from rigright.base.errors import AskError
from rigright.base.words import Sentence, say
from rigright.machine.bench.record import BenchRequest, BenchWish, Result, Skipped

NO_TORCH = say("no PyTorch found: install it (`rigright setup`), or use --python for a Python that has it")
NO_NUMPY = say("no NumPy found: install it, or use --python for a Python that has it")
GROUPS = ("cards", "processor", "disk", "network")  # the order they are measured in
_CARDS = {"accelerator": 1, "two accelerators": 2}  # which only a process with PyTorch can count
_PROGRAMS = {"nccl-tests": "all_reduce_perf", "nvbandwidth": "nvbandwidth"}


@dataclass(frozen=True, slots=True)
class PartRow:
    """One part of the benchmark."""

    name: str
    title: Sentence  # what it measures
    group: str  # of GROUPS
    needs: tuple[str, ...]  # what must be here, else it is left out and says why
    share: float  # of the time, against those of the others
    file: str  # of parts/, with a function of the part's name
    prefers_torch: bool = False  # measures more where PyTorch is, and without it what NumPy can do

    def run(self, ask: BenchRequest) -> Iterator[Result | Skipped]:
        """What it measures, in this very process."""
        function: Any = getattr(import_module(f"rigright.machine.bench.parts.{self.file}"), self.name)
        yield from function(ask)

    def missing(self, ask: BenchRequest, *, torch_python: str | None) -> Sentence | None:
        """The first thing that is missing, as far as it is known before a child is started."""
        given = {"endpoint": ask.endpoint, "folder": ask.folder, "meeting": ask.meeting}
        whys = {
            "torch": None if torch_python else NO_TORCH,
            "numpy": None if torch_python or has_numpy() else NO_NUMPY,
            "endpoint": say("no server given: use --endpoint URL"),
            "folder": say("no folder to write to: use --disk"),
            "meeting": say("needs several nodes: use `rigright fleet bench --accept`"),
        }
        for need, why in whys.items():
            if need in self.needs and why is not None and given.get(need) is None:
                return why
        for need, program in _PROGRAMS.items():
            if need in self.needs and shutil.which(program) is None:
                return say("{program} is not on PATH", program=need)
        return None

    @property
    def least_cards(self) -> int:
        """How many it needs."""
        return max((_CARDS.get(need, 0) for need in self.needs), default=0)

    def too_few_cards(self, count: int) -> Sentence | None:
        """Whether it needs more cards than there are."""
        if count >= self.least_cards:
            return None
        if count == 0:
            return say("PyTorch finds no usable GPU (`rigright doctor` shows why)")
        return say("only one GPU")


def has_numpy() -> bool:
    """Whether this very Python has it."""
    return importlib.util.find_spec("numpy") is not None


_ROWS = (
    PartRow("collectives", say("collectives over all GPUs"),
            "cards", ("torch", "folder"), 2.0, "collectives"),
    PartRow("device_memory", say("memory bandwidth of each GPU"),
            "cards", ("torch", "accelerator"), 1.0, "device_memory"),
    PartRow("gemm", say("matrix multiplication on each GPU, by precision"),
            "cards", ("torch", "accelerator"), 4.0, "kernels"),
    PartRow("launch", say("kernel launch overhead"), "cards", ("torch", "accelerator"), 0.5, "kernels"),
    PartRow("memory_values", say("GPU memory test: write, read back, compare"),
            "cards", ("torch", "accelerator"), 1.0, "device_memory"),
    PartRow("nccl_tests", say("collectives over all GPUs, with nccl-tests"),
            "cards", ("nccl-tests",), 1.0, "collectives"),
    PartRow("nvbandwidth", say("copies to, from and between GPUs, with nvbandwidth"),
            "cards", ("nvbandwidth",), 1.0, "copies"),
    PartRow("peer", say("GPU-to-GPU copies"), "cards", ("torch", "two accelerators"), 1.5, "copies"),
    PartRow("sustained", say("all GPUs together under full load, warmed up, every value checked"),
            "cards", ("torch", "accelerator"), 3.0, "kernels"),
    PartRow("train_step", say("one training step: speed and memory"), "cards", ("torch",), 4.0, "training"),
    PartRow("transfer", say("copies between host memory and each GPU"),
            "cards", ("torch", "accelerator"), 1.0, "copies"),
    PartRow("transformer", say("transformer forward pass on CPU and GPU"),
            "cards", ("numpy",), 1.0, "transformer", prefers_torch=True),
    PartRow("cpu_gemm", say("matrix multiplication on the CPU"), "processor", ("numpy",), 0.5, "processor"),
    PartRow("data_loader", say("data loading: the best PyTorch DataLoader settings"),
            "processor", ("numpy",), 2.0, "pictures", prefers_torch=True),
    PartRow("preprocess", say("CPU preprocessing, by number of workers"),
            "processor", ("numpy",), 1.0, "pictures"),
    PartRow("ram", say("system memory bandwidth"), "processor", ("numpy",), 0.7, "processor"),
    PartRow("checkpoint", say("loading a checkpoint from a cold cache"),
            "disk", ("folder", "numpy"), 1.0, "files", prefers_torch=True),
    PartRow("disk", say("disk: random and sequential"), "disk", ("folder",), 3.0, "disk"),
    PartRow("memmap", say("reading a large file: mmap and read()"),
            "disk", ("folder", "numpy"), 1.0, "files"),
    PartRow("endpoint", say("an LLM endpoint: latency and tokens/s"),
            "network", ("endpoint",), 4.0, "endpoint"),
    PartRow("network", say("network to another machine, or loopback"), "network", (), 0.7, "network"),
    PartRow("nodes", say("collectives across nodes"),
            "network", ("torch", "folder", "meeting"), 1.0, "collectives"),
)  # fmt: skip
PARTS = {part.name: part for part in _ROWS}  # in the order they are measured: by group, then by name


def pick(wanted: Sequence[str], wish: BenchWish) -> tuple[str, ...]:
    """The parts asked for, in the order of the table; all without a wish."""
    asked = [word.strip() for text in wanted for word in text.split(",") if word.strip()]
    if asked:
        meant = {_named(word) for word in asked}
        return tuple(name for name in PARTS if name in meant)
    left = {"endpoint": wish.endpoint, "nodes": wish.meeting}
    return tuple(name for name in PARTS if name not in left or left[name] is not None)


def _named(word: str) -> str:
    """The part that is meant: "data-loader", "DataLoader" and "data_loader" are one."""
    plain = {_plain(name): name for name in PARTS}
    if _plain(word) not in plain:
        near = difflib.get_close_matches(_plain(word)[:40], plain, n=2) or plain
        known = ", ".join(plain[text] for text in near)
        raise AskError(say('unknown part "{name}"; known: {known}', name=word, known=known))
    return plain[_plain(word)]


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")
