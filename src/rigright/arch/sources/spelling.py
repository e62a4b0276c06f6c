"""The name of a model, taken apart: which model, dates, trainings, and how the weights are stored."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from rigright.base.everyday import words_of
from rigright.base.numerals import chinese, simplified
from rigright.base.patterns import pattern
from rigright.base.record import dataclass, replace
from rigright.base.tables import DATA, Row, read_rows, read_toml, text
from rigright.base.units import GIGA

MAX_NAME = 300
MAX_KEPT = 4096

# 1_6b and 2_5 are 1.6b and 2.5, and so are v1-5 and llama-3-1-70b
_UNDERSCORE_DOT = pattern(r"(?<=\d)_(?=\d(?![\d.]))")
_HYPHEN_DOT = pattern(r"(?<![\d.x])(\d)-(\d)(?![\d.a-wyz])")
# q4_k_m, and as people type it: q4km, q4-k-m, q4; a repack such as q4_0_4_8 holds what q4_0 does
_GGUF = pattern(
    r"(?<![a-z0-9])(?P<base>i?q[1-8]|tq[12])"
    r"(?:[-_ ]?(?P<rest>k[-_ ]?(?:xl|ss|[smlt])|k|[01](?!\.?\d)(?:_[48]_[48])?|xxs|xs|nl|s|m))?"
    r"(?![a-z0-9])(?!\.\d)"
)
_GLUED_VERSION = pattern(r"(?<=[a-z]{4})v(?=\d)")
_FULL_BITS = pattern(r"(?<![a-z0-9])(\d)[ -]bit(?![a-z])")
_WORD = pattern(
    r"\d+x\d+(?:\.\d+)?b(?![a-z])"  # 8x7b
    r"|[ae]?\d+(?:\.\d+)*[bmkte](?![a-z])"  # 7b, a3b, e4b, 270m, 128k, 16e
    r"|(?:int|fp|bf|nvfp|mxfp|nf|exl|float|bfloat|awq|gptq|hqq|mlx|w\d+a|f)\d+(?![a-z0-9]|\.\d)"  # int4, fp8
    r"|\dbit"
    r"|(?<![a-z0-9])[a-z]\d+(?:\.\d+)*(?![a-z])"  # r1, k2.5, t5
    r"|\d+(?:\.\d+)*"
    r"|[a-z]+"
)
_HUNDREDS_OF_MILLIONS = pattern(r"[\d.零一二三四五六七八九十百千万两]+亿")
_BITS = pattern(r"([\d零一二三四五六七八]|十六) ?比特")
_GAPS = pattern(r"[^a-z0-9.+\u4e00-\u9fff]+")
_VERSION = pattern(r"^v?(\d+(?:\.\d+)*?)(?:\.0)?$")
_DATE = pattern(r"(?:0[1-9]|1[0-2])[0-3]\d|2[3-9](?:0[1-9]|1[0-2])|20[2-3]\d|0\d")
_FAMILY = pattern(r"[a-jlnps-u]\d+")  # t5, e5; not r1, k2, m2.5
_CONTEXT = pattern(r"\d+k")
_COUNT = pattern(r"\d+(?:x\d+)?(?:\.\d+)?[bmt]")
_SIZE = pattern(r"[ae]?\d+(?:x\d+)?(?:\.\d+)*b")
USUAL = "gguf:Q4_K_M"  # what Ollama's library holds where a tag says nothing
_OLLAMA = pattern(
    r"ollama(?:[ _]?(?:run|pull|show|chat))?[\s/:]+|(?:registry\.)?ollama\.(?:ai|com)/", re.IGNORECASE
)
_LIBRARY = pattern(r"library/", re.IGNORECASE)
_HUB_HOST = pattern(r"(?:hf\.co|huggingface\.co)/", re.IGNORECASE)
_TAGGED = pattern(r"(?P<name>[\w.-]+(?:/[\w.-]+)?)(?::(?P<tag>[\w.-]+))?")
_TRAININGS = frozenset({"latest", "code", "python", "text", ""})
_NO_NAMES = frozenset({"hub", "gguf", "docker", "http", "https", "file"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """What the words of a name say."""

    words: frozenset[str]  # which model: family, version, size, kind
    dates: frozenset[str]
    variants: frozenset[str]  # instruct, chat, hf ...: the architecture is the same
    formats: frozenset[str]  # words that tell the storage
    stored: str | None  # the one format id they mean
    engine: str | None = None  # the engine whose files the words speak of
    part: str | None = None  # of a pipeline: unet, vae ...


@cache
def tables() -> dict[str, Any]:
    """What words mean (data/model_words.toml)."""
    return read_toml(DATA / "model_words.toml")


@lru_cache(maxsize=MAX_KEPT)
def spell(name: str) -> Spelling:
    """Take a name apart."""
    text, mix = _without_mix(_plain_words(simplified(name[:MAX_NAME]).lower()))
    phrases = (_GLUED_VERSION.sub(" ", phrase) for phrase in _same(_dotted(text)))
    words = [_VERSION.sub(r"\1", word) for phrase in phrases for word in _WORD.findall(phrase)]
    words, formats, stored = _formats(words)
    engines: dict[str, str] = tables()["engines"]
    engine = next((engines[word] for word in engines if word in formats), engines["gguf"] if mix else None)
    mix = mix if engine == engines["gguf"] else None
    return replace(_sorted(words, formats, stored=mix or stored), engine=engine)


def _without_mix(text: str) -> tuple[str, str | None]:
    """Cut a GGUF mix such as Q4_K_M out of a name."""
    for match in _GGUF.finditer(text):
        mix = _mix(match["base"].upper(), re.sub(r"[-_ ]", "", match["rest"] or "").upper())
        if mix is not None:
            return text[: match.start()] + " " + text[match.end() :], f"gguf:{mix}"
    return text, None


def _mix(base: str, rest: str) -> str | None:
    """The mix of a base and what follows it; None where there is none."""
    known, usual = tables()["gguf"]["mixes"], tables()["gguf"]["usual"]
    rest = rest[:1] if rest[:1].isdigit() else rest
    pieces = ("K", rest[1:]) if rest[:1] == "K" else (rest,)
    written = base + "".join(f"_{piece}" for piece in pieces if piece)
    together = f"{base}_{rest}"  # IQ4_KS is a mix of its own, Q4_K_S one size of Q4_K
    return together if together in known else written if written in known else usual.get(written)


def _dotted(text: str) -> str:
    text = _FULL_BITS.sub(r"\1bit", _UNDERSCORE_DOT.sub(".", text))
    return _HYPHEN_DOT.sub(r"\1.\2", text)


def _same(text: str) -> list[str]:
    """Replace nicknames and words of other languages by those the names bear; split where words end."""
    same: dict[str, str] = tables()["same"]
    text = _foreign().sub(lambda match: f" {same[match[0]]} ", text)
    text = " ".join(_GAPS.split(text)).strip()
    return _nicknames().sub(lambda match: same[match[0]], text).split()


def _plain_words(text: str) -> str:
    """Sizes and formats in everyday words as names bear them: "130亿" is 13b, "半精度" fp16."""
    if text.isascii() and " " not in text:
        return text
    for word, form in words_of("format").items():
        text = (
            text
            if word not in text or word[0].isdigit()
            else text.replace(word, f" {form.replace('half', 'fp16')} ")
        )
    text = _BITS.sub(lambda match: f" {chinese(match[1]):g}bit ", text)
    return _HUNDREDS_OF_MILLIONS.sub(lambda match: f" {(chinese(match[0]) or 0.0) / GIGA:g}b ", text)


@cache
def _foreign() -> re.Pattern[str]:
    return _any_of(alias for alias in tables()["same"] if not alias.isascii())


@cache
def _nicknames() -> re.Pattern[str]:
    words = _any_of(alias for alias in tables()["same"] if alias.isascii())
    return re.compile(rf"(?<![a-z0-9])(?:{words.pattern})(?![a-z0-9.])")


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Any of the words, the longest first."""
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))


