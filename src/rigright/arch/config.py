"""A model's config, read with care: absent, null and default are three things, and no value is trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rigright.base.errors import DataError
from rigright.base.record import dataclass
from rigright.base.units import GIGA
from rigright.base.words import say

MAX_SIZE = int(GIGA)  # no dimension, count or vocabulary of a real model is larger
MAX_LAYERS = 2_000  # the deepest networks that anybody published have some 1,200

_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class Config:
    """Keys of a config.json with checked access; `where` names it in errors."""

    raw: Mapping[str, Any]
    where: str

    def has(self, key: str) -> bool:
        """Whether the key stands there, null or not."""
        return key in self.raw

    def null(self, key: str) -> bool:
        """Whether the key stands there and is null."""
        return key in self.raw and self.raw[key] is None

    def whole(self, *keys: str, default: int = _ABSENT) -> int:
        """A count or dimension under the first key that is there and not null."""
        value = self._first(keys, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SIZE:
            raise self._bad(keys, value)
        return value

    def size(self, *keys: str, default: int = _ABSENT) -> int:
        """A dimension: a whole number above zero."""
        value = self.whole(*keys, default=default)
        if value == 0:
            raise self._bad(keys, value)
        return value

    def maybe(self, *keys: str, default: int | None = None) -> int | None:
        """A dimension, or None where null; the default only where absent."""
        for key in keys:
            if key in self.raw:
                return None if self.raw[key] is None else self.whole(key)
        return default

    def number(self, *keys: str, default: float = _ABSENT) -> float:
        """A finite number."""
        value = self._first(keys, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
            raise self._bad(keys, value)
        return value

    def flag(self, *keys: str, default: bool) -> bool:
        """A yes or no."""
        value = self._first(keys, default)
        if not isinstance(value, bool | int):
            raise self._bad(keys, value)
        return bool(value)

    def word(self, *keys: str, default: str = _ABSENT) -> str:
        """A short text."""
        value = self._first(keys, default)
        if not isinstance(value, str):
            raise self._bad(keys, value)
        return value

    def items(self, *keys: str, default: list[Any] | tuple[Any, ...] = _ABSENT) -> list[Any]:
        """A list."""
        value = self._first(keys, default)
        if not isinstance(value, list | tuple) or len(value) > MAX_LAYERS:
            raise self._bad(keys, value)
        return list(value)

    def sizes(self, *keys: str, default: list[int] | tuple[int, ...] = _ABSENT) -> list[int]:
        """A list of dimensions."""
        values = self.items(*keys, default=default)
        return [Config({"item": value}, f"{self.where}: {keys[0]}").whole("item") for value in values]

    def part(self, *keys: str) -> Config:
        """A nested config; an empty one where absent or null."""
        for key in keys:
            value = self.raw.get(key)
            if isinstance(value, Mapping):
                return Config(value, f"{self.where}: {key}")
            if value is not None:
                raise self._bad(keys, value)
        return Config({}, f"{self.where}: {keys[0]}")

    def layers(self, *keys: str, default: int = _ABSENT) -> int:
        """A number of layers, bounded."""
        value = self.whole(*keys, default=default)
        if value > MAX_LAYERS:
            raise self._bad(keys, value)
        return value

    def aligned(self, **lists: list[int]) -> list[tuple[int, ...]]:
        """Lists that tell of the same stages, side by side."""
        if len({len(numbers) for numbers in lists.values()}) > 1:
            raise DataError(say("{where}: {keys} differ in length", where=self.where, keys=", ".join(lists)))
        return list(zip(*lists.values(), strict=True))

    def over(self, **changes: object) -> Config:
        """The same with some keys set."""
        return Config({**self.raw, **changes}, self.where)

    def _first(self, keys: tuple[str, ...], default: Any) -> Any:
        for key in keys:
            if self.raw.get(key) is not None:
                return self.raw[key]
        if default is _ABSENT:
            raise DataError(say('{where} lacks "{key}"', where=self.where, key=keys[0]))
        return default

    def _bad(self, keys: tuple[str, ...], value: object) -> DataError:
        shown = repr(value)
        return DataError(
            say(
                '{where}: "{key}" cannot be {value}',
                where=self.where,
                key=next((key for key in keys if key in self.raw), keys[0]),
                value=shown if len(shown) <= 60 else shown[:57] + "...",
            )
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)
