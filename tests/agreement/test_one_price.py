"""A machine has one price, one draw and one bill: in plan, build, cost, compare and report."""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drawn_questions import THOROUGH, seeds

from rigright.base.errors import AskError
from rigright.base.plain import settle
from rigright.base.words import ENGLISH
from rigright.cost.estimate import Estimate, scaled
from rigright.demand import PlanWish
from rigright.faces.cli.main import main
from rigright.facts.chips import chips
from rigright.facts.host_words import ram_hosts
from rigright.facts.nodes import find_node
from rigright.facts.prices import orders, read_line
from rigright.facts.units import sold_count
from rigright.money.lifetime import MONTHS_PER_YEAR
from rigright.money.tariff import HOURS_PER_YEAR
from rigright.report.pages.cost import page as cost_page
from rigright.verbs.build import around_plan, build
from rigright.verbs.compare import compare
from rigright.verbs.cost import cost
from rigright.verbs.costing import BUY, RENT, Costed
from rigright.verbs.plan import plan
from rigright.verbs.planning.planned import as_data
from rigright.verbs.report import decided
from rigright.verbs.runs.planned import run_of

SCRIPT = Path(__file__).parents[2] / "scripts" / "order_table.py"
spec = importlib.util.spec_from_file_location("order_table", SCRIPT)
assert spec is not None
assert spec.loader is not None
table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)
EQUAL = 1e-9
DRAWS = 25 if THOROUGH else 3
COUNTS = (1, 2, 4, 8, 16)
DESK = (
    "rtx 3060 12gb", "rtx 4090", "rtx 3090", "rtx 5090", "rx 7900 xtx", "arc b580", "rtx a6000", "t4",
    "tesla p40", "l4", "l40s", "rtx pro 6000", "h100 pcie",
)  # fmt: skip
BOARDS = ("h100", "h200", "b200", "mi300x", "a100 80gb sxm", "mi250x", "gaudi 3", "v100 32gb")
WHOLE = ("m4 max 128gb", "m2 ultra 192gb", "dgx spark", "strix halo 128gb")
SAID = ("2x rtx 4090 + epyc 7313 + 256gb ddr4", "rtx 3090 + rtx 4090", "rtx 4090 + 128gb ddr5")
MODELS = ("Qwen/Qwen3-0.6B", "llama-3.1-8b")
OTHER = "7x rtx 3050 8gb"  # that a machine is compared with


def questions(count: int, *, seed: int) -> Iterator[tuple[str, str, PlanWish]]:
    """Models, machines, and how these are come by."""
    dice = random.Random(f"money {seed}")  # noqa: S311 - a draw of questions
    for _ in range(count):
        kind = dice.choice((DESK, DESK, BOARDS, BOARDS, WHOLE, SAID))
        name = dice.choice(kind)
        machine = f"{dice.choice(COUNTS)}x {name}" if kind in (DESK, BOARDS) else name
        wish = PlanWish(
            on=machine, buy=dice.random() < 0.75, work="serve", prompt_tok=512, output_tok=128, users=4,
            currency=dice.choice(("USD", "USD", "EUR", "CNY")),
            place=dice.choice((None, None, "germany", "china")),
            room=dice.choice((None, "rack 4U")) if machine[1:6] == "x rtx" and machine[0] < "5" else None,
            used=dice.random() < 0.2, duty=dice.choice((1.0, 1.0, 0.3)), years=dice.choice((3.0, 1.0)),
        )  # fmt: skip
        yield dice.choice(MODELS), machine, wish


def paid(costed: Costed) -> dict[str, Estimate]:
    """What `cost` says of a machine: price, watts, a year of power, an hour of rent."""
    found = {"power_w": costed.power_w}
    bought, rented = costed.way(BUY), costed.way(RENT)
    if bought is not None and costed.up_front is not None:
        found["usd"] = costed.up_front
        found["electricity"] = scaled(bought.ledger.terms[0].monthly["power"], MONTHS_PER_YEAR)
    if rented is not None:
        hours = HOURS_PER_YEAR / MONTHS_PER_YEAR * costed.duty
        found["usd_per_h"] = scaled(rented.ledger.terms[0].monthly["rent"], 1 / hours)
    return found


