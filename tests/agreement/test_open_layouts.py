"""A layout that is told in part: what is open is chosen once, whichever door asks, and said again as it is.

Experts and attention may be cut in three ways over the cards of a replica. Of a question that tells tensor
parallel alone, or expert parallel too, the search takes what serves best; a row of a table gets the same.
"""

from __future__ import annotations

import json
import random
import re
import shlex
from typing import Any

import pytest
from drawn_questions import THOROUGH, arch_of, differing, node_of, seeds
from test_next_commands import asked

from rigright.base.errors import RigError
from rigright.cost.weights import has_experts
from rigright.demand import PlanWish, ServingWish
from rigright.faces.tools import call
from rigright.report.pages.plan_next import explain_flags, next_commands
from rigright.search.single import single
from rigright.verbs.explain import explain_case
from rigright.verbs.plan import plan
from rigright.verbs.runs.columns import setup_of
from rigright.verbs.validate.door import filled

COUNT = 60 if THOROUGH else 20
MODELS = (
    *("Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V2-Lite", "deepseek-v3", "mixtral-8x7b", "gpt-oss-120b"),
    *(
        "gpt-oss-20b",
        "MiniMaxAI/MiniMax-M2",
        "zai-org/GLM-4.5-Air",
        "moonshotai/Kimi-Linear-48B-A3B-Instruct",
        "qwen3-8b",
    ),
)
ROUTED = tuple(model for model in MODELS if model != "qwen3-8b")
MACHINES = {"8x h100": 8, "8x h200": 8, "4x rtx 4090": 4, "2x a100 80gb": 2}
FIGURES = {
    "ttft_ms": ("ttft_s", 1e3),
    "tpot_ms": ("tpot_s", 1e3),
    "output_tok_s_total": ("output_tok_per_s", 1),
}
CUTS = ("tp", "pp", "dp", "ep", "attention_dp")


