"""Hosts in words: what people write is understood, and what is understood can be written again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import few
from rigright.base.errors import RigError
from rigright.base.tables import DATA, raw_rows
from rigright.base.units import GIB, GIGA
from rigright.facts.host_words import find_host, take_host
from rigright.facts.nodes import find_node

SAID = [  # text, cards left, processor, GiB, channels, GB/s
    ("rtx 4090 + 64gb ddr5-6000 + 7950x", "rtx 4090", "AMD Ryzen 9 7950X", 64, 2, 96),
    ("2x 3090 nvlink, epyc 7443, 256gb 8ch ddr4-3200", "2x 3090 nvlink", "AMD EPYC 7443", 256, 8, 204.8),
    ("ryzen 7950x, 64gb", "", "AMD Ryzen 9 7950X", 64, 2, 83.2),
    ("2x rtx 4090 64gb ram", "2x rtx 4090", "Ryzen 7700", 64, 2, 83.2),
    ("one 4090 and 512 GB RAM", "one 4090", "EPYC 9004", 512, 12, 460.8),
    ("dual epyc 7763 512gb", "", "AMD EPYC 7763", 512, 16, 409.6),
    ("n100 16gb", "", "Intel N100", 16, 1, 38.4),
    ("RTX 4090，内存 128G，处理器 7950x", "RTX 4090", "AMD Ryzen 9 7950X", 128, 2, 83.2),
    ("gpu: rtx 5090, cpu: 9800x3d, ram: 96gb", "rtx 5090", "AMD Ryzen 7 9800X3D", 96, 2, 89.6),
    ("e5-2697a v4 x2 256gb", "", "Intel Xeon E5-2697A v4", 256, 8, 153.6),
    ("rtx 3090 with i7-14700 and 128 GB DDR5 5600", "rtx 3090", "Intel Core i7-14700", 128, 2, 89.6),
    (
        "rtx 4090 + ryzen 9 9950x3d, 2x48gb ddr5-6400, 2tb nvme",
        "rtx 4090",
        "AMD Ryzen 9 9950X3D",
        96,
        2,
        102.4,
    ),
    ("rtx 5060 ti 16gb, 64gb ddr4", "rtx 5060 ti 16gb", "Ryzen 5000", 64, 2, 51.2),
    ("cpu only, 64gb ddr5", "", "Ryzen 7700", 64, 2, 83.2),
    ("xeon 6980p 768gb", "", "Intel Xeon 6980P", 768, 12, 614.4),
]
CARDS_ONLY = [
    "8x h100",
    "m2 max 64gb",
    "a100 80gb",
    "rtx 4090, 24564 MiB, 20 GiB free",
    "4x 4090 on 10gbe",
    "mac studio m3 ultra 512gb",
    "ryzen ai max+ 395 128gb",
    "rx 7900 xtx",
    "2x rtx 3090, x8 slots",
]


@pytest.mark.parametrize(("words", "cards", "cpu", "gib", "channels", "rate"), SAID, ids=str)
def test_a_host_in_words(words, cards, cpu, gib, channels, rate):
    taken = take_host(words)
    assert taken.plain == cards
    assert taken.only == (not cards)
    assert taken.host is not None
    assert taken.host.cpu.name == cpu
    assert taken.host.ram_bytes == gib * GIB
    assert taken.host.channels == channels
    assert taken.host.mem_bytes_per_s == pytest.approx(rate * GIGA)


@pytest.mark.parametrize("words", CARDS_ONLY)
def test_words_for_cards_alone_are_left_as_they_are(words):
    taken = take_host(words)
    assert taken.host is None
    assert taken.plain == words


@pytest.mark.parametrize("words", [row[0] for row in SAID])
def test_what_is_understood_means_the_same_again(words):
    host = find_host(words)
    again = find_host(host.said)
    assert (again.ram_bytes, again.channels, again.transfers_per_s) == (
        host.ram_bytes,
        host.channels,
        host.transfers_per_s,
    )
    assert again.cpu.name == host.cpu.name


def test_a_processor_is_known_by_its_family_where_no_row_names_it():
    host = find_host("epyc 9534p + 384gb")
    assert host.channels == 12
    assert host.ram_kind == "DDR5"
    assert find_host("xeon gold 6330n + 512gb").channels == 8
    assert find_host("i5-8400 16gb").ram_kind == "DDR4"


def test_more_channels_are_more_bandwidth():
    rates = [find_host(f"epyc 9355 + 384gb {count}ch").mem_bytes_per_s for count in (4, 8, 12)]
    assert rates == sorted(rates)
    assert rates[-1] == 3 * rates[0]


def test_a_machine_without_cards_is_its_processor():
    node = find_node("ryzen 7950x, 64gb")
    assert node.has_no_cards
    assert node.cards[0].chip.mem_bytes == 64 * GIB
    assert not find_node("rtx 4090 + 64gb").has_no_cards


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(words):
    try:
        take_host(words)
        find_node(words)
    except RigError:
        pass


@given(
    st.lists(
        st.sampled_from(
            [
                "rtx 4090",
                "64gb",
                "ddr5",
                "8ch",
                "x2",
                "epyc 7443",
                "+",
                ",",
                "2x",
                "1tb nvme",
                "ram",
                "cpu only",
                "i9-14900k",
                "0gb",
                "-5gb",
                "x",
            ]
        ),
        max_size=8,
    )
)
def test_words_in_any_order_are_read_or_refused(words):
    try:
        found = take_host(" ".join(words))
    except RigError:
        return
    if found.host is not None:
        assert found.host.mem_bytes_per_s > 0


FED = [
    ("2x rtx 3090 + ryzen 9 7950x + 64gb", 8),
    ("4x rtx 3090 + i9-14900k", 4),
    ("rtx 3090 + ryzen 9 7950x", 16),
    ("4x rtx 3090 + epyc 7443 + 256gb", 16),
    ("4x rtx 3090 + threadripper 7960x", 16),
    ("2x rtx 3090 + 64gb", 16),
    ("2x rtx 3090, x4 slots, epyc 7443", 4),
]


@pytest.mark.parametrize(("words", "lanes"), FED)
def test_a_processor_feeds_so_many_slots(words, lanes):
    assert {card.chip.pcie_lanes for card in find_node(words).cards} == {lanes}


FAMILIES = [row for _, row in raw_rows(DATA / "cpu_families.csv")]
NAMES = [st.from_regex(re.compile(row["pattern"], re.IGNORECASE), fullmatch=True) for row in FAMILIES]


@few
@given(st.tuples(*NAMES))
def test_every_name_of_a_family_has_one_of_its_words(names):
    """Only texts with such a word are looked at."""
    for row, name in zip(FAMILIES, names, strict=True):
        assert any(word in name.casefold() for word in row["words"].split()), (row["pattern"], name)
