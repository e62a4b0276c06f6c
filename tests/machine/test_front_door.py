"""The front door: whatever a person hands over, in any mix, is read; what is not in it stays unknown."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from archives import tar_of, zip_of
from examples import THOROUGH
from rigright.base.errors import DataError
from rigright.machine.opened import open_machine, read_machine
from rigright.machine.opened.pieces import SUPPORTED
from rigright.machine.opened.text import sections, text_of
from rigright.machine.record import Machine

XID = "NVRM: Xid (PCI:0000:38:00): 79, pid=0, GPU has fallen off the bus."
AT_S = 1_737_434_504.0  # 2025-01-21 04:41:44 UTC
STAMP = "2025-01-21T04:41:44"
ENTRY = {"__CURSOR": "s=1", "__REALTIME_TIMESTAMP": "1737434504283302", "_TRANSPORT": "kernel"}
SMI_L = "GPU 0: NVIDIA L4 (UUID: GPU-11111111-2222-3333-4444-555555555555)\n"
SMI_CSV = "index, pci.bus_id, memory.total [MiB], driver_version\n0, 00000000:38:00.0, 23034 MiB, 550.54.15\n"

LOGS = {  # how it was printed -> a line of it
    "dmesg": f"[   12.300000] {XID}",
    "dmesg -T": f"[Tue Jan 21 04:41:44 2025] {XID}",
    "dmesg -x": f"kern  :err   : [   12.300000] {XID}",
    "dmesg -x iso": f"kern  :warn  : {STAMP},283302+00:00 {XID}",
    "dmesg iso": f"{STAMP},283302+00:00 {XID}",
    "dmesg -d": f"[   12.300000 <    0.000012>] {XID}",
    "dmesg -r": f"<3>[   12.300000] {XID}",
    "dmesg -t": XID,
    "dmesg with threads": f"[   12.300000][  T123] {XID}",
    "short": f"Jan 21 04:41:44 node7 kernel: {XID}",
    "short-precise": f"Jan 21 04:41:44.283302 node7 kernel: {XID}",
    "short-iso": f"{STAMP}+0000 node7 kernel: {XID}",
    "short-full": f"Tue 2025-01-21 04:41:44 UTC node7 kernel: {XID}",
    "short-monotonic": f"[   12.300000] node7 kernel: {XID}",
    "json": json.dumps({**ENTRY, "MESSAGE": XID}),
    "json-pretty": json.dumps({**ENTRY, "MESSAGE": XID}, indent=8),
    "json-seq": "\x1e" + json.dumps({**ENTRY, "MESSAGE": XID}),
    "json of bytes": json.dumps({**ENTRY, "MESSAGE": list(XID.encode())}),
    "verbose": f"Tue 2025-01-21 04:41:44.283302 UTC [s=a;i=1]\n    _TRANSPORT=kernel\n    MESSAGE={XID}",
    "export": f"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1737434504283302\n_TRANSPORT=kernel\nMESSAGE={XID}\n",
    "kmsg": f"3,3964,12300000,-;{XID}",
    "pstore": f"Panic#1 Part1\n<3>[   12.300000] {XID}",
    "rsyslog": f"{STAMP}.283302+00:00 node7 kernel: [   12.3] {XID}",
    "RFC 5424": f"<3>1 {STAMP}.283302+00:00 node7 kernel - - - [   12.3] {XID}",
    "containerd": f"{STAMP}.283302123Z stderr F {XID}",
    "containerd, stamped": f"{STAMP}.283302123Z stdout F [   12.300000] {XID}",
    "docker": json.dumps({"log": f"[   12.300000] {XID}\n", "stream": "stdout", "time": f"{STAMP}.2Z"}),
    "compose": f"agent-1  | [   12.300000] {XID}",
    "kubectl": f"[pod/agent-abc/agent] [   12.300000] {XID}",
    "docker's syslog": f"Jan 21 04:41:44 node7 docker/agent[77]: [   12.300000] {XID}",
    "grep": f"/var/log/kern.log:17:[   12.300000] {XID}",
    "a mail": f"> [   12.300000] {XID}",
    "colours": f"\x1b[32m[   12.300000] \x1b[0m\x1b[31m{XID}\x1b[0m",
    "set in": f"      [   12.300000] {XID}",
    "seconds since 1970": f"1737434504 {XID}",
}
SILENT = {  # no year, no stamp at all, or one that no log of a system bears
    "dmesg -t": LOGS["dmesg -t"],
    "short": LOGS["short"],
    "short-precise": LOGS["short-precise"],
    "day first": f"24/11/2026 10:00:01 {XID}",
    "an American's": f"Nov 24, 2026 11:02 PM {XID}",
    "a German's": f"24.11.2026, 10:00:01: {XID}",
    "a month between": f"[24-Nov-2026 10:00:01] node7 {XID}",
    "a web server's": f"24/Nov/2026:10:00:01 +0000 {XID}",
    "a clock": f"10:00:01 {XID}",
    "a host alone": f"Nov 24 10:00:01 node7 {XID}",
    "a list's": f"- {XID}",
    "a container's": f"stderr | {XID}",
    "a level": f"ERROR: {XID}",
    "a host and a colon": f"node7: {XID}",
    "logfmt": f'level=error msg="{XID}"',
    "a prompt's": f"gpu-agent> {XID}",
    "a line's number": f"syslog:17:{XID}",
    "columns": f"node7;kernel;err;{XID}",
    "an event of a cluster": f"Warning  XidError  3m  gpud  {XID}",
    "a level of syslog": f"node7 kern.warn kernel {XID}",
    "a build's": f"#17 12.33 {XID}",
    "other letters": f"\u9519\u8bef\uff1a{XID}",
}
LOGS |= SILENT
LOGS |= {
    "a host before a stamp": f"node7: [   12.300000] {XID}",
    "logfmt with a time": f'time="{STAMP}Z" level=error msg="{XID}"',
    "an agent of Kubernetes": f"E0121 04:41:44.123456 12 watch.go:33] [   12.300000] {XID}",
    "a pod and its container": f"agent-abc agent [   12.300000] {XID}",
}
BARE = (  # how lines of the kernel begin, beside those of a driver at an address
    "mce: [Hardware Error]: Machine check events logged: Uncorrected",
    "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (channel:1 slot:0)",
    "Out of memory: Killed process 4211 (python) total-vm:1kB, anon-rss:2kB",
    "INFO: task python:4211 blocked for more than 120 seconds.",
    "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python:411]",
    "nvme nvme0: I/O 832 (I/O Cmd) QID 5 timeout, aborting",
    "blk_update_request: I/O error, dev sda, sector 12",
    "ata1.00: failed command: READ FPDMA QUEUED",
    "EXT4-fs error (device nvme0n1p2): ext4_find_entry:1455: inode #2: comm ls",
    "pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:01:00.0",
)


@pytest.mark.parametrize("label", ["", "stderr | ", "node7: ", "ERROR: ", "Nov 24 10:00:01 ", "24.11.2026 "])
@pytest.mark.parametrize("line", BARE)
def test_a_line_of_the_kernel_is_known_by_how_it_begins(line, label):
    (event,) = read_machine(f"{label}{line}\n".encode(), name="x").events
    assert event.text == line


@pytest.mark.parametrize("form", LOGS)
def test_a_fault_is_seen_in_every_stamp(form):
    machine = read_machine((LOGS[form] + "\n").encode(), name=form)
    (event,) = machine.events
    assert (event.kind, event.code, event.pci, event.text) == ("xid", 79, "0000:38:00.0", XID)
    if event.at_s is not None:
        assert event.at_s == pytest.approx(AT_S, abs=1)
    if event.up_s is not None:
        assert event.up_s == pytest.approx(12.3)
    assert (event.at_s is None and event.up_s is None) == (form in SILENT)


@pytest.mark.parametrize(
    "label",
    [
        "Jan 21 04:41:44 node7 myapp[7]: ",
        "[   12.3] node7 sshd[7]: ",
        "node7 myapp[7]: ",
        "24.11. node7 myapp[7]: ",
    ],
)
def test_what_a_program_repeats_counts_where_the_kernel_itself_says_nothing(label):
    (event,) = read_machine(f"{label}{XID}".encode(), name="x").events
    assert event.code == 79
    own = "Jan 21 04:41:44 node7 kernel: NVRM: Xid (PCI:0000:38:00): 48, pid=0, DBE"
    assert [one.code for one in read_machine(f"{own}\n{label}{XID}".encode(), name="x").events] == [48]


PROMPTS = r"""root@host:~# {}
$ {}
# {}
user@box:/data/my runs$ sudo {}
[root@gpu1 ~]# {}
(base) a@b:~$ {}
C:\Users\me>{}
PS C:\Users\me> {}
user@mac ~ % {}
❯ {}
!{}
+ {}
bash-5.1$ {}
==== {} ====
### {}""".splitlines()