def cuts(cards: int) -> tuple[dict[str, Any], ...]:
    """What may be told of a layout over so many cards, from nothing to all of it."""
    whole = {"tp": cards, "ep": cards}
    return (
        {},
        {"tp": cards},
        {"tp": max(cards // 2, 2)},
        {"tp": 2, "pp": cards // 2},
        {"tp": cards // 2, "dp": 2},
        whole,
        whole | {"attention_dp": True},
        whole | {"attention_dp": False},
        {"tp": cards, "attention_dp": True},
        {"tp": cards, "attention_dp": False},
        {"tp": cards, "ep": 1},
        {"tp": cards, "ep": 1, "attention_dp": False},
    )


def drawn(dice: random.Random) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
    """A model, a machine, what is told of the layout, and the rest."""
    machine = dice.choice(list(MACHINES))
    said = {"prompt_tok": dice.choice((128, 1024, 3500)), "output_tok": dice.choice((64, 256, 600))}
    said |= {"users": float(dice.choice((1, 8, 32, 200)))}
    if dice.random() < 0.25:
        said |= {"users": None, "rate_per_s": dice.choice((0.5, 2.0, 8.0))}
    if dice.random() < 0.3:
        said["engine"] = dice.choice(("vllm", "sglang", "tensorrt-llm"))
    return dice.choice(MODELS), machine, dice.choice(cuts(MACHINES[machine])), said


def as_row(model: str, machine: str, told: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """The same words as a row of a table."""
    words = {"users": "load"}
    yes = {True: "yes", False: "no"}
    return {
        "arch": model, "chip": re.sub(r"^\d+x ", "", machine), "n_chips": MACHINES[machine], "mode": "serve",
        **{name: yes[value] if value in (True, False) and name == "attention_dp" else value
           for name, value in told.items()},
        **{words.get(name, name): value for name, value in said.items() if value is not None},
    }  # fmt: skip


@pytest.mark.parametrize("seed", seeds(8, quick=1))
def test_a_row_with_the_same_words_is_predicted_as_the_question_is_answered(seed, tmp_path):
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    rows, expected = [], []
    for _ in range(COUNT):
        model, machine, told, said = drawn(dice)
        try:
            case = single(arch_of(model), node_of(machine), wish=ServingWish(**told, **said)).case
        except RigError:  # a layout, or an engine, that does not go there
            continue
        answer = explain_case(case, machine=machine)
        if answer.speed is None or case.serving.offload is not None:
            continue
        for metric, (name, scale) in FIGURES.items():
            figure = getattr(answer.speed, name)
            rows.append({"id": len(rows), "metric": metric, **as_row(model, machine, told, said)})
            expected.append([getattr(figure, end) * scale for end in ("value", "low", "high")])
    assert len(rows) > COUNT
    assert differing(rows, expected, tmp_path) == []


@pytest.mark.parametrize("seed", seeds(8, quick=1))
def test_every_plan_is_asked_again_with_the_layout_it_has(seed):
    """Of each plan shown, not only the first: its layout, and its figures."""
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    different, compared = [], 0
    for _ in range(COUNT // 4):
        model, machine = dice.choice(MODELS), dice.choice(list(MACHINES))
        load = {"users": float(dice.choice((1, 8, 100)))} if dice.random() < 0.7 else {}
        wish = PlanWish(
            on=machine, prompt_tok=dice.choice((500, 3000)), output_tok=200, most_plans=5, **load,
        )  # fmt: skip
        found = plan(model, wish=wish)
        for one in found.plans:
            if one.prefill is not None:
                continue
            typed = ["explain", model, *explain_flags(one, wish=found.wish), "--json"]
            code, page = asked(typed)
            told = json.loads(page)
            layout = {name: getattr(one.layout, name) for name in CUTS}
            again = {name: told["layout"][name] for name in CUTS}
            figures = [one.figures[name].value for name, _ in FIGURES.values()]
            speed = [told["speed"][name]["value"] for name, _ in FIGURES.values()]
            compared += 1
            if code not in {0, 1} or layout != again or speed != pytest.approx(figures, rel=1e-6):
                different.append((shlex.join(typed), layout, again, figures, speed))
        if found.plans:
            lines = [shlex.split(line)[1:] for line in next_commands(found, found.plans[0])]
            played = [line for line in lines if line[:1] == ["simulate"]]
            for line in played:
                again = json.loads(asked([*line, "--requests", "20", "--json"])[1])["layout"]
                layout = {name: getattr(found.plans[0].layout, name) for name in CUTS}
                if layout != {name: again[name] for name in CUTS}:
                    different.append((shlex.join(line), layout, again))
    assert different == []
    assert compared >= COUNT // 8


@pytest.mark.parametrize("model", ROUTED)
@pytest.mark.parametrize("machine", ["8x h100", "8x h200"])
@pytest.mark.parametrize("users", [None, 16.0])
def test_what_is_open_is_no_worse_than_any_way_to_tell_it(model, machine, users):
    """At the most load that keeps the limits in tokens a second; under a load, in the time of a token."""
    rest = {
        "tp": 8, "engine": "vllm", "weights": "fp8", "kv": "16bit", "prompt_tok": 1024, "output_tok": 256,
        "context_tok": 4096, "users": users,
    }  # fmt: skip

    def figures(**told: Any) -> tuple[float, float] | None:
        try:
            case = single(arch_of(model), node_of(machine), wish=ServingWish(**rest, **told)).case
        except RigError:
            return None
        speed = explain_case(case, machine=machine).speed
        if speed is None:
            return None
        token_s = (speed.ttft_s.value + 255 * speed.tpot_s.value) / 256
        return speed.output_tok_per_s.value, token_s

    free = figures()
    ways = (
        {"ep": 1, "attention_dp": False},
        {"ep": 8, "attention_dp": False},
        {"ep": 8, "attention_dp": True},
    )
    told = [one for one in (figures(**way) for way in ways) if one is not None]
    if free is None:
        assert told == []
        return
    assert len(told) == len(ways)
    if users is None:
        assert free[0] >= max(output for output, _ in told) * (1 - 1e-9)
    else:  # times that differ by less than 3 % are alike
        assert free[1] <= min(token_s for _, token_s in told) * 1.0301


def test_attention_that_is_whole_is_told_apart_from_attention_that_is_open():
    arch, node = arch_of("Qwen/Qwen3-30B-A3B"), node_of("8x h100")
    assert has_experts(arch)
    layouts = [
        single(arch, node, wish=ServingWish(tp=8, ep=8, attention_dp=told, users=256.0)).case.layout
        for told in (None, True, False)
    ]
    assert [one.attention_dp for one in layouts[1:]] == [True, False]
    assert layouts[0] in layouts[1:]


RARE = (  # layouts that no search tries by itself, each with what is told of it
    ("mixtral-8x7b", "8x h100", {"tp": 8, "ep": 2}),
    ("mixtral-8x7b", "8x h100", {"tp": 8, "ep": 1, "attention_dp": True}),
    ("deepseek-v3", "16x h200", {"tp": 16}),
    ("qwen3-8b", "8x h100", {"tp": 1, "pp": 5}),
    ("qwen3-8b", "2 nodes of 4x l40s", {"tp": 8}),
    ("qwen3-8b", "4x rtx 4090", {"engine": "llama.cpp", "pp": 3}),
)


@pytest.mark.parametrize(("model", "machine", "told"), RARE)
def test_a_layout_that_no_search_tries_is_asked_the_same_question(model, machine, told):
    """Its load is the highest that keeps the limits, as of any layout; what is not told of it is open."""
    arch, node = arch_of(model), node_of(machine)
    found = single(arch, node, wish=ServingWish(**told))
    case = found.case
    assert {name: getattr(case.layout, name) for name in told if name != "engine"} == {
        name: value for name, value in told.items() if name != "engine"
    }
    again = single(arch, node, wish=ServingWish(**told, users=case.traffic.concurrency)).case
    assert again.layout == case.layout
    if has_experts(arch) and "attention_dp" not in told:
        output = explain_case(case, machine=machine).speed.output_tok_per_s.value
        for whole in (True, False):
            other = single(arch, node, wish=ServingWish(**told, attention_dp=whole)).case
            other_output = explain_case(other, machine=machine).speed.output_tok_per_s.value
            assert output >= other_output * (1 - 1e-9)
    bare = single(arch, node, wish=ServingWish(**told, users=1.0)).case
    assert case.traffic.concurrency >= bare.traffic.concurrency


@pytest.mark.parametrize(
    ("typed", "counted"),
    [
        ({"tp": 1, "dp": 8, "ep": 8}, {"tp": 8, "dp": 1, "ep": 8}),
        ({"tp": 2, "dp": 4, "ep": 4}, {"tp": 4, "dp": 2, "ep": 4}),
        ({"tp": 1, "ep": 8}, {"tp": 8, "ep": 8}),
    ],
)
def test_experts_over_data_parallel_ranks_are_attention_data_parallelism(typed, counted):
    """As vLLM counts: the same replica by another name, and a row of a table says it so too."""
    arch, node = arch_of("mixtral-8x7b"), node_of("8x h100")
    first = single(arch, node, wish=ServingWish(**typed, users=64.0)).case
    second = single(arch, node, wish=ServingWish(**counted, attention_dp=True, users=64.0)).case
    assert (first.layout, first.traffic) == (second.layout, second.traffic)
    with pytest.raises(RigError, match="--no-attention-dp"):
        single(arch, node, wish=ServingWish(**typed, attention_dp=False))


@pytest.mark.parametrize("told", [None, True, False])
def test_every_door_takes_all_three(told):
    """The command line, an agent, and the settings of a run that somebody measured."""
    flags = {None: [], True: ["--attention-dp"], False: ["--no-attention-dp"]}[told]
    words = ["mixtral-8x7b", "--on", "8x h100", "--tp", "8", "--ep", "8", *flags]
    typed = json.loads(asked(["explain", *words, "--json"])[1])["layout"]
    played = json.loads(asked(["simulate", *words, "--rate", "1", "--requests", "9", "--json"])[1])["layout"]
    said = {"model": "mixtral-8x7b", "on": "8x h100", "tp": 8, "ep": 8, "attention_dp": told}
    agent = call("explain", said | {"detail": "full"}, root=None).data["layout"]
    wish = ServingWish(tp=8, ep=8, attention_dp=told)
    wanted = single(arch_of("mixtral-8x7b"), node_of("8x h100"), wish=wish).case.layout
    assert [one["attention_dp"] for one in (typed, agent)] == [wanted.attention_dp] * 2
    assert told is None or played["attention_dp"] is told
    cell = setup_of("validate", {flag.removeprefix("--"): "yes" for flag in flags}).cells("inference")
    assert cell == ({} if told is None else {"attention_dp": "yes" if told else "no"})


def test_what_a_run_leaves_out_is_what_its_engine_does():
    """Expert parallel that nobody turned on was off in a run, and is open in a question."""
    row = {"arch": "mixtral-8x7b", "chip": "h100", "n_chips": 8, "tp": 8, "mode": "serve", "load": 64.0}
    asks = filled(row, arch_of("mixtral-8x7b"))[0]
    ran = filled(row | {"value": 1000.0}, arch_of("mixtral-8x7b"))[0]
    free = single(arch_of("mixtral-8x7b"), node_of("8x h100"), wish=ServingWish(tp=8, users=64.0)).case.layout
    assert free.ep == 8
    assert (asks["ep"], asks["attention_dp"]) == (free.ep, free.attention_dp)
    assert (ran["ep"], ran["attention_dp"]) == (1, False)
