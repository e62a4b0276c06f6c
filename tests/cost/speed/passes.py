"""One pass of any model on any chip, asked in a line: what several files of laws share."""

from __future__ import annotations

from functools import cache

import numpy as np

from rigright.arch.sources import zoo
from rigright.cost.speed.step import Pass, step
from rigright.demand import Layout
from rigright.facts.chips import by_id, chips
from rigright.facts.engines import find_engine, runnings
from rigright.terms.speed import rates_of, work_of

LLAMA = zoo.arch("meta-llama/Llama-3.1-8B")
BIG = zoo.arch("meta-llama/Llama-3.1-70B")
MIXTRAL = zoo.arch("mistralai/Mixtral-8x7B-v0.1")
DEEPSEEK = zoo.arch("deepseek-ai/DeepSeek-V3")
GEMMA = zoo.arch("google/gemma-3-27b-it")
MODELS = (LLAMA, MIXTRAL, DEEPSEEK, GEMMA)
HOPPER = "h100-sxm5-80gb"
SERVERS = ("vllm", "sglang", "trtllm")
PARTS = ("gemm_s", "attention_s", "link_s", "fixed_s")


@cache
def servable():
    """Chips that some server engine runs 16-bit weights on, with stated rates."""
    engines = {row.engine for row in runnings() if row.takes("bf16") or row.takes("fp16")} & set(SERVERS)
    rows = [row for row in runnings() if row.engine in engines and (row.takes("bf16") or row.takes("fp16"))]
    return tuple(
        chip
        for chip in chips()
        if (chip.training_flops_per_s or chip.fp16_flops_per_s) and any(row.holds(chip) for row in rows)
    )


@cache
def rates(chip=HOPPER, engine="vllm", weights="bf16"):
    return rates_of([by_id()[chip]], find_engine(engine), weights=weights)


@cache
def work(model, weights="bf16", kv="16bit"):
    return work_of(model, weights=weights, kv=kv)


def timed(model=LLAMA, *, on=HOPPER, weights="bf16", kv="16bit", layout=None, **content):
    """The parts of a pass."""
    return step(
        work(model, weights, kv),
        rates(on, weights=weights),
        layout=layout or Layout(),
        content=Pass(**content),
    )


def one(value):
    return float(np.ravel(value)[0])


def total_s(*args, **kwargs):
    return one(timed(*args, **kwargs).total_s)


def decoding(seqs, context):
    return {"decode_seqs": seqs, "decode_context_tok": context}


def reading(tok, seen=None):
    return {"prefill_tok": tok, "prefill_seen_tok": tok / 2 if seen is None else seen, "prefill_seqs": 1}
