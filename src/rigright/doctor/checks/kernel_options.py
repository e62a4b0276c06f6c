"""Whether the kernel was started with options that hurt accelerators.

`nomodeset` was a rescue for black screens and keeps drivers for screens from starting; it does no harm to
NVIDIA's compute driver alone, but keeps amdgpu and i915 out. `pci=nommconf` hides the large configuration
space: error reports, ACS and resizable BARs are gone. `pci=noaer` silences errors of the bus;
`pcie_aspm=force` lets links sleep that should not; `iommu=off` on a machine that needs it; `mem=` and
`maxcpus=` hide memory and cores.

Fault: what keeps a driver or its interrupts out. Warning: what makes links or their errors unsafe. Note: what
hides something. Source: Linux documentation, admin-guide/kernel-parameters.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import reboot
from rigright.doctor.kernel_line import SHOW, without_option
from rigright.doctor.record import Case, Finding, Fine, Severity, Verdict, seen
from rigright.doctor.stack import is_contained

TITLE = say("the kernel's options do no harm")
_HURTING: tuple[tuple[str, Severity, Sentence], ...] = (
    ("pci=nommconf", "warning", say("error reports, ACS and resizable BARs of the bus are out of reach")),
    ("pci=nomsi", "fault", say("cards cannot raise interrupts as their drivers need")),
    ("pci=noaer", "note", say("errors of the bus are no longer reported")),
    ("pcie_aspm=force", "warning", say("links are put to sleep that should not: cards may fall off the bus")),
    ("maxcpus=", "note", say("some cores are not used")),
    ("mem=", "note", say("some memory is not used")),
    ("nosmt", "note", say("half of the threads are switched off")),
    ("modprobe.blacklist=nvidia", "fault", say("the driver is kept out")),
    ("module_blacklist=nvidia", "fault", say("the driver is kept out")),
)


def check(case: Case) -> Iterator[Verdict]:
    """A finding for each option that hurts."""
    cmdline = case.machine.system.cmdline
    if cmdline is None or not (case.machine.devices or case.machine.pci) or is_contained(case):
        return
    words = cmdline.split()
    vendors = {device.vendor for device in case.machine.devices}
    found = [
        (word, severity, why) for word in words for start, severity, why in _HURTING if word.startswith(start)
    ]
    if "nomodeset" in words and "nvidia" not in vendors:
        found.append(("nomodeset", "warning", say("amdgpu and i915 do not start with it")))
    for word, severity, why in found:
        yield Finding(
            severity=severity,
            title=say("the kernel was started with {option}", option=word),
            evidence=seen(word, SHOW),
            why=why,
            fix=(without_option(case, word), reboot()),
            about=word,
        )
    if not found:
        yield Fine(says=say("{count} options looked at", count=len(words)))
