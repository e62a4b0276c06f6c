"""One finder for loose chip names, used everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from rigright.base.errors import AskError, maybe, unknown
from rigright.base.loader import rows
from rigright.base.patterns import pattern
from rigright.base.record import dataclass, replace
from rigright.base.units import GIB, to_gib
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip, by_id, chips, memory_share
from rigright.facts.clouds import find_family
from rigright.facts.naming import (
    Calling,
    Token,
    boxes,
    brands,
    callings,
    memory_word,
    memory_words,
    pieces,
    read_counts,
    read_tokens,
    vocabulary,
)

_LEAST_SEEN = 0.88  # of the memory that a card is sold with, that programs see
_MOST_SHOWN = 8
_RAM = pattern(r"\b(?:ram|dram|ddr[345]|memory)\b|内存", re.IGNORECASE)
_MOST_NEAR = 3
_MARKS = frozenset({"open", "close", "plus"})
_CUT = pattern(r"([0-9A-Za-z]*)(?:\.\.\.|…)")  # nvidia-smi cuts long names short, maybe within a word
_LEAST_SEEN, _MOST_SEEN = 0.86, 1.01  # a driver's total against the advertised size: T4 with ECC, H200


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The chip a name means, and what was assumed where the name left it open."""

    chip: Chip
    note: Sentence | None = None


def find_chip(text: str) -> Chip:
    """The chip a loose name means."""
    return match_chip(text).chip


def match_chip(text: str, *, total_bytes: float | None = None) -> Match:
    """The chip a loose name means, with a note on what was assumed; a known total memory narrows it."""
    known = by_id().get(text)
    if known:
        return Match(chip=known)
    cut = _CUT.search(text)
    counted = read_counts(read_tokens(text if cut is None else text[: cut.start()]))
    return match_tokens(text, counted.name, total_bytes=total_bytes or counted.total_bytes)


def find_chips(text: str) -> tuple[Chip, ...]:
    """Every chip a loose name could mean, in the order of the table."""
    texts, agreeing = _read(text, read_counts(read_tokens(text)).name)
    return tuple(_by_chip(agreeing).values()) or (_rented(text, texts),)


def names_chip(text: str) -> bool:
    """Whether a text calls a chip by its name, and not by a family of instances that have it."""
    return maybe(lambda: bool(_read(text, read_counts(read_tokens(text)).name)[1])) or False


def chips_meant(text: str) -> tuple[Chip, ...]:
    """The chips a name means equally well, the usual one first: of "A100" every form and size."""
    known = by_id().get(text)
    if known:
        return (known,)
    counted = read_counts(read_tokens(text))
    texts, agreeing = _read(text, counted.name)
    if not agreeing:
        raise _unknown(text, texts)
    meant = _named(texts, agreeing) or agreeing
    ranked = sorted(meant, key=lambda call: (call.rank is None, call.rank or 0))
    chips = tuple(_by_chip(ranked).values())
    return (_sized(text, texts, chip=chips[0]).chip,) if len(chips) == 1 else chips


def match_tokens(text: str, tokens: tuple[Token, ...], *, total_bytes: float | None = None) -> Match:
    """The chip that tokens mean; `text` is what an error quotes."""
    cut = _CUT.search(text)
    usual = _by_memory(text, tokens)
    if usual is not None:
        return usual
    texts, agreeing = _read(text, tokens)
    if cut is not None and cut.group(1):
        agreeing = _begun(texts, agreeing, part=cut.group(1).casefold())
    if not agreeing:
        return Match(chip=_rented(text, texts))
    if total_bytes is not None:
        # the callings of chips that may report this total; of near
        # sizes, such as 94 and 96 GB, the nearest
        off = {call.chip.id: _off(call.chip, total_bytes) for call in agreeing}
        nearest = min((size for size in off.values() if size is not None), default=None)
        agreeing = [call for call in agreeing if off[call.chip.id] == nearest is not None] or agreeing
    named = [] if cut else _named(texts, agreeing)
    if not named and len(_by_chip(agreeing)) == 1:
        named = agreeing[:1]
    return _choose(text, texts, meant=named or agreeing, sure=bool(named))


def _by_memory(text: str, tokens: tuple[Token, ...]) -> Match | None:
    """The most common card of a size, where the size is all that is said: "24gb"."""
    texts = _plain(tokens) - {"gpu", "card", "vram"}
    size = next(iter(texts)) if len(texts) == 1 else ""
    if not size.endswith("gb") or size not in _cards_by_memory():
        return None
    chip, *others = (by_id()[item] for item in _cards_by_memory()[size])
    note = say(
        'using {chip} for "{text}", the most common card of that size; others: {others}',
        chip=chip.name,
        text=text,
        others=_shown_names(others),
    )
    return Match(chip=chip, note=note)


