"""A machine that the shell script read shows what our own readers see there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advised import titled
from rigright.base.errors import RigError
from rigright.doctor.examine import case_of, examine
from rigright.machine.opened import read_machine
from rigright.machine.opened.collected import host_of, is_collected, read_collected
from rigright.machine.probe import probe
from rigright.machine.remote.parcel import MARK, script
from scenes import scene

if not sys.platform.startswith("linux"):
    pytest.skip("the script reads /proc and /sys", allow_module_level=True)

SHELLS = [one for one in ("sh", "dash", "bash", "busybox") if shutil.which(one)]
SAME = ("pci", "slots", "memory", "cpu", "ports", "sensors")
OF_HEALTH = {"worn_share", "spare_share", "temperature_c", "unsafe_shutdowns", "media_errors"}
ELSEWHERE = {"size_bytes", "free_bytes", "files_free_share"}  # the played `df` knows other words


def collected(world, shell="sh", *, hurried=False):
    env = {**world.env, "PATH": f"{world.env['PATH']}:/usr/bin:/bin", "VLLM_API_KEY": "hush"}
    words = [shell, "sh", "-s"] if shell == "busybox" else [shell, "-s"]
    text = script()
    if hurried:
        text = text.replace("'timeout 8'", "'timeout 0.2'").replace("'timeout 10'", "'timeout 0.5'")
        assert text != script()
    done = subprocess.run(words, input=text.encode(), env=env, capture_output=True, timeout=60, check=True)
    return done.stdout


def plays(folder, name, text):
    """A program of the played machine."""
    (folder / "bin").mkdir(exist_ok=True)
    file = folder / "bin" / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def found_by(machine, *checks):
    """What these checks find."""
    return [one for _, one in examine(case_of(machine), checks).findings]


def told_of(machine, name):
    """Whether the doctor says this of a machine's driver or cards."""
    return any(titled(one, f"presence.{name}") for one in found_by(machine, *DRIVER))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The machine of a scenario, grown once."""
    return cache(lambda name: scene(name, tmp_path_factory.mktemp("scene")))


@pytest.fixture(scope="module")
def brought(world):
    """What the script brings of it, once."""
    return cache(lambda name: collected(world(name)))


@pytest.mark.parametrize("name", ["healthy_8xh100", "healthy_2x4090", "xids"])
def test_what_it_brings_is_read_as_on_the_machine_itself(name, world, brought):
    live, raw = probe(world(name)), brought(name)
    found = read_machine(raw, name="box.txt")
    for same in SAME:
        assert getattr(found, same) == getattr(live, same), same
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


def test_a_secret_stays_there(brought):
    raw = brought("healthy_2x4090")
    assert b"hush" not in raw
    assert b"VLLM_API_KEY=(set)" in raw


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_says_the_same(shell, world):
    found = read_collected(collected(world("healthy_2x4090"), shell), name="box")
    assert len(found.pci) > 5
    assert found.cut == ()


def test_it_is_known_behind_a_banner_and_read_up_to_where_it_ends(brought):
    raw = brought("healthy_2x4090")
    banner = b"Welcome to gpu7\nLast login: yesterday\n" + raw
    assert is_collected(banner)
    assert host_of(banner)
    half = read_machine(banner[: len(banner) // 2], name="half.txt")
    assert half.cut == ("half.txt",)


def test_nobody_plays_a_part_without_the_mark(brought):
    """A file or a command that prints our marks cannot say more than its own content."""
    text = script(f"{MARK}-0123456789abcdef")
    assert f"\nMARK={MARK}-0123456789abcdef\n" in text
    raw = brought("healthy_2x4090")
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


@given(st.lists(LINES, max_size=30))
def test_whatever_comes_is_read_or_refused(lines):
    raw = f"{MARK} 1\n{chr(10).join(lines)}\n".encode("utf-8", "replace")
    with suppress(RigError):
        assert read_collected(raw, name="box").origin == "box"


DRIVER = ("gpu_driver", "gpu_answers", "driver_loaded", "driver_packages")


def test_cards_without_a_driver_are_found_as_on_the_machine_itself(tmp_path):
    world = scene("no_library", tmp_path)
    live = found_by(probe(world), *DRIVER)
    assert told_of(probe(world), "driver_missing")
    found = found_by(read_machine(collected(world), name="box"), *DRIVER)
    assert [(one.title, one.about) for one in found] == [(one.title, one.about) for one in live]


@pytest.mark.parametrize(
    ("said", "title"),
    [
        (
            'echo "NVIDIA-SMI has failed because it couldn\'t communicate with the NVIDIA driver."; exit 9',
            "driver_missing",
        ),
        (
            "echo 'Unable to determine the device handle for GPU0000:41:00.0: GPU is lost.'; exit 15",
            "lost",
        ),
        ("trap '' TERM; exec sleep 5", "driver_hangs"),
    ],
)
def test_what_nvidia_smi_complains_of_is_found_and_costs_nothing_else(tmp_path, said, title):
    world = scene("healthy_2x4090", tmp_path)
    plays(tmp_path, "nvidia-smi", said)
    found = read_machine(collected(world, hurried=True), name="box")
    assert told_of(found, title)
    assert found.cut == ()
    assert len(found.pci) > 5
    assert found.events is not None


@pytest.mark.parametrize(
    ("after", "hangs"),
    [
        ("", True),  # the line to it went, while everybody waited for the driver
        (f"{'<gpu>' * 9}", False),  # it was speaking
        (f"{'<gpu>' * 9}\n{MARK} end\n", True),  # it said more than anybody hears
    ],
)
def test_a_driver_that_never_ends_is_no_driver_that_says_nothing(brought, after, hangs):
    raw = brought("healthy_2x4090").partition(f"\n{MARK} end".encode())[0]
    text = raw.decode().replace(f"\n{MARK} absent nvidia-smi", "")
    found = read_machine(f"{text}\n{MARK} command nvidia-smi -q -x\n{after}".encode(), name="box")
    assert told_of(found, "driver_hangs") is hangs


def test_a_card_that_only_the_library_would_show_is_not_called_missing(tmp_path):
    world = scene("no_library", tmp_path)
    folder = world.root / "usr/lib/x86_64-linux-gnu"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "libnvidia-ml.so.570.86.15").touch()
    found = read_machine(collected(world), name="box")
    assert not found_by(found, "gpu_driver")
    assert [one.what for one in found.unseen if one.what == "devices"] == ["devices"]


def test_the_path_is_the_users(world):
    mine = world("healthy_2x4090")
    found = read_machine(collected(replace(mine, env={**mine.env, "MARK": "evil"})), name="box")
    assert dict(found.environment)["PATH"].endswith(":/usr/bin:/bin")


def test_a_command_that_no_shell_could_read_is_passed_over():
    found = read_collected(f"{MARK} 1\n{MARK} command '\nx\n{MARK} code 0\n{MARK} end\n".encode(), name="box")
    assert found.cut == ()
