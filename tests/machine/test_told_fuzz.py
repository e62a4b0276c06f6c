"""Readers of what tools wrote meet anything: they read it, or refuse it in a sentence, and never fall."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_pasted_vendors import PASTED

from examples import THOROUGH
from rigright.base.errors import RigError
from rigright.machine.opened import read_machine
from rigright.machine.opened.forms import forms_of
from rigright.machine.opened.text import sections
from rigright.machine.record import Machine
from rigright.machine.stored import plain, restored

SMI_XML = """<nvidia_smi_log><attached_gpus>1</attached_gpus><gpu id="0:01:00.0"><fb_memory_usage>
<total>9 MiB</total></fb_memory_usage><processes><process_info><pid>1</pid></process_info></processes></gpu>
</nvidia_smi_log>"""
SMI_TEXT = """==============NVSMI LOG==============
Driver Version   : 550.1
GPU 00000000:01:00.0
    FB Memory Usage
        Total                 : 81559 MiB
    Processes
        Process ID            : 12
"""
AMD = '{"gpu_data": [{"gpu": 0, "asic": {"market_name": "MI300X"}, "vram": {"size": {"value": 1}}}]}'
SEEDS = [
    SMI_XML,
    SMI_TEXT,
    "index, name, memory.total [MiB]\n0, NVIDIA L4, 23034 MiB\n",
    "GPU 0: NVIDIA A100 (UUID: GPU-1)\n\t Link 0: 25 GB/s\n",
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV12\t0-3\t0\nGPU1\tNV12\t X \t0-3\t0\n",
    AMD,
    '{"card0": {"Device ID": "0x738c", "VRAM Total Memory (B)": "34342961152"}, "system": {}}',
    '{"device_list": [{"device_id": 0, "pci_bdf_address": "0000:4d:00.0", "device_name": "Intel"}]}',
    '{"SPHardwareDataType": [{"chip_type": "Apple M2 Max", "physical_memory": "64 GB"}]}',
    "01:00.0 3D controller [0302]: NVIDIA Corporation GA102GL [A10] [10de:2236]\n\tLnkSta: Speed 8GT/s\n",
    "[   12.345678] NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.\n",
    "# dmidecode 3.3\nHandle 0x0011, DMI type 17, 40 bytes\nMemory Device\n\tSize: 32 GB\n",
    *PASTED,
    '{"schema": 1, "devices": [{"index": 0, "vendor": "nvidia"}]}',
]


STEP = 3 if THOROUGH else 17  # characters between two ends
MOST_CHARS = 200_000 if THOROUGH else 60_000


def takes(raw):
    """It gives a machine that can be kept and read again, or a sentence."""
    try:
        machine = read_machine(raw, name="given")
    except RigError:
        return None
    kept = json.loads(json.dumps(plain(machine)))
    assert restored(Machine, kept, where="kept") == machine
    return machine


@pytest.mark.parametrize("seed", SEEDS)
def test_each_seed_is_known(seed):
    assert takes(seed.encode()) is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_a_text_may_end_anywhere(seed):
    for end in range(len(seed) % STEP, len(seed), STEP):
        takes(seed[:end].encode())


@given(st.sampled_from(SEEDS), st.data())
def test_a_text_may_be_changed_anywhere(seed, data):
    at = data.draw(st.integers(0, len(seed) - 1))
    span = data.draw(st.integers(0, 8))
    other = data.draw(st.text(max_size=12))
    takes((seed[:at] + other + seed[at + span :]).encode("utf-8", "replace"))


@given(
    st.sampled_from(SEEDS[:5]),
    st.sampled_from(["9" * 400, "-1", "1e999", "NaN", "\x00", "\ud800", "٣", "1" * 19]),
)
def test_a_number_may_be_any(seed, number):
    for old in ("81559", "9 MiB", "25", "23034", "12"):
        takes(seed.replace(old, number).encode("utf-8", "replace"))


@given(st.binary(max_size=400))
def test_bytes_may_be_any(raw):
    takes(raw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(["gpu_data", "card0", "device_list", "SPHardwareDataType", "schema"]), JSON)
def test_json_may_hold_anything_under_the_words_we_know(word, inside):
    takes(json.dumps({word: inside, "devices": inside}).encode())
    takes(
        json.dumps(
            [{"gpu": 0, "asic": inside, "mem_usage": inside, "links": inside, "process_list": inside}]
        ).encode()
    )


PIECES = [
    "\n", " ", "[", "|", "a ", "GPU 0: x", "GPU0\t", "x : ", "0000:00", "# $ nvidia-smi ", "\nLink 1: ",
    "<gpu>", "card0", "serial ", "aa:", "1.2.3.4", "/home/", "token",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_said_again_and_again_is_no_burden(piece):
    """A reader whose work grew with the square of the length would sit here for minutes."""
    takes((piece * (MOST_CHARS // len(piece))).encode())


def test_deep_nesting_is_no_crash():
    for opening in (b"[", b'{"gpu_data":'):
        assert takes(opening * 20_000) is None


def test_no_form_takes_another_forms_text():
    """What a text is must not hang on the order of the table."""
    for seed in SEEDS[:-1]:
        found = [form.name for section in sections(seed) for form in forms_of(section)]
        assert len(set(found)) == 1, (seed, found)
