"""What must hold for every row of chips.csv; an exception stands beside its reason."""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise

import pytest

from rigright.base.errors import DataError
from rigright.base.tables import read_rows, scaled, text
from rigright.base.units import GIB, GIGA, MEGA, MIB
from rigright.facts.chips import Chip, by_id, chips, memory_share
from rigright.facts.prices import dated
from spoken import values

CHIPS = pytest.mark.parametrize("chip", chips(), ids=lambda chip: chip.id)
TODAY = date(2026, 11, 20)

# gigabits a second on each pin, by kind of memory: what JEDEC and the makers sell
PIN_GBIT_PER_S = {
    "GDDR5": (5, 9),
    "GDDR5X": (9, 12),
    "GDDR6": (10, 20.1),  # T4 runs its GDDR6 at 10
    "GDDR6X": (18, 24),
    "GDDR7": (17, 33),
    "HBM2": (1.4, 2.6),
    "HBM2e": (2.3, 3.7),
    "HBM3": (4.5, 6.7),
    "HBM3e": (5.5, 9.8),
    "HBM4": (6.3, 10.8),
    "LPDDR4X": (3.7, 4.3),
    "LPDDR5": (4.2, 6.5),  # Orin Nano 4GB runs it at two thirds
    "LPDDR5X": (7.4, 9.7),
    "LPDDR unified": (4.2, 10.7),  # LPDDR4X of the M1 to LPDDR5X of the M6
}
NO_BUS_STATED = {"TPU", "Neuron", "Da Vinci", "MUSA4", "MXC", "XPU", "Cloud AI"}
TDP_W = {
    "consumer": (30, 600),  # the smallest are soldered into laptops
    "workstation": (30, 600),
    "datacenter": (50, 1800),
    "embedded": (7, 140),
    "soc": (10, 200),
}
CORES_PER_SM = {
    "Kepler": 192,
    "Maxwell": 128,
    "Volta": 64,
    "Volta (GV10B)": 64,
    "Turing": 64,
    "Ampere (GA100)": 64,
}
# bf16 (or fp16 summed in fp32) over fp32, of tensor cores
TENSOR_RATIO = {
    ("Turing", "consumer"): (3.9, 4.1),
    ("Ampere (GA10x)", "consumer"): (1.9, 2.1),
    ("Ada Lovelace", "consumer"): (1.9, 2.1),
    ("Blackwell (GB20x)", "consumer"): (1.9, 2.1),
    ("Ampere (GA10x)", "workstation"): (3.9, 4.1),
    ("Ada Lovelace", "workstation"): (3.9, 4.1),
    ("Blackwell (GB20x)", "workstation"): (3.9, 4.1),
    ("Ampere (GA100)", "datacenter"): (15, 17),
    ("Hopper", "datacenter"): (3, 16),  # H20 is cut down on purpose
}
RATIO_EXCEPTIONS = {
    "titan-rtx": "sums in fp32 at the full rate, unlike GeForce",
    "gtx-1630": "has no tensor cores",
    "gtx-1660-super": "has no tensor cores",
    "gtx-1660-ti": "has no tensor cores",
    "gtx-1660": "has no tensor cores",
    "gtx-1650-super": "has no tensor cores",
    "gtx-1650": "has no tensor cores",
    "gtx-1650-laptop": "has no tensor cores",
    "gtx-1650-ti-laptop": "has no tensor cores",
    "gtx-1660-ti-laptop": "has no tensor cores",
}


def memory_kind(chip: Chip) -> str:
    return chip.mem_type if "unified" in chip.mem_type else chip.mem_type.split("-")[0]


def test_ids_are_told_apart():
    assert len(by_id()) == len(chips()) > 200
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]*", chip.id) for chip in chips())
    assert len({chip.name for chip in chips()}) == len(chips())


@CHIPS
def test_bandwidth_is_what_bus_and_memory_give(chip):
    if chip.bus_bits is None:
        assert any(kind in chip.architecture for kind in NO_BUS_STATED)
        return
    pin = chip.mem_bytes_per_s * 8 / chip.bus_bits / GIGA
    low, high = PIN_GBIT_PER_S[memory_kind(chip)]
    assert low <= pin <= high


