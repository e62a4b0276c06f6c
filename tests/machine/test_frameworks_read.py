"""Frameworks, toolkits, clocks and limits as odd machines have them: ROCm, conda, CPU wheels, torn files."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fake_trees import planted
from rigright.machine.parts import system
from rigright.machine.running.drivers import fabric_version, nccl, toolkits
from rigright.machine.running.frameworks import frameworks
from rigright.machine.running.kernel_log import parsed
from rigright.machine.running.modules import iommu, lockdown, secure_boot
from rigright.machine.running.pythons import pythons
from rigright.machine.running.services import clock
from rigright.machine.running.settings import limits
from rigright.machine.system import Package

TORCH = "__version__ = '2.9.1'\ncuda = '12.8'\n"
KEPT = (
    "Reference ID    : A9FEA97B\nSystem time     : 0.000021 seconds slow of NTP time\n"
    "Last offset     : +0.000012 seconds\nLeap status     : Normal\n"
)
LOST = "Reference ID    : 00000000 ()\nLeap status     : Not synchronised\n"
SITE = "/opt/venv/lib/python3.12/site-packages"


def with_files(folder, **host):
    return planted(folder, host)


def torch_of(folder, text, *, packages=()):
    world = with_files(folder, files={f"{SITE}/torch/version.py": text})
    found = [one for one in frameworks(world, (SITE,), packages=packages) if one.name == "torch"]
    return found[0] if found else None


@pytest.mark.parametrize(
    ("text", "build", "cuda"),
    [
        (
            "__version__ = '2.9.1+cu130'\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n",
            "cu130",
            "13.0",
        ),
        ("__version__ = '2.9.1'\ncuda = '12.8'\nhip = None\n", "cu128", "12.8"),
        ('__version__ = "2.9.1+cpu"\ncuda = None\nhip = None\n', "cpu", None),
        ("__version__ = '2.9.1'\ncuda = None\nhip = None\n", "cpu", None),
        ("__version__ = '2.9.1+rocm6.4'\ncuda = None\nhip = '6.4.43482'\n", "rocm6.4", None),
        ("__version__ = '2.8.0a0+git123'\ncuda = None\nhip = '6.3.4'\n", "rocm6.3", None),
        ("__version__ = '2.9.0+xpu'\ncuda = None\nhip = None\n", "xpu", None),
        ("__version__ = '2.8.0a0+5228986c39.nv25.06'\ncuda = '12.9'\nhip = None\n", "cu129", "12.9"),
    ],
)
def test_the_build_of_torch(tmp_path, text, build, cuda):
    found = torch_of(tmp_path, text)
    assert (found.build, found.cuda) == (build, cuda)
    assert "+" not in found.version


@pytest.mark.parametrize("text", ["", "no version here", "__version__ = None\n", "\x00\x01"])
def test_a_version_file_that_says_nothing_is_no_torch(tmp_path, text):
    assert torch_of(tmp_path, text) is None


def test_the_folder_of_packages_tells_what_the_version_file_leaves_out(tmp_path):
    found = torch_of(tmp_path, "cuda = '12.8'\n", packages=(Package(name="torch", version="2.9.1"),))
    assert (found.version, found.build) == ("2.9.1", "cu128")


def test_other_frameworks_by_their_packages(tmp_path):
    packages = tuple(
        Package(name=name, version=version)
        for name, version in {
            "jax": "0.10.2", "jax-cuda13-plugin": "0.10.2", "vllm": "0.11.0+cu129", "flash-attn": "2.8.3",
            "tensorflow": "2.21.0", "numpy": "2.3.4", "nvidia-cudnn-cu13": "9.13.0.50",
        }.items()
    )  # fmt: skip
    found = {one.name: one for one in frameworks(with_files(tmp_path), (), packages=packages)}
    assert set(found) == {"jax", "vllm", "flash-attn", "tensorflow"}
    assert (found["jax"].version, found["jax"].cuda) == ("0.10.2", "13")
    assert (found["vllm"].version, found["vllm"].build, found["vllm"].cuda) == ("0.11.0", "cu129", "12.9")
    assert found["tensorflow"].cuda is None, "its packages do not say; the table of releases does"


def test_a_conda_and_a_venv_that_sees_the_systems_packages(tmp_path):
    conda, venv = "/opt/conda", "/opt/venv"
    world = with_files(
        tmp_path,
        files={
            f"{conda}/lib/python3.11/site-packages/torch-2.9.1.dist-info/METADATA": "Name: torch",
            f"{conda}/lib/python3.11/site-packages/torch/version.py": TORCH,
            f"{venv}/pyvenv.cfg": "version_info = 3.12.3.final.0\ninclude-system-site-packages = true\n",
            f"{venv}/lib/python3.12/site-packages/pip-25.3.dist-info/METADATA": "Name: pip",
            "/usr/lib/python3/dist-packages/numpy-2.3.4.dist-info/METADATA": "Name: numpy",
            "/usr/bin/python3.12": "",
        },
        links={"/usr/bin/python3": "/usr/bin/python3.12"},
    )
    found = {one.path: one for one in pythons(world)}
    assert found["/opt/conda/bin/python"].kind == "conda"
    assert found["/opt/conda/bin/python"].frameworks[0].build == "cu128"
    own = found["/opt/venv/bin/python"]
    assert own.pip == "25.3"
    assert {one.name for one in own.packages} == {"pip", "numpy"}
    assert own.version.startswith("3.12.3")
    assert found["/usr/bin/python3"].kind == "system"


def test_a_python_that_is_linked_to_something_else_is_none(tmp_path):
    world = with_files(
        tmp_path, links={"/usr/bin/python3": "/etc/alternatives/pypy"}, files={"/usr/bin/x": ""}
    )
    assert pythons(world) == ()


# toolkits


def test_toolkits_new_old_linked_and_torn(tmp_path):
    world = with_files(
        tmp_path,
        files={
            "/usr/local/cuda-13.0/version.json": '{"cuda": {"name": "CUDA SDK", "version": "13.0.2"}}',
            "/usr/local/cuda-10.1/version.txt": "CUDA Version 10.1.243",
            "/usr/local/cuda-12.4/bin/nvcc": "",
            "/usr/local/cuda-12.6/version.json": '{"cuda": "torn',
            "/usr/local/cuda-11.8/version.json": '{"cuda": {"version": ["11.8"]}}',
            "/usr/local/cuda-junk/version.json": '{"cuda": {"version": "1; rm -rf /"}}',
            "/opt/rocm-6.4.1/.info/version": "6.4.1-83",
            "/opt/rocm-old/.info/version": "unknown",
        },
        links={"/usr/local/cuda": "/usr/local/cuda-13.0", "/opt/rocm": "/opt/rocm-6.4.1"},
    )
    found = {(one.name, one.version): one.current for one in toolkits(world)}
    assert found == {
        ("cuda", "10.1.243"): False,
        ("cuda", "12.4"): False,
        ("cuda", "13.0.2"): True,
        ("rocm", "6.4.1"): True,
    }


def test_a_compiler_on_the_path_is_a_toolkit_too(tmp_path):
    told = "Cuda compilation tools, release 12.2, V12.2.140\nBuild cuda_12.2.r12.2/compiler.33191640_0\n"
    (kit,) = toolkits(with_files(tmp_path, commands={"nvcc --version": told}))
    assert (kit.path, kit.version, kit.current) == ("nvcc", "12.2.140", True)


def test_nccl_by_package_or_by_file(tmp_path):
    packed = (Package(name="libnccl2", version="2.28.3-1+cuda13.0"),)
    assert nccl(with_files(tmp_path / "a"), packed) == "2.28.3"
    world = with_files(tmp_path / "b", files={"/usr/lib/x86_64-linux-gnu/libnccl.so.2.27.7": ""})
    assert nccl(world, ()) == "2.27.7"
    assert nccl(with_files(tmp_path / "c"), ()) is None


def test_the_switches_manager_by_package_before_its_own_word(tmp_path):
    world = with_files(
        tmp_path, commands={"nv-fabricmanager --version": "Fabric Manager version is : 570.1.2\n"}
    )
    kept = Package(name="nvidia-fabricmanager-580", version="580.95.05-1", state="held")
    gone = replace_state(kept, "removed")
    assert fabric_version(world, (kept,)) == "580.95.05"
    assert fabric_version(world, (gone,)) == "570.1.2"
    assert fabric_version(with_files(tmp_path / "none"), ()) is None


def replace_state(package, state):
    return Package(name=package.name, version=package.version, state=state)


# clock, firmware, limits


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ({"chronyc -n tracking": KEPT}, True),
        ({"chronyc -n tracking": LOST}, False),
        ({"timedatectl show -p NTPSynchronized --value": "no\n"}, False),
        ({"timedatectl show -p NTPSynchronized --value": "maybe\n"}, None),
        ({}, None),
    ],
)
def test_who_says_that_the_clock_is_kept(tmp_path, commands, expected):
    synced, off_s = clock(with_files(tmp_path, commands=commands))
    assert synced is expected
    assert off_s is None or (synced and 0 <= off_s < 1)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("SecureBoot enabled\n", True),
        ("SecureBoot disabled\n", False),
        ("EFI variables are not supported", None),
    ],
)
def test_secure_boot_by_its_tool(tmp_path, told, expected):
    assert secure_boot(with_files(tmp_path, commands={"mokutil --sb-state": told}), None) is expected


def test_secure_boot_of_a_machine_without_efi(tmp_path):
    world = with_files(tmp_path, files={"/sys/firmware/acpi/tables/DSDT": "x"})
    assert secure_boot(world, None) is False
    assert secure_boot(world, "docker") is None, "from a container it is not seen"


def test_lockdown_and_iommu(tmp_path):
    world = with_files(
        tmp_path,
        files={
            "/sys/kernel/security/lockdown": "none [integrity] confidentiality",
            "/sys/kernel/iommu_groups/0/type": "identity",
        },
    )
    assert lockdown(world) == "integrity"
    assert iommu(world) == "passthrough"
    assert lockdown(with_files(tmp_path / "x")) is None


def test_limits_with_and_without_an_end(tmp_path):
    text = (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max open files            1024                 1048576              files     \n"
        "Max locked memory         unlimited            unlimited            bytes     \n"
    )
    found = dict(limits(with_files(tmp_path, files={"/proc/self/limits": text})))
    assert found["nofile"] == 1024
    assert math.isinf(found["memlock"])


@given(st.text(max_size=40))
@example("")
@example("soon")
@example("9" * 400)
def test_torn_limits_harm_nobody(tmp_path_factory, rest):
    """A line that ends early, or bears a word: what else the system tells is still read."""
    host = {"files": {"/proc/self/limits": f"Max open files{rest}\n", "/proc/sys/kernel/osrelease": "6.8.0"}}
    world = planted(tmp_path_factory.mktemp("t"), host)
    (found,) = [value for name, value in system.read(world).fields.items() if name == "system"]
    assert found.kernel == "6.8.0"
    assert all(isinstance(value, float) for _, value in found.limits)


# stamps of a log

NOW_S = 1_795_300_000.0  # in November 2026


@pytest.mark.parametrize(
    ("line", "told", "since_s", "year"),
    [
        ("[  123.456789] NVRM: x", "NVRM: x", 123.456789, None),
        ("<4>[  123.456789] NVRM: x", "NVRM: x", 123.456789, None),
        ("4,123,123456789,-;NVRM: x", "NVRM: x", 123.456789, None),
        ("[Sat Nov 21 10:00:00 2026] NVRM: x", "NVRM: x", None, 2026),
        ("2026-11-21T10:00:00.000000+00:00 node7 kernel: [  5.5] NVRM: x", "NVRM: x", 5.5, 2026),
        ("2026-11-21T10:00:00,000000+00:00 NVRM: x", "NVRM: x", None, 2026),
        ("Dec 31 23:59:59 node7 kernel: NVRM: x", "NVRM: x", None, 2025),
        ("Nov  2 10:00:00 node7 kernel: [   7.1] NVRM: x", "NVRM: x", 7.1, 2026),
        ("NVRM: x", "NVRM: x", None, None),
    ],
)
def test_a_line_by_the_form_of_its_stamp(line, told, since_s, year):
    ((at_s, found_s, said),) = parsed(line, now_s=NOW_S)
    assert said == told
    assert found_s == since_s
    assert (at_s is None) == (year is None)
    assert at_s is None or time.gmtime(at_s + 43_200 * (year == 2025)).tm_year in {year, year + 1}
    assert at_s is None or at_s <= NOW_S


XID = "NVRM: Xid (PCI:0000:41:00): 79, pid=0, GPU has fallen off the bus."


def test_a_stamp_since_boot_is_a_time_where_the_boot_is_known():
    ((at_s, since_s, _),) = parsed(f"[ 100.0] {XID}", now_s=NOW_S, up_s=1000.0)
    assert (at_s, since_s) == (NOW_S - 900, 100.0)


@pytest.mark.parametrize(
    "line",
    ["2026-99-99T10:00:00+00:00 n kernel: ", "[Xxx Foo 99 10:00:00 2026] ", "Feb 30 10:00:00 n kernel: "],
)
def test_a_day_that_never_was_is_no_time(line):
    ((at_s, _, said),) = parsed(line + XID, now_s=NOW_S)
    assert at_s is None
    assert said


@given(st.text(max_size=200))
def test_any_line_is_told_or_left_out(text):
    for at_s, since_s, said in parsed(text, now_s=NOW_S, up_s=5.0):
        assert said or at_s is since_s is None  # a stretch of lines that tell nothing is one
        assert at_s is None or math.isfinite(at_s)
        assert since_s is None or math.isfinite(since_s)
