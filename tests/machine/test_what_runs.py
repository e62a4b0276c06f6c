"""What runs on a machine, read from trees and recorded commands as from a live one."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trees import planted
from rigright.machine.parts import software as software_part
from rigright.machine.parts import surroundings
from rigright.machine.parts import system as system_part
from rigright.machine.running import modules, packages, pythons, release
from rigright.machine.running.drivers import dkms
from rigright.machine.running.frameworks import archs_of
from rigright.machine.running.release import container, virtual
from rigright.machine.running.services import clock
from rigright.machine.world import ROOT, World, here

SERVICES = (
    "systemctl show -p Id -p LoadState -p ActiveState nvidia-persistenced "
    "nvidia-fabricmanager nvidia-imex nvidia-dcgm"
    " nvidia-powerd nvidia-cdi-refresh docker containerd kubelet slurmd "
    "chrony chronyd systemd-timesyncd ntp ntpsec"
    " unattended-upgrades irqbalance tuned thermald ollama display-manager"
)


def system_of(tmp_path, told, **host):
    """The System that a host's [system] reads as."""
    world = planted(tmp_path, {"system": told, **host})
    return system_part.read(world).fields["system"]


def software_of(tmp_path, env=None, **host):
    """The Software of a host."""
    return software_part.read(planted(tmp_path, host, env)).fields["software"]


def test_a_server_is_read_whole(tmp_path):
    told = {
        "kernels": ["6.8.0-40-generic", "6.8.0-101-generic"],
        "modules": {"nvidia": "nvidia_uvm,nvidia_modeset,", "nouveau": "", "usbhid": ""},
        "modprobe": {
            "nvidia.conf": "options nvidia NVreg_EnableGpuFirmware=0 NVreg_X=1\n# blacklist "
            "nvidia\nblacklist nouveau\n"
        },
        "sysctls": {"vm.swappiness": "60", "kernel.numa_balancing": "1"},
        "limits": {"nofile": "1024", "memlock": "unlimited"},
        "secure_boot": True,
    }
    system = system_of(
        tmp_path,
        told,
        files={"/sys/kernel/security/lockdown": "none [integrity] confidentiality", "/run/utmp": ""},
    )
    assert (system.os_id, system.os_version, system.kernel) == ("ubuntu", "24.04", "6.8.0-40-generic")
    assert system.kernels == ("6.8.0-40-generic", "6.8.0-101-generic")  # by number, not by letter
    assert [one.name for one in system.modules] == ["nvidia", "nouveau"]
    assert system.modules[0].users == ("nvidia_uvm", "nvidia_modeset")
    assert system.blacklisted == ("nouveau",)
    assert dict(system.module_options) == {"nvidia NVreg_EnableGpuFirmware": "0", "nvidia NVreg_X": "1"}
    assert dict(system.limits) == {"nofile": 1024, "memlock": math.inf}
    assert system.secure_boot is True
    assert system.lockdown == "integrity"
    assert system.container == "none"
    assert system.needs_reboot is False  # Ubuntu would have left its mark
    assert system.maker == "Supermicro"


def test_nothing_there_is_nothing_observed(tmp_path):
    read = system_part.read(World(root=tmp_path))
    system = dict(read.fields)["system"]
    assert system.kernel is system.modules is system.secure_boot is system.clock_synced is system.up_s is None
    assert system.settings == system.limits == system.stuck == ()
    assert {one.what for one in read.unseen} >= {"system.modules", "system.secure_boot", "system.services"}
    software = software_part.read(World(root=tmp_path)).fields["software"]
    assert software.kernel_driver is software.device_files is software.cdi is None
    assert software.pythons == ()


def test_a_blacklist_pasted_from_a_web_page_keeps_nothing_out(tmp_path):
    quoted = system_of(tmp_path / "a", {"modprobe": {"x.conf": "“blacklist nouveau”"}})
    install = system_of(tmp_path / "b", {"modprobe": {"x.conf": "install nouveau /bin/false"}})
    cmdline = system_of(
        tmp_path / "c", {"cmdline": "ro modprobe.blacklist=nouveau,nvidiafb rd.driver.blacklist=nova-core"}
    )
    assert quoted.blacklisted == ()
    assert install.blacklisted == ("nouveau",)
    assert cmdline.blacklisted == ("nouveau", "nova_core", "nvidiafb")


