"""The finder of loose names: what people, drivers, clouds and benchmark tables write."""

from __future__ import annotations

import csv
import json
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigright.base.errors import AskError, RigError
from rigright.base.loader import rows
from rigright.base.units import GIB, MIB, to_gib
from rigright.facts.bench import references
from rigright.facts.chips import by_id, chips
from rigright.facts.find import find_chip, find_chips, match_chip
from rigright.facts.naming import MAX_NAME_CHARS
from rigright.facts.nodes import find_node
from spoken import values

CLEAR = {
    "魔改2080ti 22g": "rtx-2080-ti-22gb",
    "涡轮4090 48g": "rtx-4090-48gb",
    "Vera Rubin NVL144": "r200",
    "VR200": "r200",
    "Instinct MI455X": "mi455x",
    "昇腾 950PR": "ascend-950pr",
    "trn3": "trainium3",
    "trainium 2": "trainium2",
    "M5 Ultra 96GB": "apple-m5-ultra-64c",
    "mac studio m5 ultra 256gb": "apple-m5-ultra-80c",
    "摩尔线程 S5000": "mtt-s5000",
    "昆仑芯P800": "kunlun-p800",
    "Tenstorrent n300d": "wormhole-n300",
    "RX 9060": "rx-9060",
    "RTX 4090D 48GB": "rtx-4090-d-48gb",
    "4090": "rtx-4090",
    "rtx4090": "rtx-4090",
    "RTX 4090": "rtx-4090",
    "2x RTX 4090": "rtx-4090",
    "4070 ti super": "rtx-4070-ti-super",
    "3090ti": "rtx-3090-ti",
    "a100 40g pcie": "a100-pcie-40gb",
    "6000 ada": "rtx-6000-ada",
    "RTX6000Ada": "rtx-6000-ada",
    "a6000": "rtx-a6000",
    "rtx pro 6000 server": "rtx-pro-6000-blackwell-server",
    "rtx-pro-server-6000": "rtx-pro-6000-blackwell-server",
    "rtx pro 6000 max-q": "rtx-pro-6000-blackwell-maxq",
    "M3 Max 64GB": "apple-m3-max-40c",
    "m3 max 36g": "apple-m3-max-30c",
    "m4 pro 24gb": "apple-m4-pro",
    "NVIDIA H100 80GB HBM3": "h100-sxm5-80gb",
    "NVIDIA H100 PCIe": "h100-pcie-80gb",
    "NVIDIA H100 NVL": "h100-nvl-94gb",
    "NVIDIA H200": "h200-sxm-141gb",
    "NVIDIA H200 NVL": "h200-nvl-141gb",
    "NVIDIA B200": "b200-sxm",
    "NVIDIA B300 SXM6 AC": "b300-sxm",
    "NVIDIA GB200": "gb200",
    "NVIDIA GB10": "dgx-spark-gb10",
    "Tesla T4": "t4",
    "Tesla V100-SXM2-32GB": "v100-sxm2-32gb",
    "Tesla V100-PCIE-16GB": "v100-pcie-16gb",
    "Tesla P100-PCIE-16GB": "tesla-p100-pcie-16gb",
    "NVIDIA A100-SXM4-80GB": "a100-sxm4-80gb",
    "NVIDIA A100 80GB PCIe": "a100-pcie-80gb",
    "NVIDIA A100-PCIE-40GB": "a100-pcie-40gb",
    "NVIDIA GeForce RTX 4090 Laptop GPU": "rtx-4090-laptop",
    "NVIDIA RTX 6000 Ada Generation": "rtx-6000-ada",
    "NVIDIA RTX 4000 SFF Ada Generation": "rtx-4000-sff-ada",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "rtx-pro-6000-blackwell-ws",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": "rtx-pro-6000-blackwell-maxq",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "rtx-pro-6000-blackwell-server",
    "Quadro RTX 8000": "quadro-rtx-8000",
    "NVIDIA TITAN RTX": "titan-rtx",
    "AMD Instinct MI300X": "mi300x",
    "AMD Instinct MI300X OAM": "mi300x",
    "AMD Radeon RX 7900 XTX": "rx-7900-xtx",
    "7900xtx": "rx-7900-xtx",
    "gfx1151": "strix-halo-8060s",
    "gfx90a mi210": "mi210",
    "Apple M2 Ultra 192GB 76c": "apple-m2-ultra",
    "nvidia-l4": "l4",
    "nvidia-tesla-t4": "t4",
    "A10G": "a10g",
    "Trainium2": "trainium2",
    "TPU v5e": "tpu-v5e",
    "gaudi 3": "gaudi3",
    "4090显卡": "rtx-4090",
    "两张4090": "rtx-4090",
    "8卡H100 PCIe": "h100-pcie-80gb",
    "英伟达 A100 80G SXM": "a100-sxm4-80gb",
    "苹果 M4 Max 128GB": "apple-m4-max-40c",
    "RTX 4090 笔记本": "rtx-4090-laptop",
    "昇腾910B": "ascend-910b",
    "ＲＴＸ　４０９０": "rtx-4090",
    "10de:2330": "h100-sxm5-80gb",
    "GA100 [A100 SXM4 80GB] [10de:20b2] (rev a1)": "a100-sxm4-80gb",
    "Arcturus GL-XL [Instinct MI100]": "mi100",
    "RTX 4090 48GB": "rtx-4090-48gb",
    "NVIDIA® GeForce RTX™ 4090": "rtx-4090",
    "Intel(R) Arc(TM) A770 Graphics": "arc-a770-16gb",
    "Mac Studio M3 Ultra 512GB": "apple-m3-ultra",
    "ASUS RTX 4070 Ti Super OC": "rtx-4070-ti-super",
    "技嘉 4090 公版": "rtx-4090",
    "a2-highgpu": "a100-sxm4-40gb",
    "a2-ultragpu": "a100-sxm4-80gb",
    "a3-highgpu": "h100-sxm5-80gb",
    "g6e": "l40s",
    "p4de": "a100-sxm4-80gb",
    "2080ti 22g": "rtx-2080-ti-22gb",
    "NVIDIA RTX 5880 Ada Generation": "rtx-5880-ada",
    "NVIDIA L2": "l2",
    "NVIDIA A100X": "a100x",
    "NVIDIA H800 NVL": "h800-nvl-94gb",
    "NVIDIA H800 PCIe": "h800-pcie-80gb",
    "NVIDIA A800 40GB Active": "a800-40gb-active",
    "NVIDIA A100-SXM-64GB": "a100-sxm4-64gb",
    "H100 64GB": "h100-sxm5-64gb",
    "H100 96GB": "h100-sxm5-96gb",
    "Tesla V100-FHHL-16GB": "v100-fhhl-16gb",
    "Tesla P100-PCIE-12GB": "tesla-p100-pcie-12gb",
    "NVIDIA GeForce GTX 1650": "gtx-1650",
    "gtx 1650 super": "gtx-1650-super",
    "NVIDIA GeForce GTX 1660": "gtx-1660",
    "NVIDIA GeForce GTX 1660 Ti": "gtx-1660-ti",
    "NVIDIA GeForce GTX TITAN X": "gtx-titan-x",
    "NVIDIA TITAN X (Pascal)": "titan-x-pascal",
    "GP102 [TITAN X] [10de:1b00]": "titan-x-pascal",
    "Tesla K20Xm": "tesla-k20x",
    "Tesla K20m": "tesla-k20",
    "2x Tesla K40c": "tesla-k40",
    "Tesla M60": "tesla-m60",
    "Quadro P5000": "quadro-p5000",
    "NVIDIA Quadro GV100": "quadro-gv100",
    "980ti": "gtx-980-ti",
    "GTX 970": "gtx-970",
    "A100 x 8": "a100-sxm4-80gb",
}
USUAL = {  # resolved by convention, with a note
    "h100": "h100-sxm5-80gb",
    "H100 80GB": "h100-sxm5-80gb",
    "nvidia-h100-80gb": "h100-sxm5-80gb",
    "a100": "a100-sxm4-80gb",
    "A100 40GB": "a100-sxm4-40gb",
    "NVIDIA_TESLA_A100": "a100-sxm4-40gb",
    "a100 pcie": "a100-pcie-80gb",
    "v100": "v100-sxm2-16gb",
    "3080": "rtx-3080-10gb",
    "rtx pro 6000": "rtx-pro-6000-blackwell-ws",
    "M3 Max": "apple-m3-max-40c",
    "NVIDIA GH200 480GB": "gh200-96gb",
    "4060 ti": "rtx-4060-ti-8gb",
}
UNCLEAR = {
    "RTX 6000": {"Quadro RTX 6000", "RTX 6000 Ada", "RTX PRO 6000"},
    "gfx942": {"MI300A", "MI300X", "MI325X"},
    "titan": {"TITAN RTX", "TITAN V"},
    "titan x": {"GTX TITAN X", "TITAN X (Pascal)"},
    "NVIDIA GeForce RTX 4080 ...": {"RTX 4080 ", "4080 SUPER"},
    "GeForce GTX 166...": {"1660 SUPER", "1660 Ti"},
}
WRONG = {
    "rtx 4095": "4090",
    "rtx 4": "4090",
    "h1000": "H100",
    "a100 48gb": "A100 SXM4 80GB",
    "rtx 4080 24gb": "RTX 4080 (16 GB)",
    "mi300z": "MI300",
    "m3 maxx": "M3 Max",
    "8x A100 HDR": "A100 SXM4 80GB",
}


