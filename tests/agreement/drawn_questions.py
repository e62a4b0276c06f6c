"""Questions that every verb can be asked: a seeded draw of models x machines x works x loads x limits."""

from __future__ import annotations

import csv
import os
import random
from dataclasses import dataclass, fields, replace
from functools import cache

import pytest

from rigright.arch.record import Arch
from rigright.arch.sources.open import open_model
from rigright.demand import PlanWish, ServingWish
from rigright.facts.nodes import Node, find_node
from rigright.search.market import Market, market_on
from rigright.verbs.own import today
from rigright.verbs.validate.verb import validate

SMALL = (
    "Qwen/Qwen3-0.6B", "meta-llama/Llama-3.2-1B", "qwen3-4b", "llama-3.1-8b", "qwen3-8b",
    "google/gemma-3-4b-it",
    "mistralai/Mistral-7B-v0.1", "microsoft/phi-4", "tiiuae/falcon-mamba-7b", "microsoft/phi-2",
    "state-spaces/mamba2-2.7b", "llama3.1:8b-instruct-q4_K_M", "deepseek-ai/DeepSeek-V2-Lite", "gpt-oss-20b",
)  # fmt: skip
MIDDLE = (
    "qwen3-32b", "google/gemma-3-27b-it", "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B-FP8", "mixtral-8x7b",
    "qwen2.5-32b-instruct-awq", "Qwen/Qwen3-32B-FP8-Static-PerTensor", "ai21labs/Jamba-v0.1", "gpt-oss-20b",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", "qwen3:32b", "moonshotai/Kimi-Linear-48B-A3B-Instruct",
)  # fmt: skip
LARGE = (
    "llama-3.3-70b", "gpt-oss-120b", "nvidia/Llama-3.1-70B-Instruct-FP8", "mixtral-8x22b", "qwen2.5-72b",
    "Qwen/Qwen3-235B-A22B", "MiniMaxAI/MiniMax-M2", "zai-org/GLM-4.5-Air", "llama3.3:70b",
)  # fmt: skip
HUGE = ("deepseek-v3", "moonshotai/Kimi-K2-Instruct", "llama-3.1-405b", "zai-org/GLM-5-FP8")

DESK = (
    "rtx 3060 12gb", "rtx 4060 ti 16gb", "rtx 4090", "2x rtx 3090", "2x rtx 4090", "4x rtx 3090", "rtx 5090",
    "rx 7900 xtx", "m4 max 128gb", "m2 ultra 192gb", "m1 8gb", "rtx 4090 + rtx 3060 12gb", "arc b580",
    "3x rtx 3090",
    "rtx 3090 + rtx 4090", "jetson agx orin 64gb", "gtx 1080 ti", "strix halo 128gb", "dgx spark",
)  # fmt: skip
RACK = (
    "l4", "4x l4", "2x l40s", "8x l40s", "2x rtx a6000", "4x rtx pro 6000", "a100 40gb", "4x a100 80gb",
    "8x a100 80gb", "h100", "2x h100", "4x h100", "8x h100", "8x h200", "8x b200", "mi300x", "8x mi300x",
    "4x v100 32gb",
    "4x tesla p40", "8x t4", "2x 8x h100", "2x8 h200", "3x a100 80gb", "4x mi250x", "8x gaudi 3",
)  # fmt: skip
PAIRS = (
    (SMALL, DESK), (SMALL, RACK), (MIDDLE, DESK), (MIDDLE, RACK), (LARGE, RACK), (HUGE, RACK[-14:]),
)  # fmt: skip
WORKS = ("auto", "auto", "auto", "chat", "serve", "rag", "agent", "batch")
LENGTHS = ((None, None), (None, None), (128, 128), (1024, 256), (3500, 500), (2048, None))
PLAYED = ((128, 128), (1024, 256), (4000, 500), (512, 1024), (2048, 64))
USERS = (None, None, 1, 2, 8, 32, 100)
BUDGETS = (800.0, 1500.0, 3000.0, 8000.0, 20_000.0, 60_000.0)
THOROUGH = os.environ.get("RIGRIGHT_HYPOTHESIS") == "thorough"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question: a model, and what was said of machine, work and limits."""

    model: str
    wish: PlanWish

    def __str__(self) -> str:
        blank = PlanWish()
        said = {one.name: getattr(self.wish, one.name) for one in fields(PlanWish) if one.name != "on"}
        told = ", ".join(f"{name}={value}" for name, value in said.items() if value != getattr(blank, name))
        return f"{self.model} on {self.wish.on or 'what is sold'} ({told})"

    @property
    def arch(self) -> Arch:
        """The model, read once."""
        return arch_of(self.model)

    @property
    def node(self) -> Node:
        """The machine, read once."""
        return node_of(self.wish.on or "")

    @property
    def serving(self) -> ServingWish:
        """The same as `explain` is asked it."""
        wish = self.wish
        return ServingWish(
            weights=next(iter(wish.weights), None),
            prompt_tok=wish.prompt_tok,
            output_tok=wish.output_tok,
            context_tok=wish.context_tok,
            users=wish.users,
            rate_per_s=wish.rate_per_s,
        )

    @property
    def beside(self) -> PlanWish | None:
        """What `explain` has no option for: the kind of work, and limits."""
        wish = self.wish
        told = wish.work != "auto" or any((wish.ttft_s, wish.tpot_s, wish.tok_per_s, wish.percentile))
        return wish if told else None


@cache
def arch_of(model: str) -> Arch:
    """The model, read once."""
    return open_model(model)


@cache
def node_of(machine: str) -> Node:
    """The machine, read once."""
    return find_node(machine)


@cache
def market() -> Market:
    """Today's market."""
    return market_on(today())


