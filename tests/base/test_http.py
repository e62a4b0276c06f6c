"""The way out: one deadline over the connection and the head, whatever a server sends in between."""

from __future__ import annotations

import gc
import socket
import threading
import time

import pytest

from rigright.base.http import opened


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
    asking = [
        other for other in threading.enumerate() if other.name.startswith("Thread-") and "ask" in other.name
    ]
    for other in (thread, *asking):
        other.join(60)
    gc.collect()  # the connection is let go of: a socket left open would be a warning here, and so an error
    assert time.monotonic() - begun < 400, "the head alone would take 500 s"
