"""The table behind `--why`: formula, numbers and sources of each figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rigright.base.page import Shown, Table, prose, table
from rigright.base.words import say
from rigright.verbs.serving.explained import Reason


def reasons_table(reasons: Sequence[Reason], names: Mapping[str, Shown]) -> Table:
    """One row a figure, told by its name for people where it has one."""
    return table(
        map(prose, (say("part"), say("formula"), say("numbers"), say("source"))),
        (
            (names.get(reason.part, reason.part), reason.formula, reason.numbers, reason.source)
            for reason in reasons
        ),
        title=say("why: formula, numbers, sources"),
    )
