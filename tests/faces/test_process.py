"""rigright as a whole process: pipes, full disks, locales, and a Python with numpy and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from programs import folder_env

ROOT = Path(__file__).parent.parent.parent
POSIX = pytest.mark.skipif(os.name == "nt", reason="pipes and signals of POSIX")


def start(*arguments, python=sys.executable, environment=None, **more):
    return subprocess.Popen(
        [python, "-P", "-m", "rigright", *arguments],
        env={
            "PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "PYTHONPATH": str(ROOT / "src"),
            "LANG": "C", **(environment or {}),
        },
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, **more,
    )  # fmt: skip


def run(*arguments, **more):
    process = start(*arguments, stdout=subprocess.PIPE, **more)
    out, err = process.communicate(timeout=120)
    return process.returncode, out.decode(), err.decode()


@POSIX
def test_a_reader_that_leaves_early_is_no_error():
    process = start("--help", stdout=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) in {0, 141}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_full_disk_is_one_sentence(form):
    with Path("/dev/full").open("wb") as full:
        process = start("--help", *form, stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 5
    assert err.decode().count("\n") == 1
    assert "No space left" in err.decode()


@POSIX
def test_no_stdout_at_all_is_no_traceback():
    process = start("--help", preexec_fn=lambda: os.close(1))
    _, err = process.communicate(timeout=60)
    assert err == b""


@POSIX
def test_no_stdin_at_all_is_an_empty_table():
    process = start("validate", "-", stdout=subprocess.PIPE, preexec_fn=lambda: os.close(0))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert b"bug" not in err


@pytest.mark.parametrize("settings", [{"LANG": "C"}, {"LC_ALL": "POSIX"}, {"PYTHONIOENCODING": "ascii"}])
def test_any_locale_does(settings):
    for language in ("en", "zh"):
        code, out, err = run("--lang", language, environment=settings)
        assert (code, err) == (0, "")
        assert "rigright" in out


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """A Python that has numpy and no other package."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    windows, unix = "Lib/site-packages", f"lib/python3.{sys.version_info.minor}/site-packages"
    site = folder / (windows if os.name == "nt" else unix)
    for package in ("numpy", "numpy.libs"):
        source = Path(np.__file__).parent.parent / package
        if source.exists():
            (site / package).symlink_to(source)
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


VERBS = """
import sys
from rigright.faces.cli.main import main

for line in (
    ("explain", "llama-3.1-70b", "--on", "8x h100"), ("plan", "llama-3.1-8b", "--on", "h100"),
    ("look-up", "chips", "4090"), ("look-up", "model", "qwen2.5-7b"), ("doctor", "--from", "box.json"),
):
    assert main(line) in {0, 10}, line
assert not {"psutil", "jsonschema", "starlette", "mcp"} & set(sys.modules)
"""


def test_it_runs_without_any_extra(bare_python, tmp_path):
    """One program asks several verbs: each would load the same."""
    (tmp_path / "box.json").write_text('{"schema": 1, "devices": []}', encoding="utf-8")
    env = folder_env(tmp_path) | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [bare_python, "-P", "-c", VERBS], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) > 20


def test_python_m_and_the_command_are_one():
    assert run("--version")[1].startswith("rigright ")
