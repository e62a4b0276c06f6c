"""Collectives: laws they obey, and what machines were measured to reach."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError
from rigright.base.units import GIB, MIB
from rigright.cost.links import Wire, all_gather_s, all_reduce_s, all_to_all_s, send_s
from rigright.facts.bench import references
from rigright.facts.chips import by_id, chips
from rigright.facts.fabrics import fabric_of, networks, wiring_of, wirings
from rigright.terms.fitted import wire_of, wire_of_fabrics

KINDS = (all_reduce_s, all_gather_s, all_to_all_s)
SIZES = {"16GiB": 16 * GIB, "8GiB": 8 * GIB, "4GiB": 4 * GIB, "1GiB": GIB, "512MiB": 512 * MIB}
chip_ids = st.sampled_from(sorted(by_id()))
sizes = st.floats(1, 1e11)
ranks = st.sampled_from([2, 3, 4, 8, 16, 24, 64, 512])


def wire(*names, engine=None):
    return wire_of([by_id()[name] for name in names], engine=engine)


def one(found):
    return float(np.asarray(found).reshape(-1)[0])


@pytest.mark.parametrize("law", KINDS)
def test_one_rank_sends_nothing(law):
    assert one(law(GIB, 1, wire=wire("h100-sxm5-80gb"))) == 0


@pytest.mark.parametrize("law", KINDS)
@given(chip=chip_ids, size=sizes, n=ranks, more=st.floats(1, 1e3))
def test_more_bytes_never_take_less_time(law, chip, size, n, more):
    joined = wire(chip, engine="vllm")
    assert one(law(size * more, n, wire=joined)) >= one(law(size, n, wire=joined)) * (1 - 1e-12) > 0


@given(chip=chip_ids, size=sizes, n=ranks)
def test_a_sum_takes_as_long_as_its_bytes_need_on_the_stated_wire(chip, size, n):
    """No collective is quicker than the vendor's rate allows: every rank sends and gets what it must."""
    fabric = fabric_of(by_id()[chip])
    least = size / fabric.bytes_per_s if n <= fabric.domain else 0
    assert one(all_reduce_s(size, n, wire=wire(chip, engine="vllm"))) > least


@given(chip=chip_ids, size=sizes)
def test_a_neighbour_is_reached_no_quicker_than_the_stated_wire_allows(chip, size):
    fabric = fabric_of(by_id()[chip])
    assert one(send_s(size, wire=wire(chip))) > size / fabric.bytes_per_s
    assert one(send_s(size, wire=wire(chip), outer=True)) > size / fabric.network_bytes_per_s


@given(chip=chip_ids, size=sizes, n=ranks)
def test_engines_own_sums_never_make_it_slower(chip, size, n):
    assert one(all_reduce_s(size, n, wire=wire(chip, engine="vllm"))) <= one(
        all_reduce_s(size, n, wire=wire(chip))
    )


@given(size=sizes, n=ranks)
def test_a_gather_is_half_a_sum_but_for_its_start(size, n):
    joined = wire("h100-sxm5-80gb")
    whole, half = one(all_reduce_s(size, n, wire=joined)), one(all_gather_s(size, n, wire=joined))
    assert half <= whole <= 2 * half + 1e-12


def test_arrays_of_chips_and_sizes_equal_each_alone():
    names = sorted(by_id())[::9]
    many, size = wire(*names, engine="sglang"), np.array([[1e4], [1e7], [1e9]])
    for law in KINDS:
        table = law(size, 8, wire=many)
        assert table.shape == (3, len(names))
        for column, name in enumerate(names):
            alone = [one(law(each, 8, wire=wire(name, engine="sglang"))) for each in size[:, 0]]
            assert table[:, column].tolist() == alone


def test_five_figures_make_a_wire():
    plain = Wire(bytes_per_s=1e11, start_s=1e-5, domain=8, outer_bytes_per_s=1e10, outer_start_s=2e-5)
    assert one(all_reduce_s(1e9, 8, wire=plain)) == pytest.approx(1e-5 + 2 * 7 / 8 * 1e9 / 1e11)
    assert one(send_s(1e9, wire=plain)) == pytest.approx(1e-5 + 1e-2)
    assert one(send_s(1e9, wire=plain, outer=True)) == pytest.approx(2e-5 + 1e-1)


