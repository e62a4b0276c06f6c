"""A GGUF model in several files: name-00001-of-00003.gguf and its fellows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigright.arch.sources.gguf import broken, read_header
from rigright.arch.sources.opened import Tensor
from rigright.base.words import Sentence, say

MAX_SPLITS = 1000
NAMES_SHOWN = 3
_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf\Z", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """All files of a model together."""

    path: Path  # the first
    metadata: dict[str, Any]
    tensors: tuple[Tensor, ...]
    files: int
    size_bytes: int
    missing: tuple[str, ...]
    notes: tuple[Sentence, ...]


def is_later_part(path: Path) -> bool:
    """Whether this is a second or later file of several."""
    match = _PART.fullmatch(path.name)
    return match is not None and int(match["number"]) > 1


def read_whole(path: Path) -> Whole:
    """The header of a file, and of its fellows where the model is split."""
    paths = _fellows(path)
    here = [item for item in paths if item.is_file()]
    headers = [read_header(item) for item in here]
    given = headers[0].metadata.get("split.count", 1) if headers else 1
    if isinstance(given, int) and given > len(paths):
        # the names the fellows of a file would have, by what it tells of itself
        count = min(given, MAX_SPLITS)
        paths = [
            path,
            *(path.with_name(f"?-{number:05}-of-{count:05}.gguf") for number in range(2, count + 1)),
        ]
    tensors = [tensor for header in headers for tensor in header.tensors]
    if len({tensor.name for tensor in tensors}) != len(tensors):
        raise broken(path, say("two of its files contain the same tensor"))
    missing = tuple(item.name for item in paths if item not in here)
    return Whole(
        path=here[0],
        metadata={key: value for header in reversed(headers) for key, value in header.metadata.items()},
        tensors=tuple(tensors),
        files=len(headers),
        size_bytes=sum(header.size_bytes for header in headers),
        missing=missing,
        notes=(
            *(note for header in headers for note in header.notes),
            *(
                say(
                    "{path} is truncated: {size} bytes, but its tensors end at {ends}",
                    path=header.path.name,
                    size=f"{header.size_bytes:,}",
                    ends=f"{header.tensors_end:,}",
                )
                for header in headers
                if header.size_bytes < header.tensors_end
            ),
            *_lack(missing, paths),
        ),
    )


def _fellows(path: Path) -> list[Path]:
    """All files of the model this one belongs to, by its name."""
    match = _PART.fullmatch(path.name)
    if match is None or not 1 <= int(match["count"]) <= MAX_SPLITS:
        return [path]
    count = int(match["count"])
    names = [f"{match['stem']}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1)]
    return [path.with_name(name) for name in names] if path.name in names else [path]


def _lack(missing: tuple[str, ...], paths: list[Path]) -> list[Sentence]:
    if not missing:
        return []
    names = ", ".join(missing[:NAMES_SHOWN]) + (", ..." if len(missing) > NAMES_SHOWN else "")
    return [
        say(
            "{missing} of {all} files of this GGUF are missing: {names}",
            missing=len(missing),
            all=len(paths),
            names=names,
        )
    ]
