"""Logs of nccl-tests and nvbandwidth. The texts are made here; their shape is that of the programs."""

# ruff: noqa: E501 - the tables are as wide as the programs print them
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from rigright.base.errors import DataError
from rigright.machine.bench.logs import nccl_tests, nvbandwidth

NCCL = """\
# nThread 1 nGpus 2 minBytes 67108864 maxBytes 1073741824 step: 4(factor) warmup iters: 5 iters: 20
# Using devices
#  Rank  0 Group  0 Pid   4242 on       node device  0 [0x07] Some card
#  Rank  1 Group  0 Pid   4242 on       node device  1 [0x0b] Some card
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
    67108864      16777216     float     sum      -1    500.0  134.22  134.22      0    510.0  131.58  131.58      0
  1073741824     268435456     float     sum      -1   7000.0  153.39  153.39      0   7010.0  153.17  153.17      3
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 143.1
"""

NVB_JSON = {
    "nvbandwidth": {
        "CUDA Runtime Version": 12040,
        "testcases": [
            {
                "name": "host_to_device_memcpy_ce",
                "status": "Passed",
                "bandwidth_matrix": [["55.40", "55.10"]],
            },
            {
                "name": "device_to_device_memcpy_write_ce",
                "status": "Passed",
                "bandwidth_matrix": [["N/A", "396.40"], ["395.80", "N/A"]],
            },
            {"name": "host_device_latency_sm", "status": "Waived"},
        ],
    }
}

NVB_TEXT = """\
nvbandwidth Version: v0.5
Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.40     55.10

SUM host_to_device_memcpy_ce 110.50

Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    396.40
 1    395.80       N/A
"""


def test_nccl_tests_are_read_by_size_with_both_columns():
    small, large = nccl_tests(NCCL, collective="all_reduce")
    assert (small.what, small.on, small.unit) == ("all_reduce 64 MiB", "gpu all", "bytes_per_s")
    assert (small.low, small.high) == (pytest.approx(131.58e9), pytest.approx(134.22e9))
    assert dict(small.settings)["ranks"] == "2"
    assert large.what == "all_reduce 1024 MiB"


def test_a_program_named_in_the_log_needs_no_telling():
    named = NCCL.replace("# nThread", "# ./build/alltoall_perf -b 64M\n# nThread")
    assert nccl_tests(named)[0].what == "all_to_all 64 MiB"


def test_wrong_values_are_kept_where_they_were_counted():
    wrong = NCCL.replace("153.39      0", "153.39     12")
    settings = [dict(one.settings) for one in nccl_tests(wrong)]
    assert [one.get("wrong") for one in settings] == [None, "15"]  # out of place and in place


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
    told = nccl_tests("".join(f"{label}{line}\n" for line in NCCL.splitlines()))
    plain = nccl_tests(NCCL)
    assert [(one.what, one.value, one.settings) for one in told] == [
        (one.what, one.value, one.settings) for one in plain
    ]


def test_the_signs_that_a_page_ate_are_not_missed():
    bare = NCCL.replace("#wrong", "wrong").replace("# ", "").replace("#", "").replace("wrong", "#wrong")
    assert dict(nccl_tests(bare)[0].settings)["ranks"] == "2"
    assert nccl_tests(bare)[1].value == nccl_tests(NCCL)[1].value


def test_processes_that_ran_alone_measured_no_wires():
    alone = NCCL.replace("#  Rank  1", "#  Rank  0")
    for rate in ("134.22  134.22", "131.58  131.58", "153.39  153.39", "153.17  153.17"):
        alone = alone.replace(rate, "153.17    0.00")
    with refused(DataError, "MPI=1"):
        nccl_tests(alone.replace("0.00      3", "0.00    N/A"))


def test_a_latency_is_a_time():
    text = NVB_TEXT.replace("host_to_device_memcpy_ce", "host_device_latency_sm").replace("(GB/s)", "(ns)")
    first = nvbandwidth(text.replace("55.40", "772.58"))[0]
    assert (first.what, first.unit, first.value) == ("host_device_latency_sm", "s", pytest.approx(772.58e-9))


def test_nvbandwidths_json_and_print_say_the_same():
    as_json, as_text = nvbandwidth(json.dumps(NVB_JSON)), nvbandwidth(NVB_TEXT)
    assert [(one.what, one.on, one.value) for one in as_json] == [
        (one.what, one.on, one.value) for one in as_text
    ]
    assert [one.on for one in as_json] == ["gpu 0", "gpu 1", "gpu 1 -> gpu 0", "gpu 0 -> gpu 1"]
    assert as_json[2].value == pytest.approx(396.4e9)


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


def test_a_log_without_its_table_is_told():
    with refused(DataError):
        nccl_tests("NCCL failure: unhandled system error\n")
    with refused(DataError):
        nvbandwidth("[CUDA_ERROR_NO_DEVICE] no CUDA-capable device is detected")