@pytest.mark.parametrize(("text", "chip"), CLEAR.items())
def test_a_clear_name_resolves(text, chip):
    assert match_chip(text).chip.id == chip


@pytest.mark.parametrize(("text", "chip"), USUAL.items())
def test_the_usual_one_is_taken_with_a_note(text, chip):
    match = match_chip(text)
    assert match.chip.id == chip
    if text != "NVIDIA_TESLA_A100":  # one cloud's own word for the 40 GB card
        assert match.note is not None


@pytest.mark.parametrize(("text", "names"), UNCLEAR.items())
def test_an_unclear_name_lists_what_it_could_mean(text, names):
    with pytest.raises(AskError) as caught:
        match_chip(text)
    assert all(name in str(caught.value) for name in names)


@pytest.mark.parametrize(("text", "near"), WRONG.items())
def test_a_wrong_name_suggests_the_nearest(text, near):
    with pytest.raises(AskError) as caught:
        match_chip(text)
    assert near in str(caught.value.hint)


@pytest.mark.parametrize("chip", chips(), ids=lambda chip: chip.id)
def test_every_chip_answers_to_its_own_names(chip):
    for text in (
        chip.id,
        chip.id.replace("-", " "),
        chip.name,
        f"{chip.vendor} {chip.name}",
        chip.id.upper(),
    ):
        assert match_chip(text).chip.id == chip.id


