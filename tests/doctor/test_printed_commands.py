"""Every command that is printed is one that runs: our own by our own parser, all by a shell's rules."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import test_one_fault as planted
from boxes import eight, two, xid

import rigright
from rigright.base import shelf
from rigright.base.errors import RigError
from rigright.base.words import CHINESE, sentences, tell
from rigright.doctor.binding.causes import causes
from rigright.doctor.examine import case_of, chosen, examine
from rigright.faces.cli.main import verb_parser
from rigright.facts.faults import xids
from rigright.facts.monitoring import alerts
from rigright.machine.record import Machine
from rigright.verbs.own import today
from rigright.verbs.upgrade import standing_of

SOURCE = Path(rigright.__file__).parent
TICKED = re.compile(r"`(rigright [^`\n]*)`")
GLOB = re.compile(r"[*?\[\]$~!]")
HANDS_OVER = re.compile(r"\b(?:command|see|verify)=|\b(?:step|as_root|seen)\(")
FILLS = {"MODEL": "llama-3.1-8b", "FILE": "box.json", "PID": "1", "INDEX": "0"}


@cache
def parser(verb):
    return verb_parser(verb, "en")


def wrong(command):
    """What our own parser, or a shell, has against a line; None where nothing."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"{command}: {error}"
    if words[:1] != ["rigright"] or len(words) < 2:
        return None
    if GLOB.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", command)):
        return f"{command}: a shell would touch it"
    verb, *rest = (FILLS.get(word, word) for word in words[1:])
    try:
        if not verb.startswith("-"):
            only = getattr(parser(verb).read(rest), "only", None) or []
            chosen(tuple(",".join([only] if isinstance(only, str) else only).split(",") if only else ()))
    except (RigError, ImportError, SystemExit) as error:
        return f"{command}: {error}"
    return None


def test_every_alert_names_commands_that_run():
    told = [tell(one.fix, language) for one in alerts() for language in ("en", CHINESE)]
    lines = [line for text in told for line in TICKED.findall(text)]
    assert len(lines) > 2 * 15
    assert list(filter(None, map(wrong, lines))) == []
    loose = [text for text in told if "rigright " in re.sub(r"`[^`]*`", "", text)]
    assert loose == [], "a command stands in backticks"


def written(file):
    """Commands that a source hands to steps, proofs and changes, as they stand there."""
    source = file.read_text(encoding="utf-8")
    if not HANDS_OVER.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            given = [one.value for one in node.keywords if one.arg in {"command", "see", "verify"}]
            if name in {"step", "as_root", "seen"}:
                given += node.args[1:2]
            yield from (
                one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)
            )


def test_every_command_in_the_sources_runs():
    """Those that are handed to steps and proofs, and those in sentences, of both languages."""
    told = {line for pair in sentences(CHINESE).items() for text in pair for line in TICKED.findall(text)}
    told = {line for line in told if "{" not in line and "..." not in line}
    given = {line for file in SOURCE.rglob("*.py") for line in written(file)}
    given |= {one.command for cause in causes() for one in cause.remedies if one.command}
    assert len(told) > 30
    assert len(given) > 50
    assert sorted(filter(None, map(wrong, given))) == []
    # a sentence may name a command without what it is asked about
    named = {line: [wrong(line + more) for more in ("", " FILE", " MODEL --for MODEL")] for line in told}
    assert [line for line, found in named.items() if None not in found] == []


def fixes():
    """Every finding of every planted fault, and of every XID."""
    machines = [eight({3: changed}) for _, _, changed in planted.PLANTED]
    machines += [eight(events=tuple(xid(code) for code in xids())), Machine(events=(xid(119),))]
    for machine in machines:
        for _, finding in examine(case_of(machine)).findings:
            yield finding


def test_every_step_and_every_proof_is_quoted():
    lines = {finding.verify for finding in fixes()}
    lines |= {one.command for finding in fixes() for one in (*finding.fix, *finding.evidence)}
    lines |= {one.command for cause in causes() for one in cause.remedies}
    standing = standing_of(case_of(two()), today())
    for propose in shelf.load("rigright.build.changes", "propose").values():
        lines |= {change.command for change in propose(standing)}
    told = sorted(filter(None, lines))
    assert len(told) > 60
    assert list(filter(None, map(wrong, told))) == []


def test_a_line_that_does_not_run_is_found():
    assert wrong("rigright doctor --only heat*,thermal*")
    assert wrong("rigright doctor --only nosuch")
    assert wrong("rigright doctor --nosuch")
    assert wrong("grep 'a")
    assert wrong("rigright doctor --only heat,xid") is None
