"""`history`: what `watch` and `bench` recorded: readings, benchmarks, machines, events."""

from __future__ import annotations

__all__: list[str] = []
