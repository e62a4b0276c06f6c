"""`rigright look-up`: words, conditions, order, pages, data."""

from __future__ import annotations

import json
import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError, RigError
from rigright.base.plain import dumps
from rigright.base.units import GIB, TERA
from rigright.base.words import LANGUAGES
from rigright.faces.cli.main import main
from rigright.facts.chips import chips
from rigright.report.formats.text import render
from rigright.report.pages.look_up import page, plain
from rigright.report.screen import Screen
from rigright.verbs.look_up.filters import find_field, read_condition
from rigright.verbs.look_up.verb import LookUpWish, find_kind, is_kind, kind_names, kind_summaries, look_up
from spoken import values

TODAY = date(2026, 11, 20)
OURS = ("architectures", "benchmarks", "chips", "clouds", "cpus", "platforms", "prices", "software")


def found(kind, *words, **wish):
    return look_up(kind, words, today=TODAY, wish=LookUpWish(**wish))


def test_the_kinds_are_there():
    assert set(OURS) <= set(kind_names())
    assert kind_summaries().keys() == set(kind_names())


@pytest.mark.parametrize("kind", OURS)
def test_every_kind_shows_all_it_has(kind):
    listing = found(kind, with_sources=True)
    assert listing.total == len(listing.records) > 5
    assert len(render(page(listing), Screen(width=80)).splitlines()) > listing.total
    few = found(kind, with_sources=True, limit=9)
    for language in LANGUAGES:
        for width in (40, 80, 160):
            lines = render(page(few), Screen(width=width, language=language)).splitlines()
            assert len(lines) > len(few.records), (width, language)
        data = json.loads(dumps(plain(listing, language), language))
        assert len(data) == listing.total, language
        assert all(row.keys() == data[0].keys() for row in data), language


@pytest.mark.parametrize("kind", OURS)
def test_every_kind_shows_one_record_in_full(kind):
    listing = found(kind, limit=1)
    text = render(page(listing), Screen(width=90))
    (row,) = plain(listing, "en")
    assert row["source"].partition(" ")[0] in text


def test_names_find_and_sizes_set():
    (chip,) = found("chips", "m3", "max", "64GB").records
    assert chip.mem_bytes == 64 * GIB
    assert [chip.id for chip in found("chips", "a100", "pcie").records] == [
        "a100-pcie-40gb",
        "a100-pcie-80gb",
    ]
    assert found("chip", "4090").kind is find_kind("chips")


def test_conditions_are_in_the_units_of_the_heads():
    big = found("chips", where=("memory>=80GB", "vendor=nvidia", "flops>900")).records
    assert big
    assert all(
        chip.mem_bytes >= 80 * GIB and chip.vendor == "NVIDIA" and chip.training_flops_per_s > 900 * TERA
        for chip in big
    )
    assert {chip.mem_bytes for chip in found("chips", where=("mem=24",)).records} == {24 * GIB}
    assert all(chip.launch >= "2025" for chip in found("chips", where=("since>=2025",)).records)
    assert all("Ada" in chip.architecture for chip in found("chips", where=("arch~ada",)).records)
    assert all(chip.mem_bytes_per_s > 2e12 for chip in found("chips", where=("bandwidth>2000",)).records)
    assert found("chips", where=("memory>9000GB",)).records == ()


def test_what_is_unknown_meets_no_condition_and_comes_last():
    assert all(chip.fp4_flops_per_s is not None for chip in found("chips", where=("fp4>=0",)).records)
    records = found("chips", sort="fp8").records
    known = [chip.fp8_acc32_flops_per_s for chip in records if chip.fp8_acc32_flops_per_s is not None]
    assert known == sorted(known, reverse=True)
    assert records[-1].fp8_acc32_flops_per_s is None
    backwards = found("chips", sort="fp8", backwards=True).records
    assert backwards[0].fp8_acc32_flops_per_s == known[-1]
    assert backwards[-1].fp8_acc32_flops_per_s is None


def test_words_sort_from_a():
    launches = [chip.launch for chip in found("chips", sort="launch").records]
    assert launches == sorted(launches)


def test_a_limit_says_how_many_there_are():
    listing = found("chips", limit=3)
    assert f"3 of {listing.total}" in render(page(listing), Screen(width=100))
    assert render(page(found("chips", where=("memory>9000GB",))), Screen(width=100)).strip(), (
        "none, and it is said"
    )


