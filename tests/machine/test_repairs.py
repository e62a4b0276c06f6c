"""Repairs that drivers of 580 and 590 and later tell of: by the driver itself, by its XML and by its text."""

from __future__ import annotations

import os

import pytest

from fake_driver import driver_env
from rigright.doctor.examine import case_of, examine
from rigright.machine.nvml.session import Session
from rigright.machine.opened import open_machine, read_machine

XML = """<?xml version="1.0" ?>
<nvidia_smi_log><driver_version>595.58.03</driver_version><gpu id="00000000:0D:00.0">
<product_name>NVIDIA H100 80GB HBM3</product_name><performance_state>P0</performance_state>
<ecc_errors><channel_repair_pending>{channel}</channel_repair_pending>
<tpc_repair_pending>{tpc}</tpc_repair_pending><unrepairable_memory>{none}</unrepairable_memory></ecc_errors>
</gpu></nvidia_smi_log>"""
TOLD = [
    (("Yes", "No", "No"), (True, False, False), {"warning"}),
    (("No", "Yes", "N/A"), (False, True, None), {"warning"}),
    (("No", "No", "Yes"), (False, False, True), {"fault"}),
    (("No", "No", "No"), (False, False, False), set()),
]


def flags(device):
    retired = device.retired
    return (retired.channel_repair_pending, retired.tpc_repair_pending, retired.unrepairable)


@pytest.mark.parametrize(("words", "read", "found"), TOLD)
def test_the_xml_tells_of_repairs(words, read, found):
    text = XML.format(**dict(zip(("channel", "tpc", "none"), words, strict=True)))
    machine = read_machine(text.encode(), name="a.xml")
    assert flags(machine.devices[0]) == read
    told = examine(case_of(machine), only=("rows_remapped",))
    assert {one.severity for _, one in told.findings} == found


def test_the_text_tells_of_repairs(shared):
    folder = shared / "captures" / "nvidia-smi-text"
    datacentre = open_machine(folder / "linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt")
    desk = open_machine(folder / "linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt")
    assert flags(datacentre.devices[0]) == (False, False, False)
    assert flags(desk.devices[0]) == (False, False, None)


def played(repair, **more):
    table = {"like": "healthy_8xh100", "only": {"2": {"repair": repair}}, **more}
    with Session({**os.environ, **driver_env(table)}) as session:
        read = session.devices()
    return dict(read.fields)["devices"], read.unseen


def test_the_driver_tells_of_repairs():
    devices, _ = played({"channel": 1, "tpc": 0, "none": 0})
    assert flags(devices[2]) == (True, False, False)
    assert flags(devices[3]) == (None, None, None)


def test_no_word_is_lost_on_drivers_too_old_for_it():
    absent = ["nvmlDeviceGetRepairStatus", "nvmlDeviceGetUnrepairableMemoryFlag_v1"]
    devices, unseen = played({"channel": 1}, absent=absent)
    assert flags(devices[2]) == (None, None, None)
    assert not [one for one in unseen if "repair" in one.what]
