"""Whether CUDA_VISIBLE_DEVICES (HIP_ or ROCR_VISIBLE_DEVICES) names cards that are here, and what it hides.

CUDA stops reading the list at the first entry it does not know, and hides all after it without a word:
"0,1,8" on eight cards shows two, an empty value or -1 shows none. Entries may be numbers, unique
beginnings of UUIDs, or the UUID of a MIG slice; on a card in MIG mode a number means its first slice
alone. HIP counts the cards that ROCR_VISIBLE_DEVICES left: with 1 in both it sees none.

An entry that names nothing: warning. Cards hidden outside of a batch system: note. Source: CUDA
programming guide, environment variables; MIG user guide; HIP
documentation, GPU isolation.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, Severity, Verdict, seen, step
from rigright.doctor.stack import variable
from rigright.machine.device import Device

TITLE = say("visible devices name cards that are here")
_NAMES = {"CUDA_VISIBLE_DEVICES": "nvidia", "HIP_VISIBLE_DEVICES": "amd", "ROCR_VISIBLE_DEVICES": "amd"}
_GIVEN_OUT_BY = ("SLURM_JOB_ID", "KUBERNETES_SERVICE_HOST", "RAY_JOB_ID")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each variable that is set."""
    for name, vendor in _NAMES.items():
        value = variable(case, name)
        # how many devices programs count it as: AMD's cards that are cut are as many as their parts
        devices = [
            one
            for one in case.machine.devices
            if one.vendor == vendor
            for _ in range(len(one.slices) or 1 if one.vendor == "amd" else 1)
        ]
        if name == "HIP_VISIBLE_DEVICES":
            # how many cards the runtime below HIP shows it; None where it shows all
            told = variable(case, "ROCR_VISIBLE_DEVICES")
            devices = devices[: (None if told is None or not told.strip() else len(set(told.split(","))))]
        if value is None or not devices:
            continue
        entries = [one.strip() for one in value.split(",")] if value.strip() else []
        bad = next((place for place, entry in enumerate(entries) if not _names(entry, devices)), None)
        if bad is not None and entries[bad] not in {"-1", "NoDevFiles", "none", "void"}:
            yield _unknown(name, value, entry=entries[bad], shown=bad, count=len(devices))
        elif len(set(entries[:bad])) < len(devices):
            yield _hidden(case, name, value=value, shown=len(set(entries[:bad])), count=len(devices))
        else:
            yield Fine(says=say("{name}={value}", name=name, value=value))


def _names(entry: str, devices: list[Device]) -> bool:
    """Whether an entry means one card or slice."""
    if entry.isdecimal():
        return int(entry[:6]) < len(devices)
    uuids = {one.uuid.removeprefix("GPU-").lower() for one in devices if one.uuid}
    slices = [part.uuid for one in devices for part in one.slices if part.uuid]
    if entry.startswith("MIG-"):
        return any(uuid.startswith(entry) for uuid in slices) or entry.startswith("MIG-GPU-")
    wanted = entry.removeprefix("GPU-").lower()
    return entry.startswith("GPU-") and sum(uuid.startswith(wanted) for uuid in uuids) == 1


def _unknown(name: str, value: str, *, entry: str, shown: int, count: int) -> Finding:
    return _finding(
        "warning",
        say("{name}: nothing here is called {entry}", name=name, entry=entry),
        shown=say(
            "{name}={value}: {shown} of {count} cards are shown",
            name=name,
            value=value,
            shown=shown,
            count=count,
        ),
        why=say("programs see only the cards named before it, and do not say so"),
        name=name,
    )


def _hidden(case: Case, name: str, *, value: str, shown: int, count: int) -> Verdict:
    if any(variable(case, one) for one in _GIVEN_OUT_BY):
        return Fine(
            says=say("{shown} of {count} cards, as the batch system gave out", shown=shown, count=count)
        )
    return _finding(
        "note" if shown else "warning",
        say("{name} hides {count} cards from programs started here", name=name, count=count - shown),
        shown=say(
            "{name}={value}: {shown} of {count} cards are shown",
            name=name,
            value=value or '""',
            shown=shown,
            count=count,
        ),
        why=say("programs count the cards they see from 0: their card 0 need not be the machine's"),
        name=name,
    )


def _finding(severity: Severity, title: Sentence, *, shown: Sentence, why: Sentence, name: str) -> Finding:
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(shown, f"echo ${name}; nvidia-smi -L"),
        why=why,
        fix=(
            step(
                say("name the cards by numbers or UUIDs of `nvidia-smi -L`, or leave the variable out"),
                f"unset {name}",
            ),
        ),
        verify=f"echo ${name}",
    )
