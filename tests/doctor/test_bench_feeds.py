"""What `bench` names is what others read: the doctor, `diagnose`, `upgrade`, the page and its JSON."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace

import pytest

from advised import filled
from rigright.base.units import MIB, show_measured
from rigright.doctor.binding.judge import judge
from rigright.doctor.examine import case_of, examine
from rigright.doctor.reference import compare_all
from rigright.facts.bench import expectations, expected
from rigright.machine.bench import storage
from rigright.machine.bench.parts import collectives, copies, disk, files
from rigright.machine.bench.record import BenchRequest, Result
from rigright.machine.bench.storage import ScratchFolder
from rigright.machine.bench.table import PARTS
from rigright.machine.bench.tool_logs import TITLES
from rigright.machine.device import Device
from rigright.machine.host import Disk, Mount
from rigright.machine.record import Machine
from rigright.machine.tick import DeviceTick, HostTick, Tick
from rigright.report.pages.bench import page, plain
from rigright.verbs.bench.record import BenchRun
from rigright.verbs.diagnose import _drifts
from rigright.verbs.upgrade import standing_of

MACHINE = Machine(
    devices=tuple(Device(index=index, vendor="nvidia", name="NVIDIA H100 80GB HBM3") for index in range(2)),
    disks=(Disk(name="d", kind="nvme", gen=4, lanes=4),),
    mounts=(Mount(path="/", source="d", kind="ext4", disk="d"),),
)
TOLD = disk.FioResult(
    ops_per_s=5e5, ops_least=4e5, ops_most=6e5, bytes_per_s=3e9, latency_p99_s=1e-3,
    version="fio-3.33",
)  # fmt: skip


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """The disk part's figures with the own reader, and with a played fio."""
    place = ScratchFolder(folder="/data", kind="ext4", free_bytes=1e12)
    for part in (disk, files):
        monkeypatch.setattr(part, "QUICK_SIZE", 8 * MIB)
        monkeypatch.setattr(part, "place_of", lambda _: place)
    monkeypatch.setattr(storage, "LEAST", MIB)

    def run(*, with_fio):
        monkeypatch.setattr(disk.shutil, "which", lambda _: "/usr/bin/fio" if with_fio else None)
        monkeypatch.setattr(disk, "fio", lambda *_, **__: TOLD)
        asked = BenchRequest(
            part="disk", spare_s=0.2, quick=True, folder=str(tmp_path), shown_folder="/data", cpus=1
        )
        return tuple(
            replace(one, part="disk", at_s=1.0) for one in disk.disk(asked) if isinstance(one, Result)
        )

    return run


def moment(read_bytes_per_s):
    host = HostTick(disk_read_bytes_per_s=read_bytes_per_s, cpu_share=0.1, busiest_core_share=0.1)
    card = DeviceTick(index=0, busy_share=0.1, programs=())
    return tuple(Tick(at_s=at, clock_s=at, devices=(card,), host=host) for at in range(5))


@pytest.mark.parametrize("with_fio", [True, False])
def test_the_disk_that_was_benched_is_what_upgrade_stands_on(measured, with_fio):
    results = measured(with_fio=with_fio)
    reads = [one.value for one in results if one.what.startswith("sequential read")]
    standing = standing_of(case_of(MACHINE, results=results), dt.date(2026, 11, 22))
    assert standing.disk_bytes_per_s == max(reads)
    assert standing_of(case_of(MACHINE), dt.date(2026, 11, 22)).disk_bytes_per_s is None


@pytest.mark.parametrize("with_fio", [True, False])
def test_a_disk_that_reads_all_it_was_benched_at_binds(measured, with_fio):
    results = measured(with_fio=with_fio)
    most = max(one.value for one in results if one.unit == "bytes_per_s")
    case = case_of(MACHINE, results=results)
    assert judge(moment(most), case).bounds[0].cause.name == "disk"
    assert "disk" not in [bound.cause.name for bound in judge(moment(most / 100), case).bounds]


@pytest.mark.parametrize("with_fio", [True, False])
def test_every_figure_of_a_disk_that_can_be_expected_has_its_row(measured, with_fio):
    """But for writing, which wears a disk and of which nothing is asked, and the slowest of a hundred."""
    for one in measured(with_fio=with_fio):
        row = expected("disk", one.what, kind="nvme")
        assert (row is None) == ("write" in one.what or "slowest" in one.what), one.what


