"""Sensors: the kernel's, and the management controller's in its two lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trees import remembered
from rigright.machine.parts.sensors import read, read_sdr, read_sensors
from rigright.machine.world import World


def sensors_of(world):
    return {sensor.name: sensor for sensor in dict(read(world).fields)["sensors"]}


def test_the_kernels_units_become_ours():
    chip = {
        "in0_input": 12050, "in0_label": "+12V", "in0_min": 11400, "in0_max": 12600, "in0_alarm": 1,
        "temp1_input": 91500, "temp1_max": 0, "temp1_crit": 100000, "fan1_input": 1450, "fan1_min": 300,
        "power1_average": 65500000, "curr1_input": 2500, "temp2_label": "dead",
    }  # fmt: skip
    found = sensors_of(remembered({"hwmon": {"nct6798": chip}}))
    rail = found["nct6798/+12V"]
    assert (rail.kind, rail.value, rail.low, rail.high, rail.status) == ("volt", 12.05, 11.4, 12.6, "alarm")
    heat = found["nct6798/temp1"]
    assert (heat.kind, heat.value, heat.high) == ("temperature", 91.5, 100.0)
    assert (found["nct6798/fan1"].value, found["nct6798/fan1"].low) == (1450, 300)
    assert (found["nct6798/power1"].value, found["nct6798/curr1"].value) == (65.5, 2.5)
    assert "nct6798/dead" not in found


def test_a_servers_controller():
    found = sensors_of(remembered({"like": "server"}))
    assert (found["12V"].value, found["12V"].low, found["12V"].high) == (12.1, 11.1, 12.9)
    assert (found["Fan1A"].kind, found["Fan1A"].low) == ("fan", 600.0)
    assert [found[f"PSU{number} Status"].status for number in range(1, 7)] == ["ok"] * 6
    assert found["PSU1 Input Power"].kind == "power"
    assert "Intrusion" not in found


@pytest.mark.parametrize(
    ("bits", "status"),
    [
        ("0x0180", "ok"), ("0x0380", "failed"), ("0x0580", "about to fail"), ("0x0980", "input lost"),
        ("0x0080", "absent"), ("0x0b80", "failed, input lost"), ("0x01", "ok"), ("0x09", "input lost"),
    ],
)  # fmt: skip
def test_what_a_power_supply_says_in_bits(bits, status):
    (supply,) = read_sensors(f"PS1 Status | 0x0 | discrete | {bits}| na | na | na | na | na | na")
    assert (supply.kind, supply.status) == ("supply", status)


def test_limits_passed_are_words():
    line = "FAN2 | 0.000 | RPM | cr | 300.000 | 500.000 | 700.000 | na | na | na"
    (fan,) = read_sensors(line)
    assert (fan.value, fan.low, fan.status) == (0.0, 700.0, "critical")


def test_the_short_list():
    text = "Inlet Temp | 24 degrees C | ok\nFan1 | no reading | ns\n"
    text += "12V | 11.10 Volts | cr\nPSU2 Status | 0x09 | ok\n"
    found = {one.name: one for one in read_sdr(text)}
    assert set(found) == {"Inlet Temp", "12V", "PSU2 Status"}
    assert (found["12V"].value, found["12V"].status) == (11.1, "critical")
    assert found["PSU2 Status"].status == "input lost"
    world = remembered({"commands": {"ipmitool sdr": text}})
    assert set(sensors_of(world)) == set(found)


def test_a_machine_without_sensors_has_none_observed(tmp_path):
    told = read(World(root=tmp_path))
    assert dict(told.fields)["sensors"] is None


@given(st.text(alphabet=st.sampled_from(list("PSU12 Status|0x9degrsC.naokcr-\n")), max_size=300))
def test_any_list_is_taken(text):
    read_sensors(text)
    read_sdr(text)
