"""Tables of software held against each other and against the lists they began from."""

from __future__ import annotations

import csv
import itertools
import random
import re
from collections import Counter
from itertools import pairwise

import pytest

from rigright.base.errors import AskError
from rigright.base.tables import DATA, raw_rows
from rigright.facts.chips import chips
from rigright.facts.drivers import (
    OPEN_FROM,
    OPEN_ONLY_FROM,
    branch_of,
    branches,
    driver_packages,
    last_branch,
    newest_branch,
    packages_for,
)
from rigright.facts.engines import engines
from rigright.facts.guides import find_myth, myths
from rigright.facts.software import (
    cuda_releases,
    driver_for,
    driver_of_chip,
    engine_installs,
    engine_needs,
    pythons_of,
    runs_cuda,
    tensorflow_releases,
    torch_builds,
    torch_indexes,
    version_of,
)
from rigright.verbs.setup.choice import find_name
from spoken import values

TODAY = "2026-11-22"
BRANCHES = branches()
CAPABILITIES = sorted({chip.compute_capability for chip in chips() if chip.compute_capability})


def shared_rows(shared, table):
    with (shared / "facts" / table).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


# the driver


@pytest.mark.parametrize("branch", BRANCHES.values(), ids=lambda one: str(one.branch))
def test_branches(branch):
    assert branch.kind in {"long term", "production", "new feature", "legacy"}
    assert 300 < branch.branch < 1000
    assert branch.cc_min >= ((1, 0) if branch.branch <= 340 else (2, 0))
    if branch.ends is not None:
        assert re.fullmatch(r"20\d\d-(?:0[1-9]|1[0-2])", branch.ends)
        assert branch.ended == (branch.ends < TODAY[:7]), "the word and the month agree"
    if branch.kind == "long term" and branch.ends:
        assert branch.source


def test_every_driver_that_came_with_a_cuda_is_of_a_branch_we_know():
    came = {
        version_of(row["driver_linux"])[0] for _, row in raw_rows(DATA / "cuda.csv") if row["driver_linux"]
    }
    assert came <= {*BRANCHES, 616}  # the newest names one that is not out yet
    assert set(BRANCHES) >= {331, 340, 384, 396, 410, 415, 418, 430, 435, 440, 450}


def test_newer_branches_forget_old_chips_and_never_learn_them_again():
    found = list(BRANCHES.values())
    for newer, older in pairwise(found):
        assert newer.branch > older.branch
        assert newer.cc_min >= older.cc_min, (newer.branch, older.branch)


def test_a_branch_that_gets_fixes_outlives_those_before_it():
    alive = [one for one in BRANCHES.values() if not one.has_ended(TODAY)]
    assert {one.branch for one in alive} >= {580, 595}
    assert min(one.branch for one in alive) >= 535
    assert newest_branch((9, 0), today=TODAY).kind == "long term"


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_each_chip_has_a_last_branch_that_is_new_enough(capability):
    last = last_branch(capability)
    assert last is not None
    assert last.cc_min <= capability
    first = driver_of_chip(capability)
    if first is not None and capability >= (3, 7):
        assert last.branch >= first[0], capability
    living = newest_branch(capability, today=TODAY)
    assert (living is None) == (capability < (5, 0)), "Kepler alone gets no more fixes"


@pytest.mark.parametrize("row", driver_packages(), ids=lambda row: f"{row.os[0]}-{row.versions}-{row.repo}")
def test_packages_of_the_driver(row):
    assert row.manager in {"apt", "dnf", "dnf5", "zypper"}
    assert row.archs
    assert set(row.archs) <= {"x86_64", "aarch64"}
    branch = BRANCHES[row.branch]
    assert not branch.has_ended(TODAY), "no branch is told that gets no more fixes"
    assert branch.kind in {"long term", "production"}
    assert branch == newest_branch(OPEN_FROM, today=TODAY) or row.manager == "zypper", "SUSE has its own"
    for package in (*row.open_packages, *row.closed_packages, *row.fabric_packages, *row.headers):
        assert re.fullmatch(r"[a-z][A-Za-z0-9.+-]+(?:\$\(uname -r\))?", package)
    for place in row.before:
        assert re.fullmatch(
            r"https://(?:dl\.fedoraproject|mirrors\.rpmfusion)\.org/\S+(?: -E \S+)?\S*", place
        )
    brings = (row.open_packages, row.closed_packages, row.toolkit_packages)
    assert any(brings), "a row without a package says nothing"
    if row.open_packages and row.closed_packages:
        assert set(row.open_packages) != set(row.closed_packages)
    if row.open_packages:
        assert any("open" in package for package in row.open_packages)
    assert not any("open" in package for package in row.closed_packages)
    assert (row.toolkit_packages is None) == (row.toolkit_from is None)
    if row.toolkit_packages:
        assert row.repo is not None
        assert row.toolkit_package("13.4") == "cuda-toolkit-13-4"
        assert row.toolkit_from in {release.version for release in cuda_releases()}
        assert row.toolkit_package("9.0") is None
    for told in row.pythons:
        assert re.fullmatch(r"\d+(?:\.\d+)?=3\.\d+", told)
    named = {one.partition("=")[0] for one in row.pythons}
    assert not named or any(version in named for version in row.versions), "the Python of one is known"


