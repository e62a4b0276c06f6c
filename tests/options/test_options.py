"""What is typed becomes a wish, or an error with a hint: every option of the planning verbs, row by row."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError, RigError
from rigright.demand import CostWish, PlanWish, ServingWish, TrainingWish
from rigright.options.read import command, fill, read_wish, typed, values_in, values_of
from rigright.options.row import ALL
from rigright.options.rows import GROUPS, options_of
from rigright.verbs.fit import FitWish
from rigright.verbs.simulate.setup import PlayWish
from spoken import same, values


def test_a_serving_with_its_limits():
    wish = read_wish(
        {
            "on": "8x h100",
            "prompt": "2048",
            "output": "512",
            "ttft": "1s",
            "tpot": "50ms",
            "percentile": "p95",
        }
    )
    assert wish == PlanWish(
        on="8x h100", prompt_tok=2048, output_tok=512, ttft_s=1, tpot_s=0.05, percentile=0.95
    )


def test_nothing_said_is_the_plain_wish():
    assert read_wish({}) == PlanWish()
    assert read_wish({"on": None, "budget": ""}) == PlanWish()


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ({"budget": "$8000"}, "budget_usd", 8000),
        ({"per-hour": "$20/h"}, "usd_per_h", 20),
        ({"tariff": "$0.12/kWh"}, "tariff_usd_per_kwh", 0.12),
        ({"watts": "1.5kW"}, "power_w", 1500),
        ({"rate": "300/min"}, "rate_per_s", 5),
        ({"users": "1k"}, "users", 1000),
        ({"growth": "2x"}, "growth", 2),
        ({"cached": "50%"}, "cached_share", 0.5),
        ({"duty": "0.4"}, "duty", 0.4),
        ({"duty": "8"}, "duty", 8 / 24),
        ({"duty": "40h/week"}, "duty", 40 / 168),
        ({"percentile": "95", "ttft": "1s"}, "percentile", 0.95),
        ({"percentile": "0.99", "tpot": "1s"}, "percentile", 0.99),
        ({"chips": "h100, mi300x"}, "chips", ("h100", "mi300x")),
        ({"chips": "4090、5090"}, "chips", ("4090", "5090")),
        ({"buy": "yes"}, "buy", True),
        ({"rent": "yes"}, "buy", False),
        ({"rent": "no"}, "buy", None),
        ({"mode": "chat"}, "work", "chat"),
        ({"mode": "pretrain", "tokens": "10B"}, "train_tok", 10e9),
        ({"mode": "finetune", "days": "14"}, "days", 14),
        ({"mode": "finetune", "days": "36h"}, "days", 1.5),
    ],
)
def test_each_option_is_read_in_its_own_unit(words, field, value):
    assert getattr(read_wish(words), field) == pytest.approx(value)


def test_yuan_become_dollars():
    assert read_wish({"budget": "5万"}).budget_usd == pytest.approx(
        read_wish({"budget": "50000 CNY"}).budget_usd
    )
    assert 5000 < read_wish({"budget": "5万"}).budget_usd < 9000


@pytest.mark.parametrize(
    ("words", "currency"),
    [
        ({"budget": "5万"}, "CNY"),
        ({"per-hour": "20元/小时"}, "CNY"),
        ({"tariff": "0.3€/kWh"}, "EUR"),
        ({"per-mtok": "4元", "ttft": "1s"}, "CNY"),
        ({"budget": "8000"}, "USD"),
        ({"ttft": "1s"}, "USD"),
    ],
)
def test_the_currency_that_was_named_is_the_one_to_answer_in(words, currency):
    assert read_wish(words).currency == currency


def test_a_bare_amount_is_in_the_currency_that_was_named():
    wish = read_wish({"budget": "7.1万", "tariff": "0.71"})
    assert wish.tariff_usd_per_kwh == pytest.approx(wish.budget_usd * 1e-5)
    assert read_wish({"tariff": "0.71"}).tariff_usd_per_kwh == 0.71


@pytest.mark.parametrize(
    ("words", "named", "hint"),
    [
        ({"ttft": "fast"}, {"text": "fast"}, {"example": "50ms, 1s, 2min"}),
        ({"budget": "cheap"}, {"text": "cheap"}, {}),
        ({"mode": "dancing"}, {}, {"known": "serve, chat, rag"}),
        ({"percentile": "p100"}, {"text": "p100"}, {"example": "p95"}),
        ({"cached": "150%"}, {"text": "150%"}, {"example": "50%"}),
        ({"pue": "0.5"}, {"text": "0.5"}, {}),
        ({"buy": "yes", "rent": "yes"}, {"first": "--buy", "second": "--rent"}, {}),
        ({"buy": "yes", "cloud": "aws"}, {"first": "--buy", "second": "--cloud"}, {}),
        ({"buy": "maybe"}, {"text": "maybe"}, {"example": "yes"}),
        ({"mode": "pretrain", "ttft": "1s"}, {"option": "--ttft"}, {}),
        ({"mode": "embed", "tokens": "1B"}, {"option": "--tokens"}, {}),
        ({"mode": "pretrain", "engine": "vllm"}, {"option": "--engine"}, {"modes": "image | embed | serve"}),
        ({"zebra": "red"}, {"name": "zebra"}, {"known": "on, own"}),
        ({"ttfft": "1s"}, {"name": "ttfft"}, {"near": "ttft"}),
        ({"prompt": "many"}, {"text": "many"}, {"example": "4096, 32k"}),
        ({"draft-tokens": "3"}, {"option": "--draft-tokens", "others": "--draft"}, {"others": "--draft"}),
        ({"concurrency": "5", "rate": "2/s"}, {"first": "--concurrency", "second": "--rate"}, {}),
        ({"concurrency": "5", "users": "6"}, {"first": "--concurrency", "second": "--users"}, {}),
        ({"on": "8x h100", "chips": "h100"}, {"first": "--on", "second": "--chips"}, {}),
        ({"max-chips": "0"}, {"option": "--max-chips", "value": "0"}, {}),
        ({"max-chips": "9999999"}, {"option": "--max-chips", "value": "9999999"}, {"most": "1,000,000"}),
    ],
)
def test_what_cannot_be_read_says_how_to_write_it(words, named, hint):
    with pytest.raises(AskError) as refused:
        read_wish(words)
    assert values(refused.value.sentence).items() >= named.items()
    assert refused.value.hint is not None
    told = values(refused.value.hint)
    assert all(told[name].startswith(value) for name, value in hint.items())


def test_two_that_mean_the_same_and_two_that_contradict_are_refused_in_other_words():
    said = []
    for words in ({"concurrency": "5", "users": "6"}, {"concurrency": "5", "rate": "2/s"}):
        with pytest.raises(AskError) as refused:
            read_wish(words)
        said.append(refused.value.sentence)
    assert not same(*said)


WISHES = {
    "plan": (PlanWish,),
    "compare": (PlanWish,),
    "sweep": (PlanWish,),
    "explain": (ServingWish, TrainingWish, PlanWish),
    "simulate": (ServingWish, PlayWish),
    "fit": (FitWish,),
    "cost": (PlanWish, CostWish),
}
BESIDE = {"on", "out", "serve"}  # arguments of the verb itself, and the default said aloud
GOOD = {  # a text that each reader takes, by the name of the option where its metavar does not tell
    "objective": "dpo", "rollout": "sleep", "mode": "finetune", "train": "lora",
    "method": "lora", "aim": "cost", "chunks": "on", "arrivals": "gamma",
    "percentile": "p95", "rate": "5/s", "growth": "2x", "currency": "EUR", "customer": "home",
    "N": "4", "TIME": "2s", "MONEY": "5", "SHARE": "50%", "POWER": "800W", "SIZE": "7B", "PIXELS": "512",
    "": "yes", "IN/OUT": "0.1/0.4", "YEARS": "2",
}  # fmt: skip
NONSENSE = ("banana!", "", " ", "-4", "1e999", "nan", "4 GB/banana", "八匹马", "\x00", "$8000 ¥5000", "5W5s")
NUMBERS = {"N", "TIME", "MONEY", "SHARE", "POWER", "SIZE", "PIXELS", "R", "P", "FACTOR", "YEARS", "IN/OUT"}
ROWS = [(verb, option) for verb in WISHES for option in options_of(verb)]


def good(option):
    return GOOD.get(option.name) or GOOD.get(option.metavar) or "x"


@pytest.mark.parametrize(("verb", "option"), ROWS, ids=lambda one: getattr(one, "name", one))
def test_every_option_fills_a_field_of_a_wish_of_its_verb(verb, option):
    names = {field.name for wish in WISHES[verb] for field in fields(wish)}
    assert option.name in BESIDE or set(option.fields) & names, option


@pytest.mark.parametrize(("verb", "option"), ROWS, ids=lambda one: getattr(one, "name", one))
def test_every_option_refuses_nonsense_with_a_hint(verb, option):
    """Nonsense, empty, negative, endless, units mixed, two moneys: an error that says what to write."""
    for text in NONSENSE:
        if option.metavar in NUMBERS or option.choices is not None or not option.metavar:
            with pytest.raises(AskError) as refused:
                option.value(text)
            assert refused.value.hint is not None, (verb, option.name, text)
        elif not text.strip():
            with pytest.raises(AskError) as refused:
                option.value(text)
            assert values(refused.value.sentence) == {"option": option.flag}


@pytest.mark.parametrize(("verb", "option"), ROWS, ids=lambda one: getattr(one, "name", one))
def test_zero_and_what_is_huge_are_refused_where_they_mean_nothing(verb, option):
    if option.metavar not in NUMBERS:
        return
    if option.zero:
        assert option.value("0") == 0
    else:
        with pytest.raises(AskError) as refused:
            option.value("0")
        assert refused.value.hint is not None
    with pytest.raises(AskError) as refused:
        option.value("9" * 60 + ("B" if option.metavar == "SIZE" else ""))
    assert refused.value.hint is not None, verb


@pytest.mark.parametrize(("verb", "option"), ROWS, ids=lambda one: getattr(one, "name", one))
def test_every_option_takes_what_it_is_for(verb, option):
    value = option.value(good(option))
    assert value is not None
    for wish in WISHES[verb]:
        filled = fill(wish, verb, values={option.name: value.usd("USD") if hasattr(value, "usd") else value})
        name = next((name for name in option.fields if name in {field.name for field in fields(wish)}), None)
        assert name is None or getattr(filled, name) is not None


@pytest.mark.parametrize(("verb", "option"), ROWS, ids=lambda one: getattr(one, "name", one))
def test_an_option_that_says_nothing_of_the_work_is_refused(verb, option):
    for kind in ALL - option.works:
        with pytest.raises(AskError) as refused:
            values_of(verb, {option.name: good(option)}, kinds=frozenset({kind}))
        assert values(refused.value.sentence) == {"option": option.flag}
        assert refused.value.hint is not None


def test_names_are_said_once_and_lead_where_they_stand():
    for verb in WISHES:
        names = [name for option in options_of(verb) for name in (option.name, *option.aliases)]
        assert len(set(names)) == len(names), verb
        for option in options_of(verb):
            beside = {*option.bars, *(one.partition("=")[0] for one in option.needs)}
            known = {one.name for _, rows in GROUPS for one in rows}
            assert beside <= known, option


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({}, None),
        ({"attention-dp": "yes"}, True),
        ({"attention-dp": "no"}, False),
        ({"no-attention-dp": "yes"}, False),
    ],
)
def test_what_may_be_open_is_told_or_denied(said, wanted):
    wish = fill(ServingWish, "explain", values=values_of("explain", said))
    assert wish.attention_dp is wanted
    flags = {None: [], True: ["--attention-dp"], False: ["--no-attention-dp"]}
    assert typed("explain", {"attention_dp": wanted}) == flags[wanted]


def test_one_flag_has_one_meaning():
    """A row is the only place where a flag is declared, so none has two readers or two helps."""
    rows = [option for _, rows in GROUPS for option in rows]
    assert len({option.name for option in rows}) == len(rows)
    table = {option.name: option for option in rows}
    assert table["budget"].metavar == "MONEY"
    assert table["concurrency"].aliases == ("users",)
    for name in ("ttft", "tpot", "concurrency"):
        assert {"plan", "compare", "simulate"} <= table[name].verbs


def test_every_field_of_a_wish_can_be_said():
    filled = {name for option in options_of("plan") for name in option.fields}
    beside = {"budget_said"}  # with the amount
    assert {field.name for field in fields(PlanWish)} - filled - beside == set()


@given(st.sampled_from(sorted(WISHES)), st.data())
def test_a_wish_that_was_filled_says_the_same_again(verb, data):
    wish = WISHES[verb][0]
    rows = [one for one in options_of(verb) if one.name not in BESIDE]
    option = data.draw(st.sampled_from(rows))
    if option.metavar in {"MONEY", "IN/OUT"} or not {field.name for field in fields(wish)} & set(
        option.fields
    ):
        return
    values = {option.name: option.value(good(option))}
    filled = fill(wish, verb, values=values)
    again = values_in(filled, verb)
    assert filled == fill(wish, verb, values=again)


def test_a_command_asks_the_same_again_and_is_safe_to_paste():
    said = {"chips": "h100,a100", "budget": "$8000", "buy": "yes", "ttft": "1s"}
    typed = command("plan", ["llama 3"], fields=said)
    assert typed == "rigright plan 'llama 3' --chips 'h100,a100' --buy --ttft 1s --budget '$8000'"


@given(
    st.dictionaries(
        st.sampled_from(sorted(option.name for option in options_of("plan"))),
        st.text(max_size=12),
        max_size=4,
    )
)
def test_any_text_is_a_wish_or_a_sentence(words):
    try:
        assert isinstance(read_wish(words), PlanWish)
    except RigError:
        return


def test_whole_samples_have_options_of_their_own():
    wish = read_wish({"mode": "image", "samples": "1M", "latency": "2s", "image-size": "768", "steps": "20"})
    assert (wish.samples, wish.latency_s, wish.image_px, wish.steps) == (1e6, 2.0, 768, 20)


def test_what_is_said_with_the_machine_is_shown_and_runs_as_shown():
    from rigright.facts.nodes import find_node
    from rigright.options.read import OTHERWISE, unknown_option

    for name, example in OTHERWISE.items():
        assert values(unknown_option(f"--{name}", ["on"], dash="--").hint)["example"] == example
        assert find_node(example.removeprefix("--on ").strip('"')).cards


def test_an_option_of_another_program_leads_to_ours():
    """Each row names options that there are, is none of ours by itself, and each door says the same."""
    from rigright.base.loader import rows
    from rigright.faces.cli.front import verbs
    from rigright.faces.cli.options import groups
    from rigright.options.read import unknown_option

    shown = [option for verb in verbs() for _, options in groups(verb) for option in options]
    known = {flag.removeprefix("--") for option in shown for flag in option.flags}
    for word, meant in rows("other_options.csv", "typed", "meant"):
        assert set(meant.split()) <= known, word
        for dash in ("", "--"):
            hint = values(unknown_option(dash + word.replace("-", "_"), meant.split(), dash=dash).hint)
            assert hint.get("near", "").removeprefix("--") == meant.split()[0] or "example" in hint, word
    assert "near" not in values(unknown_option("--hours", ["users", "pue"], dash="--").hint)
