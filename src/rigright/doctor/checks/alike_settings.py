"""Whether cards of one name are set alike: power limit, memory, error correction, MIG, compute mode, link.

Cards that work together wait for the slowest. One card with a lower power limit, fewer lanes, less memory
or another mode holds the others back, and nothing reports it: every card by itself looks healthy.

Power limit (more than 1 % apart), lanes and generation that a link can reach, memory (more than 0.5 %):
warning; modes: note. Source: comparison within the machine; azurehpc-health-checks, gcm and SuperBench do
likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rigright.base.units import MIB
from rigright.base.words import Sentence, say
from rigright.doctor.gpus import by_value, kinds, listed, odd_ones
from rigright.doctor.record import Case, Evidence, Finding, Fine, Severity, Verdict, step
from rigright.machine.device import Device

TITLE = say("cards of one kind are set alike")
_ROUND_BYTES = 512 * MIB
_COMMAND = (
    "nvidia-smi --query-gpu=index,power.limit,memory.total,ecc.mode.current,mig.mode.current,compute_mode,"
    "pcie.link.gen.max,pcie.link.width.max --format=csv"
)

Reading = Callable[[Device], object]


def _limit(device: Device) -> object:
    return None if device.power.limit_w is None else f"{device.power.limit_w:.0f} W"


def _memory(device: Device) -> object:
    total = device.mem_total_bytes
    return None if total is None else f"{round(total / _ROUND_BYTES) * _ROUND_BYTES / MIB:.0f} MiB"


def _link(device: Device) -> object:
    pcie = device.pcie
    return None if pcie.gen_max is None or pcie.lanes_max is None else f"Gen{pcie.gen_max} x{pcie.lanes_max}"


_READINGS: tuple[tuple[Sentence, Severity, Reading], ...] = (
    (say("power limits of like cards differ"), "warning", _limit),
    (say("memory of like cards differs"), "warning", _memory),
    (say("slots of like cards differ"), "note", _link),
    (
        say("error correction differs between like cards"),
        "note",
        lambda device: None if device.ecc is None else device.ecc.on,
    ),
    (say("MIG differs between like cards"), "note", lambda device: device.mig),
    (say("compute modes of like cards differ"), "note", lambda device: device.compute_mode),
)


def check(case: Case) -> Iterator[Verdict]:
    """Each reading over each kind of card of which there are several."""
    for devices in kinds(case):
        if len(devices) < 2:
            continue
        found = [
            _differ(title, severity, values=values, odd=odd)
            for title, severity, read in _READINGS
            if (odd := odd_ones(values := by_value(devices, [read(device) for device in devices])))
            is not None
        ]
        yield from found
        if not found:
            yield Fine(says=say("{cards} alike", cards=listed(devices)))


def _differ(
    title: Sentence, severity: Severity, *, values: dict[str, list[Device]], odd: tuple[str, list[Device]]
) -> Finding:
    usual, others = odd
    return Finding(
        severity=severity,
        title=title,
        evidence=tuple(
            Evidence(shows=say("{version}: {cards}", version=value, cards=listed(devices)), command=_COMMAND)
            for value, devices in values.items()
        ),
        why=say("cards that work together wait for the weakest of them, and each by itself looks healthy"),
        fix=(step(say("find out who set it; the others have {value}", value=usual)),),
        verify=_COMMAND,
        about=listed(others),
    )
