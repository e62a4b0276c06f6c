"""Whether network cards can reach the cards' memory (GPUDirect RDMA).

With InfiniBand or RoCE and the module nvidia-peermem, data goes from card to wire without a copy through
main memory. Without it NCCL copies, which costs bandwidth between machines and processor time. Since
driver 570 with the open module and a 5.12 kernel, DMA-BUF does the same without the module.

InfiniBand ports up, datacentre cards, neither module nor DMA-BUF possible: warning where NCCL is meant to
cross machines. Source: NVIDIA GPUDirect RDMA documentation; NCCL environment documentation
(NCCL_NET_GDR_LEVEL).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, as_root, seen
from rigright.doctor.stack import is_contained, numbers

TITLE = say("network cards reach the cards' memory")
_SHOW = "lsmod | grep peermem; ibstat | grep -E 'State|Rate'"
_DMA_BUF_KERNEL = (5, 12)


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for a machine with InfiniBand or RoCE."""
    ports = [
        one for one in case.machine.ports or () if one.kind in {"infiniband", "roce"} and one.state == "up"
    ]
    served = any(
        chip is not None and chip.vendor == "NVIDIA" and chip.segment == "datacenter" for chip in case.chips
    )
    if not ports or not served or is_contained(case):
        return
    software = case.machine.software
    kernel = numbers(case.machine.system.kernel) or (0,)
    if software.peermem:
        yield Fine(says=say("nvidia-peermem is loaded"))
    elif software.open_kernel and kernel >= _DMA_BUF_KERNEL:
        yield Fine(says=say("by DMA-BUF: open module, kernel {kernel}", kernel=case.machine.system.kernel))
    elif software.peermem is None:
        yield NotSeen(why=say("the list of kernel modules cannot be read here"), see=_SHOW)
    else:
        yield Finding(
            severity="warning",
            title=say("InfiniBand is up, but network cards cannot reach the cards' memory"),
            evidence=seen(say("{count} ports up, nvidia-peermem is not loaded", count=len(ports)), _SHOW),
            why=say("data between machines is copied through main memory: slower, and busy cores"),
            fix=(
                as_root(say("load it"), "modprobe nvidia-peermem"),
                as_root(
                    say("and at each boot"), "echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf"
                ),
            ),
            confidence="likely",
        )
