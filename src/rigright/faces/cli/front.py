"""What `rigright` says of itself: its commands, and the options they all know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rigright import __version__
from rigright.base import shelf, telling
from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say
from rigright.options.row import DETAILS, FORMS, HELP, SHOWING, VERSION

if TYPE_CHECKING:
    from rigright.base.page import Page, Shown, Table

ASKS = "rigright.faces.cli.asks"
TAGLINE = say("Plan, check and measure hardware for deep learning.")
_STAGES = {
    "plan": say("Choose hardware"),
    "machine": say("Run hardware"),
    "know": say("Data and accuracy"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandList:
    """What there is to ask."""

    name: str
    version: str
    commands: Mapping[str, Sentence]  # command -> what it is for


def verbs() -> tuple[str, ...]:
    """Every command, as it is typed."""
    return tuple(name.replace("_", "-") for name in shelf.names(ASKS))


def front_page() -> Page:
    """Help on the whole."""
    from rigright.base.page import Commands, Line, Page

    return Page(
        title=f"rigright {__version__}",
        parts=(
            Line(text=TAGLINE),
            *(_table(title, _commands(stage)) for stage, title in _STAGES.items()),
            _table(say("Options"), _OPTIONS),
            Commands(
                title=say("For example"),
                items=(
                    "rigright plan qwen3-32b --mode chat --budget 8000usd",
                    'rigright explain llama-3.1-70b --on "8x h100"',
                    "rigright doctor",
                    "rigright plan --help",
                ),
            ),
        ),
    )


tells = telling.RecordPrinter(CommandList)


def about() -> CommandList:
    """The same for scripts."""
    summaries = shelf.load(ASKS, "SUMMARY")
    commands = {file.replace("_", "-"): summary for file, summary in summaries.items()}
    return CommandList(name="rigright", version=__version__, commands=commands)


def _table(title: Sentence, rows: tuple[tuple[Shown, ...], ...]) -> Table:
    from rigright.base.page import Column, Table

    return Table(title=title, columns=(Column(head=""), Column(head="", flexible=True)), rows=rows)


def _commands(stage: str) -> tuple[tuple[Shown, ...], ...]:
    """The commands of one stage, with what they do."""
    stages, summaries = shelf.load(ASKS, "STAGE"), shelf.load(ASKS, "SUMMARY")
    return tuple(
        (file.replace("_", "-"), summary) for file, summary in summaries.items() if stages[file] == stage
    )


def unknown_verb(verb: str) -> AskError:
    """The complaint about a command, with the nearest known."""
    from difflib import get_close_matches

    from rigright.verbs.look_up.verb import is_kind

    near = get_close_matches(verb, verbs(), n=1, cutoff=0.5)
    near = [f"rigright look-up {verb}"] if is_kind(verb) else near
    hint = (
        say("did you mean {near}?", near=near[0])
        if near
        else say("commands: {known}", known=", ".join(verbs()))
    )
    return AskError(say('unknown command "{verb}"', verb=verb), hint=hint)


_OPTIONS = (
    ("  ".join(f"--{form}" for form in FORMS), say("output format; text by default")),
    *(
        (f"{option.flag} {option.metavar}".rstrip(), meaning)
        for option in (*SHOWING, VERSION)
        if option.name not in FORMS and option is not DETAILS and (meaning := option.help) is not None
    ),
    (HELP.flag, say("show help; after a command: help for that command")),
)
