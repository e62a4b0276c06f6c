"""What one argument of a verb is, how it is read and when it applies; and those that several verbs share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rigright.base.errors import AskError, clash, unknown
from rigright.base.record import dataclass
from rigright.base.units import (
    GIGA,
    KILO,
    MEGA,
    TERA,
    parse_amount,
    parse_count,
    parse_factor,
    parse_rate,
    parse_seconds,
    parse_share,
    parse_watts,
)
from rigright.base.words import LANGUAGES, Sentence, say
from rigright.options.readers import (
    ago,
    cached,
    cells,
    days,
    duty,
    hours,
    images,
    params,
    part,
    percentile,
    spread,
    whole,
)

SERVE, SPEECH, EMBED, IMAGE = "serve", "speech", "embed", "image"
TRAIN, LEARN = "train", "learn"  # learn: to train on images
ALL = frozenset({SERVE, SPEECH, EMBED, IMAGE, TRAIN, LEARN})
PROMPTED = frozenset({SERVE})  # its requests have lengths that people choose
TEXT = frozenset({SERVE, SPEECH})  # written token by token
SAMPLES = frozenset({EMBED, IMAGE})
TRAINS = frozenset({TRAIN, LEARN})
MOST = 2**31
ABOVE_ZERO = say("it must be above zero")
LEAST = 1e-9  # but 0
MAGNITUDES = (("T", TERA), ("B", GIGA), ("M", MEGA))
UNITS = {"MONEY": "usd", "POWER": "W"}  # by what stands for the value
CALLED = {"train": "method"}  # an option that takes the words of another
YEARS = frozenset({"years", "after"})
FIGURES: Mapping[Callable[[str], Any], str] = {  # a kind of figure, by what reads it
    **dict.fromkeys((parse_count, parse_amount, whole, images), "number"),
    **dict.fromkeys((parse_seconds, days, hours, ago), "time"),
    **dict.fromkeys((parse_share, part, duty, cached, spread, percentile), "share"),
    parse_rate: "rate", parse_factor: "factor", parse_watts: "power", params: "size",
}  # fmt: skip
_NOT_POSITIVE = re.compile(r"-\d+(?:\.\d+)?|0(?:\.0+)?")  # told as such, whatever is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option, or one argument that stands by its place."""

    name: str  # as typed behind --
    metavar: str  # of its value; "": a flag without one
    read: Callable[[str], Any]
    help: Sentence | None  # None: the words that are offered
    verbs: frozenset[str]  # that read it with the rest of a wish; none: it is read by itself, see `ROWS`
    fields: tuple[str, ...]  # of wishes: the first that a wish has is filled; of what was typed: the first
    works: frozenset[str] = ALL  # what it says something about; elsewhere it is refused
    works_in: tuple[tuple[str, frozenset[str]], ...] = ()  # the same by verb, where it differs there
    aliases: tuple[str, ...] = ()
    plain_in: tuple[str, ...] = ()  # verbs where its other names could mean something else
    needs: tuple[str, ...] = ()  # one of these is said too: "draft", "arrivals=gamma"
    bars: tuple[str, ...] = ()  # none of these is said too
    choices: Callable[[], tuple[str, ...]] | None = None  # all there are
    bare: str | None = None  # what it means with no value behind it
    least: float = LEAST  # but 0
    most: float = MOST
    zero: bool = False  # 0 may be said
    default: str | None = None  # as it would be typed
    placed: bool = False  # known by its place: it has no flag
    count: str = ""  # how many words; "?": one or none, "*": any, "+": some, "--": a command behind "--"
    repeated: bool = False  # each time it is typed adds a value
    joins: Callable[[str, str], str | None] | None = None  # two values that each say a part of it
    required: bool = False  # though it is an option
    short: str = ""  # letter behind a single dash
    offered: str = ""  # the list of words a shell completes, where others may stand, too
    group: Sentence | None = None  # heading in help

    @property
    def flag(self) -> str:
        """As it is typed."""
        return f"--{self.name}"

    @property
    def flags(self) -> tuple[str, ...]:
        """Every way to type it, the shortest first."""
        short = (f"-{self.short}",) if self.short else ()
        return (*short, self.flag, *(f"--{alias}" for alias in self.aliases))

    @property
    def is_flag(self) -> bool:
        """Whether it is typed without a value."""
        return not self.metavar and not self.placed

    @property
    def dest(self) -> str:
        """Under which name what was typed is kept."""
        return self.name.replace("-", "_") if self.verbs else self.fields[0]

    def of(self, verb: str) -> Option:
        """The option as a verb has it."""
        if not self.works_in and verb not in self.plain_in:
            return self
        from dataclasses import replace

        aliases = () if verb in self.plain_in else self.aliases
        return replace(self, works=dict(self.works_in).get(verb, self.works), aliases=aliases)

    def value(self, text: str) -> Any:
        """Read it, within its choices and bounds."""
        text = self.plain(text.strip())
        if self.choices is not None:
            known = self.choices()
            if text.lower() not in known:
                name = self.metavar if self.placed else self.name
                raise unknown(say("{text}", text=name), text, known=known)
            text = text.lower()
        if not text:
            raise AskError(
                say("{option} has no value", option=self.flag),
                hint=say("add a value; see {help}", help="--help"),
            )
        if _NOT_POSITIVE.fullmatch(text):
            self.check(float(text), text=text)
        result = self._read(text)
        self.check(result, text=text)
        return result

    def plain(self, text: str) -> str:
        """Everyday words for choices and formats as their names: "聊天" is chat, "四比特" 4bit."""
        if text.lower() in (() if self.choices is None else self.choices()):
            return text
        from rigright.base import everyday

        if self.name in everyday.FORMATS:
            return ", ".join(everyday.named(self.name, item) for item in re.split("[,，、]", text))
        return everyday.named(CALLED.get(self.name, self.name), text) if self.choices is not None else text

    def _read(self, text: str) -> Any:
        """What a reader makes of it; what it cannot read may be an everyday wording: "每天10万次"."""
        try:
            return self.read(text)
        except AskError:
            from rigright.base import everyday

            kind = "years" if self.name in YEARS else FIGURES.get(self.read, "")
            plain = everyday.figure(self.name, text, kind=kind) if kind else None
            if plain is None or plain == text:
                raise
        return self.read(plain)

    def written(self, value: Any) -> str:
        """A value as it is typed, in the unit that is read back."""
        if isinstance(value, tuple):
            return ", ".join(map(str, value))
        if not isinstance(value, int | float):
            return str(value)
        for letter, size in MAGNITUDES if self.read is parse_amount and value >= MEGA else ():
            short = f"{value / size:.6g}{letter}"
            if value >= size and parse_amount(short) == value:
                return short
        from decimal import Decimal

        unit, number = UNITS.get(self.metavar, ""), value * (100 if self.metavar == "P" else 1)
        if self.read is parse_seconds:
            unit, number = ("s", value) if value >= 1 else ("ms", value * KILO)
        elif self.read is days and value < 1:
            unit, number = "h", value * 24
        return f"{Decimal(f'{number:.12g}'):f}{unit}"

    def check(self, value: Any, *, text: str | None = None) -> None:
        """Refuse a number that is none of what it counts; `text`: as it was typed."""
        value = getattr(value, "amount", value)  # of money
        if not isinstance(value, int | float) or isinstance(value, bool):
            return
        if value < 0 or (value == 0 and not self.zero) or value != value:  # noqa: PLR0124 - nan
            counts = self.read is parse_count
            positive = say("the minimum is {least}", least="1") if counts else ABOVE_ZERO
            raise AskError(
                say("{option} is {value}", option=self.flag, value=text or f"{value:g}"),
                hint=say("it must be 0 or more") if self.zero else positive,
            )
        if 0 < value < self.least:
            raise AskError(
                say("{option} is {value}", option=self.flag, value=text or f"{value:g}"),
                hint=say(
                    "the minimum is {least}",
                    least=f"{LEAST:g}" if self.least == LEAST else self.written(self.least),
                ),
            )
        if value > self.most:
            raise AskError(
                say("{option} is {value}", option=self.flag, value=text or f"{value:g}"),
                hint=say("the maximum is {most}", most=f"{self.most:,.12g}"),
            )

    def beside(self, fields: Mapping[str, Any]) -> Iterator[AskError]:
        """Why it cannot stand beside the others that were said, by their names."""
        for other in self.bars:
            if other in fields:
                yield clash(self.flag, f"--{other}")
        needed = [need.partition("=") for need in self.needs]
        met = any(name in fields and (not mark or fields[name] == value) for name, mark, value in needed)
        if needed and not met:
            others = " | ".join(f"--{name} {value}".rstrip() for name, _, value in needed)
            yield AskError(
                say("{option} needs {others}", option=self.flag, others=others),
                hint=say("add {others}, or remove {option}", option=self.flag, others=others),
            )


