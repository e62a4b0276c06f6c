"""The day that prices are stale or not against: today, or the day that RIGRIGHT_TODAY names."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

from rigright.base.errors import AskError
from rigright.base.words import say

NAMED = "RIGRIGHT_TODAY"


def today() -> date:
    """The day, in UTC; a fixed one makes answers that mean the same next year."""
    named = os.environ.get(NAMED)
    if not named:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(named)
    except ValueError:
        raise AskError(
            say('{name} is "{text}"; use a date such as 2026-11-21', name=NAMED, text=named)
        ) from None
