"""The five stages on a machine: baseline, bottleneck, fit, cost, roll-out."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError
from rigright.doctor.binding.causes import causes
from rigright.doctor.examine import case_of
from rigright.machine.device import Device, PcieLink, Power
from rigright.machine.host import Cpu, Disk, Memory, MemoryModule, Port, Slot
from rigright.machine.record import Machine
from rigright.machine.stored import plain
from rigright.machine.system import System
from rigright.report.formats.text import render
from rigright.report.pages import upgrade as pages
from rigright.report.screen import Screen
from rigright.verbs.upgrade import read_shares, standing_of, upgrade, upgraded, waves
from spoken import pairs

BOX = Machine(
    devices=tuple(
        Device(
            index=index,
            vendor="nvidia",
            name="NVIDIA GeForce RTX 3090",
            pci_id="10de:2204",
            mem_total_bytes=24 * 2**30,
            mem_used_bytes=8 * 2**30,
            pcie=PcieLink(gen=1, gen_max=4, lanes=16, lanes_max=16),
            power=Power(limit_w=280.0, limit_default_w=350.0),
        )
        for index in range(2)
    ),
    cpu=Cpu(name="AMD Ryzen 7 5700X 8-Core Processor", sockets=1, cores=8),
    memory=Memory(
        total_bytes=64e9,
        modules=(
            MemoryModule(slot="A1", size_bytes=32 * 2**30, kind="DDR4", ecc=False),
            MemoryModule(slot="A2"),
        ),
    ),
    slots=(Slot(name="PCIEX16_3", lanes=8, in_use=False), Slot(name="PCIEX16_1", lanes=16, in_use=True)),
    disks=(Disk(name="sda", kind="ssd"),),
    ports=(Port(name="eth0", kind="ethernet", state="up", bytes_per_s=0.125e9),),
)


def test_a_probed_machine_is_what_stands_there():
    standing = standing_of(case_of(BOX), date(2026, 11, 22))
    assert [chip.id for chip in standing.chips] == ["rtx-3090"] * 2
    assert standing.cpu.id == "amd-ryzen-7-5700x"
    assert standing.free_slots == (8,)
    assert standing.limit_share == pytest.approx(0.8)
    assert standing.slot_gen == 4
    assert (standing.mem_kind, standing.mem_places_free) == ("DDR4", 1)


def test_of_an_unknown_machine_nothing_is_taken_for_granted():
    standing = standing_of(case_of(Machine()), date(2026, 11, 22))
    assert standing.chips == ()
    assert standing.free_slots is standing.cpu is standing.mem_bytes is standing.disk_kinds is None


@pytest.fixture
def box(tmp_path):
    (tmp_path / "box.json").write_text(json.dumps(plain(BOX)), encoding="utf-8")
    return str(tmp_path / "box.json")


def test_a_machine_in_a_file_with_its_bottleneck_told(box, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_TODAY", "2026-11-22")
    result = upgrade(box, bound="power=50%,compute=40%", machines=200)
    first = result.changes[0].change
    assert (first.kind, first.usd) == ("power", None)
    told = pages.plain(result, "zh")
    assert told["machines"] == 200
    assert told["waves"][0] == {"first": 1, "last": 1}
    assert told["waves"][-1]["last"] == 200


def test_a_budget_holds_for_all_machines_together(box):
    free = upgrade(box, bound="disk", machines=10, budget_usd=1000)
    assert all(one.change.usd is None or one.change.usd.value * 10 <= 1000 for one in free.changes)
    assert free.over_budget > 0


@pytest.mark.parametrize(
    "text", ["", "disc=50%", "disk=", "disk=50%;compute=50%", "disk=70%,compute=40%", "disk=-5%", "=5%"]
)
def test_shares_nobody_can_mean_are_refused(text):
    with pytest.raises(AskError):
        read_shares(text)


def test_shares_are_read():
    assert read_shares("disk=60%, GPU memory=40") == {"disk": 0.6, "gpu_memory": 0.4}
    assert read_shares("network") == {"network": 1.0}


@pytest.mark.parametrize("count", [0, -3, 10**6])
def test_a_number_of_machines_that_nobody_has_is_refused(box, count):
    with pytest.raises(AskError):
        upgrade(box, bound="disk", machines=count)


def test_a_file_of_a_machine_at_rest_says_what_would_help_whatever_binds(box, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_TODAY", "2026-11-22")
    result = upgrade(box)
    told = pages.plain(result, "en")
    assert (told["shares"], told["changes"]) == ({}, [])
    names = {str(cause.title): cause.name for cause in causes()}
    each = {names[cause]: one for one in told["by_cause"] for cause in one["causes"]}
    assert {"compute", "gpu_memory", "power"} <= set(each)
    assert [each[name]["kind"] for name in ("compute", "power")] == ["cards", "power"]
    assert all(one["gain"] > 1 for one in each.values())
    page = pages.page(result)
    assert page.tone != "good"
    shown = render(page, Screen(width=100))
    assert all(str(cause.title) in shown for cause in causes() if cause.name in {"compute", "power"})


@given(st.integers(1, 100_000))
def test_waves_cover_every_machine_once_and_start_with_one(count):
    found = waves(count)
    assert found[0].count == 1
    assert [wave.first for wave in found[1:]] == [wave.last + 1 for wave in found[:-1]]
    assert found[-1].last == count


def test_a_card_that_drops_in_goes_before_a_new_kind_and_says_what_it_needs(monkeypatch):
    """T4 to L4: form, watts, plugs and slot are those that are there; and the price bears its date."""
    monkeypatch.setenv("RIGRIGHT_TODAY", "2026-11-22")
    t4 = Device(index=0, vendor="nvidia", name="Tesla T4", pci_id="10de:1eb8", mem_total_bytes=15 * 2**30)
    result = upgraded(case_of(Machine(devices=(t4,))), shares={"compute": 0.9})
    first = result.changes[0].change
    assert first.drops_in
    assert "L4" in str(first.title)
    said = [str(fit.says) for fit in first.fits]
    assert "PCIe low-profile" in said[0]
    assert said[1].split()[1] == "W"
    assert len(said) > 2, "plugs and slot too"
    assert {fit.holds for fit in first.fits} == {True}
    line = str(pages.page(result).title)
    assert re.search(r"2026-\d\d", line), "the price bears its date"
    bigger = upgraded(case_of(BOX), shares={"compute": 0.9}).changes
    assert not [one for one in bigger[1:] if one.change.drops_in and not bigger[0].change.drops_in]


def test_a_recording_says_when_it_is_old(tmp_path, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_TODAY", "2026-11-22")
    for days, old in ((90, True), (1, False)):
        at_s = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp() - days * 86400
        file = tmp_path / f"{days}.json"
        file.write_text(json.dumps(plain(replace(BOX, system=System(now_s=at_s)))), encoding="utf-8")
        result = upgrade(str(file), bound="compute=90%")
        assert result.recorded_days_ago == days
        said = " ".join(str(getattr(part, "text", "")) for part in pages.page(result).parts)
        assert bool(re.search(rf"\b{days}\b", said)) is old


def test_a_file_that_shows_cards_at_work_needs_no_word_on_what_binds(tmp_path):
    busy = replace(
        BOX,
        devices=tuple(replace(one, busy_share=0.99, slowed_by=("hw_power_brake",)) for one in BOX.devices),
    )
    (tmp_path / "busy.json").write_text(json.dumps(plain(busy)), encoding="utf-8")
    result = upgrade(str(tmp_path / "busy.json"))
    assert result.shares[0][0] == "brake"
    assert result.judgement.lead.check == "gpu_throttled"
    assert ("about", "gpu 0") in pairs(pages.page(result).title)
