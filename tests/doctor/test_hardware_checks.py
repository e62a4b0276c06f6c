"""One fault planted in the hardware of a healthy machine: its check finds it, and nothing else is said."""

from __future__ import annotations

import pytest
from hosts import examined, found, machine_of, only

from advised import filled
from healthy_hosts import SERVER_GPUS
from rigright.base.units import GIB
from rigright.base.words import tell
from rigright.doctor.record import Fine, NotSeen
from rigright.machine.device import PcieLink

GPU = SERVER_GPUS[2]
PORT_BELOW = "0000:4a:00.0"  # of the switch above that card
SHM = "/dev/shm"  # noqa: S108 - a mount of the fake machine
RESTING = {"busy_share": 0.0, "power__draw_w": 70}
GIB_DF = "h\nx 900000000 0 800000000 1% /\nx 900000000 0 {free} 99% /data"
IPMI = "{name} | {value} | {unit} | {status} | {low} | {low} | {low} | {high} | {high} | {high}"


def ipmi(**told):
    return {
        "commands": {"ipmitool sensor": IPMI.format(**{"low": "na", "high": "na", "status": "ok"} | told)}
    }


SLOW_PORT = {"ethtool eno1": "\tSupported link modes: 25000baseCR/Full 100000baseCR4/Full\n"}
SMART = "nvme smart-log -o json /dev/nvme0n1"
HDD = {"kind": "sata", "pci": "0000:a1:00.0", "size_bytes": 8e12, "turns": True, "partitions": (1, 2)}

