"""The committed corrections are what the runs beside this checkout give."""

from __future__ import annotations

import pytest

from lab import checking, refitting


@pytest.mark.live
@pytest.mark.parametrize("name", [subject.name for subject in refitting.subjects()])
def test_a_refit_from_the_committed_terms_changes_nothing(name, shared):
    assert shared
    assert list(checking.stale([name])) == []
