"""A moment as lines of a log: one for the host, one for each card, one for each event."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, clean, say, tell
from rigright.report.live import words
from rigright.report.live.recent import clock
from rigright.verbs.watch.watched import MachineMoment


def readings(moment: MachineMoment, language: str) -> Iterator[str]:
    """The host and each card."""
    at = clock(moment.tick.at_s)
    host = "  ".join(_text(piece, language) for piece in words.host(moment.tick.host))
    yield f"{at}  {'host':<6} {host}"
    for device in moment.tick.devices:
        if device.state == "ok":
            pieces: list[Sentence | str] = [
                words.share(device.busy_share),
                words.memory(device.mem_used_bytes, device.mem_total_bytes),
                words.power(device.power_w, device.power_limit_w),
                words.celsius(device.gpu_c),
                words.clock(device.sm_hz),
                *words.troubles(device),
            ]
            pair = words.slowed_by(device)
            pieces += [pair[0]] if pair is not None else []
        else:
            pieces = [words.state(device.state, device.age_s)[0]]
        yield f"{at}  {device.card:<6} {'  '.join(_text(piece, language) for piece in pieces)}"


def news(moment: MachineMoment, language: str) -> Iterator[str]:
    """What happened."""
    for event in moment.events:
        at = clock(moment.tick.at_s if event.at_s is None else event.at_s)
        yield f"{at}  {_text(say('event'), language):<6} {_text(words.event(event)[0], language)}"


def _text(stated: Sentence | str, language: str) -> str:
    return clean(tell(stated, language))
