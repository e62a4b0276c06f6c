"""The command line from its arguments to its exit code: find the verb, ask it, show its answer."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TextIO

from rigright.base import shelf
from rigright.base.errors import EXIT_INTERRUPT
from rigright.base.words import ENGLISH, LANGUAGES, Sentence, clean, pick_language, say, tell
from rigright.faces.cli.answer import Answer, noted
from rigright.faces.cli.front import ASKS, TAGLINE, about, front_page, tells, unknown_verb, verbs
from rigright.faces.cli.options import groups
from rigright.faces.cli.parser import Parser, split_command
from rigright.faces.cli.terminal import hush, open_mouth, pasted, screen, started_as, wrapped
from rigright.faces.cli.trouble import EXIT_PIPE, debugging, trouble

if TYPE_CHECKING:
    from rigright.base.page import Page

PRICED = {
    "plan",
    "report",
    "compare",
    "cost",
    "prices",
    "sweep",
    "upgrade",
    "build",
    "export",
}  # that tell prices
_FORMS = ("json", "markdown", "html", "csv")
_VALUED = ("--lang", "--color", "--width")  # options that stand before a verb with a value behind them


def main(argv: Sequence[str] | None = None) -> int:
    """Answer one command line."""
    gc.set_threshold(200_000)  # what start-up makes stays, and looking for garbage in it finds none,
    atexit.register(gc.freeze)  # nor does it at the end
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--" not in arguments:  # a command behind it shall find the environment as it was
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads cost more to start than they give
    started_as()
    language, form = _wishes(arguments)
    open_mouth(form, language)
    try:
        try:
            code = _run(arguments, language)
        except SystemExit as done:  # of argparse, such as --version
            code = int(done.code or 0)
        sys.stdout.flush()
        _say_left_out(language)
    except KeyboardInterrupt:
        return EXIT_INTERRUPT
    except BrokenPipeError:
        hush(sys.stdout)
        return EXIT_PIPE
    except Exception as error:  # noqa: BLE001 - the last line of defence: a person gets a sentence
        return _regret(error, arguments, language=language, form=form)
    return code


def _run(arguments: list[str], language: str) -> int:
    """Split the line at its verb, and let the verb answer."""
    index = 0
    while index < len(arguments) and arguments[index].startswith("-"):
        index += 2 if arguments[index] in _VALUED else 1
    verb = arguments[index] if index < len(arguments) else None
    before, after = arguments[:index], arguments[index + 1 :]
    if verb == "help":
        before, verb, after = [*before, "--help"], next(iter(after), None), []
    if verb is None:
        # no verb: the version, or help on the whole
        parser = Parser("rigright", TAGLINE, taken=groups(None), language=language)
        options = parser.read([text for text in before if text not in {"-h", "--help"}])
        _show(Answer(front_page, lambda _: tells(about(), language)), options, language=language)
        return 0
    if verb not in verbs():
        raise unknown_verb(verb)
    options = verb_parser(verb, language).read([*before, *after], typed=True)
    options.language = language
    with answering(verb, options) as answer:
        _show(answer, options, language=language)
    return answer.exit_code


@contextmanager
def answering(verb: str, options: argparse.Namespace) -> Iterator[Answer]:
    """A verb's answer, with the user's own prices and runs in force where they count."""
    answer: Callable[[argparse.Namespace], Answer] = shelf.take(ASKS, verb.replace("-", "_"), bears="answer")
    with ExitStack() as stack:
        if verb in PRICED:
            from rigright.verbs.own import use as use_prices

            stack.enter_context(use_prices(getattr(options, "prices", None)))
        if not hasattr(options, "anchors"):
            yield _plugged(answer(options))
            return
        from rigright.verbs.own import sentence, use_runs

        used = stack.enter_context(use_runs(options.anchors))
        yield _plugged(noted(answer(options), "own_runs", note=lambda: sentence(used)))


def _plugged(answer: Answer) -> Answer:
    """The same answer, saying which facts of plugins count in it."""

    def used() -> Sentence | None:
        plugins: Any = sys.modules.get("rigright.base.plugins")  # a verb that has no facts loads none
        if plugins is None or not plugins.added():
            return None
        from rigright.base.plain import dumps

        sentence: Sentence | None = plugins.used(dumps(answer.plain(ENGLISH), ENGLISH))
        return sentence

    return noted(answer, "plugins", note=used)


def _say_left_out(language: str) -> None:
    """What of plugins does not count, on stderr: each in a line."""
    plugins: Any = sys.modules.get("rigright.base.plugins")
    for _, value in () if plugins is None else plugins.left_out():
        warning = tell(say("warning: {what}", what=clean(tell(value, language))), language)
        sys.stderr.write(wrapped(warning, sys.stderr) + "\n")


def verb_parser(verb: str, language: str) -> Parser:
    """The parser of one verb."""
    summary = shelf.take(ASKS, verb.replace("-", "_"), bears="SUMMARY")
    return Parser(f"rigright {verb}", summary, taken=groups(verb), language=language)


def _show(answer: Answer, options: argparse.Namespace, *, language: str) -> None:
    """Print the answer where it belongs."""
    stream = sys.stderr if answer.aside and options.form == "text" else sys.stdout
    shown = _shown(answer, options, language=language, stream=stream)
    try:
        stream.write(shown)
        stream.flush()
    except OSError:
        if not answer.aside:
            raise
        hush(stream)  # beside a command's own answer: its exit code stands


def _shown(answer: Answer, options: argparse.Namespace, *, language: str, stream: TextIO) -> str:
    """The answer in the form asked for; only that one is made."""
    if options.form == "json":
        from rigright.base.plain import dumps

        return dumps(answer.data(language), language) + "\n"
    if answer.text is not None and options.form == "text":
        return answer.text()
    page: Page = answer.sheet() if options.form == "csv" and answer.sheet is not None else answer.page()
    render = shelf.take("rigright.report.formats", options.form, bears="render")
    return str(render(page, screen(options, language, stream=stream)))


def _regret(error: Exception, arguments: list[str], *, language: str, form: str) -> int:
    """Say what went wrong: to a person on stderr, and with --json to a script on stdout too."""
    if _is_interrupt(error):
        return EXIT_INTERRUPT
    if debugging():
        import traceback

        traceback.print_exception(error)
    result = trouble(error, arguments)
    sentence = pasted(clean(tell(result.message, language)))
    hint = None if result.hint is None else pasted(clean(tell(result.hint, language)))
    try:
        _say_left_out(language)
        sys.stderr.write(wrapped(tell(say("error: {what}", what=sentence), language), sys.stderr) + "\n")
        if hint is not None:
            sys.stderr.write(wrapped(tell(say("hint: {what}", what=hint), language), sys.stderr) + "\n")
        sys.stderr.flush()
    except OSError:
        hush(sys.stderr)
    try:
        if form == "json":
            from rigright.base.plain import dumps

            sys.stdout.write(dumps(result.record(language), language) + "\n")
        sys.stdout.flush()
    except OSError:  # nobody listens any more, or the disk is full: the exit code still tells
        hush(sys.stdout)
    return result.exit_code


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether it is a Ctrl-C that Python made another error of, as where it met the making of a class."""
    return error is not None and (
        isinstance(error, KeyboardInterrupt)
        or _is_interrupt(error.__cause__)
        or _is_interrupt(error.__context__)
    )


def _wishes(arguments: list[str]) -> tuple[str, str]:
    """Language and form, known before anything is parsed, so that complaints keep to them."""
    arguments, _ = split_command(arguments)
    wish = None
    for argument, value in pairwise([*arguments, ""]):
        name, equals, inside = argument.partition("=")
        if name == "--lang":
            wish = (inside if equals else value).lower()
    form = next((form for form in _FORMS if f"--{form}" in arguments), "text")
    return (pick_language(wish) if wish in {None, *LANGUAGES} else ENGLISH), form
