"""A share of the mutants of `mutants.py`: 150 in each run of the suite, 20,000 among the live tests."""

from __future__ import annotations

import os
import subprocess
import sys

import mutants
import pytest

from rigright.base.errors import DataError

SHARE, LIVE = 150, 20_000


def fuzzed(inputs, workers):
    line = [sys.executable, mutants.__file__, "--inputs", str(inputs), "--workers", str(workers)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=600)


def test_a_share_of_the_mutants_is_read_or_refused():
    done = fuzzed(SHARE, 1)
    assert done.stdout == f"{SHARE} inputs, 0 faults\n", done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.live
def test_twenty_thousand_mutants_are_read_or_refused():
    if not os.environ.get("RIGRIGHT_LIVE"):
        pytest.skip("only with RIGRIGHT_LIVE=1")
    done = fuzzed(LIVE, 2)
    assert done.stdout == f"{LIVE} inputs, 0 faults\n", done.stdout + done.stderr


def test_every_reader_of_the_code_is_found():
    """Of each room that reads foreign text, one that is known: nothing was registered."""
    known = {
        "machine.nvidia_smi.text.listed",
        "machine.opened.collect_env.read",
        "machine.bench.logs.nccl_tests",
        "machine.running.kernel_log.parsed",
    }
    assert known <= set(mutants.readers())
    assert len(mutants.seeds()) > 200


@pytest.mark.parametrize("broken", [ZeroDivisionError("x"), DataError("")])
def test_a_fault_is_seen(monkeypatch, capsys, broken):
    """What is no RigError, and an error that says nothing, are faults."""

    def kind(_dice):
        raise broken

    monkeypatch.setattr(mutants, "KINDS", (kind,))
    assert mutants.work(0, 3, seed=1, step=1, until=float("inf")) == 3
    assert '"error"' in capsys.readouterr().out


def test_a_flood_of_memory_is_a_fault(monkeypatch, capsys):
    monkeypatch.setattr(mutants, "KINDS", (lambda _dice: len(b"x" * (20 * mutants.ROOM_BYTES)),))
    assert mutants.work(0, 1, seed=1, step=1, until=float("inf")) == 1
    assert "MiB of memory" in capsys.readouterr().out
