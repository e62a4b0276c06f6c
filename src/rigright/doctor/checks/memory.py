"""System memory: DIMMs and channels, swap, shared memory, and kernel settings for when it runs short."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from rigright.base.units import GIB, KIB, KILO, MEGA, MIB, show_bytes, show_short
from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.record import CheckInput, Fine, NotSeen, Severity, Verdict, check
from rigright.doctor.stack import is_contained, setting, sysctl_unseen, with_option
from rigright.doctor.wires import is_real
from rigright.facts.cpus import CHANNEL_BYTES, cpu_named
from rigright.machine.amd.kernel import shares_memory
from rigright.machine.host import MemoryModule

_CORRECTED_A_DAY = 24.0
DAY_S = 86_400.0
_LENT_LEAST_SHARE, _LENT_GOOD_SHARE = 0.7, 0.75
PAGE_BYTES = 4 * KIB
_RESERVED_SHARE = 0.25
_SHM_A_CARD_BYTES, _SHM_OF_DOCKER_BYTES = GIB, 64 * MIB
HALF, WHOLE = 0.5, 0.98  # what the firmware keeps is not counted as missing
_SLOW_SHARE = 0.85
_SWAP_LARGE_BYTES, _SWAP_USED_SHARE = 64 * GIB, 0.1
_SWAPPINESS_FINE, _SWAPPINESS_USUAL = 20, 60


@check(say("populated memory channels"))
def memory_channels(case: CheckInput) -> Iterator[Verdict]:
    """How many memory channels are populated, and whether evenly.

    Every populated channel adds its full bandwidth. An eight-channel CPU with two DIMMs has a quarter of
    its bandwidth, which slows model loading, CPU offload, preprocessing and CPU inference. With unequal
    channels part of the memory runs without interleaving.

    Warning: fewer than half of this CPU's channels are populated. Note: fewer than all, or unevenly. The
    number of channels comes from the data of this CPU model. Source: CPU data sheets; guide 2 (channels
    before capacity).
    """
    modules = case.machine.memory.modules
    closed = case.gap("memory.modules")
    if modules is None and is_real(case) and closed is not None:
        yield closed
    filled = [item for item in modules or () if item.size_bytes]
    named = cpu_named(case.machine.cpu.name)
    if not is_real(case) or not filled or named is None or named.mem_channels is None:
        return
    sizes: Counter[str | None] = Counter()
    for module in filled:
        sizes[module.channel] += int(module.size_bytes or 0)
    is_told = None not in sizes  # else each module may have a channel of its own
    most = named.mem_channels * (case.machine.cpu.sockets or 1)
    used = min(len(sizes) if is_told else len(filled), most)
    speed = max(item.set_mt_s or item.rated_mt_s or 0.0 for item in filled)
    seen = {
        "places": ", ".join(item.slot for item in filled[:16]),
        "rate": show_short(speed * CHANNEL_BYTES / KILO) if speed else "?",
    }
    if used < most:
        severity: Severity = "warning" if used * 2 < most else "note"
        yield advise("memory.channels_empty", seen, severity=severity, used=used, most=most)
    elif is_told and len(set(sizes.values())) > 1:
        yield advise("memory.channels", seen)
    else:
        yield Fine(says=say("populated evenly; channels: {count}", count=most))


@check(say("DIMM errors (ECC, EDAC)"))
def memory_errors(case: CheckInput) -> Iterator[Verdict]:
    """ECC errors of system memory, as the memory controllers count them (EDAC).

    An occasional corrected error is what ECC is for. Many in a short time point at a failing DIMM; an
    uncorrectable one has already corrupted data or killed a program. Without ECC none of this is
    visible: a training run of weeks can pick up a flipped bit unnoticed.

    Fault: an uncorrectable error since boot. Warning: more than 24 corrected errors a day. Source: Linux
    EDAC; the limit for corrected errors is mcelog's default memory trigger (10 or more in 24 hours per
    page), applied to the whole machine and rounded up.
    """
    memory = case.machine.memory
    if not is_real(case) or (memory.corrected_errors is None and memory.uncorrected_errors is None):
        return
    days = max((case.machine.system.up_s or DAY_S) / DAY_S, 1.0)
    soft, hard = memory.corrected_errors or 0, memory.uncorrected_errors or 0
    if hard or soft > _CORRECTED_A_DAY * days:
        yield advise("memory.uncorrected" if hard else "memory.corrected", soft=soft, hard=hard)
    else:
        yield Fine(says=say("{corrected} corrected, no uncorrectable errors since boot", corrected=soft))


@check(say("memory limit of an integrated GPU"))
def memory_lent(case: CheckInput) -> Iterator[Verdict]:
    """How much system memory an AMD integrated GPU may use.

    ROCm uses what the BIOS reserved or what the kernel lends (GTT), whichever is larger. The kernel
    lends half of system memory by default: of 128 GiB a model gets 62. `ttm.pages_limit` raises that, in
    pages of 4 KiB; the older `amdgpu.gttsize` next to it does harm. What the BIOS reserves is lost to
    everything else, so the smallest reservation with a high limit is best.

    Note: less than 70 % of system memory on a chip meant for models. Source: ROCm issue 5595, measured
    on a Ryzen AI Max+ 395: 25165824 pages give 96 GiB.
    """
    whole = case.machine.memory.total_bytes
    for device, chip in answering(case, vendor="amd"):
        if chip is None or not shares_memory(device.isa):
            continue
        limit = device.mem_total_bytes
        if whole is None or limit is None:
            see = "cat /sys/class/drm/card*/device/mem_info_gtt_total"
            yield NotSeen(why=say("limit not reported"), see=see, about=label(device))
        elif limit >= _LENT_LEAST_SHARE * whole:
            yield Fine(says=say("can use {size}", size=show_bytes(limit)), about=label(device))
        else:
            lent = int(_LENT_GOOD_SHARE * whole / GIB) * GIB
            yield advise(
                "memory.lent",
                device=device,
                limit=show_bytes(limit),
                whole=show_bytes(whole),
                size=show_bytes(lent),
                option=with_option(case, f"ttm.pages_limit={int(lent / PAGE_BYTES)}"),
            )


@check(say("huge pages"))
def memory_pages(case: CheckInput) -> Iterator[Verdict]:
    """Huge pages: reserved ones, and transparent ones.

    Reserved huge pages are lost to every program that does not ask for them; few frameworks do.
    Transparent huge pages set to `always` help most training, and can make a service stall during
    compaction; `madvise` leaves the choice to each program; `never` costs a little for loaders that map
    large files.

    Warning: more than a quarter of memory is reserved. Note: transparent huge pages are off. Source:
    Linux documentation of hugetlbpage and transparent hugepages.
    """
    memory = case.machine.memory
    if not case.machine.devices or memory.total_bytes is None or memory.transparent_huge is None:
        return
    reserved = (memory.huge_total or 0) * (memory.huge_bytes or 0.0)
    if reserved > _RESERVED_SHARE * memory.total_bytes:
        yield advise("memory.pages_reserved", size=show_bytes(reserved), count=memory.huge_total)
    elif memory.transparent_huge == "never":
        yield advise("memory.pages_off")
    else:
        yield Fine(says=say("transparent huge pages: {setting}", setting=memory.transparent_huge))


@check(say("shared memory (/dev/shm)"))
def memory_shm(case: CheckInput) -> Iterator[Verdict]:
    """Size of /dev/shm, through which DataLoader workers and the GPUs of one node pass data.

    Docker gives a container 64 MiB unless told otherwise: PyTorch's DataLoader workers then die with a
    bus error, and NCCL fails or falls back. A host gives half its memory.

    Warning: below 1 GiB per GPU. Fault: Docker's 64 MiB on a machine with GPUs. Source: Docker's default
    --shm-size; PyTorch's README on --ipc=host; NCCL documentation (NCCL_SHM_DISABLE).
    """
    size, cards = case.machine.memory.shm_bytes, len(case.machine.devices)
    if size is None or not cards:
        return
    if size >= _SHM_A_CARD_BYTES * cards:
        yield Fine(says=say("{size}", size=show_bytes(size)))
        return
    is_tiny = size <= _SHM_OF_DOCKER_BYTES
    yield advise(
        "memory.shm",
        severity="fault" if is_tiny else "warning",
        size=show_bytes(size),
        cards=cards,
        inside=is_tiny or case.machine.system.is_contained,
    )


@check(say("system memory against GPU memory"))
def memory_size(case: CheckInput) -> Iterator[Verdict]:
    """System memory against GPU memory.

    Guides disagree: one asks for twice the GPU memory, one for four times, one for 8 to 16 GB per GB
    (which nobody builds). What the work needs: a checkpoint passes through system memory on its way to
    the GPUs, data loaders hold batches, CPU offload holds what does not fit. As much as all GPU memory
    is a floor that works for serving; twice that is comfortable for training.

    Warning: less than half the GPU memory. Note: less than all of it. Unified memory is not judged.
    Source: guides 2 and 3 and their contradiction (look-up myths); DGX H100 ships 2 TiB for 640 GiB of
    GPU memory.
    """
    memory = case.machine.memory
    cards = [
        device.mem_total_bytes
        for device, chip in case.pairs
        if not device.unified_memory and not (chip is not None and chip.unified_memory)
    ]
    known = [size for size in (memory.total_bytes, memory.limit_bytes) if size is not None]
    if not known or not cards or any(size is None for size in cards):
        return
    usable, value = min(known), sum(size or 0.0 for size in cards)
    sizes = {"memory": show_bytes(usable), "cards": show_bytes(value)}
    if usable >= WHOLE * value:
        yield Fine(says=say("{memory} for {cards} of GPU memory", **sizes))
    else:
        severity: Severity = "warning" if usable < HALF * value else "note"
        yield advise("memory.size", sizes, severity=severity, limited=memory.limit_bytes == usable)


@check(say("memory speed"))
def memory_speed(case: CheckInput) -> Iterator[Verdict]:
    """Speed of the DIMMs: configured, rated, and allowed by the CPU.

    Desktop DIMMs run at a slow standard speed until their profile (XMP, EXPO) is enabled in the BIOS; a
    board with two DIMMs per channel, or with mixed DIMMs, lowers the speed by design. The limit is what
    the CPU officially supports: DIMMs that could run faster than that are fine.

    Warning: configured more than 15 % below what DIMM and CPU allow, with one DIMM per channel. Note:
    two DIMMs share a channel, or the gap is smaller. Source: JEDEC DDR4 and DDR5 speeds; the vendors'
    memory support tables.
    """
    filled = [entry for entry in case.machine.memory.modules or () if entry.size_bytes and entry.rated_mt_s]
    if not is_real(case) or not filled:
        return
    if any(entry.set_mt_s is None for entry in filled):
        see = "sudo dmidecode -t memory | grep -E 'Locator|Speed'"
        yield NotSeen(why=say("the BIOS does not report the configured speed"), see=see)
        return
    rated = sorted({entry.rated_mt_s or 0.0 for entry in filled})
    if len(rated) > 1:
        yield advise("memory.speeds_mixed", speeds=", ".join(f"{speed:g}" for speed in rated))
    named = cpu_named(case.machine.cpu.name)
    allowed = named.mem_transfers_per_s if named is not None and named.mem_transfers_per_s else math.inf

    def bound(item: MemoryModule) -> float:
        return min(item.rated_mt_s or 0.0, allowed / MEGA)

    slow = [entry for entry in filled if (entry.set_mt_s or 0.0) < bound(entry)]
    if not slow:
        yield Fine(says=say("{speed} MT/s", speed=f"{filled[0].set_mt_s:g}"))
        return
    item = min(slow, key=lambda module: module.set_mt_s or 0.0)
    shared = max(Counter(module.channel or module.slot for module in filled).values()) > 1
    yield advise(
        "memory.speed_low",
        severity="warning" if (item.set_mt_s or 0.0) < _SLOW_SHARE * bound(item) and not shared else "note",
        confidence="likely" if shared else "sure",
        now=f"{item.set_mt_s:g}",
        most=f"{bound(item):g}",
        slot=item.slot,
        rated=f"{item.rated_mt_s:g}",
        shared=shared,
    )


@check(say("swap"))
def memory_swap(case: CheckInput) -> Iterator[Verdict]:
    """Swap: configured, large enough, and not in heavy use.

    With some swap a short memory spike slows the machine down; without it the kernel kills a process. On
    machines with little memory it saves loads of large models; with hundreds of GiB it hardly matters,
    and Kubernetes wants it off. Much swap in use means memory is short now.

    Note: no swap on a machine below 64 GiB. Warning: more than a tenth of memory is swapped out. Size
    for small machines (guide 2): up to 2 GiB of memory twice as much, up to 8 GiB as much, above that at
    least 4 GiB.
    """
    memory = case.machine.memory
    total, swap, used = memory.total_bytes, memory.swap_total_bytes, memory.swap_used_bytes or 0.0
    if total is None or swap is None:
        return
    if used > _SWAP_USED_SHARE * total:
        yield advise("memory.swap_used", used=show_bytes(used))
    elif swap == 0 and total < _SWAP_LARGE_BYTES and not is_contained(case):
        yield advise("memory.swap_none", memory=show_bytes(total), gib=math.ceil(swap_wanted(total) / GIB))
    else:
        yield Fine(says=say("{size}, {used} in use", size=show_bytes(swap), used=show_bytes(used)))


def swap_wanted(memory_bytes: float) -> float:
    """The swap that a machine with so much memory shall have."""
    if memory_bytes <= 2 * GIB:
        return 2 * memory_bytes
    return memory_bytes if memory_bytes <= 8 * GIB else 4 * GIB


@check(say("memory overcommit"))
def overcommit(case: CheckInput) -> Iterator[Verdict]:
    """Whether the kernel refuses memory that programs only reserve.

    CUDA reserves address space many times larger than GPU and system memory, and forking a large process
    counts its memory twice for a moment. With vm.overcommit_memory = 2 the kernel refuses both: CUDA
    fails with out of memory while most of it is free, and DataLoader workers cannot fork.

    Warning: 2 on a machine with GPUs. 0 (heuristic) and 1 (always) are fine. Source: Linux
    documentation, admin-guide/sysctl/vm and mm/overcommit-accounting.
    """
    name = "vm.overcommit_memory"
    value = setting(case, name)
    if not case.machine.devices or (value is None and case.machine.system.os_id is None):
        return
    if value is None:
        yield sysctl_unseen(name)
    elif value != "2":
        yield Fine(says=say("{name} = {value}", name=name, value=value))
    else:
        yield advise("memory.overcommit", ratio=setting(case, "vm.overcommit_ratio") or "?")


@check(say("vm.swappiness"))
def swappiness(case: CheckInput) -> Iterator[Verdict]:
    """Whether the kernel swaps processes out too eagerly.

    vm.swappiness weighs swapping processes out against dropping page cache. At the default of 60 the
    kernel, short of memory after a large model was read, may swap out the very process that feeds the
    GPUs. Deep learning servers use 1 to 10. Since Linux 5.8 the scale ends at 200, not 100.

    Warning: above 60. Note: above 20 on a machine with swap and GPUs. Not judged without swap. Source:
    Linux documentation, admin-guide/sysctl/vm; the guides' item on swappiness.
    """
    name = "vm.swappiness"
    if not case.machine.devices or not case.machine.memory.swap_total_bytes or is_contained(case):
        return
    value = setting(case, name)
    if value is None or not value.isdecimal():
        yield sysctl_unseen(name)
    elif int(value) <= _SWAPPINESS_FINE:
        yield Fine(says=say("{name} = {value}", name=name, value=value))
    else:
        severity: Severity = "warning" if int(value) > _SWAPPINESS_USUAL else "note"
        yield advise("memory.swappiness", severity=severity, value=value)
