"""Clock governor of the processor.

A governor that keeps cores slow when there is work delays the threads that feed a GPU: launches,
tokenising, loading. `powersave` means two things: with intel_pstate or amd-pstate in active mode (`amd-
pstate-epp`) it only hands the choice to the processor, and the energy preference decides; with other
drivers it pins the lowest clock.

Warning: the lowest clock is pinned, or boost is off. Note: the preference asks for saving power. Source:
Linux documentation of cpufreq, intel_pstate and amd-pstate.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, as_root, seen, step
from rigright.doctor.wires import is_real

TITLE = say("clock governor of the processor")
CHOOSES_ITSELF = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
SAVING = ("power", "balance_power")
SEE = "grep -H . /sys/devices/system/cpu/cpufreq/policy0/scaling_{governor,driver}"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for all cores."""
    cpu = case.machine.cpu
    if not cpu.governors:
        closed = next((one for one in case.machine.unseen if one.what == "cpu.governors"), None)
        if is_real(case) and closed is not None:
            yield NotSeen(why=closed.why, see=closed.see)
        return
    saves = "powersave" in cpu.governors
    if saves and cpu.driver is None:
        yield NotSeen(why=say("the kernel does not tell what sets the clock of the cores"), see=SEE)
    elif saves and cpu.driver not in CHOOSES_ITSELF:
        yield _finding("warning", say("cores are held at their lowest clock (governor powersave)"))
    elif cpu.preference in SAVING:
        yield _finding("note", say("cores prefer saving power ({preference})", preference=cpu.preference))
    else:
        yield Fine(says=say("governor {names}", names=", ".join(cpu.governors)))
    if cpu.boost is False:
        yield _finding("warning", say("cores may not run above their base clock (boost is off)"))


def _finding(severity: Severity, title: Sentence) -> Finding:
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(say("governor, driver and boost as the kernel tells them"), SEE),
        why=say(
            "threads that start work on a card and feed it run slower than they could, and the card waits"
        ),
        fix=(
            as_root(
                say("let cores run at their clock until the next reboot"),
                "cpupower frequency-set -g performance",
            ),
            step(say("to keep it: tuned-adm profile throughput-performance, or the same in a service")),
        ),
    )
