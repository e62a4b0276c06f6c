"""What to change first, as a page and as data: the guides' five stages."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base import telling
from rigright.base.money import show_money
from rigright.base.page import Bars, Commands, Line, Page, Part, Points, known, number, prose, records
from rigright.base.words import Sentence, say, with_commas
from rigright.build.change import Change, Worth
from rigright.cost.estimate import Estimate, scaled
from rigright.report.named import first_of, of_origin, partly
from rigright.report.pages.diagnose import bound, shown_gain, time_bar, verdict
from rigright.verbs.upgrade import OLD_DAYS, Upgraded


def page(result: Upgraded) -> Page:
    """The whole page: the guides' five stages."""
    answer, *rest = _verdict(result)
    shares = [(title, share) for _, title, share in result.cause_rows]
    named = None if result.lead is None else result.lead.finding.title
    titles = dict.fromkeys(cause.finding.title for cause in result.judgement.bad)
    first = say("fix first: may cost nothing")
    return Page.of(
        answer,
        rest,
        Points.of((_baseline(result),), title=say("1. baseline")),
        Bars(title=say("2. bottleneck"), bars=(time_bar(shares),)) if shares else None,
        Points.of((title for title in titles if title != named), title=first, tone="warn"),
        _changes(result),
        Points.of(map(_refused, result.refused), title=say("would help, does not fit")),
        Points.of(_rollout(result), title=say("5. roll-out")) if result.changes else None,
        Commands.next(_next(result)),
    )


def _changes(result: Upgraded) -> Iterator[Part]:
    """The changes in the order to try them, whether they fit, what they cost; else what would help."""
    currency = result.currency
    if result.changes:
        fits = ((worth.change.title, fit) for worth in result.changes for fit in worth.change.fits)
        states = {None: say("not checked"), True: say("yes"), False: say("no")}
        yield Points.of(
            (
                say("{change}: {fit}: {state}", change=title, fit=fit.says, state=states[fit.holds])
                for title, fit in fits
            ),
            title=say("3. does it fit"),
        )
        yield records(
            result.changes,
            (
                (prose(say("change")), lambda worth: worth.change.title),
                (number(say("at most")), lambda worth: f"{shown_gain(worth.gain)}x"),
                (number(say("cost")), lambda worth: _cost(worth.change.usd, currency)),
                (number(say("per 1 %")), lambda worth: _per_percent(worth, currency)),
                (number(say("power")), lambda worth: known(worth.change.more_w, "{:+.0f} W".format)),
            ),
            title=say("changes, in the order to try them"),
            tone=lambda worth: "good" if worth.gain_per_kusd is None else "plain",
        )
        yield Points.of(_costs(result), title=say("4. cost"))
    elif result.by_cause:
        yield records(
            result.by_cause,
            (
                (say("if the bottleneck is"), lambda row: with_commas(row[0])),
                (prose(say("change")), lambda row: row[1].change.title),
                (number(say("at most")), lambda row: f"{shown_gain(row[1].gain)}x"),
                (number(say("cost")), lambda row: _cost(row[1].change.usd, currency)),
            ),
            title=say("bottleneck unknown: what would help in each case"),
        )
    elif result.over_budget:
        yield Line(text=_too_dear(result))


def _next(result: Upgraded) -> Iterator[str]:
    """What to type next."""
    of_it = "" if result.diagnosed is None else of_origin(result.diagnosed.origin)
    if result.by_cause:
        yield f"rigright upgrade{of_it} --bound 'compute=60%,disk=40%'"
    elif result.lead is not None and not result.changes:
        yield f"rigright doctor{of_it}"
    elif not result.baseline:
        yield "rigright bench --quick"
    yield from dict.fromkeys(worth.change.command for worth in result.changes if worth.change.command)


