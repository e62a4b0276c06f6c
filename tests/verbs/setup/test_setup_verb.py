"""`setup`: what is told goes together, exists in the tables, and reads as a shell, pip and Docker read it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from fake_trees import grow
from refusals import refused
from rigright.base.errors import AskError
from rigright.base.words import CHINESE, ENGLISH, tell
from rigright.faces.cli.main import main
from rigright.facts.chips import chips
from rigright.facts.drivers import (
    branches,
    driver_packages,
    last_branch,
    maker_packages,
    maker_way,
    newest_branch,
    packages_for,
    words_of,
)
from rigright.facts.engines import engines_of
from rigright.facts.launching import programs
from rigright.facts.software import (
    WHEELS,
    engine_installs,
    engine_needs,
    pythons_of,
    runs_cuda,
    tensorflow_releases,
    torch_builds,
    torch_indexes,
    version_of,
)
from rigright.machine.world import ROOT
from rigright.report.pages.setup import page
from rigright.report.setup_files import dockerfile, requirements, script
from rigright.verbs.setup.choice import known_names, picks, software_and_machine
from rigright.verbs.setup.notes import notes_of
from rigright.verbs.setup.target import driver_way, ways_of
from rigright.verbs.setup.verb import SetupWish, setup
from spoken import values

SYSTEMS = ("ubuntu 22.04", "ubuntu 24.04", "debian 12", "debian 13", "rocky 9", "rhel 8", "wsl")
CARDS = ("gtx 1080 ti", "p40", "v100", "t4", "3090", "4090", "8x h100", "b200", "5090")
PACKAGES = {
    name
    for row in driver_packages()
    for name in (
        *(*row.open_packages, *row.closed_packages, *row.fabric_packages),
        *(*row.headers, *row.before),
        *filter(None, (row.signed(is_open=True), row.signed(is_open=False))),
    )
}
PLAIN_TOOLS = {
    *("python3-venv", "git", "cmake", "build-essential", "gcc-c++", "nvidia-container-toolkit"),
    *("dnf-plugins-core", "python3.12"),
}  # of every distribution of the table, or of the repository named just before


def every_setup():
    """Each kind of card on each system with each engine."""
    for name in known_names():
        for card in CARDS:
            yield card, name, setup(SetupWish(on=card, system="ubuntu 24.04", framework=name))
    for system in SYSTEMS:
        for card in ("v100", "8x h100"):
            yield card, "torch", setup(SetupWish(on=card, system=system))


ALL = list(every_setup())


def lines_of(result):
    return [line for step in (*result.steps, *result.docker_steps) for line in step.commands]


def test_every_index_that_is_told_exists():
    told = [
        url for _, _, result in ALL for line in lines_of(result) for url in re.findall(rf"{WHEELS}/\S+", line)
    ]
    assert told
    assert {url.rpartition("/")[2] for url in told} <= set(torch_indexes())


def test_every_system_package_that_is_told_is_in_the_table():
    told = set()
    for _, _, result in ALL:
        for line in lines_of(result):
            for match in re.finditer(r"(?:sudo )?(?:apt-get|dnf) install -y ([^|]+)", line):
                told |= set(words_of(match[1]))
    strange = {
        name for name in told - PACKAGES - PLAIN_TOOLS if not re.fullmatch(r"cuda-toolkit-1[23]-\d", name)
    }
    assert strange == set()
    assert "nvidia-driver-580-server" in told


def test_every_version_that_pip_is_told_is_in_a_table():
    known = {word for row in engine_needs() for word in (row.pip or "").split()}
    known |= {f"torch=={build.torch}.*" for build in torch_builds()} | {
        row.pip for row in tensorflow_releases()
    }
    told = {word for _, _, result in ALL if result.pick for word in result.pick.pip}
    assert told - {"torchvision"} <= known
    assert "tensorflow-gpu" not in str(told)


def test_every_set_runs_on_its_chips_and_its_driver():
    for card, name, result in ALL:
        if result.pick is None:
            continue
        for capability, _ in result.system.capabilities:
            if result.pick.torch:
                fit = [
                    one
                    for one in torch_builds()
                    if (one.torch, one.build) == (result.pick.torch, result.pick.build)
                ]
                assert fit[0].runs_on(capability), (card, name)
            branch = branches()[result.driver_branch]
            assert branch.cc_min <= capability
        if result.pick.cuda and result.driver_branch:
            assert runs_cuda(f"{result.driver_branch}.999", version_of(result.pick.cuda)), (card, name)
        span = pythons_of(result.pick.pythons)
        if span and result.python:
            assert span[0] <= version_of(result.python)[:2] <= span[1], (card, name)


@pytest.mark.parametrize(
    ("card", "name", "release"),
    [
        ("gtx 1080 ti", "torch", "2.13"),
        ("v100", "torch", "2.13"),
        ("v100", "vllm", "0.10.2"),
        ("4090", "torch", "2.15"),
    ],
)
def test_the_last_good_set_of_an_old_chip(card, name, release):
    result = setup(SetupWish(on=card, system="ubuntu 22.04", framework=name))
    assert result.pick.version == release
    behind = [values(one) for one in result.notes if "newest" in values(one)]
    assert [one["version"] for one in behind] == ([] if card == "4090" else [release])


def test_old_chips_take_the_closed_module_and_new_ones_the_open_one():
    for card, is_open in {"v100": False, "gtx 1080 ti": False, "t4": True, "5090": True}.items():
        result = setup(SetupWish(on=card, system="ubuntu 24.04"))
        assert result.open_kernel is is_open
        driver = next(line for line in lines_of(result) if "nvidia-driver-580" in line)
        assert driver.endswith("-open") is is_open


def test_chips_that_no_driver_serves_together():
    with refused(AskError, "V100", "5090"):
        setup(SetupWish(on="v100 + 5090", system="ubuntu 24.04"))


def test_what_no_table_holds_is_said():
    pascal = setup(SetupWish(on="p40", system="ubuntu 24.04", framework="vllm"))
    assert pascal.pick is None
    assert values(pascal.unknown[0])["name"] == "vllm"
    assert pascal.steps == ()
    unnamed = setup(SetupWish(on="4090"))
    assert "--os" in str(unnamed.unknown[0])
    assert not any("apt" in line or "dnf" in line for step in unnamed.steps for line in step.commands)
    with refused(AskError, '"plan9"'):
        setup(SetupWish(on="4090", system="plan9"))
    with refused(AskError, '"caffe"'):
        setup(SetupWish(on="4090", framework="caffe"))


def test_amd_gets_what_is_known_and_no_more():
    result = setup(SetupWish(on="mi300x", system="ubuntu 24.04"))
    assert result.pick.build.startswith("rocm")
    assert result.pick.index == torch_indexes()[result.pick.build].url
    lines = lines_of(result)
    assert lines[0].endswith("/ubuntu/noble/amdgpu-install_7.2.4.70204-1_all.deb")
    assert lines.index("apt-get install -y amdgpu-dkms") < lines.index("usermod -a -G render,video $LOGNAME")
    assert [values(one) for one in result.unknown] == [{"index": result.pick.build}]
    other = setup(SetupWish(on="mi300x", system="rocky 9"))
    assert not any("amdgpu" in line for line in lines_of(other))
    assert any("ROCm" in str(one) for one in other.unknown), "its driver packages"


@pytest.mark.parametrize(
    "chip", [one for one in chips() if one.vendor in {"AMD", "Intel"}], ids=lambda one: one.id
)
def test_other_makers_cards_get_the_image_of_what_runs_on_them(chip):
    for name in ("vllm", "llama.cpp", "sglang"):
        result = setup(SetupWish(on=chip.id, framework=name, system="ubuntu 24.04"))
        image = programs()[name].images.get(chip.vendor)
        if image is None or name not in engines_of(chip):
            assert result.pick is None
            assert "torch" in values(result.unknown[-1])["names"]
        else:
            assert result.pick.image == image
            assert f"docker pull {image}" in lines_of(result)
            assert "--device /dev/dri" in dockerfile(result, ENGLISH)
            assert "NVIDIA" not in dockerfile(result, ENGLISH)


@pytest.mark.parametrize("row", engine_installs(), ids=lambda one: f"{one.name} {' '.join(one.systems)}")
def test_what_a_system_installs_itself_is_one_command(row):
    card = {"apple": "m4-max", "amd": "rx 7900 xtx", "nvidia": "4090", "intel": "arc b580"}
    named = {"windows": "windows", "linux": "ubuntu 24.04", "macos": "macos"}
    for vendor in row.vendors:
        for system in row.systems:
            result = setup(SetupWish(on=card[vendor], framework=row.name, system=named[system]))
            assert row.command in lines_of(result)
            assert page(result).tone == "good"


def test_intel_gets_its_runtime_and_the_wheels_made_for_it():
    result = setup(SetupWish(on="arc b580", system="ubuntu 24.04"))
    lines = lines_of(result)
    assert "add-apt-repository -y ppa:kobuk-team/intel-graphics" in lines
    assert not any("reboot" in line for line in lines), "the kernel has the driver already"
    assert any(f"'torch=={result.pick.torch}.*' torchvision --index-url" in line for line in lines)
    assert result.pick.build == "xpu"


@pytest.mark.parametrize("row", maker_packages(), ids=lambda row: f"{row.vendor}-{row.versions}")
def test_packages_of_the_other_makers(row):
    assert maker_way(row.vendor, os_id=row.os, os_version=row.versions[0]) == row
    assert (row.fetch is None) != (row.ppa is None)
    if row.fetch:
        assert row.fetch.startswith("https://repo.radeon.com/amdgpu-install/")
        assert f"/{row.release}/" in row.fetch
        assert row.fetch.endswith(".deb")
    assert set(row.groups) <= {"render", "video"}
    assert packages_for(row.os, row.versions[0])[0].manager == "apt", "its lines are those of apt"


def test_a_card_of_amd_with_its_driver_loaded_gets_no_driver(tmp_path, capsys):
    box = {
        "schema": 1,
        "devices": [{"index": 0, "vendor": "amd", "name": "AMD Instinct MI300X", "isa": "gfx942"}],
        "system": {"os_id": "ubuntu", "os_version": "24.04", "virtual": "none", "container": "none"},
        "software": {"driver": "6.14.14"},
    }
    file = tmp_path / "box.json"
    told = {}
    for container in ("none", "docker"):
        for driver in ("6.14.14", None):
            box["system"]["container"], box["software"]["driver"] = container, driver
            file.write_text(json.dumps(box))
            code, shown, err = rig(capsys, "--from", str(file), "--json")
            assert code == 0, err
            lines = [line for step in json.loads(shown)["steps"] for line in step["commands"]]
            told[container, driver] = any("amdgpu-dkms" in line for line in lines)
    assert told == {
        ("none", "6.14.14"): False, ("none", None): True,
        ("docker", "6.14.14"): False, ("docker", None): False,
    }  # fmt: skip


def test_the_switches_manager_comes_with_boxes_that_have_switches():
    assert any(
        "fabricmanager" in line for line in lines_of(setup(SetupWish(on="8x h100", system="ubuntu 24.04")))
    )
    assert not any(
        "fabricmanager" in line for line in lines_of(setup(SetupWish(on="2x 4090", system="ubuntu 24.04")))
    )


def test_the_toolkit_knows_the_chip_and_never_brings_a_driver():
    result = setup(SetupWish(on="5090", system="debian 13", framework="llama.cpp"))
    assert version_of(result.toolkit) >= (12, 8)
    assert f"apt-get install -y cuda-toolkit-{result.toolkit.replace('.', '-')}" in lines_of(result)
    assert not any(re.search(r"install -y .*\bcuda\b(?!-)", line) for line in lines_of(result))


def test_wsl_never_gets_a_driver_inside():
    result = setup(SetupWish(on="4090", system="wsl"))
    assert not any("nvidia-driver" in line or "nvidia-open" in line for line in lines_of(result))


def test_a_version_that_was_asked_for_is_kept_where_it_is_known():
    known = setup(SetupWish(on="h100", system="ubuntu 24.04", wanted="vllm==0.11.0"))
    assert known.pick.version == "0.11.0"
    assert known.instead is None
    for version in ("0.12.0", "0.19.1", "0.26.0"):
        assert setup(SetupWish(on="h100", wanted=f"vllm {version}")).pick.version == version
    found = setup(SetupWish(on="h100", wanted="tensorflow 2.14"))
    assert (found.pick.version, found.instead) == ("2.14.0", None), "a line names its release"
    found = setup(SetupWish(on="h100", wanted="torch 2.9.1"))
    assert (found.pick.version, found.instead) == ("2.9", None)


@pytest.mark.parametrize(
    ("asked", "name", "cuda", "version"),
    [
        ("cuda 12.4", "torch", "12.4", None),
        ("torch cu121", "torch", "12.1", None),
        ("pytorch with CUDA 11.8", "torch", "11.8", None),
        ("torch 2.6+cu124", "torch", "12.4", "2.6"),
        ("vllm cu128", "vllm", "12.8", None),
        ("cuda12.1", "torch", "12.1", None),
    ],
)
def test_cuda_that_is_there_decides_the_build(asked, name, cuda, version):
    made = setup(SetupWish(on="rtx 4090", framework=asked))
    assert (made.pick.name, made.pick.cuda, made.instead) == (name, cuda, None)
    assert version is None or made.pick.version.startswith(version)
    newest = setup(SetupWish(on="rtx 4090", framework=name))
    assert newest.pick.cuda != cuda, "it says something"


def test_cuda_that_nothing_is_built_for_has_no_tick():
    made = setup(SetupWish(on="rtx 3090", framework="torch cuda 10.2"))
    assert made.pick.cuda.startswith("11.")
    assert made.instead is not None


@pytest.mark.parametrize(
    ("words", "software", "machine"),
    [
        (["vllm", "5090"], "vllm", "5090"),
        (["2x 4090", "vllm 0.33"], "vllm 0.33", "2x 4090"),
        (["显卡驱动", "4090"], "显卡驱动", "4090"),
        (["torch", "2.7"], "torch 2.7", None),
        (["8x h100"], None, "8x h100"),
    ],
)
def test_software_and_machine_are_named_in_any_order(words, software, machine):
    assert software_and_machine(words) == (software, machine)


@pytest.mark.parametrize(
    ("asked", "chip", "reason"),
    [
        ("vllm 0.1", "h100", "no requirements known for {name} {version}"),
        ("torch 99", "h100", "no requirements known for {name} {version}"),
        ("torch 2.1", "rtx 5090", "{name} {version} does not run on {chips}"),
        ("vllm 0.33", "gtx 1080 ti", "{name} {version} does not run on {chips}"),
    ],
)
def test_another_version_than_was_asked_for_has_no_tick(asked, chip, reason):
    result = setup(SetupWish(on=chip, system="ubuntu 24.04", wanted=asked))
    assert result.instead.text == reason
    assert page(result).tone in {"warn", "bad"}
    version = tuple(map(int, re.findall(r"\d+", asked)))
    releases = (
        [one.version for one in picks(result.pick.name, tuple(one for one, _ in result.system.capabilities))]
        if result.pick
        else []
    )
    later = [one for one in releases if tuple(map(int, re.findall(r"\d+", one))) > version]
    assert not releases or result.pick.version == (later[-1] if later else releases[0])


# the files


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
def test_every_script_is_one_that_bash_reads(language, tmp_path):
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    whole = []
    for card, name, result in ALL[:: 1 if language == ENGLISH else 5]:
        text = script(result, language)
        assert text.startswith("#!/usr/bin/env bash\n")
        assert not re.search(r"^(?:sudo )?systemctl reboot", text, re.MULTILINE), "a restart waits to be read"
        whole.append(f"f_{len(whole)}() {{ # {card} {name}\n:\n{text}}}\n")
    file = tmp_path / "all.sh"
    file.write_text("".join(whole), encoding="utf-8")
    done = subprocess.run(["bash", "-n", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:500]


def test_every_line_of_a_script_is_explained():
    for _, _, result in ALL[::7]:
        before = ""
        for line in script(result, ENGLISH).splitlines()[1:]:
            if line and not line.startswith("#") and line != "set -eu":
                assert before.startswith("#") or before.strip(), line
            before = line


def test_requirements_read_as_pip_reads_them():
    requirement = pytest.importorskip("packaging.requirements").Requirement
    for _, _, result in ALL:
        for line in requirements(result, ENGLISH).splitlines():
            if line.startswith("#"):
                continue
            if line.startswith("--extra-index-url "):
                assert line.partition(" ")[2] in {one.url for one in torch_indexes().values()}
            else:
                assert requirement(line).name


def test_dockerfiles_begin_from_an_image():
    images = {row.image for row in engine_needs()}
    for _, _, result in ALL:
        text = [line for line in dockerfile(result, ENGLISH).splitlines() if not line.startswith("#")]
        if result.pick is None:
            assert text == []
            continue
        first = text[0].removeprefix("FROM ")
        assert first in images or re.fullmatch(
            r"python:3\.\d+-slim|nvidia/cuda:1\d\.\d\.0-devel-ubuntu2\d\.04", first
        )
        assert text[-1].startswith("CMD ["), "an image that starts nothing is half of one"
        assert json.loads(text[-1].removeprefix("CMD "))


# the verb


def rig(capsys, *argv):
    code = main(["setup", *argv])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_files_are_written_only_when_told_and_never_over_others(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ask = ("--on", "4090", "--os", "ubuntu 24.04")
    code, shown, _ = rig(capsys, *ask, "--script")
    assert code == 0
    assert shown.startswith("#!/usr/bin/env bash")
    assert list(tmp_path.iterdir()) == []
    assert rig(capsys, *ask, "--script", "a.sh", "--docker", "Dockerfile", "--requirements", "r.txt")[0] == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["Dockerfile", "a.sh", "r.txt"]
    assert (tmp_path / "a.sh").read_text() == shown
    code, _, err = rig(capsys, *ask, "--script", "a.sh")
    assert code == 2
    assert "a.sh" in err
    code, _, err = rig(capsys, *ask, "--script", "--docker")
    assert code == 2


def test_the_plan_says_cards_and_engine(tmp_path, capsys):
    ask_plan = ["plan", "llama-3.1-8b", "--on", "2x 4090", "--users", "4", "--engine", "vllm", "--json"]
    assert main(ask_plan) == 0
    plan = json.loads(capsys.readouterr().out)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    code, shown, _ = rig(capsys, "--for", str(file), "--os", "ubuntu 24.04", "--json")
    told = json.loads(shown)
    assert code == 0
    name, _, version = plan["plans"][0]["work"]["engine"].partition(" ")
    assert told["pick"]["name"] == name
    assert f"{told['pick']['version']}.".startswith(f"{version}."), "the plan's own version"
    assert told["instead"] is None
    assert "4090" in told["machine"]
    code, shown, _ = rig(capsys, "--for", "sglang", "--on", "h100", "--os", "ubuntu 24.04", "--json")
    assert json.loads(shown)["pick"]["name"] == "sglang"


def test_a_machine_that_was_read_keeps_a_driver_that_will_do(tmp_path, capsys):
    card = {"index": 0, "vendor": "nvidia", "name": "NVIDIA GeForce RTX 4090", "isa": "8.9"}
    system = {
        "os_id": "ubuntu",
        "os_version": "24.04",
        "kernel": "6.8.0-40-generic",
        "virtual": "none",
        "container": "none",
    }

    def asked(driver, **changed):
        file = tmp_path / "box.json"
        box = {
            "schema": 1,
            "devices": [card],
            "system": system | changed,
            "software": {"driver": driver, "kernel_driver": driver},
        }
        file.write_text(json.dumps(box))
        code, shown, err = rig(capsys, "--from", str(file), "--json")
        assert code == 0, err
        return json.loads(shown)

    def installs(told):
        return any("nvidia-driver" in line for step in told["steps"] for line in step["commands"])

    good = asked("580.95.05")
    assert not installs(good)
    assert good["without_new_driver"] is None
    old = asked("535.183.01")
    assert installs(old)
    assert old["without_new_driver"]["cuda"].startswith("12.")
    assert not installs(asked("535.183.01", container="docker"))


def test_the_machine_that_is_here(tmp_path, capsys, monkeypatch):
    root = grow(tmp_path, {"system": {"os": ("debian", "12")}})
    monkeypatch.setenv(ROOT, str(root))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    code, shown, _ = rig(capsys, "--json")
    told = json.loads(shown)
    assert code == 0
    assert told["system"]["os_id"] == "debian"
    assert told["unknown"]


@pytest.mark.parametrize("width", ["40", "100"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_in_both_languages(capsys, language, width):
    code, shown, err = rig(
        capsys, "--on", "8x h100", "--os", "rocky 9", "--for", "vllm", "--lang", language, "--width", width
    )
    assert (code, err) == (0, "")
    assert "nvidia-driver:580-open" in re.sub(r"\s", "", shown)
    assert ("driver" in shown) or ("驱动" in shown)


# the tables


def test_branches_and_chips():
    assert newest_branch((9, 0), today="2026-11-22").branch == 580
    assert last_branch((6, 1)).branch == 580
    assert branches()[570].has_ended("2026-11-22")
    assert not branches()[580].has_ended("2026-11-22")
    assert branches()[580].has_ended("2030-01-01")


def test_every_nvidia_chip_that_computes_has_a_branch_and_a_torch():
    found = {chip.compute_capability for chip in chips() if chip.compute_capability is not None}
    modern = {capability for capability in found if capability >= (5, 0)}
    assert all(last_branch(capability) is not None for capability in modern)
    without = {capability for capability in modern if next(picks("torch", (capability,)), None) is None}
    assert without == {(11, 0)}  # Jetson's, whose wheels are not those of x86


def test_every_wheel_index_of_the_builds_exists():
    assert {build.build for build in torch_builds()} <= set(torch_indexes())
    assert "cu122" not in torch_indexes()


def test_what_a_distribution_asks_before_is_said_where_it_concerns():
    debian, ubuntu = (setup(SetupWish(on="4090", system=name)) for name in ("debian 12", "ubuntu 24.04"))
    assert any("Debian" in str(note) for note in debian.notes)
    assert not any("Debian" in str(note) for note in ubuntu.notes)
    assert any("先删除 Debian" in tell(note, CHINESE) for note in debian.notes)


@pytest.mark.parametrize(("system", "said"), [("ubuntu 24.04", True), ("debian 12", False)])
def test_secure_boot_may_stay_on_where_the_distribution_signs(system, said):
    result = setup(SetupWish(on="4090", system=system))
    notes = {}
    for on in (True, False):
        target = replace(result.system, secure_boot=on)
        way = driver_way(target, ways_of(target), is_open=True)
        notes[on] = set(notes_of(target, result.pick, chips=((8, 9),), branch=None, way=way))
    assert bool(notes[True] - notes[False]) is said
