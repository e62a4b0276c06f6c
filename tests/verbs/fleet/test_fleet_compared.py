"""The odd ones out and the slow ones, among nodes of a kind: whatever the order, the size and the gaps."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.machine.bench.record import Result
from rigright.machine.device import Device, Ecc, PcieLink
from rigright.machine.host import Cpu, Memory, Port
from rigright.machine.record import Machine
from rigright.machine.system import Software, System
from rigright.machine.traits import TRAITS
from rigright.verbs.fleet.nodes import ENOUGH, NodeReport, differences, kinds, spread_of

H100 = "NVIDIA H100 80GB HBM3"
GIB = 2**30
KEYS = {trait.name: trait.key for trait in TRAITS}
CARD = Device(
    index=0, vendor="nvidia", name=H100, ecc=Ecc(on=True), persistence=True,
    pcie=PcieLink(gen_max=5, lanes_max=16), mem_total_bytes=80 * GIB,
)  # fmt: skip
MACHINE = Machine(
    devices=tuple(replace(CARD, index=index) for index in range(4)),
    software=Software(driver="580.95.05"),
    system=System(kernel="6.8.0", os_name="Ubuntu 24.04", settings=(("vm.swappiness", "10"),)),
    memory=Memory(total_bytes=2015.3 * GIB),
    cpu=Cpu(name="Intel Xeon Platinum 8480C", threads=224),
)


def with_card(**changes):
    """The machine, one card of which is other."""
    first, *others = MACHINE.devices
    return replace(MACHINE, devices=(replace(first, **changes), *others))


CHANGES = {  # key of a trait -> the machine with another value of it, and of nothing else
    "driver": replace(MACHINE, software=Software(driver="535.1")),
    "kernel": replace(MACHINE, system=replace(MACHINE.system, kernel="5.15")),
    "memory": replace(MACHINE, memory=Memory(total_bytes=960 * GIB)),
    "processor": replace(MACHINE, cpu=replace(MACHINE.cpu, name="AMD EPYC 9354")),
    "ecc": with_card(ecc=Ecc(on=False)),
    "gpu_link": with_card(pcie=PcieLink(gen_max=4, lanes_max=16)),
    "cards": replace(MACHINE, devices=MACHINE.devices[:-1]),
    "persistence": with_card(persistence=False),
    "swappiness": replace(MACHINE, system=replace(MACHINE.system, settings=(("vm.swappiness", "60"),))),
}
SILENT = {  # what a machine does not show -> the machine
    "driver": replace(MACHINE, software=Software()),
    "system": replace(MACHINE, system=System()),
    "memory": replace(MACHINE, memory=Memory()),
    "processor": replace(MACHINE, cpu=Cpu()),
    "all of the cards but their names": replace(
        MACHINE, devices=tuple(Device(index=n, vendor="nvidia", name=H100) for n in range(4))
    ),
}


def names(count):
    return [f"n{number:03}" for number in range(count)]


def like(count, **others):
    """So many like nodes, and those named."""
    return dict.fromkeys(names(count), MACHINE) | others


def odd(machines):
    """Differences as (key of the trait, usual, how many, {value: nodes})."""
    return [
        (KEYS[differs.trait], differs.usual, differs.n_usual, dict(differs.others))
        for differs in differences(machines)
    ]


# the odd ones out


@pytest.mark.parametrize("count", [1, 2, 3, 8, 100])
def test_like_nodes_are_silent(count):
    assert differences(like(count)) == ()


@pytest.mark.parametrize("key", CHANGES)
@given(count=st.integers(3, 40), data=st.data())
def test_one_bad_node_of_three_or_more_is_found_and_it_alone(key, count, data):
    bad = data.draw(st.sampled_from(names(count)))
    ((found, _, n_usual, others),) = odd(like(count, **{bad: CHANGES[key]}))
    assert (found, n_usual, [*others.values()]) == (key, count - 1, [(bad,)])


@given(st.integers(1, 20), st.sampled_from(sorted(CHANGES)))
def test_of_two_halves_neither_is_usual(half, key):
    others = dict.fromkeys(names(2 * half)[half:], CHANGES[key])
    ((_, usual, n_usual, groups),) = odd(like(half, **others))
    assert (usual, n_usual, [len(nodes) for nodes in groups.values()]) == (None, 0, [half, half])


@given(
    st.permutations(range(9)), st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=4, unique=True)
)
def test_the_order_of_nodes_is_no_matter(order, keys):
    fleet = like(9, **{f"n{place:03}": CHANGES[key] for place, key in enumerate(keys)})
    nodes = list(fleet.items())

    def as_sets(machines):
        return {
            (key, usual, count, frozenset((value, frozenset(nodes)) for value, nodes in others.items()))
            for key, usual, count, others in odd(machines)
        }

    assert as_sets(dict(nodes[place] for place in order)) == as_sets(fleet)


@pytest.mark.parametrize("what", SILENT)
@given(st.integers(1, 8), st.integers(1, 8))
def test_what_is_not_observed_is_never_odd(what, full, gaps):
    assert differences(like(full, **{f"x{number}": SILENT[what] for number in range(gaps)})) == ()


PORT = Port(name="mlx5_0/1", kind="infiniband", state="up", bytes_per_s=400e9 / 8, firmware="28.39")
SLOW, DOWN = replace(PORT, bytes_per_s=200e9 / 8), replace(PORT, state="down")
LOST = replace(
    CHANGES["cards"], devices=(*MACHINE.devices[:3], Device(index=3, vendor="nvidia", state="lost"))
)
NEAR, LESS = (replace(MACHINE, memory=Memory(total_bytes=size * GIB)) for size in (2015.9, 1951))
B200 = replace(CHANGES["driver"], devices=(replace(CARD, name="NVIDIA B200"),))
NO_DRIVER = SILENT["driver"]


@pytest.mark.parametrize(
    ("machines", "expected"),
    [
        (like(4, bad=CHANGES["cards"]), [("cards", f"4x {H100}", 4, {f"3x {H100}": ("bad",)})]),
        (like(4, bad=LOST), [("cards", f"4x {H100}", 4, {f"3x {H100}, 1x nvidia": ("bad",)})]),
        (
            like(3, x1=NO_DRIVER, x2=NO_DRIVER, bad=CHANGES["driver"]),
            [("driver", "580.95.05", 3, {"535.1": ("bad",)})],
        ),
        # firmware rounds the first, the second lost a module
        (like(4, near=NEAR, bad=LESS), [("memory", "2016 GiB", 5, {"1952 GiB": ("bad",)})]),
        (
            {name: replace(MACHINE, ports=(PORT, PORT)) for name in names(4)}
            | {"slow": replace(MACHINE, ports=(PORT, SLOW)), "down": replace(MACHINE, ports=(PORT, DOWN))},
            [
                (
                    "ports",
                    "2x infiniband 400 Gbit/s",
                    4,
                    {
                        "1x infiniband 200 Gbit/s, 1x infiniband 400 Gbit/s": ("slow",),
                        "infiniband 400 Gbit/s": ("down",),
                    },
                )
            ],
        ),
        (like(3, b1=B200, b2=B200), []),  # a kind of their own
    ],
)  # fmt: skip
def test_what_is_odd_is_named_beside_what_is_usual(machines, expected):
    assert odd(machines) == expected


@given(st.integers(1, 30), st.integers(0, 30))
def test_few_nodes_without_cards_have_lost_them_and_many_are_a_kind(cards, bare):
    fleet = like(cards, **{f"b{number}": replace(MACHINE, devices=()) for number in range(bare)})
    kind = kinds(fleet)
    assert set(kind) == set(fleet)
    if bare <= max(1, (cards + bare) / 4):
        assert set(kind.values()) == {H100}
        assert not bare or odd(fleet)[0][0] == "cards"
    else:
        assert Counter(kind.values()) == {H100: cards, "": bare}
        assert differences(fleet) == ()


def test_every_trait_has_a_key_and_a_word_of_its_own_and_reads_an_empty_machine():
    assert len(KEYS) == len(set(KEYS.values())) == len(TRAITS)
    values = {trait.key: trait.read(Machine()) for trait in TRAITS}
    assert {key: value for key, value in values.items() if value is not None} == {"cards": "0x"}


# the slow ones


def benched(unit="flops_per_s", **values):
    """Nodes with a figure each, or one a card."""
    return [
        NodeReport(
            node=node,
            machine=MACHINE,
            results=tuple(
                Result(
                    part="gemm", what="bf16", on=f"gpu {card}", unit=unit, value=value, low=value, high=value,
                    repeats=5,
                )
                for card, value in enumerate(value if isinstance(value, list) else [value])
            ),
        )
        for node, value in values.items()
    ]  # fmt: skip


def slow(kind=None, **values):
    return [straggler.node for straggler in spread_of(benched(**values), kind or {})[1]]


def test_the_slow_node_is_named_with_its_slow_card():
    nodes = benched(a=[700e12, 702e12], b=[701e12, 699e12], c=[703e12, 250e12], d=[700e12, 700e12])
    (spread,), (straggler,) = spread_of(nodes, {})
    assert (straggler.node, straggler.on, straggler.value) == ("c", "gpu 1", 250e12)
    assert (spread.n_nodes, spread.low, spread.high) == (4, 250e12, 700e12)
    assert 0.6 < straggler.behind_share < 0.65


@given(st.integers(3, 64), st.floats(0.1, 0.85), st.floats(1e-6, 1e15), st.data())
def test_one_slow_node_of_three_or_more_is_named_and_it_alone(count, share, full, data):
    bad = data.draw(st.sampled_from(names(count)))
    values = dict.fromkeys(names(count), full) | {bad: full * share}
    assert slow(**values) == [bad]
    times = {node: 1 / value for node, value in values.items()}
    assert slow(unit="s", **times) == [bad], "of times the longer one"


@given(st.lists(st.floats(1.0, 1e15), min_size=2, max_size=12))
def test_who_is_named_is_behind_the_median(values):
    (spread,), stragglers = spread_of(benched(**dict(zip(names(12), values, strict=False))), {})
    assert spread.low <= spread.median <= spread.high
    assert all(straggler.value < spread.median * 0.95 * (1 + 1e-9) for straggler in stragglers)


@given(st.lists(st.floats(0.2, 1.0), min_size=ENOUGH, max_size=30), st.permutations(range(5)))
def test_names_of_the_slow_do_not_hang_on_order_or_scale(shares, order):
    values = {node: 1e12 * share for node, share in zip(names(len(shares)), shares, strict=True)}
    nodes = list(values.items())
    turned = dict([nodes[place] for place in order] + nodes[5:])
    assert sorted(slow(**turned)) == sorted(slow(**values))
    assert sorted(slow(**{node: value * 1024 for node, value in values.items()})) == sorted(slow(**values))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"a": 100.0}, []),  # alone
        (dict.fromkeys("abcd", 0.0), []),
        (dict.fromkeys("abcd", -0.0), []),
        ({"a": 100.0, "b": 99.0, "c": 96.0}, []),  # less than a twentieth
        ({"a": 100.0, "b": 100.0, "c": 94.0}, ["c"]),
        ({"a": 60.0, "b": 80.0, "c": 100.0, "d": 120.0, "e": 140.0, "f": 90.0, "g": 110.0}, []),  # wide
        ({"a": 99.0, "b": 100.0, "c": 101.0, "d": 100.5, "e": 99.5, "f": 100.0, "g": 90.0}, ["g"]),
        (dict.fromkeys(names(20), 100.0) | {"a": 60.0, "b": 20.0, "c": 80.0}, ["b", "a", "c"]),  # worst first
    ],
)  # fmt: skip
def test_a_wide_spread_names_nobody_and_a_narrow_one_does(values, named):
    assert slow(**values) == named


def test_cards_of_another_kind_are_not_slow():
    kind = {"a": "H100", "b": "H100", "c": "A100", "d": "A100"}
    spreads, stragglers = spread_of(benched(a=700.0, b=700.0, c=300.0, d=300.0), kind)
    assert (len(spreads), stragglers) == (2, ())


def test_chance_alone_seldom_names_a_node():
    chance = random.Random(7)  # noqa: S311 - noise of a measurement
    draws = [{name: chance.gauss(100.0, 1.0) for name in names(16)} for _ in range(100)]
    assert sum(len(slow(**values)) for values in draws) <= 1