@CHIPS
def test_memory_shrinks_from_sheet_to_driver_to_program(chip):
    assert 0 < chip.mem_program_bytes <= chip.mem_usable_bytes * 1.0005 <= chip.mem_bytes * 1.001
    assert chip.mem_source
    if chip.unified_memory:
        assert chip.mem_program_bytes >= 0.6 * chip.mem_bytes
    else:
        assert chip.mem_usable_bytes >= 0.93 * chip.mem_bytes  # T4 and A16 with ECC keep 1/16
        assert chip.mem_program_bytes >= 0.9 * chip.mem_bytes


@CHIPS
def test_memory_says_how_far_it_was_seen(chip):
    """High: the driver's total and a program's were seen; med: one of them; low: neither."""
    assert chip.mem_confidence in {"high", "med", "low"}
    assert not (chip.mem_confidence == "high" and (chip.mem_estimated or "recalled" in chip.mem_source))
    if chip.mem_source.startswith("recalled"):
        assert chip.mem_confidence == "low"
        assert "(verify)" in chip.mem_source
    if chip.mem_confidence == "low":
        assert chip.mem_estimated or chip.mem_source.startswith("recalled")


@CHIPS
def test_pci_ids_say_where_they_are_from(chip):
    assert bool(chip.pci_ids) == bool(chip.pci_source)


@CHIPS
def test_fewer_bits_are_never_slower(chip):
    for wide, narrow in pairwise(("fp32", "tf32", "bf16", "fp8", "fp4")):
        slow = getattr(chip, f"{wide}_flops_per_s")
        fast = getattr(chip, f"{narrow}_flops_per_s")
        # tf32 on GeForce runs at the fp32 rate; rounding of the sources
        assert slow is None or fast is None or fast >= slow * 0.99


@CHIPS
def test_summing_in_fp32_is_never_faster(chip):
    for kind in ("fp16", "fp8"):
        summed = getattr(chip, f"{kind}_acc32_flops_per_s")
        fastest = getattr(chip, f"{kind}_flops_per_s")
        assert summed is None or summed <= fastest


@CHIPS
def test_tensor_rate_fits_the_architecture(chip):
    limits = TENSOR_RATIO.get((chip.architecture, chip.segment))
    rate = chip.training_flops_per_s
    if limits is None or rate is None or chip.fp32_flops_per_s is None or chip.id in RATIO_EXCEPTIONS:
        assert chip.id not in RATIO_EXCEPTIONS or RATIO_EXCEPTIONS[chip.id]
        return
    assert limits[0] <= rate / chip.fp32_flops_per_s <= limits[1]


@CHIPS
def test_fp32_rate_is_cores_times_a_clock(chip):
    if chip.vendor != "NVIDIA" or chip.cores is None or chip.fp32_flops_per_s is None:
        return
    clock = chip.fp32_flops_per_s / 2 / chip.cores / MEGA
    slowest = 600 if chip.segment == "embedded" else 700 if chip.architecture == "Kepler" else 800
    assert slowest <= clock <= 2700


@CHIPS
def test_cores_are_sms_times_their_width(chip):
    if chip.vendor != "NVIDIA" or chip.cores is None or chip.sms is None:
        return
    width = 64 if chip.isa == "6.0" else CORES_PER_SM.get(chip.architecture, 128)
    assert chip.cores == chip.sms * width


@CHIPS
def test_power_is_of_its_kind(chip):
    if chip.tdp_w is not None:
        low, high = TDP_W[chip.segment]
        assert low <= chip.tdp_w <= high


