"""The wheel and the sdist of this checkout, built without a network; a venv that holds the wheel alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MEASURED = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "RIGRIGHT_TODAY": "2026-11-21", "COLUMNS": "80"}


def build(kind, out, *, tree=ROOT):
    """The file that hatchling makes of a tree."""
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out), cwd=tree)
    (made,) = out.iterdir()
    return made


def unpacked(sdist, folder):
    with tarfile.open(sdist) as files:
        files.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    return tree


def contents(wheel):
    """Every file of a wheel but the list of them."""
    with zipfile.ZipFile(wheel) as files:
        return {name: files.read(name) for name in files.namelist() if not name.endswith("/RECORD")}


def installed(wheel, folder):
    """A venv with this wheel; what it needs is that of this Python."""
    run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    python = folder / "bin" / "python"
    run(
        *(sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index", "--no-deps"),
        *("--no-compile", "--no-cache-dir", "--quiet", str(wheel)),
    )
    (site,) = folder.glob("lib/python*/site-packages")
    needed = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "needed.pth").write_text(needed + "\n", encoding="utf-8")
    return folder


def run(*argv, cwd=None, env=None):
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
