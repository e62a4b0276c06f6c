"""`prices`: what is known, what is taken and why; your own lists."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("prices: all known prices, which one is used and why; import or check your own list")
WHATS = ("show", "import", "check", "forget")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `prices`."""
    parser.add_argument("what", metavar="WHAT", choices=WHATS, help=str(say("show, import, check or forget")))
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=str(
            say("show: a card or a part (4090, ram ddr5); import, check: a CSV or JSON file, - is stdin")
        ),
    )
    parser.add_argument("--used", action="store_true", help=str(say("assume cards are bought used")))
    parser.add_argument("--currency", metavar="CODE", help=str(say("show money in this currency: CNY, EUR")))
    parser.add_argument("--prices", metavar="FILE", help=str(say("use the prices in this file")))


def answer(options: argparse.Namespace) -> Answer:
    """Show, keep or judge."""
    from rigright.demand import PlanWish
    from rigright.options.readers import currency
    from rigright.report.pages import prices as pages
    from rigright.verbs.prices import check, forget, keep, prices

    if options.what == "show":
        money = "USD" if options.currency is None else currency(options.currency)
        wish = PlanWish(used=options.used, currency=money, prices_file=options.prices)
        shown = prices(options.names, wish=wish)
        return Answer(
            page=lambda: pages.page(shown, why=options.why),
            plain=lambda language: pages.plain(shown, language),
            sheet=lambda: pages.sheet(shown),
            record=shown,
        )
    for name, said in (
        ("--used", options.used),
        ("--currency", options.currency),
        ("--prices", options.prices),
    ):
        if said:
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
