"""The site of docs/: every page in both languages, every link leads somewhere, no request leaves it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
MAP = tomllib.loads((DOCS / "site" / "site.toml").read_text(encoding="utf-8"))
LISTED = ["index", *(name for part in MAP["parts"] for name in part["pages"])]
pytestmark = pytest.mark.restates(
    "docs/**/*",
    "scripts/site",
    "src/rigright/__init__.py",
    "src/rigright/data/page.css",
    "src/rigright/data/web/*",
)
ENGLISH_ONLY = {"accuracy", "tables"}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Seen(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors, self.alternates = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        got = dict(attrs)
        if tag == "a":
            self.links.append(got["href"])
        elif "href" in got or "src" in got:
            self.loaded.append(got.get("href") or got["src"])
        if "id" in got:
            self.anchors.append(got["id"])
        if "hreflang" in got:
            self.alternates.append(got["href"])


@pytest.fixture(scope="module")
def script():
    loader = SourceFileLoader("site_script", str(ROOT / "scripts" / "site"))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(script, tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "out"
    script.write(out, tried=False)
    return out


@pytest.fixture(scope="module")
def pages(site):
    return {path.resolve(): Seen(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def followed(path, link):
    """The file and the anchor that a link of a page means."""
    parts = urlsplit(link)
    return ((path.parent / unquote(parts.path)).resolve() if parts.path else path), unquote(parts.fragment)


def test_every_link_and_anchor_leads_somewhere(pages):
    assert len(pages) > 2 * len(LISTED)
    lost = []
    for path, page in pages.items():
        for link in (*page.links, *page.loaded):
            if urlsplit(link).scheme:
                continue
            there, anchor = followed(path, link)
            if not there.is_file() or (anchor and anchor not in pages[there].anchors):
                lost.append((path.name, link))
    assert lost == []


def test_nothing_is_loaded_from_elsewhere(pages, site):
    assert [one for page in pages.values() for one in page.loaded if urlsplit(one).scheme] == []
    for path in (*site.glob("*.css"), site / "site.js"):
        assert not re.search(r"https?:|//\w|@import", path.read_text(encoding="utf-8")), path


def test_no_anchor_is_given_twice(pages):
    assert [path.name for path, page in pages.items() if len(page.anchors) != len(set(page.anchors))] == []


def test_the_language_switch_leads_to_the_same_page_and_back(pages):
    for path, page in pages.items():
        (other,) = (followed(path, link)[0] for link in page.alternates)
        assert other.name == path.name
        assert other != path
        (back,) = (followed(other, link)[0] for link in pages[other].alternates)
        assert back == path


def test_the_same_documents_make_the_same_bytes(site, tmp_path):
    """In a program of its own too, whose sets and hashes have another order."""
    again = tmp_path / "again"
    line = [sys.executable, ROOT / "scripts" / "site", again]
    environment = {**os.environ, "PYTHONHASHSEED": "2"}
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    files = {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    assert files == {
        path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()
    }


def test_every_document_in_chinese_has_an_english_twin():
    chinese = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.zh-CN.md")}
    assert [one for one in chinese if not (DOCS / one.replace(".zh-CN", "")).exists()] == []


@pytest.mark.parametrize("name", LISTED)
def test_what_the_contents_list_is_there_in_both_languages(name):
    assert (DOCS / f"{name}.md").exists()
    assert (DOCS / f"{name}.zh-CN.md").exists() == (name not in ENGLISH_ONLY)


@pytest.mark.parametrize("name", [name for name in LISTED if name not in ENGLISH_ONLY])
def test_twins_have_the_same_parts_commands_and_tables(name):
    english, chinese = ((DOCS / f"{name}{end}.md").read_text(encoding="utf-8") for end in ("", ".zh-CN"))
    assert skeleton(english) == skeleton(chinese)
    assert len(re.findall("[\u4e00-\u9fff]", chinese)) > 40


@pytest.mark.parametrize("end", ["", ".zh-CN"])
@pytest.mark.parametrize(("name", "listed"), [("decisions", "decisions/*.md"), ("json", "*-json.md")])
def test_an_index_lists_each_page_once(name, listed, end):
    links = re.findall(r"\]\((.+?\.md)\)", (DOCS / f"{name}{end}.md").read_text(encoding="utf-8"))
    found = {path.relative_to(DOCS).as_posix() for path in DOCS.glob(listed)}
    assert sorted(one for one in links if one != "house.md") == sorted(found)


def skeleton(text):
    """Headings by depth, rows of tables, commands as they are typed."""
    prose = BLOCK.sub("", text)
    depths = [len(one) for one in re.findall(r"^(#+) ", prose, re.MULTILINE)]
    typed = [
        re.split(r"\s{2,}#", line)[0]
        for kind, block in BLOCK.findall(text)
        for line in block.splitlines()
        if kind == "sh" or line.startswith("$ ")
    ]
    typed += [line.partition("  #")[0].rstrip() for line in re.findall(r"^    (\w.*)$", prose, re.MULTILINE)]
    # a reader in China pays in yuan, and lives elsewhere
    same = [re.sub(r"(--(?:place|budget)) \S+", r"\1", line) for line in typed]
    return depths, prose.count("\n|"), same


def test_a_link_to_nothing_stops_the_build(script):
    renderer = script.Renderer(script.Page(name="index", language="zh"))
    assert renderer.linked("reference.zh-CN.md#plan") == "reference.html#plan"
    assert renderer.linked("examples/parts.txt") == "../examples/parts.txt"
    with pytest.raises(SystemExit, match="nowhere"):
        renderer.linked("nowhere.md")


def titles(script, language):
    """The pages, of which only one is read."""
    known = {name: script.Page(name=name, language=language) for name in script.names()}
    for name, page in known.items():
        if name != "tutorials/choose":
            page.__dict__["headings"] = [("h1", "", name)]
    return known


@pytest.mark.parametrize(("language", "link"), [("en", "../try/index.html"), ("zh", "../../try/index.html")])
def test_the_page_that_runs_in_the_browser_is_linked_where_it_is_there(script, language, link):
    known = titles(script, language)
    made = {tried: script.html(known["tutorials/choose"], known, tried=tried) for tried in (True, False)}
    assert link in Seen(made[True]).links
    assert "try/index.html" not in made[False]
