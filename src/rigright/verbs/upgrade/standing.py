"""A probed machine as what stands there, for those who plan changes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from rigright.build.change import Standing
from rigright.doctor.nic import fastest_port
from rigright.doctor.record import CheckInput
from rigright.facts.cpus import cpus
from rigright.machine.bench.record import disk_bytes_per_s
from rigright.machine.host import Slot

_LEAST_CARD_LANES = 4


def standing_of(case: CheckInput, today: date) -> Standing:
    """What was observed of a machine; the rest stays unknown."""
    machine = case.machine
    modules = machine.memory.modules
    filled = [module for module in modules or () if module.size_bytes]
    empty = [module for module in modules or () if not module.size_bytes]
    kinds = {module.kind for module in filled if module.kind}
    shares = [
        item.power.limit_w / item.power.limit_default_w
        for item in machine.devices
        if item.power.limit_w and item.power.limit_default_w
    ]
    # the row of the table whose name stands in what the kernel calls it; the longest where several do
    text = _plain(machine.cpu.name or "")
    cpu_models = [cpu for cpu in cpus() if _plain(cpu.name) in text]
    return Standing(
        today=today,
        chips=tuple(chip for chip in case.chips if chip is not None),
        used_bytes=max((device.mem_used_bytes or 0.0 for device in machine.devices), default=None),
        slot_gen=min(
            (item.pcie.gen_max for item in machine.devices if item.pcie.gen_max is not None), default=None
        ),
        free_slots=None if machine.slots is None else tuple(_free(machine.slots)),
        supply_w=None,
        limit_share=min(shares, default=None),
        cpu=max(cpu_models, key=lambda cpu: len(cpu.name), default=None),
        sockets=machine.cpu.sockets,
        mem_bytes=machine.memory.total_bytes,
        mem_kind=next(iter(kinds)) if len(kinds) == 1 else None,
        mem_registered=None if not filled else any(module.ecc for module in filled),
        mem_places_free=None if modules is None else len(empty),
        disk_kinds=None if machine.disks is None else tuple(disk.kind for disk in machine.disks if disk.kind),
        disk_bytes_per_s=disk_bytes_per_s(case.results),
        net_bytes_per_s=fastest_port(machine),
    )


def _free(slots: Iterable[Slot]) -> Iterable[int]:
    for slot in slots:
        if slot.in_use is False and slot.lanes is not None and slot.lanes >= _LEAST_CARD_LANES:
            yield slot.lanes


def _plain(name: str) -> str:
    words = (
        name.replace("(R)", " ").replace("(TM)", " ").replace("(r)", " ").replace("(tm)", " ").lower().split()
    )
    return f" {' '.join(word for word in words if word not in {'cpu', 'processor'})} "
