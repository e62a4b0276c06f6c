"""Served rows: every one is answered, from what it tells and from what engines do by themselves."""

import csv

import numpy as np
import pytest

from lab.subjects.speed_serving import SUBJECT
from rigright.arch.sources import zoo
from rigright.base.errors import AskError, RigError
from rigright.facts.corrections import corrections
from rigright.verbs.validate.ask import runs_of
from rigright.verbs.validate.kinds.inference import KIND
from rigright.verbs.validate.served_asks import read_served
from rigright.verbs.validate.verb import validate

ROW = {
    "id": "s1", "source": "somebody", "engine": "vllm", "engine_version": "0.19.0",
    "arch": "meta-llama/Llama-3.1-70B", "chip": "h100-sxm5-80gb", "n_chips": 4, "tp": 4, "pp": 1,
    "weights": "fp8", "mode": "serve", "load": 16.0, "prompt_tok": 1024.0, "output_tok": 1024.0,
    "metric": "tpot_ms", "value": 12.0,
}  # fmt: skip
MOE = {"arch": "deepseek-ai/DeepSeek-V3", "chip": "h200", "n_chips": 8, "ep": 8, "moe_tp": 1}


def predicted(row):
    (found,) = KIND.predict(row)
    return found


def figure(**changes):
    return predicted(ROW | changes).predicted


def test_a_row_is_answered_with_low_and_high():
    found = predicted(ROW)
    assert 0 < found.low < found.predicted < found.high
    assert 5 < found.predicted < 25


def test_what_is_not_told_is_said():
    told = ROW | {"kv": "fp8"}
    assert predicted(told).why is None
    unsaid = [predicted(row).why for row in (ROW, told | {"engine_version": None})]
    unsaid.append(predicted(told | {"tp": None, "mode": "max"}).why)
    assert all(unsaid)
    assert len(set(map(str, unsaid))) == 3, "cache, version, layout"


@pytest.mark.parametrize(
    "metric",
    [
        "ttft_ms",
        "tpot_ms",
        "output_tok_s_total",
        "total_tok_s",
        "latency_ms",
        "decode_tok_s_per_user",
        "prefill_tok_s",
    ],
)
def test_every_metric_is_known(metric):
    assert figure(metric=metric) > 0


def test_metrics_of_one_run_agree():
    ttft, tpot, latency, speed = (
        figure(metric=name) for name in ("ttft_ms", "tpot_ms", "latency_ms", "decode_tok_s_per_user")
    )
    assert latency == pytest.approx(ttft + 1023 * tpot)
    assert speed == pytest.approx(1000 / tpot)
    assert figure(metric="total_tok_s") == pytest.approx(2 * figure(metric="output_tok_s_total"))


def test_an_unknown_metric_says_so():
    with pytest.raises(AskError, match="smiles"):
        predicted(ROW | {"metric": "smiles"})


def test_a_model_that_does_not_fit_says_so():
    with pytest.raises(AskError, match="GPUs"):
        predicted(ROW | {"tp": 1, "n_chips": 1, "chip": "rtx-3060", "mode": "max", "metric": "total_tok_s"})


def test_a_layout_nobody_tells_is_the_best_there_is():
    alone = {"mode": "max", "n_chips": 8, "weights": "fp8", "metric": "output_tok_s_total", "load": None}
    best = figure(tp=None, **alone)
    cuts = [(tp, pp) for tp in (1, 2, 4, 8) for pp in (1, 2, 4, 8) if tp * pp <= alone["n_chips"]]
    told = [figure(tp=tp, pp=pp, **alone) for tp, pp in cuts]
    assert best == pytest.approx(max(told))


def test_replicas_share_the_load():
    """Eight chips as two replicas of four, with twice the load, serve each user alike."""
    assert figure(n_chips=8, load=32.0) == pytest.approx(figure())


def test_experts_cut_over_more_chips_than_are_told_take_so_many():
    found = predicted(ROW | MOE | {"n_chips": 1, "tp": 1, "moe_tp": 8, "ep": 1})
    assert " 8 GPUs" in str(found.why)
    assert found.predicted == pytest.approx(figure(**MOE | {"tp": 8, "moe_tp": 8, "ep": 1}))


