"""The network to another machine where `rigright bench --listen` runs; without one, this machine's own loop.

The loop says how fast this system's network code is, not any cable. Two rigrights are on the wire: one
listens, the other sends, fetches and counts. What is said: a greeting, one letter for the way, and how many
seconds. Nothing that comes in is kept or run. The listener takes a few connections at a time, and each only
for a bounded time.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Thread

from rigright.base.errors import AskError, DataError, MissingError
from rigright.base.patience import patience
from rigright.base.units import KIB, MIB
from rigright.base.words import say
from rigright.machine.bench.record import BenchRequest, Result, Settings
from rigright.machine.bench.tasks import Deadline, spread, taken

GREETING = b"rigright-wire-1\n"
HEAD = struct.Struct("!cd")
SEND, FETCH, _ECHO = b"s", b"f", b"e"
LONGEST_S = 60.0
_REACH_S, SILENT_S = 5.0, 10.0  # for the other side to greet, and beside the time it works
CHUNK = MIB
_ECHO_BYTES = 64
PORT = 47470
_AT_ONCE = 8
WAYS = {"send": SEND, "fetch": FETCH}
STREAMS = (1, 4)
ROUND_S, QUICK_ROUND_S, SHORTEST_S, _MOST_ROUNDS = 2.0, 0.3, 0.1, 3


def network(ask: BenchRequest) -> Iterator[Result]:
    """Both ways over one and several connections, and the time there and back."""
    if ask.peer is not None:
        yield from _between(ask, address_of(ask.peer), on=ask.peer)
        return
    with listener("127.0.0.1", 0) as waiting:
        attended(waiting)
        yield from _between(ask, ("127.0.0.1", waiting.getsockname()[1]), on="loopback")


def _between(ask: BenchRequest, address: tuple[str, int], *, on: str) -> Iterator[Result]:
    host, port = address
    through = port_to(host, port)
    streams = (1,) if ask.quick else STREAMS
    rounds = 1 + len(streams) * len(WAYS) * _MOST_ROUNDS
    round_s = min(QUICK_ROUND_S if ask.quick else ROUND_S, max(SHORTEST_S, ask.spare_s / rounds))
    times = round_trips(host, port, spare_s=round_s)
    yield taken("there and back", on=on, times_s=times, settings=(("bytes", str(_ECHO_BYTES)),))
    for name, way in WAYS.items():
        for count in streams:
            rates = [
                throughput(host, port, way=way, streams=count, spare_s=round_s) for _ in range(_MOST_ROUNDS)
            ]
            words = (("connections", str(count)), ("protocol", "TCP"), *through)
            yield spread(
                f"{name}, {count} connections", on=on, values=rates, unit="bytes_per_s", settings=words
            )


def port_to(host: str, port: int) -> Settings:
    """The network port that the way there begins at; no packet is sent to find it."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    with suppress(OSError, ImportError), socket.socket(kind, socket.SOCK_DGRAM) as line:
        import psutil

        line.connect((host, port or 1))
        own = line.getsockname()[0]
        for name, addresses in psutil.net_if_addrs().items():
            if any(address.address.partition("%")[0] == own for address in addresses):
                return (("port", name),)
    return ()


def address_of(text: str) -> tuple[str, int]:
    """Read "host", "host:port" or "[::1]:port"."""
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        host, port = text, str(PORT)
    host = host.strip("[]")
    if not host or not port.isdecimal() or not 0 <= int(port) < 64 * KIB:
        raise AskError(say('cannot read "{text}" as an address; for example host or host:47470', text=text))
    return host, int(port)