def size_of(total_bytes: float) -> str | None:
    """The size that a card of so much memory is sold by: "40gb" for the 39.4 GiB that programs see."""
    sizes = ((float(size.removesuffix("gb")) * GIB, size) for size in _cards_by_memory())
    return next((size for most, size in sorted(sizes) if _LEAST_SEEN * most <= total_bytes <= most), None)


@cache
def _cards_by_memory() -> dict[str, tuple[str, ...]]:
    return {size: tuple(named.split()) for size, named in rows("cards_by_memory.csv", "size", "chips")}


def _begun(texts: frozenset[str], agreeing: list[Calling], *, part: str) -> list[Calling]:
    """The callings with a further word that begins so, one of their own before one that many bear."""
    own = [
        call
        for call in callings()
        if texts <= call.may and any(word.startswith(part) for word in call.own - texts)
    ]
    return (
        own
        or [call for call in agreeing if any(word.startswith(part) for word in call.may - texts)]
        or agreeing
    )


def _named(text: frozenset[str], agreeing: list[Calling]) -> list[Calling]:
    """The callings whose key is said in full, and of these the longest keys; one a chip."""
    full = [calling for calling in agreeing if calling.key <= text]
    most = max((len(calling.key) for calling in full), default=0)
    return list({call.chip.id: call for call in full if len(call.key) == most}.values())


def _by_chip(calls: Iterable[Calling]) -> dict[str, Chip]:
    return {calling.chip.id: calling.chip for calling in calls}


def _rented(text: str, texts: frozenset[str]) -> Chip:
    """The chip of a family of cloud instances, where a name is one; else why nothing answers to it."""
    chip = by_id().get(find_family(text) or "")
    if chip is None:
        raise _unknown(text, texts)
    return chip


def _off(chip: Chip, total_bytes: float) -> float | None:
    """How far a total is from what is advertised; None where it is too far: drivers report a little less."""
    sizes = (chip.mem_bytes / chip.devices, *chip.mem_options_bytes)
    fitting = (size for size in sizes if _LEAST_SEEN * size <= total_bytes <= size * _MOST_SEEN)
    return min((abs(size - total_bytes) for size in fitting), default=None)


def _choose(text: str, texts: frozenset[str], *, meant: list[Calling], sure: bool) -> Match:
    """The only one, or the usual one with a note; otherwise the list of what it could be."""
    if sure and len(meant) == 1:
        return _sized(text, texts, chip=meant[0].chip)
    ranked = sorted(
        (calling for calling in meant if calling.rank is not None), key=lambda call: call.rank or 0
    )
    if not sure or not ranked or (len(ranked) > 1 and ranked[0].rank == ranked[1].rank):
        raise AskError(
            say('"{text}" is ambiguous: {choices}', text=text, choices=_shown_names(_by_chip(meant).values()))
        )
    chip, sized = ranked[0].chip, _sized(text, texts, chip=ranked[0].chip)
    others = [calling.chip for calling in meant if calling.chip is not chip]
    note = say(
        'using {chip} for "{text}"; it could also mean {others}',
        text=text,
        chip=_with_size(sized.chip),
        others=_shown_names(others),
    )
    return replace(sized, note=note)


def _sized(text: str, texts: frozenset[str], *, chip: Chip) -> Match:
    """Give a shared-memory machine the size that was said, or its largest with a note."""
    announced = say("{chip} is announced, not sold: its figures are its maker's", chip=chip.name)
    if len(chip.mem_options_bytes) < 2:
        return Match(chip=chip, note=announced if chip.is_announced else None)
    for size in chip.mem_options_bytes:
        if memory_word(to_gib(size)) in texts:
            return Match(chip=with_memory(chip, size))
    note = say(
        'assuming {size} GiB of memory for "{text}"; sold with {sizes} GiB',
        text=text,
        size=f"{to_gib(chip.mem_bytes):g}",
        sizes=", ".join(f"{to_gib(size):g}" for size in chip.mem_options_bytes),
    )
    return Match(chip=chip, note=note)


def with_memory(chip: Chip, mem_bytes: float) -> Chip:
    """The same chip sold with another size of memory."""
    share = memory_share(chip.vendor, chip.segment, mem_bytes=mem_bytes)
    return replace(
        chip,
        mem_bytes=mem_bytes,
        mem_usable_bytes=mem_bytes * share.driver,
        mem_program_bytes=mem_bytes * share.program,
        mem_estimated=True,
        mem_source=share.why,
        mem_confidence="low",
    )


