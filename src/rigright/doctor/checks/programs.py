"""Programs: crashes in GPU libraries, RDMA memory freed too early, open files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.kernel_log import events, log_evidence, log_state, quieter
from rigright.doctor.record import CheckInput, Evidence, Fine, Verdict, Wanted, check, seen
from rigright.doctor.stack import setting
from rigright.machine.system import Event

NEARLY_ALL = 0.8
ENOUGH = 2_097_152
_LIBRARY = re.compile(r"\bin (lib\w+)")
_OF_COLLECTIVES = ("libnccl", "librccl")


@check(say("crashes in GPU libraries"))
def log_crashes(case: CheckInput) -> Iterator[Verdict]:
    """Programs that crashed inside NCCL, CUDA or another GPU library, from the kernel log.

    Typically one rank of many crashes, and the others wait in their next collective until they time out:
    the stack trace that a user sees is theirs. The kernel's line names the library. Inside NCCL the
    usual cause is two NCCL versions in one process, or a version that does not match the network plugin.

    Warning; note if older than a week or before the last boot. Source: Linux arch/x86/mm/fault.c
    (segfault at); gpud's component of NCCL.
    """
    state = log_state(case, "segfault|general protection", "crash")
    if state is not None and case.machine.devices:
        yield state
    by_library: dict[str, list[Event]] = {}
    for event in events(case, "crash") or ():
        match = _LIBRARY.search(event.text)
        by_library.setdefault(match[1] if match else "?", []).append(event)
    for library, same in by_library.items():
        names = ", ".join(sorted({item.program for item in same if item.program})) or "?"
        yield advise(
            "programs.crashed_in_collective" if library in _OF_COLLECTIVES else "programs.crashed",
            severity=quieter("warning", case=case, event=same[-1]),
            library=library,
            names=names,
            lines=log_evidence(same),
        )


@check(say("nvidia-peermem messages in the kernel log"))
def log_peermem(case: CheckInput) -> Iterator[Verdict]:
    """GPU memory freed while a NIC still had it registered (nvidia-peermem).

    Usually a program that exited or was killed during GPUDirect RDMA: the driver cleans up, and later
    jobs are not affected. Repeated while jobs run: the module and the RDMA drivers do not match.

    Note; warning from ten lines on. Source: nvidia-peermem.c of NVIDIA's open kernel modules; gpud's
    component of peermem.
    """
    result = events(case, "peermem")
    if result:
        is_often = len(result) >= 10
        yield advise(
            "programs.peermem",
            severity=quieter("warning" if is_often else "note", case=case, event=result[-1]),
            lines=log_evidence(result),
        )
    elif result is not None and case.machine.software.peermem:
        yield Fine(says=say("none in the kernel log"))


@check(say("running server vs plan"))
def server_flags(case: CheckInput) -> Iterator[Verdict]:
    """Flags of each server of the planned engine that runs here, against the plan that `--for` names.

    Every flag that the plan's launch would have is compared under every name the engine's parser knows it
    by; a flag that is not given counts as its default where that is 1 or auto. Addresses and ports are not
    compared.

    Warning: at least one differs. Source: the flags of each engine's own parser, data/launch_flags.csv.
    """
    wanted = case.wanted or Wanted()
    for pid, flags in wanted.servers:
        wrong = [flag for flag in flags if not flag.kept]
        about = f"pid {pid}"
        lines = tuple(
            Evidence(
                shows=say(
                    "{flag}: planned {planned}, running {running}; {costs}",
                    flag=flag.flag,
                    planned=flag.planned or "-",
                    running=flag.running or "-",
                    costs=flag.costs or "-",
                ),
                command=f"ps -o args= -p {pid}" if flag is wrong[-1] else None,
            )
            for flag in wrong
        )
        if wrong:
            fields = {"count": len(wrong), "pid": pid, "lines": lines}
            asked = {"target": wanted.target, "file": wanted.file}
            yield advise("programs.server_differs", fields | asked, about=about)
        else:
            yield Fine(says=say("all flags match the plan"), about=about)


@check(say("system-wide file handles (fs.file-max)"))
def files_all(case: CheckInput) -> Iterator[Verdict]:
    """File handles in use system-wide, against the kernel's limit (fs.file-max).

    At the limit every program fails to open files, logins included: checkpoints, sockets and data
    loaders end with "Too many open files in system".

    Warning: 80 % in use, or the kernel log shows that the limit was reached. Source: Linux Documentation
    admin-guide/sysctl/fs (file-max, file-nr).
    """
    met = events(case, "files")
    if met:
        severity = quieter("warning", case=case, event=met[-1])
        yield advise("programs.files_met", severity=severity, lines=log_evidence(met), value=ENOUGH)
    used, most = (_first(setting(case, name)) for name in ("fs.file-nr", "fs.file-max"))
    if used is None or not most:
        return
    shown = {"used": f"{used:,}", "most": f"{most:,}"}
    if used >= NEARLY_ALL * most:
        lines = seen(say("{used} of {most}", **shown), "cat /proc/sys/fs/file-nr")
        yield advise("programs.files", shown, lines=lines, value=max(ENOUGH, 2 * most))
    elif not met:
        yield Fine(says=say("{used} of {most}", **shown))


def _first(text: str | None) -> int | None:
    """The first number of a setting that may hold several."""
    word = next(iter((text or "").split()), "")
    return int(word) if word.isdecimal() and len(word) < 20 else None
