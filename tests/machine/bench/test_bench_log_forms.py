"""Forms of the logs that nccl-tests, nvbandwidth and fio write: whatever is written is read back, nothing else."""

# ruff: noqa: E501 - the tables are as wide as the programs print them
from __future__ import annotations

import json
import socket

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from refusals import refused
from rigright.base.errors import DataError
from rigright.base.units import MIB
from rigright.machine.bench.logs import MOST_LINES, nccl_tests, nvbandwidth
from rigright.machine.bench.parts import disk, network
from rigright.machine.bench.parts.collectives import bus_factor
from rigright.machine.bench.record import BenchRequest

HEAD = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: {check} graph: 0
#
# Using devices
{ranks}
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
rates = st.floats(0.01, 9999.0).map(lambda one: round(one, 2))
wrongs = st.sampled_from(["0", "N/A", "3", "1e+05"])
rows = st.lists(
    st.tuples(st.integers(0, 35), rates, rates, wrongs, wrongs),
    min_size=1,
    max_size=12,
    unique_by=lambda row: row[0],
)


def table(found, *, count=8, redop="sum", root=-1, check=1):
    ranks = "\n".join(
        f"#  Rank {rank:2} Group  0 Pid {4000 + rank} on node{rank // 8} device {rank % 8:2} [0x{rank:02x}] NVIDIA H100"
        for rank in range(count)
    )
    lines = [
        f"{2**power:12} {2**power // 4:13} {'float':>9} {redop:>7} {root:7} {10.5:8.1f} {out / 2:7.2f} {out:7.2f} {a:>6} {11.5:8.1f} {inside / 2:7.2f} {inside:7.2f} {b:>6}"
        for power, out, inside, a, b in found
    ]
    return HEAD.format(ranks=ranks, check=check) + "\n".join(lines) + "\n# Out of bounds values : 0 OK\n#\n"


def counted(word):
    return 0.0 if word == "N/A" else float(word)


@given(rows, st.integers(1, 64))
def test_every_row_of_a_table_is_read_and_no_other_line(found, count):
    told = nccl_tests("NCCL version 2.20.5+cuda12.4\n" + table(found, count=count), collective="all_reduce")
    assert len(told) == len(found)
    for one, (power, out, inside, a, b) in zip(told, found, strict=True):
        assert one.what == f"all_reduce {2**power / MIB:g} MiB"
        assert (one.low, one.high) == (
            pytest.approx(min(out, inside) * 1e9),
            pytest.approx(max(out, inside) * 1e9),
        )
        settings = dict(one.settings)
        assert settings["ranks"] == str(count)
        wrong = counted(a) + counted(b)
        assert float(settings.get("wrong", 0)) == pytest.approx(wrong, rel=1e-5)


@given(rows)
def test_an_order_of_lines_and_noise_between_them_changes_nothing(found):
    plain = nccl_tests(table(found), collective="x")
    noisy = table(found).replace("\n", "\nnode0:4000:4011 [0] NCCL INFO Channel 00/32 : 0 1 2 3\n")
    assert [(one.what, one.value) for one in nccl_tests(noisy, collective="x")] == [
        (one.what, one.value) for one in plain
    ]


@pytest.mark.parametrize(
    ("program", "name", "redop", "root"),
    [
        ("all_reduce_perf", "all_reduce", "sum", -1),
        ("all_gather_perf", "all_gather", "none", -1),
        ("reduce_scatter_perf", "reduce_scatter", "sum", -1),
        ("alltoall_perf", "all_to_all", "none", -1),
        ("broadcast_perf", "broadcast", "none", 0),
        ("reduce_perf", "reduce", "sum", 0),
        ("sendrecv_perf", "sendrecv", "sum", -1),
    ],
)
def test_the_table_of_every_program_is_read(program, name, redop, root):
    text = f"# /opt/nccl-tests/build/{program} -b 8 -e 8G\n" + table(
        [(30, 300.0, 301.0, "0", "N/A")], redop=redop, root=root
    )
    (one,) = nccl_tests(text)
    assert one.what == f"{name} 1024 MiB"
    assert one.value == pytest.approx(300.5e9)


def test_a_log_of_two_nodes_counts_all_ranks():
    assert dict(nccl_tests(table([(30, 300.0, 301.0, "0", "0")], count=16))[0].settings)["ranks"] == "16"


def test_a_log_without_end_is_read_only_so_far():
    text = table([(30, 300.0, 301.0, "0", "0")]) + "noise\n" * MOST_LINES + table([(20, 1.0, 1.0, "0", "0")])
    assert len(nccl_tests(text)) == 1


@given(rows, st.integers(0, 2000), st.integers(0, 2000))
def test_a_log_that_was_cut_or_damaged_is_read_as_far_as_it_goes_or_told(found, cut, at):
    text = table(found)
    text = text[: len(text) - cut % len(text)]
    text = text[: at % (len(text) + 1)] + "\x00\ufffd" + text[at % (len(text) + 1) :]
    try:
        told = nccl_tests(text)
    except DataError:
        return
    assert all(one.value >= 0 for one in told)
    assert len(told) <= len(found) + 1


def test_the_rate_of_the_wires_is_the_message_rate_times_its_factor():
    """nccl-tests' own columns, as its documentation has them for eight ranks."""
    for name, ranks, algbw, busbw in (("all_reduce", 8, 131.0, 229.25), ("all_gather", 8, 262.0, 229.25)):
        assert algbw * bus_factor(name, ranks) == pytest.approx(busbw)


# ---- nvbandwidth