def test_a_distribution_is_told_in_one_way_throughout():
    for row in driver_packages():
        for os_id, version, arch in itertools.product(row.os, row.versions or (None,), row.archs):
            ways = packages_for(os_id, version, arch=arch)
            assert row in ways
            assert len({way.manager for way in ways}) == 1
            assert len({way.pythons for way in ways}) == 1
            with_driver = [way for way in ways if way.open_packages]
            assert sum(way.repo is None for way in with_driver) <= 1
            assert not with_driver or with_driver[0].repo is None or all(way.repo for way in with_driver)
            addresses = [way.repo_url(version, arch) for way in ways if way.repo]
            assert all(address.startswith("https://") for address in addresses)
            assert len(set(addresses)) == len(addresses), "one repository, one row"


def test_processors_have_repositories_of_their_own():
    assert [way.repo_url("24.04", "aarch64") for way in packages_for("ubuntu", "24.04", arch="arm64")] == [
        None,
        "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/sbsa",
    ]
    assert packages_for("debian", "12", arch="aarch64") == (), "no repository for it was seen"
    assert packages_for("ubuntu", "24.04", arch="riscv64") == ()
    assert packages_for("opensuse-tumbleweed", "20261120")[0].manager == "zypper"
    assert packages_for("rhel", "9.6") == packages_for("rhel", "9")
    assert packages_for("rhel", "7") == ()


# CUDA, torch, TensorFlow, engines


@pytest.mark.parametrize("release", cuda_releases(), ids=lambda one: one.cuda)
def test_a_cuda_release(release):
    assert release.cc_min <= release.cc_max
    if release.gcc_min and release.gcc_max:
        assert release.gcc_min <= release.gcc_max <= 16
    if release.driver_windows:
        assert release.driver_windows[0] >= release.driver_linux[0] - 5
    branch = branch_of(".".join(map(str, release.driver_linux[:2])))
    assert branch is None or branch.cc_min <= release.cc_max, "its own driver knows some chip it builds for"


@pytest.mark.parametrize("build", torch_builds(), ids=lambda one: f"{one.torch}-{one.build}")
def test_a_torch_build(build):
    assert build.build in torch_indexes(), "no build without an index"
    assert build.capabilities
    assert build.capabilities[0] >= (3, 5)
    known = [one for one in cuda_releases() if one.version == build.cuda]
    if known:
        assert all(known[0].cc_min <= one for one in build.capabilities), "kernels its compiler can make"
        assert all(one <= max(row.cc_max for row in known) for one in build.capabilities)
    if build.python is not None:
        assert pythons_of(build.python) is not None
        assert all(2 <= int(major) <= 3 for major in re.findall(r"(\d+)\.\d+", build.python))


def test_pythons_of_torch_move_forward():
    """A newer release never takes up an older Python again, nor drops its newest."""
    sure = [one for one in torch_builds() if one.python and one.confidence != "low"]
    for newer, older in pairwise(sure):
        assert pythons_of(newer.python)[0] >= pythons_of(older.python)[0], newer.torch
        assert pythons_of(newer.python)[1] >= pythons_of(older.python)[1], newer.torch


def test_builds_of_a_release_with_newer_cuda_know_newer_chips():
    for newer in torch_builds():
        for older in torch_builds():
            if newer.torch == older.torch and newer.cuda > older.cuda:
                assert max(newer.capabilities) >= max(older.capabilities), (newer.torch, newer.build)


