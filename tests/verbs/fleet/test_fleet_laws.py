"""Laws of fleets: who is odd, who is slow, and names of hosts, whatever the order, the size and the gaps."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kept_answers import keep
from rigright.base.errors import AskError, RigError
from rigright.faces.cli.main import main
from rigright.machine.bench.record import Result
from rigright.machine.device import Device, Ecc, PcieLink
from rigright.machine.host import Cpu, Memory
from rigright.machine.record import Machine
from rigright.machine.stored import plain
from rigright.machine.system import Software, System
from rigright.machine.traits import TRAITS
from rigright.verbs.fleet.hosts import expand, read_hosts
from rigright.verbs.fleet.node_names import file_of, folded
from rigright.verbs.fleet.nodes import NodeTold
from rigright.verbs.fleet.odd import differences, kinds
from rigright.verbs.fleet.stragglers import BEHIND_SHARE, ENOUGH, spread_of

GIB = 2**30
CHANGES = {  # one trait other than the others have it -> how a machine gets it
    "driver": lambda m: replace(m, software=replace(m.software, driver="535.1")),
    "kernel": lambda m: replace(m, system=replace(m.system, kernel="5.15")),
    "system memory": lambda m: replace(m, memory=Memory(total_bytes=960 * GIB)),
    "CPU": lambda m: replace(m, cpu=replace(m.cpu, name="AMD EPYC 9354")),
    "ECC": lambda m: of_cards(m, ecc=Ecc(on=False)),
    "GPU PCIe link": lambda m: of_cards(m, pcie=PcieLink(gen_max=4, lanes_max=16)),
    "cards": lambda m: replace(m, devices=m.devices[:-1]),
    "persistence": lambda m: of_cards(m, persistence=False),
    "swappiness": lambda m: replace(m, system=replace(m.system, settings=(("vm.swappiness", "60"),))),
}


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
            str(one.trait),
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
    found = [one for one in differences(fleet) if str(one.trait) == trait]
    assert len(found) == 1
    ((_, nodes),) = found[0].others
    assert nodes == (f"n{bad:03}",)
    assert found[0].n_usual == count - 1
    assert {str(one.trait) for one in differences(fleet)} == {trait}


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


def test_every_trait_has_a_word_of_its_own_in_both_languages():
    from rigright.base.words import CHINESE, sentences

    said = [str(trait.name) for trait in TRAITS]
    assert len(set(said)) == len(said)
    assert set(CHANGES) <= set(said)
    assert set(said) <= set(sentences(CHINESE))


# the slow ones


def measured(values, unit="flops_per_s"):
    return [
        NodeTold(
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
@example("n[1-2")
@example("n[2-1]")
@example("n[1-1]]")
@example("[1-3]")
@example("n[1-99999999]")
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
    assert expand(folded(found)) == found or set(expand(folded(found))) == set(found)


@given(st.binary(max_size=200).filter(lambda raw: raw.strip()))
def test_any_file_names_hosts_or_tells_its_line(tmp_path_factory, raw):
    file = tmp_path_factory.mktemp("h") / "hosts"
    file.write_bytes(raw)
    try:
        assert all(name[0] != "-" for name in read_hosts(file))
    except RigError as error:
        assert "hosts" in str(error) or "host" in str(error)  # noqa: PT017 - both outcomes are right


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


def test_too_many_hosts_are_refused_before_they_are_counted():
    for words in (
        "n[0-999999999]",
        "a[1-9999]b[1-9999]",
        ",".join(f"x{number}[1-9999]" for number in range(9)),
    ):
        with pytest.raises(AskError):
            expand(words)


# the page of many


@pytest.fixture(scope="module")
def five_hundred(tmp_path_factory):
    """Five hundred saved answers: six with another kernel, one with a card less, two that cannot be read."""
    folder = tmp_path_factory.mktemp("answers")
    for number in range(500):
        one = machine()
        if number in {5, 6, 7, 8, 9, 250}:
            one = CHANGES["kernel"](one)
        if number == 77:
            one = CHANGES["cards"](one)
        text = json.dumps(plain(replace(one, system=replace(one.system, host=f"n{number:03}"))))
        (folder / f"n{number:03}.json").write_text(text if number not in {400, 401} else text[:-9])
    return folder


@pytest.fixture(scope="module")
def compared():
    """The five hundred, compared once."""
    return {}


@pytest.mark.parametrize(("language", "width"), [("en", "60"), ("zh", "120")])
def test_five_hundred_nodes_fit_on_a_screen(five_hundred, compared, monkeypatch, capsys, language, width):
    keep(monkeypatch, compared, of={"fleet"})
    code = main(["fleet", "probe", "--from", str(five_hundred), "--lang", language, "--width", width])
    page = capsys.readouterr().out
    assert code == 20
    assert len(page.splitlines()) < 45
    whole = "".join(page.split())
    assert "n[005-009,250]" in whole
    assert "n077" in whole
    assert "n[400-401]" in whole
    assert "6.8.0" in page


def test_the_same_as_json_holds_every_node(five_hundred, compared, monkeypatch, capsys):
    keep(monkeypatch, compared, of={"fleet"})
    main(["fleet", "probe", "--from", str(five_hundred), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert len(told["nodes"]) == 500
    (kernel,) = [one for one in told["differs"] if one["trait"] == "kernel"]
    assert kernel["usual"] == "6.8.0"
