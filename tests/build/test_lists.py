"""Planted builds that cannot be are caught by the rule they break; published ones are never refused."""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import RigError
from rigright.build.judge import DOUBT, IMPOSSIBLE, OK, ORDER, judge, rules, worst
from rigright.build.listed import KINDS, MOST_LINES, lines_of
from rigright.build.parse import rig_of
from rigright.verbs.build import check_text

HERE = Path(__file__).parent


def told(name):
    return tomllib.loads((HERE / name).read_text(encoding="utf-8"))["build"]


PLANTED, REAL = told("planted.toml"), told("real.toml")


def judged(text):
    return judge(rig_of(lines_of(text, name="list")))


def hinted(text):
    """Whether a text is judged, or refused with a hint."""
    try:
        return worst(judged(text)) in ORDER
    except RigError as error:
        return error.hint is not None


def test_there_are_enough_of_both():
    assert len(PLANTED) >= 100
    assert len(REAL) >= 30
    assert all(one["source"] for one in REAL)
    assert len({one["list"] for one in PLANTED}) == len(PLANTED)


@pytest.mark.parametrize("place", range(len(PLANTED)))
def test_what_cannot_be_is_caught_by_its_rule(place):
    found = judged(PLANTED[place]["list"])
    assert worst(found) == IMPOSSIBLE
    assert PLANTED[place]["rule"] in {one.rule for one in found if one.verdict == IMPOSSIBLE}, found


@pytest.mark.parametrize("place", range(len(PLANTED)))
def test_every_refusal_says_what_to_do(place):
    for one in judged(PLANTED[place]["list"]):
        assert one.verdict == OK or one.do is not None, one
        assert one.parts


@pytest.mark.parametrize("place", range(len(REAL)))
def test_what_was_built_is_not_refused(place):
    found = judged(REAL[place]["list"])
    assert [str(one.reason) for one in found if one.verdict == IMPOSSIBLE] == [], REAL[place]["name"]


ORDINARY = """
cpu: Ryzen 7 9800X3D
board: MSI MAG X870 Tomahawk WiFi
ram: 2x32GB DDR5-6000
gpu: RTX 5080
psu: 1000W ATX 3.1
case: Fractal Torrent
cooler: Noctua NH-D15
ssd: 2TB NVMe
room: 230V 16A
"""


def test_a_complete_ordinary_machine_has_no_doubts():
    assert [one for one in judged(ORDINARY) if one.verdict != OK] == []


@pytest.mark.parametrize("place", range(0, len(PLANTED), 8))
def test_the_order_of_lines_says_nothing(place):
    lines = PLANTED[place]["list"].strip().splitlines()
    orders = itertools.islice(itertools.permutations(lines), 0, 40, 13)
    found = [{(one.rule, one.verdict) for one in judged("\n".join(order))} for order in orders]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("place", range(0, len(PLANTED), 3))
def test_one_more_card_makes_nothing_possible(place):
    rig = rig_of(lines_of(PLANTED[place]["list"], name="list"))
    if worst(judge(rig)) != IMPOSSIBLE or not rig.cards or any(one.bridged for one in rig.cards):
        return
    more = replace(rig, cards=(replace(rig.cards[0], count=rig.cards[0].count + 1), *rig.cards[1:]))
    assert worst(judge(more)) == IMPOSSIBLE


@pytest.mark.parametrize("place", range(0, len(REAL), 3))
def test_a_larger_supply_is_never_worse(place):
    rig = rig_of(lines_of(REAL[place]["list"], name="list"))
    if not rig.supplies or rig.room is not None:
        return
    larger = tuple(replace(one, watts=(one.watts or 0.0) * 1.5) for one in rig.supplies)
    now, then = (worst(judge(one, ["watts"])) for one in (rig, replace(rig, supplies=larger)))
    assert ORDER.index(then) <= ORDER.index(now)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("cpu: 7950x", "cpu"),
        ("CPU Cooler: Noctua NH-D15", "cooler"),
        ("显卡：RTX 4090", "gpu"),
        ("- **GPU**: RTX 4090", "gpu"),
        ("| Memory | 64GB DDR5 |", "ram"),
        ("Power Supply - 1000W", "psu"),
        ("case fans: 3x 140", "note"),
        ("Video Card\tRTX 3060", "gpu"),
        ("2x RTX 3090", "gpu"),
        ("Ryzen 9 7950X", "cpu"),
        ("64GB DDR5-6000", "ram"),
        ("电源：海韵 1000W", "psu"),
        ("1. Motherboard: B650", "board"),
        ("storage: 2TB NVMe $120", "ssd"),
        ("machine: Mac Studio", "machine"),
        ("机箱：开放式矿架", "case"),
    ],
)
def test_a_line_is_known_by_its_key_or_its_words(line, kind):
    (found,) = lines_of(line + "\ngpu: x", name="list")[:1]
    assert found.part == kind


