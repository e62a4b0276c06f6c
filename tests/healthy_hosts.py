"""Machines in good order, as dicts for fake_trees.grow; a scenario says `like` one, and what differs."""

from __future__ import annotations

import json

from healthy_systems import running

GIB, MIB, KB = 2**30, 2**20, 2**10
SHM = "/dev/shm"  # noqa: S108 - a mount of the fake machine
SERVER_GPUS = tuple(f"0000:{bus}:00.0" for bus in ("19", "3b", "4c", "5d", "9b", "bb", "cb", "db"))
A100_GPUS = tuple(f"0000:{bus}:00.0" for bus in ("01", "41", "81", "c1"))
L40S_GPUS = tuple(f"0000:{bus}:00.0" for bus in ("16", "17", "b8", "b9"))
PAIRS = (
    ("0000:13:01.0", "0000:14:00.0", "0000:15:00.0", "0000:15:04.0"),
    ("0000:b5:01.0", "0000:b6:00.0", "0000:b7:00.0", "0000:b7:04.0"),
)
DESKTOP_GPUS = ("0000:01:00.0", "0000:02:00.0")
X86 = "fpu tsc sse2 ssse3 sse4_1 sse4_2 avx f16c fma avx2 aes"
XEON = f"{X86} avx512f avx512bw avx512vl avx512_vnni avx512_bf16 amx_bf16 amx_tile amx_int8"
CARD = {
    "id": "10de:20b2",
    "board": "10de:1463",
    "class": "0x030200",
    "driver": "nvidia",
    "power": "D0",
    "gen": 4,
    "gen_max": 4,
    "width": 16,
    "width_max": 16,
    "bars": [16 * MIB, 128 * GIB, 32 * MIB],
    "rebar": 128 * GIB,
}
BRIDGE = {
    "class": "0x060400",
    "driver": "pcieport",
    "power": "D0",
    "gen": 5,
    "gen_max": 5,
    "width": 16,
    "width_max": 16,
}


