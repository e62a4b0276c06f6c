"""Cards of one machine beside each other: one kind, set alike, with one firmware."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from rigright.base.units import MIB
from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.gpus import answering, by_value, kinds, listed, odd_ones
from rigright.doctor.record import Case, Evidence, Fine, Verdict, check
from rigright.machine.device import Device

ROUND_BYTES = 512 * MIB
SETTINGS = (
    "nvidia-smi --query-gpu=index,power.limit,memory.total,ecc.mode.current,mig.mode.current,compute_mode,"
    "pcie.link.gen.max,pcie.link.width.max --format=csv"
)
FIRMWARE = "nvidia-smi --query-gpu=index,name,vbios_version --format=csv"


@check(say("cards of one kind"))
def alike_names(case: Case) -> Iterator[Verdict]:
    """Whether all cards of the machine are of one kind.

    Engines that cut a model over cards run at the pace of the slowest and fill them to the size of the
    smallest; CUDA orders cards by speed and nvidia-smi by slot, so numbers mean different cards unless
    CUDA_DEVICE_ORDER=PCI_BUS_ID. Mixed cards are fine for separate programs: note; a warning where a plan
    has cards exchange at every layer.

    Source: CUDA programming guide (CUDA_DEVICE_ORDER); engines' placement, data/engines.toml.
    """
    found = answering(case)
    counts = Counter(device.name for device, _ in found if device.name)
    if len(found) < 2:
        return
    if len(counts) < 2:
        yield Fine(says=say("{count} alike", count=len(found)))
        return
    yield advise(
        "alike.kinds",
        severity="warning" if case.wanted is not None and case.wanted.tp > 1 else "note",
        cards=", ".join(f"{count}x {name}" for name, count in counts.items()),
        ordered=dict(case.machine.environment).get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID",
    )


def limit_of(device: Device) -> str | None:
    """Its power limit."""
    return None if device.power.limit_w is None else f"{device.power.limit_w:.0f} W"


def memory_of(device: Device) -> str | None:
    """Its memory, rounded to what cards are sold with."""
    total = device.mem_total_bytes
    return None if total is None else f"{round(total / ROUND_BYTES) * ROUND_BYTES / MIB:.0f} MiB"


def link_of(device: Device) -> str | None:
    """What its link can reach."""
    pcie = device.pcie
    return None if pcie.gen_max is None or pcie.lanes_max is None else f"Gen{pcie.gen_max} x{pcie.lanes_max}"


READINGS: dict[str, Callable[[Device], object]] = {
    "alike.power": limit_of,
    "alike.memory": memory_of,
    "alike.link": link_of,
    "alike.ecc": lambda device: None if device.ecc is None else device.ecc.on,
    "alike.mig": lambda device: device.mig,
    "alike.compute_mode": lambda device: device.compute_mode,
}


def shown(values: dict[str, list[Device]], command: str) -> tuple[Evidence, ...]:
    """Which cards have which value."""
    return tuple(
        Evidence(shows=say("{version}: {cards}", version=value, cards=listed(devices)), command=command)
        for value, devices in values.items()
    )


@check(say("cards of one kind are set alike"))
def alike_settings(case: Case) -> Iterator[Verdict]:
    """Whether cards of one name are set alike: power, memory, error correction, MIG, compute mode, link.

    Cards that work together wait for the slowest. One card with a lower power limit, fewer lanes, less
    memory or another mode holds the others back, and nothing reports it: every card by itself looks healthy.

    Power limit (more than 1 % apart), lanes and generation that a link can reach, memory (more than 0.5 %):
    warning; modes: note. Source: comparison within the machine; azurehpc-health-checks, gcm and SuperBench
    do likewise.
    """
    for devices in kinds(case):
        if len(devices) < 2:
            continue
        alike = True
        for name, read in READINGS.items():
            values = by_value(devices, [read(device) for device in devices])
            if (odd := odd_ones(values)) is not None:
                alike = False
                usual, others = odd
                told = shown(values, SETTINGS)
                yield advise(name, about=listed(others), values=told, value=usual)
        if alike:
            yield Fine(says=say("{cards} alike", cards=listed(devices)))


@check(say("the same firmware on cards of one kind"))
def alike_vbios(case: Case) -> Iterator[Verdict]:
    """Whether cards of one name have the same firmware.

    Firmware of a card sets its clocks, its limits and how links are brought up. Different versions in one
    machine come from a replaced card or an update that stopped half way; they explain cards that are slower
    for no visible reason. Desktop cards of different makers differ anyway: there it is only worth knowing.

    Datacentre cards: warning, likely; others: note. Source: azurehpc-health-checks and imbue's checks
    compare it too.
    """
    segments = {device.index: chip.segment for device, chip in case.pairs if chip is not None}
    for devices in kinds(case):
        values = by_value(devices, [device.vbios for device in devices])
        if (odd := odd_ones(values)) is not None:
            usual, others = odd
            yield advise(
                "alike.vbios",
                severity="warning" if segments.get(devices[0].index) == "datacenter" else "note",
                about=listed(others),
                values=shown(values, FIRMWARE),
                version=usual,
            )
        elif len(devices) > 1 and values:
            yield Fine(says=say("{version} on {count} cards", version=next(iter(values)), count=len(devices)))
