"""Tables that speed rests on, row by row: who is alike, wired how, runs what; each with its source."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors import processors
from rigright.arch.benched import benched
from rigright.arch.count import params
from rigright.arch.image_kinds import kind_of
from rigright.arch.sources.painters import painter
from rigright.base.tables import DATA, raw_rows, read_toml
from rigright.base.units import GIGA
from rigright.facts.chips import by_id, chips, classes
from rigright.facts.cpus import CHANNEL_BYTES, cpu_rates, cpus
from rigright.facts.engines import engines, engines_of, how_runs, runnings
from rigright.facts.fabrics import fabric_of, networks, wiring_of, wirings
from rigright.facts.formats import find_format
from rigright.facts.prices import dated

TODAY = date(2026, 11, 30)
SOURCED = ("networks", "chip_wiring", "fabrics", "engine_runs", "cpus_benched", "cpu_vectors",
           "arch/benched", "arch/denoisers", "drafted_runs")  # fmt: skip
listed = st.sampled_from(chips())


@pytest.mark.parametrize("table", SOURCED)
def test_every_row_says_where_it_is_from_and_since_when(table):
    rows = list(raw_rows(DATA / f"{table}.csv"))
    assert rows
    for line, row in rows:
        assert row["source"].strip(), (table, line)
        assert re.fullmatch(r"20\d\d(-\d\d(-\d\d)?)?", row["as_of"]), (table, line)
        assert dated(row["as_of"]) <= TODAY, (table, line)
        assert row.get("confidence", "high") in {"high", "med", "low"}, (table, line)


@pytest.mark.parametrize("table", [*SOURCED, "chip_classes", "arch/image_kinds"])
def test_tables_are_told_of_in_the_list_of_tables(table):
    assert f"{table}.csv" in read_toml(DATA / "about.toml")


@pytest.mark.parametrize("table", [*SOURCED, "chip_classes"])
def test_no_row_stands_twice_and_none_speaks_of_where_it_was_made(table):
    rows = [tuple(sorted(row.items())) for _, row in raw_rows(DATA / f"{table}.csv")]
    assert not [row for row, times in Counter(rows).items() if times > 1]
    for row in rows:
        words = " ".join(value for _, value in row if value)
        assert not re.search(r"(?<!\w)/(?:work|tmp|home)/|\bhelper\b", words), row


def test_every_chip_is_of_one_class_and_every_class_but_the_last_is_of_some_chip():
    known = (*chips(), *processors())
    of_class = Counter(chip.kind.id for chip in known)
    assert of_class.total() == len(known)
    assert set(of_class) == {one.id for one in classes()}
    last = classes()[-1]
    assert (last.vendor, last.architecture, last.segment) == (None, None, None), "the last holds all"
    assert of_class[last.id] < 0.2 * len(chips()), "few chips are like no other"


def test_no_row_of_classes_hides_behind_an_earlier_one():
    first = {chip.kind for chip in (*chips(), *processors())}
    assert first == set(classes())


def test_a_class_has_one_kin_and_no_name_is_both():
    kins = {}
    for one in classes():
        kins.setdefault(one.id, set()).add(one.kin)
    several = {name for name, found in kins.items() if len(found) > 1}
    assert several <= {"nvidia-old"}, "P100 reads HBM and its generation GDDR: alike in all but that"
    both = {one.id for one in classes()} & {one.kin for one in classes()}
    assert both <= {"amd-cdna", "amd-rdna", "other"}, "a class alone in its kin may bear its name"
    assert not both & set(by_id())


def test_class_and_kin_share_a_maker():
    """What is learnt of one maker's chips is not told of another's, but for small machines and the rest."""
    makers = {}
    for chip in chips():
        makers.setdefault(chip.kind.kin, set()).add(chip.vendor)
    for kin, found in makers.items():
        assert len(found) == 1 or kin in {"soc", "other"}, kin


@given(chip=listed, names=st.lists(st.sampled_from(["all", "kin", "class", "chip"]), unique=True))
def test_the_narrowest_word_about_a_chip_wins(chip, names):
    kind = chip.kind
    keys = {"all": "all", "kin": kind.kin, "class": kind.id, "chip": chip.id}
    tables = {
        keys[name]: {"term": name, name: 1.0} for name in ("all", "kin", "class", "chip") if name in names
    }
    found = chip.terms_in(tables)
    narrowest = next((name for name in ("chip", "class", "kin", "all") if name in names), None)
    if narrowest is None:
        assert found == {}
        return
    assert found["term"] == tables[keys[narrowest]]["term"]
    assert {name for name in found if name != "term"} == {
        next(iter(row.keys() - {"term"})) for row in tables.values()
    }


def test_networks_carry_what_is_stated_and_no_more_than_there_is():
    for network in networks().values():
        stated = re.search(r"(\d+(?:\.\d+)?)G\b", network.name)
        if stated:
            assert network.bytes_per_s == float(stated[1]) * GIGA / 8, network.id
        assert GIGA / 8 <= network.bytes_per_s <= 100 * GIGA
        assert network.kind in {"infiniband", "roce", "cloud", "ethernet"}


def test_rows_of_wiring_speak_of_chips_classes_kins_or_makers_that_are_there():
    segments = {chip.segment for chip in chips()}
    makers = {chip.vendor for chip in chips()}
    ids = {one.id for one in classes()} | {one.kin for one in classes()}
    for name in wirings():
        head, _, segment = name.rpartition(" ")
        assert name in by_id() or name in ids or (segment in segments and head in makers | ids), name


@given(chip=listed)
def test_the_wires_of_a_chip_are_slower_the_further_they_go(chip):
    """Inside a domain no slower than between domains, between domains no slower than a share of a port."""
    fabric = fabric_of(chip)
    assert fabric.domain <= fabric.box
    if fabric.kind in {"switch", "mesh", "bridge", "torus"}:
        assert fabric.bytes_per_s >= fabric.network_bytes_per_s * 0.9
    if fabric.kind == "switch":
        assert fabric.bytes_per_s > fabric.box_bytes_per_s
    assert fabric.network is networks()[wiring_of(chip).network]
    assert fabric.network_bytes_per_s <= fabric.network.bytes_per_s


@given(chip=listed, lanes=st.sampled_from([1, 2, 4, 8]))
def test_twice_the_lanes_carry_twice_as_much(chip, lanes):
    few, many = (fabric_of(chip, lanes=count) for count in (lanes, 2 * lanes))
    if few.box_id != "none":
        assert many.box_bytes_per_s == pytest.approx(2 * few.box_bytes_per_s)


def test_only_neighbours_of_a_mesh_are_joined_directly():
    """Eight V100 stand in a cube; sixteen only behind switches, of which this chip's row does not tell."""
    assert fabric_of(by_id()["v100-sxm2-32gb"]).domain == 8
    for chip in chips():
        if fabric_of(chip).kind == "mesh":
            assert 2 <= fabric_of(chip).domain <= 8, chip.id