PLANTED = [  # check, severity, about whom, what differs on the server, what differs with its cards
    (
        "pcie_width",
        "warning",
        "gpu 2",
        {"pci": {GPU: {"width": 8}, PORT_BELOW: {"width": 8}}},
        {2: {"pcie__lanes": 8}},
    ),
    (
        "pcie_width",
        "warning",
        "gpu 2",
        {"pci": {"0000:49:00.0": {"width": 4}, "0000:48:01.0": {"width": 4}}},
        {},
    ),
    ("pcie_gen", "warning", "gpu 2", {"pci": {GPU: {"gen": 3}}}, {2: {"pcie__gen": 3}}),
    (
        "pcie_slot",
        "note",
        "gpu 2",
        {"pci": {PORT_BELOW: {"width": 8, "width_max": 8}, GPU: {"width": 8}}},
        {2: {"pcie__lanes": 8}},
    ),
    ("pcie_acs", "warning", None, {"pci": {PORT_BELOW: {"acs": True}}}, {}),
    ("pcie_rebar", "warning", "gpu 2", {"pci": {GPU: {"bars": [2**24, 2**28, 2**25]}}}, {}),
    ("pcie_errors", "fault", "gpu 2", {"pci": {GPU: {"aer": {"fatal": 1}}}}, {}),
    ("pcie_errors", "warning", "gpu 2", {"pci": {GPU: {"aer": {"nonfatal": 3}}}}, {}),
    ("pcie_errors", "warning", "gpu 2", {}, {2: {"pcie__replays": 9_000_000}}),
    (
        "pcie_errors",
        "warning",
        "0000:48:01.0",
        {"pci": {"0000:48:01.0": {"aer": {"correctable": 9_000_000}}}},
        {},
    ),
    ("pcie_driver", "fault", GPU, {}, {2: None}),
    ("pcie_driver", "fault", GPU, {"pci": {GPU: {"driver": None}}}, {2: None}),
    ("pcie_power", "note", "gpu 2", {"pci": {GPU: {"power": "D3cold"}}}, {}),
    ("pcie_numa", "note", "gpu 2", {"pci": {GPU: {"numa": -1}}}, {2: {"numa_node": None}}),
    (
        "cpu_governor",
        "warning",
        None,
        {"cpu": {"governor": "powersave", "driver": "acpi-cpufreq", "boost": None}},
        {},
    ),
    ("cpu_governor", "note", None, {"cpu": {"governor": "powersave", "preference": "power"}}, {}),
    ("cpu_governor", "warning", None, {"cpu": {"boost": False}}, {}),
    ("cpu_limit", "note", None, {"cpu": {"allowed": "0-39"}}, {}),
    ("cpu_limit", "warning", None, {"cpu": {"allowed": "0-3,32-35"}}, {}),
    ("cpu_heat", "note", None, {"cpu": {"throttled": 20}}, {}),
    ("cpu_heat", "warning", None, {"cpu": {"throttled": 90_000}}, {}),
    ("memory_errors", "fault", None, {"memory": {"edac": {"mc0": [0, 1]}}}, {}),
    ("memory_errors", "warning", None, {"memory": {"edac": {"mc0": [50_000, 0]}}}, {}),
    ("memory_size", "warning", None, {"memory": {"total_kb": 260_000_000, "available_kb": 250_000_000}}, {}),
    ("memory_size", "note", None, {"memory": {"total_kb": 520_000_000, "available_kb": 500_000_000}}, {}),
    ("memory_swap", "warning", None, {"memory": {"swap_kb": 500_000_000, "swap_used_kb": 300_000_000}}, {}),
    ("memory_shm", "fault", None, {"mounts": {SHM: {"super": "rw,size=65536k"}}}, {}),
    ("memory_shm", "warning", None, {"mounts": {SHM: {"super": "rw,size=2g"}}}, {}),
    ("memory_pages", "warning", None, {"memory": {"huge": 500_000}}, {}),
    ("memory_pages", "note", None, {"memory": {"transparent": "never"}}, {}),
    (
        "disk_kind",
        "note",
        "sda",
        {"disks": {"sda": HDD}, "mounts": {"/data": {"source": "/dev/sda1", "dev": "259:33"}}},
        {},
    ),
    (
        "disk_link",
        "warning",
        "nvme0n1",
        {"pci": {"0000:a1:00.0": {"width": 2}, "0000:a0:02.1": {"width": 2, "width_max": 4}}},
        {},
    ),
    ("disk_link", "warning", "nvme0n1", {"pci": {"0000:a1:00.0": {"gen": 3, "gen_max": 4}}}, {}),
    (
        "disk_link",
        "note",
        "nvme0n1",
        {"pci": {"0000:a1:00.0": {"gen": 4, "gen_max": 5}, "0000:a0:02.1": {"gen_max": 4}}},
        {},
    ),
    (
        "disk_health",
        "fault",
        "nvme0n1",
        {"commands": {SMART: '{"critical_warning": 4, "temperature": 310}'}},
        {},
    ),
    (
        "disk_health",
        "warning",
        "nvme0n1",
        {"commands": {SMART: '{"critical_warning": 0, "percent_used": 97}'}},
        {},
    ),
    (
        "disk_health",
        "warning",
        "nvme0n1",
        {"commands": {SMART: '{"critical_warning": 0, "avail_spare": 4}'}},
        {},
    ),
    (
        "disk_health",
        "warning",
        "nvme0n1",
        {"commands": {SMART: '{"critical_warning": 0, "media_errors": 7}'}},
        {},
    ),
    (
        "disk_health",
        "warning",
        "nvme0n1",
        {"commands": {SMART: '{"critical_warning": 0, "temperature": 355}'}},
        {},
    ),
    ("disk_space", "fault", "/data", {"commands": {"df -kP / /data": GIB_DF.format(free=900000)}}, {}),
    ("disk_space", "warning", "/data", {"commands": {"df -kP / /data": GIB_DF.format(free=20000000)}}, {}),
    (
        "disk_files",
        "fault",
        "/data",
        {"commands": {"df -iP / /data": "h\nx 1000000 0 800000 1% /\nx 1000000 0 400 99% /data"}},
        {},
    ),
    ("disk_mount", "fault", "/data", {"mounts": {"/data": {"options": "ro,relatime"}}}, {}),
    ("disk_mount", "warning", "/data", {"mounts": {"/data": {"options": "rw,sync"}}}, {}),
    ("net_speed", "note", "eno1", {"commands": SLOW_PORT}, {}),
    ("net_speed", "warning", "eno1", {"net": {"eno1": {"speed": 100}}}, {}),
    ("net_errors", "warning", "eno1", {"net": {"eno1": {"errors": {"rx_errors": 500}}}}, {}),
    ("net_errors", "warning", "eno1", {"net": {"eno1": {"flaps": 40}}}, {}),
    ("net_errors", "warning", "bond0", {"net": {"bond0": {"bond": ["eno1", "eno2"], "speed": 25000}}}, {}),
    (
        "ib_ports",
        "warning",
        "mlx5_3/1",
        {"infiniband": {"mlx5_3": {"ports": {"1": {"state": "1: DOWN", "phys": "2: Polling"}}}}},
        {},
    ),
    (
        "ib_ports",
        "warning",
        "mlx5_3/1",
        {"infiniband": {"mlx5_3": {"ports": {"1": {"rate": "200 Gb/sec (4X HDR)"}}}}},
        {},
    ),
    (
        "ib_ports",
        "warning",
        "mlx5_3/1",
        {"infiniband": {"mlx5_3": {"ports": {"1": {"rate": "100 Gb/sec (1X NDR)"}}}}},
        {},
    ),
    (
        "ib_errors",
        "warning",
        "mlx5_3/1",
        {"infiniband": {"mlx5_3": {"ports": {"1": {"counters": {"link_downed": 60}}}}}},
        {},
    ),
    (
        "ib_errors",
        "warning",
        "mlx5_3/1",
        {"infiniband": {"mlx5_3": {"ports": {"1": {"counters": {"symbol_error": 900_000}}}}}},
        {},
    ),
    ("ib_firmware", "note", None, {"infiniband": {"mlx5_3": {"firmware": "28.35.1012"}}}, {}),
    (
        "supply_load",
        "warning",
        "PSU2 Input Power",
        ipmi(name="PSU2 Input Power", value="3050.000", unit="Watts", high="3100.000"),
        {},
    ),
    (
        "supply_units",
        "fault",
        "PSU2 Status",
        ipmi(name="PSU2 Status", value="0x0", unit="discrete", status="0x0980"),
        {},
    ),
    (
        "supply_units",
        "warning",
        "PSU2 Status",
        ipmi(name="PSU2 Status", value="0x0", unit="discrete", status="0x0580"),
        {},
    ),
    ("supply_rails", "warning", "12V", ipmi(name="12V", value="11.3", unit="Volts"), {}),
    ("supply_rails", "fault", "12V", ipmi(name="12V", value="10.5", unit="Volts"), {}),
    ("supply_rails", "warning", "P1V8", ipmi(name="P1V8", value="1.6", unit="Volts", low="1.7"), {}),
    (
        "board_fans",
        "fault",
        "Fan1A",
        ipmi(name="Fan1A", value="0.000", unit="RPM", status="cr", low="600"),
        {},
    ),
    ("board_fans", "warning", "Fan1A", ipmi(name="Fan1A", value="500", unit="RPM", low="600"), {}),
    (
        "board_heat",
        "warning",
        "CPU1 Temp",
        ipmi(name="CPU1 Temp", value="95", unit="degrees C", high="93"),
        {},
    ),
    (
        "board_heat",
        "note",
        "Inlet Temp",
        ipmi(name="Inlet Temp", value="37", unit="degrees C", high="42"),
        {},
    ),
    ("board_heat", "warning", "coretemp/Package id 0", {"hwmon": {"coretemp": {"temp1_input": 99000}}}, {}),
]


