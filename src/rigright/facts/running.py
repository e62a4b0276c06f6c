"""What runs: which weight formats an engine takes on which chips, and whether the chip multiplies in them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache

from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_rows, text
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip

NATIVE = "native"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """One engine on chips of one kind; an empty cell of the table fits all."""

    engine: str
    formats: tuple[str, ...]  # ids, or patterns such as "gguf:*"
    vendor: str
    isa: tuple[str, ...]
    cc_min: tuple[int, int] | None  # least compute capability
    architectures: tuple[str, ...]
    how: str  # "native": multiplied in the format; "16-bit": unpacked to 16 bit first
    source: str
    as_of: str
    confidence: str

    def holds(self, chip: Chip) -> bool:
        """Whether a chip is of this kind."""
        own = chip.compute_capability
        return (
            chip.vendor == self.vendor
            and (not self.isa or chip.isa in self.isa)
            and (self.cc_min is None or (own is not None and own >= self.cc_min))
            and (not self.architectures or chip.architecture in self.architectures)
        )

    def takes(self, form: str) -> bool:
        """Whether weights of a format are among those it runs."""
        return any(fnmatchcase(form, pattern) for pattern in self.formats)


@cache
def runnings() -> tuple[Running, ...]:
    """Every row, in its order."""
    words = ("engine", "vendor", "how", "source", "as_of", "confidence")
    lists = ("formats", "isa", "architectures")
    readers = {
        **dict.fromkeys(words, text),
        **dict.fromkeys(lists, lambda cell: tuple(cell.split())),
        "cc_min": _version,
    }
    rows = read_rows(DATA / "engine_runs.csv", readers, required=(*words, "formats"))
    return tuple(Running(**row | {name: row[name] or () for name in lists}) for row in rows)


@cache
def how_runs(engine: str, form: str, *, chip: Chip) -> str | None:
    """How an engine runs weights of a format on a chip; None where it does not."""
    return next((row.how for row in runs_of(engine) if row.takes(form) and row.holds(chip)), None)


def engines_of(chip: Chip) -> tuple[str, ...]:
    """The engines that run anything on a chip, in the order of the table."""
    return tuple(dict.fromkeys(row.engine for row in runnings() if row.holds(chip)))


def unrun(engine: str, form: str, *, chip: Chip) -> Sentence | None:
    """What keeps an engine from running such weights on a chip, and what does run there.

    None where it runs them, and where nothing is known of the engine.
    """
    if not runs_of(engine) or how_runs(engine, form, chip=chip) is not None:
        return None
    shown = form.removeprefix("gguf:")
    rows = [row for row in runs_of(engine) if row.holds(chip)]
    forms = dict.fromkeys(form.removesuffix(":*") for row in rows for form in row.formats)
    if forms:
        return say(
            "{engine} does not run {form} weights on {chip}; supported there: {forms}",
            engine=engine, form=shown, chip=chip.name, forms=", ".join(forms),
        )  # fmt: skip
    others = engines_of(chip)
    if others:
        return say("{engine} does not run on {chip}; engines that do: {engines}",
                   engine=engine, chip=chip.name, engines=", ".join(others))  # fmt: skip
    return say("no known engine runs on {chip}", chip=chip.name)


@cache
def runs_of(engine: str) -> tuple[Running, ...]:
    """What is known of an engine; nothing: where it runs is not known."""
    return tuple(row for row in runnings() if row.engine == engine)


def _version(cell: str) -> tuple[int, int]:
    major, _, minor = cell.partition(".")
    return int(major), int(minor or 0)
