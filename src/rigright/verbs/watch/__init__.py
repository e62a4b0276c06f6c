"""`watch`: reads the machine repeatedly, records, shows and serves it."""

from __future__ import annotations

__all__: list[str] = []
