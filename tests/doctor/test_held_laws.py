"""Laws of judging: where the slow card sits, how the bands lie, what nobody knows, what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from boxes import h100
from hypothesis import given
from hypothesis import strategies as st

from advised import filled
from rigright.doctor.examine import case_of, checks
from rigright.doctor.laws import FILLED_BY_TCP_BYTES_PER_S, stated
from rigright.doctor.record import Finding, Fine, NotSeen
from rigright.doctor.reference import compare_all, wrong_values
from rigright.facts.bench import expectations
from rigright.facts.fabrics import pcie_bytes_per_s
from rigright.machine.bench.record import Result
from rigright.machine.device import Device
from rigright.machine.host import Cpu, Disk, Memory, MemoryModule, Mount, Path, Port
from rigright.machine.record import Machine

EIGHT = range(8)
UNKNOWN = "NVIDIA RTX 9999 Ultra"
GIGABIT = 1e9 / 8
UNITS = {
    "gemm": "flops_per_s", "sustained": "flops_per_s", "cpu_gemm": "flops_per_s", "launch": "s",
}  # fmt: skip


def compare_result(result, case):
    """One figure by itself."""
    return compare_all([result], case)[0]


def card(index, name=UNKNOWN, **more):
    return Device(index=index, vendor="nvidia", name=name, **more)


def modules():
    return tuple(
        MemoryModule(slot=f"A{index}", channel=f"{index}", size_bytes=32e9, set_mt_s=4800) for index in EIGHT
    )


def server(**changed):
    """Eight H100 on their switch, with all else that figures are held against."""
    parts = {
        "devices": tuple(h100(index) for index in EIGHT),
        "paths": tuple(Path(a=a, b=b, kind="NV18") for a in EIGHT for b in range(a + 1, 8)),
        "cpu": Cpu(name="AMD EPYC 9654 96-Core Processor", sockets=2, threads=384, usable=384),
        "memory": Memory(modules=modules()),
        "disks": (Disk(name="nvme0n1", kind="nvme", gen=4, lanes=4),),
        "mounts": (Mount(path="/", source="nvme0n1", kind="ext4", disk="nvme0n1"),),
        "ports": (
            Port(name="eth0", kind="ethernet", state="up", bytes_per_s=10 * GIGABIT),
            Port(name="eth1", kind="ethernet", state="up", bytes_per_s=100 * GIGABIT),
            Port(name="wlan0", kind="wifi", state="up", bytes_per_s=GIGABIT),
            Port(name="bond0", kind="bond", state="up", bytes_per_s=20 * GIGABIT),
            Port(name="eth2", kind="ethernet", state="up"),
        ),
    }
    return Machine(**parts | changed)


SERVER = case_of(server())
STRANGE = case_of(
    Machine(
        devices=tuple(map(card, EIGHT)),
        disks=(Disk(name="x", kind="virtual"),),
        mounts=(Mount(path="/", source="x", kind="ext4", disk="x"),),
    )
)


def figure(part, what, value, on="gpu 0", *, spread=0.0, **more):
    unit = more.pop("unit", UNITS.get(part, "bytes_per_s"))
    low, high = value * (1 - spread), value * (1 + spread)
    return Result(part=part, what=what, on=on, value=value, unit=unit, low=low, high=high, repeats=5, **more)


def where(row):
    """The place a row's figure is measured at."""
    if row.part in {"collectives", "nccl_tests"}:
        return "gpu all"
    if row.part in {"peer", "superbench"} or "device_to_device" in row.what:
        return "gpu 0 <-> gpu 1" if "both" in row.what else "gpu 0 -> gpu 1"
    if row.part in {"gemm", "sustained", "device_memory", "transfer", "nvbandwidth", "launch", "gpu_burn"}:
        return "gpu 0"
    return {"disk": "/data", "network": "node7"}.get(row.part, "cpu")


