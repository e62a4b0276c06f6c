"""Whether variables for finding errors, or for one core, are left on.

CUDA_LAUNCH_BLOCKING=1 waits for each kernel; PYTORCH_NO_CUDA_MEMORY_CACHING=1 allocates anew each time;
NVIDIA_TF32_OVERRIDE=0 takes the fast matrix units away; TORCH_DISTRIBUTED_DEBUG=DETAIL compares every
collective. OMP_NUM_THREADS=1 leaves preparation of data one core: torchrun sets it by itself for each
process and says so.

Left on: warning, since runs are several times slower and nothing else tells; OMP_NUM_THREADS=1 on a
machine with many cores: note. Source: PyTorch and CUDA documentation of these variables.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Severity, Verdict, seen, step
from rigright.doctor.stack import variable

TITLE = say("no variable for finding errors is left on")
_MANY_THREADS = 8
_HURTING: tuple[tuple[str, str, Severity, Sentence], ...] = (
    ("CUDA_LAUNCH_BLOCKING", "1", "warning", say("the processor waits for each kernel")),
    ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", "warning", say("every tensor is allocated anew by the driver")),
    ("NVIDIA_TF32_OVERRIDE", "0", "warning", say("32-bit matrix products leave the fast units")),
    ("CUDA_CACHE_DISABLE", "1", "warning", say("kernels are translated anew at every start")),
    ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", "warning", say("every collective is compared among all ranks")),
    (
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "1",
        "note",
        say("right for Megatron's overlap on chips before Blackwell; elsewhere it serialises streams"),
    ),
    ("TF_FORCE_GPU_ALLOW_GROWTH", "false", "note", say("TensorFlow takes all memory of the card at once")),
)


def check(case: Case) -> Iterator[Verdict]:
    """A finding for each that is set so."""
    if not case.machine.devices:
        return
    for name, value, severity, why in _HURTING:
        if (variable(case, name) or "").upper() == value.upper():
            yield _finding(name, value, severity=severity, why=why)
    threads = case.machine.cpu.usable or case.machine.cpu.threads or 0
    if variable(case, "OMP_NUM_THREADS") == "1" and threads >= _MANY_THREADS:
        why = say("preparation of data and work on the processor use one core of {threads}", threads=threads)
        yield _finding("OMP_NUM_THREADS", "1", severity="note", why=why)


def _finding(name: str, value: str, *, severity: Severity, why: Sentence) -> Finding:
    return Finding(
        severity=severity,
        title=say("{name}={value} is set", name=name, value=value),
        evidence=seen(f"{name}={value}", f"echo ${name}"),
        why=why,
        fix=(step(say("leave it out, unless it is meant"), f"unset {name}"),),
    )
