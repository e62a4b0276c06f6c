"""Guides are read claim by claim: invented claims of both languages, the five guides, hostile text."""

from __future__ import annotations

import csv
import re
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import housetree as house
from rigright.base.errors import RigError
from rigright.facts.chips import chips
from rigright.facts.cpus import cpus
from rigright.facts.guides import guide_items
from rigright.facts.mentions import mentions
from rigright.report.pages import read as pages
from rigright.verbs.read.record import DATED, RIGHT, UNKNOWN, WRONG, kinds
from rigright.verbs.read.verb import read, read_text

GUIDES = house.ROOT.parent / "shared" / "guides"
SAID = {  # a quantity in words of both languages, with the unit that people write
    "VRAM": ("{name} has {value} GB of VRAM.", "{name} 的显存为 {value} GB。"),
    "bandwidth": ("The {name} has {value} GB/s of memory bandwidth.", "{name}显存带宽达到{value}GB/s。"),
    "power": ("{name}: a TDP of {value} W.", "{name}的功耗是{value}W。"),
    "cores": ("{name} comes with {value} CUDA cores.", "{name}拥有{value}个CUDA核心。"),
    "fp32": ("{name} reaches {value} TFLOPS in FP32.", "{name} 的 FP32 算力为 {value} TFLOPS。"),
    "threads": ("The {name} has {value} threads.", "{name} 有 {value} 线程。"),
    "memory channels": ("The {name} has {value} memory channels.", "{name} 支持 {value} 通道内存。"),
}
OFF = 1.5  # times the true figure: no rounding, and no GB for GiB


def told(text):
    return read_text(text).claims


def only(text, kind):
    """The last claim of a kind: a name may bear its own."""
    found = [one for one in told(text) if one.kind == kind]
    assert found, text
    return found[-1]


def drawn():
    """Each quantity of each row that its own name means alone."""
    for of, rows in (("chip", chips()), ("cpu", cpus())):
        for row in rows:
            named = mentions(f"the {row.name} is")
            alone = len(named) == 1 and (named[0].chips == (row,) or named[0].cpu == row)
            for kind in kinds() if alone else ():
                value = next(kind.values(row), None) if kind.of == of and kind.id in SAID else None
                if value:
                    yield row, kind, value


DRAWN = list(drawn())


def test_most_rows_can_be_asked_about():
    assert len({row.id for row, _, _ in DRAWN}) > 250


@pytest.mark.parametrize("language", [0, 1])
@settings(max_examples=60, deadline=None)
@given(place=st.integers(0, len(DRAWN) - 1))
def test_a_true_figure_is_right_and_another_is_wrong_and_the_true_one_is_shown(place, language):
    row, kind, value = DRAWN[place]
    true, false = (f"{times * value / kind.scale:.6g}" for times in (1, OFF))
    said = SAID[kind.id][language]
    assert only(said.format(name=row.name, value=true), kind.id).verdict == RIGHT
    claim = only(said.format(name=row.name, value=false), kind.id)
    assert claim.verdict == WRONG
    assert kind.shown(value) in str(claim.truth)
    assert claim.command.startswith("rigright look-up")


