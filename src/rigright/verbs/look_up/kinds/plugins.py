"""Plugins: packages that add facts, export targets and checks, and what of them counts."""

from __future__ import annotations

from collections import Counter

from rigright.arch.sources.zoo import names
from rigright.base.errors import RigError
from rigright.base.plugin_tables import facts
from rigright.base.plugins import CHECKS, FACTS, TARGETS, Plugin, left_out, loaded, plugins
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say, with_semicolons
from rigright.doctor.examine import checks
from rigright.verbs.export import added
from rigright.verbs.look_up.listing import Asked, Field, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class AddingPackage:
    """All that one package adds."""

    package: str
    version: str
    facts: tuple[str, ...]  # "chips.csv 2"
    targets: tuple[str, ...]
    checks: tuple[str, ...]
    left_out: tuple[Sentence, ...]


def _packages() -> tuple[AddingPackage, ...]:
    """Every package with a plugin; all that it adds is loaded."""
    names()
    found: dict[str, Plugin] = {str(one): one for group in (FACTS, TARGETS, CHECKS) for one in plugins(group)}
    rows = Counter((str(one.plugin), one.table) for one in facts())
    targets = [(str(one), name) for name, one in added().items()]
    own_checks = [(str(one.plugin), name) for name, one in checks().items() if one.plugin is not None]
    return tuple(
        AddingPackage(
            package=one.package,
            version=one.version,
            facts=tuple(f"{table} {count}" for (of, table), count in rows.items() if of == key),
            targets=tuple(name for of, name in targets if of == key),
            checks=tuple(name for of, name in own_checks if of == key),
            left_out=(*(gone.said for gone in left_out() if gone.plugin == key), *_broken(key)),
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


def _find(asked: Asked) -> tuple[AddingPackage, ...]:
    """AddingPackages by a part of their names."""
    words = [word.lower() for word in asked.words]
    return tuple(one for one in _packages() if all(word in one.package.lower() for word in words))


KIND = Kind(
    summary=say("plugins: installed packages that add facts, export targets or checks"),
    title=say("Plugins"),
    fields=(
        Field(key="package", head=say("package"), read=lambda one: one.package),
        Field(key="version", head=say("version"), read=lambda one: one.version),
        Field(key="facts", head=say("facts"), read=lambda one: list(one.facts), show=", ".join),
        Field(key="targets", head=say("targets"), read=lambda one: list(one.targets), show=", ".join),
        Field(key="checks", head=say("checks"), read=lambda one: list(one.checks), show=", ".join),
        Field(
            key="left_out", head=say("not used"), flexible=True,
            read=lambda one: with_semicolons(one.left_out), show=lambda said: said or "",
        ),
    ),
    find=_find,
)  # fmt: skip
