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
FACTS = frozenset({"currency", "used", "prices"})  # options that facts without a model know


def answer(options: argparse.Namespace) -> Answer:
    """Compare."""
    from rigright.faces.cli.options import typed_options
    from rigright.options.read import command
    from rigright.report.pages import compare as pages
    from rigright.verbs.compare import compare
    from rigright.verbs.wished import wish_of

    fields = typed_options(options, "compare")
    options.things = apart(options.things)
    if options.model is None:
        return _facts(options, fields)
    result = compare(
        options.things,
        model=options.model,
        wish=wish_of(
            fields, verb="compare", beside=[*options.things, options.model], language=options.language
        ),
        asked=command("compare", [*options.things, "--for", options.model], fields=fields),
    )
    return Answer(
        page=lambda: pages.page(result, why=options.why, details=options.details),
        plain=lambda language: pages.plain(result, language),
        record=result,
    )


def apart(words: Sequence[str]) -> list[str]:
    """The things between words such as "vs": "rtx 4090 vs rtx 3090", in one word or in many."""
    from rigright.base.everyday import words_of

    between = "|".join(map(re.escape, words_of("between")))
    pieces = [piece for word in words for piece in re.split(rf"(?i)(?:\A|\s)({between})(?=\s|\Z)", word)]
    if not any(piece.lower() in words_of("between") for piece in pieces):
        return list(words)
    things = [""]
    for piece in pieces:
        if piece.lower() in words_of("between"):
            things.append("")
        else:
            things[-1] = f"{things[-1]} {piece.strip()}".strip()
    return [thing for thing in things if thing]


def _facts(options: argparse.Namespace, fields: dict[str, str]) -> Answer:
    """Without a model: what is stated of each."""
    from rigright.options.read import command
    from rigright.report.pages import compare_sheets as pages
    from rigright.verbs.compare_facts import compare_facts
    from rigright.verbs.wished import wish_of

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
    return Answer(
        page=lambda: pages.page(result, details=options.details),
        plain=lambda language: pages.plain(result, language),
        record=result,
    )
