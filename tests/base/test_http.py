"""The way out: one deadline over the connection and the head, whatever a server sends in between."""

from __future__ import annotations

import socket
import threading
import time
from urllib.error import HTTPError

import pytest

from rigright.base.http import fetched, opened


def test_a_head_that_drips_is_not_waited_for():
    listening = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def drip():
        line, _ = listening.accept()
        with line:
            for letter in b"HTTP/1.1 200 OK\r\nx: " + b"y" * 10_000:
                if over.wait(0.05):
                    return
                line.sendall(bytes([letter]))

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    begun = time.monotonic()
    try:
        with pytest.raises(OSError, match=r"0\.5 s"):
            opened(f"http://127.0.0.1:{listening.getsockname()[1]}/", wait_s=0.5)
    finally:
        over.set()
        listening.close()
    assert time.monotonic() - begun < 400, "the head alone would take 500 s"


REFUSED = ["404 Not Found", "302 Found\r\nLocation: file:///etc/passwd"]


def answering(status, *, after):
    """A server that sends half an answer, and lives until the other side lets go of the connection."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer():
        line, _ = listening.accept()
        with listening, line:
            line.recv(4096)
            after.wait(60)
            line.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\nhe".encode())
            line.recv(1)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}/", thread


def let_go(thread):
    thread.join(60)
    return not thread.is_alive()


@pytest.mark.parametrize("status", ["200 OK", *REFUSED])
def test_an_answer_that_comes_too_late_is_let_go(status):
    late = threading.Event()
    url, thread = answering(status, after=late)
    with pytest.raises(TimeoutError):
        opened(url, wait_s=0.5)
    late.set()
    assert let_go(thread)


@pytest.mark.parametrize("status", REFUSED)
def test_a_refusal_is_let_go(status):
    at_once = threading.Event()
    at_once.set()
    url, thread = answering(status, after=at_once)
    with pytest.raises(HTTPError):
        fetched(url, most_bytes=99, limit_s=60, wait_s=60)
    assert let_go(thread)
