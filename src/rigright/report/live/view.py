"""The live view: verdict, host, cards, programs or links, events, keys; as many lines as the screen has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rigright.base.page import Tone
from rigright.base.units import show_seconds, show_watts
from rigright.base.words import Sentence, say, with_commas, with_semicolons
from rigright.doctor.record import Finding
from rigright.facts.faults import slowdowns
from rigright.machine.parts.node_power import beside_cards
from rigright.machine.tick import DeviceTick
from rigright.report.live import words
from rigright.report.live.lists import SORTED, cards_of, draw_cards, draw_links, draw_programs, program_rows
from rigright.report.live.pieces import Words, cut_to, joined, line_of, text_of
from rigright.report.live.recent import Recent, clock
from rigright.report.live.state import HELP, Frame, View
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
        lines = draw_links(recent, moment, screen=screen)
        none = say("no NVLink and no physical network port found")
    else:
        lines = draw_programs(program_rows(moment, view), screen=screen)
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
            say("s sort: {column}", column=SORTED[view.sort]),
            say("/ filter"),
            say("l links"),
        ]
    return joined([*pieces, say("j k scroll"), say("Left Right history")], screen)


_TONES: Mapping[str, Tone] = {"fault": "bad", "warning": "warn"}
_LEAST_S = 5.0  # that something lasts, before it is told since when


def verdict(recent: Recent, moment: MachineMoment) -> tuple[Sentence, Tone]:
    """The answer, and its tone; "good" only where every reading that tells of trouble was there."""
    devices, tick = moment.tick.devices, moment.tick
    if not devices and tick.on_bus:
        return say("{count} GPUs on the PCI bus, but no driver lists them", count=tick.on_bus), "bad"
    ill = _ill(recent, moment)
    if ill is not None:
        return ill
    causes = None if moment.detail is None else moment.detail.causes
    finding = next((cause.finding for cause in causes or () if cause.finding.severity != "note"), None)
    doctor = None if finding is None else say("doctor: {finding}", finding=_finding_words(finding))
    if not devices:
        return doctor or say("no GPU listed by a driver"), _TONES[finding.severity] if finding else "dim"
    count, loads = len(devices), _loads(devices)
    if finding is None and _sees(devices):
        return say("{count} GPUs fine: {loads}", count=count, loads=loads), "good"
    state = say("{count} GPUs: {loads}", count=count, loads=loads)
    unknown = None if _sees(devices) else say("slowdowns are not reported")
    parts = (doctor, state) if finding and finding.severity == "fault" else (state, doctor or unknown)
    return with_semicolons(parts) or state, _TONES[finding.severity] if finding else "plain"


def _finding_words(finding: Finding) -> Sentence:
    """What was found, and on what."""
    if finding.about is None:
        return finding.title
    return say("{about}: {title}", about=finding.about, title=finding.title)


def _loads(devices: tuple[DeviceTick, ...]) -> Sentence | None:
    """How all cards are at work: busy, power, heat."""
    busy = [tick.busy_share for tick in devices if tick.busy_share is not None]
    watts = [tick.power_w for tick in devices if tick.power_w is not None]
    heat = max((tick.gpu_c for tick in devices if tick.gpu_c is not None), default=None)
    share = words.share(sum(busy) / len(busy)) if busy else words.NONE
    hottest: Sentence | str | None = None if heat is None else words.celsius(heat)
    if heat is not None and len(devices) > 1:
        hottest = say("hottest {heat}", heat=words.celsius(heat))
    return with_commas((say("{share} busy", share=share), show_watts(sum(watts)) if watts else None, hottest))


def _ill(recent: Recent, moment: MachineMoment) -> tuple[Sentence, Tone] | None:
    """Cards in trouble, those with the same together, the gravest first; and how many are not."""
    groups: dict[Sentence | str, list[DeviceTick]] = {}
    tones: dict[Sentence | str, Tone] = {}
    for device in moment.tick.devices:
        wrong = words.trouble(device) or words.hurt_by(device)
        if wrong is not None:
            groups.setdefault(wrong[0], []).append(device)
            tones[wrong[0]] = wrong[1]
    if not groups:
        return None
    ordered = sorted(groups, key=lambda trouble: tones[trouble] != "bad")
    parts = [_sick(trouble, groups[trouble], recent=recent) for trouble in ordered[:2]]
    rest = sum(len(groups[trouble]) for trouble in ordered[2:])
    if rest:
        parts.append(say("{count} more GPUs with problems", count=rest))
    others = len(moment.tick.devices) - sum(map(len, groups.values()))
    if others and _sees(moment.tick.devices):
        parts.append(say("other {count} fine", count=others))
    return with_semicolons(parts) or say("{text}", text=""), tones[ordered[0]]


def _sick(trouble: Sentence | str, devices: list[DeviceTick], *, recent: Recent) -> Sentence:
    """Cards with the same trouble, and how long the first of them has been slowed."""
    cards = cards_of(device.card for device in devices)
    if words.trouble(devices[0]) is not None:
        return say("{cards}: {trouble}", cards=cards, trouble=trouble)
    lasts_s = max(
        recent.slowed_for(device, word)
        for device in devices
        for word, slowdown in slowdowns().items()
        if slowdown.judged in words.HARM
    )
    if lasts_s < _LEAST_S:
        return say("{cards} throttled: {reasons}", cards=cards, reasons=trouble)
    time = show_seconds(lasts_s)
    return say("{cards} throttled for {time}: {reasons}", cards=cards, time=time, reasons=trouble)


def _sees(devices: tuple[DeviceTick, ...]) -> bool:
    """Whether every card that answers says what slows it, so that nothing wrong means fine."""
    return all(tick.slowed_by is not None for tick in devices if tick.state == "ok")
