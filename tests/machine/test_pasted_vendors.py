"""What AMD's, Intel's and Jetson's tools print for people, as it is pasted into reports."""

from __future__ import annotations

import pytest

from rigright.base.units import GIB, KIB, MEGA, MIB
from rigright.doctor.recognise import chip_of
from rigright.machine.opened import read_machine

STATIC = """CPU: 0
    SMU:
        FW_VERSION: 1.2.3
GPU: 0
    ASIC:
        MARKET_NAME: AMD Radeon RX 7900 XTX
        DEVICE_ID: 0x744c
        NUM_COMPUTE_UNITS: 96
        TARGET_GRAPHICS_VERSION: gfx1100
    BUS:
        BDF: 0000:03:00.0
        MAX_PCIE_WIDTH: 16
        MAX_PCIE_SPEED: 16 GT/s
    LIMIT:
        MAX_POWER: 327 W
        SOCKET_POWER: 303 W
        SLOWDOWN_HOTSPOT_TEMPERATURE: 110 °C
        SHUTDOWN_EDGE_TEMPERATURE: N/A
    DRIVER:
        NAME: amdgpu
        VERSION: 6.12.12
    VRAM:
        TYPE: GDDR6
        SIZE: 24560 MB
        BIT_WIDTH: 384

GPU: 0
    USAGE:
        GFX_ACTIVITY: 97 %
        VCN_ACTIVITY: [N/A, N/A,
            N/A]
    POWER:
        SOCKET_POWER: 290 W
    TEMPERATURE:
        HOTSPOT: 84 °C
        MEM: N/A
    MEM_USAGE:
        TOTAL_VRAM: 24560 MB
        USED_VRAM: 20001 MB

GPU: 0
    PROCESS_INFO:
        NAME: python3
        PID: 4321
        MEMORY_USAGE:
            VRAM_MEM: 4.0 GB
"""
MONITOR = """GPU  XCP  POWER  GPU_T  MEM_T  GFX_CLK  GFX%  MEM%  ENC%  VRAM_USED  VRAM_TOTAL
  0    0  612 W  70 °C  60 °C  2100 MHz  94 %  31 %  N/A  17153 MB  196592 MB
  1    0  599 W  68 °C  58 °C  2098 MHz  93 %  30 %  N/A  17001 MB  196592 MB
"""
PICTURE = """+------------------------------------------------------------------------------+
| AMD-SMI          26.2.1                                                      |
|-------------------------------------+----------------------------------------|
| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |
| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |
|=====================================+========================================|
| 0000:01:00.0 ...nstinct MI300A] (0) | 3 %     47 °C   2            110/550 W |
|   0       0       0       SPX/NPS1  | 5 %     0 %             1014/131072 MB |
|-------------------------------------+----------------------------------------|
| 0001:01:00.0 ...nstinct MI300A] (1) | 0 %     46 °C   0            106/550 W |
|   1       1       1       SPX/NPS1  | 0 %     N/A               14/131072 MB |
+-------------------------------------+----------------------------------------+
"""
INFO = """======================= ROCm System Management Interface =======================
========================= Version of System Component ==========================
Driver version: 6.12.12
================================================================================
GPU[0]\t\t: GPU ID: 0x687f

GPU[1]\t\t: GPU ID: 0x687f
GPU[0]\t\t: Temperature (Sensor junction) (C): 63.0
GPU[1]\t\t: Temperature (Sensor junction) (C): N/A
GPU[1]\t\t: mclk clock level: 3: (1050Mhz)
GPU[1]\t\t: sclk clock level: 7: (900Mhz)
GPU[1]\t\t: pcie clock level: 1 (5.0GT/s x1)
GPU[0]\t\t: Max Graphics Package Power (W): 264.0
GPU[0]\t\t: 1. Available power profile (#1 of 7): CUSTOM
GPU[0]\t\t: PCI Bus: 0000:04:00.0
GPU[1]\t\t: PCI Bus: 0000:07:00.0
GPU[0]      : VRAM Total Memory (B): 8573157376
GPU[0]\t\t: Card series: \t\tVega 10 XL/XT [Radeon RX Vega 56/64]
============================= End of ROCm SMI Log ==============================
"""
OLD_TABLE = """======================= ROCm System Management Interface =======================
================================= Concise Info =================================
GPU  Temp   AvgPwr  SCLK    MCLK     Fan    Perf    PwrCap  VRAM%  GPU%
0    57.0c  119.0W  900Mhz  1050Mhz  0%     manual  264.0W   83%   100%
1    56.0c  N/A     900Mhz  1050Mhz  80.0%  manual  264.0W   83%   N/A
================================================================================
============================= End of ROCm SMI Log ==============================
3    56.0c  130.0W  900Mhz  1050Mhz  80.0%  manual  264.0W   83%   100%
"""
TABLE = """============================================ ROCm System Management Interface ===========================
====================================================== Concise Info ====================================
Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK    Fan  Perf  PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)
========================================================================================================
0       2     0x74a1,   11111  48.0°C      135.0W    NPS1, CPX, 0        122Mhz  900Mhz  0%   auto  750.0W  0%     7%
1       3     N/A,      22222  N/A         N/A       N/A, N/A, 1         N/A     N/A     0%   n/a   N/A     0%     N/A
2       4     0x74a1,   33333  42.0°C      130.0W    NPS1, CPX, 0        122Mhz  900Mhz  0%   auto  750.0W  0%     0%
3       5     0x74a1,   44444  42.0°C      130.0W    NPS1, CPX, 1        122Mhz  900Mhz  0%   auto  750.0W  0%     0%
========================================================================================================
"""  # noqa: E501 - as wide as it is printed


