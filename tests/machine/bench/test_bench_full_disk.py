"""Disks that are full, that fill up on the way, that refuse; the own reader beside fio."""

from __future__ import annotations

import errno
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
from rigright.machine.bench import storage
from rigright.machine.bench.child import BenchChild
from rigright.machine.bench.parts import disk, files
from rigright.machine.bench.record import BenchRequest, Result, Skipped
from rigright.machine.bench.storage import ScratchFolder, room
from spoken import values

pytestmark = pytest.mark.skipif(not hasattr(os, "preadv"), reason="the own reader needs preadv")
SMALL = 16 * MIB
PLENTY = ScratchFolder(folder="/data", kind="ext4", free_bytes=1e12)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(storage, "LEAST", MIB)
    for part in (disk, files):
        monkeypatch.setattr(part, "QUICK_SIZE", SMALL)
        monkeypatch.setattr(part, "place_of", lambda _: PLENTY)


def ask(folder, part="disk", spare_s=1.0):
    return BenchRequest(
        part=part, spare_s=spare_s, quick=True, folder=str(folder), shown_folder="/data", cpus=1
    )


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
@pytest.mark.parametrize("part", [disk.disk, files.memmap])
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
    from rigright.machine.bench import child as children

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


@given(st.floats(0, 1e13), st.integers(1, 20 * GIB), st.integers(1, 4))
def test_a_file_never_takes_what_shall_be_left(free, wanted, files):
    place = ScratchFolder(folder="/data", kind="ext4", free_bytes=free)
    try:
        size = room(place, wanted, files=files)
    except MissingError:
        assert min(wanted, (free - storage.SPARE) / files) < storage.LEAST + MIB
        return
    assert storage.LEAST <= size <= wanted
    assert size * files + storage.SPARE <= free


def test_a_full_disk_is_told_by_every_part_that_writes(tmp_path, monkeypatch):
    full = ScratchFolder(folder="/data", kind="ext4", free_bytes=100 * MIB)
    for module, part in ((disk, disk.disk), (files, files.memmap)):
        monkeypatch.setattr(module, "place_of", lambda _: full)
        with refused(MissingError, "/data", "100 MiB"):
            list(part(ask(tmp_path)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no folder in memory here")  # noqa: S108
def test_the_real_folder_in_memory_is_refused():
    place = storage.place_of("/dev/shm")  # noqa: S108 - it is what the test is about
    assert place.in_memory
    with refused(MissingError) as caught:
        list(disk.disk(BenchRequest(part="disk", folder="/dev/shm", shown_folder="/dev/shm", quick=True)))  # noqa: S108
    assert values(caught.value.sentence) == {"folder": "/dev/shm", "kind": "tmpfs"}  # noqa: S108


# ---- cold or warm


@pytest.mark.usefixtures("small")
def test_without_a_way_past_the_cache_the_pages_are_dropped_and_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(disk.shutil, "which", lambda _: None)
    monkeypatch.setattr(storage, "_reads", lambda _: False)
    found = {one.what: dict(one.settings) for one in disk.disk(ask(tmp_path, spare_s=0.3))}
    assert found["sequential read"]["cache"] == "fsync + posix_fadvise DONTNEED"


@pytest.mark.usefixtures("small")
def test_a_file_system_that_takes_the_flag_and_refuses_the_reads_is_found_out(tmp_path, monkeypatch):
    def preadv(*_):
        raise OSError(errno.EINVAL, "Invalid argument")

    with storage.nameless(str(tmp_path)) as file:
        storage.fill(file, MIB)
        monkeypatch.setattr(storage.os, "preadv", preadv)
        with storage.past_the_cache(file) as direct:
            assert direct is None


# ---- fio: broken, hanging, changed


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
    assert [one.what for one in found[1:]] == [
        *("sequential write", "sequential read", "random read 4 KiB, 16 threads")
    ]
    assert list(work.iterdir()) == []


def test_a_fio_that_hangs_is_not_waited_for(tmp_path, monkeypatch):
    (tmp_path / "fio").write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    (tmp_path / "fio").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with refused(DataError, "fio"):
        disk.fio(disk.READ, file="f", size=MIB, patience_s=0.2)


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