def of_row(row, value=1.0):
    settings = (("port", "eth0"),) if row.part == "network" else ()
    size = f"{row.from_mib:g} MiB" if row.from_mib else " 1 MiB"
    what = row.what.replace("*", size if row.from_mib or row.part == "disk" else "4 connections")
    unit = UNITS.get(row.part, "bytes_per_s")
    if row.what == "kept of the start":
        unit = "ratio"
    elif row.part == "disk" and row.floor is not None:
        unit = "ops_per_s"
    return figure(row.part, what, value, on=where(row), unit=unit, settings=settings)


def row_id(row):
    return f"{row.part} {row.what} {row.kind or row.from_mib or ''}".strip()


STATED = [row for row in expectations() if row.law and row.kind in {None, "nvme"}]
FLOORS = [row for row in expectations() if row.floor is not None and row.kind in {None, "nvme"}]


# ---- the bands


@pytest.mark.parametrize("row", STATED, ids=row_id)
def test_every_law_says_something_of_a_server_that_is_known_whole(row):
    full = stated(row.law, of_row(row), case=SERVER)
    assert full is not None
    assert 1e8 < full < 1e17


@pytest.mark.parametrize("row", STATED, ids=row_id)
def test_below_its_least_a_figure_is_slow_and_from_there_on_it_is_not(row):
    least = compare_result(of_row(row), SERVER).least
    assert least > 0
    for factor, verdict in ((0.999, "slow"), (1.001, "expected"), (1.4, "expected")):
        one = compare_result(of_row(row, least * factor), SERVER)
        assert (one.verdict, one.least) == (verdict, pytest.approx(least))
        assert one.share == pytest.approx(one.result.value / one.full)
        assert one.source
        assert one.confidence in {"high", "med", "low"}


@pytest.mark.parametrize("row", FLOORS, ids=row_id)
def test_floors_hold_and_times_are_held_from_above(row):
    good, bad = (0.99, 1.01) if row.part == "launch" else (1.01, 0.99)
    assert compare_result(of_row(row, row.floor * good), SERVER).verdict == "expected"
    assert compare_result(of_row(row, row.floor * bad), SERVER).verdict == "slow"


@pytest.mark.parametrize("row", STATED, ids=row_id)
def test_hardware_that_nobody_knows_is_held_against_nothing(row):
    one = compare_result(of_row(row, 1e-3), STRANGE)
    assert (one.verdict, one.basis, one.full, one.least, one.share) == ("unknown", None, None, None, None)


@given(st.sampled_from(STATED), st.floats(1e-3, 1e3), st.floats(1.0, 10.0))
def test_more_is_never_judged_worse(row, part_of_least, factor):
    order = {"slow": 0, "behind": 1, "expected": 2}
    least = compare_result(of_row(row), SERVER).least
    less = compare_result(of_row(row, least * part_of_least), SERVER)
    more = compare_result(of_row(row, least * part_of_least * factor), SERVER)
    assert order[less.verdict] <= order[more.verdict]
    assert less.share <= more.share


# ---- one card among eight


def node(part, what, values):
    return [figure(part, what, value, on=f"gpu {index}") for index, value in enumerate(values)]


SHARED = [
    row for row in STATED if where(row) == "gpu 0" and row.part != "sustained"
]  # what hardware sets, one figure a card


@pytest.mark.parametrize("place", EIGHT)
@pytest.mark.parametrize("case", [SERVER, STRANGE], ids=["known", "strange"])
def test_a_slow_card_is_found_at_any_place_and_no_other_is_blamed(place, case):
    for row in SHARED:
        usual = (compare_result(of_row(row), SERVER).least or 1.0) * 1.5
        values = [usual * (0.8 if index == place else 1.0) for index in EIGHT]
        found = compare_all(node(row.part, row.what, values), case)
        assert [one.verdict for one in found] == ["slow" if index == place else "expected" for index in EIGHT]
        assert found[place].basis == "other cards"
        assert found[place].share == pytest.approx(0.8)
        assert found[place].least == pytest.approx(0.9 * usual)


