"""The live view: verdict, host, cards, programs or links, events, keys; as many lines as the screen has."""

from __future__ import annotations

from collections import Counter

from rigright.base.units import show_seconds
from rigright.base.words import say
from rigright.machine.parts.node_power import beside_cards
from rigright.report.live import links, programs, words
from rigright.report.live.cards import draw_cards
from rigright.report.live.pieces import Words, cut_to, joined, line_of, text_of
from rigright.report.live.recent import Recent, clock
from rigright.report.live.state import HELP, Frame, View
from rigright.report.live.verdict import verdict
from rigright.report.screen import Screen, mark, pad, toned, width, wrap
from rigright.verbs.watch.watched import MachineMoment

_LEAST_LIST = 4  # lines of programs or links with their head, before cards give way
_EVENTS, _ROOMY = 3, 20  # events that are shown, and lines of a screen that has room for them


def draw(recent: Recent, view: View, *, screen: Screen, height: int, now_s: float | None = None) -> Frame:
    """What to show now; never more lines than the screen has, never wider.

    `recent` ends at the moment that is shown; `now_s` is when the newest one was.
    """
    moment = recent.moment
    if moment is None:
        waits = say("reading the machine ...")
        if view.at_s is not None:
            waits = say("no history at {time}", time=clock(view.at_s))
        return _frame([line_of(waits, screen)], _keys(view, screen), height=height, now_s=now_s or 0.0)
    now_s = moment.tick.at_s if now_s is None else now_s
    head = [_answer(recent, view, moment=moment, screen=screen), _host(moment, screen)]
    if view.help:
        return _frame([*head, *_help(screen)], _keys(view, screen), height=height, now_s=now_s)
    if moment.serves:
        head.append(line_of(say("metrics at {address}", address=moment.serves), screen, tone="dim"))
    if height >= _ROOMY:
        head += [line_of(note, screen, tone="warn") for note in moment.notes[:1]]
    events = _events(recent, screen) if height >= _ROOMY else []
    list_head, *rows = _rows(recent, view, moment=moment, screen=screen)
    room = max(height - len(head) - len(events) - 1, 0)
    head += draw_cards(
        recent, moment.tick.devices, screen=screen, room=max(room - min(len(rows) + 1, _LEAST_LIST), 1)
    )
    page = max(height - len(head) - len(events) - 2, 0)
    most_top = max(len(rows) - page, 0)
    top = min(view.top, most_top)
    shown = rows[top : top + page]
    where = f"{top + 1}-{top + len(shown)}/{len(rows)}" if len(shown) < len(rows) else ""
    body = [*head, list_head, *shown] if page else head
    body += [""] * (height - len(body) - len(events) - 1) + events
    frame = _frame(body, _keys(view, screen, where=where), height=height, now_s=now_s)
    return Frame(lines=frame.lines, most_top=most_top, page=max(page, 1), now_s=now_s)


def _frame(body: list[str], foot: str, *, height: int, now_s: float) -> Frame:
    body = body[: height - 1]
    return Frame(lines=[*body, *[""] * (height - 1 - len(body)), foot], now_s=now_s)


def _answer(recent: Recent, view: View, *, moment: MachineMoment, screen: Screen) -> str:
    """The verdict, and at the right the time that it is of."""
    sentence, tone = verdict(recent, moment)
    time = clock(moment.tick.at_s)
    when = text_of(time if view.at_s is None else say("history {time}", time=time), screen)
    room = screen.width - width(when) - 2
    if room < 1:
        return cut_to(when, screen.width, screen=screen)
    text = pad(cut_to(mark(tone, screen) + text_of(sentence, screen), room, screen=screen), room)
    left = toned(text, "strong" if tone == "plain" else tone, screen=screen)
    return f"{left}  {toned(when, 'dim' if view.at_s is None else 'strong', screen=screen)}"


def _host(moment: MachineMoment, screen: Screen) -> str:
    """Who and how the host is."""
    kinds = Counter(words.name(tick) for tick in moment.tick.devices)
    machine = None if moment.detail is None else moment.detail.machine
    driver = None if machine is None else machine.software.driver
    host: list[Words] = [*words.host(moment.tick.host)]
    if moment.power is not None:
        host.insert(2, beside_cards(moment.power, (tick.power_w for tick in moment.tick.devices)))
    pieces: list[Words] = [cut_to(text_of(moment.host_name, screen), screen.width, screen=screen)]
    pieces += [f"{count}x {name}" for name, count in kinds.items() if name != words.NONE]
    pieces += [say("driver {version}", version=driver)] if driver else []
    every = f"{moment.every_s:g} s" if moment.every_s >= 1 else show_seconds(moment.every_s)
    return joined([*pieces, *host, say("every {every}", every=every)], screen)


def _rows(recent: Recent, view: View, *, moment: MachineMoment, screen: Screen) -> list[str]:
    """The list that is chosen: its head, and rows that scroll; a sentence where there is none."""
    if view.links:
        lines = links.draw(recent, moment, screen=screen)
        none = say("no NVLink and no physical network port found")
    else:
        lines = programs.draw(programs.rows(moment, view), screen=screen)
        none = say("no process uses GPU memory")
        if view.words:
            none = say('no program matches "{words}"', words=view.words)
        elif moment.tick.devices and all(tick.programs is None for tick in moment.tick.devices):
            none = say("the driver does not list programs")
    return lines if len(lines) > 1 else [*lines, line_of(none, screen, tone="dim")]


def _events(recent: Recent, screen: Screen) -> list[str]:
    """The newest events, the last one at the bottom."""
    rows = [(at, *words.event(event)) for at, event in list(recent.events)[-_EVENTS:]]
    return [line_of(f"{at}  {text_of(text, screen)}", screen, tone=tone) for at, text, tone in rows]


def _help(screen: Screen) -> list[str]:
    """Every key and what it does."""
    keys = max(width(key) for key, _ in HELP) + 2
    texts = []
    for key, sentence in HELP:
        first, *rest = wrap(text_of(sentence, screen), max(screen.width - keys, 8))
        lines = [pad(key, keys) + first, *(" " * keys + line for line in rest)]
        texts += [cut_to(line, screen.width, screen=screen) for line in lines]
    return texts


def _keys(view: View, screen: Screen, *, where: str = "") -> str:
    """What may be pressed; or the filter while it is written."""
    if view.typing is not None:
        return line_of(say("filter: {words}_", words=view.typing), screen)
    pieces: list[Words] = [say("q quit"), say("? help"), *([where] if where else [])]
    if view.at_s is not None:
        pieces.append(say("End: back to now"))
    if view.words:
        pieces.append(say('filter "{words}", Esc clears', words=view.words))
    if view.links:
        pieces.append(say("l programs"))
    else:
        pieces += [
            say("s sort: {column}", column=programs.SORTED[view.sort]),
            say("/ filter"),
            say("l links"),
        ]
    return joined([*pieces, say("j k scroll"), say("Left Right history")], screen)
