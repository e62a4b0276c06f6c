"""Cards as their owners met them: odd figures, odd names, switches on cards, graphics inside processors."""

from __future__ import annotations

import json
import os

import pytest
from test_other_vendors import recorded, tree

from rigright.base.units import GIB, MIB
from rigright.doctor.examine import case_of, examine
from rigright.doctor.recognise import chip_of
from rigright.machine.amd.kernel import shares_memory
from rigright.machine.device import Device
from rigright.machine.host import Memory
from rigright.machine.opened import open_machine, read_machine
from rigright.machine.record import Machine, free_bytes
from rigright.machine.running.drivers import drivers
from rigright.machine.running.frameworks import frameworks
from rigright.machine.running.log_lines import event_of
from rigright.machine.sampling.drm import DrmReader
from rigright.machine.system import Framework, Python, Software
from rigright.machine.values import gen_of
from rigright.machine.vendors import amd, apple, intel
from rigright.machine.world import World

posix = pytest.mark.skipif(os.name == "nt", reason="links of a tree of Linux")


def told(document):
    """The machine of one answer."""
    return read_machine(json.dumps(document).encode(), name="answer")


def metric(**parts):
    """One card as `amd-smi metric --json` of ROCm 7 tells it."""
    return {"gpu_data": [{"gpu": 0, "usage": {"gfx_activity": {"value": 91, "unit": "%"}}, **parts}]}


def test_a_limit_of_nothing_is_not_known():
    clock = {"clk": {"value": 2774, "unit": "MHz"}, "max_clk": {"value": 0, "unit": "MHz"}}
    (card,) = told(metric(clock={"gfx_0": clock, "mem_0": {"clk": "N/A", "max_clk": "N/A"}})).devices
    assert (card.clocks.sm_hz, card.clocks.sm_max_hz, card.clocks.mem_max_hz) == (2.774e9, None, None)
    assert card.busy_share == pytest.approx(0.91)


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_figure_with_all_bits_set_is_none(wrapped):
    def bits(number, unit):
        return {"value": number, "unit": unit} if wrapped else number

    power = {"socket_power": bits(65535, "W")}
    heat = {"hotspot": bits(4294967295, "C"), "mem": bits(61, "C")}
    (card,) = told(metric(power=power, temperature=heat, pcie={"width": 65535})).devices
    assert (card.power.draw_w, card.thermal.gpu_c, card.thermal.mem_c, card.pcie.lanes) == (None,) * 2 + (
        61,
        None,
    )


def static(version="6.12.12", name="AMD Instinct MI300X", **asic):
    card = {"gpu": 0, "driver": {"name": "amdgpu", "version": version}, "asic": {"market_name": name, **asic}}
    return {"gpu_data": [card]}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("6.12.12", "6.12.12"),
        ("Linuxversion6.8.0-79-generic(buildd@host)(gcc13.3.0)#79-UbuntuSMPPREEMPT_DYNAMIC", None),
        ("N/A", None),
    ],
)
def test_the_kernels_own_amdgpu_has_no_version(said, meant):
    assert told(static(said)).software.driver == meant


def test_rocm_smi_puts_the_kernel_where_the_driver_should_be():
    card = {"card0": {"Device Name": "AMD Instinct MI100", "Device ID": "0x738c"}}
    machine = told({**card, "system": {"Driver version": "5.19.0-46-generic"}})
    assert machine.software.driver is None


@pytest.mark.parametrize(
    ("said", "meant"),
    [("gfx9010", "gfx90a"), ("gfx90a", "gfx90a"), ("gfx942", "gfx942"), ("gfx9012", "gfx90c"),
     ("gfx1100", "gfx1100"), ("N/A", None), ("gfx", None)],
)  # fmt: skip
def test_an_instruction_set_is_named_as_compilers_name_it(said, meant):
    machine = told({"card0": {"Card Series": "AMD INSTINCT MI200 (MCM) OAM", "GFX Version": said}})
    assert machine.devices[0].isa == meant