def test_prices_carry_dates_and_go_stale():
    listing = found("prices", "4090")
    assert {one.chip for one in listing.records} == {"rtx-4090"}
    assert all(one.as_of for one in listing.records)
    assert " 180 " in render(page(listing), Screen(width=100))
    fresh = look_up("prices", ("4090",), today=date(2025, 8, 1))
    assert fresh.records[0].stale is False
    assert plain(found("prices", "rtx 2070 super"), "en")[0]["stale"] is True


def test_clouds_by_provider_chip_and_instance():
    assert {offer.provider for offer in found("clouds", "aws", "h100").records} == {"aws"}
    assert {offer.chip for offer in found("clouds", "h100 sxm").records} == {"h100-sxm5-80gb"}
    assert {offer.instance for offer in found("clouds", "p5.48xlarge").records} == {"p5.48xlarge"}
    with pytest.raises(AskError):
        found("clouds", "aws", "4090")


def test_software_for_a_driver_and_a_chip():
    releases = found("software", "torch", "5090", "driver", "575.51").records
    assert {release.product for release in releases} == {"PyTorch"}
    assert {release.build for release in releases} == {"cu128", "cu129"}
    assert all(release.least_driver == "570.26" for release in releases)
    assert found("software", "torch", "2.9", "cu128").total == 1
    assert {release.product for release in found("software", "v100").records} == {"PyTorch", "CUDA"}
    with pytest.raises(AskError, match=r"MI300X.*CUDA"):
        found("software", "mi300x")
    with pytest.raises(AskError):
        found("software", "torch", "5090", "driver", "550.54")


def test_cpus_by_words_with_the_nearest():
    assert all("EPYC" in cpu.name for cpu in found("cpus", "epyc", "sp5").records)
    with pytest.raises(AskError, match="threadripper"):
        found("cpus", "threadriper")


@pytest.mark.parametrize(
    ("kind", "wish", "told"),
    [
        ("chipz", {}, "chips"),
        ("chips", {"where": ("nonsense>3",)}, "bw"),
        ("chips", {"where": ("memory>",)}, "memory>=24GB"),
        ("chips", {"where": ("memory>=lots",)}, "lots"),
        ("chips", {"sort": "colour"}, "name"),
    ],
)
def test_a_wrong_question_is_told_what_there_is(kind, wish, told):
    with pytest.raises(AskError) as caught:
        found(kind, **wish)
    assert told in str(caught.value.whole)


def test_fields_answer_to_keys_short_names_and_starts():
    fields = find_kind("chips").fields
    assert find_field("mem", fields).key == "mem_bytes"
    assert find_field("Memory", fields).key == "mem_bytes"
    assert find_field("band", fields).key == "mem_bytes_per_s"
    with pytest.raises(AskError, match="fp16"):
        find_field("fp", fields)


@given(st.text(max_size=40))
def test_any_condition_is_read_or_a_clear_error(text):
    fields = find_kind("chips").fields
    try:
        assert read_condition(text, fields).field in fields
    except RigError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right


@pytest.mark.parametrize(
    "arguments",
    [
        ["look-up"],
        ["look-up", "chips", "4090"],
        [
            "look-up",
            "chips",
            "--min-memory",
            "80GB",
            "--vendor",
            "nvidia",
            "--sort",
            "bandwidth",
            "--limit",
            "3",
        ],
        ["look-up", "prices", "4090", "--sources"],
        ["look-up", "clouds", "h100", "--since", "2026", "--sort", "per_chip", "--reverse"],
        ["look-up", "cpus", "epyc", "--lang", "zh"],
        ["look-up", "software", "4090", "--json"],
    ],
)
def test_the_command_line(arguments, capsys):
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert shown.out.strip()
    assert not shown.err
    if "--json" in arguments:
        assert json.loads(shown.out)


def test_the_command_line_refuses_with_a_sentence(capsys):
    assert main(["look-up", "chips", "rtx 4095"]) == 2
    assert "RTX 4090" in capsys.readouterr().err


def dates(*where):
    return [chip.launch for chip in found("chips", where=where).records]


def test_a_year_stands_for_all_its_months():
    of_2024 = dates("launch=2024")
    assert of_2024
    assert all(launch.startswith("2024") for launch in of_2024)
    since = dates("since>=2024")
    assert set(of_2024) <= set(since)
    assert len(since) == len(dates("launch>2024")) + len(of_2024) == len(dates("launch>=2024-01"))
    assert len(dates("launch<=2024")) == len(dates("launch<2024")) + len(of_2024)