@pytest.mark.parametrize(
    ("text", "gib", "count", "kind"),
    [
        ("2x 48GB DDR5-6000", 96, 2, "DDR5"),
        ("64GB (2x32GB) DDR4 3600", 64, 2, "DDR4"),
        ("128GB DDR5", 128, None, "DDR5"),
        ("32G*2 DDR5 6400", 64, 2, "DDR5"),
        ("8x 64GB DDR4-3200 ECC RDIMM", 512, 8, "DDR4"),
        ("16GB x 4", 64, 4, None),
        ("4 x 16 GB DDR4", 64, 4, "DDR4"),
        ("512GB DDR4-3200 3DS RDIMM (8x 64GB)", 512, 8, "DDR4"),
        ("1TB DDR5 RDIMM", 1024, None, "DDR5"),
        ("G.Skill Flare X5 32 GB (2 x 16 GB) DDR5-6000 CL30", 32, 2, "DDR5"),
    ],
)
def test_memory_is_read(text, gib, count, kind):
    (modules,) = rig_of(lines_of(f"ram: {text}", name="list")).modules
    assert (modules.total_bytes / 2**30, modules.count, modules.type) == (gib, count, kind)


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("4x RTX 4090 (2-slot)", [("rtx-4090", 4)]),
        ("MSI Gaming X Trio GeForce RTX 4090", [("rtx-4090", 1)]),
        ("EVGA FTW3 Ultra RTX 3090", [("rtx-3090", 1)]),
        ("P40", [("tesla-p40", 1)]),
        ("2x MI50 32GB", [("mi50-32gb", 2)]),
        ("RTX A6000", [("rtx-a6000", 1)]),
        ("2x 3090 + 1x 4090", [("rtx-3090", 2), ("rtx-4090", 1)]),
        ("七彩虹 RTX 4090 火神", [("rtx-4090", 1)]),
        ("RTX 3090 x4", [("rtx-3090", 4)]),
        ("双卡 RTX 4090", [("rtx-4090", 2)]),
        ("ASUS TUF Gaming GeForce RTX 4070 Ti SUPER OC 16GB", [("rtx-4070-ti-super", 1)]),
        ("two used 3090s", [("rtx-3090", 2)]),
        ("8x H100 SXM", [("h100-sxm5-80gb", 8)]),
    ],
)
def test_cards_are_read(text, cards):
    found = rig_of(lines_of(f"gpu: {text}", name="list")).cards
    assert [(one.chip.id, one.count) for one in found] == cards


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_with_a_hint(text):
    for given_ in (
        text,
        f"gpu: {text}\nram: {text}\npsu: {text}\ncpu: {text}\nboard: {text}",
        f"machine: {text}",
    ):
        assert hinted(given_)


@given(
    st.dictionaries(
        st.sampled_from(sorted(KINDS)),
        st.from_regex(r"[0-9]{1,9}[xw*]? ?[a-z0-9 .+()-]{0,40}", fullmatch=True),
    )
)
def test_odd_amounts_never_break_it(lines):
    assert hinted("\n".join(f"{kind}: {text}" for kind, text in lines.items()))


@pytest.mark.parametrize(
    "raw", [b"\0\1\2", b"\xff\xfe\x00", b"", b"# nothing\n", b"gpu: x\n" * (MOST_LINES + 1)]
)
def test_what_is_no_list_is_an_error_with_a_hint(raw):
    with pytest.raises(RigError) as caught:
        lines_of(raw, name="list")
    assert caught.value.hint is not None


def test_what_nobody_knows_is_said_and_not_taken_for_fine():
    found = judged("gpu: RTX 4090\nboard: Frobnitz 9000 Ultra\n")
    assert worst(found) == DOUBT
    assert any("Frobnitz" in str(one.reason) for one in found)


NAMES = tomllib.loads((HERE / "names.toml").read_text(encoding="utf-8"))


def read(kind, name):
    return rig_of(lines_of(f"{kind}: {name}", name="list"))


@pytest.mark.parametrize("row", NAMES["board"], ids=lambda row: row["name"])
def test_a_board_is_read_as_shops_write_it(row):
    board = read("board", row["name"]).board
    assert board.socket == row["socket"]
    assert board.mem_type in {None, row["mem_type"]}
    assert board.form in {None, row["form"]}


@pytest.mark.parametrize("row", NAMES["cpu"], ids=lambda row: row["name"])
def test_a_processor_is_read_as_shops_write_it(row):
    assert read("cpu", row["name"]).processor.family.socket == row["socket"]


@pytest.mark.parametrize("row", NAMES["psu"], ids=lambda row: row["name"])
def test_a_supply_is_read_as_shops_write_it(row):
    assert [one.watts for one in read("psu", row["name"]).supplies] == [row["watts"]]


@pytest.mark.parametrize("row", NAMES["gpu"], ids=lambda row: row["name"])
def test_a_card_is_read_as_shops_write_it(row):
    assert [(one.chip.id, one.count) for one in read("gpu", row["name"]).cards] == [(row["chip"], 1)]