def test_a_number_is_no_name():
    machine = told({"card0": {"Card series": "0x738c", "Device ID": "0x738c"}})
    assert (machine.devices[0].name, machine.devices[0].pci_id) == (None, "1002:738c")


@pytest.mark.parametrize(
    ("speed", "gen"),
    [("16.0 GT/s", 4), ("32 GT/s", 5), ("16000 MT/s", 4), ("2500 MT/s", 1), ("9 GT/s", None)],
)
def test_speeds_of_links_in_either_unit(speed, gen):
    assert gen_of(speed) == gen


@pytest.mark.parametrize(
    ("pci_id", "gib", "units", "chip"),
    [
        ("1002:744c", 23.98, 96, "rx-7900-xtx"),
        ("1002:744c", 19.98, 84, "rx-7900-xt"),
        ("1002:744c", 15.98, 80, "rx-7900-gre"),
        ("1002:73bf", 15.98, 72, "rx-6800-xt"),
        ("1002:73bf", 15.98, 80, "rx-6900-xt"),
        ("1002:73bf", 15.98, 60, "rx-6800"),
        ("1002:74b5", 191.98, 304, "mi300x"),
        ("1002:7550", 15.9, 56, "rx-9070"),
        ("1002:7550", 15.9, 64, "rx-9070-xt"),
        ("1002:66a1", 31.98, 60, "mi50-32gb"),
        ("1002:66a1", 31.98, 64, "mi60"),
        ("8086:e211", 23.9, None, "arc-pro-b60"),
        ("8086:e212", 15.9, None, "arc-pro-b50"),
        ("8086:0bda", 47.98, None, "max-1100"),
    ],
)
def test_cards_of_one_number_are_told_apart_by_memory_and_units(pci_id, gib, units, chip):
    name = "Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]" if pci_id == "1002:744c" else None
    vendor = "intel" if pci_id.startswith("8086") else "amd"
    device = Device(index=0, vendor=vendor, name=name, pci_id=pci_id, mem_total_bytes=gib * GIB, sms=units)
    found = chip_of(device)
    assert (found.id if found else None) == chip


HALO, CARD = "0000:c5:00.0", "0000:03:00.0"


def halo(root, *, vram=0.5, gtt=62.5, version=110501):
    """A tree with graphics inside a processor, to which the kernel lends memory."""
    real = f"/sys/devices/pci0000:00/0000:00:08.1/{HALO}"
    files = {
        "vendor": "0x1002\n", "device": "0x1586\n", "class": "0x038000\n",
        "mem_info_vram_total": f"{int(vram * GIB)}\n", "mem_info_vram_used": f"{int(0.2 * GIB)}\n",
        "mem_info_gtt_total": f"{int(gtt * GIB)}\n", "mem_info_gtt_used": f"{int(2 * GIB)}\n",
        "hwmon/hwmon5/temp1_label": "edge\n", "hwmon/hwmon5/temp1_input": "41000\n",
        "gpu_busy_percent": "3\n", "hwmon/hwmon5/power1_input": "23061000\n",
    }  # fmt: skip
    tree(root, {f"{real}/{name}": text for name, text in files.items()})
    node = f"simd_count 80\nsimd_per_cu 2\ncpu_cores_count 0\ngfx_target_version {version}\n"
    tree(root, {"/sys/class/kfd/kfd/topology/nodes/1/properties": f"{node}location_id 50432\ndomain 0\n"})
    linked(root, "sys/class/drm/card1/device", real)
    linked(root, f"sys/bus/pci/devices/{HALO}", real)
    return World(root=root)


def linked(root, at, real):
    place = root / at
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(root / real.lstrip("/"))