def _verdict(result: Upgraded) -> Iterator[Line]:
    """What to mend, what to change, and whether the recording is old."""
    lead, old = result.lead, result.recorded_days_ago
    if lead is not None:
        yield Line.bad(first_of(lead))
    if not result.shares and result.diagnosed is not None:
        yield Line(text=bound(result.diagnosed), tone="dim" if lead else "warn")
    elif lead is None or result.changes:  # what is to be mended is no "nothing to change"
        yield _answer(result)
    if result.is_snapshot and result.changes:
        yield Line.warn(
            say(
                "based on one snapshot: before buying, watch a whole run with `rigright diagnose --for 10min`"
            )
        )
    if result.cut:
        yield Line.warn(partly(result.cut))
    if old is not None and old >= OLD_DAYS:
        yield Line.warn(say("this capture is {days} days old: the machine may have changed", days=old))


def _answer(result: Upgraded) -> Line:
    if not result.changes:
        return Line.warn(say("no known upgrade makes this workload faster"))
    first = result.changes[0].change
    cost, usd = _cost(first.usd, result.currency), first.usd
    if usd is not None and usd.as_of:
        cost = say("{cost}, as of {date}", cost=cost, date=usd.as_of)
    fields = {"change": first.title, "gain": shown_gain(result.changes[0].gain), "cost": cost}
    sentence = say("then: {change}: up to {gain}x faster, {cost}", **fields)
    if result.lead is None:
        sentence = say("do first: {change}: up to {gain}x faster, {cost}", **fields)
    return Line(text=sentence, tone="plain" if result.is_snapshot else "good")


def _baseline(result: Upgraded) -> Sentence:
    if result.baseline:
        return say("{count} benchmarks in the history to compare against", count=result.baseline)
    return say("none yet: run `rigright bench --quick` before any change, so that you can measure its effect")


def _per_percent(worth: Worth, currency: str) -> str:
    """What each percent of the gain costs; no line is drawn beyond the gain itself."""
    usd = worth.change.usd
    return "" if usd is None else _whole(usd.value / (100 * (worth.gain - 1)), currency)


def _cost(usd: Estimate | None, currency: str) -> Sentence | str:
    if usd is None:
        return say("free")
    low, value, high = (_whole(each, currency) for each in (usd.low, usd.value, usd.high))
    return f"{value} ({low}-{high})"


def _whole(usd: float, currency: str) -> str:
    """No cents: the price of a part is not known that well."""
    return show_money(round(usd), currency).partition(".")[0]


def _costs(result: Upgraded) -> Iterator[Sentence]:
    priced = next((worth.change for worth in result.changes if worth.change.usd is not None), None)
    if priced is not None and priced.usd is not None:
        yield say("prices as of {date}; verify before buying", date=priced.usd.as_of or "?")
        if result.machines > 1:
            usd = _cost(scaled(priced.usd, result.machines), result.currency)
            fields = {"change": priced.title, "count": result.machines, "usd": usd}
            yield say("{change} on {count} machines: {usd}", **fields)
    if result.over_budget:
        yield _too_dear(result)
    yield say(
        "gains are upper bounds: the next bottleneck may come first; gains of settings are rules of thumb"
    )


def _too_dear(result: Upgraded) -> Sentence:
    return say("{count} changes cost more than the budget", count=result.over_budget)


def _refused(change: Change) -> Sentence:
    broken = next(fit for fit in change.fits if fit.holds is False)
    return say("{change}: {fit}", change=change.title, fit=broken.says)


def _rollout(result: Upgraded) -> Iterator[Sentence]:
    for place, wave in enumerate(result.waves):
        later = say(
            "machines {first} to {last}, once the previous wave is proven", first=wave.first, last=wave.last
        )
        canary = say("canary: machine {first} under production load for a day", first=wave.first)
        yield later if place else canary
    yield say(
        "before and after each wave: `rigright bench --quick`, `rigright doctor`, power at the wall over IPMI"
    )
    yield say("stop and roll back if a benchmark drops, doctor reports something new, or there is no gain")


def _answer_words(result: Upgraded) -> Sentence | None:
    """The answer as a sentence."""
    return None if result.diagnosed is None else verdict(result.diagnosed)


plain = telling.RecordPrinter(Upgraded, verdict=_answer_words)
