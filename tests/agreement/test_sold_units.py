"""What is proposed can be bought or rented, and no machine of it holds more GPUs than such machines do."""

from __future__ import annotations

import io
import json
import random
import re
from contextlib import redirect_stderr, redirect_stdout

import pytest
import yaml
from drawn_questions import THOROUGH, seeds

from rigright.faces.cli.main import main
from rigright.facts.chips import by_id, chips
from rigright.facts.clouds import offers
from rigright.facts.nodes import find_node
from rigright.facts.units import box_of, boxes_of, devices_of, most_in_node, sold_count, units_of
from rigright.money.renting import chips_of
from rigright.verbs.export import every_launch

COUNTS = range(1, 33)
DRAWS = 60 if THOROUGH else 8
PLACED = ("datacenter", "workstation", "consumer", "soc")
SOLD = [chip for chip in chips() if chip.offered and chip.segment in PLACED and chip.form != "cloud only"]
MODELS = ("qwen3-8b", "llama-3.3-70b", "Qwen/Qwen3-30B-A3B", "gpt-oss-20b", "gpt2")


def asked(words):
    """The exit code and what it printed."""
    with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()):
        code = main(words)
    return code, said.getvalue()


@pytest.mark.parametrize("chip", chips(), ids=lambda chip: chip.id)
def test_every_count_is_sold_in_units_and_stands_in_real_boxes(chip):
    units, each = units_of(chip), devices_of(chip)
    assert units.sold == tuple(sorted(units.sold))
    assert units.sold[0] >= 1
    assert units.most == 0 or units.node <= units.most
    for count in COUNTS:
        sold = sold_count(chip, count * each)
        assert sold >= count * each
        assert sold == sold_count(chip, sold)
        cards = sold // each
        assert cards in units.sold or cards % units.sold[-1] == 0
        held, boxes = boxes_of(chip, count * each)
        assert held * boxes == count * each
        assert held <= max(units.most * each, box_of(chip))
        node = find_node(f"{count}x {chip.id}")
        if node.host is not None:  # its id is read as a processor too, and the count as sockets
            break
        assert (len(node.cards), node.n_nodes) == (held, boxes)


@pytest.mark.parametrize("form", sorted({chip.form for chip in chips()}))
def test_modules_of_a_board_are_never_sold_alone(form):
    modules = form.startswith(("SXM", "OAM", "SH5")) or form == "superchip board"
    assert all((units_of(chip).sold[0] > 1) is modules for chip in chips() if chip.form == form) or (
        form == "cloud only"
    )


def test_a_named_instance_is_one_machine_whatever_such_machines_usually_hold():
    for offer in offers():
        if offer.most_chips is None and offer.chip and offer.n_chips >= 2 and "-" in offer.instance:
            node = find_node(offer.instance)
            assert (len(node.cards), node.n_nodes) == (chips_of(offer), 1), offer.instance
            assert len(node.cards) <= most_in_node(by_id()[offer.chip])


def question(dice):
    """What is asked, and the machine that is stated, if any."""
    chip = dice.choice(SOLD)
    words = ["plan", dice.choice(MODELS), "--json", "--plans", "4"]
    words += dice.choice((["--mode", "finetune", "--tokens", "1M"], ["--concurrency", "64"], [], []))
    kind = dice.choice(("--buy", "--rent", "", "--own", "--on"))
    if kind in {"--own", "--on"}:
        count = dice.choice((1, 2, 3, 4, 6, 8, 12, 16, 24))
        return [*words, kind, f"{count}x {chip.id}"], count * chip.devices
    return [*words, "--chips", chip.id, *([kind] if kind else [])], 0


