"""The machine over a time: each card's figures, energy, brakes and absences; the host's."""

from __future__ import annotations

from collections import defaultdict
from itertools import compress
from pathlib import Path

from rigright.machine.history.store import History
from rigright.verbs.history.series import Series, energy_j, figures, series
from rigright.verbs.watch.watched import CardSpan, Figures, Span

OF_CARD = ("busy_share", "mem_used_bytes", "power_w", "gpu_c", "mem_c", "sm_hz")
OF_HOST = (
    *("cpu_share", "mem_used_bytes", "disk_read_bytes_per_s", "disk_write_bytes_per_s"),
    *("net_rx_bytes_per_s", "net_tx_bytes_per_s"),
)
_MORE = ("mem_total_bytes", "power_limit_w", "energy_j", "slowed_by", "state", "name", "uuid")
_WANTED = {*OF_CARD, *OF_HOST, *_MORE}
_QUIET = {"idle"}


def span_of(history: History, since_s: float | None, *, until_s: float | None) -> Span:
    """What the history holds of a time."""
    stretches = history.columns(
        since_s, until_s, wanted=lambda name: name.rpartition(".")[2].removesuffix(">") in _WANTED
    )
    result = series(stretches)
    names = {*result.numbers, *result.words}
    cards = sorted({name.partition(".")[0] for name in names} - {"host"}, key=_order)
    return Span(
        path=str(Path(history.path)),
        since_s=min(result.at_s, default=since_s),
        until_s=max(result.at_s, default=until_s),
        n_moments=len(result.at_s),
        seen_s=result.seen_s,
        cards=tuple(_card(result, card) for card in cards),
        host=_figures(result, "host", names=OF_HOST),
    )


def _order(card: str) -> tuple[str, int]:
    kind = card.rstrip("0123456789")
    return kind, int(card[len(kind) :] or 0)


def _card(series: Series, card: str) -> CardSpan:
    states = series.words.get(f"{card}.state", ())
    ok = [state == "ok" for state in states]
    flags = [state is not None for state in states]
    here_s, told_s = (sum(compress(series.stands_s, which)) for which in (ok, flags))
    # how long each reason held a card back; of thinned rows at most so long
    sums: dict[str, float] = defaultdict(float)
    for words, stands_s in zip(series.words.get(f"{card}.slowed_by", ()), series.stands_s, strict=False):
        for reason in (words or "").split(","):
            if reason and reason not in _QUIET:
                sums[reason] += stands_s
    return CardSpan(
        card=card,
        name=_last(series, f"{card}.name"),
        uuid=_last(series, f"{card}.uuid"),
        figures=_figures(series, card, names=OF_CARD),
        energy_j=energy_j(series, card),
        seen_s=here_s,
        away_s=told_s - here_s,
        slowed_s=tuple(sorted(sums.items(), key=lambda pair: -pair[1])),
    )


def _figures(series: Series, front: str, *, names: tuple[str, ...]) -> tuple[Figures, ...]:
    given = (figures(series, f"{front}.{name}") for name in names)
    return tuple(item for item in given if item is not None)


def _last(series: Series, column: str) -> str | None:
    return next((word for word in reversed(series.words.get(column, ())) if word), None)
