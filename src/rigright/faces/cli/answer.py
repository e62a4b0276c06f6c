"""What a verb's ask hands back to the frame: a page for people, plain data for `--json`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rigright.base import telling
from rigright.base.record import dataclass
from rigright.base.words import Sentence, tell

if TYPE_CHECKING:
    from rigright.base.page import Page


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

    @classmethod
    def of(
        cls,
        pages: Any,
        record: Any,
        *,
        options: Any = None,
        take: str = "",
        exit_code: int = 0,
        text: Callable[[], str] | None = None,
        **shown: Any,
    ) -> Answer:
        """Of what a verb found: its module of pages shows it, with options that it takes, and tells it."""
        sheet, names = getattr(pages, "sheet", None), take.split()
        return cls(
            page=lambda: pages.page(record, **shown, **{key: getattr(options, key) for key in names}),
            plain=lambda language: pages.plain(record, language),
            exit_code=exit_code,
            text=text,
            sheet=None if sheet is None else lambda: sheet(record),
            record=record,
        )

    def data(self, language: str) -> Any:
        """What `--json` prints."""
        data = self.plain(language)
        return {"schema_version": telling.SCHEMA_VERSION} | data if isinstance(data, dict) else data


def noted(answer: Answer, key: str, *, note: Callable[[], Sentence | None]) -> Answer:
    """The same answer with a note under its page, and under a key of its data; it is asked for last."""

    def page() -> Page:
        from dataclasses import replace

        from rigright.base.page import Commands, Line

        made = answer.page()
        sentence = note()
        if sentence is None:
            return made
        last = len(made.parts) - any(isinstance(part, Commands) for part in made.parts[-1:])
        line = Line(text=sentence, tone="dim")
        return replace(made, parts=(*made.parts[:last], line, *made.parts[last:]))

    def plain(language: str) -> Any:
        made = answer.plain(language)
        sentence = note() if isinstance(made, dict) else None
        return made if sentence is None else made | {key: tell(sentence, language)}

    return Answer(
        page=page,
        plain=plain,
        exit_code=answer.exit_code,
        text=answer.text,
        sheet=answer.sheet,
        record=answer.record,
        aside=answer.aside,
    )