def test_pci_ids_name_their_chip_or_list_those_that_share_it():
    for chip in chips():
        for pci_id in chip.pci_ids:
            assert chip in find_chips(pci_id)


def test_total_memory_tells_apart_what_shares_a_name():
    assert match_chip("10de:1e30", total_bytes=49152 * MIB).chip.id == "quadro-rtx-8000"
    assert match_chip("10de:1e30", total_bytes=24576 * MIB).chip.id == "quadro-rtx-6000"
    assert match_chip("H100", total_bytes=95830 * MIB).chip.id == "h100-nvl-94gb"
    assert (
        match_chip("NVIDIA RTX PRO 5000 Blac...", total_bytes=48935 * MIB).chip.id
        == "rtx-pro-5000-blackwell-48gb"
    )


@pytest.mark.parametrize(
    ("cut", "total_mib", "chip"),
    [
        ("GeForce GTX 106...", 6064, "gtx-1060-6gb"),
        ("Tesla P100-PCI...", 12198, "tesla-p100-pcie-12gb"),
        ("Tesla M40", 11443, "tesla-m40-12gb"),
        ("NVIDIA H100", 65247, "h100-sxm5-64gb"),
        ("NVIDIA H100", 97871, "h100-sxm5-96gb"),
        ("GeForce RTX 208...", 11019, "rtx-2080-ti"),
        ("Tesla V100-SXM2...", 16160, "v100-sxm2-16gb"),
        ("Tesla V100S-PCI...", 32510, "v100s-pcie-32gb"),
        ("NVIDIA A100-SXM...", 40536, "a100-sxm4-40gb"),
        ("NVIDIA RTX 6000 Ada Gene...", 49140, "rtx-6000-ada"),
        ("Tesla V100-SXM2-32GB-LS", 32510, "v100-sxm2-32gb"),
    ],
)
def test_a_name_that_was_cut_within_a_word_means_what_begins_so(cut, total_mib, chip):
    assert match_chip(cut, total_bytes=total_mib * MIB).chip.id == chip


