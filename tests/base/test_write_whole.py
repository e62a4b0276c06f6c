"""Files are written all at once; what is no plain file is written to, never replaced."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from rigright.base.files import write_whole

POSIX = pytest.mark.skipif(os.name == "nt", reason="links, pipes and devices of POSIX")


def test_a_file_holds_what_was_written_and_nothing_lies_beside_it(tmp_path):
    path = tmp_path / "table.csv"
    for text in ("a,b\n1,2\n", "显存\r\n", ""):
        write_whole(path, text)
        assert path.read_bytes() == text.encode()
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_leaves_the_old_file_and_no_rubbish(tmp_path):
    path = tmp_path / "table.csv"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\udcff")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "none" / "table.csv", "new")


@POSIX
def test_a_link_stays_a_link(tmp_path):
    path, link = tmp_path / "table.csv", tmp_path / "link.csv"
    path.write_text("old")
    link.symlink_to(path)
    write_whole(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"


@POSIX
def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "new")
    reader.join(timeout=30)
    assert heard == ["new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_is_an_error_and_stays_a_device():
    full = Path("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        write_whole(full, "new")
    assert stat.S_ISCHR(full.stat().st_mode)
