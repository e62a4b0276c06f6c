"""A release is rehearsed: hashes that hold, recipes that their programs read; no tag, no upload."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys

import pytest
import yaml

import debian
from release.built import PROJECT, ROOT, run
from rigright import __version__

BASE = "https://example.org/files"
pytestmark = [pytest.mark.live, pytest.mark.dear]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("release") / "out"
    before = run("git", "-C", str(ROOT), "tag"), run("git", "-C", str(ROOT), "status", "--porcelain")
    told = run(
        sys.executable,
        "-P",
        str(ROOT / "scripts" / "release"),
        str(out),
        "--url",
        "https://example.org/files/",
    )
    assert (
        run("git", "-C", str(ROOT), "tag"),
        run("git", "-C", str(ROOT), "status", "--porcelain"),
    ) == before
    assert told.startswith(f"rigright {__version__} in {out}: not tagged\n")
    return out


def test_the_sums_are_those_of_all_files(made):
    told = dict(reversed(line.split("  ")) for line in (made / "SHA256SUMS").read_text().splitlines())
    files = {path.name: path for path in made.iterdir() if path.name != "SHA256SUMS"}
    assert told == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    assert {path.suffix for path in files.values()} == {".whl", ".gz", ".yaml", ".rb"}


def test_the_conda_recipe_is_yaml_that_says_what_the_project_says(made):
    recipe = yaml.safe_load((made / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["schema_version"] == 1
    assert recipe["package"] == {"name": "rigright", "version": __version__}
    assert holds(made, recipe["source"])
    asked = {re.split(r"[ <>=]", one)[0] for one in recipe["requirements"]["run"]}
    assert asked == {"python", *(re.split("[<>=]", one)[0] for one in PROJECT["project"]["dependencies"])}
    assert "hatchling" in recipe["requirements"]["host"]
    assert recipe["build"]["python"]["entry_points"] == ["rigright = rigright.__main__:main"]
    assert recipe["about"]["license"] == PROJECT["project"]["license"]


def test_the_formula_is_ruby_and_its_files_are_there(made):
    text = (made / "rigright.rb").read_text(encoding="utf-8")
    found = re.findall(r'url ("[^"]*")\n +sha256 ("[^"]*")', text)
    assert len(found) == 1 + len(re.findall(r"resource ", text)) == text.count("sha256")
    assert all(holds(made, {"url": json.loads(url), "sha256": json.loads(told)}) for url, told in found)
    needed = {*re.findall(r'resource "([^"]*)"', text), *re.findall(r'depends_on "([\w-]+)"', text)}
    assert needed == {re.split("[<>=]", one)[0] for one in PROJECT["project"]["dependencies"]}
    debian.needs("ruby")
    assert run("ruby", "-c", str(made / "rigright.rb")) == "Syntax OK\n"


def test_a_tag_is_refused_as_long_as_something_is_left(tmp_path):
    """The changes of this version have no day yet, or its tag is there."""
    out = tmp_path / "out"
    line = [sys.executable, ROOT / "scripts" / "release", out, "--tag"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("not ready: ")
    assert not out.exists()


def holds(folder, source):
    """Is the file of an address here, and has it that hash?"""
    base, _, name = source["url"].rpartition("/")
    assert base == BASE
    return hashlib.sha256((folder / name).read_bytes()).hexdigest() == source["sha256"]