@pytest.mark.parametrize("slowness", [0.9, 0.5, 0.1])
def test_a_node_that_is_slow_as_a_whole_blames_no_card_before_the_others(slowness):
    for row in SHARED:
        least = compare_result(of_row(row), SERVER).least
        found = compare_all(node(row.part, row.what, [least * slowness] * 8), SERVER)
        assert {one.verdict for one in found} == {"slow"}
        assert "other cards" not in {one.basis for one in found}
        strange = compare_all(node(row.part, row.what, [least * slowness] * 8), STRANGE)
        assert {(one.verdict, one.basis) for one in strange} == {("expected", "other cards")}


@given(
    st.lists(st.floats(0.97, 1.0), min_size=8, max_size=8),
    st.sampled_from(EIGHT),
    st.floats(0.01, 0.85),
    st.floats(1e9, 1e15),
)
def test_noise_of_three_percent_hides_no_card_that_is_a_sixth_behind(noise, place, share, scale):
    values = [scale * one * (share if index == place else 1.0) for index, one in enumerate(noise)]
    found = compare_all(node("gemm", "bf16 square", values), STRANGE)
    assert [index for index, one in enumerate(found) if one.verdict == "slow"] == [place]


@given(st.lists(st.floats(0.5, 1.0), min_size=2, max_size=8), st.floats(1e-3, 1e3), st.randoms())
def test_neither_the_scale_nor_the_order_of_telling_changes_who_lags(values, scale, chance):
    plain = node("gemm", "bf16 square", [1e14 * value for value in values])
    scaled = [replace(one, value=one.value * scale, low=one.low * scale, high=one.high * scale)
              for one in plain]  # fmt: skip
    chance.shuffle(scaled)

    def lag(figures):
        return {one.result.on for one in compare_all(figures, STRANGE) if one.verdict in {"slow", "behind"}}

    assert lag(plain) == lag(scaled)


@given(st.floats(0.80, 1.0))
def test_the_bands_of_the_other_cards_are_those_that_are_told(share):
    values = [1e14] * 7 + [1e14 * share]
    last = compare_all(node("gemm", "bf16 square", values), STRANGE)[7]
    told = "slow" if share < 0.90 - 1e-9 else "behind" if share < 0.95 - 1e-9 else "expected"
    if min(abs(share - 0.90), abs(share - 0.95)) > 1e-9:
        assert last.verdict == told


def test_two_cards_of_which_one_is_slow_blame_that_one():
    slow, fine = compare_all(node("gemm", "bf16 square", [6e13, 1e14]), STRANGE)
    assert (slow.verdict, fine.verdict) == ("slow", "expected")


def test_one_card_measured_alone_has_nobody_beside_it():
    (one,) = compare_all(node("gemm", "bf16 square", [1.0]), STRANGE)
    assert one.verdict == "unknown"


def test_figures_of_different_parts_and_shapes_are_not_mixed():
    figures = [
        figure("gemm", "bf16 square", 7e14, on="gpu 0"),
        figure("gemm", "fp32 square", 5e13, on="gpu 1"),
        figure("device_memory", "copy", 2.8e12, on="gpu 2"),
    ]
    assert "other cards" not in {one.basis for one in compare_all(figures, SERVER)}


def test_a_card_that_is_slow_by_its_facts_is_told_how_it_stands_beside_the_others():
    found = compare_all(node("gemm", "bf16 square", [100e12] * 7 + [400e12]), SERVER)
    assert found[0].verdict == "slow"
    assert found[0].basis == "measured"
    assert "100%" in str(found[0].notes[-1])


def test_a_spread_wide_figure_counts_as_behind_only_by_its_best_repeat():
    figures = node("gemm", "bf16 square", [1e14] * 7 + [0.93e14])
    noisy = [*figures[:7], replace(figures[7], high=0.96e14)]
    assert compare_all(figures, STRANGE)[7].verdict == "behind"
    assert compare_all(noisy, STRANGE)[7].verdict == "expected"


