"""Speech to text: planned in hours of audio, at published weights, with the encoder counted."""

from statistics import median

import pytest

from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.base.units import show_short
from rigright.base.words import tell
from rigright.cost.speed.service import Limits, serve
from rigright.demand import Layout, PlanWish, ServingWish, Traffic
from rigright.facts.chips import by_id
from rigright.facts.engines import find_engine
from rigright.facts.formats import find_format
from rigright.report.pages import explain as explain_page
from rigright.report.pages.plan import page, verdict
from rigright.terms.speed import rates_of, work_of
from rigright.verbs.explain import explain
from rigright.verbs.plan import plan
from spoken import shown as shown_of

WHISPER = "whisper-large-v3"
WINDOW_S = 30
# MLPerf Inference v6.0, closed, Offline, Whisper, of one card: output tokens a second
MLPERF = {  # (chip, engine): tokens
    ("l40s", "vllm"): 3646.91 / 2,
    ("h200-sxm-141gb", "vllm"): 36395.7 / 8,
    ("h200-nvl-141gb", "tensorrt-llm"): 30195.2 / 8,
    ("rtx-pro-6000-blackwell-server", "tensorrt-llm"): 18338.3 / 8,
    ("b200-sxm", "tensorrt-llm"): 47433.9 / 8,
    ("b300-sxm", "tensorrt-llm"): 47268.7 / 8,
}


def served(chip, engine="vllm", *, users=128):
    work = work_of(open_model(WHISPER), weights="fp16", kv="16bit")
    rates = rates_of([by_id()[chip]], find_engine(engine), weights="fp16")
    return serve(
        work, rates, layout=Layout(),
        traffic=Traffic(prompt_tok=4, output_tok=110, concurrency=users),
        limits=Limits(pool_tok=1e6, max_seqs=256, budget_tok=8192),
    )  # fmt: skip


@pytest.fixture(scope="module")
def planned():
    return plan(WHISPER, wish=PlanWish(on="rtx 4060"))


def test_hours_of_audio_are_requests_times_their_window(planned):
    figures = planned.first.figures
    rate, hours = figures["requests_per_s"], figures["audio_h_per_h"]
    assert planned.wish.work == "speech"
    assert (hours.value, hours.low, hours.high) == pytest.approx(
        (rate.value * WINDOW_S, rate.low * WINDOW_S, rate.high * WINDOW_S)
    )
    usd, hour = figures.get("usd_per_audio_h"), figures.get("usd_per_h")
    assert (usd is None) == (hour is None)


def test_an_hour_of_audio_costs_what_its_share_of_an_hour_does():
    figures = plan(WHISPER, wish=PlanWish(on="rx 7900 xtx")).first.figures
    each, hour, hours = (figures[name] for name in ("usd_per_audio_h", "usd_per_h", "audio_h_per_h"))
    assert each.value == pytest.approx(hour.value / hours.value)
    assert each.low == pytest.approx(hour.low / hours.high)
    assert each.high == pytest.approx(hour.high / hours.low)


def test_the_answer_speaks_of_audio_and_of_no_tokens(planned):
    said = verdict(planned).text
    assert {"whisper-large-v3", "fp16"} <= set(shown_of(said))
    hours = show_short(planned.first.figures["audio_h_per_h"].value)
    assert hours in shown_of(said)
    shown = str(page(planned))
    assert not any(word in shown for word in ("tok/s", "1M tok", "prompt", "448"))
    assert tell(said, "zh") != tell(said, "en")


def test_explain_tells_the_same_hours(planned):
    first = planned.first
    wish = ServingWish(
        engine=first.work.engine, weights=first.work.weights, kv=first.work.kv, users=first.concurrency
    )
    told = explain(WHISPER, "rtx 4060", wish=wish)
    hours = told.speed.audio_h_per_h
    assert hours.value == pytest.approx(first.figures["audio_h_per_h"].value, rel=1e-6)
    assert hours.mark == "physics"
    assert explain_page.plain(told, "en")["speed"]["audio_h_per_h"]["value"] == hours.value
    assert "prompt" not in str(explain_page.page(told))
    assert "prefill" not in str(explain_page.page(told))


@pytest.mark.parametrize("on", [None, "rtx 4060", "m4 max", "rx 7900 xtx", "8x h100"])
def test_nothing_that_people_would_hear_is_lost(on):
    for one in plan(WHISPER, wish=PlanWish(on=on)).shown:
        assert find_format(one.work.weights).loss_rank <= 1  # as published
        assert one.work.kv == "16bit"


@pytest.mark.parametrize("field", ["prompt_tok", "output_tok", "context_tok", "cached_share"])
def test_lengths_are_refused(field):
    wish = PlanWish(**{field: 0.5 if field == "cached_share" else 100})
    with pytest.raises(AskError, match="openai/whisper-large-v3"):
        plan(WHISPER, wish=wish)


def test_explain_refuses_them_too():
    with pytest.raises(AskError, match="--context "):
        explain(WHISPER, "rtx 4060", wish=ServingWish(context_tok=200))


def test_models_and_modes_that_do_not_go_together_are_refused():
    with pytest.raises(AskError, match=r"(?i)llama-3\.1-8b"):
        plan("llama-3.1-8b", wish=PlanWish(work="speech", on="rtx 4090"))
    for mode in ("chat", "rag", "agent", "rerank"):
        with pytest.raises(AskError, match=r"openai/whisper-large-v3"):
            plan(WHISPER, wish=PlanWish(work=mode, on="rtx 4090"))


def test_more_at_a_time_is_more_audio_in_all_and_later_for_each():
    rates = [served("l40s", users=users) for users in (1, 4, 16, 64)]
    each = [one.requests_per_s.item() for one in rates]
    assert each == sorted(each)
    waits = [one.ttft_s.item() for one in rates]
    assert waits == sorted(waits)


def test_the_encoder_is_the_work_of_a_window():
    encoder = work_of(open_model(WHISPER), weights="fp16", kv="16bit").encoder
    assert encoder.tok == 1500
    # 32 layers of 12 x 1280^2, two convolutions; keys and values for 32 layers of the decoder
    layers = 32 * 12 * 1280**2
    crossed = 32 * 2 * 1280**2
    convolutions = 2 * 128 * 3 * 1280 + 3 * 1280**2
    assert encoder.elems == pytest.approx(layers + crossed + convolutions)
    assert work_of(open_model("llama-3.1-8b"), weights="bf16", kv="16bit").encoder is None


def test_published_runs_lie_near():
    ratios = {key: served(*key).output_tok_per_s.item() / measured for key, measured in MLPERF.items()}
    assert 0.8 < median(ratios.values()) < 1.45, ratios
    assert all(0.6 < ratio < 1.7 for ratio in ratios.values()), ratios
