"""`simulate`: real traces, loads that are made up, plans that are played, and what is said of wrong input."""

from __future__ import annotations

import csv
import json
import re
import shlex
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError, DataError, MissingError, RigError
from rigright.cost.estimate import Estimate
from rigright.demand import Layout, Serving, ServingWish, Traffic
from rigright.faces.cli.main import main
from rigright.facts.chips import by_id
from rigright.facts.engines import find_engine
from rigright.report.pages.simulate import page
from rigright.search.record import Plan, Supply
from rigright.verbs.simulate.replicas import play, policy_of
from rigright.verbs.simulate.setup import PlayWish, read_setup
from rigright.verbs.simulate.verb import simulate

SLOW = {  # what passes of the two runs took: at least, a token, a prompt beside, a pair, a key (seconds)
    "rtx-pro-6000_llama-3.1-8b": (0.0138, 4.25e-5, 0.0063, 3.0e-9, 9.7e-8),
    "rtx-pro-6000_qwen3-32b": (0.0274, 1.606e-4, 0.0183, 2.9e-9, 2.16e-7),
}


@pytest.fixture
def files(shared):
    folder = shared / "measured" / "traces"
    return lambda name: {"trace": str(folder / f"{name}.csv"), "setup": str(folder / f"{name}.json")}


@pytest.mark.parametrize("name", sorted(SLOW))
def test_with_the_pass_times_of_a_real_run_its_scheduler_is_replayed(name, files, monkeypatch):
    """The law apart, it is the scheduler that is tried: who is let in when, and what shares a pass."""
    least_s, token_s, prompt_s, pair_s, key_s = SLOW[name]

    def law(content):
        tok, seqs = np.asarray(content.prefill_tok, float), np.asarray(content.decode_seqs, float)
        worked = (least_s**6 + (token_s * (tok + seqs)) ** 6) ** (1 / 6)
        seen = pair_s * tok * content.prefill_seen_tok + key_s * seqs * content.decode_context_tok
        return worked + seen + prompt_s * (tok > 0)

    monkeypatch.setattr("rigright.predict.passes.law_of", lambda *_args, **_more: law)
    found = simulate(load=PlayWish(**files(name))).against
    assert found.requests == 300
    assert abs(found.ttft_error) < 0.02
    assert abs(found.tpot_error) < 0.02
    assert found.request_ttft_error < 0.03
    assert found.request_tpot_error < 0.02


WITHIN = {"rtx-pro-6000_llama-3.1-8b": 0.05, "rtx-pro-6000_qwen3-32b": 0.05}  # only ever smaller


@pytest.mark.parametrize("name", sorted(WITHIN))
def test_real_runs_are_replayed_from_facts_alone(name, files):
    found = simulate(load=PlayWish(**files(name))).against
    assert abs(found.ttft_error) < WITHIN[name]
    assert abs(found.tpot_error) < WITHIN[name]


def test_each_request_of_a_trace_has_its_line(files, tmp_path):
    out = tmp_path / "out.csv"
    asked = files("rtx-pro-6000_llama-3.1-8b")
    code = main(["simulate", "--trace", asked["trace"], "--setup", asked["setup"], "--requests", str(out)])
    assert code == 0
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["request", "first_token_s", "last_token_s"]
    assert [row["request"] for row in rows] == [f"bench-{one}" for one in range(300)]
    assert all(float(row["first_token_s"]) < float(row["last_token_s"]) for row in rows)


@pytest.fixture
def own(tmp_path):
    """A trace and a setup of one's own, from their text."""

    def make(trace="", **fields):
        (tmp_path / "t.csv").write_text(trace, encoding="utf-8")
        (tmp_path / "t.json").write_text(json.dumps(fields), encoding="utf-8")
        return {"trace": str(tmp_path / "t.csv"), "setup": str(tmp_path / "t.json")}

    return make


HEAD = "request,arrival_s,prompt_tok,output_tok,first_token_s,last_token_s\n"
SETUP = {"chip": "h100-sxm5-80gb", "arch": "meta-llama/Llama-3.1-8B", "engine": "vllm", "max_num_seqs": 4}


