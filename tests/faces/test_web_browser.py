"""The page in a real browser: every view, both languages, wide and narrow."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from urllib.request import urlopen

import pytest

import debian
from ports import free_ports

pytestmark = pytest.mark.live
VIEWS = ("plan", "explain", "fit", "compare", "build", "cost", "doctor", "here", "accuracy", "myths")
WORDS = {"en": ("Plan", "This machine"), "zh": ("规划", "本机")}
SIZES = {"wide": "1280,900", "narrow": "500,844"}  # Chromium makes no narrower window


@pytest.fixture(scope="module")
def address():
    debian.needs("chromium")
    port = free_ports(1)[0]
    server = subprocess.Popen([sys.executable, "-m", "rigright", "web", "--serve", str(port)])
    try:
        for _ in range(200):
            try:
                urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("language", WORDS)
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_answers_and_complains_of_nothing(address, view, language, size, tmp_path):
    done = subprocess.run(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"),
            *("--enable-logging=stderr", f"--window-size={SIZES[size]}", "--virtual-time-budget=15000"),
            *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--dump-dom"),
            f"{address}#{view}?lang={language}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    answer = done.stdout.partition('id="answer"')[2]
    assert all(f">{word}</a>" in done.stdout for word in WORDS[language])
    assert 'class="error"' not in answer
    assert ("<h1" in answer) == (view != "doctor")
    assert not re.findall(r"CONSOLE.*", done.stderr)
    if view == "plan":
        assert "<svg" in answer
        assert 'class="strip"' in answer
        assert answer.count("<tr") > 2
