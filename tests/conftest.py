"""Fixtures for every test."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

pytest_plugins = ["rows", "examples"]

os.environ["HF_HUB_OFFLINE"] = "1"  # no test waits for a hub that may not be there

# who starts the tests in the background may have made them deaf to Ctrl-C; what they start shall hear it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parent.parent


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Half as many again as cores: many a test waits for what hangs."""
    cores = os.cpu_count() or 1
    return cores + cores // 2


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the repository, where it is there."""
    folder = ROOT.parent / "shared"
    if not (folder / "measured").is_dir():
        pytest.skip("the reference data (../shared) is not beside this checkout")
    return folder
