"""What must hold for every row of the other tables of facts."""

from __future__ import annotations

import re
from datetime import date

import pytest

from rigright.base.money import currencies
from rigright.base.tables import DATA, raw_rows
from rigright.base.units import GIB, GIGA
from rigright.facts.bench import references
from rigright.facts.chips import by_id, features, features_of, production
from rigright.facts.clouds import find_instance, offers, providers_of
from rigright.facts.cpus import cpus
from rigright.facts.parts import platforms
from rigright.facts.prices import STALE_DAYS, all_part_prices, dated, hosts, is_stale, newest_prices, prices
from rigright.money.prices import part_usd

GREW = {"prices.csv", "clouds.csv", "features.csv"}  # newer rows beside the starting ones
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
            assert 0.1 <= offer.usd_per_chip_h <= 30
    if offer.spot_usd_per_h is not None:
        assert offer.spot_usd_per_h < offer.usd_per_h
    if offer.most_chips is None:
        assert (offer.vcpus or 2) >= 2
        assert (offer.ram_bytes or 4 * GIB) >= 4 * GIB
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


def test_prices():
    for price in prices():
        chip, where = by_id()[price.chip], f"{price.chip} {price.kind} {price.as_of}"
        assert price.kind in {"launch", "shop", "street", "used", "claim"}, where
        assert price.currency in {"USD", "CNY"}, where
        assert 30 < price.typical < (50_000 if price.currency == "USD" else 400_000), where
        assert price.low is None or 0 < price.low <= price.typical, where
        assert price.high is None or price.typical <= price.high, where
        assert (dated(chip.launch) - dated(price.as_of)).days <= LAUNCH_SLACK_DAYS, where
        assert dated(price.as_of) <= TODAY, where
        assert price.source, where
        assert price.confidence in {"high", "med", "low"}, where
        assert price.mem_bytes is None or price.mem_bytes in {chip.mem_bytes, *chip.mem_options_bytes}, where
        if price.kind == "launch" and price.mem_bytes is None:
            assert chip.msrp_usd == price.typical, where
        if price.kind == "shop":
            assert price.listings >= 1, where


def test_every_chip_is_in_production_or_not_since_a_month():
    states = production()
    assert states.keys() == by_id().keys()
    for state in states.values():
        chip = by_id()[state.chip]
        assert chip.ended == state.ended
        assert date.fromisoformat(state.as_of) <= TODAY
        assert state.source
        assert state.confidence in {"high", "med", "low"}
        if state.ended is not None:
            assert re.fullmatch(r"20[0-9]{2}-(0[1-9]|1[0-2])", state.ended)
            assert dated(chip.launch) <= dated(state.ended) <= TODAY, state.chip


@pytest.mark.parametrize(
    ("chip", "made"),
    [
        ("tesla-p40", False),
        ("gtx-1080-ti", False),
        ("rtx-2080-ti", False),
        ("rtx-3090", False),
        ("rtx-4090", False),
        ("v100-sxm2-32gb", False),
        ("a100-sxm4-80gb", False),
        ("mi100", False),
        ("apple-m4-pro", False),
        ("rtx-5090", True),
        ("b200-sxm", True),
        ("mi355x", True),
        ("rtx-pro-6000-blackwell-ws", True),
        ("apple-m5-max-40c", True),
    ],
)
def test_what_is_made_today(chip, made):
    assert (by_id()[chip].ended is None) is made


def test_what_is_made_no_more_is_bought_used_or_not_at_all():
    for chip in by_id().values():
        for currency in ("USD", "CNY"):
            kinds = {price.kind for price in newest_prices(chip, currency=currency)}
            assert kinds <= ({"used"} if chip.ended else {"shop", "street", "launch"}), chip.id
            assert kinds == {"launch"} or "launch" not in kinds, chip.id
    assert {price.kind for price in newest_prices(by_id()["tesla-p40"])} == {"used"}
    assert newest_prices(by_id()["gtx-1080-ti"]) == (), "shops still list it: as old stock"


