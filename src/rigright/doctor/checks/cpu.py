"""The processor: its clock, its heat, the threads that are left for the cards."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.record import Case, Fine, NotSeen, Verdict, check
from rigright.doctor.wires import is_real

CHOOSES_ITSELF = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
SAVING = ("power", "balance_power")
MANY = 100
FEW, LEAST = 4, 2


@check(say("clock governor of the processor"))
def cpu_governor(case: Case) -> Iterator[Verdict]:
    """Clock governor of the processor.

    A governor that keeps cores slow when there is work delays the threads that feed a GPU: launches,
    tokenising, loading. `powersave` means two things: with intel_pstate or amd-pstate in active mode
    (`amd-pstate-epp`) it only hands the choice to the processor, and the energy preference decides; with
    other drivers it pins the lowest clock.

    Warning: the lowest clock is pinned, or boost is off. Note: the preference asks for saving power. Source:
    Linux documentation of cpufreq, intel_pstate and amd-pstate.
    """
    cpu = case.machine.cpu
    if not cpu.governors:
        closed = next((one for one in case.machine.unseen if one.what == "cpu.governors"), None)
        if is_real(case) and closed is not None:
            yield NotSeen(why=closed.why, see=closed.see)
        return
    saves = "powersave" in cpu.governors
    if saves and cpu.driver is None:
        yield NotSeen(
            why=say("the kernel does not tell what sets the clock of the cores"),
            see="grep -H . /sys/devices/system/cpu/cpufreq/policy0/scaling_{governor,driver}",
        )
    elif saves and cpu.driver not in CHOOSES_ITSELF:
        yield advise("cpu.pinned")
    elif cpu.preference in SAVING:
        yield advise("cpu.saving", preference=cpu.preference)
    else:
        yield Fine(says=say("governor {names}", names=", ".join(cpu.governors)))
    if cpu.boost is False:
        yield advise("cpu.boost")


@check(say("the processor is not slowed by heat"))
def cpu_heat(case: Case) -> Iterator[Verdict]:
    """Whether the processor was slowed by heat since boot.

    The kernel counts each time a core or a package ran into its heat limit. A few at boot or under an odd
    load mean little; many mean a cooler that is loose, dusty or too small, and threads that feed the cards
    at half speed.

    Warning: more than 100 times and more than once a minute of uptime; else a note. Source: Linux
    thermal_throttle counters; threshold ours.
    """
    times = case.machine.cpu.throttled
    if times is None:
        return
    if times == 0:
        yield Fine(says=say("never since boot"))
        return
    minutes = (case.machine.system.up_s or 0.0) / 60
    yield advise("cpu.heat", severity="warning" if times > max(MANY, minutes) else "note", times=times)


@check(say("processor threads for the cards"))
def cpu_limit(case: Case) -> Iterator[Verdict]:
    """How many of the processor's threads this process may use, for each card.

    A container's quota or an affinity mask may leave a few threads on a machine with many. Each card wants
    its own process, a thread that drives it, and workers that load data; below four threads a card, loading
    starves it.

    Warning: fewer than two threads a card. Note: fewer than four, or less than half the machine's threads
    while cards are here. Source: PyTorch DataLoader's own warning (workers above the usable cores); the
    guides' rule of 16 to 32 cores for a machine of one to four cards.
    """
    cpu, cards = case.machine.cpu, len(case.machine.devices)
    if not cards or cpu.usable is None or case.machine.devices[0].vendor == "apple":
        return
    each = cpu.usable / cards
    held = cpu.threads is not None and cpu.usable * 2 < cpu.threads
    if each >= FEW and not held:
        yield Fine(says=say("threads: {usable}, cards: {cards}", usable=cpu.usable, cards=cards))
    else:
        yield advise(
            "cpu.held" if held else "cpu.few",
            severity="warning" if each < LEAST else "note",
            usable=cpu.usable,
            threads=cpu.threads,
            cards=cards,
        )
