"""Whether variables that once helped now hold collectives back.

NCCL and its kin choose well by themselves. Variables copied from old posts switch off what makes them
fast: peer copies, shared memory, InfiniBand, GPUDirect; or fill logs at every step.

A path switched off that this machine has: warning. Debug output at every call: note. Source: NCCL
environment variables documentation.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, Severity, Verdict, seen, step
from rigright.doctor.stack import variable

TITLE = say("no variable holds collectives back")
_ON = {"1", "true", "yes"}


def check(case: Case) -> Iterator[Verdict]:
    """A finding for each variable that does."""
    several = len(case.machine.devices) > 1
    told = {name: value for name, value in case.machine.environment if name.startswith(("NCCL_", "RCCL_"))}
    if not told or not several:
        return
    found = [_finding(name, severity, why=why, value=told[name]) for name, severity, why in _hurting(case)]
    yield from found
    if not found:
        yield Fine(says=say("{count} variables looked at", count=len(told)))


def _hurting(case: Case) -> Iterator[tuple[str, Severity, Sentence]]:
    infiniband = any(
        port.kind in {"infiniband", "roce"} and port.state == "up" for port in case.machine.ports or ()
    )
    linked = any(any(link.active for link in device.links or ()) for device in case.machine.devices)
    if _is_on(case, "NCCL_P2P_DISABLE"):
        why = (
            say("cards of one machine then exchange through main memory, past their NVLink")
            if linked
            else say("cards of one machine then exchange through main memory")
        )
        yield "NCCL_P2P_DISABLE", "warning" if linked else "note", why
    if variable(case, "NCCL_P2P_LEVEL") in {"LOC", "0"}:
        yield "NCCL_P2P_LEVEL", "warning" if linked else "note", say("the same as switching peer copies off")
    if _is_on(case, "NCCL_SHM_DISABLE"):
        yield "NCCL_SHM_DISABLE", "warning", say("processes of one machine then speak through the network")
    if infiniband and _is_on(case, "NCCL_IB_DISABLE"):
        yield "NCCL_IB_DISABLE", "warning", say("InfiniBand is up and not used: traffic goes over Ethernet")
    if infiniband and variable(case, "NCCL_NET_GDR_LEVEL") in {"LOC", "0"}:
        yield "NCCL_NET_GDR_LEVEL", "warning", say("network cards then go through main memory")
    if (variable(case, "NCCL_DEBUG") or "").upper() == "TRACE":
        yield "NCCL_DEBUG", "note", say("every call writes a line: slow, and logs without end")
    if variable(case, "NCCL_ALGO") or variable(case, "NCCL_PROTO"):
        name = "NCCL_ALGO" if variable(case, "NCCL_ALGO") else "NCCL_PROTO"
        yield name, "note", say("one way for all sizes: its own choice differs by size, and is measured")


def _is_on(case: Case, name: str) -> bool:
    return (variable(case, name) or "").lower() in _ON


def _finding(name: str, severity: Severity, *, why: Sentence, value: str) -> Finding:
    return Finding(
        severity=severity,
        title=say("{name}={value} holds collectives back", name=name, value=value),
        evidence=seen(f"{name}={value}", "env | grep -E '^(NCCL|RCCL)_'"),
        why=why,
        fix=(
            step(
                say("leave it out, and measure before and after"), f"unset {name}; rigright bench collectives"
            ),
        ),
        verify=f"echo ${name}",
        confidence="likely",
    )
