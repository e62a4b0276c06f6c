"""Jetson boards: named by their device tree, whatever NVIDIA's library says."""

from __future__ import annotations

import pytest
from test_other_vendors import tree

from rigright.base.units import GIB, KIB
from rigright.doctor.recognise import chip_of
from rigright.machine.device import Device
from rigright.machine.jetson import with_board
from rigright.machine.record import Read
from rigright.machine.vendors import nvidia
from rigright.machine.world import World

ORIN = "nvidia,p3737-0000+p3701-0005\0nvidia,p3701-0005\0nvidia,tegra234\0"


def board(root, compatible, gib):
    """A tree with what the board calls itself and its memory."""
    kib = int(gib * GIB / KIB)
    told = f"MemTotal: {kib} kB\nMemAvailable: {kib // 2} kB\n"
    tree(root, {"/proc/device-tree/compatible": compatible, "/proc/meminfo": told})
    return World(root=root)


@pytest.mark.parametrize(
    ("compatible", "gib", "chip"),
    [
        (ORIN, 61.4, "jetson-agx-orin-64gb"),
        ("nvidia,p3737-0000+p3701-0000\0nvidia,tegra234\0", 29.9, "jetson-agx-orin-32gb"),
        ("nvidia,p3768-0000+p3767-0005-super\0nvidia,p3767-0005\0nvidia,tegra234\0", 7.4,
         "jetson-orin-nano-super-8gb"),
        ("nvidia,p3768-0000+p3767-0000\0nvidia,tegra234\0", 15.3, "jetson-orin-nx-16gb"),
        ("nvidia,p3971-0000+p3834-0008\0nvidia,tegra264\0", 122.8, "jetson-agx-thor-t5000"),
    ],
)  # fmt: skip
def test_a_board_without_the_library_is_known_by_its_tree(tmp_path, compatible, gib, chip):
    (module,) = nvidia.read(board(tmp_path, compatible, gib)).fields["devices"]
    assert chip_of(module).id == chip
    assert (module.unified_memory, module.mem_total_bytes) == (True, pytest.approx(gib * GIB, rel=1e-6))
    assert module.mem_free_bytes == pytest.approx(gib * GIB / 2, rel=1e-6)


def test_what_the_library_calls_orin_is_named(tmp_path):
    seen = Device(index=0, vendor="nvidia", name="Orin (nvgpu)", busy_share=0.4)
    card = Device(index=1, vendor="nvidia", name="NVIDIA RTX A2000", pci="0005:01:00.0")
    read = with_board(board(tmp_path, ORIN, 61.4), Read(fields={"devices": (seen, card)}))
    module, other = dict(read.fields)["devices"]
    assert (module.name, module.isa, module.busy_share) == ("Jetson AGX Orin 64GB", "8.7", 0.4)
    assert other == card


@pytest.mark.parametrize(
    "compatible", ["", "raspberrypi,5-model-b\0brcm,bcm2712\0", "nvidia,p3701\0", "\0\0"]
)
def test_any_other_board_is_left_alone(tmp_path, compatible):
    read = Read(fields={"devices": ()})
    assert with_board(board(tmp_path, compatible, 8), read) is read
    assert nvidia.read(World(root=tmp_path)).fields.get("devices", ()) == ()
