"""What the guides say, item by item: what is true, and the command that shows it."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.units import GIB, GIGA, MEGA, show_bytes, show_seconds
from rigright.base.words import Sentence, say
from rigright.doctor.checks.memory import swap_wanted
from rigright.facts.guides import GuideItem, asked_item, guide_items
from rigright.verbs.look_up.fields import field
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery

LOADED_BYTES = 10 * GIGA
DISKS = {"sata": 550 * MEGA, "nvme3": 3.5 * GIGA, "nvme4": 7 * GIGA}  # bytes/s, read in order
MEMORIES = {"small": 2 * GIB, "middle": 8 * GIB, "large": 64 * GIB}
CLOCKS_HZ = (2.5 * GIGA, 3.5 * GIGA)


def figures() -> dict[str, str]:
    """What is worked out for items: seconds of a load, sizes of swap, what a clock can save."""
    slow, fast = CLOCKS_HZ
    return {
        **{name: show_seconds(LOADED_BYTES / rate) for name, rate in DISKS.items()},
        **{name: show_bytes(size) for name, size in MEMORIES.items()},
        **{f"{name}_swap": show_bytes(swap_wanted(size)) for name, size in MEMORIES.items()},
        "less": f"{1 - slow / fast:.0%}",
    }


def right(item: GuideItem) -> Sentence | None:
    """What is true of it, with its figures."""
    if item.right is None:
        return item.told
    worked_out = figures()
    named = tuple((name, value) for name, value in worked_out.items() if f"{{{name}}}" in item.right.text)
    return Sentence(item.right.text, named, item.right.chinese)


def command(item: GuideItem) -> str:
    """The command that shows it."""
    return item.typed


def _named(asked: LookUpQuery) -> GuideItem | None:
    """The item that a question is about."""
    return asked_item(" ".join(asked.words))


def _find(asked: LookUpQuery) -> tuple[GuideItem, ...]:
    """Items by number or guide; else the one that is asked about, and those in whose words all stand."""
    if not asked.words:
        return guide_items()
    text = " ".join(asked.words)
    by_number = tuple(
        guide_item
        for guide_item in guide_items()
        if guide_item.id == text or guide_item.id.startswith(f"{text}.")
    )
    result = by_number or tuple(guide_item for guide_item in (asked_item(text),) if guide_item is not None)
    if not result:
        raise AskError(
            say('the guides say nothing of "{text}"', text=text[:80]),
            hint=say("`{see}` lists all", see="rigright look-up guides"),
        )
    return result


KIND = ListingKind(
    record=GuideItem,
    summary=say("what the guides say, item by item, with what is true and the command that shows it"),
    title=say("The guides, item by item"),
    fields=(
        field("id", say("no."), listed=True),
        field("says", say("the guides say"), listed=True, flexible=True),
        field("right", say("what is true"), law=right, listed=True, flexible=True),
        field("command", say("shown by"), law=command, listed=True, flexible=True),
    ),
    find=_find,
    named=_named,
    searched=False,
)