@pytest.mark.parametrize("name", ["server", "desktop"])
def test_a_healthy_machine_raises_no_alarm(name):
    said = found(machine_of({"like": name}))
    shared_lanes = [("pcie_slot", "note", f"gpu {index}") for index in range(2)]
    assert said == ([] if name == "server" else shared_lanes)


@pytest.mark.parametrize(("check", "severity", "about", "host", "cards"), PLANTED)
def test_one_fault_is_found_and_nothing_else_is_said(check, severity, about, host, cards):
    done = examined(machine_of({"like": "server", **host}, cards=cards))
    assert [(name, one.severity, one.about) for name, one in done.findings] == [(check, severity, about)]
    speaks_both_languages(done.findings[0][1])


def test_every_check_of_hardware_has_a_planted_fault():
    run = {one.check for one in examined(machine_of({"like": "server"})).checks}
    elsewhere = {"pcie_room", "memory_channels", "memory_lent", "memory_speed"}
    assert run == {check for check, *_ in PLANTED} | elsewhere


def speaks_both_languages(one):
    """A finding tells what, why and how, in words that are filled in, and what shows it."""
    assert one.fix
    assert all(evidence.command for evidence in one.evidence)
    for language in ("en", "zh"):
        told = [tell(text, language) for text in (one.title, one.why, *(step.says for step in one.fix))]
        assert all(told)
        assert not any("{" in text or "None" in text for text in told)


