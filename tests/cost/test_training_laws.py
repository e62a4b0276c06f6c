"""Laws that training memory obeys whatever is trained, by whom and over how many cards."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.sources import zoo
from rigright.base.tables import DATA
from rigright.cost.training.setup import METHODS, OFFLOADS, RECOMPUTES, SCHEDULES
from rigright.demand import Layout, Training
from rigright.predict.trained_memory import training_memory

ARCHS = (
    "meta-llama/Llama-3.1-8B",
    "meta-llama/Llama-3.2-1B",
    "Qwen/Qwen3-30B-A3B",
    "deepseek-ai/DeepSeek-V3",
    "google-bert/bert-base-uncased",
    "state-spaces/mamba-2.8b-hf",
    "google-t5/t5-small",
)
TRAINERS, OPTIMIZERS = (
    sorted(tomllib.loads((DATA / f"{table}.toml").read_text(encoding="utf-8")))
    for table in ("trainers", "optimizers")
)
NAMES = st.sampled_from(ARCHS)
TRAININGS = st.builds(
    Training,
    trainer=st.sampled_from(TRAINERS),
    method=st.sampled_from(METHODS),
    optimizer=st.none() | st.sampled_from(OPTIMIZERS),
    micro_batch=st.integers(1, 8),
    seq_tok=st.integers(64, 8192),
    recompute=st.none() | st.sampled_from(RECOMPUTES),
    flash=st.booleans(),
    chunked_loss=st.booleans(),
    rank=st.integers(1, 256),
    targets=st.sampled_from(["attn", "ffn", "all"]),
    sharding=st.sampled_from(["none", "zero1", "zero2", "zero3", "fsdp"]),
    schedule=st.sampled_from(SCHEDULES),
    offload=st.sampled_from(OFFLOADS),
)
LAYOUTS = st.builds(
    Layout,
    tp=st.sampled_from([1, 2, 4]),
    pp=st.sampled_from([1, 2]),
    dp=st.sampled_from([1, 2, 8]),
    cp=st.sampled_from([1, 2]),
    sequence_parallel=st.booleans(),
)


def allocated(name, training, layout):
    return float(training_memory(zoo.arch(name), training, layout=layout).allocated_bytes)


def at_most(one, two):
    return one <= two * (1 + 1e-9)


@given(NAMES, TRAININGS, LAYOUTS)
def test_parts_make_the_peak_and_what_holds_more_is_more(name, training, layout):
    found = training_memory(zoo.arch(name), training, layout=layout)
    parts = {part: float(size) for part, size in found.parts.items()}
    assert min(parts.values()) >= 0, parts
    assert np.isclose(sum(parts.values()), float(found.allocated_bytes))
    assert max(float(size) for size in found.phases.values()) == float(found.allocated_bytes)
    assert found.allocated_bytes <= found.reserved_bytes <= found.device_bytes
    assert found.allocated_bytes <= found.least_bytes


@given(NAMES, TRAININGS, LAYOUTS, st.integers(1, 1000))
def test_more_samples_or_longer_ones_never_need_less(name, training, layout, more):
    less = allocated(name, training, layout)
    for changes in ({"micro_batch": training.micro_batch + more}, {"seq_tok": training.seq_tok + more}):
        assert at_most(less, allocated(name, replace(training, **changes), layout)), changes


@given(NAMES, TRAININGS, LAYOUTS)
def test_what_is_said_to_save_never_costs(name, training, layout):
    """Each against its absence. Full against selective recompute is no law: full redoes a whole layer."""
    for recompute in ("full", "selective"):
        saved, kept = (
            allocated(name, replace(training, recompute=told), layout) for told in (recompute, "none")
        )
        assert at_most(saved, kept), recompute
    for saver, without in (
        ({"flash": True}, {"flash": False}),
        ({"chunked_loss": True}, {"chunked_loss": False}),
        ({"offload": "optimizer-cpu"}, {"offload": "none"}),
        ({"offload": "all-cpu"}, {"offload": "none"}),
    ):
        saved = allocated(name, replace(training, **saver), layout)
        assert at_most(saved, allocated(name, replace(training, **without), layout)), saver


@given(NAMES, TRAININGS, LAYOUTS)
def test_more_cards_never_hold_more_each(name, training, layout):
    one = allocated(name, training, layout)
    assert at_most(allocated(name, training, replace(layout, tp=2 * layout.tp)), one)
    if layout.dp > 1:
        assert at_most(allocated(name, training, replace(layout, dp=2 * layout.dp)), one)


@given(NAMES, TRAININGS)
def test_adapters_are_cheaper_than_the_whole_and_a_4_bit_base_cheaper_still(name, training):
    training = replace(training, offload="none", sharding="none", references=0, optimizer="adamw", rank=8)
    standing = {}
    for method in METHODS:
        found = training_memory(zoo.arch(name), replace(training, method=method), layout=Layout())
        standing[method] = float(found.phases["load"])
    assert standing["qlora"] < standing["lora"] < standing["full"]
    assert at_most(standing["lora"], standing["dora"])


@given(
    NAMES,
    TRAININGS,
    st.lists(
        st.tuples(st.integers(1, 16), st.integers(64, 8192), st.sampled_from([1, 2, 4]), st.integers(1, 16)),
        min_size=1,
        max_size=4,
    ),
)
def test_choices_as_arrays_are_the_choices_one_by_one_to_the_bit(name, training, choices):
    samples, seq, tp, dp = (np.array(column) for column in zip(*choices, strict=True))
    asked = replace(training, micro_batch=samples, seq_tok=seq)
    together = training_memory(zoo.arch(name), asked, layout=Layout(tp=tp, dp=dp))
    for place, (one_samples, one_seq, one_tp, one_dp) in enumerate(choices):
        asked = replace(training, micro_batch=one_samples, seq_tok=one_seq)
        alone = training_memory(zoo.arch(name), asked, layout=Layout(tp=one_tp, dp=one_dp))
        for field in ("allocated_bytes", "reserved_bytes", "device_bytes", "host_bytes", "nvme_bytes"):
            many = np.broadcast_to(getattr(together, field), len(choices))[place]
            assert float(many) == float(getattr(alone, field)), field
        for part, size in alone.parts.items():
            assert float(np.broadcast_to(together.parts[part], len(choices))[place]) == float(size), part
