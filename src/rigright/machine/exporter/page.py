"""The page that Prometheus reads, made from what the watch has seen, by the rows of data/metrics.csv.

A row names a kind of record and a field of it; what is no plain number is read by a function of `_READS`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rigright import __version__
from rigright.base.record import replace
from rigright.machine.device import Fabric
from rigright.machine.exporter.metric import Metric, Sample, chosen, metrics
from rigright.machine.exporter.tally import MetricsTally, reasons
from rigright.machine.nvml.codes import FABRIC_STATES, RECOVERIES
from rigright.machine.parts.network import RDMA_ERRORS
from rigright.machine.tick import DeviceTick, HostTick

Labelled = Iterable[tuple[tuple[str, ...], Any]]  # records, each with its labels
_STATES = ("ok", "lost", "hung", "stale")
_FABRIC_STATES = tuple(state for state in reversed(FABRIC_STATES) if state != "not supported")
_DCGM_LABELS = ("gpu", "UUID", "device", "modelName")


class Pages:
    """Writes pages; `dcgm` adds the names that NVIDIA's exporter gives the same readings."""

    def __init__(self, tally: MetricsTally, *, dcgm: bool = False) -> None:
        self._tally, self._dcgm = tally, dcgm

    def page(self, accept: str = "") -> tuple[bytes, str]:
        """The page in the form that a reader accepts, and what it is called."""
        form = chosen(accept)
        with self._tally.lock:
            text = form.text(self._families())
        return text.encode("utf-8", "replace"), form.content_type

    def _families(self) -> Iterator[tuple[Metric, Iterator[Sample]]]:
        """Every metric with its samples; called while the tally stands still."""
        for metric in metrics():
            yield metric, _samples(metric, self._tally)
        for metric in metrics() if self._dcgm else ():
            if metric.dcgm is not None:  # its labels, its unit, no suffix on counters
                kind = metric.kind if metric.kind == "gauge" else "unknown"
                theirs = replace(metric, name=metric.dcgm, kind=kind, labels=_DCGM_LABELS)
                yield theirs, _dcgm_samples(metric, self._tally)


def _samples(metric: Metric, tally: MetricsTally) -> Iterator[Sample]:
    """A figure of each record that has one."""
    read = _READS.get((metric.of, metric.field))
    for labels, record in _RECORDS[metric.of](tally):
        if read is not None:
            for more, value in read(record, tally):
                yield (*labels, *more), float(value)
        elif (value := getattr(record, metric.field)) is not None:
            yield labels, float(value)


def _dcgm_samples(metric: Metric, tally: MetricsTally) -> Iterator[Sample]:
    """The same of NVIDIA's cards, under its exporter's labels and in its unit."""
    known = {_labels(device) for device in _ticks(tally) if device.card.startswith("gpu")}
    for labels, value in _samples(metric, tally):
        if labels in known:
            index, uuid, name = labels
            yield (index, uuid, f"nvidia{index}", name), value * (metric.dcgm_factor or 1.0)


# --- records: labels, and what fields are read of


def _ticks(tally: MetricsTally) -> tuple[DeviceTick, ...]:
    return tally.tick.devices if tally.tick is not None else ()


def _labels(device: DeviceTick) -> tuple[str, str, str]:
    return str(device.index), device.uuid or "", device.name or ""


def _cards(tally: MetricsTally) -> Labelled:
    return ((_labels(device), device) for device in _ticks(tally))


def _devices(tally: MetricsTally) -> Labelled:
    """Cards that answer: what is old is not stated as if it were new."""
    return ((labels, device) for labels, device in _cards(tally) if device.state == "ok")


def _parts(
    field: str, *, labels: Callable[[DeviceTick, Any], tuple[str, ...] | None]
) -> Callable[[MetricsTally], Labelled]:
    """What a field of a card lists, where `labels` has a name for it."""

    def parts(tally: MetricsTally) -> Labelled:
        for _, device in _devices(tally):
            for part in getattr(device, field) or ():
                if (named := labels(device, part)) is not None:
                    yield named, part

    return parts


def _slice_labels(device: DeviceTick, part: Any) -> tuple[str, ...]:
    compute = "" if part.compute_instance is None else str(part.compute_instance)
    return (*_labels(device)[:2], str(part.gpu_instance), compute, part.profile or "")


def _programs(tally: MetricsTally) -> Labelled:
    devices = _ticks(tally)
    for (place, owner), share in sorted(tally.programs.items()):
        if place < len(devices):
            yield (*_labels(devices[place])[:2], owner.program, owner.user, owner.job), share


