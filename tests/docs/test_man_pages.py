"""Manual pages: every command and option is on them, and what formats manual pages accepts them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import debian
from rigright.faces.cli.front import verbs
from rigright.faces.cli.main import verb_parser

MAN = Path(__file__).parent.parent.parent / "docs" / "man"
PAGES = sorted(MAN.rglob("*.1"))
FOLDERS = ("man1", "zh_CN/man1")
MACROS = {".TH", ".ad", ".nh", ".SH", ".B", ".TP", ".BR", ".nf", ".fi"}
ESCAPES = re.compile(r"\\(?!e|-|&|fB|fR)")


@pytest.mark.parametrize("folder", FOLDERS)
def test_there_is_a_page_for_each_command_and_one_for_all(folder):
    named = {path.stem for path in (MAN / folder).iterdir()}
    assert named == {"rigright", *(f"rigright-{verb}" for verb in verbs())}
    front = (MAN / folder / "rigright.1").read_text(encoding="utf-8").replace("\\-", "-")
    assert all(f"\\fB{verb}\\fR\n" in front and f".BR rigright-{verb} (1)" in front for verb in verbs())


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_option_is_on_the_page_of_its_command(folder):
    for verb in verbs():
        page = (MAN / folder / f"rigright-{verb}.1").read_text(encoding="utf-8").replace("\\-", "-")
        terms = re.findall(r"^\.TP\n\\fB(.*)\\fR\n.+$", page, re.MULTILINE)
        told = {word for term in terms for word in re.findall(r"(?:^|, )(--?[\w-]+)", term)}
        assert told == set(verb_parser(verb, "en")._option_string_actions), verb


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(MAN).as_posix())
def test_no_line_is_taken_for_what_it_is_not(path):
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    assert first.startswith('.\\" ')
    assert lines[0].startswith(".TH ")
    assert {line.split()[0] for line in lines if line.startswith((".", "'"))} <= MACROS
    assert not [line for line in lines if ESCAPES.search(line) or not line]


def test_groff_formats_each_english_page_without_a_word():
    groff = shutil.which("groff") or pytest.skip("no groff here")
    done = subprocess.run(
        [groff, "-man", "-Tutf8", "-Kutf8", "-ww", "-z", *(MAN / "man1").iterdir()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.live
def test_mandoc_finds_nothing_but_that_pages_bear_no_date():
    debian.needs("mandoc")
    done = subprocess.run(
        ["mandoc", "-Tlint", "-Wwarning", *PAGES], capture_output=True, text=True, check=False
    )
    assert not [line for line in done.stdout.splitlines() if "missing date" not in line]


@pytest.mark.parametrize(("language", "words"), [("C.UTF-8", "EXIT STATUS"), ("zh_CN.UTF-8", "退出状态")])
def test_man_finds_the_page_and_shows_every_command(language, words):
    man = shutil.which("man") or pytest.skip("no man here")
    folder = MAN if language.startswith("C") else MAN / "zh_CN"
    done = subprocess.run(
        [man, "-l", folder / "man1" / "rigright.1"],
        env=os.environ | {"LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    shown = re.sub(r".\x08|\x1b\[[\d;]*m", "", done.stdout)
    assert done.returncode == 0, done.stderr
    assert words in shown
    assert all(verb in shown for verb in verbs())
