"""An error of ours by its class and what it names, whatever its words are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rigright.base.errors import RigError


@contextmanager
def refused(kind: type[RigError], *named: object) -> Iterator[pytest.ExceptionInfo]:
    """The body ends with an error of exactly this class, whose words or hint name all of these."""
    with pytest.raises(kind) as caught:
        yield caught
    assert type(caught.value) is kind, caught.value
    said = str(caught.value.whole)
    missing = [str(one) for one in named if str(one) not in said]
    assert not missing, f"{missing} are not named in: {said}"