def agent(number, isa, name, **said):
    """One agent of rocminfo."""
    kind = "GPU" if isa.startswith("gfx") else "CPU"
    lines = {"Name": isa, "Uuid": f"{kind}-XX", "Marketing Name": name, "Device Type": kind} | said
    told = "".join(f"  {key + ':':24} {value:34}\n" for key, value in lines.items() if key != "pool")
    pool = said.get("pool")
    pools = (
        ""
        if pool is None
        else (
            "  Pool Info:\n    Pool 1\n      Segment:                 GLOBAL; FLAGS: COARSE GRAINED      \n"
            f"      Size:                    {pool}(0x{pool:x}) KB            \n"
        )
    )
    inner = "  ISA Info:\n    ISA 1\n      Name:                    amdgcn-amd-amdhsa--other\n"
    stars = "*******                  "
    return f"{stars}\nAgent {number}                  \n{stars}\n{told}{pools}{inner}"


def card(number, bdf, **said):
    """One MI300X, or a part of it."""
    told = {"Uuid": f"GPU-{number:016x}", "Chip ID": "29857(0x74a1)", "Max Clock Freq. (MHz)": "2100"}
    told |= {"BDFID": str(bdf), "Compute Unit": "304"}
    return agent(number, "gfx942", "AMD Instinct MI300X", **(told | said))