@pytest.mark.parametrize("row", tensorflow_releases(), ids=lambda row: row.tensorflow)
def test_a_tensorflow_release(row):
    assert re.fullmatch(r"2\.\d+\.\d+", row.tensorflow)
    assert row.pip.endswith(f"=={row.tensorflow}")
    assert row.pip.startswith("tensorflow[and-cuda]") == (version_of(row.tensorflow) >= (2, 14))
    assert "gpu" not in row.pip
    release = next(one for one in cuda_releases() if one.version == version_of(row.cuda))
    assert release.cc_min <= row.cc_min, "its compiler knows the oldest chips it is said to run on"


def test_tensorflow_moves_forward():
    for newer, older in pairwise(tensorflow_releases()):
        assert newer.cc_min >= older.cc_min
        assert version_of(newer.cuda) >= version_of(older.cuda)
        assert pythons_of(newer.python)[1] >= pythons_of(older.python)[1]


@pytest.mark.parametrize("row", engine_needs(), ids=lambda row: f"{row.name}-{row.version}-{row.pip}")
def test_what_an_engine_needs(row):
    if row.pip:
        names = [re.sub(r"\[.*?\]|==.*", "", word) for word in row.pip.split()]
        assert row.name in names
        version = next(word for word in row.pip.split() if re.match(rf"{re.escape(row.name)}(\[|==)", word))
        assert version.endswith(f"=={row.version}"), "the version that is named is the one that is installed"
    else:
        assert row.image, "what pip does not install comes as an image"
    if row.image and row.version != "latest":
        assert row.image.endswith(row.version)
    if row.torch:
        assert row.build in torch_indexes()
        built = [one for one in torch_builds() if (one.torch, one.build) == (row.torch, row.build)]
        assert built, "the torch it runs with is in the table of builds"
        if row.pins:
            assert row.cc_min in built[0].capabilities or row.cc_min > built[0].capabilities[0], row.name
            spans = pythons_of(row.python), pythons_of(built[0].python)
            assert spans[0][0] <= spans[1][1], "there is a Python for both"
            assert spans[1][0] <= spans[0][1], "there is a Python for both"
    else:
        assert not row.pins
    if row.cuda_min:
        assert driver_for(row.cuda_min)
    if row.cc_min:
        assert any(row.runs_on(capability) for capability in CAPABILITIES)


@pytest.mark.parametrize("engine", engines())
def test_every_engine_can_be_set_up_or_is_refused_with_what_can(engine):
    """A plan names an engine; `setup --for` it finds it, or tells which it knows."""
    names = {row.name for row in (*engine_needs(), *engine_installs())}
    assert {"vllm", "sglang", "tensorrt-llm", "llama.cpp", "ollama", "lmdeploy"} <= names
    if engine in names:
        assert find_name(engine) == engine
    else:
        with pytest.raises(AskError) as refused:
            find_name(engine)
        told = values(refused.value.sentence, refused.value.hint)
        assert engine in told.values()
        assert told["known"]
        assert all(find_name(one) == one for one in told["known"].split(", ")), "what can be set up"


def test_versions_of_an_engine_are_newest_first():
    seen = {}
    for row in engine_needs():
        parts = tuple(int(part) for part in re.findall(r"\d+", row.version))
        if row.name in seen and parts and seen[row.name]:
            assert parts <= seen[row.name], row.name
        seen[row.name] = parts


@pytest.mark.parametrize("index", torch_indexes().values(), ids=lambda one: one.name)
def test_a_wheel_index(index):
    assert index.kind in {"cuda", "cpu", "rocm", "xpu"}
    digits = re.fullmatch(r"cu(\d{2,3})", index.name)
    assert (index.kind == "cuda") == (digits is not None)
    assert (index.kind == "rocm") == bool(re.fullmatch(r"rocm\d+\.\d+(?:\.\d+)?", index.name))
    assert index.url == f"https://download.pytorch.org/whl/{index.name}"
    if index.torch_from and index.torch_to:
        assert version_of(index.torch_from) <= version_of(index.torch_to)
    if index.kind == "rocm":
        assert index.torch_from in {build.torch for build in torch_builds()} | {"2.13"}


