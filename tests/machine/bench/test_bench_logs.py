"""Logs of nccl-tests and nvbandwidth. The texts are made here; their shape is that of the programs."""

# ruff: noqa: E501 - the tables are as wide as the programs print them
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_nvbandwidths_json_and_print_say_the_same():
    as_json, as_text = nvbandwidth(json.dumps(NVB_JSON)), nvbandwidth(NVB_TEXT)
    assert [(one.what, one.on, one.value) for one in as_json] == [
        (one.what, one.on, one.value) for one in as_text
    ]
    assert [one.on for one in as_json] == ["gpu 0", "gpu 1", "gpu 0 -> gpu 1", "gpu 1 -> gpu 0"]
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
    with pytest.raises(DataError, match="no table of nccl-tests"):
        nccl_tests("NCCL failure: unhandled system error\n")
    with pytest.raises(DataError, match="nothing that nvbandwidth prints"):
        nvbandwidth("[CUDA_ERROR_NO_DEVICE] no CUDA-capable device is detected")