def test_every_expectation_is_of_a_figure_that_its_part_can_give():
    """Names are written twice, in the part and in the table: each row's words stand in its part's file."""
    from importlib import import_module
    from inspect import getsource

    names = {"nccl_tests", "nvbandwidth", "collectives"}  # named by the tools, or by collective and size
    for row in expectations():
        if row.part in TITLES:  # of logs that others made
            continue
        source = getsource(import_module(f"rigright.machine.bench.parts.{PARTS[row.part].file}"))
        first = row.what.replace(",", " ").replace("*", " ").split()[0]
        if row.part not in names:
            assert first in source, row
    sizes = {size // MIB for size in collectives.SIZES}
    for row in expectations():
        if row.part == "collectives":
            name, size, _ = row.what.split()
            assert name in collectives.ALL
            assert int(size) in sizes
        if row.part == "nccl_tests":
            name = row.what.split()[0]
            assert name in {"broadcast", "reduce"} or (
                f"{name.replace('all_to_all', 'alltoall')}_perf" in collectives.PROGRAMS
            )
        if row.part == "nvbandwidth":
            assert row.what in copies.NVBANDWIDTH


def test_a_short_run_after_a_long_one_is_no_drift_and_a_slower_one_is(measured):
    long = replace(measured(with_fio=True)[0], settings=(("file", "10.0 GiB"),), value=5e5)
    short = replace(long, settings=(("file", "256 MiB"),), value=1e5, at_s=2.0)
    assert _drifts([long, short]) == ()
    slower = replace(long, value=1e5, at_s=3.0)
    (drift,) = _drifts([long, short, slower])
    assert (drift.first, drift.now) == (5e5, 1e5)


def test_a_link_that_lost_its_lanes_since_is_a_drift():
    first = Result(
        part="transfer", what="h2d pinned", on="gpu 0", value=52e9, unit="bytes_per_s", low=52e9, high=52e9,
        repeats=9, at_s=1.0, settings=(("size", "256 MiB"), ("pcie_lanes", "16")),
    )  # fmt: skip
    now = replace(first, value=26e9, at_s=2.0, settings=(("size", "256 MiB"), ("pcie_lanes", "8")))
    (drift,) = _drifts([first, now])
    assert drift.ratio == pytest.approx(0.5)


# ---- wrong values through all of it


WRONG = Result(
    part="nccl_tests", what="all_reduce 1024 MiB", on="gpu all", value=400e9, unit="bytes_per_s", low=400e9,
    high=400e9, repeats=2, settings=(("ranks", "2"), ("wrong", "7")), at_s=1.0,
)  # fmt: skip


def benched(*results):
    case = case_of(MACHINE)
    return BenchRun(
        machine=MACHINE, results=compare_all(results, case), skipped=(), titles=(), quick=False, seconds=1.0
    )


def test_wrong_values_lead_the_page_and_the_json():
    made = benched(WRONG)
    told = plain(made, "en")
    assert (told["wrong"], told["slow"], told["results"][0]["verdict"]) == (1, 0, "wrong")
    assert any(re.search(r"\b7\b", note) for note in told["results"][0]["notes"])
    verdict = page(made)
    assert verdict.tone == "bad"
    assert "1" in filled(verdict.title)


def test_the_doctor_tells_them_as_a_fault():
    case = case_of(MACHINE, results=(WRONG,))
    found = [(check, one) for check, one in examine(case).findings if check == "bench_wrong"]
    assert [one.severity for _, one in found] == ["fault"]


# ---- measured figures as people write them


@pytest.mark.parametrize(
    ("value", "unit", "told"),
    [
        (1.402e15, "flops_per_s", "1,400 TFLOP/s"), (2.5e11, "flops_per_s", "0.25 TFLOP/s"),
        (11e9, "flops_per_s", "11 GFLOP/s"), (26.2e9, "bytes_per_s", "26 GB/s"),
        (9.5e7, "bytes_per_s", "95 MB/s"), (76600, "ops_per_s", "76,600 op/s"),
        (900, "items_per_s", "900 items/s"), (5e-6, "s", "5.0 µs"), (0.0314, "s", "31 ms"),
        (2.5, "s", "2.5 s"),
        (0.93, "ratio", "0.93"), (3, "parsecs", "3.0 parsecs"),
    ],
)  # fmt: skip
def test_a_measured_figure_has_its_unit_and_no_more_digits_than_it_earned(value, unit, told):
    assert show_measured(value, unit) == told