@pytest.mark.parametrize("prompt", [*PROMPTS, f"{'_' * 42}\n\n/usr/bin/{{}}\n"])
def test_several_commands_pasted_in_one_text_are_each_read(prompt):
    pieces = (("nvidia-smi -L", SMI_L), ("dmesg -T", f"[Tue Jan 21 04:41:44 2025] {XID}\n"), ("lspci", LSPCI))
    text = "\n".join(f"{prompt.format(command)}\n{said}" for command, said in pieces)
    machine = read_machine(text.encode(), name="x")
    assert [one.name for one in machine.devices] == ["NVIDIA L4"]
    assert [one.code for one in machine.events] == [79]
    assert [one.address for one in machine.pci] == ["0000:38:00.0"]
    assert machine.read_as == ("nvidia-smi", "kernel log", "lspci")


LSPCI = "38:00.0 3D controller [0302]: NVIDIA Corporation AD104GL [L4] [10de:27b8] (rev a1)\n"


MIX = {
    "case/smi.txt": SMI_L.encode("utf-16"),
    "case/query.csv": SMI_CSV.replace("\n", "\r\n").encode(),
    "case/dmesg.log.gz": gzip.compress(f"[   12.300000] {XID}\n".encode()),
    "case/inner.tgz": tar_of(("lspci.txt", LSPCI.encode())),
    "case/photo.jpg": bytes(range(256)) * 4,
    "case/notes.txt": b"please help\n",
}


