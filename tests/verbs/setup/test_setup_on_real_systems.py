"""`setup` on machines as they are: old C libraries, Secure Boot, racks, kernels, containers that start."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest

from rigright.base.words import ENGLISH
from rigright.faces.cli.main import main
from rigright.facts.drivers import release_of
from rigright.facts.launching import serving
from rigright.facts.software import cuda_releases, runs_cuda, torch_builds, version_of
from rigright.report.pages import setup as pages
from rigright.report.setup_files import dockerfile
from rigright.verbs.setup.choice import known_names
from rigright.verbs.setup.steps import driver_steps
from rigright.verbs.setup.target import target_of, ways_of
from rigright.verbs.setup.verb import SetupWish, setup
from spoken import same, values

SYSTEMS = (
    "ubuntu 22.04",
    "ubuntu 24.04",
    "debian 12",
    "debian 13",
    "rocky 8",
    "rocky 9",
    "rocky 10",
    "fedora 44",
)
CARDS = ("v100", "t4", "4090", "8x h100", "b200", "5090")


def lines_of(result):
    return [line for step in (*result.steps, *result.docker_steps) for line in step.commands]


@pytest.mark.parametrize("name", sorted(serving()))
def test_an_engine_in_a_container_starts_and_is_watched(name):
    text = dockerfile(setup(SetupWish(on="8x h100", system="ubuntu 24.04", framework=name)), ENGLISH)
    serves = serving()[name]
    command = json.loads(text.splitlines()[-1].removeprefix("CMD "))
    assert command[:2] == ["sh", "-c"]
    words = shlex.split(command[2])
    assert words[0] == "exec"
    assert "{" not in command[2]
    assert f"EXPOSE {serves.port}" in text
    assert str(serves.port) in command[2] or f"OLLAMA_HOST=0.0.0.0:{serves.port}" in text
    assert f"-p 127.0.0.1:{serves.port}:{serves.port}" in text, "published on loopback alone"
    assert "HEALTHCHECK" in text
    assert "nvidia-container-toolkit" in text
    if "{tp}" in serves.command:
        assert " TP=8" in text


def test_a_container_of_a_plan_splits_as_the_plan_does(tmp_path, capsys):
    assert (
        main(["plan", "llama-3.1-8b", "--on", "2x 4090", "--users", "4", "--engine", "vllm", "--json"]) == 0
    )
    plan = json.loads(capsys.readouterr().out)
    plan["plans"][0]["layout"]["tp"] = 2
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    assert " TP=2" in dockerfile(setup(SetupWish(wanted=str(file), system="ubuntu 24.04")), ENGLISH)


def test_kernels_that_a_cuda_is_too_old_for_are_said_first():
    old = setup(SetupWish(on="5090", system="ubuntu 24.04", framework="tensorflow"))
    assert old.pick.no_kernels_for == "12.0"
    assert "GeForce RTX 5090" in str(pages.page(old).title)
    for card, name in (("h100", "tensorflow"), ("5090", "jax"), ("5090", "torch"), ("4090", "tensorflow")):
        assert setup(SetupWish(on=card, system="ubuntu 24.04", framework=name)).pick.no_kernels_for is None, (
            card,
            name,
        )


@pytest.mark.parametrize(
    ("system", "name", "version"),
    [
        ("centos 7", "torch", "2.5"), ("centos 7", "vllm", "0.7.3"), ("rhel 7", "tensorflow", "2.20.0"),
        ("rocky 8", "torch", "2.15"), ("ubuntu 24.04", "vllm", "0.33.0"),
    ],
)  # fmt: skip
def test_wheels_install_on_the_c_library_that_is_there(system, name, version):
    result = setup(SetupWish(on="4090", system=system, framework=name))
    assert result.pick.version == version
    release = release_of(result.system.os_id, result.system.os_version)
    assert result.pick.least_glibc is None or result.pick.least_glibc <= release.glibc
    if system.endswith(" 7"):
        said = [values(one) for one in result.notes]
        assert any({"floor", "glibc"} <= set(one) for one in said)
        (kernel,) = [one for one in result.notes if values(one).get("least") == "4.15"]
        assert result.open_kernel is False
        assert any("uv/install.sh" in line for line in lines_of(result)), "its pip takes no wheel of uv"
        newer = setup(SetupWish(on="5090", system=system, framework="vllm"))
        (other,) = [one for one in newer.notes if values(one).get("least") == "4.15"]
        assert not same(kernel, other), "Blackwell has no other module"
        newest = setup(SetupWish(on="4090", system="ubuntu 24.04", framework=name)).pick
        assert newest.image is None or newest.image in dockerfile(result, ENGLISH), (
            "a container runs the newest"
        )


def test_what_only_a_container_can_run_is_sent_there():
    result = setup(SetupWish(on="5090", system="centos 7", framework="vllm"))
    assert not any("pip install" in line for line in lines_of(result))
    assert any("docker pull vllm/vllm-openai" in line for line in lines_of(result))
    none = setup(SetupWish(on="5090", system="centos 7", framework="torch"))
    assert none.pick is None
    assert {"floor", "glibc"} <= set(values(none.unknown[0]))


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_module_is_built_for_the_kernel_that_runs(system):
    """Headers of a package's newest kernel build a module that the running one does not load."""
    lines = lines_of(setup(SetupWish(on="h100", system=system)))
    headers = [line for line in lines if "headers" in line or "-devel" in line or "linux-modules" in line]
    assert all("$(uname -r)" in line for line in headers)
    if any(line.startswith("apt-get install") for line in lines):
        assert lines.index("apt-get update") == 0


