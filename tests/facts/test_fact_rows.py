"""What must hold for every row of the other tables of facts."""

from __future__ import annotations

import re
from datetime import date

import pytest

from rigright.base.tables import DATA, raw_rows
from rigright.base.units import GIB, GIGA
from rigright.facts.bench import references
from rigright.facts.chips import by_id
from rigright.facts.clouds import find_instance, offers
from rigright.facts.cpus import cpus
from rigright.facts.features import features, features_of
from rigright.facts.platforms import platforms
from rigright.facts.prices import STALE_DAYS, dated, is_stale, latest_price, prices

TODAY = date(2026, 11, 20)
LAUNCH_SLACK_DAYS = 120  # cards are listed before they are sold
TABLES = (
    *("chips", "cpus", "platforms", "clouds", "prices", "cuda", "torch", "tensorflow", "features"),
    "bench_reference",
)
UNDATED = {("aws", "p5e.48xlarge"), ("aws", "trn2.48xlarge")}  # the source states no price, so no date


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_source_date_and_confidence(table):
    for line, row in raw_rows(DATA / f"{table}.csv"):
        source = row.get("source") or row.get("sources")
        assert source, (table, line)
        assert row["confidence"] in {"high", "med", "low"}, (table, line)
        if (row.get("provider"), row.get("instance")) not in UNDATED:
            assert re.fullmatch(r"20\d\d(-\d\d(-\d\d)?)?", row["as_of"]), (table, line)
            assert dated(row["as_of"]) <= TODAY, (table, line)


@pytest.mark.parametrize("table", TABLES)
def test_no_row_speaks_of_where_it_was_made(table):
    for line, row in raw_rows(DATA / f"{table}.csv"):
        words = " ".join(row.values())
        assert not re.search(r"\bseed\b|(?<!\w)/(?:work|tmp|home)/", words), (table, line)


@pytest.mark.parametrize("cpu", cpus(), ids=lambda cpu: cpu.id)
def test_cpus(cpu):
    assert cpu.cores <= cpu.threads <= 2 * cpu.cores
    assert cpu.base_hz <= cpu.boost_hz <= 6.5 * GIGA
    assert cpu.pcie_lanes_free <= cpu.pcie_lanes
    assert cpu.pcie_gen in {4, 5}
    assert 35 <= cpu.tdp_w <= 500
    assert cpu.max_sockets in {1, 2}
    assert cpu.mem_channels in {None, 2, 4, 6, 8, 12}
    if cpu.mem_transfers_per_s is not None:
        low, high = (2.6e9, 3.3e9) if cpu.mem_type.startswith("DDR4 ") else (4.3e9, 6.5e9)
        assert low <= cpu.mem_transfers_per_s <= high
        assert cpu.mem_bytes_per_s == cpu.mem_channels * 8 * cpu.mem_transfers_per_s
    for price in (cpu.list_price_usd, cpu.street_price_usd):
        assert price is None or 50 < price < 20_000
    assert (cpu.street_price_usd is None) == (cpu.street_as_of is None)


def test_cpu_ids_are_told_apart():
    assert len({cpu.id for cpu in cpus()}) == len(cpus())


def test_known_memory_speeds_of_xeons():
    """Slower grades of a generation run slower memory."""
    rates = {cpu.id: cpu.mem_transfers_per_s / 1e6 for cpu in cpus() if cpu.mem_transfers_per_s}
    assert rates["intel-xeon-silver-4314"] == 2666
    assert rates["intel-xeon-gold-6330"] == 2933
    assert rates["intel-xeon-gold-6430"] == 4400
    assert rates["intel-xeon-platinum-8558"] == 5200


@pytest.mark.parametrize("platform", platforms(), ids=lambda platform: platform.id)
def test_platforms(platform):
    assert platform.kind in {"board-class", "board", "server-class", "rack"}
    for least, most in (
        (platform.slots_min, platform.slots_max),
        (platform.gpus_min, platform.gpus_max),
        (platform.mem_slots_min, platform.mem_slots_max),
        (platform.price_min_usd, platform.price_max_usd),
    ):
        assert (least is None) == (most is None)
        assert least is None or 0 < least <= most
    assert platform.mem_max_bytes >= 128 * GIB
    if platform.kind not in {"board-class", "board"}:
        assert platform.gpus_max >= 8


@pytest.mark.parametrize(
    "offer", offers(), ids=lambda offer: f"{offer.provider}-{offer.instance}-{offer.region}"
)
def test_cloud_offers(offer):
    assert offer.n_chips in {0.125, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 16}
    if offer.chip is not None:
        chip = by_id()[offer.chip]
        assert offer.mem_bytes == pytest.approx(chip.mem_bytes, rel=0.04)  # 141 against 144, 180 against 186
        if offer.usd_per_chip_h is not None:
            assert 0.15 <= offer.usd_per_chip_h <= 30
    if offer.spot_usd_per_h is not None:
        assert offer.spot_usd_per_h < offer.usd_per_h
    assert offer.vcpus >= 2
    assert offer.ram_bytes >= 4 * GIB
    assert (offer.native_per_h is not None) == (offer.currency != "USD")


