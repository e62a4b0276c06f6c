"""Layers over unlike cards and over the host: the slow part decides, and nothing is lost between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from rigright.arch.sources.open import open_model
from rigright.base.units import GIGA
from rigright.cost.speed.split import Held, Host, split_times, touched_bytes
from rigright.cost.speed.step import Pass
from rigright.cost.speed.stream import Stream, prompt_s, stream_of, token_s
from rigright.cost.speed.work import Work, work_of
from rigright.demand import Layout
from rigright.facts.engines import engines
from rigright.facts.find import find_chip

DESKTOP = Host(mem_bytes_per_s=80 * GIGA, cores=16, clock_hz=5 * GIGA, slot_bytes_per_s=31.5 * GIGA)


def work(model: str = "meta-llama/Llama-3.1-8B") -> Work:
    return work_of(open_model(model), weights="gguf:Q4_K_M", kv="16bit")


def card(name: str) -> Stream:
    return stream_of([find_chip(name)], engines()["llama.cpp"], weights="gguf:Q4_K_M")


def speeds(
    held: list[tuple[str, float]], host: Host | None = None, *, of: Work | None = None
) -> tuple[float, float]:
    parts = [Held(stream=card(name), layers=layers) for name, layers in held]
    found = split_times(of or work(), parts, host=host, prompt_tok=1024)
    return float(np.max(found.token_s)), float(np.max(found.prompt_s))


def test_one_card_that_holds_all_is_a_plain_stream() -> None:
    token, prompt = speeds([("rtx-3090", 32)])
    known = card("rtx-3090")
    one = Layout()
    assert token == pytest.approx(float(token_s(work(), known, layout=one, seqs=1, context_tok=1024)[0]))
    content = Pass(prefill_tok=1024, prefill_seqs=1)
    assert prompt == pytest.approx(float(prompt_s(work(), known, layout=one, content=content)[0]))


def test_two_cards_alike_take_as_long_as_one_and_a_copy() -> None:
    one, _ = speeds([("rtx-3090", 32)])
    two, _ = speeds([("rtx-3090", 16), ("rtx-3090", 16)])
    assert one < two < 1.3 * one


@given(moved=some.integers(0, 32))
def test_layers_moved_to_a_slower_card_never_help(moved: int) -> None:
    token, _ = speeds([("rtx-4090", 32 - moved), ("rtx-3060-12gb", moved)])
    less, _ = speeds([("rtx-4090", 32 - max(moved - 1, 0)), ("rtx-3060-12gb", max(moved - 1, 0))])
    assert token >= less * (1 - 1e-9)


@given(layers=some.integers(0, 31))
def test_each_layer_on_the_host_costs_tokens(layers: int) -> None:
    def on_host(count: int) -> float:
        return speeds([("rtx-4090", 32 - count)], replace(DESKTOP, layers=count))[0]

    assert on_host(layers + 1) > on_host(layers)


def test_half_of_a_model_on_the_host_is_paced_by_its_memory() -> None:
    """16 of 32 layers in dual-channel memory: most of the time goes there, whatever the card."""
    slow, _ = speeds([("rtx-3060-12gb", 16)], replace(DESKTOP, layers=16))
    fast, _ = speeds([("rtx-4090", 16)], replace(DESKTOP, layers=16))
    least = touched_bytes(work()) / 2 / DESKTOP.mem_bytes_per_s
    assert least < fast < slow < 2.5 * least


def test_experts_alone_on_the_host_cost_less_than_whole_layers() -> None:
    """Few of many experts are read for a token: that is why they are what is sent to the host."""
    experts = work("Qwen/Qwen3.5-122B-A10B")
    count = experts.layers
    alone, _ = speeds([("rtx-4090", count)], replace(DESKTOP, expert_layers=count), of=experts)
    whole, _ = speeds([("rtx-4090", 0)], replace(DESKTOP, layers=count), of=experts)
    assert alone < whole
    assert touched_bytes(experts, kinds=("expert",)) < 0.1 * sum(gemm.size_bytes for gemm in experts.gemms)


def test_no_card_at_all_runs_on_the_host() -> None:
    token, prompt = speeds([], replace(DESKTOP, layers=32))
    assert 0.05 < token < 0.5
    assert prompt > 10 * token


def test_many_ways_to_split_are_one_call() -> None:
    layers = np.array([32.0, 24.0, 8.0, 0.0])
    parts = [Held(stream=card("rtx-4090"), layers=layers), Held(stream=card("rtx-3090"), layers=32 - layers)]
    together = split_times(work(), parts, prompt_tok=1024).token_s
    for place, count in enumerate(layers):
        own = [Held(stream=card("rtx-4090"), layers=count), Held(stream=card("rtx-3090"), layers=32 - count)]
        alone = split_times(work(), own, prompt_tok=1024).token_s
        assert together[place] == alone[0]
