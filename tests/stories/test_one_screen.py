"""Every planning page is one screen: the answer first, no private words, nothing said twice."""

from __future__ import annotations

import re

import pytest

from rigright.report.cells import width

HEIGHT, WIDTH = 30, 80
QUESTIONS = (
    "plan qwen3-32b --on '1x rtx 5090'",
    "plan qwen3-8b --own '2x rtx 3090' --mode chat",
    "plan llama-3.1-70b --on '1x rtx 3060'",
    "plan llama-3.1-8b --on 4090 --rate 100/s --ttft 1s",
    "plan llama-3.1-8b --on 4090 --users 8 --ttft 1ms --percentile p95",
    "plan llama-3.1-70b --own '4090 + 3090' --mode chat",
    "plan llama-3.1-8b --cloud aws --users 16 --max-chips 4",
    "plan llama-3.1-8b --chips 4090 --budget '60000 CNY'",
    "plan qwen3-8b --mode finetune --tokens 10M --on '1x rtx 4090'",
    "plan sdxl --mode image --on 4090",
    "explain qwen3-8b --on '1x rtx 4090'",
    "explain qwen3-32b --on '1x rtx 4090'",
    "explain llama-3.1-8b --on '1x h100' --train lora",
    "explain llama-3.1-70b --on '8x h100' --train full",
    "explain sdxl --on 4090",
    "fit --on '1x rtx 4090'",
    "compare '1x rtx 5090' '1x rtx 4090' --for qwen3-8b --users 8",
    "simulate qwen3-8b --on '1x rtx 4090' --rate 20 --requests 200 --ttft 1s",
    "simulate qwen3-8b --on '1x rtx 4090' --concurrency 4 --requests 50",
)
PRIVATE = re.compile(
    r"at once|of old|is none of|nobody|loses least|costs least|surely|not said|is counted as|stands behind|"
    r"\bseats?\b|dice|holds it back|held back|tells of|\btold\b|first tokens? after|next tokens|known by|"
    r"runs of such|played|asked for at most|M tokens\b|an hour\b"
)
MARKS = ("✓ ", "✗ ", "! ", "[ok] ", "[x] ", "[!] ")


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_page_is_one_screen_with_its_answer_first(ask, question):
    said = ask(f"{question} --width {WIDTH}")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].startswith(MARKS)
    shown, typed = lines, [line for line in lines if line.startswith("  $ ")]
    assert len([line for line in shown if line not in typed]) + len(typed) <= HEIGHT
    assert all(width(line) <= WIDTH for line in lines if line not in typed)
    assert len(typed) <= 2
    assert not PRIVATE.findall(said.out)
    sentences = [line for line in said.lines if len(line) > 20 and "  " not in line]
    assert len(sentences) == len(set(sentences))


@pytest.mark.parametrize("question", QUESTIONS[::5])
def test_the_same_in_chinese_and_on_a_phone(ask, question):
    chinese = ask(f"{question} --width {WIDTH} --lang zh")
    assert chinese.lines[0].startswith(MARKS)
    assert len(chinese.out.splitlines()) <= HEIGHT
    assert all(width(line) <= WIDTH for line in chinese.lines if not line.startswith("  $ "))
    narrow = ask(f"{question} --width 40")
    assert narrow.lines[0].startswith(MARKS)
    assert all(width(line) <= 40 for line in narrow.lines if not line.startswith("  $ "))


@pytest.mark.parametrize("question", [QUESTIONS[0], QUESTIONS[10], QUESTIONS[15]])
def test_details_show_more(ask, question):
    short, long = ask(question), ask(f"{question} --details")
    assert short.lines[0] == long.lines[0]
    assert len(long.lines) > len(short.lines)
