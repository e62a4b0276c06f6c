"""How the text behind an option is read; money keeps its currency until every amount is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.units import (
    GIGA,
    KILO,
    NO,
    TERA,
    YES,
    parse_amount,
    parse_bytes,
    parse_factor,
    parse_seconds,
    parse_share,
    unreadable,
)
from rigright.base.words import say
from rigright.demand import METHODS, Drafting, Images, KvStore, Length, Size

if TYPE_CHECKING:
    from rigright.base.money import Money

DAY_S, HOUR_S = 86400, 3600
LEAST_CELLS = 20  # no screen is taken to be narrower
_SIZES = {"m": 1 / KILO, "b": 1.0, "t": KILO}


def names(text: str) -> tuple[str, ...]:
    """Read "h100, mi300x" as a list."""
    texts = tuple(name.strip() for name in re.split("[,，、;；]", text) if name.strip())
    if not texts:
        raise unreadable(text, say("a list of names"), example="h100, mi300x")
    return texts


def flag(*, value: bool) -> Callable[[str], bool | None]:
    """What a yes stands for; a no says nothing."""

    def read(text: str) -> bool | None:
        if text.lower() not in YES | NO:
            raise unreadable(text, say("yes or no"), example="yes")
        return value if text.lower() in YES else None

    return read


def switch(text: str) -> bool:
    """Read "on" or "off"."""
    if text.lower() not in YES | NO:
        raise unreadable(text, say("on or off"), example="on")
    return text.lower() in YES


def money(per: str = "") -> Callable[[str], Money]:
    """An amount, or an amount for each hour, kWh or million tokens."""

    def read(text: str) -> Money:
        from rigright.base.money import parse_money

        return parse_money(text, per=per)

    return read


def currency(text: str) -> str:
    """Read "CNY", "eur" or "元" as a currency whose rate is known."""
    from rigright.base.money import currencies, currency_of

    plain = text.strip()
    named = (code for code, known in currencies().items() if plain.casefold() in known.names)
    return currency_of(next(named, plain)).code


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPrice:
    """What an API asks for a million tokens of prompts and of output."""

    prompt: Money
    output: Money

    @property
    def amount(self) -> float:
        """The smaller, which is none of what a price can be where it is below zero."""
        return min(self.prompt.amount, self.output.amount)

    @property
    def currency(self) -> str | None:
        """The currency that was named with either."""
        return self.output.currency or self.prompt.currency

    def usd(self, otherwise: str) -> tuple[float, float]:
        """Both in dollars."""
        named = self.currency or otherwise
        return self.prompt.usd(named), self.output.usd(named)


def rates(text: str) -> ApiPrice:
    """Read "0.15/0.60", "2元/8元", or one price for both."""
    read = money("mtok")
    first, _, second = text.partition("/")
    begins = second.strip()[:1]
    if begins.isdecimal() or (begins and begins in ".$¥€£"):
        return ApiPrice(prompt=read(first), output=read(second))
    return ApiPrice(prompt=read(text), output=read(text))


_IMAGES = re.compile(
    r"(?:每次|每个?请求|每条请求)?(?P<first>\d{1,9})"
    r"(?:张图?片?|images?|pictures?)?(?:(?:[x×*@,，]|of)?(?P<wide>\d{1,9})(?:[x×*](?P<high>\d{1,9}))?)?"
    r"(?:px|像素|的图片?|张图?片?|images?|pictures?)?(?:each|perrequest)?"
)
MOST_IMAGES = 512
MOST_BYTES = KILO * TERA  # of memory beside GPUs
_STORE = re.compile(
    r"(?P<tier>ram|dram|cpu|nvme|ssd|disk|内存|硬盘|固态)?[\s:=]*(?P<size>[\d.]+\s*[a-zA-Z]+)", re.IGNORECASE
)
_RAM = ("", "ram", "dram", "cpu", "内存")


def kv_store(text: str) -> KvStore:
    """Read "200gb", "ram 200gb, nvme 2tb": where KV caches lie beside the GPUs."""
    sizes = {"ram_bytes": 0.0, "nvme_bytes": 0.0}
    parts = [_STORE.fullmatch(part.strip()) for part in re.split(r"[,，+;]", text) if part.strip()]
    for match in filter(None, parts):
        name = "ram_bytes" if (match["tier"] or "").lower() in _RAM else "nvme_bytes"
        sizes[name] += parse_bytes(match["size"])
    if not all(parts) or not 0 < sum(sizes.values()) < MOST_BYTES:
        raise unreadable(text, say("memory for KV caches"), example="ram 200gb, nvme 2tb")
    return KvStore(**sizes)


def images(text: str) -> Images:
    """Read "2", "2x1024", "2x1024x768" or "1024x768" as images of a request."""
    match = _IMAGES.fullmatch(re.sub(r"\s", "", text.lower()))
    numbers = [] if match is None else [int(part) for part in match.groups() if part]
    if numbers and len(numbers) == 2 and numbers[0] > MOST_IMAGES:
        numbers = [1, *numbers]
    if not numbers or 0 in numbers:
        raise unreadable(text, say("a number of images, and their size"), example="2x1024x768")
    sizes = {} if len(numbers) == 1 else {"width_px": numbers[1], "height_px": numbers[-1]}
    return Images(count=numbers[0], **sizes)


_PICTURE = re.compile(
    r"(?P<wide>\d{1,5})(?:[x×*](?P<high>\d{1,5}))?(?:px|像素)?|(?P<lines>\d{3,4})p|(?P<k>[24])k"
)
LARGEST_PX, LONGEST_S = 65_536, 3600


def picture(text: str) -> Size:
    """Read "1024", "1280x720", "720p" or "4k" as the size of a picture."""
    match = _PICTURE.fullmatch(re.sub(r"\s", "", text.lower()))
    if match is None:
        raise unreadable(text, say("a size in pixels"), example="1280x720")
    if match["lines"] or match["k"]:
        high = int(match["lines"] or 540 * int(match["k"]))
        wide = round(high * 16 / 9 / 16) * 16
    else:
        wide = int(match["wide"])
        high = int(match["high"] or wide)
    if not (0 < wide <= LARGEST_PX and 0 < high <= LARGEST_PX):
        raise unreadable(text, say("a size in pixels"), example="1280x720")
    return Size(width_px=wide, height_px=high)


def length(text: str) -> Length:
    """Read "81", "81 frames" or "5s" as the length of a video."""
    plain = re.sub(r"\s", "", text.lower())
    match = re.fullmatch(r"(\d{1,5})(?:frames?|帧)?", plain)
    if match is not None and int(match[1]):
        return Length(frames=int(match[1]))
    seconds = parse_seconds(plain)
    if not 0 < seconds <= LONGEST_S:
        raise unreadable(text, say("frames or a time"), example="5s")
    return Length(seconds=seconds)


def days(text: str) -> float:
    """Read "14", "36h" as days."""
    bare = text.strip().replace(".", "", 1).isdecimal()
    return parse_seconds(f"{text}d" if bare else text) / DAY_S


def hours(text: str) -> float:
    """Read "200", "30d" as hours; a bare number of a day's may mean each day."""
    bare = text.strip().replace(".", "", 1).isdecimal()
    if bare and float(text) <= DAY_S / HOUR_S:
        raise AskError(
            say("{hours} hours per day, or in all?", hours=text.strip()),
            hint=say("--duty {hours}h/day, or --hours {hours}h", hours=text.strip()),
        )
    return parse_seconds(f"{text}h" if bare else text) * 24 / DAY_S