@pytest.mark.parametrize("how", ["folder", "tar", "tgz", "zip", "gzip of a tar in a gzip"])
def test_any_mix_is_one_machine(how, tmp_path):
    if how == "folder":
        for name, raw in MIX.items():
            (tmp_path / "case").mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(raw)
        machine = open_machine(tmp_path)
    else:
        mix = MIX.items()
        raw = {
            "tar": lambda: tar_of(*mix, mode="w"),
            "tgz": lambda: tar_of(*mix),
            "zip": lambda: zip_of(*mix),
        }
        packed = raw.get(how, lambda: gzip.compress(tar_of(("all.tgz", tar_of(*mix)))))()
        machine = read_machine(packed, name="x")
    (card,) = machine.devices
    assert (card.name, card.pci, card.mem_total_bytes) == ("NVIDIA L4", "0000:38:00.0", 23034 * 2**20)
    assert machine.software.driver == "550.54.15"
    assert [one.code for one in machine.events] == [79]
    assert [one.id for one in machine.pci] == ["10de:27b8"]
    assert sorted(name.rpartition("/")[2] for name in machine.unread) == ["notes.txt", "photo.jpg"]


REPORT = f"""____________________________________________

Start of NVIDIA bug report log file.  Please include this file.
nvidia-bug-report.sh Version: 33986346

Date: Tue Jan 21 04:50:00 UTC 2025
uname: Linux gpu7 5.15.0-91-generic #101-Ubuntu SMP x86_64 x86_64 x86_64 GNU/Linux

____________________________________________

*** /proc/driver/nvidia/version
*** ls: -r--r--r-- 1 root root 0 2025-01-21 04:50:00.000000000 +0000 /proc/driver/nvidia/version
NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024

____________________________________________

*** /proc/meminfo
*** ls: -r--r--r-- 1 root root 0 2025-01-21 04:50:00.000000000 +0000 /proc/meminfo
MemTotal:       263923840 kB
MemAvailable:   200000000 kB

____________________________________________

/usr/bin/lspci -nn

{LSPCI}
____________________________________________

/usr/bin/nvidia-smi --query

==============NVSMI LOG==============

Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : 1
GPU 00000000:38:00.0
    Product Name                          : NVIDIA L4
    FB Memory Usage
        Total                             : 23034 MiB

____________________________________________

/usr/bin/dmesg

[    0.000000] Linux version 5.15.0-91-generic
[   12.300000] {XID}

____________________________________________

/usr/bin/journalctl -b -0

Jan 21 04:41:44 gpu7 kernel: {XID}
____________________________________________

End of NVIDIA bug report log file.
"""


