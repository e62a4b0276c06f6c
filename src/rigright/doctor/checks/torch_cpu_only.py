"""Whether PyTorch was installed with CUDA (ROCm, XPU) on a machine that has such cards.

`pip install torch` on Windows, on ARM before 2.9, from the index `cpu`, or from a mirror without the
other wheels brings a build for the processor alone. Programs then run, tens of times slower, and say
nothing.

A build for the processor alone while cards are here: warning. A CUDA build on AMD cards, or the other way
round: warning. Small graphics inside a processor is no such card. Source: PyTorch installation guide;
data/torch_indexes.csv.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen
from rigright.doctor.stack import frameworks, program
from rigright.doctor.torch_fit import reinstall

TITLE = say("PyTorch is built for the cards here")
_BUILDS = {"nvidia": "cu", "amd": "rocm", "intel": "xpu"}


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each Python with torch."""
    builds = tuple(
        _BUILDS[device.vendor]
        for device, chip in case.pairs
        if device.vendor in _BUILDS and (chip is not None or not device.unified_memory)
    )
    if not builds:
        return
    for python, torch in frameworks(case, "torch"):
        build = torch.build or ""
        if build.startswith(builds) or not build:
            yield Fine(
                says=say("torch {version}, build {build}", version=torch.version, build=build or "?"),
                about=python.path,
            )
        else:
            told = "torch.__version__, torch.version.cuda, torch.cuda.is_available()"
            show = f'{program(python)} -c "import torch; print({told})"'
            alone = (torch.build or "").startswith("cpu")
            yield Finding(
                severity="warning",
                title=say("PyTorch is built for the processor alone, though cards are here")
                if alone
                else say("PyTorch is built for other cards than those here: {build}", build=torch.build),
                evidence=seen(
                    say("torch {version}, build {build}", version=torch.version, build=torch.build), show
                ),
                why=say("programs run on the processor, tens of times slower, and do not say so"),
                fix=(reinstall(case, python),),
                about=python.path,
            )