def _formats(words: list[str]) -> tuple[list[str], frozenset[str], str | None]:
    """Take the words of storage out: those of two words first, else the most telling single one."""
    known: dict[str, str] = tables()["formats"]
    singles = [word for word in words if word in known]
    pairs = [f"{single} {two}" for single in singles for two in singles if f"{single} {two}" in known]
    stored = next((known[word] for word in (*pairs, *singles) if known[word]), None)
    return [word for word in words if word not in known], frozenset(singles), stored


def _sorted(words: list[str], formats: frozenset[str], *, stored: str | None) -> Spelling:
    variants = set(tables()["variants"]["words"])
    if any(_SIZE.fullmatch(word) for word in words):
        variants.add("base")
    variants.update(word for word in words if _CONTEXT.fullmatch(word))
    part = next((word for word in words if word in tables()["parts"]["words"]), None)
    dates = frozenset(word for word in words if _DATE.fullmatch(word))
    return Spelling(
        words=frozenset(
            word for word in words if word not in variants and word not in dates and word != part
        ),
        dates=dates,
        variants=frozenset(words) & variants,
        formats=formats,
        stored=stored,
        part=part,
    )


def selects(word: str) -> bool:
    """Whether a word tells one model of a family from another: a number, a size; not a kind such as coder."""
    return word in tables()["sizes"]["words"] or (
        any(sign.isdigit() for sign in word) and not _FAMILY.fullmatch(word)
    )


