"""The loop of the live view: a moment, a frame, the keys pressed meanwhile."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from rigright.faces.cli.live import Live
from rigright.faces.cli.terminal import screen
from rigright.report.live.keys import Frame, View, keys_of, press
from rigright.report.live.recent import Recent
from rigright.report.live.view import draw

if TYPE_CHECKING:
    from rigright.verbs.watch.verb import Watch

_BEFORE_S = 120.0  # of the history before a moment of it: pictures, and since when a card is slowed


def live(moments: Watch, options: argparse.Namespace) -> None:
    """Drawn over and over, until q is pressed."""
    recent, view = Recent(), View()
    past: tuple[float, Recent] | None = None  # the moment of the past that is shown
    with Live() as terminal:

        def show() -> Frame:
            nonlocal past
            columns, rows = terminal.size()
            seen = screen(options, options.language, stream=sys.stdout)
            seen = replace(seen, width=min(options.width or columns, columns))
            shown = recent
            if view.at_s is not None:
                if past is None or past[0] != view.at_s:
                    past = view.at_s, _at(view.at_s, recent, moments=moments)
                shown = past[1]
            now_s = recent.moment.tick.at_s if recent.moment is not None else None
            frame = draw(shown, view, screen=seen, height=rows, now_s=now_s)
            terminal.draw(frame.lines)
            return frame

        frame = show()
        while not moments.is_over:
            recent.add(moments.look())
            frame = show()
            while (typed := terminal.wait(moments.rest_s(), redraw=show)) is not None:
                for key in keys_of(typed):
                    view = press(view, key, frame=frame)
                if view.over:
                    return
                frame = show()


def _at(at_s: float, recent: Recent, *, moments: Watch) -> Recent:
    """What was remembered at a moment of the past: of this view, else of the history."""
    result, now = recent.until(at_s), recent.moment
    if result is not None or now is None:
        return result or Recent()
    return Recent(
        replace(now, tick=tick, events=(), detail=None) for tick in moments.kept(at_s - _BEFORE_S, at_s)
    )
