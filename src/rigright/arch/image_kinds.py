"""Kinds of image networks: which are alike in how often they touch their maps, by words of their names."""

from __future__ import annotations

from functools import cache

from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_rows, text


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageKind:
    """Networks alike; a kin holds several kinds."""

    id: str
    kin: str


OTHER = ImageKind(id="other", kin="other")


@cache
def kind_of(name: str) -> ImageKind:
    """The first kind a name has a word of, such as "resnet" of "resnet50"."""
    lower = name.lower().replace("-", "_").replace(" ", "_")
    return next((kind for word, kind in _kinds() if word in lower), OTHER)


def arch_kind(arch: Arch) -> ImageKind:
    """The kind of a network: by its name, else by its family."""
    named = kind_of(arch.name)
    return kind_of(arch.family) if named.id == "other" else named


@cache
def _kinds() -> tuple[tuple[str, ImageKind], ...]:
    columns = ("word", "kind", "kin")
    rows = read_rows(DATA / "arch" / "image_kinds.csv", dict.fromkeys(columns, text), required=columns)
    return tuple((row["word"], ImageKind(id=row["kind"], kin=row["kin"])) for row in rows)
