"""What set-up keeps beside the sources saves time, and never decides what runs or is read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from rigright.base import compiled
from rigright.base.patterns import pattern
from rigright.base.tables import read_toml

TOML = '[a]\nnumber = 0.1\nwhole = 9007199254740993\nword = "\u663e\u5361"\nlist = [[1, 2], []]\n'


class FromCopy(SourceFileLoader):
    """Python's own loader, that may not compile."""

    def source_to_code(self, *_, **__):
        raise AssertionError("it was compiled")


def kept(folder):
    """A package whose module and table are kept, and both files."""
    module, table = folder / "one.py", folder / "table.toml"
    module.write_text("ANSWER = 1\n")
    table.write_text(TOML, encoding="utf-8")
    compiled.keep_all(folder)
    return module, table


def answer(module):
    """What the module says, as Python loads it, where it may not write."""
    space = {}
    exec(SourceFileLoader("one", str(module)).get_code("one"), space)  # noqa: S102
    return space["ANSWER"]


def in_place(path, text):
    """Change a file as a bad clock, an archive or a fast editor may: same size, same times."""
    before = path.stat()
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


@pytest.fixture(autouse=True)
def _no_bytecode(monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def test_a_module_is_not_compiled_again_and_a_changed_one_is(tmp_path):
    module, _ = kept(tmp_path)
    FromCopy("one", str(module)).get_code("one")
    assert answer(module) == 1
    in_place(module, "ANSWER = 2\n")
    assert answer(module) == 2
    compiled.keep_all(tmp_path)
    FromCopy("one", str(module)).get_code("one")
    assert answer(module) == 2


def test_a_table_is_not_parsed_again_and_a_changed_one_is(tmp_path, monkeypatch):
    _, table = kept(tmp_path)
    whole = read_toml(table)
    assert whole == {"a": {"number": 0.1, "whole": 2**53 + 1, "word": "\u663e\u5361", "list": [[1, 2], []]}}
    with monkeypatch.context() as patched:
        patched.setattr(compiled, "_parse", lambda _: pytest.fail("it was parsed"))
        assert read_toml(table) == whole
    in_place(table, TOML.replace("0.1", "0.2"))
    assert read_toml(table)["a"]["number"] == 0.2
    compiled.keep_all(tmp_path)
    assert read_toml(table)["a"]["number"] == 0.2


def test_what_is_kept_is_left_alone(tmp_path):
    kept(tmp_path)
    copies = {path: path.stat().st_mtime_ns for path in (tmp_path / "__pycache__").iterdir()}
    assert len(copies) == 2
    for path in copies:
        os.utime(path, ns=(1, 1))
    compiled.keep_all(tmp_path)
    assert {path.stat().st_mtime_ns for path in (tmp_path / "__pycache__").iterdir()} == {1}


def test_every_answer_of_a_table_is_a_new_one(tmp_path):
    _, table = kept(tmp_path)
    read_toml(table)["a"].clear()
    assert read_toml(table)["a"]


@pytest.mark.parametrize("harm", [b"", b"0\n{}", None], ids=["empty", "of another", "cut short"])
def test_a_copy_that_cannot_be_read_is_passed_over(tmp_path, harm):
    _, table = kept(tmp_path)
    (copy,) = (tmp_path / "__pycache__").glob("*.table")
    copy.write_bytes(copy.read_bytes()[:-3] if harm is None else harm)
    assert read_toml(table)["a"]["number"] == 0.1


def test_what_cannot_be_kept_is_left_out(tmp_path):
    """A module in the middle of an edit, a table with a date, and bytes that are no text."""
    (tmp_path / "torn.py").write_text("def (")
    (tmp_path / "dated.toml").write_text("day = 2026-11-24\n")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "z.py").write_text("ANSWER = 3\n")
    compiled.keep_all(tmp_path)
    assert [path.name for path in (tmp_path / "__pycache__").iterdir()] == [
        Path(cache_from_source(str(tmp_path / "z.py"))).name
    ]
    assert str(read_toml(tmp_path / "dated.toml")["day"]) == "2026-11-24"


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "__pycache__").write_text("a file where the folder would be")
    module, table = kept(tmp_path)
    assert answer(module) == 1
    assert read_toml(table)["a"]["number"] == 0.1


def test_the_command_keeps_the_package_it_lies_in(tmp_path):
    """As `./rig` starts it: from anywhere, with bytecode forbidden."""
    package = tmp_path / "rigright"
    (package / "base").mkdir(parents=True)
    for folder in (package, package / "base"):
        (folder / "__init__.py").touch()
    shutil.copy(compiled.__file__, package / "base")
    (package / "data.toml").write_text(TOML, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "rigright.base.compiled"],
        env={"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(list(package.rglob("*.pyc"))) == 3
    assert len(list(package.rglob("*.table"))) == 1


def test_a_pattern_is_compiled_when_it_is_asked():
    wrong = pattern("(")  # nobody asks it
    digits = pattern(r"(?P<count>\d+)x", 2)
    assert digits.search("8X h100")["count"] == "8"
    assert digits.fullmatch("8x h100") is None
    assert digits.sub("", "8x h100") == " h100"
    assert (digits.pattern, digits.groupindex["count"]) == (r"(?P<count>\d+)x", 1)
    with pytest.raises(re.error, match="position 0"):
        wrong.match("")
