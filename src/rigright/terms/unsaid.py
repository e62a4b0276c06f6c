"""What inputs that a question leaves open may be, by how people run (`data/unsaid.toml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from rigright.base.tables import DATA, read_toml
from rigright.cost.unsaid import Prior


@cache
def priors(work: str) -> Mapping[str, Prior]:
    """What may be unsaid of a kind of work ("serving", "training", ...), by name."""
    return {
        name: Prior(
            name=name,
            values=tuple(row["values"]),
            weights=tuple(row.get("weights", [1.0] * len(row["values"]))),
            option=row.get("option", ""),
        )
        for name, row in read_toml(DATA / "unsaid.toml").get(work, {}).items()
    }