def planned(figures: dict[str, Estimate], wish: PlanWish) -> dict[str, Estimate]:
    """The same of a plan's figures; the power of a year is what an hour costs beside the machine."""
    found = {name: figures[name] for name in ("power_w", "usd") if name in figures}
    if "usd" not in found and wish.buy is False:
        found["usd_per_h"] = figures["usd_per_h"]
    if "usd" in found:
        worked = HOURS_PER_YEAR * wish.duty
        hour = figures["usd_per_h"].value - found["usd"].value / (wish.years * worked)
        found["electricity"] = Estimate(value=hour * worked, low=0.0, high=0.0)
    return found


def apart(one: dict[str, Estimate], other: dict[str, Estimate], *, names: tuple[str, ...]) -> Iterator[str]:
    """Where two say otherwise; of the power of a year a plan says no band."""
    for name in names:
        if name in one and name not in other:
            yield f"{name}: {one.get(name)} / {other.get(name)}"
        elif name in one:
            ends = ("value",) if name == "electricity" else ("value", "low", "high")
            for end in ends:
                mine, theirs = getattr(one[name], end), getattr(other[name], end)
                if abs(mine - theirs) > EQUAL * max(abs(mine), abs(theirs), 1e-9):
                    yield f"{name} {end}: {mine:.8g} / {theirs:.8g}"


def otherwise(model: str, machine: str, wish: PlanWish) -> Iterator[str]:
    """What any verb says otherwise than the plan."""
    every = ("usd", "power_w", "usd_per_h", "electricity")
    try:
        found = plan(model, wish=wish)
    except AskError:
        return
    first = found.first
    if first is None or not {"usd", "usd_per_h"} & set(first.figures):
        return
    data = settle(as_data(found, ENGLISH), "en")
    mine = planned(dict(first.figures), wish)
    if not {"usd", "usd_per_h"} & set(mine):
        return
    alone = replace(wish, on=None)
    for door, told in (("cost of the file", cost(run_of(data), wish=alone)),
                       ("cost of the model", cost(machine, model=model, wish=alone))):  # fmt: skip
        yield from (f"{door}: {one}" for one in apart(mine, paid(told), names=every))
    paper = decided(data, file="plan.json")
    yield from (
        f"report: {one}" for one in apart(mine, planned(dict(paper.first.figures), wish), names=every)
    )
    assert paper.cost is not None
    yield from (f"report's years: {one}" for one in apart(mine, paid(paper.cost), names=every))
    beside = compare((machine if machine[0].isdigit() else f"1x {machine}", OTHER), model=model, wish=alone)
    other = beside.contenders[0].plan
    if other is not None and (other.work, other.layout) == (first.work, first.layout):
        yield from (f"compare: {one}" for one in apart(mine, planned(dict(other.figures), wish), names=every))
    if "usd" in mine:
        made = around_plan(data, alone).first
        if made is not None:
            yield from (
                f"build: {one}"
                for one in apart(mine, {"usd": scaled(made.usd, made.machines)}, names=("usd",))
            )
            if made.wall_w is not None and first.figures["power_w"].low > made.wall_w * made.machines:
                yield f"draws {first.figures['power_w'].low:.0f} W of {made.wall_w:.0f} W at full load"


@pytest.mark.parametrize("seed", seeds(8, quick=2))
def test_every_verb_says_the_same_price_draw_and_bill(seed):
    failed = {
        f"{model} on {machine} ({wish})": said
        for model, machine, wish in questions(DRAWS, seed=seed)
        if (said := list(otherwise(model, machine, wish)))
    }
    assert not failed, "\n".join(f"{one}: {said}" for one, said in failed.items())


@pytest.mark.parametrize(
    "machine", ["rtx 3090", "2x rtx 4090", "8x h100", "2x mi300x", "4x h200", "dgx spark"]
)
def test_a_machine_without_a_model_costs_what_build_orders(machine):
    made, told = build(machine).first, cost(machine)
    assert made is not None
    assert not list(apart({"usd": scaled(made.usd, made.machines)}, paid(told), names=("usd",)))


