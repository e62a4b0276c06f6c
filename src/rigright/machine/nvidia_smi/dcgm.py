"""Output of NVIDIA's DCGM diagnostics, `dcgmi diag`: its table and its JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rigright.base.bounded import bounded_json_at
from rigright.base.units import MIB
from rigright.machine.device import Device
from rigright.machine.nvidia_smi.cards import software_of
from rigright.machine.record import Read
from rigright.machine.system import Diagnosed

_MOST_TESTS = 20_000  # of all cards together
_MOST_REASON = 400
_OUTCOMES = {
    "pass": "pass",
    "fail": "fail",
    "warn": "warn",
    "warning": "warn",
    "skip": "skip",
    "skipped": "skip",
    "not run": "not run",
}


def _outcome_of(text: str) -> str:
    """How a test ended; a word that nobody knows is no pass."""
    return _OUTCOMES.get(" ".join(text.lower().split()), "not run")


def _plain(text: str) -> str:
    """A line of it, of bounded length, in one line."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())[:_MOST_REASON]


_Json = Any
_ROOTS = ("DCGM GPU Diagnostic", "DCGM Diagnostic")
_ADVICE = {1: "monitor", 2: "isolate", 4: "triage", 5: "configure", 6: "reset"}  # dcgmErrorSeverity_t
_DRIVER = ("Driver Version Detected", "driver_version_detected", "Driver Version")
_MOST_CARDS, _MOST_NUMBER = 512, 2**31


def _document(text: str) -> dict[str, _Json] | None:
    """The answer, be there lines before it; None where there is none."""
    start = text.find("{")
    if start < 0 or not any(f'"{root}"' in text for root in _ROOTS):
        return None
    try:
        value, _ = bounded_json_at(text, start)
    except ValueError:
        return None
    return (
        value
        if isinstance(value, dict) and any(isinstance(value.get(item), dict) for item in _ROOTS)
        else None
    )


def _diagnosed(fields: dict[str, _Json]) -> tuple[Diagnosed, ...]:
    """Every test on every card."""
    diagnosis = (result for test in _tests(_root(fields)) for result in _results(test))
    return tuple(item for item, _ in zip(diagnosis, range(_MOST_TESTS), strict=False))


def _driver_of_json(fields: dict[str, _Json]) -> str | None:
    """The driver that it saw."""
    places = (fields, _dict(fields.get("metadata")), _root(fields))
    values = (place.get(name) for place in places for name in _DRIVER)
    return next((value for value in values if isinstance(value, str)), None)


def _ids_of_json(fields: dict[str, _Json]) -> dict[int, str]:
    """Card -> its device id on the bus, as four hex digits."""
    ids: dict[int, str] = {}
    for group in _dicts(fields.get("entity_groups")):
        for row in _dicts(group.get("entities")) if group.get("entity_group") == "GPU" else ():
            index, value = _index(row.get("entity_id")), row.get("device_id")
            if index is not None and isinstance(value, str):
                ids[index] = value.lower()
    listed = _root(fields).get("gpu_device_ids")
    if isinstance(listed, list):
        ids |= {
            place: item.lower() for place, item in enumerate(listed[:_MOST_CARDS]) if isinstance(item, str)
        }
    return ids


def _root(fields: dict[str, _Json]) -> dict[str, _Json]:
    return next((_dict(fields[name]) for name in _ROOTS if name in fields), {})


def _tests(root: dict[str, _Json]) -> Iterator[dict[str, _Json]]:
    yield from _dicts(root.get("tests"))
    for category in _dicts(root.get("test_categories")):
        yield from _dicts(category.get("tests"))


def _results(test: dict[str, _Json]) -> Iterator[Diagnosed]:
    """What it says of each card; its summary where it names none."""
    name = _plain(str(test.get("name", "?")))
    results = _dicts(test.get("results")) or _dicts([test.get("test_summary")])
    for result in results:
        for card in _cards(result):
            yield _result(name, card, fields=result)


def _result(name: str, card: int | None, *, fields: dict[str, _Json]) -> Diagnosed:
    warnings = fields.get("warnings")
    parts = warnings if isinstance(warnings, list) else [] if warnings is None else [warnings]
    errors = _dicts(parts)
    values = (part.get("warning") if isinstance(part, dict) else part for part in parts)
    return Diagnosed(
        test=name,
        outcome=_outcome_of(str(fields.get("status", ""))),
        card=card,
        says=tuple(_plain(value) for value in values if isinstance(value, str)),
        code=next((code for error in errors if (code := _index(error.get("error_id"))) is not None), None),
        advice=next(
            (_ADVICE[grave] for error in errors if (grave := error.get("error_severity")) in _ADVICE), None
        )
        if all(isinstance(error.get("error_severity"), int) for error in errors)
        else None,
    )


