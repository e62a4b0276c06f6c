"""Every command that a document or a help text shows comes whole through bash, zsh and PowerShell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess

import pytest

from docs.test_typed_lines import SHOWN_LINES
from programs import rigright
from rigright.base.page import Commands
from rigright.faces.cli.front import front_page, verbs
from rigright.faces.cli.main import verb_parser

LIGHT = ("look-up", "completion", "export", "--help", "--version")  # answered at once, on any machine
CALLED = re.compile(r"^(?:\./rig|rigright)\b")


def shown():
    """Whole lines of documents, those under "For example", and the commands that help texts name."""
    yield from (line for _, line, whole in SHOWN_LINES if whole)
    for part in front_page().parts:
        if isinstance(part, Commands):
            yield from map(str, part.items)
    for verb in verbs():
        for action in verb_parser(verb, "en")._actions:
            yield from re.findall(r"(?:source <\()?(rigright [\w -]+)", action.help or "")


COMMANDS = sorted({line.strip() for line in shown() if "..." not in line and "|" not in line})


def handed_on(shell, lines):
    """What a shell hands to the program, line by line; a function stands for it."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    flags = ["-u"] if shell == "bash" else ["-f"]
    script = ["told() { printf '%s\\0' \"$@\"; printf '\\n'; }"]
    script += [CALLED.sub("told", line) for line in lines]
    done = subprocess.run(
        [program, *flags, "-c", "\n".join(script)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split("\0")[:-1] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_hands_on_what_is_written(shell):
    home = [[os.path.expanduser(word) for word in shlex.split(line)[1:]] for line in COMMANDS]  # noqa: PTH111
    assert handed_on(shell, COMMANDS) == home


@pytest.mark.parametrize("line", ['rigright plan q --budget "$8000"', 'rigright plan q --budget "$15000"'])
def test_a_line_that_a_shell_would_change_is_seen(line):
    """Today's own examples of before: bash makes 000 and 5000 of them."""
    with pytest.raises(AssertionError):
        assert handed_on("bash", [line]) == [shlex.split(line)[1:]]


def test_powershell_would_change_none():
    """There, $ lives in double quotes too, and outside of quotes so do , ; @ ( { ` and more."""
    for line in COMMANDS:
        bare = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", line)
        assert not re.search(r"[$`,;@(){}\"'<>&|#]", bare), line


def test_light_commands_really_run():
    light = [
        line for line in COMMANDS if any(word in line.split()[1:2] or word in line.split() for word in LIGHT)
    ]
    assert light
    for line in light:
        if "--hub" in line or "--out" in line:
            continue
        done = rigright(*shlex.split(line)[1:])
        assert done.code in {0, 1}, (line, done.err)


def test_commands_of_each_kind_were_found():
    assert len(COMMANDS) > 30
    assert any(line.startswith("./rig") for line in COMMANDS)
    assert any("--budget 8000usd" in line for line in COMMANDS)
