"""AMD, Intel and Apple: fake tools on PATH, fake trees, answers of several versions."""

from __future__ import annotations

import json
import os
import sys

import pytest

from rigright.base.units import GIB, MIB
from rigright.machine.amd.kernel import isa_of
from rigright.machine.opened import open_machine
from rigright.machine.vendors import amd, apple, intel
from rigright.machine.world import World

posix = pytest.mark.skipif(os.name == "nt", reason="the fake tools are shell scripts")
MI300X = "0000:c1:00.0"


def tree(root, files):
    for path, text in files.items():
        at = root / path.lstrip("/")
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text, encoding="utf-8")
    return root


def amd_tree(root, *, cards=2, vram=192 * GIB):
    """Cards of AMD as amdgpu and KFD show them, joined by Infinity Fabric."""
    for place in range(cards):
        address = f"0000:{0xC1 + place:02x}:00.0"
        real = f"/sys/devices/pci0000:c0/{address}"
        files = {
            "vendor": "0x1002\n", "device": "0x74a1\n", "subsystem_vendor": "0x1002\n",
            "subsystem_device": "0x74a1\n", "mem_info_vram_total": f"{int(vram)}\n",
            "mem_info_vram_used": f"{int(1 * GIB)}\n", "gpu_busy_percent": "45\n",
            "current_link_speed": "32.0 GT/s PCIe\n", "max_link_speed": "32.0 GT/s PCIe\n",
            "current_link_width": "8\n", "max_link_width": "16\n", "numa_node": "-1\n",
            "pcie_replay_count": "3\n",
            "unique_id": f"79ccd55167a2124{place}\n", "vbios_version": "113-M3000100\n",
            "ras/umc_err_count": "ue: 1\nce: 12\n",
            "hwmon/hwmon4/temp1_label": "junction\n", "hwmon/hwmon4/temp1_input": "61000\n",
            "hwmon/hwmon4/temp1_crit": "100000\n", "hwmon/hwmon4/temp2_label": "mem\n",
            "hwmon/hwmon4/temp2_input": "55000\n", "hwmon/hwmon4/power1_average": "312000000\n",
            "hwmon/hwmon4/power1_cap": "750000000\n",
        }  # fmt: skip
        tree(root, {f"{real}/{name}": text for name, text in files.items()})
        link = root / f"sys/class/drm/card{place}/device"
        link.parent.mkdir(parents=True)
        link.symlink_to(root / real.lstrip("/"))
        other = 1 - place
        tree(
            root,
            {
                f"/sys/class/kfd/kfd/topology/nodes/{place + 1}/properties": (
                    f"cpu_cores_count 0\nsimd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\n"
                    f"location_id {(0xC1 + place) << 8}\ndomain 0\nmax_engine_clk_fcompute 2100\n"
                ),
                f"/sys/class/kfd/kfd/topology/nodes/{place + 1}/io_links/0/properties": (
                    f"type 11\nnode_from {place + 1}\nnode_to {other + 1}\n"
                ),
            },
        )
    return World(root=root)


def test_the_kernel_alone_shows_amds_cards(tmp_path):
    read = amd.read(amd_tree(tmp_path))
    fields = dict(read.fields)
    first, second = fields["devices"]
    assert (first.pci, first.pci_id, first.isa, first.sms) == (MI300X, "1002:74a1", "gfx942", 304)
    assert (first.mem_total_bytes, first.mem_free_bytes) == (192 * GIB, 191 * GIB)
    assert (first.pcie.gen, first.pcie.lanes, first.pcie.lanes_max, first.pcie.replays) == (5, 8, 16, 3)
    assert (first.power.draw_w, first.power.limit_w) == (312, 750)
    assert (first.thermal.gpu_c, first.thermal.slowdown_c, first.thermal.mem_c) == (61, 100, 55)
    assert (first.ecc.corrected_volatile, first.ecc.uncorrected_volatile) == (12, 1)
    assert first.numa_node is None  # -1: the kernel does not know
    assert first.clocks.sm_max_hz == 2.1e9
    assert first.unified_memory is False
    assert [(one.a, one.b, one.kind) for one in fields["paths"]] == [(0, 1, "XGMI")]
    assert second.index == 1
    assert [one.see for one in read.unseen] == ["amd-smi static"]


def smi_card(index, *, units):
    """One card as `amd-smi static` and `metric` tell it; older versions leave the units out."""

    def value(number, unit):
        return {"value": number, "unit": unit} if units else number

    static = {
        "gpu": index,
        "asic": {"market_name": "AMD Instinct MI300X", "device_id": "0x74a1", "num_compute_units": 304,
                 "target_graphics_version": "gfx942"},
        "bus": {"bdf": f"0000:{0xC1 + index:02x}:00.0", "max_pcie_width": 16,
                "max_pcie_speed": value(32, "GT/s")},
        "limit": {"max_power": value(750, "W"), "slowdown_hotspot_temperature": value(100, "C")},
        "driver": {"name": "amdgpu", "version": "6.12.12"},
        "vram": {"type": "HBM3", "size": value(196592, "MB"), "bit_width": 8192},
    }  # fmt: skip
    metric = {
        "gpu": index,
        "usage": {"gfx_activity": value(94, "%"), "mm_activity": "N/A"},
        "power": {"socket_power": value(612, "W"), "gfx_voltage": "N/A"},
        "mem_usage": {"total_vram": value(196592, "MB"), "used_vram": value(17153, "MB")},
        "temperature": {"hotspot": value(70, "C"), "mem": value(60, "C"), "edge": "N/A"},
        "throttle": {"ppt_violation_status": "ACTIVE", "prochot_violation_status": "NOT ACTIVE"},
        "ecc": {"total_correctable_count": 4, "total_uncorrectable_count": 0},
    }
    return static, metric


