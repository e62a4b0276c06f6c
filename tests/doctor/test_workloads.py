"""Workloads as they are described where people ask why a card is not used: each told by its bottleneck.

A minute or more of each, with the noise that meters have, kept in a history and read from it. The share
that is asked for is the part of the time that was planted.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import settings

from rigright.base.units import GIB, GIGA, MEGA
from rigright.doctor.binding.judge import judge
from rigright.doctor.examine import case_of
from rigright.machine.device import Program
from rigright.machine.history.store import open_history
from rigright.machine.host import Port
from rigright.machine.record import Machine
from rigright.machine.tick import DeviceTick, HostTick, Tick

PORT = Port(name="eth0", kind="ethernet", state="up", bytes_per_s=12.5 * GIGA)
CASE = case_of(Machine(ports=(PORT,)))
SEEDS = range(settings.default.max_examples // 15)  # of the noise
LIMIT_W, LINE = 700.0, 31.5 * GIGA  # PCIe 4.0 x16, one way
TICKS = 90


@dataclass(frozen=True)
class Phase:
    """What the meters show while one thing goes on; shares of the most each can do."""

    busy: float = 0.98
    memory: float = 0.35
    draw: float = 0.85
    pcie: float = 0.03
    held: tuple[str, ...] = ()
    cores: float = 0.15
    one_core: float = 0.5
    disk: float = 0.03
    stalled: float = 0.0
    net: float = 0.01
    others: dict[int, dict] = field(default_factory=dict)  # card -> what is otherwise on it
    cards: int = 1


WORKS = Phase()
DECODES = Phase(memory=0.88, draw=0.5)
WAITS = Phase(busy=0.06, memory=0.02, draw=0.18)
FEEDS_ON_DISK = Phase(busy=0.1, memory=0.03, draw=0.2, disk=0.97, stalled=0.4)
TOKENISES = Phase(busy=0.08, memory=0.02, draw=0.18, cores=0.95, one_core=1.0)
LOADS_ALONE = Phase(busy=0.12, memory=0.04, draw=0.22, cores=0.06, one_core=0.99)
OFFLOADS = Phase(busy=0.2, memory=0.08, draw=0.28, pcie=0.8, cores=0.3, one_core=0.7)
REDUCES = Phase(busy=1.0, memory=0.12, draw=0.31, net=0.9, cards=8)
SPINS = {"draw": 0.42, "memory": 0.1, "busy": 1.0}
TINY = Phase(busy=0.93, memory=0.06, draw=0.24, one_core=0.97, cores=0.06)
CAPPED = Phase(draw=0.99, held=("sw_power_cap",))
HOT = Phase(draw=0.6, held=("sw_thermal", "hw_thermal"))
ONE_BEHIND = Phase(
    cards=8, one_core=0.99, cores=0.1, **SPINS, others={3: {"busy": 0.45, "draw": 0.5, "memory": 0.15}}
)
ONE_HOT = Phase(cards=8, **{**SPINS, "draw": 0.55}, others={5: {"draw": 0.5, "held": ("hw_thermal",)}})

STORIES = {  # name -> phases with their shares of the time, the cause, its share
    "one process loads all data": ([(LOADS_ALONE, 1.0)], "one_thread", (0.8, 0.95)),
    "files are read too slowly": ([(FEEDS_ON_DISK, 0.8), (WORKS, 0.2)], "disk", (0.65, 0.8)),
    "tokenising fills all cores": ([(TOKENISES, 0.9), (WORKS, 0.1)], "cores", (0.75, 0.9)),
    "batches of one": ([(TINY, 1.0)], "small_kernels", (0.85, 1.0)),
    "weights come over PCIe": ([(OFFLOADS, 0.85), (WORKS, 0.15)], "pcie", (0.65, 0.87)),
    "decoding": ([(DECODES, 0.9), (WORKS, 0.1)], "gpu_memory", (0.8, 0.95)),
    "long prompts": ([(WORKS, 0.95), (DECODES, 0.05)], "compute", (0.85, 1.0)),
    "a limit on power": ([(CAPPED, 0.9), (WORKS, 0.1)], "power", (0.8, 0.95)),
    "a room too warm": ([(HOT, 0.7), (WORKS, 0.3)], "cooling", (0.6, 0.75)),
    "gradients over Ethernet": ([(REDUCES, 0.65), (Phase(cards=8), 0.35)], "network", (0.5, 0.7)),
    "checkpoints to a slow disk": (
        [(Phase(busy=0.02, draw=0.15, memory=0.0, disk=1.0, stalled=0.6), 0.55), (WORKS, 0.45)],
        "disk",
        (0.45, 0.6),
    ),
    "one rank loads more slowly": ([(ONE_BEHIND, 1.0)], "one_thread", (0.4, 0.65)),
    "one card of eight is hot": ([(ONE_HOT, 0.9), (Phase(cards=8), 0.1)], "cooling", (0.75, 0.95)),
    "nothing is full": ([(WAITS, 1.0)], "program", (0.85, 1.0)),
}


def device(index, phase, noise):
    told = {name: getattr(phase, name) for name in ("busy", "memory", "draw", "pcie", "held")}
    told |= phase.others.get(index, {})
    name = "python" if told["busy"] else ""
    return DeviceTick(
        index=index,
        busy_share=noise(told["busy"]),
        mem_busy_share=noise(told["memory"]),
        power_w=noise(told["draw"], most=1.02) * LIMIT_W,
        power_limit_w=LIMIT_W,
        gpu_c=85.0 if told["held"] and "power" not in told["held"][0] else 62.0,
        slowed_by=told["held"],
        pcie_gen=4,
        pcie_lanes=16,
        pcie_rx_bytes_per_s=noise(told["pcie"]) * LINE,
        pcie_tx_bytes_per_s=0.1 * GIGA,
        mem_used_bytes=40.0 * GIB,
        mem_total_bytes=80.0 * GIB,
        programs=(Program(pid=100 + index, name=name, kind="compute", mem_bytes=9.0 * GIB),) if name else (),
    )


def around(phase, noise):
    return HostTick(
        cpu_share=noise(phase.cores),
        busiest_core_share=noise(phase.one_core, wide=0.01),
        disk_busy_share=noise(phase.disk),
        disk_read_bytes_per_s=phase.disk * 500 * MEGA,
        disk_write_bytes_per_s=0.0,
        net_rx_bytes_per_s=noise(phase.net) * 12.5 * GIGA,
        net_tx_bytes_per_s=noise(phase.net) * 12.5 * GIGA,
        swap_bytes_per_s=0.0,
        mem_pressure=0.0,
        io_pressure=noise(phase.stalled),
        cpu_pressure=0.0,
    )


def minute(phases, seed, *, count=TICKS):
    """Moments of these phases, which follow each other in short turns as in a run."""
    draws = random.Random(seed)  # noqa: S311 - noise, no secret

    def noise(value, *, most=1.0, wide=0.03):
        return min(most, max(0.0, value + draws.gauss(0, wide) * (value > 0)))

    turns = [phase for phase, share in phases for _ in range(round(share * count))]
    draws.shuffle(turns)
    for at, phase in enumerate(turns):
        devices = tuple(device(index, phase, noise) for index in range(phase.cards))
        yield Tick(at_s=1.79e9 + at, clock_s=float(at), devices=devices, host=around(phase, noise))


def kept(ticks, folder):
    """The same as a history holds it: to the steps of its columns."""
    with open_history(folder / "h.db") as history:
        for tick in ticks:
            history.add_tick(tick)
        return tuple(history.ticks())


def shares(diagnosis):
    return {bound.cause.name: bound.share for bound in diagnosis.bounds}


@pytest.mark.parametrize("story", STORIES)
def test_the_first_cause_named_is_the_planted_one_with_its_share(story, tmp_path):
    phases, cause, (low, high) = STORIES[story]
    for seed in SEEDS:
        diagnosis = judge(kept(minute(phases, seed), tmp_path / str(seed)), CASE)
        found = shares(diagnosis)
        assert diagnosis.bounds[0].cause.name == cause, (seed, found)
        assert low <= found[cause] <= high, (seed, found)
        assert sum(found.values()) == pytest.approx(1.0, abs=0.1)


def test_a_machine_at_rest_is_told_to_rest(tmp_path):
    rests = Phase(busy=0.0, memory=0.0, draw=0.1, cores=0.02, one_core=0.1)
    diagnosis = judge(kept(minute([(rests, 1.0)], 1), tmp_path), CASE)
    assert (diagnosis.bounds, diagnosis.moments, diagnosis.idle) == ((), 0, TICKS)


MIXED = [
    ((FEEDS_ON_DISK, 0.5), (CAPPED, 0.5), "disk", "power"),
    ((LOADS_ALONE, 0.6), (DECODES, 0.4), "one_thread", "gpu_memory"),
    ((REDUCES, 0.5), (TINY, 0.5), "network", "small_kernels"),
    ((OFFLOADS, 0.6), (HOT, 0.4), "pcie", "cooling"),
    ((TOKENISES, 0.5), (WORKS, 0.5), "cores", "compute"),
]


@pytest.mark.parametrize(("first", "second", "one", "two"), MIXED)
def test_of_two_mixed_causes_both_are_named(first, second, one, two, tmp_path):
    found = shares(judge(kept(minute([first, second], 4), tmp_path), CASE))
    assert found[one] == pytest.approx(first[1], abs=0.2)
    assert found[two] == pytest.approx(second[1], abs=0.2)
    assert set(list(found)[:2]) == {one, two}


def test_the_card_that_the_others_wait_for_is_named():
    notes = judge(tuple(minute([(ONE_BEHIND, 1.0)], 2)), CASE).notes
    assert any("GPU 3" in str(note) for note in notes)


def test_jobs_side_by_side_do_not_wait_for_each_other():
    """Eight people, eight programs: one of them at half speed holds nobody."""
    told = tuple(minute([(ONE_BEHIND, 1.0)], 2))
    apart = tuple(
        Tick(at_s=tick.at_s, clock_s=tick.clock_s, host=tick.host, devices=tuple(map(own, tick.devices)))
        for tick in told
    )
    diagnosis = judge(apart, CASE)
    assert diagnosis.notes == ()
    assert shares(diagnosis).get("one_thread", 0.0) < 0.15


def own(card):
    return replace(card, programs=(replace(card.programs[0], name=f"job{card.index}"),))


def test_a_full_link_beside_cards_at_full_power_hides_behind_their_work():
    """Gradients that are exchanged while the next layer computes cost nothing."""
    both = Phase(cards=8, draw=0.9, net=0.9)
    found = shares(judge(tuple(minute([(both, 1.0)], 3)), CASE))
    assert list(found) == ["compute"]


def test_decoding_beside_a_full_link_is_bound_by_memory():
    found = shares(judge(tuple(minute([(Phase(memory=0.9, draw=0.5, net=0.9), 1.0)], 3)), CASE))
    assert next(iter(found)) == "gpu_memory"
