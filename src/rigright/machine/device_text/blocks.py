"""A text cut at its headings: each heading, and what stands below it up to the next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise

MOST_BLOCKS = 20_000


def blocks(
    text: str, head: re.Pattern[str], *, most: int = MOST_BLOCKS
) -> Iterator[tuple[re.Match[str], str]]:
    """Every block in order; of more than so many the last holds the rest."""
    matches = [*islice(head.finditer(text), most), None]
    for match, after in pairwise(matches):
        if match is not None:
            yield match, text[match.end() : after.start() if after is not None else len(text)]