def percentile(text: str) -> float:
    """Read "p95", "95", "95%" or "0.95" as a share."""
    share = parse_share(text.strip().lower().removeprefix("p").removesuffix("%"))
    share = share / 100 if share > 1 else share
    if not 0 < share < 1:
        raise unreadable(text, say("a percentile"), example="p95")
    return share


def part(text: str) -> float:
    """A share of a whole: at most all of it."""
    share = parse_share(text)
    if share > 1:
        raise AskError(
            say('"{text}" is more than 100%', text=text), hint=say("for example {example}", example="50%")
        )
    return share


def duty(text: str) -> float:
    """A share of the time; a bare number above one is hours a day."""
    bare = text.strip()
    return float(bare) / 24 if bare.replace(".", "", 1).isdecimal() and 1 < float(bare) <= 24 else part(bare)


def cached(text: str) -> float:
    """A share of a prompt; none of it is 0, where some is usual."""
    return part(text) if text.strip("0. %％") else 0.0


def draft(text: str) -> Drafting:
    """Read "70%", "eagle3", "ngram 0.4", "qwen3-0.6b 0.7": what drafts tokens, and how many are kept."""
    method, model, share = "", "", None
    for word in re.split(r"[\s,，@]+", text.strip()):
        plain = re.sub(r"[-_]", "", word.lower())
        if re.fullmatch(r"[\d.]+[%％]?", word):
            share = part(word)
        elif plain in METHODS[:2] or plain == METHODS[3]:
            method = plain
        else:
            method, model = METHODS[2], f"{model} {word}".strip()
    if share is not None and share <= 0:
        raise unreadable(text, say("a way to draft tokens"), example="eagle3, qwen3-0.6b 70%")
    return Drafting(method=method, model=model, accepted=share)


def whole(text: str) -> int:
    """A number of things of which k is 1000: "8", "1k"."""
    value = parse_amount(text)
    if value != int(value):
        raise unreadable(text, say("a count"), example="8, 1k")
    return int(value)


def spread(text: str) -> float:
    """Deviation over mean; none at all is 0."""
    return parse_share(text) if text.strip("0. ") else 0.0


def pue(text: str) -> float:
    """Power of the building over power of the machines."""
    value = parse_factor(text)
    if value < 1:
        raise AskError(say('a PUE of "{text}" is below 1', text=text), hint=say("for example 1.3"))
    return value


def params(text: str) -> float:
    """Read "7B" or "500M" as a number of parameters."""
    number, unit = text.strip()[:-1].strip(), text.strip()[-1:].lower()
    if unit not in _SIZES or not number.replace(".", "", 1).isdecimal() or not number.isascii():
        raise unreadable(text, say("a model size"), example="7B, 500M")
    return float(number) * _SIZES[unit] * GIGA


def ago(text: str) -> float | None:
    """Read "1h" as seconds before now; "all" is as far back as there is."""
    return None if text == "all" else parse_seconds(text)


def words(text: str) -> tuple[str, ...]:
    """Words as a shell splits them."""
    import shlex

    try:
        return tuple(shlex.split(text))
    except ValueError:
        raise unreadable(text, say("words of a command line"), example="-p 2222 -i key") from None


def port(text: str) -> int:
    """Read "9478" as a port."""
    if not text.isdecimal() or not 0 < int(text[:6]) < 65_536:
        raise unreadable(text, say("a port"), example="9478")
    return int(text)


def cells(text: str) -> int:
    """A width of a screen in cells."""
    if not text.isdecimal() or not LEAST_CELLS <= int(text[:9]) <= 10_000:
        raise AskError(
            say('cannot read "{text}" as a width', text=text),
            hint=say("use a whole number from {least} to 10000", least=LEAST_CELLS),
        )
    return int(text)
