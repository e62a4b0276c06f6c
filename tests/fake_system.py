"""What runs on a fake machine: system, driver, packages, Pythons, log; pieces for fake_trees.grow."""

from __future__ import annotations

from pathlib import Path

from fake_trees import here, link, write

SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
LIMITS = {"nofile": "Max open files", "memlock": "Max locked memory", "nproc": "Max processes"}


def system(root: Path, told: dict) -> None:
    """Release, kernel, board, modules, sysctls, limits, Secure Boot."""
    name, version = told.get("os", ("ubuntu", "24.04"))
    write(
        root, "/etc/os-release", f'ID={name}\nVERSION_ID="{version}"\nPRETTY_NAME="{name.title()} {version}"'
    )
    kernel = told.get("kernel", "6.8.0-40-generic")
    write(root, "/proc/sys/kernel/osrelease", kernel)
    write(root, "/proc/version", told.get("proc_version", f"Linux version {kernel} (buildd@x) #40"))
    write(root, "/proc/cmdline", told.get("cmdline", f"BOOT_IMAGE=/vmlinuz-{kernel} root=UUID=1 ro quiet"))
    write(root, "/proc/uptime", f"{told.get('up_s', 864000)}.00 1.0")
    write(root, "/proc/1/comm", told.get("first", "systemd"))
    for one in told.get("kernels", (kernel,)):
        write(root, f"/lib/modules/{one}/modules.dep", "")
    for file, text in told.get("dmi", {"sys_vendor": "Supermicro", "product_name": "SYS-821GE"}).items():
        write(root, f"/sys/class/dmi/id/{file}", text)
    _modules(root, told.get("modules", {}))
    for file, text in told.get("modprobe", {}).items():
        write(root, f"/etc/modprobe.d/{file}", text)
    for key, value in told.get("sysctls", {}).items():
        write(root, "/proc/sys/" + key.replace(".", "/"), value)
    if "limits" in told:
        head = "Limit                     Soft Limit           Hard Limit           Units     \n"
        rows = [f"{LIMITS[key]:<26}{value:<21}{value:<21}units" for key, value in told["limits"].items()]
        write(root, "/proc/self/limits", head + "\n".join(rows))
    if "secure_boot" in told:
        write(root, SECURE_BOOT, b"\x06\x00\x00\x00" + bytes([told["secure_boot"]]))


def _modules(root: Path, told: dict) -> None:
    lines = [f"{name} 1000 0 {users or '-'} Live 0x0" for name, users in here(told).items()]
    write(root, "/proc/modules", "\n".join(["ext4 1000 1 - Live 0x0", *lines]))


def driver(root: Path, told: dict) -> None:
    """NVIDIA's driver in the kernel and on disk."""
    version = told.get("loaded")
    if version:
        kind = "Open Kernel Module for x86_64" if told.get("open") else "x86_64 Kernel Module"
        write(
            root,
            "/proc/driver/nvidia/version",
            f"NVRM version: NVIDIA UNIX {kind}  {version}  Fri Jan  3\nGCC version: 13",
        )
        write(root, "/sys/module/nvidia/version", version)
    for library in told.get("libraries", (version,) if version else ()):
        for name in ("libcuda.so", "libnvidia-ml.so"):
            write(root, f"/usr/lib/x86_64-linux-gnu/{name}.{library}", "")
    for file in told.get("files", ()):
        write(root, f"/dev/{file}", "")
    for made, kernels in told.get("dkms", {}).items():
        write(root, f"/var/lib/dkms/nvidia/{made}/source/dkms.conf", "")
        for kernel, state in kernels.items():
            write(root, f"/var/lib/dkms/nvidia/{made}/{kernel}/x86_64/module/nvidia.ko.zst", "")
            if state == "installed":
                link(
                    root,
                    f"/var/lib/dkms/nvidia/kernel-{kernel}-x86_64",
                    f"/var/lib/dkms/nvidia/{made}/{kernel}/x86_64",
                )
    for version_, current in told.get("toolkits", {}).items():
        folder = f"/usr/local/cuda-{version_.rpartition('.')[0]}"
        write(root, f"{folder}/version.json", f'{{"cuda": {{"name": "CUDA SDK", "version": "{version_}"}}}}')
        if current:
            link(root, "/usr/local/cuda", folder)


def packages(root: Path, told: dict) -> None:
    """/var/lib/dpkg/status: name -> version, or (version, state)."""
    blocks = []
    for name, said in told.items():
        version, state = said if isinstance(said, (tuple, list)) else (said, "install ok installed")
        blocks.append(
            f"Package: {name}\nStatus: {state}\nArchitecture: amd64\nVersion: "
            f"{version}\nDescription: x\n more\n"
        )
    write(root, "/var/lib/dpkg/status", "\n".join(blocks))


def pythons(root: Path, told: dict) -> None:
    """Prefix -> version, packages, torch."""
    for prefix, python in told.items():
        version = python.get("version", "3.12")
        folder = f"{prefix}/lib/python{version}/site-packages"
        write(root, f"{prefix}/pyvenv.cfg", f"home = /usr/bin\nversion = {version}.4\n")
        for name, release in python.get("packages", {}).items():
            write(root, f"{folder}/{name}-{release}.dist-info/METADATA", f"Name: {name}")
        if "torch" in python:
            _torch(root, folder, python["torch"])


def _torch(root: Path, folder: str, told: dict) -> None:
    version, cuda = told["version"], told.get("cuda")
    text = (
        f"from typing import Optional\n__version__ = '{version}'\ncuda: "
        f"Optional[str] = {cuda!r}\nhip: Optional[str] = None\n"
    )
    write(root, f"{folder}/torch/version.py", text)
    write(root, f"{folder}/torch-{version}.dist-info/METADATA", "Name: torch")
    if told.get("archs"):
        blob = (
            b"\x7fELF"
            + b"x" * 5000
            + b"\0sm_\0"
            + told["archs"].encode()
            + b"\0"
            + b"sm_90 but no list"
            + b"y" * 100
        )
        write(root, f"{folder}/torch/lib/libtorch_python.so", blob)


def log(root: Path, told: list) -> None:
    """/var/log/kern.log."""
    lines = [
        f"2026-11-20T10:00:{place:02d}.000000+00:00 node7 kernel: [  {place}.5] {line}"
        for place, line in enumerate(told)
    ]
    write(root, "/var/log/kern.log", "\n".join(lines))


PIECES = {"system": system, "driver": driver, "packages": packages, "pythons": pythons, "log": log}