def seeds(count: int, *, quick: int = 1) -> list[object]:
    """Seeds of draws, each a test of its own where many are asked."""
    if not THOROUGH:
        return list(range(quick))
    return [pytest.param(seed, marks=pytest.mark.hypothesis) for seed in range(count)]


def plain(count: int, *, seed: int) -> list[Asked]:
    """Questions that `explain` can be asked too: machine, load, lengths and formats."""
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    return [_drawn(dice) for _ in range(count)]


def bounded(count: int, *, seed: int) -> list[Asked]:
    """Questions with a kind of work, a rate of requests, and limits."""
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    return [_drawn(dice, limits=True) for _ in range(count)]


def _drawn(dice: random.Random, *, limits: bool = False) -> Asked:
    models, machines = dice.choice(PAIRS)
    prompt, output = dice.choice(LENGTHS)
    said: dict[str, object] = {"prompt_tok": prompt, "output_tok": output, "users": dice.choice(USERS)}
    if dice.random() < 0.25:
        said["context_tok"] = dice.choice((4096, 16384, 32768))
    if dice.random() < 0.15:
        said["weights"] = (dice.choice(("fp8", "q4", "int8", "bf16")),)
    if limits:
        said["work"] = dice.choice(WORKS)
        if said["users"] is None and dice.random() < 0.5:
            said["rate_per_s"] = dice.choice((0.2, 1.0, 5.0, 20.0))
        said |= _limits(dice)
    return Asked(model=dice.choice(models), wish=PlanWish(on=dice.choice(machines), **said))


def _limits(dice: random.Random) -> dict[str, float]:
    values = {"ttft_s": (0.5, 2.0, 10.0), "tpot_s": (0.02, 0.05, 0.2), "tok_per_s": (20.0, 500.0)}
    said = {name: dice.choice(some) for name, some in values.items() if dice.random() < 0.3}
    if {"ttft_s", "tpot_s"} & set(said) and dice.random() < 0.3:
        said["percentile"] = dice.choice((0.5, 0.95, 0.99))
    return said


def sold(count: int, *, seed: int) -> list[Asked]:
    """Questions of what to buy or rent, with a limit of time."""
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    return [_sold(dice) for _ in range(count)]


def _sold(dice: random.Random) -> Asked:
    said: dict[str, object] = {"users": dice.choice((None, 1, 2, 8, 32, 100))}
    if said["users"] is None and dice.random() < 0.5:
        said["rate_per_s"] = dice.choice((0.2, 1.0, 5.0))
    if dice.random() < 0.4:
        said |= {"prompt_tok": dice.choice((128, 1024, 4000)), "output_tok": dice.choice((128, 500))}
    if dice.random() < 0.3:
        said["work"] = dice.choice(("chat", "rag", "agent", "serve"))
    if dice.random() < 0.5:
        said["vendors"] = ("nvidia",)
    if dice.random() < 0.5:
        said["tpot_s"] = dice.choice((0.02, 0.05, 0.1))
    said["ttft_s"] = dice.choice((0.5, 1.0, 2.0, 5.0))
    return Asked(model=dice.choice(SMALL + MIDDLE + LARGE), wish=PlanWish(**said))


def played(count: int, *, seed: int) -> list[Asked]:
    """Questions whose load can be played: so many in flight, or requests that arrive."""
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    return [_played(dice) for _ in range(count)]


def judged(count: int, *, seed: int) -> list[Asked]:
    """The same with limits of time, on average or for a share of requests; or a load left open."""
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    return [_judged(dice) for _ in range(count)]


def _judged(dice: random.Random) -> Asked:
    asked = _played(dice)
    limits = {"ttft_s": (0.2, 0.5, 1.0, 2.0, 5.0, 10.0), "tpot_s": (0.01, 0.02, 0.05, 0.1, 0.2)}
    named = dice.choice((("ttft_s",), ("tpot_s",), ("ttft_s", "tpot_s")))
    said: dict[str, float | None] = {name: dice.choice(limits[name]) for name in named}
    said["percentile"] = dice.choice((None, None, 0.5, 0.9, 0.95, 0.99))
    open_load: dict[str, None] = {"users": None, "rate_per_s": None} if dice.random() < 1 / 3 else {}
    return replace(asked, wish=replace(asked.wish, **said, **open_load))


def _played(dice: random.Random) -> Asked:
    models, machines = dice.choice(PAIRS)
    prompt, output = dice.choice(PLAYED)
    users = dice.choice((None, 1, 2, 8, 32, 100, 256))
    rate = None if users else dice.choice((0.1, 0.5, 2.0, 8.0))
    wish = PlanWish(
        on=dice.choice(machines), work="serve", prompt_tok=prompt, output_tok=output, users=users,
        rate_per_s=rate,
    )  # fmt: skip
    return Asked(model=dice.choice(models), wish=wish)


def judged_rows(rows, folder):
    """Rows as a table of runs, each as `validate` judges it."""
    path = folder / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        table.writeheader()
        table.writerows(rows)
    return validate(str(path)).rows


def differing(rows, expected, folder):
    """Rows that are not predicted as the question is answered: figure and band, to a millionth."""
    different = []
    for row, want, judged in zip(rows, expected, judged_rows(rows, folder), strict=True):
        (found,) = judged.predictions
        got = [found.predicted, found.low, found.high]
        endless = got == [None] * 3 and want[0] == float("inf")
        if not endless and (None in got or got != pytest.approx(want, rel=1e-6)):
            different.append((row, got, want, str(found.why)))
    return different
