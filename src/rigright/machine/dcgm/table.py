"""The table of `dcgmi diag`: a test a row, cards behind its outcome, reasons below it.

Long reasons run over rows of their own, cut after 45 signs, be it within a word.
"""

from __future__ import annotations

import re
from dataclasses import replace

from rigright.base.units import MIB
from rigright.machine.dcgm.words import MOST_TESTS, outcome_of, plain
from rigright.machine.system import Diagnosed

_MOST_CHARS = MIB
_HEAD = re.compile(r"^[|+] Diagnostic +\| Result +\|", re.MULTILINE)
_ROW = re.compile(r"^[ #]{0,8}\|([^|]{20,40})\|([^|]{0,80})")
_OUTCOME = re.compile(
    r"(Pass|Fail|Warn|Skip|Not Run)(?:ped|ing)?(?: - (?:All|GPUs?:([\d, ]{1,400})))?$", re.IGNORECASE
)
_ONE = re.compile(r"GPU ?(\d{1,3}): (Pass|Fail|Warn|Skip|Not Run)(?:ped|ing)?$", re.IGNORECASE)
_REASON = re.compile(r"(?:Warning|Error)(?:: ?GPU ?(\d{1,3}))?$")
_CARD = re.compile(r"\bGPU (\d{1,3})\b")
_ASIDE = re.compile(r"Info\b")
_WIDE = 46
_DRIVER, _IDS = "driver version detected", "gpu device ids detected"
_META = ("dcgm version", _DRIVER, _IDS, "eud test version")


def is_table(text: str) -> bool:
    """Whether it holds such a table."""
    return _HEAD.search(text[:_MOST_CHARS]) is not None


class DcgmTable:
    """What was read of one so far."""

    def __init__(self) -> None:
        self.told: list[Diagnosed] = []
        self.meta: dict[str, str] = {}
        self.reasons: list[tuple[int, int | None, str]] = []  # where the test begins, card, words
        self.first = 0  # where the rows of the last test begin
        self.name = ""
        self.aside = False  # what runs on is no reason

    def row(self, name: str, cell: str) -> None:
        """One row of it."""
        value = cell.strip()
        if name.lower() in _META:
            self.meta[name.lower()] = value
        elif name and _OUTCOME.match(value):
            self.name, self.first, self.aside = name.lower(), len(self.told), True
            self._outcome(value)
        elif reason := _REASON.match(name):
            card = None if reason[1] is None else int(reason[1])
            self.reasons.append((self.first, card, cell[1:_WIDE]))
            self.aside = False
        elif not name and self.name and (_OUTCOME.match(value) or _ONE.match(value)):
            self._outcome(value)
        elif not name and self.name and value.startswith(("Error:", "Warning:")):
            self.reasons.append((self.first, None, cell[1:_WIDE].partition(":")[2]))
            self.aside = False
        elif not name and self.name and not self.aside and self.reasons:
            first, card, words = self.reasons[-1]
            self.reasons[-1] = (first, card, words + cell[1:_WIDE])
        elif _ASIDE.match(name):
            self.aside = True

    def _outcome(self, value: str) -> None:
        if match := _ONE.match(value):
            self.told.append(Diagnosed(test=self.name, outcome=outcome_of(match[2]), card=int(match[1])))
            return
        result = _OUTCOME.match(value)
        cards = re.findall(r"\d{1,3}", (result and result[2]) or "")
        for card in map(int, cards) if cards else (None,):
            self.told.append(
                Diagnosed(test=self.name, outcome=outcome_of(result[1] if result else ""), card=card)
            )

    def all(self) -> tuple[Diagnosed, ...]:
        """Every test with its reasons; a word for all cards gives way to words for each."""
        diagnosis = self.told[:MOST_TESTS]
        for first, card, words in self.reasons:
            text = plain(words)
            named = _CARD.search(text)
            about = int(named[1]) if card is None and named else card
            place = self._place(first, about)
            if place is not None and place < len(diagnosis):
                item = diagnosis[place]
                diagnosis[place] = replace(
                    item, says=(*item.says, text), card=about if item.card is None else item.card
                )
        each = {entry.test for entry in diagnosis if entry.card is not None}
        bad = {
            entry.test for entry in diagnosis if entry.card is not None and entry.outcome in {"fail", "warn"}
        }
        return tuple(
            entry
            for entry in diagnosis
            if entry.card is not None or entry.test not in (each if entry.outcome == "pass" else bad)
        )

    def _place(self, first: int, card: int | None) -> int | None:
        """The row of the test that a reason belongs to: of its card, else the first that is no pass."""
        test = [
            place for place in range(first, len(self.told)) if self.told[place].test == self.told[first].test
        ]
        of_card = [place for place in test if card is not None and self.told[place].card == card]
        bad = [place for place in test if self.told[place].outcome != "pass"]
        return next(iter(of_card or bad or test), None)


def read_table(text: str) -> DcgmTable:
    """The table within a text."""
    table = DcgmTable()
    for line in text[:_MOST_CHARS].splitlines():
        row = _ROW.match(line)
        if row:
            table.row(row[1].strip(), row[2])
    return table


def driver(table: DcgmTable) -> str | None:
    """The driver that it saw."""
    return table.meta.get(_DRIVER)


def device_ids(table: DcgmTable) -> dict[int, str]:
    """Card -> its device id on the bus."""
    listed = [text.strip().lower() for text in table.meta.get(_IDS, "").split(",")]
    return dict(enumerate(text for text in listed if re.fullmatch(r"[0-9a-f]{4}", text)))
