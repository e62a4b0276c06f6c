"""The firmware's table: our bytes, dmidecode's text of the same bytes, and bytes of anybody."""

from __future__ import annotations

import struct
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fake_dmi
from debian import needs
from fake_trees import planted
from rigright.base.units import GIB
from rigright.machine.smbios import (
    board_slots,
    channel_of,
    memory_modules,
    modules_of,
    read_modules,
    read_slots,
    slots_of,
    structures,
)

MODULES = st.lists(
    st.fixed_dictionaries(
        {
            "slot": st.sampled_from(["DIMM_A1", "DIMM 0", "P1-DIMMB2", "A1", "ChannelB-DIMM1"]),
            "bank": st.sampled_from(["BANK 0", "P0 CHANNEL C", "P1_Node0_Channel3_Dimm0"]),
            "mib": st.sampled_from([0, 8192, 16384, 32768, 65536, 131072, 262144]),
            "kind": st.sampled_from(["DDR4", "DDR5", "LPDDR5"]),
            "rated": st.sampled_from([2666, 3200, 4800, 5600, 6400]),
            "set": st.sampled_from([2666, 3200, 4400, 4800]),
            "ecc": st.booleans(),
        }
    ),
    max_size=8,
)
SLOTS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["PCIE1", "SLOT 3"]),
            "gen": st.sampled_from([3, 4, 5]),
            "lanes": st.sampled_from([1, 4, 8, 16]),
            "in_use": st.booleans(),
            "address": st.sampled_from([None, "0000:41:00.0", "0001:02:03.1"]),
        }
    ),
    max_size=6,
)


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    needs("dmidecode")
    return tmp_path_factory.mktemp("dmi") / "dump"


@pytest.mark.live
@given(modules=MODULES, slots=SLOTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_dmidecode_reads_the_same_out_of_the_same_bytes(dump, modules, slots):
    entry, table = fake_dmi.tables(modules=modules, slots=slots)
    dump.write_bytes(entry.ljust(32, b"\0") + table)
    argv = ["dmidecode", "--from-dump", str(dump)]
    told = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30).stdout
    assert read_modules(told) == modules_of(table)
    assert read_slots(told) == slots_of(table)


def test_sizes_beyond_the_old_field():
    _, table = fake_dmi.tables(modules=[{"slot": "A1", "mib": 262144, "ecc": True}])
    (module,) = modules_of(table)
    assert module.size_bytes == 256 * GIB
    assert module.ecc is True


def test_an_empty_place_has_no_size_and_says_where_it_is():
    _, table = fake_dmi.tables(modules=[{"slot": "DIMM_B2", "bank": "P0_Node0_Channel1_Dimm1"}])
    (module,) = modules_of(table)
    assert (module.slot, module.channel, module.size_bytes, module.rated_mt_s) == (
        "DIMM_B2",
        "P0/1",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("slot", "bank", "channel"),
    [
        ("DIMM_A1", "P0_Node0_Channel0_Dimm0", "P0/0"),
        ("CPU1_DIMM_C2", "NODE 1", "CPU1/C"),
        ("P1_DIMMA1", "BANK 0", "P1/A"),
        ("DIMM 0", "P0 CHANNEL A", "P0/A"),
        ("ChannelA-DIMM0", "BANK 0", "A"),
        ("Controller0-ChannelB-DIMM1", "BANK 3", "B"),
        ("A3", "Not Specified", "A"),
        ("DIMM1", "BANK 1", None),
    ],
)
def test_channels_as_boards_name_them(slot, bank, channel):
    assert channel_of(slot, bank) == channel


def test_the_text_serves_where_there_are_no_bytes(tmp_path):
    told = (
        "Handle 0x0011, DMI type 17, 40 bytes\nMemory Device\n\tTotal Width: 72 bits\n\tData Width: 64 bits\n"
        "\tSize: 32 GB\n\tLocator: DIMM_A1\n\tType: DDR4\n\tSpeed: 3200 MT/s\n"
        "\tConfigured Memory Speed: 2933 MT/s\n\tManufacturer: Micron\n"
    )
    world = planted(tmp_path, {"commands": {"dmidecode -t memory": told}})
    (module,) = memory_modules(world)
    assert (module.size_bytes, module.rated_mt_s, module.set_mt_s) == (32 * GIB, 3200, 2933)
    assert (module.ecc, module.channel, module.maker) == (True, "A", "Micron")
    assert board_slots(world) is None


@given(st.binary(max_size=2000))
def test_any_bytes_are_taken(raw):
    modules_of(raw)
    slots_of(raw)


@given(st.data())
def test_a_table_cut_or_struck_anywhere_is_taken(data):
    _, table = fake_dmi.tables(modules=[{"slot": "A1", "mib": 65536}] * 3, slots=[{"name": "S", "gen": 5}])
    cut = bytearray(table[: data.draw(st.integers(0, len(table)))])
    for _ in range(data.draw(st.integers(0, 4))):
        if cut:
            cut[data.draw(st.integers(0, len(cut) - 1))] = data.draw(st.integers(0, 255))
    assert len(modules_of(bytes(cut))) <= len(list(structures(bytes(cut))))


def test_a_structure_shorter_than_its_fields_tells_what_it_has():
    short = struct.pack("<BBH", 17, 14, 1) + struct.pack("<HHHHH", 0, 0, 64, 64, 8192) + b"\0\0"
    (module,) = modules_of(short)
    assert module.size_bytes == 8 * GIB
    assert (module.kind, module.rated_mt_s, module.slot) == (None, None, "")


@given(st.text(max_size=400))
def test_any_text_is_taken(told):
    read_modules(told)
    read_slots(told)
    read_modules("Memory Device\n\tSize: " + told)
