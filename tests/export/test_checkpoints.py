"""A serving bundle loads weights that are stored as planned: published ones, or made by its first step."""

import ast
import json
import random
import re
import shlex
import subprocess

import pytest

from rigright.base.errors import AskError, RigError
from rigright.base.loader import records
from rigright.facts.checkpoints import Checkpoint, published, quantizer
from rigright.facts.formats import GGUF, find_format
from rigright.facts.launching import programs
from rigright.verbs.export import launch_files, planned_for
from rigright.verbs.launch import launch_of

ROWS = records("checkpoints.csv", Checkpoint)
PLAIN = {"bf16", "fp16", "fp32"}
WORDS = {"awq4": "awq", "gptq4": "gptq", "int4": "w4a16"}  # in a name


def test_a_repository_says_its_format_and_is_named_once():
    assert len({(row.model, row.weights) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert re.search(WORDS.get(row.weights, row.weights[:4]), row.repository, re.IGNORECASE), row
        assert row.repository.count("/") == row.model.count("/") == 1
        assert row.repository != row.model
        assert row.engines <= {engine for program in programs().values() for engine in program.runs}


def test_mixes_of_a_repository_are_named_and_own_blocks_are_not_made():
    assert published("Qwen/Qwen3-32B", "gguf:Q5_K_M", engine="llama.cpp") == "unsloth/Qwen3-32B-GGUF:Q5_K_M"
    assert published("Qwen/Qwen3-32B", "gguf:Q5_K_M", engine="tensorrt-llm") is None
    assert published("Qwen/Qwen3-32B", "gguf:MXFP4", engine="llama.cpp") is None
    assert quantizer("llama.cpp", "gguf:MXFP4") is None


CARDS = ("rtx 5090", "2x rtx 4090", "1x h100", "2x rtx 3090", "rtx 3090 + 128gb", "l40s")
MODELS = ("qwen3-32b", "qwen3-14b", "gemma-3-12b-it", "llama-3.3-70b", "mistral-nemo", "gpt-oss-20b", "phi-4")


@pytest.mark.parametrize("target", ["vllm", "sglang", "llama.cpp", "ollama", "tensorrt-llm"])
def test_whatever_is_planned_can_be_loaded(target):
    """Of random questions none gets a server with weights of another format."""
    dice = random.Random(target)  # noqa: S311 - questions, no secret
    formats = [*PLAIN, "fp8", "awq4", "gptq4", "nvfp4"] if target not in {"llama.cpp", "ollama"} else [None]
    tried = 0
    for _ in range(12):
        fields = {"on": dice.choice(CARDS)}
        weights = dice.choice(formats)
        fields |= {"weights": weights} if weights else {}
        try:
            data = planned_for(dice.choice(MODELS), target, fields=fields)
            launch = launch_of(data, target)
        except RigError:
            continue
        tried += 1
        weights = launch.serving.weights
        kept = weights in PLAIN or weights in programs()[target].converts
        if launch.making is None and not kept:
            row = next((row for row in ROWS if launch.model.startswith(row.repository)), None)
            native = launch.model == data["model"]
            assert native or row is not None, (data["model"], weights)
            assert native or weights == row.weights or (row.weights == "gguf" and weights.startswith(GGUF))
        files = launch_files(target, data)
        made = [name for name in files if name.startswith("quantize.")]
        assert bool(made) == (launch.making is not None)
    assert tried > 2


def test_what_makes_them_is_a_program_and_names_what_the_server_loads(tmp_path):
    data = planned_for("gemma-3-12b-it", "vllm", fields={"on": "rtx 3090", "weights": "awq4"})
    files = launch_files("vllm", data)
    tree = ast.parse(files["quantize.py"])
    names = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    source, made = ast.literal_eval(names)
    assert source == "google/gemma-3-12b-it"
    assert made in shlex.split(files["serve.sh"].split("exec ")[1].replace("\\\n", " "))
    assert "AutoModelForImageTextToText" in files["quantize.py"]
    data = planned_for("falcon-7b", "llama.cpp", fields={"on": "rtx 3090", "weights": "gguf:Q4_K_M"})
    files = launch_files("llama.cpp", data)
    for name in ("hf", "python3", "build/bin/llama-quantize"):
        fake = tmp_path / name
        fake.parent.mkdir(parents=True, exist_ok=True)
        fake.write_text('#!/bin/sh\necho "$@"\n')
        fake.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/bin:/usr/bin", "LLAMA_CPP": str(tmp_path)}
    done = subprocess.run(
        ["/bin/sh", "-c", files["quantize.sh"]], capture_output=True, text=True, check=True, env=environment
    )
    download, _, mixed = done.stdout.splitlines()
    assert download.split()[1] == "tiiuae/falcon-7b"
    assert mixed.split()[1:] == ["falcon-7b-Q4_K_M.gguf", "Q4_K_M"]
    assert mixed.split()[1] in files["serve.sh"]


def test_named_weights_go_before_published_ones_and_none_known_is_refused():
    data = planned_for("qwen3-32b", "vllm", fields={"on": "rtx 5090", "weights": "nvfp4"})
    assert launch_of(data, "vllm").model == "nvidia/Qwen3-32B-NVFP4"
    assert launch_of(data, "vllm", checkpoint="me/mine").model == "me/mine"
    plan = json.loads(json.dumps(data))
    plan["plans"][0]["work"]["weights"] = "hqq4"
    with pytest.raises(AskError, match=re.escape(find_format("hqq4").label)):
        launch_of(plan, "vllm")


@pytest.mark.parametrize(
    ("fields", "file"),
    [
        ({}, "generate.py"),
        ({"mode": "finetune"}, "training_args.json"),
        ({"method": "qlora"}, "training_args.json"),
    ],
)
def test_transformers_generates_unless_a_training_is_asked_for(fields, file):
    data = planned_for("llama-2-70b", "transformers", fields={"on": "4x rtx 4090", **fields})
    text = launch_files("transformers", data)[file]
    assert not file.endswith(".py") or ('device_map="auto"' in text and compile(text, file, "exec"))
