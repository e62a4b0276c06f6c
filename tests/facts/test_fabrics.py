"""Fabrics, networks and processors' rates: rows that hold together, and what vendors print."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError
from rigright.base.units import GIGA, TERA
from rigright.facts.chips import by_id, chips
from rigright.facts.cpus import cpu_rates, find_cpu
from rigright.facts.fabrics import fabric_of, find_network, networks, wiring_of

chip_ids = st.sampled_from(sorted(by_id()))


@given(chip=chip_ids, box=st.integers(1, 16), bridged=st.booleans(), lanes=st.sampled_from([None, 4, 8, 16]))
def test_every_chip_has_a_fabric_whatever_its_box(chip, box, bridged, lanes):
    found = fabric_of(by_id()[chip], box=box, bridged=bridged, lanes=lanes)
    assert 1 <= found.domain <= found.box
    assert found.bytes_per_s > 0
    assert found.box_bytes_per_s > 0
    assert 0 < found.network_bytes_per_s <= found.network.bytes_per_s


@pytest.mark.parametrize(
    ("chip", "kind", "domain", "gb_per_s"),
    [
        ("h100-sxm5-80gb", "switch", 8, 450),
        ("gb200", "switch", 72, 900),
        ("mi300x", "mesh", 8, 448),
        ("h100-nvl-94gb", "bridge", 2, 300),
        ("rtx-4090", "host", 8, 31.5),
        ("rtx-pro-6000-blackwell-ws", "host", 8, 63),
        ("l40s", "pcie", 8, 31.5),
        ("apple-m3-ultra", "none", 1, 10),
    ],
)
def test_chips_are_joined_as_their_vendors_say(chip, kind, domain, gb_per_s):
    found = fabric_of(by_id()[chip])
    assert (found.kind, found.domain) == (kind, domain)
    assert found.bytes_per_s == pytest.approx(gb_per_s * GIGA, rel=0.01)


def test_cards_of_plain_boards_copy_through_the_host_and_those_of_servers_do_not():
    for name in ("rtx-2060-super", "rtx-3080-10gb", "rtx-4090", "rtx-5090", "rtx-6000-ada"):
        assert not wiring_of(by_id()[name]).peer, name
    assert wiring_of(by_id()["gtx-1080-ti"]).peer
    assert wiring_of(by_id()["l40s"]).peer


def test_bridges_are_there_only_where_chips_are_sold_with_them_or_somebody_says_so():
    bare = by_id()["rtx-a6000"]
    assert fabric_of(bare).kind == "host"
    joined = fabric_of(bare, bridged=True)
    assert (joined.kind, joined.domain, joined.box_id) == ("bridge", 2, "host")


def test_a_named_network_is_a_whole_port_for_each_chip():
    chip = by_id()["rtx-4090"]
    shared, whole = fabric_of(chip), fabric_of(chip, network="eth-100")
    assert shared.network_bytes_per_s < shared.network.bytes_per_s
    assert whole.network_bytes_per_s == 12.5 * GIGA


def test_networks_carry_what_their_names_say():
    assert find_network("ib-ndr").bytes_per_s == 50 * GIGA
    assert all(network.bytes_per_s >= GIGA / 8 for network in networks().values())
    with pytest.raises(AskError, match="ib-ndr"):
        find_network("ib")


def test_every_chip_of_a_segment_is_wired_by_some_row():
    assert {wiring_of(chip).confidence for chip in chips()} <= {"high", "med", "low"}


def test_processors_compute_what_their_cores_and_clocks_allow():
    found = find_cpu("CPU i9-10940X")
    assert found.flops_per_s == pytest.approx(14 * 3.3e9 * 64)
    assert found.mem_bytes_per_s == pytest.approx(93.9 * GIGA, rel=0.01)
    known = [rate.flops_per_s for rate in cpu_rates() if math.isfinite(rate.flops_per_s)]
    assert len(known) > 90
    assert 0.1 * TERA < min(known) < max(known) < 40 * TERA


def test_no_processor_is_found_by_a_name_without_a_number():
    with pytest.raises(AskError, match="abacus"):
        find_cpu("abacus")
