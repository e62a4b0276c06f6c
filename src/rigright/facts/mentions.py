"""Names of cards and processors inside running text, each read by the one finder of its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from rigright.base.errors import maybe
from rigright.base.everyday import words_of
from rigright.base.patterns import pattern
from rigright.base.record import dataclass
from rigright.facts.chips import Chip
from rigright.facts.clouds import Offer, offers
from rigright.facts.cpus import CpuModel, cpus
from rigright.facts.find import chips_meant
from rigright.facts.naming import brands, callings, read_tokens, vocabulary

MOST_MENTIONS = 64  # of a text
BEFORE, BEHIND = 3, 4  # words around the telling one that may belong to a name
_WORD = pattern(r"[A-Za-z0-9]+(?:\.[0-9]+)?")
_GLUED = pattern(r"\d{1,4}[xX](?=[A-Za-z])")
_INSIDE = pattern(r"[ \-_®™]{1,2}")
_GAMING = pattern(r"[2-5]0[5-9]0")
_NUMBERED = pattern(r"[0-9]{1,5}[a-z]{0,3}")
_SERIES = pattern(r"\s*(?:系列|series\b|[- ]series)", re.IGNORECASE)
_UNIT = pattern(
    r"\s?(?:(?:[gmt]i?b|w|v|a|mm|mhz|ghz|tflops)(?![a-z])|元|美元|个|核|[,.]\d|%|年)", re.IGNORECASE
)
_COUNT_BEFORE = pattern(
    r"(?:(?<!第)(?<!第\s)(\d{1,4})\s?(?:[x×*]|块|张|卡|个|颗|路|-?gpu)\s?"
    r"|(双|[两三四五六七八九十](?=[块张个颗卡路])|(?:dual|quad|two|three|four|five|six|eight)(?=[\s-]))[块张个颗卡路]?[\s-]?)"
    r"(?:socket\s|的|服务器|nvidia|geforce|amd|\s){0,3}\Z",
    re.IGNORECASE,
)
_BARE_COUNT = pattern(
    r"(?:(?P<opens>^[\s>*-]*|[|,;:，；：、。(（]\s*|[用有在买租需要配的共跑和或到装]\s?"
    r"|\b(?:on|of|with|and|or|to|needs?|use[ds]?|using|have|has|had|own|buy|rent|across|over|than|at|in|from|for|are|is"
    r"|our|my|runs?|got|between|bought|rented|adds?|added|compare[sd]?|get|take[sn]?|want|both)\s+)|(?<![\d.$¥€-])\b)"
    r"(?:(?P<nodes>\d{1,3})\s?[x×]\s?)?(?P<count>\d{1,4})\s(?:nvidia|geforce|amd|\s){0,3}\Z",
    re.IGNORECASE | re.MULTILINE,
)
_YEARS = range(1990, 2100)
_SEVERAL = pattern(
    r"s\b|[\s-]*(?:\d+\s?gi?b\s*)?(?:gpus|cards|accelerators|nodes|块|张|卡|节点|显卡)", re.IGNORECASE
)
_OTHER_THAN_CARDS = pattern(r"[\s-]*(?:gpu[\s-]*)?(?:hours?|h\b|days?|小时|卡时|天)", re.IGNORECASE)
_COUNT_BEHIND = pattern(r"\s?(?:[x×*]\s?(\d{1,4})(?![\dA-Za-z.])|[(（]?(双卡))", re.IGNORECASE)
_BOX = pattern(r"(?:(\d{1,2})\s?[x×]\s?)?\b[dh]gx[ -]?\Z", re.IGNORECASE)
_CPU_NUMBER = pattern(r"[a-z]{0,2}-?\d{3,5}[a-z0-9]{0,4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One name in a text: what it may mean, the usual first."""

    start: int
    end: int
    text: str
    chips: tuple[Chip, ...] = ()
    cpu: CpuModel | None = None
    offer: Offer | None = None
    count: int = 1  # as it is written beside the name

    @property
    def sized(self) -> bool:
        """Whether the name says how much memory it is about."""
        return bool(re.search(r"\d\s?[gG](?:i?[bB])?\b", self.text))


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    text: str


def mentions(text: str) -> tuple[Mention, ...]:
    """Every card, processor and rented machine that a text names, in its order."""
    result: list[Mention] = []
    for mention in (*_instances(text), *_chips(text), *_cpus(text)):
        if len(result) >= MOST_MENTIONS:
            break
        if not any(item.start < mention.end and mention.start < item.end for item in result):
            result.append(mention)
    return tuple(sorted(result, key=lambda item: item.start))