def test_a_bug_report_is_read_with_all_its_sections():
    machine = read_machine(gzip.compress(REPORT.encode()), name="nvidia-bug-report.log.gz")
    (card,) = machine.devices
    assert (card.name, card.pci) == ("NVIDIA L4", "0000:38:00.0")
    assert (machine.software.driver, machine.software.kernel_driver) == ("550.54.15", "550.54.15")
    assert (machine.system.host, machine.system.kernel) == ("gpu7", "5.15.0-91-generic")
    assert machine.memory.total_bytes == 263923840 * 1024
    assert [one.address for one in machine.pci] == ["0000:38:00.0"]
    assert [(one.code, one.up_s) for one in machine.events] == [(79, 12.3)], "two logs tell of one moment"


def test_what_is_not_in_it_is_unknown():
    machine = read_machine(
        ("$ cat /etc/os-release\nID=ubuntu\nVERSION_ID=22.04\n" + SMI_L).encode(), name="x"
    )
    assert (machine.system.os_id, machine.system.needs_reboot) == ("ubuntu", None)
    assert (machine.events, machine.pci, machine.disks, machine.ports) == (None, None, None, None)
    assert machine.system.modules is None
    assert machine.unseen == ()


def test_an_infiniband_tree_is_read_wherever_it_lies():
    ports = {"rate": b"400 Gb/sec (4X NDR)\n", "state": b"4: ACTIVE\n", "link_layer": b"InfiniBand\n"}
    tree = {f"node3/mlx5_0/ports/1/{name}": raw for name, raw in ports.items()}
    for top in ("", "saved/", "saved/sys/class/infiniband/"):
        members = {name.replace("node3/", top): raw for name, raw in tree.items()}
        (port,) = read_machine(tar_of(*members.items()), name="x").ports
        assert (port.name, port.kind, port.state, port.bytes_per_s) == ("mlx5_0/1", "infiniband", "up", 50e9)


