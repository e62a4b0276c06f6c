"""Where a disk benchmark writes, what it refuses, what fio says, and that nothing of it stays."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debian import needs
from refusals import refused
from rigright.base.errors import DataError, MissingError
from rigright.base.units import GIB, MIB
from rigright.machine.bench import child as children
from rigright.machine.bench import storage
from rigright.machine.bench.child import BenchChild
from rigright.machine.bench.parts import disk, files
from rigright.machine.bench.record import BenchRequest, Result, Skipped
from rigright.machine.bench.storage import ScratchFolder, kind_of, nameless, place_of, room
from rigright.machine.world import World
from spoken import values

pytestmark = pytest.mark.skipif(not hasattr(os, "preadv"), reason="the own reader needs preadv")
SMALL = 16 * MIB
PARTS = {disk: disk.disk, files: files.memmap}
OWN = ["sequential write", "sequential read", "random read 4 KiB, 16 threads"]
MOUNTS = (
    *(("/", "ext4"), ("/run/shm", "tmpfs"), ("/data", "xfs"), ("/data/my\\040sets", "btrfs")),
    ("/data/ram", "tmpfs"),
)


def kind(path, folder, mounts):
    file = folder / "proc/self/mountinfo"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"36 35 259:2 / {place} rw - {kind} /dev/x rw\n" for place, kind in mounts)
    file.write_text("broken\n" + "".join(lines), encoding="utf-8")
    return kind_of(path, World(root=folder, is_live=True))


@pytest.mark.parametrize(
    ("path", "system"),
    [
        ("/home/me", "ext4"),
        ("/data", "xfs"),
        ("/data/x", "xfs"),
        ("/database", "ext4"),
        ("/data/my sets/a", "btrfs"),
        ("/data/ram/x", "tmpfs"),
        ("/run/shm", "tmpfs"),
    ],
)
def test_the_nearest_mount_above_a_path_is_its_file_system(tmp_path, path, system):
    assert kind(path, tmp_path, MOUNTS) == system


def test_what_was_mounted_over_it_counts(tmp_path):
    assert kind("/data/x", tmp_path, (*MOUNTS, ("/data", "nfs4"))) == "nfs4"
    assert kind("/data/x", tmp_path, (("/other", "ext4"),)) is None


def place(kind="ext4", free_bytes=1e12):
    return ScratchFolder(folder="/data", kind=kind, free_bytes=free_bytes)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(storage, "LEAST", MIB)
    for part in PARTS:
        monkeypatch.setattr(part, "QUICK_SIZE", SMALL)
        monkeypatch.setattr(part, "place_of", lambda _: place())


def ask(folder, part="disk", spare_s=0.3):
    return BenchRequest(part=part, spare_s=spare_s, quick=True, folder=str(folder), shown_folder="/data")


@pytest.mark.parametrize(("kind", "in_memory"), [("tmpfs", True), ("ext4", False), (None, False)])
def test_memory_is_no_disk(kind, in_memory):
    assert place(kind).in_memory is in_memory


def test_a_file_is_as_large_as_wanted_or_as_there_is_room():
    there = place(free_bytes=storage.SPARE + 600 * MIB)
    assert room(there, 100 * MIB) == 100 * MIB
    assert room(there, 10 * GIB) == 600 * MIB
    assert room(there, 10 * GIB, files=2) == 300 * MIB


@given(st.floats(0, 1e13), st.integers(1, 20 * GIB), st.integers(1, 4))
def test_a_file_never_takes_what_shall_be_left(free, wanted, files):
    try:
        size = room(place(free_bytes=free), wanted, files=files)
    except MissingError:
        assert min(wanted, (free - storage.SPARE) / files) < storage.LEAST + MIB
        return
    assert storage.LEAST <= size <= wanted
    assert size * files + storage.SPARE <= free


@pytest.mark.parametrize("module", PARTS)
def test_a_full_disk_is_told_before_anything_is_written(tmp_path, monkeypatch, module):
    monkeypatch.setattr(module, "place_of", lambda _: place(free_bytes=storage.SPARE + 10 * MIB))
    with refused(MissingError) as caught:
        list(PARTS[module](ask(tmp_path)))
    told = values(caught.value.sentence)
    assert told == {"folder": "/data", "free": "2.01 GiB", "need": "64.0 MiB", "spare": "2.00 GiB"}
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with refused(MissingError, tmp_path / "nosuch", "No such file"):
        place_of(str(tmp_path / "nosuch"))
    assert place_of(str(tmp_path)).free_bytes > 0


@pytest.mark.skipif(os.name == "nt", reason="an open file keeps its name there")
def test_a_nameless_file_holds_what_is_written_and_leaves_nothing(tmp_path):
    with nameless(str(tmp_path)) as file:
        storage.fill(file, 3 * MIB + 5)
        assert list(tmp_path.iterdir()) == []
        assert os.fstat(file).st_size == 3 * MIB + 5
        block = os.pread(file, MIB, 0)
        assert len(set(block)) > 200  # random, not zeros
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(file)


def fills_up(monkeypatch, after):
    """Writing works for so many bytes; then the disk is full."""
    real, written = os.write, [0]

    def write(file, data):
        if written[0] >= after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = real(file, bytes(data)[: after - written[0]])
        written[0] += count
        return count

    monkeypatch.setattr(storage.os, "write", write)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("part", PARTS.values())
@pytest.mark.parametrize("after", [0, 5, MIB + 7, SMALL - 1])
def test_a_disk_that_fills_up_on_the_way_leaves_no_file(tmp_path, monkeypatch, part, after):
    fills_up(monkeypatch, after)
    with pytest.raises(OSError, match="No space left"):
        list(part(ask(tmp_path)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small")
def test_short_writes_are_gone_on_with(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(storage.os, "write", lambda file, data: real(file, bytes(data)[:100_003]))
    with storage.nameless(str(tmp_path)) as file:
        storage.fill(file, 3 * MIB + 1)
        assert os.fstat(file).st_size == 3 * MIB + 1


@pytest.mark.skipif(sys.platform != "linux", reason="a limit on the size of files, as Linux has it")
def test_a_real_limit_on_files_is_told_by_the_child_and_the_next_part_is_measured(tmp_path):
    """The child may write no file above a megabyte: as a full disk or a quota would have it."""
    start = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20));"
    )
    child = BenchChild(sys.executable, dict(os.environ))
    before, children.START = children.START, start + children.START
    try:
        found = list(child.run(ask(tmp_path, "memmap")))
        after = list(child.run(BenchRequest(part="cpu_gemm", spare_s=0.1, quick=True)))
    finally:
        children.START = before
        child.close()
    assert [values(one.why) for one in found] == [{"why": "File too large"}]
    assert {one.what for one in after} == {"fp32", "fp64"}
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_memory_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(disk, "place_of", lambda _: place("tmpfs"))
    with refused(MissingError, "--disk") as caught:
        list(disk.disk(ask(tmp_path)))
    assert values(caught.value.sentence) == {"folder": "/data", "kind": "tmpfs"}


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no folder in memory here")  # noqa: S108
def test_the_real_folder_in_memory_is_one():
    assert place_of("/dev/shm").in_memory  # noqa: S108 - it is what the test is about


@pytest.mark.usefixtures("small")
def test_a_large_file_is_read_in_every_way(tmp_path):
    found = [one for one in files.memmap(ask(tmp_path, "memmap", spare_s=60)) if isinstance(one, Result)]
    ways = ("plain", "mapped", "mapped, rows at random")
    assert [one.what for one in found] == [f"{way}, {how}" for way in ways for how in ("cold", "warm")]
    assert all(one.value > 0 for one in found)
    assert list(tmp_path.iterdir()) == []


# ---- cold or warm


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("direct", [True, False])
def test_the_own_reader_measures_says_how_it_is_cold_and_leaves_nothing(tmp_path, monkeypatch, direct):
    monkeypatch.setattr(disk.shutil, "which", lambda _: None)
    if not direct:
        monkeypatch.setattr(storage, "_reads", lambda _: False)
    found = {one.what: one for one in disk.disk(ask(tmp_path))}
    assert list(found) == OWN
    assert all(one.value > 0 and one.on == "/data" for one in found.values())
    assert found[OWN[2]].unit == "ops_per_s"
    how = {"fsync + posix_fadvise DONTNEED"} | ({"O_DIRECT"} if direct else set())
    assert dict(found["sequential read"].settings)["cache"] in how
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small")
def test_a_file_system_that_takes_the_flag_and_refuses_the_reads_is_found_out(tmp_path, monkeypatch):
    def preadv(*_):
        raise OSError(errno.EINVAL, "Invalid argument")

    with storage.nameless(str(tmp_path)) as file:
        storage.fill(file, MIB)
        monkeypatch.setattr(storage.os, "preadv", preadv)
        with storage.past_the_cache(file) as direct:
            assert direct is None


# ---- fio


def test_the_guides_job_is_asked_as_the_guide_has_it():
    line = " ".join(disk.command(disk.GUIDE, file="/data/f", size=10 * GIB))
    for word in ("--ioengine=libaio", "--iodepth=32", "--rw=randread", "--bs=4096", "--direct=1"):
        assert word in line
    for word in (f"--size={10 * GIB}", "--numjobs=4", "--runtime=60", "--group_reporting"):
        assert word in line


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


@given(st.text(max_size=300) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_what_is_not_fios_is_an_error_of_ours(text):
    with refused(DataError):
        disk.fio_result(text, "read")


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda x: st.lists(x) | st.dictionaries(
    st.sampled_from(["jobs", "read", "iops", "bw_bytes", "clat_ns"]), x), max_leaves=12))  # fmt: skip
def test_json_of_another_shape_is_an_error_or_read(data):
    try:
        told = disk.fio_result(json.dumps(data), "read")
    except DataError:
        return
    assert isinstance(told.ops_per_s, float)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("does", ["exit 1", "echo '{\"jobs\": []}'", "echo hello", "kill -9 $$"])
def test_where_fio_fails_the_own_reader_measures_and_the_reason_is_told(tmp_path, monkeypatch, does):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "fio").write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
    (folder / "fio").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    work = tmp_path / "work"
    work.mkdir()
    found = list(disk.disk(ask(work, spare_s=0.3)))
    assert isinstance(found[0], Skipped)
    assert "fio" in str(found[0].why)
    assert [one.what for one in found[1:]] == OWN
    assert list(work.iterdir()) == []


def test_a_fio_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with refused(DataError, "No such file"):
        disk.fio(disk.READ, file="f", size=MIB, patience_s=5)


@pytest.mark.live
@pytest.mark.usefixtures("small")
def test_the_real_fio_runs_the_jobs_on_a_file_without_a_name(tmp_path):
    needs("fio")
    found = list(disk.disk(ask(tmp_path)))
    if any(
        isinstance(one, Skipped) for one in found
    ):  # a file system without direct reads: the own reader did it
        assert {"sequential read", "random read 4 KiB, 16 threads"} <= {
            one.what for one in found if isinstance(one, Result)
        }
        return
    assert [one.what for one in found] == [
        *("random read 4 KiB", "random read 4 KiB, slowest of a hundred"),
        *("sequential read 1 MiB", "sequential write 1 MiB"),
    ]
    assert dict(found[0].settings)["tool"].startswith("fio-")
    assert all(one.low <= one.value <= one.high for one in found)
    assert list(Path(tmp_path).iterdir()) == []


@pytest.mark.live
@pytest.mark.usefixtures("small")
def test_the_own_reader_agrees_with_fio_on_the_same_disk_within_a_wide_law(tmp_path, monkeypatch):
    """One reads with 16 threads of Python, the other with 128 requests; neither reads from the cache."""
    needs("fio")
    theirs = {one.what: one for one in disk.disk(ask(tmp_path, spare_s=3.0)) if isinstance(one, Result)}
    if "sequential read 1 MiB" not in theirs:
        pytest.skip("this file system takes no direct reads: fio measured nothing")
    monkeypatch.setattr(disk.shutil, "which", lambda _: None)
    own = {one.what: one for one in disk.disk(ask(tmp_path, spare_s=2.0)) if isinstance(one, Result)}
    ratio = own["sequential read"].value / theirs["sequential read 1 MiB"].value
    assert 0.05 < ratio < 20
    ratio = own["random read 4 KiB, 16 threads"].value / theirs["random read 4 KiB"].value
    assert 0.005 < ratio < 20
    assert list(tmp_path.iterdir()) == []
