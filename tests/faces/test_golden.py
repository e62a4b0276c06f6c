"""What each verb prints, to the letter, in both languages: usual pages, longer ones, failures and errors."""

from __future__ import annotations

import platform
import re
import shlex
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from answer_rooms import Room, filled, typed
from questions import HERE

from kept_answers import keep
from rigright.base import shelf
from rigright.base.loader import rows
from rigright.base.words import LANGUAGES, sentences

NOW_S = 1_790_000_000.0  # 2026-09-21: of the played machines, and of prices
DAY = "2026-09-21"
UNSURE = {  # figures that are another each time, by verb
    "fleet": ((r"\d+\.\d(?= (s|秒)$)", "N"),),
    "sweep": ((r"\d+\.\d(?= (s,|秒，))", "N"),),
    "watch": ((r"^  • .*\n", ""), (r"\d\d:\d\d:\d\d", "TIME")),  # the host is the one that the tests run on
}
GOLDEN = Path(__file__).parents[1] / "golden"
CELLS = rows("cell_words.csv", "of", "value", "english", "chinese")
COVERED = {"web"}  # a page of its own: test_web_browser.py
TEXT = (Path(__file__).parent / "golden_cases.txt").read_text(encoding="utf-8")
CASES = {
    block.partition("]")[0]: [line for line in block.partition("]")[2].splitlines() if line]
    for block in TEXT.split("\n[")[1:]
}


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """A folder with everything that is read, at a moment that stays; answers are kept for both languages."""
    with pytest.MonkeyPatch.context() as patch:
        frozen(patch)
        room = Room(filled(tmp_path_factory.mktemp("golden"), now_s=NOW_S))
        patch.chdir(room.folder)
        yield room


def frozen(patch):
    """The clock stands still for whoever asks for the time or the day; who keeps a clock has the real one."""
    for name in ("machine.sampling.log", "machine.sampling.sampler", "verbs.watch.verb"):
        import_module(f"rigright.{name}")
    written = time.strftime
    patch.setattr(time, "time", lambda: NOW_S)
    patch.setattr(time, "localtime", lambda at_s=NOW_S: time.gmtime(at_s))
    patch.setattr(time, "strftime", lambda form, at=None: written(form, at or time.gmtime(NOW_S)))
    patch.setenv("RIGRIGHT_TODAY", DAY)


@pytest.mark.parametrize("verb", CASES)
def test_the_pages_are_as_they_were_kept(stage, golden, verb):
    for language in LANGUAGES:
        golden(f"{verb}.{language}", "\n".join(page(stage, line, verb, language) for line in CASES[verb]))


def page(stage, line, verb, language):
    """One question with what was printed, where it was printed, and the exit code where it is not 0."""
    scene, _, asked = line.rpartition(" | ")
    words = shlex.split(asked.format(language=language))
    at = words.index("--") if "--" in words else len(words)
    with pytest.MonkeyPatch.context() as patch:
        stage.sit(patch, scene.strip() or HERE)
        patch.setenv("RIGRIGHT_TODAY", DAY)
        keep(patch, stage.kept.setdefault(scene, {}), of=None)
        said = typed([*words[:at], "--width", "80", "--lang", language, *words[at:]])
    told = said.out + "".join(f"! {one}\n" for one in said.err.splitlines())
    for figure, instead in UNSURE.get(verb, ()):
        told = re.sub(figure, instead, told, flags=re.MULTILINE)
    for name, here in (("FOLDER", str(stage.folder)), ("PYTHON", sys.executable), ("HOST", platform.node())):
        told = told.replace(here, name)
    ended = f"[exit {said.code}]\n" if said.code else ""
    return f"$ rigright {line}\n{told.rstrip()}\n{ended}"


def test_every_verb_has_its_pages():
    verbs = {name.replace("_", "-") for name in shelf.names("rigright.faces.cli.asks")}
    assert {*CASES} == verbs - COVERED | {"rigright"}
    assert all(len(lines) > 2 for lines in CASES.values())
    kept = {path.name for path in (Path(__file__).parents[1] / "golden").glob("*.txt")}
    assert {f"{verb}.{language}.txt" for verb in CASES for language in LANGUAGES} >= kept
    assert len(kept) <= 60


TYPED = {  # tables of what is typed: their first cells, and `bench`'s groups, are names of options
    "cards", "network", "processor", "disk", "model", "full", "runs",
}  # fmt: skip
MARKS = re.compile(r"\s{2,}|[：；（）]|^\s*• ")


def cells(page):
    """The cells of a page in Chinese: no commands, no errors, nothing in quotes, no first cell of a list."""
    for line in page.splitlines():
        if not re.match(r"(!|\s*\$|#|用法|  +-)", line):
            yield from (cell.strip() for cell in MARKS.split(re.sub(r"`[^`]*`|“[^”]*”", "", line))[1:])


def test_no_cell_of_a_chinese_page_is_left_in_english():
    """A word that has a Chinese sentence, or that a table says in both languages, stands in Chinese."""
    keys = {key for key, chinese in sentences("zh").items() if re.fullmatch("[a-z]+( [a-z]+)*", key)}
    keys |= {value for _, value, english, chinese in CELLS if chinese not in {value, english}}
    left = {
        f"{verb}: {cell}"
        for verb in set(CASES) - {"completion", "rigright", "sweep"}  # what is typed, and help on it
        for cell in cells((GOLDEN / f"{verb}.zh.txt").read_text(encoding="utf-8"))
        if cell in keys - TYPED - set(CASES)
    }
    assert not left


def test_money_of_a_chinese_page_is_in_yuan():
    """But in tables of what sources state, and where dollars were typed or asked for."""
    dollars = re.compile(r"\$\d|\$/")
    for verb in ("build", "compare", "cost", "explain", "upgrade", "report"):
        pages = re.split(r"(?m)^\$ rigright ", (GOLDEN / f"{verb}.zh.txt").read_text(encoding="utf-8"))
        for page in pages:
            asked, *lines = page.splitlines() or [""]
            said = "\n".join(line for line in lines if not line.startswith("!"))
            if not re.search(r"usd|USD|\$|plan\.json|--currency|--place", asked):
                assert not dollars.search(said), asked
