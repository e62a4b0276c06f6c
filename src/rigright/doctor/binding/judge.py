"""Shares the time of a running machine out among the things it waited for.

Each moment is split by how busy the accelerators were: the busy part goes to what they work on (their
arithmetic, memory, power, cooling), the rest to what keeps them waiting (disks, network, cores, the program
itself). On either side the fullest thing takes it all; where nothing is full, arithmetic or the program is
what is left. Cards that only spin in a collective wait too (`moments.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rigright.base.words import Sentence, say
from rigright.doctor.binding.causes import causes
from rigright.doctor.binding.moments import behind, mean, slowed_share, working_share
from rigright.doctor.binding.record import FULL, LINKS, WAITING, WORKING, Bound, Diagnosis, LimitedMoment
from rigright.doctor.nic import fastest_port
from rigright.doctor.record import CheckInput
from rigright.facts.fabrics import pcie_bytes_per_s
from rigright.facts.faults import words_of
from rigright.machine.bench.record import disk_bytes_per_s
from rigright.machine.tick import DeviceTick, Tick

LEAST_BUSY = 0.02  # below it a device without programs rests
LEAST_SHARE = 0.03  # of the time: less is not worth a line
_LEAST_LAG = 0.2  # of the time
_NOTHING = 1e-9
_FULL_MEMORY = 0.95
_NOTHING_LEFT = 0.9  # of what a thing can do: nobody is told to take more of it


def judge(ticks: Sequence[Tick], case: CheckInput) -> Diagnosis:
    """What bound the machine over these ticks."""
    # devices that had programs or work at any moment
    used = tuple(sorted({device.index for tick in ticks for device in tick.devices if _works(device)}))
    running = [tick for tick in ticks if _runs(tick, used)]
    moments = [_moment(tick, used, case=case) for tick in running]
    parts: dict[str, list[tuple[LimitedMoment, float]]] = {}
    for moment in moments:
        for name, share in split(moment).items():
            parts.setdefault(name, []).append((moment, share))
    seen = [moment.busy_share for moment in moments]
    # cards that the others waited for, for a good part of the time
    laggards: list[Sentence] = []
    times = Counter(last.index for moment in moments if (last := behind(moment)) is not None)
    for index, count in times.most_common(1):
        if count / len(moments) >= _LEAST_LAG:
            laggards.append(
                say(
                    "GPU {index} is less busy than the others, which draw little power: in a shared job "
                    "they are waiting for it",
                    index=index,
                )
            )
    return Diagnosis(
        lasted_s=ticks[-1].clock_s - ticks[0].clock_s if ticks else 0.0,
        moments=len(moments),
        idle=len(ticks) - len(moments),
        busy_share=sum(seen) / len(seen) if used and seen else None,
        devices=used,
        bounds=_bounds(parts, len(moments)),
        # causes that no moment shows anything of
        unseen=tuple(
            say("{cause}: not enough data to judge", cause=cause.title)
            for cause in causes()
            if any(moment.devices or cause.side == WAITING for moment in moments)
            and all(cause.weigh(moment) is None for moment in moments)
        ),
        notes=(*_notes(running, used), *laggards),
        full=frozenset(
            cause.name
            for cause in causes()
            if cause.side == WAITING and (mean(map(cause.weigh, moments)) or 0.0) >= _NOTHING_LEFT
        ),
    )


def split(moment: LimitedMoment) -> dict[str, float]:
    """The causes that bind one moment, with their shares of it."""
    busy = working_share(moment, link_full=_link_full(moment)) if moment.devices else 0.0
    fields: dict[str, float] = {}
    for side, share in ((WORKING, busy), (WAITING, 1.0 - busy)):
        left = share
        for cause in causes():
            # cards that something brakes are slow by that alone, be they one of eight
            brakes = words_of(cause.name, brakes=True) if cause.side == side else frozenset()
            part = min(left, share * (slowed_share(moment, brakes) or 0.0)) if brakes else 0.0
            if part > 0:
                fields[cause.name] = part
                left -= part
        if left > _NOTHING:
            # the fullest thing of a side; what weighs exactly FULL stands for all that is left
            weighed = ((cause, cause.weigh(moment)) for cause in causes() if cause.side == side)
            braked = {name for name in fields if words_of(name, brakes=True)}
            seen = ((cause, full) for cause, full in weighed if full is not None and cause.name not in braked)
            fullest, _ = max(seen, key=lambda pair: pair[1])
            fields[fullest.name] = fields.get(fullest.name, 0.0) + left
    return fields


def _link_full(moment: LimitedMoment) -> bool:
    """Whether what the cards exchange, or are fed with, has nearly filled its way."""
    return any((cause.weigh(moment) or 0.0) >= FULL for cause in causes() if cause.name in LINKS)


def _bounds(parts: dict[str, list[tuple[LimitedMoment, float]]], count: int) -> tuple[Bound, ...]:
    bounds = []
    for cause in causes():
        own = parts.get(cause.name, [])
        share = sum(part for _, part in own) / count if count else 0.0
        if share >= LEAST_SHARE:
            moments = [moment for moment, _ in own]
            seen = any((cause.weigh(moment) or 0.0) != FULL for moment in moments)
            bounds.append(Bound(cause=cause, share=share, evidence=cause.tell(moments), seen=seen))
    return tuple(sorted(bounds, key=lambda bound: -bound.share))


def _works(device: DeviceTick) -> bool:
    compute = any(program.kind == "compute" for program in device.programs or ())
    return compute or (device.busy_share or 0.0) > LEAST_BUSY


def _runs(tick: Tick, used: tuple[int, ...]) -> bool:
    """Whether anything ran: without accelerators cores or disks, as far as they were seen."""
    if not tick.devices:
        return any((share or 0.0) > LEAST_BUSY for share in (tick.host.cpu_share, tick.host.disk_busy_share))
    return any(device.index in used and _works(device) for device in tick.devices)


def _moment(tick: Tick, used: tuple[int, ...], *, case: CheckInput) -> LimitedMoment:
    # what the history did not keep, the driver may tell now
    texts = {item.index: item.slowed_by for item in case.machine.devices}
    devices = tuple(
        replace(item, slowed_by=texts.get(item.index)) if item.slowed_by is None else item
        for item in tick.devices
        if item.index in used
    )
    links = (
        (device.index, pcie_bytes_per_s(device.pcie_gen or 1, device.pcie_lanes))
        for device in devices
        if device.pcie_gen in range(1, 7) and device.pcie_lanes
    )
    return LimitedMoment(
        devices=devices,
        host=tick.host,
        link_bytes_per_s=tuple(links),
        net_bytes_per_s=fastest_port(case.machine),
        disk_bytes_per_s=disk_bytes_per_s(case.results),
    )


def _notes(ticks: Sequence[Tick], used: tuple[int, ...]) -> Iterator[Sentence]:
    for index in used:
        shares = [
            device.mem_used_bytes / device.mem_total_bytes
            for tick in ticks
            for device in tick.devices
            if device.index == index and device.mem_used_bytes is not None and device.mem_total_bytes
        ]
        if shares and max(shares) >= _FULL_MEMORY:
            yield say(
                "GPU {index}: memory {share} full: a larger batch needs a larger GPU or quantization",
                index=index, share=f"{max(shares):.0%}",
            )  # fmt: skip
