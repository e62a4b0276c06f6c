"""The site in a real browser: every page of the contents, both languages, wide and narrow, dark and light."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest

import debian
from browser import JUDGED, axe_of, browser

pytestmark = [pytest.mark.live, pytest.mark.dear]
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
SHOWN = "document.readyState === 'complete' && !!document.querySelector('article')"


@pytest.fixture(scope="module")
def site(root, tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "out"
    subprocess.run([sys.executable, root / "scripts" / "site", out], check=True, stdout=subprocess.DEVNULL)
    return f"file://{out}/"


@pytest.fixture(scope="module")
def listed(root):
    parts = tomllib.loads((root / "docs" / "site" / "site.toml").read_text(encoding="utf-8"))["parts"]
    return ["index", *(name for part in parts for name in part["pages"])]


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    return axe_of(tmp_path_factory.mktemp("axe"))


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    debian.needs("chromium")
    with browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


LOOKS = [(size, scheme) for size in SIZES for scheme in ("light", "dark")]


def look(seen, size, scheme):
    seen.size(*SIZES[size])
    seen.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


@pytest.mark.parametrize("folder", ["", "zh/"])
def test_every_page_is_whole_and_complains_of_nothing(folder, site, listed, seen, axe):
    """Judged in one of its looks, each look with as many pages; in the nightly in all of them."""
    judged = []
    for place, name in enumerate(listed, start=bool(folder)):
        seen.open(f"{site}{folder}{name}.html")
        seen.until(SHOWN)
        for size in SIZES.values():
            seen.size(*size)
            assert seen.run("document.documentElement.scrollWidth <= innerWidth"), (name, size)
        assert seen.complaints == []
        assert all(one.startswith((site, "data:")) for one in seen.asked), seen.asked
        seen.run(axe)  # which reads the styles again: of files, a browser complains of that
        for size, scheme in LOOKS if os.environ.get("RIGRIGHT_NIGHTLY") else [LOOKS[place % len(LOOKS)]]:
            look(seen, size, scheme)
            judged += [(name, size, scheme, *one) for one in seen.run(JUDGED)]
    assert judged == []


def test_a_table_of_an_answer_scrolls_and_never_wraps(site, seen):
    """On a phone too; and only words in a sentence stand in a frame of their own."""
    seen.size(*SIZES["narrow"])
    seen.open(f"{site}tutorials/choose.html")
    seen.until(SHOWN)
    block = "document.querySelector('pre[data-kind=console]')"
    assert seen.run(f"{block}.scrollWidth > {block}.clientWidth")
    assert seen.run(f"getComputedStyle({block}).whiteSpace") == "pre"
    assert seen.run(f"getComputedStyle({block}.querySelector('code')).borderTopWidth") == "0px"


def test_the_search_finds_a_section_and_leads_to_it(site, seen):
    seen.size(*SIZES["wide"])
    for folder, word, there in (
        ("", "parts list before you buy", "build"),
        ("zh/", "命令 退出码", "reference"),
    ):
        seen.open(f"{site}{folder}index.html")
        seen.until(SHOWN)
        seen.run("document.querySelector('#site-search input').focus()")
        seen.run(f"document.querySelector('#site-search input').value = {word!r}")
        seen.until(
            "document.querySelector('#site-search input').oninput() || "
            "!!document.querySelector('#site-search li a')"
        )
        seen.run("document.querySelector('#site-search li a').click()")
        seen.until(f"location.pathname.endsWith('/{there}.html') && {SHOWN}")


def test_the_menu_of_a_phone_opens_and_closes(site, seen):
    seen.size(*SIZES["narrow"])
    seen.open(f"{site}index.html")
    seen.until(SHOWN)
    shown = "document.getElementById('site-parts').checkVisibility()"
    assert not seen.run(shown)
    seen.run("document.querySelector('.menu').click()")
    assert seen.run(shown)
    seen.run("document.getElementById('site-parts').hidePopover()")
    assert not seen.run(shown)


def test_the_other_language_opens_at_the_same_place(site, seen):
    seen.size(*SIZES["wide"])
    seen.open(f"{site}reference.html#plan")
    seen.until(SHOWN)
    seen.run("document.getElementById('site-twin').click()")
    seen.until(f"location.pathname.endsWith('/zh/reference.html') && location.hash === '#plan' && {SHOWN}")