def test_a_file_of_etc_hides_one_of_the_distribution(tmp_path):
    host = {
        "files": {"/usr/lib/modprobe.d/nv.conf": "blacklist nouveau", "/etc/modprobe.d/nv.conf": "# none"}
    }
    assert modules.blacklisted(planted(tmp_path, host)) == ()


@pytest.mark.parametrize(
    ("dmi", "flags", "kind"),
    [
        ({"sys_vendor": "QEMU", "product_name": "Standard PC"}, "fpu hypervisor", "kvm"),
        ({"sys_vendor": "VMware, Inc.", "product_name": "VMware7,1"}, "fpu hypervisor", "vmware"),
        (
            {"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"},
            "fpu hypervisor",
            "hyperv",
        ),
        ({"sys_vendor": "Microsoft Corporation", "product_name": "Surface"}, "fpu", "none"),
        ({"sys_vendor": "Amazon EC2", "product_name": "p5.48xlarge"}, "fpu", "kvm"),
        ({"sys_vendor": "Amazon EC2", "product_name": "g5g.metal"}, "fpu", "none"),
        ({"sys_vendor": "Google", "product_name": "Google Compute Engine"}, "fpu", "kvm"),
        ({"sys_vendor": "Supermicro", "product_name": "SYS"}, "fpu hypervisor", "unknown"),
        ({"sys_vendor": "Supermicro", "product_name": "SYS"}, "fpu avx2", "none"),
    ],
)
def test_the_hypervisor_below(tmp_path, dmi, flags, kind):
    host = {"system": {"dmi": dmi}, "files": {"/proc/cpuinfo": f"processor : 0\nflags\t\t: {flags}\n"}}
    assert virtual(planted(tmp_path, host)) == kind


def test_wsl_is_told_by_its_kernel(tmp_path):
    two = {"system": {"proc_version": "Linux version 5.15.153.1-microsoft-standard-WSL2 (root@x)"}}
    one = {"system": {"proc_version": "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)"}}
    assert virtual(planted(tmp_path / "2", two)) == "wsl2"
    assert virtual(planted(tmp_path / "1", one)) == "wsl1"


@pytest.mark.parametrize(
    ("files", "first", "kind"),
    [
        ({"/.dockerenv": ""}, "python", "docker"),
        ({"/run/.containerenv": ""}, "sh", "podman"),
        ({"/proc/1/cgroup": "0::/kubepods.slice/kubepods-pod1.slice"}, "sh", "kubernetes"),
        ({"/run/systemd/container": "lxc"}, "systemd", "lxc"),
        ({}, "systemd", "none"),
        ({}, "bash", None),
    ],
)
def test_the_container_we_look_from(tmp_path, files, first, kind):
    assert container(planted(tmp_path, {"system": {"first": first}, "files": files})) == kind


def test_a_name_that_its_maker_never_filled_in_is_no_name(tmp_path):
    system = system_of(
        tmp_path, {"dmi": {"product_name": "To Be Filled By O.E.M.", "sys_vendor": "Default string"}}
    )
    assert system.product is system.maker is None


def test_processes_that_wait_for_a_device(tmp_path):
    files = {
        "/proc/41/stat": "41 (python (x)) D 1 1",
        "/proc/41/cmdline": "python\0train.py",
        "/proc/42/stat": "42 (nv_queue) D 2 0",
        "/proc/43/stat": "43 (jbd2/sda1-8) D 2 0",  # a thread of the kernel that writes: no fault
        "/proc/44/stat": "44 (sleep) S 1 1",
        "/proc/44/cmdline": "sleep",
    }
    assert system_of(tmp_path, {}, files=files).stuck == ("python (x) (41)", "nv_queue (42)")