def tools(folder, **answers):
    """Programs on a PATH of their own that print recorded answers: name -> {words: text}."""
    folder.mkdir(exist_ok=True)
    for name, said in answers.items():
        cases = "".join(f"  '{words}') cat {folder}/{name}.{place} ;;\n" for place, words in enumerate(said))
        for place, text in enumerate(said.values()):
            (folder / f"{name}.{place}").write_text(text, encoding="utf-8")
        program = folder / name.replace("_", "-")
        program.write_text(f'#!/bin/sh\ncase "$*" in\n{cases}  *) exit 9 ;;\nesac\n', encoding="utf-8")
        program.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@posix
@pytest.mark.parametrize("wrapped", [True, False], ids=["gpu_data", "list"])
def test_amd_smi_of_any_version_fills_in_what_the_kernel_lacks(tmp_path, monkeypatch, wrapped):
    statics, metrics = zip(*(smi_card(index, units=wrapped) for index in range(2)), strict=True)

    def told(cards):
        return (
            json.dumps({"gpu_data": list(cards)} if wrapped else list(cards)) + "\n\nLegend:\n  * = Current\n"
        )

    links = [{"gpu": 0, "bdf": MI300X, "links": [{"gpu": 1, "link_type": "XGMI"}]}]
    vram = {"vram_mem": {"value": 1024, "unit": "B"}}
    held = [
        {"gpu": 0, "process_list": [{"process_info": {"pid": 42, "name": "python", "memory_usage": vram}}]}
    ]
    env = tools(
        tmp_path / "bin",
        amd_smi={
            "static --json": told(statics), "metric --json": told(metrics),
            "process --json": json.dumps(held), "topology --json": json.dumps(links),
        },
    )  # fmt: skip
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    root = tmp_path / "root"
    root.mkdir()
    world = amd_tree(root)
    live = World(root=world.root, env=dict(os.environ), is_live=True)
    fields = amd.read(live).fields
    first = fields["devices"][0]
    assert first.name == "AMD Instinct MI300X"
    assert first.mem_total_bytes == 196592 * MIB
    assert first.mem_free_bytes == (196592 - 17153) * MIB
    assert (first.power.draw_w, first.power.limit_max_w) == (612, 750)
    assert first.busy_share == pytest.approx(0.94)
    assert first.power.limit_w == 750  # of the kernel: the tool did not tell
    assert first.slowed_by == ("sw_power_cap",)
    assert (first.ecc.corrected_volatile, first.ecc.uncorrected_volatile) == (4, 0)
    assert [(one.pid, one.name, one.mem_bytes) for one in first.programs] == [(42, "python", 1024)]
    assert [(one.a, one.b, one.kind) for one in fields["paths"]] == [(0, 1, "XGMI")]
    assert fields["software"].driver == "6.12.12"


@pytest.mark.parametrize(
    ("version", "isa"), [(90402, "gfx942"), (110001, "gfx1101"), (90010, "gfx90a"), (0, None)]
)
def test_an_instruction_set_has_its_name(version, isa):
    assert isa_of(version) == isa


