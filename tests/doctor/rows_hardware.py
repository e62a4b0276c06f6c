"""Checks of bus, processor, memory, disks, network, power: the same four for each."""

from __future__ import annotations

from dataclasses import replace

from ledger import EVERY, GIB, NO_KEEPER, Row, told_by, whole

from healthy_hosts import SERVER_GPUS
from rigright.base.units import GIGA, MIB
from rigright.base.words import say
from rigright.machine.host import Disk, Mount, Port, Sensor
from rigright.machine.record import Unseen

OFFICE, DESKTOP, SPARK = {"on": "office"}, {"on": "desktop"}, {"on": "spark"}
RENTED = {"system__virtual": "kvm"}
GPU = SERVER_GPUS[2]
ABOVE = "0000:4a:00.0"  # the switch's port above that card
ROOT = "0000:48:01.0"
CLOSED = say("root alone may read it")
RESTS = {"busy_share": 0.0, "power__draw_w": 70.0}


def closed(what, see="sudo look"):
    """Something that was looked for and could not be read."""
    return {"unseen": (Unseen(what=what, why=CLOSED, see=see),)}


def sensor(name, kind, value=None, **told):
    """The only sensor of the machine."""
    return {"sensors": (Sensor(name=name, kind=kind, value=value, **{"source": "ipmi"} | told),)}


def disk(**told):
    """The only disk of the machine."""
    return {"disks": (Disk(name="nvme0n1", kind="nvme", **told),)}


def mount(**told):
    """The only file system of the machine."""
    whole_one = {"path": "/data", "source": "/dev/x", "kind": "ext4", "size_bytes": 900 * GIB}
    return {"mounts": (Mount(**whole_one | {"free_bytes": 400 * GIB, "files_free_share": 0.9} | told),)}


def ports(*told):
    """The network, as it is said."""
    return {"ports": tuple(Port(**{"state": "up"} | one) for one in told)}


NEAR = {n: {"nics": ((f"mlx5_{n}", "PIX"), ("mlx5_9", "SYS"))} for n in range(8)}


def ib(number, **told):
    """One port of InfiniBand."""
    rate = 50 * GIGA
    return {
        "name": f"mlx5_{number}/1",
        "kind": "infiniband",
        "bytes_per_s": rate,
        "max_bytes_per_s": rate,
    } | told


def eth(**told):
    """One wired port."""
    return {
        "name": "eno1",
        "kind": "ethernet",
        "bytes_per_s": 25 * GIGA / 8,
        "max_bytes_per_s": 25 * GIGA / 8,
    } | told


def modules(**changed):
    """Every filled place, changed."""
    filled = whole("server").memory.modules
    return {"memory__modules": tuple(replace(one, **changed) if one.size_bytes else one for one in filled)}


HALF_FULL = {"memory__modules": tuple(one for one in whole("server").memory.modules if one.size_bytes)[:4]}
EMPTY_SIDE = tuple(replace(one, mem_bytes=0) if one.index == 0 else one for one in whole("server").cpu.nodes)
HDD = (Disk(name="sda", kind="hdd", model="ST8000"),)
WORDS_OF_DISK = {"warnings": ("the drive says it will fail",)}