def test_pressure_is_a_share(tmp_path):
    files = {
        "/proc/pressure/io": "some avg10=12.50 avg60=1.00 avg300=0.1 total=1\nfull avg10=3.00 "
        "avg60=0 avg300=0 total=1"
    }
    assert system_of(tmp_path, {}, files=files).pressure == (("io", 0.125),)


def test_services_as_systemd_tells_them(tmp_path):
    said = (
        "Id=docker.service\nLoadState=loaded\nActiveState=active\n\nId=slurmd.service\nLoadState=not-found\n"
        "ActiveState=inactive\n\nId=nvidia-fabricmanager.service\nLoadState=loaded\nActiveState=failed\n"
    )
    system = system_of(tmp_path, {}, commands={SERVICES: said})
    assert dict(system.services) == {"docker": "active", "nvidia-fabricmanager": "failed"}


def test_who_keeps_the_time(tmp_path):
    good = {
        "chronyc -n tracking": "System time     : 0.000012 seconds slow of NTP time\nLeap status     "
        ": Normal\n"
    }
    lost = {
        "chronyc -n tracking": "System time     : 0.0 seconds fast of NTP time\nLeap status     : Not "
        "synchronised\n"
    }
    plain = {"timedatectl show -p NTPSynchronized --value": "no\n"}
    assert clock(planted(tmp_path / "a", {"commands": good})) == (True, 0.000012)
    assert clock(planted(tmp_path / "b", {"commands": lost})) == (False, None)
    assert clock(planted(tmp_path / "c", {"commands": plain})) == (False, None)
    assert clock(planted(tmp_path / "d", {})) == (None, None)


