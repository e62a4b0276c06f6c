"""What a command of a finding may be: programs that exist, options that nvidia-smi has, words of our own."""

from __future__ import annotations

import re
import shlex


def known(text: str) -> frozenset[str]:
    """Words of a table."""
    return frozenset(text.split())


READERS = known(
    "amd-smi awk cat df dkms dmesg dmidecode docker dpkg du echo env ethtool findmnt free fuser getconf grep"
    " head ibstat ip ipmitool journalctl ldconfig ls lsblk lsmod lspci mdadm mokutil modinfo mlxlink nproc"
    " numactl nvcc nv-fabricmanager nvidia-ctk nvidia-smi pip"
    " ps python3 python rdma rigright"
    " rocminfo sensors smartctl sort swapon sysctl systemctl tail timedatectl chronyc timeout ulimit"
    " uname vmstat rpm cpupower sudo"
    " apt-mark all_reduce_perf perfquery nvidia-imex-ctl ras-mc-ctl mlxfwmanager rocm-smi nvme dcgmi"
    " lsof uniq iblinkinfo kubectl npu-smi hl-smi hf ss sinfo xpu-smi sacct show_gids nc"
)
CHANGERS = known(
    "apt apt-get dnf modprobe rmmod update-grub grubby update-initramfs dracut setpci mount umount mkswap"
    " chmod usermod fallocate nvidia-modprobe wsl.exe export unset printf tee nvidia-bug-report.sh"
)
CHANGING = {  # programs that read, unless they are told to do this
    "systemctl": r"enable|disable|restart|start|stop|reboot|mask",
    "nvidia-smi": r"-pl|-pm|-rac|-rgc|-e \d|-c |-mig|--gpu-reset|-cgi|-re\b",
    "amd-smi": r"reset|\bset ",
    "dcgmi": r"-r [2-4]|--set|--clear",
    "dkms": r"autoinstall|install",
    "mokutil": r"--import",
    "sysctl": r"-w|--system",
    "docker": r"run|restart",
    "nvidia-ctk": r"configure|generate",
    "dpkg": r"--configure",
    "cpupower": r"frequency-set",
    "apt-mark": r"\bhold",
    "perfquery": r"-[A-Za-z]*R",
    "swapon": r"swapon /",
    "pip": r"install|uninstall|config set",
    "hf": r"login|download",
    "echo": r">",
}
ROOTED = known(
    "usermod apt apt-get dnf modprobe rmmod update-grub grubby update-initramfs dracut setpci mount"
    " nvidia-modprobe"
)
SMI_OPTIONS = known(
    "-L -q -x -i -d -pl -pm -rac -rgc -e -c -mig --gpu-reset --query-gpu --query-compute-apps --format -r"
)
SMI_PARTS = {  # a word after nvidia-smi -> its options
    "topo": {"-m", "-p2p"},
    "nvlink": {"-s", "-e", "-re", "-i", "-c"},
    "mig": {"-i", "-lgi", "-lgip", "-cgi", "-C"},
}
SMI_SECTIONS = known(
    "MEMORY UTILIZATION ECC TEMPERATURE POWER CLOCK COMPUTE PIDS PERFORMANCE SUPPORTED_CLOCKS PAGE_RETIREMENT"
    " ACCOUNTING ENCODER_STATS VOLTAGE FBC_STATS ROW_REMAPPER RESET_STATUS GSP_FIRMWARE_VERSION"
)
SMI_FIELDS = known(
    "index name uuid driver_version vbios_version compute_cap compute_mode persistence_mode display_active"
    " memory.total memory.used memory.free ecc.mode.current ecc.mode.pending mig.mode.current"
    " mig.mode.pending power.limit power.draw temperature.gpu fan.speed utilization.gpu gpu_recovery_action"
    " pcie.link.gen.max pcie.link.gen.gpucurrent pcie.link.width.current pcie.link.width.max"
)
_SEPARATORS = {"|", "||", "&&", ";", "&"}


def calls(command: str) -> list[list[str]]:
    """Each program of a line with its words; what goes into a file is left out."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    words = iter(lexer)
    for word in words:
        if word in _SEPARATORS:
            found.append([])
        elif set(word) <= set("<>&"):
            next(words, None)
        else:
            found[-1].append(word)
    return [inner for one in found if one for inner in _inner(bared(_without_variables(one)))]


def _inner(words: list[str]) -> list[list[str]]:
    """What a shell is handed, in its place."""
    return calls(words[2]) if words[:2] == ["sh", "-c"] else [words]


def _without_variables(words: list[str]) -> list[str]:
    """A call without the variables that are set for it alone."""
    return _without_variables(words[1:]) if len(words) > 1 and re.match(r"[A-Z_]+=", words[0]) else words


def bared(words: list[str]) -> list[str]:
    """A call without what only stands before it: sudo, a time limit, a Python that runs pip."""
    if words[0] == "sudo":
        return bared(words[1:])
    if words[0] == "timeout":
        return bared(words[2:])
    if words[1:3] == ["-m", "pip"]:
        return ["pip", *words[3:]]
    return ["python3", *words[1:]] if words[0].startswith("/") and "/python" in words[0] else words


def unknown(command: str) -> list[str]:
    """What in a command nobody has heard of."""
    return [one for words in calls(command) for one in _unknown(words)]


def _unknown(words: list[str]) -> list[str]:
    program, *rest = words
    if program == "nvidia-smi":
        return _of_smi(rest)
    return [] if program in READERS | CHANGERS else [program]


def _of_smi(words: list[str]) -> list[str]:
    known = SMI_OPTIONS
    if words and not words[0].startswith("-"):
        known = SMI_PARTS.get(words[0], set())
        words = words[1:]
    options = {re.split("=", word)[0] for word in words if word.startswith("-")}
    wrong = sorted(options - known)
    for word in words:
        if word.startswith("--query-gpu="):
            wrong += sorted(set(word.partition("=")[2].split(",")) - SMI_FIELDS)
    if "-d" in words:
        wrong += sorted(set(words[words.index("-d") + 1].split(",")) - SMI_SECTIONS)
    return wrong


def changes(command: str) -> list[str]:
    """Calls of a line that change something."""
    found = []
    for words in calls(command):
        line = " ".join(words)
        way = CHANGING.get(words[0])
        if words[0] in CHANGERS or (way is not None and re.search(way, line)):
            found.append(line)
    if re.search(r">\s*/(?!dev/null)", command):
        found.append(command)
    return found


def needs_root(command: str) -> bool:
    """Whether a step must say that root alone may take it."""
    return any(words[0] in ROOTED for words in calls(command)) or bool(
        re.search(r">\s*/(etc|sys|proc)", command)
    )