def is_size(word: str) -> bool:
    """Whether a word is a number of parameters: 7b, 8x7b, 0.5b, 270m, 1t."""
    return bool(_COUNT.fullmatch(word))


@lru_cache(maxsize=MAX_KEPT)
def own_part(name: str) -> str:
    """A name without its publisher; vit-b/16 has none."""
    own = name.rpartition("/")[2]
    return own if any(word.isalpha() for word in spell(own).words) else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """What a tag says of the model it pulls."""

    name: str  # for the finder: "deepseek-r1 14b"
    model: str | None  # the zoo's or an alias's name, where the library's table knows it
    stored: str | None  # the format of the library's files, where the tag itself says none
    engine: str


def read_tag(asked: str) -> Tag | None:
    """Read "deepseek-r1:14b", "ollama run qwen3", "hf.co/org/name-GGUF:Q6_K" or "org/name-GGUF:Q6_K"."""
    command = _OLLAMA.match(asked)
    plain = asked if command is None else asked[command.end() :]
    library = _LIBRARY.match(plain)
    plain = plain if library is None else plain[library.end() :]
    host = _HUB_HOST.match(plain)
    match = _TAGGED.fullmatch(plain if host is None else plain[host.end() :])
    flag = any(result is not None for result in (command, library, host))
    if match is None or match["name"].lower() in _NO_NAMES or not (flag or match["tag"]):
        return None
    name, tag = match["name"].lower(), (match["tag"] or "").lower()
    engine = "ollama" if flag or not name.startswith("ai/") else "llama.cpp"  # ai/: Docker's library
    if host is not None or ("/" in name and "gguf" in name):
        return Tag(
            name=" ".join(filter(None, match.groups())),
            model=None,
            stored=None,
            engine="ollama" if flag else "llama.cpp",
        )
    return _of_library(name.rpartition("/")[2], tag, engine=engine)


def _of_library(name: str, tag: str, *, engine: str) -> Tag:
    """A tag of the library: its row, else its name and tag as words."""
    rows = _rows()
    whole = rows.get(name)
    if tag in {"", "latest"} and whole is not None:
        tag = whole["latest"] or ""
    own = next((rows[f"{name}:{start}"] for start in _starts(tag) if f"{name}:{start}" in rows), None)
    default = whole is not None and whole["latest"] in {*_starts(tag)}
    model = own["model"] if own is not None else whole["model"] if whole is not None and default else None
    form = next((row["format"] for row in (own, whole) if row is not None and row["format"]), None)
    return Tag(
        name="-".join([name, *(piece for piece in tag.split("-") if piece not in _TRAININGS)]),
        model=model,
        stored=f"gguf:{form}" if form else USUAL,
        engine=engine,
    )


def _starts(tag: str) -> list[str]:
    """What a tag may begin with, the longest first: "7b-chat-q8_0" -> "7b-chat-q8_0", "7b-chat", "7b"."""
    pieces = tag.split("-")
    return ["-".join(pieces[:count]) for count in range(len(pieces), 0, -1)]


@cache
def _rows() -> dict[str, Row]:
    columns = ("tag", "latest", "model", "format", "source", "as_of", "confidence")
    rows = read_rows(DATA / "ollama_tags.csv", dict.fromkeys(columns, text), required=("tag", "source"))
    return {row["tag"]: row for row in rows}
