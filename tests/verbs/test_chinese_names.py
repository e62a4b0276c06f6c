"""Kinds, columns and causes by their everyday names; manuals of checks in Chinese."""

from __future__ import annotations

import pytest

from rigright.faces.cli.main import main
from rigright.verbs.look_up.verb import LookUpWish, find_kind, look_up
from rigright.verbs.upgrade import read_shares


@pytest.mark.parametrize(
    ("said", "name"), [("误区", "myths"), ("显卡", "chips"), ("架构", "architectures"), ("指南", "guides")]
)
def test_a_kind_has_its_chinese_name(said, name):
    assert find_kind(said) is find_kind(name)


@pytest.mark.parametrize("said", ["计算能力>=9", "compute_capability>=9", "计算能力≥9"])
def test_a_column_is_called_by_its_heading(said):
    assert look_up("chips", wish=LookUpWish(where=(said,))).records == (
        look_up("chips", wish=LookUpWish(where=("cc>=9",))).records
    )


@pytest.mark.parametrize(
    ("said", "cause"),
    [("计算=80%", "compute"), ("cpu=80%", "cores"), ("硬盘=80%", "disk"), ("显存", "gpu_memory")],
)
def test_a_cause_has_everyday_names(said, cause):
    assert list(read_shares(said)) == [cause]


def test_modules_are_read_where_grep_cut_their_heading(tmp_path):
    from rigright.verbs.probe import probe

    file = tmp_path / "lsmod.txt"
    file.write_text("$ lsmod | grep nvidia\nnvidia_uvm 1789952 0\nnvidia 56717312 210 nvidia_uvm\n")
    assert probe(str(file)).read_as


def test_the_page_of_a_check_is_chinese_where_it_is_asked_in_chinese(capsys):
    assert main(["look-up", "checks", "swappiness", "--lang", "zh"]) == 0
    page = capsys.readouterr().out
    assert "警告" in page
    assert "Warning" not in page
    assert main(["look-up", "checks", "ecc_sram", "--lang", "zh"]) == 0
    assert "故障" in capsys.readouterr().out


def test_the_chinese_manuals_are_of_checks_that_there_are():
    from rigright.base.tables import DATA, read_toml
    from rigright.doctor.examine import checks

    assert set(read_toml(DATA / "manuals.toml")) <= set(checks())
