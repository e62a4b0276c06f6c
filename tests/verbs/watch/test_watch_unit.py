"""The unit of systemd: its command line is the one that was asked, and systemd itself takes it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError
from rigright.faces.cli.main import main
from rigright.verbs.watch.serving import escaped, groups, quoted, unit
from spoken import shown

ASKED = {"serve": None, "token_file": None, "every": "1s", "dcgm_names": False}
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')


def words_of(text):
    """The command line as systemd splits it: quotes, then %% and $$."""
    (line,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    found = [re.sub(r"\\(.)", r"\1", inside) if inside else bare for inside, bare in _WORD.findall(line)]
    return [word.replace("%%", "%").replace("$$", "$") for word in found]


def test_it_starts_what_was_asked():
    text = unit(**{**ASKED, "serve": "0.0.0.0:9500", "token_file": "/etc/my keys/50%", "every": "5s"})
    assert words_of(text)[1:] == [
        *("-P", "-m", "rigright", "watch", "--serve", "0.0.0.0:9500", "--every", "5s", "--token", "%d/token")
    ]
    assert words_of(text)[0] == sys.executable
    assert "LoadCredential=token:/etc/my keys/50%%" in text
    assert set(groups()) <= {"systemd-journal", "video", "render", "ipmi"}


def test_the_controllers_group_is_joined_only_where_it_is(monkeypatch):
    grp = pytest.importorskip("grp")
    for names in (("video",), ("video", "ipmi")):
        known = [type("Group", (), {"gr_name": name}) for name in names]
        monkeypatch.setattr(grp, "getgrall", lambda known=known: known)
        assert re.search(r"^SupplementaryGroups=(.*)$", unit(**ASKED), re.MULTILINE)[1] == " ".join(names)


def test_nothing_is_loaded_where_no_token_is_asked():
    assert "LoadCredential" not in unit(**ASKED)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=30))
def test_a_word_reaches_the_program_whole(word):
    try:
        line = f"ExecStart={quoted(word)} end"
    except AskError:
        return
    assert words_of(line) in ([word, "end"], ["end"]), "an empty word is nothing here"


def test_a_path_with_a_line_break_is_refused():
    path = "/etc/a\nExecStartPre=/bin/evil"
    with pytest.raises(AskError) as refused:
        escaped(path)
    assert shown(refused.value.sentence) in ([repr(path)], [path])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here to look at it")
def test_systemd_takes_it(tmp_path, capsys):
    assert main(["watch", "--unit", "--serve", "0.0.0.0:9477", "--token", str(tmp_path / "to ken")]) == 0
    file = tmp_path / "rigright-watch.service"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    words = ["systemd-analyze", "verify", "--man=no", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    said = [line for line in done.stderr.splitlines() if file.name in line]
    assert (done.returncode, said) == (0, [])
