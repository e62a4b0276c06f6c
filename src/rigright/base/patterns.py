"""Regular expressions that are compiled when they are first asked: most commands use few of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any


class _Pattern:
    """Stands for a compiled pattern, and becomes one by what is asked of it."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._source = (text, flags)

    def __getattr__(self, name: str) -> Any:
        """A method or an attribute of the pattern, looked up once."""
        value = getattr(re.compile(*self._source), name)  # `re` keeps what it compiled
        setattr(self, name, value)
        return value


if TYPE_CHECKING:

    def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
        """Like `re.compile`, for patterns of modules."""
else:
    pattern = _Pattern
