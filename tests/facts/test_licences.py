"""Licences of weights: the first pattern wins, and unknown stays unknown."""

from __future__ import annotations

import pytest

from rigright.arch.sources import zoo
from rigright.facts.licences import licence_of


@pytest.mark.parametrize(
    ("name", "licence"),
    [
        ("meta-llama/Meta-Llama-3.1-8B", "llama3.1"),
        ("Qwen/Qwen2.5-72B", "qwen"),
        ("Qwen/Qwen2.5-7B", "apache-2.0"),
        ("google/gemma-3-27b-it", "gemma"),
        ("deepseek-ai/DeepSeek-R1", "mit"),
        ("deepseek-ai/DeepSeek-V3", "deepseek"),
        ("mistralai/Mistral-Large-Instruct-2407", "mistral-research"),
        ("stabilityai/stable-diffusion-xl-base-1.0#unet", "openrail++"),
        ("nobody/knows-this", None),
    ],
)
def test_licences(name, licence):
    assert licence_of(name) == licence


def test_most_of_the_zoo_has_one():
    known = sum(licence_of(name) is not None for name in zoo.names())
    assert known / len(zoo.names()) > 0.9
