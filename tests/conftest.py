"""Fixtures for every test."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

pytest_plugins = ["hermetic", "rows", "examples", "reworded", "golden_pages", "restated", "pulse", "forked"]

# who starts the tests in the background may have made them deaf to Ctrl-C; what they start shall hear it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parent.parent
MEMORY, ENOUGH_BYTES = "/dev/shm", 4 * 2**30  # noqa: S108 where this machine keeps files in memory

# tens of thousands of small files are grown: in memory, where there is room and programs may lie there
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK):
    roomy = shutil.disk_usage(MEMORY).free >= ENOUGH_BYTES
    if roomy and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = MEMORY


LONGEST_S, LONGEST_LIVE_S = 420, 1200  # a test that hangs fails by itself, and does not hold up the others
LONGEST_ENGINES_S = 3600  # thousands of files through the parsers of all engines


def _too_long(_number: int, _frame: object) -> None:
    pytest.fail("it hung: the time of a test is over")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Every test ends."""
    if not hasattr(signal, "SIGALRM"):
        return (yield)
    signal.signal(signal.SIGALRM, _too_long)
    longest = LONGEST_LIVE_S if item.get_closest_marker("live") else LONGEST_S
    signal.alarm(LONGEST_ENGINES_S if os.environ.get("RIGRIGHT_ENGINES") else longest)
    try:
        return (yield)
    finally:
        signal.alarm(0)


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
