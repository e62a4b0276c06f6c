"""The page: the commands behind a door that strangers may knock at, and the files that a browser shows.

A request is refused before it is read: by the name it asked for (pages that lie about names), by where it
comes from (other sites), by its token beyond loopback, by its size, by its slowness, and when too many wait.
"""

from __future__ import annotations

import hmac
import os
import sys
import tempfile
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import chdir, closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rigright import __version__
from rigright.base.extras import absent
from rigright.base.tables import DATA
from rigright.base.words import say, tell
from rigright.faces import page
from rigright.faces.reply import FORMS, Printed, reply
from rigright.faces.workers import AnswerPool
from rigright.verbs.watch.serving import door, is_own_name

PORT = 9479
MOST_WAITING = 128  # questions
MOST_HEADLESS = 128  # connections that have sent no whole head
_KEPT, _KEPT_S = 512, 60.0  # answers, and how long prices on disk may have changed unseen
HEAD_S, ASKED_S, FILE_S = 10.0, 10.0, 120.0  # by when a request's head and body must be there
MOST_GUESSES, GUESSES_S, MOST_GUESSERS = 10, 60.0, 1024  # wrong tokens from one address
MOST_BEHIND = 200  # letters of what a proxy says of who is behind it
_LIVE = {"probe", "doctor"}
_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_HEADERS = {
    "x-rigright": __version__,  # by which the page knows that it need not answer by itself
    "content-security-policy": "default-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


def app(token: str | None = None, *, workers: AnswerPool | None = None) -> Any:
    """The page as an ASGI application; without workers it answers one question at a time by itself."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise absent("web", say("the page needs starlette and uvicorn, which are not installed"))
    from starlette.applications import Starlette
    from starlette.routing import Route

    desk = Desk(workers)
    shown = {file.name: file for file in [*(DATA / "web").iterdir(), DATA / "page.css"]}
    files = [
        Route(f"/{'' if name == 'index.html' else name}", _file(path), methods=["GET"])
        for name, path in shown.items()
    ]
    api = [
        Route("/api/forms", desk.forms, methods=["GET"]),
        Route("/api/ask", desk.ask, methods=["POST"]),
        Route("/api/file", desk.file, methods=["POST"]),
        Route("/api/here", desk.here, methods=["GET"]),
        Route("/api/openapi.json", desk.openapi, methods=["GET"]),
    ]
    return Door(Starlette(routes=[*files, *api]), token=token)


def serve(at: str, *, token_file: str | None, hub: bool, language: str) -> None:
    """Answer until Ctrl-C, from an empty folder, where no name is a file; the hub only if asked for."""
    place, token = door(at, token_file=token_file)
    workers = AnswerPool()
    made = app(token, workers=workers)
    if not hub:
        os.environ["HF_HUB_OFFLINE"] = "1"
    import uvicorn

    with tempfile.TemporaryDirectory() as empty, chdir(empty), closing(workers):
        workers.warm()
        sys.stderr.write(tell(say("page at {address}", address=f"http://{place}/"), language) + "\n")
        uvicorn.run(
            made, host=place.host, port=place.port, log_level="warning", timeout_keep_alive=10,
            server_header=False, proxy_headers=False, http=prompt_protocol(),
        )  # fmt: skip


def prompt_protocol() -> Any:
    """The protocol of uvicorn for those who send the head of their request in time; others are hung up on.

    Of too many that send none the eldest goes first.
    """
    import asyncio

    from uvicorn.protocols.http.h11_impl import H11Protocol

    headless: OrderedDict[int, Any] = OrderedDict()

    class Prompt(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._look_again()
            headless[id(self)] = self
            if len(headless) > MOST_HEADLESS:
                headless.popitem(last=False)[1].transport.close()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None:
                headless.pop(id(self), None)

        def _look_again(self) -> None:
            self._last = self.cycle
            self._late = asyncio.get_running_loop().call_later(HEAD_S, self._look)

        def _look(self) -> None:
            if self.cycle is not self._last or (self.cycle is not None and not self.cycle.response_complete):
                self._look_again()
            else:  # no request has begun since
                self.transport.close()

        def connection_lost(self, exc: Exception | None) -> None:
            self._late.cancel()
            headless.pop(id(self), None)
            super().connection_lost(exc)

    return Prompt


class Guesses:
    """Who sent wrong tokens lately: after a few in a minute none of theirs is looked at.

    Behind a proxy all come from one address, and what the proxy says of them a stranger may say too: it
    opens nothing, but who was let in under such a name before is not shut out by the guesses of others.
    """

    def __init__(self) -> None:
        self._at: OrderedDict[str, list[float]] = OrderedDict()
        self._let_in: OrderedDict[str, None] = OrderedDict()

    def who(self, address: str, behind: str) -> str:
        """Under which name guesses are counted."""
        name = f"{address} {behind}"
        return name if name in self._let_in else address

    def let_in(self, address: str, behind: str) -> None:
        """Somebody knew the token."""
        self._let_in[f"{address} {behind}"] = None
        while len(self._let_in) > MOST_GUESSERS:
            self._let_in.popitem(last=False)

    def are_many(self, address: str) -> bool:
        """Whether an address has to wait."""
        since = time.monotonic() - GUESSES_S
        kept = [at_s for at_s in self._at.get(address, ()) if at_s > since]
        return len(kept) >= MOST_GUESSES

    def add(self, address: str) -> None:
        """One more."""
        self._at[address] = [*self._at.pop(address, ())[1 - MOST_GUESSES :], time.monotonic()]
        while len(self._at) > MOST_GUESSERS:
            self._at.popitem(last=False)


class Door:
    """Who may come in, and what every answer bears."""

    def __init__(self, inside: Any, *, token: str | None) -> None:
        self._inside, self._token, self._guesses = inside, token, Guesses()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._inside(scope, receive, send)
            return

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        from starlette.responses import PlainTextResponse

        fields = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        address = (scope.get("client") or ("",))[0]
        refused = self._refusal(fields, address=address, is_api=scope["path"].startswith("/api/"))
        if refused is None:
            await self._inside(scope, receive, sent)
        else:
            await PlainTextResponse(refused[1] + "\n", status_code=refused[0])(scope, receive, sent)  # type: ignore[arg-type]

    def _refusal(self, fields: Mapping[str, str], *, address: str, is_api: bool) -> tuple[int, str] | None:
        host = fields.get("host", "")
        if self._token is None and not (host and is_own_name(host)):
            return 403, "ask for this machine by its own name"
        origin = fields.get("origin")
        is_elsewhere = origin is not None and origin.partition("://")[2] != host
        if is_elsewhere or fields.get("sec-fetch-site", "none") not in {"same-origin", "none"}:
            return 403, "asked from another site"
        if not is_api or self._token is None:
            return None
        behind = fields.get("x-forwarded-for", "")[:MOST_BEHIND]
        who = self._guesses.who(address, behind)
        if self._guesses.are_many(who):
            return 429, "too many wrong tokens"
        given = fields.get("authorization", "").removeprefix("Bearer ").strip().encode("latin-1")
        if hmac.compare_digest(given, self._token.encode()):
            self._guesses.let_in(address, behind)
            return None
        if given:
            self._guesses.add(who)
        return 401, "a token is needed"


class Desk:
    """The answers: as many at a time as there are workers, those of the last minute kept, few waiting."""

    def __init__(self, workers: AnswerPool | None) -> None:
        from anyio import CapacityLimiter

        self._workers = workers
        self._turn, self._watching = CapacityLimiter(workers.count if workers else 1), CapacityLimiter(1)
        self._took_s = 0.5  # of the last answers, about
        self._waiting = 0
        self._kept: OrderedDict[str, tuple[float, Printed]] = OrderedDict()

    async def forms(self, request: Any) -> Any:
        """What each command takes, in the reader's language."""
        from starlette.responses import JSONResponse

        return JSONResponse(page.forms(page.language_of(request.query_params.get("lang"))))

    async def openapi(self, _: Any) -> Any:
        """What programs may ask."""
        from starlette.responses import JSONResponse

        from rigright.faces.openapi import document

        return JSONResponse(document())

    async def ask(self, request: Any) -> Any:
        """A command with its options."""
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return _refused(415, "send application/json")
        sent = await _bounded(request, page.MOST_ASKED, within_s=ASKED_S)
        if isinstance(sent, int):
            return _refused(sent, _WHY[sent])
        asked = page.read(sent)
        if asked is None:
            return _refused(400, 'send {"verb": ..., "said": {...}} of a command that is offered')
        key = repr(asked)
        if (kept := self._fresh(key)) is not None:
            return _answered(kept, asked.form)

        def found() -> Printed:
            known = self._fresh(key)  # answered while this one waited
            if known is not None:
                return known
            job = {"sent": sent.decode("utf-8", "replace"), "verb": asked.verb}
            answer = self._workers.ask(job, language=asked.language) if self._workers else asked.answer()
            return self._keep(key, answer, verb=asked.verb)

        return _answered(await self._found(found), asked.form, wait_s=self._wait_s())

    async def file(self, request: Any) -> Any:
        """A file that was dropped: a machine for the doctor, runs to hold predictions against."""
        verb, form = request.query_params.get("verb", ""), request.query_params.get("form", "html")
        if request.headers.get("content-type") != "application/octet-stream":
            return _refused(415, "send application/octet-stream")
        if verb not in page.FILES or form not in FORMS:
            return _refused(400, "no such command or form")
        sent = await _bounded(request, page.MOST_FILE, within_s=FILE_S)
        if not sent or isinstance(sent, int):
            return _refused(sent or 400, _WHY[sent] if sent else "an empty file")
        value = request.query_params
        named = {"name": value.get("name", ""), "every": value.get("all") == "true"}
        language = page.language_of(value.get("lang"))
        fields = {"verb": verb, "form": form, "language": language, **named}
        printed = await self._found(lambda: self._dropped(sent, fields))
        return _answered(printed, form, wait_s=self._wait_s())

    def _dropped(self, sent: bytes, fields: dict[str, Any]) -> Printed:
        if self._workers is None:
            return page.dropped(sent, **fields)
        with tempfile.NamedTemporaryFile() as file:
            file.write(sent)
            file.flush()
            return self._workers.ask({"file": file.name, **fields}, language=fields["language"])

    async def here(self, request: Any) -> Any:
        """The machine as it is now, or as it was."""
        from anyio import to_thread

        language, since = (
            page.language_of(request.query_params.get("lang")),
            request.query_params.get("since"),
        )
        verb, asked = ("watch", {"once": True, "no_history": True}) if since is None else ("history", {})
        if since is not None:
            if since not in page.SINCE:
                return _refused(400, "no such time")
            asked = {"since": since}
        if self._watching.statistics().tasks_waiting > 8:
            return _answered(None, "html")
        printed = await to_thread.run_sync(
            lambda: reply(verb, {}, form="html", language=language, trusted=asked), limiter=self._watching
        )
        return _answered(printed, "html")

    def _fresh(self, key: str) -> Printed | None:
        at_s, kept = self._kept.get(key, (0.0, None))
        return kept if time.monotonic() - at_s < _KEPT_S else None

    def _keep(self, key: str, printed: Printed, *, verb: str) -> Printed:
        if not (printed.failed or verb in _LIVE or "here" in key.lower()):
            self._kept[key] = time.monotonic(), printed
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return printed

    async def _found(self, ask: Callable[[], Printed]) -> Printed | None:
        from anyio import to_thread

        if self._waiting >= MOST_WAITING:
            return None
        self._waiting += 1
        begun_s = time.monotonic()
        try:
            return await to_thread.run_sync(ask, limiter=self._turn)
        finally:
            self._took_s = 0.9 * self._took_s + 0.1 * (time.monotonic() - begun_s) / self._waiting
            self._waiting -= 1

    def _wait_s(self) -> int:
        """After how long somebody may try again."""
        return max(round(self._waiting * self._took_s), 1)


def _file(path: Path) -> Any:
    from starlette.responses import Response

    body, kind = path.read_bytes(), _TYPES.get(path.suffix, "application/octet-stream")

    async def shown(_: Any) -> Any:
        return Response(body, media_type=kind, headers={"cache-control": "no-cache"})

    return shown


_WHY = {408: "too slow", 413: "too large"}


async def _bounded(request: Any, most: int, *, within_s: float) -> bytes | int:
    """The body, or why it is refused."""
    from anyio import move_on_after

    result = bytearray()
    with move_on_after(within_s):
        async for chunk in request.stream():
            result += chunk
            if len(result) > most:
                return 413
        return bytes(result)
    return 408


def _refused(code: int, why: str) -> Any:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse(why + "\n", status_code=code)


def _answered(printed: Printed | None, form: str, *, wait_s: int = 1) -> Any:
    from starlette.responses import Response

    if printed is None:
        return Response("too many questions wait\n", status_code=503, headers={"retry-after": str(wait_s)})
    kind = "application/json" if form == "json" or printed.failed else "text/plain; charset=utf-8"
    fields = {"x-exit-code": str(printed.exit_code), "cache-control": "no-store"}
    fields |= {"x-failed": "yes"} if printed.failed else {}
    return Response(printed.text, media_type=kind, headers=fields)