def _words(text: str) -> list[_Word]:
    """The words of a text; a count written into a name is none of it, nor is the s of several: "8xH100s"."""
    words = []
    for match in _WORD.finditer(text):
        counted = _GLUED.match(match[0])
        start = match.start() + (counted.end() if counted else 0)
        word = text[start : match.end()].casefold()
        word = (
            word[:-1] if word.endswith("s") and _tells(word[:-1]) and not _tells(word) else word
        )  # two 4090s
        words.append(_Word(start, start + len(word), word))
    return words


def _joined(text: str, first: _Word, *, second: _Word) -> bool:
    """Whether nothing stands between two words that would end a name."""
    return first.end == second.start or _INSIDE.fullmatch(text[first.end : second.start]) is not None


@cache
def _telling() -> frozenset[str]:
    """Words that no card is named without: those of its key that bear a digit, or are long."""
    keys = (call.key for call in callings() if not any(":" in word for word in call.own & call.may))
    plain = frozenset(word for key in keys for word in key)
    common = {"active", "laptop", "pascal", "quadro", "super", "tesla", "ultra", "spark", "strix"}
    common |= {"fhhl", "halo", "nano"}
    return (
        frozenset(word for word in plain if _bears_digit(word) or (word.isalpha() and len(word) > 3)) - common
    )


def _bears_digit(word: str) -> bool:
    digits = sum(map(str.isdigit, word))
    return digits > 0 and not (word.isdigit() and digits < 3) and not word.endswith("gb")


@cache
def _makers() -> frozenset[str]:
    series = {"rtx", "gtx", "rx", "geforce", "radeon", "tesla", "quadro", "instinct", "titan", "arc", "pro"}
    return frozenset(series | {"ada", "ascend", "gpu"}).union(*brands().values())


def _chips(text: str) -> Iterator[Mention]:
    words = _words(text)
    place = 0
    while place < len(words):
        taken = _chip_at(text, words, place=place)
        if taken is None:
            place += 1
            continue
        mention, place = taken
        yield mention


def _chip_at(text: str, words: Sequence[_Word], *, place: int) -> tuple[Mention, int] | None:
    """The card whose name has its telling word in a place, and the word behind the name."""
    if not _tells(words[place].text):
        return None
    first = place
    while first > max(place - BEFORE, 0) and _belongs(words[first - 1].text) and _joined(
        text, words[first - 1], second=words[first]
    ):  # fmt: skip
        first -= 1
    last = place
    while last < min(place + BEHIND, len(words) - 1) and _follows(words[last + 1].text) and _joined(
        text, words[last], second=words[last + 1]
    ):  # fmt: skip
        last += 1
    for end in range(last, place - 1, -1):
        for start in range(first, place + 1):
            stated = text[words[start].start : words[end].end]
            chips = _meant(stated)
            if chips and _is_name(text, words[start : end + 1], telling=words[place]):
                low, high = words[start].start, words[end].end
                count = _count(text, low, end=high)
                named = Mention(start=low, end=high, text=text[low:high], chips=chips, count=count)
                return named, end + 1
    return None


@lru_cache(4096)
def _tells(word: str) -> bool:
    """Whether a word tells a card from others: by itself, or as a run of known words such as "rtx4090"."""
    if word in _telling():
        return True
    if not 5 < len(word) <= 24 or word.isalpha() or word.isdigit():
        return False
    tokens = read_tokens(word)
    return all(token.kind in {"word", "memory"} for token in tokens) and any(
        len(token.text) > 3 and token.text in _telling() for token in tokens
    )


def _belongs(word: str) -> bool:
    """Whether a word may stand before the telling one: a maker or a series."""
    known = vocabulary().get(word)
    return word in _makers() or (
        known is not None and word.isalpha() and known.kind == "word" and known.text != ""
    )


def _follows(word: str) -> bool:
    """Whether a word may stand behind it: a kind of it, its memory, its form."""
    known = vocabulary().get(word)
    return (
        (known is not None and known.kind in {"word", "box"} and known.text != "" and not word.isdigit())
        or re.fullmatch(r"\d{1,4}(?:gb|g|gib)?", word) is not None
        or word in {"gb", "gib", "g"}
    )