HEAD = "ROCk module is loaded\n==========\nHSA Agents\n==========\n"
CPU = agent(1, "AMD EPYC 9654 96-Core Processor", "AMD EPYC 9654 96-Core Processor", pool=791_000_000)
ROCMINFO = HEAD + CPU + card(2, 5 << 8, pool=201308160)
XPU = """+-----------+--------------------------------------------------------------------------------------+
| Device ID | Device Information                                                                   |
+-----------+--------------------------------------------------------------------------------------+
| 0         | Device Type: GPU                                                                     |
|           | Device Name: Intel(R) Arc(TM) B580 Graphics                                          |
|           | PCI Device ID: 0xe20b                                                                |
|           | SOC UUID: 00000000-0000-0003-0000-0000e20b8086                                       |
|           | Serial Number: unknown                                                               |
|           | Core Clock Rate: 2850 MHz                                                            |
|           | PCI BDF Address: 0000:03:00.0                                                        |
|           | PCIe Generation: 4                                                                   |
|           | PCIe Max Link Width: 8                                                               |
|           | Memory Physical Size: 12216.00 MiB                                                   |
|           | Number of EUs: 160                                                                   |
+-----------+--------------------------------------------------------------------------------------+
| 1         | Device Name: Intel(R) Arc(TM) A770 Graphics                                          |
|           | PCI BDF Address: 0000:06:00.0                                                        |
+-----------+--------------------------------------------------------------------------------------+
"""
TEGRA = (
    "11-20-2026 10:00:00 RAM 2544/62841MB (lfb 4x4MB) SWAP 0/31420MB (cached 0MB) CPU [1%@1728,off]"
    " GR3D_FREQ 0%@[306] cpu@46.2C gpu@44C VDD_GPU_SOC 2000mW/2000mW VDD_IN 9000mW/9000mW\n"
    "11-20-2026 10:00:01 RAM 30544/62841MB (lfb 4x4MB) SWAP 0/31420MB (cached 0MB) CPU [1%@1728,off]"
    " GR3D_FREQ 97%@[1300,1300] cpu@56.2C gpu@61.5C VDD_GPU_SOC 20000mW/9mW VDD_IN 41250mW/9000mW\n"
)
RELEASE = """Software part of jetson-stats 4.3.0 - (c) 2024
Model: NVIDIA Jetson Orin NX Engineering Reference Developer Kit - Jetpack 6.2 [L4T 36.4.3]
NV Power Mode[2]: 15W
Hardware:
 - P-Number: p3767-0000
 - Module: NVIDIA Jetson Orin NX (16GB ram)
Platform:
 - Distribution: Ubuntu 22.04 Jammy Jellyfish
 - Release: 5.15.148-tegra
"""
PASTED = [STATIC, MONITOR, PICTURE, INFO, OLD_TABLE, TABLE, ROCMINFO, XPU, TEGRA, RELEASE]


def read(text):
    return read_machine(text.encode(), name="pasted")


def test_the_trees_of_amd_smi():
    machine = read(STATIC)
    (one,) = machine.devices
    assert (one.name, one.pci, one.isa, one.sms) == ("AMD Radeon RX 7900 XTX", "0000:03:00.0", "gfx1100", 96)
    assert (one.mem_total_bytes, one.mem_free_bytes) == (24560 * MIB, 4559 * MIB)
    assert (one.power.limit_w, one.power.draw_w, one.thermal.gpu_c) == (303, 290, 84)
    assert (one.thermal.slowdown_c, one.thermal.shutdown_c, one.thermal.mem_c) == (110, None, None)
    assert (one.busy_share, one.pcie.gen_max, one.pcie.lanes_max) == (pytest.approx(0.97), 4, 16)
    assert [(told.pid, told.name, told.mem_bytes) for told in one.programs] == [(4321, "python3", 4 * GIB)]
    assert machine.software.driver == "6.12.12"
    assert chip_of(one).id == "rx-7900-xtx"


def test_the_table_of_amd_smi_monitor():
    first, second = read(MONITOR).devices
    assert (first.power.draw_w, first.thermal.gpu_c, first.thermal.mem_c) == (612, 70, 60)
    assert (first.clocks.sm_hz, first.busy_share) == (2100 * MEGA, pytest.approx(0.94))
    assert (second.mem_total_bytes, second.mem_used_bytes) == (196592 * MIB, 17001 * MIB)


def test_the_picture_of_amd_smi():
    first, second = read(PICTURE).devices
    assert (first.pci, second.pci, second.index) == ("0000:01:00.0", "0001:01:00.0", 1)
    assert (first.power.draw_w, first.power.limit_w, first.thermal.gpu_c) == (110, 550, 47)
    assert (first.mem_used_bytes, first.mem_total_bytes) == (1014 * MIB, 131072 * MIB)
    assert (first.busy_share, first.mem_busy_share) == (pytest.approx(0.05), pytest.approx(0.03))
    assert (first.ecc.uncorrected_volatile, second.ecc.uncorrected_volatile) == (2, 0)
    assert first.slices == ()
    assert chip_of(first).id == "mi300a"


def test_the_picture_of_cards_in_parts():
    whole = PICTURE.replace("SPX/NPS1", "TPX/NPS1").replace("0001:01:00.0", "0000:01:00.0")
    (one,) = read(whole).devices
    assert [part.profile for part in one.slices] == ["TPX/NPS1"] * 2