def _read(text: str, tokens: tuple[Token, ...]) -> tuple[frozenset[str], list[Calling]]:
    """The words that name the chip, and the callings that agree with them.

    lspci and rocm-smi put the name in square brackets behind a code name; elsewhere brackets hold
    remarks, which count only where they agree with the name before them.
    """
    square, outside = _split_brackets(tokens)
    readings = [_plain(square), _plain(tokens), _plain(outside)]
    for reading in readings:
        agreeing = _agreeing(reading)
        if agreeing:
            return reading, agreeing
    reading = _plain(outside) or _plain(tokens)
    if not reading:
        raise AskError(
            say('no GPU found in "{text}"', text=text),
            hint=say("for example {example}", example="RTX 4090, H100"),
        )
    return reading, []


def _split_brackets(tokens: tuple[Token, ...]) -> tuple[list[Token], list[Token]]:
    """What stands in square brackets, and what stands in none."""
    square, outside, open_marks = [], [], list[str]()
    for token in tokens:
        if token.kind == "open":
            open_marks.append(token.text)
        elif token.kind == "close":
            open_marks = open_marks[:-1]
        elif not open_marks:
            outside.append(token)
        elif "[" in open_marks:
            square.append(token)
    return square, outside


def _plain(tokens: Iterable[Token]) -> frozenset[str]:
    """The words of a name: all but marks of counting."""
    return frozenset(token.text for token in tokens if token.kind not in _MARKS)


def _agreeing(texts: frozenset[str]) -> list[Calling]:
    """The callings that nothing said speaks against, and that something said speaks for."""
    named = texts - boxes()
    calls = [
        call
        for call in callings()
        if texts & call.own
        and (texts <= call.may or (named <= call.may and (call.chip.link_max_chips or 0) > 4))
    ]
    return [call for call in calls if not call.chip.is_added] or calls  # a plugin takes no name from ours


def _unknown(text: str, texts: frozenset[str]) -> AskError:
    """Why nothing answers to a name, and what is near."""
    sizes = frozenset(word for word in texts if word.endswith("gb") and word[0].isdecimal())
    of_other_size = _by_chip(_agreeing(texts - sizes)) if sizes else {}
    if of_other_size:
        return unknown(say("GPU"), text, known=[_shown_names(of_other_size.values())])
    if _RAM.search(text):
        return AskError(
            say('"{text}" includes system memory', text=text),
            hint=say("give only the GPUs: 2x rtx 4090, m3 ultra 512gb"),
        )

    if texts <= frozenset[str]().union(*brands().values()):
        hint = say("name one: {example}", example="RTX 4090, H100")
        return AskError(say('"{text}" names many GPUs', text=text), hint=hint)

    def near() -> list[str]:
        certain = texts.intersection(vocabulary()).difference(*brands().values())
        chips = (_first_of(_agreeing(certain)) if certain - sizes else []) or _nearest(text)
        return [_shown_names(chips)] if chips else []

    return _uncounted(text) or unknown(say("GPU"), text, near=near, see="rigright look-up chips")


def _uncounted(text: str) -> AskError | None:
    """That a chip is known by name alone, and the nearest that is counted."""
    bare = re.sub(r"[\s_-]+", "", text.casefold())
    for key, name, near in rows("chips_uncounted.csv", "key", "name", "near"):
        if key in bare:
            nearest = say("nearest with figures: {chip}", chip=by_id()[near].name)
            return AskError(
                say("{chip} is known, but has no published figures to count with", chip=name), hint=nearest
            )
    return None


def _first_of(named: list[Calling]) -> list[Chip]:
    """The most usual chips among callings."""
    ranked = sorted(named, key=lambda call: (call.rank is None, call.rank or 0))
    return list(_by_chip(ranked).values())[:_MOST_NEAR]


def _nearest(text: str) -> list[Chip]:
    """The chips whose names are written most alike."""
    from difflib import get_close_matches

    names = {
        written: chip
        for chip in chips()
        for written in (chip.name.lower(), chip.id.replace("-", " "), " ".join(sorted(pieces(chip.id))))
    }
    names |= {" ".join(sorted(call.key)): call.chip for call in callings() if call.key}
    close = get_close_matches(text.lower()[:60], names, n=6, cutoff=0.55)
    return list({names[name].id: names[name] for name in close}.values())[:_MOST_NEAR]


def _shown_names(chips: Iterable[Chip]) -> str:
    """Names for a sentence, with their memory where the name leaves it out, at most eight."""
    chips = list(chips)
    names = [_with_size(chip) for chip in chips[:_MOST_SHOWN]]
    return ", ".join(names) + (f", ... ({len(chips)})" if len(chips) > _MOST_SHOWN else "")


def _with_size(chip: Chip) -> str:
    size = f"{to_gib(chip.mem_bytes):g}"
    return chip.name if memory_words(chip) & pieces(chip.name) else f"{chip.name} ({size} GB)"
