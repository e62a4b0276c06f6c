"""Whether PyTorch's wheel has kernels for the chips here.

A wheel bears kernels for some compute capabilities. A kernel for X.y runs on X.z with z not below y; PTX
of the newest is translated for newer chips. Without a fit every operation fails with "no kernel image is
available for execution on the device". Wheels drop old chips (Volta since 2.11, Maxwell and Pascal in all
but cu126 builds), and wheels older than a chip know nothing of it (Blackwell needs 2.7 with cu128).

No kernels for a chip: fault. Source of the list: the wheel itself, where its library was readable, else
data/torch.csv.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, seen, step
from rigright.doctor.stack import capabilities, frameworks, program
from rigright.doctor.torch_fit import has_kernels, reinstall, row_of
from rigright.facts.software import Capability, written
from rigright.machine.system import Framework, Python

TITLE = say("PyTorch has kernels for the cards here")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each Python with a CUDA build and each kind of chip."""
    for python, torch in frameworks(case, "torch"):
        if not (torch.build or "").startswith("cu"):
            continue
        for capability, name in capabilities(case).items():
            runs = has_kernels(torch, capability)
            if runs is None:
                yield NotSeen(
                    why=say("neither the wheel nor our table tells its chips"),
                    see=_show(python),
                    about=python.path,
                )
            elif runs:
                yield Fine(
                    says=say("torch {version} runs on {chip}", version=torch.version, chip=name),
                    about=python.path,
                )
            else:
                yield _none(case, python, torch=torch, name=name, capability=capability)


def _show(python: Python) -> str:
    return f'{program(python)} -c "import torch; print(torch.cuda.get_arch_list())"'


def _none(case: Case, python: Python, *, torch: Framework, name: str, capability: Capability) -> Finding:
    row = row_of(torch)
    told = " ".join(torch.archs) if torch.archs else " ".join(map(written, row.capabilities)) if row else "?"
    return Finding(
        severity="fault",
        title=say(
            "torch {version} ({build}) has no kernels for {chip} (compute capability {capability})",
            version=torch.version,
            build=torch.build,
            chip=name,
            capability=written(capability),
        ),
        evidence=seen(say("it has: {archs}", archs=told), _show(python)),
        why=say('every operation on the card fails: "no kernel image is available"'),
        fix=(
            reinstall(case, python),
            step(say("see all sets that go together"), "rigright look-up software torch"),
        ),
        confidence="sure" if torch.archs else "likely",
        about=f"{python.path}, {name}",
    )