def broken(plan, stated):
    """What of a proposal does not exist."""
    chip = by_id()[plan["chip"]]
    supply, count, nodes = plan["supply"], plan["n_chips"], plan["n_nodes"]
    own = stated if supply["how"] == "own" or stated >= count else 0
    more = supply["n_chips"] - (0 if own else stated)
    if supply["how"] == "buy" and sold_count(chip, more) != more:
        yield f"{more} are not sold"
    if not own and supply["n_chips"] != count:
        yield f"{count} of {supply['n_chips']} that are paid for"
    if supply["how"] == "rent" and not stated and supply["n_chips"] % nodes:
        yield f"{supply['n_chips']} over {nodes} instances"
    box = max(box_of(chip), most_in_node(chip))
    each = -(-count // nodes)
    if each > box:
        yield f"{each} in a box of {box}"
    layout = plan["layout"]
    if layout["tp"] > box > 1:  # boxes of one are joined by a cable and cut as one
        yield f"tp {layout['tp']} in a box of {box}"


def gpus_of_a_node(files):
    """What launch files of a scheduler ask of one machine."""
    for name, text in files.items():
        if name.endswith((".yaml", ".yml")):
            yield from _limits(yaml.safe_load(text))
        yield from (int(one) for one in re.findall(r"--gpus-per-node=(\d+)", text))
        yield from (int(one) for one in re.findall(r"--nproc-per-node[ =](\d+)", text))
        yield from (int(one) for one in re.findall(r"--num_gpus[ =](\d+)", text))
        for devices in re.findall(r"(?:CUDA|HIP)_VISIBLE_DEVICES[=:] *[\"']?([\d,]+)", text):
            yield max(int(one) for one in devices.split(",")) + 1


def _limits(told):
    """Every count of GPUs in a document."""
    if isinstance(told, dict):
        for key, value in told.items():
            if key in {"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"}:
                yield int(value)
            elif key == "device_ids":
                yield max(int(one) for one in value) + 1
            else:
                yield from _limits(value)
    elif isinstance(told, list):
        for one in told:
            yield from _limits(one)


@pytest.mark.parametrize("seed", seeds(8, quick=2))
def test_what_is_proposed_exists_and_starts_on_machines_that_do(seed):
    dice = random.Random(f"units {seed}")  # noqa: S311 - a draw of questions
    wrong, looked = [], 0
    for _ in range(DRAWS):
        words, stated = question(dice)
        code, said = asked(words)
        if code == 2 or not said:
            continue
        data = json.loads(said)
        for number, plan in enumerate(data["plans"], start=1):
            looked += 1
            wrong += [(words, one) for one in broken(plan, stated)]
            most = most_in_node(by_id()[plan["chip"]])
            for target, files in every_launch(data, number=number).items():
                over = [one for one in gpus_of_a_node(files) if one > most] if isinstance(files, dict) else []
                wrong += [(words, target, one) for one in over]
    assert wrong == []
    assert looked >= DRAWS / 3


@pytest.mark.parametrize("how", ["--buy", "--rent"])
def test_compare_and_build_take_what_is_sold(how):
    for name in ("mi300x", "h200", "b200", "gaudi2", "a100 80gb sxm"):
        code, said = asked(["compare", name, "rtx 4090", "--for", "qwen3-8b", how, "--json"])
        if code == 2:
            continue
        plan = json.loads(said)["contenders"][0]["plan"]
        if plan is not None:
            assert list(broken(plan, 0)) == [], name


def test_a_board_that_is_named_in_part_is_priced_whole():
    _, said = asked(["plan", "llama-3.3-70b", "--on", "2x mi300x", "--buy", "--json"])
    plan = json.loads(said)["plans"][0]
    assert (plan["n_chips"], plan["supply"]["n_chips"]) == (2, 8)
    _, said = asked(["plan", "llama-3.3-70b", "--on", "8x mi300x", "--buy", "--json"])
    assert json.loads(said)["plans"][0]["supply"]["usd"] == plan["supply"]["usd"]


def test_more_than_a_board_is_not_asked_for_in_vain():
    code, _ = asked(["plan", "qwen3-8b", "--chips", "mi300x", "--buy", "--max-chips", "4"])
    assert code != 0


SEVERAL = [chip for chip in chips() if chip.devices > 1]


@pytest.mark.parametrize("chip", SEVERAL, ids=lambda chip: chip.id)
@pytest.mark.parametrize("model", ["qwen3-0.6b", "gte-large", "resnet-18"])
def test_a_card_of_several_devices_is_taken_whole(chip, model):
    for machine in (f"1x {chip.id}", f"8x {chip.id}"):
        code, said = asked(["plan", model, "--on", machine, "--json"])
        plans = json.loads(said)["plans"] if not code else []
        assert all(one["n_chips"] % chip.devices == 0 for one in plans), machine
