"""A machine that was looked at as a node: the cards a program could use, what is free now, and the host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rigright.base.errors import AskError
from rigright.base.units import MEGA, show_bytes
from rigright.base.words import Sentence, say
from rigright.doctor.recognise import chip_of
from rigright.facts.chips import Chip, chips
from rigright.facts.find import with_memory
from rigright.facts.host_words import find_processor
from rigright.facts.hosts import Host
from rigright.facts.mig import cut, profile_of
from rigright.facts.nodes import Card, Node, device_of, host_card
from rigright.machine.device import Device, Slice
from rigright.machine.record import Machine, free_bytes, total_bytes

_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def node_of(machine: Machine, *, alone: bool = False) -> Node:
    """Its cards, those left out that no program could use, with what is free now.

    `alone`: where it has none, its processor does all the work.
    """
    host = _host_of(machine)
    if alone and not machine.devices and host is not None:
        return Node(cards=(host_card(host),), host=host, notes=(_no_cards(), *host.notes))
    if not machine.devices and machine.origin != "live":
        # cards of a file that tells of the bus alone: known by their numbers, idle as far as one can tell
        listed = {number: chip for chip in chips() for number in chip.pci_ids}
        devices = [item for item in machine.pci or () if item.id in listed]
        on_bus = tuple(
            Device(
                index=place,
                vendor=listed[item.id].vendor.lower(),
                name=item.name,
                pci=item.address,
                pci_id=item.id,
            )
            for place, item in enumerate(devices)
        )
        machine = replace(machine, devices=on_bus)
    if not machine.devices:
        raise _none(machine)
    seen = _as_programs_count([device for device in machine.devices if device.state == "ok"])
    shown, notes = _visible(seen, machine)
    known = {device.index: chip for device in shown if (chip := chip_of(device)) is not None}
    cards = [
        card
        for device in shown
        if device.index in known
        for card in _cards(device, known[device.index], machine=machine)
    ]
    if not cards:
        raise _unknown(machine, seen)
    strangers = [device for device in shown if device.index not in known]
    gone = [device for device in machine.devices if device.state != "ok"]
    return Node(
        cards=tuple(replace(card, index=place) for place, card in enumerate(cards)),
        notes=(*_notes(cards), *notes, *_left_out(gone, strangers), *_cut(shown)),
        host=host,
    )


def _cards(device: Device, chip: Chip, *, machine: Machine) -> Iterator[Card]:
    """The card, or the part of one; of MIG instances the largest, since a program sees one alone."""
    if device.slices and device.vendor == "amd":
        yield _instance(device.slices[0], chip, parts=len(device.slices))
        return
    if device.slices:
        yield _instance(max(device.slices, key=lambda entry: entry.mem_total_bytes or 0.0), chip)
        return
    if device.mig:
        return
    item = _sized(device_of(chip), total_bytes(device, machine))
    total = device.mem_total_bytes or item.mem_usable_bytes
    yield Card(chip=item, index=device.index, total_bytes=total, free_bytes=free_bytes(device, machine))


def _sized(chip: Chip, total: float | None) -> Chip:
    """A chip that is sold with several sizes of memory, with the least that holds what was seen."""
    if total is None or len(chip.mem_options_bytes) < 2:
        return chip
    holding = [size for size in chip.mem_options_bytes if size >= total]
    return with_memory(chip, min(holding, default=max(chip.mem_options_bytes)))


def _instance(part: Slice, chip: Chip, *, parts: int = 1) -> Card:
    """A MIG instance, or a part of a card, as a card: its memory, its share of bandwidth and peak.

    MIG instances do not reach each other; parts of AMD's cards do, by their share of the card's links.
    """
    total = part.mem_total_bytes or chip.mem_usable_bytes / parts
    mem_share = total / chip.mem_usable_bytes
    is_mig = chip.vendor != "AMD"
    profile = profile_of(chip, part.profile or "") if is_mig else None
    share = mem_share if profile is None else profile.peak_share(chip)
    item = cut(chip, share=share, mem_share=mem_share, usable_bytes=total)
    item = replace(item, name=f"{chip.name}{' MIG' if is_mig else ''} {part.profile or show_bytes(total)}")
    if not is_mig:
        both, one = chip.link_both_ways_bytes_per_s, chip.link_one_way_bytes_per_s
        item = replace(
            item,
            link=chip.link,
            link_max_chips=round(chip.link_max_chips / share) if chip.link_max_chips else None,
            link_both_ways_bytes_per_s=both and both * share,
            link_one_way_bytes_per_s=one and one * share,
        )
    used = part.mem_used_bytes
    return Card(chip=item, index=0, total_bytes=total, free_bytes=None if used is None else total - used)


def _as_programs_count(seen: list[Device]) -> list[Device]:
    """Each part of AMD's cards that are cut as a device, as HIP counts them, with that part first."""
    if not any(device.slices for device in seen if device.vendor == "amd"):
        return seen
    devices: list[Device] = []
    for device in seen:
        parts = _shared_out(device) if device.vendor == "amd" else ()
        devices += [
            replace(device, slices=(*parts[place:], *parts[:place])) for place in range(len(parts))
        ] or [device]
    return [replace(device, index=place) for place, device in enumerate(devices)]


