"""Plugins: packages that add facts, export targets and checks, and what of them counts."""

from __future__ import annotations

from rigright.arch.sources.zoo import names
from rigright.base.errors import RigError
from rigright.base.plugins import CHECKS, FACTS, TARGETS, Plugin, left_out, loaded, plugins
from rigright.base.plugins import added as facts
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say, with_semicolons
from rigright.doctor.examine import checks
from rigright.facts.chips import chips
from rigright.facts.clouds import offers
from rigright.facts.prices import hosts, prices
from rigright.verbs.export import added
from rigright.verbs.look_up.fields import field
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery


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
    found: dict[str, Plugin] = {str(one): one for group in (FACTS, TARGETS, CHECKS) for one in plugins(group)}
    for read in (chips, prices, offers, hosts):
        read()
    targets = [(str(one), name) for name, one in added().items()]
    own_checks = [(str(one.plugin), name) for name, one in checks().items() if one.plugin is not None]
    return tuple(
        AddingPackage(
            package=one.package,
            version=one.version,
            facts=tuple(name for name, of in facts().items() if of == key),
            targets=tuple(name for of, name in targets if of == key),
            checks=tuple(name for of, name in own_checks if of == key),
            left_out=(*(said for of, said in left_out() if of == key), *_broken(key)),
        )
        for key, one in sorted(found.items())
    )


def _broken(package: str) -> list[Sentence]:
    """Why targets of a package cannot be loaded."""
    found = []
    for one in added().values():
        try:
            loaded(one)
        except RigError as error:
            if str(one) == package:
                found.append(say("{name}: {why}", name=one.name, why=error.sentence))
    return found


def _find(asked: LookUpQuery) -> tuple[AddingPackage, ...]:
    """AddingPackages by a part of their names."""
    words = [word.lower() for word in asked.words]
    return tuple(one for one in _packages() if all(word in one.package.lower() for word in words))


def left_out_of(one: AddingPackage) -> Sentence | None:
    """What it brings that is not used, and why."""
    return with_semicolons(one.left_out)


KIND = ListingKind(
    record=AddingPackage,
    summary=say("plugins: installed packages that add facts, export targets or checks"),
    title=say("Plugins"),
    fields=(
        field("package", say("package"), listed=True),
        field("version", say("version"), listed=True),
        field("facts", say("facts"), listed=True),
        field("targets", say("targets"), listed=True),
        field("checks", say("checks"), listed=True),
        field("left_out", say("not used"), law=left_out_of, listed=True, flexible=True),
    ),
    find=_find,
)
