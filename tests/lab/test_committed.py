"""The committed corrections are what the runs beside this checkout give."""

from __future__ import annotations

import os

import pytest

from lab import checking, refitting

QUICK = "speed_diffusion"  # a refit of the others takes half a minute each


@pytest.mark.live
@pytest.mark.parametrize("name", [subject.name for subject in refitting.subjects()])
def test_a_refit_from_the_committed_terms_changes_nothing(name, shared):
    """Of one subject; of all in the nightly, as `python -m lab check` does."""
    assert shared
    if name == QUICK or os.environ.get("RIGRIGHT_NIGHTLY"):
        assert list(checking.stale([name])) == []
