"""The live view: verdict, host, cards, programs or links, events, keys; as many lines as the screen has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rigright.base.page import Tone
from rigright.base.units import show_seconds, show_watts
from rigright.base.words import Sentence, say, with_commas, with_semicolons
from rigright.facts.faults import slowdowns
from rigright.machine.parts.node_power import beside_cards
from rigright.machine.tick import DeviceTick
from rigright.report import readings
from rigright.report.live import lists
from rigright.report.live.keys import KEYS, Frame, View
from rigright.report.live.lists import cards_of, line_of, text_of
from rigright.report.live.recent import Recent
from rigright.report.readings import NONE, Words, clock
from rigright.report.screen import Screen, cut_to, mark, pad, toned, width, wrap
from rigright.verbs.watch.record import Detail, MachineMoment

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
        lines = _filled([line_of(waits, screen)], _keys(view, screen), height=height)
        return Frame(lines=lines, now_s=now_s or 0.0)
    now_s = moment.tick.at_s if now_s is None else now_s
    body = [_answer(recent, view, moment=moment, screen=screen), _host(moment, screen)]
    if view.help:
        lines = _filled([*body, *_help(screen)], _keys(view, screen), height=height)
        return Frame(lines=lines, now_s=now_s)
    if moment.serves:
        body.append(line_of(say("metrics at {address}", address=moment.serves), screen, tone="dim"))
    events: list[str] = []
    if height >= _ROOMY:
        body += [line_of(note, screen, tone="warn") for note in moment.notes[:1]]
        events = _events(recent, screen)
    head, *rows = _list(recent, view, moment=moment, screen=screen)
    room = max(height - len(body) - len(events) - 1 - min(len(rows) + 1, _LEAST_LIST), 1)
    body += lists.draw_cards(recent, moment.tick.devices, screen=screen, room=room)
    page = max(height - len(body) - len(events) - 2, 0)
    most_top = max(len(rows) - page, 0)
    top = min(view.top, most_top)
    shown = rows[top : top + page]
    where = f"{top + 1}-{top + len(shown)}/{len(rows)}" if len(shown) < len(rows) else ""
    body += [head, *shown] if page else []
    lines = _filled(body, _keys(view, screen, where=where), height=height, events=events)
    return Frame(lines=lines, most_top=most_top, page=max(page, 1), now_s=now_s)


def _filled(body: list[str], foot: str, *, height: int, events: Sequence[str] = ()) -> list[str]:
    """As many lines as the screen has: events at its end, above the keys."""
    blank = [""] * (height - 1 - len(body) - len(events))
    return [*[*body, *blank, *events][: height - 1], foot]


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
    kinds = Counter(readings.name(tick) for tick in moment.tick.devices)
    machine = None if moment.detail is None else moment.detail.machine
    driver = None if machine is None else machine.software.driver
    host: list[Words] = [*readings.host(moment.tick.host)]
    if moment.power is not None:
        host.insert(2, beside_cards(moment.power, (tick.power_w for tick in moment.tick.devices)))
    pieces: list[Words] = [cut_to(text_of(moment.host_name, screen), screen.width, screen=screen)]
    pieces += [f"{count}x {name}" for name, count in kinds.items() if name != NONE]
    pieces += [say("driver {version}", version=driver)] if driver else []
    every = f"{moment.every_s:g} s" if moment.every_s >= 1 else show_seconds(moment.every_s)
    return _joined([*pieces, *host, say("every {every}", every=every)], screen)


def _joined(pieces: Sequence[Words], screen: Screen) -> str:
    """As many pieces on one line as there is room for, the most important first."""
    line = ""
    for piece in pieces:
        text = ("   " if line else "") + text_of(piece, screen)
        if width(line) + width(text) <= screen.width:
            line += text
    return toned(line, "dim", screen=screen)


def _list(recent: Recent, view: View, *, moment: MachineMoment, screen: Screen) -> list[str]:
    """The list that is chosen: its head, and rows that scroll; a sentence where there is none."""
    if view.links:
        links = list(lists.link_rows(recent, moment))
        lines = lists.draw_list(lists.LINK_COLUMNS, links, screen=screen)
        none = say("no NVLink and no physical network port found")
    else:
        rows = lists.program_rows(moment, sort=view.sort, reverse=view.reverse, words=view.words)
        lines = lists.draw_list(lists.PROGRAM_COLUMNS, rows, screen=screen)
        none = say("no process uses GPU memory")
        if view.words:
            none = say('no program matches "{words}"', words=view.words)
        elif moment.tick.devices and all(tick.programs is None for tick in moment.tick.devices):
            none = say("the driver does not list programs")
    return lines if len(lines) > 1 else [*lines, line_of(none, screen, tone="dim")]


def _events(recent: Recent, screen: Screen) -> list[str]:
    """The newest events, the last one at the bottom."""
    rows = [(at, *readings.event(event)) for at, event in list(recent.events)[-_EVENTS:]]
    return [line_of(f"{at}  {text_of(text, screen)}", screen, tone=tone) for at, text, tone in rows]


def _help(screen: Screen) -> list[str]:
    """Every key and what it does."""
    side = max(width(shown) for shown, _, _ in KEYS) + 2
    lines = []
    for shown, meaning, _ in KEYS:
        first, *more = wrap(text_of(meaning, screen), max(screen.width - side, 8))
        lines += [pad(shown, side) + first, *(" " * side + line for line in more)]
    return [cut_to(line, screen.width, screen=screen) for line in lines]


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
        sort = say("s sort: {column}", column=lists.ORDERS[view.sort].head)
        pieces += [sort, say("/ filter"), say("l links")]
    return _joined([*pieces, say("j k scroll"), say("Left Right history")], screen)


# the answer

_TONES: Mapping[str, Tone] = {"fault": "bad", "warning": "warn"}
_LEAST_S = 5.0  # that something lasts, before it is told since when


def verdict(recent: Recent, moment: MachineMoment) -> tuple[Words, Tone]:
    """The answer, and its tone; "good" only where every reading that tells of trouble was there."""
    devices = moment.tick.devices
    if not devices and moment.tick.on_bus:
        return say("{count} GPUs on the PCI bus, but no driver lists them", count=moment.tick.on_bus), "bad"
    ill = _ill(recent, devices)
    if ill is not None:
        return ill
    causes = (moment.detail or Detail()).causes or ()
    finding = next((cause.finding for cause in causes if cause.finding.severity != "note"), None)
    doctor = None
    if finding is not None:
        on = say("{about}: {title}", about=finding.about, title=finding.title)
        doctor = say("doctor: {finding}", finding=finding.title if finding.about is None else on)
    tone = "plain" if finding is None else _TONES[finding.severity]
    if not devices:
        return doctor or say("no GPU listed by a driver"), "dim" if finding is None else tone
    sees, loads = _sees(devices), _loads(devices)
    if finding is None and sees:
        return say("{count} GPUs fine: {loads}", count=len(devices), loads=loads), "good"
    state = say("{count} GPUs: {loads}", count=len(devices), loads=loads)
    unknown = None if sees else say("slowdowns are not reported")
    return with_semicolons((doctor, state) if tone == "bad" else (state, doctor or unknown)) or state, tone


def _loads(devices: tuple[DeviceTick, ...]) -> Sentence | None:
    """How all cards are at work: busy, power, heat."""
    busy = [tick.busy_share for tick in devices if tick.busy_share is not None]
    watts = [tick.power_w for tick in devices if tick.power_w is not None]
    heat = max((tick.gpu_c for tick in devices if tick.gpu_c is not None), default=None)
    hottest: Words | None = None if heat is None else readings.celsius(heat)
    if hottest is not None and len(devices) > 1:
        hottest = say("hottest {heat}", heat=hottest)
    share = readings.share(sum(busy) / len(busy) if busy else None)
    return with_commas((say("{share} busy", share=share), show_watts(sum(watts)) if watts else None, hottest))


def _ill(recent: Recent, devices: tuple[DeviceTick, ...]) -> tuple[Words, Tone] | None:
    """Cards in trouble, those with the same together, the gravest first; and how many are not."""
    groups: dict[tuple[Words, Tone], list[DeviceTick]] = {}
    for device in devices:
        wrong = readings.trouble(device) or readings.hurt_by(device)
        if wrong is not None:
            groups.setdefault(wrong, []).append(device)
    if not groups:
        return None
    ordered = sorted(groups, key=lambda wrong: wrong[1] != "bad")
    parts = [_sick(wrong[0], groups[wrong], recent=recent) for wrong in ordered[:2]]
    rest = sum(len(groups[wrong]) for wrong in ordered[2:])
    if rest:
        parts.append(say("{count} more GPUs with problems", count=rest))
    others = len(devices) - sum(map(len, groups.values()))
    if others and _sees(devices):
        parts.append(say("other {count} fine", count=others))
    return with_semicolons(parts) or "", ordered[0][1]


def _sick(wrong: Words, devices: list[DeviceTick], *, recent: Recent) -> Sentence:
    """Cards with the same trouble, and how long the first of them has been slowed."""
    cards = cards_of(device.card for device in devices)
    if readings.trouble(devices[0]) is not None:
        return say("{cards}: {trouble}", cards=cards, trouble=wrong)
    harms = [word for word, slowdown in slowdowns().items() if slowdown.judged in readings.HARM]
    lasts_s = max(recent.slowed_for(device, word) for device in devices for word in harms)
    if lasts_s < _LEAST_S:
        return say("{cards} throttled: {reasons}", cards=cards, reasons=wrong)
    time = show_seconds(lasts_s)
    return say("{cards} throttled for {time}: {reasons}", cards=cards, time=time, reasons=wrong)


def _sees(devices: tuple[DeviceTick, ...]) -> bool:
    """Whether every card that answers says what slows it, so that nothing wrong means fine."""
    return all(tick.slowed_by is not None for tick in devices if tick.state == "ok")