@pytest.mark.parametrize(
    ("text", "kind", "verdict"),
    [
        ("The RTX 4090 supports NVLink.", "NVLink", WRONG),
        ("RTX 4090 没有 NVLink。", "NVLink", RIGHT),
        ("RTX 3090 支持 NVLink。", "NVLink", RIGHT),
        ("T4 支持 BF16。", "BF16", WRONG),
        ("The L40S has HBM3 memory.", "memory type", WRONG),
        ("H100采用Ampere架构。", "architecture", WRONG),
        ("PCIe 4.0 x16 carries 32 GB/s both ways.", "bandwidth both ways", WRONG),
        ("PCIe 4.0 x16 单向带宽约32GB/s。", "bandwidth each way", RIGHT),
        ("The H100 has 1.6 times the memory bandwidth of the A100.", "ratio", RIGHT),
        ("H100 的显存带宽是 A100 的 4 倍。", "ratio", WRONG),
        ("The H100 PCIe draws 350 W, while the SXM version draws 700 W.", "power", RIGHT),
        ("Mixtral 8x7B has 46.7B parameters.", "parameters", RIGHT),
        ("A 7B model in FP16 needs 14 GB of VRAM.", "memory needed", RIGHT),
        ("70B 模型用 FP16 只需要 40GB 显存。", "memory needed", WRONG),
        ("Llama 3.1 8B runs on an RTX 4090.", "configuration", RIGHT),
        ("单张 RTX 4090 可以全参数微调 7B 模型。", "configuration", WRONG),
        ("p4d.24xlarge has 8x A100.", "GPUs", RIGHT),
        ("pip install torch --index-url https://download.pytorch.org/whl/cu122", "command", WRONG),
        ("vllm serve Qwen/Qwen3-8B --no-such-flag 3", "command", WRONG),
        ("nvidia-smi --query-gpu=name,memory.total --format=csv", "command", RIGHT),
        ("The RTX 4090 launched at $900.", "price", WRONG),
        ("RTX A4000×4: $10,000-$12,000", "price", WRONG),
        ("A 1000 W power supply is enough for four RTX 4090.", "power supply", WRONG),
        ("双4090建议1600W电源。", "power supply", RIGHT),
        ("PCIe 4.0 x8 gives 16 GB/s per direction.", "bandwidth each way", RIGHT),
        ("PCIe 5.0 x8 单向带宽为 63 GB/s。", "bandwidth each way", WRONG),
        ("For Llama 3.1 8B the KV cache takes 128 KB per token.", "memory needed", RIGHT),
        ("Llama 3.1 8B 的 KV 缓存每个 token 占 1 MB。", "memory needed", WRONG),
        ("双路EPYC 9554共128核。", "cores", RIGHT),
        ("EPYC 9554 支持 PCIe 5.0 128 通道。", "PCIe lanes", RIGHT),
        ("A single RTX 4090 can fully fine-tune Llama 3.1 8B.", "configuration", WRONG),
        ("BERT-base 全参数微调需 12GB 显存。", "memory needed", RIGHT),
        ("GPT-3 175B needs at least 320GB of VRAM.", "memory needed", UNKNOWN),
        ("双卡 3090 可以显存叠加成一块大显卡。", "myth", WRONG),
        ("NVLink does not merge two cards into one big GPU.", "myth", RIGHT),
        ("KV 缓存与上下文长度成正比。", "advice", RIGHT),
        ("MoE 模型只需要放下激活参数的显存。", "advice", WRONG),
        ("Speculative decoding changes the output distribution.", "advice", WRONG),
        ("Speculative decoding makes generation faster.", "advice", RIGHT),
        ("Tensor parallelism requires NVLink.", "advice", WRONG),
        ('pip install "jax[cuda12_pip]"', "command", DATED),
        ("PCIe 5.0 x8 与 PCIe 4.0 x16 带宽相同", "comparison", RIGHT),
        ("PCIe 4.0 x8 equals PCIe 4.0 x16.", "comparison", WRONG),
        ("The 5070 Ti has less memory than the 4090.", "comparison", RIGHT),
        ("DDR5-6000 双通道带宽约 96GB/s", "bandwidth", RIGHT),
        ("A 1000W PSU is enough for two 4090s.", "power supply", WRONG),
        ("每增加一倍上下文，KV缓存翻倍", "advice", RIGHT),
        ("两张 4090 速度翻倍", "advice", WRONG),
    ],
)
def test_a_claim_of_each_kind_is_judged(text, kind, verdict):
    found = {one.verdict for one in told(text) if one.kind == kind}
    assert found == {RIGHT} if verdict == RIGHT else verdict in found


def test_what_a_sentence_denies_is_not_taken_as_said():
    assert told("Secure Boot 不会影响驱动加载。") == ()
    assert {one.verdict for one in told("You do not need SLI for deep learning.")} == {RIGHT}


@pytest.mark.parametrize("turns", ["\\\n  ", " "])
def test_a_command_over_several_lines_is_one(turns):
    found = told(
        f"```\nvllm serve Qwen/Qwen3-8B {turns}--tensor-parallel-size 2 {turns}--no-such-flag 1\n```"
    )
    assert WRONG in {one.verdict for one in found if one.kind == "command"}


