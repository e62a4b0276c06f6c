"""The action's own step under bash: inputs and files that mean harm stay data; findings and exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
(STEP,) = ACTION["runs"]["steps"]
SICK = ROOT / "docs" / "examples" / "two-4090.json"
RUNS = ROOT / "src" / "rigright" / "data" / "runs" / "training.csv"
HOSTILE = (
    "$(touch owned)",
    "`touch owned`",
    "'; touch owned; '",
    '"; touch owned #',
    "--fix-script=owned",
    "a\\nb",
)
pytestmark = pytest.mark.skipif(os.name == "nt", reason="its step needs a POSIX shell")


@pytest.fixture
def step(tmp_path):
    def run(**inputs):
        said = {name.replace("_", "-"): value for name, value in inputs.items()}
        told = {name: said.get(name, one.get("default", "")) for name, one in ACTION["inputs"].items()}
        for name in ("summary", "output"):
            (tmp_path / name).write_text("")
        env = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            **{name: told[re.search(r"inputs\.([\w-]+)", value)[1]] for name, value in STEP["env"].items()},
        }
        script = tmp_path / "step.sh"
        script.write_text(STEP["run"])
        (tmp_path / "work").mkdir(exist_ok=True)
        line = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]  # as the runner starts it
        done = subprocess.run(
            line, env=env, cwd=tmp_path / "work", capture_output=True, text=True, check=False
        )
        done.summary, done.output = ((tmp_path / name).read_text() for name in ("summary", "output"))
        return done

    return run


def commands(done):
    """What the runner would obey: all but what stands between stop-commands and its token."""
    found, token = [], None
    for line in done.stdout.splitlines():
        if token is None and (begun := re.fullmatch(r"::stop-commands::(\w+)", line)):
            token = begun[1]
        elif token is not None and line == f"::{token}::":
            token = None
        elif token is None and line.startswith("::"):
            found.append(line)
    assert token is None
    return found


def test_it_is_a_composite_action_that_puts_no_input_into_a_script():
    assert {"name", "description", "inputs", "outputs", "runs"} == set(ACTION)
    assert ACTION["runs"]["using"] == "composite"
    assert set(STEP) == {"id", "shell", "env", "run"}
    assert "${{" not in STEP["run"]
    assert set(STEP["env"].values()) == {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]}
    assert all(
        set(one) <= {"description", "required", "default"} and one["description"]
        for one in ACTION["inputs"].values()
    )
    assert [one["value"] for one in ACTION["outputs"].values()] == ["${{ steps.rigright.outputs.exit-code }}"]


@pytest.mark.parametrize(("fail_on", "code"), [("fault", 20), ("warning", 20), ("never", 0)])
def test_faults_are_annotated_and_end_the_step_where_asked(step, fail_on, code):
    done = step(command="doctor", files=str(SICK), fail_on=fail_on)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.output == "exit-code=20\n"
    assert [
        line for line in commands(done) if line.startswith("::error title=gpu_throttled::gpu 1: throttled")
    ]
    assert "# " in done.summary
    assert "thermal" in done.summary


def test_runs_are_validated_with_options_of_several_words(step):
    done = step(command="validate", files=f"{RUNS}\n", options="--lang\nen\n")
    assert (done.returncode, done.output) == (0, "exit-code=0\n"), done.stdout + done.stderr
    assert commands(done)[0].startswith("::notice title=rigright::")
    assert "| " in done.summary


def test_each_capture_is_answered_and_the_worst_code_stands(step):
    done = step(command="doctor", files=f"{SICK}\nnone.json\n", fail_on="never")
    assert (done.returncode, done.output) == (4, "exit-code=20\n")
    assert "no such file: none.json" in commands(done)[-1]
    assert "thermal" in done.summary


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("command", ["doctor", "validate"])
def test_a_name_that_means_harm_is_a_file_that_is_not_there(step, tmp_path, command, text):
    done = step(command=command, files=text)
    assert done.returncode in {3, 4}, done.stdout + done.stderr
    assert len(commands(done)) == 1
    assert commands(done)[0].startswith("::error title=rigright::")
    assert not list((tmp_path / "work").iterdir())


def test_a_file_gives_the_runner_no_commands(step, tmp_path):
    machine = json.loads(SICK.read_text(encoding="utf-8"))
    harm = "\n" + " ".join(["::add-mask::gpu"] * 30)  # wrapped, it begins lines
    evil = tmp_path / "evil.json"
    evil.write_text(json.dumps(machine).replace("NVIDIA GeForce RTX 4090", json.dumps(harm)[1:-1]))
    done = step(command="doctor", files=str(evil))
    assert done.output == "exit-code=20\n"
    assert re.search("^::add-mask::", done.stdout, re.MULTILINE)
    assert all(re.match(r"::(error|warning|notice) title=[\w ]+::", line) for line in commands(done))


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ({"command": "fleet; id", "files": "a"}, "command must be doctor or validate"),
        ({"command": "doctor", "files": " \n"}, "files is empty: name at least one file"),
        ({"command": "doctor", "files": "a", "fail_on": "x"}, "fail-on must be fault, warning or never"),
    ],
)
def test_inputs_that_are_none_are_refused(step, inputs, why):
    done = step(**inputs)
    assert done.returncode == 2
    assert commands(done) == [f"::error title=rigright::{why}"]