def _is_name(text: str, words: Sequence[_Word], *, telling: _Word) -> bool:
    """Whether it is a name there: not a figure with a unit, a series, or two letters of something else."""
    behind = text[words[-1].end : words[-1].end + 12]
    if _SERIES.match(behind):
        return False
    alone = not any(word.text in _makers() for word in words)
    if telling.text.isdigit():
        if alone and (
            not _GAMING.fullmatch(telling.text)
            or text[max(telling.start - 1, 0) : telling.start] in {"$", "¥", ".", ",", "€"}
        ):
            return False
        return len(words) > 1 or not _UNIT.match(behind)
    if len(telling.text) <= 2 and alone:
        cased = text[telling.start : telling.end]
        return cased[:1].isupper() and not re.match(
            r"\s?(?:cache|缓存|级|switch|slot|插槽|\.)", behind, re.IGNORECASE
        )
    return True


@lru_cache(4096)
def _meant(text: str) -> tuple[Chip, ...]:
    return maybe(lambda: chips_meant(text)) or ()


def _count(text: str, start: int, *, end: int) -> int:
    """How many are named: "4x", "4块", "双", "x4" behind it."""
    before = _COUNT_BEFORE.search(text[max(0, start - 24) : start])
    boxed = _BOX.search(text[max(0, start - 12) : start])
    if boxed is not None:
        return 8 * int(boxed[1] or 1)
    if before is not None:
        return max(1, int(before[1] or words_of("counted")[before[2].lower()]))
    behind = _COUNT_BEHIND.match(text[end : end + 12])
    if behind is not None:
        return max(1, int(behind[1])) if behind[1] else 2
    return _bare_count(text, start, end=end)


def _bare_count(text: str, start: int, *, end: int) -> int:
    """A number with nothing but a space before the name: a count where a sentence counts, "on 8 H100"."""
    bare = _BARE_COUNT.search(text, max(0, start - 24), start)
    if bare is None or int(bare["count"]) in _YEARS or _OTHER_THAN_CARDS.match(text, end):
        return 1
    counts = bare["opens"] is not None or bare["nodes"] is not None or _SEVERAL.match(text, end)
    return max(1, int(bare["nodes"] or 1) * int(bare["count"])) if counts else 1


@cache
def _cpu_words() -> dict[str, tuple[tuple[CpuModel, frozenset[str]], ...]]:
    """The number in a processor's name -> the processors that bear it, and the words of each."""
    groups: dict[str, list[tuple[CpuModel, frozenset[str]]]] = {}
    for cpu in cpus():
        words = frozenset(re.findall(r"[a-z0-9]+", cpu.name.casefold()))
        numbers = [word for word in words if _CPU_NUMBER.fullmatch(word) and sum(map(str.isdigit, word)) > 2]
        for number in numbers:
            groups.setdefault(number, []).append((cpu, words))
    return {number: tuple(rows) for number, rows in groups.items()}


def _cpus(text: str) -> Iterator[Mention]:
    words = _words(text)
    for place, word in enumerate(words):
        rows = _cpu_words().get(word.text, ())
        if not rows:
            continue
        near = [item for item in words[max(0, place - 5) : place] if word.start - item.end < 24]
        texts = {item.text for item in near} | {word.text}
        fitting = [cpu for cpu, needed in rows if len(needed & texts) > 1]
        if len(fitting) != 1:
            continue
        names = frozenset(re.findall(r"[a-z0-9]+", fitting[0].name.casefold()))
        start = min(item.start for item in (*near, word) if item.text in names)
        yield Mention(
            start=start, end=word.end, text=text[start : word.end], cpu=fitting[0],
            count=_count(text, start, end=word.end),
        )  # fmt: skip


@cache
def _offers() -> tuple[dict[str, Offer], dict[str, Offer]]:
    """Instances by their whole name, and by the first part of it where all of those have one kind of card."""
    whole: dict[str, Offer] = {}
    first: dict[str, list[Offer]] = {}
    for offer in offers():
        if offer.most_chips is not None:
            continue
        name = offer.instance.casefold()
        whole.setdefault(name, offer)
        head = re.match(r"[a-z]+\d+[a-z]*(?=\.)", name)
        if head is not None:
            first.setdefault(head[0], []).append(offer)
    same = {
        head: max(rows, key=lambda item: item.n_chips)
        for head, rows in first.items()
        if len({row.chip for row in rows}) == 1
    }
    return whole, same


_INSTANCE = pattern(r"[A-Za-z][A-Za-z0-9]*\d[A-Za-z0-9]*(?:[.\-_][A-Za-z0-9]+){1,6}|\b[pg]\d[a-z]{1,3}\b")


def _instances(text: str) -> Iterator[Mention]:
    whole, first = _offers()
    for match in _INSTANCE.finditer(text):
        name = match[0].casefold()
        offer = (
            whole.get(name) or whole.get(f"standard_{name}") or (first.get(name) if name in first else None)
        )
        if offer is not None:
            yield Mention(start=match.start(), end=match.end(), text=match[0], offer=offer)
