"""GPU and NIC driver messages in the kernel log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rigright.base.units import GIGA
from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.gpus import reset_at
from rigright.doctor.kernel_log import by_place, events, log_state, logged, meant
from rigright.doctor.nic import nic_at, rdma_ports
from rigright.doctor.record import CheckInput, Severity, Verdict, check
from rigright.machine.pci import pci_key
from rigright.machine.system import Event

# words of a line -> its finding; the first that fits
# of these the first leads to the others: a queue that hangs is reset, and what the reset fails at follows
_OF_HANG = (
    "log_cards.mes",
    "log_cards.hung",
    "log_cards.timed_out",
    "log_cards.was_reset",
    "log_cards.failed",
)
VENDORS = {"amdgpu": "amd", "i915": "intel", "xe ": "intel"}  # by what drivers call themselves
_FEW_TRANSFERS = 10  # failed ones; fewer are a note
_LOST_XID = 79
_FIRMWARE_XIDS, _NEAR_S = {119, 120, 154}, 120.0  # told of a GSP that is silent; how near they stand
_OF_FIRMWARE = ("gsp", "heartbeat", "gfw")
NUMBER = re.compile(r"\bGPU(\d{1,2})\b")
_LIMITED = re.compile(
    r"([\d.]{1,9}) Gb/s available PCIe bandwidth, limited by (.{1,60}?)(?: at \S+)? \(capable"
)
_NETWORK_CLASS = "0x02"


def one_hang(pairs: Iterable[tuple[str, list[Event]]]) -> Iterator[tuple[str, list[Event]]]:
    """The same, where a hang of a device and the resets that follow it are one finding."""
    first: dict[str | None, tuple[str, list[Event]]] = {}
    rest: list[tuple[str, list[Event]]] = []
    for name, same in pairs:
        if name not in _OF_HANG or same[0].pci is None:
            rest.append((name, same))
        elif same[0].pci in first:
            first[same[0].pci][1].extend(same)
        else:
            first[same[0].pci] = (name, [*same])
    yield from rest
    yield from first.values()


@check(say("GPU driver messages in the kernel log"))
def log_driver(case: CheckInput) -> Iterator[Verdict]:
    """GPU driver failures in the kernel log that have no XID.

    "API mismatch" (library and module versions differ), "RmInitAdapter failed" (a GPU does not initialize:
    power, firmware, address space), "probe routine failed", an unsigned module refused, GSP timeouts, AMD
    ring timeouts and resets, Intel GPU hangs.

    Fault where a GPU did not initialize or a module was refused; warning for resets; note for program errors
    and assertions. A lost GPU that XID 79 reports is not reported again. Events older than a week, or from
    before the last boot, count one level lower. Source: data/messages.csv.
    """
    state = log_state(case, "nvrm|amdgpu|nouveau", "driver")
    if state is not None and case.machine.devices:
        yield state
    lost = {pci_key(event.pci) for event in events(case, "xid") or [] if event.code == _LOST_XID}
    given = [_placed(case, event) for event in events(case, "driver") or [] if not _is_known(event, lost)]
    for name, same in one_hang(meant("log_cards", "driver", given)):
        driver = next((vendor for vendor in VENDORS if vendor in same[0].text), "")
        reset = reset_at(case, same[0].pci, vendor=VENDORS.get(driver, "nvidia"))
        yield logged(case, advise(name, reset=reset), of=same)


def _placed(case: CheckInput, event: Event) -> Event:
    """A line of the card's firmware that names no address, with that of its card.

    The driver counts its cards as nvidia-smi does ("GPU0 _kgspRpcRecvPoll"); older ones name none, and then
    it is the card whose XID of the firmware stands beside the line, or the only card there is.
    """
    line = event.text.lower()
    if event.pci or not any(word in line for word in _OF_FIRMWARE):
        return event
    cards = [device for device in case.machine.devices if device.vendor == "nvidia" and device.pci]
    number = NUMBER.search(event.text)
    if number is not None and cards:
        return replace(
            event, pci=next((device.pci for device in cards if device.index == int(number[1])), None)
        )
    near = {
        pci_key(item.pci): item.pci
        for item in events(case, "xid") or []
        if item.code in _FIRMWARE_XIDS and item.earlier == event.earlier and _apart_s(item, event) <= _NEAR_S
    }
    if not near and len(cards) == 1:
        return replace(event, pci=cards[0].pci)
    return replace(event, pci=next(iter(near.values()))) if len(near) == 1 else event


def _apart_s(event: Event, other: Event) -> float:
    for first, second in ((event.at_s, other.at_s), (event.up_s, other.up_s)):
        if first is not None and second is not None:
            return abs(first - second)
    return float("inf")


def _is_known(event: Event, lost: set[str]) -> bool:
    """Whether it says once more that a card fell off the bus."""
    is_lost = pci_key(event.pci) in lost if event.pci else bool(lost)
    return is_lost and "fallen off the bus" in event.text


@check(say("NIC driver messages in the kernel log"))
def log_nics(case: CheckInput) -> Iterator[Verdict]:
    """NIC driver messages in the kernel log: firmware, power, heat, cables, PCIe slot.

    Dead firmware takes the NIC down until a reboot. Too little slot power, an overheating NIC or transceiver,
    and a bad cable drop links under load. Failed completions mean that a peer or its link went away; few are
    a note. A slot slower than the port slows down every collective; if the port needs less, it is fine.

    Fault: dead firmware. Warning: power, heat, cable; ten or more failed completions; a slot slower than its
    port. Events older than a week, or from before the last boot, count one level lower. Sources: Linux mlx5
    driver (health.c, events.c), pcie_print_link_status; gpud issue 348 (power); NVSentinel's NIC monitor.
    """
    given = events(case, "nic") or []
    has_nic = bool(rdma_ports(case)) or any(
        (device.pci_class or "").startswith(_NETWORK_CLASS) for device in case.machine.pci or ()
    )
    state = log_state(case, "mlx5|infiniband|bnxt", "nic")
    if state is not None and has_nic:
        yield state
    limited = [event for event in given if _LIMITED.search(event.text)]
    for same in by_place(limited).values():
        yield from _slot(case, same)
    for name, same in meant("log_cards", "nic", [item for item in given if item not in limited]):
        is_few = name == "log_cards.nic_transfers" and len(same) < _FEW_TRANSFERS
        yield logged(case, advise(name, severity="note" if is_few else None), of=same)


def _slot(case: CheckInput, same: list[Event]) -> Iterator[Verdict]:
    """A slot that carries less than the ports of its card; a note where their rate is not known."""
    match = _LIMITED.search(same[-1].text)
    carries = float(match[1]) * GIGA / 8 if match else 0.0
    ports = [port for port in case.machine.ports or () if pci_key(port.pci) == pci_key(same[-1].pci)]
    cards = [nic_at(case, port) for port in ports]
    made_for = [0.0 if card is None else card.bytes_per_s for card in cards]
    needs = max((port.bytes_per_s or most for port, most in zip(ports, made_for, strict=True)), default=0.0)
    if match is None or 0 < needs <= carries:
        return
    severity: Severity = "warning" if needs else "note"
    shown = {"rate": f"{carries * 8 / GIGA:g}", "link": match[2]}
    yield logged(case, advise("log_cards.nic_slot", shown, severity=severity), of=same)
