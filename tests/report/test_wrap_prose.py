"""Messages as wide as the terminal: words wrap, commands that people copy stay whole."""

from __future__ import annotations

import pytest

from rigright.report.screen import width, wrap_prose

COMMAND = "`rigright plan qwen3-8b --on '2x rtx 4090' --json`"
SAID = (
    f"no plan in it: write one with {COMMAND}, or leave it out",
    f"{COMMAND} starts it",
    f"其中没有方案：请用 {COMMAND} 写出一个，再试一次；也可以不写",
    f"其中没有方案，{COMMAND}。",
)


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("cells", [20, 38, 60, 78])
def test_words_wrap_and_commands_stay_whole(said, cells):
    lines = wrap_prose(said, cells)
    assert sum(COMMAND in line for line in lines) == 1
    spare = 2  # closing marks hug what they close
    assert all(width(line) <= cells + spare or COMMAND in line for line in lines)
    assert "".join(lines).replace(" ", "") == said.replace(" ", "")


def test_what_has_room_is_one_line():
    assert wrap_prose(SAID[0], 200) == [SAID[0]]
    assert wrap_prose(SAID[3], 200) == [SAID[3]]
