"""Where a disk benchmark writes, what it refuses, and that nothing of it stays."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debian import needs
from refusals import refused
from rigright.base.errors import DataError, MissingError
from rigright.base.units import GIB, MIB
from rigright.machine.bench import storage
from rigright.machine.bench.parts import disk, files
from rigright.machine.bench.record import BenchRequest, Result, Skipped
from rigright.machine.bench.storage import ScratchFolder, kind_of, nameless, place_of, room
from spoken import values

MOUNTS = """\
/dev/root / ext4 rw 0 0
tmpfs /run/shm tmpfs rw 0 0
/dev/nvme0n1 /data xfs rw 0 0
/dev/nvme1n1 /data/my\\040sets btrfs rw 0 0
tmpfs /data/ram tmpfs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "kind"),
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
def test_the_nearest_mount_above_a_path_is_its_file_system(path, kind):
    assert kind_of(path, MOUNTS) == kind


def test_what_was_mounted_over_it_counts():
    assert kind_of("/data/x", "a / ext4 rw\nb /data xfs rw\nc /data nfs4 rw\n") == "nfs4"


@given(st.text(max_size=200), st.text(max_size=60))
def test_any_table_of_mounts_can_be_read(mounts, path):
    assert kind_of("/" + path, mounts) is None or isinstance(kind_of("/" + path, mounts), str)


def test_memory_is_no_disk():
    assert ScratchFolder(folder="/run/shm", kind="tmpfs", free_bytes=1e12).in_memory
    assert not ScratchFolder(folder="/", kind="ext4", free_bytes=1e12).in_memory
    assert not ScratchFolder(folder="/", kind=None, free_bytes=1e12).in_memory


def test_a_full_disk_is_told_before_anything_is_written():
    tight = ScratchFolder(folder="/data", kind="ext4", free_bytes=storage.SPARE + 10 * MIB)
    with refused(MissingError) as caught:
        room(tight, 10 * GIB)
    told = values(caught.value.sentence)
    assert told == {"folder": "/data", "free": "2.01 GiB", "need": "64.0 MiB", "spare": "2.00 GiB"}


def test_a_file_is_as_large_as_wanted_or_as_there_is_room():
    place = ScratchFolder(folder="/data", kind="ext4", free_bytes=storage.SPARE + 600 * MIB)
    assert room(place, 100 * MIB) == 100 * MIB
    assert room(place, 10 * GIB) == 600 * MIB
    assert room(place, 10 * GIB, files=2) == 300 * MIB


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


SMALL = 4 * MIB


@pytest.fixture
def small(monkeypatch):
    for part in (disk, files):
        monkeypatch.setattr(part, "QUICK_SIZE", SMALL)
    monkeypatch.setattr(storage, "LEAST", MIB)
    monkeypatch.setattr(storage, "SPARE", MIB)
    monkeypatch.setattr(
        disk, "place_of", lambda folder: ScratchFolder(folder=folder, kind="ext4", free_bytes=1e12)
    )


def ask(folder, part="disk", spare_s=0.2):
    return BenchRequest(
        part=part, spare_s=spare_s, quick=True, folder=str(folder), shown_folder="/data", cpus=1
    )


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="the own reader needs preadv")
@pytest.mark.usefixtures("small")
def test_the_own_reader_measures_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(disk.shutil, "which", lambda _: None)
    found = {one.what: one for one in disk.disk(ask(tmp_path))}
    assert list(found) == ["sequential write", "sequential read", "random read 4 KiB, 16 threads"]
    assert all(one.value > 0 and one.on == "/data" for one in found.values())
    assert found["random read 4 KiB, 16 threads"].unit == "ops_per_s"
    assert dict(found["sequential read"].settings)["cache"] in {"O_DIRECT", "fsync + posix_fadvise DONTNEED"}
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_memory_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(
        disk, "place_of", lambda folder: ScratchFolder(folder=folder, kind="tmpfs", free_bytes=1e12)
    )
    with refused(MissingError, "--disk") as caught:
        list(disk.disk(ask(tmp_path)))
    assert values(caught.value.sentence) == {"folder": "/data", "kind": "tmpfs"}


@pytest.mark.usefixtures("small")
def test_a_large_file_is_read_in_every_way(tmp_path, monkeypatch):
    monkeypatch.setattr(
        files, "place_of", lambda folder: ScratchFolder(folder=folder, kind="ext4", free_bytes=1e12)
    )
    found = [one for one in files.memmap(ask(tmp_path, "memmap", spare_s=60)) if isinstance(one, Result)]
    assert [one.what for one in found][:2] == ["plain, cold", "plain, warm"]
    assert len(found) == 6
    assert all(one.value > 0 for one in found)
    assert list(tmp_path.iterdir()) == []


# ---- fio


def test_the_guides_job_is_asked_as_the_guide_has_it():
    line = " ".join(disk.command(disk.GUIDE, file="/data/f", size=10 * GIB, engine="libaio"))
    for word in ("--ioengine=libaio", "--iodepth=32", "--rw=randread", "--bs=4096", "--direct=1"):
        assert word in line
    for word in (f"--size={10 * GIB}", "--numjobs=4", "--runtime=60", "--group_reporting"):
        assert word in line


SAID = {
    "fio version": "fio-3.33",
    "jobs": [
        {
            "read": {
                "iops": 85139.2,
                "iops_min": 70000,
                "iops_max": 91000,
                "bw_bytes": 348730163,
                "lat_ns": {"mean": 1500000.0},
                "clat_ns": {"percentile": {"99.000000": 2244608}},
            },
            "write": {"iops": 0, "bw_bytes": 5, "lat_ns": {}},
        }
    ],
}


def test_what_fio_says_is_read_in_si():
    told = disk.fio_result("fio: a warning first\n" + json.dumps(SAID), "randread")
    assert (told.ops_per_s, told.bytes_per_s, told.version) == (85139.2, 348730163.0, "fio-3.33")
    assert told.latency_p99_s == pytest.approx(0.002244608)
    assert disk.fio_result(json.dumps(SAID), "write").bytes_per_s == 5.0


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


def test_a_job_that_cannot_be_run_is_told(monkeypatch, tmp_path):
    broken = tmp_path / "fio"
    broken.write_text("#!/bin/sh\necho 'fio: engine libaio not loadable' >&2\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with refused(DataError, "fio: engine libaio not loadable"):
        disk.fio(disk.READ, file="f", size=MIB, patience_s=5)
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
