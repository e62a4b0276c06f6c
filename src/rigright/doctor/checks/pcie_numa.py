"""Which memory domain each card is near, and whether that domain has memory and cores.

On machines with two sockets each card hangs on one of them. A process on the other one copies through the
link between sockets: latency grows, rate falls. A domain without memory modules makes every copy of its
cards go across. Where the firmware tells no domain, tools cannot bind processes rightly.

Warning: a card's domain has no memory. Note: no domain told on a machine with several; all cards on one of
several sockets; the process may run on cores of the other side alone. Source: Linux NUMA documentation;
NVIDIA's DGX guides (binding by `nvidia-smi topo -m`).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import answering, label
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, seen, step
from rigright.doctor.wires import function_of, has_slot, is_real
from rigright.machine.cells import indexes
from rigright.machine.device import Device
from rigright.machine.host import NumaNode

TITLE = say("cards and memory on the same side (NUMA)")
_NOBODY = say("nobody tells which memory domain the card is near")
SEE = "nvidia-smi topo -m; numactl --hardware"


def check(case: Case) -> Iterator[Verdict]:
    """Verdicts on machines with several memory domains."""
    cpu = case.machine.cpu
    nodes = {node.index: node for node in cpu.nodes}
    if not is_real(case) or sum(bool(node.cpus) for node in cpu.nodes) < 2:
        return
    near = {device: _node(case, device) for device, chip in answering(case) if has_slot(device, chip)}
    for device, node in near.items():
        if node is None and function_of(case, device) is None:
            yield NotSeen(why=_NOBODY, see=SEE, about=label(device))
        else:
            yield _of_card(device, None if node is None else nodes.get(node), allowed=cpu.allowed)
    told = {node for node in near.values() if node is not None}
    if len(near) >= 4 and len(told) == 1 and None not in near.values() and (cpu.sockets or 1) > 1:
        title = say(
            "all {count} cards hang on one of {sockets} sockets", count=len(near), sockets=cpu.sockets
        )
        yield _finding("note", title, about=None)


def _of_card(device: Device, node: NumaNode | None, *, allowed: str | None) -> Verdict:
    about = label(device)
    if node is None:
        return _finding("note", _NOBODY, about=about)
    if node.mem_bytes == 0:
        title = say("the card's memory domain {node} has no memory", node=node.index)
        return _finding("warning", title, about=about)
    if allowed is not None and node.cpus and not set(indexes(allowed)) & set(indexes(node.cpus)):
        title = say("this process may run only on cores far from the card ({cores})", cores=allowed)
        return _finding("note", title, about=about)
    return Fine(says=say("near domain {node}", node=node.index), about=about)


def _node(case: Case, device: Device) -> int | None:
    one = function_of(case, device)
    node = device.numa_node if device.numa_node is not None else one.numa_node if one is not None else None
    return node if node is not None and node >= 0 else None


def _finding(severity: Severity, title: Sentence, *, about: str | None) -> Finding:
    fill = step(say("fill the memory channels of that socket, or move the card to the other"), disturbs=True)
    bind = step(
        say("bind each process to the domain of its card"), "numactl --cpunodebind=N --membind=N COMMAND"
    )
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(say("what the kernel tells of domains and cards"), SEE),
        why=say("copies between card and memory cross the link between sockets, and get slower and uneven"),
        fix=(fill, bind) if severity == "warning" else (bind,),
        about=about,
    )
