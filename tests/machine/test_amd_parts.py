"""AMD's cards that are cut into parts, and what the driver counts of their errors."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_pasted_vendors import TABLE

from rigright.base.units import GIB
from rigright.doctor.advice import advised_step
from rigright.doctor.gpus import bad_pages_line
from rigright.machine.amd.answers import documents, read_answers, whole_cards
from rigright.machine.amd.kernel import bad_pages_of, ecc_of, topology
from rigright.machine.bundle import write_bundle
from rigright.machine.device import Device, Program
from rigright.machine.opened import open_machine, read_machine
from rigright.machine.vendors import amd
from rigright.machine.world import World
from rigright.verbs.seen.node import node_of

VRAM = 206141652992
NODES = "sys/class/kfd/kfd/topology/nodes"
OLDER, NEWER = "function", "above"  # where a kernel puts the number of the part


def put(root, files):
    for path, text in files.items():
        at = root / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text, encoding="utf-8")


def located(bus, part, kernel):
    """The number of a part's place as kernels before and after 6.10 write it."""
    return bus << 8 | (part if kernel == OLDER else part << 28)


def mi300x(root, *, cards=2, parts=8, mode="CPX", memory="NPS4", kernel=OLDER, banks=True):
    """Cards as amdgpu shows them, with nodes of KFD for each part and links among all of them."""
    (root / "sys/class/drm").mkdir(parents=True)
    numbers = range(2, 2 + cards * parts)
    for card in range(cards):
        bus = 5 + 0x10 * card
        real = f"sys/devices/pci0000:00/0000:{bus:02x}:00.0"
        put(
            root,
            {
                f"{real}/vendor": "0x1002\n",
                f"{real}/device": "0x74a1\n",
                f"{real}/unique_id": f"e3a8a0e7c9f1a{card:03x}\n",
                f"{real}/mem_info_vram_total": f"{VRAM}\n",
                f"{real}/mem_info_vram_used": "297771008\n",
                f"{real}/current_compute_partition": f"{mode}\n",
                f"{real}/current_memory_partition": f"{memory}\n",
            },
        )
        for place in range(parts):  # the first is the card itself, the others hang on no bus
            drm = root / f"sys/class/drm/card{card * parts + place}"
            drm.mkdir()
            if place == 0:
                (drm / "device").symlink_to(root / real)
        bdf = root / f"sys/bus/pci/devices/0000:{bus:02x}:00.0"
        bdf.parent.mkdir(parents=True, exist_ok=True)
        bdf.symlink_to(root / real)
        for part in range(parts):
            number = 2 + card * parts + part
            node = f"{NODES}/{number}"
            put(
                root,
                {
                    f"{node}/properties": f"cpu_cores_count 0\nsimd_count {1216 // parts}\nsimd_per_cu 4\n"
                    f"gfx_target_version 90402\nlocation_id {located(bus, part, kernel)}\ndomain 0\n"
                    "max_engine_clk_fcompute 2100\nnum_xcc 1\n",
                    **{
                        f"{node}/io_links/{other}/properties": f"type 11\nnode_to {other}\n"
                        for other in numbers
                        if other != number
                    },
                },
            )
            if banks:
                put(root, {f"{node}/mem_banks/0/properties": f"heap_type 1\nsize_in_bytes {VRAM // parts}\n"})
    return World(root=root)


@pytest.mark.parametrize("kernel", [OLDER, NEWER])
@pytest.mark.parametrize("banks", [True, False])
def test_a_card_in_eight_parts_is_one_card(tmp_path, kernel, banks):
    fields = amd.read(mi300x(tmp_path, kernel=kernel, banks=banks)).fields
    first, second = fields["devices"]
    assert (first.pci, second.pci) == ("0000:05:00.0", "0000:15:00.0")
    assert (first.sms, first.mem_total_bytes) == (304, VRAM)
    assert [one.gpu_instance for one in first.slices] == list(range(8))
    assert {(one.profile, one.mem_total_bytes) for one in first.slices} == {("CPX/NPS4", VRAM / 8)}
    assert [(one.a, one.b) for one in fields["paths"]] == [(0, 1)]


def test_a_card_in_one_piece_has_no_parts(tmp_path):
    (card,) = amd.read(mi300x(tmp_path, cards=1, parts=1, mode="SPX", memory="NPS1")).fields["devices"]
    assert (card.sms, card.slices) == (304, ())


