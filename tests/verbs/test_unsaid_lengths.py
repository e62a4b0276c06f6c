"""The input that nobody said and that decides most is named, by `plan` and `explain` alike."""

from __future__ import annotations

import json
import re

from rigright.base.money import show_money
from rigright.faces.cli.main import main

DECIDES = re.compile(r"(--[a-z-]+): ([\d.,]+).* to ([\d.,]+)")  # the option, and from where to where
CROWDED = ("qwen3-14b", "--on", "h100", "--engine", "vllm", "--concurrency", "300")


def decided(capsys, *argv):
    """By each option that decides: the least and the most that its answer comes to."""
    assert main([*argv, "--json"]) == 0
    notes = map(DECIDES.search, json.loads(capsys.readouterr().out)["notes"])
    return {
        found[1]: tuple(float(number.replace(",", "")) for number in found.groups()[1:])
        for found in notes
        if found
    }


def test_the_length_that_decides_is_named_until_it_is_said(capsys):
    for verb in ("plan", "explain"):
        ((option, (least, most)),) = decided(capsys, verb, *CROWDED).items()
        assert option in {"--prompt", "--output"}
        assert most >= 1.5 * least
        assert decided(capsys, verb, *CROWDED, "--prompt", "1000", "--output", "200") == {}
        assert option not in decided(capsys, verb, *CROWDED, option, "1000")


def test_what_is_said_to_decide_does(capsys):
    """Both ends are reached by answers to lengths that people run."""
    ((least, most),) = decided(capsys, "explain", *CROWDED).values()
    rates = []
    for prompt in ("64", "2048"):
        assert main(["explain", *CROWDED, "--prompt", prompt, "--output", "256", "--json"]) == 0
        rates.append(json.loads(capsys.readouterr().out)["speed"]["output_tok_per_s"]["value"])
    assert rates[1] < rates[0]
    assert 1.5 < rates[0] / rates[1] < 1.2 * most / least


def test_a_training_names_its_length(capsys):
    for ask in (
        ("explain", "llama-3.1-8b", "--train", "lora", "--on", "4090"),
        ("plan", "llama-3.1-8b", "--mode", "finetune", "--on", "4090"),
    ):
        assert list(decided(capsys, *ask)) == ["--seq"], ask
        assert decided(capsys, *ask, "--seq", "2048") == {}, ask


def test_what_comes_at_a_rate_goes_out_at_it(capsys):
    ask = ("plan", "qwen3-14b", "--on", "h100", "--rate", "1", "--engine", "vllm")
    assert decided(capsys, *ask) == {}


def line_1(capsys, *asked):
    main([*asked, "--lang", "en"])
    return " ".join(capsys.readouterr().out.partition("\n\n")[0].split())


def test_a_length_that_decides_whether_it_fits_stands_on_line_1(capsys):
    """Longer sequences than the assumed ones do not fit: no plain tick, and the option to say."""
    for asked in (
        ("plan", "llama-3.1-70b", "--mode", "pretrain", "--on", "512x h100"),
        ("explain", "llama-3.1-70b", "--train", "full", "--on", "512x h100"),
        ("explain", "llama-3.1-70b", "--train", "qlora", "--on", "rtx 6000 ada"),
    ):
        line = line_1(capsys, *asked)
        assert line.startswith("!"), asked
        assert DECIDES.search(line)[1] == "--seq", asked
        assert not DECIDES.search(line_1(capsys, *asked, "--seq", "512")), asked


def test_a_length_that_only_moves_the_peak_costs_no_tick(capsys):
    asked = ("plan", "llama-3.1-8b", "--mode", "finetune", "--on", "rtx 5090")
    assert line_1(capsys, *asked).startswith("✓")
    assert "--seq" in decided(capsys, *asked)


def test_a_machine_bought_for_a_training_of_no_stated_size_says_for_what(capsys):
    """Three years of training decide other than one run; line 1 says which of them it is."""
    asked = ("plan", "llama-3.1-8b", "--mode", "finetune", "--buy", "--chips", "4090")
    line = line_1(capsys, *asked)
    assert line.startswith("!")
    assert "--tokens: " in line
    assert "100%" in line.partition("--tokens: ")[2]
    assert "--tokens" not in line_1(capsys, *asked, "--samples", "10k")
    pictures = ("plan", "resnet50", "--mode", "finetune", "--buy", "--chips", "4090")
    assert "--samples: " in line_1(capsys, *pictures)


def test_a_tuning_of_no_stated_size_is_one_run_on_a_rented_machine(capsys):
    """Nobody buys a cluster for a fine-tuning that nobody sized."""
    asked = ("plan", "llama-3.3-70b", "--mode", "finetune", "--method", "full")
    line = line_1(capsys, *asked)
    assert "102M" in line.partition("--tokens: ")[2]
    assert re.search(r"\d (min|h|days?), ", line), "how long it takes"
    assert main([*asked, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["plans"][0]
    assert first["supply"]["how"] == "rent"
    total = first["figures"]["usd_total"]["value"]
    assert total < 2000
    assert show_money(total, "USD") in line, "what the run costs, and not an hour"
    assert "--tokens" not in line_1(capsys, *asked, "--tokens", "100M")


def test_a_comparison_names_the_card_that_may_run_out_of_memory(capsys):
    asked = ("compare", "4090", "5090", "--for", "llama-3.1-8b", "--mode", "finetune")
    assert line_1(capsys, *asked).endswith(": RTX 4090")
    assert line_1(capsys, *asked, "--seq", "512").startswith("✓")


def test_a_context_near_its_limit_stands_on_line_1(capsys):
    for model, near in (("qwen3-32b", True), ("llama-3.1-8b", False)):
        assert main(["explain", model, "--on", "rtx 4090", "--json"]) == 0
        limit = json.loads(capsys.readouterr().out)["limits"]["context_tok"]
        shown = f" {limit / 1024:.0f}K " in line_1(capsys, "explain", model, "--on", "rtx 4090")
        assert shown == near, model


def test_a_long_context_that_only_a_few_can_fill_has_no_plain_tick(capsys):
    """32 users with 128K each: short prompts pass, full ones do not fit together."""
    for verb in ("plan", "explain"):
        asked = (verb, "llama-3.1-8b", "--on", "h100", "--context", "128k", "--concurrency", "32")
        line = line_1(capsys, *asked)
        assert line.startswith("!"), verb
        assert re.search(r" 3 of 32 .*131,072", line), verb
        assert "131,072" not in line_1(capsys, *asked, "--prompt", "2048"), verb
        assert "131,072" not in line_1(capsys, *asked[:-1], "2"), verb


def test_lengths_that_do_not_fit_in_the_context_asked_for_are_refused(capsys):
    for verb in ("plan", "explain"):
        asked = (verb, "llama-3.1-8b", "--on", "h100", "--context", "4096", "--prompt", "3584", "--output")
        assert main([*asked, "512"]) == 0
        capsys.readouterr()
        assert main([*asked, "513"]) == 2
        refused = capsys.readouterr().err
        for told in ("4,097", "4,096", "--context 4097"):
            assert told in refused, verb
