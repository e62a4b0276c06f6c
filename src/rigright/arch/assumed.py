"""Assumptions behind a count that no reference implementation could confirm."""

from __future__ import annotations

from rigright.arch.record import Arch
from rigright.base.record import replace
from rigright.base.words import Sentence, say


def near_published(arch: Arch) -> Arch:
    """Counted from a description; only the publisher's rounded total is known to agree."""
    return warned(
        arch,
        say(
            "{family}: counted from its description; close to the published total, not checked "
            "against a reference implementation",
            family=arch.family,
        ),
    )


def warned(arch: Arch, warning: Sentence) -> Arch:
    """The Arch with one more warning."""
    return replace(arch, warnings=(*arch.warnings, warning))