@pytest.mark.parametrize(
    "machine", ["8x rtx 4090", "16x l40s", "10x rtx 3060 12gb", "4x rtx 4090", "8x l40s"]
)
def test_a_machine_that_build_does_not_know_is_said_to_be_an_estimate(capsys, machine):
    """With its price, in `plan` as in `build`."""
    is_known = build(machine).first is not None
    pages = []
    for words in (("plan", MODELS[0], "--on", machine, "--buy"), ("build", machine)):
        assert main([*words]) in {0, 1, 10, 20}
        pages.append(" ".join(capsys.readouterr().out.split()))
    assert ["no known machine holds" in one for one in pages] == [not is_known] * 2
    if not is_known:
        low_high = pages[0].partition(" for the rest of the machine, estimated")[0].rpartition("(")[2][:-1]
        assert f"estimate the rest of such a machine at {low_high}" in pages[1]


def test_units_that_are_sold_are_what_cost_prices():
    part, whole = cost("2x mi300x"), cost("8x mi300x")
    assert (part.n_chips, part.n_paid, whole.n_paid) == (2, 8, 8)
    assert part.up_front == whole.up_front
    for chip in chips():
        if chip.form.startswith(("SXM", "OAM")) and chip.offered:
            node = find_node(f"2x {chip.id}")
            assert sold_count(chip, node.n_cards) >= node.n_cards


def test_a_rented_share_draws_its_share():
    """A card of a shared server draws less than a machine of its own; `cost` and `plan` say the same."""
    for buy in (True, False):
        wish = PlanWish(on="l4", buy=buy, work="serve", users=64)
        first = plan(MODELS[1], wish=wish).first
        assert first is not None
        told = cost("l4", model=MODELS[1], wish=replace(wish, on=None)).power_w
        assert (told.low, told.value, told.high) == (
            first.figures["power_w"].low, first.figures["power_w"].value, first.figures["power_w"].high
        )  # fmt: skip
    rented, bought = (cost("l4", wish=PlanWish(buy=buy)).power_w.value for buy in (False, True))
    assert rented < bought / 2


ORDERED = [chip for chip in chips() if chip.id in {one for one, _ in orders()}]


@pytest.mark.parametrize("chip", ORDERED if THOROUGH else ORDERED[::16], ids=lambda chip: chip.id)
def test_orders_are_those_that_build_makes(chip):
    """`scripts/order_table.py` writes them anew."""
    for count in table.counts_of(chip):
        lines = orders().get((chip.id, count))
        kept = None if lines is None else "; ".join(line.written for line in lines)
        assert kept == table.order_of(chip, count)
    for host, words in ram_hosts().items() if THOROUGH or chip is ORDERED[0] else ():
        lines = orders(words).get((chip.id, 1))
        kept = None if lines is None else "; ".join(line.written for line in lines)
        assert kept in {None, table.order_of(chip, 1, host)}


def test_lines_are_read_as_they_are_written():
    lines = {line for order in orders().values() for line in order}
    assert len(lines) > 50
    assert {read_line(line.written) for line in lines} == lines


@pytest.mark.parametrize(
    ("machine", "listed"),
    [("2x rtx 4090", "4090,1111"), ("8x h100", "h100,17000"), ("m2 ultra 192gb", "m2 ultra 192gb,3000")],
)
def test_a_list_of_prices_counts_the_same_in_every_command(tmp_path, capsys, machine, listed):
    """Also in what a command says beside its first line: a cost under a report, parts under a plan."""
    file = tmp_path / "mine.csv"
    file.write_text(f"chip,usd\n{listed}\n", encoding="utf-8")

    def said(*words: str) -> dict[str, Any]:
        assert main([*words, "--prices", str(file), "--json"]) in {0, 1}, words
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    model = "llama-3.1-8b"
    made = next(one for one in said("build", machine)["variants"] if one["label"] == "recommended")
    figures = {
        "build": made["usd"]["value"] * made["machines"],
        "cost": said("cost", machine)["ways"][0]["up_front_usd"]["value"],
        "compare": said("compare", machine, OTHER, "--for", model)["contenders"][0]["plan"]["figures"]["usd"][
            "value"
        ],
        "report": said("report", model, "--on", machine, "--buy")["cost"]["ways"][0]["up_front_usd"]["value"],
    }
    planned = said("plan", model, "--on", machine, "--buy")["plans"][0]["figures"]["usd"]["value"]
    assert {name: round(usd) for name, usd in figures.items()} == dict.fromkeys(figures, round(planned))


