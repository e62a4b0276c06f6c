"""What a played machine is, read as records: the figures of its scenario in SI units."""

from __future__ import annotations

import os
import re
from dataclasses import fields, is_dataclass
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scenes
from fake_driver import built, driver_env, driver_table
from rigright.base.tables import DATA, raw_rows
from rigright.facts.faults import slowdowns
from rigright.machine.device import Device, Slice
from rigright.machine.nvml import codes
from rigright.machine.nvml.links import links_of, paths_of
from rigright.machine.nvml.readings import Raw, is_gone, plans, readings
from rigright.machine.nvml.session import Session
from rigright.machine.nvml.shaping import device_of

GB = 10**9


@cache
def machine(scenario):
    with Session({**os.environ, **driver_env(scenario)}) as session:
        read = session.devices()
    return dict(read.fields), read.unseen


def devices(scenario):
    return machine(scenario)[0]["devices"]


def matrix(scenario):
    return {(path.a, path.b): path.kind for path in machine(scenario)[0]["paths"]}


def test_a_datacentre_card_to_its_last_field():
    card = devices("healthy_8xh100")[2]
    assert (card.name, card.isa, card.sms, card.cores, card.brand) == (
        *("NVIDIA H100 80GB HBM3", "9.0", 132, 16896, "NVIDIA"),
    )
    assert (card.pci, card.pci_id, card.board_id, card.numa_node) == (
        *("0000:4c:00.0", "10de:2330", "10de:16c1", 0),
    )
    assert (card.mem_total_bytes, card.mem_reserved_bytes) == (85520809984, 502595584)
    assert card.mem_free_bytes == card.mem_total_bytes - card.mem_used_bytes - card.mem_reserved_bytes
    assert (card.clocks.sm_hz, card.clocks.mem_max_hz, card.clocks.sm_app_hz) == (1.98e9, 2.619e9, 1.98e9)
    assert (card.power.limit_min_w, card.power.limit_max_w, card.power.limit_default_w) == (200, 700, 700)
    assert card.power.energy_j > 91_234_567
    assert (card.fabric.state, card.fabric.status, card.fabric.health) == ("completed", "success", "healthy")
    assert (card.ecc.on, card.ecc.corrected_aggregate, card.ecc.sram_over_threshold) == (True, 3, False)
    assert dict(card.retired.banks) == {"max": 2560, "high": 0, "partial": 0, "low": 0, "none": 0}
    assert card.retired.pages_single is None  # rows took the place of pages
    assert (card.recovery, card.slowed_by, card.persistence, card.mig) == ("none", (), True, False)
    assert (card.pcie.rx_bytes_per_s, card.pcie.tx_bytes_per_s) == (1.204 * GB, 0.804 * GB)


def test_no_field_of_a_device_is_forgotten():
    """Each field is read on one machine or another, or nobody would know that it is never filled in."""
    everything = [
        one
        for name in ("throttled", "healthy_2x4090", "mig", "gb10", "healthy_gh200")
        for one in devices(name)
    ]
    newest = devices_now({"like": "healthy_2x4090", "each": {"repair": {"channel": 0, "tpc": 0, "none": 0}}})
    empty = set(never_told([*everything, *newest], Device))
    older = {"retired.pages_single", "retired.pages_double", "retired.pages_pending"}  # before Ampere
    of_amd = {f"retired.pages_{name}" for name in ("bad", "waiting", "stuck", "most")} | {
        "ecc.deferred_volatile"
    }
    health_words = {f"fabric.{name}" for name in ("bandwidth", "route_broken", "recovering", "timed_out")}
    of_text = health_words | {"nics"}  # NVML names no network cards: the bus does, and `nvidia-smi topo -m`
    assert empty - of_amd - of_text == older, "those stand in the text of nvidia-smi alone"


def never_told(things, kind, before=""):
    for one in fields(kind):
        values = [getattr(thing, one.name) for thing in things]
        known = [value for value in values if value not in (None, ())]
        if not known:
            yield f"{before}{one.name}"
        elif is_dataclass(known[0]):
            yield from never_told(known, type(known[0]), f"{before}{one.name}.")


