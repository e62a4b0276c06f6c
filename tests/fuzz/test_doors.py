"""No file that a command takes is left out of the fuzz, and each door opens to a sound one."""

from __future__ import annotations

import doors
import pytest


def test_every_option_that_takes_a_file_is_fuzzed():
    assert doors.taken() - set(doors.ELSEWHERE) == set(doors.DOORS)
    assert set(doors.ELSEWHERE) <= doors.taken()


@pytest.mark.parametrize("door", sorted(doors.DOORS))
def test_a_sound_file_is_answered(door):
    code, said = doors.ask(door, doors.DOORS[door][1])
    assert code in doors.ANSWERED, said