def test_this_machine_agrees_with_uname_and_python():
    world = here({"PATH": os.environ["PATH"]})
    found = system_part.read(world).fields["system"]
    assert found.kernel == os.uname().release
    assert found.arch == os.uname().machine
    assert found.as_root is (os.geteuid() == 0)
    limits = dict(found.limits)
    said = subprocess.run(
        ["sh", "-c", "ulimit -n"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert limits["nofile"] == (math.inf if said == "unlimited" else float(said))


def test_files_of_another_root_are_not_mixed_with_this_machines_commands(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=rocky\nVERSION_ID=9.4\n")
    world = here({**os.environ, ROOT: str(tmp_path)})
    found = system_part.read(world).fields["system"]
    assert found.os_id == "rocky"
    assert found.services == ()


# drivers, packages


def test_the_driver_on_disk_and_in_the_kernel(tmp_path):
    host = {
        "driver": {
            "loaded": "580.95.05",
            "open": True,
            "libraries": ["580.95.05", "580.126.09"],
            "files": ["nvidia0", "nvidiactl", "nvidia-uvm", "null"],
            "toolkits": {"12.8.1": False, "13.0.2": True},
        },
        "commands": {"modinfo -F version nvidia": "580.126.09\n"},
    }
    found = software_of(tmp_path, **host)
    assert (found.kernel_driver, found.disk_driver, found.open_kernel) == ("580.95.05", "580.126.09", True)
    assert found.library_drivers == ("580.126.09", "580.95.05")
    assert found.device_files == ("nvidia-uvm", "nvidia0", "nvidiactl")
    assert [(kit.version, kit.current) for kit in found.toolkits] == [("12.8.1", False), ("13.0.2", True)]


def test_dkms_by_its_tree_and_by_its_words(tmp_path):
    tree = {"driver": {"dkms": {"550.54.15": {"6.8.0-40-generic": "installed", "6.8.0-45-generic": "built"}}}}
    told = {
        ("nvidia/550.54.15 6.8.0-40-generic", "installed"),
        ("nvidia/550.54.15 6.8.0-45-generic", "built"),
    }
    assert set(dkms(planted(tmp_path / "a", tree))) == told
    words = (
        "nvidia/535.54.03, 6.2.0-26-generic, x86_64: installed (WARNING! Diff "
        "between built and installed module!)\n"
        "nvidia, 470.103.01, 5.4.0-90-generic, x86_64: "
        "installed\nvirtualbox/7.0, 6.2.0-26-generic, x86_64: "
        "installed\n"
        "nvidia/560.35.03: added\n"
    )
    said = dkms(planted(tmp_path / "b", {"commands": {"dkms status": words}}))
    assert said == (
        ("nvidia/470.103.01 5.4.0-90-generic", "installed"),
        ("nvidia/535.54.03 6.2.0-26-generic", "installed"),
        ("nvidia/560.35.03", "added"),
    )


def test_packages_with_their_states(tmp_path):
    told = {
        "nvidia-driver-580-server-open": ("580.95.05-0ubuntu1", "hold ok installed"),
        "nvidia-driver-535": ("535.1-0ubuntu1", "deinstall ok config-files"),
        "libnvidia-compute-580": ("580.95.05-0ubuntu1", "install ok half-configured"),
        "bash": "5.2",
        "libnccl2": "2.27.3-1+cuda12.9",
    }
    found = {one.name: one.state for one in packages.packages(planted(tmp_path, {"packages": told}))}
    assert found == {
        "nvidia-driver-580-server-open": "held",
        "nvidia-driver-535": "config-files",
        "libnvidia-compute-580": "half-configured",
        "libnccl2": "installed",
    }


def test_packages_of_rpm_and_pacman(tmp_path):
    rpm = {
        "files": {"/var/lib/rpm/rpmdb.sqlite": ""},
        "commands": {"rpm -qa --qf %{NAME} %{VERSION}-%{RELEASE}\\n": "nvidia-open 580.95-1\nbash 5-1\n"},
    }
    found = packages.packages(planted(tmp_path / "r", rpm))
    assert [(one.name, one.version) for one in found] == [("nvidia-open", "580.95-1")]
    arch = {
        "files": {
            "/var/lib/pacman/local/nvidia-open-590.48.01-9/desc": "",
            "/var/lib/pacman/local/zlib-1-1/desc": "",
        }
    }
    assert [one.name for one in packages.packages(planted(tmp_path / "p", arch))] == ["nvidia-open"]


def test_packages_are_those_that_dpkg_lists():
    if not Path("/var/lib/dpkg/status").exists():
        pytest.skip("not a machine with dpkg")
    said = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n"],
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = {tuple(line.split()[:2]) for line in said.stdout.splitlines() if line.endswith(" installed")}
    ours = {
        (one.name, one.version) for one in packages.packages(here({})) if one.state in {"installed", "held"}
    }
    assert ours <= theirs


# Pythons


def test_each_python_with_its_torch(tmp_path):
    env = {"VIRTUAL_ENV": "/srv/venv", "HOME": "/root"}
    told = {
        "/srv/venv": {
            "packages": {
                "nvidia_ml_py": "13.0",
                "pynvml": "11.5.0",
                "requests": "2.0",
                "nvidia_cudnn_cu12": "9.10.2.21",
            },
            "torch": {
                "version": "2.9.1+cu128",
                "cuda": "12.8",
                "archs": "sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120",
            },
        },
        "/opt/conda": {"version": "3.11", "torch": {"version": "2.4.0", "cuda": None}},
    }
    first, second = software_of(tmp_path, env, pythons=told).pythons
    assert (first.path, first.version, first.kind) == ("/srv/venv/bin/python", "3.12.4", "venv")
    assert {one.name for one in first.packages} == {"nvidia-ml-py", "pynvml", "nvidia-cudnn-cu12", "torch"}
    (torch,) = first.frameworks
    assert (torch.version, torch.build, torch.cuda, torch.cudnn) == ("2.9.1", "cu128", "12.8", "9.10.2.21")
    assert torch.archs == ("sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
    assert second.frameworks[0].build == "cpu"


def test_the_torch_here_is_read_as_it_says_itself():
    """Against the framework itself, where one is installed beside the tests."""
    torch = pytest.importorskip("torch")
    world = here(dict(os.environ))
    told = [
        one
        for python in software_part.read(world).fields["software"].pythons
        for one in python.frameworks
        if one.name == "torch"
    ]
    assert told[0].version == torch.__version__.partition("+")[0]
    assert told[0].cuda == torch.version.cuda
    if torch.version.cuda:
        assert list(told[0].archs) == torch.cuda.get_arch_list()


def test_packages_are_those_that_importlib_finds():
    from importlib.metadata import distributions

    world = here(dict(os.environ))
    mine = next(
        one for one in software_part.read(world).fields["software"].pythons if one.path.startswith(sys.prefix)
    )
    theirs = {one.metadata["Name"].lower().replace("_", "-"): one.version for one in distributions()}
    assert {one.name: one.version for one in mine.packages}.items() <= theirs.items()


@given(st.binary(max_size=300))
def test_any_library_is_searched_without_harm(blob):
    class Held(World):
        def raw(self, *_, **__):
            return blob

    found = archs_of(Held(), "/x")
    assert found is None or all(one.startswith(("sm_", "compute_")) for one in found)


def test_secrets_of_pip_are_left_out(tmp_path):
    files = {
        "/etc/pip.conf": "[global]\nindex-url = "
        "https://user:pa55@mirror.example/simple\nextra-index-url =\n  "
        "https://download.pytorch.org/whl/cu122\n"
    }
    said = pythons.index(
        planted(tmp_path, {"files": files}, {"PIP_FIND_LINKS": "https://t0ken@x/y"}), "/usr/bin/python3"
    )
    assert "pa55" not in said
    assert "t0ken" not in said
    assert "cu122" in said


def test_secrets_of_the_environment_are_told_as_set():
    env = {
        "HF_TOKEN": "hf_abc",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "NCCL_DEBUG": "INFO",
        "AWS_SECRET_ACCESS_KEY": "x",
        "PIP_INDEX_URL": "https://u:p@h/s",
        "EDITOR": "vi",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    found = dict(dict(surroundings.read(World(env=env)).fields)["environment"])
    assert found["HF_TOKEN"] == surroundings.HIDDEN
    assert found["PIP_INDEX_URL"] == "https://h/s"
    assert found["TOKENIZERS_PARALLELISM"] == "false"
    assert set(found) == set(env) - {"AWS_SECRET_ACCESS_KEY", "EDITOR"}


# containers


DOCKER = "docker info --format {{.ServerVersion}}\t{{json .Runtimes}}\t{{.DefaultRuntime}}"
CDI = """cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: "0"
- name: all
kind: nvidia.com/gpu
"""


def test_runtimes_by_the_daemon_and_by_its_file(tmp_path):
    said = {DOCKER: '27.1.1\t{"nvidia":{"path":"nvidia-container-runtime"},"runc":{}}\trunc\n'}
    found = packages.containers(planted(tmp_path / "a", {"commands": said}), ())
    assert (found["docker"], found["docker_runtimes"], found["docker_default"]) == (
        "27.1.1",
        ("nvidia", "runc"),
        "runc",
    )
    files = {
        "/etc/docker/daemon.json": '{"runtimes": {"nvidia": {}}, "default-runtime": "nvidia"}',
        "/etc/cdi/nvidia.yaml": CDI,
    }
    found = packages.containers(planted(tmp_path / "b", {"files": files}), ())
    assert (found["docker_runtimes"], found["docker_default"]) == (("nvidia",), "nvidia")
    assert found["cdi"] == ("nvidia.com/gpu=0", "nvidia.com/gpu=all")


@given(st.text(max_size=200))
def test_any_settings_of_docker_are_read_without_harm(text):
    class Held(World):
        def text(self, *_, **__):
            return text

    assert set(packages.containers(Held(), ())) == {
        "docker",
        "docker_runtimes",
        "docker_default",
        "container_toolkit",
        "cdi",
    }


@given(st.text(max_size=400))
def test_any_files_are_read_without_harm(text):
    class Held(World):
        def text(self, *_, **__):
            return text

        def names(self, *_):
            return ("a.conf", "6.8.0-1", "nvidia", "cuda-12", "x-1.dist-info")

    world = Held()
    assert set(release.release(world)) >= {"kernel", "os_id"}
    modules.blacklisted(world)
    modules.module_options(world)
    modules.modules(world)
    packages.packages(world)
    pythons.index(world, "/x/bin/python")
    virtual(world)
    dkms(world)
