"""Names are typed without quotes: what belongs to the name before it joins it, a machine is told apart."""

import pytest

from rigright.base.errors import AskError
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
        ("qwen3-8b 2x 3090 --users 4", "'2x 3090'"),
        ("mistral small 24b 2x a6000", "'2x a6000'"),
        ("gemma 3 27b h100", "h100"),
    ],
)
def test_a_machine_without_its_option_is_told(line, machine):
    with pytest.raises(AskError) as refused:
        verb_parser("plan", "en").read(line.split(), typed=True)
    assert f"--on {machine}" in str(refused.value.hint)
