"""`prices`: what is taken and why, lists of people, and files that are no lists."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import DataError, RigError
from rigright.demand import PlanWish
from rigright.faces.cli.main import main
from rigright.facts import own_prices
from rigright.facts.chips import by_id, chips
from rigright.facts.own_prices import examine, read_own
from rigright.verbs.cost import cost as cost_verb
from rigright.verbs.own import use as use_prices
from rigright.verbs.prices import check, prices
from rigright.verbs.prices import prices as prices_verb

TODAY = date(2026, 11, 22)
GOOD = "chip,condition,price,currency,as_of\n4090,new,2100,USD,2026-11-01\n4090,used,11000,CNY,2026-10\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setenv("RIGRIGHT_TODAY", str(TODAY))
    return tmp_path


def put(folder, text, name="mine.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_what_is_taken_and_why():
    (one,) = prices(["4090"]).chips
    assert one.used
    assert one.why is not None
    assert all(row.kind == "used" for row in one.counted)
    assert one.usd.low < one.usd.value < one.usd.high
    (new,) = prices(["rtx", "5090"]).chips
    (used,) = prices(["rtx 5090"], wish=PlanWish(used=True)).chips
    assert (new.used, used.used) == (False, True)
    assert {row.kind for row in used.counted} == {"used"}


def test_every_card_with_a_price_is_listed_once():
    found = prices().chips
    assert len({one.chip for one in found}) == len(found) > 50
    assert all(one.usd is not None and one.rows for one in found if one.counted)


def test_parts_are_shown_with_why_some_are_left_out():
    shown = prices(["ram", "ddr5"]).parts
    assert any(row.left_out for row in shown)
    assert any(not row.left_out for row in shown)
    assert {row.kind for row in prices(["ssd"]).parts} == {"disk"}


def test_a_list_that_is_kept_is_taken_by_every_command(home, capsys):
    def bought(*more):
        assert main(["plan", "llama-3.1-8b", "--on", "1x rtx 4090", "--buy", *more, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    before = bought()
    assert main(["prices", "import", put(home, GOOD)]) == 0
    capsys.readouterr()
    after = bought()
    assert after["plans"][0]["supply"]["usd"]["value"] == pytest.approx(11000 / 7.1)
    (own,) = set(after["notes"]) - set(before["notes"])
    assert "GeForce RTX 4090" in own
    assert main(["cost", "rtx 4090", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cards_usd"]["value"] == pytest.approx(11000 / 7.1)
    other = put(home, "chip,usd\n4090,999\n", "other.csv")
    assert bought("--prices", other)["plans"][0]["supply"]["usd"]["value"] == 999, "the file wins"
    assert main(["prices", "forget"]) == 0
    capsys.readouterr()
    assert bought()["plans"][0]["supply"]["usd"] == before["plans"][0]["supply"]["usd"]


def test_outside_of_a_command_nothing_is_in_force(home):
    own_prices.keep(read_own(put(home, GOOD), today=TODAY), today=TODAY)
    assert own_prices.in_force() == {}
    with use_prices():
        assert set(own_prices.in_force()) == {"rtx-4090"}


def test_what_is_kept_is_read_as_it_was(home):
    first = read_own(put(home, GOOD), today=TODAY)
    assert own_prices.keep(first, today=TODAY) == 2
    again = read_own(own_prices.place(), today=TODAY)
    assert [(one.chip, one.kind, one.typical, one.currency, one.as_of) for one in again] == [
        (one.chip, one.kind, one.typical, one.currency, one.as_of) for one in first
    ]
    newer = read_own(put(home, "chip,usd\n4090,1800\n"), today=TODAY)
    assert own_prices.keep(newer, today=TODAY) == 2, "in the place of the older new one"
    with use_prices():
        assert {one.typical for one in own_prices.in_force()["rtx-4090"]} == {11000, 1800}


def test_json_and_chinese_heads_are_read(home):
    listed = put(home, json.dumps([{"gpu": "rtx 5090", "price": 16000, "currency": "元"}]), "a.json")
    with pytest.raises(DataError):
        read_own(listed, today=TODAY)
    listed = put(home, json.dumps({"prices": [{"gpu": "rtx 5090", "price": 16000, "currency": "cny"}]}))
    assert read_own(listed, today=TODAY)[0].currency == "CNY"
    chinese = put(home, "型号,价格,货币,成色\nrtx 3090,5200,CNY,二手\n")
    (one,) = read_own(chinese, today=TODAY)
    assert (one.kind, one.typical) == (own_prices.OWN_USED, 5200)


USELESS = (  # a row, and what its flaw names
    ("foo,new,5,USD,2026", '"foo"'),
    (",new,5,USD,2026", ""),
    ("4090,old,5,USD,2026", '"old"'),
    ("4090,new,,USD,2026", "usd"),
    ("4090,new,-5,USD,2026", "usd"),
    ("4090,new,nan,USD,2026", "nan"),
    ("4090,new,1e400,USD,2026", "1e400"),
    ("4090,new,1e9,USD,2026", "1,000,000,000"),
    ("4090,new,5,XYZ,2026", "XYZ"),
    ("4090,new,5,USD,2026-13", "as_of"),
    ("4090,new,5,USD,2031-01-01", "2031-01-01"),
    ("4090,new,5,USD,someday", "as_of"),
    (f"4090,new,5,USD,{'9' * 300}", "as_of"),
)


def test_a_row_that_cannot_be_used_is_named(home, capsys):
    for row, told in USELESS:
        file = put(home, f"chip,condition,price,currency,as_of\n4090,new,1800,USD,2026-11\n{row}\n")
        (flaw,) = check(file).flaws
        assert (flaw.line, flaw.wrong) == (3, True), row
        assert main(["prices", "check", file]) == 20, row
        assert told in capsys.readouterr().out, row
        assert main(["prices", "import", file]) == 20, row
        assert not own_prices.place().exists(), "all or nothing"


def test_doubts_are_said_and_leave_the_list_usable(home):
    file = put(
        home, "chip,usd,as_of\n4090,1800,2024-01\n5090,90000,2026-11\n3090,800,2026-11\n3090,900,2026-11\n"
    )
    found = check(file)
    assert found.exit_code == 10
    assert len(found.prices) == 3
    assert len(found.flaws) == 3
    assert not any(flaw.wrong for flaw in found.flaws)
    assert check(put(home, GOOD)).exit_code == 0


NO_LISTS = (
    b"", b"\xff\xfe\x00", b"chip\n", b"[", b"[1, 2]", b'{"prices": {}}', b'"x"', b"[" * 100_000, b'a,b\n"c',
)  # fmt: skip


def test_what_is_no_list_is_a_sentence(home, capsys):
    for raw in NO_LISTS:
        assert main(["prices", "import", put(home, raw)]) in {2, 3, 20}, raw[:20]
        assert "Traceback" not in capsys.readouterr().err, raw[:20]
        assert not own_prices.place().exists(), raw[:20]


def test_a_list_is_bounded(home, monkeypatch):
    monkeypatch.setattr(own_prices, "MOST_ROWS", 3)
    with pytest.raises(DataError, match=r"mine\.csv .* 3 "):
        examine(put(home, "chip,usd\n" + "4090,5\n" * 4), today=TODAY)
    monkeypatch.setattr(own_prices, "MOST_BYTES", 1 << 20)
    with pytest.raises(DataError, match=r"mine\.csv .*MiB"):
        examine(put(home, "chip,usd\n" + " " * (2 << 20)), today=TODAY)


@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.sampled_from([chip.id for chip in chips()]), st.text(max_size=20)),
            st.one_of(st.floats(), st.integers(), st.text(max_size=10), st.none()),
            st.one_of(st.sampled_from(["USD", "CNY", "", "eur"]), st.text(max_size=5)),
            st.one_of(st.sampled_from(["2026-11", "2025", ""]), st.text(max_size=12)),
        ),
        max_size=6,
    ),
    as_json=st.booleans(),
)
def test_whatever_a_list_holds_only_prices_come_out(tmp_path_factory, rows, as_json):
    names = ("chip", "price", "currency", "as_of")
    path = tmp_path_factory.mktemp("fuzz") / "list"
    if as_json:
        path.write_text(json.dumps([dict(zip(names, row, strict=True)) for row in rows]), "utf-8")
    else:
        lines = [",".join(str(cell) for cell in row) for row in rows]
        path.write_text("\n".join([",".join(names), *lines]), "utf-8", errors="replace")
    with suppress(RigError):
        found, flaws = examine(path, today=TODAY)
        for price in found:
            assert price.chip in by_id()
            assert 0 < price.typical < 1e12
        assert all(flaw.line > 0 for flaw in flaws)


@given(raw=st.binary(max_size=200))
def test_bytes_are_a_list_or_a_sentence(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("raw") / "list.csv"
    path.write_bytes(raw)
    with suppress(RigError):
        examine(path, today=TODAY)


WRONG = (  # what is typed, and what the refusal names
    (["show", "no such card at all"], '"no such card at all"'),
    (["import"], "rigright prices import prices.csv"),
    (["import", "a", "b"], "rigright prices import prices.csv"),
    (["check", "nowhere.csv"], "nowhere.csv"),
    (["check"], "rigright prices import"),
    (["forget"], ""),
    (["forget", "x"], "`prices forget`"),
    (["check", "x.csv", "--used"], "prices show"),
    (["show", "4090", "--currency", "XYZ"], "USD, CNY, EUR"),
)


@pytest.mark.usefixtures("home")
def test_wrong_asks_say_what_to_type(capsys):
    for typed, told in WRONG:
        assert main(["prices", *typed]) in {2, 4}, typed
        refused = capsys.readouterr()
        assert refused.err, typed
        assert not refused.out, typed
        assert told in refused.err, typed


def test_pages_in_yuan_and_chinese(capsys):
    for words in ([], ["4090"], ["ram"], ["4090", "--why"]):
        for language in ("en", "zh"):
            assert main(["prices", "show", *words, "--currency", "CNY", "--lang", language]) == 0
            assert "¥" in capsys.readouterr().out, (words, language)
    assert main(["prices", "show", "4090", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chips"][0]["used"] is True
    assert main(["prices", "show", "--csv"]) == 0


def test_it_is_a_function_too():
    assert prices_verb(["h100 sxm"]).chips[0].chip == "h100-sxm5-80gb"


def test_a_rent_of_your_own_is_what_renting_costs(home):
    """1.50 an hour of one, agreed with a cloud nobody knows: eight cost 12 an hour, whatever others ask."""
    file = put(home, "chip,condition,price,currency,as_of,provider\nh100 sxm,rent,1.5,USD,2026-11-22,acme\n")
    with use_prices(file):
        found = cost_verb("8x h100 sxm")
    rent = found.way("rent")
    assert rent.label == "acme"
    assert rent.ledger.terms[0].monthly["rent"].value == pytest.approx(12 * 730.5)
    assert found.way("buy") is not None, "the price to buy is still ours"
    with use_prices(file):
        assert cost_verb("8x h100 sxm", wish=PlanWish(currency="CNY")).way("rent").label == "acme"
    assert main(["prices", "import", file]) == 0
    with use_prices():
        assert cost_verb("h100 sxm").way("rent").label == "acme"
    assert cost_verb("h100 sxm").way("rent").label != "acme"


def test_prices_of_your_own_have_no_band_on_their_day_and_give_one_month(home):
    """Bought at 20,000 each, rented at 2 an hour, both as they are today: one month, not a range."""
    rows = ("h100 sxm,new,20000,USD,2026-11-22", "h100 sxm,rent,2,USD,2026-11-22")
    file = put(home, "\n".join(["chip,condition,price,currency,as_of", *rows]))
    with use_prices(file):
        found = cost_verb("8x h100 sxm")
    assert found.cards_usd.low == found.cards_usd.high == 160_000
    rent = found.way("rent").ledger.terms[0].monthly["rent"]
    assert rent.low == rent.high == pytest.approx(16 * 730.5)


def test_a_list_may_come_through_a_pipe(home, monkeypatch):
    for what in ("check", "import"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))
        assert main(["prices", what, "-"]) == 0
    assert len(read_own(own_prices.place(), today=TODAY)) == 2
    assert own_prices.place().parent == home / "settings" / "rigright"
