"""The user's own runs, as `calibrate --from` wrote them: factors by chip, engine and figure.

They stand in the user's folder of settings, or in the file that was named; `use` names it for a while.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from errno import EISDIR
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

from rigright.base.errors import DataError
from rigright.base.files import is_file, no_file, settings_folder, unread
from rigright.base.record import dataclass
from rigright.base.tables import foreign_toml
from rigright.base.units import GIGA
from rigright.base.words import say

NONE = "none"  # instead of a file: leave the user's own runs out
FILE = "anchors.toml"
MANY = 1024  # answers of a law that are worth their memory

_NAMED: ContextVar[str | None] = ContextVar("anchors", default=None)
_USED: ContextVar[set[str] | None] = ContextVar("used", default=None)
_FOUND: ContextVar[list[tuple[Anchor, ...]] | None] = ContextVar("found", default=None)

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCase:
    """What tells one run of a model from another; 0 and "" say nothing."""

    weights: str = ""
    chips: float = 0.0
    load: float = 0.0  # requests in flight, sequences of a batch
    prompt_tok: float = 0.0
    output_tok: float = 0.0
    apart: bool = False  # prompts have workers of their own
    staged: bool = False  # tensors could be cut, and layers are: stages work one after another


_KINDS: dict[str, type | tuple[type, ...]] = {"str": str, "int": int, "float": (int, float), "bool": bool}
ANY = RunCase()
FULL = GIGA  # a load: as many requests as fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """What runs of the user's own say of one figure of one chip in one engine.

    With a model, of that model there; with a load too, of that very case.
    """

    subject: str
    chip: str
    engine: str  # "": any
    figure: str
    shift: float  # own runs over predictions, as far as they are believed
    narrow: float  # of the band's width, what is left
    runs: int
    as_of: str = ""
    model: str = ""  # "": any
    weights: str = ""
    chips: float = 0.0
    load: float = 0.0
    prompt_tok: float = 0.0
    output_tok: float = 0.0
    apart: bool = False
    staged: bool = False

    @property
    def case(self) -> RunCase:
        """The case it is of."""
        return RunCase(**{field.name: getattr(self, field.name) for field in fields(RunCase)})


def place() -> Path:
    """Where anchors stand unless another file is named."""
    return settings_folder() / "rigright" / FILE


@contextmanager
def use(named: str | None) -> Iterator[set[str]]:
    """Take anchors from a file (None: the usual place; "none": nowhere); yields those that moved a figure."""
    if named is not None and named != NONE and not Path(named).is_file():
        raise unread(named, IsADirectoryError(EISDIR, "")) if Path(named).is_dir() else no_file(named)
    used: set[str] = set()
    before, spoken, read = _NAMED.set(named), _USED.set(used), _FOUND.set([])
    try:
        yield used
    finally:
        _NAMED.reset(before)
        _USED.reset(spoken)
        _FOUND.reset(read)


def anchors() -> tuple[Anchor, ...]:
    """Every anchor in force; outside of `use` there is none."""
    result, named = _FOUND.get(), _NAMED.get()
    if result is None or named == NONE:
        return ()
    if not result:
        path = Path(named) if named is not None else place()
        result.append(_read(path, path.stat().st_mtime_ns) if is_file(path) else ())
    return result[0]


def unmoved(law: Callable[P, T]) -> Callable[P, T]:
    """A law whose answers are remembered for as long as no run of the user's own moves any of them."""
    return remembered(most=MANY)(law)


def remembered(*, most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """The same of so many answers."""

    def kept(law: Callable[P, T]) -> Callable[P, T]:
        known = cast("Callable[P, T]", lru_cache(maxsize=most)(law))

        @wraps(law)
        def asked(*given: P.args, **named: P.kwargs) -> T:
            return law(*given, **named) if anchors() else known(*given, **named)

        return asked

    return kept


def note_anchor(anchor: Anchor) -> None:
    """Note that an anchor moved a figure, so that the answer can say so."""
    used = _USED.get()
    if used is not None:
        used.add(f"{anchor.chip}, {anchor.engine}, {anchor.figure}" if anchor.engine else anchor.chip)


@cache
def _read(path: Path, written_ns: int) -> tuple[Anchor, ...]:
    """Read a file of anchors as it was last written; what cannot be one is an error that names it."""
    del written_ns
    anchors = []
    rows = foreign_toml(path).get("anchor", [])
    for number, row in enumerate(rows if isinstance(rows, list) else [rows], 1):
        try:
            anchor = Anchor(**row)
            place = (anchor.chips, anchor.load, anchor.prompt_tok, anchor.output_tok)
            good = all(
                isinstance(getattr(anchor, side.name), _KINDS[str(side.type)]) for side in fields(anchor)
            )
            good = good and 0.01 < float(anchor.shift) < 100 and 0 < float(anchor.narrow) <= 1
            good = good and all(0 <= float(side) < math.inf for side in place)
        except (TypeError, ValueError):
            good = False
        if not good:
            raise DataError(say("{file}: cannot read anchor {number}", file=path.name, number=number))
        anchors.append(anchor)
    return tuple(anchors)
