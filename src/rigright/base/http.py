"""The one way out to other people's servers: bounded in size and time; a key goes to the host it is for."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPResponse
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit

from rigright.base.errors import AskError, DataError
from rigright.base.files import too_large
from rigright.base.units import KIB
from rigright.base.words import say

PIECE_BYTES = 64 * KIB


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows to http and https alone, and leaves the key behind where another host answers."""

    def redirect_request(self, req: urllib.request.Request, *answer: Any) -> urllib.request.Request | None:
        """The next question; None refuses it."""
        newurl = str(answer[-1])
        there = urlsplit(urljoin(req.full_url, newurl))
        if there.scheme not in {"http", "https"}:
            return None
        fresh = super().redirect_request(req, *answer)
        here = urlsplit(req.full_url)
        if fresh is not None and (here.scheme, here.netloc) != (there.scheme, there.netloc):
            fresh.remove_header("Authorization")
        return fresh


def opened(
    url: str,
    *,
    wait_s: float,
    body: bytes | None = None,
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> HTTPResponse:
    """The answer of a server, open; what goes wrong comes as urllib's own errors.

    `wait_s`: for the connection and the whole head together, then for each piece.
    """
    if urlsplit(url).scheme not in {"http", "https"}:
        raise AskError(say('"{text}" is not an address; for example http://127.0.0.1:8000/v1', text=url))
    request = urllib.request.Request(  # noqa: S310 - http and https only: above
        url, data=body, headers=dict(headers or {}) | ({"Authorization": f"Bearer {key}"} if key else {})
    )
    opener, answers, left = urllib.request.build_opener(_SameHost), SimpleQueue[Any](), Event()

    def ask() -> None:
        try:
            answers.put(opener.open(request, timeout=wait_s))
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is waited for
            answers.put(error)
        if left.is_set():
            _close(answers)

    Thread(target=ask, daemon=True).start()  # a head that drips never runs into a timeout of its socket
    try:
        answer = answers.get(timeout=wait_s)
    except Empty:
        left.set()
        _close(answers)  # one that came in between
        raise TimeoutError(f"no answer within {wait_s:g} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer  # type: ignore[no-any-return]


def _close(answers: SimpleQueue[Any]) -> None:
    """Let go of an answer that nobody waits for any more."""
    with suppress(Empty):
        answer = answers.get_nowait()
        if isinstance(answer, HTTPResponse | HTTPError):
            answer.close()


def fetched(
    url: str, *, most_bytes: int, limit_s: float, wait_s: float, key: str | None = None, span: str = ""
) -> bytes:
    """A whole answer, or of it the bytes "first-last": so large and so late at most."""
    until = time.monotonic() + limit_s
    raw = bytearray()
    try:
        answer = opened(url, wait_s=wait_s, key=key, headers={"Range": f"bytes={span}"} if span else None)
    except HTTPError as error:
        error.close()  # it holds the connection, and nobody reads its words
        raise
    with answer:
        if (answer.length or 0) > most_bytes:
            raise too_large(url, most_bytes)
        while more := answer.read1(PIECE_BYTES):
            raw += more
            if len(raw) > most_bytes:
                raise too_large(url, most_bytes)
            if time.monotonic() > until:
                raise DataError(
                    say("{url}: incomplete response after {limit} s", url=url, limit=f"{limit_s:g}")
                )
    return bytes(raw)
