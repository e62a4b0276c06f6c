"""What a part needs, and why it cannot run where that is missing."""

from __future__ import annotations

import importlib.util
import shutil

from rigright.base.words import Sentence, say
from rigright.machine.bench.ask import BenchRequest

NO_TORCH = say("no PyTorch found: install it (`rigright setup`), or use --python for a Python that has it")
NO_NUMPY = say("no NumPy found: install it, or use --python for a Python that has it")
IN_CHILD = {"accelerator": 1, "two accelerators": 2}  # cards, which only a process with PyTorch can count


def missing(needs: tuple[str, ...], ask: BenchRequest, *, torch_python: str | None) -> Sentence | None:
    """The first thing that is missing, as far as it is known before a child is started."""
    if torch_python is None:
        lacking = [NO_TORCH] if "torch" in needs else []
        lacking += [NO_NUMPY] if "numpy" in needs and not has_numpy() else []
        if lacking:
            return lacking[0]
    if "endpoint" in needs and ask.endpoint is None:
        return say("no server given: use --endpoint URL")
    if "folder" in needs and ask.folder is None:
        return say("no folder to write to: use --disk")
    if "meeting" in needs and ask.meeting is None:
        return say("needs several nodes: use `rigright fleet bench --accept`")
    programs = {"nccl-tests": "all_reduce_perf", "nvbandwidth": "nvbandwidth"}
    for shown, program in programs.items():
        if shown in needs and shutil.which(program) is None:
            return say("{program} is not on PATH", program=shown)
    return None


def has_numpy() -> bool:
    """Whether this very Python has it."""
    return importlib.util.find_spec("numpy") is not None


def too_few_cards(needs: tuple[str, ...], count: int) -> Sentence | None:
    """Whether a part needs more cards than there are."""
    least = max((IN_CHILD.get(need, 0) for need in needs), default=0)
    if count >= least:
        return None
    if count == 0:
        return say("PyTorch finds no usable GPU (`rigright doctor` shows why)")
    return say("only one GPU")
