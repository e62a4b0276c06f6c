"""MIG instances named as machines."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rigright.base.errors import AskError
from rigright.facts.chips import by_id
from rigright.facts.mig import MEMORY_SLICES, _profiles_of, instance_of
from rigright.facts.nodes import find_node

NAMED = {  # what people write -> chip, profile, how many
    "h100 mig 3g.40gb": ("h100-sxm5-80gb", "3g.40gb", 1),
    "a100 1g.10gb": ("a100-sxm4-80gb", "1g.10gb", 1),
    "2x a100 mig 3g.20gb": ("a100-sxm4-40gb", "3g.20gb", 2),
    "mig-3g.40gb of h100": ("h100-sxm5-80gb", "3g.40gb", 1),
    "NVIDIA A100-SXM4-80GB MIG 2g.20gb": ("a100-sxm4-80gb", "2g.20gb", 1),
    "nvidia_h100_80gb_hbm3_1g.20gb:3": ("h100-sxm5-80gb", "1g.20gb", 3),
    "H200 MIG 1g.18gb+me": ("h200-sxm-141gb", "1g.18gb", 1),
    "14x h100 1g.10gb": ("h100-sxm5-80gb", "1g.10gb", 14),
    "4 x rtx pro 6000 server 1g.24gb": ("rtx-pro-6000-blackwell-server", "1g.24gb", 4),
    "h100 mig1g.10gb": ("h100-sxm5-80gb", "1g.10gb", 1),
    "A30 MIG 2g.12GB": ("a30", "2g.12gb", 1),
}
PAIRS = [(chip, row) for chip in by_id().values() for row in _profiles_of(chip)]


@pytest.mark.parametrize("text", NAMED)
def test_an_instance_is_a_share_of_its_gpu(text):
    chip, profile, count = NAMED[text]
    node = find_node(text)
    assert {(card.chip.id, card.chip.name) for card in node.cards} == {
        (chip, f"{by_id()[chip].name} MIG {profile}")
    }
    assert (len(node.cards), node.n_nodes) == (count, 1)
    assert {card.chip.link for card in node.cards} == {None}


def test_instances_stand_beside_others():
    cards = find_node("h100 3g.40gb + 2x h100 mig 1g.10gb + l4").cards
    assert [round(card.total_bytes / 2**30) for card in cards][:3] == [40, 10, 10]
    assert [card.chip.is_instance for card in cards] == [True, True, True, False]


def test_as_many_instances_as_a_gpu_holds_are_no_more_than_it():
    for chip, row in PAIRS:
        part = instance_of(chip, row.profile)
        assert row.most * part.mem_usable_bytes <= chip.mem_usable_bytes * 1.001, (chip.id, row.profile)
        assert row.most * part.mem_bytes_per_s <= chip.mem_bytes_per_s
        assert row.most * part.bf16_flops_per_s <= chip.bf16_flops_per_s * (1 + 1e-9)
        assert part.mem_program_bytes <= part.mem_usable_bytes
        assert row.memory_eighths <= MEMORY_SLICES
        assert int(row.profile[0]) == row.slices <= row.slices_of


def test_a_larger_profile_is_no_slower_and_holds_no_less():
    for (chip, smaller), (same, larger) in pairwise(PAIRS):
        if chip is not same:
            continue
        first, second = instance_of(chip, smaller.profile), instance_of(chip, larger.profile)
        for field in ("mem_usable_bytes", "mem_bytes_per_s", "bf16_flops_per_s"):
            assert getattr(first, field) <= getattr(second, field), (chip.id, smaller.profile, field)


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("h100 mig 3g.41gb", "no MIG profile 3g.41gb", "3g.40gb"),
        ("a100 sxm4 80gb mig 3g.20gb", "no MIG profile 3g.20gb", "3g.40gb"),
        ("2x h200 mig", "which MIG profile", "3g.71gb"),
        ("rtx 4090 mig 1g.5gb", "does not support MIG", ""),
    ],
)
def test_a_profile_that_a_gpu_does_not_have_is_refused_with_those_it_has(text, says, hint):
    with pytest.raises(AskError, match=says) as refused:
        find_node(text)
    assert hint in str(refused.value.hint or "")


def test_other_gpus_that_have_the_profile_are_said():
    note, *_ = find_node("a100 3g.20gb").notes
    assert "A100 PCIe 40GB" in str(note)
    assert "80GB" not in str(note)
