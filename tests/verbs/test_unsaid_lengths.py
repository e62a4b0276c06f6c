"""The input that nobody said and that decides most is named, by `plan` and `explain` alike."""

from __future__ import annotations

import json

import pytest

from rigright.faces.cli.main import main


def notes(capsys, *argv):
    assert main([*argv, "--json"]) == 0
    return [one for one in json.loads(capsys.readouterr().out)["notes"] if "depends on " in one]


@pytest.mark.parametrize("verb", ["plan", "explain"])
def test_the_length_that_decides_is_named_until_it_is_said(capsys, verb):
    ask = (verb, "qwen3-14b", "--on", "h100", "--engine", "vllm", "--concurrency", "300")
    (told,) = notes(capsys, *ask)
    option, least, most = (
        told.split()[2].rstrip(":"),
        *(float(one.replace(",", "")) for one in told.split()[3:6:2]),
    )
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
    assert told.startswith("whether it fits depends on --seq")
    assert notes(capsys, *ask, "--seq", "2048") == []


def test_what_comes_at_a_rate_goes_out_at_it(capsys):
    ask = ("plan", "qwen3-14b", "--on", "h100", "--rate", "1", "--engine", "vllm")
    assert notes(capsys, *ask) == []


def line_1(capsys, *asked):
    main([*asked, "--lang", "en"])
    return " ".join(capsys.readouterr().out.partition("\n\n")[0].split())


@pytest.mark.parametrize(
    "asked",
    [
        ("plan", "llama-3.1-70b", "--mode", "pretrain", "--on", "512x h100"),
        ("explain", "llama-3.1-70b", "--train", "full", "--on", "512x h100"),
        ("explain", "llama-3.1-70b", "--train", "qlora", "--on", "rtx 6000 ada"),
    ],
)
def test_a_length_that_decides_whether_it_fits_stands_on_line_1(capsys, asked):
    """Longer sequences than the assumed ones do not fit: no plain tick, and the option to say."""
    line = line_1(capsys, *asked)
    assert line.startswith("!")
    assert "whether it fits depends on --seq: " in line
    assert "whether it fits depends on" not in line_1(capsys, *asked, "--seq", "512")


def test_a_length_that_only_moves_the_peak_costs_no_tick(capsys):
    asked = ("plan", "llama-3.1-8b", "--mode", "finetune", "--on", "rtx 5090")
    assert line_1(capsys, *asked).startswith("✓")
    assert any("depends on --seq" in one for one in notes(capsys, *asked))


def test_a_machine_bought_for_a_training_of_no_stated_size_says_for_what(capsys):
    """Three years of training decide other than one run; line 1 says which of them it is."""
    asked = ("plan", "llama-3.1-8b", "--mode", "finetune", "--buy")
    line = line_1(capsys, *asked)
    assert line.startswith("!")
    assert "no --tokens: assumed 3 years of training, 100% of the time" in line
    assert "assumed 3 years" not in line_1(capsys, *asked, "--samples", "10k")
    assert "no --samples: assumed" in line_1(capsys, "plan", "resnet50", "--mode", "finetune", "--buy")


def test_a_tuning_of_no_stated_size_is_one_run_on_a_rented_machine(capsys):
    """Nobody buys a cluster for a fine-tuning that nobody sized."""
    asked = ("plan", "llama-3.3-70b", "--mode", "finetune", "--method", "full")
    line = line_1(capsys, *asked)
    assert "no --tokens: chosen for one run over 102M tokens" in line
    assert "done in" in line
    assert "$" in line.partition("in total")[0]
    assert main([*asked, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["plans"][0]
    assert first["supply"]["how"] == "rent"
    assert first["figures"]["usd_total"]["value"] < 2000
    assert "chosen for one run" not in line_1(capsys, *asked, "--tokens", "100M")


def test_a_comparison_names_the_card_that_may_run_out_of_memory(capsys):
    asked = ("compare", "4090", "5090", "--for", "llama-3.1-8b", "--mode", "finetune")
    assert line_1(capsys, *asked).endswith("memory may not be enough: RTX 4090")
    assert line_1(capsys, *asked, "--seq", "512").startswith("✓")


def test_a_context_near_its_limit_stands_on_line_1(capsys):
    assert "at most 13K context" in line_1(capsys, "explain", "qwen3-32b", "--on", "rtx 4090")
    assert "at most" not in line_1(capsys, "explain", "llama-3.1-8b", "--on", "rtx 4090")


@pytest.mark.parametrize("verb", ["plan", "explain"])
def test_a_long_context_that_only_a_few_can_fill_has_no_plain_tick(capsys, verb):
    """32 users with 128K each: short prompts pass, full ones do not fit together."""
    asked = (verb, "llama-3.1-8b", "--on", "h100", "--context", "128k", "--concurrency", "32")
    line = line_1(capsys, *asked)
    assert line.startswith("!")
    assert "memory holds 3 of 32 requests at the full context of 131,072" in line
    assert "full context" not in line_1(capsys, *asked, "--prompt", "2048")
    assert "full context" not in line_1(capsys, *asked[:-1], "2")


@pytest.mark.parametrize("verb", ["plan", "explain"])
def test_lengths_that_do_not_fit_in_the_context_asked_for_are_refused(capsys, verb):
    asked = (verb, "llama-3.1-8b", "--on", "h100", "--context", "4096", "--prompt", "3584", "--output")
    assert main([*asked, "512"]) == 0
    capsys.readouterr()
    assert main([*asked, "513"]) == 2
    said = capsys.readouterr().err
    assert "4,097 tokens do not fit in a context of 4,096" in said
    assert "--context 4097" in said