@posix
@pytest.mark.parametrize(("vram", "gtt", "total"), [(0.5, 62.5, 62.5), (96, 15.4, 96)])
def test_graphics_inside_a_processor_has_the_larger_of_what_is_set_aside_and_lent(tmp_path, vram, gtt, total):
    world = halo(tmp_path, vram=vram, gtt=gtt)
    (chip,) = amd.read(world).fields["devices"]
    assert (chip.isa, chip.sms, chip.unified_memory) == ("gfx1151", 40, True)
    assert chip.mem_total_bytes == total * GIB
    assert chip.mem_free_bytes == pytest.approx((total - (2 if gtt > vram else 0.2)) * GIB)
    (tick,) = DrmReader(world).read(0.0)
    assert (tick.mem_total_bytes, tick.mem_used_bytes) == (chip.mem_total_bytes, chip.mem_used_bytes)
    assert chip_of(chip).id == "strix-halo-8060s"


@posix
def test_a_card_keeps_its_own_memory_however_much_is_lent(tmp_path):
    world = halo(tmp_path, vram=16, gtt=62.5, version=110000)
    (card,) = amd.read(world).fields["devices"]
    assert (card.isa, card.unified_memory, card.mem_total_bytes) == ("gfx1100", False, 16 * GIB)
    (tick,) = DrmReader(world).read(0.0)
    assert tick.mem_total_bytes == 16 * GIB


def test_amd_smi_tells_of_lent_memory_too():
    asic = {"market_name": "AMD Radeon Graphics", "device_id": "0x1586", "target_graphics_version": "gfx1151"}
    used = {"total_vram": 512, "used_vram": 200, "free_vram": 312, "total_gtt": 64000, "used_gtt": 1000}
    memory = {name: {"value": size, "unit": "MB"} for name, size in used.items()}
    (chip,) = told({"gpu_data": [{"gpu": 0, "asic": asic, "mem_usage": memory}]}).devices
    assert (chip.unified_memory, chip.mem_total_bytes, chip.mem_free_bytes) == (
        True,
        64000 * MIB,
        63000 * MIB,
    )
    assert chip_of(chip).id == "strix-halo-8060s"


@pytest.mark.parametrize(
    ("vendor", "own", "available", "free"),
    [("amd", 60, 100, 60), ("amd", 60, 20, 20), ("apple", 48, 60, 48), ("nvidia", 3, 100, 100)],
)
def test_what_is_free_of_shared_memory_is_below_the_limit_of_the_system(vendor, own, available, free):
    device = Device(index=0, vendor=vendor, unified_memory=True, mem_free_bytes=own * GIB)
    machine = Machine(devices=(device,), memory=Memory(available_bytes=available * GIB))
    assert free_bytes(device, machine) == free * GIB


def on_a_switch(root, *, vendor, root_port="0x1022", sensors=()):
    """A card behind the switch that it carries, in a slot of x4 Gen3."""
    port, upper = "/sys/devices/pci0000:00/0000:00:01.1", "0000:01:00.0"
    lower = f"{upper}/0000:02:00.0"
    card = f"{lower}/{CARD}"
    links = {upper: ("8.0 GT/s PCIe", 4), lower: ("16.0 GT/s PCIe", 16), card: ("2.5 GT/s PCIe", 1)}
    tree(root, {f"{port}/vendor": f"{root_port}\n", f"{port}/class": "0x060400\n"})
    for place, (speed, lanes) in links.items():
        kind = "0x030000" if place == card else "0x060400"
        files = {"vendor": vendor, "class": kind, "device": "0xe20b", "max_link_speed": "16.0 GT/s PCIe",
                 "current_link_speed": speed, "current_link_width": lanes, "max_link_width": 16}  # fmt: skip
        tree(root, {f"{port}/{place}/{name}": f"{text}\n" for name, text in files.items()})
    tree(root, {f"{port}/{card}/hwmon/hwmon3/{name}": f"{text}\n" for name, text in dict(sensors).items()})
    linked(root, "sys/class/drm/card0/device", f"{port}/{card}")
    return World(root=root)


