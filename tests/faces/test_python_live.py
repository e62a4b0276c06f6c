"""The Python API with what people have beside it: pandas, polars, a notebook's kernel, a type checker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.live, pytest.mark.dear]
ROOT = Path(__file__).parents[2]
PACKAGES = ("pandas", "polars", "nbclient", "nbformat", "ipykernel")
FRAMES = """
import pandas, polars
import rigright as rig

answers = {
    "plan": rig.plan("llama-3.1-8b", on="2x 4090", users=8), "fit": rig.fit("4090"),
    "compare": rig.compare("4090", "5090", for_="llama-3.1-8b"), "cost": rig.cost("2x rtx 4090"),
    "build": rig.build("2x rtx 4090"), "chips": rig.look_up("chips"), "xid": rig.look_up("xid"),
    "explain": rig.explain("llama-3.1-8b", on="4090"), "doctor": rig.doctor(),
    "report": rig.report("qwen3-8b"),
}
for name, answer in answers.items():
    one, other = answer.to_frame("pandas"), answer.to_frame("polars")
    assert isinstance(one, pandas.DataFrame) and isinstance(other, polars.DataFrame), name
    assert one.shape == other.shape and len(one) > 0, name
    for head in one.columns:
        assert pandas.api.types.is_numeric_dtype(one[head]) == other[head].dtype.is_numeric(), (name, head)
plans = answers["plan"].to_frame("polars")
assert plans["usd"].dtype.is_numeric() and plans["n_chips"].dtype == polars.Int64
assert answers["chips"].to_frame("pandas")["memory GB"].max() > 100
"""
NOTEBOOK = """
import sys, nbclient, nbformat

read = nbformat.read(sys.argv[1], 4)
nbformat.validate(read)
nbclient.NotebookClient(read, timeout=300, kernel_name="python3").execute()
shown = [one for cell in read.cells for one in cell.get("outputs", []) if "text/html" in one.get("data", {})]
assert len(shown) > 2
"""
TYPED = """
import rigright as rig

plan = rig.plan("qwen3-8b", on="4090", users=8, ttft="1s", used=True)
sides = rig.compare("4090", "5090", for_="llama-3.1-8b")
reveal_type(sides)
reveal_type(plan.pictures)
reveal_type(rig.probe().devices[0].name)
plan.wattage
rig.plan("qwen3-8b", bugdet=3)
rig.plan("qwen3-8b", used="yes")
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A Python with what people use, in a folder of its own."""
    folder = tmp_path_factory.mktemp("notebook") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    inside = folder / "bin" / "python"
    subprocess.run([inside, "-m", "pip", "install", "-q", "numpy", *PACKAGES], check=True)
    return inside


def ran(*words):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([*words], env=environment, capture_output=True, text=True, check=False)


def test_real_frames_have_numbers_where_all_cells_are(python):
    done = ran(python, "-c", FRAMES)
    assert done.returncode == 0, done.stderr


def test_the_notebook_runs_in_a_kernel(python):
    done = ran(python, "-c", NOTEBOOK, ROOT / "docs" / "examples" / "notebook.ipynb")
    assert done.returncode == 0, done.stderr


def test_a_type_checker_knows_options_and_answers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(TYPED, encoding="utf-8")
    done = ran(sys.executable, "-m", "mypy", "--strict", "--config-file=", script)
    assert 'Revealed type is "rigright.CompareReply"' in done.stdout
    assert 'Revealed type is "str | None"' in done.stdout
    assert 'Revealed type is "tuple[rigright.faces.python.Picture, ...]"' in done.stdout
    wrong = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(wrong) == 3, done.stdout
    assert '"PlanReply" has no attribute "wattage"' in wrong[0]
    assert 'keyword argument "bugdet"' in wrong[1]
    assert 'Argument "used" to "plan" has incompatible type "str"' in wrong[2]
