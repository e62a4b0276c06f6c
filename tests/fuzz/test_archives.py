"""Archives with wrong bytes: one error of ours, or what is sound in them; never an error of a library."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import random
import zipfile

import pytest

from archives import tar_of
from rigright.base.errors import RigError
from rigright.machine.opened.archive import unpacked

MEMBERS = (
    ("nvidia-smi.txt", b"NVIDIA-SMI 550.54\n" * 40),
    ("sub/dmesg.log", bytes(place * place % 251 for place in range(2000))),
)


def zip_by(method):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", method) as archive:
        for name, raw in MEMBERS:
            archive.writestr(name, raw)
    return whole.getvalue()


SEEDS = {
    **{f"zip {method}": zip_by(method) for method in (0, 8, 12, 14)},
    **{f"tar {mode}": tar_of(*MEMBERS, mode=f"w:{mode}") for mode in ("", "gz", "xz", "bz2")},
    **{kind.__name__: kind.compress(MEMBERS[0][1]) for kind in (gzip, lzma, bz2)},
}


def changed(raw, dice):
    """A copy with some bytes other, gone, more or cut off."""
    some = bytearray(raw)
    for _ in range(dice.choice((1, 1, 2, 8))):
        place, how = dice.randrange(len(some)), dice.randrange(4)
        if how == 0:
            some[place] = dice.randrange(256)
        elif how == 1:
            del some[place : place + dice.randrange(1, 40)]
        elif how == 2:
            some[place:place] = dice.randbytes(9)
        else:
            del some[place:]
        some = some or bytearray(b"P")
    return bytes(some)


@pytest.mark.parametrize("name", SEEDS)
def test_wrong_bytes_are_refused_or_read_as_far_as_they_are_sound(name):
    dice = random.Random(name)  # noqa: S311 - a die, no secret
    assert {member.name for member in unpacked(SEEDS[name], name=f"a.{name}")}
    for _ in range(300):
        with contextlib.suppress(RigError):
            members = unpacked(changed(SEEDS[name], dice), name="a")
            assert all(len(member.raw) < 30_000 for member in members)


@pytest.mark.parametrize("name", SEEDS)
def test_sound_archives_are_whole(name):
    raws = {member.raw for member in unpacked(SEEDS[name], name=name) if not member.is_cut}
    if name != "zip 14":  # whose method says itself how much memory it takes
        assert MEMBERS[0][1] in raws