def test_a_broken_row_keeps_its_line_and_the_rest_is_answered(own, tmp_path):
    asked = own(HEAD + "a,0,100,10,,\nb,zero,1,1,,\nc,0.5,50,5,,\n", **SETUP)
    found = simulate(load=PlayWish(**asked), out=str(tmp_path / "o.csv"))
    lines = (tmp_path / "o.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines] == ["request", "a", "b", "c"]
    assert lines[2] == "b,,"
    assert any(re.search(r" 3, .*arrival_s", str(note)) for note in found.notes)
    assert found.against is None
    assert found.max_seqs == 4


def test_an_engine_of_old_does_not_plan_ahead(own):
    for version, policy in (("0.8.5", "vllm_sync"), ("0.19.0", "vllm"), (None, "vllm")):
        asked = own(HEAD + "a,0,100,10,,\n", **SETUP, **({"engine_version": version} if version else {}))
        assert simulate(load=PlayWish(**asked)).policy == policy


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"arch": None}, "arch"), ({"tp": 0}, "tp"), ({"tp": "2"}, "tp"), ({"util": 1.5}, "util"),
        ({"max_num_seqs": 1e300}, "max_num_seqs"), ({"prefix_caching": "yes"}, "prefix_caching"),
        ({"chip": {"a": 1}}, "chip"), ({"arch": "x" * 999}, "arch"), ({"dp": True}, "dp"),
        ({"pp": float("nan")}, "pp"),
    ],
)  # fmt: skip
def test_a_wrong_field_of_a_setup_is_named(own, fields, word):
    with pytest.raises(DataError, match=word):
        simulate(load=PlayWish(**own(HEAD + "a,0,1,1,,\n", **{**SETUP, **fields})))


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "null", "1", "[" * 5000, "\ufeff{}", "{}", '{"chip": "h100"}']
)
def test_what_is_no_setup_is_an_error(text, tmp_path):
    (tmp_path / "s.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError):
        read_setup(str(tmp_path / "s.json"))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=9) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["chip", "arch", "tp", "kv", "util", "engine", "n_chips", "x"]), JSON))
def test_whatever_a_setup_holds_is_read_or_named(tmp_path_factory, fields):
    file = tmp_path_factory.getbasetemp() / "any.json"
    file.write_text(json.dumps(fields), encoding="utf-8")
    try:
        found = read_setup(str(file))
    except RigError:
        return
    assert found.model == fields["arch"].strip()


MADE = {"requests": 120, "prompt_tok": 500, "output_tok": 60, "seed": 5}


def played(on="1x h100", *, engine="vllm", **more):
    return simulate(
        "llama-3.1-8b", on, wish=ServingWish(engine=engine, tp=1), load=PlayWish(**{**MADE, **more})
    )


def test_the_same_seed_tells_the_same_story():
    one, same, other = (played(rate_per_s=20, seed=seed).tally for seed in (5, 5, 6))
    assert one == same
    assert one != other


def test_a_load_that_is_not_carried_bears_no_tick():
    over = played(rate_per_s=200)
    assert 1 < over.tally.requests_per_s < 100
    assert page(over).tone == "bad"
    assert page(played(rate_per_s=2)).tone == "good"


def test_more_requests_a_second_never_wait_less():
    waits = [played(rate_per_s=rate).tally.ttft_s.mean for rate in (2, 20, 200)]
    assert waits == sorted(waits)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "transformers", "llama.cpp"])
def test_every_engine_serves_a_closed_loop_to_its_end(engine):
    found = played(engine=engine, concurrency=8)
    assert found.tally.served == MADE["requests"]
    assert 0 < found.ttft_s.low < found.ttft_s.value < found.ttft_s.high
    assert found.tally.output_tok_per_s > 0


def test_workers_for_prompts_spare_users_the_gaps_that_prompts_tear():
    mixed = played("1x h100", rate_per_s=25, prompt_tok=4000, replicas=3)
    apart = played("1x h100", rate_per_s=25, prompt_tok=4000, replicas=1, prefill_workers=2)
    assert apart.tally.itl_s.p99 < mixed.tally.itl_s.p99
    assert apart.prefill_workers == 2


def test_what_binds_is_told():
    (idle,) = played(rate_per_s=1).binds
    seats = simulate(
        "llama-3.1-8b", "1x h100", wish=ServingWish(max_seqs=4), load=PlayWish(**MADE, concurrency=64)
    )
    assert seats.binds[0].values == (("slots", "4"),)
    plain = ServingWish(engine="vllm", weights="bf16", kv="16bit")
    cache = simulate("llama-3.1-8b", "1x rtx 4090", wish=plain,
                     load=PlayWish(concurrency=64, requests=128, prompt_tok=600, output_tok=600))  # fmt: skip
    assert "KV" in str(cache.binds[0])
    assert "KV" not in str(idle), "it works all the time, and nobody waits"
    assert idle.values == ()


