"""Collectives walked rank by rank, message by message, against their closed form and the least bytes."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.units import GIB, MIB
from rigright.cost.links import Wire, all_gather_s, all_reduce_s, all_to_all_s, send_s
from rigright.facts.bench import references
from rigright.facts.chips import by_id, chips
from rigright.facts.fabrics import fabric_of
from rigright.terms.fitted import wire_of, wire_of_fabrics

RATE, PORT = 1e11, 1e10
PLAIN = Wire(bytes_per_s=RATE, start_s=0.0, domain=64, outer_bytes_per_s=PORT, outer_start_s=0.0)
LAWS = (all_reduce_s, all_gather_s, all_to_all_s)
sizes = st.floats(1, 1e11)
counts = st.integers(2, 16)
chip_ids = st.sampled_from(sorted(by_id()))
engines = st.sampled_from([None, "vllm", "sglang", "trtllm"])


def one(value):
    return float(np.ravel(value)[0])


def wire(chip, engine=None):
    return wire_of([by_id()[chip]], engine=engine)


def ring_reduce(held, *, size_bytes, hop_s):
    """Ranks in a ring hand parts on, first summing, then copying: what each holds, and the seconds."""
    ranks = len(held)
    held = [row.copy() for row in held]
    seconds = 0.0
    for summing in (True, False):
        for turn in range(ranks - 1):
            sent = {}
            for rank in range(ranks):
                part = (rank - turn + (0 if summing else 1)) % ranks
                sent[(rank + 1) % ranks] = (part, held[rank][part])
            for rank, (part, value) in sent.items():
                held[rank][part] = held[rank][part] + value if summing else value
            seconds += size_bytes / ranks / RATE + hop_s  # all send at once, each over its own link
    return held, seconds


@given(ranks=counts, size=sizes, hop=st.floats(0, 1e-5), dice=st.integers(0, 2**31))
def test_a_sum_round_a_ring_is_right_and_takes_what_the_law_says(ranks, size, hop, dice):
    own = np.random.default_rng(dice).integers(0, 1000, (ranks, ranks)).astype(float)
    held, seconds = ring_reduce(own, size_bytes=size, hop_s=hop)
    for row in held:
        assert row.tolist() == own.sum(axis=0).tolist()
    law = one(all_reduce_s(size, ranks, wire=replace(PLAIN, hop_s=hop)))
    assert law == pytest.approx(seconds)


@given(ranks=counts, size=sizes)
def test_a_gather_round_a_ring_and_an_exchange_with_everybody(ranks, size):
    """Each rank brings its part round the ring in one fewer turns than ranks; or sends one to each other."""
    turns = sum(size / ranks / RATE for _ in range(ranks - 1))
    assert one(all_gather_s(size, ranks, wire=PLAIN)) == pytest.approx(turns)
    sends = sum(size / ranks / RATE for peer in range(ranks) if peer)
    assert one(all_to_all_s(size, ranks, wire=PLAIN)) == pytest.approx(sends)


@given(size=sizes, start=st.floats(0, 1e-3), outer=st.booleans())
def test_a_neighbour_is_a_start_and_its_bytes(size, start, outer):
    told = replace(PLAIN, start_s=start, outer_start_s=2 * start)
    expected = size / PORT + 2 * start if outer else size / RATE + start
    assert one(send_s(size, wire=told, outer=outer)) == pytest.approx(expected)


@pytest.mark.parametrize("law", LAWS)
@given(chip=chip_ids, engine=engines, size=sizes)
def test_nothing_is_sent_where_there_is_one_rank(law, chip, engine, size):
    assert one(law(size, 1, wire=wire(chip, engine))) == 0
    assert one(law(size, 0, wire=wire(chip, engine))) == 0, "no rank at all is no more"


@pytest.mark.parametrize("law", LAWS)
@given(chip=chip_ids, engine=engines, ranks=st.integers(2, 512))
def test_no_bytes_take_the_start_alone(law, chip, engine, ranks):
    """A barrier: some microseconds, and no longer than the smallest message that carries something."""
    empty, little = (one(law(size, ranks, wire=wire(chip, engine))) for size in (0.0, 1.0))
    assert 0 < empty <= little
    assert little < 0.01


@pytest.mark.parametrize("law", LAWS)
@given(
    chip=chip_ids,
    engine=engines,
    ranks=st.integers(2, 256),
    size=st.floats(1e3, 1e10),
    parts=st.integers(2, 16),
)
def test_one_message_is_no_slower_than_its_pieces(law, chip, engine, ranks, size, parts):
    """Bundling is never a loss: each piece pays its start again."""
    joined = wire(chip, engine)
    whole, piece = (one(law(each, ranks, wire=joined)) for each in (size, size / parts))
    assert whole <= parts * piece * (1 + 1e-9)


@pytest.mark.parametrize("law", LAWS)
@given(chip=chip_ids, ranks=st.integers(2, 64), size=st.floats(1e6, 1e11))
def test_no_rank_gets_its_bytes_sooner_than_its_stated_links_bring_them(law, chip, ranks, size):
    """A rank ends with what it has not had: the other parts of the whole, over all its links together."""
    fabric = fabric_of(by_id()[chip])
    best = fabric.bytes_per_s + fabric.box_bytes_per_s + fabric.network_bytes_per_s
    missing = size * (1 - 1 / ranks)
    assert one(law(size, ranks, wire=wire(chip))) > missing / best * 0.999


@given(chip=chip_ids, boxes=st.sampled_from([2, 4, 16]), size=st.floats(1e6, 1e11))
def test_what_leaves_a_box_goes_over_its_ports(chip, boxes, size):
    """Of a sum, each box sends to others and gets what it has not: over all its ports at once."""
    fabric = fabric_of(by_id()[chip])
    ranks = fabric.box * boxes
    ports = fabric.box * fabric.network_bytes_per_s
    least = 2 * (1 - 1 / boxes) * size / ports
    assert one(all_reduce_s(size, ranks, wire=wire(chip))) > least * 0.999


@pytest.mark.parametrize("law", LAWS)
@given(chip=chip_ids, size=st.floats(1e3, 1e10), ranks=st.sampled_from([8, 16, 64]))
def test_boxes_apart_are_never_quicker_than_one_domain(law, chip, size, ranks):
    """The same ranks, one in each domain: every byte over the network."""
    joined = wire(chip)
    domain = one(joined.domain)
    inside = min(ranks, domain)
    near, far = (one(law(size, inside, wire=joined, inside=each)) for each in (inside, 1))
    fabric = fabric_of(by_id()[chip])
    if fabric.kind in {"switch", "mesh"} and fabric.network_bytes_per_s * 4 < fabric.bytes_per_s:
        assert inside == 1 or near <= far


@given(
    chip=chip_ids, engine=engines,
    size=st.lists(sizes, min_size=1, max_size=4), ranks=st.lists(st.integers(1, 128), min_size=1, max_size=4),
)  # fmt: skip
def test_tables_of_bytes_and_ranks_are_their_cells(chip, engine, size, ranks):
    joined = wire(chip, engine)
    for law in LAWS:
        table = law(np.array(size)[:, None], np.array(ranks, dtype=float), wire=joined)
        for row, bytes_ in enumerate(size):
            for column, count in enumerate(ranks):
                assert table[row, column] == one(law(bytes_, count, wire=joined))


def test_every_figure_of_every_wire_can_be_used():
    for engine in (None, "vllm", "sglang", "trtllm"):
        joined = wire_of(chips(), engine=engine)
        for item in fields(Wire):
            figures = np.broadcast_to(getattr(joined, item.name), len(chips()))
            assert not np.isnan(figures.astype(float)).any(), item.name
            assert (figures.astype(float) >= 0).all(), item.name
        for name in ("low_share", "quick_share", "pair_share"):
            assert (np.asarray(getattr(joined, name)) > 0).all()
            assert (np.asarray(getattr(joined, name)) <= 1).all(), name
        assert (joined.bytes_per_s <= [fabric_of(chip).bytes_per_s for chip in chips()]).all()
        assert (joined.outer_bytes_per_s <= [fabric_of(chip).network_bytes_per_s for chip in chips()]).all()
        assert (joined.domain >= 1).all()


def accepted():
    """What a healthy machine has to reach at least, by those who accept machines."""
    for row in references():
        if row.kind == "least" and row.what == "nccl_allreduce_busbw_accept_min" and row.n_chips > 1:
            yield pytest.param(row, id=f"{row.chip} x{row.n_chips}")


@pytest.mark.parametrize("row", list(accepted()))
def test_a_healthy_machine_is_told_to_reach_about_what_it_is_accepted_for(row):
    """Acceptance tests of clouds and vendors (bus rate of many bytes): none was fitted. In-switch sums
    (NVLS on Hopper) exceed the wire's own rate by up to a third, and our wire has none."""
    fabric = fabric_of(by_id()[row.chip], bridged=True)  # such machines have their bridges
    found = one(all_reduce_s(16 * GIB, row.n_chips, wire=wire_of_fabrics([fabric])))
    reached = 2 * (row.n_chips - 1) / row.n_chips * 16 * GIB / found
    assert 0.65 < reached / row.value < 1.5


