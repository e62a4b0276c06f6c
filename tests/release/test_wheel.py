"""What is installed is what was tried: all data, no tests, the same from tree and sdist, anywhere."""

from __future__ import annotations

import email
import json
import os
import re
import sys
from pathlib import Path, PurePosixPath

import pytest
from packaging.metadata import Metadata
from trove_classifiers import classifiers

from release.built import MEASURED, PROJECT, ROOT, build, contents, installed, run, unpacked
from rigright import __version__ as VERSION  # noqa: N812 - it is one

MOST_WHEEL_BYTES, MOST_SDIST_BYTES = 4_000_000, 4_000_000
SHARED = f"rigright-{VERSION}.data/data/share/man"
QUESTION = ("explain", "llama-3.1-8b", "--on", "rtx 4090", "--context", "32k", "--json")
WHERE = "import rigright, rigright.base.tables as t; print(rigright.__file__); print(t.DATA)"
pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="its venvs are laid out otherwise"),
    pytest.mark.restates("*.md", "LICENSE", "pyproject.toml", "docs/man/**/*", "src/rigright/**/*"),
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return build("sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def venv(wheel, tmp_path_factory):
    return installed(wheel, tmp_path_factory.mktemp("somewhere") / "venv")


def tracked(*folders):
    listed = run(
        "git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard", *folders
    )
    return {name for name in listed.split("\0") if name and (ROOT / name).exists()}


def test_a_wheel_holds_the_package_its_manual_and_nothing_else(wheel):
    found = contents(wheel)
    package = {name.removeprefix("src/"): ROOT / name for name in tracked("src/rigright")}
    manual = {name.replace("docs/man", SHARED, 1): ROOT / name for name in tracked("docs/man")}
    told = {name for name in found if ".dist-info/" not in name}
    assert told == {*package, *manual}
    assert all(found[name] == path.read_bytes() for name, path in (package | manual).items())
    assert any(name.startswith("rigright/data/web/") for name in told)
    assert not {"tests", "lab", "benchmarks", "captures"} & {
        part for name in told for part in PurePosixPath(name).parts
    }
    assert wheel.stat().st_size < MOST_WHEEL_BYTES


def test_metadata_is_valid_and_says_what_the_project_says(wheel):
    raw = contents(wheel)[f"rigright-{VERSION}.dist-info/METADATA"]
    told, said = Metadata.from_email(raw, validate=True), PROJECT["project"]
    assert (told.name, str(told.version), told.summary) == (said["name"], VERSION, said["description"])
    assert told.license_expression == said["license"]
    assert f"rigright-{VERSION}.dist-info/licenses/LICENSE" in contents(wheel)
    assert set(said["classifiers"]) == set(told.classifiers or ()) <= set(classifiers)
    assert {str(one) for one in told.provides_extra or ()} == set(said["optional-dependencies"])
    assert told.description_content_type == "text/markdown"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (email.message_from_bytes(raw).get_payload(decode=True) or b"").decode().strip() == readme.strip()


def test_classifiers_name_the_oldest_python_that_is_required():
    said = PROJECT["project"]
    named = [one.rpartition(" ")[2] for one in said["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert said["requires-python"] == f">={named[0]}"


def test_a_wheel_made_from_the_sdist_is_that_made_from_the_tree(wheel, sdist, tmp_path):
    tree = unpacked(sdist, tmp_path / "tree")
    assert contents(build("wheel", tmp_path / "again", tree=tree)) == contents(wheel)
    assert not {"tests", "lab", "benchmarks"} & {path.name for path in tree.iterdir()}
    assert {"LICENSE", "README.md", "README.zh-CN.md", "CHANGELOG.md"} <= {
        path.name for path in tree.iterdir()
    }
    assert sdist.stat().st_size < MOST_SDIST_BYTES


@pytest.mark.live
def test_an_installed_rigright_answers_as_the_checkout_does(venv, tmp_path):
    program = str(venv / "bin" / "rigright")
    assert run(program, "--version", cwd=tmp_path) == f"rigright {VERSION}\n"
    plan = run(program, "plan", "qwen3-8b", "--on", "rtx 4090", cwd=tmp_path, env=MEASURED)
    assert plan.startswith("✓ 1x RTX 4090 runs Qwen3-8B")
    here = run(
        sys.executable, "-P", "-m", "rigright", *QUESTION, env=MEASURED | {"PYTHONPATH": str(ROOT / "src")}
    )
    assert json.loads(run(program, *QUESTION, cwd=tmp_path, env=MEASURED)) == json.loads(here)


@pytest.mark.live
def test_data_page_and_manual_lie_in_the_venv_alone(venv, tmp_path):
    code, data = map(Path, run(str(venv / "bin" / "python"), "-c", WHERE, cwd=tmp_path).split("\n")[:2])
    assert code.is_relative_to(venv)
    assert data.is_relative_to(venv)
    for file in (ROOT / "src" / "rigright" / "data" / "web").rglob("*.*"):
        assert (data / "web" / file.name).read_bytes() == file.read_bytes()
    assert (venv / "share" / "man" / "man1" / "rigright.1").is_file()
    assert (venv / "share" / "man" / "zh_CN" / "man1" / "rigright-plan.1").is_file()
