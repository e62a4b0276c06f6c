"""What to change first, as a page and as data: the guides' five stages."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base import telling
from rigright.base.money import show_money
from rigright.base.page import Bars, Commands, Line, Page, Part, Points, Table, number, prose, records, table
from rigright.base.words import Sentence, say, with_commas
from rigright.build.change import Change, Fit, Worth
from rigright.cost.estimate import Estimate, scaled
from rigright.report.named import first_of, of_origin, partly
from rigright.report.pages.diagnose import bound, shown_gain, time_bar, verdict
from rigright.verbs.upgrade.upgraded import OLD_DAYS, Upgraded, Wave


def page(result: Upgraded) -> Page:
    """The whole page: the guides' five stages."""
    answer, *rest = _verdict(result)
    shares = [(title, share) for _, title, share in result.cause_rows]
    named = None if result.lead is None else result.lead.finding.title
    titles = dict.fromkeys(cause.finding.title for cause in result.judgement.bad)
    refused = Points.of(map(_refused, result.refused), title=say("would help, does not fit"))
    return Page.of(
        answer,
        rest,
        Points.of((_baseline(result),), title=say("1. baseline")),
        Bars(title=say("2. bottleneck"), bars=(time_bar(shares),)) if shares else None,
        Points.of(
            (title for title in titles if title != named),
            title=say("fix first: may cost nothing"),
            tone="warn",
        ),
        _changes(result),
        refused,
        Points.of(_rollout(result), title=say("5. roll-out")) if result.changes else None,
        Commands.next(_next(result)),
    )


def _changes(result: Upgraded) -> Iterator[Part]:
    """The changes in the order to try them, whether they fit, what they cost; else what would help."""
    if result.changes:
        yield Points.of(_fitting(result), title=say("3. does it fit"))
        yield records(
            result.changes,
            (
                (prose(say("change")), lambda worth: worth.change.title),
                (number(say("at most")), lambda worth: f"{shown_gain(worth.gain)}x"),
                (number(say("cost")), lambda worth: _cost(worth.change.usd, result.currency)),
                (number(say("per 1 %")), lambda worth: _per_percent(worth, result.currency)),
                (number(say("power")), lambda worth: _watts(worth.change)),
            ),
            title=say("changes, in the order to try them"),
            tone=lambda worth: "good" if worth.gain_per_kusd is None else "plain",
        )
        yield Points.of(_costs(result), title=say("4. cost"))
    elif result.by_cause:
        yield _by_cause(result)
    elif result.over_budget:
        yield Line(text=_too_dear(result))


def _next(result: Upgraded) -> Iterator[str]:
    """What to type next."""
    if result.by_cause:
        yield f"rigright upgrade{_of_it(result)} --bound 'compute=60%,disk=40%'"
    elif result.lead is not None and not result.changes:
        yield f"rigright doctor{_of_it(result)}"
    elif not result.baseline:
        yield "rigright bench --quick"
    yield from dict.fromkeys(worth.change.command for worth in result.changes if worth.change.command)


def _of_it(result: Upgraded) -> str:
    """The words that name the file it is about."""
    return "" if result.diagnosed is None else of_origin(result.diagnosed.origin)


def _by_cause(result: Upgraded) -> Table:
    """What would help first for each thing that may bind."""
    columns = (say("if the bottleneck is"), prose(say("change")), number(say("at most")), number(say("cost")))
    rows = tuple(
        (
            with_commas(titles) or "",
            worth.change.title,
            f"{shown_gain(worth.gain)}x",
            _cost(worth.change.usd, result.currency),
        )
        for titles, worth in result.by_cause
    )
    return table(columns, rows, title=say("bottleneck unknown: what would help in each case"))