def test_limits_told_as_what_is_left_become_temperatures():
    for card in devices("healthy_8xh100"):
        assert (card.thermal.slowdown_c, card.thermal.shutdown_c, card.thermal.gpu_most_c) == (87, 93, 85)
    assert devices("a100_sxm4_4x")[0].thermal.slowdown_c == 89  # as the older driver says it


@pytest.mark.parametrize(
    ("scenario", "wanted"),
    [
        ("healthy_8xh100", {(a, b): "NV18" for a in range(8) for b in range(a + 1, 8)}),
        ("a100_sxm4_4x", {(a, b): "NV4" for a in range(4) for b in range(a + 1, 4)}),
        (
            "a100_pcie_pairs",
            {(0, 1): "NV12", (2, 3): "NV12", (0, 2): "SYS", (0, 3): "SYS", (1, 2): "SYS", (1, 3): "SYS"},
        ),
        (
            "healthy_4xl40s",
            {(0, 1): "PIX", (2, 3): "PIX", (0, 2): "SYS", (0, 3): "SYS", (1, 2): "SYS", (1, 3): "SYS"},
        ),
        ("healthy_2x4090", {(0, 1): "PHB"}),
        ("gb10", {}),
    ],
)
def test_paths_are_those_of_the_matrix(scenario, wanted):
    assert matrix(scenario) == wanted


def test_links_that_are_down_count_for_nothing():
    kinds = matrix("nvlink_down")
    assert kinds[0, 2] == kinds[2, 7] == "NV16"
    assert kinds[0, 1] == "NV18"
    links = devices("nvlink_down")[2].links
    assert [link.index for link in links if not link.active] == [4, 11]
    assert (links[4].bytes_per_s, links[5].bytes_per_s) == (None, 26.562 * GB)
    assert dict(links[7].errors)["replay"] == 83412


def test_peers_that_the_driver_forbids():
    assert {path.peer for path in machine("healthy_2x4090")[0]["paths"]} == {False}
    assert {path.peer for path in machine("healthy_8xh100")[0]["paths"]} == {True}


def test_a_card_without_links_has_none_and_nobody_complains():
    fields_, unseen = machine("healthy_4xl40s")
    assert {card.links for card in fields_["devices"]} == {()}
    assert {card.fabric for card in fields_["devices"]} == {None}
    assert unseen == ()


def test_slices_of_a_card():
    first, second, *_ = devices("mig")
    assert (first.mig, second.mig, second.mig_after_reset) == (True, False, True)
    assert first.busy_share is None  # a card in slices has no one figure
    assert first.slices[0] == Slice(
        gpu_instance=1,
        compute_instance=0,
        uuid="MIG-11111111-0000-5000-8000-000000000000",
        profile="3g.40gb",
        mem_total_bytes=42144366592,
        mem_used_bytes=21474836480,
    )
    assert [one.profile for one in first.slices] == ["3g.40gb", "2g.20gb", "1g.10gb"]


def test_memory_shared_with_the_processor_is_told_by_nobody():
    (card,) = devices("gb10")
    assert (card.mem_total_bytes, card.unified_memory, card.sms) == (None, True, 48)
    assert [one.what for one in machine("gb10")[1]] == ["devices.0.mem"]
    assert devices("healthy_2x4090")[0].unified_memory is None


def test_an_old_driver_tells_less_and_that_is_said():
    fields_, unseen = machine("old_driver")
    card = fields_["devices"][0]
    assert card.mem_total_bytes == 25757220864
    assert card.mem_used_bytes == 19327352832 + 462422016  # what is reserved counts as used there
    assert (card.mem_reserved_bytes, card.sms, card.slowed_by) == (None, None, ())
    assert [program.pid for program in card.programs] == [1500, 2718]
    missed = {one.what: one for one in unseen}
    assert missed["devices.cores"].why == codes.why(codes.NO_SUCH_CALL)
    assert {"devices.cores", "devices.bus_bits", "devices.fabric"} <= missed.keys()
    assert missed["devices.cores"].see is None, "nvidia-smi of that driver does not know it either"


