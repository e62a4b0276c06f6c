"""GPU modes: compute mode, display, persistence."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.record import CheckInput, Fine, Verdict, check


@check(say("compute mode"))
def gpu_compute_mode(case: CheckInput) -> Iterator[Verdict]:
    """Compute mode of each GPU.

    Prohibited: no program can start on it (fault). Exclusive: one process at a time; a second one fails with
    "devices are busy" (note; warning where a plan runs several processes per GPU).

    Source: NVML's compute modes; CUDA error 46 (devices unavailable).
    """
    for device, _ in answering(case, vendor="nvidia"):
        mode = (device.compute_mode or "").lower().replace("_", " ")
        if "prohibited" in mode or "exclusive" in mode:
            name = "gpu_modes.prohibited" if "prohibited" in mode else "gpu_modes.exclusive"
            yield advise(name, device=device, mode=device.compute_mode)
        elif mode:
            yield Fine(says=say("Default: any program can use it"), about=label(device))


@check(say("no display on compute GPUs"))
def gpu_display(case: CheckInput) -> Iterator[Verdict]:
    """Whether a display is attached to a compute GPU.

    A desktop takes some hundred MiB of GPU memory, more with a browser, and a long kernel freezes it. With
    several GPUs, the display belongs on the integrated graphics or the smallest GPU.

    Note. Source: what drivers show of used memory on desktops.
    """
    pairs = answering(case)
    if len(pairs) < 2:
        return
    for device, _ in pairs:
        if device.display is False:
            yield Fine(says=say("no display"), about=label(device))
        elif device.display:
            yield advise("gpu_modes.display", device=device)


@check(say("persistence mode"))
def gpu_persistence(case: CheckInput) -> Iterator[Verdict]:
    """Persistence mode: whether the driver keeps the GPU initialized between programs.

    Without it every first program waits seconds for initialization, power and clock settings are lost, and
    error counters restart at zero. The driver stays loaded while a program or display uses the GPU, so this
    is never more than a note. Windows and WSL2 have no such mode.

    Source: NVIDIA's driver persistence documentation.
    """
    system = case.machine.system
    if system.virtual == "wsl2" or "windows" in (system.os_id or "").lower():
        return
    for device, _ in answering(case, vendor="nvidia"):
        if device.persistence is False and not device.display and not device.unified_memory:
            yield advise("gpu_modes.persistence", device=device)
        elif device.persistence is not None:
            yield Fine(says=say("on"), about=label(device))