def test_a_plan_is_played_on_its_own_layout():
    arch, chip = open_model("llama-3.1-8b"), by_id()["h100-sxm5-80gb"]
    figure = Estimate(value=1.0, low=1.0, high=1.0)
    plan = Plan(
        chip=chip, n_chips=2, n_nodes=1, layout=Layout(tp=1, dp=2), work=Serving(context_tok=2048),
        concurrency=None, ranks=(), rank_bytes=figure, room_bytes=1.0, figures={}, bound="memory",
        supply=Supply(how="own", label="2x", n_units=1, usd=None, usd_per_h=None, as_of=None),
    )  # fmt: skip
    two = play(arch, plan, traffic=Traffic(prompt_tok=1000, output_tok=100, rate_per_s=30.0), seed=1)
    assert two.served == two.requests
    one = play(arch, replace(plan, n_chips=1, layout=Layout()), seed=1,
               traffic=Traffic(prompt_tok=1000, output_tok=100, rate_per_s=30.0))  # fmt: skip
    assert one.ttft_s.mean > two.ttft_s.mean


WRONG = (  # what is asked, and what the refusal names
    ("llama-3.1-8b --on h100", "--rate, --concurrency or --trace"),
    ("llama-3.1-8b --on h100 --rate 5 --concurrency 3", "--concurrency and --rate"),
    ("llama-3.1-8b --on h100 --rate 5 --arrivals closed", "--arrivals closed"),
    ("llama-3.1-8b --on h100 --rate 5 --arrivals tidal", "tidal"),
    ("llama-3.1-8b --on h100 --rate 5 --policy fifo", "handed-over, sglang"),
    ("llama-3.1-8b --on h100 --rate 5 --replicas 2 --router dice", "round-robin"),
    ("llama-3.1-8b --on h100 --rate 5 --requests 0", "--requests is 0"),
    ("llama-3.1-8b --on h100 --rate 5 --cached 2", '"2"'),
    ("llama-3.1-8b --rate 5", "--on MACHINE"),
    ("llama-3.1-8b --on h100 --setup x.json --rate 5", "--trace"),
    ("llama-3.1-8b --on h100 --trace x.csv --rate 5", "--trace and --rate"),
    ("--trace nowhere.csv --setup nowhere.json", "nowhere.json"),
    ("llama-3.1-405b --on '1x h100' --rate 5", "meta-llama/Llama-3.1-405B"),
    ("resnet50 --on h100 --rate 5", "microsoft/resnet-50"),
)


def test_a_wrong_question_is_answered_in_a_sentence(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for line, told in WRONG:
        assert main(["simulate", *shlex.split(line)]) > 0, line
        said = capsys.readouterr()
        assert told in said.err, line
        assert said.out == "", line


def test_every_form_shows_it(capsys):
    line = "simulate llama-3.1-8b --on h100 --concurrency 4 --requests 12 --ttft 1s --tpot 50ms"
    for form in ("--markdown", "--html", "--lang=zh"):
        assert main([*line.split(), form]) == 0
        assert "12" in capsys.readouterr().out, form
    assert main([*line.split(), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["served"] == told["requests"] == 12
    assert told["good_share"] == 1
    assert set(told["ttft_s"]) == {"mean", "p50", "p90", "p95", "p99", "most"}
    assert told["means"]["ttft_s"]["low"] < told["ttft_s"]["mean"]


def test_a_policy_is_known_by_its_loose_name():
    engine = find_engine("vllm")
    assert policy_of(engine, "TensorRT-LLM-max") == "tensorrt_llm_max"
    with pytest.raises(AskError):
        policy_of(engine, "nothing")
    with pytest.raises(MissingError):
        simulate(load=PlayWish(trace="nowhere.csv", setup="nowhere.json"))


def test_a_setup_of_a_run_turns_nothing_on_that_it_does_not_name(tmp_path):
    """A trace was recorded on it: expert parallel and ranks of attention are not ours to choose."""
    file = tmp_path / "s.json"
    told = {"chip": "h100", "arch": "mixtral-8x7b"}
    file.write_text(json.dumps(told | {"tp": 8}), encoding="utf-8")
    wish = read_setup(str(file)).wish
    assert (wish.tp, wish.ep, wish.attention_dp) == (8, 1, False)
    file.write_text(json.dumps(told | {"n_chips": 8}), encoding="utf-8")
    wish = read_setup(str(file)).wish
    assert (wish.tp, wish.ep, wish.attention_dp) == (None, None, None)
