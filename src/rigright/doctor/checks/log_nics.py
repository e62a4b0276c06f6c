"""What the drivers of network cards wrote in the kernel log: firmware, power, heat, cables, completions, bus.

Firmware that does not answer or died takes the card with it until the machine is started anew. A slot that
gives too little power, a transceiver or card that is too hot, and a cable that errs make links go down under
load. Completions that end in errors belong to a peer that went away, or to a link that fails: few are a note.
A card whose slot carries less than its port is slow in every collective; where the port needs less, fine.

Fault: dead firmware. Warning: power, heat, cable; ten and more failed completions; a slot slower than its
port. What happened more than a week ago, or before the last boot, weighs one step less. Sources: Linux mlx5
driver (health.c, events.c), pcie_print_link_status; gpud issue 348 (power); NVSentinel's NIC monitor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rigright.base.units import GIGA
from rigright.base.words import Sentence, say
from rigright.doctor.gpus import reboot
from rigright.doctor.happened import events
from rigright.doctor.log_lines import by_place, finding, none_told, unseen
from rigright.doctor.nic import bus_id, rdma_ports
from rigright.doctor.record import Case, Severity, Step, Verdict, step
from rigright.facts.nics import nic_of
from rigright.machine.pci.link import pci_key
from rigright.machine.system import Event

TITLE = say("the drivers of network cards report no trouble")
_FEW_COMPLETIONS = 10
_BITS = 8
_GBIT = r"([\d.]{1,9}) Gb/s"
_LIMITED = re.compile(rf"{_GBIT} available PCIe bandwidth, limited by (.{{1,60}}?)(?: at \S+)? \(capable")
_NETWORK_CLASS = "0x02"


@dataclass(frozen=True, slots=True, kw_only=True)
class NicTrouble:
    """One kind of trouble: the words of its lines, and what to do."""

    words: tuple[str, ...]
    severity: Severity
    title: Sentence
    why: Sentence
    fix: tuple[Step, ...]
    few: int = 1  # fewer are a note


_WAITS = say("collectives across it wait, and jobs end at their time limit")
_CABLE = step(say("seat the cable and transceiver anew, or replace them"))
_TROUBLES = (
    NicTrouble(
        words=("insufficient power",),
        severity="warning",
        title=say("a network card gets too little power from its slot"),
        why=say("the card holds itself back, and may shut down its ports under load"),
        fix=(step(say("plug in its power cable, or move it to a slot that gives 75 W")),),
    ),
    NicTrouble(
        words=("temperature", "temp_warn"),
        severity="warning",
        title=say("a network card or its transceiver is too hot"),
        why=say("its links go down when it gets hotter, in the middle of a run"),
        fix=(
            step(say("look at the air path of the card and at the fans"), "ipmitool sdr"),
            _CABLE,
        ),
    ),
    NicTrouble(
        words=(
            "recommendation",
            "module event",
            "cable",
            "power budget",
            "bus stuck",
            "no eeprom",
            "unsupported",
        ),
        severity="warning",
        title=say("a cable or transceiver of a network card fails"),
        why=_WAITS,
        fix=(_CABLE,),
    ),
    NicTrouble(
        words=("cqe",),
        severity="warning",
        title=say("transfers of a network card ended in errors"),
        why=say("a peer went away, or the link between them fails: jobs over several machines break off"),
        fix=(step(say("look at the errors of its ports"), "rigright doctor --only ib_errors,ib_ports"),),
        few=_FEW_COMPLETIONS,
    ),
    NicTrouble(
        words=("",),
        severity="fault",
        title=say("the firmware of a network card does not answer"),
        why=_WAITS,
        fix=(
            reboot(),
            step(say("bring its firmware and driver to versions that go together")),
            step(say("if it comes back, have the card replaced")),
        ),
    ),
)


def check(case: Case) -> Iterator[Verdict]:
    """A finding for each kind of trouble and card."""
    has_nic = bool(rdma_ports(case)) or any(
        (one.pci_class or "").startswith(_NETWORK_CLASS) for one in case.machine.pci or ()
    )
    told = events(case, "nic") or []
    closed, fine = unseen(case, "mlx5|infiniband|bnxt"), none_told(case, "nic")
    if has_nic and (verdict := closed or fine) is not None:
        yield verdict
    limited = [event for event in told if _LIMITED.search(event.text)]
    for same in by_place(limited).values():
        yield from _slot(case, same)
    rest = [one for one in told if one not in limited]
    for trouble in _TROUBLES:  # the first whose words a line has
        mine = [one for one in rest if any(word in one.text.lower() for word in trouble.words)]
        rest = [one for one in rest if one not in mine]
        for same in by_place(mine).values():
            severity = trouble.severity if len(same) >= trouble.few else "note"
            yield finding(
                case, same, title=trouble.title, why=trouble.why, fix=trouble.fix, severity=severity
            )


def _slot(case: Case, same: list[Event]) -> Iterator[Verdict]:
    """A slot that carries less than the ports of its card; a note where their rate is not known."""
    match = _LIMITED.search(same[-1].text)
    carries = float(match[1]) * GIGA / _BITS if match else 0.0
    ports = [one for one in case.machine.ports or () if pci_key(one.pci) == pci_key(same[-1].pci)]
    cards = [nic_of(model=one.model, board=one.board, pci=bus_id(case, one)) for one in ports]
    made_for = [0.0 if card is None else card.bytes_per_s for card in cards]
    rates = [one.bytes_per_s or most for one, most in zip(ports, made_for, strict=True)]
    needs = max(rates, default=0.0)
    if match is None or 0 < needs <= carries:
        return
    yield finding(
        case,
        same,
        title=say(
            "the slot of a network card carries {rate} Gb/s ({link})",
            rate=f"{carries * _BITS / GIGA:g}",
            link=match[2],
        ),
        why=say("its port cannot be filled: every collective over several machines is slower"),
        fix=(step(say("move the card to a slot of its generation with all lanes, or seat it anew")),),
        severity="warning" if needs else "note",
    )