@pytest.mark.parametrize("cut", ["NVIDIA GeForce ...", "GeForce XYZ 9...", "..."])
def test_a_name_cut_too_short_means_nothing(cut):
    with pytest.raises(AskError):
        match_chip(cut)


def test_a_named_size_sets_a_shared_memory_machine():
    small = find_chip("M3 Max 48GB")
    assert small.mem_bytes == 48 * GIB
    assert small.mem_program_bytes < find_chip("M3 Max 128GB").mem_program_bytes
    note = match_chip("M2 Ultra 76c").note
    assert "192" in str(note)


@given(st.text(max_size=MAX_NAME_CHARS + 20))
@example("8" * 200)
@example("x" * 200)
@example("卡" * 200)
@example("gbgbgb80gb" * 20)
@example("(((((([[[[")
@example("1x2x3x4x5x")
@example("0.0.0.0.0g")
def test_any_text_is_a_chip_or_a_clear_error(text):
    try:
        assert match_chip(text).chip.id in by_id()
    except RigError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right


WORDS = st.sampled_from(
    ["rtx", "4090", "h100", "80gb", "x", "8", "+", "free", "pcie", "ti", "两", "卡", "(", "]", "nodes"]
)


@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_any_heap_of_known_words_is_a_chip_or_a_clear_error(text):
    try:
        assert match_chip(text).chip.id in by_id()
    except RigError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right


def column(path, name):
    with path.open(encoding="utf-8") as file:
        return {row[name] for row in csv.DictReader(file) if row[name]}


def test_every_chip_of_the_measured_runs_resolves_to_itself(shared):
    for file in ("inference.csv", "training.csv"):
        for text in column(shared / "measured" / file, "chip"):
            assert by_id().get(text) or find_chip(text)
            assert match_chip(text).chip.id.startswith(text)


def test_every_gpu_of_the_vision_table_resolves(shared):
    wanted = {
        "A10": "a10",
        "H100-80GB-PCIe": "h100-pcie-80gb",
        "H100-80GB-SXM": "h100-sxm5-80gb",
        "Quadro RTX 8000": "quadro-rtx-8000",
        "RTX3090": "rtx-3090",
        "RTX4090": "rtx-4090",
        "RTX5090": "rtx-5090",
        "V100-16GB": "v100-sxm2-16gb",
    }
    for text in column(shared / "measured" / "vision.csv", "gpu"):
        if not text.startswith("CPU"):
            assert match_chip(text).chip.id == wanted[text]


REMARKS = {  # sources that write a remark beside the chip, without brackets; the row names the chip itself
    "16x MI200 GCD (ND MI200 v4)": "a family and its dies",
    "8x A100 HDR (ND A100 v4)": "the network",
    "8x H200 NVLink4 SHARP/NVLS": "the reduction",
    "8x H200 NVLink4 ring NCCL_NVLS_ENABLE=0": "a setting",
    "8x H200 node, PCIe 5.0 x16": "the bus",
    "Tesla V100-PCIE-32GB PCIe3 x16": "the bus",
    "GCP a3-highgpu-8g TCPX": "an instance and its network",
    "GCP a3-megagpu-8g TCPXO": "an instance and its network",
    "ND A100 v4 HDR200": "a size of a cloud and its network",
    "ND H100 v5 NDR400": "a size of a cloud and its network",
    "ND H200 v5 NDR400": "a size of a cloud and its network",
    "ND MI200 HDR200": "a size of a cloud and its network",
    "ND MI300X NDR400": "a size of a cloud and its network",
    "ND40 V100 EDR100": "a size of a cloud and its network",
}


