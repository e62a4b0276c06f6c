"""Whether LD_LIBRARY_PATH and LD_PRELOAD lead programs to the libraries that they were built with.

A framework's wheel brings its CUDA libraries and finds them by itself; LD_LIBRARY_PATH goes before.
Folders of two CUDAs there, or one of another major version than the framework's, load a library that it
was not tested with. A `stubs` folder holds an empty libcuda that is only for linking: with it no card is
found (error 34). A `compat` folder replaces the driver's library, which helps datacentre cards alone.

Stubs: fault. Two CUDAs, compat on other cards: warning. Source: NVIDIA CUDA compatibility guide; cudart
error cudaErrorStubLibrary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, Severity, Verdict, seen, step
from rigright.doctor.stack import variable

TITLE = say("the library path leads to the right libraries")
_CUDA = re.compile(r"cuda-(\d+\.\d+)")
_SHOW = "echo $LD_LIBRARY_PATH"


def check(case: Case) -> Iterator[Verdict]:
    """A finding for each thing wrong with the path."""
    path = variable(case, "LD_LIBRARY_PATH")
    if not path or not case.machine.devices:
        return
    folders = [one for one in path.split(":") if one]
    wrong: list[Finding] = []
    stubs = [one for one in folders if one.rstrip("/").endswith("/stubs")]
    cudas = sorted({match[1] for one in folders if (match := _CUDA.search(one)) and "compat" not in one})
    compat = [one for one in folders if "/compat" in one]
    served = any(chip is not None and chip.segment == "datacenter" for chip in case.chips)
    if stubs:
        why = say("the libcuda in it is empty and meant for linking: programs find no card")
        wrong.append(_finding("fault", say("a folder of stubs is on the library path"), shown=stubs, why=why))
    if len(cudas) > 1:
        why = say(
            "which library a program loads depends on the order; frameworks bring the right ones themselves"
        )
        wrong.append(
            _finding(
                "warning",
                say("CUDA {versions} are on the library path", versions=", ".join(cudas)),
                shown=folders,
                why=why,
            )
        )
    if compat and any(case.chips) and not served:
        why = say("the compatibility library works on datacentre cards alone: others report error 803 or 804")
        wrong.append(
            _finding("warning", say("a compat folder is on the library path"), shown=compat, why=why)
        )
    found = wrong
    yield from found
    if not found:
        yield Fine(says=say("{count} folders", count=len(folders)))


def _finding(severity: Severity, title: Sentence, *, shown: list[str], why: Sentence) -> Finding:
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(":".join(shown)[:300], _SHOW),
        why=why,
        fix=(
            step(
                say("find the file that sets it"),
                "grep -rs LD_LIBRARY_PATH ~/.bashrc ~/.profile /etc/profile.d /etc/environment",
            ),
            step(say("start the program without it"), "env -u LD_LIBRARY_PATH COMMAND"),
        ),
    )
