"""Driver, frameworks, environment, containers, system, log: each planted fault is found, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from boxes import h100, over, rtx4090

from rigright.doctor.examine import case_of, checks, examine, group_of
from rigright.doctor.record import NotSeen
from rigright.machine.host import Cpu, Memory, NumaNode, PciDevice, Port
from rigright.machine.record import Machine
from rigright.machine.running.log_lines import event_of
from rigright.machine.system import Event, Framework, Module, Package, Python, Software, System, Toolkit

MINE = (
    *("driver", "cuda", "torch", "pip", "packages", "library", "visible", "device_order", "container", "wsl"),
    *("fabric_service", "peer_memory", "nccl_variables", "slow_variables", "swappiness", "overcommit"),
    *("open_files", "numa_balancing", "clock_kept", "kernel", "reboot", "upgrades", "processes", "log"),
)
GROUPS = tuple(name for name in checks() if name.startswith(MINE))
NOW_S, UP_S, GIB = 1_795_300_000.0, 864_000.0, 2**30
KERNEL = "6.8.0-40-generic"
TORCH = Framework(name="torch", version="2.9.1", build="cu128", cuda="12.8")
VENV = Python(
    path="/v/bin/python",
    version="3.12.4",
    kind="venv",
    packages=(Package(name="torch", version="2.9.1"),),
    frameworks=(TORCH,),
)
SYSTEM = System(
    os_id="ubuntu",
    os_version="24.04",
    kernel=KERNEL,
    kernels=(KERNEL,),
    cmdline="ro quiet",
    virtual="none",
    container="none",
    up_s=UP_S,
    now_s=NOW_S,
    secure_boot=False,
    modules=(Module(name="nvidia"), Module(name="nvidia_uvm")),
    settings=(("vm.swappiness", "10"), ("vm.overcommit_memory", "0"), ("kernel.numa_balancing", "0")),
    limits=(("nofile", 65536.0), ("memlock", float("inf"))),
    clock_synced=True,
    services=(("docker", "active"), ("nvidia-fabricmanager", "active"), ("chrony", "active")),
    needs_reboot=False,
)
SOFTWARE = Software(
    driver="580.95.05",
    kernel_driver="580.95.05",
    disk_driver="580.95.05",
    library_drivers=("580.95.05",),
    driver_cuda="13.0",
    open_kernel=True,
    device_files=("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"),
    dkms=((f"nvidia/580.95.05 {KERNEL}", "installed"),),
    packages=(
        Package(name="nvidia-driver-580-server-open", version="580.95.05-0ubuntu1", state="installed"),
    ),
    toolkits=(Toolkit(name="cuda", path="/usr/local/cuda-13.0", version="13.0.2", current=True),),
    pythons=(VENV,),
    docker="27.1",
    docker_runtimes=("nvidia", "runc"),
    container_toolkit="1.17",
    fabric_manager="580.95.05",
    peermem=True,
)
CARD = PciDevice(address="0000:01:00.0", id="10de:2684", pci_class="0x030000", driver="nvidia")
SWITCH = PciDevice(address="0000:07:00.0", id="10de:22a3", pci_class="0x068000", driver="nvidia-nvswitch")
IB = Port(name="mlx5_0/1", kind="infiniband", state="up", bytes_per_s=50e9, max_bytes_per_s=50e9)


def box(*, cards=2, make=rtx4090, system=None, software=None, **fields):
    """A machine in good order but for what is said."""
    whole = {
        "devices": tuple(over(make(index), pci=f"0000:0{index + 1}:00.0") for index in range(cards)),
        "pci": (CARD,),
        "system": replace(SYSTEM, **system or {}),
        "software": replace(SOFTWARE, **software or {}),
        "memory": Memory(total_bytes=64 * GIB, swap_total_bytes=8 * GIB),
        "cpu": Cpu(usable=32, nodes=(NumaNode(index=0), NumaNode(index=1))),
        "events": (),
    }
    return Machine(**whole | fields)


def found(machine):
    """(check, severity) of all that is found."""
    return [(check, one.severity) for check, one in examine(case_of(machine), GROUPS).findings]


def only(machine):
    """The one finding."""
    ((_, one),) = examine(case_of(machine), GROUPS).findings
    return one


def log(*lines, age_s=3600.0):
    """Events of the kernel's log."""
    told = [event_of(line) for line in lines]
    assert None not in told
    return tuple(replace(one, at_s=NOW_S - age_s) for one in told)