@pytest.mark.parametrize("on", sorted({one.on for one in references() if one.chip}))
def test_every_machine_of_the_reference_benchmarks_resolves(on):
    (chip,) = {one.chip for one in references() if one.on == on}
    if on in REMARKS:
        with pytest.raises(AskError):
            match_chip(on)
        return
    assert by_id()[chip] in find_chips(on)
    (count,) = {one.n_chips for one in references() if one.on == on}
    assert find_node(on).n_cards == count


def test_chips_that_clouds_write_agree_with_the_table(shared):
    families = {"a2", "a3", "g2", "g4"}  # one cloud's machine series, not chips
    with (shared / "facts" / "cloud.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["gpu_id"] and row["gpu_name_raw"]]
    for row in rows:
        said = row["gpu_name_raw"]
        if said in families or "_v" in said:
            continue
        text = f"{said} {row['gpu_mem_gb']}GB" if "GB" not in said else said
        assert by_id()[row["gpu_id"]] in find_chips(text)


def test_every_gpu_of_the_captures_resolves(shared):
    wanted = {
        "a100-sxm4-v12": "a100-sxm4-80gb",
        "a10g": "a10g",
        "rtx-3080-v13": "rtx-3080-10gb",
        "rtx-3090-v12": "rtx-3090",
        "tesla-t4": "t4",
    }
    for file in sorted((shared / "captures" / "nvidia-smi-xml").glob("*.xml")):
        for gpu in ET.fromstring(file.read_text(encoding="utf-8")).iter("gpu"):  # noqa: S314 - our own files
            total = float(gpu.findtext("fb_memory_usage/total").split()[0]) * MIB
            match = match_chip(gpu.findtext("product_name"), total_bytes=total)
            assert match.chip.id == wanted[file.stem]
            assert match.chip.mem_usable_bytes == total


def test_every_gpu_of_the_text_captures_resolves(shared):
    wanted = {"4080-super": "rtx-4080-super", "h100-80gb-hbm3": "h100-sxm5-80gb", "l40s": "l40s"}
    for file in sorted((shared / "captures" / "nvidia-smi-text").glob("*.txt")):
        names = set(re.findall(r"Product Name\s+: (.*)", file.read_text(encoding="utf-8")))
        assert {match_chip(name).chip.id for name in names} == {
            chip for mark, chip in wanted.items() if mark in file.name
        }


def test_every_gpu_of_the_pci_and_amd_captures_resolves(shared):
    lines = [
        line
        for file in sorted((shared / "captures" / "pci").glob("lspci*.txt"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if "3D controller" in line
    ]
    found = {find_chip(line.partition("controller")[2].lstrip(" [0]23:")).id for line in lines}
    assert found == {"a10", "a100-sxm4-80gb", "h100-sxm5-80gb"}
    for file, chip in (("mi100_rocm602", "mi100"), ("rx6700xt_rocm602", "rx-6700-xt")):
        cards = json.loads((shared / "captures" / "amd" / f"{file}.json").read_text(encoding="utf-8"))
        for card in cards.values():
            if "Card series" in card:
                assert find_chip(card["Card series"]).id == chip
                assert to_gib(float(card["VRAM Total Memory (B)"])) == pytest.approx(
                    to_gib(by_id()[chip].mem_usable_bytes), rel=1e-6
                )


def test_what_is_announced_says_so():
    announced = [chip for chip in chips() if chip.is_announced]
    assert announced
    for chip in announced:
        note = match_chip(chip.name).note
        assert note is not None
        assert values(note)["chip"] == chip.name


def test_a_name_without_figures_is_recognised_and_has_a_neighbour():
    """It is no chip that is counted, and the one it points to is."""
    listed = rows("chips_uncounted.csv", "key", "name", "near")
    assert len({key for key, *_ in listed}) == len(listed)
    for key, name, near in listed:
        with pytest.raises(AskError) as refused:
            find_chip(key)
        assert values(refused.value.sentence) == {"chip": name}
        assert values(refused.value.hint) == {"chip": by_id()[near].name}
