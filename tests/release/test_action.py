"""The action's own step: inputs and files that mean harm stay data; findings and exit codes.

Once under bash, as the runner starts it; else its program runs here, and each answer is a fork.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest
import yaml

from programs import rigright
from rigright.faces.cli.main import main

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


@dataclass(frozen=True, kw_only=True)
class Done:
    """What the runner sees of a step."""

    returncode: int
    stdout: str
    stderr: str
    summary: str
    output: str


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """A table of three runs."""
    file = tmp_path_factory.mktemp("runs") / "few.csv"
    file.write_text("".join(RUNS.read_text(encoding="utf-8").splitlines(keepends=True)[:4]))
    return file


@pytest.fixture(scope="module")
def script(few):
    loader = SourceFileLoader("action_script", str(ROOT / "scripts" / "action"))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    with redirect_stdout(io.StringIO()):  # what the forks need is loaded once
        main(["doctor", "--from", str(SICK)])
        main(["validate", str(few), "--csv"])
    module.asked = asked
    return module


@cache
def answer(*question):
    return rigright(*question)


def asked(question):
    """What a fork answers; of a capture that stays where it is, only once."""
    done = (answer if str(SICK) in question[1] else rigright)(*question)
    return subprocess.CompletedProcess(question, done.code, done.out, done.err)


@pytest.fixture
def environment(tmp_path):
    """The variables of a step with these inputs, and what it wrote."""

    def variables(inputs):
        said = {name.replace("_", "-"): value for name, value in inputs.items()}
        told = {name: said.get(name, one.get("default", "")) for name, one in ACTION["inputs"].items()}
        for name in ("summary", "output"):
            (tmp_path / name).write_text("")
        (tmp_path / "work").mkdir(exist_ok=True)
        return {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            **{name: told[re.search(r"inputs\.([\w-]+)", value)[1]] for name, value in STEP["env"].items()},
        }

    return variables


@pytest.fixture
def step(script, environment, tmp_path, monkeypatch, capsys):
    """The step's program in this process, its answers by forks."""

    def run(**inputs):
        with monkeypatch.context() as patch:
            for name, value in environment(inputs).items():
                patch.setenv(name, value)
            patch.chdir(tmp_path / "work")
            with pytest.raises(SystemExit) as left:
                script.main()
        out, err = capsys.readouterr()
        files = {name: (tmp_path / name).read_text() for name in ("summary", "output")}
        return Done(returncode=left.value.code, stdout=out, stderr=err, **files)

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


@pytest.mark.restates("action.yml", "rig", "scripts/action", "src/rigright/**/*.py")
def test_the_runner_starts_it_with_bash(environment, tmp_path):
    """A capture with faults, and a name in which every shell would find a command."""
    harm = "".join(HOSTILE)
    env = environment({"command": "doctor", "files": f"{SICK}\n{harm}\n"})
    (tmp_path / "step.sh").write_text(STEP["run"])
    line = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(tmp_path / "step.sh")]
    done = subprocess.run(line, env=env, cwd=tmp_path / "work", capture_output=True, text=True, check=False)
    assert done.returncode == 20, done.stdout + done.stderr
    assert (tmp_path / "output").read_text() == "exit-code=20\n"
    first, *_, last = commands(done)
    assert first.startswith("::error title=gpu_throttled::gpu 1: ")
    assert last.startswith("::error title=rigright::")
    assert not list((tmp_path / "work").iterdir())


def test_faults_are_annotated_and_end_the_step_where_asked(step):
    for fail_on, code in (("fault", 20), ("warning", 20), ("never", 0)):
        done = step(command="doctor", files=str(SICK), fail_on=fail_on)
        assert done.returncode == code, (fail_on, done.stdout + done.stderr)
        assert done.output == "exit-code=20\n"
        assert [line for line in commands(done) if line.startswith("::error title=gpu_throttled::gpu 1: ")]
        assert "# " in done.summary
        assert "nvidia-smi" in done.summary


def test_runs_are_validated_with_options_of_several_words(step, few):
    done = step(command="validate", files=f"{few}\n", options="--lang\nen\n")
    assert (done.returncode, done.output) == (0, "exit-code=0\n"), done.stdout + done.stderr
    assert commands(done)[0].startswith("::notice title=rigright::")
    assert "| " in done.summary


def test_each_capture_is_answered_and_the_worst_code_stands(step):
    done = step(command="doctor", files=f"{SICK}\nnone.json\n", fail_on="never")
    assert (done.returncode, done.output) == (4, "exit-code=20\n")
    assert "none.json" in commands(done)[-1]
    assert "nvidia-smi" in done.summary


def test_a_name_that_means_harm_is_a_file_that_is_not_there(step, tmp_path):
    for command in ("doctor", "validate"):
        for text in HOSTILE:
            done = step(command=command, files=text)
            assert done.returncode in {3, 4}, (command, text, done.stdout + done.stderr)
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


def test_inputs_that_are_none_are_refused(step):
    for inputs, why in (
        ({"command": "fleet; id", "files": "a"}, "command must be doctor or validate"),
        ({"command": "doctor", "files": " \n"}, "files is empty: name at least one file"),
        ({"command": "doctor", "files": "a", "fail_on": "x"}, "fail-on must be fault, warning or never"),
    ):
        done = step(**inputs)
        assert done.returncode == 2
        assert commands(done) == [f"::error title=rigright::{why}"]
