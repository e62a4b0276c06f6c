"""Pages of machines as a stranger meets them: no card, a closed driver, a pod; ways and ports by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rigright.base.page import Line
from rigright.base.words import say, tell
from rigright.doctor.examine import EXIT_WARNING, case_of, examine
from rigright.doctor.record import Fine, NotSeen
from rigright.doctor.wires import bus_cards
from rigright.machine.device import Device
from rigright.machine.host import Path, PciDevice, Port
from rigright.machine.nvml.codes import _WHY, HANGS, NO_BINDING
from rigright.machine.record import Machine, Unseen
from rigright.machine.system import System, Toolkit
from rigright.report.formats.text import render
from rigright.report.named import machine_name
from rigright.report.pages import doctor as doctor_page
from rigright.report.pages import probe as probe_page
from rigright.report.pages.probe_host import host_rows
from rigright.report.readings import reason
from rigright.report.screen import Screen
from spoken import pairs

LIVE = Machine(origin="live", system=System(kernel="6.8.0", host="box", as_root=False))
CARD = PciDevice(address="0000:01:00.0", id="10de:2684", pci_class="0x030000", driver="nvidia")
CLOSED = Unseen(what="slots", why=say("root alone may read it"), see="sudo dmidecode -t slot")


def probed(machine, **screen):
    return render(probe_page.page(machine), Screen(width=100, **screen))


def examined(machine, *only, **screen):
    return render(doctor_page.page(examine(case_of(machine), only)), Screen(width=100, **screen))


def two(kind):
    cards = tuple(Device(index=index, vendor="nvidia", name="NVIDIA H100 80GB HBM3") for index in range(2))
    return replace(LIVE, devices=cards, paths=(Path(a=0, b=1, kind=kind),))


def test_the_short_word_for_a_way_is_explained():
    for kind in ("NV18", "PHB", "SYS", "PIX", "NEW"):
        (line,) = [line for line in probed(two(kind)).splitlines() if kind in line]
        assert (f"{kind} (" in line) is (kind != "NEW"), line
    assert "NV18 (18 NVLinks)" in probed(two("NV18"))


def test_a_card_on_the_bus_bears_its_name_and_not_its_number():
    assert bus_cards(replace(LIVE, pci=(CARD, replace(CARD, address="0000:02:00.0")))) == (
        "2x GeForce RTX 4090"
    )
    strange = replace(CARD, id="10de:ffff")
    assert bus_cards(replace(LIVE, pci=(strange,))) == "1x 10de:ffff"
    assert bus_cards(replace(LIVE, pci=(replace(CARD, pci_class="0x040300"),))) == "", "it is a sound card"


def test_what_no_driver_shows_is_no_good_news():
    """A user who may not ask the driver, or a container without a card, must not read "no fault found"."""
    text = examined(replace(LIVE, pci=(CARD,)), "swappiness")
    assert [place for place, line in enumerate(text.splitlines()) if "GeForce RTX 4090" in line] == [0]
    assert text.startswith("! 1x GeForce RTX 4090 ")
    bare = doctor_page.page(examine(case_of(LIVE), ("swappiness",)))
    virtual = replace(LIVE, pci=(replace(CARD, driver="vfio-pci"),))
    handed_on = doctor_page.page(examine(case_of(virtual), ("swappiness",)))
    assert (handed_on.title, handed_on.tone) == (bare.title, bare.tone), "it is meant for a virtual machine"
    assert not text.startswith(f"! {bare.title}")


def test_a_line_that_warns_ends_as_a_warning():
    def code(machine):
        return examine(case_of(machine), ("swappiness",)).exit_code

    assert code(replace(LIVE, pci=(CARD,))) == EXIT_WARNING
    assert code(replace(LIVE, pci=(replace(CARD, driver="vfio-pci"),))) == code(LIVE) == 0
    assert code(replace(LIVE, pci=(CARD,), read_as=("lspci",))) == 0, "a file leaves out what it will"


def test_counts_of_nothing_are_left_out():
    def counted(check):
        found = examine(case_of(LIVE), (check,))
        (line, *_) = (part for part in doctor_page.page(found).parts if isinstance(part, Line))
        return {str(value) for name, value in pairs(line.text) if isinstance(value, int)}, found

    seen, found = counted("visible_devices")
    assert (found.count(Fine), found.count(NotSeen), seen) == (0, 0, set())
    seen, found = counted("clock_kept")
    assert (found.count(Fine), found.count(NotSeen), seen) == (0, 1, {"1"})


def test_without_any_card_the_page_still_leads_somewhere():
    text = probed(LIVE)
    assert "rigright bench --quick" in text
    assert "rigright fit --on 'rtx 4090'" in text
    hidden = probed(replace(LIVE, pci=(CARD,)))
    assert "rigright fit" not in hidden
    assert "rigright doctor" in hidden


@pytest.mark.parametrize(
    ("system", "told", "on_host"),
    [
        (System(as_root=False), "`sudo dmidecode -t slot`", False),
        (System(as_root=True), "`dmidecode -t slot`", False),
        (System(as_root=True, container="docker"), "`sudo dmidecode -t slot`", True),
    ],
)
def test_what_would_show_it_is_a_line_that_this_user_can_type(system, told, on_host):
    machine = replace(LIVE, system=system, unseen=(CLOSED,))
    assert told in probed(machine)
    (line,) = [line for line in probed(machine).splitlines() if told in line]
    assert line.endswith(told) is not on_host, "in a container it is said that the host is to be asked"


def test_a_card_whose_name_is_lost_is_told_by_its_maker():
    gone = Device(index=1, vendor="nvidia", state="lost")
    named = Device(index=0, vendor="nvidia", name="NVIDIA H100 80GB HBM3")
    assert str(machine_name(replace(LIVE, devices=(named, gone)))) == (
        "box: 1x NVIDIA H100 80GB HBM3 + 1x NVIDIA GPU"
    )


def test_ports_that_differ_by_name_alone_stand_in_one_line():
    ib = tuple(Port(name=f"mlx5_{place}/1", kind="infiniband", state="up") for place in range(8))
    text = probed(replace(LIVE, ports=(*ib, Port(name="eno1", kind="ethernet", state="up"))))
    assert "mlx5_0/1 ... mlx5_7/1 (8): InfiniBand, up" in text
    assert "eno1: Ethernet, up" in text
    assert "more: --all" not in text


def test_a_toolkit_is_not_taken_for_the_driver():
    software = replace(
        LIVE.software, toolkits=(Toolkit(name="cuda", path="/usr/local/cuda", version="13.0"),)
    )
    before, after = ([*host_rows(one)] for one in (LIVE, replace(LIVE, software=software)))
    assert [row[1] for row in after if row not in before] == ["CUDA 13.0"]


@pytest.mark.parametrize("reason", [HANGS, NO_BINDING, *list(_WHY.values())[:1]])
def test_what_the_driver_said_is_told_in_the_reader_s_language(reason):
    said = str(reason)
    machine = replace(LIVE, software=replace(LIVE.software, driver_error=said))
    assert said in probed(machine)
    assert tell(reason, "zh") in probed(machine, language="zh")
    assert said not in probed(machine, language="zh")
    assert said not in examined(machine, "gpu_driver", language="zh")


def test_what_a_driver_says_with_braces_is_text_and_no_template():
    machine = replace(LIVE, software=replace(LIVE.software, driver_error="odd {who} {"))
    assert "odd {who} {" in probed(machine)


def test_why_a_card_is_slow_is_said_in_words():
    slow = Device(index=0, vendor="nvidia", name="NVIDIA A10", slowed_by=("sw_power_cap", "sw_thermal"))
    text = probed(replace(LIVE, devices=(slow,)))
    assert f"{reason('sw_power_cap')}, {reason('sw_thermal')}" in text
    held = replace(slow, slowed_by=("app_clocks", "display_clock"), busy_share=0.0)
    assert "throttled" not in probed(replace(LIVE, devices=(held,))), "what somebody set is no trouble"