HEAD = "       total   used   free  shared  buff/cache  available\n"
HOSTS = {
    "lscpu": (
        """Architecture:        x86_64
CPU(s):              224
Model name:          Xeon 8480C
Thread(s) per core:  2
Core(s) per socket:  56
Socket(s):           2
Vendor ID:           GenuineIntel
""",
        lambda one: (
            (one.cpu.threads, one.cpu.cores, one.cpu.sockets, one.cpu.vendor) == (224, 112, 2, "intel")
        ),
    ),
    "free -m": (
        HEAD + "Mem:  2063 10 20 5 30 2000\nSwap: 0 0 0\n",
        lambda one: (one.memory.total_bytes, one.memory.swap_total_bytes) == (2063 * 2**20, 0),
    ),
    "free -h": (
        HEAD + "Mem:  2.0Ti 10Gi 20Gi 5Mi 30Gi 1.9Ti\n",
        lambda one: one.memory.total_bytes == 2 * 2**40,
    ),
    "lsblk -J": (
        """{"blockdevices": [
            {"name": "nvme0n1", "size": "3.5T", "type": "disk", "rota": false, "model": "PM9A3", "children": [
                {"name": "nvme0n1p1", "size": "3.5T", "type": "part", "mountpoint": "/", "fstype": "ext4"}]},
            {"name": "loop0", "size": "4K", "type": "loop"}]}""",
        lambda one: (
            [(disk.name, disk.kind, disk.model) for disk in one.disks] == [("nvme0n1", "nvme", "PM9A3")]
            and [(mount.path, mount.disk) for mount in one.mounts] == [("/", "nvme0n1")]
        ),
    ),
    "smartctl -j": (
        json.dumps(
            {
                "smartctl": {},
                "device": {"name": "/dev/nvme0"},
                "model_name": "PM9A3",
                "smart_status": {"passed": False},
                "nvme_smart_health_information_log": {"percentage_used": 104, "media_errors": 3},
            }
        ),
        lambda one: (
            [(disk.name, disk.worn_share, disk.media_errors, disk.warnings) for disk in one.disks]
            == [("nvme0n1", 1.04, 3, ("overall health: failed",))]
        ),
    ),
    "smartctl -a /dev/sda": (
        """smartctl 7.2 2020-12-30
Device Model:     ST8000
SMART overall-health self-assessment test result: PASSED
  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       17
""",
        lambda one: (
            [(disk.name, disk.model, disk.warnings) for disk in one.disks]
            == [("sda", "ST8000", ("reallocated sectors: 17",))]
        ),
    ),
    "lsmod": (
        "Module                  Size  Used by\nnvidia_uvm 100 0\nnvidia 200 2 nvidia_uvm,nvidia_modeset\n",
        lambda one: [module.name for module in one.system.modules] == ["nvidia_uvm", "nvidia"],
    ),
    "uname -a": (
        "Linux gpu7 6.8.0-40-generic #40-Ubuntu SMP x86_64 x86_64 x86_64 GNU/Linux\n",
        lambda one: (one.system.host, one.system.kernel) == ("gpu7", "6.8.0-40-generic"),
    ),
    "fabric manager": (
        """[Feb 27 2025 15:10:01] [INFO] [tid 1] Fabric Manager version 550.54.15 is running
[Feb 27 2025 15:10:02] [ERROR] [tid 1] detected NVSwitch fatal error 12028 on fid 0 on NVSwitch \
pci bus id 00000000:86:00.0 physical id 3 port 61
""",
        lambda one: (
            one.software.fabric_manager == "550.54.15"
            and [(event.kind, event.code, event.pci) for event in one.events]
            == [("sxid", 12028, "0000:86:00.0")]
        ),
    ),
    "timedatectl": (
        "               Local time: Tue 2025-01-21\nSystem clock synchronized: no\n",
        lambda one: one.system.clock_synced is False,
    ),
}


@pytest.mark.parametrize("command", HOSTS)
def test_what_common_tools_print_is_read(command):
    text, holds = HOSTS[command]
    machine = read_machine(f"root@gpu7:~# {command}\n{text}".encode(), name="x")
    assert holds(machine), machine


def test_documents_among_prose_are_each_read():
    disk = {"smartctl": {}, "device": {"name": "/dev/nvme0"}, "smart_status": {"passed": True}}
    first, second = (json.dumps({**disk, "device": {"name": f"/dev/nvme{n}"}}, indent=4) for n in range(2))
    cpu = json.dumps({"lscpu": [{"field": "CPU(s):", "data": "8"}]}, indent=3)
    for text in (
        f"It hangs.\n{first}\nand\n{second}\n{cpu}\nRegards\n",
        f"$ smartctl -j /dev/nvme0\nWarning\n{first}\n{second}\n{cpu}",
    ):
        machine = read_machine(text.encode(), name="x")
        assert [one.name for one in machine.disks] == ["nvme0n1", "nvme1n1"]
        assert machine.cpu.threads == 8
        assert machine.unread == ()


def test_what_cannot_be_read_is_named_with_what_can():
    machine = read_machine(f"$ nvidia-smi -L\n{SMI_L}\n$ ls -la\ntotal 0\n".encode(), name="x")
    assert machine.unread == ("ls -la",)
    with pytest.raises(DataError) as refused:
        read_machine(b"$ ls -la\ntotal 0\n", name="x")
    told = dict(refused.value.sentence.values)
    assert (told["file"], told["heads"], told["supported"]) == ("x", "ls -la", SUPPORTED)
    assert "nvidia-smi" in SUPPORTED


