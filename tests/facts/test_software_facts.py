"""Drivers, CUDA, PyTorch and chips that go together."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError, RigError
from rigright.facts.chips import chips
from rigright.facts.software import (
    cuda_releases,
    driver_for,
    driver_of_chip,
    greatest_cuda,
    least_driver,
    runs_cuda,
    tensorflow_releases,
    torch_builds,
    torch_for,
    version_of,
    written,
)


def test_newer_toolkits_never_ask_for_older_drivers():
    for newer, older in pairwise(cuda_releases()):
        assert newer.version >= older.version
        assert newer.driver_linux >= older.driver_linux
        assert newer.driver_compat >= older.driver_compat
        assert newer.cc_max >= older.cc_max
        assert newer.cc_min >= older.cc_min
        assert newer.least_driver <= newer.driver_linux


@pytest.mark.parametrize(
    ("cuda", "driver"),
    [
        ("13.0", "580"),
        ("12.8", "525.60.13"),
        ("12.4", "525.60.13"),
        ("11.8", "450.80.02"),
        ("10.2", "440.33"),
    ],
)
def test_the_least_driver_of_a_cuda_version(cuda, driver):
    assert least_driver(cuda) == version_of(driver)


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [
        ("580.95.05", (13, 0)),
        ("570.124.06", (12, 8)),
        ("550.54.15", (12, 4)),
        ("535.104.05", (12, 2)),
        ("470.82.01", (11, 4)),
    ],
)
def test_the_newest_cuda_a_driver_was_made_for(driver, cuda):
    assert greatest_cuda(driver) == cuda


def test_captured_drivers_show_the_cuda_the_table_says(shared):
    for file in sorted((shared / "captures" / "nvidia-smi-text").glob("*.txt")):
        found = re.search(
            r"Driver Version: ([0-9.]+)\s+CUDA Version: ([0-9.]+)", file.read_text(encoding="utf-8")
        )
        assert greatest_cuda(found[1]) == version_of(found[2])


def test_minor_version_compatibility():
    assert runs_cuda("535.54.03", (12, 8))
    assert not runs_cuda("535.54.03", (13, 0))
    assert not runs_cuda("470.82.01", (12, 0))
    assert runs_cuda("470.82.01", (11, 8))
    assert driver_for((9, 2)) == driver_for((10, 0))  # not in the table: as the next one


def test_a_chip_needs_a_driver_that_knows_it():
    assert driver_of_chip((12, 0)) == version_of("570.26")
    assert driver_of_chip((8, 0)) == version_of("450.51.05")
    assert torch_for((12, 0), driver="550.54.15") == ()
    assert torch_for((12, 0), driver="570.124.06")


@pytest.mark.parametrize(
    ("capability", "first"),
    [((12, 0), "2.7"), ((10, 0), "2.7"), ((9, 0), "2.0"), ((8, 9), "1.7"), ((8, 0), "1.7"), ((7, 5), "1.3")],
)
def test_the_first_torch_for_a_chip(capability, first):
    assert torch_for(capability)[-1].torch == first


def test_old_chips_keep_only_the_legacy_build():
    newest = {build.build for build in torch_for((6, 1)) if build.torch == "2.13"}
    assert newest == {"cu126"}
    assert {build.build for build in torch_for((7, 0)) if build.torch == "2.11"} == {"cu126"}
    assert "cu128" in {build.build for build in torch_for((7, 0)) if build.torch == "2.10"}


def test_kernels_run_within_a_major_version_upwards_only():
    (build,) = (build for build in torch_builds() if (build.torch, build.build) == ("2.9", "cu128"))
    assert build.runs_on((8, 9))
    assert build.runs_on((12, 1))
    assert not build.runs_on((6, 1))
    assert not build.runs_on((11, 0))  # no kernels of 11.x, no PTX


def test_every_nvidia_chip_on_sale_runs_a_torch_build():
    for chip in chips():
        if chip.compute_capability and chip.compute_capability >= (5, 0) and chip.segment != "embedded":
            assert torch_for(chip.compute_capability), chip.id


def test_torch_builds_come_newest_first_with_sane_pythons():
    versions = [version_of(build.torch) for build in torch_builds()]
    assert versions == sorted(versions, reverse=True)
    for build in torch_builds():
        assert build.capabilities == tuple(sorted(build.capabilities))
        assert (9, 0) <= build.cuda <= (13, 9)


def test_tensorflow_cuda_is_in_the_table():
    known = {release.version for release in cuda_releases()}
    assert all(version_of(release.cuda) in known for release in tensorflow_releases())


def test_an_unknown_cuda_lists_what_there_is():
    with pytest.raises(AskError, match=r"12\.8"):
        least_driver("12.7")


@given(st.text(max_size=30))
def test_any_text_is_a_version_or_a_clear_error(text):
    try:
        assert version_of(written(version_of(text)))
    except RigError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right
