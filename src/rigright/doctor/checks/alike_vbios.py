"""Whether cards of one name have the same firmware.

Firmware of a card sets its clocks, its limits and how links are brought up. Different versions in one
machine come from a replaced card or an update that stopped half way; they explain cards that are slower for
no visible reason. Desktop cards of different makers differ anyway: there it is only worth knowing.

Datacentre cards: warning, likely; others: note. Source: azurehpc-health-checks and imbue's checks compare
it too.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import by_value, kinds, listed, odd_ones
from rigright.doctor.record import Case, Evidence, Finding, Fine, Verdict, step
from rigright.machine.device import Device

TITLE = say("the same firmware on cards of one kind")
_COMMAND = "nvidia-smi --query-gpu=index,name,vbios_version --format=csv"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each kind of which there are several."""
    segments = {device.index: chip.segment for device, chip in case.pairs if chip is not None}
    for devices in kinds(case):
        values = by_value(devices, [device.vbios for device in devices])
        odd = odd_ones(values)
        if odd is not None:
            yield _differ(values, odd=odd, served=segments.get(devices[0].index) == "datacenter")
        elif len(devices) > 1 and values:
            yield Fine(says=say("{version} on {count} cards", version=next(iter(values)), count=len(devices)))


def _differ(values: dict[str, list[Device]], *, odd: tuple[str, list[Device]], served: bool) -> Finding:
    usual, others = odd
    return Finding(
        severity="warning" if served else "note",
        title=say("cards of one kind have different firmware"),
        evidence=tuple(
            Evidence(
                shows=say("{version}: {cards}", version=version, cards=listed(devices)), command=_COMMAND
            )
            for version, devices in values.items()
        ),
        why=say("clocks, limits and fixes differ with it: collectives run at the pace of the slowest card"),
        fix=(
            step(
                say(
                    "bring them to one version ({version} is the most usual here) with "
                    "the maker's tool, at a window",
                    version=usual,
                )
            ),
            step(
                say("until then measure whether they are as fast as each other"),
                "rigright bench gemm device_memory",
            ),
        ),
        verify=_COMMAND,
        confidence="likely",
        about=listed(others),
    )
