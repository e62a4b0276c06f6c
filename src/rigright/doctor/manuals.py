"""What a check is for: its docstring in English; in Chinese its own text, else what it finds."""

from __future__ import annotations

import inspect
import re

from rigright.base.tables import DATA, read_toml
from rigright.base.words import CHINESE, Bilingual, Sentence, say, tell
from rigright.doctor.record import Check


def manual_of(entry: Check) -> tuple[Sentence, ...]:
    """The manual of a check, by paragraphs."""
    english = [" ".join(paragraph.split()) for paragraph in entry.manual.split("\n\n")]
    chinese = read_toml(DATA / "manuals.toml").get(entry.name) or list(findings(entry)) or english
    both = min(len(english), len(chinese)) - 1  # what one language says in more paragraphs stands in its last
    pairs = [*zip(english[:both], chinese[:both], strict=True)]
    pairs.append((" ".join(english[both:]), "".join(chinese[both:])))
    return tuple(say("{text}", text=Bilingual(first, second)) for first, second in pairs)


def findings(entry: Check) -> tuple[str, ...]:
    """The findings of a check from the tables of advice, in Chinese."""
    named = re.findall(r'"([a-z_0-9]+)\.([a-z_0-9]+)"', inspect.getsource(entry.look))
    texts = []
    for subject, finding in named:
        path = DATA / "advice" / f"{subject}.toml"
        table = read_toml(path) if path.exists() else {}
        row = table.get(table.get(finding, {}).get("like"), {}) | table.get(finding, {})
        if {"severity", "title", "why"} <= set(row):
            severity = tell(say(row["severity"]), CHINESE)
            texts.append(f"{severity}：{row['title'][1]}。{row['why'][1]}。")
    return tuple(re.sub(r"\{[^{}]*\}", "…", text) for text in dict.fromkeys(texts))
