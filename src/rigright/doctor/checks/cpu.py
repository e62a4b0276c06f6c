"""The CPU: clock governor, thermal throttling, threads per GPU."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.record import CheckInput, Fine, NotSeen, Verdict, check
from rigright.doctor.wires import is_real

_CHOOSES_ITSELF = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
_INTEL = ("intel_pstate", "intel_cpufreq")  # which keep a switch of their own
_BOOST_INTEL = "sh -c 'echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo'"
_BOOST = "sh -c 'echo 1 > /sys/devices/system/cpu/cpufreq/boost'"
_SAVING = ("power", "balance_power")
MANY = 100
FEW, LEAST = 4, 2


@check(say("CPU frequency governor"))
def cpu_governor(case: CheckInput) -> Iterator[Verdict]:
    """CPU frequency governor and boost.

    Slow cores delay the threads that feed a GPU: kernel launches, tokenising, data loading. `powersave` means
    two things: with intel_pstate or amd-pstate in active mode (`amd-pstate-epp`) the CPU chooses its clock by
    its energy preference; with other drivers it pins the lowest clock.

    Warning: pinned at the lowest clock, or boost off. Note: the preference favours power saving. Source:
    Linux documentation of cpufreq, intel_pstate and amd-pstate.
    """
    cpu = case.machine.cpu
    if not cpu.governors:
        closed = case.gap("cpu.governors")
        if is_real(case) and closed is not None:
            yield closed
        return
    saves = "powersave" in cpu.governors
    if saves and cpu.driver is None:
        yield NotSeen(
            why=say("CPU governor not reported by the kernel"),
            see="grep -H . /sys/devices/system/cpu/cpufreq/policy0/scaling_{governor,driver}",
        )
    elif saves and cpu.driver not in _CHOOSES_ITSELF:
        yield advise("cpu.pinned")
    elif cpu.preference in _SAVING:
        yield advise("cpu.saving", preference=cpu.preference)
    else:
        yield Fine(says=say("governor {names}", names=", ".join(cpu.governors)))
    if cpu.boost is False:
        yield advise("cpu.boost", turn_on=_BOOST_INTEL if cpu.driver in _INTEL else _BOOST)


@check(say("CPU thermal throttling"))
def cpu_heat(case: CheckInput) -> Iterator[Verdict]:
    """Whether the CPU was thermally throttled since boot.

    The kernel counts each time a core or package hits its thermal limit. A few at boot mean little; many mean
    a loose, dusty or undersized cooler, and threads that feed the GPUs at half speed.

    Warning: more than 100 times and more than once a minute of uptime; else a note. Source: Linux
    thermal_throttle counters; threshold ours.
    """
    times = case.machine.cpu.throttled
    if times is None:
        return
    if times == 0:
        yield Fine(says=say("none since boot"))
        return
    minutes = (case.machine.system.up_s or 0.0) / 60
    yield advise("cpu.heat", severity="warning" if times > max(MANY, minutes) else "note", times=times)


@check(say("CPU threads per GPU"))
def cpu_limit(case: CheckInput) -> Iterator[Verdict]:
    """How many CPU threads this process can use per GPU.

    A container quota or CPU affinity can leave a few threads on a large machine. Each GPU needs its own
    process, a thread that drives it, and data-loader workers: with fewer than four threads per GPU, loading
    starves it.

    Warning: fewer than two threads per GPU. Note: fewer than four, or less than half of the machine's threads
    on a machine with GPUs. Source: PyTorch DataLoader's own warning (workers above the usable cores); the
    guides' rule of 16 to 32 cores for a machine of one to four cards.
    """
    cpu, cards = case.machine.cpu, len(case.machine.devices)
    if not cards or cpu.usable is None or case.machine.devices[0].vendor == "apple":
        return
    each = cpu.usable / cards
    flag = cpu.threads is not None and cpu.usable * 2 < cpu.threads
    if each >= FEW and not flag:
        yield Fine(says=say("CPU threads: {usable}, GPUs: {cards}", usable=cpu.usable, cards=cards))
    else:
        yield advise(
            "cpu.held" if flag else "cpu.few",
            severity="warning" if each < LEAST else "note",
            usable=cpu.usable,
            threads=cpu.threads,
            cards=cards,
        )
