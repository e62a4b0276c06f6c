"""How many of what: the counts, machines and free memory that stand beside a chip's name."""

from __future__ import annotations

from rigright.base.record import dataclass
from rigright.facts.naming import Token

MOST_SAID = 512  # larger bare numbers are part of a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A name without its counts, and the counts."""

    name: tuple[Token, ...]
    count: int | None = None
    n_nodes: int | None = None
    box: int | None = None  # how many chips the named box holds: dgx 8, nvl72 72
    free_bytes: float | None = None
    total_bytes: float | None = None  # an exact size beside the name: "24564 MiB"


def read_counts(tokens: list[Token]) -> Counted:
    """Take counts, machines, boxes and free memory out of the tokens of one name."""
    rest, free_bytes = _take_free(tokens)
    # take a size in MiB, which is no part of a name
    exact = [token.size_bytes for token in rest if token.kind == "exact"]
    rest, total_bytes = [token for token in rest if token.kind != "exact"], exact[0] if exact else None
    rest, n_nodes = _take_beside(rest, "nodes")
    rest, count, pair = _take_times(rest)
    if count is None:
        rest, count = _take_bare(rest)
    if count is not None and n_nodes is None and any(token.text == "dgx" for token in rest):
        n_nodes, count = count, None  # "2x dgx h100" are two machines
    return Counted(
        name=tuple(rest),
        count=count,
        n_nodes=n_nodes if pair is None else pair,
        box=next((token.value for token in rest if token.kind == "box"), None),
        free_bytes=free_bytes,
        total_bytes=total_bytes,
    )


def _take_times(tokens: list[Token]) -> tuple[list[Token], int | None, int | None]:
    """Take "8x", "x8", or "2x8" at the start, which is machines times cards: rest, count, machines."""
    if len(tokens) > 3 and tokens[1].kind == "times" and all(map(_is_small, (tokens[0], tokens[2]))):
        return tokens[3:], tokens[2].value, tokens[0].value
    rest, count = _take_beside(tokens, "times")
    return rest, count, None


def _take_beside(tokens: list[Token], mark: str) -> tuple[list[Token], int | None]:
    """Take a word of counting and the number beside it; a number at an end of the name counts first."""
    for place, token in enumerate(tokens):
        if token.kind != mark:
            continue
        beside = [
            spot for spot in (place - 1, place + 1) if 0 <= spot < len(tokens) and _counts(tokens[spot])
        ]
        if beside:
            at_end = [spot for spot in beside if spot in {0, len(tokens) - 1}] or beside
            spot = min(at_end, key=lambda spot: tokens[spot].value)
            before = min(place, spot) - 1
            taken = {place, spot} | ({before} if before >= 0 and tokens[before].kind == "times" else set())
            return _without(tokens, taken), tokens[spot].value
    return tokens, None


def _take_bare(tokens: list[Token]) -> tuple[list[Token], int | None]:
    """Take a number that is a word ("dual", "双"), or a small one before the name ("2 4090")."""
    for place, token in enumerate(tokens):
        first = place == 0 and len(tokens) > 1 and token.value <= MOST_SAID
        if _counts(token) and (first or not token.text.isdecimal()):
            return _without(tokens, {place}), token.value
    return tokens, None


def _counts(token: Token) -> bool:
    """Whether a token is a number, be it one that also stands in a chip's name."""
    return token.kind == "number" or (token.kind == "word" and token.text.isdecimal())


def _is_small(token: Token) -> bool:
    return _counts(token) and 0 < token.value <= MOST_SAID


def _without(tokens: list[Token], places: set[int]) -> list[Token]:
    return [token for place, token in enumerate(tokens) if place not in places]


def _take_free(tokens: list[Token]) -> tuple[list[Token], float | None]:
    """Take "free 20GiB" or "20GiB free"."""
    for place, token in enumerate(tokens):
        if token.kind != "free":
            continue
        for beside in (place + 1, place - 1):
            if 0 <= beside < len(tokens) and tokens[beside].kind in {"memory", "exact"}:
                return _without(tokens, {place, beside}), tokens[beside].size_bytes
    return tokens, None