cells = st.none() | st.floats(0.1, 5000.0).map(lambda one: round(one, 2))
squares = st.integers(1, 8).flatmap(
    lambda side: st.lists(st.lists(cells, min_size=side, max_size=side), min_size=side, max_size=side)
)


def as_json(name, matrix):
    shown = [["N/A" if cell is None else f"{cell:.2f}" for cell in row] for row in matrix]
    return json.dumps(
        {"nvbandwidth": {"testcases": [{"name": name, "status": "Passed", "bandwidth_matrix": shown}]}}
    )


def as_print(name, matrix):
    head = "".join(f"{column:10}" for column in range(len(matrix[0])))
    lines = [
        f" {place}" + "".join(f"{'N/A' if cell is None else f'{cell:.2f}':>10}" for cell in row)
        for place, row in enumerate(matrix)
    ]
    return (
        f"nvbandwidth Version: v0.7\n\nRunning {name}.\nmemcpy CE GPU(row) <- GPU(column)\n {head}\n"
        + "\n".join(lines)
        + f"\n\nSUM {name} 1.0\n"
    )


@given(squares)
def test_a_matrix_says_the_same_as_json_and_as_print(matrix):
    values = {
        (f"gpu {b} -> gpu {a}" if len(matrix) > 1 else f"gpu {b}"): cell
        for a, row in enumerate(matrix)
        for b, cell in enumerate(row)
        if cell is not None and (a != b or len(matrix) == 1)
    }
    assume(values and all(any(cell is not None for cell in row) for row in matrix))
    for text in (
        as_json("device_to_device_memcpy_write_ce", matrix),
        as_print("device_to_device_memcpy_write_ce", matrix),
    ):
        found = {one.on: one.value for one in nvbandwidth(text)}
        assert found == {on: pytest.approx(cell * 1e9) for on, cell in values.items()}


@pytest.mark.parametrize("cell", ["nan", "inf", "-5", "0", "1e300", "x", "", None, [], {}])
def test_a_cell_that_is_no_rate_is_left_out(cell):
    matrix = [["55.1", cell]]
    data = {"nvbandwidth": {"testcases": [{"name": "host_to_device_memcpy_ce", "bandwidth_matrix": matrix}]}}
    assert [one.on for one in nvbandwidth(json.dumps(data))] == ["gpu 0"]


def test_warnings_before_the_json_are_passed_over():
    text = "WARNING: persistence mode is off\n" + as_json("host_to_device_memcpy_ce", [[55.1, 54.9]])
    assert [one.value for one in nvbandwidth(text)] == [55.1e9, 54.9e9]


# ---- fio


@given(
    st.floats(0, 1e7),
    st.floats(0, 1e11),
    st.none() | st.floats(0, 1e10),
    st.sampled_from(["randread", "read", "write"]),
)
def test_what_fio_writes_is_read_back_in_si(iops, rate, tail, pattern):
    side = {"iops": iops, "bw_bytes": rate}
    side |= {} if tail is None else {"clat_ns": {"percentile": {"99.000000": tail}}}
    other = {"iops": -1, "bw_bytes": -1}
    sides = {"write": side, "read": other} if pattern == "write" else {"read": side, "write": other}
    told = disk.fio_result(json.dumps({"fio version": "fio-3.36", "jobs": [sides]}), pattern)
    assert (told.ops_per_s, told.bytes_per_s, told.version) == (iops, rate, "fio-3.36")
    assert told.latency_p99_s == (None if tail is None else pytest.approx(tail / 1e9))


def test_a_report_of_fio_without_end_is_no_report():
    text = "x" * 100 + json.dumps({"jobs": [{"read": {"iops": 1, "bw_bytes": 1, "more": "y" * (5 * MIB)}}]})
    with refused(DataError):
        disk.fio_result(text, "read")


@pytest.mark.parametrize("value", ["null", '"fast"', "[]", "{}", "true"])
def test_a_rate_that_is_none_is_told_or_a_number(value):
    text = f'{{"jobs": [{{"read": {{"iops": {value}, "bw_bytes": 5}}}}]}}'
    try:
        assert disk.fio_result(text, "read").ops_per_s == 1.0  # JSON's true
    except DataError:
        assert value != "true"


# ---- the port that a way begins at


def test_the_way_to_this_machine_itself_begins_at_its_loop():
    psutil = pytest.importorskip("psutil")
    told = dict(network.port_to("127.0.0.1", 9))
    names = {
        name
        for name, found in psutil.net_if_addrs().items()
        if any(one.address == "127.0.0.1" for one in found)
    }
    assert told["port"] in names


@pytest.mark.parametrize("host", ["no such host", "256.1.1.1", "x" * 300])
def test_a_way_that_nobody_knows_begins_nowhere(host):
    assert network.port_to(host, 9) == ()


def test_figures_to_a_peer_name_the_port_and_those_of_the_loop_too(monkeypatch):
    monkeypatch.setattr(network, "QUICK_ROUND_S", 0.05)
    monkeypatch.setattr(network, "SHORTEST_S", 0.02)
    with network.listener("127.0.0.1", 0) as waiting:
        network.attended(waiting)
        port = waiting.getsockname()[1]
        found = list(
            network.network(BenchRequest(part="network", quick=True, peer=f"127.0.0.1:{port}", spare_s=0.5))
        )
    carried = [dict(one.settings) for one in found if one.unit == "bytes_per_s"]
    assert {one["protocol"] for one in carried} == {"TCP"}
    assert {one.get("port") for one in carried} == {dict(network.port_to("127.0.0.1", port)).get("port")}


def test_a_peer_by_name_is_found_as_by_number():
    assert network.port_to(socket.gethostbyname("localhost"), 9) == network.port_to("127.0.0.1", 9)
