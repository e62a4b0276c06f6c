"""`baseline`: taken from a good node, it holds that node, finds what differs, and nothing else."""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import RigError
from rigright.doctor.baseline import (
    Baseline,
    ExpectedFigure,
    baseline_of,
    cards_of,
    compared,
    read_baseline,
    written,
)
from rigright.doctor.examine import case_of, examine
from rigright.faces.cli.main import main
from rigright.machine.bench.record import Result
from rigright.machine.device import Clocks, Device, PcieLink
from rigright.machine.host import Memory, Port
from rigright.machine.record import Machine
from rigright.machine.stored import plain
from rigright.machine.system import Software, System
from rigright.machine.traits import TRAITS

GIB = 2**30
H100 = "NVIDIA H100 80GB HBM3"


def node(cards=8, driver="580.95.05", lanes=16, rate=50e9, **changes):
    devices = tuple(
        Device(
            index=index, vendor="nvidia", name=H100, vbios="96.00.89", mem_total_bytes=80 * GIB,
            pcie=PcieLink(gen_max=5, lanes_max=lanes), clocks=Clocks(sm_max_hz=1.98e9),
        )
        for index in range(cards)
    )  # fmt: skip
    ports = tuple(
        Port(name=f"mlx5_{index}", kind="infiniband", state="up", bytes_per_s=rate) for index in range(8)
    )
    machine = Machine(
        devices=devices, ports=ports, software=Software(driver=driver),
        system=System(host="n1", kernel="6.8.0-45"), memory=Memory(total_bytes=2015.3 * GIB),
    )  # fmt: skip
    return replace(machine, **changes)


def figure(value, on="gpu 0", unit="flops_per_s", what="bf16"):
    return Result(part="gemm", what=what, on=on, value=value, unit=unit, low=value, high=value, repeats=3)


def held(machine, baseline, results=()):
    return examine(case_of(machine, results=tuple(results), baseline=baseline), ("baseline",)).findings


BASE = baseline_of(
    node(), (figure(790e12), figure(800e12, "gpu 1"), figure(2.0, unit="s", what="load")), file="b.toml"
)


def test_a_good_node_is_as_its_own_baseline():
    assert held(node(), BASE, (figure(790e12), figure(2.0, unit="s", what="load"))) == ()
    assert cards_of(BASE) == 8


@pytest.mark.parametrize(
    ("odd", "key", "severity"),
    [
        (node(cards=7), "cards", "fault"), (node(lanes=8), "gpu_link", "fault"),
        (node(rate=25e9), "ports", "fault"), (node(driver="570.1"), "driver", "warning"),
        (node(memory=Memory(total_bytes=1007 * GIB)), "memory", "fault"),
        (node(system=System(kernel="6.9")), "kernel", "note"),
    ],
)  # fmt: skip
def test_one_odd_thing_is_found_and_nothing_else(odd, key, severity):
    ((check, found),) = held(odd, BASE)
    assert (check, found.severity) == ("baseline_traits", severity)
    assert [one.trait.key for one in compared(odd, BASE) if one.differs] == [key]


def test_what_a_node_does_not_show_is_not_held_against_it():
    assert held(Machine(devices=node().devices), BASE) == ()


def test_figures_are_held_by_their_slowest_card_and_better_is_good():
    assert held(node(), BASE, (figure(900e12), figure(1.0, unit="s", what="load"))) == ()
    assert held(node(), BASE, (figure(790e12 * 0.96),)) == ()
    slow = held(node(), BASE, (figure(800e12), figure(700e12, "gpu 5")))
    assert [(found.severity, found.about) for _, found in slow] == [("warning", "gpu 5")]
    ((_, broken),) = held(node(), BASE, (figure(9.0, unit="s", what="load"),))
    assert broken.severity == "fault"


words = st.text(min_size=1, max_size=30)
numbers = st.floats(min_value=1e-6, max_value=1e18)


