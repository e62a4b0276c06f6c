"""A word without a kind finds what it names, and everything that speaks of it, in either language."""

from __future__ import annotations

from datetime import date

import pytest

from rigright.base.errors import AskError
from rigright.base.words import tell
from rigright.facts.clouds import offers
from rigright.facts.find import find_chip, find_chips
from rigright.report.pages.look_up import findings_page, findings_plain
from rigright.verbs.look_up.verb import find_kind, kind_names, look_up, search

TODAY = date(2026, 11, 22)


def test_a_name_is_shown_in_full():
    for text, kind, key, value in (
        ("4090", "chips", "id", "rtx-4090"),
        ("qwen3-8b", "model", "name", "Qwen/Qwen3-8B"),
        ("vllm", "engines", "id", "vllm"),
        ("awq", "formats", "id", "awq4"),
        ("xid 79", "xids", "code", 79),
    ):
        found = search(text, today=TODAY)
        assert found.hit is not None, text
        assert found.hit.kind == find_kind(kind), text
        assert findings_plain(found, "en")["hit"][key] == value
        assert tell(find_kind(kind).title, "en") in tell(findings_page(found).title, "en"), text


@pytest.mark.parametrize(
    ("text", "kind"),
    [("显存", "myths"), ("显存", "checks"), ("ascend", "chips"), ("昇腾", "chips"), ("nvlink", "chips"),
     ("gguf 是什么", "engines"), ("what is nvlink", "chips")],
)  # fmt: skip
def test_a_word_is_found_wherever_it_is_spoken_of(text, kind):
    assert search(text, today=TODAY).found[kind].total


def test_a_kind_filters_on_every_text_in_both_languages():
    ascend = look_up("chips", ("ascend",), today=TODAY)
    assert ascend.total >= 2
    assert {chip.vendor for chip in ascend.records} == {"Huawei"}
    assert look_up("chips", ("nvidia",), today=TODAY).total > 100
    assert look_up("myths", ("显存",), today=TODAY).total > 3


def test_what_nothing_speaks_of_says_so():
    with pytest.raises(AskError, match="zxqvwk"):
        search("zxqvwk", today=TODAY)


def test_no_word_breaks():
    for text in ("", "7b", "../x"):
        try:
            found = search(text, today=TODAY)
        except AskError:
            continue
        assert set(found.found) <= set(kind_names()), text


def test_a_card_is_found_by_what_it_has_and_not_by_what_its_notes_deny():
    for text in ("nvlink", "NVLink", "gddr7"):
        said = [f"{chip.link} {chip.form} {chip.mem_type} {chip.name}".casefold() for chip in
                look_up("chips", (text,), today=TODAY).records]  # fmt: skip
        assert len(said) > 10
        assert all(text.casefold() in one for one in said), text
    assert [field.key for field in look_up("chips", ("nvlink",), today=TODAY).also] == ["link"]


@pytest.mark.parametrize("text", ["trainium9", "rtx 7090", "mi500x", "h300", "gaudi5"])
def test_what_no_machine_may_be_called_finds_no_chip(text):
    """Nothing looser than --on."""
    for find in (find_chip, lambda name: look_up("chips", (name,), today=TODAY)):
        with pytest.raises(AskError):
            find(text)


def test_instances_are_found_by_their_chip_and_by_their_own_name():
    def instances(*words):
        return {offer.instance for offer in look_up("clouds", words, today=TODAY).records}

    assert {"p5.48xlarge", "a3-highgpu-8g", "Standard_ND96isr_H100_v5"} <= instances("h100")
    assert instances("aws", "h100") < instances("h100")
    assert all(name.startswith("p5") for name in instances("p5"))
    assert all(name.startswith("a3-") for name in instances("a3"))
    for chip in ("h100", "a100", "4090", "l4", "mi300x"):
        ids = {one.id for one in find_chips(chip)}
        assert {one.instance for one in offers() if one.chip in ids} <= instances(chip)


NARROW = {"r200", "trainium3"}  # their makers say so: units of their own for 8 bit


def test_rates_of_one_column_accumulate_alike():
    listed = {field.key for field in find_kind("chips").fields if field.listed}
    for chip in look_up("chips", today=TODAY).records:
        assert not {"fp8_flops_per_s", "fp16_flops_per_s"} & listed
        eight, sixteen = chip.fp8_acc32_flops_per_s, chip.training_flops_per_s
        assert eight is None or sixteen is None or chip.id in NARROW or eight <= 2.1 * sixteen, chip.id


def test_a_word_that_cards_bear_lists_the_cards_first():
    """A whole sentence opens what the guides say of it; one word does not."""
    assert next(iter(search("nvlink").found)) == "chips"
    assert search("nvlink").hit is None
    assert search("nvlink 高端卡").hit is not None
