"""The input that nobody said and that decides most is named, by `plan` and `explain` alike."""

from __future__ import annotations

import json

import pytest

from rigright.faces.cli.main import main


def notes(capsys, *argv):
    assert main([*argv, "--json"]) == 0
    return [one for one in json.loads(capsys.readouterr().out)["notes"] if "decides between" in one]


@pytest.mark.parametrize("verb", ["plan", "explain"])
def test_the_length_that_decides_is_named_until_it_is_said(capsys, verb):
    ask = (verb, "qwen3-14b", "--on", "h100", "--engine", "vllm", "--concurrency", "300")
    (told,) = notes(capsys, *ask)
    option, least, most = told.split()[0], *(float(one.replace(",", "")) for one in told.split()[3:6:2])
    assert option in {"--prompt", "--output"}
    assert most >= 1.5 * least
    assert notes(capsys, *ask, "--prompt", "1000", "--output", "200") == []
    said = notes(capsys, *ask, option, "1000")
    assert all(option not in one for one in said)


def test_what_is_said_to_decide_does(capsys):
    """Both ends are reached by answers to lengths that people run."""
    ask = ("explain", "qwen3-14b", "--on", "h100", "--engine", "vllm", "--concurrency", "300")
    (told,) = notes(capsys, *ask)
    least, most = (float(one.replace(",", "")) for one in told.split()[3:6:2])
    rates = []
    for prompt in ("64", "2048"):
        assert main([*ask, "--prompt", prompt, "--output", "256", "--json"]) == 0
        rates.append(json.loads(capsys.readouterr().out)["speed"]["output_tok_per_s"]["value"])
    assert rates[1] < rates[0]
    assert 1.5 < rates[0] / rates[1] < 1.2 * most / least


@pytest.mark.parametrize(
    "ask",
    [
        ("explain", "llama-3.1-8b", "--train", "lora", "--on", "4090"),
        ("plan", "llama-3.1-8b", "--mode", "finetune", "--on", "4090"),
    ],
)
def test_a_training_names_its_length(capsys, ask):
    (told,) = notes(capsys, *ask)
    assert told.startswith("--seq decides between")
    assert notes(capsys, *ask, "--seq", "2048") == []


def test_what_comes_at_a_rate_goes_out_at_it(capsys):
    ask = ("plan", "qwen3-14b", "--on", "h100", "--rate", "1", "--engine", "vllm")
    assert notes(capsys, *ask) == []