def test_what_a_user_may_not_see_is_said_with_the_command_that_shows_it():
    fields_, unseen = machine("half_denied")
    assert {card.programs for card in fields_["devices"]} == {None}
    told = {(one.what, one.why, one.see) for one in unseen}
    why = codes.why(codes.NO_PERMISSION)
    assert ("devices.programs.compute", why, "sudo nvidia-smi -q -d PIDS") in told
    assert ("devices.power.energy_j", why, "sudo nvidia-smi -q") in told


def test_programs_of_both_kinds_are_told_once():
    card = devices("healthy_2x4090")[0]
    assert [(one.pid, one.name, one.kind, one.mem_bytes) for one in card.programs] == [
        (1500, "/usr/lib/xorg/Xorg", "graphics", 209715200),
        (2718, "python", "compute", 18790481920),
    ]


def test_a_program_has_a_user():
    table = driver_table("healthy_2x4090")
    table["only"]["0"]["programs"] = [{"pid": os.getpid(), "mem": 1000}]
    (program,) = devices_now(table)[0].programs
    from pwd import getpwuid

    assert (program.pid, program.user) == (os.getpid(), getpwuid(os.getuid()).pw_name)


def devices_now(table):
    with Session({**os.environ, **driver_env(table)}) as session:
        return dict(session.devices().fields)["devices"]


@pytest.mark.parametrize(
    ("scenario", "index", "words"),
    [
        ("throttled", 5, ("hw_power_brake", "hw_slowdown")),
        ("hot", 1, ("hw_slowdown", "hw_thermal", "sw_thermal")),
        ("unlike_power", 1, ("sw_power_cap",)),
        ("idle_4090", 0, ("idle",)),
    ],
)
def test_why_a_card_is_slowed(scenario, index, words):
    assert devices(scenario)[index].slowed_by == words


def test_a_card_that_waits_for_a_reset_says_so():
    assert devices("row_remap_pending")[7].recovery == "gpu reset"
    assert devices("row_remap_pending")[7].retired.rows_pending is True
    assert devices_now({"like": "healthy_2x4090", "only": {"1": {"memory": {"total": "!16"}}}})[
        1
    ].recovery == ("gpu reset")


def test_pages_of_cards_before_ampere():
    table = {
        "like": "healthy_2x4090",
        "each": {"retired": {"single": 60, "double": 2, "pending": 1}, "capability": "7.0", "cores": 5120},
    }
    card = devices_now(table)[0]
    assert (card.retired.pages_single, card.retired.pages_double, card.retired.pages_pending) == (60, 2, True)
    assert card.sms == 80


def test_time_spent_slowed_is_counted_by_newer_drivers():
    brakes = {"board_limit", "reliability", "sw_power_cap", "sync_boost"}
    assert dict(devices("healthy_8xh100")[0].slowed_s) == {**dict.fromkeys(brakes, 0), "sw_power_cap": 8100}
    newer = dict(devices("healthy_2x4090")[0].slowed_s)
    assert newer.keys() == brakes | {"sw_thermal", "hw_thermal", "hw_power_brake"}
    assert newer.keys() <= slowdowns().keys()
    told = {"like": "healthy_2x4090", "each": {"field": {"74": 12_000_000_000, "271": 5_000}}}
    counted = dict(devices_now(told)[0].slowed_s)
    assert (counted["sw_power_cap"], counted["hw_power_brake"]) == pytest.approx((12.0, 5e-6))


def test_a_superchip_tells_its_links_to_the_processor():
    (card,) = devices("healthy_gh200")
    assert [(one.index, one.active, one.bytes_per_s, one.peer_kind) for one in card.cpu_links] == [
        (place, True, 44.712e9, "cpu") for place in range(10)
    ]
    assert card.links == ()  # none to other devices
    assert devices("healthy_8xh100")[0].cpu_links == ()
    assert devices("healthy_2x4090")[0].cpu_links == ()


