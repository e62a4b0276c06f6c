"""Rows of one stream, of static batches and of encoders: each is answered, and says what it assumed."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from rigright.base.errors import AskError
from rigright.base.tables import Row, read_cells
from rigright.cost.speed.pipeline import overlap_of
from rigright.cost.speed.service import Limits, serve
from rigright.demand import Layout, Traffic
from rigright.predict.passes import law_of
from rigright.predict.streams import work_in
from rigright.sim.pace import pace_of
from rigright.terms.speed import rates_of
from rigright.verbs.validate.ask import RunAsk, is_encoding, runs_of
from rigright.verbs.validate.foreign import filled
from rigright.verbs.validate.kinds.inference import KIND
from rigright.verbs.validate.record import Prediction
from rigright.verbs.validate.stream_asks import encoder_figures, read_encoder, read_stream
from sampled_tables import part, whole_when_thorough

LLAMA = "meta-llama/Llama-3.1-8B"
UBATCH_TOK = 512
MEDIANS = {  # of the absolute error, by part of the source's name and metric: what is promised
    ("XiongjieDai", "decode_tok_s_per_user"): 0.08,
    ("XiongjieDai", "prefill_tok_s"): 0.14,
    ("kyuz0", "decode_tok_s_per_user"): 0.12,
    ("kyuz0", "prefill_tok_s"): 0.22,
    ("QwenLM", "output_tok_s_total"): 0.10,
    ("mlc-ai", "decode_tok_s_per_user"): 0.12,
    ("AutoAWQ", "output_tok_s_total"): 0.13,
    ("TensorRT-LLM:docs/source/performance", "ttft_ms"): 0.12,
    ("FasterTransformer", "latency_ms"): 0.17,
}


def row(**cells: object) -> Row:
    told = {
        "id": "r1", "engine": "llama.cpp", "arch": LLAMA, "chip": "rtx-4090", "n_chips": 1,
        "weights": "gguf:Q4_K_M", "mode": "single", "load": 1.0, "prompt_tok": 512.0, "output_tok": 128.0,
        "metric": "decode_tok_s_per_user",
    }  # fmt: skip
    return {**told, **cells}


def answer(**cells: object) -> Prediction:
    (found,) = KIND.predict(row(**cells))
    return found


def value(**cells: object) -> float:
    return answer(**cells).predicted or 0.0


def measured_rows(shared: Path) -> list[Row]:
    with (shared / "measured" / "inference.csv").open(encoding="utf-8", newline="") as file:
        raws = [raw for raw in csv.DictReader(file) if raw["mode"] in {"single", "batch"}]
    rows = [(raw, read_cells(raw, KIND.columns, required=KIND.needed)[0]) for raw in raws]
    return [filled(KIND.name, row, raw=raw) for raw, row in rows]


def test_a_row_is_answered_between_its_bounds_with_what_it_assumed() -> None:
    found = answer(prompt_tok=None)
    low, value, high = found.low or 0.0, found.predicted or 0.0, found.high or 0.0
    assert 0 < low < value < high
    assert "prompt_tok" in str(found.why)


def test_metrics_of_one_run_agree_with_each_other() -> None:
    """Total output over total time: the prompt, then each token in its turn."""
    per_user, prompt_rate = value(), value(metric="prefill_tok_s", output_tok=0.0)
    first = value(metric="ttft_ms")
    assert first == pytest.approx(1e3 * 512 / prompt_rate)
    seconds = value(metric="latency_ms") / 1e3
    assert seconds >= 128 / per_user + first / 1e3
    assert value(metric="output_tok_s_total") == pytest.approx(128 / seconds)
    assert value(metric="tpot_ms") == pytest.approx(1e3 / per_user)


def test_decode_only_rows_leave_the_prompt_out() -> None:
    asked = {"metric": "output_tok_s_total", "prompt_tok": 8192.0}
    assert value(**asked, prompt_left_out=1.0) > value(**asked)


def test_what_a_cache_held_before_slows_a_prompt() -> None:
    asked = {"metric": "prefill_tok_s", "prompt_tok": 2048.0, "engine_version": "b9187"}
    assert value(**asked, context_depth=32768.0) < 0.9 * value(**asked)


def test_a_batch_makes_more_tokens_and_each_user_waits_longer() -> None:
    one = {"engine": "autoawq", "weights": "awq4"}
    eight = {**one, "mode": "batch", "load": 8.0}
    total = {"metric": "output_tok_s_total"}
    assert value(**eight, **total) > 2 * value(**one, **total)
    assert value(**eight) <= value(**one)


def test_engines_differ_as_people_found() -> None:
    """A host-bound engine is far from one that keeps the card busy."""
    cells = {"chip": "a100-sxm4-80gb", "arch": "Qwen/Qwen2-1.5B", "weights": "bf16"}
    slow = value(**cells, engine="transformers", engine_version="4.38.2")
    fast = value(**cells, engine="vllm", engine_version="0.4.2")
    assert fast > 3 * slow


def test_kernels_are_told_apart_by_their_names() -> None:
    cells = {"engine": "torchao/gpt-fast", "chip": "rtx-a6000"}
    assert value(**cells, weights="codebook-4-64") < 0.1 * value(**cells, weights="bf16")
    gemv = value(engine="autoawq", weights="awq4", metric="prefill_tok_s", kernel="GEMV", prompt_tok=2048.0)
    gemm = value(engine="autoawq", weights="awq4", metric="prefill_tok_s", kernel="GEMM", prompt_tok=2048.0)
    assert gemv < 0.6 * gemm


def test_weights_that_no_memory_holds_are_refused_with_the_figures() -> None:
    with pytest.raises(AskError, match="GiB"):
        KIND.predict(row(arch="meta-llama/Llama-2-70b-hf", engine="exllama", weights="fp16"))


def test_words_nobody_knows_are_refused_with_what_is_known() -> None:
    with pytest.raises(AskError, match='"never heard of"'):
        KIND.predict(row(engine="never heard of"))
    with pytest.raises(AskError):
        KIND.predict(row(weights="q99"))
    with pytest.raises(AskError):
        KIND.predict(row(metric="apples"))


def test_encoders_are_answered_and_padding_is_asked_about() -> None:
    cells = {
        "engine": "fastertransformer", "arch": "google-bert/bert-base-uncased", "chip": "t4",
        "weights": "fp16", "metric": "latency_ms", "output_tok": 0.0, "load": 32.0, "prompt_tok": 384.0,
    }  # fmt: skip
    assert value(**cells, padding_skipped=1.0) < value(**cells)
    assert answer(**cells, padding_skipped=1.0).why != answer(**cells).why


def test_many_rows_are_figured_as_each_alone() -> None:
    rows = [
        row(chip=chip, prompt_tok=tok)
        for chip in ("rtx-3090", "t4", "apple-m1-max")
        for tok in (64.0, 4096.0)
    ]
    asks = [read_stream(one) for one in rows]
    together = runs_of(asks).figures()
    assert together.tolist() == [float(runs_of([ask]).figures()[0]) for ask in asks]


def test_published_runs_are_met(shared: Path) -> None:
    """Every row of a stream or a batch is answered, and as near as is promised."""
    rows = measured_rows(shared)
    streams = [one for one in rows if not is_encoding(one)]
    encoders = [one for one in rows if is_encoding(one)]
    found = [
        *zip(streams, runs_of([read_stream(one) for one in streams]).figures(), strict=True),
        *zip(encoders, encoder_figures([read_encoder(one) for one in encoders]), strict=True),
    ]
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one, figure in found:
        assert figure > 0, one["id"]
        for site, metric in MEDIANS:
            if site in one["source"] and metric == one["metric"]:
                errors[site, metric].append(abs(figure / one["value"] - 1))
    assert {key: round(median(each), 3) for key, each in errors.items() if median(each) > MEDIANS[key]} == {}
    assert errors.keys() == MEDIANS.keys()


@whole_when_thorough
def test_prompts_over_several_cards_come_as_soon_in_plans_and_plays(shared: Path) -> None:
    """The law of service and the simulator know a pipeline's gain as runs on 2 to 8 cards tell it."""
    rows = [
        one
        for one in measured_rows(shared)
        if (one["n_chips"] or 1) > 1 and one["metric"] == "prefill_tok_s" and one["engine"] == "llama.cpp"
    ]
    errors: dict[str, list[float]] = defaultdict(list)
    assert len(rows) > 150
    for one in part(rows, every=4):
        ask = read_stream(one)
        measured_s = ask.traffic.prompt_tok / one["value"]
        errors["served"].append(_served_s(ask) / measured_s - 1)
        errors["played"].append(_played_s(ask) / measured_s - 1)
    for how, found in errors.items():
        assert abs(median(found)) < 0.13, how
        assert median(map(abs, found)) < 0.16, how


