"""docs/accuracy.md says what `validate` says today."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(root, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "lab", "accuracy", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.live
@pytest.mark.dear
def test_the_page_of_accuracy_is_up_to_date(root, shared):
    assert shared
    done = run(root, "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_tells_every_kind_and_source(root):
    page = (root / "docs" / "accuracy.md").read_text(encoding="utf-8")
    for word in ("peak_gib, allocated", "weights_file", "NVIDIA/Megatron-LM", "each source left out"):
        assert word in page
