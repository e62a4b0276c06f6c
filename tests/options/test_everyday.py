"""Everyday words: each row of the table is read as its plain form, at every option that takes that kind."""

from __future__ import annotations

import pytest

from rigright.base import everyday
from rigright.base.errors import AskError
from rigright.base.loader import rows
from rigright.options.read import read_wish
from rigright.options.row import CALLED, FIGURES, YEARS
from rigright.options.rows import GROUPS
from rigright.verbs.ordering import wish_of

OPTIONS = {option.name: option for _, taken in GROUPS for option in taken}
ROWS = rows("everyday.csv", "word", "of", "plain")
SIDES = {"around", "most", "least"}
ELSEWHERE = SIDES | {
    "bound",
    *("software", "system", "target", "part", "counted"),
    "kind",
    "network",
    "room",
    "slice",
    "bits",
    "stored",
    "scale",
    "working",
    "small",
    "large",
    "asking",
    "between",
    "character",
    "coin",
    "more",
    "paid",
}


def kind_of(option):
    if option.name in YEARS:
        return "years"
    return FIGURES.get(option.read, "")


def of_kind(kind):
    return [one for one in OPTIONS.values() if kind_of(one) == kind]


def value(option, text):
    """What an option reads, within its bounds or not: only the reading is of interest."""
    return option._read(option.plain(text))


def words_of(*kinds):
    return [(word, plain, of) for word, of, plain in ROWS if of in kinds]


def same(option, everyday_words, plain):
    assert value(option, everyday_words) == pytest.approx(value(option, plain)), (option.name, everyday_words)


def test_each_row_is_of_an_option_or_of_a_kind_of_figure():
    kinds = {*FIGURES.values(), "years", "format", "per", "length"} | ELSEWHERE
    assert {of for _, of, _ in ROWS} <= kinds | set(OPTIONS)
    assert len({(word, of) for word, of, _ in ROWS}) == len(ROWS), "a word twice"


def test_a_word_for_a_choice_is_that_choice():
    for word, of, plain in ROWS:
        for name in [of, *(one for one, other in CALLED.items() if other == of)]:
            option = OPTIONS.get(name)
            if option is not None and option.choices is not None:
                assert option.value(word) == option.value(plain), (word, name)
                assert plain in option.choices()


def test_a_word_for_a_format_is_that_format():
    from rigright.facts.formats import find_format

    for word, plain, _ in words_of("format"):
        for name in everyday.STORED:
            assert find_format(everyday.named(name, word)) == find_format(plain)
    for bits in ("四比特", "4-bit", "4 bits", "4位", "四比特量化", "4bit quantized"):
        assert everyday.named("weights", bits) == "4bit"


def test_a_unit_of_time_is_read_wherever_a_time_is():
    many = everyday.words_of("time")
    for option in of_kind("time"):
        for word, plain in many.items():
            same(option, f"3 {word}", everyday._timed(3, plain))
            same(option, f"三{word}" if not word.isascii() else f"three {word}", everyday._timed(3, plain))
    for option in of_kind("years"):
        for word, plain, _ in words_of("years"):
            same(option, f"2{word}", str(2 * float(plain)))


def test_a_rate_is_so_many_in_a_time():
    units = {word: plain for word, plain, _ in words_of("time") if plain in {"s", "min", "h", "d"}}
    for option in of_kind("rate"):
        for word, plain in units.items():
            for text in (f"600/{word}", f"每{word}600次", f"600 a {word}", f"600 requests per {word}"):
                same(option, text, f"600/{plain}")
        same(option, "每周700次", "100/d")
        for word, plain, _ in words_of("per"):
            same(option, f"600 {word}", f"600/{plain}")


def test_a_rate_is_so_many_of_each_user_or_one_in_a_time():
    for text, plain in (("半秒一次", "2/s"), ("每秒3-5次", "5/s"), ("每两秒一次", "0.5/s"),
                        ("one every 5 seconds", "0.2/s"), ("100人每人每天20次", "2000/d"),
                        ("日活5000人，每人20次", "100000/d"),
                        ("50 users, each 20 a day", "1000/d")):  # fmt: skip
        same(OPTIONS["rate"], text, plain)
    assert OPTIONS["mode"].value("电商客服") == OPTIONS["mode"].value("客服")


def test_words_for_what_is_counted_are_dropped_where_that_is_counted():
    for word, of, plain in ROWS:
        option = OPTIONS.get(of)
        if option is None or plain or option.choices is not None:
            continue
        if kind_of(option) == "number":
            same(option, f"1,000{word}", "1000")
            same(option, f"一千个{word}" if not word.isascii() else f"a thousand {word}", "1000")
    for name in everyday.LENGTHS & set(OPTIONS):
        for word, _, _ in words_of("length"):
            same(OPTIONS[name], f"3.2万{word}", "32000")