def test_both_ways_of_cutting_experts_at_once_cannot_be():
    assert figure(**MOE | {"tp": 8, "moe_tp": 8, "ep": 8}) == figure(**MOE | {"tp": 8, "moe_tp": 8, "ep": 1})


@pytest.mark.parametrize(("tp", "ranks"), [(1, 8), (8, 8)])
def test_ranks_of_attention_are_told_in_two_ways(tp, ranks):
    ask = read_served(ROW | MOE | {"tp": tp, "attn_dp": ranks})
    assert ask.case.layout.attention_dp
    assert (ask.case.layout.tp, ask.case.layout.dp) == (8, 1)


@pytest.mark.parametrize(
    "said",
    [
        {"tp": "8", "ep": "8", "attention_dp": "yes"},
        {"tp": "8", "ep": "8", "attention_dp": "on"},
        {"tp": "8", "ep": "8", "attn_dp": "True"},
        {"tp": "8", "ep": "8", "attn_dp": "8"},
        {"tp": "1", "ep": "8", "attn_dp": "8"},
        {"tp": "1", "ep": "8", "attention_dp": "true"},
        {"tp": "1", "dp": "8", "ep": "8", "attention_dp": "1"},
        {"tp": "1", "dp": "8", "ep": "8", "n_chips": ""},
    ],
)
def test_attention_in_ranks_is_told_in_many_words(said):
    """A cell as a file has it, through the readers of its column."""
    cells = {"n_chips": "8", **said}
    row = ROW | MOE | {"tp": None} | {name: KIND.columns[name](cell) for name, cell in cells.items() if cell}
    if not cells["n_chips"]:
        del row["n_chips"]
    ask = read_served(row)
    assert (len(ask.case.cards), ask.case.layout.dp, ask.case.layout.tp, ask.case.layout.ep) == (8, 1, 8, 8)
    assert ask.case.layout.attention_dp


@pytest.mark.parametrize("said", ["no", "off", "False", "0", "1"])
def test_what_is_denied_or_is_one_rank_is_none(said):
    row = ROW | MOE | {"tp": 8, "ep": 8, "attn_dp": KIND.columns["attn_dp"](said)}
    assert not read_served(row).case.layout.attention_dp


def test_a_rank_and_a_word_that_it_is_so_are_not_one_question(tmp_path):
    """1 and True are equal in Python: rows that ask the same are predicted once, and these do not."""
    told = {name: value for name, value in (ROW | MOE).items() if name not in {"value", "source", "moe_tp"}}
    rows = [told | {"tp": 8, "attn_dp": said} for said in ("1", "True", "1")]
    path = tmp_path / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    whole, spread, again = (judged.predictions[0].predicted for judged in validate(str(path)).rows)
    assert whole == again != spread


def test_workers_apart_are_read():
    text = "DISAGG prefill 2x(tp1 pp1 dp8 ep8) decode 3x(tp8 pp1 dp1 ep1) decode_bs=16"
    ask = read_served(ROW | MOE | {"tp": None, "disagg": text, "n_chips": 40})
    assert (ask.case.prefill.dp, ask.case.prefill.tp, ask.case.prefill.attention_dp) == (2, 8, True)
    assert (ask.case.layout.dp, ask.case.layout.tp, ask.case.layout.attention_dp) == (3, 8, False)
    assert figure(**MOE | {"tp": None, "disagg": text, "n_chips": 40, "load": 64.0}) > 0


def test_a_version_older_than_its_day_is_no_version():
    """Tools around an engine have versions of their own."""
    ask = read_served(ROW | {"engine": "trtllm", "engine_version": "0.5.1-rc0", "measured": "2026-02-01"})
    assert ask.case.engine.version >= "1"
    assert read_served(ROW | {"engine": "trtllm", "engine_version": "0.14.0"}).case.engine.version == "0.14.0"


def test_means_stand_in_for_lengths():
    ask = read_served(ROW | {"prompt_tok": None, "output_tok": None, "mean_output_tok": 294.0})
    assert ask.traffic.output_tok == 294
    assert ask.traffic.prompt_tok == 300