def test_ranks_spread_over_boxes_each_use_their_own_port():
    """Eight data-parallel ranks in eight boxes are as slow as their port, in one box as quick as NVLink."""
    joined = wire("h100-sxm5-80gb")
    near, far = one(all_reduce_s(GIB, 8, wire=joined)), one(all_reduce_s(GIB, 8, wire=joined, inside=1))
    assert far == pytest.approx(2 * 7 / 8 * GIB / (0.95 * 50e9), rel=0.01)
    assert far > 5 * near


def test_a_rack_of_72_is_one_domain_and_eight_boxes_of_hopper_are_not():
    rack, boxes = wire("gb200"), wire("h200-sxm-141gb")
    assert one(all_to_all_s(GIB, 64, wire=rack)) * 8 < one(all_to_all_s(GIB, 64, wire=boxes))


def test_sums_that_engines_bring_are_several_times_quicker_for_few_bytes():
    fast, plain = wire("h200-sxm-141gb", engine="vllm"), wire("h200-sxm-141gb")
    assert one(all_reduce_s(16384, 8, wire=fast)) * 2.5 < one(all_reduce_s(16384, 8, wire=plain))


def test_cards_without_peer_copies_go_through_the_host():
    assert fabric_of(by_id()["rtx-4090"]).kind == "host"
    assert fabric_of(by_id()["l40s"]).kind == "pcie"
    slow, quick = wire("rtx-4090"), wire("l40s")
    assert one(all_reduce_s(GIB, 4, wire=slow)) > 1.3 * one(all_reduce_s(GIB, 4, wire=quick))


def test_a_bridge_joins_two_and_the_slots_join_the_pairs():
    chip = by_id()["rtx-3090"]
    bare, bridged = (wire_of_fabrics([fabric_of(chip, bridged=there)]) for there in (False, True))
    assert one(all_reduce_s(GIB, 2, wire=bridged)) * 3 < one(all_reduce_s(GIB, 2, wire=bare))
    assert one(all_reduce_s(GIB, 4, wire=bridged)) > 2 * one(all_reduce_s(GIB, 2, wire=bridged))


def test_half_the_lanes_take_twice_as_long():
    chip = by_id()["rtx-4090"]
    eight, sixteen = (wire_of_fabrics([fabric_of(chip, lanes=lanes)]) for lanes in (8, 16))
    ratio = one(all_reduce_s(GIB, 2, wire=eight)) / one(all_reduce_s(GIB, 2, wire=sixteen))
    assert ratio == pytest.approx(2, rel=0.02)


def test_small_machines_with_shared_memory_meet_over_their_network():
    fabric = fabric_of(by_id()["dgx-spark-gb10"])
    assert (fabric.kind, fabric.domain, fabric.network.id) == ("none", 1, "roce-200")
    assert one(all_reduce_s(GIB, 2, wire=wire("dgx-spark-gb10"))) == pytest.approx(GIB / 25e9 / 0.9, rel=0.02)


def test_every_chip_has_wires_with_figures():
    joined = wire_of(chips(), engine="vllm")
    found = all_reduce_s(MIB, 2, wire=joined)
    assert np.isfinite(found).all()
    assert (found > 0).all()


def test_every_row_names_a_network_and_a_chip_or_a_kind_of_chips():
    used = {wiring_of(chip).chip for chip in chips()} | {"other"}
    assert set(wirings()) == used
    assert {row.network for row in wirings().values()} <= set(networks())


def test_an_unknown_network_is_told_with_those_there_are():
    with pytest.raises(AskError, match=r'"token-ring".* ib-xdr'):
        fabric_of(by_id()["h100-sxm5-80gb"], network="token-ring")


def busbw_rows():
    """Measured sums of many bytes; with few, this source times PyTorch and not the wire."""
    for row in references():
        found = re.fullmatch(r"[nr]ccl_allreduce_busbw_(\w+)", row.what)
        if found and row.kind == "measured" and found[1] in SIZES:
            yield pytest.param(row, SIZES[found[1]], id=f"{row.on} {found[1]}")


@pytest.mark.parametrize(("row", "size"), list(busbw_rows()))
def test_measured_sums_are_within_a_third(row, size):
    """In-switch sums (NVLS) of 8 Hopper and Blackwell chips are the widest miss: up to 35 % quicker."""
    found = one(all_reduce_s(size, row.n_chips, wire=wire(row.chip)))
    reached = 2 * (row.n_chips - 1) / row.n_chips * size / found
    assert 0.6 < reached / row.value < 1.25