def test_a_container_with_some_of_the_parts_tells_of_those(tmp_path):
    world = mi300x(tmp_path, cards=1)
    for hidden in range(4, 10):  # a node that the container may not use reads as nothing
        (tmp_path / NODES / str(hidden) / "properties").write_text("", encoding="utf-8")
    (card,) = amd.read(world).fields["devices"]
    assert len(card.slices) == 2
    assert {one.mem_total_bytes for one in card.slices} == {VRAM / 8}
    assert card.sms is None  # of the card as a whole nothing is known


def test_a_part_never_takes_the_node_of_a_card_beside_it(tmp_path):
    world = mi300x(tmp_path, cards=1, parts=2, mode="DPX", memory="NPS1")
    both = frozenset({"0000:05:00.0", "0000:05:00.1"})
    assert [len(topology(world).of(pci, both)) for pci in sorted(both)] == [1, 1]
    assert len(topology(world).of("0000:05:00.0", frozenset({"0000:05:00.0"}))) == 2


def listed(cards=2, parts=8, *, each=VRAM, units=38, function=True, asked="static"):
    """What amd-smi tells of parts: the first of each card in full, of the others N/A for much."""
    found = []
    for number in range(cards * parts):
        card, part = divmod(number, parts)
        primary = part == 0
        one = {
            "gpu": number,
            "bus": {"bdf": f"0000:{5 + 0x10 * card:02x}:00.{part if function else 0}"},
            "partition": {
                "accelerator_partition": "CPX" if primary else "N/A",
                "memory_partition": "NPS4" if primary else "N/A",
                "partition_id": part,
            },
        }
        if primary or each < VRAM:
            one["asic"] = {
                "market_name": "AMD Instinct MI300X",
                "device_id": "0x74a1",
                "num_compute_units": units,
                "target_graphics_version": "gfx942",
            }
            one["vram"] = {"size": {"value": int(each / 2**20), "unit": "MB"}}
        found.append(one)
    if asked == "process":
        return [
            {"gpu": one["gpu"], "process_list": [{"process_info": {"pid": 100 + one["gpu"], "name": "x"}}]}
            for one in found
        ]
    return found


@pytest.mark.parametrize("function", [True, False])
@pytest.mark.parametrize(("each", "units"), [(VRAM, 304), (VRAM / 8, 38)])
def test_the_tools_parts_are_put_together(each, units, function):
    """Some versions tell of each part what the card has, others what the part has."""
    static = {"gpu_data": listed(each=each, units=units, function=function)}
    devices = dict(read_answers(static, listed(asked="process")).fields)["devices"]
    assert [one.index for one in devices] == [0, 1]
    first, second = devices
    assert first.sms == 304
    assert first.mem_total_bytes == pytest.approx(VRAM, rel=0.001)
    assert [part.profile for part in first.slices] == ["CPX/NPS4"] * 8
    assert sum(part.mem_total_bytes for part in first.slices) == first.mem_total_bytes
    assert [one.pid for one in second.programs] == list(range(108, 116))


def test_ways_between_parts_are_ways_between_cards():
    links = [
        {
            "gpu": number,
            "bdf": f"0000:{5 + 0x10 * (number // 2):02x}:00.{number % 2}",
            "links": [{"gpu": other, "link_type": "XGMI"} for other in range(4)],
        }
        for number in range(4)
    ]
    read = dict(read_answers(links).fields)
    assert [(one.a, one.b, one.kind) for one in read["paths"]] == [(0, 1, "XGMI")]


@given(
    st.lists(
        st.builds(
            Device,
            index=st.integers(0, 20),
            vendor=st.just("amd"),
            pci=st.none()
            | st.sampled_from([f"0000:0{bus}:00.{part}" for bus in range(3) for part in range(3)]),
            mem_total_bytes=st.none() | st.floats(0, 1e12),
            sms=st.none() | st.integers(0, 400),
            isa=st.sampled_from([None, "gfx942", "gfx1250"]),
            programs=st.none() | st.just((Program(pid=1),)),
        ),
        max_size=8,
        unique_by=lambda one: one.index,
    )
)
def test_no_listing_loses_a_part(devices):
    cards, places = whole_cards(devices)
    assert places.keys() == {one.index for one in devices}
    assert [one.index for one in cards] == list(range(len(cards)))
    assert sum(len(one.slices) or 1 for one in cards) == len(devices)