def _verdict(result: Upgraded) -> Iterator[Line]:
    """What to mend, what to change, and whether the recording is old."""
    lead = result.lead
    if lead is not None:
        yield Line.bad(first_of(lead))
    if not result.shares and result.diagnosed is not None:
        yield Line(text=bound(result.diagnosed), tone="dim" if lead else "warn")
    elif lead is None or result.changes:  # what is to be mended is no "nothing to change"
        yield _answer(result)
    if result.is_snapshot and result.changes:
        sentence = say(
            "based on one snapshot: before buying, watch a whole run with `rigright diagnose --for 10min`"
        )
        yield Line.warn(sentence)
    if result.cut:
        yield Line.warn(partly(result.cut))
    if result.recorded_days_ago is not None and result.recorded_days_ago >= OLD_DAYS:
        sentence = say(
            "this capture is {days} days old: the machine may have changed", days=result.recorded_days_ago
        )
        yield Line.warn(sentence)


def _answer(result: Upgraded) -> Line:
    if not result.changes:
        return Line.warn(say("no known upgrade makes this workload faster"))
    first = result.changes[0].change
    usd = first.usd
    fields: dict[str, object] = {
        "change": first.title,
        "gain": shown_gain(result.changes[0].gain),
        "cost": _cost(usd, result.currency)
        if usd is None or not usd.as_of
        else say("{cost}, as of {date}", cost=_cost(usd, result.currency), date=usd.as_of),
    }
    if result.lead is None:
        sentence = say("do first: {change}: up to {gain}x faster, {cost}", **fields)
    else:
        sentence = say("then: {change}: up to {gain}x faster, {cost}", **fields)
    return Line(text=sentence, tone="plain" if result.is_snapshot else "good")


def _baseline(result: Upgraded) -> Sentence:
    if result.baseline:
        return say("{count} benchmarks in the history to compare against", count=result.baseline)
    return say("none yet: run `rigright bench --quick` before any change, so that you can measure its effect")


def _per_percent(worth: Worth, currency: str) -> str:
    """What each percent of the gain costs; no line is drawn beyond the gain itself."""
    usd = worth.change.usd
    return "" if usd is None else _whole(usd.value / (100 * (worth.gain - 1)), currency)


def _watts(change: Change) -> str:
    return "" if change.more_w is None else f"{change.more_w:+.0f} W"


def _cost(usd: Estimate | None, currency: str) -> Sentence | str:
    if usd is None:
        return say("free")
    low, value, high = (_whole(each, currency) for each in (usd.low, usd.value, usd.high))
    return f"{value} ({low}-{high})"


def _whole(usd: float, currency: str) -> str:
    """No cents: the price of a part is not known that well."""
    return show_money(round(usd), currency).partition(".")[0]


def _fitting(result: Upgraded) -> Iterator[Sentence]:
    for worth in result.changes:
        for fit in worth.change.fits:
            yield say("{change}: {fit}: {state}", change=worth.change.title, fit=fit.says, state=_state(fit))


def _state(fit: Fit) -> Sentence:
    if fit.holds is None:
        return say("not checked")
    return say("yes") if fit.holds else say("no")


def _costs(result: Upgraded) -> Iterator[Sentence]:
    priced = next((worth for worth in result.changes if worth.change.usd is not None), None)
    if priced is not None and priced.change.usd is not None:
        usd = priced.change.usd
        yield say("prices as of {date}; verify before buying", date=usd.as_of or "?")
        if result.machines > 1:
            yield say(
                "{change} on {count} machines: {usd}",
                change=priced.change.title,
                count=result.machines,
                usd=_cost(scaled(usd, result.machines), result.currency),
            )
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
        yield _wave(wave, canary=place == 0)
    yield say(
        "before and after each wave: `rigright bench --quick`, `rigright doctor`, power at the wall over IPMI"
    )
    yield say("stop and roll back if a benchmark drops, doctor reports something new, or there is no gain")


def _wave(wave: Wave, *, canary: bool) -> Sentence:
    if canary:
        return say("canary: machine {first} under production load for a day", first=wave.first)
    return say(
        "machines {first} to {last}, once the previous wave is proven", first=wave.first, last=wave.last
    )


def _answer_words(result: Upgraded) -> Sentence | None:
    """The answer as a sentence."""
    return None if result.diagnosed is None else verdict(result.diagnosed)


plain = telling.RecordPrinter(Upgraded, verdict=_answer_words)
