"""`bench --from`: the board is the log's, the largest size is judged, ends are named, all tools are read."""

from __future__ import annotations

import json

import pytest

from refusals import refused
from rigright.base.errors import DataError
from rigright.doctor.examine import EXIT_FAULT
from rigright.faces.cli.main import main
from rigright.verbs.bench.verb import bench_from

HEAD = (
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw #wrong\n"
)


def nccl(rates, *, card="NVIDIA H100 80GB HBM3", ranks=8, name="all_reduce_perf", hosts=1, redop="sum"):
    """A log: the rate of the wires by size in MiB."""
    times = {"all_reduce_perf": 2, "": 2}.get(name, 1) * (ranks - 1) / ranks
    each = ranks // hosts
    who = [
        f"#  Rank {n:2} Group  0 Pid  7 on    node-{n // each} device {n % each:2} [0x1b] {card}"
        for n in range(ranks)
    ]
    rows = [
        f" {size * 2**20}  {size * 2**18}  float  {redop}  -1  10.0 {rate / times:.2f} {rate:.2f} 0"
        f"  10.0 {rate / times:.2f} {rate:.2f} 0"
        for size, rate in rates.items()
    ]
    command = f"$ ./{name} -b 8 -e 8G\n" if name else ""
    return "\n".join([f"{command}# nThread 1 nGpus {each} minBytes 8 maxBytes 89", "#", *who, HEAD, *rows])


def read(tmp_path, text, name="run.log"):
    file = tmp_path / name
    file.write_text(text)
    return bench_from(str(file))


def judged(made):
    return [(one.result.what, one.verdict) for one in made.results if one.verdict != "unknown"]


@pytest.mark.parametrize(
    ("rate", "size", "card", "verdict"),
    [
        (215, 8192, "NVIDIA H100 80GB HBM3", "slow"),
        (470, 8192, "NVIDIA H100 80GB HBM3", "expected"),
        (215, 1024, "NVIDIA H100 80GB HBM3", "slow"),
        (380, 1024, "NVIDIA H100 80GB HBM3", "expected"),
        (150, 4096, "NVIDIA A100-SXM4-80GB", "slow"),
        (233, 4096, "NVIDIA A100-SXM4-80GB", "expected"),
        (400, 16384, "NVIDIA B200", "slow"),
        (840, 16384, "NVIDIA B200", "expected"),
        (310, 4096, "AMD Instinct MI300X", "expected"),
        (150, 4096, "AMD Instinct MI300X", "slow"),
    ],
)
def test_the_board_is_the_logs_and_the_largest_size_is_judged(tmp_path, rate, size, card, verdict):
    made = read(tmp_path, nccl({1: 20, 64: 90, size: rate}, card=card))
    assert judged(made) == [(f"all_reduce {size} MiB", verdict)]
    assert len(made.machine.devices) == 8
    assert not made.notes


def test_half_of_what_it_should_be_is_said_so(tmp_path):
    ((one,),) = [read(tmp_path, nccl({8192: 215})).slow_results]
    assert one.share == pytest.approx(0.48, abs=0.01)


def test_a_log_of_processes_that_ran_alone_says_so(tmp_path):
    """Once it was called no benchmark at all."""
    with refused(DataError, "MPI=1"):
        read(tmp_path, nccl({8192: 0, 1024: 0}, ranks=2).replace("Rank  1", "Rank  0"))


def test_several_machines_are_not_held_against_the_links_of_one(tmp_path):
    assert judged(read(tmp_path, nccl({8192: 90}, ranks=16, hosts=2))) == []


@pytest.mark.parametrize(
    ("name", "redop", "file", "wanted"),
    [
        ("", "sum", "x.log", "all_reduce"),
        ("", "none", "nccl_allgather.log", "all_gather"),
        ("alltoall_perf", "none", "x.log", "all_to_all"),
        ("reduce_scatter_perf", "sum", "x.log", "reduce_scatter"),
    ],
)
def test_the_collective_is_told_by_its_command_its_rates_or_its_file(tmp_path, name, redop, file, wanted):
    text = nccl({4096: 300}, name=name, redop=redop)
    if "gather" in file:
        text = nccl({4096: 300}, name="all_gather_perf", redop=redop).partition("\n")[2]
    assert read(tmp_path, text, file).results[0].result.what == f"{wanted} 4096 MiB"


