"""How much of main memory graphics inside an AMD processor may use.

ROCm takes from what the firmware set aside or from what the kernel lends (GTT), whichever is larger. The
kernel lends half of main memory by default: of 128 GiB a model may have 62. `ttm.pages_limit` raises that, in
pages of 4 KiB; the older `amdgpu.gttsize` beside it does harm. A large part set aside by the firmware is lost
to everything else, so the smallest one and a high limit are the better way.

Less than 70 % of main memory on a chip that is meant for models: note. Source: ROCm issue 5595, measured on a
Ryzen AI Max+ 395: 25165824 pages give 96 GiB.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import GIB, KIB, show_bytes
from rigright.base.words import say
from rigright.doctor.gpus import answering, label, reboot
from rigright.doctor.kernel_line import with_option
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, seen
from rigright.machine.amd.isa import shares_memory

TITLE = say("graphics inside the processor may use enough memory")
LEAST_SHARE = 0.7
_GOOD_SHARE = 0.75
_PAGE_BYTES = 4 * KIB
_SHOW = "cat /sys/class/drm/card*/device/mem_info_gtt_total"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a chip of AMD that shares memory."""
    whole = case.machine.memory.total_bytes
    for device, chip in answering(case, vendor="amd"):
        if chip is None or not shares_memory(device.isa):
            continue
        limit, about = device.mem_total_bytes, label(device)
        if whole is None or limit is None:
            yield NotSeen(why=say("the limit is not told"), see=_SHOW, about=about)
        elif limit >= LEAST_SHARE * whole:
            yield Fine(says=say("it may use {size}", size=show_bytes(limit)), about=about)
        else:
            lent = int(_GOOD_SHARE * whole / GIB) * GIB
            sizes = {"limit": show_bytes(limit), "whole": show_bytes(whole)}
            yield Finding(
                severity="note",
                title=say("it may use {limit} of {whole}", **sizes),
                evidence=seen(say("{limit} of {whole}", **sizes), _SHOW),
                why=say(
                    "larger models do not load, though there is memory for them; {size} may be lent",
                    size=show_bytes(lent),
                ),
                fix=(with_option(case, f"ttm.pages_limit={int(lent / _PAGE_BYTES)}"), reboot()),
                about=about,
            )