_RECORDS: Mapping[str, Callable[[MetricsTally], Labelled]] = {
    "card": _cards,
    "device": _devices,
    "fabric": lambda tally: ((labels, device.fabric) for labels, device in _devices(tally) if device.fabric),
    "link": _parts("links", labels=lambda device, link: (*_labels(device), str(link.index))),
    "activity": _parts(
        "activity", labels=lambda device, part: _labels(device) if part.gpu_instance is None else None
    ),
    "mig_activity": _parts(
        "activity",
        labels=lambda device, part: (
            (*_labels(device)[:2], str(part.gpu_instance)) if part.gpu_instance is not None else None
        ),
    ),
    "mig": _parts("slices", labels=_slice_labels),
    "program": _programs,
    "host": lambda tally: [((), tally.tick.host)] if tally.tick is not None else [],
    "host_sum": lambda tally: [((), HostTick(**tally.sums.of_host))],
    "port": lambda tally: (((port.name, port.kind), port) for port in tally.ports),
    "power": lambda tally: [((tally.power.source,), tally.power)] if tally.power is not None else [],
    "collector": lambda tally: [((), tally)],
}


# --- fields that are no plain number: more labels, and a figure


def _figure(value: float | None) -> Iterable[Sample]:
    """One figure without more labels, where it is known."""
    return () if value is None else (((), value),)


def _words(words: Iterable[str], now: str | None) -> Iterable[Sample]:
    """1 for the word that holds now, 0 for the others."""
    return (((word,), float(word == now)) for word in words)


def _energy(device: DeviceTick, tally: MetricsTally) -> Iterable[Sample]:
    """As the card counts it, else summed up since the watch began."""
    return _figure(tally.sums.energy_j.get(device.card) if device.energy_j is None else device.energy_j)


def _slowed(device: DeviceTick, tally: MetricsTally) -> Iterable[Sample]:
    return (((reason,), tally.sums.slowed_s.get((device.card, reason), 0.0)) for reason in reasons())


def _xids(device: DeviceTick, tally: MetricsTally) -> Iterable[Sample]:
    return (((str(code),), n) for (card, code), n in tally.sums.xids.items() if card == device.card)


def _recovery(device: DeviceTick, _tally: MetricsTally) -> Iterable[Sample]:
    return _figure(RECOVERIES.index(device.recovery)) if device.recovery in RECOVERIES else ()


def _is_degraded(fabric: Fabric) -> bool:
    return fabric.health not in {"healthy", "unhealthy"} or fabric.bandwidth == "degraded"


def _on_bus(tally: MetricsTally) -> int | None:
    return None if tally.tick is None else tally.tick.on_bus


_READS: Mapping[tuple[str, str], Callable[[Any, MetricsTally], Iterable[Sample]]] = {
    ("card", "info"): lambda device, _: [((device.vendor or "nvidia",), 1.0)],
    ("card", "up"): lambda device, _: _figure(device.state == "ok"),
    ("card", "state"): lambda device, _: _words(_STATES, device.state),
    ("card", "age_s"): lambda device, _: _figure(device.age_s or 0.0),
    ("card", "last_xid"): lambda device, tally: _figure(
        device.last_xid or tally.sums.last_xid.get(device.card, 0)
    ),
    ("card", "slowed"): _slowed,
    ("card", "xids"): _xids,
    ("device", "energy_j"): _energy,
    ("device", "recovery"): _recovery,
    ("fabric", "state"): lambda fabric, _: (
        _words(_FABRIC_STATES, fabric.state) if fabric.state in _FABRIC_STATES else ()
    ),
    ("fabric", "healthy"): lambda fabric, _: _figure(
        None if fabric.health is None else fabric.health != "unhealthy"
    ),
    ("fabric", "degraded"): lambda fabric, _: _figure(
        None if fabric.health is None else _is_degraded(fabric)
    ),
    ("link", "errors"): lambda link, _: (((kind,), n) for kind, n in link.errors),
    ("port", "state"): lambda port, _: _figure(None if port.state is None else port.state == "up"),
    ("port", "counters"): lambda port, _: (((name,), n) for name, n in port.counters if name in RDMA_ERRORS),
    ("collector", "seen"): lambda tally, _: _figure(sum(tick.state == "ok" for tick in _ticks(tally))),
    ("collector", "expected"): lambda tally, _: _figure(
        max(tally.most_seen, _on_bus(tally) or 0, tally.settings.cards)
    ),
    ("collector", "on_bus"): lambda tally, _: _figure(_on_bus(tally)),
    ("collector", "at_s"): lambda tally, _: _figure(None if tally.tick is None else tally.tick.at_s),
    ("collector", "every_s"): lambda tally, _: _figure(tally.settings.every_s),
    ("collector", "cpu_s"): lambda _tally, _: _figure(time.process_time()),
    ("collector", "history"): lambda tally, _: _figure(tally.settings.keeps_history()),
    ("collector", "log"): lambda tally, _: _figure(tally.settings.reads_log()),
    ("collector", "events"): lambda tally, _: (((kind,), n) for kind, n in sorted(tally.sums.events.items())),
    ("collector", "differs"): lambda tally, _: (((trait,), 1.0) for trait in tally.settings.differs()),
    ("collector", "version"): lambda _tally, _: [((__version__,), 1.0)],
}
