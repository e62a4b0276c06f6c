"""NVIDIA's XID codes: what each means, what to do at once, and what then."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.words import say, tell
from rigright.facts.xids import Xid, xids
from rigright.verbs.look_up.listing import Asked, Field, Kind

_MOST_DIGITS = 6


def _find(asked: Asked) -> tuple[Xid, ...]:
    """By codes, else by words of the meaning in either language."""
    known = tuple(xids().values())
    if not asked.words:
        return known
    codes = [word.lower().removeprefix("xid") for word in asked.words]
    if all(code.isdecimal() and len(code) <= _MOST_DIGITS for code in codes):
        missing = [code for code in codes if int(code) not in xids()]
        if missing:
            raise AskError(say("XID {codes}: unused, or not known", codes=", ".join(missing)))
        return tuple(xids()[int(code)] for code in codes)
    wanted = {word.lower() for word in asked.words}
    found = tuple(one for one in known if _speaks(one, wanted))
    if not found:
        raise AskError(say('no XID matches "{words}"', words=" ".join(asked.words)))
    return found


def _named(asked: Asked) -> Xid | None:
    """The code of "xid 79" or "Xid79"; a bare number names a code only where nothing else bears it."""
    code = "".join(asked.words).lower().replace(" ", "").removeprefix("xid")
    return xids().get(int(code)) if code.isdecimal() and len(code) <= _MOST_DIGITS else None


def _speaks(xid: Xid, wanted: set[str]) -> bool:
    words = f"{tell(xid.meaning, 'en')} {tell(xid.meaning, 'zh')} {xid.action} {xid.next}".lower()
    return all(word in words for word in wanted)


KIND = Kind(
    summary=say("NVIDIA driver error codes: meaning, immediate action, follow-up"),
    title=say("XID codes of the NVIDIA driver"),
    fields=(
        Field(key="code", head=say("code"), read=lambda xid: xid.code, right=True),
        Field(key="meaning", head=say("meaning"), read=lambda xid: xid.meaning, flexible=True),
        Field(key="action", head=say("first action"), read=lambda xid: xid.action),
        Field(key="next", head=say("then"), read=lambda xid: xid.next),
        Field(key="hardware", head=say("hardware"), read=lambda xid: xid.hardware),
        Field(key="confidence", head=say("confidence"), read=lambda xid: xid.confidence, detail=True),
        Field(key="as_of", head=say("as of"), read=lambda xid: xid.as_of, detail=True),
    ),
    find=_find,
    named=_named,
    sources=lambda xid: xid.source,
)
