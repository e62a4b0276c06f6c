"""`sweep`: many questions at once, on the cores of this machine or on a Ray cluster."""

from __future__ import annotations

__all__: list[str] = []
