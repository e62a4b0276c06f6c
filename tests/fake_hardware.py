"""Processor, memory, disks, network, InfiniBand and sensors of a fake tree; each piece takes one dict."""

from __future__ import annotations

import fake_dmi
from fake_trees import files, here, link, place_of, write
from fake_trees import folder as tree_folder

KB = 2**10


def cpu(root, told):
    """/proc/cpuinfo and /sys/devices/system/cpu: sockets x cores x threads."""
    threads = told.get("threads", 2)
    count = told["sockets"] * told["cores"] * threads
    blocks = []
    for index in range(count):
        core = index % (count // threads)
        blocks.append(_processor(told, index=index, socket=core // told["cores"], core=core % told["cores"]))
        folder = f"/sys/devices/system/cpu/cpu{index}"
        siblings = ",".join(str(core + turn * (count // threads)) for turn in range(threads))
        socket = core // told["cores"]
        files(
            root,
            f"{folder}/topology",
            core_id=core % told["cores"],
            physical_package_id=socket,
            thread_siblings_list=siblings,
        )
        files(root, f"{folder}/thermal_throttle", core_throttle_count=told.get("throttled", 0))
    write(root, "/proc/cpuinfo", "\n\n".join(blocks) + "\n\n")
    write(root, "/sys/devices/system/cpu/online", f"0-{count - 1}")
    write(
        root,
        "/proc/self/status",
        f"Name:\trigright\nCpus_allowed_list:\t{told.get('allowed', f'0-{count - 1}')}",
    )
    _clocks(root, told)
    per_socket = count // threads // told["sockets"]
    nodes = told.get("nodes", told["sockets"])
    for node in range(nodes):
        first = node * per_socket * told["sockets"] // nodes
        last = (node + 1) * per_socket * told["sockets"] // nodes - 1
        half = count // threads
        cpus = ",".join(f"{first + turn * half}-{last + turn * half}" for turn in range(threads))
        kb = told.get("node_kb", 0)
        write(root, f"/sys/devices/system/node/node{node}/cpulist", cpus)
        write(root, f"/sys/devices/system/node/node{node}/meminfo", f"Node {node} MemTotal:  {kb} kB")


def _processor(told, *, index, socket, core):
    if told.get("arm"):
        names = {"CPU implementer": told["arm"][0], "CPU architecture": "8", "CPU variant": "0x0"}
        rest = {"CPU part": told["arm"][1], "CPU revision": "0", "Features": told["flags"]}
        return "\n".join(
            f"{name}\t: {value}" for name, value in {"processor": index, **rest, **names}.items()
        )
    told_of = {
        "processor": index,
        "vendor_id": told["vendor"],
        "model name": told["name"],
        "microcode": told.get("microcode", "0x2b000590"),
        "cpu MHz": told.get("mhz", 2000.0),
        "physical id": socket,
        "siblings": told["cores"] * told.get("threads", 2),
        "core id": core,
        "cpu cores": told["cores"],
        "flags": told["flags"],
    }
    return "\n".join(f"{name}\t: {value}" for name, value in told_of.items())


def _clocks(root, told):
    """One policy stands for all: governor, driver, preference and turbo."""
    if told.get("governor"):
        files(
            root,
            "/sys/devices/system/cpu/cpufreq/policy0",
            scaling_governor=told["governor"],
            scaling_driver=told.get("driver"),
            scaling_available_governors="performance powersave",
            energy_performance_preference=told.get("preference"),
            cpuinfo_max_freq=told.get("max_khz"),
            scaling_cur_freq=told.get("now_khz"),
        )
    if told.get("boost") is not None and told.get("driver") == "intel_pstate":
        write(root, "/sys/devices/system/cpu/intel_pstate/no_turbo", 0 if told["boost"] else 1)
    elif told.get("boost") is not None:
        write(root, "/sys/devices/system/cpu/cpufreq/boost", 1 if told["boost"] else 0)


def memory(root, told):
    """/proc/meminfo, transparent pages, EDAC and the firmware's table of modules and slots."""
    swap = told.get("swap_kb", 0)
    write(
        root,
        "/proc/meminfo",
        f"MemTotal: {told['total_kb']} kB\nMemFree: {told['available_kb']} kB\n"
        f"MemAvailable: {told['available_kb']} kB\nSwapTotal: {swap} kB\n"
        f"SwapFree: {swap - told.get('swap_used_kb', 0)} kB\nHugePages_Total: {told.get('huge', 0)}\n"
        "Hugepagesize: 2048 kB",
    )
    mark = {"always": "[always] madvise never", "madvise": "always [madvise] never"}
    write(
        root,
        "/sys/kernel/mm/transparent_hugepage/enabled",
        mark.get(told.get("transparent", "madvise"), "always madvise [never]"),
    )
    memlock = told.get("memlock", "unlimited")
    lines = f"Max locked memory         {memlock}  {memlock}  bytes"
    write(root, "/proc/self/limits", f"Limit                     Soft Limit  Hard Limit  Units\n{lines}")
    if told.get("limit_bytes"):
        write(root, "/sys/fs/cgroup/memory.max", int(told["limit_bytes"]))
        write(root, "/proc/self/cgroup", "0::/")
    if told.get("cpu_quota"):
        write(root, "/sys/fs/cgroup/cpu.max", f"{int(told['cpu_quota'] * 100000)} 100000")
    for controller, counts in told.get("edac", {}).items():
        files(
            root,
            f"/sys/devices/system/edac/mc/{controller}",
            mc_name="i10nm_edac",
            ce_count=counts[0],
            ue_count=counts[1],
        )


def dmi(root, told):
    """The firmware's table: memory modules and slots."""
    entry, table = fake_dmi.tables(modules=told.get("modules", ()), slots=told.get("slots", ()))
    write(root, "/sys/firmware/dmi/tables/smbios_entry_point", entry)
    write(root, "/sys/firmware/dmi/tables/DMI", table)


def disks(root, told):
    """/sys/block, each disk below its controller; `pci` is the function it hangs on."""
    for number, (name, one) in enumerate(here(told).items()):
        controller = name.partition("n1")[0]
        above = _bus_place(root, one.get("pci"))
        folder = f"{above}/nvme/{controller}/{name}" if one["kind"] == "nvme" else f"{above}/block/{name}"
        if one["kind"] == "sata":
            folder = f"{above}/ata{number + 1}/host{number}/target{number}:0:0/{number}:0:0:0/block/{name}"
            files(
                root,
                f"/sys/class/ata_link/link{number + 1}",
                sata_spd=f"{one.get('gbps', 6.0)} Gbps",
                hw_sata_spd_limit=f"{one.get('gbps_max', 6.0)} Gbps",
            )
        files(
            root,
            folder,
            size=int(one["size_bytes"]) // 512,
            dev=f"{259 if one['kind'] == 'nvme' else 8}:{number * 16}",
            removable=0,
        )
        files(
            root,
            f"{folder}/queue",
            rotational=1 if one.get("turns") else 0,
            scheduler=one.get("scheduler", "[none] mq-deadline kyber bfq"),
        )
        device = f"{above}/nvme/{controller}" if one["kind"] == "nvme" else folder.rpartition("/block/")[0]
        files(root, device, model=one.get("model"), firmware_rev=one.get("firmware"))
        if one["kind"] == "nvme":
            files(root, device, address=one["pci"], transport="pcie", state="live")
            link(root, f"/sys/class/nvme/{controller}", device)
        if one["kind"] != "virtual":
            link(root, f"{folder}/device", device)
        link(root, f"/sys/block/{name}", folder)
        for part in one.get("partitions", (1, 2)):
            parted = f"{name}{'p' if name[-1].isdigit() else ''}{part}"
            files(root, f"{folder}/{parted}", partition=part, dev=f"259:{number * 16 + part}", size=2048)
            link(root, f"/sys/class/block/{parted}", f"{folder}/{parted}")
            link(root, f"/sys/dev/block/259:{number * 16 + part}", f"{folder}/{parted}")
        link(root, f"/sys/class/block/{name}", folder)


def _bus_place(root, address):
    if address is None:
        return "/sys/devices/virtual"
    return place_of(root, f"/sys/bus/pci/devices/{address}") or "/sys/devices/virtual"


def mounts(root, told):
    """/proc/self/mountinfo; a mount is `{source, kind, options, dev}`."""
    lines = [
        f"{number} 1 {one.get('dev', f'0:{number}')} / {path} {one.get('options', 'rw,relatime')} shared:1 - "
        f"{one['kind']} {one['source']} {one.get('super', 'rw')}"
        for number, (path, one) in enumerate(here(told).items(), 20)
    ]
    write(root, "/proc/self/mountinfo", "\n".join(lines))
    write(
        root,
        "/proc/mounts",
        "\n".join(
            f"{one['source']} {path} {one['kind']} {one.get('options', 'rw,relatime')} 0 0"
            for path, one in here(told).items()
        ),
    )


def net(root, told):
    """/sys/class/net; a port is `{speed (Mb/s), state, driver, mtu, pci, wifi, bond, errors}`."""
    for name, one in here(told).items():
        above = _bus_place(root, one.get("pci"))
        folder = f"{above}/net/{name}"
        files(
            root,
            folder,
            operstate=one.get("state", "up"),
            speed=one.get("speed", -1),
            mtu=one.get("mtu", 1500),
            carrier=1 if one.get("state", "up") == "up" else 0,
            type=one.get("type", 1),
            duplex=one.get("duplex", "full"),
            carrier_down_count=one.get("flaps", 0),
        )
        counts = {"rx_errors": 0, "tx_errors": 0, "rx_dropped": 0, "rx_packets": 10**6, "tx_packets": 10**6}
        files(root, f"{folder}/statistics", **(counts | one.get("errors", {})))
        if one.get("wifi"):
            tree_folder(root, f"{folder}/wireless")
        if one.get("pci"):
            link(root, f"{folder}/device", above)
        if one.get("bond"):
            files(root, f"{folder}/bonding", slaves=" ".join(one["bond"]), mode="802.3ad 4")
        link(root, f"/sys/class/net/{name}", folder)


def infiniband(root, told):
    """/sys/class/infiniband; a card is `{pci, firmware, board, ports = {"1" = {rate, state, ...}}}`."""
    for name, one in here(told).items():
        above = _bus_place(root, one.get("pci"))
        folder = f"{above}/infiniband/{name}"
        files(
            root,
            folder,
            fw_ver=one.get("firmware"),
            board_id=one.get("board"),
            hca_type="MT4129",
            node_type="1: CA",
        )
        link(root, f"{folder}/device", above)
        for port, state in one["ports"].items():
            files(
                root,
                f"{folder}/ports/{port}",
                rate=state["rate"],
                state=state.get("state", "4: ACTIVE"),
                phys_state=state.get("phys", "5: LinkUp"),
                link_layer=state.get("layer", "InfiniBand"),
            )
            zero = {"symbol_error": 0, "link_downed": 0, "link_error_recovery": 0, "port_rcv_errors": 0}
            files(root, f"{folder}/ports/{port}/counters", **(zero | state.get("counters", {})))
            files(
                root, f"{folder}/ports/{port}/hw_counters", **({"out_of_sequence": 0} | state.get("hw", {}))
            )
        link(root, f"/sys/class/infiniband/{name}", folder)


def hwmon(root, told):
    """/sys/class/hwmon: chip -> file -> value, as the kernel writes them (millivolts, millidegrees)."""
    for number, (name, values) in enumerate(here(told).items()):
        files(root, f"/sys/class/hwmon/hwmon{number}", name=name.partition("#")[0], **values)


PIECES = {
    "cpu": cpu,
    "memory": memory,
    "dmi": dmi,
    "disks": disks,
    "mounts": mounts,
    "net": net,
    "infiniband": infiniband,
    "hwmon": hwmon,
}
