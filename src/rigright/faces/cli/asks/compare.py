"""`compare`: chips, machines or clouds side by side for one work."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "plan"
SUMMARY = say("GPUs, machines or clouds side by side for one workload: speed, price, power, roofline")
_TAILS = (  # what a question says behind its things: the model, the machine
    ("for", r"\s(?:for|running|to run)\s+(?P<value>\S+)"),
    ("for", r"\s*[,，]?\s*跑\s*(?P<value>\S+)"),
    ("on", r"\son\s+(?:an?\s+|one\s+|my\s+)?(?P<value>.+?)\s*\Z"),
    ("on", r"\s*在\s*(?P<value>.+?)\s*上"),
)
FACTS = frozenset({"currency", "used", "prices"})  # options that facts without a model know


def answer(options: argparse.Namespace) -> Answer:
    """Compare."""
    from rigright.faces.cli.options import typed_options
    from rigright.options.read import command
    from rigright.report.pages import compare as pages
    from rigright.verbs.compare import compare
    from rigright.verbs.ordering import wish_of

    fields = typed_options(options, "compare")
    options.things, tail = question(options.things)
    options.model = tail.pop("for", None) if options.model is None else options.model
    fields = {**tail, **fields}
    if options.model is None and "on" not in fields:
        return _facts(options, fields)
    model = [] if options.model is None else ["--for", options.model]
    result = compare(
        options.things,
        model=options.model,
        wish=wish_of(fields, verb="compare", beside=[*options.things, *model], language=options.language),
        asked=command("compare", [*options.things, *model], fields=fields),
    )
    return Answer.of(pages, result, options=options, take="why details")


def question(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The things between words such as "vs", and the model and machine named behind them."""
    from rigright.base.everyday import words_of

    between = "|".join(
        rf"(?:\A|(?<=\s)){re.escape(word)}(?=\s|\Z)" if word.isascii() else re.escape(word)
        for word in sorted(words_of("between"), key=len, reverse=True)
    )
    if not any(re.search(between, word, re.IGNORECASE) for word in words):
        return list(words), {}
    text = " ".join(words)
    for word in words_of("asking"):
        text = re.sub(rf"(?i)[\s,，]*{re.escape(word)}\s*[?？]?\Z", "", text)
    tail = {}
    for name, pattern in _TAILS:
        found = re.search(pattern, text, re.IGNORECASE)
        if found:
            tail[name] = found["value"].strip()
            text = f"{text[: found.start()]} {text[found.end() :]}"
    things = (thing.strip(" ,，") for thing in re.split(between, text, flags=re.IGNORECASE))
    return [thing for thing in things if thing], tail


def _facts(options: argparse.Namespace, fields: dict[str, str]) -> Answer:
    """Without a model: what is stated of each."""
    from rigright.options.read import command
    from rigright.report.pages import compare_sheets as pages
    from rigright.verbs.compare_facts import compare_facts
    from rigright.verbs.ordering import wish_of

    for name in fields:
        if name not in FACTS:
            raise AskError(
                say("{option} needs {others}", option=f"--{name}", others="--for MODEL"),
                hint=say("add {others}, or remove {option}", option=f"--{name}", others="--for MODEL"),
            )
    wish = wish_of(fields, verb="compare", beside=options.things, language=options.language)
    result = compare_facts(
        options.things,
        currency=wish.currency,
        used=wish.used,
        command=command("compare", options.things, fields=fields),
    )
    return Answer.of(pages, result, options=options, take="details")
