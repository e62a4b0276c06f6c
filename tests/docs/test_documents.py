"""The documents say what the program does, and both languages say the same."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rigright.faces.cli.main import verb_parser

ROOT = Path(__file__).parent.parent.parent
README, CHINESE = (ROOT / name for name in ("README.md", "README.zh-CN.md"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def headings(path):
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    return [len(line) - len(line.lstrip("#")) for line in text.splitlines() if line.startswith("#")]


def commands(path):
    """What a document lets its reader type, comments apart."""
    text = path.read_text(encoding="utf-8")
    blocks = [block for kind, block in BLOCK.findall(text) if kind == "sh"]
    typed = [line.partition("   #")[0] for block in blocks for line in block.splitlines()]
    shown = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
    inline = re.findall(r"`(\./rig [^`]*)`", text)
    return [line.strip() for line in [*typed, *shown, *inline] if line.strip()]


@pytest.mark.restates("README*.md", "docs/**/*", "scripts/*", "src/rigright/**/*")
def test_what_is_made_from_the_program_is_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "docs", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_both_readmes_have_the_same_parts_commands_and_rows():
    assert headings(README) == headings(CHINESE)
    assert commands(README) == commands(CHINESE)
    english, chinese = (path.read_text(encoding="utf-8") for path in (README, CHINESE))
    assert [kind for kind, _ in BLOCK.findall(english)] == [kind for kind, _ in BLOCK.findall(chinese)]
    for start in ("| ", "- "):
        assert english.count(f"\n{start}") == chinese.count(f"\n{start}")


def test_the_chinese_readme_is_chinese():
    assert len(re.findall("[\u4e00-\u9fff]", CHINESE.read_text(encoding="utf-8"))) > 300


@pytest.mark.parametrize("command", [line for line in commands(README) if line.startswith("./rig ")])
def test_every_command_of_the_readme_is_understood(command):
    _, verb, *arguments = shlex.split(command)
    assert verb_parser(verb, "en").read(arguments)


def test_the_readme_begins_with_the_two_commands():
    (first, *_) = [block for kind, block in BLOCK.findall(README.read_text(encoding="utf-8")) if kind == "sh"]
    assert [line.split()[0:2] for line in first.splitlines()] == [["./rig", "plan"], ["make", "test"]]


def test_the_readmes_give_the_accuracy_that_was_measured():
    """Rows, median error, with the source left out, share in the band: as the page of accuracy has them."""
    rows = re.findall(
        r"^\| (.+?) \|$", (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    cells = [row.split(" | ") for row in rows if row.endswith((" %", " -"))]
    measured = {tuple(row[at] for at in (1, 3, 4, 8)) for row in cells if len(row) == 10}
    english, chinese = (path.read_text(encoding="utf-8") for path in (README, CHINESE))
    given = [
        re.findall(r"^\| .+ \| (\d+) \| (\S+%) \| (\S+%) \| (\S+%) \|$", one, re.MULTILINE)
        for one in (english, chinese)
    ]
    assert given[0] == given[1]
    assert len(given[0]) == 5
    assert set(given[0]) <= measured


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize(
    "path", [one for one in DOCUMENTS if one.name.endswith(".zh-CN.md")], ids=lambda one: one.name
)
def test_a_chinese_page_links_to_chinese_pages(path):
    """But for the switch to the same page in English."""
    links = re.findall(r"\]\((?!https?://)([^)#]+)\.md", path.read_text(encoding="utf-8"))
    twin = path.name.removesuffix(".zh-CN.md")
    assert [one for one in links if one != twin and (path.parent / f"{one}.zh-CN.md").exists()] == []


def test_locks_hold_names_versions_and_hashes_alone():
    line = re.compile(r"([a-z0-9-]+==[0-9][\w.]*( ; [\w =\"]+)?|    --hash=sha256:[0-9a-f]{64})( \\)?\Z")
    for lock in ("constraints.txt", "constraints-dev.txt"):
        strange = [one for one in (ROOT / lock).read_text().splitlines() if not line.match(one)]
        assert strange == []


def test_the_changelog_speaks_of_what_comes_and_of_each_command():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in text
    asks = (ROOT / "src" / "rigright" / "faces" / "cli" / "asks").glob("[a-z]*.py")
    assert [ask.stem for ask in asks if f"`{ask.stem.replace('_', '-')}`" not in text] == []


def test_the_python_of_the_reference_runs(tmp_path, monkeypatch, capsys):
    """And is the same in both languages."""
    texts = [
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("reference.md", "reference.zh-CN.md")
    ]
    block, chinese = ([block for kind, block in BLOCK.findall(text) if kind == "python"] for text in texts)
    assert block == chinese
    (tmp_path / "runs.csv").write_text("format,what,value_gib,model\nbf16,weights_file,14.96,llama-3.1-8b\n")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(*block, "reference.md", "exec"), names)  # noqa: S102 - our own document
    assert capsys.readouterr().out.startswith("True ")
    assert all(names[made] for made in ("largest", "chips", "runs"))


def test_the_page_for_users_tables_names_every_column():
    from rigright.base import shelf
    from rigright.verbs.validate.verb import FOLDER

    page = (ROOT / "docs" / "validate.md").read_text(encoding="utf-8")
    for kind in shelf.load(FOLDER, "KIND").values():
        missing = [column for column in kind.columns if f"`{column}`" not in page]
        assert not missing, missing
