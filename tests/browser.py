"""Chromium, asked over a pipe by its own protocol: pages as people see them, and all that they say."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tarfile
import time
from contextlib import contextmanager

import pytest

QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
START = 'exec chromium "$@" 3<&0 4>&1 0</dev/null 1>/dev/null'  # it reads from 3 and writes to 4
PATIENCE_S = 120.0
AXE = "axe-core@4.14.1"
JUDGED = """axe.run().then(({violations}) =>
  violations.map(({id, nodes}) => [id, nodes.map((one) => one.html)]))"""


class LeftError(AssertionError):
    """The page that was asked is left."""


class Browser:
    """A browser with one page in it."""

    def __init__(self, told: int, heard: int) -> None:
        self._told, self._heard, self._rest, self._last = told, heard, b"", 0
        self.complaints: list[str] = []
        self.asked: list[str] = []  # addresses
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = None
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        follow = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
        self.send("Target.setAutoAttach", **follow)

    def send(self, method: str, **parameters):
        return self._send(method, **parameters)

    def open(self, address: str) -> None:
        """Another page altogether, even where only what is behind its # differs."""
        self.send("Page.navigate", url="about:blank")
        self.complaints, self.asked = [], []
        self.send("Page.navigate", url=address)

    def run(self, script: str):
        """What an expression comes to, promises waited for; it acts as the person at the page.

        Of what nobody did, a browser may put the next page in the place of this one.
        """
        found = self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    def until(self, script: str, patience_s: float = PATIENCE_S) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + patience_s
        while not self._came_true(script):
            assert time.monotonic() < end, f"not within {patience_s} s: {script}"
            time.sleep(0.02)

    def _came_true(self, script: str):
        try:
            return self.run(script)
        except LeftError:  # another page comes
            return False

    def size(self, width: int, height: int) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def picture(self) -> bytes:
        """The whole page as PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def _send(self, method: str, **parameters):
        self._last += 1
        mine = self._last
        message = {"id": mine, "method": method, "params": parameters}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._told, json.dumps(message).encode() + b"\0")
        while True:
            got = self._next()
            if got.get("id") == mine:
                if "navigated" in got.get("error", {}).get("message", ""):
                    raise LeftError(got)
                assert "error" not in got, got
                return got["result"]
            self._note(got)

    def _note(self, event) -> None:
        told = event.get("params", {})
        if event.get("method") == "Target.attachedToTarget" and told["targetInfo"]["type"] == "worker":
            for domain in ("Runtime", "Network", "Log"):
                line = {"id": 0, "method": f"{domain}.enable", "sessionId": told["sessionId"]}
                os.write(self._told, json.dumps(line).encode() + b"\0")
        elif event.get("method") == "Runtime.consoleAPICalled":
            self.complaints.append(str([one.get("value") for one in told["args"]]))
        elif event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])
        elif event.get("method") == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])

    def _next(self):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._heard], [], [], PATIENCE_S)
            assert ready, "the browser says nothing"
            some = os.read(self._heard, 1 << 20)
            assert some, "the browser has ended"
            self._rest += some
        line, _, self._rest = self._rest.partition(b"\0")
        return json.loads(line)


@contextmanager
def browser(profile):
    """A browser of its own, closed at the end."""
    process = subprocess.Popen(
        ["sh", "-c", START, "sh", *QUIET, f"--user-data-dir={profile}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield Browser(process.stdin.fileno(), process.stdout.fileno())
    finally:
        process.stdin.close()  # by which it ends
        process.stdout.close()
        process.wait(PATIENCE_S)


def axe_of(into) -> str:
    """The judge of accessibility, from npm; skip where there is none."""
    if not shutil.which("npm"):
        pytest.skip("there is no npm")
    done = subprocess.run(
        ["npm", "pack", "--silent", AXE], cwd=into, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"npm has no {AXE}: {done.stderr.strip()[-200:]}")
    with tarfile.open(next(into.glob("*.tgz"))) as files:
        return files.extractfile("package/axe.min.js").read().decode()
