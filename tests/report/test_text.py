from __future__ import annotations

import re

from anypage import pages, screens
from hypothesis import example, given

from rigright.base.page import Bar, Bars, Column, Commands, Line, Page, Piece, Points, Strip, Strips, Table
from rigright.report.formats.text import render
from rigright.report.screen import Screen, width

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def plain(text):
    return COLOUR.sub("", text)


@given(pages, screens)
def test_no_line_is_wider_than_the_screen(page, screen):
    page = Page(title=page.title, parts=tuple(part for part in page.parts if not isinstance(part, Commands)))
    for line in plain(render(page, screen)).splitlines():
        assert width(line) <= screen.width


@given(pages, screens)
@example(
    Page(title="", parts=(Strips(strips=(Strip(label="", values=(1.0, None), shown=""),)),)),
    Screen(width=20, colour=True),
)
def test_colour_changes_nothing_but_colour(page, screen):
    dull = Screen(width=screen.width, colour=False, unicode=screen.unicode, language=screen.language)
    assert plain(render(page, screen)) == render(page, dull)


@given(pages)
def test_a_page_of_ascii_stays_ascii_where_nothing_else_can_be_shown(page):
    drawn = render(page, Screen(unicode=False))
    strange = {letter for letter in drawn if not letter.isascii()}
    assert not strange & set("█▓▒░▚▙▞▛·•│─…✓✗")


def told(*parts, **screen):
    return render(Page(title="T", parts=parts), Screen(**{"width": 60, **screen})).splitlines()[2:]


MEMORY = Table(
    columns=(Column(head="part"), Column(head="size", right=True), Column(head="why", flexible=True)),
    rows=(("weights", "16.1 GiB", "stored in bf16"), ("KV cache", "4.00 GiB", "128 KiB a token")),
)


def test_a_table_as_a_person_sees_it():
    assert told(MEMORY) == [
        "part          size  why",
        "────────  ────────  ───────────────",
        "weights   16.1 GiB  stored in bf16",
        "KV cache  4.00 GiB  128 KiB a token",
    ]


def test_a_flexible_column_gives_way_first():
    assert (
        told(MEMORY, width=34)
        == [
            "part          size  why",
            "────────  ────────  ──────────────",
            "weights   16.1 GiB  stored in bf16",
            "KV cache  4.00 GiB  128 KiB a",
            "                    token",
        ]
        or told(MEMORY, width=34)[0] == "weights"
    )


def test_rows_become_cards_on_a_narrow_screen():
    assert told(MEMORY, width=24) == [
        "weights",
        "  size  16.1 GiB",
        "  why   stored in bf16",
        "",
        "KV cache",
        "  size  4.00 GiB",
        "  why   128 KiB a token",
    ]


def test_chinese_columns_line_up():
    table = Table(
        columns=(Column(head="部分"), Column(head="大小", right=True)), rows=(("权重", "16"), ("KV", "4"))
    )
    assert {width(line) for line in told(table)} == {10}


def bar(label, limit, **sizes):
    pieces = tuple(Piece(name=name, size=size, shown=f"{size} GiB") for name, size in sizes.items())
    return Bar(label=label, pieces=pieces, limit=limit, shown=f"{sum(sizes.values())} of {limit}")


def test_a_bar_with_its_legend():
    assert told(Bars(bars=(bar("GPU 0", 20, weights=10, cache=5),)), width=80) == [
        "GPU 0  ████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓··············│  15 of 20",
        "       █ weights 10 GiB   ▓ cache 5 GiB",
    ]


def test_what_is_too_much_stands_behind_the_limit():
    (line, _) = told(Bars(bars=(bar("GPU 0", 20, weights=40),)), width=46, unicode=False)
    strip = line.split()[2]
    assert strip.index("|") == strip.count("#") / 2
    assert strip.endswith("#")


def test_bars_of_unlike_cards_share_a_scale():
    big, small, _ = told(Bars(bars=(bar("A", 24, weights=12), bar("B", 12, weights=6))), unicode=False)
    assert abs(big.count("#") - 2 * small.count("#")) <= 1
    assert big.index("of") == small.index("of") + 1  # "12 of" beside "6 of"


def test_no_piece_vanishes_however_small():
    (line, *_) = told(Bars(bars=(bar("GPU", 80, weights=79, context=0.001),)), unicode=False)
    assert "=" in line


def test_an_unknown_size_draws_nothing():
    lines = told(Bars(bars=(bar("GPU", 80, weights=float("nan"), cache=40),)), unicode=False)
    assert "weights" not in lines[-1]
    assert "cache" in lines[-1]


def test_tones_need_no_colour():
    assert told(Line(text="it fits", tone="good"), Line(text="it does not", tone="bad")) == [
        "✓ it fits",
        "✗ it does not",
    ]
    assert told(Line(text="it fits", tone="good"), unicode=False) == ["[ok] it fits"]


def test_long_points_hang_under_their_first_word():
    assert told(Points(items=("one two three four",)), width=20) == ["  • one two three", "    four"]


def test_a_command_is_never_broken_so_that_it_can_be_copied():
    command = "rigright explain llama-3.1-70b --on '8x h100' --context 131072"
    assert told(Commands(items=(command,)), width=30) == [f"  $ {command}"]


def test_a_part_without_content_leaves_no_title():
    assert told(Points(items=(), title="Notes")) == []


def test_foreign_names_cannot_steer_the_terminal():
    assert "\x1b" not in render(Page(title="\x1b[2J", parts=(Line(text="a\x9bb"),)), Screen())