@pytest.mark.parametrize(
    ("some", "every"), [("2x mi300x", "8x mi300x"), ("5x h100", "8x h100"), ("2x l4", "2x l4")]
)
def test_cards_that_are_paid_for_and_idle_draw_what_they_draw_at_rest(some, every):
    few, all_of_them = cost(some), cost(every)
    assert few.idle_w == pytest.approx(all_of_them.idle_w)
    if some != every:
        assert few.idle_w < few.power_w.value < all_of_them.power_w.value


def test_idle_cards_of_a_board_draw_in_a_plan_too():
    """Two of a board of eight: more than a plan of two alone could draw, less than all eight at work."""
    few, most = (
        plan("qwen3-32b", wish=PlanWish(on=f"{count}x mi300x", buy=True)).first.figures["power_w"].value
        for count in (2, 8)
    )
    assert cost("2x mi300x").idle_w < few < most


OWNED = ("2x rtx 3090", "rtx 3090 + rtx 4090", "8x h100", "dgx spark", "8x mi300x")


def asked(capsys, *words: str) -> dict[str, Any]:
    """What a command says; it may miss a limit."""
    assert main([*words, "--json"]) in {0, 1, 10, 20}, words
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def ordered(found: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = next(one for one in found["variants"] if one["label"] == "recommended")
    return made


@pytest.mark.parametrize("machine", OWNED)
def test_owned_cards_cost_nothing_and_are_said_so(capsys, tmp_path, machine):
    """In `build` by their name, by a model and by a plan's file; what they draw counts all the same."""
    plain = ordered(asked(capsys, "build", machine))
    planned = asked(capsys, "plan", MODELS[1], "--own", machine)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(planned), encoding="utf-8")
    for words in (("--own", machine), (MODELS[1], "--own", machine), ("--from", str(file))):
        made = ordered(asked(capsys, "build", *words))
        mine = [one for one in made["items"] if one["owned"]]
        assert {one["kind"] for one in made["items"] if one["kind"] in {"gpu", "machine"}} & {
            one["kind"] for one in mine
        }, words
        assert sum(one["usd"]["value"] for one in mine) == 0
        assert made["wall_w"] == plain["wall_w"], words
        bare = sum(
            one["usd"]["value"] for one in made["items"] if one["usd"] is not None and one["kind"] == "gpu"
        )
        assert bare == 0
    kept = asked(capsys, "cost", MODELS[1], "--own", machine)
    assert [one["up_front_usd"]["value"] for one in kept["ways"] if one["kind"] == "own"] == [0]
    assert kept["power_w"] == planned["plans"][0]["figures"]["power_w"]


def test_cards_beside_those_that_are_owned_are_bought_alone(capsys):
    whole, part, none = (
        ordered(asked(capsys, "build", "4x rtx 3090", *own))["usd"]["value"]
        for own in ([], ["--own", "2x rtx 3090"], ["--own", "4x rtx 3090"])
    )
    assert none < part < whole
    assert whole - part == pytest.approx(part - none)
    assert main(["build", "2x rtx 3060", "--own", "2x rtx 3090"]) == 2
    boards = asked(capsys, "build", "16x h100", "--own", "8x h100")
    assert ordered(boards)["usd"] == ordered(asked(capsys, "build", "8x h100"))["usd"]


def test_boards_beside_those_that_are_owned_come_with_their_host(capsys):
    """What is there stands in a box of its own already; a second box is bought with all that is in it."""
    found = asked(capsys, "plan", "llama-3.1-70b", "--own", "8x h100", "--buy", "--rate", "40")
    more = found["instead"]["supply"]
    box = ordered(asked(capsys, "build", "8x h100"))
    assert (found["instead"]["n_chips"], more["n_chips"]) == (16, 16)
    assert more["host_usd"]["value"] == pytest.approx(box["around_usd"]["value"], rel=0.01)


