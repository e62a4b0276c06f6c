"""Tokens drafted ahead: only when somebody says so, and only where it helps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.choice.drafts import NONE, Drafts, drafts_of, head_bytes, paid_tok
from rigright.demand import Drafting, PlanWish, ServingWish
from rigright.facts.engines import find_engine
from rigright.facts.nodes import find_node
from rigright.options.read import read_wish
from rigright.predict.cases import predict
from rigright.report.pages import plan_words
from rigright.search import named
from rigright.search.question import ask
from rigright.search.score import score
from rigright.search.serving import filled, find_serving
from rigright.search.single import single
from rigright.verbs.planning.checks import check
from spoken import same

LLAMA, VLLM = open_model("llama-3.1-8b"), find_engine("vllm")
WORK = {"prompt_tok": 1000, "output_tok": 500}


@pytest.fixture(scope="module")
def deepseek():
    return open_model("deepseek-v3")


def test_nobody_drafts_unasked(deepseek, market):
    asked = filled(deepseek, PlanWish(on="8x h200", users=4, **WORK), market=market)
    assert all(way.drafts == NONE for way in ask(deepseek, asked, market=market).ways)


def test_a_lone_user_reads_faster_with_the_models_own_head(deepseek, market):
    plain, drafted = (
        find_serving(
            deepseek,
            PlanWish(on="8x h200", users=2, drafting=draft, **WORK),
            market=market,
        ).plans[0]
        for draft in (None, Drafting(accepted=0.85))
    )
    assert plain.drafts == NONE
    assert drafted.drafts.own
    assert drafted.drafts.drafted_tok == 1, "the model was taught to look one token further"
    assert drafted.figures["tpot_s"].value < 0.8 * plain.figures["tpot_s"].value
    foreign = replace(drafted, drafts=replace(drafted.drafts, own=False, method="ngram"))
    told, other = plan_words.engine(drafted), plan_words.engine(foreign)
    assert not same(told, other), "that it is its own head is said"
    assert named.plan_told(drafted, "en")["drafts"]["accepted_tok"] == pytest.approx(0.85)
    assert any("MTP " in str(note) for note in drafted.notes)


def test_what_has_no_head_is_told_what_was_left_out(llama8, market):
    plan = find_serving(
        llama8, PlanWish(on="1x h100", users=1, drafting=Drafting(accepted=0.7), **WORK), market=market
    ).plans[0]
    assert plan.drafts.drafted_tok == 3
    assert not plan.drafts.own
    plain = find_serving(llama8, PlanWish(on="1x h100", users=1, **WORK), market=market).plans[0]
    assert set(plan.notes) - set(plain.notes), "that the time of drafts is not counted is said"


def test_drafts_that_nobody_keeps_are_not_taken(llama8, market):
    wish = PlanWish(on="1x h100", users=64, drafting=Drafting(accepted=0.01), draft_tok=5, **WORK)
    found = find_serving(llama8, wish, market=market)
    assert found.plans[0].drafts == NONE


def test_a_head_takes_room(deepseek, market):
    asked = filled(
        deepseek, PlanWish(on="8x h200", users=2, drafting=Drafting(accepted=0.8), **WORK), market=market
    )
    question = ask(deepseek, asked, market=market)
    found = score(question)
    own = np.array([way.drafts.own for way in question.ways])[found.points.way]
    alike = (found.points.tp == 8) & (found.points.ep == 1) & (found.points.prefill_dp == 0)
    form = np.array([way.weights == "fp8-block" and way.kv == "16bit" for way in question.ways])
    alike &= form[found.points.way] & np.array([way.usual for way in question.ways])[found.points.way]
    more = found.room.fixed_bytes[alike & own][0] - found.room.fixed_bytes[alike & ~own][0]
    whole = head_bytes(deepseek, "fp8-block", drafts=Drafts(drafted_tok=1, accepted_tok=1, own=True))
    assert more == pytest.approx(whole / 8)
    assert 10e9 < whole < 16e9, (
        "DeepSeek-V3 states 14B for its module, of which 2.4B are shared with the trunk"
    )
    assert found.room.pool_tok[alike & own][0] < found.room.pool_tok[alike & ~own][0]


@pytest.mark.parametrize(
    ("text", "draft"),
    [("0.7", Drafting(accepted=0.7)), ("EAGLE-3", Drafting(method="eagle3")),
     ("n-gram, 40%", Drafting(method="ngram", accepted=0.4)),
     ("Qwen3-0.6B 0.8", Drafting(method="draft", model="Qwen3-0.6B", accepted=0.8)),
     ("mtp", Drafting(method="mtp"))],
)  # fmt: skip
def test_what_drafts_is_read_and_written(text, draft):
    assert read_wish({"draft": text}).drafting == draft
    assert read_wish({"draft": str(draft)}).drafting == draft


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp"])
@pytest.mark.parametrize("draft", ["70%", "eagle3", "ngram", "qwen3-0.6b"])
def test_every_way_to_draft_changes_the_speed_and_by_no_more_than_it_drafts(engine, draft):
    form = "Q4_K_M" if engine == "llama.cpp" else "bf16"
    wish, node = ServingWish(engine=engine, weights=form, users=1), find_node("1x h100")
    arch = open_model("qwen3-32b")
    case = single(arch, node, wish=replace(wish, drafting=read_wish({"draft": draft}).drafting)).case
    drafted, plain = predict([case, single(arch, node, wish=wish).case])["user_tok_per_s"]
    assert plain < drafted <= (1 + case.drafts.drafted_tok) * plain


@given(share=st.floats(0.01, 1.0), count=st.integers(1, 8))
def test_no_more_is_kept_than_was_drafted(share, count):
    drafts = drafts_of(LLAMA, PlanWish(drafting=Drafting(accepted=share), draft_tok=count), engine=VLLM)
    assert share <= drafts.accepted_tok <= count * share * (1 + 1e-9)
    more = drafts_of(LLAMA, PlanWish(drafting=Drafting(accepted=share), draft_tok=count + 1), engine=VLLM)
    assert more.accepted_tok > drafts.accepted_tok


@given(count=st.integers(1, 6))
def test_a_head_is_paid_with_a_layer_a_token(count):
    arch = open_model("deepseek-v3")
    drafts = drafts_of(arch, PlanWish(drafting=Drafting(accepted=0.9), draft_tok=count), engine=VLLM)
    assert paid_tok(arch, drafts) < drafts.accepted_tok
    assert (1 + drafts.accepted_tok) / (1 + paid_tok(arch, drafts)) == pytest.approx(1 + count / 61)


def test_words_of_drafts(llama8):
    assert read_wish({"draft": "70%", "draft-tokens": "4"}) == PlanWish(
        drafting=Drafting(accepted=0.7), draft_tok=4
    )
    with pytest.raises(AskError, match="--draft "):
        read_wish({"mode": "finetune", "draft": "70%"})
    with pytest.raises(AskError, match=r"^--draft-tokens .* --draft"):
        check(llama8, PlanWish(draft_tok=4))
    with pytest.raises(AskError, match=r"\b0"):
        read_wish({"draft": "0%"})
    with pytest.raises(AskError, match="100%"):
        read_wish({"draft": "120%"})
