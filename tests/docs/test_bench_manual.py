"""The manual of `bench` names every part with what it measures and needs."""

from __future__ import annotations

import pytest

from rigright.machine.bench.table import PARTS


@pytest.mark.letters
def test_every_part_stands_in_the_manual_as_its_file_has_it(root):
    text = (root / "docs" / "bench.md").read_text(encoding="utf-8")
    for part in PARTS.values():
        needs = ", ".join(part.needs) or "-"
        assert f"| `{part.name}` | {part.group} | {part.title} | {needs} |" in text
    assert text.count("\n| `") == len(PARTS)
