"""Stages one after another: what they lose to unlike passes and stages, against rings that are played."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from passes import BIG, GEMMA, HOPPER, LLAMA, MIXTRAL, SERVERS, one, rates, work

from rigright.cost.speed.pipeline import fullest
from rigright.cost.speed.service import Limits, serve
from rigright.cost.speed.step import Pass, longest_s, step
from rigright.demand import Layout, Traffic
from rigright.predict.kept import TIMES, columns_of, share_kept

ROOMY = Limits(pool_tok=1e9, max_seqs=4096, budget_tok=8192)
ROUNDS = 3000
engines = st.sampled_from(SERVERS)
models = st.sampled_from([LLAMA, BIG, MIXTRAL, GEMMA])
stages = st.sampled_from([2, 4, 8])


def ring(count: int, prompts: float) -> float:
    """Seconds of a round where each pass takes one a stage for each of its prompts, and is played."""
    draws = np.random.default_rng(count).poisson(prompts, (ROUNDS, count))
    done, back = np.zeros(count), np.zeros(count)  # of each stage, of each pass
    for row in draws:
        for number, own in enumerate(row):
            at = back[number]
            for stage in range(count):
                at = max(at, done[stage]) + (1 + own) / count
                done[stage] = at
            back[number] = at
    return float(back.mean()) / ROUNDS - 1


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("prompts", [0.05, 0.3, 1.0, 4.0])
def test_a_round_takes_as_long_as_its_fullest_pass(count, prompts):
    told = one(fullest(prompts, room=np.inf, passes=count))
    assert told == pytest.approx(ring(count, prompts), rel=0.1)


@given(prompts=st.floats(1e-4, 50), room=st.floats(0.01, 100), count=st.integers(1, 16))
def test_the_fullest_pass_lies_between_the_mean_and_all_of_them(prompts, room, count):
    prompts = min(prompts, room)
    found = one(fullest(prompts, room=room, passes=count))
    assert prompts * (1 - 1e-9) <= found <= min(count * prompts, room) * (1 + 1e-9)
    if count == 1:
        assert found == pytest.approx(prompts)


@given(prompts=st.floats(1e-4, 50), more=st.floats(1, 4), count=st.integers(1, 15))
def test_more_prompts_and_more_passes_are_a_longer_round(prompts, more, count):
    found = one(fullest(prompts, room=np.inf, passes=count))
    assert one(fullest(prompts * more, room=np.inf, passes=count)) >= found * (1 - 1e-9)
    assert one(fullest(prompts, room=np.inf, passes=count + 1)) >= found * (1 - 1e-9)


@given(model=models, pp=stages, seqs=st.integers(1, 256))
def test_the_stage_with_the_head_is_waited_for_and_a_lone_pass_waits_for_none(model, pp, seqs):
    layout = Layout(pp=pp)
    time = step(work(model), rates(), layout=layout, content=Pass(decode_seqs=seqs, decode_context_tok=1000))
    asked = {"work": work(model), "rates": rates(), "layout": layout}
    assert one(longest_s(time, passes=1, **asked)) == 0
    waits, head = one(longest_s(time, passes=pp, **asked)), one(time.head_s)
    assert waits >= (pp - 1) * head * (1 - 1e-9) - one(time.total_s) * (pp - 1) / work(model).layers
    whole = Layout()
    assert one(longest_s(time, **{**asked, "layout": whole}, passes=1)) == pytest.approx(0, abs=1e-12)


def told(engine, model, *, layout, prompt=1000, output=300, limits=ROOMY, **load):
    return serve(
        work(model), rates(HOPPER, engine), layout=layout,
        traffic=Traffic(prompt_tok=prompt, output_tok=output, **load), limits=limits,
    )  # fmt: skip


@given(
    engine=engines, model=models, pp=stages, users=st.integers(1, 600),
    prompt=st.integers(16, 16_000), output=st.integers(2, 2000),
)  # fmt: skip
def test_a_pipeline_serves_no_more_than_its_cards_would_alone(engine, model, pp, users, prompt, output):
    """The same cache: no card does in a pipeline what it cannot do with all layers to itself."""
    asked = {"prompt": prompt, "output": output}
    staged = told(engine, model, layout=Layout(pp=pp), concurrency=users, **asked)
    alone = told(engine, model, layout=Layout(), concurrency=users, **asked)
    assert one(staged.output_tok_per_s) <= pp * one(alone.output_tok_per_s) * 1.001
    assert one(staged.compute_busy) <= 1
    apart = told(engine, model, layout=Layout(dp=pp), concurrency=users, **asked)
    if users >= pp:
        assert one(staged.output_tok_per_s) <= one(apart.output_tok_per_s) * 1.02, "replicas wait for nobody"


@given(engine=engines, model=models, pp=stages, prompt=st.integers(16, 16_000))
def test_for_one_user_stages_are_no_sooner_than_one_card_and_fast_links_are(engine, model, pp, prompt):
    asked = {"prompt": prompt, "concurrency": 1}
    staged, alone, cut = (
        told(engine, model, layout=layout, **asked) for layout in (Layout(pp=pp), Layout(), Layout(tp=pp))
    )
    assert one(staged.tpot_s) >= one(alone.tpot_s) * 0.999
    assert one(cut.tpot_s) <= one(staged.tpot_s)


@given(engine=engines, pp=stages, users=st.integers(1, 400))
def test_more_users_never_make_a_pipeline_serve_less(engine, pp, users):
    less, more = (told(engine, LLAMA, layout=Layout(pp=pp), concurrency=n) for n in (users, users * 2))
    assert one(more.output_tok_per_s) >= one(less.output_tok_per_s) * 0.97
    assert one(more.tpot_s) >= one(less.tpot_s) * 0.97


SLACK = 1.05  # of 1,200 random loads the worst falls by 4 % (p99 of TTFT, Mixtral, one rank)
layouts = st.sampled_from([Layout(tp=2), Layout(tp=8), Layout(pp=2), Layout(pp=4), Layout(tp=4, pp=2)])


@given(
    engine=engines, model=models, layout=layouts, prompt=st.integers(16, 16_000),
    output=st.integers(64, 4000), pool=st.integers(50_000, 4_000_000), share=st.floats(0.02, 0.9),
    more=st.floats(1, 5), bound=st.floats(0.2, 5), opens=st.booleans(),
)  # fmt: skip
def test_the_share_that_keeps_a_limit_never_grows_with_the_load(
    *, engine, model, layout, prompt, output, pool, share, more, bound, opens
):
    limits = Limits(pool_tok=float(max(pool, prompt + output)), max_seqs=256, budget_tok=2048)
    asked = {"layout": layout, "prompt": prompt, "output": output, "limits": limits}
    if opens:
        most = 1 / one(told(engine, model, rate_per_s=1.0, **asked).busy)
        loads = [{"rate_per_s": most * part} for part in (share, min(share * more, 0.99))]
    else:
        loads = [{"concurrency": max(256 * part, 1.0)} for part in (share, share * more)]
    less, later = (columns_of(told(engine, model, **load, **asked)) for load in loads)
    for figure in TIMES:
        limit = bound * one(less[figure])
        kept = one(share_kept(later, figure, bound=limit))
        assert kept <= one(share_kept(less, figure, bound=limit * SLACK)), figure
