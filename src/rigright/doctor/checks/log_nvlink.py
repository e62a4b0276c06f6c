"""What the driver wrote of NVLink in the kernel log, beside XIDs: links that it cannot make out.

Three kinds of lines tell of trouble. "postRxDetLinkMask": the driver does not learn from a card which of its
links came up; seen on H100, B200, B300 and GB300, with collectives at a tenth of their rate, or a driver
that no longer answered. "Fabric state ... out of sync": the fabric was set up anew beneath programs that
still run. Others name links whose training or start failed. All of them are warnings, for the links
themselves are judged by nvlink_down and fabric_state. "Failed to send inband data" alone is left out: it
comes at the start and end of programs on sound machines too. Machines whose cards have no NVLink are not
asked. What happened more than a week ago, or before the last boot, weighs one step less.

Sources: gpud, pull requests 1271 and 1272 (its advice is a reboot); NVIDIA/open-gpu-kernel-modules#971 (B200,
nvidia-smi hangs after 66 days); NVIDIA's status codes (NV_ERR_FABRIC_STATE_OUT_OF_SYNC).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import FABRIC_LOG, reboot
from rigright.doctor.happened import events
from rigright.doctor.log_lines import finding, unseen
from rigright.doctor.record import Case, Fine, Step, Verdict, as_root, step
from rigright.facts.link_counts import link_count
from rigright.machine.system import Event

TITLE = say("the driver reports no trouble with NVLink")
_HARMLESS = "inband"
_SEE_LINKS = step(say("see which links are up, and whether they count errors"), "nvidia-smi nvlink -s")
_RESET_ALL = as_root(
    say("let what runs end, then reset all cards with the switches"), "nvidia-smi --gpu-reset", disturbs=True
)
_NEWER = step(say("change to the newest driver of its branch"), "rigright setup")
Meaning = tuple[tuple[str, ...], Sentence, Sentence, tuple[Step, ...]]
_MEANINGS: tuple[Meaning, ...] = (  # words of a line -> what it says, why it matters, what to do
    (
        ("postrxdet", "rx detect"),
        say("the driver does not learn which NVLink links came up"),
        say("collectives may take a way many times slower, and programs that ask the driver may hang"),
        (_SEE_LINKS, FABRIC_LOG, reboot(), _NEWER),
    ),
    (
        ("out of sync",),
        say("the driver knows an NVLink fabric that is no more"),
        say("the fabric was set up anew beneath running programs: what they share over it fails"),
        (FABRIC_LOG, _RESET_ALL, reboot()),
    ),
    (
        ("",),
        say("the driver reports trouble with NVLink"),
        say("cards that copy over such a link wait, fail, or fall back to PCIe"),
        (_SEE_LINKS, _RESET_ALL, reboot()),
    ),
)


def check(case: Case) -> Iterator[Verdict]:
    """One finding for each kind of trouble."""
    chips = [chip for device, chip in case.pairs if device.vendor == "nvidia"]
    linked = any(chip is not None and link_count(chip) for chip in chips)
    if not linked and None not in chips:
        return
    told = [one for one in events(case, "nvlink") or [] if _HARMLESS not in one.text.lower()]
    for meaning in _MEANINGS:
        _, title, why, fix = meaning
        same = [event for event in told if _meaning_of(event) is meaning]
        if same:
            yield finding(case, same, title=title, why=why, fix=fix, severity="warning")
    if linked and not told:
        yield unseen(case, "nvlink") or Fine(says=say("none in the kernel log"))


def _meaning_of(event: Event) -> Meaning:
    line = event.text.lower()
    return next(meaning for meaning in _MEANINGS if any(word in line for word in meaning[0]))