def listener(host: str, port: int) -> socket.socket:
    """A socket that waits for visitors."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    waiting = socket.socket(kind, socket.SOCK_STREAM)
    try:
        waiting.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        waiting.bind((host, port))
        waiting.listen(4)
    except OSError as error:
        waiting.close()
        why = error.strerror or error
        raise MissingError(
            say("cannot listen on {host}:{port}: {why}", host=host, port=port, why=why)
        ) from None
    return waiting


def attended(waiting: socket.socket) -> list[Thread]:
    """Threads that answer, so many that the connections of one visitor find someone."""
    threads = [Thread(target=serve, args=(waiting,), daemon=True) for _ in range(_AT_ONCE)]
    for thread in threads:
        thread.start()
    return threads


def serve(waiting: socket.socket) -> None:
    """Answer visitors one after another until the socket is closed."""
    while True:
        try:
            visitor, _ = waiting.accept()
        except OSError:
            return
        with visitor, suppress(OSError, struct.error, ValueError):
            answer(visitor)


def answer(visitor: socket.socket) -> None:
    """One visitor: what was asked for, no longer than allowed."""
    visitor.settimeout(patience(_REACH_S))
    visitor.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if _exactly(visitor, len(GREETING)) != GREETING:
        return
    visitor.sendall(GREETING)
    way, seconds = HEAD.unpack(_exactly(visitor, HEAD.size))
    until = Deadline.of(min(max(seconds, 0.0), LONGEST_S) + 2.0)
    if way == FETCH:
        _pour(visitor, until=Deadline.of(min(max(seconds, 0.0), LONGEST_S)))
    elif way == SEND:
        visitor.sendall(struct.pack("!Q", drain(visitor, until=until)))
    elif way == _ECHO:
        while not until.is_over():
            visitor.sendall(_exactly(visitor, _ECHO_BYTES))


def throughput(host: str, port: int, *, way: bytes, streams: int, spare_s: float) -> float:
    """Bytes a second over so many connections at once."""
    with ThreadPoolExecutor(streams) as pool:
        began = time.perf_counter()
        done = list(pool.map(lambda _: _one_way(host, port, way=way, spare_s=spare_s), range(streams)))
        return sum(done) / (time.perf_counter() - began)


def _one_way(host: str, port: int, *, way: bytes, spare_s: float) -> int:
    with visit(host, port, way=way, spare_s=spare_s) as line:
        if way == FETCH:
            return drain(line, until=Deadline.of(spare_s + 2.0))
        _pour(line, until=Deadline.of(spare_s))
        line.shutdown(socket.SHUT_WR)
        return int(struct.unpack("!Q", _exactly(line, 8))[0])


def round_trips(host: str, port: int, *, spare_s: float) -> list[float]:
    """Seconds of small messages there and back."""
    times = []
    until = Deadline.of(spare_s)
    with visit(host, port, way=_ECHO, spare_s=spare_s) as line:
        while not until.is_over():
            began = time.perf_counter()
            line.sendall(b"." * _ECHO_BYTES)
            _exactly(line, _ECHO_BYTES)
            times.append(time.perf_counter() - began)
    return times


def visit(host: str, port: int, *, way: bytes, spare_s: float) -> socket.socket:
    """A connection to a listener that has understood what is wanted."""
    try:
        line = socket.create_connection((host, port), timeout=patience(_REACH_S))
    except (OSError, ValueError) as error:
        raise _nobody(host, port, why=error) from None
    try:
        line.settimeout(spare_s + patience(SILENT_S))
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.sendall(GREETING)
        answered = _exactly(line, len(GREETING))
        line.sendall(HEAD.pack(way, spare_s))
    except OSError as error:
        line.close()
        raise _nobody(host, port, why=error) from None
    if answered != GREETING:
        line.close()
        raise DataError(say("{host}:{port} is not a rigright listener", host=host, port=port))
    return line


def _nobody(host: str, port: int, *, why: Exception) -> MissingError:
    return MissingError(
        say(
            "no answer from {host}:{port} ({why}); run `rigright bench --listen` there",
            host=host,
            port=port,
            why=getattr(why, "strerror", None) or why,
        )
    )


def _pour(line: socket.socket, *, until: Deadline) -> None:
    """Send as much as goes until then."""
    chunk = bytes(CHUNK)
    with suppress(ConnectionError, TimeoutError):
        while not until.is_over():
            line.sendall(chunk)


def drain(line: socket.socket, *, until: Deadline) -> int:
    """Take what comes until the other side ends, or until then; returns the bytes."""
    buffer, count = bytearray(CHUNK), 0
    while not until.is_over():
        got = line.recv_into(buffer)
        if not got:
            break
        count += got
    return count


def _exactly(line: socket.socket, count: int) -> bytes:
    """So many bytes, or an error where the other side ends before."""
    data = b""
    while len(data) < count:
        more = line.recv(count - len(data))
        if not more:
            raise ConnectionResetError
        data += more
    return data
