"""`history`: what the watch kept: moments, benchmarks, machines, events."""

from __future__ import annotations

__all__: list[str] = []
