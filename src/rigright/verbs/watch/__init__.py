"""`watch`: the machine again and again, kept, shown and served."""

from __future__ import annotations

__all__: list[str] = []
