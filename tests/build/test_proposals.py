"""Machines put together: each keeps every rule, can be ordered, and is read back by `--check`."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import few
from rigright.base.errors import AskError, RigError
from rigright.build.judge import IMPOSSIBLE, judge, worst
from rigright.build.parse import room_of
from rigright.build.proposals.propose import propose
from rigright.build.proposals.record import CHEAPEST, GROWING, LABELS, RECOMMENDED, BuildWish
from rigright.demand import PlanWish
from rigright.facts.chips import chips
from rigright.facts.nodes import find_node
from rigright.facts.shop.cards import OPEN
from rigright.report.pages.build import listed, plain
from rigright.search.named import machine_flag
from rigright.verbs.build import build, check_text, read_room
from rigright.verbs.compare import compare
from rigright.verbs.cost import cost
from rigright.verbs.plan import plan
from spoken import values

DAY = date(2026, 11, 22)
DESKS = [
    "rtx 5090",
    "2x rtx 3090",
    "2x rtx 4090",
    "4x rtx 4090",
    "4x rtx a6000",
    "tesla p40",
    "2x mi50 32gb",
    "4x l40s",
]


@pytest.fixture(autouse=True)
def day(monkeypatch):
    monkeypatch.setenv("RIGRIGHT_TODAY", DAY.isoformat())


built = cache(build)


def made(*cards, **wish):
    return propose(BuildWish(cards=cards, **wish), today=DAY)


@pytest.mark.parametrize("cards", DESKS)
def test_every_machine_keeps_every_rule(cards):
    found = built(cards).proposed.variants
    assert found
    for one in found:
        assert worst(one.rules) != IMPOSSIBLE, one
        assert {item.kind for item in one.items} >= {"gpu", "ram", "system", "nic"}
        assert one.usd.low <= one.usd.value <= one.usd.high


@pytest.mark.letters  # words that are written are words that are read
@pytest.mark.parametrize("cards", DESKS)
def test_its_list_is_read_back_and_not_refused(cards):
    for one in built(cards).proposed.variants:
        text = "\n".join(listed(one))
        found = check_text(text)
        assert found.verdict != IMPOSSIBLE, (text, found.against)
        assert found.rig.unknown == ()
        assert found.rig.n_cards == one.rig.n_cards


@pytest.mark.parametrize("chip", [one.id for one in chips()][::10])
def test_one_of_any_chip_is_built_or_told_where_it_is_sold(chip):
    found = made((chip, 1))
    assert found.variants or found.nearest is not None


def test_the_cheapest_costs_least_and_growing_takes_more_cards():
    found = {one.label: one for one in build("2x rtx 3090").proposed.variants}
    assert list(found) == list(LABELS)
    assert found[CHEAPEST].usd.value <= found[RECOMMENDED].usd.value <= found[GROWING].usd.value
    grown = found[GROWING].rig
    assert len([one for one in grown.board.together or () if one >= 8]) >= 4


@pytest.mark.parametrize(
    ("cards", "says"),
    [
        ("8x rtx 5090", {"machines": "2", "each": "4"}),
        ("10x rtx 5090", {"machines": "2", "each": "5"}),
        ("3x h100 sxm", {"machine": "Dell PowerEdge XE8640", "held": "4"}),
        ("5x h100 sxm", {"machine": "NVIDIA DGX H100", "held": "8"}),
    ],
)
def test_where_nothing_holds_them_the_nearest_is_said(cards, says):
    assert values(build(cards).proposed.nearest).items() >= says.items()


@pytest.mark.parametrize(
    ("cards", "machine", "count"),
    [
        ("8x h100 sxm", "DGX H100", 1),
        ("2x dgx spark", "DGX Spark", 2),
        ("gb200", "NVL72", 1),
        ("16x mi300x", "MI300X", 2),
    ],
)
def test_modules_come_in_finished_machines(cards, machine, count):
    first = build(cards).first
    assert machine in first.rig.machine.name
    assert first.machines == count


def test_every_part_left_behind_has_a_rule_and_a_reason():
    found = build("4x rtx 4090").proposed.refusals
    assert {one.rule for one in found} >= {"slots", "spacing", "watts"}
    assert all(str(one.reason) for one in found)


def test_a_weak_breaker_limits_the_cards_or_refuses():
    assert made(("rtx-4090", 4), circuit=room_of("110V 15A")).variants == ()
    (first, *_) = made(("rtx-4090", 2), circuit=room_of("110V 12A")).variants
    assert first.limit_w is not None
    assert first.limit_w < 450
    assert worst(judge(first.rig, ["breaker"])) != IMPOSSIBLE
    assert made(("rtx-4090", 2), circuit=room_of("230V 16A")).variants[0].limit_w is None


def test_memory_and_disks_follow_the_model(tmp_path):
    def drives(params):
        data = {"model": "m", "params": params, "plans": [{"chip": "rtx-4090", "n_chips": 2}]}
        (tmp_path / "plan.json").write_text(json.dumps(data))
        first = build(from_file=str(tmp_path / "plan.json")).first
        return next(item.name for item in first.items if item.kind == "system")

    assert drives(8e9).startswith("1 TB")
    assert drives(671e9).startswith("4 TB")


def test_training_keeps_checkpoints(tmp_path):
    data = {"model": "m", "params": 8e9, "wish": {"work": "pretrain", "train_tok": 1e12},
            "plans": [{"chip": "h100-pcie-80gb", "n_chips": 4, "layout": {"tp": 2, "pp": 1}}]}  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(data))
    assert {item.kind for item in build(from_file=str(tmp_path / "plan.json")).first.items} >= {
        "data",
        "scratch",
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"plans": []}',
        '{"plans": [{"chip": "nosuch"}]}',
        '{"plans": [{"chip": 7}]}',
        "[" * 9000,
    ],
)
def test_what_is_no_plan_is_refused_with_a_hint(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(RigError) as caught:
        build(from_file=str(tmp_path / "plan.json"))
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    "odd", [{"n_chips": -3}, {"n_chips": "x", "memory": [3]}, {"layout": 5, "n_nodes": 0}]
)
def test_odd_figures_of_a_plan_are_bounded(tmp_path, odd):
    (tmp_path / "plan.json").write_text(
        json.dumps({"plans": [{"chip": "rtx-4090", **odd}], "params": "x", "wish": 3})
    )
    assert build(from_file=str(tmp_path / "plan.json")).first is not None


@pytest.mark.parametrize("text", ["110", "fast", "0V 0A", "-5V 10A"])
def test_a_room_that_says_nothing_is_refused(text):
    with pytest.raises(RigError) as caught:
        read_room(text)
    assert caught.value.hint is not None


@pytest.mark.parametrize("what", ["4x frobnitz 9000", "50x rtx 4090 + 50x rtx 3090", None, "nosuch-model-7b"])
def test_wrong_asks_have_a_hint(what):
    with pytest.raises(RigError) as caught:
        build(what)
    assert caught.value.hint is not None


def test_the_json_names_what_the_page_does():
    data = plain(build("2x rtx 4090"), "en")
    assert data["buildable"] is True
    assert [one["label"] for one in data["variants"]] == list(LABELS)
    assert all(one["rules"] and one["list"] for one in data["variants"])
    assert json.loads(json.dumps(data)) == data


def test_what_is_read_from_main_memory_has_room_in_it(tmp_path):
    def ram(**work):
        data = {"model": "m", "params": 235e9, "plans": [{"chip": "rtx-4090", "n_chips": 1, "work": work}]}
        (tmp_path / "plan.json").write_text(json.dumps(data))
        first = build(from_file=str(tmp_path / "plan.json")).first
        return sum(modules.total_bytes for modules in first.rig.modules) / 2**30

    assert ram(weights="gguf:Q4_K_M", offload={"layers": 0, "experts": 90}) >= 128
    assert ram(weights="gguf:Q4_K_M") == 64


def test_a_machine_may_have_no_cards_and_its_own_processor():
    first = build("7950x, 96gb").first
    assert first.rig.processor.name == "AMD Ryzen 9 7950X"
    assert first.rig.n_cards == 0
    assert sum(one.total_bytes for one in first.rig.modules) >= 96 * 2**30
    assert "gpu" not in {item.kind for item in first.items}


def test_what_is_said_of_the_host_is_kept():
    first = build("rtx 4090 + 256gb + epyc 7443").first
    assert first.rig.processor.name == "AMD EPYC 7443"
    assert sum(one.total_bytes for one in first.rig.modules) >= 256 * 2**30
    two = build("2x epyc 9354, 768gb").first
    assert (two.rig.cpu_count, two.rig.board.cpus) == (2, 2)


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANY = ANYTHING | st.lists(ANYTHING, max_size=2) | st.dictionaries(st.text(max_size=5), ANYTHING, max_size=2)
KEYS = st.sampled_from(["chip", "n_chips", "n_nodes", "layout", "memory", "work"])
TOP = st.sampled_from(["params", "wish", "model", "plans", "nearest"])


@settings(few, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(TOP, ANY), st.dictionaries(KEYS, ANY))
def test_any_plan_is_read_or_refused(tmp_path, top, plan):
    data = {"plans": [{"chip": "rtx-4090", "n_chips": 1} | plan]} | top
    (tmp_path / "plan.json").write_text(json.dumps(data))
    try:
        build(from_file=str(tmp_path / "plan.json"))
    except RigError as error:
        assert error.hint is not None  # noqa: PT017 - or it is answered


CARDS = (
    "rtx 3060 12gb", "rtx 3090", "rtx 4090", "rtx 5090", "rtx a6000", "rtx 6000 ada", "rtx pro 6000",
    "l40s", "a100 pcie 80gb", "h100 pcie", "l4", "t4", "a40", "tesla p40", "mi50 32gb", "v100 pcie",
    "mi210", "arc b580", "rx 7900 xtx", "gtx 1080 ti",
)  # fmt: skip
ROOMS = (None, "230V 16A", "120V 15A", "home 220V", "quiet", "rack 4U", "rack 2U, 230V 32A")
UNAVOIDABLE = {"firmware", "eps-cards"}  # what an order says of its parts, whatever is chosen


@pytest.mark.parametrize("place", range(len(ROOMS)))
def test_sixty_machines_pass_the_check_that_judges_others(place):
    """Cards in other counts and rooms: what is made is read back, and has no fault and no doubt."""
    room = ROOMS[place]
    for row, card in list(enumerate(CARDS))[place % 2 :: 2]:
        name = f"{(1, 2, 4)[(row + place) % 3]}x {card}"
        first = build(name, wish=PlanWish(room=room)).first
        if first is None:
            continue
        told = check_text("\n".join(listed(first)), room=room)
        wrong = [ruling for ruling in told.against if ruling.rule not in UNAVOIDABLE]
        if room == "quiet":  # cards that are made for the air of a server are loud everywhere
            fans = {cards.shape.cooling for cards in first.rig.cards}
            wrong = [ruling for ruling in wrong if ruling.rule != "noise" or fans <= {OPEN}]
        assert not wrong, (name, room, wrong)


@pytest.mark.parametrize(
    ("cards", "room", "fits"),
    [
        ("8x h100 sxm", "230V 16A", False),
        ("8x h100 sxm", "rack 2U", False),
        ("4x rtx 5090", "120V 15A", False),
        ("2x l40s", "rack 2U", True),
        ("rtx 4090", "rack 2U", False),
        ("rtx 4090", "rack 4U", True),
        ("4x rtx a6000", "home 220v", True),
        ("2x rtx 3090", "家用220V, 安静", True),
    ],
)
def test_a_room_binds_in_every_verb_that_sells(cards, room, fits):
    """`build` has no machine for it, and `plan`, `cost` and `compare` refuse the same."""
    wish = PlanWish(room=room, buy=True)
    assert (build(cards, wish=wish).first is not None) is fits
    asks = (
        lambda: plan("llama-3.1-8b", wish=replace(wish, on=cards)),
        lambda: cost(cards, wish=wish),
        lambda: compare((cards, "rtx 3060 12gb"), model="qwen3-0.6b", wish=replace(wish, room=room)),
    )
    for ask in asks if not fits else asks[:2]:
        if fits:
            ask()
        else:
            with pytest.raises(AskError):
                ask()


@pytest.mark.parametrize("room", ["230V 10A", "120V 15A", "quiet, 230V 16A"])
def test_what_a_plan_sells_stands_in_the_room(room):
    found = plan("llama-3.3-70b", wish=PlanWish(room=room, buy=True, work="serve", users=60, most_plans=8))
    assert found.plans
    for one in found.plans:
        node = find_node(machine_flag(one))
        first = build(machine_flag(one), wish=PlanWish(room=room)).first
        assert first is not None, node.shown
        assert first.limit_w is None, node.shown
        assert worst(judge(first.rig, ["breaker", "voltage", "noise"])) == "ok", node.shown


PCS = {  # a PC -> cards -> kinds of part that are bought; None: it does not take them
    "b650, 64gb, 850w": {"rtx 3090": {"gpu"}, "2x rtx 3090": None, "rtx 5090": {"gpu"}, "h100 sxm": None},
    "b650, 64gb, 550w": {"rtx 3090": {"gpu", "psu"}, "rtx 3060 12gb": {"gpu"}},
    "x570, 2 slots, 32gb ddr4, 1200w": {"2x rtx 3090": {"gpu"}, "4x rtx 3090": None},
    "B650主板，64G内存，850W电源": {"rtx 4090": {"gpu"}},
    "i7-12700k, z690, 128gb ddr5, 750w, meshify c": {"rtx 4070": {"gpu"}},
}


@pytest.mark.parametrize("pc", PCS)
def test_a_pc_that_is_there_takes_cards_or_says_what_to_change(pc):
    for cards, kinds in PCS[pc].items():
        told = build(cards, wish=PlanWish(have=pc))
        if kinds is None:
            assert told.first is None, cards
            assert told.nearest is not None
            continue
        assert {item.kind for item in told.first.items} == kinds, cards
        bought = cost(cards, wish=PlanWish(have=pc, buy=True)).cost_ways[0]
        assert bought.ledger.terms[0].upfront.value == pytest.approx(told.first.usd.value)


def test_a_plan_for_a_pc_buys_cards_that_it_takes():
    wish = PlanWish(have="b650, 64gb, 650w", work="chat", most_plans=8)
    found = plan("qwen3-32b", wish=wish)
    assert found.plans
    for one in found.plans:
        told = build(machine_flag(one), wish=PlanWish(have=wish.have)).first
        assert told is not None, one.chip.name
        assert one.figures["usd"].value == pytest.approx(told.usd.value)
        assert one.supply.how == "buy"


@pytest.mark.parametrize("text", ["rtx 4090", "two horses", "my old pc", "b650, 64gb, a unicorn"])
def test_what_is_no_pc_is_refused(text):
    with pytest.raises(RigError):
        build("rtx 3090", wish=PlanWish(have=text))
