"""Tests that restate files: `@pytest.mark.restates("src/**/*.py", "README*")`, from the repository.

`make test` runs such a test again when one of these files, or the test's own, is no longer what it was when
the test passed. A test that has not passed here yet is left to `make test-live`, which runs all of them. One
that is asked for by its file or name runs always.

It is a plugin, in `tests/conftest.py`. # plugin
"""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
UNCHANGED, LEFT = "unchanged since it passed", "left to make test-live"
DIGEST, COUNTS = pytest.StashKey[str](), pytest.StashKey[Counter]()


@cache
def of_file(path: Path) -> bytes:
    return hashlib.blake2b(path.read_bytes()).digest()


@cache
def digest(globs: frozenset[str], test: Path, root: Path = ROOT) -> str:
    """Of the names and contents of all files that the globs name, and of the test's own file."""
    paths = {
        path for one in globs for path in root.glob(one) if path.is_file() and "__pycache__" not in path.parts
    }
    assert paths, f"{test.name} restates files that are not there: {sorted(globs)}"
    whole = hashlib.blake2b(sys.version.encode())
    for path in sorted({*paths, test}):
        whole.update(os.fsencode(os.path.relpath(path, root)) + b"\0" + of_file(path))
    return whole.hexdigest()[:32]


def key(item) -> str:
    return f"restated/{hashlib.blake2b(item.nodeid.encode()).hexdigest()[:32]}"


def is_named(item) -> bool:
    """Whether the command line names the file of a test, or the test."""
    named = (Path(item.config.invocation_params.dir, one.partition("::")[0]) for one in item.config.args)
    return item.path in {path.resolve() for path in named}


def pytest_configure(config):
    of_file.cache_clear()
    digest.cache_clear()
    config.addinivalue_line(
        "markers", "restates(*globs): runs when one of these files changes, and in make test-live"
    )
    config.stash[COUNTS] = Counter()


def pytest_collection_modifyitems(config, items):
    every = bool(os.environ.get("RIGRIGHT_LIVE")) or config.getoption("reworded", default=False)
    left = []
    for item in items:
        globs = frozenset(one for mark in item.iter_markers("restates") for one in mark.args)
        if not globs:
            continue
        item.stash[DIGEST] = now = digest(globs, item.path, config.rootpath)
        kept = config.cache.get(key(item), None) if hasattr(config, "cache") else None
        if every or is_named(item) or (kept and kept != now):
            continue
        why = UNCHANGED if kept else LEFT
        config.stash[COUNTS][why] += 1
        left.append(item)
    if left:
        items[:] = [item for item in items if item not in left]
        config.hook.pytest_deselected(items=left)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    now = item.stash.get(DIGEST, None)
    if now and hasattr(item.config, "cache") and not item.config.getoption("reworded", default=False):
        if report.failed:
            item.stash[DIGEST] = ""
            keep(item, "failed")
        elif report.when == "call" and report.passed:
            keep(item, now)
    return report


def keep(item, what: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where nothing may be written, nothing is kept
        item.config.cache.set(key(item), what)


def pytest_terminal_summary(terminalreporter, config):
    told = [f"{count} {why}" for why, count in sorted(config.stash[COUNTS].items())]
    if told:
        terminalreporter.write_line(f"tests that restate files: {', '.join(told)}")