@pytest.mark.parametrize("row", NAMES["ram"], ids=lambda row: row["name"])
def test_a_kit_is_read_as_shops_write_it(row):
    (modules,) = read("ram", row["name"]).modules
    assert modules.total_bytes == row["gib"] * 2**30
    assert modules.count in {None, row["modules"]}
    assert modules.type in {None, row["type"]}


def test_a_second_board_is_said_and_a_second_processor_of_a_kind_is_counted():
    found = judged("board: b650 tomahawk\nboard: x670e taichi\ngpu: RTX 4090\n")
    assert "repeated" in {one.rule for one in found}
    rig = read("cpu", "EPYC 9354\ncpu: EPYC 9354")
    assert rig.cpu_count == 2
    assert rig.repeated == ()


def test_every_rule_is_in_the_manual():
    text = (HERE.parent.parent / "docs" / "build.md").read_text(encoding="utf-8")
    assert [rule.name for rule in rules() if f"`{rule.name}`" not in text] == []


def test_a_sentence_of_several_parts_is_taken_apart():
    rig = rig_of(
        lines_of(
            "a 7950x, 64GB DDR5-6000, two RTX 3090s, 1000W psu on a ProArt X670E in a Torrent case", name="x"
        )
    )
    assert rig.processor.name == "AMD Ryzen 9 7950X"
    assert rig.n_cards == 2
    assert rig.board.chipset == "X670E"
    assert [one.watts for one in rig.supplies] == [1000]
    assert rig.case is not None


def test_a_table_of_links_is_read_as_its_words():
    rig = rig_of(
        lines_of("**CPU** | [AMD Ryzen 9 7950X 4.5 GHz Processor](https://x/y) | $449.99 @ shop", name="x")
    )
    assert rig.processor.name == "AMD Ryzen 9 7950X"


@pytest.mark.parametrize("text", ["gpu: frobnitz 9000\nboard: zzz\n", "cpu: ???\n", "nothing: here\n"])
def test_where_nothing_is_known_it_is_an_error(text):
    with pytest.raises(RigError) as caught:
        check_text(text)
    assert caught.value.hint is not None


def test_a_chinese_list_is_read_as_it_is_written():
    rig = rig_of(
        lines_of(
            "处理器：AMD 霄龙 7763 ×2\n主板：超微H12DSi-N6\n内存：64G×16 DDR4 3200 RECC\n"
            "显卡：4090×8（双槽涡轮）\n"
            "电源：2000W×4\n机箱：8卡4U服务器机箱\n供电：220V 63A\n",
            name="list",
        )
    )
    assert rig.unknown == ()
    assert (rig.cpu_count, rig.n_cards, len(rig.supplies)) == (2, 8, 4)
    assert rig.cards[0].slots == 2
    assert (rig.modules[0].count, rig.modules[0].registered) == (16, True)
    assert rig.room.rated_w == 220 * 63


def test_two_cards_may_be_said_behind_the_name():
    assert read("显卡", "2080Ti 22G魔改 双卡").n_cards == 2


_TABLE = """Here is our box; prices of last spring.

| Part | Model | {count} | Price |
|:--|:--|--:|--:|
| GPU | {gpu} | {n} | $15,000-20,000 |
| CPU | AMD EPYC 7763 | 1 | $1,500-2,000 |
| Memory | 512GB DDR4 ECC | 1 | $2,000 |
| Storage | 2TB NVMe SSD + 72TB HDD array | 1 | $1,200-2,500 |
| PSU | 1600W Platinum | 2 | $400-600 |
| Total | $20,400-28,600 | | |

Buy the card first.
"""


@pytest.mark.parametrize("gpu", ["NVIDIA A100 80GB", "NVIDIA H100 80GB", "RTX A6000", "NVIDIA A100 40GB"])
@pytest.mark.parametrize("count", ["Qty", "数量"])
def test_a_table_of_parts_is_read_whole_and_its_prices_are_none_of_its_names(gpu, count):
    rig = rig_of(lines_of(_TABLE.format(gpu=gpu, count=count, n=4), name="list"))
    (cards,) = rig.cards
    assert (cards.count, cards.chip.form.startswith("PCIe")) == (4, True)
    words = gpu.removeprefix("NVIDIA ").split()
    assert all(word.removesuffix("GB") in cards.chip.name for word in words), cards.chip.name
    assert [one.name for one in rig.disks] == ["2TB NVMe SSD", "72TB HDD array"]
    assert rig.processor.name == "AMD EPYC 7763"
    assert [one.watts for one in rig.supplies] == [1600, 1600]
    assert rig.unknown == ()


def test_a_module_that_is_named_as_one_stays_one():
    assert read("gpu", "8x A100 SXM4 80GB").cards[0].chip.form.startswith("SXM")
    assert read("gpu", "HGX H100 80GB").cards[0].chip.form.startswith("SXM")