Rows = Callable[[], tuple[Option, ...]]  # of one verb: those of others are not made


def row(
    name: str,
    metavar: str,
    *,
    text: Sentence | None,
    read: Callable[[str], Any] = str,
    fields: str = "",
    **more: Any,
) -> Option:
    """One row of a table; several names are written as one text."""
    for listed in ("aliases", "plain_in", "needs", "bars"):
        more[listed] = tuple(more.get(listed, "").split())
    return Option(
        name=name,
        metavar=metavar,
        read=read,
        help=text,
        verbs=frozenset(more.pop("verbs", "").split()),
        fields=tuple(fields.split()) or (name.replace("-", "_"),),
        **more,
    )


FORMS = ("json", "markdown", "html", "csv")
MODEL = say("a name, a config.json, a folder, a GGUF file, a hub id")

FREE = row("free", "SIZE", text=say("free memory of each GPU, where other programs use some: 12gb"))
ANCHORS = row("anchors", "FILE", text=say("your own runs, saved by `calibrate --from`; none: ignore them"))
BASELINE = row("baseline", "FILE", text=say("compare with the baseline from `rigright baseline --save`"))
FROM = row(
    "from", "FILE", fields="from_file",
    text=say("another machine: file, folder, tar, zip or gzip of tool output (nvidia-smi, dmesg, "
             "amd-smi, a bug report, several in one file), or of `probe --save`; - is stdin"),
)  # fmt: skip
HELP = row("help", "", text=say("show this help"), short="h")
VERSION = row("version", "", text=say("show the version"))
SCHEMA = row("schema", "", text=say("print the JSON Schema of what --json prints"))
WHY = row("why", "", text=say("show formulas, facts and their sources"))
DETAILS = row("details", "", text=say("show everything: all options, every part, all assumptions"))


def _form(name: str, *, text: Sentence) -> Option:
    others = " ".join(form for form in FORMS if form != name)
    return row(name, "", text=text, fields="form", bare=name, default="text", bars=others)


SHOWING = (
    _form("json", text=say("print JSON for scripts")),
    _form("markdown", text=say("print Markdown")),
    _form("html", text=say("print one self-contained HTML page")),
    _form("csv", text=say("print the first table as CSV")),
    WHY,
    DETAILS,
    row("lang", "en|zh", text=say("language; default: from the locale"), choices=lambda: LANGUAGES),
    row("color", "auto|always|never", default="auto", choices=lambda: ("auto", "always", "never"),
        text=say("colours; auto: only on a terminal, and not if NO_COLOR is set")),
    row("width", "CELLS", read=cells, text=say("output width in columns; default: the terminal's"),
        zero=True),
)  # fmt: skip
