"""Benchmarks held against the other cards, operators' minima, what healthy ones measured, and facts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advised import filled
from rigright.doctor.examine import case_of, checks
from rigright.doctor.laws import _LAWS, stated
from rigright.doctor.reference import compare_all
from rigright.facts.bench import expectations, expected, references
from rigright.facts.chips import by_id
from rigright.machine.bench.record import Result
from rigright.machine.bench.table import PARTS
from rigright.machine.bench.tool_logs import TITLES
from rigright.machine.device import Device, DirectLink, PcieLink, Program
from rigright.machine.host import Cpu, Disk, Memory, MemoryModule, Mount, Path
from rigright.machine.record import Machine
from rigright.machine.system import System

H100, A4000, RTX4090 = "NVIDIA H100 80GB HBM3", "NVIDIA RTX A4000", "NVIDIA GeForce RTX 4090"


def card(index, name=H100, **more):
    return Device(index=index, vendor="nvidia", name=name, **more)


def result(part, what, value, on="gpu 0", unit="bytes_per_s", spread=0.01, **more):
    low, high = value * (1 - spread), value * (1 + spread)
    return Result(part=part, what=what, on=on, value=value, unit=unit, low=low, high=high, repeats=5, **more)


def machine(count=1, name=H100, **more):
    return Machine(devices=tuple(card(index, name) for index in range(count)), **more)


def judged(one, there, beside=()):
    return compare_all([*beside, one], case_of(there))[-1]


def gemm(tera, on="gpu 0", what="bf16 square", **more):
    return result("gemm", what, tera * 1e12, on=on, unit="flops_per_s", **more)


# ---- the table


def test_every_row_speaks_of_a_part_a_law_references_and_checks_that_exist():
    names = set(checks())
    whats = {one.what for one in references()}
    for row in expectations():
        assert row.part in PARTS | TITLES, row
        assert row.law is None or row.law in _LAWS, row
        assert (row.share is None) != (row.floor is None), row
        assert (row.law is None) == (row.share is None), row
        assert set(row.references) <= whats, row
        assert set(row.checks) <= names, (row.part, row.what, set(row.checks) - names)


def test_every_law_is_used():
    assert {row.law for row in expectations() if row.law} == set(_LAWS)


def test_every_measured_reference_passes_its_own_law():
    """What a source measured on a healthy card is never slow by the share that we ask of it."""
    tried = 0
    for row in expectations():
        for one in references():
            if one.what not in row.references or one.kind != "measured" or one.n_chips != 1 or not one.chip:
                continue
            if not (row.law or "").startswith("gemm") or by_id()[one.chip].vendor != "NVIDIA":
                continue
            there = case_of(machine(1, by_id()[one.chip].name))
            full = stated(row.law, result(row.part, row.what, 1.0), case=there)
            if full is not None:
                tried += 1
                assert one.value >= row.share * full, (one.on, one.value / full)
    assert tried >= 8


def test_a_disks_row_is_of_its_kind():
    assert expected("disk", "random read 4 KiB", kind="nvme").floor == 100_000
    assert expected("disk", "random read 4 KiB", kind="hdd").floor == 100
    assert expected("disk", "random read 4 KiB") is None
    assert expected("disk", "sequential read 1 MiB", kind="nvme").law == "disk_link"


# ---- one card alone


def test_a_healthy_h100_is_as_expected_against_what_others_measured():
    one = judged(gemm(780), machine())
    assert (one.verdict, one.basis) == ("expected", "measured")
    assert one.full == pytest.approx(by_id()["h100-sxm5-80gb"].bf16_flops_per_s)
    assert 0.75 < one.share < 0.82
    assert one.least == pytest.approx(0.9 * 794.5e12)


def test_the_broken_card_that_passed_the_vendors_test_is_slow():
    """DCGM issue 122: 6.7 of 19.5 TFLOP/s in fp32 on an A100."""
    a100 = machine(1, "NVIDIA A100-SXM4-40GB")
    assert judged(gemm(19.2, what="fp32 square"), a100).verdict == "expected"
    one = judged(gemm(6.7, what="fp32 square"), a100)
    assert one.verdict == "slow"
    assert one.share == pytest.approx(0.34, abs=0.01)
    assert "gpu_throttled" in one.checks


def test_a_geforce_is_held_to_its_rate_with_full_accumulation():
    one = judged(gemm(155, what="fp16 square"), machine(1, RTX4090))
    assert (one.verdict, one.basis) == ("expected", "stated")
    assert one.full == pytest.approx(by_id()["rtx-4090"].fp16_acc32_flops_per_s)


def test_a_card_nobody_knows_is_held_against_nothing():
    one = judged(gemm(1), machine(1, "NVIDIA RTX 9999 Ultra"))
    assert (one.verdict, one.basis, one.least) == ("unknown", None, None)


def test_a_figure_without_a_row_is_held_against_nothing():
    assert judged(result("preprocess", "csv, 1 workers", 5.0, on="cpu"), machine()).verdict == "unknown"


# ---- links


def transfer(giga, gen=5, lanes=16, **more):
    link = (("pcie_gen", str(gen)), ("pcie_lanes", str(lanes)))
    return result("transfer", "h2d pinned", giga * 1e9, settings=link, **more)


def test_a_copy_is_held_against_the_link_as_it_is():
    assert judged(transfer(55), machine()).verdict == "expected"
    assert judged(transfer(30), machine()).verdict == "slow"
    eight = judged(transfer(27, lanes=8), machine())
    assert (eight.verdict, eight.basis) == ("expected", "stated")


def test_a_link_on_half_its_lanes_is_noted():
    there = Machine(devices=(card(0, pcie=PcieLink(lanes=8, lanes_max=16)),))
    (note,) = judged(transfer(27, lanes=8), there).notes
    assert {"8", "16"} <= filled(note)


def test_without_a_look_at_the_link_operators_minima_hold():
    bare = replace(transfer(49), settings=())
    one = judged(bare, machine())
    assert (one.verdict, one.basis, one.least) == ("expected", "least", 48e9)
    assert judged(replace(bare, value=47e9), machine()).verdict == "slow"


def test_an_idle_links_generation_is_not_believed():
    """A resting card shows generation 1: only the most of card and slot, and the lanes, count."""
    there = Machine(devices=(card(0, A4000, pcie=PcieLink(gen=1, gen_max=4, lanes=16)),))
    one = judged(replace(transfer(26), settings=()), there)
    assert one.full == pytest.approx(31.5e9, rel=0.01)
    assert one.verdict == "expected"


def linked(count, rate=25e9, links=18):
    nv = tuple(DirectLink(index=index, active=True, bytes_per_s=rate) for index in range(links))
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    return Machine(
        devices=tuple(card(index, links=nv) for index in range(count)),
        paths=tuple(Path(a=a, b=b, kind=f"NV{links}") for a, b in pairs),
    )


def test_cards_with_direct_links_are_held_against_them():
    one = judged(result("peer", "one way", 396e9, on="gpu 0 -> gpu 1"), linked(2))
    assert (one.verdict, one.full) == ("expected", 450e9)
    assert judged(result("peer", "one way", 42e9, on="gpu 0 -> gpu 1"), linked(2)).verdict == "slow"
    assert judged(result("peer", "both ways", 784e9, on="gpu 0 <-> gpu 1"), linked(2)).full == 900e9


def test_cards_on_the_bus_are_held_against_their_slots():
    pcie = PcieLink(gen_max=4, lanes=16)
    there = Machine(
        devices=tuple(card(index, RTX4090, pcie=pcie, links=()) for index in range(2)),
        paths=(Path(a=0, b=1, kind="PHB"),),
    )
    direct = result("peer", "one way", 26e9, on="gpu 0 -> gpu 1", settings=(("direct", "yes"),))
    assert judged(direct, there).verdict == "expected"
    around = replace(direct, value=9e9, settings=(("direct", "no, through main memory"),))
    assert judged(around, there).verdict == "unknown"


def test_an_all_reduce_needs_the_very_number_of_cards():
    one = result("collectives", "all_reduce 1024 MiB", 400e9, on="gpu all")
    assert judged(one, linked(8)).basis == "stated"
    h200 = replace(linked(8), devices=tuple(replace(one, name="NVIDIA H200") for one in linked(8).devices))
    assert judged(one, h200).basis == "measured"
    four = replace(h200, devices=h200.devices[:4])
    assert judged(one, four).basis == "stated"


# ---- the other cards


def eight(values):
    return [gemm(value, on=f"gpu {index}") for index, value in enumerate(values)]


def verdicts(values, there=None):
    return [one.verdict for one in compare_all(eight(values), case_of(there or machine(8)))]


def test_healthy_cards_lie_within_a_percent_of_each_other():
    assert verdicts([780, 782, 779, 781, 780, 778, 783, 780]) == ["expected"] * 8


def test_one_card_behind_the_others_is_found_though_it_beats_the_table():
    assert verdicts([880] * 7 + [820])[7] == "behind"
    assert verdicts([880] * 7 + [760])[7] == "slow"
    assert verdicts([880] * 7 + [760])[:7] == ["expected"] * 7


def test_a_noisy_median_is_no_reason_for_alarm():
    noisy = [*eight([880] * 7), gemm(825, on="gpu 7", spread=0.05)]
    assert compare_all(noisy, case_of(machine(8)))[7].verdict == "expected"


def test_cards_that_nobody_knows_are_still_held_against_each_other():
    there = machine(8, "NVIDIA RTX 9999 Ultra")
    assert verdicts([100] * 7 + [50], there) == ["expected"] * 7 + ["slow"]


def test_only_like_cards_are_held_against_each_other():
    there = Machine(devices=(card(0), card(1), card(2, RTX4090)))
    found = compare_all([gemm(780), gemm(781, on="gpu 1"), gemm(160, on="gpu 2")], case_of(there))
    assert [one.verdict for one in found] == ["expected"] * 3


def test_pairs_that_reach_each_other_otherwise_are_not_held_against_each_other():
    paths = (Path(a=0, b=1, kind="NV4"), Path(a=0, b=2, kind="SYS"), Path(a=1, b=2, kind="SYS"))
    there = replace(machine(3, "NVIDIA RTX A6000"), paths=paths)
    found = compare_all(
        [
            result("peer", "one way", 50e9, on="gpu 0 -> gpu 1"),
            result("peer", "one way", 9e9, on="gpu 0 -> gpu 2"),
            result("peer", "one way", 9e9, on="gpu 1 -> gpu 2"),
        ],
        case_of(there),
    )
    assert "slow" not in {one.verdict for one in found}


def test_other_programs_on_the_card_are_noted():
    there = Machine(devices=(card(0, programs=(Program(pid=7, name="python"),)),))
    (note,) = judged(gemm(780), there).notes
    assert "0" in filled(note)
    assert judged(gemm(780), Machine(devices=(card(0),))).notes == ()


def test_wrong_values_are_noted():
    one = result("nccl_tests", "all_reduce 64 MiB", 1e9, on="gpu all", settings=(("wrong", "3"),))
    assert "3" in filled(judged(one, machine(2)).notes[0])


# ---- the rest of the machine


def test_main_memory_is_held_against_the_channels_that_are_filled():
    modules = tuple(
        MemoryModule(slot=f"A{index}", channel=f"{index}", size_bytes=32e9, rated_mt_s=5600, set_mt_s=4800)
        for index in range(8)
    )
    there = Machine(memory=Memory(modules=modules))
    one = judged(result("ram", "triad", 250e9, on="cpu"), there)
    assert one.full == pytest.approx(8 * 8 * 4800e6)
    assert one.verdict == "expected"
    half = Machine(memory=Memory(modules=modules[:4]))
    assert judged(result("ram", "triad", 80e9, on="cpu"), half).verdict == "slow"


def test_without_the_modules_the_processors_most_counts_but_not_for_a_rented_slice():
    cpu = Cpu(name="AMD EPYC 9654 96-Core Processor", sockets=2, threads=384, usable=384)
    bare = Machine(cpu=cpu)
    assert judged(result("ram", "triad", 665.5e9, on="cpu"), bare).verdict == "expected"
    rented = Machine(cpu=cpu, system=System(virtual="kvm"))
    assert judged(result("ram", "triad", 20e9, on="cpu"), rented).verdict == "unknown"


def test_a_container_with_few_threads_is_not_slow():
    cpu = Cpu(name="AMD EPYC 9654 96-Core Processor", sockets=1, threads=192, usable=8)
    one = judged(result("cpu_gemm", "fp32", 0.3e12, on="cpu", unit="flops_per_s"), Machine(cpu=cpu))
    assert one.verdict == "expected"


def disks(kind, **more):
    return Machine(
        disks=(Disk(name="d0", kind=kind, **more), Disk(name="d1", kind="hdd")),
        mounts=(
            Mount(path="/", source="d1", kind="ext4", disk="d1"),
            Mount(path="/data", source="d0", kind="xfs", disk="d0"),
        ),
    )


def test_a_disk_is_held_against_its_kind_and_its_link():
    slow = result("disk", "random read 4 KiB", 30_000, on="/data/sets", unit="ops_per_s")
    assert judged(slow, disks("nvme")).verdict == "slow"
    assert judged(slow, disks("hdd")).verdict == "expected"
    assert judged(replace(slow, on="/database"), disks("nvme")).verdict == "expected"  # the hard disk
    read = result("disk", "sequential read 1 MiB", 6.5e9, on="/data")
    assert judged(read, disks("nvme", gen=4, lanes=4)).verdict == "expected"
    assert judged(replace(read, value=1.5e9), disks("nvme", gen=4, lanes=4)).verdict == "slow"
    assert judged(read, disks("virtual")).verdict == "unknown"


def test_starting_a_kernel_takes_microseconds():
    one = result("launch", "hand over", 6e-6, unit="s")
    assert judged(one, machine()).verdict == "expected"
    assert judged(replace(one, value=60e-6), machine()).verdict == "slow"


# ---- laws


@given(st.floats(min_value=1, max_value=5000))
def test_more_is_never_worse(tera):
    order = {"slow": 0, "behind": 1, "expected": 2}
    less, more = judged(gemm(tera), machine()), judged(gemm(tera * 1.5), machine())
    assert order[less.verdict] <= order[more.verdict]


@given(st.lists(st.floats(min_value=700, max_value=900), min_size=2, max_size=8))
def test_the_best_card_is_never_behind_the_others(values):
    best = max(range(len(values)), key=lambda index: values[index])
    assert compare_all(eight(values), case_of(machine(8)))[best].basis != "other cards"
