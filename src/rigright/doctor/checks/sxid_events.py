"""What NVSwitch chips reported in the kernel log (SXid).

The line itself says whether an error is fatal. A fatal one takes links or the whole switch down: programs
that use several cards fail until the switch and its cards are reset (fault). One that is not fatal is worth
a look (note), many of them mean a link that wears (warning from 10 on).

Source: NVIDIA's Fabric Manager user guide, appendix on NVSwitch errors.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import FABRIC_LOG, LOOK_AGAIN, reboot
from rigright.doctor.happened import events, quieter
from rigright.doctor.log_lines import told
from rigright.doctor.record import Case, Finding, Severity, Verdict, as_root
from rigright.machine.pci.link import pci_key
from rigright.machine.system import Event

TITLE = say("errors that NVSwitch chips reported (SXid)")
MANY = 10
_SEE = "journalctl -k --no-pager | grep -i sxid"


def check(case: Case) -> Iterator[Verdict]:
    """One finding for each switch and code."""
    groups: dict[tuple[str, int | None, bool], list[Event]] = {}
    for event in events(case, "sxid") or []:
        fatal = "non-fatal" not in event.text.lower() and "fatal" in event.text.lower()
        groups.setdefault((pci_key(event.pci), event.code, fatal), []).append(event)
    for (_, code, fatal), same in groups.items():
        last = same[-1]
        severity: Severity = "fault" if fatal else "warning" if len(same) >= MANY else "note"
        yield Finding(
            severity=quieter(severity, case=case, event=last),
            title=say("SXid {code}, fatal: a switch of NVLink lost links", code=code or "?")
            if fatal
            else say("SXid {code}, not fatal", code=code or "?"),
            evidence=told(same, _SEE),
            why=say("cards that copy over this switch wait or fail; collectives of the whole machine hang"),
            fix=(
                FABRIC_LOG,
                as_root(
                    say("let what runs end, then reset all cards with the switches"),
                    "nvidia-smi --gpu-reset",
                    disturbs=True,
                ),
                reboot(),
            )
            if fatal
            else (LOOK_AGAIN,),
            about=last.pci,
        )