def test_rocm_indexes_are_newest_first_and_follow_each_other():
    rocm = [one for one in torch_indexes().values() if one.kind == "rocm"]
    for newer, older in pairwise(rocm):
        assert version_of(newer.name.removeprefix("rocm")) > version_of(older.name.removeprefix("rocm"))
        assert version_of(newer.torch_from) > version_of(older.torch_from)


@pytest.mark.parametrize("name", ["cu122", "cu123", "cu120", "cu127", "cu125", "cu131", "rocm6.5"])
def test_indexes_that_guides_name_and_nobody_made(name):
    assert name not in torch_indexes()


# against the lists they began from


def test_five_random_rows_of_torch(shared):
    ours = {(one.torch, one.build): one for one in torch_builds()}
    rows = [row for row in shared_rows(shared, "torch_cuda.csv") if re.fullmatch(r"[\d.]+", row["torch"])]
    compared = 0
    for row in random.Random(1).sample(rows, len(rows)):  # noqa: S311 - an order, no secret
        for variant in row["cuda_variants"].split():
            build = ours.get((row["torch"], variant))
            if build is None or "(" in row["arch_list_linux_x86"]:
                continue
            plain = row["arch_list_linux_x86"].replace("+PTX", "").split()
            theirs = {version_of(one) for one in plain}
            # a row was read again in the wheel itself: it may say less of PTX, never of chips
            assert set(build.capabilities) <= theirs, (row["torch"], variant)
            assert build.capabilities[-1] >= (7, 0)
            assert build.python in {row["python"], None} or build.as_of >= "2026-11", (row["torch"], variant)
            compared += 1
    assert compared >= 20


def test_rows_of_cuda(shared):
    theirs = {row["cuda_toolkit"]: row for row in shared_rows(shared, "cuda_driver.csv")}
    assert {one.cuda for one in cuda_releases()} == set(theirs)
    for release in cuda_releases():
        row = theirs[release.cuda]
        assert version_of(row["max_cc"]) == release.cc_max
        assert version_of(row["min_cc"]) == release.cc_min
        number = re.search(r"\d{3}\.\d+(?:\.\d+)?", row["min_driver_linux"])
        assert version_of(number[0]) == release.driver_linux


def test_rows_of_tensorflow(shared):
    theirs = {row["tensorflow"]: row for row in shared_rows(shared, "tf_cuda.csv")}
    for release in tensorflow_releases():
        row = theirs[release.tensorflow]
        assert (row["cuda"], row["cudnn"], row["python"], row["pip"]) == (
            release.cuda, release.cudnn, release.python, release.pip,
        )  # fmt: skip


# what goes together, by NVIDIA's rules


def test_a_newer_driver_runs_no_less():
    drivers = sorted({release.driver_linux for release in cuda_releases()})
    for older, newer in pairwise(drivers):
        for release in cuda_releases():
            if runs_cuda(".".join(map(str, older)), release.version):
                assert runs_cuda(".".join(map(str, newer)), release.version)


def test_each_release_runs_on_the_driver_it_came_with():
    for release in cuda_releases():
        assert runs_cuda(".".join(map(str, release.driver_linux)), release.version), release.cuda


def test_kinds_of_kernel_module_meet_between_turing_and_hopper():
    assert OPEN_FROM < OPEN_ONLY_FROM
    both = [one for one in CAPABILITIES if OPEN_FROM <= one < OPEN_ONLY_FROM]
    assert {(7, 5), (8, 0), (9, 0)} <= set(both)


def test_what_is_gone_is_in_no_table_of_what_to_install():
    """Names that the myths correct (a stub, an index that never was) are nowhere recommended."""
    gone = {"tensorflow-gpu", "pynvml", "jax[cuda12_pip]"}
    claims = " ".join(myth.claim.text for myth in myths())
    assert all(name in claims for name in gone)
    told = " ".join(
        [*((row.pip or "") for row in engine_needs()), *(row.pip for row in tensorflow_releases())]
    )
    assert not any(name in told for name in gone)
    assert "cu122" in find_myth("57").claim.text


def test_pins_are_told_apart_by_the_build():
    counts = Counter((row.name, row.pins) for row in engine_needs())
    assert counts["vllm", True] >= 3
    assert all(row.build for row in engine_needs() if row.pins)