def test_nothing_hostile_takes_long_or_falls():
    """Names that lead out, endless nests, marks said again and again."""
    evil = {"../../etc/passwd": b"root", "/proc/meminfo": b"MemTotal: 99999999999999999999 kB\n"}
    read = 0
    for raw in (
        tar_of(*evil.items(), ("a.txt", SMI_L.encode())),
        (("root@h:~# nvidia-smi\n" + SMI_L) * 1000).encode(),
        ("```\n" * 20_000).encode() + SMI_L.encode(),
        ("_" * 40 + "\n\n").encode() * 8_000 + SMI_L.encode(),
        b'{"__CURSOR": 1, "MESSAGE": 2, "__REALTIME_TIMESTAMP": {}}\n' * 1000 + SMI_L.encode(),
    ):
        try:
            read += len(read_machine(raw, name="x").devices)
        except DataError:
            continue
    assert read >= 3
    assert len(sections("$ dmesg\nx\n" * 5000)) <= 2001


HANDED = {  # how a text comes to us -> what becomes of it on the way
    "Windows lines": lambda raw: raw.replace(b"\n", b"\r\n"),
    "PowerShell": lambda raw: raw.decode("utf-8", "replace").encode("utf-16"),
    "colours": lambda raw: b"".join(b"\x1b[0m" + line + b"\x1b[K\n" for line in raw.splitlines()),
    "a mail": lambda raw: b"".join(b"> " + line + b"\n" for line in raw.splitlines()),
    "a thread": lambda raw: b"see below\n```console\n" + raw + b"\n```\nthanks!\n",
    "set in": lambda raw: b"".join(b"    " + line + b"\n" for line in raw.splitlines()),
    "prose around": lambda raw: b"It hangs since Monday.\nThis is what it says:\n\n" + raw + b"\n\nRegards\n",
    "a container's log": lambda raw: b"".join(
        b"2031-05-06T07:08:09.101112131Z stdout F " + line + b"\n" for line in raw.splitlines()
    ),
}
STAMPS, STAMPED_S = "a container's log", 1_935_817_689.101112
MOST_BYTES = 16_000 if THOROUGH else 4_000  # larger ones take their time, and tell nothing more


def test_the_way_it_was_handed_over_changes_no_fact(shared):
    """Every capture that is not too large, against itself as it was taken."""
    seen, wrong = 0, []
    for path in sorted((shared / "captures").rglob("*")):
        if not path.is_file() or path.suffix in {".md", ".gz"} or not 0 < path.stat().st_size < MOST_BYTES:
            continue
        raw = path.read_bytes()
        alone, text = said(raw), text_in(raw)
        for way, handed in HANDED.items():
            if text is not None and text_in(handed(raw)) == text:
                continue  # readers are shown the very same
            found = said(handed(raw))
            if (unstamped(found) if way == STAMPS else found) != alone:
                wrong.append((way, path.name))
        seen += 1
    assert seen > 30
    assert not wrong


def text_in(raw):
    """What readers are shown of it; None where it is a file of another kind."""
    try:
        return text_of(raw, name="x").rstrip("\n") if raw[:2] != b"PK" else None
    except DataError:
        return None


def said(raw):
    try:
        return replace(read_machine(raw, name="x"), read_as=(), unread=())
    except DataError as error:
        return type(error)


def unstamped(machine):
    """Without the time that the log of a container adds to lines that bear none of their own."""
    if not isinstance(machine, Machine) or not machine.events:
        return machine
    events = [replace(one, at_s=None) if one.at_s == STAMPED_S else one for one in machine.events]
    return replace(machine, events=tuple(events))


def test_captures_one_after_another_in_one_text(shared):
    """Cards, their faults and the bus of one machine, in any order, each as it is alone."""
    folder = shared / "captures"
    pieces = [
        (folder / "nvidia-smi-text/linux-x86_64__nvidia-l40s__595.80.txt").read_bytes(),
        (folder / "new/logs/components_memory_testdata_dmesg.decode.iso.log").read_bytes(),
        (folder / "pci/lspci.nn.a10.txt").read_bytes(),
        (folder / "new/logs/pkg_host_testdata_dmidecode").read_bytes(),
    ]
    alone = [read_machine(raw, name="x") for raw in pieces]
    for order in (pieces, pieces[::-1]):
        machine = read_machine(b"\n".join(order), name="x")
        assert [one.uuid for one in machine.devices] == [one.uuid for one in alone[0].devices]
        assert [one.text for one in machine.events] == [one.text for one in alone[1].events]
        assert machine.pci == alone[2].pci
        assert machine.system.product == alone[3].system.product


