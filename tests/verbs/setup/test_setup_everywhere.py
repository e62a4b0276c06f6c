"""Every chip of the facts, every system and engine of the tables: nothing is told that no table holds."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from urllib.parse import urlsplit

import pytest

from rigright.base.words import CHINESE, ENGLISH, tell
from rigright.facts.chips import chips
from rigright.facts.drivers import (
    KEYRING,
    OPEN_FROM,
    OPEN_ONLY_FROM,
    branches,
    driver_packages,
    maker_way,
)
from rigright.facts.launching import programs
from rigright.facts.software import (
    cuda_releases,
    engine_installs,
    engine_needs,
    greatest_cuda,
    pythons_of,
    runs_cuda,
    tensorflow_releases,
    torch_builds,
    torch_indexes,
    version_of,
)
from rigright.report.pages import setup as pages
from rigright.report.setup_files import dockerfile, requirements, script
from rigright.verbs.setup.choice import known_names
from rigright.verbs.setup.target import python_here, target_of, ways_of
from rigright.verbs.setup.verb import SetupWish, setup
from spoken import same, values

SYSTEMS = sorted(
    {f"{row.os[0]} {version}".strip() for row in driver_packages() for version in row.versions or ("",)}
    | {"rocky 9"}
)
BUILDING = (
    "torch",
    "tensorflow",
    "llama.cpp",
    "deepspeed",
    "flash-attn",
    "ollama",
)  # those whose steps differ
HOSTS = {
    "astral.sh",  # where the system's own pip is too old for uv
    "developer.download.nvidia.com", "download.pytorch.org", "nvidia.github.io", "github.com",
    "repo.radeon.com",
}  # fmt: skip
INSTALLS = re.compile(r"(?:sudo )?(apt-get|dnf|zypper)(?: install -y| --non-interactive install) ([^|]+)")
ADDRESS = re.compile(r"https?://(?:\$\([^()]*\)|[^\s'#])+")
VENDORS = {"nvidia", "fedoraproject", "rpmfusion"}
WORD = re.compile(r"(?:\$\([^()]*\)|\S)+")
PLAIN = {
    "apt": {"python3-venv", "git", "cmake", "build-essential", "nvidia-container-toolkit"},
    "dnf": {
        *("git", "cmake", "gcc-c++", "nvidia-container-toolkit", "dnf-plugins-core", "dnf5-plugins"),
        *("python3.11", "python3.12", "python3.14", "python3-dnf-plugin-versionlock"),
    },
    "zypper": {"git", "cmake", "gcc-c++", "nvidia-container-toolkit", "python311", "python313"},
}
REQUIREMENT = re.compile(
    r"(?P<name>[a-z][a-z0-9._-]*)(?:\[[a-z0-9-]+\])?(?:==(?P<version>\d[\w.]*(?:\.\*)?))?"
)
BASE = re.compile(r"python:3\.(?:[6-9]|1[0-4])-slim|nvidia/cuda:1\d\.\d\.0-devel-ubuntu2[24]\.04")
HAN = re.compile(r"[\u4e00-\u9fff]")


def kind_of(chip):
    return chip.vendor, chip.isa, chip.form in {"superchip", "superchip board"}, chip.segment == "embedded"


@cache
def kinds():
    """One chip of each kind: chips of a kind are told the same (see the test of just that)."""
    return tuple({kind_of(chip): chip for chip in chips()}.values())


@cache
def asked():
    """(chip, system, name, answer): each kind of chip with all names, and on all systems with torch.

    A chip of each age of kernel modules, and one of a superchip, on all systems with all that builds.
    """
    others = [system for system in SYSTEMS if system != "ubuntu 24.04"]
    pairs = [("ubuntu 24.04", name) for name in known_names()]
    made = [chip for chip in kinds() if chip.compute_capability is not None]
    ages = {
        tuple(chip.compute_capability >= one for one in (OPEN_FROM, OPEN_ONLY_FROM)): chip for chip in made
    }
    wide = [*ages.values(), next(chip for chip in made if kind_of(chip)[2])]

    def places(chip):
        names = BUILDING if chip in wide else ("torch",)
        return [*pairs, *((one, name) for one in others if chip in made for name in names)]

    return tuple(
        (chip, system, name, told(chip, system, name)) for chip in kinds() for system, name in places(chip)
    )


def told(chip, system, name):
    return setup(SetupWish(on=chip.id, system=system, framework=name))


def lines_of(result):
    return [line for step in (*result.steps, *result.docker_steps) for line in step.commands]


def installs(result):
    """(manager, package) of the system that the lines install."""
    for line in lines_of(result):
        for match in INSTALLS.finditer(line):
            for package in WORD.findall(match[2]):
                yield match[1].removesuffix("-get"), package


def wants(result):
    """What pip is told, with the index it is told to take it from."""
    for line in lines_of(result):
        match = re.match(r"\S+/bin/pip install (?:--no-build-isolation )?(.+?)(?: --index-url (\S+))?$", line)
        for word in match[1].split() if match else ():
            yield word.strip("'"), match[2]


def test_the_question_is_wide():
    assert len(asked()) > 1000
    assert len(SYSTEMS) >= 9
    assert {chip.vendor for chip, *_ in asked()} == {chip.vendor for chip in chips()}
    assert {chip.compute_capability for chip in chips()} == {chip.compute_capability for chip in kinds()}


def test_chips_of_a_kind_get_the_same_answer():
    """What is known of a target comes from what kinds are told apart by: a kind's answer is each chip's."""
    first = {}
    for chip in chips():
        target = target_of(chip.id, None, os_asked="ubuntu 24.04")
        known = (
            target.vendors, target.arch, target.embedded, target.switched,
            [capability for capability, _ in target.capabilities],
        )  # fmt: skip
        assert first.setdefault(kind_of(chip), known) == known, chip.id


def test_every_address_is_one_of_the_tables():
    indexes = {one.url for one in torch_indexes().values()}
    scripts = {url for one in engine_installs() for url in ADDRESS.findall(one.command)}
    for chip, system, name, result in asked():
        ways = ways_of(result.system)
        arch = result.system.arch
        repos = {way.repo_url(result.system.os_version, arch) for way in ways if way.repo}
        before = {url for way in ways for url in way.before}
        for url in {url for line in lines_of(result) for url in ADDRESS.findall(line)} - scripts:
            parts = urlsplit(url)
            assert parts.scheme == "https", url
            if parts.hostname == "download.pytorch.org":
                assert url in indexes, (chip.id, system, name)
            elif parts.hostname == "developer.download.nvidia.com" and url not in repos:
                repo, _, file = url.rpartition("/")
                assert repo in repos, (chip.id, system, name)
                assert repo.rpartition("/")[2] == ("sbsa" if arch == "aarch64" else "x86_64")
                assert file in {KEYRING, f"cuda-{repo.split('/')[-2]}.repo"}
            elif url in repos | before:
                assert parts.hostname.rpartition(".")[0].rpartition(".")[2] in VENDORS, url
            else:
                assert parts.hostname in HOSTS or parts.hostname is None, url


def test_every_package_is_of_the_system_that_was_asked():
    for chip, system, name, result in asked():
        ways = ways_of(result.system)
        known = {
            package
            for way in ways
            for package in (
                *(*way.open_packages, *way.closed_packages, *way.fabric_packages),
                *(*way.headers, *way.before, *way.imex_packages, "mokutil"),
                *filter(None, (way.signed(is_open=True), way.signed(is_open=False))),
            )
        }
        maker = maker_way(chip.vendor.lower(), os_id=result.system.os_id, os_version=result.system.os_version)
        if maker is not None:
            file = f"./{(maker.fetch or '').rpartition('/')[2]}"
            known |= {*maker.packages, *maker.headers, file, "software-properties-common"}
        for manager, package in installs(result):
            assert manager == ways[0].manager.removesuffix("5"), (chip.id, system, name)
            kit = re.fullmatch(r"cuda-toolkit-(\d+)-(\d+)", package)
            if kit:
                version_ = int(kit[1]), int(kit[2])
                assert version_ in {one.version for one in cuda_releases()}
                assert any(way.toolkit_from and way.toolkit_from <= version_ for way in ways), (
                    system,
                    package,
                )
            else:
                assert package in known | PLAIN[manager], (chip.id, system, name, package)


def test_every_requirement_is_a_row_of_a_table():
    known = {word for row in engine_needs() for word in (row.pip or "").split()}
    known |= {row.pip for row in tensorflow_releases()}
    known |= {f"torch=={build.torch}.*" for build in torch_builds()}
    known |= {f"torch=={one.torch_to}.*" for one in torch_indexes().values() if one.torch_to}
    for chip, system, name, result in asked():
        for word, index in wants(result):
            assert REQUIREMENT.fullmatch(word), word
            if word in {"uv", "torch", "torchvision", "ninja", "packaging", "wheel"}:
                assert word != "torch" or index is not None, (
                    "torch of no version comes from an index of one build"
                )
            else:
                assert word in known, (chip.id, system, name, word)


def test_torch_comes_before_what_is_built_on_it_and_fits_the_chips():
    for chip, system, name, result in asked():
        if result.pick is None or chip.compute_capability is None:
            continue
        words = list(wants(result))
        torch = [(place, index) for place, (word, index) in enumerate(words) if word.startswith("torch==")]
        others = [
            place for place, (word, _) in enumerate(words) if word.startswith(f"{name}==") and name != "torch"
        ]
        if torch and others:
            assert torch[0][0] < others[0], (chip.id, system, name)
        for _, index in torch:
            build = next(
                one
                for one in torch_builds()
                if (one.torch, one.build) == (result.pick.torch, index.rpartition("/")[2])
            )
            assert build.runs_on(chip.compute_capability), (chip.id, system, name)
        if result.pick.torch and not torch:
            row = next(
                one for one in engine_needs() if (one.name, one.version) == (name, result.pick.version)
            )
            assert row.pins, "only an engine that pins its torch may leave it to the package index"


def test_the_driver_knows_the_chip_and_is_of_its_kind():
    for chip, system, name, result in asked():
        capability = chip.compute_capability
        drivers = [
            package
            for _, package in installs(result)
            if re.search(r"nvidia-(?:driver|open)|cuda-drivers|kmod", package)
        ]
        drivers = [package for package in drivers if "pinning" not in package]
        if not drivers:
            continue
        assert capability is not None, f"{chip.id} of {chip.vendor} gets a driver of NVIDIA's"
        branch = branches()[result.driver_branch]
        assert branch.branch in {way.branch for way in ways_of(result.system)}
        assert branch.cc_min <= capability, (chip.id, system)
        is_open = any("open" in package for package in drivers)
        assert is_open or capability < OPEN_ONLY_FROM, (chip.id, system)
        assert not is_open or capability >= OPEN_FROM, (chip.id, system)
        if result.pick.cuda:
            assert runs_cuda(f"{branch.branch}.999", version_of(result.pick.cuda)), (chip.id, system, name)


def test_a_toolkit_is_installed_where_one_is_needed_or_its_lack_is_said():
    needing = {row.name for row in engine_needs() if row.toolkit}
    assert {"llama.cpp", "deepspeed", "flash-attn"} <= needing
    for chip, system, name, result in asked():
        if result.pick is None or result.toolkit is None:
            pick = result.pick
            is_whole = pick is not None and (pick.installer or (pick.image and not pick.cuda))
            assert pick is None or is_whole or name not in needing, (chip.id, system, name)
            continue
        package = f"cuda-toolkit-{'-'.join(result.toolkit.split('.')[:2])}"
        is_there = any(one == package for _, one in installs(result))
        is_said = result.toolkit in {values(one).get("version") for one in result.unknown}
        assert is_there != is_said, (chip.id, system, name)
        assert any(
            one.runs_on(chip.compute_capability)
            for one in cuda_releases()
            if one.version == version_of(result.toolkit)
        )
        if result.driver_branch and not result.pick.torch:
            assert version_of(result.toolkit) <= greatest_cuda(f"{result.driver_branch}.999")


def test_the_python_is_one_the_wheels_are_made_for():
    for chip, system, name, result in asked():
        if result.pick is None or result.python is None:
            continue
        assert re.fullmatch(r"3\.(?:[6-9]|1[0-4])", result.python), (chip.id, system, name)
        span = pythons_of(result.pick.pythons)
        if span is not None:
            assert span[0] <= version_of(result.python) <= span[1], (chip.id, system, name)
        made = [line for line in lines_of(result) if re.search(rf"venv\b.*~/envs/{re.escape(name)}$", line)]
        assert len(made) == bool(result.pick.pip)
        for line in made:
            own = python_here(result.system, ways_of(result.system))
            assert f"--python {result.python} " in line or own == result.python, (chip.id, system, name)


def test_nothing_that_fits_is_a_clear_no_and_no_steps():
    none = [(chip, name, result) for chip, _, name, result in asked() if result.pick is None]
    assert len(none) > 100
    for chip, name, result in none:
        assert result.steps == ()
        assert result.unknown, (chip.id, name)
        assert all(HAN.search(tell(one, CHINESE)) for one in result.unknown)
        assert dockerfile(result, ENGLISH).splitlines()[-1].startswith("#")
        assert not [line for line in requirements(result, ENGLISH).splitlines() if not line.startswith("#")]


def test_every_step_is_told_in_both_languages():
    said = {one for *_, result in asked() for step in result.steps for one in (step.title, step.why)}
    said |= {one for *_, result in asked() for one in (*result.notes, *result.unknown)}
    for one in said:
        assert "{" not in tell(one, ENGLISH)
        text = tell(one, CHINESE)
        assert HAN.search(text) or re.fullmatch(r"[\w.-]+ [\w.]+", text), one  # "torch 2.15"


def test_files_of_every_answer_can_be_read(tmp_path):
    """All scripts in one file, each a function: bash reads them, and defines as many as there are."""
    images = {row.image for row in engine_needs()}
    images |= {image for one in programs().values() for image in one.images.values()}
    whole, seen = [], set()
    for _, _, _, result in asked():
        text = script(result, ENGLISH)
        if text in seen:
            continue
        seen.add(text)
        whole.append(f"f_{len(whole)}() {{\n:\n{text}}}\n")
        froms = [line for line in dockerfile(result, ENGLISH).splitlines() if line.startswith("FROM ")]
        assert len(froms) == (result.pick is not None and result.pick.installer is None)
        for line in froms:
            image = line.removeprefix("FROM ")
            assert image in images or BASE.fullmatch(image), line
        for line in requirements(result, ENGLISH).splitlines():
            if not line.startswith(("#", "--extra-index-url ")):
                assert REQUIREMENT.fullmatch(line), line
    assert len(whole) > 150
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    file = tmp_path / "all.sh"
    file.write_text("".join(whole) + "compgen -A function f_ | wc -l\n", encoding="utf-8")
    done = subprocess.run(["bash", str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, str(len(whole))), done.stderr[:400]


# old chips, odd machines: the very answers


@pytest.mark.parametrize(
    ("card", "name", "version", "build", "python"),
    [
        ("k80", "torch", "2.0", "cu118", "3.11"),
        ("k80", "tensorflow", "2.14.0", None, "3.11"),
        ("m40", "torch", "2.13", "cu126", "3.12"),
        ("m40", "tensorflow", "2.16.1", None, "3.12"),
        ("p100", "tensorflow", "2.21.0", None, "3.12"),
        ("p100", "transformers", "5.23.0", "cu126", "3.12"),
        ("p100", "jax", "0.10.2", None, "3.12"),
        ("titan v", "torch", "2.13", "cu126", "3.12"),
        ("titan v", "vllm", "0.10.2", "cu128", "3.12"),
        ("titan v", "lmdeploy", "0.18.0", "cu126", "3.12"),
        ("titan v", "peft", "0.21.2", "cu126", "3.12"),
        ("t4", "vllm", "0.33.0", "cu130", "3.12"),
        ("h100", "vllm", "0.33.0", "cu130", "3.12"),
    ],
)
def test_the_last_good_set_of_old_chips(card, name, version, build, python):
    pick = setup(SetupWish(on=card, system="ubuntu 24.04", framework=name))
    assert (pick.pick.version, pick.pick.build, pick.python) == (version, build, python)


@pytest.mark.parametrize("card", ["k80", "m40", "p100"])
@pytest.mark.parametrize("name", ["vllm", "sglang", "flash-attn", "torchtitan", "tensorrt-llm"])
def test_a_clear_no_for_old_chips(card, name):
    result = setup(SetupWish(on=card, system="ubuntu 24.04", framework=name))
    assert result.pick is None
    assert name in str(result.unknown[0])


def test_kepler_gets_no_driver_that_does_not_know_it():
    result = setup(SetupWish(on="k80", system="ubuntu 24.04"))
    assert not any("nvidia" in line for step in result.steps for line in step.commands if "install" in line)
    (said,) = result.unknown
    assert {"470", "ubuntu 24.04"} <= set(values(said).values())


@pytest.mark.parametrize("card", ["gb10", "gh200", "gb200", "gb300"])
@pytest.mark.parametrize("system", ["ubuntu 24.04", "rocky 9", "amzn 2023", "debian 13"])
def test_chips_with_an_arm_processor_get_no_packages_of_x86(card, system):
    result = setup(SetupWish(on=card, system=system, framework="llama.cpp"))
    lines = lines_of(result)
    assert not any("x86_64" in line for line in lines)
    assert any("/sbsa" in line for line in lines), "NVIDIA's repository for Arm servers"
    assert any("open" in package for _, package in installs(result))
    assert any("aarch64" in str(one) for one in result.unknown)


def test_torch_for_arm_servers_is_told_apart_from_that_of_x86():
    said = {
        name: setup(SetupWish(on="gh200", system="ubuntu 24.04", framework=name)).unknown[0]
        for name in ("torch", "vllm 0.33.0", "vllm 0.19.1", "jax")
    }
    assert same(said["torch"], said["vllm 0.33.0"]), "both are on the index of x86"
    assert values(said["vllm 0.19.1"])["torch"] == "2.10", "before there was CUDA for these"
    assert not same(said["jax"], said["torch"])


@pytest.mark.parametrize("system", ["debian 12", "fedora 44", "leap 15.6"])
def test_systems_without_a_known_repository_for_arm_say_so(system):
    result = setup(SetupWish(on="gh200", system=system))
    assert not any("driver" in package or "open" in package for _, package in installs(result))
    here = setup(SetupWish(on="gh200", system="ubuntu 24.04"))
    assert len(result.unknown) > len(here.unknown)


@pytest.mark.parametrize("card", ["jetson agx orin 64gb", "jetson thor t5000"])
def test_a_jetson_has_a_system_of_its_own(card):
    result = setup(SetupWish(on=card, system="ubuntu 24.04"))
    assert result.pick is None
    assert "JetPack" in str(result.unknown[0])


def test_other_makers_are_asked_in_their_own_way():
    told_of = {
        card: setup(SetupWish(on=card, system="ubuntu 24.04")) for card in ("mi300x", "arc a770", "m4 max")
    }
    verified = {card: " ".join(result.steps[-1].commands) for card, result in told_of.items()}
    assert "torch.xpu.is_available" in verified["arc a770"]
    assert "mps.is_available" in verified["m4 max"]
    assert "torch.cuda.is_available" in verified["mi300x"]
    assert not any(
        "nvidia" in line for result in told_of.values() for line in lines_of(result)[: len(result.steps)]
    )
    assert told_of["m4 max"].pick.index is None
    assert told_of["arc a770"].pick.version, "a set is never named by nothing"


def test_the_doctor_is_sent_into_the_environment_that_was_made():
    result = setup(SetupWish(on="4090", system="ubuntu 24.04", framework="vllm"))
    verify = result.steps[-1].commands
    assert "VIRTUAL_ENV=~/envs/vllm rigright doctor" in verify
    assert "rigright bench --quick --python ~/envs/vllm/bin/python" in verify


def test_a_system_that_nobody_named_gets_no_lines_of_one():
    for name in known_names():
        result = setup(SetupWish(on="4090", framework=name))
        assert list(installs(result)) == [], name
        assert any("--os" in str(one) for one in result.unknown)


def test_wsl_gets_the_toolkit_made_for_it_and_no_driver():
    result = setup(SetupWish(on="4090", system="wsl", framework="llama.cpp"))
    assert any("/wsl-ubuntu/x86_64/" in line for line in lines_of(result))
    assert [package for _, package in installs(result) if package.startswith("cuda")] == ["cuda-toolkit-13-0"]
    assert not any("driver" in package for _, package in installs(result))


# systems beside Ubuntu: their very lines


def test_a_branch_is_held_where_a_system_has_no_streams():
    lines = lines_of(setup(SetupWish(on="h100", system="rocky 10")))
    assert "dnf versionlock add '*nvidia*580*'" in lines
    assert lines.index("dnf versionlock add '*nvidia*580*'") < lines.index("dnf install -y nvidia-open")
    assert not any("module enable" in line for line in lines)
    assert any("epel-release-latest-10" in line for line in lines), "DKMS is in there"


def test_fedora_takes_old_chips_from_another_place():
    old, new = (lines_of(setup(SetupWish(on=card, system="fedora 44"))) for card in ("v100", "5090"))
    assert "dnf install -y akmod-nvidia-580xx xorg-x11-drv-nvidia-580xx-cuda" in old
    assert any("rpmfusion-nonfree-release" in line for line in old)
    assert not any("developer.download.nvidia.com" in line for line in old)
    assert any(line.endswith("fedora44/x86_64/cuda-fedora44.repo") for line in new)
    assert "dnf install -y nvidia-open" in new


def test_suse_takes_the_module_that_suse_signs():
    result = setup(SetupWish(on="h100", system="sles 15.7", framework="flash-attn"))
    lines = lines_of(result)
    assert result.driver_branch == 595
    assert lines[:3] == [
        "zypper addrepo --refresh https://download.nvidia.com/suse/sle15sp7/ nvidia",
        "zypper --gpg-auto-import-keys refresh",
        "zypper --non-interactive install nvidia-open-driver-G07-signed-kmp-meta",
    ]
    assert any(line.endswith("repos/sles15/x86_64 cuda") for line in lines), "the toolkit's repository"
    assert "sudo zypper --non-interactive install python311" in lines
    volta = setup(SetupWish(on="v100", system="sles 15.7"))
    assert not any("driver" in line for line in lines_of(volta) if "install" in line)
    assert any("Tesla V100" in str(one) or "V100" in str(one) for one in volta.unknown)


def test_a_switched_box_says_where_its_manager_is_not_known():
    result = setup(SetupWish(on="8x h100", system="leap 16.0"))
    alone = setup(SetupWish(on="h100 pcie", system="leap 16.0"))
    assert len(set(result.unknown) - set(alone.unknown)) == 1
    assert not any("fabricmanager" in line for line in lines_of(result))


@pytest.mark.parametrize(
    ("said", "os_id"),
    [
        ("amazon linux 2023", "amzn"), ("opensuse leap 15.6", "opensuse-leap"), ("Red Hat 9", "rhel"),
        ("openSUSE-Tumbleweed", "opensuse-tumbleweed"), ("suse 15.7", "sles"), ("rocky-9", "rocky"),
    ],
)  # fmt: skip
def test_systems_by_the_names_people_use(said, os_id):
    assert setup(SetupWish(on="4090", system=said)).system.os_id == os_id


# systems that are no Linux


def test_windows_gets_powershell_and_wheels_with_cuda():
    result = setup(SetupWish(on="4090", system="windows 11", framework="transformers"))
    lines = lines_of(result)
    assert result.steps[0].commands == (), "no package manager has the driver"
    assert any(f"--index-url {result.pick.index}" in line for line in lines)
    assert all("/bin/" not in line and "apt" not in line for line in lines)
    text = script(result, ENGLISH)
    assert "bash" not in text
    assert "$ErrorActionPreference" in text
    quoted = [line for line in lines if re.search(r"[*<>\[]", line.partition("-c ")[0])]
    assert all("'" in line for line in quoted), "no sign that PowerShell would read"


@pytest.mark.parametrize("name", ["vllm", "sglang", "tensorflow", "deepspeed", "jax"])
def test_what_windows_has_no_packages_for_is_sent_to_wsl(name):
    result = setup(SetupWish(on="4090", system="windows", framework=name))
    assert result.pick is None
    assert result.steps == ()
    assert "--os wsl" in str(result.unknown[0])


def test_windows_and_macos_promise_nothing_that_no_table_holds():
    for card, system in (
        ("4090", "macos"),
        ("7900 xtx", "windows"),
        ("arc a770", "windows"),
        ("k80", "windows"),
    ):
        result = setup(SetupWish(on=card, system=system))
        assert (result.pick is None) == (card != "k80"), card
        assert result.unknown
    mac = setup(SetupWish(on="m4 max", system="macos"))
    assert mac.pick.build == "mps"
    assert not any("sudo" in line or "nvidia" in line for line in lines_of(mac))
    assert "docker" not in str(pages.page(mac)).lower(), "a container on a Mac sees no card"