@pytest.mark.parametrize(("memory", "verdict"), [("24", RIGHT), ("48", WRONG)])
def test_cells_that_a_page_ran_together_are_split(memory, verdict):
    found = told(f"型号显存 (GB)显存带宽 (GB/s)用途\nRTX 4090{memory}1,008游戏\nA100802,039训练\n")
    assert {(one.about, one.kind): one.verdict for one in found} == {
        ("GeForce RTX 4090", "VRAM"): verdict,
        ("GeForce RTX 4090", "bandwidth"): RIGHT,
        ("A100", "VRAM"): RIGHT,
        ("A100", "bandwidth"): RIGHT,
    }


def test_a_false_figure_is_told_in_each_sentence_that_has_it():
    found = told("RTX 4090 显存为 32GB。\n\n再说一次,RTX 4090 显存为 48GB。")
    assert [one.line for one in found if one.kind == "VRAM"] == [1, 3]


@pytest.mark.parametrize("joins", [" and has ", " but offers ", ", "])
@pytest.mark.parametrize("chip", ["RTX 3090", "A100 SXM4 80GB"])
def test_what_is_said_on_is_not_of_the_link_before(chip, joins):
    found = told(
        f"The {chip} supports NVLink{joins}{'936' if '3090' in chip else '2,039'} GB/s of bandwidth."
    )
    assert ("bandwidth", RIGHT) in {(one.kind, one.verdict) for one in found}
    assert WRONG not in {one.verdict for one in found}


def test_a_figure_goes_to_what_it_is_said_of():
    found = told("The A100 and the H200 have 40 GB and 141 GB of memory respectively.")
    assert [one.verdict for one in found if one.kind == "VRAM"] == [RIGHT, RIGHT]
    above = told("# RTX 5090\n\n- VRAM: 24 GB\n- TDP: 575 W\n")
    assert [(one.kind, one.verdict) for one in above] == [("VRAM", WRONG), ("power", RIGHT)]


@pytest.mark.parametrize("turned", [False, True])
def test_a_table_is_read_by_rows_or_by_columns(turned):
    rows = [["GPU", "L4", "RTX 4090"], ["VRAM (GB)", "24", "48"], ["TDP (W)", "72", "450"]]
    rows = rows if turned else list(map(list, zip(*rows, strict=True)))
    text = "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], ["---"] * 3, *rows[1:]))
    found = {(one.about, one.kind): one.verdict for one in told(text)}
    assert found["L4", "VRAM"] == RIGHT
    assert found["L4", "power"] == RIGHT
    assert found["GeForce RTX 4090", "VRAM"] == WRONG


def test_a_list_of_parts_is_judged_as_build_judges_it():
    text = (
        "# My box\n\nBuy this:\n\n- GPU: RTX 4090\n- CPU: EPYC 7763\n- RAM: 512GB DDR5\n- PSU: 1600W\n\nDone."
    )
    assert WRONG in {one.verdict for one in told(text) if one.kind == "parts"}
    assert all("build --check" in one.command for one in told(text) if one.kind == "parts")


def test_errors_are_explained_and_not_counted_as_claims():
    found = read_text(
        "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\nNVRM: Xid (PCI:0000:01:00): 79\n"
    )
    assert len(found.errors) == 2
    assert found.claims == ()


@pytest.mark.parametrize("said", ["RTX 4090 支持 NVLink。", "Found no NVIDIA driver on your system"])
def test_one_thing_said_is_answered_in_line_1_and_once(said):
    found = read_text(said)
    (one,) = (*found.claims, *found.errors)
    page = pages.page(found)
    assert str(one.means if found.errors else one.truth) in str(page.title)
    assert [part.items for part in page.parts] == [(one.command,)]


def test_what_is_not_understood_is_listed_and_never_right():
    text = "Choose wisely.\nThe frobnitz 9000 has 24 GB.\n显卡很重要。\n"
    found = read_text(text)
    assert found.claims == ()
    assert [one.line for one in found.not_understood] == [1, 2, 3]


@pytest.mark.parametrize("raw", [b"", b"  \n\n", b"a\0b"])
def test_what_is_no_text_is_an_error(raw):
    with pytest.raises(RigError) as caught:
        read_text(raw)
    assert caught.value.hint is not None


def test_older_chinese_files_are_read():
    assert read_text("RTX 4090 显存 24GB。".encode("gb18030")).right == 1