NARROW = {  # what it is -> its text, and what the first card then is
    "dmon": (
        """# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk
# Idx      W      C      C      %      %    MHz    MHz
    0     70     34     45      0      0   2619    345
    1     75     36     46     10     40   2619   1980
# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk
    0     73     35      -     50      0   2619    345
""",
        lambda one: (
            (one.power.draw_w, one.thermal.gpu_c, one.busy_share, one.clocks.sm_hz) == (73, 35, 0.5, 345e6)
        ),
    ),
    "pmon": (
        """# gpu         pid   type     sm    mem    command
# Idx           #    C/G      %      %    name
    0      12345     C     99     40    python
""",
        lambda one: [(each.pid, each.name) for each in one.programs] == [(12345, "python")],
    ),
    "compute apps": (
        "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-1a, 77, python, 1024 MiB\n",
        lambda one: (one.uuid, one.programs[0].mem_bytes) == ("GPU-1a", 2**30),
    ),
    "mig -lgi": (
        "| GPU instances:          |\n|   0  MIG 1g.10gb         19        9          2:1     |\n",
        lambda one: [(part.gpu_instance, part.profile) for part in one.slices] == [(9, "1g.10gb")],
    ),
    "gpustat": (
        "[0] NVIDIA L4        | 34'C,   7 % |     3 / 23034 MB |\n",
        lambda one: (one.name, one.busy_share, one.mem_total_bytes) == ("NVIDIA L4", 0.07, 23034 * 2**20),
    ),
    "collect_env of ROCm": (
        """PyTorch version: 2.5.1+rocm6.2
Python platform: Linux-5.15.0-91-generic-x86_64-with-glibc2.35
Is CUDA available: True
GPU models and configuration: AMD Instinct MI300X (gfx942:sramecc+:xnack-)
Nvidia driver version: Could not collect
""",
        lambda one: (one.vendor, one.name, one.isa) == ("amd", "AMD Instinct MI300X", "gfx942"),
    ),
    "amd-smi monitor": (
        """GPU     PVIOL     TVIOL  PHOT_TVIOL  VR_TVIOL  HBM_TVIOL
  0      12 %       0 %         0 %       0 %        3 %
""",
        lambda one: one.slowed_by == ("hw_thermal", "sw_power_cap"),
    ),
    "amd-smi topology": (
        """LINK TYPE TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 SELF         XGMI
0000:22:00.0 XGMI         SELF
""",
        lambda one: (one.vendor, one.pci) == ("amd", "0000:0c:00.0"),
    ),
}


@pytest.mark.parametrize("form", NARROW)
def test_narrow_tables_are_read(form):
    text, holds = NARROW[form]
    assert holds(read_machine(text.encode(), name="x").devices[0]), form


