"""`sweep`: many questions on this machine's cores or on a Ray cluster."""

from __future__ import annotations

__all__: list[str] = []