def server():
    """Eight H100 SXM, each with a network card of 400 Gb/s behind the same switch; two Xeons, 2 TiB."""
    bus = {}
    for number, gpu in enumerate(SERVER_GPUS):
        bus |= _branch(gpu, numa=number // 4, number=number)
    for number in range(4):
        address = f"0000:{0x83 + number:02x}:00.0"
        bus[f"0000:7{number}:01.0"] = {**BRIDGE, "id": "8086:352a", "gen": 3, "width": 2, "numa": 1}
        bus[address] = {
            "id": "10de:22a3",
            "board": "10de:1796",
            "class": "0x068000",
            "driver": "nvidia-nvswitch",
            "under": f"0000:7{number}:01.0",
            "gen": 3,
            "width": 2,
            "numa": 1,
            "bars": [32 * MIB],
        }
    parts = served(bus)
    parts["infiniband"] = {
        f"mlx5_{number}": {
            "pci": _nic(gpu),
            "firmware": "28.39.1002",
            "board": "MT_0000000838",
            "ports": {"1": {"rate": "400 Gb/sec (4X NDR)"}},
        }
        for number, gpu in enumerate(SERVER_GPUS)
    }
    board = {"sys_vendor": "Supermicro", "product_name": "SYS-821GE-TNHR"}
    return with_system(parts, cards=8, board=board, served=True, switched=True, infiniband=True)


def with_system(parts, **said):
    """Hardware with what runs on it."""
    pieces = running(**said)
    return {**pieces, **parts, "commands": {**parts["commands"], **pieces["commands"]}}


def served(bus):
    """Two Xeons, 2 TiB, two NVMe disks and a network card around the cards of a bus."""
    for number in range(2):
        address = f"0000:a{number + 1}:00.0"
        bus |= _under_root(
            address,
            {
                "id": "144d:a824",
                "board": "144d:a801",
                "class": "0x010802",
                "driver": "nvme",
                "gen": 4,
                "width": 4,
                "bars": [32 * KB],
            },
        )
    bus |= _under_root(
        "0000:e1:00.0",
        {
            "id": "14e4:16d7",
            "board": "14e4:1402",
            "class": "0x020000",
            "driver": "bnxt_en",
            "gen": 3,
            "width": 8,
            "numa": 1,
            "bars": [64 * KB],
        },
    )
    return {
        "pci": bus,
        "cpu": {
            "vendor": "GenuineIntel",
            "name": "Intel(R) Xeon(R) Platinum 8462Y+",
            "sockets": 2,
            "cores": 32,
            "threads": 2,
            "flags": XEON,
            "governor": "performance",
            "driver": "intel_pstate",
            "boost": True,
            "preference": "performance",
            "max_khz": 4100000,
            "now_khz": 3600000,
            "node_kb": 1056000000,
        },
        "memory": {
            "total_kb": 2112000000,
            "available_kb": 2050000000,
            "swap_kb": 8388608,
            "memlock": "unlimited",
            "edac": {f"mc{number}": (0, 0) for number in range(8)},
        },
        "dmi": {
            "modules": _modules(16, mib=131072, rated=4800, ecc=True, empty=16),
            "slots": _server_slots(),
        },
        "disks": {
            f"nvme{number}n1": {
                "kind": "nvme",
                "pci": f"0000:a{number + 1}:00.0",
                "model": "SAMSUNG MZQL23T8HCLS-00A07",
                "size_bytes": 3840755982336,
            }
            for number in range(2)
        },
        "mounts": {
            "/": {"source": "/dev/nvme0n1p2", "kind": "ext4", "dev": "259:2"},
            "/data": {"source": "/dev/nvme1n1p1", "kind": "xfs", "dev": "259:17", "options": "rw,noatime"},
            SHM: {"source": "tmpfs", "kind": "tmpfs", "options": "rw,nosuid,nodev"},
        },
        "net": {
            "eno1": {"speed": 25000, "pci": "0000:e1:00.0", "mtu": 9000},
            "lo": {"type": 772, "state": "unknown"},
        },
        "hwmon": {
            "coretemp": {
                "temp1_input": 52000,
                "temp1_label": "Package id 0",
                "temp1_max": 91000,
                "temp1_crit": 101000,
            },
            "coretemp#1": {
                "temp1_input": 54000,
                "temp1_label": "Package id 1",
                "temp1_max": 91000,
                "temp1_crit": 101000,
            },
        },
        "commands": {
            **{f"nvme smart-log -o json /dev/nvme{number}n1": SMART for number in range(2)},
            "df -kP / /data": _df(
                {
                    "/": (3 * 2**30, 0.3),
                    "/data": (3.5 * 2**30, 0.5),
                }
            ),
            "df -iP / /data": _df(
                {
                    "/": (2e8, 0.05),
                    "/data": (3e8, 0.1),
                }
            ),
            "ipmitool sensor": _ipmi(supplies=6),
        },
    }


def desktop():
    """Two RTX 4090 that share the sixteen lanes of a Ryzen, 96 GiB, one NVMe disk, one SATA disk."""
    bus = {
        gpu: {
            "gpu": True,
            "id": "10de:2684",
            "board": "1043:889a",
            "class": "0x030000",
            "driver": "nvidia",
            "gen": 4,
            "gen_max": 4,
            "width": 8,
            "width_max": 16,
            "iommu": 10 + number,
            "numa": -1,
            "bars": [16 * MIB, 32 * GIB, 32 * MIB],
            "rebar": 32 * GIB,
            "port": f"0000:00:01.{1 + number}",
            "slot": {"id": "1022:14db", "gen_max": 5, "width_max": 8},
        }
        for number, gpu in enumerate(DESKTOP_GPUS)
    }
    bus |= _under_root(
        "0000:61:00.0",
        {
            "id": "144d:a80c",
            "board": "144d:a801",
            "class": "0x010802",
            "driver": "nvme",
            "gen": 4,
            "width": 4,
            "bars": [16 * KB],
        },
    )
    bus["0000:62:00.0"] = {
        "id": "1022:7901",
        "board": "1022:7901",
        "class": "0x010601",
        "driver": "ahci",
        "bars": [2 * KB],
    }
    bus |= _under_root(
        "0000:63:00.0",
        {
            "id": "1d6a:14c0",
            "board": "1043:8857",
            "class": "0x020000",
            "driver": "atlantic",
            "gen": 3,
            "width": 4,
            "bars": [64 * KB],
        },
    )
    parts = {
        "pci": bus,
        "cpu": {
            "vendor": "AuthenticAMD",
            "name": "AMD Ryzen 9 7950X 16-Core Processor",
            "sockets": 1,
            "cores": 16,
            "threads": 2,
            "flags": f"{X86} avx512f avx512_bf16 avx512_vnni",
            "governor": "powersave",
            "driver": "amd-pstate-epp",
            "preference": "balance_performance",
            "boost": True,
            "max_khz": 5881000,
            "now_khz": 4200000,
            "node_kb": 98000000,
        },
        "memory": {"total_kb": 98000000, "available_kb": 90000000, "swap_kb": 8388608, "memlock": 16 * GIB},
        "dmi": {
            "modules": _modules(2, mib=49152, rated=5200, ecc=False, empty=2),
            "slots": [
                {"name": "PCIEX16_1", "gen": 5, "lanes": 16, "in_use": True, "address": "0000:00:01.1"},
                {"name": "PCIEX16_2", "gen": 5, "lanes": 8, "in_use": True, "address": "0000:00:01.2"},
                {"name": "PCIEX4", "gen": 4, "lanes": 4, "in_use": False},
            ],
        },
        "disks": {
            "nvme0n1": {
                "kind": "nvme",
                "pci": "0000:61:00.0",
                "model": "Samsung SSD 990 PRO 2TB",
                "size_bytes": 2000398934016,
            },
            "sda": {
                "kind": "sata",
                "pci": "0000:62:00.0",
                "model": "ST8000DM004",
                "size_bytes": 8001563222016,
                "turns": True,
                "scheduler": "none [mq-deadline] kyber bfq",
                "partitions": (1,),
            },
        },
        "mounts": {
            "/": {"source": "/dev/nvme0n1p2", "kind": "ext4", "dev": "259:2"},
            "/backup": {"source": "/dev/sda1", "kind": "ext4", "dev": "259:17"},
            SHM: {"source": "tmpfs", "kind": "tmpfs", "options": "rw,nosuid,nodev"},
        },
        "net": {
            "enp99s0": {"speed": 10000, "driver": "atlantic", "pci": "0000:63:00.0"},
            "lo": {"type": 772, "state": "unknown"},
        },
        "hwmon": {
            "k10temp": {"temp1_input": 48000, "temp1_label": "Tctl"},
            "nct6798": {
                "in0_input": 1200,
                "in0_min": 0,
                "in0_max": 1740,
                "fan1_input": 980,
                "fan2_input": 0,
                "temp1_input": 35000,
                "temp1_max": 80000,
            },
            "nvme": {
                "temp1_input": 41850,
                "temp1_label": "Composite",
                "temp1_max": 81850,
                "temp1_crit": 84850,
            },
        },
        "commands": {
            "nvme smart-log -o json /dev/nvme0n1": SMART,
            "smartctl -j -a -n standby /dev/sda": SMART_SATA,
            "df -kP / /backup": _df(
                {
                    "/": (1.9e9, 0.4),
                    "/backup": (7.8e9, 0.5),
                }
            ),
            "df -iP / /backup": _df(
                {
                    "/": (1.2e8, 0.04),
                    "/backup": (2.4e8, 0.01),
                }
            ),
        },
    }
    board = {"sys_vendor": "ASUS", "product_name": "ProArt X670E-CREATOR WIFI"}
    return with_system(parts, cards=2, board=board)


def board_of_four():
    """Four A100 SXM4 wired to each other, each under a root port of its own; no InfiniBand."""
    board = {"sys_vendor": "Supermicro", "product_name": "SYS-420GP-TNAR"}
    return with_system(served(_apart(A100_GPUS)), cards=4, board=board, served=True)


def two_pairs():
    """Four L40S, each two behind one switch."""
    bus = {}
    for number in range(2):
        port, up, down, side = PAIRS[number]
        bridge = BRIDGE | {"gen": 4, "gen_max": 4, "numa": number}
        switch = bridge | {"id": "1000:c010", "board": "1000:0144", "acs": False}
        bus |= {
            port: bridge | {"id": "8086:352a"},
            up: switch | {"under": port, "acs": None},
            down: switch | {"under": up},
            side: switch | {"under": up},
        }
        for gpu, under in zip(L40S_GPUS[2 * number :], (down, side), strict=False):
            bus[gpu] = {**CARD, "id": "10de:26b9", "board": "10de:1851", "under": under, "numa": number}
            bus[gpu] |= {"bars": [16 * MIB, 64 * GIB, 32 * MIB], "rebar": 64 * GIB}
    board = {"sys_vendor": "Dell Inc.", "product_name": "PowerEdge R760xa"}
    return with_system(served(bus), cards=4, board=board, served=True)


def spark():
    """A GB10: twenty Arm cores and the chip on one memory; nothing sits in a slot."""
    board = {"sys_vendor": "NVIDIA", "product_name": "NVIDIA_DGX_Spark"}
    return with_system(soldered(), cards=1, board=board)


def soldered():
    """Its hardware."""
    gpu = {**CARD, "id": "10de:2e12", "gen": 1, "gen_max": 5, "width": 1, "width_max": 1, "bars": [16 * MIB]}
    bus = {"000f:01:00.0": gpu | {"gpu": True, "rebar": None}}
    bus |= _disk("0004:01:00.0") | _under_root(
        "0002:01:00.0",
        {"id": "10ec:8127", "class": "0x020000", "driver": "r8127", "gen": 4, "width": 1, "bars": [64 * KB]},
    )
    return {
        "pci": bus,
        "cpu": {
            "arm": ("0x41", "0xd85"),
            "sockets": 1,
            "cores": 20,
            "threads": 1,
            "flags": "fp asimd sve sve2 bf16 i8mm",
            "governor": "performance",
            "driver": "cppc_cpufreq",
            "max_khz": 3900000,
            "now_khz": 3700000,
            "node_kb": 125000000,
        },
        "memory": {"total_kb": 125000000, "available_kb": 96000000, "swap_kb": 16777216},
        "dmi": {"modules": [{"slot": "On board", "mib": 131072, "rated": 8533, "ecc": False}]},
        "disks": {"nvme0n1": _drive("0004:01:00.0", "SAMSUNG MZALC4T0HBL1")},
        "mounts": {
            "/": {"source": "/dev/nvme0n1p2", "kind": "ext4", "dev": "259:2"},
            SHM: {"source": "tmpfs", "kind": "tmpfs", "options": "rw,nosuid,nodev"},
        },
        "net": {
            "enP2p1s0": {"speed": 10000, "pci": "0002:01:00.0"},
            "lo": {"type": 772, "state": "unknown"},
        },
        "hwmon": {"acpitz": {"temp1_input": 52000}},
        "commands": {
            "nvme smart-log -o json /dev/nvme0n1": SMART,
            "df -kP /": _df({"/": (3.9 * 2**30, 0.3)}),
            "df -iP /": _df({"/": (2e8, 0.05)}),
        },
    }


def superchip():
    """A GH200: 72 Arm cores with memory of their own beside the chip; nothing sits in a slot."""
    parts = soldered()
    bus, cpu, memory = parts["pci"], parts["cpu"], parts["memory"]
    chip = bus.pop("000f:01:00.0") | {"id": "10de:2342", "board": "10de:16eb", "numa": 0}
    cpu |= {
        "arm": ("0x41", "0xd4f"),
        "cores": 72,
        "max_khz": 3402000,
        "now_khz": 3330000,
        "node_kb": 500000000,
    }
    memory |= {"total_kb": 500000000, "available_kb": 470000000}
    module = {"slot": "On board", "mib": 491520, "rated": 6400, "ecc": True}
    board = {"sys_vendor": "Supermicro", "product_name": "ARS-111GL-NHR"}
    parts |= {"pci": {"0009:01:00.0": chip, **bus}, "dmi": {"modules": [module]}}
    return with_system(parts, cards=1, board=board, served=True)


def _apart(gpus):
    """Cards each under a root port of its own, the first half beside the first processor."""
    half = len(gpus) // 2
    return {
        gpu: {**CARD, "gpu": True, "numa": number // half, "iommu": 40 + number}
        for number, gpu in enumerate(gpus)
    }


def _disk(address):
    """An NVMe disk under a root port."""
    one = {
        "id": "144d:a810",
        "board": "144d:a801",
        "class": "0x010802",
        "driver": "nvme",
        "gen": 4,
        "width": 4,
    }
    return _under_root(address, one | {"bars": [32 * KB]})


def _drive(address, model):
    return {"kind": "nvme", "pci": address, "model": model, "size_bytes": 4000787030016}


def _branch(gpu, *, numa, number):
    """One switch with a graphics card and a network card below its root port."""
    bus = int(gpu[5:7], 16)
    port, up = f"0000:{bus - 4:02x}:01.0", f"0000:{bus - 3:02x}:00.0"
    down, side = f"0000:{bus - 2:02x}:00.0", f"0000:{bus - 2:02x}:04.0"
    switch = BRIDGE | {"id": "1000:c030", "board": "1000:0144", "numa": numa, "acs": False}
    return {
        port: BRIDGE | {"id": "8086:352a", "numa": numa},
        up: switch | {"under": port, "acs": None},
        down: switch | {"under": up},
        side: switch | {"under": up},
        gpu: {
            "gpu": True,
            "id": "10de:2330",
            "board": "10de:16c1",
            "class": "0x030200",
            "driver": "nvidia",
            "under": down,
            "gen": 5,
            "gen_max": 5,
            "width": 16,
            "width_max": 16,
            "numa": numa,
            "iommu": 40 + number,
            "bars": [16 * MIB, 128 * GIB, 32 * MIB],
            "rebar": 128 * GIB,
        },
        _nic(gpu): {
            "id": "15b3:1021",
            "board": "15b3:0023",
            "class": "0x020700",
            "driver": "mlx5_core",
            "under": side,
            "gen": 5,
            "width": 16,
            "numa": numa,
            "bars": [32 * MIB],
        },
    }


def _nic(gpu):
    return f"0000:{int(gpu[5:7], 16) + 1:02x}:00.0"


def _under_root(address, one):
    port = f"{address[:5]}{int(address[5:7], 16) - 1:02x}:02.1"
    link = {key: one[key] for key in ("gen", "width")}
    bridge = BRIDGE | {"id": "1022:14ab", "gen_max": 5} | link | {"width_max": one["width"]}
    most = {"gen_max": one["gen"], "width_max": one["width"]}
    return {port: bridge, address: most | one | {"under": port}}


def _modules(count, *, mib, rated, ecc, empty):
    """Filled places first in each channel, then empty ones."""
    channels = count or 1
    filled = [
        {
            "slot": f"DIMM_{chr(65 + number)}1",
            "bank": f"P{number // 8}_Node0_Channel{number % 8}_Dimm0",
            "mib": mib,
            "rated": rated,
            "ecc": ecc,
        }
        for number in range(count)
    ]
    return filled + [
        {
            "slot": f"DIMM_{chr(65 + number % channels)}2",
            "bank": f"P{number % channels // 8}_Node0_Channel{number % 8}_Dimm1",
        }
        for number in range(empty)
    ]


def _server_slots():
    return [
        {"name": "PCIe Slot 31", "gen": 5, "lanes": 16, "in_use": False},
        {"name": "PCIe Slot 32", "gen": 5, "lanes": 8, "in_use": False},
    ]


def _df(sizes):
    """What df says: path -> (blocks or files, share used)."""
    lines = ["Filesystem 1024-blocks Used Available Capacity Mounted on"]
    for path, (whole, used) in sizes.items():
        lines.append(
            f"/dev/some {int(whole)} {int(whole * used)} {int(whole * (1 - used))} {used:.0%} {path}"
        )
    return "\n".join(lines) + "\n"


def _ipmi(*, supplies):
    rows = [
        "Inlet Temp | 24.000 | degrees C | ok | na | -7.000 | 3.000 | 38.000 | 42.000 | na",
        "CPU1 Temp | 52.000 | degrees C | ok | na | 3.000 | 8.000 | 93.000 | 98.000 | na",
        "12V | 12.100 | Volts | ok | na | 10.800 | 11.100 | 12.900 | 13.200 | na",
        "Fan1A | 9800.000 | RPM | ok | na | 360.000 | 600.000 | na | na | na",
        "Intrusion | 0x0 | discrete | 0x0080| na | na | na | na | na | na",
    ]
    rows += [
        f"PSU{number + 1} Input Power | 1210.000 | Watts | ok | na | na | na | 3100.000 | 3300.000 | na"
        for number in range(supplies)
    ]
    rows += [
        f"PSU{number + 1} Status | 0x0 | discrete | 0x0180| na | na | na | na | na | na"
        for number in range(supplies)
    ]
    return "\n".join(rows) + "\n"


SMART = json.dumps(
    {
        "critical_warning": 0,
        "temperature": 311,
        "avail_spare": 100,
        "spare_thresh": 10,
        "percent_used": 3,
        "unsafe_shutdowns": 12,
        "media_errors": 0,
    }
)
SMART_SATA = json.dumps(
    {
        "smart_status": {"passed": True},
        "temperature": {"current": 34},
        "ata_smart_attributes": {
            "table": [
                {"id": 5, "name": "Reallocated_Sector_Ct", "raw": {"value": 0}},
                {"id": 197, "name": "Current_Pending_Sector", "raw": {"value": 0}},
            ]
        },
    }
)
HOSTS = {
    "server": server,
    "desktop": desktop,
    "board_of_four": board_of_four,
    "two_pairs": two_pairs,
    "spark": spark,
    "superchip": superchip,
}
