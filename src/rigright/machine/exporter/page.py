"""The page that Prometheus reads, made from what the watch has seen, by the rows of data/metrics.csv."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from rigright import __version__
from rigright.machine.device import Fabric
from rigright.machine.exporter.table import Metric, metrics
from rigright.machine.exporter.tally import MetricsTally, reasons
from rigright.machine.exporter.text import Family, Sample, chosen
from rigright.machine.parts.network import RDMA_ERRORS
from rigright.machine.tick import DeviceTick

Samples = Iterator[Sample]
_STATES = ("ok", "lost", "hung", "stale")
_FABRIC_STATES = ("completed", "in progress", "not started")
_DCGM_LABELS = ("gpu", "UUID", "device", "modelName")
RECOVERIES = (
    *("none", "gpu reset", "node reboot", "drain p2p", "drain and reset"),
    *("recover imex", "bus reset", "system reboot"),
)  # the driver's numbers for what it asks for


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

    def _families(self) -> Iterator[Family]:
        """Every family; called while the tally stands still."""
        for metric in metrics():
            yield Family(
                name=metric.name,
                kind=metric.kind,
                help=metric.help,
                labels=metric.labels,
                samples=_SAMPLES[metric.of](metric, self._tally),
            )
        for metric in metrics() if self._dcgm else ():
            if metric.dcgm is not None:
                # the reading as NVIDIA's exporter names it: its labels, its unit, no suffix on counters
                devices = {
                    _labels(tick)
                    for tick in (self._tally.tick.devices if self._tally.tick else ())
                    if tick.card.startswith("gpu")
                }
                factor = 1.0 if metric.dcgm_factor is None else metric.dcgm_factor
                yield Family(
                    name=str(metric.dcgm),
                    kind=metric.kind if metric.kind == "gauge" else "unknown",
                    help=metric.help,
                    labels=_DCGM_LABELS,
                    samples=(
                        ((index, uuid, f"nvidia{index}", name), value * factor)
                        for (index, uuid, name), value in _SAMPLES[metric.of](metric, self._tally)
                        if (index, uuid, name) in devices
                    ),
                )


def _labels(device: DeviceTick) -> tuple[str, str, str]:
    return str(device.index), device.uuid or "", device.name or ""


def _of_devices(metric: Metric, tally: MetricsTally) -> Samples:
    """Samples of each card: its labels, and what tells several of one card apart."""
    several = _SEVERAL.get(metric.field)
    for device in tally.tick.devices if tally.tick is not None else ():
        if several is not None:
            for label, value in several(device, tally):
                yield (*_labels(device), *label.split("\t")), value
        elif (single := _single(metric.field, device, tally=tally)) is not None:
            yield _labels(device), single


def _single(field: str, device: DeviceTick, *, tally: MetricsTally) -> float | None:
    """One reading of a card; what is old is not stated as if it were new."""
    own = _ALWAYS.get(field)
    if own is not None:
        return own(device, tally)
    if device.state != "ok":
        return None
    if field == "recovery":
        return float(RECOVERIES.index(device.recovery)) if device.recovery in RECOVERIES else None
    if field in _OF_FABRIC:
        fabric = device.fabric
        return None if fabric is None or fabric.health is None else float(_OF_FABRIC[field](fabric))
    value = getattr(device, field)
    if value is None and field == "energy_j":
        return tally.sums.of_device.get((device.card, field))
    return None if value is None else float(value)


_OF_FABRIC: dict[str, Callable[[Fabric], bool]] = {  # where the driver tells of its health
    "fabric_healthy": lambda fabric: fabric.health != "unhealthy",
    "fabric_degraded": lambda fabric: (
        fabric.health not in {"healthy", "unhealthy"} or fabric.bandwidth == "degraded"
    ),
}
_ALWAYS: dict[str, Callable[[DeviceTick, MetricsTally], float]] = {  # told of a lost card too
    "up": lambda device, _tally: float(device.state == "ok"),
    "age_s": lambda device, _tally: device.age_s or 0.0,
    "last_xid": lambda device, tally: float(device.last_xid or tally.sums.last_xid.get(device.card, 0)),
}


def _infos(device: DeviceTick, _tally: MetricsTally) -> Iterator[tuple[str, float]]:
    yield device.vendor or "nvidia", 1.0


def _states(device: DeviceTick, _tally: MetricsTally) -> Iterator[tuple[str, float]]:
    for state in _STATES:
        yield state, float(device.state == state)


def _slowed(device: DeviceTick, tally: MetricsTally) -> Iterator[tuple[str, float]]:
    for reason in reasons():
        yield reason, tally.sums.slowed_s.get((device.card, reason), 0.0)


def _xids(device: DeviceTick, tally: MetricsTally) -> Iterator[tuple[str, float]]:
    for (where, code), count in tally.sums.xids.items():
        if where == device.card:
            yield str(code), float(count)


def _links(field: str) -> Callable[[DeviceTick, MetricsTally], Iterator[tuple[str, float]]]:
    """A reading of each link; those of a card that does not answer are old."""

    def values_of(device: DeviceTick, _tally: MetricsTally) -> Iterator[tuple[str, float]]:
        for link in (device.links or ()) if device.state == "ok" else ():
            value = getattr(link, field)
            if value is not None:
                yield str(link.index), float(value)

    return values_of


def _link_errors(device: DeviceTick, _tally: MetricsTally) -> Iterator[tuple[str, float]]:
    for link in (device.links or ()) if device.state == "ok" else ():
        for kind, count in link.errors:
            yield f"{link.index}\t{kind}", float(count)


def _fabric_states(device: DeviceTick, _tally: MetricsTally) -> Iterator[tuple[str, float]]:
    fabric = device.fabric if device.state == "ok" else None
    if fabric is not None and fabric.state in _FABRIC_STATES:
        for state in _FABRIC_STATES:
            yield state, float(fabric.state == state)


_SEVERAL: dict[str, Callable[[DeviceTick, MetricsTally], Iterator[tuple[str, float]]]] = {
    "info": _infos,
    "states": _states,
    "slowed": _slowed,
    "xids": _xids,
    "link_up": _links("is_up"),
    "link_rx": _links("rx_bytes"),
    "link_tx": _links("tx_bytes"),
    "link_errors": _link_errors,
    "fabric_states": _fabric_states,
}


def _of_power(_metric: Metric, tally: MetricsTally) -> Samples:
    """The whole node, where something tells of it."""
    if tally.power is not None:
        yield (tally.power.source,), tally.power.watts


def _of_activity(metric: Metric, tally: MetricsTally) -> Samples:
    """What the parts of each card did, or of each MIG instance where the metric is about those."""
    of_instances = "gpu_instance" in metric.labels
    for device in tally.tick.devices if tally.tick is not None else ():
        for activity in (device.activity or ()) if device.state == "ok" else ():
            value = getattr(activity, metric.field)
            if value is not None and of_instances == (activity.gpu_instance is not None):
                labels = _labels(device)
                yield (*labels[:2], str(activity.gpu_instance)) if of_instances else labels, value


def _of_mig(metric: Metric, tally: MetricsTally) -> Samples:
    for device in tally.tick.devices if tally.tick is not None else ():
        for item in (device.slices or ()) if device.state == "ok" else ():
            value = getattr(item, metric.field)
            if value is not None:
                compute = "" if item.compute_instance is None else str(item.compute_instance)
                yield (*_labels(device)[:2], str(item.gpu_instance), compute, item.profile or ""), value


def _of_host(metric: Metric, tally: MetricsTally) -> Samples:
    if tally.tick is None:
        return
    if metric.kind == "counter":
        value = tally.sums.of_host.get(metric.field)
    else:
        value = getattr(tally.tick.host, metric.field)
    if value is not None:
        yield (), float(value)


def _of_programs(metric: Metric, tally: MetricsTally) -> Samples:
    devices = tally.tick.devices if tally.tick is not None else ()
    for (place, owner), (kept, count) in sorted(tally.programs.items()):
        if place < len(devices):
            index, uuid, _ = _labels(devices[place])
            value = kept if metric.field == "mem_bytes" else float(count)
            yield (index, uuid, owner.program, owner.user, owner.job), value


def _of_ports(metric: Metric, tally: MetricsTally) -> Samples:
    for port in tally.ports:
        labels = (port.name, port.kind)
        if metric.field == "errors":
            yield from (((*labels, name), float(n)) for name, n in port.counters if name in RDMA_ERRORS)
        elif metric.field == "up" and port.state is not None:
            yield labels, float(port.state == "up")
        elif metric.field == "rate" and port.bytes_per_s is not None:
            yield labels, port.bytes_per_s


def _of_collector(metric: Metric, tally: MetricsTally) -> Samples:
    if metric.field == "events":
        yield from (((kind,), float(count)) for kind, count in sorted(tally.sums.events.items()))
    elif metric.field == "differs":
        yield from (((trait,), 1.0) for trait in tally.settings.differs())
    elif metric.field == "version":
        yield (__version__,), 1.0
    elif (value := _OWN[metric.field](tally)) is not None:
        yield (), float(value)


def _on_bus(tally: MetricsTally) -> int | None:
    return None if tally.tick is None else tally.tick.on_bus


_OWN: dict[str, Callable[[MetricsTally], float | None]] = {
    "seen": lambda tally: (
        sum(tick.state == "ok" for tick in tally.tick.devices) if tally.tick is not None else 0
    ),
    "expected": lambda tally: max(tally.most_seen, _on_bus(tally) or 0, tally.settings.cards),
    "on_bus": _on_bus,
    "at_s": lambda tally: None if tally.tick is None else tally.tick.at_s,
    "up": lambda tally: float(tally.is_up),
    "every_s": lambda tally: tally.settings.every_s,
    "took_s": lambda tally: tally.took_s,
    "ticks": lambda tally: tally.n_ticks,
    "cpu_s": lambda _tally: time.process_time(),
    "history": lambda tally: float(tally.settings.keeps_history()),
    "log": lambda tally: float(tally.settings.reads_log()),
}
_SAMPLES: dict[str, Callable[[Metric, MetricsTally], Samples]] = {
    "device": _of_devices,
    "activity": _of_activity,
    "mig": _of_mig,
    "host": _of_host,
    "program": _of_programs,
    "port": _of_ports,
    "power": _of_power,
    "collector": _of_collector,
}
