"""The user's own prices, as `prices import` kept them, in force while a question is answered."""

from __future__ import annotations

from rigright.facts.own_prices import use

__all__ = ["use"]