def test_each_part_is_a_card_to_plan_with(tmp_path):
    devices = amd.read(mi300x(tmp_path)).fields["devices"]
    saved = tmp_path / "static.json"
    saved.write_text(json.dumps(listed()), encoding="utf-8")
    machine = open_machine(saved)
    assert len(machine.devices) == len(devices) == 2
    node = node_of(machine)
    assert len(node.cards) == 16
    one = node.cards[3]
    assert one.chip.name == "Instinct MI300X CPX/NPS4"
    assert 23 * GIB < one.chip.mem_usable_bytes < 25 * GIB
    whole = one.chip.link_both_ways_bytes_per_s * 8
    assert whole == pytest.approx(896e9, rel=0.1)  # seven links of 128 GB/s
    assert any("partitioned" in note.text for note in node.notes)


def test_parts_whose_memory_nobody_tells_have_equal_shares():
    cards = node_of(read_machine(TABLE.encode(), name="pasted")).cards
    assert len(cards) == 4
    assert {round(one.chip.mem_usable_bytes / GIB) for one in cards} == {96}


RAS = {
    "umc_err_count": "ue: 1\nce: 12\nde: 3\n",
    "gfx_err_count": "ue: 2\nce: 0\nde: 0\n",
    "sdma_err_count": "ue: 0\nce: 5\n",
    "features": "feature mask: 0x00000b6f\n",
}


def test_every_block_that_counts_errors_is_counted(tmp_path):
    put(tmp_path, {f"card/ras/{name}": text for name, text in RAS.items()})
    ecc = ecc_of(World(root=tmp_path), "/card")
    assert (ecc.corrected_volatile, ecc.uncorrected_volatile, ecc.deferred_volatile) == (17, 3, 3)


def test_without_counts_nothing_is_said_of_errors(tmp_path):
    put(tmp_path, {"card/ras/features": RAS["features"]})
    world = World(root=tmp_path)
    assert ecc_of(world, "/card") is None
    assert ecc_of(world, "/nowhere") is None
    assert bad_pages_of(world, "/card") is None


PAGES = "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n0x1a2b3c4d5e : 0x00001000 : F\n"


@pytest.mark.parametrize(
    ("text", "counts"),
    [(PAGES, (3, 1, 1)), ("", (0, 0, 0)), ("no such thing\n0x1 : 0x1000 : Q\n", (0, 0, 0))],
)
def test_bad_pages_of_the_kernel(tmp_path, text, counts):
    put(tmp_path, {"card/ras/gpu_vram_bad_pages": text})
    found = bad_pages_of(World(root=tmp_path), "/card")
    assert (found.pages_bad, found.pages_waiting, found.pages_stuck) == counts


@pytest.mark.parametrize(
    ("retired", "pending", "counts"),
    [
        ("No bad pages found.", "No bad pages found.", (0, 0)),
        ([{"page_address": 1, "page_size": 4096, "status": "RESERVED"}] * 3, "No bad pages found.", (3, 0)),
        (
            {"page_address": 1, "page_size": 4096, "status": "RESERVED"},
            [{"page_address": 2, "page_size": 4096, "status": "PENDING"}] * 2,
            (3, 2),
        ),
        ("N/A", "N/A", (None, None)),
    ],
)
def test_bad_pages_of_amd_smi(retired, pending, counts):
    text = json.dumps([{"gpu": 0, "retired": retired, "pending": pending, "un_res": "No bad pages found."}])
    (card,) = dict(read_answers(*documents(text)).fields)["devices"]
    pages = card.retired
    assert (pages and pages.pages_bad, pages and pages.pages_waiting) == counts


@pytest.mark.parametrize(("parts", "told"), [(8, "0000:15:00.0"), (1, "1")])
def test_a_step_never_means_a_part_of_another_card(tmp_path, parts, told):
    """amd-smi counts parts: its number 1 would be the second part of the first card."""
    mode = {"mode": "CPX"} if parts > 1 else {"mode": "SPX", "memory": "NPS1"}
    _, second = amd.read(mi300x(tmp_path, parts=parts, **mode)).fields["devices"]
    assert advised_step("reset", device=second).command == f"amd-smi reset --gpureset -g {told}"
    assert bad_pages_line(second) == f"amd-smi bad-pages -g {told}"


def test_a_bundle_tells_no_number_that_only_this_card_bears(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    world = mi300x(root)
    node = root / NODES / "2" / "properties"
    numbers = "hive_id 15188982192727901047\nunique_id 16404946649897475633\n"
    node.write_text(node.read_text(encoding="utf-8") + numbers, encoding="utf-8")
    file = tmp_path / "machine.tar.gz"
    write_bundle(world, file, version="1.2.3")
    told = gzip.decompress(file.read_bytes())
    for private in (b"15188982192727901047", b"16404946649897475633", b"e3a8a0e7c9f1a000"):
        assert private not in told
    assert [len(card.slices) for card in open_machine(file).devices] == [8, 8]
