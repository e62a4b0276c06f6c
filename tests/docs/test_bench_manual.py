"""The manual of `bench` names every part with what it measures and needs."""

from __future__ import annotations

import pytest

from rigright.base import shelf
from rigright.machine.bench.session import GROUPS, PARTS, group_of, known


@pytest.mark.letters
def test_every_part_stands_in_the_manual_as_its_file_has_it(root):
    text = (root / "docs" / "bench.md").read_text(encoding="utf-8")
    for name, title in known().items():
        needs = ", ".join(shelf.take(PARTS, name, bears="NEEDS")) or "-"
        assert f"| `{name}` | {GROUPS[group_of(name)]} | {title} | {needs} |" in text
    assert text.count("\n| `") == len(known())
