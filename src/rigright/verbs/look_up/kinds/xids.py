"""NVIDIA's XID codes: what each means, what to do at once, and what then."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.words import say, tell
from rigright.facts.faults import Xid, xids
from rigright.verbs.look_up.fields import field
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery

_MOST_DIGITS = 6


def _find(asked: LookUpQuery) -> tuple[Xid, ...]:
    """By codes, else by words of the meaning in either language."""
    known = tuple(xids().values())
    if not asked.words:
        return known
    codes = [word.lower().removeprefix("xid") for word in asked.words]
    if all(code.isdecimal() and len(code) <= _MOST_DIGITS for code in codes):
        missing = [code for code in codes if int(code) not in xids()]
        if missing:
            raise AskError(say("XID {codes}: unused or unknown", codes=", ".join(missing)))
        return tuple(xids()[int(code)] for code in codes)
    wanted = {word.lower() for word in asked.words}
    result = tuple(xid for xid in known if _speaks(xid, wanted))
    if not result:
        raise AskError(say('no XID matches "{words}"', words=" ".join(asked.words)))
    return result


def _named(asked: LookUpQuery) -> Xid | None:
    """The code of "xid 79" or "Xid79"; a bare number names a code only where nothing else bears it."""
    code = "".join(asked.words).lower().replace(" ", "").removeprefix("xid")
    return xids().get(int(code)) if code.isdecimal() and len(code) <= _MOST_DIGITS else None


def _speaks(xid: Xid, wanted: set[str]) -> bool:
    words = f"{tell(xid.meaning, 'en')} {tell(xid.meaning, 'zh')} {xid.action} {xid.next}".lower()
    return all(word in words for word in wanted)


KIND = ListingKind(
    record=Xid,
    summary=say("NVIDIA driver error codes: meaning, immediate action, follow-up"),
    title=say("XID codes of the NVIDIA driver"),
    fields=(
        field("code", say("code"), listed=True),
        field("meaning", say("meaning"), listed=True, flexible=True),
        field("action", say("first action"), listed=True),
        field("next", say("then"), listed=True),
        field("hardware", say("hardware"), listed=True),
        field("confidence", say("confidence")),
        field("as_of", say("as of")),
    ),
    find=_find,
    named=_named,
    sources=lambda xid: xid.source,
)
