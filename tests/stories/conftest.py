"""Asking the program as a person does, in this process."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass

import pytest

from kept_answers import keep
from rigright.faces.cli.main import main

PURE = {"compare", "explain", "fit", "plan"}  # verbs that write nothing and look at no machine


@dataclass(frozen=True, slots=True)
class Said:
    """What came back."""

    code: int
    out: str
    err: str

    @property
    def lines(self):
        return [line for line in self.out.splitlines() if line.strip()]

    @property
    def data(self):
        return json.loads(self.out)

    @property
    def flat(self):
        """All of it as one line, as if no screen had broken it."""
        return " ".join(self.out.split())

    @property
    def mark(self):
        """The mark before the answer."""
        first = self.out.split(maxsplit=1)[0]
        return {"[ok]": "✓", "[!]": "!", "[x]": "✗"}.get(first, first)

    @property
    def is_error(self):
        """An error in one line, and at most one more of what to type; and nothing else."""
        lines = self.err.splitlines()
        return not self.out and 1 <= len(lines) <= 2 and all(re.match(r"\w+: \S", line) for line in lines)

    def row(self, start):
        """The words of the first line that starts so."""
        return next(line for line in self.lines if line.startswith(start)).split()


@pytest.fixture(scope="session")
def answered():
    """What has been answered already; whoever asks again sees it shown anew."""
    return {}


@pytest.fixture
def ask(capsys, monkeypatch, answered):
    """ask("explain qwen2.5-7b --on '2x 3090'"): the command line without `rigright`."""
    for name in ("LANG", "LC_ALL", "LC_MESSAGES", "LANGUAGE", "RIGRIGHT_LANG", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    keep(monkeypatch, answered, of=PURE)

    def asking(line, **values):
        words = [word.format(**values) for word in shlex.split(line)]
        code = main(words)
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        assert "bug in rigright" not in said.err, said.err
        return Said(code=code, out=said.out, err=said.err)

    return asking
