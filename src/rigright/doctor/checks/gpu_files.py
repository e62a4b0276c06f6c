"""Whether programs may open the cards of AMD and Intel.

ROCm opens /dev/kfd and /dev/dri/renderD*, Intel's compute runtime the latter. They belong to the group render
(on some systems video). A user outside of it sees the card in amd-smi, lspci and on the screen, and no
program finds it: "Unable to open /dev/kfd read-write: Permission denied", "No HIP GPUs are available", "No
XPU devices are available". A container is shown none of them unless it was started with them. Without
/dev/kfd there is no ROCm at all: the driver did not take the card for compute.

Closed or missing: fault where ROCm or a framework for such cards is installed, else note. Source: ROCm
installation guide, prerequisites; Intel's installation guide for GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import answering, see_kernel_log
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Step, Verdict, as_root, seen, step
from rigright.doctor.stack import frameworks, is_contained

TITLE = say("programs may open AMD's and Intel's cards")
_SHOW = "ls -l /dev/kfd /dev/dri"
_BUILDS = ("rocm", "xpu")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the files of all such cards."""
    vendors = {
        device.vendor
        for device, chip in answering(case)
        if device.vendor in {"amd", "intel"} and (chip is not None or not device.unified_memory)
    }
    software = case.machine.software
    if not vendors or case.machine.system.virtual == "wsl2":
        return
    if software.device_files is None or software.closed_files is None:
        yield NotSeen(why=say("which files there are, and who may open them, was not looked at"), see=_SHOW)
    elif "amd" in vendors and "kfd" not in software.device_files:
        shown = say("there is no /dev/kfd")
        fix = _given(case) or (as_root(say("load the driver"), "modprobe amdgpu"), see_kernel_log())
        yield _finding(case, say("/dev/kfd is missing: ROCm finds no card"), shown=shown, fix=fix)
    elif software.closed_files:
        files = ", ".join(f"/dev/{name}" for name in software.closed_files)
        shown = say("closed to this user: {files}", files=files)
        fix = _given(case) or (
            as_root(
                say("take the user into both groups, then log in anew"),
                'usermod -a -G render,video "${SUDO_USER:-$USER}"',
            ),
        )
        yield _finding(case, say("this user may not open {files}", files=files), shown=shown, fix=fix)
    else:
        yield Fine(says=say("this user may open them"))


def _given(case: Case) -> tuple[Step, ...]:
    """In a container: what it is started with."""
    words = say("start the container with --device /dev/kfd --device /dev/dri and the group render")
    return (step(words, disturbs=True),) if is_contained(case) else ()


def _finding(case: Case, title: Sentence, *, shown: Sentence, fix: tuple[Step, ...]) -> Finding:
    # whether something is installed that would open them
    builds = [(torch.build or "") for _, torch in frameworks(case, "torch")]
    kits = [kit.name for kit in case.machine.software.toolkits]
    return Finding(
        severity="fault"
        if ("rocm" in kits or any(build.startswith(_BUILDS) for build in builds))
        else "note",
        title=title,
        evidence=seen(shown, _SHOW),
        why=say("tools show the card, yet programs that compute do not find it"),
        fix=fix,
    )