HOSTILE = (
    "9" * 5000, "RTX 4090 " * 2000, "| a " * 3000 + "\n" + "|---" * 3000 + "\n" + "| 4090 " * 3000,
    "24GB-" * 3000, "Llama-" * 2000 + " 7B模型" * 500, "pip install " + "a[b]==1 " * 2000, "xid " * 3000,
    "1,000" * 3000, "\ufdfa" * 3000, "(((" * 3000 + "A100" + ")))" * 3000, "--x=y " * 3000 + "vllm serve",
    "显存 (GB)带宽 (GB/s)\n" + "A100" + "8" * 900, "f(" * 3000, "f(\n" * 3000, "a\\\n" * 3000,
)  # fmt: skip


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_no_text_takes_long(place):
    start = time.process_time()
    found = read_text(HOSTILE[place])
    assert time.process_time() - start < 30
    assert all(len(one.says) < 400 for one in found.claims)


PIECES = (
    "RTX 4090", "A100 80GB", "Llama 3 70B", "24GB", "900 GB/s", "倍", "，", "。", "|", "\n",
    "$1,000", "PCIe 4.0", "NVLink", "pip install", "torch==2.1", "EPYC 7763", "CPU:",
    "FP16", "需要", "x", "×",
    "4", "-", "```", "#",
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(words=st.lists(st.sampled_from(PIECES) | st.text(max_size=6), min_size=5, max_size=60))
def test_any_mix_of_words_is_read_without_an_error(words):
    found = read_text("x " + " ".join(words))
    assert found.right + found.wrong + found.dated + found.unknown == len(found.claims)


ITEMS = list(csv.DictReader((Path(__file__).parent / "guide_items.csv").read_text("utf-8").splitlines()))


@cache
def guide(number):
    (path,) = GUIDES.glob(f"00{number}*.txt")
    return read(str(path))


@pytest.mark.skipif(not GUIDES.is_dir(), reason="the guides are not here")
@pytest.mark.parametrize("item", ITEMS, ids=[one["item"] for one in ITEMS])
def test_each_item_of_the_guides_is_met_where_it_stands(item):
    found, line = guide(item["item"][0]), int(item["line"])
    judged = {(one.kind, one.verdict) for one in found.claims if one.line == line}
    judged |= {("error", "error") for one in found.errors if one.line == line}
    assert (item["kind"], item["verdict"]) in judged


def test_every_item_is_looked_for():
    assert [one["item"] for one in ITEMS] == [item.id for item in guide_items()]


@pytest.mark.skipif(not GUIDES.is_dir(), reason="the guides are not here")
@pytest.mark.parametrize("number", range(5))
def test_nothing_of_a_guide_is_dropped(number):
    found = guide(number)
    assert all(one.command for one in found.claims)
    assert all(one.truth for one in found.claims if one.verdict != UNKNOWN)
    (path,) = GUIDES.glob(f"00{number}*.txt")
    heard = {one.line for one in (*found.claims, *found.errors, *found.not_understood)}
    words = [
        at for at, line in enumerate(path.read_text("utf-8").splitlines(), 1) if re.search(r"\w{4}", line)
    ]
    assert len(set(words) - heard) <= 0.25 * len(words)  # heads of tables, rows and calls over several lines


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("vLLM serves Llama-3.1-70B on 4 H100 at 3000 tokens/s", RIGHT),  # of a server: the load is left open
        ("Llama-3.1-8B on H100 serves 90000 tok/s", WRONG),
        ("Llama-3.1-8B on H100 gives 2000 tok/s for a single user", WRONG),
        ("With 64 concurrent requests Llama-3.1-8B on H100 runs at 3000 tok/s in vLLM", RIGHT),
        ("With 64 concurrent requests Llama-3.1-8B on H100 runs at 500 tok/s in vLLM", WRONG),
        ("With 64 concurrent requests Llama-3.1-8B on H100 runs at 45 tok/s per user in vLLM", RIGHT),
    ],
)
def test_a_speed_is_judged_at_the_load_its_sentence_names(text, verdict):
    assert [claim.verdict for claim in read_text(text).claims if claim.kind == "speed"] == [verdict]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("on 8 H100", 8), ("4 A100 are enough", 4), ("64 H100s", 64), ("2x8 H100", 16), ("用 8 A100 训练", 8),
        ("PCIe 5 H100", 1), ("in 2026 H100 prices fell", 1), ("for 128 H100-hours", 1), ("第 4 张 4090", 1),
    ],
)  # fmt: skip
def test_a_bare_number_counts_cards_where_a_sentence_counts(text, count):
    assert mentions(text)[0].count == count