def test_a_machine_without_their_cards_starts_none_of_their_tools(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(World, "run", lambda _self, *argv, **_: started.append(argv))
    world = World(root=tmp_path, is_live=True)
    assert amd.read(world).fields == intel.read(world).fields == {}
    assert started == []


@pytest.mark.parametrize(("name", "count"), [("mi100_rocm602", 4), ("rx6700xt_rocm602", 1)])
def test_captured_answers_of_rocm_smi(shared, name, count):
    machine = open_machine(shared / "captures" / "amd" / f"{name}.json")
    assert len(machine.devices) == count
    for device in machine.devices:
        assert device.pci_id.startswith("1002:")
        assert (device.pcie.gen, device.pcie.lanes) == (4, 16)
        assert device.mem_total_bytes > device.mem_used_bytes
        assert device.power.limit_w in {290, 211}
        assert "[" not in device.name


DISCOVERED = {
    "device_list": [
        {"device_id": 0, "device_name": "Intel(R) Data Center GPU Max 1550",
         "pci_bdf_address": "0000:4d:00.0", "pci_device_id": "0xbd5",
         "uuid": "00000000-0000-0000-0000-020a00008086"},
    ]
}  # fmt: skip
IN_FULL = {
    "device_id": 0, "pci_bdf_address": "0000:4d:00.0", "memory_physical_size_byte": str(int(128 * GIB)),
    "memory_free_size_byte": str(int(120 * GIB)), "number_of_eus": "1024", "core_clock_rate_mhz": "1600",
    "pcie_generation": "5", "pcie_max_link_width": "16", "driver_version": "1.3.27",
}  # fmt: skip
STATS = {
    "device_id": 0,
    "device_level": [
        {"metrics_type": "XPUM_STATS_POWER", "value": 310.5},
        {"metrics_type": "XPUM_STATS_GPU_UTILIZATION", "value": 80},
        {"metrics_type": "XPUM_STATS_MEMORY_USED", "value": 8192},
    ],
}


def recorded(folder, **answers):
    """A recorded world: commands and what they said."""
    from rigright.machine.world import command_file

    folder.mkdir(exist_ok=True)
    for line, text in answers.items():
        argv = tuple(line.split(" "))
        (folder / command_file(argv)).write_text(f"0\n{text}", encoding="utf-8")
    return World(root=folder, commands=folder)


def test_xpu_smi_tells_of_intels_cards(tmp_path):
    world = recorded(
        tmp_path,
        **{
            "xpu-smi discovery -j": json.dumps(DISCOVERED),
            "xpu-smi discovery -d 0 -j": json.dumps(IN_FULL),
            "xpu-smi stats -d 0 -j": json.dumps(STATS),
        },
    )
    (card,) = intel.read(world).fields["devices"]
    assert (card.name, card.pci, card.pci_id) == (
        "Intel Data Center GPU Max 1550",
        "0000:4d:00.0",
        "8086:0bd5",
    )
    assert (card.mem_total_bytes, card.mem_used_bytes, card.mem_free_bytes) == (128 * GIB, 8 * GIB, 120 * GIB)
    assert (card.cores, card.pcie.gen_max, card.power.draw_w, card.busy_share) == (1024, 5, 310.5, 0.8)


def test_graphics_in_a_processor_is_no_card_of_intels(tmp_path):
    for place, address in enumerate(("0000:00:02.0", "0000:03:00.0")):
        real = tree(
            tmp_path,
            {f"/sys/devices/{address}/vendor": "0x8086\n", f"/sys/devices/{address}/device": "0xe20b\n"},
        )
        link = tmp_path / f"sys/class/drm/card{place}/device"
        link.parent.mkdir(parents=True)
        link.symlink_to(real / f"sys/devices/{address}")
    read = intel.read(World(root=tmp_path))
    (card,) = dict(read.fields)["devices"]
    assert (card.pci, card.pci_id, card.index) == ("0000:03:00.0", "8086:e20b", 0)
    assert [one.see for one in read.unseen] == ["xpu-smi discovery"]


MAC = {
    "SPHardwareDataType": [
        {"chip_type": "Apple M3 Ultra", "machine_model": "Mac15,14", "number_processors": "proc 32:24:8",
         "physical_memory": "256 GB", "serial_number": "HIDDEN"}
    ],
    "SPDisplaysDataType": [{"sppci_model": "Apple M3 Ultra", "sppci_cores": "80"}],
}  # fmt: skip
PAGES = """Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                              100000.
Pages inactive:                           50000.
"""


@pytest.mark.parametrize(("wired", "free"), [("0", 150_000 * 16384), ("1024", 1024 * MIB)])
def test_a_mac_is_one_chip_with_one_memory(tmp_path, wired, free):
    world = recorded(
        tmp_path,
        **{
            "system_profiler SPHardwareDataType SPDisplaysDataType -json": json.dumps(MAC),
            "vm_stat": PAGES,
            "sysctl -n iogpu.wired_limit_mb": wired,
        },
    )
    fields = apple.read(world).fields
    (chip,) = fields["devices"]
    assert (chip.name, chip.cores, chip.isa, chip.unified_memory) == ("Apple M3 Ultra", 80, "metal", True)
    assert (chip.mem_total_bytes, chip.mem_free_bytes) == (256 * GIB, free)
    assert fields["cpu"].cores == 32
    assert fields["system"].product == "Mac15,14"


def test_a_mac_of_intels_time_has_no_accelerator(tmp_path):
    old = {"SPDisplaysDataType": [{"sppci_model": "AMD Radeon Pro 5500M"}]}
    world = recorded(
        tmp_path, **{"system_profiler SPHardwareDataType SPDisplaysDataType -json": json.dumps(old)}
    )
    assert apple.read(world).fields == {}


@pytest.mark.skipif(sys.platform == "win32", reason="no links without leave on Windows")
def test_broken_trees_are_read_as_far_as_they_go(tmp_path):
    world = amd_tree(tmp_path, cards=1)
    card = tmp_path / "sys/class/drm/card0/device"
    for name, rubbish in (("mem_info_vram_total", "lots"), ("current_link_width", "∞"), ("numa_node", "")):
        (card / name).write_text(rubbish, encoding="utf-8")
    (device,) = amd.read(world).fields["devices"]
    assert (device.mem_total_bytes, device.mem_free_bytes, device.pcie.lanes, device.numa_node) == (None,) * 4
