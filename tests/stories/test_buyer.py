"""Somebody who is about to spend money: plans, comparisons, limits that cannot be kept."""

from __future__ import annotations

import csv
import io
import re
import shlex
import subprocess
import sys

import pytest

QUESTION = "plan llama-3.1-70b --on '8x h100' --prompt 2048 --output 512 --ttft 1s --tpot 50ms"
HOME = "plan qwen3-32b --mode chat --buy --budget '$8000'"


def test_an_engineer_reads_verdict_memory_plans_and_what_to_type_next(ask):
    said = ask(QUESTION)
    assert said.code == 0
    assert said.mark == "✓"
    assert re.match(r"\S+ 8x H100 \S+ 80GB \w+ Llama-3\.1-70B in bf16: ", said.lines[0])
    assert len(said.lines) <= 30
    typed = [line.strip().startswith("$ rigright") for line in said.lines]
    assert typed[-3:] == [False, True, True], "two commands under their head close the page"
    long = ask(f"{QUESTION} --details")
    assert re.search(r"^Llama-3\.1-70B: .*2,048 .*512 ", long.out, re.MULTILINE)
    assert sum(line.strip().startswith("$ rigright") for line in long.lines) >= 3


def test_every_next_command_answers(ask):
    said = ask(QUESTION)
    for line in said.lines:
        if line.strip().startswith("$ rigright") and " simulate " not in line:
            assert ask(line.strip().removeprefix("$ rigright ")).code == 0, line


def test_a_hobbyist_is_told_cards_within_the_budget(ask):
    data = ask(f"{HOME} --json").data
    assert data["fits"]
    assert 1 <= len(data["plans"]) <= 5
    assert all(plan["figures"]["usd"]["value"] <= 8000 for plan in data["plans"])
    assert all(plan["supply"]["how"] == "buy" for plan in data["plans"])


def test_the_same_question_in_yuan_and_chinese(ask):
    said = ask("plan qwen3-32b --mode chat --buy --budget 5万 --lang zh")
    assert said.code == 0
    verdict = said.lines[0]
    assert verdict.startswith("✓ ")
    assert "Qwen3-32B" in verdict
    assert re.search("[\u4e00-\u9fff]", verdict)
    assert int(re.search(r"¥([\d,]+)", verdict)[1].replace(",", "")) <= 50_000
    assert "$" not in verdict


def test_more_money_never_plans_worse(ask):
    spent = [
        ask(f"plan qwen3-32b --mode chat --buy --aim speed --budget '${budget}' --json").data["plans"]
        for budget in (3000, 9000)
    ]
    slow, fast = (plans[0]["figures"]["output_tok_per_s"]["value"] for plans in spent)
    assert fast >= slow


def test_a_looser_limit_never_costs_more(ask):
    costs = [
        ask(f"plan llama-3.1-8b --users 16 --tpot {tpot} --cloud aws --aim cost --json").data["plans"][0]
        for tpot in ("20ms", "60ms")
    ]
    tight, loose = (plan["figures"]["usd_per_h"]["value"] for plan in costs)
    assert loose <= tight


def test_a_wish_below_physics_names_the_limit_and_its_number(ask):
    said = ask("plan llama-3.1-8b --on 4090 --ttft 1us")
    assert said.code == 0
    assert re.match(r"(✗|\[x\]) 1x RTX 4090 .*: TTFT ", said.flat)
    data = ask("plan llama-3.1-8b --on 4090 --ttft 1us --json").data
    assert data["fits"] is False
    assert data["broken"][0]["limit"] == "ttft_s"
    assert data["broken"][0]["nearest"] > 1e-6


def test_a_wrong_line_is_one_sentence_that_says_what_to_do(ask):
    for line, said in (
        ("plan llama-3.1-8b --ttft fast", "50ms"),
        ("plan llama-3.1-8b --budget cheap", "8000usd"),
        ("plan llama-3.1-8b --cloud nowhere", "alibaba, "),
        ("plan llama-3.1-8b --chips 5095", "5095"),
        ("plan llama-3.1-8b --engine nothing", "nothing"),
        ("plan llama-3.1-8b --buget 5k", "--budget"),
        ("plan nothing-of-the-kind", "nothing-of-the-kind"),
        ("compare 4090 --for llama-3.1-8b", " 2 to 8 "),
        ("compare 4090 5090 --users 8", "--for"),
        ("compare 4090 aws:x1.huge --for llama-3.1-8b", '"x1.huge"'),
    ):
        answer = ask(line)
        assert (answer.code, answer.is_error) == (2, True), line
        assert said in answer.err, line


def test_a_spreadsheet_of_plans(ask):
    rows = list(csv.DictReader(io.StringIO(ask(f"{HOME} --csv").out)))
    assert [row["plan"] for row in rows] == [str(place) for place in range(1, len(rows) + 1)]
    assert all(float(row["output_tok_per_s_low"]) <= float(row["output_tok_per_s"]) for row in rows)


def test_cards_and_clouds_side_by_side(ask):
    said = ask("compare 4090 5090 aws:g6e.xlarge --for qwen3-8b --users 8")
    assert said.code == 0
    assert re.match(r"(✓|\[ok\]) .*: (?:[\d.]+x|\d+%) ", said.lines[0])
    told = ask("compare 4090 5090 aws:g6e.xlarge --for qwen3-8b --users 8 --details --html").out
    assert told.count("<svg") == 1, "the roofline"


@pytest.mark.parametrize(
    ("asked", "most"),
    [
        ("plan llama-3.1-8b --users 8 --on h100", 152),
        ("explain llama-3.1-8b --on 4090", 151),
        (f"{QUESTION} --json", 151),
    ],
)
def test_a_question_runs_through_the_files_it_needs(asked, most):
    """The number may only fall; what it does not draw, doubt or say why of is not loaded."""
    code = (
        "import sys, io; out = sys.stdout; sys.stdout = io.StringIO();"
        "from rigright.faces.cli.main import main;"
        f"main({shlex.split(asked)!r}); sys.stdout = out;"
        "print(*(name for name, one in sys.modules.items()"
        "        if name.startswith('rigright.') and not hasattr(one, '__path__')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    strange = (
        "rigright.sim",
        "rigright.verbs.look_up",
        "rigright.verbs.calibrate",
        "rigright.search.training",
        "rigright.cost.images",
        "rigright.arch.classifiers",
        "rigright.verbs.serving.reasons",
        "rigright.verbs.planning.reasons",
        *(["rigright.report.formats", "rigright.report.charts"] if "--json" in asked else []),
    )
    assert [name for name in sorted(loaded) if name.startswith(strange)] == []
    assert len(loaded) <= most
