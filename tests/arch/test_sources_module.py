"""Any PyTorch module, traced by a process of its own that may crash, hang or print what it likes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from rigright.arch import count
from rigright.arch.sources.module import CHILD, parse_inputs, read_trace, trace
from rigright.base.errors import AskError, DataError, MissingError
from spoken import values

# a Python that has torch, where this one has not
PYTHON = os.environ.get("RIGRIGHT_TORCH_PYTHON", sys.executable)
with_torch = pytest.mark.skipif(
    sys.executable == PYTHON and find_spec("torch") is None,
    reason="torch is not installed (RIGRIGHT_TORCH_PYTHON may name a Python that has it)",
)
PROGRAM = """
import os, sys, torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.act = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d(4)
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.pool(self.act(self.norm(self.conv(x)))).flatten(1))

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(1000, 64)
        self.out = nn.Linear(64, 1000, bias=False)
        self.out.weight = self.table.weight

    def forward(self, tokens):
        return self.out(self.table(tokens))

def vast(): return nn.Sequential(*(nn.Linear(100_000, 100_000) for _ in range(10)))
def hang():
    while True: pass
def crash(): os.abort()
def leave(): os._exit(0)
def number(): return 3
def noisy():
    print("nonsense" * 10_000); sys.stderr.write("x" * 100_000)
    return Net()
def asks(one): return Net()
def clean():
    assert not any(place.endswith("sources") for place in sys.path), "our safetensors.py hides the real one"
    return Net()
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def traced(program, factory, **how):
    return trace(program, factory, run_code=True, python=PYTHON, **{"limit_s": 100, **how})


@with_torch
def test_a_module_is_counted_and_its_activations_measured(program):
    arch = traced(program, "Net", input_shape="2x3x32x32")
    assert count.params(arch) == (3 * 8 * 9 + 8) + 16 + (1280 + 10)
    conv, norm, relu = arch.trunk.layers[:3]
    assert conv.map_elems == norm.map_elems == relu.map_elems == (8 * 32 * 32,)
    assert conv.kept_elems == 3 * 32 * 32
    assert count.flops_per_tok(arch.trunk) == 2 * (8 * 27 * 32 * 32 + 1280)
    assert values(arch.warnings[0]) == {"count": "17"}
    assert arch.task == "vision"


@with_torch
def test_a_tied_weight_is_counted_once(program):
    arch = traced(program, "Tied", input_shape="1x16:int")
    assert count.params(arch) == 64_000
    assert arch.tied
    assert arch.task == "text"


@with_torch
def test_no_weight_is_allocated(program):
    assert count.params(traced(program, "vast")) == 10 * (10**10 + 10**5)


@with_torch
@pytest.mark.parametrize(
    ("factory", "told"),
    [
        ("crash", "exited with code"),
        ("leave", "exited with code"),
        ("number", "no torch.nn.Module"),
        ("asks", "missing 1 required"),
        ("absent", "no attribute"),
    ],
)
def test_what_goes_wrong_in_the_child_is_a_sentence(program, factory, told):
    with pytest.raises(DataError, match=told):
        traced(program, factory)


@with_torch
def test_noise_is_not_heard(program, capfd):
    assert count.params(traced(program, "noisy")) > 0
    assert capfd.readouterr() == ("", "")


@with_torch
def test_our_own_folder_is_not_on_the_path_of_the_child(program):
    assert count.params(traced(program, "clean")) > 0


@with_torch
def test_an_input_that_does_not_fit_says_why(program):
    with pytest.raises(DataError, match="Net"):
        traced(program, "Net", input_shape="1x7x8x8")


def test_a_child_that_hangs_is_ended(program, tmp_path):
    (tmp_path / "torch.py").write_text("while True: pass\n", encoding="utf-8")
    hanging = tmp_path / "python"
    hanging.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'import time; time.sleep(600)'\n", encoding="utf-8"
    )
    hanging.chmod(0o755)
    if os.name != "posix":
        pytest.skip("the stand-in is a shell script")
    with pytest.raises(DataError) as refused:
        trace(program, "hang", run_code=True, python=str(hanging), limit_s=0.2)
    assert values(refused.value.sentence) == {"file": program.name, "limit": "0.2"}


def test_without_torch_the_sentence_tells_how_to_get_it(program, tmp_path):
    job, result = tmp_path / "job.json", tmp_path / "result.json"
    job.write_text("{}", encoding="utf-8")
    code = (
        f"import runpy, sys; sys.modules['torch'] = None; sys.argv = ['x', {str(job)!r}, {str(result)!r}];"
        f"runpy.run_path({str(CHILD)!r}, run_name='__main__')"
    )
    subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert json.loads(result.read_text(encoding="utf-8")) == {"missing": "torch"}
    with pytest.raises(MissingError, match="pip install 'torch>="):
        trace(program, "Net", run_code=True, python=_stand_in(tmp_path, '{"missing": "torch"}'))


def _stand_in(tmp_path, result):
    """A Python that writes a result and nothing else."""
    if os.name != "posix":
        pytest.skip("the stand-in is a shell script")
    (tmp_path / "answer").write_text(result, encoding="utf-8")
    path = tmp_path / "stand-in"
    path.write_text(f'#!/bin/sh\ncp {tmp_path}/answer "$4"\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "result",
    [
        "",
        "garbage",
        "[]",
        "{}",
        '{"modules": 3}',
        '{"modules": [1], "tied": [], "buffers": {}}',
        '{"modules": [{"kind": "Linear", "weights": [["", ["x"], ""]], "written": 0, "kept": 0}]}',
        '{"modules": [], "tied": [], "buffers": {}}',
        '{"error": "ValueError: no"}',
    ],
)
def test_a_child_that_leaves_garbage_is_not_believed(program, tmp_path, result):
    with pytest.raises(DataError):
        trace(program, "Net", run_code=True, python=_stand_in(tmp_path, result))


def test_code_is_run_only_with_leave(program):
    with pytest.raises(AskError, match="--run-code"):
        trace(program, "Net", run_code=False)


@pytest.mark.parametrize(
    "text", ["", "x", "1x", "0x3", "1x3x224x224:complex", "1,,2", "9" * 30, ",".join(["1"] * 20)]
)
def test_inputs_that_cannot_be_say_so(text):
    with pytest.raises(AskError):
        parse_inputs(text)


def test_inputs_are_shapes_with_kinds():
    assert parse_inputs("1x3x8x8, 2x77:int") == [
        {"shape": [1, 3, 8, 8], "kind": "float"},
        {"shape": [2, 77], "kind": "int"},
    ]


def test_roles_follow_from_the_kinds_of_modules():
    rows = [
        {
            "name": "a",
            "kind": "Conv2d",
            "weights": [["weight", [8, 3, 3, 3], "torch.float16"]],
            "written": 800,
            "kept": 30,
        },
        {
            "name": "b",
            "kind": "LayerNorm",
            "weights": [["weight", [8], "torch.float16"]],
            "written": 800,
            "kept": 0,
        },
    ]
    arch = read_trace(
        {"modules": rows, "tied": [], "buffers": {}}, name="x", inputs=parse_inputs("2x3x4x4"), batch=2
    )
    assert [weight.role for layer in arch.trunk.layers for weight in layer.weights] == ["conv", "norm"]
    assert arch.trunk.layers[0].weights[0].sites == 400 // 8
    assert arch.dtype == "fp16"