@pytest.mark.parametrize(
    ("links", "told"),
    [
        ({"count": 2, "state": [1, 0], "mbps": 1000}, ((True, 1e9), (False, None))),
        ({"count": 2, "state": "-", "mbps": "-"}, ((None, None), (None, None))),
        ({"count": "-"}, None),
        ({"count": 10**6, "state": 1, "mbps": 1}, ((True, 1e6),) * 64),
    ],
)
def test_links_to_the_processor_that_are_down_or_not_told(links, told):
    (card,) = devices_now({"like": "healthy_gh200", "each": {"c2c_links": links}})
    found = card.cpu_links and tuple((one.active, one.bytes_per_s) for one in card.cpu_links)
    assert found == told


@pytest.mark.parametrize("scenario", scenes.names())
def test_every_scenario_that_plays_a_driver_builds(scenario):
    told = scenes.scenario(scenario)
    if "driver" in told:
        table = driver_table(told["driver"])
        assert built(tuple(sorted(table.get("absent", ())))).exists()


# --- the table of readings


def test_each_call_and_number_of_the_table_is_of_the_binding():
    nvml = pytest.importorskip("pynvml")
    for one in readings():
        assert callable(getattr(nvml, one.call, None)), one.call
        for name in one.given.split():
            assert name.isdecimal() or hasattr(nvml, name.removeprefix("&")), name
        assert re.match(r"nvmlDeviceGet[A-Z]|nvmlGpmMetricsGet$", one.call), "a reading changes nothing"


def test_each_reading_names_a_command_that_shows_it():
    first = {}
    for one in readings():
        first.setdefault(one.reading, one)
    assert all(one.see for one in first.values())


def test_commands_ask_for_nothing_that_does_not_exist(shared):
    """The fields of --query-gpu and the sections of -d, against the help of a real nvidia-smi."""
    (capture,) = (shared / "captures" / "nvidia-smi-text").glob("*h100*")
    text = capture.read_text(encoding="utf-8")
    known = set(re.findall(r'"([a-z_]+(?:\.[a-z_.]+)?)"', text))
    for one in readings():
        for name in re.findall(r"--query-gpu=(\S+)", one.see):
            assert name in known, name
        for section in re.findall(r"-d (\S+)", one.see):
            assert re.search(rf"\b{section}\b", text), section


def test_each_symbol_of_the_played_driver_is_of_a_real_one(shared):
    (capture,) = (shared / "captures" / "nvidia-smi-text").glob("*h100*")
    real = set(re.findall(r"^nvml\w+$", capture.read_text(encoding="utf-8"), re.MULTILINE))
    ours = {word.decode() for word in re.findall(rb"\0(nvml[A-Z]\w+)(?=\0)", built().read_bytes())}
    assert len(ours) > 100
    assert ours <= real


def test_the_plans_of_the_child():
    assert {row[0] for row in plans()["tick"]} < {row[0] for row in plans()["full"]}
    assert not {row[0] for row in plans()["tick"]} & {row[0] for row in plans()["rare"]}


def test_cores_of_a_multiprocessor_are_told_once_for_each_capability():
    isas = [row["isa"] for _, row in raw_rows(DATA / "sm_cores.csv")]
    assert len(isas) == len(set(isas))


# --- anything may come over the wire

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**70)
    | st.text(max_size=8)
    | st.floats(allow_nan=True),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(["!", "gi", "mem"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([one.reading for one in readings()]), JUNK, max_size=20))
def test_a_driver_that_answers_anything_at_all_breaks_nothing(told):
    raw = Raw(told)
    try:
        device = device_of(0, raw, owner=lambda _: None, names={})
    except (TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
        pytest.fail(f"{type(error).__name__}: {error} for {told}")
    links_of(raw)
    is_gone(raw)
    assert device.index == 0
    assert paths_of([device], []) == ()