ROWS = {
    "board_fans": Row(
        finds=(
            (sensor("FAN1", "fan", 0.0, low=600.0), "fault", "FAN1"),
            (sensor("FAN1", "fan", 480.0, low=600.0), "warning", "FAN1"),
        ),
        fine={},
        unseen=told_by("supply_units"),
        apart={"sensors": ()},
    ),
    "board_heat": Row(
        finds=(
            (sensor("Inlet Temp", "temperature", 37.0), "note", "Inlet Temp"),
            (sensor("CPU1 Temp", "temperature", 99.0, high=93.0), "warning", "CPU1 Temp"),
            (sensor("CPU1 Temp", "temperature", 104.0, status="critical"), "fault", "CPU1 Temp"),
        ),
        fine={},
        unseen=told_by("supply_units"),
        apart={"sensors": ()},
    ),
    "cpu_governor": Row(
        finds=(
            ({"cpu__boost": False}, "warning", None),
            ({"cpu__governors": ("powersave",), "cpu__driver": "acpi-cpufreq"}, "warning", None),
            ({"cpu__preference": "power"}, "note", None),
        ),
        fine={},
        unseen={"cpu__governors": ()} | closed("cpu.governors"),
        apart={"cpu__governors": ()} | closed("cpu.governors") | RENTED,
    ),
    "cpu_heat": Row(
        finds=(({"cpu__throttled": 20}, "note", None), ({"cpu__throttled": 90_000}, "warning", None)),
        fine={},
        unseen=NO_KEEPER,
        apart={"cpu__throttled": None},
    ),
    "cpu_limit": Row(
        finds=(({"cpu__usable": 8}, "warning", None), ({"cpu__usable": 40}, "note", None)),
        fine={},
        unseen="every system tells what a process may use",
        apart=OFFICE,
    ),
    "disk_files": Row(
        finds=(
            (mount(files_free_share=0.005), "fault", "/data"),
            (mount(files_free_share=0.03), "warning", "/data"),
        ),
        fine={},
        unseen="file systems that make inodes as they go tell none",
        apart={"mounts": ()},
    ),
    "disk_health": Row(
        finds=(
            (disk(**WORDS_OF_DISK), "fault", "nvme0n1"),
            (disk(warnings=("reallocated sectors: 8",)), "warning", "nvme0n1"),
            (disk(worn_share=0.97), "warning", "nvme0n1"),
            (disk(spare_share=0.04), "warning", "nvme0n1"),
            (disk(media_errors=7), "warning", "nvme0n1"),
            (disk(temperature_c=81.0), "warning", "nvme0n1"),
        ),
        fine={},
        unseen={"disks": ()} | closed("disks.health"),
        apart={"disks": (), "unseen": ()},
    ),
    "disk_kind": Row(
        finds=((mount(disk="sda") | {"disks": HDD}, "warning", "sda"),),
        fine={},
        unseen="a disk whose kind nobody tells is taken for what it says",
        apart=OFFICE,
    ),
    "disk_link": Row(
        finds=(
            (disk(lanes=2, lanes_max=4, gen=4, gen_max=4), "warning", "nvme0n1"),
            (disk(lanes=4, lanes_max=4, gen=3, gen_max=4), "warning", "nvme0n1"),
            ({"disks": (Disk(name="sda", kind="ssd", sata_bytes_per_s=3e8),)}, "warning", "sda"),
        ),
        fine={},
        unseen="a disk that tells no lanes hangs on none",
        apart=RENTED,
    ),
    "disk_mount": Row(
        finds=(
            (mount(options=("ro",)), "fault", "/data"),
            (mount(options=("rw", "sync")), "warning", "/data"),
            (mount(kind="nfs4", options=("rw", "soft")), "warning", "/data"),
        ),
        fine={},
        unseen="a mount always tells its options",
        apart={"mounts": ()},
    ),
    "disk_space": Row(
        finds=(
            (mount(free_bytes=0.5 * GIB), "fault", "/data"),
            (mount(free_bytes=30 * GIB), "warning", "/data"),
        ),
        fine={},
        unseen=mount(size_bytes=None, free_bytes=None),
        apart={"mounts": ()},
    ),
    "ib_errors": Row(
        finds=(
            (ports(ib(0, counters=(("link_downed", 40),))), "warning", "mlx5_0/1"),
            (ports(ib(0, counters=(("symbol_error", 10**7),))), "warning", "mlx5_0/1"),
            (ports(ib(0, kind="roce", counters=(("out_of_sequence", 10**9),))), "warning", "mlx5_0/1"),
            (
                ports(ib(0, counters=(("link_downed", 40),))) | {"system__up_s": None},
                "note",
                "mlx5_0/1",
            ),
        ),
        fine={},
        unseen=ports(ib(0, counters=(("excessive_buffer_overrun_errors", 15), ("link_downed", 255)))),
        apart=DESKTOP,
    ),
    "ib_firmware": Row(
        finds=(
            (ports(ib(0, firmware="28.1"), ib(1, firmware="28.1"), ib(2, firmware="28.2")), "note", None),
        ),
        fine={},
        unseen="a card that does not tell its firmware is left out",
        apart={"ports": ()},
    ),
    "nic_affinity": Row(
        finds=(
            (ports(*(ib(n, numa_node=0) for n in range(8))), "warning", "gpu 6"),
            (ports(ib(0, numa_node=0)), "note", "gpu 6"),
        ),
        fine={},
        unseen="cards and ports that do not tell their domain are left out",
        apart=DESKTOP,
    ),
    "nic_paths": Row(
        finds=(
            ({"cards": NEAR | {5: {"nics": (("mlx5_0", "SYS"), ("mlx5_6", "NODE"))}}}, "warning", "gpu 5"),
        ),
        fine={"cards": NEAR},
        unseen="only nvidia-smi topo -m tells it: cards without it are left out",
        apart={},
    ),
    "nic_rate": Row(
        finds=(
            (
                ports(*(ib(n, bytes_per_s=25 * GIGA, max_bytes_per_s=25 * GIGA) for n in range(8))),
                "note",
                None,
            ),
        ),
        fine=ports(*(ib(n) for n in range(8))),
        unseen="ports that do not tell their rate are left out",
        apart=ports(ib(0)),
    ),
    "ib_ports": Row(
        finds=(
            (ports(ib(0), ib(1, state="down")), "warning", "mlx5_1/1"),
            (ports(ib(0), ib(1), ib(2, bytes_per_s=25e9)), "warning", "mlx5_2/1"),
            (ports(ib(0, lanes=4), ib(1, lanes=1)), "warning", "mlx5_1/1"),
            (ports(ib(0, board="MT_0000000838", bytes_per_s=25e9)), "warning", "mlx5_0/1"),
        ),
        fine={},
        unseen="a port that tells no state is not called down",
        apart=DESKTOP,
    ),
    "memory_channels": Row(
        finds=((HALF_FULL, "warning", None),),
        fine={},
        unseen={"memory__modules": None} | closed("memory.modules"),
        apart=RENTED,
    ),
    "memory_errors": Row(
        finds=(
            ({"memory__uncorrected_errors": 1}, "fault", None),
            ({"memory__corrected_errors": 50_000}, "warning", None),
        ),
        fine={},
        unseen=NO_KEEPER,
        apart=RENTED,
    ),
    "memory_pages": Row(
        finds=(
            ({"memory__transparent_huge": "never"}, "note", None),
            ({"memory__huge_total": 500_000, "memory__huge_bytes": 2 * MIB}, "warning", None),
        ),
        fine={},
        unseen=NO_KEEPER,
        apart=OFFICE,
    ),
    "memory_shm": Row(
        finds=(
            ({"memory__shm_bytes": 64 * MIB}, "fault", None),
            ({"memory__shm_bytes": 2 * GIB}, "warning", None),
        ),
        fine={},
        unseen=NO_KEEPER,
        apart=OFFICE,
    ),
    "memory_size": Row(
        finds=(
            ({"memory__total_bytes": 256 * GIB}, "warning", None),
            ({"memory__total_bytes": 512 * GIB}, "note", None),
            ({"memory__limit_bytes": 64 * GIB}, "warning", None),
        ),
        fine={},
        unseen=told_by("gpu_memory_total"),
        apart=SPARK,
    ),
    "memory_speed": Row(
        finds=((modules(set_mt_s=3600.0), "warning", None), (modules(set_mt_s=4400.0), "note", None)),
        fine={},
        unseen=modules(set_mt_s=None),
        apart=RENTED,
    ),
    "memory_swap": Row(
        finds=(
            ({"memory__swap_used_bytes": 400 * GIB}, "warning", None),
            (DESKTOP | {"memory__total_bytes": 32 * GIB, "memory__swap_total_bytes": 0.0}, "note", None),
        ),
        fine={},
        unseen="the file that tells it is open to everybody",
        apart=EVERY,
    ),
    "net_errors": Row(
        finds=(
            (ports(eth(counters=(("rx_errors", 5000), ("rx_packets", 10**6)))), "warning", "eno1"),
            (ports(eth(counters=(("carrier_down", 40),))), "warning", "eno1"),
            (
                ports({"name": "bond0", "kind": "bond", "counters": (("members", 2), ("members_up", 1))}),
                "warning",
                "bond0",
            ),
        ),
        fine={},
        unseen=NO_KEEPER,
        apart={"ports": ()},
    ),
    "net_speed": Row(
        finds=(
            (ports(eth(bytes_per_s=0.1 * GIGA / 8)), "warning", "eno1"),
            (ports(eth(bytes_per_s=10 * GIGA / 8)), "note", "eno1"),
            (ports(eth(bytes_per_s=GIGA / 8, max_bytes_per_s=GIGA / 8)), "note", None),
        ),
        fine={},
        unseen="a port that tells no rate is down, or virtual",
        apart={"ports": ()},
    ),
    "pcie_acs": Row(
        finds=(({"pci_of": {ABOVE: {"acs": True}}}, "warning", None),),
        fine={},
        unseen=closed("pci.acs"),
        apart=RENTED,
    ),
    "pcie_driver": Row(
        finds=(
            ({"gone": (2,)}, "fault", GPU),
            ({"gone": (2,), "pci_of": {GPU: {"driver": None}}}, "fault", GPU),
        ),
        fine={},
        unseen={"count": 0},
        apart=OFFICE,
    ),
    "pcie_errors": Row(
        finds=(
            ({"pci_of": {GPU: {"errors": (("fatal", 1),)}}}, "fault", "gpu 2"),
            ({"pci_of": {GPU: {"errors": (("nonfatal", 3),)}}}, "warning", "gpu 2"),
            ({"pci_of": {ROOT: {"errors": (("correctable", 9_000_000),)}}}, "warning", ROOT),
            ({"cards": {2: {"pcie__replays": 9_000_000}}}, "warning", "gpu 2"),
        ),
        fine={},
        unseen=NO_KEEPER,
        apart=RENTED,
    ),
    "pcie_gen": Row(
        finds=(({"cards": {2: {"pcie__gen": 3}}, "pci_of": {GPU: {"gen": 3}}}, "warning", "gpu 2"),),
        fine={},
        unseen={"cards": {2: RESTS | {"pcie__gen": 1}}},
        apart=SPARK,
    ),
    "pcie_numa": Row(
        finds=(
            ({"cpu__nodes": EMPTY_SIDE}, "warning", "gpu 0"),
            ({"cards": {2: {"numa_node": None}}, "pci_of": {GPU: {"numa_node": None}}}, "note", "gpu 2"),
            ({"cpu__allowed": "0-7"}, "note", "gpu 7"),
        ),
        fine={},
        unseen="a domain that nobody tells is itself worth a note",
        apart=DESKTOP,
    ),
    "pcie_power": Row(
        finds=(({"pci_of": {GPU: {"power_state": "D3cold"}}}, "note", "gpu 2"),),
        fine={},
        unseen=NO_KEEPER,
        apart=RENTED,
    ),
    "pcie_rebar": Row(
        finds=(
            ({"pci_of": {GPU: {"bars_bytes": (16 * MIB, 256 * MIB)}}}, "warning", "gpu 2"),
            ({"pci_of": {GPU: {"bars_bytes": (256 * MIB,)}}, "ports": ()}, "note", "gpu 2"),
        ),
        fine={},
        unseen={"pci": ()},
        apart=SPARK,
    ),
    "pcie_room": Row(
        finds="it looks for no fault: it tells where another card can go",
        fine={},
        unseen={"slots": None} | closed("slots"),
        apart=RENTED,
    ),
    "pcie_slot": Row(
        finds=(
            ({"pci_of": {ABOVE: {"lanes_max": 8}}}, "note", "gpu 2"),
            ({"pci_of": {ABOVE: {"lanes_max": 4}}, "every": {"links": ()}}, "warning", "gpu 2"),
        ),
        fine={},
        unseen=told_by("pcie_width"),
        apart=RENTED,
    ),
    "pcie_width": Row(
        finds=(
            ({"pci_of": {GPU: {"lanes": 8}}}, "warning", "gpu 2"),
            ({"count": 0, "pci_of": {GPU: {"lanes": 8}}}, "warning", GPU),
            ({"pci": (), "cards": {2: {"pcie__lanes": 8}}}, "warning", "gpu 2"),
            ({"pci": (), "count": 1, "cards": {0: {"pcie__lanes": 8}}}, "note", "gpu 0"),
        ),
        fine={},
        unseen={"pci": (), "every": {"pcie__lanes": None}},
        apart=SPARK,
    ),
    "supply_rails": Row(
        finds=(
            (sensor("12V", "volt", 11.2), "warning", "12V"),
            (sensor("12V", "volt", 10.5), "fault", "12V"),
        ),
        fine={},
        unseen=told_by("supply_units"),
        apart={"sensors": ()},
    ),
    "supply_load": Row(
        finds=(
            (sensor("PSU1 Input Power", "power", 2900.0, high=3000.0), "warning", "PSU1 Input Power"),
            (sensor("Total Power", "power", 9600.0, high=10_000.0), "warning", "Total Power"),
        ),
        fine=sensor("PSU1 Input Power", "power", 1500.0, high=3000.0),
        unseen={"sensors": ()} | closed("sensors.ipmi"),
        apart={"sensors": (), "unseen": ()},
    ),
    "supply_units": Row(
        finds=(
            (sensor("PSU2 Status", "supply", status="failed"), "fault", "PSU2 Status"),
            (sensor("PSU2 Status", "supply", status="absent"), "warning", "PSU2 Status"),
        ),
        fine={},
        unseen={"sensors": ()} | closed("sensors.ipmi"),
        apart={"sensors": (), "unseen": ()},
    ),
}
