"""A form of pasted text is a row: what it names is there, and a row without a function reads by itself."""

from __future__ import annotations

import pytest

from rigright.base.tables import DATA, read_toml
from rigright.machine.opened import forms, read_machine

INVENTED = {
    "name": "glados-smi",
    "marks": [r"^GLaDOS-SMI \d"],
    "unless": r"\bcake\b",
    "cards": [
        r"^core (?P<index>\d+): (?P<name>\S.*?), (?P<mem_total_bytes>\d+ GiB), (?P<power__draw_w>\d+ W)$"
    ],
    "fields": {
        "software.driver": [r"^driver (\d+\.\d+)$", r"^module (\d+\.\d+)$"],
        "system.virtual": {"find": "under Aperture", "is": "aperture"},
    },
}
PASTED = b"""GLaDOS-SMI 2
core 1: AMD Instinct MI300X, 192 GiB, 700 W
core 0: NVIDIA H100, 80 GiB, 650 W
core 0: NVIDIA H200, 141 GiB, 1 W
module 3.1
under Aperture
"""


@pytest.fixture
def invented(monkeypatch):
    rows = [*read_toml(DATA / "pasted.toml")["form"], INVENTED]
    monkeypatch.setattr(forms, "read_toml", lambda _: {"form": rows})
    for kept in (forms.forms, forms.fault_forms):
        kept.cache_clear()
    yield
    for kept in (forms.forms, forms.fault_forms):
        kept.cache_clear()


@pytest.mark.usefixtures("invented")
def test_an_invented_form_is_a_row():
    machine = read_machine(PASTED, name="given")
    assert machine.read_as == ("glados-smi",)
    assert [(one.vendor, one.name, one.mem_total_bytes, one.power.draw_w) for one in machine.devices] == [
        ("nvidia", "NVIDIA H100", 80 * 2**30, 650),
        ("amd", "AMD Instinct MI300X", 192 * 2**30, 700),
    ]
    assert (machine.software.driver, machine.system.virtual) == ("3.1", "aperture")


@pytest.mark.usefixtures("invented")
def test_what_another_pattern_rules_out_is_no_such_form():
    assert not any(form.name == "glados-smi" for form in found(PASTED.decode() + "cake\n"))
    assert any(form.name == "glados-smi" for form in found(PASTED.decode()))


def test_disks_of_a_table_by_its_heading():
    text = "NAME     SIZE TYPE ROTA MOUNTPOINT\nsda      1.8T disk    1\nnvme0n1  3.5T disk    0 /data\n"
    disks = read_machine(text.encode(), name="x").disks
    assert [(disk.name, disk.kind) for disk in disks] == [("sda", "hdd"), ("nvme0n1", "nvme")]


def found(text):
    return list(forms.forms_of(forms.Section(head="", text=text)))


def test_every_function_that_a_row_names_is_there():
    rows = read_toml(DATA / "pasted.toml")["form"]
    named = [row[name] for row in rows for name in ("knows", "parse", "read", "as_text") if name in row]
    assert len(named) > 40
    assert all(callable(forms._function(place)) for place in named)


def test_forms_without_a_reader_tell_of_faults_alone():
    assert {"npu-smi", "kubectl", "Redfish"} <= forms.fault_forms()
    assert forms.fault_forms().isdisjoint({"lscpu", "uname", "kernel log", "text"})
