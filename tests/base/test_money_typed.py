"""Money as people type it: currencies by sign, name and habit, Chinese numerals, and what a shell leaves."""

from __future__ import annotations

import contextlib
import math
import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError
from rigright.base.money import currencies, from_currency, parse_money, show_money
from spoken import same, values

ASKED = """
5千 5000 CNY            | 5000块 5000 CNY         | 20000 yuan 20000 CNY    | 0.5万 5000 CNY
8000usd 8000 USD        | €5k 5000 EUR            | $8000 8000 USD          | 8k 8000 -
US$ 8,000 8000 USD      | 1.2M usd 1200000 USD    | 60000 CNY 60000 CNY     | 5万 50000 CNY
¥3.5万 35000 CNY        | 6万元 60000 CNY         | 1万美元 10000 USD       | 20000 rmb 20000 CNY
€900 900 EUR            | ５０００元 5000 CNY     | ＄8，000 8000 USD       | 5k rmb 5000 CNY
¥20000 20000 CNY        | ￥20000 20000 CNY       | HK$20k 20000 HKD        | USD 8000 8000 USD
8000 dollars 8000 USD   | 3.5万元 35000 CNY       | 五千 5000 CNY           | 三万五 35000 CNY
两万 20000 CNY          | 十万 100000 CNY         | 一万两千 12000 CNY      | 3万5 35000 CNY
一万零五 10005 CNY      | 一亿两千万 120000000 CNY| ¥5w 50000 CNY           | 5w rmb 50000 CNY
£3,000 3000 GBP         | 8000$ 8000 USD          | $8k usd 8000 USD        | 8000 JPY 8000 JPY
$8000 CAD 8000 CAD      | ¥8000 JPY 8000 JPY      | 8000円 8000 JPY         | 8 000 € 8000 EUR
5千块钱人民币 5000 CNY  | 人民币5万元 50000 CNY   | 5万美元 50000 USD       | 5万以内 50000 CNY
€ 4.500 4500 EUR | 12.000 euro 12000 EUR | 1.5 usd 1.5 USD | 0.125 usd 0.125 USD
NT$90,000 90000 TWD     | 5 thousand dollars 5000 USD | S$12k 12000 SGD     | 1,00,000 rupees 100000 INR
"""


@pytest.mark.parametrize("case", [one.strip() for one in re.split(r"[|\n]", ASKED) if one.strip()])
def test_money_is_read_with_its_currency(case):
    text, amount, currency = case.rsplit(" ", 2)
    found = parse_money(text)
    assert found.amount == pytest.approx(float(amount))
    assert found.currency == (None if currency == "-" else currency)


@pytest.mark.parametrize(
    ("text", "per", "amount", "currency"),
    [
        ("$2/h", "h", 2, "USD"),
        ("20元每小时", "h", 20, "CNY"),
        ("每小时20元", "h", 20, "CNY"),
        ("2块一小时", "h", 2, "CNY"),
        ("2.5", "h", 2.5, None),
        ("0.6元/度", "kwh", 0.6, "CNY"),
        ("0.12 per kWh", "kwh", 0.12, None),
        ("$0.5/M tokens", "mtok", 0.5, "USD"),
        ("4元/百万token", "mtok", 4, "CNY"),
    ],
)
def test_what_it_is_for_each_of_may_stand_behind(text, per, amount, currency):
    found = parse_money(text, per=per)
    assert (found.amount, found.currency) == (amount, currency)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "cheap",
            "-5$",
            "$",
            "块",
            "8000 XYZ",
            "1,5k",
            "80GB",
            "70B",
            "1e4",
            "nan",
            "12xusd",
        ),
        *("5000 usd 3000 cny", "2/h", "1" * 400),
    ],
)
def test_what_is_no_money_says_how_to_write_it(text):
    with pytest.raises(AskError) as refused:
        parse_money(text)
    assert text.startswith(values(refused.value.sentence)["text"].removesuffix("..."))
    assert "8000usd" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("text", "per"), [("$2/day", "h"), ("2元/度", "h"), ("0.1/h", "kwh"), ("$8000/kWh", "")]
)
def test_money_for_each_of_something_else_is_refused(text, per):
    with pytest.raises(AskError) as refused:
        parse_money(text, per=per)
    assert values(refused.value.sentence)["text"] == text


