"""Cards of AMD that are cut into parts (MI300 and later: DPX, TPX, QPX, CPX; memory NPS1 to NPS8).

Programs see each part as a card, with its share of compute units and memory: 8 of 38 units and 24 GB of one
MI300X in CPX. Tools count them so too. That is right for many small models, and wrong for a plan that counts
whole cards: its first layer does not fit.

A plan for whole cards on cards that are cut: warning. Cards of one kind cut in different ways: note; AMD
advises against mixed modes of memory in one machine. Source: AMD Instinct MI300X GPU partitioning overview.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, by_value, kinds, label, listed, odd_ones
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, as_root, seen, step
from rigright.machine.device import Device

TITLE = say("parts that AMD's cards are cut into")
_SHOW = "amd-smi static --partition"
_WHOLE = "SPX/NPS1"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each card that is cut, and one where like cards are cut in different ways."""
    cut = [device for device, _ in answering(case, vendor="amd") if device.slices]
    for device in cut:
        if case.wanted is not None and case.wanted.chips:
            # use the card in one piece again: its memory first, which starts the driver anew
            says = say("or use the cards whole again, once nothing runs on them")
            modes = {"--memory-partition": "NPS1", "--compute-partition": "SPX"}
            told = _mode(device)
            yield Finding(
                severity="warning",
                title=say(
                    "the plan counts whole cards, and this one is cut into {count}", count=len(device.slices)
                ),
                evidence=seen(_mode(device), _SHOW),
                why=say("programs see small cards: the plan's layers and memory do not fit them"),
                fix=(
                    step(say("plan for the parts"), "rigright plan MODEL --on here"),
                    *(
                        tuple(
                            as_root(says, f"amd-smi set --gpu all {flag} {mode}", disturbs=True)
                            for flag, mode in modes.items()
                            if mode not in told
                        )
                    ),
                ),
                about=label(device),
            )
        elif any(part.mem_total_bytes is None for part in device.slices):
            why = say("how much memory its parts have is not told")
            yield NotSeen(why=why, see="rocminfo", about=label(device))
        else:
            yield Fine(
                says=say("{count} parts: {mode}", count=len(device.slices), mode=_mode(device)),
                about=label(device),
            )
    for devices in kinds(case):
        odd = odd_ones(by_value(devices, [_mode(device) for device in devices]))
        if odd is not None and any(device in cut for device in devices):
            yield _mixed(*odd)


def _mode(device: Device) -> str:
    return device.slices[0].profile or "?" if device.slices else _WHOLE


def _mixed(usual: str, others: list[Device]) -> Finding:
    return Finding(
        severity="note",
        title=say("like cards are cut in different ways"),
        evidence=tuple(one for device in others for one in seen(f"{label(device)}: {_mode(device)}", _SHOW)),
        why=say("programs count cards of different sizes in one row, and wait for the smallest"),
        fix=(step(say("find out who set it; the others have {value}", value=usual)),),
        about=listed(others),
    )
