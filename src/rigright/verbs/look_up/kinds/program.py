"""What the program itself does: the checks of the doctor, and what plugins add."""

from __future__ import annotations

from rigright.arch.sources.zoo import names
from rigright.base.errors import RigError
from rigright.base.page import Line
from rigright.base.plugins import CHECKS as CHECK_PLUGINS
from rigright.base.plugins import FACTS, TARGETS, Plugin, left_out, loaded, plugins
from rigright.base.plugins import added as facts
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say, with_semicolons
from rigright.doctor.advice import manual_of
from rigright.doctor.examine import checks, chosen, group_of
from rigright.doctor.record import Check
from rigright.facts.chips import chips
from rigright.facts.clouds import offers
from rigright.facts.prices import hosts, prices
from rigright.verbs.export import added
from rigright.verbs.look_up.listing import ListingKind, field


def group(entry: Check) -> str:
    """The group of checks it belongs to."""
    return group_of(entry.name)


CHECKS = ListingKind(
    record=Check,
    title=say("Checks of doctor"),
    fields=(
        field("name", say("check"), listed=True),
        field("group", say("group"), law=group, listed=True),
        field("title", say("looks at"), listed=True, flexible=True),
        field("manual", say("manual"), show=lambda _: ""),
    ),
    records=lambda _: tuple(checks().values()),
    find=lambda asked: tuple(checks()[name] for name in chosen(asked.words)),
    parts=lambda entry: tuple(Line(text=paragraph) for paragraph in manual_of(entry)),
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
    fields=(
        field("package", say("package"), listed=True),
        field("version", say("version"), listed=True),
        field("facts", say("facts"), listed=True),
        field("targets", say("targets"), listed=True),
        field("checks", say("checks"), listed=True),
        field("left_out", say("not used"), law=_left_out_of, listed=True, flexible=True),
    ),
    records=lambda _: _packages(),
)
