"""NVLink links of cards: up, without errors, used between every two, and what the driver wrote of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.happened import events
from rigright.doctor.log_lines import logged, unseen
from rigright.doctor.record import Case, Evidence, Fine, NotSeen, Verdict, check
from rigright.doctor.wires import is_real
from rigright.facts.fabrics import fabric_of
from rigright.facts.link_counts import link_count
from rigright.machine.host import Path
from rigright.machine.system import Event

LINKS = re.compile(r"NV(\d{1,18})\Z")
MANY_REPLAYS = 1_000
MOST_SHOWN = 4
SEE_PATHS = "nvidia-smi topo -m"
HARMLESS = "inband"
MEANINGS = {  # what a line of the log means, by words in it: the first that fits
    "nvlink.log_unlearnt": ("postrxdet", "rx detect"),
    "nvlink.log_out_of_sync": ("out of sync",),
    "nvlink.log_trouble": ("",),
}


@check(say("every NVLink link is up"))
def nvlink_down(case: Case) -> Iterator[Verdict]:
    """Whether every NVLink link of a card is up, by the number its very model has.

    On boards with switches, and where cards are wired to each other (SXM), all links must be up: fewer is a
    fault, for collectives run at the pace of the slowest link or fall back to PCIe. Cards with a slot take a
    bridge: without one no link is up, and that is no finding; with one, some links up and some down is a
    warning. A card that stands alone needs none; that all links of a card of a board are inactive is told on
    metal even where it is the only one seen. Chips without NVLink, and GB10, are not asked.

    Source of links by model: data/link_rates.csv and data/chips.csv (H100 SXM 18, A100 SXM 12, H100 PCIe 12,
    A800 8, V100 6).
    """
    found = answering(case, vendor="nvidia")
    for device, chip in found:
        count = None if chip is None else link_count(chip)
        if chip is None or not count or device.mig:
            continue
        together = sum(other is not None and other.id == chip.id for _, other in found) > 1
        bridged = fabric_of(chip, bridged=True).kind == "bridge"
        links = device.links or ()
        active = sum(link.active is True for link in links)
        untold = sum(link.active is None for link in links)
        # seen alone, on metal, and all its links inactive: its board has switches or others
        is_dark = bool(links) and not active and not untold and is_real(case)
        if together and (not bridged if device.links is None else active < count <= active + untold):
            see = f"nvidia-smi nvlink -s -i {device.index}"
            yield NotSeen(why=say("the driver does not tell it"), see=see, about=label(device))
        elif device.links is None:
            continue
        elif active >= count or (not together and not is_dark) or (bridged and not active):
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


def _fine(active: int, count: int, *, together: bool) -> Sentence:
    if active >= count:
        return say("{count} of {count} up", count=count)
    return say("no bridge is on it") if together else say("it stands alone")


@check(say("NVLink links without errors"))
def nvlink_errors(case: Case) -> Iterator[Verdict]:
    """Errors that NVLink links count.

    A link sends a packet again after an error (replay) and is brought up anew after many (recovery). Some
    replays are normal over weeks; a recovery means that the link was down for a moment. Any recovery:
    warning; 1,000 replays or more since the driver loaded: warning; the link most likely has a bad contact.

    Sources: DCGM (a single fatal error fails a link), NVIDIA's NVLink error counters; 1,000 is our own
    limit.
    """
    for device, _ in answering(case, vendor="nvidia"):
        counted = [(link.index, dict(link.errors)) for link in device.links or () if link.errors]
        bad = [
            (index, errors)
            for index, errors in counted
            if errors.get("recovery", 0) > 0 or errors.get("replay", 0) >= MANY_REPLAYS
        ]
        if bad:
            shown = [
                (index, ", ".join(f"{name} {count:,}" for name, count in errors.items() if count))
                for index, errors in bad[:MOST_SHOWN]
            ]
            told = [say("link {link}: {counts}", link=link, counts=counts) for link, counts in shown]
            see = f"nvidia-smi nvlink -e -i {device.index}"
            links = tuple(Evidence(shows=one, command=see) for one in told)
            yield advise("nvlink.errors", device=device, links=links)
        elif counted:
            yield Fine(says=say("{count} links", count=len(counted)), about=label(device))


@check(say("cards of a board reach each other over NVLink"))
def nvlink_paths(case: Case) -> Iterator[Verdict]:
    """Whether the cards of a board with NVLink reach each other over it.

    The topology the driver tells names the path between each two cards: NV18 means eighteen links. With
    switches every pair has all links of its model (A100 NV12, H100 NV18); on boards of four cards without
    switches they are shared out over the three others (NV4, NV6). Either way every pair has the same: a pair
    that goes over PCIe or the processors, or over fewer links than another, is a fault of the board, of a
    switch or of its manager.

    Fault; where no pair has NVLink in a virtual machine, a warning. Sources: NVIDIA DGX and HGX data sheets;
    nvidia-smi topo -m.
    """
    linked = {
        device.index
        for device, chip in answering(case, vendor="nvidia")
        if chip is not None and not device.mig and fabric_of(chip).kind == "switch"
    }
    if len(linked) < 2:
        return
    paths = [one for one in case.machine.paths or () if {one.a, one.b} <= linked]
    if not paths:
        yield NotSeen(why=say("the driver does not tell how cards reach each other"), see=SEE_PATHS)
        return
    most = max(map(_links, paths))
    told = {
        device.index
        for device, _ in answering(case)
        if any(link.active is False for link in device.links or ())
    }
    bad = [one for one in paths if _links(one) < max(most, 1) and not {one.a, one.b} & told]
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
        pairs=tuple(Evidence(shows=one, command=SEE_PATHS) for one in shown),
    )


def _links(path: Path) -> int:
    match = LINKS.match(path.kind)
    return int(match[1]) if match else 0


@check(say("the driver reports no trouble with NVLink"))
def log_nvlink(case: Case) -> Iterator[Verdict]:
    """What the driver wrote of NVLink in the kernel log, beside XIDs: links that it cannot make out.

    Three kinds of lines tell of trouble. "postRxDetLinkMask": the driver does not learn from a card which of
    its links came up; seen on H100, B200, B300 and GB300, with collectives at a tenth of their rate, or a
    driver that no longer answered. "Fabric state ... out of sync": the fabric was set up anew beneath
    programs that still run. Others name links whose training or start failed. All of them are warnings, for
    the links themselves are judged by nvlink_down and fabric_state. "Failed to send inband data" alone is
    left out: it comes at the start and end of programs on sound machines too. Machines whose cards have no
    NVLink are not asked. What happened more than a week ago, or before the last boot, weighs one step less.

    Sources: gpud, pull requests 1271 and 1272 (its advice is a reboot); NVIDIA/open-gpu-kernel-modules#971
    (B200, nvidia-smi hangs after 66 days); NVIDIA's status codes (NV_ERR_FABRIC_STATE_OUT_OF_SYNC).
    """
    chips = [chip for device, chip in case.pairs if device.vendor == "nvidia"]
    linked = any(chip is not None and link_count(chip) for chip in chips)
    if not linked and None not in chips:
        return
    told = [one for one in events(case, "nvlink") or [] if HARMLESS not in one.text.lower()]
    for name in MEANINGS:
        same = [event for event in told if _meaning_of(event) == name]
        if same:
            yield logged(case, advise(name), of=same)
    if linked and not told:
        yield unseen(case, "nvlink") or Fine(says=say("none in the kernel log"))


def _meaning_of(event: Event) -> str:
    line = event.text.lower()
    return next(name for name, words in MEANINGS.items() if any(word in line for word in words))
