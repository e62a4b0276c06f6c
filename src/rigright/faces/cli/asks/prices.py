"""`prices`: what is known, what is taken and why; your own lists."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("prices: all known prices, which one is used and why; import or check your own list")


def answer(options: argparse.Namespace) -> Answer:
    """Show, keep or judge."""
    from rigright.base.money import home_of
    from rigright.demand import PlanWish
    from rigright.options.know_rows import PRICE_LISTS
    from rigright.report.pages import prices as pages
    from rigright.verbs.prices import check, forget, keep, prices

    if options.what not in PRICE_LISTS:  # a name alone
        options.what, options.names = "show", [options.what, *options.names]
    if options.what == "show":
        currency = options.currency or home_of(options.names, options.language)
        wish = PlanWish(used=options.used, currency=currency, prices_file=options.prices)
        shown = prices(options.names, wish=wish)
        return Answer.of(pages, shown, options=options, take="why")
    for name, value in (
        ("--used", options.used),
        ("--currency", options.currency),
        ("--prices", options.prices),
    ):
        if value:
            raise AskError(
                say("{option} is for {what}", option=name, what="prices show"),
                hint=say("remove {option}", option=name),
            )
    file = _file(options.what, options.names)
    if options.what == "forget":
        gone = forget()
        return Answer(
            page=lambda: pages.forgotten(gone),
            plain=lambda language: pages.plain_forgotten(pages.Forgotten(removed=gone), language),
        )
    judged = check(file) if options.what == "check" else keep(file or "")
    return Answer(
        page=lambda: pages.judged(judged),
        plain=lambda language: pages.plain_list(judged, language),
        exit_code=judged.exit_code if options.what == "check" or judged.kept is None else 0,
        record=judged,
    )


def _file(what: str, names: list[str]) -> str | None:
    """The one file that is named; `check` may go without, `forget` does."""
    most = 0 if what == "forget" else 1
    if len(names) > most or (what == "import" and not names):
        raise AskError(
            say("`prices {what}` needs one file", what=what)
            if most
            else say("`prices forget` takes no name"),
            hint=say("for example {example}", example="rigright prices import prices.csv"),
        )
    return names[0] if names else None