QUIET = ("pcie_width", "pcie_gen", "pcie_slot", "pcie_acs", "pcie_rebar", "pcie_errors", "pcie_numa")


def test_the_bus_of_a_virtual_machine_says_nothing():
    narrow = {
        "pci": {GPU: {"width": 1, "gen": 1, "numa": -1, "bars": [2**24, 2**26]}, PORT_BELOW: {"acs": True}}
    }
    cards = {2: {"pcie": PcieLink(gen=1, gen_max=5, lanes=1, lanes_max=16), "numa_node": None}}
    machine = machine_of({"like": "server", **narrow}, cards=cards, system={"virtual": "kvm"})
    assert found(machine) == []
    assert not {one.check for one in examined(machine).checks if one.verdicts} & set(QUIET)


@pytest.mark.parametrize("name", ["NVIDIA GB10", "NVIDIA GH200 480GB", "NVIDIA GB200", "Orin (nvgpu)"])
def test_a_card_soldered_to_its_processor_says_nothing_of_links(name):
    link = PcieLink(gen=1, gen_device_max=5, gen_max=5, lanes=1, lanes_max=16)
    told = {
        "name": name,
        "pcie": link,
        "pci_id": None,
        "unified_memory": "GB10" in name or "Orin" in name or None,
    }
    machine = machine_of({"like": "server"}, cards=dict.fromkeys(range(8), told))
    assert not [one for one in found(machine) if one[0] in QUIET]


def test_a_resting_card_at_a_low_generation_is_not_observed():
    cards = {2: {"pcie__gen": 1, **RESTING}}
    machine = machine_of({"like": "server", "pci": {GPU: {"gen": 1}}}, cards=cards)
    assert found(machine) == []
    (said,) = [
        v
        for one in examined(machine).checks
        if one.check == "pcie_gen"
        for v in one.verdicts
        if v.about == "gpu 2"
    ]
    assert isinstance(said, NotSeen)
    assert "pcie.link.gen" in said.see


def test_a_narrow_link_whose_slot_nobody_shows():
    """Windows and WSL2 list no bus: the other cards tell what to think of it."""
    empty = {"like": "desktop", "pci": False, "gone": ["/sys/bus"]}
    both = machine_of(empty)
    assert [one for one in found(both) if one[0] == "pcie_width"] == []
    one = machine_of(empty, cards={0: {"pcie__lanes": 16}})
    assert ("pcie_width", "warning", "gpu 1") in found(one)
    assert only(one, "pcie_width").confidence == "likely"
    alone = machine_of(empty, cards={0: None})
    assert only(alone, "pcie_width").confidence == "maybe"


def test_a_card_given_to_a_virtual_machine_is_meant_to_be_away():
    host = {"like": "server", "pci": {GPU: {"driver": "vfio-pci"}}}
    assert found(machine_of(host, cards={2: None})) == []


def test_no_driver_answered_at_all_is_not_observed():
    machine = machine_of({"like": "server"}, cards=dict.fromkeys(range(8)))
    said = [one for one in examined(machine).checks if one.check == "pcie_driver"]
    assert [type(verdict) for verdict in said[0].verdicts] == [NotSeen]


def test_without_root_the_switches_are_not_observed():
    closed = {address: {"as_root": False} for address in (GPU, PORT_BELOW)}
    machine = machine_of({"like": "server", "pci": closed})
    (said,) = next(one.verdicts for one in examined(machine).checks if one.check == "pcie_acs")
    assert isinstance(said, NotSeen)


def test_free_slots_are_told():
    (said,) = next(
        one.verdicts for one in examined(machine_of({"like": "server"})).checks if one.check == "pcie_room"
    )
    assert isinstance(said, Fine)
    assert "PCIe Slot 31 (x16 PCI Express 5)" in str(said.says)


