"""Findings as data: what to say, why it matters, how to mend it and how to see that it is mended.

`data/advice/<subject>.toml` has one table a finding, English and Chinese side by side; a check hands over
what it saw. Values in a command are quoted for the shell here, so no check can forget it.

    [swap_used]                  advise("memory.swap_used", used="3 GiB")
    severity = "warning"         a check may say another; so with confidence, "sure" where nothing is said
    title = [English, Chinese]   "{used}" is what the check handed over
    shows = [English, Chinese]   what was seen, the title where nothing is said; see = the command that
                                 shows it; where it is more than one thing: seen = [{shows, see}, ...]
    why = [English, Chinese]
    fix = [...]                  {en, zh}, with run = or root = its command, disturbs, takes
                                 "name": that step of steps.toml; {step = "name", with = {...}}: with values
                                 "$steps": one or several that the check made, or None
    verify = command             else the command that showed it
    like = "another"             what is not said here stands there

A command may be a table by vendor ({nvidia = "...", amd = "...", other = "..."}), or "$line": one that the
check made. The vendor is the device's, or the value of that name.
`when` and `unless` name a value: the step or evidence stands only where that is true, or is not.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from rigright.base.errors import DataError
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml
from rigright.base.words import CHINESE, Bilingual, Sentence, in_both, say, tell
from rigright.doctor.record import Check, Confidence, Evidence, Finding, Severity, Step
from rigright.machine.device import Device

SHARED = "steps"


def advise(
    name: str,
    seen: Mapping[str, object] | None = None,
    /,
    *,
    device: Device | None = None,
    about: str | None = None,
    severity: Severity | None = None,
    confidence: Confidence | None = None,
    **values: object,
) -> Finding:
    """The finding of that name ("subject.finding"), filled with what was seen."""
    row = _row(*name.split("."))
    values |= seen or {}
    values = {key: say("unknown") if value == "?" else value for key, value in values.items()}
    if device is not None:
        values = {"gpu": number(device), "vendor": device.vendor, **values}
        about = about or label(device)
    writer = Writer(values)
    return Finding(
        severity=severity or row["severity"],
        title=writer.sentence(row["title"]),
        evidence=tuple(writer.evidence(row.get("seen", ({"shows": row["title"]} | row,)))),
        why=writer.sentence(row["why"]),
        fix=tuple(writer.steps(row["fix"])),
        verify=writer.command(row.get("verify")),
        confidence=confidence or row.get("confidence", "sure"),
        about=about,
    )


def advised_step(name: str, /, *, device: Device | None = None, **values: object) -> Step:
    """A step that many findings share, for those that a check puts together itself."""
    if device is not None:
        values = {"gpu": number(device), "vendor": device.vendor, **values}
    (step,) = Writer(values).steps((name,))
    return step


def stated(subject: str, key: str) -> dict[str, Any]:
    """What findings of a subject state under a key of their own, in their order."""
    table = read_toml(DATA / "advice" / f"{subject}.toml")
    return {name: row[key] for name, row in table.items() if key in row}


def first(findings: Mapping[str, object]) -> str | None:
    """Of findings, each with whether it holds: the first that does."""
    return next((name for name, holds in findings.items() if holds), None)


def label(device: Device) -> str:
    """How a card is called in findings."""
    return f"gpu {device.index}" if device.vendor == "nvidia" else f"{device.vendor} gpu {device.index}"


def number(device: Device) -> str:
    """How the vendor's tool is told of a card: by number, or, where amd-smi counts parts, by address."""
    is_counted = device.vendor == "amd" and device.slices and device.pci
    return str(device.pci if is_counted else device.index)


