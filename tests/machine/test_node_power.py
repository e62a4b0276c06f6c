"""What a node draws: by DCMI, by a sensor of the whole, by its supplies; unknown where nobody says it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rigright.machine.device import Device, Power
from rigright.machine.host import Sensor
from rigright.machine.parts.node_power import node_power, of_sensors, read
from rigright.machine.record import Machine
from rigright.machine.world import World, command_file
from rigright.report.pages.probe_host import host_rows

DCMI = """
    Instantaneous power reading:                  3184 Watts
    Minimum during sampling period:               1021 Watts
    Average power reading over sample period:     2790 Watts
"""


def watts(**told):
    return tuple(
        Sensor(name=name.replace("__", " "), kind="power", value=value) for name, value in told.items()
    )


def box(tmp_path, said, code=0):
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/ipmi0").write_text("")
    commands = tmp_path / "commands"
    commands.mkdir()
    argv = ("ipmitool", "dcmi", "power", "reading")
    (commands / command_file(argv)).write_text(f"{code}\n{said}")
    return World(root=tmp_path, commands=commands)


def test_the_controllers_own_reading_goes_first(tmp_path):
    found = node_power(box(tmp_path, DCMI))
    assert (found.watts, found.source) == (3184, "dcmi")


@pytest.mark.parametrize(
    ("said", "code"), [("", 1), ("Instantaneous power reading: 0 Watts", 0), (DCMI, 1), ("x", 0)]
)
def test_a_controller_that_knows_nothing_is_no_reading_of_zero(tmp_path, said, code):
    assert node_power(box(tmp_path, said, code)) is None


def test_without_a_controller_nothing_is_asked(tmp_path):
    assert node_power(World(root=tmp_path)) is None


@pytest.mark.parametrize(("told", "expected"), [
    ({"System__Level": 2900.0, "PSU1__Input__Power": 1500.0, "PSU2__Input__Power": 1480.0}, (2900, "sensor")),
    ({"Pwr__Consumption": 644.0}, (644, "sensor")),
    ({"Sys__Power": 644.0, "CPU__Power": 200.0, "Total__Power": 650.0}, (650, "sensor")),
    ({"PSU1__Input__Power": 1500.0, "PSU2__Input__Power": 1480.0}, (2980, "supplies")),
    ({"PS1__Input__Power": 700.0, "PS2__Input__Power": 0.0}, (700, "supplies")),
    ({"CPU__Power": 200.0, "DIMM__Power": 30.0}, None),
    ({}, None),
])  # fmt: skip
def test_a_sensor_of_the_whole_else_the_supplies(told, expected):
    found = of_sensors(watts(**told))
    assert (None if found is None else (found.watts, found.source)) == expected


def test_the_machine_that_is_probed_bears_it_and_a_sensor_says_it_where_no_controller_does(tmp_path):
    told = read(box(tmp_path, DCMI)).fields["node_power"]
    assert (told.watts, told.source) == (3184, "dcmi")
    machine = replace(two(), node_power=told)
    assert shown(machine) == ["3.2 kW", "1.3 kW"]  # of the node, and of its GPUs
    of_sensor = replace(machine, node_power=None, sensors=watts(Total__Power=2000.0))
    assert shown(of_sensor) == ["2.0 kW", "1.3 kW"]
    assert shown(replace(machine, node_power=None)) == []


def shown(machine):
    """Every power that the page of the machine shows."""
    return [power for _, said in host_rows(machine) for power in re.findall(r"[\d.]+ k?W\b", str(said))]


def two():
    power = Power(draw_w=650.0)
    return Machine(devices=tuple(Device(index=n, vendor="nvidia", power=power) for n in range(2)))