def test_a_tree_with_printed_files_beside_it_is_one_machine(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 1024 kB\n")
    (tmp_path / "var/log").mkdir(parents=True)
    assert open_machine(tmp_path).read_as == ()
    (tmp_path / "smi.txt").write_text(SMI_L)
    machine = open_machine(tmp_path)
    assert (machine.memory.total_bytes, machine.devices[0].name) == (1024 * 1024, "NVIDIA L4")


def test_what_firmware_kept_of_a_crash_is_of_an_earlier_run():
    members = {
        "host/var/lib/systemd/pstore/1/dmesg-efi-1": f"Panic#1 Part1\n<3>[   12.300000] {XID}\n".encode(),
        "host/proc/meminfo": b"MemTotal: 1024 kB\n",
        "host/var/log/syslog": b"Jan 21 04:41:44 node7 systemd[1]: Started x.\n",
    }
    machine = read_machine(tar_of(*members.items()), name="x")
    assert [(one.code, one.earlier) for one in machine.events] == [(79, True)]
    assert machine.memory.total_bytes == 1024 * 1024


NETWORK = {  # the command -> what it prints, and what the port then is
    "mlxlink -d mlx5_4": (
        """Operational Info
----------------
State                : Active
Physical state       : LinkUp
Speed                : IB-NDR
Width                : 4x
""",
        ("mlx5_4/1", "infiniband", "up", 50e9),
    ),
    "ethtool eth0": (
        """Settings for eth0:
        Speed: 100000Mb/s
        Link detected: yes
""",
        ("eth0", "ethernet", "up", 12.5e9),
    ),
}


@pytest.mark.parametrize("command", NETWORK)
def test_what_tools_of_the_network_print_is_read(command):
    text, port = NETWORK[command]
    for head in ("", f"root@gpu7:~# {command}\n"):
        if not head and "-d" in command:
            continue
        (found,) = read_machine(f"{head}{text}".encode(), name="x").ports
        assert (found.name, found.kind, found.state, found.bytes_per_s) == port


OTHER_L = SMI_L.replace("GPU-1111", "GPU-9999")
SMI_Q = """==============NVSMI LOG==============
Driver Version                            : {driver}
Attached GPUs                             : {attached}
GPU 00000000:{bus}:00.0
    Product Name                          : NVIDIA L4
    GPU UUID                              : GPU-{uuid}111111-2222-3333-4444-555555555555
"""


def smi_q(bus, uuid, *, attached=1, driver="550.54.15"):
    return SMI_Q.format(bus=bus, uuid=uuid, attached=attached, driver=driver)


UNAME = "Linux {host} 6.8.0-45-generic #45-Ubuntu SMP x86_64 GNU/Linux\n"


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({"n1/smi.txt": SMI_L, "n2/smi.txt": OTHER_L}, "n1, n2"),
        ({"a.txt": SMI_L, "b.txt": OTHER_L}, "a.txt, b.txt"),
        ({"a.txt": UNAME.format(host="gpu1"), "b.txt": UNAME.format(host="gpu2")}, "gpu1, gpu2"),
        ({"n1/q.txt": smi_q("01", "11"), "n2/q.txt": smi_q("41", "99")}, "n1, n2"),
        (
            {
                "a.txt": smi_q("01", "11", attached=8),
                "b.txt": smi_q("41", "99", attached=8, driver="580.65.06"),
            },
            "a.txt, b.txt",
        ),
        (
            {
                "n1/q.txt": smi_q("01", "11"),
                "n1/uname.txt": UNAME.format(host="gpu1"),
                "n2/q.txt": smi_q("41", "99"),
                "n2/uname.txt": UNAME.format(host="gpu2"),
            },
            "gpu1, gpu2",
        ),
    ],
)
def test_two_machines_in_one_folder_stay_two_and_are_named(files, names, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for opens in (
        lambda: open_machine(tmp_path),
        lambda: read_machine(tar_of(*((name, text.encode()) for name, text in files.items())), name="x.tar"),
    ):
        with pytest.raises(DataError) as refused:
            opens()
        told = dict(refused.value.sentence.values)
        assert (told["count"], told["names"]) == (2, names)
        assert "rigright fleet" in str(refused.value.hint)


def test_two_cards_of_one_machine_are_one_machine(tmp_path):
    both = SMI_L + SMI_L.replace("GPU 0", "GPU 1").replace("GPU-1111", "GPU-2222")
    (tmp_path / "list.txt").write_text(both)
    (tmp_path / "again.txt").write_text(both)
    (tmp_path / "uname.txt").write_text(UNAME.format(host="gpu1"))
    machine = open_machine(tmp_path)
    assert len(machine.devices) == 2
    assert machine.system.host == "gpu1"


@pytest.mark.parametrize(
    "files",
    [
        {"0.txt": smi_q("01", "11", attached=2), "1.txt": smi_q("41", "99", attached=2)},
        {"before.txt": smi_q("01", "11"), "after.txt": smi_q("01", "11", driver="580.65.06")},
        {"in slot 1.txt": smi_q("01", "11"), "in slot 2.txt": smi_q("41", "11")},
        {
            "uname.txt": UNAME.format(host="gpu1"),
            "hostnamectl.txt": "   Static hostname: gpu1.example.com\n",
            "q.txt": smi_q("01", "11"),
        },
    ],
)
def test_files_of_one_machine_stay_one(files, tmp_path):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert 1 <= len(open_machine(tmp_path).devices) <= 2
