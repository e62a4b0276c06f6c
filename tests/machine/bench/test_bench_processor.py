"""What the processor and main memory do, measured for real but small."""

from __future__ import annotations

import os
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from rigright.base.errors import MissingError
from rigright.base.units import MIB
from rigright.machine.bench.parts import pictures, processor
from rigright.machine.bench.parts.pictures import worker_counts
from rigright.machine.bench.record import BenchRequest, Result
from rigright.machine.world import World

ASK = BenchRequest(part="x", spare_s=0.05, quick=True, cpus=1)


def test_matrices_are_multiplied_in_both_precisions(monkeypatch):
    monkeypatch.setattr(processor, "SIDES", (128, 64))
    found = list(processor.cpu_gemm(ASK))
    assert [(one.what, one.unit) for one in found] == [("fp32", "flops_per_s"), ("fp64", "flops_per_s")]
    assert all(one.low <= one.value <= one.high and one.repeats >= 3 for one in found)


def test_main_memory_is_streamed_in_three_ways(monkeypatch):
    monkeypatch.setattr(processor, "QUICK_LARGEST", 8 * MIB)
    monkeypatch.setattr(processor, "SMALLEST", MIB)
    found = list(processor.ram(ASK))
    assert [one.what for one in found] == ["copy", "add", "triad"]
    assert all(1e7 < one.value < 1e13 for one in found)


def test_a_longer_run_asks_fewer_threads_too(monkeypatch):
    monkeypatch.setattr(processor, "LARGEST", 8 * MIB)
    monkeypatch.setattr(processor, "SMALLEST", MIB)
    monkeypatch.setattr(processor, "REPEATS", 2)
    monkeypatch.setattr(processor, "usable_cpus", lambda: tuple(sorted(os.sched_getaffinity(0))[:2]))
    found = [one for one in processor.ram(BenchRequest(part="ram", spare_s=30)) if "threads" in one.what]
    assert [one.what for one in found] == ["triad, 1 threads"] * (len(processor.usable_cpus()) > 1)


def test_the_triad_is_a_triad():
    kernel = processor._kernel("triad", 3 * processor.PIECE + 5)
    kernel()
    out = dict(
        zip(kernel.__code__.co_freevars, (cell.cell_contents for cell in kernel.__closure__), strict=True)
    )
    assert np.array_equal(out["out"], out["first"] + 1.5 * out["second"])


def test_too_little_memory_is_told(monkeypatch):
    monkeypatch.setattr(processor, "meminfo", lambda _: {"MemAvailable": 10 * MIB})
    with refused(MissingError):
        list(processor.ram(ASK))


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-3,8", [0, 1, 2, 3, 8]), ("", []), ("5", [5]), ("x,1-", []), ("2-1", [])]
)
def test_lists_of_processors_are_read(text, cpus):
    assert processor.cpu_list(text) == cpus


@given(st.text(alphabet="0123456789,-x \n", max_size=30))
def test_any_list_of_processors_is_read(text):
    assert len(processor.cpu_list(text)) < 200_000


def test_memory_domains_hold_the_processors_that_may_be_used(tmp_path):
    for name, cpus in (("node0", "0-3"), ("node1", "4-7"), ("node2", ""), ("power", "1")):
        folder = tmp_path / "sys/devices/system/node" / name
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(cpus + "\n", encoding="utf-8")
    world = World(root=tmp_path, is_live=True)
    assert processor.domains(world, allowed=frozenset({1, 2, 6})) == [(0, (1, 2)), (1, (6,))]


@given(st.integers(min_value=1, max_value=512))
def test_workers_grow_to_all_threads(most):
    counts = worker_counts(most)
    assert counts[0] == 1
    assert counts[-1] == most
    assert counts == sorted(set(counts))


def test_a_packed_picture_comes_back_as_it_was():
    pixels = pictures.decoded(pictures.packed(3, 64), 64)
    again = pictures.decoded(pictures.packed(3, 64), 64)
    assert pixels.shape == (64, 64, 3)
    assert np.array_equal(pixels, again)
    assert not np.array_equal(pixels, pictures.decoded(pictures.packed(4, 64), 64))
    fed = pictures.prepared(pictures.packed(1))
    assert fed.shape == (3, 256, 256)
    assert fed.dtype == np.float32
    assert abs(float(fed.mean())) < 1.0


def test_a_picture_takes_about_as_long_as_a_photograph_to_unpack():
    assert 50_000 < len(pictures.packed(0)) < 700_000  # of 786,432 bytes


def timed(monkeypatch):
    monkeypatch.setattr(pictures, "QUICK_ROUND_S", 0.02)
    monkeypatch.setattr(pictures, "worker_counts", lambda _: [1, 2])
    found = [
        one
        for one in pictures.preprocess(BenchRequest(part="x", spare_s=600, quick=True, cpus=2))
        if isinstance(one, Result)
    ]
    by_what = {one.what: one.value for one in found}
    assert list(by_what) == [
        *("csv, 1 workers", "pictures, 1 workers", "csv, 2 workers", "pictures, 2 workers"),
        *("csv, scaling at 2 workers", "pictures, scaling at 2 workers"),
    ]
    for name in ("csv", "pictures"):
        one, two = by_what[f"{name}, 1 workers"], by_what[f"{name}, 2 workers"]
        assert by_what[f"{name}, scaling at 2 workers"] == pytest.approx(two / one / 2)


@pytest.mark.skipif(os.name == "nt", reason="no forks there")
def test_workers_are_timed_one_and_all_and_their_scaling_told(monkeypatch):
    """Small jobs, and workers that load nothing: what is timed is told the same way."""
    monkeypatch.setattr(pictures, "get_context", lambda _: get_context("fork"))
    monkeypatch.setattr(pictures, "ROWS", 20)
    monkeypatch.setattr(pictures, "PICTURES", 1)
    timed(monkeypatch)


@pytest.mark.live
def test_workers_of_their_own_are_timed(monkeypatch):
    timed(monkeypatch)


def test_every_cell_of_the_table_is_read():
    assert pictures.parse(0) == pictures.ROWS * pictures.COLUMNS
