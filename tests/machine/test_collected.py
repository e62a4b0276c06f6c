"""A machine that the shell script read shows what our own readers see there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rigright.base.errors import RigError
from rigright.machine.far.shell import MARK, script
from rigright.machine.opened import read_machine
from rigright.machine.opened.collected import host_of, is_collected, read_collected
from rigright.machine.probe import probe
from scenes import scene

if not sys.platform.startswith("linux"):
    pytest.skip("the script reads /proc and /sys", allow_module_level=True)

SHELLS = [one for one in ("sh", "dash", "bash", "busybox") if shutil.which(one)]
SAME = ("pci", "slots", "memory", "cpu", "ports", "sensors")
OF_HEALTH = {"worn_share", "spare_share", "temperature_c", "unsafe_shutdowns", "media_errors"}
ELSEWHERE = {"size_bytes", "free_bytes", "files_free_share"}  # the played `df` knows other words


def collected(world, shell="sh"):
    env = {**world.env, "PATH": f"{world.env['PATH']}:/usr/bin:/bin", "VLLM_API_KEY": "hush"}
    words = [shell, "sh", "-s"] if shell == "busybox" else [shell, "-s"]
    done = subprocess.run(
        words, input=script().encode(), env=env, capture_output=True, timeout=60, check=True
    )
    return done.stdout


@pytest.fixture(scope="module", params=["healthy_8xh100", "healthy_2x4090", "xids"])
def played(request, tmp_path_factory):
    world = scene(request.param, tmp_path_factory.mktemp("scene"))
    return probe(world), collected(world)


def test_what_it_brings_is_read_as_on_the_machine_itself(played):
    live, raw = played
    found = read_machine(raw, name="box.txt")
    for name in SAME:
        assert getattr(found, name) == getattr(live, name), name
    bare = [replace(one, **dict.fromkeys(ELSEWHERE)) for one in live.mounts]
    assert list(found.mounts) == bare
    for mine, there in zip(found.disks, live.disks, strict=True):
        for one in fields(mine):
            if one.name not in OF_HEALTH:
                assert getattr(mine, one.name) == getattr(there, one.name), one.name
    told = [(one.kind, one.text, one.up_s, one.pci, one.code) for one in live.events or ()]
    assert [(one.kind, one.text, one.up_s, one.pci, one.code) for one in found.events or ()] == told
    assert all(
        abs(a.at_s - b.at_s) < 5 for a, b in zip(found.events or (), live.events or (), strict=True) if b.at_s
    )
    assert found.system.kernel == live.system.kernel
    assert {one.name for one in found.software.packages} == {one.name for one in live.software.packages}


def test_a_secret_stays_there(played):
    _, raw = played
    assert b"hush" not in raw
    assert b"VLLM_API_KEY=(set)" in raw


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_says_the_same(shell, tmp_path):
    found = read_collected(collected(scene("healthy_2x4090", tmp_path), shell), name="box")
    assert len(found.pci) > 5
    assert found.cut == ()


def test_it_is_known_behind_a_banner_and_read_up_to_where_it_ends(played):
    _, raw = played
    banner = b"Welcome to gpu7\nLast login: yesterday\n" + raw
    assert is_collected(banner)
    assert host_of(banner)
    half = read_machine(banner[: len(banner) // 2], name="half.txt")
    assert half.cut == ("half.txt",)


def test_nobody_plays_a_part_without_the_mark(played):
    """A file or a command that prints our marks cannot say more than its own content."""
    text = script(f"{MARK}-0123456789abcdef")
    assert f"MARK=${{MARK:-{MARK}-0123456789abcdef}}" in text
    _, raw = played
    evil = b"\nrigright-collect folder /etc/evil\nx\n"
    marked = raw.replace(MARK.encode(), b"rigright-collect-0123456789abcdef").replace(
        b"\n==> ", evil + b"==> ", 1
    )
    found = read_collected(marked, name="box")
    assert found.pci == read_collected(raw, name="box").pci


KINDS = (
    "files",
    "folder /proc",
    "links",
    "code 0",
    "command dmesg",
    "command '",
    "bytes /a",
    "env",
    "now 9",
    "now x",
)
LINES = st.one_of(
    st.sampled_from(KINDS).map(lambda one: f"{MARK} {one}"),
    st.text(max_size=40),
    st.just("==> /proc/cpuinfo <=="),
    st.just("lrwxrwxrwx 1 root root 0 Nov 1 10:00 /a -> /a"),
    st.just("lrwxrwxrwx 1 root root 0 Nov 1 10:00 /a -> /a/a/a"),
    st.just("lrwxrwxrwx 1 r r 0 N 1 1 /a/a -> b/../../c"),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(LINES, max_size=30))
def test_whatever_comes_is_read_or_refused(lines):
    raw = f"{MARK} 1\n{chr(10).join(lines)}\n".encode("utf-8", "replace")
    with suppress(RigError):
        assert read_collected(raw, name="box").origin == "box"


def test_a_command_that_no_shell_could_read_is_passed_over():
    found = read_collected(f"{MARK} 1\n{MARK} command '\nx\n{MARK} code 0\n{MARK} end\n".encode(), name="box")
    assert found.cut == ()