# ---- links


@given(st.integers(1, 6), st.sampled_from([1, 2, 4, 8, 16]))
def test_a_copy_is_held_against_the_very_link_it_went_over(gen, lanes):
    link = (("pcie_gen", str(gen)), ("pcie_lanes", str(lanes)))
    full = pcie_bytes_per_s(gen, lanes)
    for share, verdict in ((0.79, "slow"), (0.81, "expected")):
        one = compare_result(figure("transfer", "h2d pinned", full * share, settings=link), SERVER)
        assert (one.verdict, one.full) == (verdict, full)


def test_pairs_over_fewer_links_are_held_against_those():
    pairs = tuple(Path(a=0, b=b, kind=f"NV{links}") for b, links in ((1, 4), (2, 2)))
    links = replace(h100(0).links[0], bytes_per_s=25e9)
    cards = tuple(card(index, "NVIDIA RTX A6000", links=(links,) * 4) for index in range(3))
    case = case_of(server(devices=cards, paths=pairs))
    four = compare_result(figure("peer", "one way", 90e9, on="gpu 0 -> gpu 1"), case)
    two = compare_result(figure("peer", "one way", 45e9, on="gpu 0 -> gpu 2"), case)
    assert (four.full, two.full) == (100e9, 50e9)
    assert {four.verdict, two.verdict} == {"expected"}


def test_a_machine_with_links_between_some_pairs_promises_no_collective():
    paths = (Path(a=0, b=1, kind="NV4"), Path(a=0, b=2, kind="SYS"), Path(a=1, b=2, kind="SYS"))
    case = case_of(server(devices=tuple(h100(index) for index in range(3)), paths=paths))
    one = compare_result(figure("collectives", "all_gather 1024 MiB", 1.0, on="gpu all"), case)
    assert one.verdict == "unknown"


# ---- the network


def sent(value, port="eth0", what="send, 4 connections"):
    settings = (("port", port),) if port else ()
    return compare_result(figure("network", what, value, on="node7", settings=settings), SERVER)


def test_a_network_is_held_against_the_port_that_leads_there():
    assert sent(9.4 * GIGABIT).verdict == "expected"
    slow = sent(0.94 * GIGABIT, what="fetch, 1 connections")
    assert (slow.verdict, slow.full, slow.checks) == ("slow", 10 * GIGABIT, ("net_speed", "net_errors"))


@pytest.mark.parametrize("port", ["eth1", "eth2", "wlan0", "bond0", "lo", "nosuch", None])
def test_ports_that_tcp_cannot_fill_or_that_nobody_knows_promise_nothing(port):
    assert sent(1.0, port=port).verdict == "unknown"


def test_the_time_there_and_back_promises_nothing():
    one = figure("network", "there and back", 1e-3, on="node7", unit="s", settings=(("port", "eth0"),))
    assert compare_result(one, SERVER).verdict == "unknown"


def test_the_fastest_port_that_is_judged_is_filled_by_four_connections():
    assert FILLED_BY_TCP_BYTES_PER_S == 25 * GIGABIT


# ---- the disk without fio


@pytest.mark.parametrize(
    ("kind", "verdict"), [("nvme", "slow"), ("ssd", "slow"), ("hdd", "expected"), ("virtual", "unknown")]
)
def test_rigrights_own_reader_is_held_against_less_than_fio(kind, verdict):
    disk = Disk(name="nvme0n1", kind=kind)
    case = case_of(server(disks=(disk,)))
    own = figure("disk", "random read 4 KiB, 16 threads", 10_000, on="/data", unit="ops_per_s")
    assert compare_result(own, case).verdict == verdict
    assert compare_result(replace(own, value=60_000), case).verdict == (
        "unknown" if kind == "virtual" else "expected"
    )
    deep = replace(own, what="random read 4 KiB", value=60_000)
    assert compare_result(deep, case).verdict == {
        "nvme": "slow", "ssd": "expected", "hdd": "expected", "virtual": "unknown"
    }[kind]  # fmt: skip


