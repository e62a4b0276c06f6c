"""Golden pages: what a verb prints, to the letter, in `tests/golden/`; `make golden` writes them anew.

They are the only tests that a better word may turn red (`--reworded` shows it): whoever changes a sentence
reads the difference of these files, and commits it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--golden", action="store_true", help="write the golden pages anew")


@pytest.fixture
def golden(request):
    """golden("plan.en", text): the page is as it was kept."""

    def check(name: str, text: str) -> None:
        file = FOLDER / f"{name}.txt"
        if request.config.getoption("golden"):
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"{file.name} is not there yet: make golden"
        assert text == file.read_text(encoding="utf-8"), (
            f"{file.name} has changed; if it is better: make golden"
        )

    return check
