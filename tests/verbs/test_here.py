"""A machine that was looked at and one that was named are the same record; plans take what is free."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rigright.base.errors import AskError, RigError
from rigright.base.units import GIB, MIB
from rigright.demand import PlanWish
from rigright.facts.chips import chips
from rigright.facts.nodes import find_node
from rigright.machine.device import Device, Slice
from rigright.machine.host import Memory, PciDevice
from rigright.machine.probe import probe
from rigright.machine.record import Machine
from rigright.machine.stored import plain
from rigright.verbs.compare import compare
from rigright.verbs.explain import explain
from rigright.verbs.fit import FitWish, fit
from rigright.verbs.plan import plan
from rigright.verbs.seen.here import is_place, looked_at, the_node
from rigright.verbs.seen.node import node_of
from scenes import remembered


def card(index=0, name="NVIDIA GeForce RTX 3090", total=24576, free=24258, **more):
    """A device as a driver tells it, sizes in MiB."""
    return Device(
        index=index,
        vendor="nvidia",
        name=name,
        mem_total_bytes=total * MIB,
        mem_free_bytes=None if free is None else free * MIB,
        **more,
    )


def box(*devices, **more):
    return Machine(devices=devices, **more)


@pytest.fixture
def saved(tmp_path):
    """A machine written down as `probe --save` does."""

    def save(machine, name="box.json"):
        file = tmp_path / name
        file.write_text(json.dumps(plain(machine)), encoding="utf-8")
        return str(file)

    return save


def discrete():
    """Chips that a driver names so that they can be told apart."""
    return [chip for chip in chips() if not chip.unified_memory and chip.devices == 1]


@pytest.mark.parametrize("chip", discrete(), ids=lambda chip: chip.id)
def test_a_card_that_was_seen_is_the_card_that_is_named(chip):
    """Every chip, as its own driver would show it idle, gives the node its name gives."""
    seen = Device(
        index=0,
        vendor=chip.vendor.lower(),
        name=chip.name,
        pci_id=chip.pci_ids[0] if chip.pci_ids else None,
        mem_total_bytes=chip.mem_usable_bytes,
        mem_free_bytes=chip.mem_usable_bytes,
    )
    (real,), (named,) = node_of(box(seen)).cards, find_node(f"1x {chip.id}").cards
    assert real.chip == named.chip
    assert real.total_bytes == pytest.approx(named.total_bytes)
    assert real.room_bytes == pytest.approx(min(named.room_bytes, chip.mem_usable_bytes))


def test_what_is_taken_is_not_planned_with():
    node = node_of(box(card(free=8000), card(1)))
    assert [one.room_bytes for one in node.cards] == [8000 * MIB, pytest.approx(24258 * MIB, rel=0.01)]
    assert "31.4 GiB" in str(node.notes[0])


def test_free_memory_follows_from_total_and_used_where_it_is_not_told():
    (one,) = node_of(box(replace(card(free=None), mem_used_bytes=20000 * MIB))).cards
    assert one.free_bytes == 4576 * MIB
    (one,) = node_of(box(card(free=None))).cards
    assert one.free_bytes is None


def test_a_card_that_does_not_answer_is_left_out_and_said():
    node = node_of(box(card(), card(1, state="lost")))
    assert len(node.cards) == 1
    (note,) = map(str, node.notes[1:])
    assert "GPU 1 " in note
    assert "`rigright doctor`" in note


def test_a_card_nobody_knows_is_left_out_and_said():
    node = node_of(box(card(), card(1, name="NVIDIA Zorg 9000")))
    assert len(node.cards) == 1
    assert any("NVIDIA Zorg 9000" in str(note) for note in node.notes)


def test_of_a_card_cut_into_instances_the_largest_is_taken():
    slices = (
        Slice(gpu_instance=1, profile="1g.10gb", mem_total_bytes=9.75 * GIB, mem_used_bytes=0.0),
        Slice(gpu_instance=2, profile="3g.40gb", mem_total_bytes=39.5 * GIB, mem_used_bytes=1.0 * GIB),
    )
    whole = card(name="NVIDIA H100 80GB HBM3", total=81559, free=81000)
    (one,) = node_of(box(replace(whole, mig=True, slices=slices))).cards
    full = node_of(box(whole)).cards[0].chip
    assert one.room_bytes == 38.5 * GIB
    assert one.chip.bf16_flops_per_s == pytest.approx(full.bf16_flops_per_s * 60 / 132)
    assert one.chip.mem_bytes_per_s == pytest.approx(full.mem_bytes_per_s / 2, rel=0.02)
    assert one.chip.link is None


@pytest.mark.parametrize(
    ("value", "indices"), [("1", 1), ("1,0", 2), ("GPU-bb", 1), ("7", 2), ("", 2), ("GPU-", 2)]
)
def test_only_what_the_environment_shows_is_planned_with(value, indices):
    devices = (card(uuid="GPU-aa11"), card(1, uuid="GPU-bb22"))
    node = node_of(box(*devices, environment=(("CUDA_VISIBLE_DEVICES", value),)))
    assert len(node.cards) == indices


def test_a_machine_of_one_memory_has_what_the_system_can_free():
    spark = Device(index=0, vendor="nvidia", name="NVIDIA GB10", unified_memory=True)
    memory = Memory(total_bytes=119.7 * GIB, available_bytes=90 * GIB)
    (one,) = node_of(box(spark, memory=memory)).cards
    assert one.chip.id == "dgx-spark-gb10"
    assert one.room_bytes == 90 * GIB


def test_a_mac_has_the_memory_it_was_bought_with():
    mac = Device(
        index=0, vendor="apple", name="Apple M3 Ultra", unified_memory=True,
        mem_total_bytes=256 * GIB, mem_free_bytes=200 * GIB,
    )  # fmt: skip
    (one,) = node_of(box(mac)).cards
    assert one.chip.mem_bytes == 256 * GIB
    assert one.room_bytes <= 200 * GIB


def test_a_list_of_the_bus_is_enough_to_plan_with():
    held = PciDevice(address="0000:06:00.0", id="10de:2236", pci_class="0x030200", name="GA102GL [A10]")
    disk = PciDevice(address="0000:07:00.0", id="144d:a80a", pci_class="0x010802")
    node = node_of(box(pci=(held, disk), origin="lspci.txt"))
    assert [one.chip.id for one in node.cards] == ["a10"]
    assert node.cards[0].free_bytes is None
    assert node.notes
    with pytest.raises(AskError, match="GPU"):
        node_of(box(pci=(held,)))  # here no driver answers for it: it cannot be used


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (box(), "GPU"),
        (box(origin="x.json"), r"x\.json .*GPU"),
        (box(card(state="hung")), "GPU"),
        (box(card(name="NVIDIA Zorg 9000")), "GPU NVIDIA Zorg 9000"),
        (box(card(name="GRID A100-10C")), "GPU GRID A100-10C"),
        (box(card(name="NVIDIA A40-12Q", pci_id="10de:2235")), "GPU NVIDIA A40-12Q"),
        (box(card(name="NVIDIA A100-1-5CME")), "GPU NVIDIA A100-1-5CME"),
    ],
)
def test_where_nothing_can_be_planned_with_it_is_said(machine, said):
    with pytest.raises(RigError, match=said):
        node_of(machine)


def test_played_machines_become_nodes(tmp_path):
    for name in ("healthy_2x4090", "mig", "lost_gpu"):
        (tmp_path / name).mkdir()
        machine = probe(remembered(name, tmp_path / name))
        there = [one for one in machine.devices if one.state == "ok"]
        for one, device in zip(node_of(machine).cards, there, strict=True):
            assert one.room_bytes <= device.mem_total_bytes, name


@pytest.mark.parametrize(
    ("on", "looks"),
    [
        *(("here", True), ("HERE", True), ("本机", True), ("box.json", True), ("smi.xml", True)),
        *(("8x h100", False), ("p4d.24xlarge", False), ("a100/h100", False), ("4090", False)),
    ],
)
def test_names_of_cards_are_no_places(on, looks):
    assert is_place(on) is looks


def test_a_folder_called_like_a_chip_is_still_the_chip(tmp_path, monkeypatch):
    (tmp_path / "4090").mkdir()
    monkeypatch.chdir(tmp_path)
    assert looked_at("4090") is None
    assert the_node("4090").cards[0].chip.id == "rtx-4090"


def test_fit_takes_less_where_less_is_free(saved):
    wish = FitWish(limit=3, family="qwen3", max_params=30e9)
    few, all_ = fit(saved(box(card(free=9000)), "few.json"), wish=wish), fit(saved(box(card())), wish=wish)
    assert few.found < all_.found
    assert max(row.used_bytes for row in few.models) <= 9000 * MIB
    assert all(float(row.spare_bytes) >= 0 for row in few.models)
    assert any("GiB" in str(note) for note in few.notes), "how much is free now"


def test_explain_says_that_a_model_does_not_fit_beside_what_runs(saved):
    taken, idle = saved(box(card(free=9000)), "a.json"), saved(box(card()), "b.json")
    model = "Qwen/Qwen3-32B"
    assert explain(model, taken).cards[0].spare_bytes < 0 < explain(model, idle).cards[0].spare_bytes


def test_a_plan_for_a_machine_leaves_out_the_card_that_is_taken(saved):
    there = saved(box(*(card(index) for index in range(3)), card(3, free=500)))
    planned = plan("meta-llama/Llama-3.1-8B", wish=PlanWish(on=there, work="chat"))
    assert planned.fits
    assert all(one.n_chips <= 3 for one in planned.plans)
    assert "GiB" in str(planned.notes[0]), "how much is free now"


def test_a_plan_for_a_machine_is_the_plan_for_its_name(saved):
    """Idle, and with all of its memory free, it is that machine and no other."""
    named = find_node("2x rtx 3090")
    total = round(named.cards[0].total_bytes / MIB)
    there = saved(box(*(card(index, total=total, free=total) for index in range(2))))
    wish = PlanWish(work="chat")
    seen = plan("meta-llama/Llama-3.1-8B", wish=replace(wish, on=there)).plans
    told = plan("meta-llama/Llama-3.1-8B", wish=replace(wish, on="2x rtx 3090")).plans
    assert [(one.layout, one.work, one.figures["tpot_s"].value) for one in seen] == [
        (one.layout, one.work, one.figures["tpot_s"].value) for one in told
    ]


def test_a_machine_may_be_compared_with_others(saved):
    there = saved(box(card(), card(1)))
    found = compare([there, "1x rtx 4090"], model="meta-llama/Llama-3.1-8B")
    assert any("GiB" in str(note) for note in found.notes), "how much is free now"