@CHIPS
def test_links_and_slots_are_real(chip):
    assert chip.pcie_gen in ({2, 3} if chip.architecture == "Kepler" else {None, 3, 4, 5, 6})
    assert chip.pcie_lanes in {None, 4, 8, 16}
    if chip.link_both_ways_bytes_per_s is not None:
        assert chip.link_one_way_bytes_per_s * 2 == chip.link_both_ways_bytes_per_s
        assert (chip.link_max_chips or 0) >= 2
        assert 40 <= chip.link_both_ways_bytes_per_s / GIGA <= 3600
    assert all(re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{4}", pci_id) for pci_id in chip.pci_ids)


@CHIPS
def test_dates_are_dates(chip):
    if chip.is_announced:
        assert not chip.offered
        assert chip.confidence == "low"
        return
    assert re.fullmatch(r"20[0-9]{2}-(0[1-9]|1[0-2])", chip.launch)
    assert dated(chip.launch) <= TODAY
    assert dated(chip.launch).year <= dated(chip.as_of).year
    assert dated(chip.as_of).replace(day=1) <= TODAY


@CHIPS
def test_every_row_says_where_it_is_from(chip):
    assert chip.sources
    assert chip.confidence in {"high", "med", "low"}
    if chip.msrp_usd is not None:
        assert chip.msrp_source
        assert 80 < chip.msrp_usd < 20_000
    recalled = all(part.startswith(("recalled", "tensor rates by")) for part in chip.sources.split("; "))
    assert not recalled or chip.confidence == "low"


def test_launch_order_inside_a_family():
    ages = [
        ("gtx-1080-ti", "rtx-2080-ti", "rtx-3090", "rtx-4090", "rtx-5090"),
        ("v100-sxm2-32gb", "a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm-141gb", "b300-sxm"),
        ("mi100", "mi250x", "mi300x", "mi325x", "mi355x"),
        ("apple-m1", "apple-m2", "apple-m3", "apple-m4", "apple-m5"),
    ]
    for family in ages:
        launches = [by_id()[name].launch for name in family]
        assert launches == sorted(launches)


def test_a_newer_flagship_has_more_bandwidth():
    for family in (
        ("rtx-3090", "rtx-4090", "rtx-5090"),
        ("v100-sxm2-32gb", "a100-sxm4-80gb", "h100-sxm5-80gb"),
    ):
        rates = [by_id()[name].mem_bytes_per_s for name in family]
        assert rates == sorted(rates)


@pytest.mark.parametrize(
    ("name", "driver_mib"),
    [  # from captures of nvidia-smi and rocm-smi, the last six from tables in public repositories
        ("h100-sxm5-80gb", 81559),
        ("a100-sxm4-80gb", 81920),
        ("rtx-4080-super", 16376),
        ("l40s", 46068),
        ("a10g", 23028),
        ("t4", 15360),
        ("rtx-3080-10gb", 10240),
        ("rtx-3090", 24576),
        ("mi100", 32752),
        ("rtx-5090", 32607),
        ("rtx-4090", 24564),
        ("b200-sxm", 183359),
        ("gb200", 189471),
        ("gb300", 284208),
        ("b300-sxm", 275040),
    ],
)
def test_what_the_driver_reports(name, driver_mib):
    assert by_id()[name].mem_usable_bytes / MIB == driver_mib


def test_the_drivers_own_reserve_is_left_out():
    """Total less reserved, as nvidia-smi shows both, is what a program sees."""
    for name, total, reserved in (
        ("h100-sxm5-80gb", 81559, 479),
        ("l40s", 46068, 609),
        ("a100-sxm4-80gb", 81920, 869),
        ("rtx-4080-super", 16376, 434),
        ("rtx-3080-10gb", 10240, 397),
    ):
        seen = by_id()[name].mem_program_bytes / MIB
        assert seen == pytest.approx(total - reserved, rel=0.002)


def test_two_ways_of_seeing_one_card_agree():
    """The same card in a capture of the driver and in what PyTorch said elsewhere."""
    assert by_id()["rtx-4080-super"].mem_program_bytes / MIB == pytest.approx(15944, rel=0.001)
    assert by_id()["a100-sxm4-80gb"].mem_program_bytes / MIB == pytest.approx(81038, rel=0.001)


def test_an_unseen_chip_takes_its_memory_from_its_kind():
    assert memory_share("Apple", "soc", mem_bytes=64 * GIB).program == 0.81
    assert memory_share("Apple", "soc", mem_bytes=128 * GIB).program == 0.84
    assert memory_share("NVIDIA", "consumer", mem_bytes=8 * GIB).program < 0.96
    assert memory_share("Nobody", "datacenter", mem_bytes=80 * GIB).program < 1


def test_capability_is_a_pair_where_there_is_one():
    assert by_id()["rtx-4090"].compute_capability == (8, 9)
    assert by_id()["b200-sxm"].compute_capability == (10, 0)
    assert by_id()["mi300x"].compute_capability is None
    assert by_id()["apple-m2"].compute_capability is None


def test_a_bad_cell_names_file_line_and_column(tmp_path):
    table = tmp_path / "chips.csv"
    table.write_text("id,mem_gib\nfine,80\nbad,eighty\n", encoding="utf-8")
    with pytest.raises(DataError) as refused:
        read_rows(table, {"id": text, "mem_gib": scaled(GIB)})
    told = {"file": "chips.csv", "line": "3", "column": "mem_gib", "cell": "eighty"}
    assert values(refused.value.sentence) == told
