"""Machines from loose text: counts, mixed cards, nodes, free memory, cloud instances."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigright.base.errors import AskError, RigError
from rigright.base.tables import DATA, read_rows
from rigright.base.units import GIB, GIGA, MIB
from rigright.facts.chips import by_id
from rigright.facts.fabrics import fabric_of
from rigright.facts.nodes import MOST_CARDS, device_of, find_node, rented_from
from rigright.terms.fitted import wire_of
from spoken import values

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
    "text", ["", "8x", "+", "0x 4090", "5001x 4090", "2x 4090 + 3x nonsense", "free 20GiB"]
)
def test_what_is_no_machine_is_a_clear_error(text):
    with pytest.raises(AskError):
        find_node(text)


@given(st.integers(1, 512), st.sampled_from(["x", " x ", "*", "×", " "]))
def test_any_count_is_read(count, sign):
    node = find_node(f"{count}{sign}a100 80gb sxm")
    assert node.n_cards == count <= MOST_CARDS


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
        ("5001x h100", "5001"),
    ],
)
def test_a_number_of_cards_that_cannot_be_is_told(text, count):
    with pytest.raises(AskError) as refused:
        find_node(text)
    assert values(refused.value.sentence)["count"] == count


@pytest.mark.parametrize(
    ("text", "count"), [("7900 xtx", 1), ("7900xtx x2", 2), ("3090x4", 4), ("4x4090", 4), ("2x 7900 xtx", 2)]
)
def test_a_chip_with_an_x_is_no_count(text, count):
    assert len(find_node(text).cards) == count


CABLED = {  # text -> the fabric's kind, the slot's GB/s, the network, how it is shown
    "2x 3090 nvlink": ("bridge", 31.5, "eth-10", "2x GeForce RTX 3090, NVLink"),
    "2x3090 with an NVLink bridge": ("bridge", 31.5, "eth-10", "2x GeForce RTX 3090, NVLink"),
    "两张3090 NVLink桥": ("bridge", 31.5, "eth-10", "2x GeForce RTX 3090, NVLink"),
    "2x 3090 without nvlink": ("host", 31.5, "eth-10", "2x GeForce RTX 3090, no NVLink"),
    "2x 3090": ("host", 31.5, "eth-10", "2x GeForce RTX 3090"),
    "4x a6000 nvlink": ("bridge", 31.5, "ib-hdr", "4x RTX A6000, NVLink"),
    "2x 4090 nvlink": ("host", 31.5, "eth-10", "2x GeForce RTX 4090"),
    "8xH100 SXM NVLink": ("switch", 63, "ib-ndr", "8x H100 SXM5 80GB"),
    "4x 4090 x8": ("host", 15.8, "eth-10", "4x GeForce RTX 4090, PCIe 4.0 x8"),
    "2x 5090 x8 slots": ("host", 31.5, "eth-10", "2x GeForce RTX 5090, PCIe 5.0 x8"),
    "2x 4090 pcie gen3 x16": ("host", 15.8, "eth-10", "2x GeForce RTX 4090, PCIe 3.0 x16"),
    "2 nodes of 4x 4090 10gbe": ("host", 31.5, "eth-10", "2 x (4x GeForce RTX 4090), Ethernet 10G"),
    "2x8 h100 sxm 100GbE": ("switch", 63, "eth-100", "2 x (8x H100 SXM5 80GB), Ethernet 100G"),
    "2台8卡H100 SXM 400G IB": ("switch", 63, "ib-ndr", "2 x (8x H100 SXM5 80GB), InfiniBand NDR 400G"),
    "2x8 h100 sxm hdr": ("switch", 63, "ib-hdr", "2 x (8x H100 SXM5 80GB), InfiniBand HDR 200G"),
    "4x 4090 25g ethernet": ("host", 31.5, "eth-25", "4x GeForce RTX 4090, Ethernet 25G"),
}


@pytest.mark.parametrize(("text", "told"), CABLED.items())
def test_cables_that_somebody_states_are_counted_and_shown(text, told):
    node = find_node(text)
    fabric = fabric_of(node.cards[0].chip)
    assert (fabric.kind, fabric.network.id, node.shown) == (told[0], told[2], told[3])
    assert fabric.box_bytes_per_s / GIGA == pytest.approx(told[1], rel=0.01)


def test_a_bridge_moves_sums_faster_and_a_port_is_shared_by_the_box():
    bridged, plain = (wire_of([find_node(text).cards[0].chip]) for text in ("2x 3090 nvlink", "2x 3090"))
    assert bridged.bytes_per_s > 2 * plain.bytes_per_s
    one, four = (fabric_of(find_node(f"{n}x 4090 10gbe").cards[0].chip).network_bytes_per_s for n in (1, 4))
    assert one == 4 * four == 10 * GIGA / 8


def test_cards_without_nvlink_say_so_and_an_unusual_rate_is_counted_as_the_next_slower():
    assert "has no NVLink" in str(find_node("2x 4090 nvlink").notes[0])
    assert "Ethernet 25G" in str(find_node("8x 4090 40gbe").notes[0])


@pytest.mark.parametrize(
    ("text", "chip"),
    [
        ("24gb", "rtx-4090"),
        ("2x 24gb", "rtx-4090"),
        ("a 24 GB card", "rtx-4090"),
        ("24GB 显卡", "rtx-4090"),
        ("12g显存", "rtx-3060-12gb"),
        ("48gb gpu", "rtx-6000-ada"),
        ("8x 80gb", "h100-sxm5-80gb"),
    ],
)
def test_a_size_alone_is_the_most_common_card_of_that_memory(text, chip):
    node = find_node(text)
    assert {card.chip.id for card in node.cards} == {chip}
    assert node.cards[0].chip.name in values(node.notes[0]).values()


def test_the_cards_that_sizes_mean_have_that_memory():
    for row in read_rows(DATA / "cards_by_memory.csv", {"size": str, "chips": str}):
        for name in row["chips"].split():
            assert by_id()[name].mem_bytes == pytest.approx(int(row["size"][:-2]) * GIB, rel=0.07), name


@pytest.mark.parametrize(
    "text",
    [
        "2048x 8x h100", "2,048 x (8x h100)", "2048x8 h100", "16384x h100", "16,384 h100",
        "2048 x (8x H100 SXM5 80GB)", "2048 nodes of 8x h100",
    ],
)  # fmt: skip
def test_a_cluster_is_boxes_of_eight(text):
    node = find_node(text)
    assert (node.n_nodes, len(node.cards)) == (2048, 8)
    assert find_node(node.shown).n_cards == 16384, "what is shown can be typed"


@pytest.mark.parametrize(("text", "cards"), [("2x 2080 ti", 2), ("2x 7900 xtx", 2), ("3x 3090 + 2x 4090", 5)])
def test_a_number_in_a_name_makes_no_boxes(text, cards):
    node = find_node(text)
    assert (node.n_nodes, len(node.cards)) == (1, cards)


@pytest.mark.parametrize(
    "text", ["2x rtx 3090", "4090 + 64gb", "aws:p5.48xlarge", "rtx 4090 + rtx 3090", "mac mini"]
)
def test_free_memory_behind_a_machine_is_that_of_each_of_its_cards(text):
    whole, free = find_node(text), find_node(f"{text}, 9gb free")
    assert [card.chip for card in free.cards] == [card.chip for card in whole.cards]
    assert {card.free_bytes for card in free.cards} == {9e9}
    assert free.host == whole.host


def test_more_than_a_card_has_is_never_free():
    with pytest.raises(AskError, match="40") as refused:
        find_node("4090, 43gb free")
    assert refused.value.hint is not None


@pytest.mark.parametrize(
    ("name", "count", "chip", "cloud"),
    [
        ("gcp a3", 8, "h100-sxm5-80gb", "gcp"),
        ("gcp a2", 8, "a100-sxm4-40gb", "gcp"),
        ("gcp g2", 1, "l4", "gcp"),
        ("A4", 8, "b200-sxm", "gcp"),
        ("p6", 8, "b200-sxm", "aws"),
        ("aws:p5", 8, "h100-sxm5-80gb", "aws"),
        ("azure:NDv4", 8, "a100-sxm4-40gb", "azure"),
        ("NDv5", 8, "h100-sxm5-80gb", "azure"),
        ("aws p5.48xlarge", 8, "h100-sxm5-80gb", "aws"),
        ("lambda:gpu_1x_a10", 1, "a10", None),
        ("gpu-h200-sxm_8gpu-128vcpu-1600gb", 8, "h200-sxm-141gb", "nebius"),
        ("1RTXPRO6000.30V", 1, "rtx-pro-6000-blackwell-server", "verda"),
        ("L40S-2-48G", 2, "l40s", None),  # no price known
        ("8x h100", 8, "h100-sxm5-80gb", None),
    ],
)
def test_a_family_or_an_instance_is_the_machine_it_rents(name, count, chip, cloud):
    node = find_node(name)
    assert [card.chip.id for card in node.cards] == [chip] * count
    assert rented_from(name) == (() if cloud is None else (cloud,))
