"""Sizes in JSON are whole bytes: a fraction of a byte is no figure anybody can compare."""

from __future__ import annotations

import json

import pytest

from rigright.faces.cli.main import main

A_RATE = {"token_bytes"}  # bytes a token, an average over the stages of a pipeline


def fractions(data, path=()):
    """Where a size of a tree is no whole number."""
    if isinstance(data, dict):
        return [found for key, value in data.items() for found in fractions(value, (*path, key))]
    if isinstance(data, list):
        return [found for value in data for found in fractions(value, path)]
    sized = any(key.endswith(("_bytes", "_bytes_at")) for key in path) and not A_RATE & set(path)
    return [path] if sized and isinstance(data, float) else []


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "llama-3.1-70b", "--on", "2x rtx 3090", "--kv", "fp8"],
        ["explain", "llama-3.1-70b", "--on", "rtx 4090 + rtx 3060 12gb"],
        ["explain", "llama-3.1-8b", "--on", "2x rtx 3090", "--train", "full"],
        ["explain", "llama-3.1-8b", "--on", "8x h100", "--train", "full", "--offload", "all-cpu"],
        ["look-up", "model", "deepseek-v3"],
    ],
)
def test_sizes_are_whole_bytes(capsys, words):
    main([*words, "--json"])
    data = json.loads(capsys.readouterr().out)
    assert "_bytes" in json.dumps(data)
    assert fractions(data) == []