def test_numbers_in_words_are_read_wherever_a_number_is():
    for option in of_kind("number"):
        for text, plain in (("一百", "100"), ("１００", "100"), ("3.2万", "32000"), ("3w", "30000"),
                            ("2-3万", "30000"), ("two hundred", "200"), ("50,000", "50000"),
                            ("约100", "100"), ("两千", "2000")):  # fmt: skip
            same(option, text, plain)


@pytest.mark.parametrize(
    ("text", "plain"),
    [("十几", "15"), ("十幾個", "15"), ("几十", "50"), ("几百", "500"), ("十来个", "10"), ("一百来", "100"),
     ("一百多", "100"), ("50多", "50"), ("上百", "100"), ("近百", "100"), ("二三十", "30"), ("三五十", "50"),
     ("两三百", "300"), ("五萬", "50000"), ("a couple hundred", "200"), ("a few dozen", "36"),
     ("several hundred", "500"), ("half a million", "500000"), ("a quarter million", "250000"),
     ("1.5 lakh", "150000"), ("20-odd", "20"), ("100 plus", "100")],
)  # fmt: skip
def test_rough_numbers_are_read_wherever_a_number_is(text, plain):
    for option in of_kind("number"):
        same(option, text, plain)
    if "个" not in text and "個" not in text:
        assert value(OPTIONS["budget"], text).amount == float(plain)


def test_traditional_characters_are_read_as_simplified_ones():
    pairs = {word: form for word, form, _ in words_of("character")}
    assert all(len(word) == len(form) == 1 for word, form in pairs.items())
    assert not set(pairs) & set(pairs.values())
    back = {form: word for word, form in pairs.items()}
    for word, of, _ in ROWS:
        option = OPTIONS.get(of)
        if option is not None and option.choices is not None and set(word) & set(back):
            assert option.value("".join(back.get(letter, letter) for letter in word)) == option.value(word)
    for name, text, plain in (("rate", "每分鐘300條", "300/min"), ("days", "兩個月", "60"),
                              ("days", "三週", "21"), ("budget", "五萬塊", "5万元"),
                              ("concurrency", "50人同時用", "50")):  # fmt: skip
        assert value(OPTIONS[name], text) == value(OPTIONS[name], plain), text


def test_shares_factors_powers_and_sizes_are_read_in_words():
    for option in of_kind("share"):
        if option.name == "percentile":
            continue
        for text, plain in (("三成", "30%"), ("half", "50%"), ("一半", "50%"), ("百分之三十", "30%")):
            same(option, text, plain)
    for kind in ("factor", "power"):
        for option in of_kind(kind):
            for word, plain, _ in words_of(kind):
                whole = plain[:1].isdigit()
                same(option, word if whole else f"两{word}", plain if whole else f"2{plain}")
    for option in of_kind("size"):
        same(option, "130亿", "13B")
        same(option, "70 billion parameters", "70B")


def test_a_part_of_each_day_is_a_share_of_the_time():
    duty = OPTIONS["duty"]
    for text in ("每天8小时", "8h/day", "8 hours a day", "8小时/天", "每天８小时"):
        assert value(duty, text) == pytest.approx(8 / 24)
    assert value(duty, "工作日8小时") == pytest.approx(8 * 5 / (24 * 7))
    for word, plain, _ in (row for row in words_of("duty") if row[1]):
        assert value(duty, word) == value(duty, plain)


def test_money_is_read_in_words():
    from rigright.base.money import parse_money

    for option in [one for one in OPTIONS.values() if one.metavar == "MONEY"]:
        for text, plain in (("3w", "3万"), ("2-3万", "3万"), ("five thousand dollars", "5000 dollars"),
                            ("５万", "5万"), ("三万五", "35000元"),
                            ("一百来万", "100万"), ("a hundred grand", "100000"),
                            ("两三万块", "3万"), ("100萬以內", "100万"),
                            ("十几万", "15万"), ("六毛五", "0.65元"), ("两块五", "2.5元"),
                            ("$10-15k", "$15k"),
                            ("a quarter million dollars", "250000 dollars"),
                            ("30 cents", "0.3")):  # fmt: skip
            assert value(option, text) == parse_money(plain), option.name


def test_what_money_is_for_each_of_may_come_first():
    for name, text, plain in (("tariff", "一度电六毛五", "0.65元/度"), ("tariff", "每度6毛", "0.6元/度"),
                              ("tariff", "12c/kWh", "0.12/kwh"), ("per-hour", "一小时20块", "20元/小时"),
                              ("per-hour", "20 bucks an hour", "20 dollars/h")):  # fmt: skip
        assert value(OPTIONS[name], text) == value(OPTIONS[name], plain), text


