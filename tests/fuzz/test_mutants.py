"""A share of the mutants of `mutants.py`: 150 when the code changes, 2,000 live, 20,000 in the nightly."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import mutants
import pytest

from rigright.base.errors import DataError

SHARE, LIVE, NIGHTLY = 150, 2_000, 20_000
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def worked(inputs):
    """Faults, and what is printed of them, of mutants in a fork of this process."""
    mutants.readers(), mutants.seeds()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        child = os.fork()
        if not child:
            code = 255
            try:
                sys.stdout = out
                code = mutants.work(0, inputs, seed=12, step=1, until=float("inf"))
                out.flush()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        return code, [line for line in out if "begins" not in line]


@forks
@pytest.mark.restates("src/rigright/**/*.py", "tests/fuzz/*.py")
def test_a_share_of_the_mutants_is_read_or_refused():
    assert worked(SHARE) == (0, [])


@pytest.mark.live
def test_thousands_of_mutants_are_read_or_refused():
    inputs = NIGHTLY if os.environ.get("RIGRIGHT_NIGHTLY") else LIVE
    line = [sys.executable, mutants.__file__, "--inputs", str(inputs), "--workers", "2"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.stdout == f"{inputs} inputs, 0 faults\n", done.stdout + done.stderr
    assert done.returncode == 0


def test_every_reader_of_the_code_is_found():
    """Of each room that reads foreign text, one that is known: nothing was registered."""
    known = {
        "machine.nvidia_smi.text.listed",
        "machine.opened.collect_env.read_collect_env",
        "machine.bench.logs.nccl_tests",
        "machine.running.kernel_log.parsed",
    }
    assert known <= set(mutants.readers())
    assert len(mutants.seeds()) > 200


@forks
def test_a_fault_is_seen(monkeypatch):
    """What is no RigError, and an error that says nothing, are faults."""
    for broken in (ZeroDivisionError("x"), DataError("")):

        def kind(_dice, broken=broken):
            raise broken

        monkeypatch.setattr(mutants, "KINDS", (kind,))
        faults, told = worked(3)
        assert (faults, len(told)) == (3, 3)
        assert all('"error"' in line for line in told)


@forks
def test_a_flood_of_memory_is_a_fault(monkeypatch):
    monkeypatch.setattr(mutants, "KINDS", (lambda _dice: len(b"x" * (2 * mutants.ROOM_BYTES)),))
    faults, told = worked(1)
    assert faults == len(told) == 1
    assert "MiB of memory" in told[0]


@forks
def test_one_that_computes_without_end_is_ended(monkeypatch, capfd):
    def endless(_dice):
        while True:
            pass

    monkeypatch.setattr(mutants, "KINDS", (endless,))
    monkeypatch.setattr(mutants, "COMMAND_EACH", float("inf"))
    monkeypatch.setattr(mutants.patient, "__defaults__", (0.05,))
    code, _ = worked(1)
    assert code < 0
    assert "endless" in capfd.readouterr().err
