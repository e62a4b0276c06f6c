"""The server of the metrics: one thread, a deadline for every request, few at a time, loopback by default."""

from __future__ import annotations

import asyncio
import errno
import hmac
import ipaddress
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from threading import Event as Flag
from threading import Thread

from rigright.base.errors import AskError, MissingError
from rigright.base.patience import patience
from rigright.base.units import KIB
from rigright.base.words import say

PORT = 9477
_MOST_HEAD = 16 * KIB
_MOST_CALLERS = 32
_PATIENCE_S = 5.0  # for a whole request, and for a whole answer
_LEAST_TOKEN = 16  # letters
_PLAIN = "text/plain; charset=utf-8"
_PAGES = {"/": (200, b"rigright watch: /metrics /healthz\n", _PLAIN)}
_NOT_FOUND = (404, b"there are /metrics and /healthz\n", _PLAIN)
_NOT_UNDERSTOOD = b"no request that this server understands\n"
Page = Callable[[str], tuple[bytes, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenAddress:
    """Where to listen."""

    host: str = "127.0.0.1"
    port: int = PORT

    @property
    def is_loopback(self) -> bool:
        """Whether nobody but this machine can call."""
        with suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return self.host == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_place(text: str) -> ListenAddress:
    """Read "9477", "127.0.0.1:9477", "[::]:9477", ":9477"."""
    host, colon, port = text.strip().rpartition(":")
    if (
        not port.isdecimal()
        or not 0 <= int(port[:6]) < 65_536
        or (host.count(":") and not host.startswith("["))
    ):
        raise AskError(
            say('--serve "{text}": use a port, or host:port such as 127.0.0.1:{port}', text=text, port=PORT)
        )
    host = host.strip("[]") or ("0.0.0.0" if colon else "127.0.0.1")  # noqa: S104 - asked for, and held by a token
    return ListenAddress(host=host, port=int(port))


def read_token(text: str) -> str:
    """The token of a file: one line, long enough not to be guessed."""
    token = text.strip()
    if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise AskError(
            say("the token must be one line of at least {least} letters and digits", least=_LEAST_TOKEN)
        )
    return token


def guard(place: ListenAddress, token: str | None) -> None:
    """Refuse to be open to other machines without a token."""
    if token is None and not place.is_loopback:
        raise AskError(
            say(
                "{place} is reachable from other machines; add --token FILE, or serve on 127.0.0.1",
                place=place,
            )
        )


class MetricsServer:
    """Serves pages until it is closed."""

    def __init__(
        self,
        place: ListenAddress,
        page: Page,
        *,
        token: str | None = None,
        is_up: Callable[[], bool] = lambda: True,
    ) -> None:
        guard(place, token)
        self._page, self._token, self._is_up = page, token, is_up
        self._callers = 0
        # A socket that listens, or why it cannot
        try:
            rows = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
            family, kind, protocol, _, address = rows[0]
            bound = socket.socket(family, kind, protocol)
        except OSError as error:
            raise _refused(place, error) from None
        try:
            if hasattr(socket, "SO_REUSEADDR") and not hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(_MOST_CALLERS)
            bound.setblocking(False)  # noqa: FBT003 - its only argument
        except OSError as error:
            bound.close()
            raise _refused(place, error) from None
        self._socket = bound
        self.place = ListenAddress(host=place.host, port=self._socket.getsockname()[1])
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._running = Flag()
        self._thread = Thread(target=self._work, daemon=True, name="metrics")
        self._thread.start()
        self._running.wait(patience(_PATIENCE_S))

    @property
    def address(self) -> str:
        """Where the metrics are."""
        return f"http://{self.place}/metrics"

    def close(self) -> None:
        """Hang up on everybody."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(patience(_PATIENCE_S))

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._called, sock=self._socket, limit=_MOST_HEAD)
        self._running.set()
        await self._end.wait()
        server.close()
        await asyncio.sleep(0)  # who was just let in begins, so that he can be shown out
        callers = asyncio.all_tasks() - {asyncio.current_task()}
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        await asyncio.sleep(0)

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One caller: one request, one answer, and goodbye."""
        self._callers += 1
        try:
            if self._callers > _MOST_CALLERS:
                answer = _answer(503, b"too many callers\n")
            else:
                answer = await self._answered(reader)
            writer.write(answer)
            await asyncio.wait_for(writer.drain(), patience(_PATIENCE_S))
        except (OSError, TimeoutError, asyncio.CancelledError, ValueError):
            pass
        finally:
            self._callers -= 1
            with suppress(OSError, RuntimeError):
                if self._end.is_set():
                    writer.transport.abort()
                writer.close()

    async def _answered(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), patience(_PATIENCE_S))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return _answer(400, _NOT_UNDERSTOOD)
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return _answer(400, _NOT_UNDERSTOOD)
        parts = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, colon, value in parts if colon}
        method, path = words[0], words[1].partition("?")[0]
        try:
            code, body, kind = self._respond(method, path, headers=headers)
        except Exception:  # noqa: BLE001 - a scrape must never end the watch
            code, body, kind = 500, b"the page could not be made\n", _PLAIN
        return _answer(code, body, kind=kind, with_body=method != "HEAD")

    def _respond(self, method: str, path: str, *, headers: Mapping[str, str]) -> tuple[int, bytes, str]:
        if method not in {"GET", "HEAD"}:
            return 405, b"only GET\n", _PLAIN
        if path == "/healthz":
            return (200, b"ok\n", _PLAIN) if self._is_up() else (503, b"no readings\n", _PLAIN)
        if self._token is not None and not self._knows(headers.get("authorization", "")):
            return 401, b"a token is needed\n", _PLAIN
        if self._token is None and not is_own_name(headers.get("host", "localhost")):
            return 403, b"ask for this machine by its own name\n", _PLAIN
        if path == "/metrics":
            return 200, *self._page(headers.get("accept", ""))
        return _PAGES.get(path, _NOT_FOUND)

    def _knows(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        data = given.strip().encode("latin-1", "replace")
        return scheme.lower() == "bearer" and hmac.compare_digest(data, str(self._token).encode())


def _refused(place: ListenAddress, error: OSError) -> MissingError:
    if error.errno == errno.EADDRINUSE:
        return MissingError(say("{place} is already in use; choose another port with --serve", place=place))
    return MissingError(say("cannot listen on {place}: {why}", place=place, why=error.strerror or error))


def is_own_name(host: str) -> bool:
    """Whether the caller asked for this machine: a page of the web that lies about names did not."""
    name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
    return ListenAddress(host=name.strip("[]") or "localhost").is_loopback


def _answer(code: int, body: bytes, *, kind: str = _PLAIN, with_body: bool = True) -> bytes:
    head = (
        f"HTTP/1.1 {code} {HTTPStatus(code).phrase}\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n"
        f"{'WWW-Authenticate: Bearer' + chr(13) + chr(10) if code == 401 else ''}\r\n"
    )
    return head.encode("latin-1") + (body if with_body else b"")
