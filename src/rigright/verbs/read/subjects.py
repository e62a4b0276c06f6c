"""What a text speaks about: cards, processors, rented machines, models, links, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from rigright.arch.sources import zoo
from rigright.arch.sources.find import find
from rigright.arch.sources.spelling import own_part, tables
from rigright.base.errors import maybe
from rigright.base.everyday import words_of
from rigright.base.loader import records
from rigright.base.patterns import pattern
from rigright.base.record import dataclass, replace
from rigright.base.units import MEGA
from rigright.facts.chips import Chip, chips
from rigright.facts.mentions import Mention, mentions
from rigright.verbs.look_up.model_card import ModelCard, short_card
from rigright.verbs.read.quantities import words_for

CHIP, CPU, OFFER, MODEL, LINK = "chip", "cpu", "offer", "model", "link"
MOST_MODELS = 32  # of a text
_MODEL_WORDS = 7  # words a model's name may have
_WORD = pattern(r"[A-Za-z0-9][A-Za-z0-9._+]*")
_GAP = pattern(r"[ \-_/:]")
_LOOKS = {
    CHIP: "rigright look-up {id}",
    CPU: 'rigright look-up cpus "{name}"',
    OFFER: "rigright look-up clouds {instance}",
    MODEL: "rigright look-up model {name}",
    LINK: "rigright look-up {look_up}",
}
_SIZE = pattern(r"(?<![A-Za-z0-9.])(\d{1,4}(?:\.\d{1,2})?)\s?B(?![A-Za-z0-9])")
_BESIDE_SIZE = pattern(
    r"模型|model|参数|llm|parameter|lora|fine-?tun|quantiz|量化|微调|跑|运行|部署|(?<![a-z])(?:runs?|serve|q[2-8]|int4|fp16)(?![a-z])",
    re.IGNORECASE,
)
_NAMED_BY_SIZE = pattern(r"[A-Za-z]+[- ]?(?:\d(?:\.\d)?[- ])?\d{1,3}(?:\.\d)?[Bb](?![A-Za-z0-9])")
_VERSION = pattern(r"[vV]\d")  # of a model: DeepSeek-V2
_LANES = pattern(r"\s?x(1|2|8|16)(?![\dx])")
_ANY_NVLINK = "nvlink"
_MODULES = pattern(r"(?<![A-Za-z])DDR[345][- ]?(\d{4,5})(?!\d)", re.IGNORECASE)
_CARRIED = pattern(r"[GM]i?B/s", re.IGNORECASE)
_CHANNELS = pattern(
    r"(\d{1,2}|[单双四六八]|single|dual|two|quad|four|eight)[- ]?(?:通道|channels?)", re.IGNORECASE
)
_CHANNEL_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DataLink:
    """A way for data between parts, and what it carries."""

    id: str
    name: str
    words: str
    one_way_bytes_per_s: float
    both_ways_bytes_per_s: float
    look_up: str
    source: str
    as_of: str
    confidence: str

    def of_lanes(self, lanes: int) -> DataLink:
        """The same generation of PCIe with fewer than 16."""
        one, both = (value * lanes / 16 for value in (self.one_way_bytes_per_s, self.both_ways_bytes_per_s))
        name = self.name.replace(" x16", f" x{lanes}")
        return replace(self, name=name, one_way_bytes_per_s=one, both_ways_bytes_per_s=both)


@cache
def links() -> tuple[DataLink, ...]:
    """Every row of the table."""
    return records("links.csv", DataLink)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSubject:
    """One thing that is named, in a place of the text; -1: named before the text."""

    kind: str
    start: int
    end: int
    text: str
    records: tuple[object, ...]  # what the name may mean, the usual first
    count: int = 1
    sized: bool = False  # its name says its memory

    @property
    def name(self) -> str:
        """The usual one of what it may mean."""
        return str(getattr(self.records[0], "name", getattr(self.records[0], "instance", self.text)))

    @property
    def elsewhere(self) -> ClaimSubject:
        """It as named before the text."""
        return replace(self, start=-1, end=-1)

    @property
    def shown(self) -> str:
        """The name; where it may mean several, as it was written."""
        return self.name if len(self.records) == 1 else self.text.strip("( （")

    @property
    def source(self) -> str | None:
        """Where the facts of the usual one are from."""
        value = getattr(self.records[0], "sources", None) or getattr(self.records[0], "source", None)
        return str(value) if value else None

    @property
    def command(self) -> str:
        """What shows what is known of it."""
        if self.kind == CHIP and len(self.records) > 1:
            return f'rigright look-up chips "{self.shown}"'
        value = self.records[0]
        fields = {name: getattr(value, name, "") for name in ("id", "name", "instance", "look_up")}
        return _LOOKS[self.kind].format_map(fields)


def subjects(text: str) -> tuple[ClaimSubject, ...]:
    """Everything named in a text, in its order."""
    result = [_of(mention) for mention in mentions(text) if not _VERSION.fullmatch(mention.text)]
    named_links = sorted(_links(text), key=lambda item: item.start - item.end)
    for subject in (*named_links, *_models(text)):
        if not any(other.start < subject.end and subject.start < other.end for other in result):
            result.append(subject)
    return tuple(sorted(result, key=lambda item: item.start))


def _of(mention: Mention) -> ClaimSubject:
    kind, records = (
        (CHIP, tuple[object, ...](mention.chips))
        if mention.chips
        else (CPU, (mention.cpu,))
        if mention.cpu is not None
        else (OFFER, (mention.offer,))
    )
    return ClaimSubject(
        kind=kind,
        start=mention.start,
        end=mention.end,
        text=mention.text,
        records=records,
        count=mention.count,
        sized=mention.sized,
    )


def _links(text: str) -> Iterator[ClaimSubject]:
    plain = text.lower()
    if len(plain) != len(text):
        return
    yield from _named_links(text, plain)
    yield from _channels(text)
    at = plain.find(_ANY_NVLINK)
    if at >= 0:  # some generation of it
        values = tuple[object, ...](
            data_link for data_link in links() if data_link.id.startswith(_ANY_NVLINK)
        )
        yield ClaimSubject(
            kind=LINK, start=at, end=at + len(_ANY_NVLINK), text=text[at : at + 6], records=values
        )


@cache
def _generations() -> dict[str, tuple[Chip, ...]]:
    result: dict[str, list[Chip]] = {}
    for chip in chips():
        result.setdefault(chip.architecture.partition(" (")[0].casefold(), []).append(chip)
    return {name: tuple(rows) for name, rows in result.items()}


def generation(cell: str) -> tuple[ClaimSubject, ...]:
    """All cards of an architecture, where a cell is its name."""
    rows = _generations().get(cell.strip().casefold(), ())
    return (ClaimSubject(kind=CHIP, start=0, end=len(cell), text=cell, records=rows),) if rows else ()


def _named_links(text: str, plain: str) -> Iterator[ClaimSubject]:
    for link in links():
        for word in link.words.split("|"):
            for at in (match.start() for match in re.finditer(re.escape(word), plain)):
                end = at + len(word)
                behind = plain[end : end + 1]
                if (behind.isascii() and behind.isalnum() and not _LANES.match(plain, end)) or behind == ".":
                    continue
                lanes = _LANES.match(plain, end) if link.name.endswith(" x16") else None
                end = end if lanes is None else lanes.end()
                record = link if lanes is None else link.of_lanes(int(lanes[1]))
                yield ClaimSubject(kind=LINK, start=at, end=end, text=text[at:end], records=(record,))


def _channels(text: str) -> Iterator[ClaimSubject]:
    """Memory by speed and channels, where a text tells what it carries: "DDR5-6000 双通道 96 GB/s"."""
    for match in _MODULES.finditer(text) if _CARRIED.search(text) else ():
        stated = _CHANNELS.search(text, match.end()) or _CHANNELS.search(text)
        each = float(match[1]) * MEGA * _CHANNEL_BYTES
        counts = (1, 2) if stated is None else (int(words_of("counted").get(stated[1].lower(), stated[1])),)
        records = tuple[object, ...](
            DataLink(
                id="memory", name=f"{match[0]} x{count}", words="", look_up="benchmarks ram",
                one_way_bytes_per_s=each * count, both_ways_bytes_per_s=each * count,
                source="JEDEC: 64 data bits a channel", as_of="2026-11", confidence="high",
            )
            for count in counts
        )  # fmt: skip
        yield ClaimSubject(kind=LINK, start=match.start(), end=match.end(), text=match[0], records=records)


@cache
def _families() -> frozenset[str]:
    """Words that names of models begin with."""
    names = (re.match(r"[a-z]+", own_part(name).lower()) for name in zoo.every_name())
    return frozenset(match[0] for match in names if match is not None) - frozenset(
        words_for("other than models")
    )


@cache
def _foreign() -> dict[str, str]:
    same: dict[str, str] = tables()["same"]
    return {name: word for name, word in same.items() if not name.isascii() and word in _families()}


def _models(text: str) -> Iterator[ClaimSubject]:
    words = list(_WORD.finditer(text))
    taken = number = 0
    for place, word in enumerate(words):
        begins = re.match(r"[a-z]+", word[0].casefold())
        if word.start() < taken or begins is None:
            continue
        diffusion = begins[0] in {"stable", "sd"} and "iffusion" in text[word.end() : word.end() + 12]
        sized = (
            _NAMED_BY_SIZE.match(text, word.start()) if begins[0] in words_for("other than models") else None
        )
        if begins[0] not in _families() and not diffusion and sized is None:
            continue
        subject = _model_at(text, words[place : place + _MODEL_WORDS])
        if subject is not None and number < MOST_MODELS:
            taken, number = subject.end, number + 1
            yield subject
    for name in _foreign():
        at = text.find(name)
        behind = re.match(r"[A-Za-z0-9.\- ]{0,24}", text[at + len(name) :]) if at >= 0 else None
        card = None if behind is None else _opened(f"{name}{behind[0].rstrip(' -.')}")
        if card is not None and behind is not None:
            end = at + len(name) + len(behind[0].rstrip())
            yield ClaimSubject(kind=MODEL, start=at, end=end, text=text[at:end], records=(card,))
    if not number and _BESIDE_SIZE.search(text):
        yield from _sized(text)


def _sized(text: str) -> Iterator[ClaimSubject]:
    """Models that are named by their size alone."""
    for size in _SIZE.finditer(text):
        card = _opened(f"{size[1]}B")
        if card is not None:
            yield ClaimSubject(
                kind=MODEL, start=size.start(), end=size.end(), text=size[0].replace(" ", ""), records=(card,)
            )


def _model_at(text: str, words: list[re.Match[str]]) -> ClaimSubject | None:
    """The longest name that begins with a word."""
    end = 1
    while end < len(words) and _GAP.fullmatch(text[words[end - 1].end() : words[end].start()]):
        end += 1
    for last in range(end, 0, -1):
        stated = text[words[0].start() : words[last - 1].end()].rstrip(".")
        if last < end and words[last][0][0].isdigit() and not any(map(str.isdigit, stated)):
            return None  # of a version that nobody here knows
        card = _opened(stated)
        if card is not None:
            start = words[0].start()
            return ClaimSubject(
                kind=MODEL, start=start, end=start + len(stated), text=stated, records=(card,)
            )
    return None


@lru_cache(2048)
def _opened(name: str) -> ModelCard | None:
    return maybe(lambda: short_card(find(name), name))
