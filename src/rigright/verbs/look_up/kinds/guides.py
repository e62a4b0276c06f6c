"""What the guides say, item by item; and what the program itself does: checks of the doctor, plugins."""

from __future__ import annotations

from rigright.arch.sources.zoo import names
from rigright.base.errors import AskError, RigError
from rigright.base.page import Line, Part
from rigright.base.plugins import CHECKS as CHECK_PLUGINS
from rigright.base.plugins import FACTS, TARGETS, Plugin, left_out, loaded, plugins
from rigright.base.plugins import added as facts
from rigright.base.record import dataclass
from rigright.base.units import GIB, GIGA, MEGA, show_bytes, show_seconds
from rigright.base.words import Sentence, say, with_semicolons
from rigright.doctor.advice import manual_of
from rigright.doctor.checks.memory import swap_wanted
from rigright.doctor.examine import checks, chosen, group_of
from rigright.doctor.record import Check
from rigright.facts.chips import chips
from rigright.facts.clouds import offers
from rigright.facts.guides import GuideItem, Myth, asked_item, find_myth, guide_items, myths
from rigright.facts.prices import hosts, prices
from rigright.verbs.export import added
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery, fields_of

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
    fields=fields_of("guides", laws={"right": right}),
    records=lambda _: guide_items(),
    find=_find_items,
    named=lambda asked: asked_item(asked.text),
    answer="right",
    searched=False,
)


MYTHS = ListingKind(
    record=Myth,
    title=say("Myths, and the right figure"),
    fields=fields_of("myths"),
    records=lambda _: myths(),
    answer="right",
    find=lambda asked: tuple(map(find_myth, asked.words)) if all(map(str.isdigit, asked.words)) else (),
)


def _manual(entry: Check) -> tuple[Part, ...]:
    """The manual, a paragraph a line."""
    return tuple(Line(text=paragraph) for paragraph in manual_of(entry))


def group(entry: Check) -> str:
    """The group of checks it belongs to."""
    return group_of(entry.name)


CHECKS = ListingKind(
    record=Check,
    title=say("Checks of doctor"),
    fields=fields_of("checks", laws={"group": group}),
    records=lambda _: tuple(checks().values()),
    find=lambda asked: tuple(checks()[name] for name in chosen(asked.words)),
    parts=_manual,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddingPackage:
    """All that one package adds."""

    package: str
    version: str
    facts: tuple[str, ...]  # ids, instances and models
    targets: tuple[str, ...]
    checks: tuple[str, ...]
    left_out: tuple[Sentence, ...]


def _packages() -> tuple[AddingPackage, ...]:
    """Every package with a plugin; all that it adds is loaded."""
    names()
    result: dict[str, Plugin] = {
        str(plugin): plugin for group in (FACTS, TARGETS, CHECK_PLUGINS) for plugin in plugins(group)
    }
    for read in (chips, prices, offers, hosts):
        read()
    targets = [(str(plugin), name) for name, plugin in added().items()]
    own_checks = [(str(check.plugin), name) for name, check in checks().items() if check.plugin is not None]
    return tuple(
        AddingPackage(
            package=plugin.package,
            version=plugin.version,
            facts=tuple(name for name, of in facts().items() if of == key),
            targets=tuple(name for of, name in targets if of == key),
            checks=tuple(name for of, name in own_checks if of == key),
            left_out=(*(sentence for of, sentence in left_out() if of == key), *_broken(key)),
        )
        for key, plugin in sorted(result.items())
    )


def _broken(package: str) -> list[Sentence]:
    """Why targets of a package cannot be loaded."""
    sentences = []
    for plugin in added().values():
        try:
            loaded(plugin)
        except RigError as error:
            if str(plugin) == package:
                sentences.append(say("{name}: {why}", name=plugin.point.name, why=error.sentence))
    return sentences


def _left_out_of(adding_package: AddingPackage) -> Sentence | None:
    """What it brings that is not used, and why."""
    return with_semicolons(adding_package.left_out)


PLUGINS = ListingKind(
    record=AddingPackage,
    title=say("Plugins"),
    fields=fields_of("plugins", laws={"left_out": _left_out_of}),
    records=lambda _: _packages(),
)
