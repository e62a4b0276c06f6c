"""Laws of fleets: who is odd, who is slow, and names of hosts, whatever the order, the size and the gaps."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kept_answers import keep
from rigright.base.errors import RigError
from rigright.faces.cli.main import main
from rigright.machine.bench.record import Result
from rigright.machine.device import Device, Ecc, PcieLink
from rigright.machine.host import Cpu, Memory
from rigright.machine.record import Machine
from rigright.machine.stored import plain
from rigright.machine.system import Software, System
from rigright.machine.traits import TRAITS
from rigright.verbs.fleet.compare import BEHIND_SHARE, ENOUGH, differences, kinds, spread_of
from rigright.verbs.fleet.hosts import expand, file_of, read_hosts
from rigright.verbs.fleet.nodes import NodeReport

GIB = 2**30
CHANGES = {  # one trait other than the others have it -> how a machine gets it
    "driver": lambda m: replace(m, software=replace(m.software, driver="535.1")),
    "kernel": lambda m: replace(m, system=replace(m.system, kernel="5.15")),
    "memory": lambda m: replace(m, memory=Memory(total_bytes=960 * GIB)),
    "processor": lambda m: replace(m, cpu=replace(m.cpu, name="AMD EPYC 9354")),
    "ecc": lambda m: of_cards(m, ecc=Ecc(on=False)),
    "gpu_link": lambda m: of_cards(m, pcie=PcieLink(gen_max=4, lanes_max=16)),
    "cards": lambda m: replace(m, devices=m.devices[:-1]),
    "persistence": lambda m: of_cards(m, persistence=False),
    "swappiness": lambda m: replace(m, system=replace(m.system, settings=(("vm.swappiness", "60"),))),
}


KEYS = {one.name: one.key for one in TRAITS}
NAMES = {key: name for name, key in KEYS.items()}


def of_cards(machine, **changes):
    """One card of the machine is other."""
    first, *others = machine.devices
    return replace(machine, devices=(replace(first, **changes), *others))


def machine():
    device = Device(
        index=0, vendor="nvidia", name="NVIDIA H100 80GB HBM3", ecc=Ecc(on=True), persistence=True,
        pcie=PcieLink(gen_max=5, lanes_max=16), mem_total_bytes=80 * GIB,
    )  # fmt: skip
    return Machine(
        devices=tuple(replace(device, index=index) for index in range(4)),
        software=Software(driver="580.95.05"),
        system=System(kernel="6.8.0", os_name="Ubuntu 24.04", settings=(("vm.swappiness", "10"),)),
        memory=Memory(total_bytes=2015 * GIB),
        cpu=Cpu(name="Intel Xeon Platinum 8480C", threads=224),
    )


def names(count):
    return [f"n{number:03}" for number in range(count)]


def odd(machines):
    """(trait, usual, {value: nodes}) as plain things, in any order."""
    return {
        (
            KEYS[one.trait],
            one.usual,
            one.n_usual,
            frozenset((value, frozenset(nodes)) for value, nodes in one.others),
        )
        for one in differences(machines)
    }


# the odd ones out


@pytest.mark.parametrize("count", [1, 2, 3, 8, 100])
def test_like_nodes_are_silent(count):
    assert differences(dict.fromkeys(names(count), machine())) == ()


@pytest.mark.parametrize("trait", CHANGES)
@given(count=st.integers(3, 40), data=st.data())
def test_one_bad_node_of_three_or_more_is_found_and_it_alone(trait, count, data):
    bad = data.draw(st.integers(0, count - 1))
    fleet = dict.fromkeys(names(count), machine())
    fleet[f"n{bad:03}"] = CHANGES[trait](machine())
    found = [one for one in differences(fleet) if KEYS[one.trait] == trait]
    assert len(found) == 1
    ((_, nodes),) = found[0].others
    assert nodes == (f"n{bad:03}",)
    assert found[0].n_usual == count - 1
    assert {KEYS[one.trait] for one in differences(fleet)} == {trait}


@given(st.integers(1, 20), st.sampled_from(sorted(CHANGES)))
def test_of_two_halves_neither_is_usual(half, trait):
    fleet = dict.fromkeys(names(half), machine())
    fleet |= dict.fromkeys(names(2 * half)[half:], CHANGES[trait](machine()))
    (found,) = differences(fleet)
    assert found.usual is None
    assert found.n_usual == 0
    assert sorted(len(nodes) for _, nodes in found.others) == [half, half]


@given(
    st.permutations(range(9)), st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=4, unique=True)
)
def test_the_order_of_nodes_is_no_matter(order, traits):
    fleet = dict.fromkeys(names(9), machine())
    for place, trait in enumerate(traits):
        fleet[f"n{place:03}"] = CHANGES[trait](machine())
    listed = list(fleet.items())
    assert odd(dict(listed[place] for place in order)) == odd(fleet)


SILENT = {
    "driver": lambda m: replace(m, software=Software()),
    "everything of the system": lambda m: replace(m, system=System()),
    "the memory": lambda m: replace(m, memory=Memory()),
    "the processor": lambda m: replace(m, cpu=Cpu()),
    "what cards tell": lambda m: replace(
        m, devices=tuple(Device(index=one.index, vendor=one.vendor, name=one.name) for one in m.devices)
    ),
}


@pytest.mark.parametrize("what", SILENT)
@given(st.integers(1, 8), st.integers(1, 8))
def test_what_is_not_observed_is_never_odd(what, full, gaps):
    fleet = dict.fromkeys(names(full), machine())
    fleet |= dict.fromkeys(names(full + gaps)[full:], SILENT[what](machine()))
    assert differences(fleet) == ()


def test_gaps_are_not_counted_among_those_who_agree():
    fleet = dict.fromkeys(names(3), machine()) | dict.fromkeys(["x1", "x2"], SILENT["driver"](machine()))
    fleet["bad"] = CHANGES["driver"](machine())
    (found,) = differences(fleet)
    assert (found.usual, found.n_usual) == ("580.95.05", 3)


@given(st.integers(1, 30), st.integers(0, 30))
def test_every_node_is_of_one_kind(cards, bare):
    empty = replace(machine(), devices=())
    fleet = dict.fromkeys(names(cards), machine()) | {f"b{number}": empty for number in range(bare)}
    found = kinds(fleet)
    assert set(found) == set(fleet)
    counted = Counter(found.values())
    if bare <= max(1, (cards + bare) / 4):
        assert len(counted) == 1, "few without cards have lost them"
    else:
        assert counted[""] == bare


def test_every_trait_has_a_key_and_a_word_of_its_own():
    assert len(KEYS) == len(set(KEYS.values())) == len(TRAITS)
    assert set(CHANGES) <= set(KEYS.values())


# the slow ones


def measured(values, unit="flops_per_s"):
    return [
        NodeReport(
            node=node,
            machine=machine(),
            results=(
                Result(
                    part="gemm",
                    what="bf16",
                    on="gpu 0",
                    value=value,
                    unit=unit,
                    low=value,
                    high=value,
                    repeats=5,
                ),
            ),
        )
        for node, value in values.items()
    ]


def slow(values, unit="flops_per_s"):
    return [one.node for one in spread_of(measured(values, unit), {})[1]]


@given(st.integers(3, 64), st.floats(0.1, 0.85), st.floats(1e-6, 1e15), st.data())
def test_one_slow_node_of_three_or_more_is_named_and_it_alone(count, share, full, data):
    bad = data.draw(st.integers(0, count - 1))
    values = dict.fromkeys(names(count), full)
    values[f"n{bad:03}"] = full * share
    assert slow(values) == [f"n{bad:03}"]
    times = {node: 1 / value for node, value in values.items()}
    assert slow(times, "s") == [f"n{bad:03}"], "of times the longer one"


@given(st.lists(st.floats(0.96, 1.04), min_size=2, max_size=40))
def test_a_few_percent_name_nobody(shares):
    values = {node: 1e12 * share for node, share in zip(names(len(shares)), shares, strict=True)}
    middle = sorted(values.values())[len(values) // 2]
    assert all(values[node] < middle * (1 - BEHIND_SHARE / 2) for node in slow(values))
    even = dict.fromkeys(values, 1e12)
    assert slow(even) == []


@given(st.lists(st.floats(0.2, 1.0), min_size=ENOUGH, max_size=30), st.permutations(range(5)))
def test_names_of_the_slow_do_not_hang_on_order_or_scale(shares, order):
    values = {node: 1e12 * share for node, share in zip(names(len(shares)), shares, strict=True)}
    listed = list(values.items())
    turned = dict([listed[place] for place in order] + listed[5:])
    assert sorted(slow(turned)) == sorted(slow(values))
    assert sorted(slow({node: value * 1024 for node, value in values.items()})) == sorted(slow(values))


@pytest.mark.parametrize("value", [0.0, -0.0])
def test_nothing_at_all_is_held_against_nothing(value):
    assert slow(dict.fromkeys(names(4), value)) == []


def test_the_slowest_come_first():
    values = dict.fromkeys(names(20), 100.0) | {"a": 60.0, "b": 20.0, "c": 80.0}
    assert slow(values) == ["b", "a", "c"]


# names of hosts


@given(st.text(max_size=40))
@example("n[1-1]]")
@example("[1-3]")
@example("a[1-200]b[1-200]")
def test_any_text_is_names_that_a_shell_leaves_alone_or_a_clear_no(text):
    try:
        found = expand(text)
    except RigError as error:
        assert len(str(error)) < 400  # noqa: PT017 - both outcomes are right
        return
    assert len(set(found)) == len(found)
    for name in found:
        assert name[0] not in "-."
        assert not set(name) & set(" \t\n;|&$`'\"\\<>()*?#~")


@given(
    st.from_regex(r"[a-z][a-z0-9-]{0,6}", fullmatch=True),
    st.integers(0, 900),
    st.integers(0, 60),
    st.integers(1, 4),
)
def test_a_range_is_its_numbers_with_their_zeros(start, first, more, zeros):
    low, high = f"{first:0{zeros}}", f"{first + more:0{zeros}}"
    found = expand(f"{start}[{low}-{high}]")
    assert [name.removeprefix(start) for name in found] == [
        str(number).zfill(zeros) for number in range(first, first + more + 1)
    ]


def test_a_file_without_end_is_not_read(tmp_path):
    file = tmp_path / "hosts"
    file.write_bytes(b"n1\n" * 2_000_000)
    with pytest.raises(RigError):
        read_hosts(file)


@given(st.text(min_size=1, max_size=300))
def test_a_node_is_kept_in_a_file_below_the_folder(node):
    name = file_of(node)
    assert "/" not in name
    assert "\x00" not in name
    assert len(name) <= 205
    assert name.endswith(".json")


# the page of many


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Saved answers of many: six with another kernel, one with a card less, two that cannot be read."""
    folder = tmp_path_factory.mktemp("answers")
    for number in range(MANY):
        one = machine()
        if number in {5, 6, 7, 8, 9, 30}:
            one = CHANGES["kernel"](one)
        if number == 57:
            one = CHANGES["cards"](one)
        text = json.dumps(plain(replace(one, system=replace(one.system, host=f"n{number:03}"))))
        (folder / f"n{number:03}.json").write_text(text if number not in {40, 41} else text[:-9])
    return folder


MANY = 64


def test_many_nodes_fit_on_a_screen_and_all_of_them_are_in_the_json(many, monkeypatch, capsys):
    keep(monkeypatch, {}, of={"fleet"})
    for language, width in (("en", "60"), ("zh", "120")):
        words = ["fleet", "probe", "--from", str(many), "--lang", language, "--width", width]
        assert main(words) == 20
        page = capsys.readouterr().out
        assert len(page.splitlines()) < 45
        whole = "".join(page.split())
        for said in ("n[005-009,030]", "n057", "n[040-041]", "6.8.0"):
            assert said in whole, (said, language)
    main(["fleet", "probe", "--from", str(many), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert len(told["nodes"]) == MANY
    (kernel,) = [one for one in told["differs"] if one["trait"] == str(NAMES["kernel"])]
    assert (kernel["usual"], kernel["n_usual"]) == ("6.8.0", MANY - 6 - 2)