@pytest.mark.parametrize("text", ["$8000 CNY", "8000 usd rmb", "€5k USD", "¥5000 EUR"])
def test_two_currencies_are_refused(text):
    with pytest.raises(AskError) as refused:
        parse_money(text)
    with pytest.raises(AskError) as plain:
        parse_money("cheap")
    assert values(refused.value.sentence)["text"] == text
    assert not same(refused.value.sentence, plain.value.sentence)


@pytest.mark.parametrize("typed", ['"$8000"', '"$50"', '"$2"'])
def test_what_a_shell_leaves_of_dollars_in_double_quotes_is_refused_with_the_reason(typed):
    """The text is what bash really makes of it."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    left = subprocess.run(
        [bash, "-c", f"printf %s {typed}"], capture_output=True, text=True, check=True
    ).stdout
    with pytest.raises(AskError) as refused:
        parse_money(left)
    with pytest.raises(AskError) as plain:
        parse_money("cheap")
    assert "'$8000'" in str(refused.value.hint)
    assert not same(refused.value.hint, plain.value.hint)


@given(st.text(max_size=24) | st.text("0123456789.,千万亿十零两元块$€kmw /h", max_size=12))
def test_any_text_is_money_or_a_sentence(text):
    with contextlib.suppress(AskError):
        assert 0 < parse_money(text).amount < math.inf


@given(st.integers(1, 10**9), st.sampled_from(sorted(currencies())))
def test_an_amount_with_a_code_or_a_sign_is_read_back(amount, code):
    known = currencies()[code]
    for text in (
        f"{amount} {code}",
        f"{code}{amount:,}",
        f"{known.sign} {amount}",
        *(f"{amount} {name}" for name in known.names),
    ):
        assert parse_money(text).currency == code, text
        assert parse_money(text).amount == amount, text


def test_each_name_belongs_to_one_currency():
    names = [name for one in currencies().values() for name in one.names]
    assert len(set(names)) == len(names)
    assert names == [name.casefold() for name in names]


def test_rates_are_of_the_right_size():
    """Against what anybody can look up: a yuan is worth about 14 cents, a yen less than one."""
    assert from_currency(7.1, "cny") == pytest.approx(1.0, rel=0.1)
    assert from_currency(5.0, "USD") == 5.0
    assert from_currency(100, "JPY") == pytest.approx(0.66, rel=0.15)
    assert from_currency(1, "GBP") == pytest.approx(1.27, rel=0.15)
    with pytest.raises(AskError, match="doubloons") as refused:
        from_currency(1.0, "doubloons")
    assert "CNY" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("usd", "currency", "shown"),
    [
        (4884, "USD", "$4,880"),
        (23.92, "USD", "$23.9"),
        (0.2371, "USD", "$0.24"),
        (0.000712, "USD", "$0.00071"),
        (99.96, "USD", "$100"),
        (0, "USD", "$0"),
        (-1500, "USD", "-$1,500"),
        (math.nan, "CNY", "-"),
        (5000 / 7.1, "CNY", "¥5,000"),
        (1000, "CHF", "CHF 902"),
    ],
)
def test_money_is_shown_in_its_currency_with_three_digits(usd, currency, shown):
    assert show_money(usd, currency) == shown


@given(st.floats(1e-3, 1e9), st.sampled_from(sorted(currencies())))
def test_what_is_shown_is_read_back(usd, code):
    found = parse_money(show_money(usd, code))
    assert found.currency == code
    assert found.usd() == pytest.approx(usd, rel=0.06)