def test_several_tables_of_one_file_are_each_their_own(tmp_path):
    text = nccl({4096: 350}) + "\n" + nccl({4096: 340}, name="all_gather_perf", redop="none")
    assert [what for what, _ in judged(read(tmp_path, text))] == [
        "all_reduce 4096 MiB",
        "all_gather 4096 MiB",
    ]


NVB = """nvbandwidth Version: v0.6
Device 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)
Device 1: NVIDIA H100 80GB HBM3 (00000000:43:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.40     31.00
 1     31.10     55.30

Running device_to_host_memcpy_ce.
memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0     55.40     52.00
"""


def test_ends_of_a_copy_are_named_and_far_sockets_are_not_called_slow(tmp_path):
    made = read(tmp_path, NVB)
    told = [(one.result.on, one.verdict) for one in made.results]
    assert [on for on, _ in told[:4]] == [f"cpu {a} -> gpu {b}" for a in range(2) for b in range(2)]
    assert "slow" not in dict(told).values()


def test_what_is_called_less_lies_below_what_is_expected(tmp_path):
    for low in (54.0, 52.0, 50.0, 48.0, 30.0):
        made = read(tmp_path, NVB.replace("     52.00", f"     {low:.2f}"))
        assert all(one.result.value < one.least for one in made.slow_results), low


BURN = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-11)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-12)
Initialized device 0 with 40536 MB of memory (40103 MB available, using 36093 MB of it), using {kind}
10.0%  proc'd: 8370 (14200 Gflop/s) - 8300 (17100 Gflop/s)   errors: 0 - 0   temps: 60 C - 61 C \r\
100.0%  proc'd: 83700 (17233 Gflop/s) - 43000 (17150 Gflop/s)   errors: 0 - {errors}  temps: 73 C - 85 C
Tested 2 GPUs:
\tGPU 0: OK
\tGPU 1: {said}
"""


def test_what_came_out_wrong_without_a_figure_is_a_fault(tmp_path, capsys):
    file = tmp_path / "nvbandwidth.log"
    file.write_text(
        "nvbandwidth Version: v0.8\n\nRunning host_to_device_memcpy_ce.\n"
        "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0\n 0     55.31\n\n"
        "SUM host_to_device_memcpy_ce 55.31\n\nRunning device_to_device_memcpy_read_ce.\n"
        "Invalid value when checking the pattern at 0x7f2c00000000\n",
        encoding="utf-8",
    )
    for verb in ("bench", "doctor"):
        assert main([verb, "--from", str(file), "--json"]) == EXIT_FAULT
    capsys.readouterr()


@pytest.mark.parametrize(
    ("kind", "errors", "said", "wrong"),
    [
        ("FLOATS", "0", "OK", []),
        ("FLOATS", "12 (WARNING!)", "FAULTY", ["gpu 1"]),
        ("FLOATS, using Tensor Cores", "0", "FAULTY", ["gpu 1"]),
        ("DOUBLES", "-1 (DIED!)", "FAULTY", ["gpu 1"]),
    ],
)
def test_gpu_burn_tells_of_rates_and_of_wrong_values(tmp_path, kind, errors, said, wrong):
    made = read(tmp_path, BURN.format(kind=kind, errors=errors, said=said))
    assert [one.result.on for one in made.wrong_results] == wrong
    assert {one.result.part for one in made.results} == {"gpu_burn"}
    assert len(made.results) == 2


def test_superbench_copies_and_summaries(tmp_path):
    copies = "cpu_to_gpu0_by_dma_under_numa1 26.2\ngpu0_to_gpu1_write_by_dma 279.3\ngpu0_to_cpu_by_sm 5.7\n"
    ons = [one.result.on for one in read(tmp_path, copies).results]
    assert ons == ["cpu 1 -> gpu 0", "gpu 0 -> gpu 1", "gpu 0 -> cpu"]
    summary = {
        "node": "n1",
        "nccl-bw:nvlink/allreduce_8589934592_busbw:0": 234.5,
        "kernel-launch/time": 0.1,
    }
    (one,) = read(tmp_path, json.dumps(summary) + "\n").results
    assert (one.result.part, one.result.what, one.result.value) == (
        "nccl_tests",
        "all_reduce 8192 MiB",
        234.5e9,
    )


def test_what_is_none_of_them_is_said_so(tmp_path):
    for text in ("", "hello", "{}", '{"node": "x"}', "GPU 0: OK maybe", "[1, 2"):
        with refused(DataError, "run.log"):
            read(tmp_path, text)
