"""Every check is in the ledger, and whatever any of them finds can be understood, done and verified."""

from __future__ import annotations

import re
from functools import cache

import pytest
import rows_amd
import rows_cards
import rows_hardware
import rows_software
from commands import calls, changes, needs_root, unknown
from ledger import Row, verdicts
from rows_hardware import CLOSED

from rigright.base import shelf
from rigright.base.words import CHINESE, Sentence, sentences, tell
from rigright.doctor.examine import checks, chosen
from rigright.doctor.record import Finding, NotSeen
from rigright.machine.bench.table import PARTS

LEDGER: dict[str, Row] = {**rows_amd.ROWS, **rows_cards.ROWS, **rows_hardware.ROWS, **rows_software.ROWS}
FOUR = ("finds", "fine", "unseen", "apart")
MOST_EXCEPTIONS = {
    "finds": 1,
    "fine": 7,
    "unseen": 85,
    "apart": 4,
}  # lower it when a check learns to say more
VERBS = {name.replace("_", "-") for name in shelf.names("rigright.faces.cli.asks")}
ADDRESS = re.compile(r"[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|\bgpu \d")


def test_every_check_stands_in_the_ledger_and_nothing_else():
    assert sorted(LEDGER) == sorted(checks())


@pytest.mark.parametrize("part", FOUR)
def test_what_is_missing_has_its_reason_and_is_rare(part):
    reasons = {
        name: getattr(row, part) for name, row in LEDGER.items() if isinstance(getattr(row, part), str)
    }
    assert [name for name, reason in reasons.items() if len(reason) < 20] == []
    assert len(reasons) <= MOST_EXCEPTIONS[part], sorted(reasons)


@cache
def found() -> tuple[tuple[str, Finding], ...]:
    """Everything that any planted fault makes a check find."""
    return tuple(
        (name, one)
        for name, row in LEDGER.items()
        if not isinstance(row.finds, str)
        for change, _, _ in row.finds
        for one in verdicts(name, change)
        if isinstance(one, Finding)
    )


def lines(one: Finding) -> list[str]:
    """Every command of a finding."""
    shown = [piece.command for piece in one.evidence]
    return [line for line in (*shown, *(step.command for step in one.fix), one.verify) if line]


def told(problems) -> None:
    """No problem, or each by its check."""
    listed = sorted(set(problems))
    assert not listed, "\n".join(f"{name}: {what}" for name, what in listed)


def test_findings_of_weight_show_why_and_what_to_do():
    told(
        (name, lack)
        for name, one in found()
        for lack, there in (
            ("no evidence", bool(one.evidence)),
            ("no command shows it", any(piece.command for piece in one.evidence)),
            ("no why", bool(str(one.why))),
            ("no step", bool(one.fix)),
            ("nothing verifies it", bool(one.verify) or one.severity == "note"),
        )
        if not there
    )


def test_every_command_is_one_that_exists():
    told(
        (name, f"{word} in: {line}") for name, one in found() for line in lines(one) for word in unknown(line)
    )


def test_what_shows_and_what_verifies_changes_nothing():
    told(
        (name, f"{what} in: {line}")
        for name, one in found()
        for line in (*(piece.command for piece in one.evidence), one.verify)
        if line and not line.startswith("docker run --rm")
        for what in changes(line)
    )


def test_steps_that_need_root_say_so():
    told(
        (name, step.command)
        for name, one in found()
        for step in one.fix
        if step.command and needs_root(step.command) and not step.as_root
    )


def test_our_own_verbs_checks_and_parts_are_named_rightly():
    for name, one in found():
        for words in (words for line in lines(one) for words in calls(line) if words[0] == "rigright"):
            assert words[1] in VERBS, (name, words)
            if words[1] == "bench":
                assert {word for word in words[2:] if not word.startswith("-")} <= set(PARTS), (name, words)
            if words[1] == "doctor" and "--only" in words:
                assert chosen(tuple(words[words.index("--only") + 1].split(","))), (name, words)


def test_titles_name_no_place_for_that_is_what_about_is_for():
    told((name, str(one.title)) for name, one in found() if ADDRESS.search(str(one.title)))


def spoken(one: Finding) -> list[Sentence]:
    """Every sentence of a finding."""
    shown = [piece.shows for piece in one.evidence if isinstance(piece.shows, Sentence)]
    return [one.title, one.why, *shown, *(step.says for step in one.fix)]


def test_every_sentence_that_is_found_has_its_chinese():
    told(
        (name, sentence.text)
        for name, one in found()
        for sentence in spoken(one)
        if sentence.chinese is None and sentence.text not in sentences(CHINESE)
    )
    assert [name for name, one in found() if not re.search(r"[\u4e00-\u9fff]", tell(one.why, CHINESE))] == []


def test_what_is_not_observed_can_be_looked_at_without_changing_anything():
    hidden = [
        (name, one)
        for name, row in LEDGER.items()
        if not isinstance(row.unseen, str)
        for one in verdicts(name, row.unseen)
        if isinstance(one, NotSeen)
    ]
    ours = sentences(CHINESE).keys() | {CLOSED.text}
    told((name, str(one.why)) for name, one in hidden if one.why.text not in ours)
    told(
        (name, one.see)
        for name, one in hidden
        if one.see != "sudo look" and (unknown(one.see) or changes(one.see))
    )


def test_the_manual_of_a_check_says_when_it_speaks_and_by_whose_word():
    severities = re.compile(r"fault|warning|note|finding|no fault|wrong kind|warns", re.IGNORECASE)
    told((one.name, "no severity told") for one in checks().values() if not severities.search(one.manual))
    told(
        (one.name, "no source told")
        for one in checks().values()
        if "Source" not in one.manual and "guide" not in one.manual
    )


def test_severities_that_are_planted_are_of_all_three_kinds():
    planted = [
        severity for row in LEDGER.values() if not isinstance(row.finds, str) for _, severity, _ in row.finds
    ]
    assert {kind: planted.count(kind) >= 40 for kind in ("fault", "warning", "note")} == dict.fromkeys(
        ("fault", "warning", "note"), True
    )
