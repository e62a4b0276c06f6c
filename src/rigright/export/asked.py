"""What an export is made of."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.words import ENGLISH


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """What somebody wants exported, and for whom."""

    watched: tuple[str, ...] = ("127.0.0.1:9477",)  # where `watch --serve` answers
    alertmanagers: tuple[str, ...] = ()
    token_file: str | None = None  # that Prometheus reads, where the watch asks for a token
    every_s: float = 15.0
    language: str = ENGLISH
