"""The one door: nothing above the root, nothing past its time, and the recorded answers as the live."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trees import planted, remembered
from rigright.base.patience import NAME, patience
from rigright.machine.probe import probe
from rigright.machine.world import MOST_NAME, World, command_file, here

posix = pytest.mark.skipif(os.name == "nt", reason="shell scripts and links")


@given(st.lists(st.sampled_from(["..", ".", "a", "", "etc", "\0", "ü"]), max_size=8))
def test_no_path_reaches_above_the_root(parts):
    world = World(root=here().root / "nowhere")
    at = world.at("/".join(parts))
    assert at == world.root or world.root in at.parents


@posix
def test_a_foreign_trees_link_out_of_it_reads_nothing(tmp_path):
    (tmp_path / "secret").write_text("s")
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "loop").symlink_to(root / "loop")
    (root / "folder").symlink_to(tmp_path)
    world = World(root=root)
    assert world.text("/out") is None
    assert world.names("/folder") == ()
    assert world.text("/loop") is None
    assert world.link("/out") is None


@posix
def test_a_pipe_in_a_foreign_tree_is_not_waited_for(tmp_path):
    (tmp_path / "proc").mkdir()
    os.mkfifo(tmp_path / "proc/meminfo")
    assert World(root=tmp_path).text("/proc/meminfo") is None


@posix
def test_links_are_followed_below_the_root(tmp_path):
    (tmp_path / "sys/devices/pci0/0000:01:00.0").mkdir(parents=True)
    (tmp_path / "sys/bus").mkdir()
    (tmp_path / "sys/bus/gpu").symlink_to(tmp_path / "sys/devices/pci0/0000:01:00.0")
    world = World(root=tmp_path)
    assert world.link("/sys/bus/gpu") == "/sys/devices/pci0/0000:01:00.0"
    assert world.link("/sys/bus/none") is None


def test_a_file_is_read_no_further_than_asked(tmp_path):
    (tmp_path / "big").write_bytes(b"x" * 1000)
    world = World(root=tmp_path)
    assert len(world.raw("big", 10)) == 10
    assert world.text("absent") is None
    assert not world.has("absent")
    assert world.has("big")


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path):
    (tmp_path / "file").write_text("x\n")
    world = World(root=tmp_path)
    assert world.text("/") is None
    assert world.names("/file") == ()
    assert world.text("/file") == "x"


def live(**env):
    return World(env={**os.environ, **env}, is_live=True)


@posix
def test_a_command_that_hangs_is_ended_with_all_it_started():
    said = live().run("sh", "-c", "sleep 60 & sleep 60", patience_s=0.2)
    assert said.code == -1


def test_patience_is_one_number():
    told = {"": 1, "2": 2, "0.1": 0.1, "x": 1, "-1": 1, "0": 1, "inf": 1, "nan": 1, "1e9": 1}
    assert {text: patience(3.0, {NAME: text}) for text in told} == {
        text: pytest.approx(3.0 * factor) for text, factor in told.items()
    }
    assert patience(3.0, {}) == 3.0


@posix
def test_a_command_is_waited_for_as_long_as_there_is_patience():
    assert live(**{NAME: "0.001"}).run("sleep", "600", patience_s=300).code == -1
    assert live(**{NAME: "1000"}).run("sleep", "0.3", patience_s=0.01).code == 0


@posix
def test_a_command_speaks_english_and_gets_no_input():
    said = live(LANG="zh_CN.UTF-8", LC_ALL="zh_CN.UTF-8").run("sh", "-c", 'echo "$LC_ALL $LANG"; cat; exit 3')
    assert (said.code, said.out) == (3, "C C\n")


def test_a_command_that_is_not_here_is_none():
    assert live().run("no-such-command-anywhere") is None
    assert live().run(sys.executable + "\0") is None


def test_a_foreign_tree_starts_nothing(tmp_path):
    assert World(root=tmp_path).run(sys.executable, "--version") is None


def test_recorded_commands_answer_with_their_exit_code(tmp_path):
    (tmp_path / command_file(("lspci", "-nn"))).write_text("7\nout\nmore")
    world = World(root=tmp_path, commands=tmp_path)
    said = world.run("lspci", "-nn")
    assert (said.code, said.out) == (7, "out\nmore")
    assert world.run("lspci") is None


@given(st.lists(st.text(max_size=200), min_size=1, max_size=5))
def test_a_commands_file_is_one_short_plain_name(words):
    name = command_file(tuple(words))
    assert "/" not in name
    assert "\\" not in name
    assert len(name) <= MOST_NAME + len(".txt")


@pytest.mark.parametrize("name", ["desktop", "spark"])
def test_a_tree_in_memory_reads_as_one_on_the_disk(name, tmp_path):
    """What the tests of readers and checks rest on."""
    assert probe(remembered({"like": name})) == probe(planted(tmp_path, {"like": name}))
