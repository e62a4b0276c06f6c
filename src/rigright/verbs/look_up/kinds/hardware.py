"""Hardware: accelerators and their architectures, CPUs, platforms, and what healthy machines reach."""

from __future__ import annotations

import re

from rigright.base.errors import AskError
from rigright.base.page import Shown
from rigright.base.units import GIB, MIB
from rigright.base.words import Sentence, say, worded
from rigright.facts.bench import Reference, references
from rigright.facts.chips import Chip, Features, chips, features
from rigright.facts.cpus import CpuModel, cpus
from rigright.facts.find import find_chips, match_chip
from rigright.facts.naming import read_tokens
from rigright.facts.parts import Platform, platforms
from rigright.verbs.look_up.filters import by_words, with_words
from rigright.verbs.look_up.listing import (
    ListingKind,
    LookUpQuery,
    fields_of,
    price_date_shown,
    stale_notes,
    yes_no,
)

_SERIES = re.compile(  # "rtx 40", "50 series", "40系", "rx 7000"
    r"(?i)\s*(?:(?:geforce|radeon)\s*)?(?:(?P<brand>rtx|gtx)\s*(?P<first>\d\d)(?:\s*(?:series|系列|系))?"
    r"|(?P<tens>\d\d)(?:xx)?\s*(?:series|系列|系)|rx\s*(?P<rx>\d)(?:000|xxx)(?:\s*(?:series|系列|系))?)\s*"
)


def _find_chips(asked: LookUpQuery) -> tuple[Chip, ...]:
    """Every chip the words could mean; the one they mean alone with the memory they name."""
    text = asked.text
    series = _SERIES.fullmatch(text)
    if series is not None:
        brand, first = series["brand"] or "(?:RTX|GTX)", series["first"] or series["tens"]
        begun = rf"{brand} {first}" if series["rx"] is None else rf"RX {series['rx']}\d"
        named = re.compile(rf"(?i)\b{begun}\d\d(?!\d)")
        if members := tuple(chip for chip in chips() if named.search(chip.name)):
            return members
    try:
        result = find_chips(text)
    except AskError:
        own = (
            [word] if word.isascii() else [item.text for item in read_tokens(word)] for word in text.split()
        )
        words = [word for each in own for word in each]  # "昇腾" is ascend
        result = with_words(chips(), " ".join(words), texts=_chip_words)
        if not result or not any(words):
            raise
        return result
    return (match_chip(text).chip,) if len(result) == 1 else result


def _chip_words(chip: Chip) -> str:
    """What a chip is and has, in words; notes say what it lacks, too."""
    texts = [chip.vendor, chip.name, chip.architecture, chip.segment, chip.form, chip.mem_type]
    return " ".join(filter(None, (*texts, chip.link, chip.isa)))


def _named_chip(asked: LookUpQuery) -> Chip | None:
    """The chip a name means, where it says more than a maker or a size."""
    text = asked.text
    try:
        says_more = any(token.kind == "word" for token in read_tokens(text))
        return match_chip(text).chip if says_more else None
    except AskError:
        return None


def _yes(value: object) -> Sentence | str:
    """Whether it is there, as tables write it."""
    return yes_no(value) if isinstance(value, bool) else worded("fault")(str(value))


CHIPS = ListingKind(
    record=Chip,
    title=say("Chips"),
    fields=fields_of(
        "chips",
        shows={
            "mem_usable_bytes": lambda size: f"{size / MIB:,.0f} MiB",
            "mem_program_bytes": lambda size: f"{size / GIB:.2f} GiB",
            "ecc": _yes,
        },
    ),
    records=lambda _: chips(),
    find=_find_chips,
    named=_named_chip,
    notes=lambda _asked, _kept: (
        say("dense rates with FP32 accumulation, as PyTorch uses; 16-bit: bf16, or fp16 where there is none"),
    ),
    searched=False,
)


ARCHITECTURES = ListingKind(
    record=Features,
    title=say("Chip architectures"),
    fields=fields_of("architectures", shows={"isa": " ".join}),
    records=lambda _: features(),
    find=by_words(features, "architecture", "isa", "examples"),
)


def _cpu_notes(asked: LookUpQuery, kept: tuple[CpuModel, ...]) -> tuple[Shown, ...]:
    dates = {cpu.street_as_of for cpu in kept if cpu.street_as_of}
    sentences = [
        say("shop prices as of {date}", date=price_date_shown(as_of, asked.today)) for as_of in sorted(dates)
    ]
    return (*sentences, *stale_notes(dates, asked.today))


CPUS = ListingKind(
    record=CpuModel,
    title=say("CPUs"),
    fields=fields_of("cpus", shows={"ecc": _yes}),
    records=lambda _: cpus(),
    find=by_words(cpus, "id", "name", "architecture", "socket"),
    notes=_cpu_notes,
)


PLATFORMS = ListingKind(
    record=Platform,
    title=say("Platforms"),
    fields=fields_of("platforms"),
    records=lambda _: platforms(),
    find=by_words(platforms, "id", "name", "socket", "kind"),
)


BENCHMARKS = ListingKind(
    record=Reference,
    title=say("Benchmark reference values"),
    fields=fields_of("benchmarks"),
    records=lambda _: references(),
    find=by_words(references, "what", "on", "chip"),
)
