"""Manual pages in roff: one of the program, and one of each command, from the parsers themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rigright import __version__
from rigright.base.page import Commands, Line, Table
from rigright.base.words import CHINESE, ENGLISH, tell
from rigright.faces.cli.front import front_page, verbs
from rigright.faces.cli.main import verb_parser
from rigright.faces.cli.options import BEHIND, groups, meaning
from rigright.faces.cli.parser import translate
from rigright.options.row import Option

FOLDERS = {ENGLISH: "man1", CHINESE: "zh_CN/man1"}
MADE = '.\\" made by scripts/docs; do not edit'
HEADS = {
    ENGLISH: {"name": "NAME", "synopsis": "SYNOPSIS", "description": "DESCRIPTION", "see": "SEE ALSO"},
    CHINESE: {"name": "名称", "synopsis": "用法", "description": "说明", "see": "另请参阅"},
}
AFTER = {ENGLISH: ("EXIT STATUS", "ENVIRONMENT"), CHINESE: ("退出状态", "环境变量")}
COMMAND = {ENGLISH: "COMMAND [options]", CHINESE: "命令 [选项]"}
ROWS = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
Entry = tuple[str, str]


def man_pages(language: str, reference: str) -> Iterator[tuple[str, str]]:
    """Each page: its path below a folder of manual pages, and its text.

    Exit codes and variables come from the tables of the reference.
    """
    folder = FOLDERS[language]
    tables = [_entries(table) for table in ROWS.findall(reference)]
    yield f"{folder}/rigright.1", _program(language, tables)
    for verb in verbs():
        yield f"{folder}/rigright-{verb}.1", _verb(verb, language)


def _program(language: str, tables: list[list[Entry]]) -> str:
    heads = HEADS[language]
    tagline = next(part for part in front_page().parts if isinstance(part, Line))
    lines = [
        *_head("rigright", tell(tagline.text, language).rstrip(".。"), language),
        *(_section(heads["synopsis"]), ".B rigright", _text(COMMAND[language])),
    ]
    for part in front_page().parts:
        if isinstance(part, Table):
            lines += [_section(tell(part.title, language)), *_list(_cells(part, language))]
        if isinstance(part, Commands):
            lines += [_section(tell(part.title, language)), *_shown(part.items)]
    for title, table in zip(AFTER[language], tables, strict=True):
        lines += [_section(title), *_list(table)]
    return "\n".join([*lines, *_see(heads["see"], (f"rigright-{verb}" for verb in verbs()))])


def _verb(verb: str, language: str) -> str:
    parser, heads = verb_parser(verb, language), HEADS[language]
    usage = parser.format_usage().partition("rigright ")[2].split()
    lines = [
        *_head(f"rigright-{verb}", parser.description or "", language),
        *(_section(heads["synopsis"]), f".B rigright {_text(verb)}", _text(" ".join(usage[1:]))),
    ]
    for title, rows in groups(verb):
        entries = [
            (_signature(one), translate(meaning(one), language)) for one in rows if one.count != BEHIND
        ]
        if entries:
            lines += [_section(tell(title, language)), *_list(entries)]
    return "\n".join([*lines, *_see(heads["see"], ["rigright"])])


def _head(name: str, summary: str, language: str) -> list[str]:
    return [
        MADE,
        f'.TH {_text(name.upper())} 1 "" "rigright {__version__}" rigright',
        ".ad l",
        ".nh",
        _section(HEADS[language]["name"]),
        f"{_text(name)} \\- {_text(summary)}",
    ]


def _see(title: str, names: Iterable[str]) -> list[str]:
    *most, last = [f".BR {_text(name)} (1)" for name in names]
    return [_section(title), *(f"{line} ," for line in most), last, ""]


def _section(title: str) -> str:
    return f'.SH "{_text(title.upper())}"'


def _list(entries: Iterable[Entry]) -> list[str]:
    """Terms, each with its text."""
    return [line for term, text in entries for line in (".TP", f"\\fB{_text(term)}\\fR", _text(text))]


def _shown(lines: Iterable[object]) -> list[str]:
    """Lines as they are typed."""
    return [".nf", *(_text(str(line)) for line in lines), ".fi"]


def _signature(one: Option) -> str:
    """An argument as help writes it."""
    if one.placed:
        return one.metavar or one.name.upper()
    return ", ".join(f"{name} {one.metavar}".rstrip() for name in one.flags)


def _cells(table: Table, language: str) -> list[Entry]:
    return [(tell(term, language), tell(text, language)) for term, text in table.rows]


def _entries(table: str) -> list[Entry]:
    """The rows of a Markdown table below its head: first cell and last."""
    rows = [[cell.strip().replace("`", "") for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    return [(row[0], row[-1]) for row in rows[2:]]


def _text(text: str) -> str:
    """Letters that roff would take for its own, as letters."""
    written = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^(?=[.'])", "\\\\&", written)
