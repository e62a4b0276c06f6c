"""NVIDIA as the probe reads it: through the library, else through what nvidia-smi said."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

import scenes
from rigright.base.patience import NAME
from rigright.machine.device import Device
from rigright.machine.nvml import codes, process
from rigright.machine.probe import PATIENCE_S, probe
from rigright.machine.system import Software
from rigright.machine.vendors.nvidia import read
from rigright.machine.world import World, command_file

SMI = "nvidia-smi"
LOG = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
<driver_version>550.54.15</driver_version><cuda_version>12.4</cuda_version><attached_gpus>2</attached_gpus>
<gpu id="00000000:01:00.0"><product_name>NVIDIA RTX A6000</product_name>
<fb_memory_usage><total>49140 MiB</total></fb_memory_usage></gpu>
<gpu id="00000000:02:00.0"><product_name>NVIDIA RTX A6000</product_name></gpu>
</nvidia_smi_log>
"""
TOPO = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV4\t0-15\t0\nGPU1\tNV4\t X \t0-15\t1\n"
LINKS = "".join(
    f"GPU {card}: NVIDIA RTX A6000 (UUID: GPU-{card}1111111)\n"
    + "".join(f"\t Link {link}: 14.062 GB/s\n" for link in range(4))
    for card in range(2)
)


def stored(folder, said):
    """A machine of files alone, with what its commands said."""
    for line, text in said.items():
        (folder / command_file(tuple(line.split()))).write_text(f"0\n{text}", encoding="utf-8")
    return World(root=folder, commands=folder)


def fields_of(world):
    return dict(read(world).fields)


def test_a_recorded_machine_is_what_its_tool_said(tmp_path):
    found = fields_of(
        stored(tmp_path, {f"{SMI} -q -x": LOG, f"{SMI} topo -m": TOPO, f"{SMI} nvlink -s": LINKS})
    )
    first, second = found["devices"]
    assert (first.name, first.mem_total_bytes) == ("NVIDIA RTX A6000", 49140 * 2**20)
    assert (first.numa_node, second.numa_node) == (0, 1)
    assert [(path.a, path.b, path.kind) for path in found["paths"]] == [(0, 1, "NV4")]
    assert [link.bytes_per_s for link in second.links] == [14.062e9] * 4
    assert found["software"] == Software(driver="550.54.15", driver_cuda="12.4")


def test_without_the_matrix_paths_are_unknown_not_absent(tmp_path):
    found = fields_of(stored(tmp_path, {f"{SMI} -q -x": LOG}))
    assert "paths" not in found
    assert {card.links for card in found["devices"]} == {None}


def test_a_recorded_machine_without_nvidia_says_nothing(tmp_path):
    assert read(stored(tmp_path, {})).fields == {}
    assert read(stored(tmp_path, {})).unseen == ()


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            codes.why(codes.NOT_LOADED),
        ),
        (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54",
            codes.why(codes.MISMATCH),
        ),
        ("Failed to initialize NVML: Unknown Error", "Failed to initialize NVML: Unknown Error"),
        ("<nvidia_smi_log><gpu>", "<nvidia_smi_log><gpu>"),
    ],
)
def test_what_a_tool_that_failed_says_is_said_as_it_is_meant_or_quoted(tmp_path, said, meant):
    answer = read(stored(tmp_path, {f"{SMI} -q -x": said}))
    assert dict(answer.fields)["software"].driver_error == str(meant)
    assert [one.what for one in answer.unseen] == ["devices"]


def test_a_live_machine_is_read_through_the_library(tmp_path):
    found = fields_of(scenes.scene("healthy_2x4090", tmp_path))
    assert [card.name for card in found["devices"]] == ["NVIDIA GeForce RTX 4090"] * 2
    assert found["software"].driver == "580.95.05"


def test_without_the_library_the_tool_is_asked(tmp_path):
    world = scenes.scene("healthy_2x4090", tmp_path)
    (tmp_path / "commands" / command_file((SMI, "-q", "-x"))).write_text(f"0\n{LOG}", encoding="utf-8")
    bare = replace(world, env={**world.env, **scenes.no_driver(tmp_path)})
    assert [card.name for card in fields_of(bare)["devices"]] == ["NVIDIA RTX A6000"] * 2


def test_a_driver_that_fails_says_so_and_the_tool_cannot_help(tmp_path):
    world = scenes.scene("mismatch", tmp_path)
    (tmp_path / "root" / "proc/driver/nvidia").mkdir(parents=True, exist_ok=True)
    (tmp_path / "root" / "proc/driver/nvidia/version").write_text("NVRM version")
    answer = read(replace(world, root=tmp_path / "root"))
    assert dict(answer.fields)["software"].driver_error == str(codes.why(codes.MISMATCH))


def test_a_machine_that_has_nothing_of_nvidia_is_not_told_of_a_driver(tmp_path):
    world = scenes.scene("mismatch", tmp_path)
    bare = replace(world, root=tmp_path / "nothing", env={**world.env, **scenes.no_driver(tmp_path)})
    assert read(bare).fields == {}
    assert read(bare).unseen == ()


def test_a_hung_driver_is_not_asked_once_more_through_its_tool(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "START_S", 0.3)
    world = scenes.scene("hung_driver", tmp_path)
    (tmp_path / "commands" / command_file((SMI, "-q", "-x"))).write_text(f"0\n{LOG}", encoding="utf-8")
    answer = read(world)
    assert "devices" not in dict(answer.fields)
    assert [one.what for one in answer.unseen] == ["devices"]
    assert [str(one.why) for one in answer.unseen] == [dict(answer.fields)["software"].driver_error]


def test_shared_memory_is_as_large_as_the_systems(tmp_path):
    world = scenes.scene("gb10", tmp_path)
    (world.root / "proc").mkdir(exist_ok=True)
    (world.root / "proc/meminfo").write_text("MemTotal: 125513360 kB\nMemAvailable: 90000000 kB\n")
    (card,) = fields_of(world)["devices"]
    assert (card.mem_total_bytes, card.mem_free_bytes) == (125513360 * 1024, 90000000 * 1024)
    assert card.unified_memory is True


def test_a_program_that_is_started_with_a_scene_sees_the_same_machine(tmp_path):
    world = scenes.scene("lost_gpu", tmp_path)
    code = (
        "from rigright.machine.vendors.nvidia import read; from rigright.machine.world import here;"
        "print([one.state for one in dict(read(here()).fields)['devices']])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=world.env, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(["ok"] * 3 + ["lost"] + ["ok"] * 4)


@pytest.mark.parametrize("factor", ["0.3", pytest.param("1", marks=pytest.mark.live)])
def test_a_whole_probe_with_a_driver_that_hangs_at_everything(factor, tmp_path):
    """Ten seconds are promised; what else there is of the machine is there."""
    assert PATIENCE_S < 10
    world = scenes.scene("hung_devices", tmp_path)
    machine = probe(replace(world, env={**world.env, NAME: factor}))
    assert [card.state for card in machine.devices] == ["hung"] * 8
    assert machine.system.kernel is not None or machine.cpu.threads is not None or machine.unseen


def test_devices_are_records_whichever_way_they_came(tmp_path):
    for world in (stored(tmp_path, {f"{SMI} -q -x": LOG}), scenes.scene("healthy_2x4090", tmp_path)):
        assert all(
            isinstance(card, Device) and card.vendor == "nvidia" for card in fields_of(world)["devices"]
        )
