"""The odd ones out and the slow ones, among nodes of a kind."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rigright.machine.bench.record import Result
from rigright.machine.device import Device, Ecc
from rigright.machine.host import Memory, Port
from rigright.machine.record import Machine
from rigright.machine.system import Software, System
from rigright.machine.traits import TRAITS
from rigright.verbs.fleet.compare import differences, kinds, spread_of
from rigright.verbs.fleet.nodes import NodeReport

H100 = "NVIDIA H100 80GB HBM3"
GIB = 2**30


def machine(cards=8, name=H100, driver="550.54.15", kernel="6.8.0-40", **changes):
    devices = tuple(
        Device(index=index, vendor="nvidia", name=name, vbios="96.00.89", ecc=Ecc(on=True))
        for index in range(cards)
    )
    return replace(
        Machine(
            devices=devices,
            software=Software(driver=driver),
            system=System(kernel=kernel),
            memory=Memory(total_bytes=2015.3 * GIB),
        ),
        **changes,
    )


KEYS = {one.name: one.key for one in TRAITS}


def told(found):
    """Differences as (key of the trait, usual, {value: nodes})."""
    return [(KEYS[one.trait], one.usual, dict(one.others)) for one in found]


def fleet_of(count, **odd):
    """So many like nodes, and those named."""
    return {f"n{number:02}": machine() for number in range(1, count + 1)} | odd


def test_a_missing_card_stands_out():
    assert told(differences(fleet_of(4, n05=machine(cards=7)))) == [
        ("cards", f"8x {H100}", {f"7x {H100}": ("n05",)})
    ]


def test_a_lost_card_without_a_name_is_of_the_kind_of_the_others():
    lost = machine(cards=7)
    lost = replace(lost, devices=(*lost.devices, Device(index=7, vendor="nvidia", state="lost")))
    assert told(differences(fleet_of(4, n05=lost))) == [
        ("cards", f"8x {H100}", {f"7x {H100}, 1x nvidia": ("n05",)})
    ]


def test_a_node_that_lost_all_cards_is_held_against_the_others():
    found = told(differences(fleet_of(8, n09=machine(cards=0))))
    assert found[0] == ("cards", f"8x {H100}", {"0x": ("n09",)})


def test_nodes_without_cards_are_a_kind_of_their_own_where_there_are_many():
    bare = {f"cpu{number}": machine(cards=0, kernel="5.15") for number in range(4)}
    assert differences(fleet_of(4, **bare)) == ()
    assert set(kinds(fleet_of(4, **bare)).values()) == {H100, ""}


def test_other_cards_are_not_held_against_these():
    others = {f"b{number}": machine(name="NVIDIA B200", driver="570.1") for number in range(3)}
    assert differences(fleet_of(3, **others)) == ()


def test_memory_that_firmware_rounds_is_the_same_and_a_lost_module_is_not():
    near = machine(memory=Memory(total_bytes=2015.9 * GIB))
    less = machine(memory=Memory(total_bytes=1951 * GIB))
    found = told(differences(fleet_of(4, n05=near, n06=less)))
    assert [(trait, list(others.values())) for trait, _, others in found] == [("memory", [("n06",)])]


def test_one_slow_port_of_the_network_stands_out():
    port = Port(name="mlx5_0/1", kind="infiniband", state="up", bytes_per_s=400e9 / 8, firmware="28.39")
    good, slow = (port,) * 2, (port, replace(port, bytes_per_s=200e9 / 8))
    down = (port, replace(port, state="down"))
    nodes = {f"n{number}": machine(ports=good) for number in range(4)}
    found = told(differences(nodes | {"slow": machine(ports=slow), "down": machine(ports=down)}))
    assert found == [
        (
            "ports",
            "2x infiniband 400 Gbit/s",
            {
                "1x infiniband 200 Gbit/s, 1x infiniband 400 Gbit/s": ("slow",),
                "infiniband 400 Gbit/s": ("down",),
            },
        )
    ]


def test_every_trait_reads_an_empty_machine():
    read = {trait.key: trait.read(Machine()) for trait in TRAITS}
    assert {name: value for name, value in read.items() if value is not None} == {"cards": "0x"}
    assert len(read) == len(TRAITS), "two traits bear one key"


def figure(value, on="gpu 0", what="bf16 8192x8192x8192", part="gemm", unit="flops_per_s"):
    return Result(part=part, what=what, on=on, value=value, unit=unit, low=value, high=value, repeats=5)


def benched(**values):
    """Nodes with one figure each, or one a card."""
    return [
        NodeReport(
            node=node,
            machine=machine(),
            results=tuple(
                figure(value, on=f"gpu {card}")
                for card, value in enumerate(value if isinstance(value, list) else [value])
            ),
        )
        for node, value in values.items()
    ]


def slow(nodes, kind=None):
    return [(one.node, one.on) for one in spread_of(nodes, kind or {})[1]]


def test_the_slow_node_is_named_with_its_slow_card():
    nodes = benched(a=[700e12, 702e12], b=[701e12, 699e12], c=[703e12, 250e12], d=[700e12, 700e12])
    (spread,), (straggler,) = spread_of(nodes, {})
    assert (straggler.node, straggler.on, straggler.value) == ("c", "gpu 1", 250e12)
    assert (spread.n_nodes, spread.low, spread.high) == (4, 250e12, 700e12)
    assert 0.6 < straggler.behind_share < 0.65


def test_less_than_a_twentieth_is_no_matter():
    assert slow(benched(a=100.0, b=99.0, c=96.0)) == []
    assert slow(benched(a=100.0, b=100.0, c=94.0)) == [("c", "gpu 0")]


def test_a_wide_spread_names_nobody_and_a_narrow_one_does():
    wide = benched(a=60.0, b=80.0, c=100.0, d=120.0, e=140.0, f=90.0, g=110.0)
    narrow = benched(a=99.0, b=100.0, c=101.0, d=100.5, e=99.5, f=100.0, g=90.0)
    assert slow(wide) == []
    assert slow(narrow) == [("g", "gpu 0")]


def test_cards_of_another_kind_are_not_slow():
    nodes = benched(a=700.0, b=700.0, c=300.0, d=300.0)
    kind = {"a": "H100", "b": "H100", "c": "A100", "d": "A100"}
    assert slow(nodes, kind) == []
    assert len(spread_of(nodes, kind)[0]) == 2


def test_one_node_alone_is_held_against_nobody():
    assert spread_of(benched(a=100.0), {}) == ((), ())


def test_chance_alone_seldom_names_a_node():
    chance = random.Random(7)  # noqa: S311 - noise of a measurement
    named = 0
    for _ in range(100):
        values = {f"n{number}": chance.gauss(100.0, 1.0) for number in range(16)}
        named += len(slow(benched(**values)))
    assert named <= 1


@given(st.lists(st.floats(1.0, 1e15), min_size=2, max_size=12))
def test_who_is_named_is_behind_the_median(values):
    nodes = benched(**{f"n{number}": value for number, value in enumerate(values)})
    (spread,), found = spread_of(nodes, {})
    assert spread.low <= spread.median <= spread.high
    assert all(one.value < spread.median * 0.95 * (1 + 1e-9) for one in found)