@dataclass(frozen=True, slots=True)
class Writer:
    """Fills what a table says with the values of one case."""

    values: Mapping[str, Any]

    def sentence(self, pair: list[str]) -> Sentence:
        """Both languages, filled."""
        english, chinese = pair
        return in_both(english, chinese, values=self.values)

    def evidence(self, rows: Any) -> Iterator[Evidence]:
        """All that was seen."""
        for row in filter(self._stands, rows):
            if isinstance(row, str):
                yield from self._made(row)
            else:
                yield Evidence(shows=self.sentence(row["shows"]), command=self.command(row.get("see")))

    def steps(self, rows: Any) -> Iterator[Step]:
        """All steps of a fix that stand here."""
        for row in filter(self._stands, rows):
            if isinstance(row, str) and row.startswith("$"):
                yield from self._made(row)
            elif isinstance(row, str):
                yield self._step(_row(SHARED, row))
            elif "step" in row:
                given = Writer({**self.values, **row.get("with", {})})
                yield given._step(_row(SHARED, row["step"]))
            else:
                yield self._step(row)

    def command(self, given: Any) -> str | None:
        """A command: as it stands, of the vendor, or one that the check made."""
        if isinstance(given, dict):
            given = given.get(self.values.get("vendor"), given.get("other"))
        if given is None:
            return None
        if given.startswith("$") and given[1:] in self.values:
            made: str | None = self.values[given[1:]]
            return made
        return str(given).format_map({name: shlex.quote(str(value)) for name, value in self.values.items()})

    def _step(self, row: Mapping[str, Any]) -> Step:
        command = self.command(row.get("root", row.get("run")))
        return Step(
            says=self.sentence([row["en"], row["zh"]]),
            command=command,
            as_root="root" in row and command is not None,
            disturbs=row.get("disturbs", False),
            takes=tuple(row.get("takes", ())),
        )

    def _stands(self, row: Any) -> bool:
        if isinstance(row, str):
            return True
        return ("when" not in row or bool(self.values[row["when"]])) and not (
            "unless" in row and self.values[row["unless"]]
        )

    def _made(self, name: str) -> Iterator[Any]:
        """What the check itself made under that name: one, several or none."""
        made = self.values[name[1:]]
        yield from made if isinstance(made, tuple) else () if made is None else (made,)


@cache
def _row(subject: str, name: str) -> dict[str, Any]:
    row: dict[str, Any] | None = subject_of(subject).get(name)
    if row is None:
        raise DataError(say('advice/{file}: no "{name}"', file=f"{subject}.toml", name=name))
    return (_row(subject, row["like"]) | row) if "like" in row else row


@cache
def subject_of(name: str) -> dict[str, Any]:
    """All tables of one subject."""
    return read_toml(DATA / "advice" / f"{name}.toml")


def manual_of(entry: Check) -> tuple[Sentence, ...]:
    """What a check is for, by paragraphs: its docstring; in Chinese its own text, else what it finds."""
    english = [" ".join(paragraph.split()) for paragraph in entry.manual.split("\n\n")]
    chinese = read_toml(DATA / "manuals.toml").get(entry.name) or list(findings_of(entry)) or english
    both = min(len(english), len(chinese)) - 1  # what one language says in more paragraphs stands in its last
    pairs = [*zip(english[:both], chinese[:both], strict=True)]
    pairs.append((" ".join(english[both:]), "".join(chinese[both:])))
    return tuple(say("{text}", text=Bilingual(first, second)) for first, second in pairs)


def findings_of(entry: Check) -> tuple[str, ...]:
    """The findings that a check may give, in Chinese: by the names in its own code."""
    texts = []
    for subject, name in re.findall(r'"([a-z_0-9]+)\.([a-z_0-9]+)"', inspect.getsource(entry.look)):
        is_advice = (DATA / "advice" / f"{subject}.toml").exists() and name in subject_of(subject)
        row = _row(subject, name) if is_advice else {}
        if {"severity", "title", "why"} <= set(row):
            texts.append(f"{tell(say(row['severity']), CHINESE)}：{row['title'][1]}。{row['why'][1]}。")
    return tuple(re.sub(r"\{[^{}]*\}", "…", text) for text in dict.fromkeys(texts))
