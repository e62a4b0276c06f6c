"""The verbs as functions of the package: `rigright.plan("qwen3-32b", mode="chat", budget="8000usd")`.

The arguments are those of the command line, read by the same parsers; what comes back holds the same answer
as a record, as data, as a table, as a page and as pictures.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rigright.base.errors import AskError, MissingError
from rigright.base.words import say, tell
from rigright.faces import question
from rigright.faces.cli.main import answering
from rigright.options.row import Option

if TYPE_CHECKING:
    from rigright.base.page import Bars, Page, Plot, Strips
    from rigright.report.screen import Screen

R = TypeVar("R")  # the record of an answer
FRAMES = ("pandas", "polars")
TEXTS = "Texts"  # a word, a number, a path, or several: as the command line would be stated
_NUMBER = re.compile(r"-?(?:\d{1,30}|\d{1,3}(?:,\d{3}){1,9})(?:\.\d{1,30})?(?:e[+-]?\d{1,3})?")


class Reply(Generic[R]):
    """An answer in every form; any attribute that is not one of these is the record's own."""

    def __init__(self, verb: str, *, page: Page, sheet: Page, data: Any, language: str, record: R) -> None:
        self.record = record
        self._verb, self._page, self._sheet, self._data, self._language = verb, page, sheet, data, language

    if not TYPE_CHECKING:  # there, the stub of the package says what a record holds

        def __getattr__(self, name: str) -> Any:
            """What the record holds."""
            if name.startswith("_"):
                raise AttributeError(name)
            return getattr(self.record, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *dir(self.record)]

    def __repr__(self) -> str:
        return f"<rigright {self._verb}: {tell(self._page.title, self._language)}>"

    def __str__(self) -> str:
        from rigright.report.formats.text import render

        return render(self._page, self._screen)

    def to_dict(self) -> Any:
        """What `--json` prints, as dicts and lists."""
        from rigright.base.plain import settle

        return settle(self._data, self._language)

    def to_frame(self, library: str | None = None) -> Any:
        """What `--csv` prints, as a DataFrame of pandas or polars, whichever is installed."""
        from importlib import import_module
        from importlib.util import find_spec

        if library not in {None, *FRAMES}:
            raise AskError(
                say('cannot build a "{text}" table', text=library),
                hint=say("choose {known}", known=", ".join(FRAMES)),
            )
        wanted = next((name for name in FRAMES if library in {None, name} and find_spec(name)), None)
        if wanted is None:
            missing = library or say("pandas or polars")
            raise MissingError(
                say("a table needs {library}, which is not installed", library=missing),
                hint=say("install it: {command}", command=f"python -m pip install {library or FRAMES[0]}"),
            )
        return import_module(wanted).DataFrame(self._columns())

    def to_html(self) -> str:
        """What `--html` prints: one self-contained document."""
        from rigright.report.formats.html import render

        return render(self._page, self._screen)

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """The bars, plots and strips of the page, each of which a notebook shows."""
        from rigright.base.page import Bars, Plot, Strips

        drawn = (part for part in self._page.parts if isinstance(part, Bars | Plot | Strips))
        return tuple(Picture(part, self._screen) for part in drawn)

    def _repr_html_(self) -> str:
        from rigright.report.formats.html import embed

        return embed(self._page, self._screen)

    @property
    def _screen(self) -> Screen:
        from rigright.report.screen import Screen

        return Screen(language=self._language)

    def _columns(self) -> dict[str, list[Any]]:
        """Each column of the table; numbers where all of its cells are."""
        import csv
        from io import StringIO

        from rigright.report.formats.csv import render

        heads, *rows = csv.reader(StringIO(render(self._sheet, self._screen)))
        columns = zip(*rows, strict=True) if rows else ((),) * len(heads)
        return {head: _numbers(list(cells)) for head, cells in zip(heads, columns, strict=True)}


class Picture:
    """One picture of a page."""

    def __init__(self, part: Bars | Plot | Strips, screen: Screen) -> None:
        self._part, self._screen = part, screen

    def __repr__(self) -> str:
        return f"<picture: {tell(self._part.title or type(self._part).__name__, self._screen.language)}>"

    def _repr_html_(self) -> str:
        from rigright.report.formats.html import picture

        return picture(self._part, self._screen)


def _numbers(cells: list[str]) -> list[Any]:
    """Cells as numbers, where none is anything else; what is not known is None."""
    cells = ["" if cell == "-" else cell for cell in cells]
    texts = [cell for cell in cells if cell]
    if not texts or not all(_NUMBER.fullmatch(cell) for cell in texts):
        return list(cells)
    kind = int if all(cell.replace(",", "").lstrip("-").isdecimal() for cell in texts) else float
    return [kind(cell.replace(",", "")) if cell else None for cell in cells]


def function(verb: str) -> Callable[..., Reply[Any]]:
    """The function of one verb."""

    def asked(*words: object, **options: object) -> Reply[Any]:
        read = question.read(verb, words, named=options)
        with answering(verb.replace("_", "-"), read) as answer:
            page = answer.page()
            return Reply(
                verb,
                page=page,
                sheet=page if answer.sheet is None else answer.sheet(),
                data=answer.data(read.language),
                language=read.language,
                record=answer.record,
            )

    parser = question.parser_of(verb)
    asked.__name__ = asked.__qualname__ = verb
    asked.__module__ = "rigright"
    asked.__doc__ = f"{parser.description}\n\n{_as_arguments(parser.format_help())}"
    setattr(asked, "__signature__", signature(verb))  # noqa: B010 - mypy knows no such attribute
    return asked


def _as_arguments(text: str) -> str:
    """The help of the command line with `max_chips=N` for `--max-chips N`, for who has no terminal."""
    blocks = [item for item in text.split("\n\n")[2:] if "  --color" not in item]
    lines = [line for line in "\n\n".join(blocks).splitlines() if "  -h, --help" not in line]
    return "\n".join(re.sub(r"^  (--\S.*?)(?:  +|$)", _named, line) for line in lines)


def _named(match: re.Match[str]) -> str:
    flag, _, value = match[1].partition(",")[0].removeprefix("--").partition(" ")
    name = flag.replace("-", "_")
    return f"  {f'{name}_' if iskeyword(name) else name}={value or True}".ljust(len(match[0]))


def signature(verb: str) -> Any:
    """The arguments for `help` and for editors."""
    from inspect import Parameter, Signature

    placed, named = [], {}
    for name, option in question.arguments_of(verb).items():
        if option.placed:
            placed.append((name, option))
        else:
            named[f"{name}_" if iskeyword(name) else name] = option
    every = [
        Parameter(name, Parameter.VAR_POSITIONAL, annotation=TEXTS)
        if item.count in {"*", "+"}
        else Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=f"{TEXTS} | None", default=None)
        if item.count == "?"
        else Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=TEXTS)
        for name, item in placed
    ]
    every += [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=f"{_kind(item)} | None", default=None)
        for name, item in named.items()
    ]
    return Signature(every, return_annotation="Reply")


def _kind(option: Option) -> str:
    """What an option takes: nothing, or what can be written as a word; several become a list of names."""
    if option.is_flag:
        return "bool"
    return TEXTS if option.bare is None else f"bool | {TEXTS}"