XE = {
    "energy2_input": 5_000_000, "power2_max": 190_000_000, "fan1_input": 900, "temp2_label": "pkg",
    "temp2_input": 52_000, "temp3_label": "vram", "temp3_input": 60_000, "name": "xe",
}  # fmt: skip


@posix
@pytest.mark.parametrize(("vendor", "reader"), [("0x1002", amd), ("0x8086", intel)])
def test_the_link_of_a_card_with_a_switch_is_the_one_to_its_slot(tmp_path, vendor, reader):
    world = on_a_switch(tmp_path, vendor=vendor, sensors=XE)
    (card,) = reader.read(world).fields["devices"]
    assert (card.pci, card.pcie.gen, card.pcie.lanes, card.pcie.lanes_max) == (CARD, 3, 4, 16)
    (tick,) = DrmReader(world).read(0.0)
    assert (tick.pcie_gen, tick.pcie_lanes) == (3, 4)


@posix
def test_the_ports_of_an_intel_board_are_no_switch_of_the_card(tmp_path):
    port = "/sys/devices/pci0000:00/0000:00:01.0"
    files = {"vendor": "0x8086\n", "class": "0x030000\n", "current_link_width": "8\n",
             "current_link_speed": "16.0 GT/s PCIe\n"}  # fmt: skip
    tree(tmp_path, {f"{port}/{CARD}/{name}": text for name, text in files.items()})
    tree(tmp_path, {f"{port}/vendor": "0x8086\n", f"{port}/class": "0x060400\n"})
    linked(tmp_path, "sys/class/drm/card0/device", f"{port}/{CARD}")
    (card,) = intel.read(World(root=tmp_path)).fields["devices"]
    assert (card.pcie.gen, card.pcie.lanes) == (4, 8)


@posix
def test_xe_tells_of_the_package_second(tmp_path):
    world = on_a_switch(tmp_path, vendor="0x8086", sensors=XE)
    (card,) = intel.read(world).fields["devices"]
    assert (card.power.limit_w, card.thermal.gpu_c, card.thermal.mem_c) == (190, 52, 60)
    (tick,) = DrmReader(world).read(0.0)
    assert (tick.power_limit_w, tick.energy_j, tick.gpu_c, tick.mem_c) == (190, 5, 52, 60)


def figures(**values):
    return [{"metrics_type": f"XPUM_STATS_{name}", "value": value} for name, value in values.items()]


def xpu(tmp_path, *, stats, **one):
    """One card of xpu-smi."""
    card = {"device_id": 0, "pci_bdf_address": "0000:17:00.0", "pci_device_id": "0xe211",
            "memory_physical_size_byte": str(24 * GIB), **one}  # fmt: skip
    said = {"xpu-smi discovery -j": {"device_list": [card]}, "xpu-smi stats -d 0 -j": stats}
    world = recorded(tmp_path, **{line: json.dumps(answer) for line, answer in said.items()})
    fields = intel.read(world).fields
    return fields["devices"][0], fields["software"].driver


@pytest.mark.parametrize("used", [8192.0, 8192 * MIB], ids=["mebibytes", "bytes"])
def test_xpu_smi_counts_memory_in_mebibytes_and_once_did_in_bytes(tmp_path, used):
    card, _ = xpu(tmp_path, stats={"device_level": figures(MEMORY_USED=used)})
    assert (card.mem_used_bytes, card.mem_free_bytes) == (8 * GIB, 16 * GIB)


def test_figures_of_tiles_make_the_card(tmp_path):
    first = figures(POWER=100, MEMORY_USED=100, GPU_UTILIZATION=90, GPU_FREQUENCY=1600)
    second = figures(POWER=90, MEMORY_USED=60, GPU_UTILIZATION=10, GPU_FREQUENCY=900)
    tiles = [{"tile_id": 0, "data_list": first}, {"tile_id": 1, "data_list": second}]
    card, _ = xpu(tmp_path, stats={"device_level": figures(POWER=250.5), "tile_level": tiles})
    assert card.power.draw_w == 250.5  # of the whole card, where that is told
    assert (card.mem_used_bytes, card.busy_share, card.clocks.sm_hz) == (160 * MIB, 0.5, 1.6e9)


