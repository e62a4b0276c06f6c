"""The window through which the processor and other cards reach a card's memory (its large BAR).

With a resizable BAR the whole memory of a card can be reached; without, 256 MiB at a time. A card of a
server needs it for peer copies and for network cards that write into its memory (GPUDirect RDMA); on a
desktop it makes loading a little faster. It is switched on in the board's firmware ("Above 4G decoding",
then "Resizable BAR").

Warning on a server's card whose window is smaller than its memory while the machine has InfiniBand or RoCE;
else a note: GeForce from the 30 series on, Radeon from the RX 6000 on, server cards from Ampere on. Source:
NVIDIA's GPUDirect RDMA guide; PCI Express resizable BAR capability; the makers' lists of cards.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import GIB, MIB, show_bytes
from rigright.base.words import say
from rigright.doctor.gpus import answering, label
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, seen, step
from rigright.doctor.wires import function_of, has_slot, is_real
from rigright.facts.chips import Chip
from rigright.machine.device import Device

TITLE = say("the window to a card's memory (resizable BAR)")
SMALL_BYTES = 256 * MIB
ABLE = (
    "Ampere",
    "Ada",
    "Hopper",
    "Blackwell",
    "RDNA2",
    "RDNA 2",
    "RDNA3",
    "RDNA 3",
    "RDNA4",
    "RDNA 4",
    "CDNA",
)


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that could have a large window."""
    if not is_real(case):
        return
    rdma = any(port.kind in {"infiniband", "roce"} for port in case.machine.ports or ())
    for device, chip in answering(case):
        if chip is None or not has_slot(device, chip) or not chip.architecture.startswith(ABLE):
            continue
        one = function_of(case, device)
        sizes = [*(one.bars_bytes if one is not None else ()), device.bar1_total_bytes or 0.0]
        window = max(sizes)
        if not window:
            yield NotSeen(
                why=say("nobody tells its size"), see="nvidia-smi -q -d MEMORY", about=label(device)
            )
        elif window <= SMALL_BYTES or (chip.segment == "datacenter" and window < chip.mem_bytes):
            yield _small(device, chip, window=window, rdma=rdma)
        else:
            yield Fine(says=say("a window of {size}", size=show_bytes(window)), about=label(device))


def _small(device: Device, chip: Chip, *, window: float, rdma: bool) -> Finding:
    severity: Severity = "warning" if rdma and chip.segment == "datacenter" else "note"
    size, memory = show_bytes(window), f"{chip.mem_bytes / GIB:g} GiB"
    served = say("network cards and other cards can reach only that part of its memory at a time")
    alone = say("loading a model is a little slower; work on the card is not")
    return Finding(
        severity=severity,
        title=say("the window to its memory is {size} of {memory}", size=size, memory=memory),
        evidence=seen(
            say("its largest BAR is {size}", size=size),
            "nvidia-smi -q -d MEMORY | grep -A3 BAR1" if device.vendor == "nvidia" else "sudo lspci -vv",
        ),
        why=served if severity == "warning" else alone,
        fix=(
            step(
                say("in the board's firmware switch on Above 4G decoding and Resizable BAR, and CSM off"),
                disturbs=True,
            ),
        ),
        about=label(device),
    )
