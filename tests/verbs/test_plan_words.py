"""What is typed for `plan` becomes a wish, or a sentence that says how to write it."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError, RigError
from rigright.demand import PlanWish
from rigright.faces.cli.asks.plan import GROUPS
from rigright.verbs.planning.words import OPTIONS, read_wish


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
        ({"percentile": "95"}, "percentile", 0.95),
        ({"percentile": "0.99"}, "percentile", 0.99),
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
    ("words", "said"),
    [
        ({"ttft": "fast"}, "50ms"),
        ({"budget": "cheap"}, "$8000"),
        ({"mode": "serving"}, "none of serve, chat"),
        ({"percentile": "p100"}, "p95"),
        ({"cached": "150%"}, "50%"),
        ({"pue": "0.5"}, "1 or more"),
        ({"buy": "yes", "rent": "yes"}, "two wishes"),
        ({"buy": "maybe"}, "yes nor no"),
        ({"tokens": "10B"}, "only for training"),
        ({"mode": "pretrain", "ttft": "1s"}, "only for serving"),
        ({"colour": "red"}, "no option"),
        ({"prompt": "many"}, "4096"),
    ],
)
def test_what_cannot_be_read_says_how_to_write_it(words, said):
    with pytest.raises(AskError, match=said.replace("$", r"\$")):
        read_wish(words)


def test_every_option_of_the_command_line_has_its_reader_and_every_reader_its_option():
    typed = {name for _, group in GROUPS for name, _, _ in group}
    assert typed == set(OPTIONS)


def test_every_field_of_a_wish_can_be_said():
    said = {option.field for option in OPTIONS.values()} | {"budget_said"}  # beside its dollars
    assert {field.name for field in fields(PlanWish)} - said == set()


@given(st.dictionaries(st.sampled_from(sorted(OPTIONS)), st.text(max_size=12), max_size=4))
def test_any_text_is_a_wish_or_a_sentence(words):
    try:
        assert isinstance(read_wish(words), PlanWish)
    except RigError:
        return


def test_whole_samples_have_options_of_their_own():
    wish = read_wish({"mode": "image", "samples": "1M", "latency": "2s", "image-size": "768", "steps": "20"})
    assert (wish.samples, wish.latency_s, wish.image_px, wish.steps) == (1e6, 2.0, 768, 20)
    with pytest.raises(AskError, match="--tokens"):
        read_wish({"mode": "embed", "tokens": "1B"})