def test_growth_and_parts_of_a_day_are_read_in_words():
    for text, plain in (("翻一倍", "2x"), ("涨五成", "+50%"), ("多30%", "+30%"), ("50% more", "+50%"),
                        ("double", "2x")):  # fmt: skip
        assert value(OPTIONS["growth"], text) == value(OPTIONS["growth"], plain), text
    for text, plain in (("一半时间", "50%"), ("half the time", "50%"), ("三成的时间", "30%"),
                        ("8h", str(1 / 3)), ("8小时", str(1 / 3)), ("八小時/天", str(1 / 3))):  # fmt: skip
        assert value(OPTIONS["duty"], text) == pytest.approx(value(OPTIONS["duty"], plain)), text
    assert value(OPTIONS["percentile"], "九成五") == value(OPTIONS["percentile"], "p95")


def test_a_bound_in_words_is_read_as_its_side_of_the_limit_alone():
    ttft, rate = OPTIONS["ttft"], OPTIONS["tok-per-s"]
    for word, _, _ in words_of("most"):
        behind = word in {"max", "or less"} or not word.isascii()
        assert value(ttft, f"2s {word}" if behind else f"{word} 2s") == 2
    assert value(rate, "至少1000") == value(rate, "1000 tok/s or more") == 1000
    for option, wrong in ((ttft, "至少2秒"), (rate, "最多1000")):
        with pytest.raises(AskError):
            option.value(wrong)


@pytest.mark.parametrize(
    ("name", "text"),
    [("ttft", "三人"), ("users", "两周"), ("concurrency", "三张"), ("rate", "三年"), ("budget", "两周"),
     ("mode", "两周"), ("duty", "三人"), ("days", "四比特"), ("prompt", "2千字"), ("watts", "三秒")],
)  # fmt: skip
def test_what_a_word_cannot_mean_is_refused_with_what_is_possible(name, text):
    option = OPTIONS["concurrency" if name == "users" else name]
    with pytest.raises(AskError) as refused:
        option.value(text)
    assert refused.value.hint is not None


def test_a_wish_in_everyday_words_is_the_wish_in_plain_ones():
    said = {"mode": "聊天", "rate": "每天10万次", "weights": "半精度", "duty": "三成", "ttft": "两秒以内"}
    plain = {"mode": "chat", "rate": "100000/d", "weights": "half", "duty": "30%", "ttft": "2s"}
    assert read_wish(said) == read_wish({**plain, "currency": "CNY"})


def test_networks_rooms_and_lists_are_read_in_words():
    from rigright.build.listed import lines_of
    from rigright.build.parse import room_of
    from rigright.facts.nodes import find_node

    for word, plain, _ in words_of("network"):
        assert find_node(f"2台 8卡A100 {word}").cards == find_node(f"2 nodes of 8x a100 + {plain}").cards
    for word, plain, _ in words_of("room"):
        assert room_of(word) == room_of(plain)
    keyed = lines_of("gpu: 双4090\nram: 64G\nboard: Z790\ncpu: i5-13400", name="list")
    assert lines_of("显卡 双4090\n内存64G\n主板Z790\nCPU i5-13400", name="list") == keyed
    assert lines_of("显卡：双4090，内存：64G，主板：Z790，CPU：i5-13400", name="list") == keyed


def test_models_are_named_by_size_and_format_in_words():
    from rigright.arch.sources.spelling import spell

    for said, plain in (("130亿", "13b"), ("100亿参数模型", "10b"), ("满血版", "671b"),
                        ("qwen3-32b 四比特", "qwen3-32b 4bit"),
                        ("qwen3-32b 半精度", "qwen3-32b fp16"),
                        ("DeepSeek R1 满血版", "deepseek r1 671b")):  # fmt: skip
        assert spell(said) == spell(plain)


def test_a_question_in_chinese_is_answered_in_yuan_and_one_that_names_a_currency_in_that():
    assert read_wish({"concurrency": "100人"}).currency == "CNY"
    assert wish_of({}, beside=["千问3-32B"]).currency == wish_of({}, language="zh").currency == "CNY"
    assert wish_of({"budget": "8000usd"}, language="zh").currency == "USD"
    assert wish_of({"place": "US-CA", "users": "100人"}, language="zh").currency == "USD"
    yuan = read_wish({"budget": "8000元"}).budget_usd
    assert read_wish({"concurrency": "100人", "budget": "8000"}).budget_usd == yuan
    assert read_wish({"concurrency": "100人", "budget": "8000usd"}).currency == "USD"
    assert read_wish({"concurrency": "100人", "currency": "EUR"}).currency == "EUR"
    assert read_wish({"concurrency": "100"}).currency == "USD"
    assert wish_of({}, beside=["/data/模型/config.json"]).currency == "USD"
