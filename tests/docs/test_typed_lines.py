"""Every line of rigright that a document shows is one that the program takes."""

from __future__ import annotations

import re
import shlex
from itertools import product
from pathlib import Path

import pytest

from rigright.base.errors import AskError
from rigright.doctor.examine import chosen
from rigright.faces.cli.front import verbs
from rigright.faces.cli.main import verb_parser
from rigright.machine.bench.table import PARTS
from rigright.verbs.look_up.verb import kind_names

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`((?:\./rig|rigright) [^`\n]+)`")
SHOWN = re.compile(r"(?:^\s*|\$ |\| )((?:\./rig|rigright) .+)$")
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


def of_blocks(text):
    """What stands in blocks to be copied, without remarks, and what is piped to or from other programs."""
    for line in re.findall(r"^    ((?:\./rig|rigright) .+)$", BLOCK.sub("", text), re.MULTILINE):
        yield re.split(r"\s{2,}#|\s[|>]\s", line)[0].strip()
    for kind, block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines() if kind in {"sh", "text", "console", ""} else ():
            shown = SHOWN.search(line)
            if shown and (kind == "sh" or "$ " in line):
                yield re.split(r"\s{2,}#|\s[|>]\s", shown[1])[0].strip()


def lines():
    """(document, line, whether it is whole) of all documents."""
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(ROOT).as_posix()
        yield from ((name, line, True) for line in of_blocks(text))
        for line in SPAN.findall(BLOCK.sub("", text)):
            told = line.replace("\\|", "|").replace("[", " ").replace("]", " ")
            yield name, line if "node[" in line else told, False


def each(line):
    """A line with this|that in it, as one line for each."""
    words = [word.split("|") if re.fullmatch(r"[a-z|-]+", word) else [word] for word in shlex.split(line)]
    return [list(one) for one in product(*words)]


SHOWN_LINES = sorted(set(lines()))


def taken(words, *, whole):
    """Parse it; a mere mention (`rigright fleet ... --json`) must name a verb and options that are there."""
    _, verb, *rest = words
    if verb.startswith("-"):
        return None
    assert verb in verbs(), f"there is no {verb}"
    parser = verb_parser(verb, "en")
    options = [word.partition("=")[0] for word in rest if re.match(r"--\w[^ ]*\Z", word)]
    unknown = set(options) - set(parser._option_string_actions)
    assert not unknown or "--" in rest, f"{verb} has no {unknown}"
    mention = not rest or "..." in rest or rest[-1].startswith("--")
    if "--schema" in rest or (mention and not whole):  # which ends the program as --help does
        return None
    return parser.read(rest)


@pytest.mark.parametrize(("document", "line", "whole"), SHOWN_LINES, ids=lambda one: str(one)[:80])
def test_the_program_takes_what_is_shown(document, line, whole):
    for words in each(line):
        try:
            options = taken(words, whole=whole)
        except AskError as error:
            pytest.fail(f"{document}: {line}: {error.sentence}")
        if options is None:
            continue
        if words[1] == "doctor":
            names = [name for one in options.only for name in one.split(",") if not name.isupper()]
            assert not names or chosen(tuple(names)), line
        if words[1] == "bench":
            assert {name for one in options.parts for name in one.split(",")} <= set(PARTS)
        if words[1] == "look-up":
            assert options.kind in kind_names()


def test_documents_of_each_kind_were_looked_at():
    found = {document for document, _, _ in SHOWN_LINES}
    assert found >= {"README.md", "README.zh-CN.md", "docs/bench.md", "docs/watch.md", "docs/fleet.md"}
    assert any(line.startswith("rigright fleet bench") for _, line, _ in SHOWN_LINES)
    assert sum(whole for _, _, whole in SHOWN_LINES) > 30


@pytest.mark.parametrize(
    "line", ["rigright doktor", "rigright fit --onn x --json", "rigright watch --every", "rigright plan a b"]
)
def test_a_line_that_is_wrong_is_seen(line):
    with pytest.raises((AskError, AssertionError)):
        taken(shlex.split(line), whole=True)
