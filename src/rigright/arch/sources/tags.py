"""Names as engines spell them: tags of Ollama's library, and files of the hub behind a colon."""

from __future__ import annotations

import re
from functools import cache

from rigright.base.patterns import pattern
from rigright.base.record import dataclass
from rigright.base.tables import DATA, Row, read_rows, text

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
