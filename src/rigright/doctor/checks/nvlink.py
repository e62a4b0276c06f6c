"""NVLink: link state, error counters, paths between GPUs, and what the driver logged about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from rigright.base.units import show_measured
from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.kernel_log import events, logged, meant, unseen
from rigright.doctor.record import CheckInput, Evidence, Finding, Fine, NotSeen, Verdict, check
from rigright.doctor.wires import is_real
from rigright.facts import faults
from rigright.facts.chips import Chip
from rigright.facts.fabrics import fabric_of, link_count
from rigright.machine.device import Device
from rigright.machine.host import Path

LINKS = re.compile(r"NV(\d{1,18})\Z")
MOST_SHOWN = 4
_SAME_SPEED = 0.95  # of the others': what is above it is rounding
_SEE_PATHS = "nvidia-smi topo -m"
_HARMLESS = "inband"
_LEAST_LINKS = 4  # of a pair of a baseboard since A100; V100 gives one or two


@check(say("NVLink link state"))
def nvlink_down(case: CheckInput) -> Iterator[Verdict]:
    """Whether all NVLink links of a GPU are up, against the number its model has.

    On baseboards with NVSwitch, and where SXM GPUs are wired to each other, all links must be up: fewer
    is a fault, because collectives run at the speed of the slowest link or fall back to PCIe. PCIe cards
    take a bridge: without one no link is up, which is fine; with one, some links down is a warning. A
    single GPU needs no links; on bare metal an SXM GPU with every link inactive is reported even if it
    is the only one visible. A link that is up and slower than most links of the same GPU model here is a
    warning. GPUs without NVLink, and GB10, are skipped.

    Source of links per model: data/link_rates.csv and data/chips.csv (H100 SXM 18, A100 SXM 12, H100
    PCIe 12, A800 8, V100 6).
    """
    pairs = answering(case, vendor="nvidia")
    for device, chip in pairs:
        count = None if chip is None else link_count(chip)
        if chip is None or not count or device.mig:
            continue
        together = sum(other is not None and other.id == chip.id for _, other in pairs) > 1
        bridged = fabric_of(chip, bridged=True).kind == "bridge"
        links = device.links or ()
        active = sum(link.active is True for link in links)
        untold = sum(link.active is None for link in links)
        # seen alone, on metal, and all its links inactive: its board has switches or others
        is_dark = bool(links) and not active and not untold and is_real(case)
        if together and (not bridged if device.links is None else active < count <= active + untold):
            see = f"nvidia-smi nvlink -s -i {device.index}"
            yield NotSeen(why=say("link state not reported by the driver"), see=see, about=label(device))
        elif device.links is None:
            continue
        elif active >= count or (not together and not active and not is_dark) or (bridged and not active):
            yield Fine(says=_fine(active, count, together=together), about=label(device))
        else:
            yield advise(
                "nvlink.down_in_part" if active else "nvlink.down",
                device=device,
                severity="warning" if bridged else None,
                active=active,
                count=count,
                chip=chip.name,
                links=", ".join(str(link.index) for link in links if not link.active),
                bridged=bridged,
            )
    yield from _slow(pairs)


def _slow(pairs: list[tuple[Device, Chip | None]]) -> Iterator[Finding]:
    """Cards with links that run slower than most links of their kind."""
    speeds: dict[str, Counter[float]] = {}
    for device, chip in pairs:
        if chip is not None:
            speeds.setdefault(chip.id, Counter()).update(_speeds(device).values())
    for device, chip in pairs:
        counts = Counter() if chip is None else speeds[chip.id]
        usual = max(counts, key=lambda speed: (counts[speed], speed), default=0.0)
        slow = {link: speed for link, speed in _speeds(device).items() if speed < _SAME_SPEED * usual}
        if slow:
            yield advise(
                "nvlink.slow",
                device=device,
                links=", ".join(map(str, slow)),
                rate=show_measured(min(slow.values()), "bytes_per_s"),
                usual=show_measured(usual, "bytes_per_s"),
            )


def _speeds(device: Device) -> dict[int, float]:
    """The speed of each link that is up."""
    return {link.index: link.bytes_per_s for link in device.links or () if link.active and link.bytes_per_s}


def _fine(active: int, count: int, *, together: bool) -> Sentence:
    if active >= count:
        return say("{count} of {count} up", count=count)
    return say("no NVLink bridge fitted") if together else say("single GPU: no peer to link to")


@check(say("NVLink error counters"))
def nvlink_errors(case: CheckInput) -> Iterator[Verdict]:
    """NVLink error counters.

    A link replays a packet after an error and goes through recovery after many. Some replays over weeks
    are normal; a recovery means the link was down for a moment. Blackwell reports damaged packets,
    post-FEC errors, recoveries and failed recoveries instead.

    Warning: any recovery, or 1,000 errors of one kind since the driver loaded; a bad contact is the likely
    cause.
    Sources: DCGM (a single fatal error fails a link), NVIDIA's NVLink error counters; 1,000 is our own
    limit (data/judged.toml).
    """
    for device, _ in answering(case, vendor="nvidia"):
        counted = [(link.index, dict(link.errors)) for link in device.links or () if link.errors]
        bad = [
            (index, errors)
            for index, errors in counted
            if any(errors.get(kind, 0) >= times for kind, times in faults.nvlink_errors().items())
        ]
        if bad:
            shown = [
                (index, ", ".join(f"{name} {count:,}" for name, count in errors.items() if count))
                for index, errors in bad[:MOST_SHOWN]
            ]
            sentences = [say("link {link}: {counts}", link=link, counts=counts) for link, counts in shown]
            see = f"nvidia-smi nvlink -e -i {device.index}"
            links = tuple(Evidence(shows=sentence, command=see) for sentence in sentences)
            yield advise("nvlink.errors", device=device, links=links)
        elif counted:
            yield Fine(says=say("{count} links", count=len(counted)), about=label(device))


@check(say("NVLink between the GPUs of a baseboard"))
def nvlink_paths(case: CheckInput) -> Iterator[Verdict]:
    """Whether the GPUs of an NVLink baseboard reach each other over NVLink.

    The driver's topology names the path between every two GPUs: NV18 means eighteen links. With NVSwitch
    every pair has all links of its model (A100 NV12, H100 NV18); on four-GPU boards without switches the
    links are shared among the three peers (NV4, NV6). Either way all pairs are equal: a pair that goes
    over PCIe or the CPUs, or over fewer links than another, is a fault of the baseboard, of a switch or
    of the fabric manager.

    Fault; in a virtual machine without NVLink on any pair, a warning. Sources: NVIDIA DGX and HGX data
    sheets; nvidia-smi topo -m.
    """
    linked = {
        device.index
        for device, chip in answering(case, vendor="nvidia")
        if chip is not None and not device.mig and fabric_of(chip).kind == "switch"
    } or _meshed(case)
    if len(linked) < 2:
        return
    paths = [item for item in case.machine.paths or () if {item.a, item.b} <= linked]
    if not paths:
        yield NotSeen(why=say("topology not reported by the driver"), see=_SEE_PATHS)
        return
    most = max(map(_links, paths))
    numbers = {
        device.index
        for device, _ in answering(case)
        if any(link.active is False for link in device.links or ())
    }
    bad = [item for item in paths if _links(item) < max(most, 1) and not {item.a, item.b} & numbers]
    if not bad:
        yield Fine(says=say("{count} pairs over {kind}", count=len(paths), kind=f"NV{most}"))
        return
    ends = Counter(end for path in bad for end in (path.a, path.b))
    worst, times = ends.most_common(1)[0]
    other = f"NV{most}" if most else "-"
    shown = [
        say("gpu {a} - gpu {b}: {kind}; others: {other}", a=path.a, b=path.b, kind=path.kind, other=other)
        for path in bad[:MOST_SHOWN]
    ]
    yield advise(
        "nvlink.paths",
        about=f"gpu {worst}" if times == len(bad) and len(bad) > 1 else None,
        severity="warning" if case.machine.system.is_virtual and not most else None,
        pairs=tuple(Evidence(shows=sentence, command=_SEE_PATHS) for sentence in shown),
    )


def _meshed(case: CheckInput) -> set[int]:
    """GPUs that no name tells of, where one has as many links to several others as baseboards give."""
    paths = [item for item in case.machine.paths or () if not any(case.chips)]
    ends = Counter(end for path in paths if _links(path) >= _LEAST_LINKS for end in (path.a, path.b))
    return {end for path in paths for end in (path.a, path.b)} if max(ends.values(), default=0) > 1 else set()


def _links(path: Path) -> int:
    match = LINKS.match(path.kind)
    return int(match[1]) if match else 0


@check(say("NVLink messages in the kernel log"))
def log_nvlink(case: CheckInput) -> Iterator[Verdict]:
    """What the driver logged about NVLink besides XIDs.

    Three kinds of messages matter. "postRxDetLinkMask": the driver cannot read from a GPU which of its
    links came up; seen on H100, B200, B300 and GB300, with collectives at a tenth of their rate or a
    driver that stopped answering. "Fabric state ... out of sync": the fabric was re-initialised under
    running jobs. Others name links that failed to train or start. All are warnings, because the links
    themselves are judged by nvlink_down and fabric_state. "Failed to send inband data" is ignored: it
    also appears when jobs start and end on healthy machines. Machines without NVLink are skipped. Events
    older than a week, or from before the last boot, count one level lower.

    Sources: gpud, pull requests 1271 and 1272 (its advice is a reboot);
    NVIDIA/open-gpu-kernel-modules#971 (B200, nvidia-smi hangs after 66 days); NVIDIA's status codes
    (NV_ERR_FABRIC_STATE_OUT_OF_SYNC).
    """
    chips = [chip for device, chip in case.pairs if device.vendor == "nvidia"]
    linked = any(chip is not None and link_count(chip) for chip in chips)
    if not linked and None not in chips:
        return
    given = [item for item in events(case, "nvlink") or [] if _HARMLESS not in item.text.lower()]
    for name, same in meant(given, subject="nvlink", kind="log"):
        yield logged(case, advise(name), of=same)
    if linked and not given:
        yield unseen(case, "nvlink") or Fine(says=say("none in the kernel log"))
