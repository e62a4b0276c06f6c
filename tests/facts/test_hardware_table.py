"""Tables of links, parts, processors, benchmarks: physics holds, and rows that point to rows find them."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest

from rigright.base.tables import DATA, raw_rows
from rigright.base.units import GIB, GIGA
from rigright.build.change import part_usd
from rigright.doctor import laws
from rigright.doctor.examine import checks
from rigright.doctor.record import CheckInput
from rigright.doctor.reference import compare_all
from rigright.facts.bench import expectations, expected, references
from rigright.facts.chips import by_id, chips, features
from rigright.facts.cpus import cpu_named, cpus
from rigright.facts.fabrics import link_count, pcie_bytes_per_s, pcie_raw_bytes_per_s
from rigright.facts.parts import parts
from rigright.machine.bench.record import Result
from rigright.machine.bench.table import PARTS
from rigright.machine.bench.tool_logs import TITLES
from rigright.machine.device import Device
from rigright.machine.record import Machine

KINDS = ("nvme", "sata", "memory", "nic", "psu", "cooling", "riser", "sync")
LINKS = {  # data sheets: links to others of a chip
    "tesla-p100-sxm2": 4, "v100-sxm2-32gb": 6, "a100-sxm4-80gb": 12, "h100-sxm5-80gb": 18,
    "h200-sxm-141gb": 18, "b200-sxm": 18, "gb200": 18, "rtx-3090": 4, "rtx-4090": 0, "rtx-5090": 0,
    "rtx-6000-ada": 0, "mi300x": 7,
}  # fmt: skip


def table(name):
    return [row for _, row in raw_rows(DATA / name)]


# what benchmarks should reach


@pytest.mark.parametrize("row", expectations(), ids=lambda row: f"{row.part}-{row.what}-{row.kind}")
def test_an_expectation(row):
    assert row.part in PARTS | TITLES
    assert row.share is None or 0.3 <= row.share < 1
    assert row.floor is None or row.floor > 0
    assert (row.share is None) != (row.floor is None), "a share of a law, or a floor"
    assert (row.law is None) == (row.floor is not None or "kept" in row.what), "a floor needs no law"
    assert set(row.checks) <= set(checks())
    assert row.checks, "where to look when it is less"
    assert set(row.references) <= {one.what for one in references()}
    assert row.kind in {None, "nvme", "ssd", "hdd"}
    if "estimate" in row.source:
        assert row.confidence != "high"


def test_no_law_is_missing_and_none_is_idle():
    used = {row.law for row in expectations() if row.law}
    assert used == set(laws._LAWS), "each law of the table has its formula, and each formula its row"


def test_an_expectation_is_reachable():
    """No row stands behind one that takes all of its figures."""
    for place, row in enumerate(expectations()):
        sample = row.what.replace("*", f"{row.from_mib:g} MiB" if row.from_mib else "x")
        assert expected(row.part, sample, kind=row.kind) == row, (row.part, row.what)
        assert place >= 0


def healthy():
    """(part, what, reference): figures that healthy cards of the tables were measured at."""
    for row in expectations():
        if row.law and row.law.startswith("gemm"):
            for one in references():
                if one.what in row.references and one.kind == "measured" and one.chip in by_id():
                    yield row.part, row.what, one


@pytest.mark.parametrize(
    ("part", "what", "one"), list(healthy()), ids=lambda told: getattr(told, "on", str(told))
)
def test_a_healthy_card_is_never_blamed_and_half_of_it_is(part, what, one):
    """What a chip was measured at is expected of it, whatever the data sheet says."""
    chip = by_id()[one.chip]
    devices = (Device(index=0, vendor=chip.vendor.lower(), name=chip.name, isa=chip.isa),)
    case = CheckInput(machine=Machine(devices=devices), chips=(chip,))
    seen = Result(
        part=part,
        what=what,
        on="gpu 0",
        value=one.value,
        unit=one.unit,
        low=one.value,
        high=one.value,
        repeats=9,
    )
    assert compare_all([seen], case)[0].verdict == "expected"
    half = replace(seen, value=one.value / 2, low=one.value / 2, high=one.value / 2)
    assert compare_all([half], case)[0].verdict == "slow"


def test_faster_disks_are_asked_for_more():
    for what in {row.what for row in expectations() if row.part == "disk" and row.floor}:
        floors = {row.kind: row.floor for row in expectations() if row.part == "disk" and row.what == what}
        assert floors["nvme"] >= floors["ssd"] > floors["hdd"]


def test_a_figure_nobody_expects_anything_of():
    assert expected("gemm", "no such format") is None
    assert expected("disk", "random read 4 KiB", kind=None) is None


def test_references_of_the_list(shared):
    with (shared / "facts" / "bench_reference.csv").open(encoding="utf-8") as file:
        theirs = [row for row in csv.DictReader(file) if row["unit"] in {"GB/s", "TFLOP/s"}]
    scale = {"GB/s": GIGA, "TFLOP/s": 1e12}
    ours = [(one.what, one.value) for one in references()]
    missing = [
        (row["what"], row["value"])
        for row in theirs
        if not any(
            what == row["what"]
            and math.isclose(value, float(row["value"]) * scale[row["unit"]], rel_tol=1e-6)
            for what, value in ours
        )
    ]
    assert len(theirs) > 60
    assert missing == []


# links


@pytest.mark.parametrize(("chip", "count"), LINKS.items())
def test_links_of_a_chip_are_those_of_its_data_sheet(chip, count):
    assert link_count(by_id()[chip]) == count


def test_every_rate_is_of_some_chip_and_the_first_that_fits_is_the_right_one():
    words = [row["word"] for row in table("link_rates.csv")]
    for word in words:
        users = [chip for chip in chips() if word in (chip.link or "")]
        first = [chip for chip in users if next(one for one in words if one in chip.link) == word]
        assert first, f"{word} is shadowed by a row before it"
        for chip in first:
            count = link_count(chip)
            assert count is None or 1 <= count <= 36, chip.id


def test_newer_links_are_no_slower():
    rates = {row["word"]: float(row["link_gb_per_s"]) for row in table("link_rates.csv")}
    assert rates["NVLink1"] <= rates["NVLink2"] <= rates["NVLink3"] <= rates["NVLink4"] <= rates["NVLink5"]


@pytest.mark.parametrize("gen", range(1, 7))
def test_pcie_doubles_and_encoding_only_takes(gen):
    assert pcie_bytes_per_s(gen, 16) < pcie_raw_bytes_per_s(gen, 16)
    assert pcie_bytes_per_s(gen, 16) == pytest.approx(16 * pcie_bytes_per_s(gen, 1))
    if gen > 1:
        assert 1.8 < pcie_bytes_per_s(gen, 4) / pcie_bytes_per_s(gen - 1, 4) < 2.1
    assert pcie_raw_bytes_per_s(4, 16) == 32 * GIGA


# parts, disks, networks, processors


@pytest.mark.parametrize("part", [part for kind in KINDS for part in parts(kind)], ids=lambda part: part.id)
def test_a_part(part):
    if part.kind == "memory":
        assert (part.usd_low, part.usd_high) == (None, None), "memory is priced by the GB"
        assert 0 < part_usd(part).low < part_usd(part, 2).low
        return
    assert 0 < part.usd_low < part.usd_high <= 5 * part.usd_low, (
        "a price is a range, and no guess at all is wider"
    )
    assert part.id.startswith(("nvme-", "sata-", "ddr", "nic-", "psu-", "fans", "riser-"))
    if part.needs_gen and part.rate:
        assert part.needs_gen in {3, 4, 5, 6}
        assert part.needs_lanes in {1, 2, 4, 8, 16}
        assert part.rate <= pcie_bytes_per_s(part.needs_gen, part.needs_lanes), "its slot carries it"
    if part.kind == "memory":
        assert part.rate == int(re.search(r"(\d+) GB", part.name)[1]) * GIB
    if part.kind == "nic":
        assert part.rate == int(re.search(r"(\d+) Gb", part.name)[1]) * GIGA / 8
    if part.kind == "psu":
        assert part.rate == float(re.search(r"(\d+) W", part.name)[1])
    if part.power_w:
        assert 1 <= part.power_w <= 40


def test_every_kind_of_part_is_asked_for():
    assert {row["kind"] for row in table("parts.csv")} == set(KINDS)
    assert len({row["id"] for row in table("parts.csv")}) == len(table("parts.csv"))
    for kind in ("nvme", "nic"):
        rated = [(part.rate, part.usd_low) for part in parts(kind) if "2 TB" not in part.name]
        assert sorted(rated) == sorted(rated, key=lambda pair: pair[1]), "faster costs more"


@pytest.mark.parametrize("row", table("networks.csv"), ids=lambda row: row["id"])
def test_a_network(row):
    assert float(row["gbit_per_s"]) in {1, 2.5, 5, 10, 25, 40, 50, 56, 80, 100, 200, 400, 800, 1600}
    assert row["kind"] in {"infiniband", "roce", "ethernet", "cloud"}
    figure = re.search(r"(\d+(?:\.\d+)?) ?G", row["name"])
    assert figure is None or float(figure[1]) == float(row["gbit_per_s"])


@pytest.mark.parametrize("row", table("arm_cores.csv"), ids=lambda row: row["name"])
def test_an_arm_core(row):
    assert re.fullmatch(r"0x[0-9a-f]{2}", row["implementer"])
    assert re.fullmatch(r"0x[0-9a-f]{3}", row["part"])
    makers = {"0x41": "Arm ", "0x61": "Apple ", "0xc0": "Ampere"}
    assert row["name"].startswith(makers[row["implementer"]])


def test_vector_rates_are_of_processors_that_are_there():
    known = {
        row["architecture"]
        for name in ("cpus.csv", "cpus_benched.csv", "cpu_families.csv")
        for row in table(name)
    }
    for row in table("cpu_vectors.csv"):
        assert int(row["fp32_flops_per_cycle"]) in {8, 16, 32, 64}
        assert row["architecture"] in known, row["architecture"]


def test_cores_of_a_multiprocessor_give_the_cores_of_chips():
    per_sm = {row["isa"]: int(row["cores_per_sm"]) for row in table("sm_cores.csv")}
    compared = 0
    for chip in chips():
        if chip.vendor == "NVIDIA" and chip.sms and chip.cores and chip.isa in per_sm:
            assert chip.cores in {chip.sms * per_sm[chip.isa], chip.sms * per_sm[chip.isa] * chip.devices}, (
                chip.id
            )
            compared += 1
    assert compared > 80


def test_every_compute_capability_of_a_chip_has_its_cores_and_features():
    per_sm = {row["isa"] for row in table("sm_cores.csv")}
    featured = {isa for one in features() for isa in one.isa}
    for chip in chips():
        if chip.compute_capability:
            assert chip.isa in per_sm, chip.id
            assert chip.isa in featured or chip.compute_capability < (5, 0), chip.id


@pytest.mark.parametrize("cpu", cpus(), ids=lambda cpu: cpu.id)
def test_a_processor_is_known_by_what_its_machine_calls_it(cpu):
    """As /proc/cpuinfo writes names: marks, clocks and counts of cores around them."""
    maker, _, rest = cpu.name.partition(" ")
    forms = {
        cpu.name,
        f"{maker}(R) {rest} CPU @ 2.40GHz" if maker == "Intel" else f"{cpu.name} {cpu.cores}-Core Processor",
        f"  {cpu.name.upper()}  ",
    }
    for form in forms:
        found = cpu_named(form)
        assert found is not None, form
        assert found.name == cpu.name or found.id == cpu.id, (form, found.id)


@pytest.mark.parametrize(
    "name", [None, "", "Processor", "Intel(R) Xeon(R) CPU", "AMD EPYC", "x" * 5000, "四核"]
)
def test_a_name_that_means_no_processor(name):
    assert cpu_named(name) is None


def test_patterns_of_expectations_are_of_the_shell():
    assert fnmatchcase("sequential read 1 MiB", "sequential read*")
    assert all(row.what.count("*") <= 1 for row in expectations())