def _cards(fields: dict[str, _Json]) -> tuple[int | None, ...]:
    if fields.get("entity_group", "GPU") == "GPU" and _index(fields.get("entity_id")) is not None:
        return (_index(fields["entity_id"]),)
    listed = [_index(text) for text in str(fields.get("gpu_ids", "")).split(",")[:_MOST_CARDS]]
    return tuple(number for number in listed if number is not None) or (None,)


def _index(value: _Json) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 9:
        value = int(value)
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_NUMBER
        else None
    )


def _dict(value: _Json) -> dict[str, _Json]:
    return value if isinstance(value, dict) else {}


def _dicts(value: _Json) -> list[dict[str, _Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


_MOST_TABLE = MIB
_HEAD = re.compile(r"^[|+] Diagnostic +\| Result +\|", re.MULTILINE)
_ROW = re.compile(r"^[ #]{0,8}\|([^|]{20,40})\|([^|]{0,80})")
_OUTCOME = re.compile(
    r"(Pass|Fail|Warn|Skip|Not Run)(?:ped|ing)?(?: - (?:All|GPUs?:([\d, ]{1,400})))?$", re.IGNORECASE
)
_ONE = re.compile(r"GPU ?(\d{1,3}): (Pass|Fail|Warn|Skip|Not Run)(?:ped|ing)?$", re.IGNORECASE)
_REASON = re.compile(r"(?:Warning|Error)(?:: ?GPU ?(\d{1,3}))?$")
_CARD_WORD = re.compile(r"\bGPU (\d{1,3})\b")
_ASIDE = re.compile(r"Info\b")
_WIDE = 46
_DRIVER_ROW, _IDS_ROW = "driver version detected", "gpu device ids detected"
_META = ("dcgm version", _DRIVER_ROW, _IDS_ROW, "eud test version")


def _is_table(text: str) -> bool:
    """Whether it holds such a table."""
    return _HEAD.search(text[:_MOST_TABLE]) is not None


class _Table:
    """What was read of one so far."""

    def __init__(self) -> None:
        self.diagnoses: list[Diagnosed] = []
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
            self.name, self.first, self.aside = name.lower(), len(self.diagnoses), True
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
            self.diagnoses.append(
                Diagnosed(test=self.name, outcome=_outcome_of(match[2]), card=int(match[1]))
            )
            return
        result = _OUTCOME.match(value)
        cards = re.findall(r"\d{1,3}", (result and result[2]) or "")
        for card in map(int, cards) if cards else (None,):
            self.diagnoses.append(
                Diagnosed(test=self.name, outcome=_outcome_of(result[1] if result else ""), card=card)
            )

    def all(self) -> tuple[Diagnosed, ...]:
        """Every test with its reasons; a word for all cards gives way to words for each."""
        diagnosis = self.diagnoses[:_MOST_TESTS]
        for first, card, words in self.reasons:
            text = _plain(words)
            named = _CARD_WORD.search(text)
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
            place
            for place in range(first, len(self.diagnoses))
            if self.diagnoses[place].test == self.diagnoses[first].test
        ]
        of_card = [place for place in test if card is not None and self.diagnoses[place].card == card]
        bad = [place for place in test if self.diagnoses[place].outcome != "pass"]
        return next(iter(of_card or bad or test), None)


def _read_table(text: str) -> _Table:
    """The table within a text."""
    table = _Table()
    for line in text[:_MOST_TABLE].splitlines():
        row = _ROW.match(line)
        if row:
            table.row(row[1].strip(), row[2])
    return table


def _driver_of_table(table: _Table) -> str | None:
    """The driver that it saw."""
    return table.meta.get(_DRIVER_ROW)


def _ids_of_table(table: _Table) -> dict[int, str]:
    """Card -> its device id on the bus."""
    listed = [text.strip().lower() for text in table.meta.get(_IDS_ROW, "").split(",")]
    return dict(enumerate(text for text in listed if re.fullmatch(r"[0-9a-f]{4}", text)))


_ID = re.compile(r"[0-9a-f]{4}")


def is_diag(text: str) -> bool:
    """Whether it is one of the two."""
    return _is_table(text) or _document(text) is not None


def read_diag(text: str) -> Read:
    """Its tests, driver and cards."""
    fields = _document(text)
    if fields is not None:
        return _read(_diagnosed(fields), _driver_of_json(fields), ids=_ids_of_json(fields))
    rows = _read_table(text)
    return _read(rows.all(), _driver_of_table(rows), ids=_ids_of_table(rows))


def _read(diagnosis: tuple[Diagnosed, ...], driver: str | None, *, ids: dict[int, str]) -> Read:
    cards = sorted({*ids, *(item.card for item in diagnosis if item.card is not None)})
    devices = tuple(
        Device(
            index=card,
            vendor="nvidia",
            pci_id=f"10de:{ids[card]}" if _ID.fullmatch(ids.get(card, "")) else None,
        )
        for card in cards
    )
    software = replace(software_of(driver=driver), diagnosed=diagnosis)
    return Read(fields={"devices": devices, "software": software})