@pytest.mark.parametrize("broken", [None, 3, {"tile_level": [3, {"data_list": {}}], "device_level": "x"}])
def test_broken_figures_are_none(tmp_path, broken):
    card, _ = xpu(tmp_path, stats=broken)
    assert (card.power.draw_w, card.busy_share) == (None, None)


@pytest.mark.parametrize(
    ("said", "meant"),
    [("1.3.27642", "1.3.27642"), ("I915_23.10.72_PSB_231129.76", "23.10.72"), ("7B7A46009E666C4D1", None)],
)
def test_a_hash_is_no_version_of_a_driver(tmp_path, said, meant):
    assert xpu(tmp_path, stats=None, driver_version=said)[1] == meant


def test_a_card_newer_than_its_library_is_known_by_its_number(tmp_path):
    card, _ = xpu(tmp_path, stats=None, device_name="Intel(R) Graphics [0xe211]")
    assert (card.name, chip_of(card).id) == (None, "arc-pro-b60")


def test_no_memory_is_told_as_zero(tmp_path):
    card, _ = xpu(tmp_path, stats=None, memory_physical_size_byte="0")
    assert (card.mem_total_bytes, card.mem_used_bytes) == (None, None)


KERNELS = (
    "TensileLibrary_lazy_gfx1030.dat",
    "Kernels.so-000-gfx90a-xnack+.hsaco",
    "gfx906_fallback.co",
    "TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx1201.co",
    "TensileManifest.txt",
)


@pytest.mark.parametrize(
    ("kept", "archs"), [(KERNELS, ("gfx1030", "gfx1201", "gfx906", "gfx90a")), ((), None)]
)
def test_a_rocm_wheel_has_the_kernels_whose_files_it_bears(tmp_path, kept, archs):
    site = tmp_path / "site/torch"
    library = site / "lib/rocblas/library"
    library.mkdir(parents=True)
    (site / "version.py").write_text("__version__ = '2.9.1+rocm6.4'\nhip: str = '6.4.43'\n", encoding="utf-8")
    for name in kept:
        (library / name).touch()
    (torch,) = frameworks(World(root=tmp_path), ("/site",), packages=())
    assert (torch.build, torch.archs) == ("rocm6.4", archs)


@posix
def test_who_looks_from_afar_cannot_tell_what_is_closed(tmp_path, monkeypatch):
    tree(tmp_path, {"/dev/kfd": "", "/dev/dri/renderD128": "", "/dev/dri/card0": ""})
    assert drivers(World(root=tmp_path))["closed_files"] is None
    live = World(root=tmp_path, is_live=True)
    assert drivers(live)["closed_files"] == ()
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert drivers(live)["closed_files"] == ("kfd", "dri/renderD128")


def test_every_isa_inside_a_processor_is_named_as_compilers_do():
    assert shares_memory("gfx1151")
    assert not any(map(shares_memory, ("gfx1100", "gfx942", "gfx1201", None)))


def test_a_mac_whose_gpu_is_held_to_a_limit_gives_no_more(tmp_path):
    profile = {"SPHardwareDataType": [{"chip_type": "Apple M4 Max", "physical_memory": "128 GB"}]}
    pages = "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free: 6553600.\n"
    said = {
        "system_profiler SPHardwareDataType SPDisplaysDataType -json": json.dumps(profile),
        "vm_stat": pages, "sysctl -n iogpu.wired_limit_mb": "65536",
    }  # fmt: skip
    fields = apple.read(recorded(tmp_path, **said)).fields
    (chip,) = fields["devices"]
    assert free_bytes(chip, Machine(devices=(chip,), memory=fields["memory"])) == 64 * GIB