def test_only_the_newest_half_year_counts():
    rows = newest_prices(by_id()["rtx-3090"])
    assert rows[0].as_of == max((row.as_of for row in rows), key=dated)
    assert all((dated(rows[0].as_of) - dated(row.as_of)).days <= STALE_DAYS for row in rows)
    assert len(rows) > 1
    assert {row.as_of[:4] for row in newest_prices(by_id()["rtx-5090"])} == {"2026"}, "2025 is past"


def test_a_buyer_finds_the_prices_of_the_own_market_first():
    assert {row.currency for row in newest_prices(by_id()["tesla-p40"], currency="CNY")} == {"CNY"}
    assert {row.currency for row in newest_prices(by_id()["tesla-p40"])} == {"USD"}
    assert {row.currency for row in newest_prices(by_id()["h100-sxm5-80gb"], currency="CNY")} == {"CNY"}
    assert {row.currency for row in newest_prices(by_id()["mi50-16gb"])} == {"CNY"}, "nobody else says"
    assert {row.currency for row in newest_prices(by_id()["rtx-5080"], currency="CNY")} == {"USD"}


def test_machines_are_priced_at_the_memory_they_are_known_with():
    (row,) = newest_prices(by_id()["apple-m5-max-40c"])
    assert row.mem_bytes == by_id()["apple-m5-max-40c"].mem_bytes


def test_hosts():
    """Every kind of host is made of priced parts; a larger one never costs less."""
    for around in {host.around for host in hosts()}:
        sizes = [host for host in hosts() if host.around == around]
        assert [host.cards for host in sizes] == sorted({host.cards for host in sizes})
        for host in sizes:
            assert all(part_usd(part.kind, part.variant, size=part.size) for part in host.parts), host
            assert dated(host.as_of)
            assert host.source
    named = {host.around for host in hosts()}
    assert {chip.around for chip in by_id().values()} - {None} == named - {"mini"}, "a mini PC holds no card"


def test_every_price_of_a_part_is_sourced_dated_and_in_a_known_currency():
    for row in all_part_prices():
        assert (row.low or row.typical) <= row.typical <= (row.high or row.typical), row
        assert 0 < row.typical < 1e6, row
        assert row.size > 0, row
        assert row.currency in currencies(), row
        assert row.condition in {"new", "used"}, row
        assert dated(row.as_of) <= TODAY, row
        assert row.confidence in {"high", "med", "low"}, row
        assert row.confidence == "low" or "recalled" not in row.source, row


def test_a_price_goes_stale():
    assert not is_stale("2026-11-01", TODAY)
    assert is_stale("2025-07-23", TODAY)
    assert is_stale(None, TODAY)
    edge = date.fromordinal(TODAY.toordinal() - STALE_DAYS)
    assert not is_stale(edge.isoformat(), TODAY)
    assert is_stale(date.fromordinal(edge.toordinal() - 1).isoformat(), TODAY)


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
        found, known = (len(list(raw_rows(path))) for path in (DATA / ours, shared / "facts" / theirs))
        assert found >= known if ours in GREW else found == known, ours
    assert {row["id"] for _, row in raw_rows(shared / "facts" / "gpus.csv")} <= by_id().keys()


@pytest.mark.parametrize(
    ("name", "providers"),
    [
        ("aws", {"aws"}), ("AutoDL", {"autodl"}), ("算力云", {"autodl"}), ("Vast.ai", {"vast"}),
        ("aliyun", {"alibaba", "alibaba-pai"}), ("阿里云", {"alibaba", "alibaba-pai"}),
        ("腾讯云", {"tencent-ti", "tencent-hai"}), ("Tencent Cloud", {"tencent-ti", "tencent-hai"}),
        ("华为云", {"huawei-modelarts"}), ("优云智算", {"compshare"}), ("恒源云", {"gpushare"}),
        ("my cloud", set()), ("", set()),
    ],
)  # fmt: skip
def test_clouds_answer_to_their_usual_names(name, providers):
    assert providers_of(name) == providers
    rented = {offer.provider for offer in offers()}
    assert providers_of(name) <= rented
