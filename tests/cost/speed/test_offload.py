"""A model partly in main memory: laws that hold whatever the terms are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.sources.open import open_model
from rigright.cost.speed.rates import beside
from rigright.cost.speed.step import Pass, sent_bytes, step
from rigright.cost.speed.work import InRam, parted
from rigright.demand import Layout
from rigright.facts.chips import by_id
from rigright.facts.engines import find_engine
from rigright.facts.host_words import find_host
from rigright.facts.hosts import host_chip
from rigright.terms.speed import rates_of, speed_terms, work_of

WEIGHTS = "gguf:Q4_K_M"
ENGINE = find_engine("llama.cpp")
CARD = by_id()["rtx-4090"]
WORK = work_of(open_model("qwen3-30b-a3b"), weights=WEIGHTS, kv="16bit")
ONE = Layout()
DECODE = Pass(decode_seqs=1, decode_context_tok=2048)
share = st.floats(0, 1)


def rates_with(words="ryzen 7950x + 64gb ddr5-6000"):
    plain = rates_of((CARD,), ENGINE, weights=WEIGHTS)
    hosts = (host_chip(find_host(words)),)
    return beside(plain, speed_terms(hosts, ENGINE, weights=WEIGHTS), cards=(CARD,))


def token_s(ram, words="ryzen 7950x + 64gb ddr5-6000"):
    return float(np.max(step(replace(WORK, ram=ram), rates_with(words), layout=ONE, content=DECODE).total_s))


def test_nothing_in_main_memory_is_the_plain_pass():
    plain = step(WORK, rates_of((CARD,), ENGINE, weights=WEIGHTS), layout=ONE, content=DECODE).total_s
    assert token_s(InRam()) == pytest.approx(float(plain[0]), rel=1e-12)


@given(experts=share, attn=share)
def test_both_parts_are_the_whole(experts, attn):
    ram = InRam(experts=experts, ffn=attn, attn=attn, head=attn, kv=attn)
    cards, inside = parted(WORK, ram)
    for name in ("elems", "size_bytes"):
        sums = [sum(float(getattr(gemm, name)) for gemm in one.gemms) for one in (cards, inside, WORK)]
        assert sums[0] + sums[1] == pytest.approx(sums[2])


@given(low=share, high=share)
def test_more_experts_in_main_memory_are_no_faster(low, high):
    low, high = sorted((low, high))
    assert token_s(InRam(experts=low)) <= token_s(InRam(experts=high)) * (1 + 1e-9)


@given(experts=st.floats(0.05, 1), slow=st.integers(2400, 5000), more=st.integers(1, 3000))
def test_faster_memory_is_no_slower(experts, slow, more):
    ram = InRam(experts=experts)
    first, second = (token_s(ram, f"ryzen 7950x + 64gb ddr5-{rate}") for rate in (slow, slow + more))
    assert second <= first * (1 + 1e-9)


@given(tok=st.integers(1, 4096), experts=share)
def test_no_more_is_sent_than_lies_there(tok, experts):
    ram = InRam(experts=experts)
    held = sum(gemm.size_bytes for gemm in WORK.gemms if gemm.kind == "expert") * experts
    assert 0 <= float(sent_bytes(WORK, ram, tok=tok)) <= held * (1 + 1e-9)


def test_long_prompts_are_sent_to_the_card_and_short_ones_are_not():
    ram = replace(WORK, ram=InRam(experts=1.0))
    there = rates_with()
    here = replace(there, host=replace(there.host, most_tok=np.inf))

    def prompt_s(rates, tok):
        content = Pass(prefill_tok=tok, prefill_seqs=1, prefill_seen_tok=tok / 2)
        return float(np.max(step(ram, rates, layout=ONE, content=content).total_s))

    assert prompt_s(there, 16) == prompt_s(here, 16)
    assert prompt_s(there, 512) != prompt_s(here, 512)


def test_a_second_socket_without_copies_is_far_from_twice_as_fast():
    one, two = (token_s(InRam(experts=1.0), words) for words in ("epyc 9355 + 384gb", "2x epyc 9355 + 768gb"))
    assert 1 < one / two < 1.7