@pytest.mark.parametrize("machine", ["2x rtx 4090", "8x l4", "rtx 3060 12gb + rtx 4090", "2x mi300x"])
def test_a_machine_that_is_named_is_paid_whole_however_little_works(capsys, tmp_path, machine):
    """Also where a limit makes a part of it the best plan: in every verb, and of a plan's file."""
    rated = sum(card.chip.tdp_w for card in find_node(machine).cards)
    words = ("--on", machine, "--buy", "--watts", f"{0.9 * rated:.0f}")
    planned = asked(capsys, "plan", MODELS[0], *words)
    first = (planned["plans"] or [planned["nearest"]])[0]
    price, draw = first["figures"]["usd"]["value"], first["figures"]["power_w"]
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(planned), encoding="utf-8")
    bill = ordered(asked(capsys, "build", machine))
    assert bill["usd"]["value"] == pytest.approx(price)
    assert ordered(asked(capsys, "build", "--from", str(file)))["usd"]["value"] == pytest.approx(price)
    for door in ((MODELS[0], *words), (str(file),)):
        found = asked(capsys, "cost", *door)
        ways = {one["kind"]: one for one in found["ways"]}
        assert ways["buy"]["up_front_usd"]["value"] == pytest.approx(price)
        assert found["power_w"]["value"] == pytest.approx(draw["value"])
    rest = asked(capsys, "cost", machine)["idle_w"]
    assert first["n_chips"] == first["supply"]["n_chips"] or draw["value"] > rest


def test_a_plan_keeps_its_price_in_every_verb_that_reads_it(capsys, tmp_path):
    listed, file = tmp_path / "mine.csv", tmp_path / "plan.json"
    listed.write_text("chip,usd\nrtx 4090,1111\n", encoding="utf-8")
    for more in ((), ("--used",), ("--currency", "EUR"), ("--place", "germany")):
        planned = asked(
            capsys, "plan", MODELS[1], "--on", "2x rtx 4090", "--buy", "--prices", str(listed), *more
        )
        file.write_text(json.dumps(planned), encoding="utf-8")
        price = planned["plans"][0]["figures"]["usd"]["value"]
        paid = asked(capsys, "cost", str(file))["ways"][0]["up_front_usd"]["value"]
        signed = asked(capsys, "report", str(file))["cost"]["ways"][0]["up_front_usd"]["value"]
        built = ordered(asked(capsys, "build", "--from", str(file)))["usd"]["value"]
        assert [paid, signed, built] == pytest.approx([price] * 3), more
        assert asked(capsys, "cost", str(file), "--used")["used"] or "--used" in more


@pytest.mark.parametrize("verb", ["plan", "cost"])
def test_a_place_is_answered_in_its_own_money(capsys, verb):
    found = asked(capsys, verb, MODELS[1], "--place", "germany")
    assert found["wish"]["currency"] == "EUR"
    assert (
        asked(capsys, verb, MODELS[1], "--place", "germany", "--budget", "3000usd")["wish"]["currency"]
        == "USD"
    )


@pytest.mark.parametrize("word", ["--rent", "--buy", "--used"])
def test_words_about_more_cards_are_not_silent_beside_owned_ones(capsys, word):
    """They decide what is added where the owner's cards do not do, and are said to be idle where they do."""
    plain = asked(capsys, "plan", MODELS[1], "--own", "2x rtx 3090")
    assert len(asked(capsys, "plan", MODELS[1], "--own", "2x rtx 3090", word)["notes"]) > len(plain["notes"])
    busy = asked(capsys, "plan", MODELS[1], "--own", "2x rtx 3090", "--rate", "20", word)
    assert busy["instead"] is not None
    assert busy["instead"]["supply"]["how"] == (
        "rent" if word == "--rent" else busy["instead"]["supply"]["how"]
    )


def test_a_cost_that_misses_a_limit_has_no_tick():
    wish = PlanWish(budget_usd=3000.0)
    found = cost("2x rtx 4090", model=MODELS[1], wish=wish)
    assert found.missed
    assert cost_page(found).tone == "bad"
    kept = cost("2x rtx 4090", model=MODELS[1], wish=replace(wish, budget_usd=9000.0))
    assert not kept.missed
    assert cost_page(kept).tone != "bad"
