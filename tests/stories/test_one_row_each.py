"""A stranger adds a card, an engine, a family, a message, a check or a target: one row or one file each.

Every addition is made to a copy of the package, and seen in what commands say of it. Options: tests/options/.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LLAMA = {
    "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,
}  # fmt: skip


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package."""
    copy = tmp_path_factory.mktemp("house") / "rigright"
    shutil.copytree(ROOT / "src/rigright", copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture
def add(package):
    """Adds text to a file of the copy, and takes it away again."""
    changed = {}

    def append(file, text):
        path = package / file
        changed.setdefault(path, path.read_text(encoding="utf-8") if path.exists() else None)
        with path.open("a", encoding="utf-8") as opened:
            opened.write(text)

    yield append
    for path, text in changed.items():
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")


@pytest.fixture
def rig(package, tmp_path):
    """The copy's own command."""

    def run(*words, code=0, **given):
        environment = {**os.environ, "PYTHONPATH": str(package.parent), "HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-m", "rigright", *words],
            capture_output=True, text=True, cwd=tmp_path, env=environment, check=False, **given,
        )  # fmt: skip
        assert done.returncode == code, (done.stdout[-800:], done.stderr[-800:])
        return done.stdout + done.stderr

    return run


def test_a_card(add, rig):
    """Explained, planned for and looked up by its name."""
    table = (ROOT / "src/rigright/data/chips.csv").read_text(encoding="utf-8").splitlines()
    known = next(line for line in table if line.startswith("rtx-5090,"))
    fields = known.replace("GeForce RTX 5090,", "GeForce RTX 7777,").replace("10de:2b85", "10de:7777")
    add("data/chips.csv", f"{fields.replace('rtx-5090,', 'rtx-7777,', 1)}\n")
    explained = json.loads(rig("explain", "llama-3.1-8b", "--on", "rtx 7777", "--json"))
    known = json.loads(rig("explain", "llama-3.1-8b", "--on", "rtx 5090", "--json"))
    assert explained["speed"] == known["speed"]
    assert "RTX 7777" in rig("look-up", "gpu", "7777")
    assert "RTX 7777" in rig("plan", "llama-3.1-8b", "--on", "2x 7777")


def test_an_engine_made_from_another(add, rig):
    """Its memory and what runs where are the other's, but for what it says itself."""
    add(
        "data/engines.toml",
        '\n[zephyr]\nlike = "vllm"\nlabel = "Zephyr"\nversion = "1.0"\nshare = 0.5\nsource = "invented"\n',
    )
    explained, known = (
        json.loads(rig("explain", "llama-3.1-8b", "--on", "h100", "--engine", engine, "--json"))
        for engine in ("zephyr", "vllm")
    )
    assert explained["engine"] == "Zephyr"
    assert explained["limits"]["pool_tok"] < known["limits"]["pool_tok"]
    assert "Zephyr" in rig("look-up", "engines")


def test_an_engine_that_says_too_little_is_named(add, rig):
    """Table, row and what is missing."""
    add("data/engines.toml", '\n[zephyr]\nlabel = "Zephyr"\n')
    told = rig("explain", "llama-3.1-8b", "--on", "h100", code=3)
    assert "engines.toml" in told
    assert "[zephyr]" in told
    assert "block_tok" in told
    assert "Traceback" not in told


def test_a_family(add, rig, tmp_path):
    """Counted as the family that it is like, but for what it says itself."""
    add(
        "data/arch/families.toml",
        '\n[zephyrlm]\nlike = "llama"\nnames = ["ZephyrLM"]\nqk_norm = "head"\n',
    )
    counted = []
    for kind in ("llama", "zephyrlm"):
        path = tmp_path / f"{kind}.json"
        path.write_text(json.dumps({**LLAMA, "model_type": kind}), encoding="utf-8")
        counted.append(json.loads(rig("explain", str(path), "--on", "h100", "--json"))["params"])
    assert counted[1] - counted[0] == 2 * LLAMA["num_hidden_layers"] * 128  # norms of queries and of keys


MESSAGE = """
[zephyr]
prints = [{ marks = ["zephyr"], pattern = 'zephyr of (?P<place>[a-z]+) blew', source = "invented" }]
severity = "fault"
title = ["the wind blew at {place}", "{place} 起风了"]
why = ["it blows", "有风"]
fix = [{ en = "shut the window", zh = "关窗" }]
"""


def test_a_message(add, rig, tmp_path):
    """Found in what a program printed, in both languages."""
    add("data/advice/messages.toml", MESSAGE)
    log = tmp_path / "job.log"
    log.write_text("step 1\nRuntimeError: the zephyr of home blew\n", encoding="utf-8")
    assert "the wind blew at home" in rig("doctor", "--from", str(log), code=20)
    assert "关窗" in rig("read", str(log), "--lang", "zh")


def test_a_line_of_the_kernel(add, rig, tmp_path):
    """Found in its log."""
    add(
        "data/messages.csv",
        "kernel,driver,zephyr,NVRM: the zephyr of (?:PCI:)?<pci> blew,invented,2026-11-22,low\n",
    )
    log = tmp_path / "kernel.log"
    log.write_text(
        "[   11.500000] pci 0000:01:00.0: enabled\n[   12.500000] NVRM: the zephyr of 0000:01:00.0 blew\n",
        encoding="utf-8",
    )
    assert "zephyr" in rig("doctor", "--from", str(log), code=10)


CHECK = '''
"""Cards that are called so."""

from rigright.base.words import in_both
from rigright.doctor.record import Finding, check, seen


@check(in_both("cards of the wind", "风卡", values={}))
def zephyr_names(case):
    """Whether a card is called Zephyr."""
    for device, _ in case.pairs:
        if "4090" in device.name:
            text = in_both("{name} is of the wind", "{name} 是风卡", values={"name": device.name})
            shown = seen(text, "nvidia-smi -L")
            yield Finding(severity="warning", title=text, evidence=shown, why=text, fix=())
'''


def test_a_check(add, rig, tmp_path):
    """Run by doctor, in both languages."""
    add("doctor/checks/zephyr.py", CHECK)
    listing = tmp_path / "smi.txt"
    listing.write_text(
        "GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-11111111-2222-3333-4444-555555555555)\n", encoding="utf-8"
    )
    assert "is of the wind" in rig("doctor", "--from", str(listing), code=10)
    assert "是风卡" in rig("doctor", "--from", str(listing), "--lang", "zh", code=10)


TARGET = '''
"""Zephyr: a launch in its own words."""

NAME = "zephyr"


def export(launch):
    """One file."""
    return {"zephyr.txt": f"{launch.model} tp={launch.tp}\\n"}
'''


def test_a_target(add, rig):
    """Written for a plan."""
    add("export/launches/zephyr.py", TARGET)
    add("data/launches.toml", '\n[zephyr]\nlike = "vllm"\nlabel = "Zephyr"\n')
    assert "tp=2" in rig("export", "zephyr", "llama-3.1-8b", "--on", "2x 4090")