def _served_s(ask: RunAsk) -> float:
    """A server's time to the first token, without what comes before and after its passes."""
    rates = rates_of([ask.chip], ask.case.engine, weights=ask.case.form)
    found = serve(
        work_in(ask.case), replace(rates, request_s=0.0, ahead=0.0), layout=Layout(pp=len(ask.case.cards)),
        traffic=Traffic(prompt_tok=int(ask.traffic.prompt_tok), output_tok=64, concurrency=1),
        limits=Limits(pool_tok=np.inf, max_seqs=1, budget_tok=UBATCH_TOK),
    )  # fmt: skip
    return float(np.ravel(found.ttft_s)[0])


def _played_s(ask: RunAsk) -> float:
    rates, layout = (
        rates_of([ask.chip], ask.case.engine, weights=ask.case.form),
        Layout(pp=len(ask.case.cards)),
    )
    work = work_in(ask.case)
    pace = pace_of(
        law_of(work, rates, layout=layout), max_seqs=1, budget_tok=UBATCH_TOK, rounds=len(ask.case.cards),
        context_tok=int(ask.traffic.prompt_tok), overlap=float(np.min(overlap_of(work, rates))),
    )  # fmt: skip
    spent, seen = 0.0, 0
    while seen < ask.traffic.prompt_tok:
        tok = min(int(ask.traffic.prompt_tok) - seen, UBATCH_TOK * len(ask.case.cards))
        spent += pace.pass_s(tok, seen + tok / 2, prompts=1, seqs=0, context_tok=0)
        seen += tok
    return spent
