"""Every family that is no plain decoder counts what transformers and diffusers build, to the last one."""

import json
from pathlib import Path

import pytest

from rigright.arch import count
from rigright.arch.read import read_config

REFERENCE = Path(__file__).parent / "reference"


def lines(name):
    text = (REFERENCE / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", ["encoders", "vision", "diffusion", "multimodal", "speech"])
def test_parameters_equal_those_of_the_built_model(name):
    wrong = {}
    for line in lines(name):
        arch = read_config(line["config"], "reference")
        if count.params(arch) != line["params"]:
            wrong[json.dumps(line["config"])] = (line["params"], count.params(arch))
    assert not wrong


@pytest.mark.parametrize("name", ["encoders", "vision", "diffusion", "multimodal", "speech"])
def test_no_reference_model_is_read_by_a_strange_family(name):
    for line in lines(name):
        arch = read_config(line["config"], "reference")
        told = [str(warning) for warning in arch.warnings]
        assert not [warning for warning in told if "is not known" in warning], line["config"]


def test_the_references_cover_the_kinds():
    kinds = {
        line["config"].get("model_type") or line["config"]["_class_name"]
        for name in ("encoders", "vision", "diffusion", "multimodal", "speech")
        for line in lines(name)
    }
    assert len(kinds) >= 120
