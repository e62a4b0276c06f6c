"""How caches are stored: bits of an element, and the engines that can store it so."""

from __future__ import annotations

from functools import cache

from rigright.base.errors import unknown
from rigright.base.record import dataclass
from rigright.base.tables import DATA, frozen, read_toml
from rigright.base.words import say

BITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class KvFormat:
    """One way to store a cache entry."""

    id: str
    label: str
    bits: float  # an element, scales included
    source: str
    as_of: str
    engines: tuple[str, ...] = ()  # none: every engine
    aliases: tuple[str, ...] = ()

    @property
    def element_bytes(self) -> float:
        """Bytes of one cached element."""
        return self.bits / BITS


@cache
def kv_formats() -> dict[str, KvFormat]:
    """Every cache format by id."""
    return {key: KvFormat(id=key, **frozen(row)) for key, row in read_toml(DATA / "kv_formats.toml").items()}


def find_kv_format(asked: str) -> KvFormat:
    """The cache format of a name."""
    name = asked.strip().lower()
    for form in kv_formats().values():
        if name in {form.id, form.label.lower(), *form.aliases}:
            return form
    raise unknown(say("KV cache format"), asked, known=kv_formats())
