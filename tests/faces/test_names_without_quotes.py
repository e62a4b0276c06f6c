"""Names are typed without quotes: what belongs to the name before it joins it, a machine is told apart."""

import pytest

from rigright.faces.cli.main import verb_parser


@pytest.mark.parametrize(
    ("line", "model"),
    [
        ("kimi k2 --on h200", "kimi k2"),
        ("phi 4 --users 3", "phi 4"),
        ("gemma 3 27b", "gemma 3 27b"),
        ("deepseek r1 --on 4090", "deepseek r1"),
        ("qwen3 30b a3b --users 2", "qwen3 30b a3b"),
    ],
)
def test_words_of_a_model_are_joined(line, model):
    assert verb_parser("plan", "en").read(line.split(), typed=True).model == model


@pytest.mark.parametrize(
    ("line", "machine"),
    [
        ("llama-3.1-8b 4090", "4090"),
        ("qwen3-8b 2x 3090 --users 4", "2x 3090"),
        ("mistral small 24b 2x a6000", "2x a6000"),
        ("gemma 3 27b on h100", "h100"),
        ("gemma 3 27b --on rtx 4090", "rtx 4090"),
        ("phi 4 --users 2 on mac studio m3 ultra", "mac studio m3 ultra"),
        ("phi 4", None),
    ],
)
def test_a_machine_is_known_without_its_option(line, machine):
    """As if it stood behind --on, whatever stands around it."""
    options = verb_parser("plan", "en").read(line.split(), typed=True)
    assert options.on == machine
    assert not set(options.model.split()) & {"on", "4090", "h100", "2x"}


@pytest.mark.parametrize("line", ["rtx 4090", "4x rtx 3090"])
def test_what_takes_a_machine_takes_all_of_its_words(line):
    assert verb_parser("cost", "en").read(line.split(), typed=True).what == line