@pytest.mark.parametrize("text", ["x", "2023-13", "23", "2023-1", "2023-02-30", "0000"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(AskError) as refused:
        found("chips", where=(f"since>={text}",))
    assert text in values(refused.value.sentence).values()


def test_versions_are_ordered_by_their_numbers():
    versions = {row.version for row in found("software", where=("version>=2.9", "product~torch")).records}
    assert {"2.9", "2.10"} <= versions
    assert "2.8" not in versions
    assert {row.version for row in found("software", where=("version=2.10", "product~torch")).records} == {
        "2.10"
    }


def test_a_word_that_no_record_has_is_met_with_what_there_is():
    (note,) = found("chips", where=("vendor=nvida",)).notes
    assert {"nvida", "NVIDIA"} <= set(values(note).values())
    (note,) = found("chips", where=("segment=laptop",)).notes
    assert "consumer" in str(note)
    assert found("chips", where=("memory>=900GB",)).notes == ()


def test_python_may_leave_out_the_day_and_the_tuple():
    assert look_up("chips", "4090").records == found("chips", "4090").records
    assert look_up("chips").total == len(look_up("chips", wish=LookUpWish(limit=0)).records)


def test_a_negative_limit_is_refused():
    with pytest.raises(AskError) as refused:
        found("chips", limit=-1)
    assert "-1" in str(refused.value)


@pytest.mark.parametrize("kind", [name for name in kind_names() if name != "model"])
@pytest.mark.parametrize("condition", ["=zz", "=5", "~5", ">=2023", "!=x"])
def test_any_field_takes_any_condition_or_says_why_not(kind, condition):
    fields, records = find_kind(kind).fields, found(kind).records[::5]
    for field in fields:
        try:
            read = read_condition(field.key + condition, fields)
        except AskError as error:
            assert condition.lstrip("~=>!") in str(error)  # noqa: PT017 - either is right
        else:
            assert {read.holds(record) for record in records} <= {True, False}


def test_a_list_meets_a_condition_with_any_of_its_values():
    both = found("chips", where=("mem_options_bytes=40GB",)).records
    assert all(40 * GIB in chip.mem_options_bytes for chip in both)
    assert len(found("chips", where=("mem_options_bytes>0",)).records) >= len(both)


def test_clouds_are_shown_with_the_names_of_chips_and_told_with_their_ids():
    listing = found("clouds", "h100", limit=3)
    assert "H100 NVL 94GB" in render(page(found("clouds", "h100")), Screen(width=160))
    yuan = render(page(found("clouds", "autodl", "h20", currency="CNY")), Screen(width=160))
    assert re.search(r"¥/hour +10\.50", yuan)  # as it is billed
    assert all(offer["chip"].islower() for offer in plain(listing, "en"))


@pytest.mark.parametrize(
    ("where", "has"),
    [
        ("fp8=yes", lambda chip: chip.fp8_acc32_flops_per_s is not None),
        ("fp8", lambda chip: chip.fp8_acc32_flops_per_s is not None),
        ("fp8!=yes", lambda chip: chip.fp8_acc32_flops_per_s is None),
        ("ecc=no", lambda chip: not chip.ecc),
        ("link=有", lambda chip: chip.link is not None),
    ],
)
def test_what_a_record_has_or_lacks_is_a_condition(where, has):
    every = found("chips").records
    assert found("chips", where=(where,)).records == tuple(filter(has, every)) != every


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("rtx 40", "RTX 40"),
        ("50 series", "RTX 50"),
        ("40系", "RTX 40"),
        ("gtx 10", "GTX 10"),
        ("rx 7000", "RX 7"),
    ],
)
def test_a_series_is_all_its_cards(text, named):
    listed = {chip.id for chip in look_up("chips", text).records}
    assert listed == {
        chip.id for chip in chips() if named in chip.name and chip.name.split(named)[1][:2].isdecimal()
    }


@pytest.mark.parametrize(
    ("typed", "kind"),
    [("3090 price", "prices"), ("3090 价格", "prices"), ("h100 云", "clouds"), ("电价 上海", "tariffs")],
)
def test_a_kind_said_among_the_words_is_looked_up(typed, kind, capsys):
    assert main(["look-up", *typed.split(), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    name, *_ = [word for word in typed.split() if not is_kind(word)]
    assert said == json.loads(dumps(plain(look_up(kind, name), "en"), "en"))


@pytest.mark.parametrize("text", ["ssd", "sds", "foobarbaz"])
def test_no_chip_answers_to_a_word_that_only_holds_its_letters(text):
    with pytest.raises(AskError):
        look_up("chips", text)
