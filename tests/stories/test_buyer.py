"""Somebody who is about to spend money: plans, comparisons, limits that cannot be kept."""

from __future__ import annotations

import csv
import io
import shlex
import subprocess
import sys

import pytest

QUESTION = "plan llama-3.1-70b --on '8x h100' --prompt 2048 --output 512 --ttft 1s --tpot 50ms"
HOME = "plan qwen3-32b --mode chat --buy --budget '$8000'"


def test_an_engineer_reads_verdict_memory_plans_and_what_to_type_next(ask):
    said = ask(QUESTION)
    assert said.code == 0
    assert said.lines[0].startswith("meta-llama/Llama-3.1-70B: serve, 2,048 tokens in, 512 out")
    assert said.lines[1].startswith(("✓ fits on 8x H100", "[ok] fits on 8x H100"))
    for head in ("plans", "next"):
        assert head in said.lines
    assert sum(line.strip().startswith("$ rigright") for line in said.lines) >= 3


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
    assert "为什么不选更便宜的" in said.out or "方案" in said.out


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
    assert "nothing keeps every limit" in said.out
    data = ask("plan llama-3.1-8b --on 4090 --ttft 1us --json").data
    assert data["fits"] is False
    assert data["broken"][0]["limit"] == "ttft_s"
    assert data["broken"][0]["nearest"] > 1e-6


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("plan llama-3.1-8b --ttft fast", "write 50ms"),
        ("plan llama-3.1-8b --budget cheap", "write for example $8000"),
        ("plan llama-3.1-8b --cloud nowhere", "there are alibaba"),
        ("plan llama-3.1-8b --chips 5095", "5095"),
        ("plan llama-3.1-8b --engine nothing", "nothing"),
        ("plan llama-3.1-8b --buget 5k", "--budget"),
        ("plan nothing-of-the-kind", "nothing-of-the-kind"),
        ("compare 4090 --for llama-3.1-8b", "from 2 to 8"),
        ("compare 4090 5090", "--for"),
        ("compare 4090 aws:x1.huge --for llama-3.1-8b", "no instance"),
    ],
)
def test_a_wrong_line_is_one_sentence_that_says_what_to_do(ask, line, said):
    answer = ask(line)
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_a_spreadsheet_of_plans(ask):
    rows = list(csv.DictReader(io.StringIO(ask(f"{HOME} --csv").out)))
    assert [row["plan"] for row in rows] == [str(place) for place in range(1, len(rows) + 1)]
    assert all(float(row["output_tok_per_s_low"]) <= float(row["output_tok_per_s"]) for row in rows)


def test_cards_and_clouds_side_by_side(ask):
    said = ask("compare 4090 5090 aws:g6e.xlarge --for qwen3-8b --users 8")
    assert said.code == 0
    assert "is first in" in said.out
    assert "roofline" in said.out
    assert ask("compare 4090 5090 --for qwen3-8b --users 8 --html").out.count("<svg") == 1


def test_planning_loads_only_what_it_uses():
    code = (
        "import sys, io; out = sys.stdout; sys.stdout = io.StringIO();"
        "from rigright.faces.cli.main import main;"
        f"main({[*shlex.split(QUESTION), '--json']!r}); sys.stdout = out;"
        "print(*(name for name in sys.modules if name.startswith('rigright.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    strange = (
        "rigright.sim",
        "rigright.report.formats",
        "rigright.verbs.look_up",
        "rigright.verbs.calibrate",
    )
    assert [name for name in sorted(loaded) if name.startswith(strange)] == []
    assert "rigright.search.training" not in loaded