def test_prompts_nobody_tells_are_those_of_instructions_however_long_the_answers():
    for told in (145.0, 9000.0):
        ask = read_served(ROW | {"prompt_tok": None, "output_tok": None, "mean_output_tok": told})
        assert (ask.traffic.output_tok, ask.traffic.prompt_tok) == (told, 300)


def test_a_window_once_full_takes_no_more_room():
    """Short sequences fill every layer; of long ones the cache holds more tokens."""
    rows = [
        ROW | {"arch": arch, "weights": "bf16", "prompt_tok": prompt}
        for arch in ("google/gemma-3-27b-it", "meta-llama/Llama-3.1-70B")
        for prompt in (512.0, 32768.0)
    ]
    asks = [read_served(row) for row in rows]
    windows, plain = (group.replicas.pool_tok for group in runs_of(asks).groups)
    assert windows[1] > 2 * windows[0]
    assert plain[1] == pytest.approx(plain[0], rel=0.01)


def test_nothing_asked_is_a_length():
    """A prompt of no tokens is read as such, not as an unreadable cell."""
    assert KIND.columns["prompt_tok"]("0") == 0
    assert KIND.columns["load"]("max-throughput") is None
    with pytest.raises(ValueError, match="-1"):
        KIND.columns["prompt_tok"]("-1")


def test_one_by_one_equals_all_at_once():
    rows = [
        ROW | {"id": str(number), "load": load, "metric": metric, **more}
        for number, (load, metric, more) in enumerate(
            (load, metric, more)
            for load in (1.0, 64.0)
            for metric in ("ttft_ms", "tpot_ms")
            for more in ({}, MOE, {"chip": "b200", "tp": 8, "n_chips": 8}, {"engine": "sglang"})
        )
    ]
    asks = [read_served(row) for row in rows]
    together = runs_of(asks).figures()
    alone = [predicted(row).predicted for row in rows]
    assert np.array_equal(together, alone)


def test_the_subject_predicts_what_validate_predicts():
    rows = [ROW | {"metric": metric} for metric in ("ttft_ms", "tpot_ms")]
    ready = SUBJECT.prepare(rows)
    tables = corrections("speed_serving")
    assert list(SUBJECT.predict(ready, tables)) == [predicted(row).predicted for row in rows]
    paths = [dial.path for dial in SUBJECT.dials(rows, tables)]
    assert len(paths) == len(set(paths))
    assert ("engines", "vllm", "step_s") in paths
    assert ("chips", "nvidia-hopper", "memory") in paths
    assert SUBJECT.keys(rows[0])["model"] == zoo.arch(ROW["arch"]).name


def test_every_served_row_beside_us_is_answered(shared):
    """99 of 100, and half of them within a fifth."""
    path = shared / "measured" / "inference.csv"
    with path.open(encoding="utf-8") as file:
        kept = [row for row in csv.DictReader(file) if row["mode"] in {"serve", "max"}]
    asked = [
        {name: reader(row[name]) if row.get(name) else None for name, reader in KIND.columns.items()}
        for row in kept[::25]
    ]
    found = [(row, one) for row, one in zip(asked, KIND.answers(asked), strict=True)]
    answered = [(row, one[0].predicted) for row, one in found if not isinstance(one, RigError)]
    assert len(answered) >= 0.99 * len(found)
    tpot = [abs(value / row["value"] - 1) for row, value in answered if row["metric"] == "tpot_ms"]
    assert np.median(tpot) < 0.15


def test_a_class_that_alone_was_run_speaks_for_its_kin():
    """GDDR cards nobody served follow those that were; chips with HBM have a class each."""
    chips = ["l40s"] * 30 + ["h100-sxm5-80gb", "b200-sxm"] * 30 + ["mi300x"] * 3
    rows = [ROW | {"chip": chip, "n_chips": 4} for chip in chips]
    paths = {dial.path[1] for dial in SUBJECT.dials(rows, {}) if dial.path[0] == "chips"}
    assert paths == {"all", "nvidia-gddr", "nvidia-hopper", "nvidia-blackwell", "amd-cdna"}
    assert "nvidia-gddr" in corrections("speed_serving")["chips"]
