"""Main memory: its modules and channels, swap, shared memory, what the kernel does when it runs short."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from rigright.base.units import GIB, KIB, KILO, MEGA, MIB, show_bytes, show_short
from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.kernel_line import with_option
from rigright.doctor.record import Case, Fine, NotSeen, Severity, Verdict, check
from rigright.doctor.stack import is_contained, setting, sysctl_unseen
from rigright.doctor.wires import is_real
from rigright.facts.cpu_names import cpu_named
from rigright.facts.cpus import CHANNEL_BYTES
from rigright.machine.amd.isa import shares_memory
from rigright.machine.host import MemoryModule

CORRECTED_A_DAY = 24.0
DAY_S = 86_400.0
LENT_LEAST_SHARE, LENT_GOOD_SHARE = 0.7, 0.75
PAGE_BYTES = 4 * KIB
RESERVED_SHARE = 0.25
SHM_A_CARD_BYTES, SHM_OF_DOCKER_BYTES = GIB, 64 * MIB
HALF, WHOLE = 0.5, 0.98  # what the firmware keeps is not counted as missing
SLOW_SHARE = 0.85
SWAP_LARGE_BYTES, SWAP_USED_SHARE = 64 * GIB, 0.1
SWAPPINESS_FINE, SWAPPINESS_USUAL = 20, 60


@check(say("memory channels filled"))
def memory_channels(case: Case) -> Iterator[Verdict]:
    """Memory channels: how many are filled, and evenly.

    Each filled channel adds its full rate; an empty one is rate thrown away. A processor of eight channels
    with two modules reads at a quarter of its rate, which slows loading, offloading, preprocessing and every
    part of a model that runs on the processor. Unequal channels let part of the memory run without
    interleaving.

    Warning: fewer than half the channels of this processor are filled; note: fewer than all, or unevenly.
    The number of channels comes from the facts of the very processor. Source: the makers' data sheets;
    guide 2 (channels before capacity).
    """
    modules = case.machine.memory.modules
    if modules is None and is_real(case):
        closed = [one for one in case.machine.unseen if one.what == "memory.modules"]
        yield from (NotSeen(why=one.why, see=one.see) for one in closed[:1])
    filled = [one for one in modules or () if one.size_bytes]
    named = cpu_named(case.machine.cpu.name)
    if not is_real(case) or not filled or named is None or named.mem_channels is None:
        return
    sizes: Counter[str | None] = Counter()
    for one in filled:
        sizes[one.channel] += int(one.size_bytes or 0)
    is_told = None not in sizes  # else each module may have a channel of its own
    most = named.mem_channels * (case.machine.cpu.sockets or 1)
    used = min(len(sizes) if is_told else len(filled), most)
    speed = max(one.set_mt_s or one.rated_mt_s or 0.0 for one in filled)
    seen = {
        "places": ", ".join(one.slot for one in filled[:16]),
        "rate": show_short(speed * CHANNEL_BYTES / KILO) if speed else "?",
    }
    if used < most:
        severity: Severity = "warning" if used * 2 < most else "note"
        yield advise("memory.channels_empty", seen, severity=severity, used=used, most=most)
    elif is_told and len(set(sizes.values())) > 1:
        yield advise("memory.channels", seen)
    else:
        yield Fine(says=say("all of them, evenly; channels: {count}", count=most))


@check(say("errors of the main memory"))
def memory_errors(case: Case) -> Iterator[Verdict]:
    """Errors of the main memory, as its controllers count them (ECC).

    A corrected error now and then is what ECC is for. Many in a short time tell of a module about to fail;
    an uncorrected one has already given wrong data or ended a program. Without ECC none of this is seen: a
    training run of weeks may take in a wrong bit unnoticed.

    Fault: an uncorrected error since boot. Warning: more than 24 corrected a day. Source: Linux EDAC;
    threshold of corrected errors: mcelog's default of memory triggers (10 or more in 24 hours a page) taken
    for the whole machine, rounded up.
    """
    memory = case.machine.memory
    if not is_real(case) or (memory.corrected_errors is None and memory.uncorrected_errors is None):
        return
    days = max((case.machine.system.up_s or DAY_S) / DAY_S, 1.0)
    soft, hard = memory.corrected_errors or 0, memory.uncorrected_errors or 0
    if hard or soft > CORRECTED_A_DAY * days:
        yield advise("memory.uncorrected" if hard else "memory.corrected", soft=soft, hard=hard)
    else:
        yield Fine(says=say("{corrected} corrected, none uncorrected since boot", corrected=soft))


@check(say("graphics inside the processor may use enough memory"))
def memory_lent(case: Case) -> Iterator[Verdict]:
    """How much of main memory graphics inside an AMD processor may use.

    ROCm takes from what the firmware set aside or from what the kernel lends (GTT), whichever is larger. The
    kernel lends half of main memory by default: of 128 GiB a model may have 62. `ttm.pages_limit` raises
    that, in pages of 4 KiB; the older `amdgpu.gttsize` beside it does harm. A large part set aside by the
    firmware is lost to everything else, so the smallest one and a high limit are the better way.

    Less than 70 % of main memory on a chip that is meant for models: note. Source: ROCm issue 5595, measured
    on a Ryzen AI Max+ 395: 25165824 pages give 96 GiB.
    """
    whole = case.machine.memory.total_bytes
    for device, chip in answering(case, vendor="amd"):
        if chip is None or not shares_memory(device.isa):
            continue
        limit = device.mem_total_bytes
        if whole is None or limit is None:
            see = "cat /sys/class/drm/card*/device/mem_info_gtt_total"
            yield NotSeen(why=say("the limit is not told"), see=see, about=label(device))
        elif limit >= LENT_LEAST_SHARE * whole:
            yield Fine(says=say("it may use {size}", size=show_bytes(limit)), about=label(device))
        else:
            lent = int(LENT_GOOD_SHARE * whole / GIB) * GIB
            yield advise(
                "memory.lent",
                device=device,
                limit=show_bytes(limit),
                whole=show_bytes(whole),
                size=show_bytes(lent),
                option=with_option(case, f"ttm.pages_limit={int(lent / PAGE_BYTES)}"),
            )


@check(say("huge pages"))
def memory_pages(case: Case) -> Iterator[Verdict]:
    """Sizes of pages: huge ones reserved, and transparent ones.

    Reserved huge pages are lost to everything that does not ask for them; few frameworks do. Transparent
    huge pages set to `always` help most training, and now and then make a service stall while pages are put
    together; `madvise` leaves the choice to each program; `never` takes a little from loaders that map large
    files.

    Warning: more than a quarter of memory is reserved and free. Note: transparent pages are off. Source:
    Linux documentation of hugetlbpage and transparent hugepages.
    """
    memory = case.machine.memory
    if not case.machine.devices or memory.total_bytes is None or memory.transparent_huge is None:
        return
    reserved = (memory.huge_total or 0) * (memory.huge_bytes or 0.0)
    if reserved > RESERVED_SHARE * memory.total_bytes:
        yield advise("memory.pages_reserved", size=show_bytes(reserved), count=memory.huge_total)
    elif memory.transparent_huge == "never":
        yield advise("memory.pages_off")
    else:
        yield Fine(says=say("transparent ones: {setting}", setting=memory.transparent_huge))


@check(say("shared memory (/dev/shm)"))
def memory_shm(case: Case) -> Iterator[Verdict]:
    """Shared memory (/dev/shm), which loader workers and several GPUs on one machine pass data through.

    Docker gives a container 64 MiB of it unless told otherwise: PyTorch's loader workers then die with a bus
    error, and NCCL fails or falls back. A machine gives half its memory.

    Warning below 1 GiB for each card (of one card or more), fault at Docker's 64 MiB where cards are here.
    Source: Docker's default of --shm-size; PyTorch's README on --ipc=host; NCCL documentation
    (NCCL_SHM_DISABLE).
    """
    size, cards = case.machine.memory.shm_bytes, len(case.machine.devices)
    if size is None or not cards:
        return
    if size >= SHM_A_CARD_BYTES * cards:
        yield Fine(says=say("{size}", size=show_bytes(size)))
        return
    is_tiny = size <= SHM_OF_DOCKER_BYTES
    yield advise(
        "memory.shm",
        severity="fault" if is_tiny else "warning",
        size=show_bytes(size),
        cards=cards,
        inside=is_tiny or case.machine.system.is_contained,
    )


@check(say("main memory large enough for the cards"))
def memory_size(case: Case) -> Iterator[Verdict]:
    """Main memory against the cards' memory.

    The guides contradict each other: one asks for twice the cards' memory, one for four times, one for 8 to
    16 GB for each GB of a card (which nobody builds). What the work needs: a checkpoint passes through main
    memory on its way to the cards, loaders hold batches, offloading holds what does not fit. As much as the
    cards hold together is a floor that works for serving; twice is comfortable for training.

    Warning: less than half the cards' memory; note: less than all of it. Unified memory has nothing to
    compare. Source: guides 2 and 3 and their contradiction (look-up myths); DGX H100 ships 2 TiB for 640 GiB
    of cards.
    """
    memory = case.machine.memory
    cards = [
        one.mem_total_bytes
        for one, chip in case.pairs
        if not one.unified_memory and not (chip is not None and chip.unified_memory)
    ]
    known = [size for size in (memory.total_bytes, memory.limit_bytes) if size is not None]
    if not known or not cards or any(size is None for size in cards):
        return
    usable, held = min(known), sum(size or 0.0 for size in cards)
    sizes = {"memory": show_bytes(usable), "cards": show_bytes(held)}
    if usable >= WHOLE * held:
        yield Fine(says=say("{memory} for {cards} of the cards", **sizes))
    else:
        severity: Severity = "warning" if usable < HALF * held else "note"
        yield advise("memory.size", sizes, severity=severity, limited=memory.limit_bytes == usable)


@check(say("memory runs at its speed"))
def memory_speed(case: Case) -> Iterator[Verdict]:
    """Speed of the memory modules: as set, as they are rated, as the processor allows.

    Desktop modules start at a slow standard speed until their profile (XMP, EXPO) is chosen in the firmware;
    a board with two modules on a channel, or with mixed modules, lowers it on purpose. What the processor
    officially allows is the bound: nothing is said of modules that could run faster than it.

    Warning: set more than 15 % below what module and processor allow with one module a channel; note where
    two share a channel or it is less. Source: JEDEC DDR4 and DDR5 speeds; the makers' memory support tables.
    """
    filled = [one for one in case.machine.memory.modules or () if one.size_bytes and one.rated_mt_s]
    if not is_real(case) or not filled:
        return
    if any(one.set_mt_s is None for one in filled):
        see = "sudo dmidecode -t memory | grep -E 'Locator|Speed'"
        yield NotSeen(why=say("the firmware does not tell the speed that is set"), see=see)
        return
    rated = sorted({one.rated_mt_s or 0.0 for one in filled})
    if len(rated) > 1:
        yield advise("memory.speeds_mixed", speeds=", ".join(f"{speed:g}" for speed in rated))
    named = cpu_named(case.machine.cpu.name)
    allowed = named.mem_transfers_per_s if named is not None and named.mem_transfers_per_s else math.inf

    def bound(one: MemoryModule) -> float:
        return min(one.rated_mt_s or 0.0, allowed / MEGA)

    slow = [one for one in filled if (one.set_mt_s or 0.0) < bound(one)]
    if not slow:
        yield Fine(says=say("{speed} MT/s", speed=f"{filled[0].set_mt_s:g}"))
        return
    one = min(slow, key=lambda module: module.set_mt_s or 0.0)
    shared = max(Counter(module.channel or module.slot for module in filled).values()) > 1
    yield advise(
        "memory.speed_low",
        severity="warning" if (one.set_mt_s or 0.0) < SLOW_SHARE * bound(one) and not shared else "note",
        confidence="likely" if shared else "sure",
        now=f"{one.set_mt_s:g}",
        most=f"{bound(one):g}",
        slot=one.slot,
        rated=f"{one.rated_mt_s:g}",
        shared=shared,
    )


@check(say("swap"))
def memory_swap(case: Case) -> Iterator[Verdict]:
    """Swap: there, large enough, and not at work.

    Some swap turns a moment of too much into slowness, where without it the kernel ends a program. On
    machines with little memory it saves loads of large models; with hundreds of GiB it hardly matters, and
    Kubernetes wants it off. Much swap in use means memory is short now.

    Note: none on a machine below 64 GiB. Warning: more than a tenth of memory lies in swap. Rule of size for
    small machines (guide 2): up to 2 GiB of memory twice as much, up to 8 GiB as much, above at least 4 GiB.
    """
    memory = case.machine.memory
    total, swap, used = memory.total_bytes, memory.swap_total_bytes, memory.swap_used_bytes or 0.0
    if total is None or swap is None:
        return
    if used > SWAP_USED_SHARE * total:
        yield advise("memory.swap_used", used=show_bytes(used))
    elif swap == 0 and total < SWAP_LARGE_BYTES and not is_contained(case):
        wanted = 2 * total if total <= 2 * GIB else total if total <= 8 * GIB else 4 * GIB
        yield advise("memory.swap_none", memory=show_bytes(total), gib=math.ceil(wanted / GIB))
    else:
        yield Fine(says=say("{size}, {used} in use", size=show_bytes(swap), used=show_bytes(used)))


@check(say("programs may reserve more memory than they use"))
def overcommit(case: Case) -> Iterator[Verdict]:
    """Whether the kernel refuses memory that programs only reserve.

    CUDA reserves address space many times the memory of card and machine, and forking a large process counts
    its memory twice for a moment. With vm.overcommit_memory = 2 the kernel refuses both: CUDA fails to start
    with out of memory while most of it is free, and DataLoader workers cannot fork.

    2: warning on a machine with cards. 0 (heuristic) and 1 (always): fine. Source: Linux documentation,
    admin-guide/sysctl/vm and mm/overcommit-accounting.
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


@check(say("the kernel does not swap programs out eagerly"))
def swappiness(case: Case) -> Iterator[Verdict]:
    """Whether the kernel swaps programs out too eagerly.

    vm.swappiness weighs swapping programs out against dropping cached files. At the default 60 the kernel,
    short of memory after a large model was read, may swap out the very process that feeds the cards. Servers
    for deep learning keep 1 to 10. Since Linux 5.8 the scale ends at 200, not 100.

    Above 60: warning; 60 on a machine with swap and cards: note; up to 20: fine. Without swap it plays no
    part. Source: Linux documentation, admin-guide/sysctl/vm; the guides' item on swappiness.
    """
    name = "vm.swappiness"
    if not case.machine.devices or not case.machine.memory.swap_total_bytes or is_contained(case):
        return
    value = setting(case, name)
    if value is None or not value.isdecimal():
        yield sysctl_unseen(name)
    elif int(value) <= SWAPPINESS_FINE:
        yield Fine(says=say("{name} = {value}", name=name, value=value))
    else:
        severity: Severity = "warning" if int(value) > SWAPPINESS_USUAL else "note"
        yield advise("memory.swappiness", severity=severity, value=value)
