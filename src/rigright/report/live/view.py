"""The live view: verdict, host, cards, one pane, keys; as many lines as the screen is high."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rigright.base.units import show_seconds
from rigright.base.words import Sentence, say
from rigright.report.cells import pad, width
from rigright.report.draw.ink import mark, toned
from rigright.report.live import words
from rigright.report.live.cards import draw_cards
from rigright.report.live.panes import help_lines, pane
from rigright.report.live.pieces import Words, cut_to, line_of, told
from rigright.report.live.programs import SORTED
from rigright.report.live.recent import Recent, clock
from rigright.report.live.state import PANES, Frame, View
from rigright.report.live.verdict import verdict
from rigright.report.screen import Screen
from rigright.verbs.watch.watched import MachineMoment

_LEAST_ROWS = 4  # of a pane with its tabs and head, before cards give way
NAMES: Mapping[str, Words] = {
    "programs": say("programs"),
    "cards": say("cards"),
    "nvlink": "NVLink",
    "ecc": "ECC",
    "mig": "MIG",
    "network": say("network"),
    "host": say("host"),
    "findings": say("findings"),
    "events": say("events"),
}


def draw(recent: Recent, view: View, *, screen: Screen, height: int, now_s: float | None = None) -> Frame:
    """What to show now; never more lines than the screen has, never wider.

    `recent` ends at the moment that is shown; `now_s` is when the newest one was.
    """
    moment = recent.moment
    if moment is None:
        waits = say("reading the machine ...")
        if view.at_s is not None:
            waits = say("no history at {time}", time=clock(view.at_s))
        lines = [*_filled([line_of(waits, screen)], height - 1), _keys(view, screen)]
        return Frame(lines=lines, now_s=now_s or 0.0)
    now_s = moment.tick.at_s if now_s is None else now_s
    head = [_answer(recent, view, moment=moment, screen=screen), _host(moment, screen)]
    foot = [_keys(view, screen)]
    if moment.serves:
        head.append(line_of(say("metrics at {address}", address=moment.serves), screen, tone="dim"))
    if moment.notes and height >= 20:
        head.append(line_of(moment.notes[0], screen, tone="warn"))
    room = height - len(head) - len(foot)
    if room < 1:
        return Frame(lines=[*head, *foot][:height], now_s=now_s)
    if view.help:
        lines = [*head, *help_lines(screen)[:room]]
        return Frame(lines=[*_filled(lines, height - 1), *foot], now_s=now_s)
    body = pane(recent, view, moment=moment, screen=screen)
    wanted = min(len(body.head) + len(body.rows) + 1, max(_LEAST_ROWS, room // 2))
    least = max(room - wanted, min(2, room))
    cards = draw_cards(recent, moment, screen=screen, room=least) if moment.tick.devices else []
    left = room - len(cards)
    if left < len(body.head) + 2:
        return Frame(lines=[*_filled([*head, *cards][: height - 1], height - 1), *foot], now_s=now_s)
    page = left - 1 - len(body.head)
    most_top = max(len(body.rows) - page, 0)
    top = min(view.top, most_top)
    shown = body.rows[top : top + page]
    lines = [
        *head,
        *cards,
        _tabs(moment, view, screen=screen, at=(top, len(shown), len(body.rows))),
        *body.head,
        *shown,
    ]
    return Frame(lines=[*_filled(lines, height - 1), *foot], most_top=most_top, page=page, now_s=now_s)


def _filled(lines: list[str], height: int) -> list[str]:
    return lines + [""] * (height - len(lines))


def _answer(recent: Recent, view: View, *, moment: MachineMoment, screen: Screen) -> str:
    """The verdict, and at the right the time that it is of."""
    said, tone = verdict(recent, moment)
    time = clock(moment.tick.at_s)
    when = told(time if view.at_s is None else say("history {time}", time=time), screen)
    room = screen.width - width(when) - 2
    if room < 1:
        return cut_to(when, screen.width, screen=screen)
    text = pad(cut_to(mark(tone, screen) + told(said, screen), room, screen=screen), room)
    left = toned(text, "strong" if tone == "plain" else tone, screen=screen)
    return f"{left}  {toned(when, 'dim' if view.at_s is None else 'strong', screen=screen)}"


def _host(moment: MachineMoment, screen: Screen) -> str:
    """Who and how the host is, as many pieces as there is room for."""
    line = told(moment.host, screen)
    kinds = Counter(words.name(one) for one in moment.tick.devices)
    machine = None if moment.detail is None else moment.detail.machine
    driver = None if machine is None else machine.software.driver
    pieces: list[Words] = [f"{count}x {name}" for name, count in kinds.items() if name != words.NONE]
    pieces += [say("driver {version}", version=driver)] if driver else []
    for piece in (*pieces, *words.host(moment.tick.host), say("every {every}", every=_every(moment.every_s))):
        text = told(piece, screen)
        if width(line) + 3 + width(text) <= screen.width:
            line += "   " + text
    return toned(cut_to(line, screen.width, screen=screen), "dim", screen=screen)


def _tabs(moment: MachineMoment, view: View, *, screen: Screen, at: tuple[int, int, int]) -> str:
    """The panes with their keys, the chosen one in brackets, and which rows are seen."""
    top, seen, whole = at
    where = f"{top + 1}-{top + seen}/{whole}" if seen < whole else ""
    causes = (moment.detail.causes if moment.detail is not None else None) or ()
    bad = sum(one.finding.severity != "note" for one in causes)
    names = []
    for place, name in enumerate(PANES):
        count = f" {bad}" if name == "findings" and bad else ""
        label = f"{place + 1} {told(NAMES[name], screen)}{count}"
        names.append(f"[{label}]" if name == view.pane else label)
    room = screen.width - (width(where) + 2 if where else 0)
    line = "  ".join(names)
    if width(line) > room:
        line = " ".join(names)
    if width(line) > room:  # the chosen one by its name, the others by their keys
        line = " ".join(one if one.startswith("[") else one[0] for one in names)
    if where:
        line = pad(line, room) + "  " + where
    return toned(cut_to(line, screen.width, screen=screen), "strong", screen=screen)


def _every(every_s: float) -> str:
    """A pace as it was asked for: "1 s", not "1.0 s"."""
    return f"{every_s:g} s" if every_s >= 1 else show_seconds(every_s)


def _keys(view: View, screen: Screen) -> str:
    """What may be pressed; or the filter while it is written."""
    if view.typing is not None:
        return cut_to(told(say("filter: {words}_", words=view.typing), screen), screen.width, screen=screen)
    pieces: list[Sentence] = [say("q quit"), say("? help")]
    if view.at_s is not None:
        pieces.append(say("End: back to now"))
    if view.words:
        pieces.append(say('filter "{words}", Esc clears', words=view.words))
    if view.pane == "programs":
        pieces += [say("s sort: {column}", column=SORTED[view.sort]), say("/ filter")]
    pieces += [say("j k scroll"), say("Left Right history"), say("1-9 panes")]
    line = ""
    for piece in pieces:
        text = told(piece, screen)
        if width(line) + 3 * bool(line) + width(text) <= screen.width:
            line += ("   " if line else "") + text
    return toned(line, "dim", screen=screen)
