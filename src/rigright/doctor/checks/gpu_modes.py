"""How a GPU is set up for programs: compute mode, display, persistence."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.record import Case, Fine, Verdict, check


@check(say("programs may use a card"))
def gpu_compute_mode(case: Case) -> Iterator[Verdict]:
    """Whether programs may use a card: its compute mode.

    Prohibited: no program can start on it (fault). Exclusive: one process at a time, the second is turned
    away with an error that speaks of busy devices (note; a warning where a plan of one process a card does
    not hold, as with several servers on a card).

    Source: NVML's compute modes; CUDA error 46 (devices unavailable).
    """
    for device, _ in answering(case, vendor="nvidia"):
        mode = (device.compute_mode or "").lower().replace("_", " ")
        if "prohibited" in mode or "exclusive" in mode:
            name = "gpu_modes.prohibited" if "prohibited" in mode else "gpu_modes.exclusive"
            yield advise(name, device=device, mode=device.compute_mode)
        elif mode:
            yield Fine(says=say("any program may"), about=label(device))


@check(say("no screen on a card that computes"))
def gpu_display(case: Case) -> Iterator[Verdict]:
    """Whether a screen hangs on a card that should compute.

    A desktop takes some hundred MiB of a card, more with a browser, and a long kernel freezes it. With one
    card there is no choice; with several, the screen belongs on the processor's own graphics or on the
    smallest card.

    Note. Source: what drivers show of used memory on desktops.
    """
    found = answering(case)
    if len(found) < 2:
        return
    for device, _ in found:
        if device.display is False:
            yield Fine(says=say("no screen"), about=label(device))
        elif device.display:
            yield advise("gpu_modes.display", device=device)


@check(say("the driver stays loaded between programs"))
def gpu_persistence(case: Case) -> Iterator[Verdict]:
    """Whether the driver stays loaded between programs (persistence).

    Without it the driver starts a card anew for each first program: seconds at every start, limits and
    clocks that somebody set are lost, and counters of errors begin again at zero. While a program runs the
    driver stays anyway, so it is never more than a note. With a screen on the card the driver stays too. On
    Windows and WSL2 there is no such mode.

    Source: NVIDIA's driver persistence documentation.
    """
    system = case.machine.system
    if system.virtual == "wsl2" or "windows" in (system.os_id or "").lower():
        return
    for device, _ in answering(case, vendor="nvidia"):
        if device.persistence is False and not device.display and not device.unified_memory:
            yield advise("gpu_modes.persistence", device=device)
        elif device.persistence is not None:
            yield Fine(says=say("it does"), about=label(device))
