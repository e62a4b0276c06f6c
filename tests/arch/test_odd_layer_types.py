"""Kinds of layers nobody knows are told, and known ones are not."""

from __future__ import annotations

import pytest

from rigright.arch.read import read_config
from rigright.arch.sources import zoo

GPT_OSS = "openai/gpt-oss-20b"


def test_an_unknown_kind_is_told():
    raw = dict(zoo.config(GPT_OSS))
    raw["layer_types"] = ["zzz"] * len(raw["layer_types"])
    assert any('"zzz"' in str(warning) for warning in read_config(raw, "x").warnings)


@pytest.mark.parametrize("name", zoo.names())
def test_no_kind_of_the_zoo_is_unknown(name):
    assert not any("layer_types contains unknown" in str(warning) for warning in zoo.arch(name).warnings)
