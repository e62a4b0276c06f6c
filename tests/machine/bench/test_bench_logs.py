"""Logs of nccl-tests and nvbandwidth: whatever they write is read back, nothing else. The texts are made here."""

# ruff: noqa: E501 - the tables are as wide as the programs print them
from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from refusals import refused
from rigright.base.errors import DataError
from rigright.base.units import MIB
from rigright.machine.bench.logs import MOST_LINES, nccl_tests, nvbandwidth

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


PLAIN = table([(26, 134.22, 131.58, "0", "0"), (30, 153.39, 153.17, "0", "3")], count=2)


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


OLD = """\
# Using devices
#   Rank  0 Pid  26528 on  node device  0 [0x07] Some card
#   Rank  1 Pid  26529 on  node device  1 [0x0a] Some card
#
#                                                       out-of-place                       in-place
#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
       65536         16384     float     sum    98.69    0.66    1.30  1e-06    95.90    0.68    1.36  2e-06
   134217728      33554432     float     sum   1200.0  111.85  111.85  1e-06   1210.0  110.92  110.92  2e-06
# Out of bounds values : 0 OK
"""


def test_before_values_were_counted_an_error_of_rounding_is_no_wrong_value():
    small, large = nccl_tests(OLD, collective="all_reduce")
    assert (small.what, large.what) == ("all_reduce 0.0625 MiB", "all_reduce 128 MiB")
    assert (large.low, large.high) == (pytest.approx(110.92e9), pytest.approx(111.85e9))
    assert "wrong" not in dict(large.settings)
    told = nccl_tests(OLD.replace(": 0 OK", ": 248 FAILED"))
    assert [dict(one.settings).get("wrong") for one in told] == [None, "248"]


@pytest.mark.parametrize(
    "label",
    ["[1,0]<stdout>:", "[1,0]<stdout>: ", "0: ", "12: "],
)
def test_the_label_of_a_launcher_before_each_line_is_passed_over(label):
    told = nccl_tests("".join(f"{label}{line}\n" for line in PLAIN.splitlines()))
    plain = nccl_tests(PLAIN)
    assert [(one.what, one.value, one.settings) for one in told] == [
        (one.what, one.value, one.settings) for one in plain
    ]


def test_the_signs_that_a_page_ate_are_not_missed():
    bare = PLAIN.replace("#wrong", "wrong").replace("# ", "").replace("#", "").replace("wrong", "#wrong")
    assert dict(nccl_tests(bare)[0].settings)["ranks"] == "2"
    assert nccl_tests(bare)[1].value == nccl_tests(PLAIN)[1].value


def test_processes_that_ran_alone_measured_no_wires():
    with refused(DataError, "MPI=1"):
        nccl_tests(table([(26, 0.0, 0.0, "0", "N/A"), (30, 0.0, 0.0, "0", "0")], count=1))


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


def as_print(name, matrix, *, unit=""):
    head = "".join(f"{column:10}" for column in range(len(matrix[0])))
    lines = [
        f" {place}" + "".join(f"{'N/A' if cell is None else f'{cell:.2f}':>10}" for cell in row)
        for place, row in enumerate(matrix)
    ]
    return (
        f"nvbandwidth Version: v0.7\n\nRunning {name}.\nmemcpy CE GPU(row) <- GPU(column){unit}\n {head}\n"
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


def test_a_latency_is_a_time():
    (first, *_) = nvbandwidth(as_print("host_device_latency_sm", [[772.58, 700.0]], unit=" (ns)"))
    assert (first.what, first.unit, first.value) == ("host_device_latency_sm", "s", pytest.approx(772.58e-9))


@pytest.mark.parametrize("read", [nccl_tests, nvbandwidth])
@given(text=st.text(alphabet=st.sampled_from('0123456789.{}[]":, \nabN/A#Running'), max_size=400))
def test_any_other_text_is_an_error_of_ours_or_read(read, text):
    try:
        found = read(text)
    except DataError:
        return
    assert all(one.value >= 0 for one in found)


@given(st.recursive(st.none() | st.integers() | st.floats() | st.text(max_size=6), lambda inner: st.lists(
    inner, max_size=3) | st.dictionaries(st.sampled_from(["nvbandwidth", "testcases", "name",
    "bandwidth_matrix"]), inner, max_size=3), max_leaves=15))  # fmt: skip
def test_json_of_another_shape_is_an_error_of_ours_or_read(data):
    try:
        found = nvbandwidth(json.dumps(data))
    except DataError:
        return
    assert all(one.value > 0 for one in found)


def test_a_log_without_its_table_gives_nothing():
    assert nccl_tests("NCCL failure: unhandled system error\n") == []
    assert nvbandwidth("[CUDA_ERROR_NO_DEVICE] no CUDA-capable device is detected") == []
