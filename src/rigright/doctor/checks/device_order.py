"""Whether programs and nvidia-smi count unlike cards in the same order.

CUDA counts the fastest card first; nvidia-smi counts by place on the bus. With unlike cards "card 0" is
then another card for a program than for nvidia-smi, and CUDA_VISIBLE_DEVICES=0 picks one that nobody
meant. With like cards both count alike.

Unlike cards and CUDA_DEVICE_ORDER not PCI_BUS_ID: note. Source: CUDA programming guide,
CUDA_DEVICE_ORDER.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Evidence, Finding, Fine, Verdict, step
from rigright.doctor.stack import variable

TITLE = say("programs and nvidia-smi count cards alike")
_NAME = "CUDA_DEVICE_ORDER"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict where there is more than one card."""
    names = [one.name for one in case.machine.devices if one.vendor == "nvidia" and one.name]
    if len(names) < 2:
        return
    order = variable(case, _NAME)
    if len(set(names)) == 1 or order == "PCI_BUS_ID":
        yield Fine(
            says=say("cards alike")
            if len(set(names)) == 1
            else say("{name}={value}", name=_NAME, value=order)
        )
        return
    yield Finding(
        severity="note",
        title=say("unlike cards: programs count them in another order than nvidia-smi"),
        evidence=(
            Evidence(shows=", ".join(names), command="nvidia-smi -L"),
            Evidence(
                shows=say("{name} is {value}", name=_NAME, value=order or say("not set")),
                command=f"echo ${_NAME}",
            ),
        ),
        why=say("card 0 of a program is the fastest, card 0 of nvidia-smi the first on the bus"),
        fix=(
            step(
                say("let programs count by the bus too; in ~/.profile for good"), f"export {_NAME}=PCI_BUS_ID"
            ),
        ),
        verify=f"echo ${_NAME}",
    )
