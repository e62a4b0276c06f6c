"""The live view: host, cards, programs and events, as many lines as the screen is high."""

from __future__ import annotations

from rigright.base.units import show_bytes, show_seconds
from rigright.base.words import say, tell
from rigright.report.draw.cells import clean, pad, width
from rigright.report.draw.ink import toned
from rigright.report.live import words
from rigright.report.live.cards import draw_cards
from rigright.report.live.pieces import LEAST_PICTURE, MOST_PICTURE, cut_to, line_of, picture
from rigright.report.live.recent import Recent, clock
from rigright.report.screen import Screen
from rigright.report.watched import Moment


def lines(recent: Recent, screen: Screen, *, height: int) -> list[str]:
    """What to draw now; never more lines than the screen has, never wider."""
    moment = recent.moment
    if moment is None:
        return [line_of(say("looking at the machine ..."), screen)]
    # as many pieces on each of two lines as there is room for
    found, at = ["", ""], 0
    for piece in words.host(moment.tick.host):
        told = clean(tell(piece, screen.language))
        while at < len(found) and width(found[at]) + 3 + width(told) > screen.width:
            at += 1
        if at == len(found):
            break
        found[at] += ("   " if found[at] else "") + told
    room = screen.width - width(found[0]) - 3
    if room >= LEAST_PICTURE:
        found[0] += "   " + picture(recent.past("cpu"), min(room, MOST_PICTURE), screen=screen)
    head = _head(moment, screen) + [line for line in found if line]
    cards = draw_cards(recent, moment, screen=screen, room=height - len(head) - 1)
    rest = (
        [line_of(note, screen, tone="warn") for note in moment.notes]
        + _events(recent, screen)
        + _programs(moment, screen)
    )
    shown = [*head, "", *cards]
    return ([*shown, "", *rest] if rest else shown)[:height]


def _head(moment: Moment, screen: Screen) -> list[str]:
    time, every = clock(moment.tick.at_s), show_seconds(moment.every_s)
    left = clean(
        tell(say("{host}, {time}, every {every}", host=moment.host, time=time, every=every), screen.language)
    )
    right = tell(say("q ends"), screen.language)
    room = screen.width - width(right) - 2
    head = toned(pad(cut_to(left, room, screen=screen), room), "strong", screen=screen)
    found = [f"{head}  {toned(right, 'dim', screen=screen)}"]
    if moment.serves:
        found.append(line_of(say("metrics at {address}", address=moment.serves), screen, tone="dim"))
    return found


def _programs(moment: Moment, screen: Screen) -> list[str]:
    """Who holds memory of which cards, the largest first."""
    held: dict[tuple[str, str], tuple[float, list[str]]] = {}
    for device in moment.tick.devices:
        for program in device.programs or ():
            key = (program.user or "", f"{program.pid} {program.name or ''}".strip())
            size, cards = held.get(key, (0.0, []))
            held[key] = size + (program.mem_bytes or 0.0), [*cards, device.card]
    found = [line_of(say("programs"), screen, tone="dim")] if held else []
    for (user, name), (size, cards) in sorted(held.items(), key=lambda one: -one[1][0]):
        held_of = f"  {pad(show_bytes(size), 10, right=True)}  {pad(clean(user), 10)} "
        found.append(cut_to(f"{held_of}{clean(name)}  {' '.join(cards)}", screen.width, screen=screen))
    return found


def _events(recent: Recent, screen: Screen) -> list[str]:
    """The newest events, the newest first."""
    found = [line_of(say("events"), screen, tone="dim")] if recent.events else []
    for at, event in list(recent.events)[:-6:-1]:
        told, tone = words.event(event)
        found.append(f"  {at}  {line_of(told, screen, tone=tone, less=12)}")
    return found
