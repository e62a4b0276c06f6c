"""Claims of the guides on drivers, indexes, packages, links: corrected where asked, repeated nowhere."""

from __future__ import annotations

import csv
import re
from functools import cache

import pytest

from rigright.base.tables import DATA
from rigright.base.words import CHINESE, ENGLISH, sentences, tell
from rigright.doctor.examine import checks
from rigright.faces.cli.main import main
from rigright.facts.chips import by_id, chips
from rigright.facts.guides import find_myth
from rigright.verbs.setup.choice import known_names
from rigright.verbs.setup.verb import SetupWish, setup

OPS = (2, 25, *range(56, 76))  # links of consumer cards, then software and commands
GONE = {  # words that the guides tell people to type -> the myth that corrects them
    r"tensorflow-gpu": 56,
    r"cu122|cu123|cu120": 57,
    r"cuda12_pip": 59,
    r"\.run\b": 60,
    r"torch\.cuda\.amp": 63,
    r"build_engine|EXPLICIT_BATCH": 64,
    r"lspci \| grep VGA": 70,
    r"pip install '?pynvml": 75,
    r"query-gpu=\S*cuda_core": 69,
}

WARNS = re.compile(r"stub|deprecated|never|not for others|no release|existed|removed|instead|misuse|refused")


def claims(shared):
    with (shared / "facts" / "claims.csv").open(encoding="utf-8") as file:
        return {int(row["id"]): row for row in csv.DictReader(file)}


@cache
def told_by_setup():
    """All lines of setups of many cards, with every engine."""
    found = []
    for card in ("gtx 1080 ti", "v100", "3090", "4090", "2x 4090", "8x h100", "b200", "mi300x", "m4 max"):
        for name in known_names():
            result = setup(SetupWish(on=card, system="ubuntu 24.04", framework=name))
            found += [line for step in (*result.steps, *result.docker_steps) for line in step.commands]
            found += [tell(one, ENGLISH) for one in (*result.notes, *result.unknown)]
            found += list(result.pick.pip if result.pick else ())
    return tuple(found)


@pytest.mark.parametrize("number", OPS)
def test_the_claim_is_corrected_in_both_languages(number, shared):
    row = claims(shared)[number]
    myth = find_myth(str(number))
    english, chinese = tell(myth.correction, ENGLISH), tell(myth.correction, CHINESE)
    assert english != myth.claim.text
    assert english != chinese
    figures = set(re.findall(r"\d+\.\d+", row["correct"]))
    shown = set(re.findall(r"\d+\.\d+", english))
    assert not figures or figures & shown or number in {58, 60, 65}, (row["correct"], english)


@pytest.mark.parametrize("number", OPS)
def test_look_up_shows_claim_and_correction_side_by_side(number, capsys):
    assert main(["look-up", "myths", str(number), "--json"]) == 0
    told = capsys.readouterr().out
    assert find_myth(str(number)).claim.text[:20] in told or str(number) in told
    assert tell(find_myth(str(number)).correction, ENGLISH)[:30] in told.replace("\\u2019", "'")


@pytest.mark.parametrize(("words", "number"), GONE.items())
def test_setup_never_tells_what_a_myth_corrects(words, number):
    assert find_myth(str(number))
    assert [line for line in told_by_setup() if re.search(words, line)] == []


@pytest.mark.parametrize(("words", "number"), GONE.items())
def test_the_manual_of_a_check_names_it_only_to_warn(words, number):
    """A check may name a bad package or index; it says beside it that it is bad."""
    assert find_myth(str(number))
    for entry in checks().values():
        for paragraph in entry.manual.split("\n\n"):
            if re.search(words, paragraph):
                assert WARNS.search(paragraph), (entry.name, paragraph)


def test_every_sentence_keeps_clear_of_the_bad_lines():
    """What anybody may be told, except where myths themselves are quoted."""
    quoted = {find_myth(str(number)).claim.text for number in range(1, 77)} | {
        find_myth(str(number)).right for number in range(1, 77)
    }
    advice = "\n".join(path.read_text(encoding="utf-8") for path in (DATA / "advice").glob("*.toml"))
    for sentence in (*sentences(CHINESE), *advice.splitlines()):
        if sentence not in quoted:
            assert not re.search(r"pip install tensorflow-gpu|pip install pynvml|whl/cu122", sentence), (
                sentence
            )


def test_no_consumer_card_after_the_3090_has_links():
    for chip in chips():
        if chip.vendor == "NVIDIA" and chip.segment == "consumer" and chip.launch >= "2022-10":
            assert chip.link_both_ways_bytes_per_s is None, chip.id
    assert by_id()["rtx-6000-ada"].link_both_ways_bytes_per_s is None
    assert by_id()["rtx-3090"].link_both_ways_bytes_per_s > 1e11
    assert (
        "no" in tell(find_myth("2").correction, ENGLISH).lower()
        or "none" in tell(find_myth("2").correction, ENGLISH).lower()
    )


def test_setup_of_cards_without_links_never_speaks_of_them():
    for card in ("2x 4090", "4x 4090", "2x rtx 6000 ada"):
        result = setup(SetupWish(on=card, system="ubuntu 24.04"))
        told = " ".join(tell(one, ENGLISH) for step in result.steps for one in (step.title, step.why))
        assert "NVLink" not in told
        assert "NVSwitch" not in told


@pytest.mark.parametrize("number", ["0", "77", "-1", "x", ""])
def test_a_myth_that_is_none(number, capsys):
    code = main(["look-up", "myths", number or "none"])
    said = capsys.readouterr()
    assert code in {0, 2}
    assert "Traceback" not in said.err