def test_secure_boot_enrols_the_key_before_the_restart():
    target = target_of("h100", None, os_asked="debian 12")
    way = next(one for one in ways_of(target) if one.repo)
    done = list(driver_steps(replace(target, secure_boot=True), way, is_open=True))
    lines = [line for step in done for line in step.commands]
    assert lines.index("mokutil --import /var/lib/dkms/mok.pub") == lines.index("systemctl reboot") - 1
    assert "Enroll MOK" in str(done[-1].why)
    unknown = setup(SetupWish(on="h100", system="debian 12"))
    assert any("mokutil --sb-state" in str(one) for one in unknown.notes)
    signed = setup(SetupWish(on="h100", system="ubuntu 24.04"))
    assert not any("mokutil" in str(one) for one in (*signed.notes, *lines_of(signed)))


def test_a_tray_of_a_rack_gets_imex_and_a_box_the_fabric_manager():
    tray = lines_of(setup(SetupWish(on="4x gb200", system="ubuntu 24.04")))
    box = lines_of(setup(SetupWish(on="8x b200", system="ubuntu 24.04")))
    assert any("nvidia-imex" in line for line in tray)
    assert not any("fabricmanager" in line for line in tray)
    assert any("fabricmanager" in line for line in box)
    assert not any("imex" in line for line in box)


@pytest.mark.parametrize("name", ["jax", "tensorflow", "torch", "vllm"])
def test_what_was_installed_is_seen_to_work(name):
    verify = setup(SetupWish(on="h100", system="ubuntu 24.04", framework=name)).steps[-1].commands
    assert any(f"~/envs/{name}/bin/python -c" in line and "import" in line for line in verify)


def test_every_version_told_is_of_one_set():
    """What a set says of itself fits: CUDA has kernels, the driver runs it, the image is of its version."""
    for card, name in ((card, name) for card in CARDS for name in known_names()):
        result = setup(SetupWish(on=card, system="ubuntu 24.04", framework=name))
        pick = result.pick
        if pick is None:
            continue
        if pick.torch and pick.build:
            assert any((one.torch, one.build) == (pick.torch, pick.build) for one in torch_builds()), (
                card,
                name,
            )
        if pick.image and pick.version != "latest":
            assert pick.version in pick.image, (card, name, pick.image)
        if pick.cuda and pick.least_driver:
            assert runs_cuda(pick.least_driver, version_of(pick.cuda)), (card, name)
        if pick.no_kernels_for is None and pick.cuda and not pick.torch:
            known = [one for one in cuda_releases() if one.version == version_of(pick.cuda)]
            chips = [chip for chip, _ in result.system.capabilities]
            assert not known or all(any(one.runs_on(chip) for one in known) for chip in chips), (card, name)
