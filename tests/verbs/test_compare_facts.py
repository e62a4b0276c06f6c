"""Facts side by side without a model: what tables state, who is ahead, and what is not held against what."""

from __future__ import annotations

import itertools

import pytest

from rigright.base.errors import AskError
from rigright.faces.cli.asks.compare import question
from rigright.faces.cli.main import main
from rigright.facts.chips import chips
from rigright.facts.cpus import cpus
from rigright.facts.find import find_chip
from rigright.verbs.compare_facts import compare_facts
from rigright.verbs.comparing.sheets import leads_of

TRIOS = (
    ("4090", "a6000", "rtx 6000 ada"),
    ("h100", "mi300x", "b200"),
    ("3090", "7900 xtx", "a770"),
    ("l40s", "a40", "t4"),
    ("m3 ultra", "dgx spark", "5090"),
)


@pytest.mark.parametrize("names", TRIOS, ids=" ".join)
def test_what_is_shown_is_what_the_tables_state(names):
    for name, sheet in zip(names, compare_facts(names).things, strict=True):
        chip = find_chip(name)
        assert (sheet.mem_bytes, sheet.mem_bytes_per_s, sheet.power_w) == (
            chip.mem_bytes,
            chip.mem_bytes_per_s,
            chip.tdp_w,
        )
        assert sheet.half_flops_per_s == chip.training_flops_per_s
        assert sheet.fp8_flops_per_s in {chip.fp8_acc32_flops_per_s, chip.fp8_flops_per_s}
        assert sheet.launch == (chip.launch or None)
        assert sheet.usd is None or sheet.usd.as_of


def test_no_card_is_shown_faster_in_8_bit_by_accumulating_in_less():
    for chip in chips():
        if chip.fp8_acc32_flops_per_s and chip.fp8_acc32_flops_per_s != chip.fp8_flops_per_s:
            one = compare_facts((chip.id, "a100 sxm4 80gb")).things[0]
            assert one.fp8_flops_per_s == chip.fp8_acc32_flops_per_s, chip.id


def test_several_cards_are_as_many_times_one():
    one, four = compare_facts(("4090", "4x 4090")).things
    for figure in ("mem_bytes", "mem_bytes_per_s", "half_flops_per_s", "fp8_flops_per_s", "power_w", "cores"):
        assert getattr(four, figure) == pytest.approx(4 * getattr(one, figure))
    assert four.usd.value == pytest.approx(4 * one.usd.value)
    assert (one.link, one.pcie_gen) == (four.link, four.pcie_gen)


def test_a_card_stands_beside_a_processor():
    for cpu in itertools.islice(cpus(), 0, None, 9):
        card, processor = compare_facts(("a100 sxm4 80gb", cpu.name)).things
        assert (card.kind, processor.kind) == ("gpu", "cpu")
        assert processor.cores == cpu.cores, cpu.name
        assert processor.fp8_flops_per_s is None
        assert processor.link is None


def test_a_used_price_that_is_held_against_a_new_one_is_called_used():
    result = compare_facts(("4090", "rtx 6000 ada"))
    assert {one.used for one in result.things} == {True, False}
    (price,) = (lead for lead in result.leads if lead.figure == "usd")
    assert (price.places, price.used) == ((0,), True)
    (alike,) = (lead for lead in compare_facts(("4090", "3090")).leads if lead.figure == "usd")
    assert not alike.used


def test_instances_are_held_against_each_other_by_their_rent():
    result = compare_facts(("p5.48xlarge", "gcp:a3-highgpu-8g"))
    rents = [one.usd_per_h.value for one in result.things]
    (rent,) = (lead for lead in result.leads if lead.figure == "usd_per_h")
    assert rent.places == (rents.index(min(rents)),)
    assert compare_facts(("rtx 5090", "rtx 4090")).things[0].usd_per_h is None


@pytest.mark.parametrize(
    ("typed", "things", "tail"),
    [
        ("4090和3090哪个好", ["4090", "3090"], {}),
        ("租 h100 还是买 4 张 4090", ["租 h100", "买 4 张 4090"], {}),
        ("rent h100 or buy 4x 4090", ["rent h100", "buy 4x 4090"], {}),
        ("4090 vs 3090, which is better?", ["4090", "3090"], {}),
        ("qwen3-32b vs llama-3.3-70b on a 4090", ["qwen3-32b", "llama-3.3-70b"], {"on": "4090"}),
        ("qwen3-8b 和 qwen3-14b 在 3090 上哪个快", ["qwen3-8b", "qwen3-14b"], {"on": "3090"}),
        ("4090 vs 3090 for qwen3-8b", ["4090", "3090"], {"for": "qwen3-8b"}),
        ("4090 和 3090 跑 qwen3-8b", ["4090", "3090"], {"for": "qwen3-8b"}),
    ],
)
def test_a_question_in_words_is_its_things_and_what_stands_behind_them(typed, things, tail):
    assert question([typed]) == (things, tail)
    assert question(typed.split(" ")) == (things, tail)


@pytest.mark.parametrize("asked", ["vllm", "fp8", "q4_k_m", "lora", "qwen3-8b"])
def test_what_is_no_machine_is_told_what_to_type(asked):
    with pytest.raises(AskError) as error:
        compare_facts((asked, "4090"))
    assert "--on" in str(error.value.whole)


def test_the_same_thing_by_another_name_is_ahead_in_nothing():
    assert compare_facts(("rtx 4090", "geforce rtx 4090")).leads == ()


@pytest.mark.parametrize(
    "asked", [("4090",), ("4090", "4090"), ("4090 + 3090", "h100"), ("4090", "rtx 7090"), ("aws", "4090")]
)
def test_what_has_no_sheet_is_refused(asked):
    with pytest.raises(AskError):
        compare_facts(asked)


def test_options_of_a_work_need_the_model(capsys):
    for options in (["--users", "8"], ["--prompt", "2k"], ["--mode", "chat"], ["--budget", "5000"]):
        assert main(["compare", "4090", "5090", *options]) == 2
        assert "--for" in capsys.readouterr().err
    assert main(["compare", "4090", "5090", "--currency", "CNY"]) == 0
    assert "¥" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("bands", "places", "than"),
    [
        (((60, 40, 100), (63, 43, 100), (20, 15, 30)), (0, 1), None),  # two alike before a third
        (((60, 39, 100), (63, 43, 100), (41, 27, 68)), (1,), 2),  # only the first is surely before the last
        (((60, 40, 100), (63, 42, 100), (50, 30, 90)), None, None),
    ],
)
def test_a_lead_lies_outside_the_band_of_another(bands, places, than):
    things = [(str(place), {"output_tok_per_s": band}) for place, band in enumerate(bands)]
    leads = leads_of(things, ["output_tok_per_s"], used=())
    assert [(lead.places, lead.than) for lead in leads] == ([] if places is None else [(places, than)])
