"""Every myth of the guides: its right figure, computed anew, equals the one that was checked by hand."""

from __future__ import annotations

import csv
import re

import pytest

from rigright.base.errors import RigError
from rigright.base.words import Sentence, sentences, tell
from rigright.facts.chips import by_id
from rigright.facts.myths import find_myth, myths, outdated
from rigright.verbs.look_up.figure import show
from rigright.verbs.look_up.figures import compute
from rigright.verbs.look_up.kinds.myths import figures, right
from spoken import values

# id -> figures that the right column of the list of claims states, with what rounding it allows
EXPECTED = {
    1: {"with_link": 0},
    2: {"gen": 4, "lanes": 16},
    3: {"a100": 600, "h100": 900, "b200": 1800},
    4: {"ratio": 9.4, "raw": 64},
    5: {"one": 32, "both": 64},
    6: {"a100": 600},
    7: {"one": 312, "four": 1248, "sparse": 624},
    8: {"pcie": 1940, "sxm": 2040, "four_pcie": 7700, "four_sxm": 8200, "small": 1555},
    9: {"small": 1555, "pcie": 1935, "sxm": 2039},
    10: {"dense": 330.3, "sparse": 660.6, "acc32": 165.2},
    11: {"sparse": 309.7, "dense": 154.8, "a100": 312},
    12: {"r4090": 165, "a6000": 155, "ada": 364},
    13: {"slots": 3},
    14: {"h200": 600, "pro": 600},
    15: {"domain": 8},
    16: {"launch": "2018-03"},
    17: {"gib": 80.0},
    18: {"gtx": 484, "p100": 732, "v100": 900, "a100": 1555},
    19: {"ada": "2022-10", "blackwell": "2024-03", "ultra": "2025-09"},
    20: {"turing": "7.5"},
    21: {"one": 600, "all": 4800, "n": 8, "mem": 40},
    22: {"high": 1000, "mega": 1800},
    23: {"inside": 900, "between": 400},
    24: {"own": 2, "a100": 6.3},
    25: {"status": "PCIe"},
    26: {"bw": 936},
    27: {"a": 3.55, "b": 15.2, "c": 16.1, "d": 29.5, "e": 65.5, "f": 141},
    28: {"bf16": 1342, "cards": 1280, "a100": None},
    29: {"mem": 8},
    30: {"most": 24, "weights": 141, "n": 6},
    31: {"params": 70.6, "q4": 42.5, "awq": 40},
    32: {"weights": 352, "states": 2800},
    33: {"bf16": 141, "card": 80, "fp8": 72.7},
    34: {"weights": 141, "cards": 96},
    35: {"nf4": 39.5, "awq": 39.8, "q4": 42.5},
    36: {"weights": 350, "states": 2800},
    37: {"weights": 350, "q4": 108},
    38: {"states": 108, "weights": 13.5},
    39: {"states": 160, "card": 80},
    40: {"short": 0.268, "long": 4.29},
    41: {"spread": 8},
    42: {"params": 10.3, "weights": 20.6},
    43: {"full": None, "kept": None},
    44: {"params": 0.866, "weights": 1.73},
    45: {"cores": 64},
    46: {"speed": 3200, "ch": 8, "ch2": 12},
    47: {"price": 7890},
    48: {"gen": 5, "read": 13},
    49: {"x16": 16, "x18": 18},
    50: {"four": 1200},
    51: {"lanes": 64, "epyc": 128},
    52: {"one": 1000, "four": 4000},
    53: {"q4": 42.5, "n": 2},
    54: {"slow": 1.25, "ratio": 40},
    55: {"intel": 20, "amd": 24},
    56: {"status": "2.12.0", "instead": "tensorflow[and-cuda]"},
    57: {"variants": "cu118, cu121, cu124, cu126, cu128, cu129, cu130, cu132"},
    58: {"a": "11.8", "b": "12.2"},
    59: {"instead": "jax[cuda12]"},
    60: {"instead": "keyring"},
    61: {"instead": "not loaded"},
    62: {"python": "3.10"},
    63: {"since": "2.4", "instead": "torch.amp"},
    64: {"instead": "build_serialized_network"},
    65: {"volta": "1.3", "ampere": "1.7", "ga10x": "1.8", "pascal": "cu126"},
    66: {"old": "7.0", "new": "7.5", "cu130": "7.5"},
    67: {"instead": "graph compiler"},
    68: {"instead": "1.12"},
    69: {"cores": 16384},
    70: {"instead": "3D controller"},
    71: {"instead": "newer branches"},
    72: {"instead": "0 to 200"},
    73: {"block": 16},
    74: {"instead": "synchronize"},
    75: {"instead": "nvidia-ml-py"},
    76: {"instead": "TransformerConfig"},
}


@pytest.mark.parametrize("number", sorted(EXPECTED))
def test_the_right_figure(number):
    found = figures(find_myth(str(number)))
    for name, expected in EXPECTED[number].items():
        value = found[name].value
        if isinstance(expected, int | float):
            assert value == pytest.approx(expected, rel=0.012), name
        elif expected is not None and not isinstance(value, Sentence):
            assert expected in str(value), name
    if number == 43:
        assert 0.02 < found["kept"].value / found["full"].value < 0.25
    if number == 28:
        assert found["a100"].value is None


@pytest.mark.letters
def test_the_right_words():
    """What is no figure is a cell of the table."""
    told = 0
    for number, expected in EXPECTED.items():
        found = figures(find_myth(str(number)))
        for name, words in expected.items():
            if isinstance(words, str) and isinstance(found[name].value, Sentence):
                assert words in str(found[name].value), (number, name)
                told += 1
    assert told


def test_every_myth_has_a_regression():
    assert sorted(EXPECTED) == [myth.id for myth in myths()] == list(range(1, 77))


def test_the_list_of_claims_is_covered(shared):
    with (shared / "facts" / "claims.csv").open(encoding="utf-8") as file:
        assert {int(row["id"]) for row in csv.DictReader(file)} == {myth.id for myth in myths()}


@pytest.mark.parametrize("myth", myths(), ids=lambda myth: str(myth.id))
def test_both_languages_say_it_with_the_same_figures(myth):
    chinese = sentences("zh")
    for text in (myth.claim, myth.right):
        told = chinese.get(text, text)
        assert set(re.findall(r"{(\w+)}", text)) == set(re.findall(r"{(\w+)}", told))
        if text not in chinese:
            assert not re.search(
                r"[a-z]{4,} [a-z]{4,}", re.sub(r"{\w+}", "", text).replace("pip install", "")
            )
    assert "{" not in tell(right(myth), "en")
    assert "{" not in tell(right(myth), "zh")


def test_what_is_outdated_is_told_in_both_languages():
    for row in outdated().values():
        assert row["source"]
        instead = row["instead"]
        assert instead in sentences("zh") or " " not in instead


def test_a_bad_law_is_a_clear_error():
    for ask, named in (
        (lambda: compute("nothing here"), "nothing"),
        (lambda: find_myth("77"), "77"),
        (lambda: compute("times 2 | chip rtx-4090 launch"), by_id()["rtx-4090"].launch),
    ):
        with pytest.raises(RigError) as refused:
            ask()
        assert any(named in value for value in values(refused.value.sentence).values())


def test_figures_are_shown_with_their_unit():
    assert show(compute("chip a100-sxm4-80gb link_both_ways_bytes_per_s")) == "600 GB/s"
    assert show(compute("times 4 | chip a100-sxm4-80gb fp16_flops_per_s")) == "1,248 TFLOPS"
    assert isinstance(show(compute("chip rtx-4090 link")), Sentence)