def test_all_information_of_rocm_smi():
    machine = read(INFO)
    first, second = machine.devices
    assert (first.name, first.pci_id, first.pci) == ("Radeon RX Vega 56/64", "1002:687f", "0000:04:00.0")
    assert (first.thermal.gpu_c, second.thermal.gpu_c) == (63, None)
    assert (second.clocks.sm_hz, second.clocks.mem_hz) == (900 * MEGA, 1050 * MEGA)
    assert (second.pcie.gen, second.pcie.lanes) == (2, 1)
    assert (first.power.limit_w, first.mem_total_bytes) == (264, 8573157376)
    assert machine.software.driver == "6.12.12"


def test_the_old_table_of_rocm_smi():
    first, second = read(OLD_TABLE).devices
    assert (first.thermal.gpu_c, first.power.draw_w, first.power.limit_w) == (57, 119, 264)
    assert (first.clocks.sm_hz, first.clocks.mem_hz, first.busy_share) == (900 * MEGA, 1050 * MEGA, 1)
    assert (second.power.draw_w, second.power.limit_w, second.busy_share) == (None, 264, None)


def test_the_table_of_cards_in_parts():
    first, second = read(TABLE).devices
    assert [part.profile for part in first.slices] == ["CPX/NPS1"] * 2
    assert (first.pci_id, first.power.draw_w, second.power.draw_w) == ("1002:74a1", 135, 130)
    assert chip_of(second).id == "mi300x"


def test_rocminfo():
    machine = read(ROCMINFO)
    (one,) = machine.devices
    assert (one.name, one.isa, one.pci_id, one.pci) == (
        "AMD Instinct MI300X", "gfx942", "1002:74a1", "0000:05:00.0",
    )  # fmt: skip
    assert (one.sms, one.mem_total_bytes, one.clocks.sm_max_hz) == (304, 201308160 * KIB, 2100 * MEGA)
    assert one.uuid == "0000000000000002"
    assert machine.cpu.name == "AMD EPYC 9654 96-Core Processor"
    assert chip_of(one).id == "mi300x"


@pytest.mark.parametrize("above", [False, True])
def test_rocminfo_of_a_card_in_parts(above):
    parts = "".join(
        card(2 + part, (5 << 8) + (part << 28 if above else part), **{"Compute Unit": "38", "pool": 25163520})
        for part in range(8)
    )
    (one,) = read(HEAD + CPU + parts).devices
    assert (one.sms, one.mem_total_bytes, len(one.slices)) == (304, 8 * 25163520 * KIB, 8)


def test_the_table_of_xpu_smi():
    first, second = read(XPU).devices
    assert (first.name, first.pci_id, first.cores) == ("Intel Arc B580 Graphics", "8086:e20b", 160)
    assert (first.mem_total_bytes, first.clocks.sm_max_hz) == (12216 * MIB, 2850 * MEGA)
    assert (first.pcie.gen_max, first.pcie.lanes_max) == (4, 8)
    assert (second.name, second.pci, second.mem_total_bytes) == (
        "Intel Arc A770 Graphics",
        "0000:06:00.0",
        None,
    )


def test_tegrastats_as_its_last_line_has_it():
    machine = read(TEGRA)
    (one,) = machine.devices
    assert (one.mem_used_bytes, one.mem_total_bytes) == (30544 * MIB, 62841 * MIB)
    assert (one.busy_share, one.clocks.sm_hz, one.thermal.gpu_c) == (0.97, 1300 * MEGA, 61.5)
    assert (one.power.draw_w, one.unified_memory) == (41.25, True)
    assert machine.memory.total_bytes == 62841 * MIB


def test_jetson_release():
    machine = read(RELEASE)
    (one,) = machine.devices
    assert chip_of(one).id == "jetson-orin-nx-16gb"
    assert machine.system.product == "NVIDIA Jetson Orin NX Engineering Reference Developer Kit"
    assert machine.system.kernel == "5.15.148-tegra"
