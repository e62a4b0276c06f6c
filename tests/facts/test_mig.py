"""MIG instances named as machines."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from rigright.base.errors import AskError
from rigright.demand import PlanWish, ServingWish
from rigright.facts.chips import by_id
from rigright.facts.mig import MEMORY_SLICES, _profiles_of, instance_of
from rigright.facts.nodes import find_node
from rigright.verbs.compare import compare
from rigright.verbs.cost import cost
from rigright.verbs.explain import explain
from rigright.verbs.plan import plan

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


SLICES = {  # what people call a part of a GPU -> chip, its share of the memory, how many
    "1/7 h100": ("h100-sxm5-80gb", 1 / 8, 1),
    "2x 1/7 h100": ("h100-sxm5-80gb", 1 / 8, 2),
    "七分之一张 h100": ("h100-sxm5-80gb", 1 / 8, 1),
    "half an a100 80gb": ("a100-sxm4-80gb", 1 / 2, 1),
    "半张 A100": ("a100-sxm4-80gb", 1 / 2, 1),
    "A16-8Q": ("a16", 1 / 2, 1),
    "grid a40-24q": ("a40", 1 / 2, 1),
    "A100-20C": ("a100-sxm4-40gb", 1 / 2, 1),
    "A100D-3-40C": ("a100-sxm4-80gb", 1 / 2, 1),
    "L40S-12Q": ("l40s", 1 / 4, 1),
    "MI300X CPX": ("mi300x", 1 / 8, 1),
}


@pytest.mark.parametrize("text", SLICES)
def test_a_part_of_a_gpu_is_a_chip_with_its_share(text):
    chip, share, count = SLICES[text]
    node = find_node(text)
    whole = by_id()[chip]
    assert (node.cards[0].chip.id, len(node.cards)) == (chip, count)
    assert node.cards[0].chip.mem_bytes_per_s == pytest.approx(share * whole.mem_bytes_per_s)
    assert node.cards[0].total_bytes <= share * whole.mem_bytes * 1.001
    assert node.has_instances
    assert node.notes


@pytest.mark.parametrize("text", ["3g.20gb", "1/2 rtx 4090", "L40S-96Q", "a100 cpx"])
def test_a_part_that_no_gpu_has_is_refused_with_what_there_is(text):
    with pytest.raises(AskError):
        find_node(text)


@pytest.mark.parametrize(
    "text", ["rtx 3090 @ 250w", "RTX 3090 (250 W)", "rtx 3090 limited to 250 watts", "rtx 3090 限功耗 250W"]
)
def test_a_power_limit_slows_prompts_and_leaves_the_memory(text):
    card, plain = find_node(text).cards[0], find_node("rtx 3090").cards[0]
    assert card.chip.tdp_w == 250
    assert card.chip.mem_bytes_per_s == plain.chip.mem_bytes_per_s
    assert find_node(f"1x {card.chip.name}").cards[0].chip == card.chip


@pytest.mark.parametrize("text", ["rtx 3090 @ 60w", "rtx 3090 @ 250w + rtx 4090 @ 300w"])
def test_a_power_limit_that_nobody_measured_is_refused(text):
    with pytest.raises(AskError):
        find_node(text)


def test_a_power_limit_holds_in_every_verb():
    """The watts of a named machine: prompts are read slower, tokens written as fast, no verb draws more."""
    wish = PlanWish(work="chat", power_w=250.0)
    eight = ServingWish(weights="Q8_0")
    told = [
        explain("qwen3-8b", on="rtx 3090", wish=eight, work=replace(wish, power_w=watts))
        for watts in (250.0, None)
    ]
    capped, plain = (one.speed for one in told)
    assert capped.ttft_s.value > plain.ttft_s.value
    assert capped.tpot_s.value == pytest.approx(plain.tpot_s.value, rel=0.02)
    names = {
        plan("qwen3-8b", wish=replace(wish, on="rtx 3090")).first.chip.name,
        compare(["rtx 3090", "rtx 3060 12gb"], model="qwen3-8b", wish=wish).contenders[0].plan.chip.name,
        find_node("rtx 3090 @ 250w").cards[0].chip.name,
    }
    assert len(names) == 1
    draws = [cost("rtx 3090", wish=one).power_w.value for one in (PlanWish(power_w=250.0), PlanWish())]
    assert draws[0] < draws[1]