@given(
    traits=st.dictionaries(
        st.sampled_from([one.key for one in TRAITS]), st.lists(words, min_size=1, max_size=3)
    ),
    figures=st.lists(st.tuples(words, words, words, numbers, st.floats(0, 0.9)), max_size=4),
)  # fmt: skip
def test_what_is_written_is_read_back(tmp_path_factory, traits, figures):
    file = str(tmp_path_factory.getbasetemp() / "round.toml")
    first = Baseline(
        file=file,
        expect=tuple((key, tuple(values)) for key, values in traits.items()),
        bench=tuple(
            ExpectedFigure(
                part=part, what=what, unit=unit, value=float(f"{value:.6g}"), tolerance=float(f"{wide:g}")
            )
            for part, what, unit, value, wide in figures
        ),
    )
    Path(file).write_text(written(first, node="n\n1", date="2026-11-23"), encoding="utf-8", newline="")
    assert read_baseline(file) == first


@given(raw=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
def test_any_bytes_are_an_error_that_is_told(tmp_path_factory, raw):
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(b"rigright_baseline = 1\n" + raw)
    with suppress(RigError):
        assert read_baseline(str(file)).file


@pytest.mark.parametrize(
    "text",
    [
        "", "expect = 3", "[expect]\nnonsense = 1", "[expect]\ncards = []", "[expect]\ncards = {a = 1}",
        "[[bench]]\npart = 'gemm'", "[[bench]]\npart='a'\nwhat='b'\nunit='s'\nvalue=-1",
        "[[bench]]\npart='a'\nwhat='b'\nunit='s'\nvalue=inf",
        "[[bench]]\npart='a'\nwhat='b'\nunit='s'\nvalue=1\ntolerance=2",
        "bench = [1]",
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_what_is_wrong(tmp_path, text):
    file = tmp_path / "b.toml"
    file.write_text(("rigright_baseline = 1\n" if text else "") + text)
    with pytest.raises(RigError) as error:
        read_baseline(str(file))
    assert "b.toml" in str(error.value)


# the verbs


def saved(tmp_path, name, machine, results=()):
    """As `bench --save` writes it."""
    told = {
        "rigright_bench": 1, "quick": True, "seconds": 1.0, "machine": plain(machine),
        "results": [plain(one) for one in results], "skipped": [],
    }  # fmt: skip
    (tmp_path / name).write_text(json.dumps(told))
    return str(tmp_path / name)


def test_save_then_check_then_doctor_bench_and_fleet_agree(tmp_path, capsys):
    good = saved(tmp_path, "n1.json", node(), (figure(800e12),))
    bad = saved(tmp_path, "n2.json", node(cards=7, driver="570.1"), (figure(500e12),))
    base = str(tmp_path / "h100.toml")
    assert main(["baseline", "--save", base, "--bench", good]) == 0
    capsys.readouterr()
    assert len(tomllib.loads(Path(base).read_text())["expect"]) == 9
    assert tomllib.loads(Path(base).read_text())["expect"]["cards"] == f"8x {H100}"
    assert main(["baseline", "--check", base, "--bench", good]) == 0
    assert main(["baseline", "--check", base, "--bench", bad, "--json"]) == 20
    told = json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))
    assert {one["trait"] for one in told["differs"]} == {"cards", "driver"}
    assert len(told["below"]) == 1
    (tmp_path / "probe.json").write_text(json.dumps(plain(node(cards=7))))
    probed = str(tmp_path / "probe.json")
    assert main(["doctor", "--from", probed, "--baseline", base, "--only", "baseline"]) == 20
    assert main(["baseline", "--check", base, "--from", probed]) == 20
    capsys.readouterr()
    assert main(["bench", "--from", bad, "--baseline", base]) == 20
    assert "62%" in capsys.readouterr().out
    assert main(["bench", "--from", good, "--baseline", base]) == 0
    folder = tmp_path / "nodes"
    folder.mkdir()
    for file in (good, bad):
        Path(file).rename(folder / Path(file).name)
    capsys.readouterr()
    main(["fleet", "doctor", "--from", str(folder), "--baseline", base, "--only", "baseline", "--json"])
    nodes = json.loads(capsys.readouterr().out)["nodes"]
    found = {one["node"]: {finding["check"] for finding in one["findings"]} for one in nodes}
    assert found["n1"] == set()
    assert any(check.startswith("baseline_") for check in found["n2"])


def test_a_wrong_question_says_what_is_possible(capsys):
    for argv in ([], ["--save", "a", "--check", "b"], ["--check", "/nowhere.toml"]):
        assert main(["baseline", *argv]) != 0, argv
        refused = capsys.readouterr()
        assert refused.err, argv
        assert not refused.out, argv
