"""The parcel is closed: whatever the program in it imports or reads is in it, and no more."""

from __future__ import annotations

import ast
import io
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest

import spoken
from rigright.machine.bench.child import BenchChild
from rigright.machine.bench.record import BenchRequest as Measure
from rigright.machine.bench.record import BenchWish, Result, Skipped
from rigright.machine.remote.envelope import heard
from rigright.machine.remote.parcel import (
    NO_PYTHON,
    OLDEST,
    Bench,
    RemoteRequest,
    parcel,
    program,
    start_line,
)
from rigright.machine.stored import restored

AGENT = "rigright/machine/remote/agent.py"


@cache
def packed(*, with_bench=False):
    with zipfile.ZipFile(io.BytesIO(program(with_bench=with_bench))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@cache
def tree_of(source):
    """What a Python of the oldest kind reads in it."""
    return ast.parse(source.decode(), feature_version=OLDEST)


def imports_of(source):
    """(module, whether it stands at the top) of ours."""
    tree = tree_of(source)
    hidden = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    top = set(tree.body)
    for node in ast.walk(tree):
        if node in hidden:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rigright"):
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node.module, node in top
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("rigright"):
                    yield alias.name, alias.name, node in top


def file_of(files, module):
    path = module.replace(".", "/")
    return next((one for one in (f"{path}.py", f"{path}/__init__.py") if one in files), None)


@pytest.mark.parametrize("with_bench", [False, True])
def test_every_import_of_what_runs_there_is_in_it(with_bench):
    """From the agent and the readers' shelves on, through all that modules import when they are loaded."""
    files = packed(with_bench=with_bench)
    shelves = ("rigright/machine/parts/", "rigright/machine/vendors/")
    waiting = [AGENT, *(name for name in files if name.startswith(shelves))]
    seen = set()
    while waiting:
        name = waiting.pop()
        if name in seen or not name.endswith(".py"):
            continue
        seen.add(name)
        for full, module, at_top in imports_of(files[name]):
            found = file_of(files, full) or file_of(files, module)
            if found is None:
                assert not at_top, f"{name} imports {module}, which was left at home"
                assert not with_bench or "bench" not in module, (name, module)
            else:
                waiting.append(found)
    assert len(seen) > 60


def test_nothing_of_it_needs_what_a_bare_python_lacks():
    heavy = {"numpy", "torch", "psutil", "prometheus_client", "ray"}
    known = set(sys.stdlib_module_names) | {"rigright", "pynvml"}
    for name, source in packed().items():
        if not name.endswith(".py") or name == "pynvml.py":
            continue
        tree = tree_of(source)
        for node in tree.body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            roots = {one.partition(".")[0] for one in names}
            assert not roots & heavy, name
            assert roots <= known, (name, roots - known)


def test_every_table_it_reads_is_in_it_and_no_prices():
    files = packed()
    code = b"".join(source for name, source in files.items() if name.endswith(".py"))
    tables = {name.rpartition("/")[2] for name in files if name.startswith("rigright/data/")}
    assert tables
    assert all(f'"{table}"'.encode() in code for table in tables)
    assert not {"prices.csv", "clouds.csv", "models.jsonl", "chips.csv"} & tables


LATER = {  # than Python 3.10, the oldest that a node may have -> what is asked for there
    "typing": {"Self", "Never", "LiteralString", "assert_never", "override", "Unpack", "NotRequired"},
    "datetime": {"UTC"},
    "enum": {"StrEnum"},
    "contextlib": {"chdir"},
    "tomllib": set(),
}


def test_nothing_of_it_needs_a_newer_python_than_the_oldest():
    for name, source in packed(with_bench=True).items():
        if not name.endswith(".py"):
            continue
        tree = tree_of(source)
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                later = LATER.get(node.module or "", set())
                assert node.module != "tomllib", name
                assert not later & {alias.name for alias in node.names}, name
            elif isinstance(node, ast.Import):
                assert "tomllib" not in {alias.name for alias in node.names}, name


def older(version):
    """Such a Python of this machine."""
    kept = sorted(map(str, Path(sys.base_prefix).parent.glob(f"{version}.*/bin/python3")))  # beside our own
    for path in filter(None, (shutil.which(f"python{version}"), *kept)):
        if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    return None


def measured_there(python, folder, *parts, env=None):
    """What a node answers that has this Python; it has all the time it needs, on a busy machine too."""
    bench = Bench(wish=BenchWish(quick=True, budget_s=ENOUGH_S, disk=str(folder)), parts=parts)
    said = parcel(RemoteRequest(patience_s=2 * ENOUGH_S, bench=bench), lifeline=False)
    line = shlex.split(start_line(python=python))
    done = subprocess.run(line, input=said, capture_output=True, timeout=3 * ENOUGH_S, check=True, env=env)
    (told,) = heard(done.stdout)
    assert told.get("problem") is None
    assert {one["part"] for one in (*told["results"], *told["skipped"])} == set(parts)
    return told, {one["part"]: restored(Skipped, one, where="skipped").why for one in told["skipped"]}


ENOUGH_S = 100


def test_the_oldest_python_reads_and_measures(tmp_path):
    """What a node with Ubuntu 22.04 is sent runs there: all modules, the readers, a child that measures."""
    python = older("3.10")
    if python is None:
        pytest.skip("no Python 3.10 here")
    told, skipped = measured_there(python, tmp_path, "network", "disk")
    assert [one for one in told["machine"]["unseen"] if "failed" in str(one["why"])] == []
    assert {one["part"] for one in told["results"]} >= {"network"}
    # neither a child that died nor a fault of ours in its own words
    assert [why for why in skipped.values() if why.text == "{text}" or "{" in str(why)] == []
    assert {name for why in skipped.values() for name in spoken.values(why)} <= {"folder", "kind"}


def test_a_child_may_be_of_the_oldest_python(tmp_path):
    """PyTorch is often in another Python than ours."""
    python = older("3.10")
    if python is None:
        pytest.skip("no Python 3.10 here")
    child = BenchChild(python, dict(os.environ))
    ask = {"spare_s": 1.0, "quick": True, "folder": str(tmp_path), "shown_folder": str(tmp_path)}
    try:
        found = list(child.run(Measure(part="disk", **ask)))
    finally:
        child.close()
    assert found
    assert all(isinstance(one, Result) or set(spoken.values(one.why)) == {"folder", "kind"} for one in found)


def test_a_python_without_numpy_measures_the_rest(tmp_path):
    """Whether a part can be measured is no matter of the others; nothing of it stays there."""
    bare, scratch = tmp_path / "site", tmp_path / "scratch"
    for folder in (bare, scratch):
        folder.mkdir()
    (bare / "sitecustomize.py").write_text("import sys\nsys.modules['numpy'] = None\n", encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(bare), "TMPDIR": str(scratch)}
    told, skipped = measured_there(sys.executable, tmp_path, "network", "ram", env=env)
    figures = [one for one in told["results"] if one["unit"] == "bytes_per_s"]
    assert {one["part"] for one in figures if one["value"] > 0} == {"network"}
    assert "NumPy" in str(skipped["ram"])
    assert list(scratch.iterdir()) == []


def test_an_error_is_told_there_in_words(tmp_path):
    """Numbers in a sentence are looked up in a table, which has to be there."""
    with zipfile.ZipFile(io.BytesIO(program())) as archive:
        archive.extractall(tmp_path)
    code = (
        "from rigright.base.errors import AskError; from rigright.base.words import say; "
        "print(AskError(say('{count} cards', count=1)))"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=env, capture_output=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == b"1 card"


def test_it_is_the_same_each_time_and_small():
    first = program()
    program.cache_clear()
    assert program() == first
    assert len(first) < 400_000
    assert len(program(with_bench=True)) > len(first)


@pytest.mark.parametrize("bench", [None, Bench(wish=BenchWish(quick=True), parts=("ram",))])
def test_the_head_says_what_is_asked(bench):
    said = parcel(RemoteRequest(patience_s=7.0, bench=bench))
    size, _, rest = said.partition(b"\n")
    landing = rest[: int(size)]
    compile(landing, "landing", "exec")
    assert b"import rigright" not in landing
    assert b'"patience_s": 7.0' in rest[int(size) : int(size) + 2000]


def test_the_line_that_starts_it_bears_no_users_words_unquoted():
    named = "/opt/my python/bin/python3; rm -rf / $(id) 'x"
    shell, flag, script = shlex.split(start_line(python=named))
    assert (shell, flag) == ("sh", "-c")
    assert script.startswith(f"for p in {shlex.quote(named)}; do")
    assert NO_PYTHON in script
    assert "sudo -n" in start_line(as_root=True)
    assert "sudo" not in start_line()