MODULE = {"mib": 49152, "rated": 5600, "set": 5200}
A1, A2 = ({"slot": f"DIMM_A{place}", "bank": "P0 CHANNEL A", **MODULE} for place in (1, 2))
B1, B2 = ({"slot": f"DIMM_B{place}", "bank": "P0 CHANNEL B", **MODULE} for place in (1, 2))


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        ([A1, B1], []),  # set to what the processor allows, below what is printed on them
        ([A1], [("memory_channels", "note")]),
        ([A1, A2], [("memory_channels", "note")]),
        ([A1, B1, B2], [("memory_channels", "note")]),
        ([{**A1, "set": 3600}, {**B1, "set": 3600}], [("memory_speed", "warning")]),
        ([{**A1, "set": 4800}, {**B1, "set": 4800}], [("memory_speed", "note")]),
        ([{**one, "set": 3600} for one in (A1, A2, B1, B2)], [("memory_speed", "note")]),
        ([A1, {**B1, "rated": 6000}], [("memory_speed", "note")]),
    ],
)
def test_modules_of_a_desktop_of_two_channels(modules, said):
    machine = machine_of({"like": "desktop", "dmi": {"modules": modules}})
    assert [one[:2] for one in found(machine) if one[0].startswith("memory")] == said


def test_a_server_with_a_quarter_of_its_channels():
    modules = [
        {"slot": f"A{n}", "bank": f"P{n}_Node0_Channel0_Dimm0", "mib": 262144, "ecc": True} for n in range(4)
    ]
    machine = machine_of({"like": "server", "dmi": {"modules": modules}})
    one = only(machine, "memory_channels")
    assert one.severity == "warning"
    assert {"4", "16"} <= filled(one.title)
    assert "38.4 GB/s" in str(one.why) or "38 GB/s" in str(one.why)


def test_a_process_that_may_run_only_far_from_a_card():
    machine = machine_of({"like": "server", "cpu": {"allowed": "0-31,64-95"}})
    assert [one for one in found(machine) if one[0] == "pcie_numa"] == [
        ("pcie_numa", "note", f"gpu {index}") for index in range(4, 8)
    ]


def test_a_domain_without_memory():
    empty = "Node 1 MemTotal:  0 kB"
    host = {"like": "server", "files": {"/sys/devices/system/node/node1/meminfo": empty}}
    said = [one for one in found(machine_of(host)) if one[0] == "pcie_numa"]
    assert said == [("pcie_numa", "warning", f"gpu {index}") for index in range(4, 8)]


def test_small_machines_want_swap_and_large_ones_do_not():
    small = {"memory": {"swap_kb": 0, "total_kb": 32_000_000, "available_kb": 30_000_000}}
    assert ("memory_swap", "note", None) in found(machine_of({"like": "desktop", **small}))
    large = {"memory": {"swap_kb": 0}}
    assert found(machine_of({"like": "server", **large})) == []


def test_a_containers_memory_limit_counts():
    host = {"like": "server", "memory": {"limit_bytes": 200 * GIB}}
    one = only(machine_of(host, system={"container": "docker"}), "memory_size")
    assert one.severity == "warning"
    short = {"like": "server", "memory": {"total_kb": 260_000_000, "available_kb": 250_000_000}}
    outside = only(machine_of(short), "memory_size")
    assert [step.says for step in one.fix] != [step.says for step in outside.fix]


def test_a_soft_network_mount_and_a_disk_that_is_read_only_on_purpose():
    share = {"source": "srv:/x", "kind": "nfs4", "super": "rw,soft"}
    media = {"source": "/dev/nvme1n1p2", "kind": "ext4", "dev": "259:18", "options": "ro"}
    host = {"like": "server", "mounts": {"/share": share, "/media/disc": media}}
    host["commands"] = {"df -kP /share": "h\nx 90000000 0 80000000 1% /share\n"}
    said = found(machine_of(host))
    assert [one for one in said if one[0] == "disk_mount"] == [("disk_mount", "warning", "/share")]


def test_ports_that_are_not_cabled_are_no_fault():
    down = {"ports": {"1": {"state": "1: DOWN", "phys": "3: Disabled", "rate": "10 Gb/sec (4X SDR)"}}}
    host = {"like": "server", "infiniband": {f"mlx5_{number}": down for number in range(8)}}
    assert found(machine_of(host)) == []
