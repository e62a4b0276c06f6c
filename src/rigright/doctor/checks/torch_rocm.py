"""Whether PyTorch's ROCm wheel has kernels for AMD's cards here.

A ROCm wheel bears kernels for the chips it was built for, by the exact name of each (gfx1100 is not gfx1101);
nothing is translated for others. Without them every operation fails with "invalid device function", or
rocBLAS ends the program with "Cannot read TensileLibrary.dat". Official wheels leave out the smaller Radeons
of a family (gfx1031, gfx1032), most graphics inside processors, and each new family until its ROCm is there.
The kernels of gfx1030 run on its kin, which differ by name alone: HSA_OVERRIDE_GFX_VERSION=10.3.0 says so.

No kernels for a card: fault. Source of the list: the wheel's own rocBLAS files; ROCm/rocBLAS#1339;
pytorch/pytorch#164346.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gfx import override_of
from rigright.doctor.gpus import answering, label
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Step, Verdict, seen, step
from rigright.doctor.stack import frameworks, program
from rigright.machine.device import Device
from rigright.machine.system import Framework, Python

TITLE = say("PyTorch has kernels for AMD's cards here")
_KIN, _OF_KIN = ("gfx1031", "gfx1032", "gfx1034"), "gfx1030"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each Python with a ROCm build and each kind of card."""
    cards = [
        device
        for device, chip in answering(case, vendor="amd")
        if device.isa and (chip is not None or not device.unified_memory)
    ]
    first = {one.isa or "": one for one in sorted(cards, key=lambda one: one.index, reverse=True)}
    for python, torch in frameworks(case, "torch"):
        if not (torch.build or "").startswith("rocm"):
            continue
        for isa, device in sorted(first.items()):
            yield _verdict(python, torch, device=device, isa=override_of(case) or isa)


def _verdict(python: Python, torch: Framework, *, device: Device, isa: str) -> Verdict:
    about = f"{python.path}, {label(device)}"
    if torch.archs is None:
        return NotSeen(why=say("the wheel does not tell its chips"), see=_show(python), about=about)
    if isa in torch.archs:
        return Fine(says=say("torch {version} runs on {chip}", version=torch.version, chip=isa), about=about)
    kin = isa in _KIN and _OF_KIN in torch.archs
    return Finding(
        severity="fault",
        title=say(
            "torch {version} ({build}) has no kernels for {chip}",
            version=torch.version,
            build=torch.build,
            chip=f"{device.name} ({isa})" if device.name else isa,
        ),
        evidence=seen(say("it has: {archs}", archs=" ".join(torch.archs)), _show(python)),
        why=say('every operation on the card fails: "invalid device function"'),
        fix=(_as_kin(),) if kin else (_other(),),
        about=about,
    )


def _show(python: Python) -> str:
    return f'{program(python)} -c "import torch; print(torch.cuda.get_arch_list())"'


def _as_kin() -> Step:
    return step(
        say("let it run as gfx1030, which differs by name alone"), "export HSA_OVERRIDE_GFX_VERSION=10.3.0"
    )


def _other() -> Step:
    return step(say("see which builds of newer ROCm releases there are"), "rigright look-up software torch")
