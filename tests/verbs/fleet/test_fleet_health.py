"""A node that looks after itself: drains on a sure fault, once, with a reason; it never resumes."""

from __future__ import annotations

import json
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spoken
from programs import rigright
from rigright.base.errors import AskError, MissingError
from rigright.base.words import say
from rigright.doctor.examine import Examined, case_of
from rigright.doctor.record import Checked, Finding
from rigright.faces.cli.main import main
from rigright.machine.record import Machine
from rigright.verbs.fleet import health as home
from rigright.verbs.fleet.health import health, reason_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Slurm does not run there")
SCONTROL = """\
#!{python}
import json, sys
from pathlib import Path
folder = Path({folder!r})
words = sys.argv[1:]
(folder / "said").open("a").write(json.dumps(words) + "\\n")
if (folder / "refuses").exists():
    sys.exit("slurm_update error: Access/permission denied")
if words[:2] == ["show", "node"]:
    print(f"NodeName={{words[2]}} Arch=x86_64 CoresPerSocket=1")
    print(f"   State={{(folder / 'state').read_text()}} ThreadsPerCore=1 TmpDisk=0")
"""


@pytest.fixture
def slurm(far, monkeypatch):
    """A scontrol that writes down what it is told."""
    far.program("scontrol", SCONTROL.format(python=sys.executable, folder=str(far.folder)))
    (far.folder / "state").write_text("IDLE")
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    return far


def said(slurm):
    return [json.loads(line) for line in slurm.lines("said")]


def finding(severity="fault", confidence="sure", title="it failed", about="gpu 3"):
    return Finding(
        severity=severity,
        title=say("{text}", text=title),
        evidence=(),
        why=say("{text}", text="because"),
        fix=(),
        confidence=confidence,
        about=about,
    )


def found(monkeypatch, *findings):
    """Let the checks find this."""
    checked = (Checked(check="x", title=say("{text}", text="x"), verdicts=findings),)
    monkeypatch.setattr(home, "probe", lambda _world: Machine())
    monkeypatch.setattr(
        home, "examine", lambda _case, _only: Examined(case=case_of(Machine()), checks=checked)
    )


REASON = "rigright: gpu 3: it failed"
SHOW, DRAIN = ["show", "node", "n1"], ["update", "NodeName=n1", "State=DRAIN", f"Reason={REASON}"]
SURE = {"severity": "fault", "confidence": "sure"}


@pytest.mark.parametrize(
    ("fault", "drain", "states", "done", "commands"),
    [
        (SURE, True, ("IDLE", "ALLOCATED", "MIXED", "DOWN", "IDLE+CLOUD"), "drained", [SHOW, DRAIN]),
        (SURE, False, ("IDLE",), "nothing", []),
        # somebody's own reason stays
        (SURE, True, ("IDLE+DRAIN", "DRAINED", "DOWN+DRAIN+X", "drained"), "drained before", [SHOW]),
        # less than a fault, or less than sure
        *((SURE | {"severity": less}, True, ("IDLE",), "nothing", []) for less in ("warning", "note")),
        *((SURE | {"confidence": less}, True, ("IDLE",), "nothing", []) for less in ("likely", "maybe")),
        (None, True, ("IDLE+DRAIN",), "nothing", []),  # it resumes nothing
    ],
)  # fmt: skip
def test_a_sure_fault_drains_once_and_nothing_else_does(
    slurm, monkeypatch, *, fault, drain, states, done, commands
):
    found(monkeypatch, *([] if fault is None else [finding(**fault)]))
    for state in states:
        (slurm.folder / "said").unlink(missing_ok=True)
        (slurm.folder / "state").write_text(state)
        result = health(drain=drain)
        assert (result.done, said(slurm)) == (done, commands), state
        assert result.reason == (REASON if fault == SURE else None)
        assert fault != SURE or result.exit_code == 20


def test_a_refusal_of_slurm_is_told(slurm, monkeypatch):
    (slurm.folder / "refuses").touch()
    found(monkeypatch, finding())
    with pytest.raises(MissingError) as refused:
        health(drain=True)
    assert "n1" in spoken.shown(refused.value.sentence)


def test_without_scontrol(far, monkeypatch):
    monkeypatch.setattr(home, "PATHS", ())
    monkeypatch.setenv("PATH", str(far.folder))
    found(monkeypatch, finding())
    with pytest.raises(MissingError) as missing:
        health(drain=True, node="n1")
    assert "n1" in spoken.shown(missing.value.sentence)


def test_a_node_is_one_name(slurm, monkeypatch):
    found(monkeypatch, finding())
    for node in ("-n1", "n1 n2", "n[1-2]", "n1;x", "ALL,"):
        monkeypatch.setenv("SLURMD_NODENAME", node)
        with pytest.raises(AskError) as refused:
            health(drain=True)
        assert node in str(refused.value)
    monkeypatch.setenv("SLURMD_NODENAME", "")
    assert health().node, "an empty name is none: the host's is taken"
    assert said(slurm) == []


@given(st.lists(st.text(max_size=200), min_size=1, max_size=8))
def test_a_reason_is_one_line_of_plain_letters(titles):
    reason = reason_of(tuple(finding(title=title) for title in titles))
    assert reason.startswith("rigright: gpu 3: ")
    assert len(reason) <= home.MOST_REASON
    assert reason.isascii()
    assert reason.isprintable()
    assert not set(reason) & set("\"'\\`$")


def test_many_faults_name_the_first_and_count_the_rest():
    faults = tuple(finding(about=f"gpu {number}") for number in range(8))
    assert reason_of(faults).endswith("gpu 2: it failed (and 5 more)")


def test_a_real_lost_card_is_a_sure_fault_and_a_healthy_machine_has_none(far):
    """The played machines, by the real checks of accelerators."""
    for node, scenario, faults in (("n1", "healthy_8xh100", False), ("n2", "lost_gpu", True)):
        told = rigright("fleet", "health", "--node", node, "--json", env=far.settings(node, scenario)).data
        sure = [one for one in told["findings"] if (one["severity"], one["confidence"]) == ("fault", "sure")]
        assert any("gpu" in (one["about"] or "") for one in sure) is faults, told


def test_the_line_in_a_log_says_what_was_done(slurm, monkeypatch, capsys):
    found(monkeypatch, finding(), finding(severity="warning", title="it is hot", about=None))
    assert main(["fleet", "health", "--drain"]) == 20
    out = capsys.readouterr().out
    assert "rigright: gpu 3: it failed" in out
    assert "it is hot" in out
    (slurm.folder / "state").write_text("DRAINED")
    assert main(["fleet", "health", "--drain", "--json"]) == 20
    assert json.loads(capsys.readouterr().out)["done"] == "drained before"
    assert main(["fleet", "health"]) == 20
    assert "--drain" in capsys.readouterr().out
    found(monkeypatch)
    assert main(["fleet", "health", "--drain"]) == 0
    assert "gpu 3" not in capsys.readouterr().out
