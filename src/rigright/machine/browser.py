"""A browser of this machine, for what only browsers do: paper."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from rigright.machine.world import here

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
_PATIENCE_S = 60.0


def find_browser() -> str | None:
    """Where one is."""
    named = next((path for path in map(shutil.which, _NAMES) if path), None)
    return named or next((place for place in _PLACES if Path(place).is_file()), None)


def printed(html: str) -> bytes | None:
    """A document as PDF; None where there is no browser, or it prints nothing."""
    browser = find_browser()
    if browser is None:
        return None
    with tempfile.TemporaryDirectory(prefix="rigright-") as folder:
        page, out = Path(folder) / "page.html", Path(folder) / "page.pdf"
        page.write_text(html, encoding="utf-8")
        settings = ("--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer")
        profile = f"--user-data-dir={folder}/profile"
        # in its own sandbox, or in none where root or a container leaves it none: the page is ours
        for more in ((), ("--no-sandbox",)):
            asked = (browser, *settings, *more, profile, f"--print-to-pdf={out}", page.as_uri())
            here().run(*asked, patience_s=_PATIENCE_S)
            if out.is_file() and out.read_bytes().startswith(b"%PDF"):
                return out.read_bytes()
    return None
