"""Whether PyTorch with CUDA finds the cards that the driver shows.

`torch.cuda.is_available()` can say False beside a driver that answers and a wheel that fits: the list of
visible devices is empty, /dev/nvidia-uvm is missing or its module broke in sleep, the container was started
without its cards, boards with NVSwitch wait for their manager (CUDA error 802), or another libcuda is found
first. What CUDA itself says tells which; importing PyTorch hides it.

It finds none: fault. A build without CUDA and a driver too old have checks of their own. Source: PyTorch's
collect_env, NVIDIA CUDA installation guide, NVIDIA fabric manager guide.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Step, Verdict, as_root, seen, step
from rigright.doctor.stack import driver, frameworks, is_contained, numbers, program, variable
from rigright.facts.software import driver_for
from rigright.machine.system import Framework

TITLE = say("PyTorch finds the cards")
_ASK = "import torch; torch.cuda.init(); print(torch.cuda.device_count())"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each Python whose PyTorch was asked."""
    if not any(device.vendor == "nvidia" and device.state == "ok" for device in case.machine.devices):
        return
    for python, torch in frameworks(case, "torch"):
        if torch.sees is None or not (torch.cuda or (torch.build or "").startswith("cu")):
            continue
        if torch.sees:
            yield Fine(says=say("it finds {count}", count=torch.sees), about=python.path)
        elif numbers(driver(case)) is None:
            yield NotSeen(
                why=say("it finds none, and the driver's version is not known here"),
                see="nvidia-smi --query-gpu=driver_version --format=csv",
                about=python.path,
            )
        elif _is_new_enough(case, torch):
            ask = f"{program(python)} -c"
            yield Finding(
                severity="fault",
                title=say("PyTorch finds no card, though the driver shows them and it is built with CUDA"),
                evidence=seen(
                    say("torch.cuda.is_available() says False"),
                    f"{ask} 'import torch; print(torch.cuda.is_available())'",
                ),
                why=say("programs run on the processor, tens of times slower, or stop"),
                fix=(
                    step(say("see what CUDA itself says: its error names the cause"), f"{ask} '{_ASK}'"),
                    *_causes(case),
                ),
                about=python.path,
            )


def _is_new_enough(case: Case, torch: Framework) -> bool:
    """Whether the driver runs the CUDA that it is built with; where that is not known, yes."""
    have, cuda = numbers(driver(case)), numbers(torch.cuda)
    return have is None or cuda is None or have >= driver_for((*cuda, 0)[:2])


def _causes(case: Case) -> Iterator[Step]:
    """What it mostly is, as far as it may be so on this machine."""
    hidden = variable(case, "CUDA_VISIBLE_DEVICES")
    if hidden is not None and hidden.strip() in {"", "-1", "NoDevFiles"}:
        yield step(say("CUDA_VISIBLE_DEVICES hides all cards: take it away"), "unset CUDA_VISIBLE_DEVICES")
    if any(chip is not None and "NVSwitch" in (chip.link or "") for _, chip in case.pairs):
        yield as_root(
            say("error 802: start the manager of the NVSwitches"), "systemctl restart nvidia-fabricmanager"
        )
    if case.machine.system.virtual == "wsl2":
        yield step(
            say("another libcuda hides that of Windows: remove Linux drivers inside WSL2"),
            "ldconfig -p | grep libcuda",
        )
    elif is_contained(case):
        yield step(
            say("start the container with its cards again"), "docker run --gpus all ...", disturbs=True
        )
    else:
        yield as_root(
            say("error 999 or 304, mostly after sleep: load the module that CUDA opens anew"),
            "modprobe -r nvidia-uvm && modprobe nvidia-uvm",
            disturbs=True,
        )