def test_files_that_each_tell_a_part_of_the_same_cards_make_each_card_once(tmp_path):
    (drawing,), (known,) = metric(power={"socket_power": 140})["gpu_data"], static()["gpu_data"]
    answers = {
        "list": [{"gpu": card, "bdf": f"0000:0{5 + card}:00.0", "uuid": "x"} for card in range(2)],
        "metric": [{**drawing, "gpu": card} for card in range(2)],
        "static": [{**known, "gpu": card} for card in range(2)],
    }
    for name, answer in answers.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(answer), encoding="utf-8")
    found = open_machine(tmp_path).devices
    assert [(one.index, one.name, one.pci, one.power.draw_w) for one in found] == [
        (0, "AMD Instinct MI300X", "0000:05:00.0", 140),
        (1, "AMD Instinct MI300X", "0000:06:00.0", 140),
    ]


LINES = (
    ("kfd kfd: amdgpu: skipped device 1002:744c, PCI rejects atomics 494<509", "fault"),
    ("kfd kfd: skipped device 1002:67df, PCI rejects atomics", "fault"),
    ("amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init", "fault"),
    ("amdgpu 0000:03:00.0: Direct firmware load for amdgpu/vega20_ta.bin failed with error -2", "note"),
)


@pytest.mark.parametrize(("line", "severity"), LINES)
def test_what_keeps_a_card_of_amd_out_is_found_in_the_log(line, severity):
    event = event_of(line)
    assert event.kind == "driver"
    machine = Machine(devices=(Device(index=0, vendor="amd"),), events=(event,))
    (finding,) = [found for _, found in examine(case_of(machine), ("log_driver",)).findings]
    assert finding.severity == severity


SEEN = "79ccd55167a21240"


@pytest.mark.parametrize(
    ("variables", "severities"),
    [
        ({"ROCR_VISIBLE_DEVICES": f"GPU-{SEEN}"}, {"note"}),
        ({"ROCR_VISIBLE_DEVICES": "GPU-79CC,1"}, set()),
        ({"ROCR_VISIBLE_DEVICES": "GPU-0000"}, {"warning"}),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, {"note", "warning"}),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"}, {"note"}),
        ({"HIP_VISIBLE_DEVICES": "0,1"}, set()),
    ],
)
def test_hip_counts_the_cards_that_the_runtime_below_left(variables, severities):
    cards = tuple(Device(index=place, vendor="amd", uuid=uuid) for place, uuid in enumerate((SEEN, "79dd00")))
    machine = Machine(devices=cards, environment=tuple(sorted(variables.items())))
    found = examine(case_of(machine), ("visible_devices",)).findings
    assert {finding.severity for _, finding in found} == severities


RAPHAEL = {"vendor": "amd", "pci_id": "1002:164e", "isa": "gfx1036", "unified_memory": True}
ARC = {"vendor": "intel", "pci_id": "8086:e20b"}
RADEON = {"vendor": "amd", "pci_id": "1002:744c", "sms": 96}


@pytest.mark.parametrize(
    ("card", "build", "severities"),
    [
        (RAPHAEL, "cpu", set()),
        (ARC, "cpu", {"warning"}),
        (ARC, "xpu", set()),
        (ARC, "cu128", {"warning"}),
        (RADEON, "cpu", {"warning"}),
        (RADEON, "rocm6.4", set()),
    ],
)
def test_a_build_is_held_against_cards_that_compute(card, build, severities):
    torch = Framework(name="torch", version="2.9.1", build=build)
    software = Software(pythons=(Python(path="/usr/bin/python3", frameworks=(torch,)),))
    machine = Machine(devices=(Device(index=0, mem_total_bytes=24 * GIB, **card),), software=software)
    found = examine(case_of(machine), ("torch_cpu_only",)).findings
    assert {finding.severity for _, finding in found} == severities
