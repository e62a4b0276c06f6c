"""What to change first, as a page and as data: the guides' five stages."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base import telling
from rigright.base.page import (
    Bar,
    Bars,
    Commands,
    Line,
    Page,
    Part,
    Piece,
    Points,
    Table,
    Tone,
    number,
    prose,
    table,
)
from rigright.base.units import show_usd
from rigright.base.words import Sentence, say, with_commas
from rigright.build.change import Change, Fit, Worth
from rigright.cost.estimate import Estimate
from rigright.report.named import first_of, partly
from rigright.report.pages.diagnose import bound, shown_gain, verdict
from rigright.verbs.upgrade.upgraded import OLD_DAYS, Upgraded, Wave

_NO_CENTS_USD = 100.0  # from which the usual form has none either


def page(result: Upgraded) -> Page:
    """The whole page."""
    answer, *rest = _verdict(result)
    parts: list[Part] = [*rest]
    parts.append(Points.of((_baseline(result),), title=say("1. baseline")))
    pieces = tuple(
        Piece(name=title, size=share, shown=f"{share:.0%}") for _, title, share in result.cause_rows
    )
    if pieces:
        bar = Bar(label=say("time"), pieces=pieces, limit=1.0, shown="100%")
        parts.append(Bars(title=say("2. bottleneck"), bars=(bar,)))
    named = None if result.lead is None else result.lead.finding.title
    items = tuple(dict.fromkeys(cause.finding.title for cause in result.judgement.bad))
    items = tuple(title for title in items if title != named)
    parts.append(Points.of(items, title=say("fix first: may cost nothing"), tone="warn"))
    if result.changes:
        columns = (
            prose(say("change")),
            number(say("at most")),
            number(say("cost")),
            number(say("per 1 %")),
            number(say("power")),
        )
        rows = tuple(_row(worth) for worth in result.changes)
        tones: tuple[Tone, ...] = tuple(
            "good" if worth.gain_per_kusd is None else "plain" for worth in result.changes
        )
        fitting = tuple(_fitting(result))
        parts.append(Points.of(fitting, title=say("3. does it fit")))
        parts.append(table(columns, rows, title=say("changes, in the order to try them"), tones=tones))
        parts.append(Points.of(_costs(result), title=say("4. cost")))
    elif result.by_cause:
        parts.append(_by_cause(result))
    elif result.over_budget:
        parts.append(Line(text=_too_dear(result)))
    if result.refused:
        parts.append(Points.of(map(_refused, result.refused), title=say("would help, does not fit")))
    if result.changes:
        parts.append(Points.of(_rollout(result), title=say("5. roll-out")))
    parts.append(Commands.next(_next(result)))
    return Page.of(answer, parts)


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
    origin = "live" if result.diagnosed is None else result.diagnosed.origin
    return "" if origin == "live" else f" --from {shlex.quote(origin)}"


def _by_cause(result: Upgraded) -> Table:
    """What would help first for each thing that may bind."""
    columns = (say("if the bottleneck is"), prose(say("change")), number(say("at most")), number(say("cost")))
    rows = tuple(
        (with_commas(titles) or "", worth.change.title, f"{shown_gain(worth.gain)}x", _cost(worth.change.usd))
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
        "cost": _cost(usd)
        if usd is None or not usd.as_of
        else say("{cost}, as of {date}", cost=_cost(usd), date=usd.as_of),
    }
    if result.lead is None:
        sentence = say("do first: {change}: up to {gain}x faster, {cost}", **fields)
    else:
        sentence = say("then: {change}: up to {gain}x faster, {cost}", **fields)
    return Line(text=sentence, tone="plain" if result.is_snapshot else "good")


def _baseline(result: Upgraded) -> Sentence:
    if result.baseline:
        return say(
            "{count} benchmarks in the history to compare against",
            count=result.baseline,
        )
    return say("none yet: run `rigright bench --quick` before any change, so that you can measure its effect")


def _row(figure: Worth) -> tuple[Sentence | str, ...]:
    change = figure.change
    watts = "" if change.more_w is None else f"{change.more_w:+.0f} W"
    # what each percent of the gain costs; no line is drawn beyond the gain itself
    usd = figure.change.usd
    return (
        change.title,
        f"{shown_gain(figure.gain)}x",
        _cost(change.usd),
        "" if usd is None else f"${float(f'{usd.value / (100 * (figure.gain - 1)):.2g}'):,g}",
        watts,
    )


def _cost(usd: Estimate | None) -> Sentence | str:
    if usd is None:
        return say("free")
    return f"{_whole(usd.value)} ({_whole(usd.low)}-{_whole(usd.high)})"


def _whole(usd: float) -> str:
    """No cents: the price of a part is not known that well."""
    return show_usd(usd) if usd >= _NO_CENTS_USD else f"${usd:.0f}"


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
                usd=_cost(
                    Estimate(
                        value=usd.value * result.machines,
                        low=usd.low * result.machines,
                        high=usd.high * result.machines,
                        mark=usd.mark,
                        as_of=usd.as_of,
                    )
                ),
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
