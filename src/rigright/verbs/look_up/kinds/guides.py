"""What the guides say: item by item with what is true and the command that shows it, and the myths."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.units import GIB, GIGA, MEGA, show_bytes, show_seconds
from rigright.base.words import Sentence, say
from rigright.doctor.checks.memory import swap_wanted
from rigright.facts.guides import GuideItem, Myth, asked_item, find_myth, guide_items, myths
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery, field

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


def _find_items(asked: LookUpQuery) -> tuple[GuideItem, ...]:
    """Items by number or guide; else the one that is asked about."""
    text = asked.text
    by_number = tuple(item for item in guide_items() if item.id == text or item.id.startswith(f"{text}."))
    item = asked_item(text)
    if not by_number and item is None:
        raise AskError(
            say('the guides say nothing of "{text}"', text=text[:80]),
            hint=say("`{see}` lists all", see="rigright look-up guides"),
        )
    return by_number or ((item,) if item else ())


GUIDES = ListingKind(
    record=GuideItem,
    title=say("The guides, item by item"),
    fields=(
        field("id", say("no."), listed=True),
        field("says", say("the guides say"), listed=True, flexible=True),
        field("right", say("what is true"), law=right, listed=True, flexible=True),
        field("command=typed", say("shown by"), listed=True, flexible=True),
    ),
    records=lambda _: guide_items(),
    find=_find_items,
    named=lambda asked: asked_item(asked.text),
    answer="right",
    searched=False,
)


MYTHS = ListingKind(
    record=Myth,
    title=say("Myths, and the right figure"),
    fields=(
        field("id", say("no."), listed=True),
        field("claim", say("claim"), listed=True, flexible=True),
        field("right=correction", say("right"), listed=True, flexible=True),
        field("guide", say("guide")),
        field("figures", say("figures"), show=lambda _: ""),
    ),
    records=lambda _: myths(),
    answer="right",
    find=lambda asked: tuple(map(find_myth, asked.words)) if all(map(str.isdigit, asked.words)) else (),
)
