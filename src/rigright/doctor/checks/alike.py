"""GPUs of one node compared: same model, same settings, same VBIOS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from rigright.base.units import MIB
from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.gpus import answering, by_value, kinds, listed, odd_ones
from rigright.doctor.record import CheckInput, Evidence, Fine, Verdict, check
from rigright.machine.device import Device

_ROUND_BYTES = 512 * MIB
SETTINGS = (
    "nvidia-smi --query-gpu=index,power.limit,memory.total,ecc.mode.current,mig.mode.current,compute_mode,"
    "pcie.link.gen.max,pcie.link.width.max --format=csv"
)
_FIRMWARE = "nvidia-smi --query-gpu=index,name,vbios_version --format=csv"


@check(say("one GPU model per node"))
def alike_names(case: CheckInput) -> Iterator[Verdict]:
    """Whether all GPUs of the node are the same model.

    A model split across GPUs runs at the speed of the slowest and fits the memory of the smallest. CUDA
    orders GPUs by speed and nvidia-smi by slot, so an index means different GPUs unless
    CUDA_DEVICE_ORDER=PCI_BUS_ID.

    Note; warning where a plan uses tensor parallelism. Source: CUDA programming guide (CUDA_DEVICE_ORDER);
    engines' placement, data/engines.toml.
    """
    pairs = answering(case)
    counts = Counter(device.name for device, _ in pairs if device.name)
    if len(pairs) < 2:
        return
    if len(counts) < 2:
        yield Fine(says=say("{count} identical GPUs", count=len(pairs)))
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
    return None if total is None else f"{round(total / _ROUND_BYTES) * _ROUND_BYTES / MIB:.0f} MiB"


def link_of(device: Device) -> str | None:
    """What its link can reach."""
    pcie = device.pcie
    return None if pcie.gen_max is None or pcie.lanes_max is None else f"Gen{pcie.gen_max} x{pcie.lanes_max}"


MODES: dict[bool | None, str] = {True: "Enabled", False: "Disabled"}  # as nvidia-smi shows them
READINGS: dict[str, Callable[[Device], object]] = {
    "alike.power": limit_of,
    "alike.memory": memory_of,
    "alike.link": link_of,
    "alike.ecc": lambda device: MODES.get(device.ecc.on) if device.ecc else None,
    "alike.mig": lambda device: MODES.get(device.mig),
    "alike.compute_mode": lambda device: device.compute_mode,
}


def shown(values: dict[str, list[Device]], command: str) -> tuple[Evidence, ...]:
    """Which cards have which value."""
    return tuple(
        Evidence(shows=say("{version}: {cards}", version=value, cards=listed(devices)), command=command)
        for value, devices in values.items()
    )


@check(say("identical settings on identical GPUs"))
def alike_settings(case: CheckInput) -> Iterator[Verdict]:
    """Whether identical GPUs have identical settings: power limit, memory, ECC, MIG, compute mode, PCIe link.

    Multi-GPU jobs wait for the slowest GPU. One with a lower power limit, fewer lanes, less memory or another
    mode holds all of them back, and no error shows it: each GPU looks healthy on its own.

    Power limit (over 1 % apart), maximum PCIe link, memory (over 0.5 %): warning; modes: note. Source:
    comparison within the machine; azurehpc-health-checks, gcm and SuperBench do likewise.
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
                evidences = shown(values, SETTINGS)
                yield advise(name, about=listed(others), values=evidences, value=usual)
        if alike:
            yield Fine(says=say("{cards}: identical settings", cards=listed(devices)))


@check(say("identical VBIOS on identical GPUs"))
def alike_vbios(case: CheckInput) -> Iterator[Verdict]:
    """Whether identical GPUs have the same VBIOS.

    The VBIOS sets clocks, limits and link training. Versions differ after a GPU was replaced or an update was
    interrupted, and that explains GPUs that are slow for no visible reason. Desktop cards of different
    vendors differ anyway.

    Data-center GPUs: warning, likely; others: note. Source: azurehpc-health-checks and imbue's checks compare
    it too.
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
                values=shown(values, _FIRMWARE),
                version=usual,
            )
        elif len(devices) > 1 and values:
            yield Fine(says=say("{version} on {count} GPUs", version=next(iter(values)), count=len(devices)))
