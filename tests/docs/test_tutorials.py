"""What a tutorial lets its reader type on a machine of their own runs here; scripts/docs runs the rest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "docs" / "tutorials"
TYPED = sorted(
    {
        line
        for path in FOLDER.glob("*.md")
        for block in re.findall(
            r"^```sh\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
        for line in block.splitlines()
    }
)


@pytest.mark.live
@pytest.mark.parametrize("line", TYPED)
def test_what_is_typed_on_ones_own_machine_runs(line, tmp_path):
    (tmp_path / "rigright").write_text(f'#!/bin/sh\nexec {sys.executable} -m rigright "$@"\n')
    (tmp_path / "rigright").chmod(0o755)
    kept = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "RIGRIGHT_HOME": str(tmp_path)}
    done = subprocess.run(
        ["sh", "-c", line], env=kept, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 10, 20}, done.stderr
    assert done.stdout
    assert done.stderr.count("Traceback") == 0