def test_a_bigger_instance_of_a_kind_never_costs_less():
    seen = {}
    for offer in offers():
        if offer.usd_per_h is not None and offer.confidence == "high" and offer.n_chips >= 1:
            seen.setdefault((offer.provider, offer.chip, offer.region), []).append(
                (offer.n_chips, offer.usd_per_h)
            )
    for known in seen.values():
        cheapest = {count: min(price for n, price in known if n == count) for count, _ in known}
        assert sorted(cheapest.values()) == [price for _, price in sorted(cheapest.items())]


def test_instances_are_found_by_name():
    assert find_instance("p5.48xlarge").chip == "h100-sxm5-80gb"
    assert find_instance("nd96isr_h100_v5").n_chips == 8
    assert find_instance("nothing.large") is None


@pytest.mark.parametrize("price", prices(), ids=lambda price: f"{price.chip}-{price.kind}-{price.as_of}")
def test_prices(price):
    chip = by_id()[price.chip]
    assert price.kind in {"launch", "shop", "claim"}
    assert 100 < price.usd < 50_000
    assert price.usd_min is None or price.usd_min <= price.usd
    assert (dated(chip.launch) - dated(price.as_of)).days <= LAUNCH_SLACK_DAYS
    if price.kind == "launch":
        assert chip.msrp_usd == price.usd
    if price.kind == "shop":
        assert price.listings >= 1


def test_a_price_goes_stale():
    assert not is_stale("2026-11-01", TODAY)
    assert is_stale("2025-07-23", TODAY)
    assert is_stale(None, TODAY)
    edge = date.fromordinal(TODAY.toordinal() - STALE_DAYS)
    assert not is_stale(edge.isoformat(), TODAY)
    assert is_stale(date.fromordinal(edge.toordinal() - 1).isoformat(), TODAY)


def test_the_latest_price_is_of_shops_where_there_is_one():
    assert latest_price("rtx-4090").kind == "shop"
    assert latest_price("rtx-4090").as_of == "2025-07-23"
    assert latest_price("no-such-chip") is None


def test_every_nvidia_chip_finds_its_features():
    for chip in by_id().values():
        if chip.vendor == "NVIDIA" and chip.architecture != "Kepler":
            found = features_of(chip.isa)
            assert found is not None, chip.id
            assert (chip.bf16_flops_per_s is not None) <= found.bf16.startswith("y"), chip.id
            assert (chip.fp4_flops_per_s is not None) <= (found.fp4 != "n"), chip.id
            assert chip.sparsity == (found.sparsity == "2:4"), chip.id


def test_architectures_are_told_apart():
    assert len({found.architecture for found in features()}) == len(features())


def test_measured_gemms_stay_under_the_peak():
    for reference in references():
        if reference.kind == "measured" and reference.chip and reference.what.startswith("gemm_bf16"):
            assert 0.4 < reference.value / by_id()[reference.chip].bf16_flops_per_s < 1
        if reference.kind == "measured" and reference.chip and reference.what.startswith("gemm_fp8"):
            assert 0.4 < reference.value / by_id()[reference.chip].fp8_flops_per_s < 1


def test_measured_links_stay_under_the_peak():
    for reference in references():
        if reference.kind == "measured" and reference.what.startswith("p2p_unidir") and reference.chip:
            one_way = by_id()[reference.chip].link_one_way_bytes_per_s
            assert 0.7 < reference.value / one_way < 1
        if reference.what.startswith("p2p_bidir") and reference.chip:
            assert 0.7 < reference.value / by_id()[reference.chip].link_both_ways_bytes_per_s < 1


def test_every_row_of_the_starting_tables_is_here(shared):
    pairs = {
        "cpus.csv": "cpus.csv",
        "platforms.csv": "platforms.csv",
        "cloud.csv": "clouds.csv",
        "gpu_prices.csv": "prices.csv",
        "cuda_driver.csv": "cuda.csv",
        "tf_cuda.csv": "tensorflow.csv",
        "arch_features.csv": "features.csv",
        "bench_reference.csv": "bench_reference.csv",
    }
    for theirs, ours in pairs.items():
        assert len(list(raw_rows(shared / "facts" / theirs))) == len(list(raw_rows(DATA / ours))), ours
    assert {row["id"] for _, row in raw_rows(shared / "facts" / "gpus.csv")} <= by_id().keys()