# ---- wrong values


def exchanged(wrong, value=400e9):
    settings = (("tool", "nccl-tests"), *((("wrong", wrong),) if wrong is not None else ()))
    return figure("nccl_tests", "all_reduce 1024 MiB", value, on="gpu all", settings=settings)


@given(st.integers(1, 10**12), st.floats(1.0, 1e13))
def test_what_gives_wrong_values_is_wrong_however_fast_it_is(wrong, value):
    one = compare_result(exchanged(str(wrong), value), SERVER)
    assert one.verdict == "wrong"
    assert [float(told) for told in filled(one.notes[-1])] == [pytest.approx(wrong, rel=0.01)]


@given(st.none() | st.text(max_size=8))
def test_any_count_of_wrong_values_can_be_read(told):
    assert wrong_values(exchanged(told)) >= 0


@pytest.mark.parametrize(("told", "count"), [(None, 0), ("0", 0), ("3", 3), ("-1", 0), ("x", 0)])
def test_wrong_values_are_counted(told, count):
    assert wrong_values(exchanged(told)) == count


# ---- the doctor's checks


def verdicts(check, *results, machine=None):
    return list(checks()[check](replace(case_of(machine or server()), results=results)))


def test_wrong_values_are_a_fault_of_the_doctor():
    (one,) = verdicts("bench_wrong", exchanged("12"))
    assert isinstance(one, Finding)
    assert (one.severity, one.about, one.verify) == ("fault", "gpu all", "rigright bench nccl_tests")
    assert "12" in filled(one.evidence[0].shows)
    assert isinstance(verdicts("bench_wrong", exchanged(None))[0], Fine)
    assert verdicts("bench_wrong", figure("gemm", "bf16 square", 1.0)) == []


def test_far_below_the_least_is_a_fault_and_a_little_below_a_warning():
    full = SERVER.chips[0].fp32_flops_per_s
    for share, severity in ((0.69, "warning"), (0.36, "warning"), (0.34, "fault"), (0.01, "fault")):
        (one,) = verdicts("bench_slow", figure("gemm", "fp32 square", share * full))
        assert (one.severity, one.about) == (severity, "gpu 0")
        assert "gpu_throttled" in one.fix[0].command
    (fine,) = verdicts("bench_slow", figure("gemm", "fp32 square", 0.9 * full))
    assert isinstance(fine, Fine)


def test_nothing_measured_is_not_observed_where_there_are_cards_to_measure():
    live = server(origin="live")
    (one,) = verdicts("bench_slow", machine=live)
    assert isinstance(one, NotSeen)
    assert one.see == "rigright bench --quick"
    assert verdicts("bench_slow", machine=replace(live, devices=())) == []


@pytest.mark.parametrize(("share", "severity"), [(0.93, "note"), (0.85, "warning"), (0.5, "fault")])
def test_a_lagging_card_is_told_by_how_far_it_lags(share, severity):
    figures = node("device_memory", "copy", [2.9e12] * 7 + [2.9e12 * share])
    (one,) = verdicts("bench_behind", *figures, machine=STRANGE.machine)
    assert (one.severity, one.about) == (severity, "gpu 7")
    assert f"{share:.0%}" in str(one.evidence[0].shows)


def test_a_healthy_node_gives_no_finding_at_all():
    figures = [
        one
        for row in STATED
        for one in [of_row(row, compare_result(of_row(row), SERVER).least * 1.1)]
    ]  # fmt: skip
    for check in ("bench_slow", "bench_behind", "bench_wrong"):
        assert not [one for one in verdicts(check, *figures) if isinstance(one, Finding)]
