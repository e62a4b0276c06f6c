"""How fast one model is on one machine: what explain and fit say beside memory."""

from __future__ import annotations

import pytest

from rigright.arch.sources.open import open_model
from rigright.demand import ServingWish, Traffic
from rigright.facts.nodes import find_node
from rigright.predict.speed import speed, traffic_of
from rigright.predict.timed import TIME_PARTS
from rigright.search.single import single
from rigright.verbs.explain import explain
from rigright.verbs.fit import FitWish, fit


def case(model="llama-3.1-8b", on="rtx 4090", **wish):
    return single(open_model(model), find_node(on), wish=ServingWish(**wish)).case


def timed(*args, **wish):
    built = case(*args, **wish)
    return speed(built)


def test_a_context_is_a_prompt_and_an_output():
    traffic = traffic_of(case(context_tok=8192))
    assert traffic.prompt_tok + traffic.output_tok <= 8192
    traffic = traffic_of(case(context_tok=8192, prompt_tok=1000, output_tok=700))
    assert (traffic.prompt_tok, traffic.output_tok) == (1000, 700)
    assert traffic_of(case(context_tok=1)).prompt_tok >= 1


def test_the_parts_of_a_pass_are_the_pass():
    found = timed(batch=4)
    assert sum(found.token_pass.of(part) for part in TIME_PARTS) == pytest.approx(found.token_pass.total_s)
    assert all(found.token_pass.of(part) >= 0 for part in TIME_PARTS)


def test_one_user_reads_weights_and_a_prompt_computes():
    found = timed()
    assert found.token_pass.bound == "memory"
    assert found.prompt_pass.bound == "compute"


def test_weights_are_read_no_faster_than_the_memory_goes():
    built = case()
    bandwidth = built.cards[0].chip.mem_bytes_per_s
    found = speed(built)
    assert found.tpot_s.value > 0.9 * built.weights.total_bytes / bandwidth
    assert found.tpot_s.value < 4 * built.weights.total_bytes / bandwidth


def test_every_figure_lies_in_its_band():
    found = timed(batch=8)
    for name in ("ttft_s", "tpot_s", "output_tok_per_s", "user_tok_per_s", "prefill_tok_per_s"):
        figure = getattr(found, name)
        assert figure.low < figure.value < figure.high, name


def test_more_users_get_more_together_and_less_each():
    one, many = timed(batch=1), timed(batch=16)
    assert many.output_tok_per_s.value > one.output_tok_per_s.value
    assert many.user_tok_per_s.value < one.user_tok_per_s.value


def test_a_mixed_pair_lies_between_its_cards():
    asked = {"model": "qwen2.5-7b", "engine": "llama.cpp", "weights": "Q4_K_M"}
    slow, mixed, fast = (timed(on=on, pp=2, **asked) for on in ("2x 3060", "3060 + 4090", "2x 4090"))
    assert fast.tpot_s.value < mixed.tpot_s.value < slow.tpot_s.value


def test_unlike_cards_that_share_tensors_wait_for_the_slowest():
    mixed = timed(model="qwen2.5-7b", on="3090 + 4090", engine="vllm", tp=2, batch=1)
    slow = timed(model="qwen2.5-7b", on="2x 3090", engine="vllm", tp=2, batch=1)
    assert mixed.tpot_s.value == pytest.approx(slow.tpot_s.value, rel=0.1)


def test_a_chip_nobody_measured_has_no_narrower_band():
    known, strange = timed(on="h100"), timed(on="gaudi 3", model="llama-3.1-8b", engine="vllm")
    width = {name: found.tpot_s.high / found.tpot_s.low for name, found in (("h100", known), ("x", strange))}
    assert width["x"] >= width["h100"]


def test_a_load_may_be_said_apart_from_the_case():
    built = case()
    short = speed(built, traffic=Traffic(prompt_tok=128, output_tok=64, concurrency=1))
    assert short.ttft_s.value < speed(built).ttft_s.value


def test_explain_says_how_fast_where_it_fits_and_nothing_where_not():
    assert explain("llama-3.1-8b", "rtx 4090").speed is not None
    assert explain("llama-3.1-70b", "rtx 4090").speed is None
    assert explain("bert-base-uncased", "rtx 4090").speed is None


def test_fit_says_how_fast_each_row_is():
    rows = fit("rtx 4090", wish=FitWish(family="qwen3", limit=4)).models
    assert all(row.user_tok_per_s.low < row.user_tok_per_s.value for row in rows)


def test_the_page_tells_it_in_both_languages(ask_cli):
    english = ask_cli("explain llama-3.1-8b --on 'rtx 4090' --details")
    assert "TPOT" in english
    assert "首 token" in ask_cli("explain llama-3.1-8b --on 'rtx 4090' --lang zh")


@pytest.fixture
def ask_cli(capsys, monkeypatch):
    import shlex

    from rigright.faces.cli.main import main

    monkeypatch.delenv("COLUMNS", raising=False)

    def asking(line):
        assert main(shlex.split(line)) == 0
        return capsys.readouterr().out

    return asking


def test_why_tells_the_facts_and_runs_behind_each_figure():
    rows = {row.part: row for row in explain("llama-3.1-8b", "h100 sxm", why=True).why}
    assert {"rates", "TPOT", "TTFT", "tok/s", "80 %"} <= set(rows)
    assert "3,350 GB/s" in str(rows["rates"].numbers)
    assert all(row.source for row in rows.values())
    unfit = explain("llama-3.1-70b", "rtx 4090", why=True).why
    assert "TPOT" not in {row.part for row in unfit}
