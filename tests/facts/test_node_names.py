"""Machines from loose text: counts, mixed cards, nodes, free memory, cloud instances."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rigright.base.errors import AskError, RigError
from rigright.base.units import GIB, GIGA, MIB
from rigright.facts.chips import by_id
from rigright.facts.nodes import MOST_CARDS, device_of, find_node

EIGHT = ["h100-sxm5-80gb"] * 8
SHAPES = {  # text -> cards of one box, boxes
    "4090": (["rtx-4090"], 1),
    "2x RTX 4090": (["rtx-4090"] * 2, 1),
    "2x4090": (["rtx-4090"] * 2, 1),
    "8xH100": (EIGHT, 1),
    "8x h100": (EIGHT, 1),
    "h100 x8": (EIGHT, 1),
    "h100x8": (EIGHT, 1),
    "H100:8": (EIGHT, 1),
    "8 h100": (EIGHT, 1),
    "4*a100 80g": (["a100-sxm4-80gb"] * 4, 1),
    "2x RTX 4090 + 1x 3090": (["rtx-4090", "rtx-4090", "rtx-3090"], 1),
    "4090 and 3090": (["rtx-4090", "rtx-3090"], 1),
    "dual 3090": (["rtx-3090"] * 2, 1),
    "two 4090s": (["rtx-4090"] * 2, 1),
    "2 nodes of 8x h100": (EIGHT, 2),
    "2x8 h100": (EIGHT, 2),
    "8x h100 x 2 nodes": (EIGHT, 2),
    "DGX H100": (EIGHT, 1),
    "2x DGX H100": (EIGHT, 2),
    "HGX B200": (["b200-sxm"] * 8, 1),
    "GB200 NVL72": (["gb200"] * 72, 1),
    "DGX Spark": (["dgx-spark-gb10"], 1),
    "2x dgx spark": (["dgx-spark-gb10"], 2),
    "2x gaudi 2": (["gaudi2"] * 2, 1),
    "两张4090": (["rtx-4090"] * 2, 1),
    "8卡H100": (EIGHT, 1),
    "双路 3090": (["rtx-3090"] * 2, 1),
    "2台8卡H100": (EIGHT, 2),
    "4090 双卡": (["rtx-4090"] * 2, 1),
    "1张4090和2张3090": (["rtx-4090", "rtx-3090", "rtx-3090"], 1),
    "8x A100 SXM 40GB (ND A100 v4)": (["a100-sxm4-40gb"] * 8, 1),
    "p5.48xlarge": (EIGHT, 1),
    "Standard_ND96isr_H100_v5": (EIGHT, 1),
    "a2-highgpu-1g": (["a100-sxm4-40gb"], 1),
}


@pytest.mark.parametrize(("text", "shape"), SHAPES.items())
def test_a_machine_is_read(text, shape):
    node = find_node(text)
    assert ([card.chip.id for card in node.cards], node.n_nodes) == shape
    assert [card.index for card in node.cards] == list(range(len(node.cards)))
    assert node.n_cards == len(shape[0]) * shape[1]


@pytest.mark.parametrize(
    ("text", "free_bytes"),
    [
        ("rtx 4090 (free 20GiB)", 20 * GIB),
        ("rtx 4090 free 20GB", 20 * GIGA),
        ("4090 20GiB free", 20 * GIB),
        ("RTX 4090, 24564 MiB, free 20000 MiB", 20000 * MIB),
        ("4090 空闲 20GiB", 20 * GIB),
        ("4090", None),
    ],
)
def test_free_memory_is_read(text, free_bytes):
    (card,) = find_node(text).cards
    assert card.chip.id == "rtx-4090"
    assert card.free_bytes == free_bytes
    assert card.total_bytes == 24564 * MIB


def test_mixed_cards_know_it():
    assert find_node("4090 + 3090").is_mixed
    assert not find_node("2x 4090").is_mixed
    assert find_node("2x 4090 + 3090").shown == "2x GeForce RTX 4090 + 1x GeForce RTX 3090"
    assert find_node("2x8 h100").shown == "2 x (8x H100 SXM5 80GB)"


def test_what_was_assumed_is_noted_once():
    node = find_node("4x h100 + 4x h100")
    assert len(node.notes) == 1
    assert "H100 PCIe" in str(node.notes[0])
    assert find_node("8x h100 sxm").notes == ()


def test_a_chip_of_two_dies_is_two_devices():
    node = find_node("4x MI250X")
    assert len(node.cards) == 8
    whole, half = by_id()["mi250x"], device_of(by_id()["mi250x"])
    assert half.mem_bytes * 2 == whole.mem_bytes
    assert half.fp16_flops_per_s * 2 == whole.fp16_flops_per_s
    assert half.mem_bytes_per_s * 2 == whole.mem_bytes_per_s
    assert node.cards[0].total_bytes * 2 == whole.mem_usable_bytes
    assert device_of(by_id()["rtx-4090"]) is by_id()["rtx-4090"]


@pytest.mark.parametrize(
    "text", ["", "8x", "+", "0x 4090", "5000x 4090", "2x 4090 + 3x nonsense", "free 20GiB"]
)
def test_what_is_no_machine_is_a_clear_error(text):
    with pytest.raises(AskError):
        find_node(text)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 512), st.sampled_from(["x", " x ", "*", "×", " "]))
def test_any_count_is_read(count, sign):
    node = find_node(f"{count}{sign}a100 80gb sxm")
    assert len(node.cards) == count <= MOST_CARDS


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=120))
@example("2x" * 50)
@example("+" * 100)
@example("4096x4096 h100")
def test_any_text_is_a_machine_or_a_clear_error(text):
    try:
        assert find_node(text).cards
    except RigError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0x h100", "0"),
        ("-1x h100", "-1"),
        ("4090 + -2x 3090", "-2"),
        ("1.5x h100", "1.5"),
        ("1,5x h100", "1,5"),
        ("1e3x h100", "1e3"),
        ("1000000x h100", "1000000"),
        ("99999999999999999999x h100", "99999999999999999999"),
        ("5000x h100", "5000"),
    ],
)
def test_a_number_of_cards_that_cannot_be_is_told(text, count):
    with pytest.raises(AskError, match=f": {count} is no number of cards"):
        find_node(text)


@pytest.mark.parametrize(
    ("text", "count"), [("7900 xtx", 1), ("7900xtx x2", 2), ("3090x4", 4), ("4x4090", 4), ("2x 7900 xtx", 2)]
)
def test_a_chip_with_an_x_is_no_count(text, count):
    assert len(find_node(text).cards) == count