def _shared_out(device: Device) -> tuple[Slice, ...]:
    """The parts of a card, with equal shares of what is used of it, and of its memory where none is told."""
    count = len(device.slices)
    used, total = device.mem_used_bytes, device.mem_total_bytes
    return tuple(
        replace(
            part,
            mem_used_bytes=None if used is None else used / count,
            mem_total_bytes=part.mem_total_bytes or (None if total is None else total / count),
        )
        for part in device.slices
    )


def _visible(seen: list[Device], machine: Machine) -> tuple[list[Device], tuple[Sentence, ...]]:
    """Those that the environment shows to programs."""
    pair = next(((name, value) for name, value in machine.environment if name in _VISIBLE), None)
    if pair is None:
        return seen, ()
    name, value = pair
    wanted = [text.strip() for text in value.split(",")]
    shown = [device for text in wanted for device in seen if _is(device, text)]
    if not shown or len(shown) == len(seen):
        return seen, ()
    note = say(
        "{name}={value} shows {count} of {all} cards", name=name, value=value, count=len(shown), all=len(seen)
    )
    return shown, (note,)


def _is(device: Device, text: str) -> bool:
    """Whether one entry of such a list means the device: its number, or the beginning of its UUID."""
    if text.isdecimal():
        return device.index == int(text)
    return len(text) > len("GPU-") and (device.uuid or "").startswith(text)


def _notes(cards: list[Card]) -> Iterator[Sentence]:
    """What is planned with."""
    if all(card.free_bytes is None for card in cards):
        yield say("free memory not reported; planning with all of it")
        return
    free, total = sum(card.room_bytes for card in cards), sum(card.program_bytes for card in cards)
    yield say(
        "planned with the memory free now: {free} of {total} usable",
        free=show_bytes(free),
        total=show_bytes(total),
    )


def _no_cards() -> Sentence:
    return say("no GPU found on this machine: everything runs on the CPU; see `rigright doctor`")


def _left_out(gone: list[Device], strangers: list[Device]) -> Iterator[Sentence]:
    if gone:
        which = ", ".join(str(device.index) for device in gone)
        yield say("GPU {which} does not respond and is skipped: `rigright doctor`", which=which)
    if strangers:
        names = ", ".join(device.name or device.vendor for device in strangers)
        yield say("unknown GPUs, skipped: {names}", names=names)


def _cut(shown: list[Device]) -> Iterator[Sentence]:
    if any(device.slices and device.vendor == "amd" for device in shown):
        yield say("AMD GPUs here are partitioned: each partition is planned as one GPU")
    if any(device.slices and device.vendor != "amd" for device in shown):
        yield say("a program sees one MIG instance: planning with the largest per GPU")


def _none(machine: Machine) -> AskError:
    """There are no cards: where to look, what to say."""
    if machine.origin != "live":
        return AskError(say("{file} lists no GPU", file=machine.origin))
    return AskError(
        say('no GPU found on this machine; give one with --on "1x rtx 4090", or run `rigright doctor`')
    )


def _unknown(machine: Machine, seen: list[Device]) -> AskError:
    names = ", ".join(dict.fromkeys(device.name or device.vendor for device in seen or machine.devices))
    if not seen:
        return AskError(say("no GPU responds ({names}): run `rigright doctor`", names=names))
    return AskError(
        say(
            'unknown GPU {names}: give a similar one with --on, such as --on "rtx 4090"',
            names=names,
        )
    )


def _host_of(machine: Machine) -> Host | None:
    """None where neither table nor family knows the processor, or nobody saw how much memory there is.

    What firmware does not list, such as channels of a virtual machine, is as such processors usually have it.
    """
    cpu, memory = machine.cpu, machine.memory
    socket = find_processor(cpu.name or "")
    total = min((size for size in (memory.total_bytes, memory.limit_bytes) if size), default=None)
    if socket is None or total is None:
        return None
    sockets = cpu.sockets or 1
    if cpu.cores:
        socket = replace(socket, cores=max(cpu.cores // sockets, 1))
    filled = [module for module in memory.modules or () if module.size_bytes]
    speeds = [module.set_mt_s or module.rated_mt_s for module in filled]
    kinds = {module.kind for module in filled if module.kind}
    places = {module.channel or module.slot for module in filled}
    known = bool(filled) and all(speeds)
    return Host(
        cpu=socket,
        sockets=sockets,
        ram_bytes=total,
        free_bytes=memory.available_bytes,
        ram_kind=kinds.pop() if len(kinds) == 1 else socket.mem_kind,
        channels=min(len(places), socket.mem_channels * sockets) if known else socket.mem_channels * sockets,
        transfers_per_s=min(speed for speed in speeds if speed) * MEGA
        if known
        else socket.mem_transfers_per_s,
        assumed=() if known else ("transfers", "channels"),
    )
