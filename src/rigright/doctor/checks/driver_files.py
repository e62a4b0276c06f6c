"""Whether programs find the driver's files below /dev.

CUDA opens /dev/nvidiactl, /dev/nvidia-uvm and one file a card. They are made by udev rules or by the
driver's own helper when a program first asks; without root nobody makes them. A container sees those it
was started with.

nvidia-uvm missing while a card's file is there: warning, CUDA programs of users fail with "unknown error"
(999). Fewer files of cards than cards: warning. Source: NVIDIA CUDA installation guide, device node
verification.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen, step
from rigright.doctor.stack import is_contained

TITLE = say("programs find the driver's files")
_CARD = re.compile(r"nvidia\d+")
_SHOW = "ls -l /dev/nvidia*"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine."""
    files = case.machine.software.device_files
    cards = [one for one in case.machine.devices if one.vendor == "nvidia" and one.state == "ok"]
    if not files or not cards or case.machine.system.virtual == "wsl2":
        return
    shown = [name for name in files if _CARD.fullmatch(name)]
    if len(shown) < len(cards):
        lack = say("{files} files for {cards} cards", files=len(shown), cards=len(cards))
        yield _lacking(case, lack, command="nvidia-modprobe -c 0 -u")
    elif "nvidia-uvm" not in files:
        yield _lacking(
            case, say("nvidia-uvm is missing"), command="modprobe nvidia-uvm && nvidia-modprobe -u"
        )
    else:
        yield Fine(says=say("{count} cards and nvidia-uvm", count=len(shown)))


def _lacking(case: Case, lack: Sentence, *, command: str) -> Finding:
    inside = is_contained(case)
    return Finding(
        severity="warning",
        title=say("files of the driver are missing below /dev"),
        evidence=seen(lack, _SHOW),
        why=say("CUDA programs cannot start, though nvidia-smi shows the cards"),
        fix=(
            step(say("start the container with its cards again"), "docker run --gpus all ...", disturbs=True)
            if inside
            else as_root(say("make them"), command),
        ),
        confidence="likely",
    )