@pytest.mark.parametrize("row", runnings(), ids=lambda row: f"{row.engine}-{row.vendor}-{row.formats[0]}")
def test_a_row_of_what_runs_is_about_things_that_are_there(row):
    assert row.engine in engines()
    known = (*chips(), *processors())
    assert row.vendor in {chip.vendor for chip in known}
    mine = [chip for chip in known if row.holds(chip)]
    assert mine
    for chip in mine:
        assert row.engine in engines_of(chip)
        for form in row.formats:
            if "*" not in form:
                assert how_runs(row.engine, form, chip=chip) in {"native", "16-bit"}
    for name in row.isa:
        assert any(chip.isa == name for chip in chips() if chip.vendor == row.vendor), name
    for name in row.architectures:
        assert any(chip.architecture == name for chip in chips()), name


def test_what_is_multiplied_as_it_is_has_a_rate_on_the_chip():
    """A row that says "native" for 8 or 4 bits holds only chips whose makers state such a rate."""
    rates = {"fp8": "fp8_flops_per_s", "fp8-block": "fp8_flops_per_s", "nvfp4": "fp4_flops_per_s"}
    for form, name in rates.items():
        for engine in ("vllm", "sglang", "tensorrt-llm"):
            native = [chip for chip in chips() if how_runs(engine, form, chip=chip) == "native"]
            lacking = [chip.id for chip in native if not getattr(chip, name)]
            assert len(lacking) <= 0.1 * len(native), (engine, form, lacking)


def test_formats_narrower_than_16_bit_are_run_by_somebody():
    told = {form for row in runnings() for form in row.formats if "*" not in form}
    for form in told:
        assert find_format(form).bits <= 32
        assert find_format(form).label


def test_processors_read_what_their_channels_carry_and_compute_what_their_cores_do():
    for cpu, rate in zip(cpus(), cpu_rates(), strict=False):
        assert rate.name == cpu.name
        if cpu.mem_channels and cpu.mem_transfers_per_s:
            assert rate.mem_bytes_per_s == cpu.mem_channels * cpu.mem_transfers_per_s * CHANNEL_BYTES
        assert rate.flops_per_s != 0
        per_cycle = rate.flops_per_s / cpu.cores / (cpu.base_hz or float("nan"))
        assert not per_cycle < 8, "an old core multiplies four numbers at once, and adds"
        assert not per_cycle > 128


def test_every_architecture_of_vectors_is_of_some_processor():
    told = {row["architecture"] for _, row in raw_rows(DATA / "cpu_vectors.csv")}
    own = {cpu.architecture for cpu in cpus()} | {
        row["architecture"]
        for name in ("cpus_benched.csv", "cpu_families.csv")
        for _, row in raw_rows(DATA / name)
    }
    assert told <= own, told - own


def test_networks_of_benchmarks_say_their_work_in_sensible_sizes():
    for _, row in raw_rows(DATA / "arch" / "benched.csv"):
        found = benched(f"NVIDIA {row['word']} v2")
        assert found is not None
        assert found.word in row["word"], "a longer word stands before the shorter it holds"
        assert found.gmacs > 0
        assert found.mactivs > 0
        assert found.kernels >= 1
        assert found.samples >= 1
        assert 1 < found.params_m < 20_000
        assert kind_of(found.kind).id == found.kind or found.kind in {"recurrent", "lookup", "bert", "ssd"}
    assert benched("a network nobody timed") is None


def test_a_word_for_a_kind_is_reached_and_kinds_have_one_kin():
    kins = {}
    for _, row in raw_rows(DATA / "arch" / "image_kinds.csv"):
        found = kind_of(row["word"])
        assert (found.id, found.kin) == (row["kind"], row["kin"]), (
            f"{row['word']} is hidden by a word before it"
        )
        assert kins.setdefault(row["kind"], row["kin"]) == row["kin"]
    assert kind_of("").id == kind_of("never seen").id == "other"


@pytest.mark.parametrize(
    ("name", "steps", "passes", "px"),
    [
        ("stabilityai/stable-diffusion-xl-base-1.0#unet", 30, 2, 1024),
        ("stable-diffusion-v1-5/stable-diffusion-v1-5#unet", 50, 2, 512),
    ],
)
def test_generators_are_run_as_their_makers_show(name, steps, passes, px):
    found = painter(name)
    assert (found.net.steps, found.net.passes, found.width_px) == (steps, passes, px)
    assert found.text_params > 100e6
    larger = painter(name, sides=(2 * px, 2 * px))
    assert params(larger.arch) == params(found.arch), "weights do not grow with the picture"
