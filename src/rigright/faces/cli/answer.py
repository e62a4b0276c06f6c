"""What a verb's ask hands back to the frame: a page for people, plain data for `--json`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rigright.base.record import dataclass

if TYPE_CHECKING:
    from rigright.report.page import Page


@dataclass(frozen=True, slots=True)
class Answer:
    """Made lazily: only the one that is shown is built."""

    page: Callable[[], Page]
    plain: Callable[[str], Any]  # language -> JSON-able data
    exit_code: int = 0
    text: Callable[[], str] | None = None  # printed as it is, instead of the page
    sheet: Callable[[], Page] | None = None  # for `--csv`, where the page's own table is for eyes
    record: Any = None  # what the verb found, for programs
    aside: bool = False  # shown on stderr: stdout belongs to somebody else's command