def measured(prefix):
    for row in references():
        if row.kind == "measured" and row.what.startswith(prefix) and row.chip and row.n_chips > 1:
            yield pytest.param(row, id=f"{row.what} {row.chip}")


@pytest.mark.parametrize("row", list(measured("nccl_allgather_busbw")))
def test_measured_gathers_of_a_dgx_a100(row):
    found = one(all_gather_s(8 * GIB, row.n_chips, wire=wire(row.chip)))
    reached = (row.n_chips - 1) / row.n_chips * 8 * GIB / found
    assert reached == pytest.approx(row.value, rel=0.15)


@pytest.mark.parametrize("row", list(measured("nccl_alltoall_busbw")))
def test_measured_exchanges_of_a_dgx_a100(row):
    found = one(all_to_all_s(8 * GIB, row.n_chips, wire=wire(row.chip)))
    reached = (row.n_chips - 1) / row.n_chips * 8 * GIB / found
    assert reached == pytest.approx(row.value, rel=0.25)


@pytest.mark.parametrize("row", list(measured("p2p_unidir")))
def test_measured_copies_to_a_neighbour(row):
    """Copy engines alone, many bytes: no law of sends may promise more than a fifth above."""
    reached = 4 * GIB / one(send_s(4 * GIB, wire=wire(row.chip)))
    assert 0.6 < reached / row.value < 1.2


def test_few_bytes_are_all_start_and_many_all_rate():
    """Half the rate is reached somewhere between a hundred kilobytes and a hundred megabytes on NVLink."""
    joined = wire("h100-sxm5-80gb")
    for size, least, most in ((4096.0, 0.0, 0.02), (256 * MIB, 0.6, 1.0)):
        reached = 2 * 7 / 8 * size / one(all_reduce_s(size, 8, wire=joined))
        assert least <= reached / one(joined.bytes_per_s) <= most