@pytest.mark.parametrize("make", [rtx4090, h100])
def test_a_machine_in_good_order_has_no_finding(make):
    fields = {"pci": (CARD, SWITCH), "ports": (IB,)} if make is h100 else {}
    examined = examine(case_of(box(make=make, **fields)), GROUPS)
    assert [(check, str(one.title)) for check, one in examined.findings] == []
    assert examined.count(NotSeen) == 0


def test_a_machine_of_which_nothing_is_known_has_no_finding():
    assert found(Machine()) == []
    assert found(Machine(devices=(rtx4090(0),))) == []


def torch(**changed):
    return {"pythons": (replace(VENV, frameworks=(replace(TORCH, **changed),)),)}


NEWER = {"kernels": (KERNEL, "6.8.0-45-generic")}
CORRECTED = "pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0"
VARIANTS = {  # of faults in the ledger, and what is none beside them
    "newer kernel": (box(system=NEWER), [("driver_dkms", "warning"), ("reboot_pending", "note")]),
    "one card given out": (
        box(environment=(("CUDA_VISIBLE_DEVICES", "1"), ("SLURM_JOB_ID", "7"))),
        [],
    ),
    "the other maker's": (box(environment=(("HIP_VISIBLE_DEVICES", "7"),)), []),
    "harmless": (box(environment=(("NCCL_DEBUG", "INFO"), ("NCCL_SOCKET_IFNAME", "eth0"))), []),
    "refused": (
        box(events=log("Loading of unsigned module is rejected")),
        [("log_driver", "fault")],
    ),
    "amd": (
        box(events=log("amdgpu 0000:03:00.0: amdgpu: GPU reset begin!")),
        [("log_driver", "warning")],
    ),
    "bus": (
        box(events=log("pcieport 0000:00:01.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal)")),
        [("log_bus", "warning")],
    ),
    "a corrected error or two": (box(events=log(*(CORRECTED,) * 3)), []),
    "an empty drive": (box(events=log("blk_update_request: I/O error, dev sr0, sector 0")), []),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_of_faults(name):
    machine, wanted = VARIANTS[name]
    assert found(machine) == wanted


def test_what_happened_before_the_last_boot_weighs_less():
    lines = ("blk_update_request: I/O error, dev nvme0n1, sector 1",)
    assert found(box(events=log(*lines, age_s=UP_S + 60))) == [("log_disks", "warning")]


def test_a_link_that_flaps_on_a_fast_machine():
    down = ("mlx5_core 0000:12:00.0 ib0: Link down",)
    assert found(box(ports=(IB,), make=h100, pci=(CARD, SWITCH), events=log(*down * 2))) == []
    assert found(box(ports=(IB,), make=h100, pci=(CARD, SWITCH), events=log(*down * 3))) == [
        ("log_links", "warning")
    ]
    assert found(box(events=log(*down * 3))) == []


def test_a_closed_log_is_not_observed_and_no_finding():
    examined = examine(case_of(box(events=None)), GROUPS)
    blind = {
        one.check for one in examined.checks if any(isinstance(verdict, NotSeen) for verdict in one.verdicts)
    }
    assert examined.findings == ()
    assert blind == {"log_bus", "log_crashes", "log_disks", "log_driver", "log_heat", "log_memory"}


# chips and drivers


def test_the_last_driver_for_pascal():
    card = rtx4090(0, name="Tesla P40", pci_id="10de:1b38", isa="6.1", mem_total_bytes=24 * GIB)
    new = {
        "driver": "595.58.03",
        "kernel_driver": "595.58.03",
        "library_drivers": (),
        "disk_driver": None,
        "pythons": (),
        "open_kernel": False,
    }
    machine = replace(box(cards=1, software=new), devices=(over(card, pci="0000:01:00.0"),))
    assert found(machine) == [("driver_chip", "fault")]
    assert "580" in str(only(machine).fix[0].says)


@pytest.mark.parametrize(
    ("isa", "is_open", "wanted"),
    [
        ("12.0", False, [("driver_open", "fault")]),
        ("12.0", True, []),
        ("7.0", True, [("driver_open", "fault")]),
        ("7.0", False, []),
        ("9.0", False, []),
    ],
)
def test_the_kind_of_kernel_module_each_chip_needs(isa, is_open, wanted):
    card = over(rtx4090(0, name="a card of that kind", pci_id=None, isa=isa), pci="0000:01:00.0")
    machine = box(software={"open_kernel": is_open, "pythons": ()}, pci=())
    assert found(replace(machine, devices=(card,))) == wanted


def test_a_blackwell_card_that_only_the_bus_shows():
    blackwell = PciDevice(address="0000:01:00.0", id="10de:2b85", pci_class="0x030000", driver="nvidia")
    machine = box(cards=0, pci=(blackwell,), software={"open_kernel": False})
    assert ("driver_open", "fault") in found(machine)


def test_volta_lost_its_kernels_in_newer_wheels():
    card = over(rtx4090(0, name="Tesla V100-SXM2-16GB", pci_id=None, isa="7.0"), pci="0000:01:00.0")
    newer = torch(version="2.11.0", build="cu128", cuda="12.8") | {"open_kernel": False}
    machine = replace(box(software=newer, pci=()), devices=(card,))
    assert found(machine) == [("torch_chip", "fault")]
    assert "whl/cu126" in only(machine).fix[0].command


def test_a_wheel_newer_than_the_driver():
    old = {
        "driver": "535.183.01",
        "kernel_driver": "535.183.01",
        "library_drivers": (),
        "disk_driver": None,
        "driver_cuda": "12.2",
        "toolkits": (),
    }
    new = torch(version="2.13.0", build="cu130", cuda="13.0")
    assert [one for one in found(box(software=old | new)) if one[0] == "torch_driver"] == [
        ("torch_driver", "fault")
    ]
    within = torch()  # CUDA 12.8 on a driver of 12.2 runs by minor version compatibility
    assert [one for one in found(box(software=old | within)) if one[0] == "torch_driver"] == []


@pytest.mark.parametrize(
    ("make", "path", "fault"),
    [
        (h100, "/usr/local/cuda-13.0/compat:/opt/lib", False),
        (h100, "/usr/local/cuda/compat", False),
        (h100, "/usr/local/cuda-12.8/compat", True),  # carries another CUDA than the wheel's
        (h100, "", True),
        (rtx4090, "/usr/local/cuda-13.0/compat", True),  # does not take it
    ],
)
def test_a_compatibility_package_carries_a_newer_cuda_on_datacentre_cards(make, path, fault):
    old = {"driver": "570.124.06", "kernel_driver": "570.124.06", "library_drivers": (), "disk_driver": None}
    new = torch(version="2.13.0", build="cu130", cuda="13.0")
    machine = box(make=make, software=old | new, environment=(("LD_LIBRARY_PATH", path),))
    said = list(examine(case_of(machine), ("torch_driver",)).findings)
    assert [finding.severity for _, finding in said] == ["fault"] * fault
    offered = any("cuda-13.0/compat" in (one.command or "") for _, finding in said for one in finding.fix)
    assert offered == (fault and make is h100), "offered where the cards take it"


@pytest.mark.parametrize(
    ("os_id", "version", "line"),
    [
        ("ubuntu", "24.04", "apt-get install -y cuda-toolkit-12-9"),
        ("rocky", "9.6", "dnf install -y cuda-toolkit-12-9"),
        ("sles", "15.7", "zypper --non-interactive install cuda-toolkit-12-9"),
        ("arch", None, None),
    ],
)
def test_an_older_toolkit_comes_by_the_line_of_the_very_system(os_id, version, line):
    system = {"os_id": os_id, "os_version": version}
    kit = Toolkit(name="cuda", path="/usr/local/cuda-13.0", version="13.0", current=True)
    machine = box(system=system, software={"driver_cuda": "12.9", "toolkits": (kit,)})
    ((_, finding),) = examine(case_of(machine), ("cuda_toolkit",)).findings
    assert finding.fix[0].command == line


def test_secure_boot_and_a_module_that_did_not_load():
    none = {
        "kernel_driver": None,
        "driver": None,
        "library_drivers": (),
        "open_kernel": None,
        "disk_driver": None,
        "pythons": (),
        "toolkits": (),
        "dkms": (),
    }
    machine = box(cards=0, system={"secure_boot": True, "modules": ()}, software=none)
    assert found(machine) == [("driver_signing", "fault")]


@pytest.mark.parametrize(
    ("pci_id", "package"),
    [
        ("10de:2684", "linux-modules-nvidia-580-server-open-generic"),
        ("10de:1db4", "linux-modules-nvidia-580-server-generic"),  # V100: the closed module alone
        ("10de:1b06", "linux-modules-nvidia-580-server-generic"),
    ],
)
def test_signed_modules_of_ubuntu_are_of_the_kind_that_the_cards_run_on(pci_id, package):
    card = replace(CARD, id=pci_id)
    machine = Machine(system=replace(SYSTEM, secure_boot=True, modules=()), pci=(card,))
    ((_, finding),) = examine(case_of(machine), ("driver_signing",)).findings
    assert finding.fix[0].command == f"apt install {package}"


def test_wsl_is_not_held_to_linux():
    inside = {
        "virtual": "wsl2",
        "secure_boot": None,
        "modules": None,
        "services": (),
        "kernels": (),
        "clock_synced": None,
    }
    files = {"device_files": ("dxg",), "kernel_driver": None, "packages": (), "docker": None, "dkms": ()}
    assert found(box(system=inside, software=files, pci=None)) == []
    assert found(box(system=inside, software=files | {"device_files": ("null",)}, pci=None)) == [
        ("wsl_driver", "fault")
    ]
    installed = files | {"packages": SOFTWARE.packages}
    assert ("wsl_driver", "fault") in found(box(system=inside, software=installed, pci=None))


def test_the_switches_manager_only_where_there_are_switches():
    stopped = {"services": (("nvidia-fabricmanager", "inactive"),)}
    assert found(box(system=stopped)) == []
    switched = {"make": h100, "pci": (SWITCH,)}
    assert found(box(system=stopped, **switched)) == [("fabric_service", "fault")]
    assert found(box(software={"fabric_manager": "570.1.2"}, **switched)) == [("fabric_service", "fault")]
    assert found(box(software={"fabric_manager": "580.95.05"}, **switched)) == []


def test_network_cards_and_the_cards_memory():
    fabric = {"make": h100, "pci": (SWITCH,), "ports": (IB,)}
    assert found(box(software={"peermem": False, "open_kernel": False}, **fabric)) == [
        ("peer_memory", "warning")
    ]
    assert found(box(software={"peermem": False}, **fabric)) == []  # DMA-BUF, by the open module
    assert found(box(software={"peermem": False, "open_kernel": False})) == []


def test_unlike_cards_are_counted_in_two_ways():
    other = over(rtx4090(1, name="NVIDIA GeForce RTX 3090", pci_id=None, isa="8.6"), pci="0000:02:00.0")
    machine = replace(box(cards=1), devices=(*box(cards=1).devices, other))
    assert found(machine) == [("device_order", "note")]
    assert found(replace(machine, environment=(("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),))) == []


def test_visible_devices_by_uuid_and_slice():
    uuid = box().devices[0].uuid
    assert uuid
    both = ",".join(one.uuid for one in box().devices)
    assert found(box(environment=(("CUDA_VISIBLE_DEVICES", both),))) == []
    short = (("CUDA_VISIBLE_DEVICES", "GPU-ffffffff"),)
    assert found(box(environment=short)) == [("visible_devices", "warning")]


@pytest.mark.parametrize("check", GROUPS)
def test_every_check_has_its_manual_and_a_group(check):
    entry = checks()[check]
    assert group_of(check) != "other"
    assert len(entry.manual) > 150
    assert "Source" in entry.manual


def test_an_event_without_a_time_still_counts():
    assert found(
        box(events=(Event(kind="oom", text="Out of memory: Killed process 1 (a)", program="a"),))
    ) == [("log_memory", "warning")]
