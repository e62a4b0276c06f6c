"""GPU modes: compute mode, display, persistence; MIG and AMD partitions."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering, by_value, kinds, listed, odd_ones
from rigright.doctor.record import CheckInput, Evidence, Fine, NotSeen, Verdict, check
from rigright.machine.device import Device

WHOLE = "SPX/NPS1"


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


@check(say("pending MIG mode change"))
def mig_pending(case: CheckInput) -> Iterator[Verdict]:
    """Whether a MIG mode change is pending.

    MIG mode changes only when the GPU is reset, and the reset fails silently while anything holds the
    GPU, even a monitoring agent. Until then tools show one mode and the next boot brings the other.

    Note. Source: NVIDIA's MIG user guide.
    """
    for device, _ in answering(case, vendor="nvidia"):
        if device.mig is None:
            continue
        if device.mig_after_reset in {None, device.mig}:
            yield Fine(says=say("none pending"), about=label(device))
        else:
            yield advise(
                "gpu_modes.mig_waits_on" if device.mig_after_reset else "gpu_modes.mig_waits_off",
                device=device,
            )


@check(say("MIG instances"))
def mig_slices(case: CheckInput) -> Iterator[Verdict]:
    """MIG: whether instances exist, and whether the plan can use them.

    With MIG enabled and no instance, no program can use the GPU (warning). Instances have no NVLink and
    no peer copies, so a plan that spreads a model over several GPUs does not run on them (fault with
    such a plan).

    Source: NVIDIA's MIG user guide.
    """
    for device, _ in answering(case, vendor="nvidia"):
        if not device.mig:
            continue
        if not device.slices:
            yield advise("gpu_modes.no_slice", device=device)
        elif case.wanted is not None and case.wanted.tp > 1:
            yield advise("gpu_modes.slices_apart", device=device, tp=case.wanted.tp)
        else:
            text = ", ".join(item.profile or "?" for item in device.slices)
            says = say("{count} instances: {profiles}", count=len(device.slices), profiles=text)
            yield Fine(says=says, about=label(device))


def _mode_of(device: Device) -> str:
    """How a card of AMD is cut."""
    return device.slices[0].profile or "?" if device.slices else WHOLE


@check(say("GPU partitions (AMD)"))
def gpu_partitions(case: CheckInput) -> Iterator[Verdict]:
    """Partitioned AMD GPUs (MI300 and later: DPX, TPX, QPX, CPX; memory NPS1 to NPS8).

    Programs see each partition as a GPU with its share of compute units and memory: in CPX an MI300X is
    eight GPUs of 38 compute units and 24 GB. Tools count them the same way. That suits many small models,
    and breaks a plan for whole GPUs: its first layer does not fit.

    Warning: a plan for whole GPUs on partitioned ones. Note: GPUs of one model partitioned differently;
    AMD advises against mixed memory modes in one machine. Source: AMD Instinct MI300X GPU partitioning
    overview.
    """
    cut = [device for device, _ in answering(case, vendor="amd") if device.slices]
    for device in cut:
        mode, count = _mode_of(device), len(device.slices)
        if case.wanted is not None and case.wanted.chips:
            whole = {"one_memory": "NPS1" in mode, "one_part": "SPX" in mode}
            yield advise("gpu_modes.cut", whole, device=device, count=count, mode=mode)
        elif any(part.mem_total_bytes is None for part in device.slices):
            why = say("memory per partition not reported")
            yield NotSeen(why=why, see="rocminfo", about=label(device))
        else:
            yield Fine(says=say("{count} partitions: {mode}", count=count, mode=mode), about=label(device))
    for devices in kinds(case):
        odd = odd_ones(by_value(devices, [_mode_of(device) for device in devices]))
        if odd is not None and any(device in cut for device in devices):
            usual, others = odd
            modes = tuple(
                Evidence(shows=f"{label(other)}: {_mode_of(other)}", command="amd-smi static --partition")
                for other in others
            )
            yield advise("gpu_modes.unlike", about=listed(others), modes=modes, value=usual)
