"""What runs taught us stays within physics: shares below one, seconds above nothing, bands in order."""

from __future__ import annotations

import re
from math import exp, isfinite, isinf

import pytest

from rigright.base.tables import DATA
from rigright.cost.bands import FIGURES, LEVELS, deviation
from rigright.cost.known import NEVER, NOTHING, Known
from rigright.cost.training.rates import SAME
from rigright.demand import Training
from rigright.facts.chips import by_id, chips, classes
from rigright.facts.corrections import corrections
from rigright.facts.engines import engines, find_engine, how_runs
from rigright.terms.speed import rates_of
from rigright.terms.training import set_up, training_rates

SUBJECTS = sorted(path.stem for path in (DATA / "corrections").glob("*.toml"))
SPEEDS = ("speed_serving", "speed_streams", "speed_training", "speed_images")
BANDS = tuple(name for name in SUBJECTS if name.startswith("bands_"))
MOST_SHARE = {  # of a stated rate: GeForce and HBM cards boost a little above the sheet
    "memory": 1.25, "kv_memory": 1.25, "compute": 1.2, "kernel": 1.0, "mixing_kernel": 1.0,
    "own_mixing_kernel": 1.0, "attention": 1.2, "fp8": 1.0, "fp4": 1.0, "block": 1.05, "fp4_memory": 1.0,
    "narrow_read": 1.0, "tp_bare": 1.0, "dp_bare": 1.0, "pp_bare": 1.0, "ep_bare": 1.0, "cp_bare": 1.0,
    "unbalanced": 1.0, "eager": 1.0, "vendor_mixing": 1.0, "wave": 1.0, "grown": 1.0, "touched": 1.0,
    "gathered": 1.0, "piped": 1.0, "share": 1.0, "low_share": 1.0, "quick_share": 1.0, "pair_share": 1.0,
    "fused": 1.0, "idle": 0.3, "awake": 0.3, "hidden": 1.0, "imbalance": 2.0, "spread": 0.05,
    "reach_fp8": 1.0, "reach_mxfp8": 1.0, "reach_nvfp4": 1.0, "scan": 1.0, "pcie": 1.0, "absorbed": 1.0,
}  # fmt: skip
STREAMED = {
    "tensorrt-llm 0.7": ("fp16", "fp8", "awq4"), "llama.cpp": ("gguf:Q4_K_M", "gguf:F16"), "mlx": ("mlx4",),
    "exllama": ("exl2-4.0", "fp16"), "transformers": ("bf16", "nf4"), "lmdeploy": ("fp16", "awq4"),
}  # fmt: skip
NOTHING_KNOWN = Known(chip=NOTHING, engine=NEVER, kind=False, model=False, source=False)
MOST_S = {
    "request_s": 2.0,
    "start_s": 0.5,
    "step_s": 1.0,
    "talk_s": 2.0,
    "prompt_start_s": 2.0,
    "host_step_s": 0.5,
}
USUAL_MOST_S = 0.1  # of a layer, a sequence, a kernel, a message


def numbers(table, path=()):
    """Every number of a table with the names that lead to it."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from numbers(value, (*path, name))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield (*path, name), float(value)


def text_of(subject):
    return (DATA / "corrections" / f"{subject}.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_term_is_missing_negative_or_endless_without_meaning_it(subject):
    for path, value in numbers(corrections(subject)):
        assert value >= 0 or path[-1] == "low", path  # deviations below the figure
        assert isfinite(value) or isinf(value), path
        if isinf(value):
            assert path[-1] in {"quick_start_s", "graph_tok", "piped_elems", "ubatch_tok", "narrow_width"}, (
                path
            )


@pytest.mark.parametrize("subject", [*SPEEDS, "links", "power"])
def test_shares_are_shares(subject):
    """But for TensorRT-LLM's first runs, whose power stands beside them, and Inferentia's own memory."""
    for path, value in numbers(corrections(subject)):
        if path[0] == "manners":  # over what others reach
            assert 0.3 < value < (100 if path[-1] == "fill" else 6), (path, value)
        elif "options" in path and path[-1] in MOST_SHARE:  # a factor on a share
            assert 0 < value < 3, (path, value)
        elif path[-1] in MOST_SHARE and not {"tensorrt-llm early", "inferentia1"} & set(path):
            assert 0 <= value <= MOST_SHARE[path[-1]], (path, value)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_seconds_are_of_the_size_of_what_they_are_for(subject):
    for path, value in numbers(corrections(subject)):
        if path[-1].endswith("_s") and not isinf(value):
            assert value <= MOST_S.get(path[-1], USUAL_MOST_S), (path, value)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_table_says_in_its_head_what_it_rests_on(subject):
    head = text_of(subject).partition("[")[0]
    assert head.startswith("# ")
    assert re.search(r"[Ff]itted|[Ll]earnt|[Ss]ources|runs|measured", head), subject


@pytest.mark.parametrize("subject", [name for name in SUBJECTS if name.startswith("speed_")])
def test_tables_speak_of_chips_classes_and_kins_that_are_there(subject):
    known = {"all"} | set(by_id()) | {one.id for one in classes()} | {one.kin for one in classes()}
    table = corrections(subject)
    assert set(table.get("chips", {})) <= known | {"cpu"}
    for engine, row in table.get("engines", {}).items():
        if subject == "speed_streams":
            places = set(row) - {"base", "formats", "options"}
            assert places <= known, (engine, places - known)


def test_engines_with_terms_of_their_own_are_engines():
    table = corrections("speed_serving")
    assert set(table["engines"]) <= set(engines()) | set(table["eras"])
    assert {era["engine"] for era in table["eras"].values()} <= set(engines())
    assert set(corrections("links")["engines"]) <= set(engines())


def test_every_chip_has_every_term_of_serving():
    """By its own name, its class, its kin or for all: nothing is left to a default in code."""
    for engine in ("vllm", "sglang", "trtllm"):
        found = rates_of(chips(), find_engine(engine), weights="bf16")
        for name in ("layer_s", "step_s", "seq_s", "half_tok", "mem_bytes_per_s", "kv_bytes_per_s"):
            figures = getattr(found, name)
            assert figures.shape == (len(chips()),)
            assert (figures > 0).all(), name


@pytest.mark.parametrize("trainer", ["hf", "megatron", "torchtitan", "deepspeed", "unsloth"])
def test_every_chip_has_every_term_of_training(trainer):
    found = training_rates(chips(), set_up(Training(trainer=trainer), hidden=4096))
    for name in SAME:
        assert (getattr(found, name) >= 0).all(), name
    for name in ("mem_bytes_per_s", "pcie_bytes_per_s"):
        assert (getattr(found, name) > 0).all(), name
    stated = [place for place, chip in enumerate(chips()) if chip.training_flops_per_s]
    peak = found.peak_flops_per_s[stated]
    assert (found.matmul_flops_per_s[stated] <= peak).all()
    assert (found.mixing_flops_per_s[stated] <= peak).all()
    assert (found.plain_flops_per_s[stated] > 0).all()


@pytest.mark.parametrize("form", ["bf16", "fp8", "fp8-block", "nvfp4", "awq4"])
def test_no_chip_is_told_to_multiply_faster_than_any_rate_of_its_sheet(form):
    """What cannot be multiplied narrow is unpacked: never faster than 16 bit."""
    for chip in chips():
        plain = chip.plain_flops_per_s
        if not plain:
            continue
        best = max(plain, chip.fp8_flops_per_s or 0, chip.fp4_flops_per_s or 0)
        found = rates_of([chip], find_engine("vllm"), weights=form)
        assert found.flops_per_s[0] <= (plain if form in {"bf16", "awq4"} else best) * 1.05, chip.id
        assert found.plain_flops_per_s[0] <= plain * 1.05
        assert found.mem_bytes_per_s[0] <= chip.mem_bytes_per_s * 1.05


def test_no_stream_multiplies_or_reads_faster_than_the_sheet():
    """Every engine's terms on every chip it runs on, early versions too."""
    for name, forms in STREAMED.items():
        engine = find_engine(name)
        for form in forms:
            mine = [chip for chip in chips() if how_runs(engine.id, form, chip=chip)]
            for chip in mine:
                told = (chip.training_flops_per_s, chip.fp16_flops_per_s, chip.fp32_flops_per_s)
                plain = max((rate for rate in told if rate), default=0.0)
                if not plain:
                    continue
                narrow = (chip.fp8_flops_per_s, chip.int8_ops_per_s, chip.fp4_flops_per_s)
                best = max(plain, *(rate or 0.0 for rate in narrow))
                found = rates_of([chip], engine, weights=form)
                assert found.flops_per_s[0] <= best * 1.001, (name, form, chip.id)
                assert found.plain_flops_per_s[0] <= plain * 1.001, (name, form, chip.id)
                assert found.mem_bytes_per_s[0] <= chip.mem_bytes_per_s, (name, form, chip.id)
                assert found.kv_bytes_per_s[0] <= chip.mem_bytes_per_s, (name, form, chip.id)


@pytest.mark.parametrize("subject", BANDS)
def test_bands_hold_their_figure_and_are_of_figures_there_are(subject):
    names = set(FIGURES.values())
    for figure, row in corrections(subject).get("bands", {}).items():
        known, none = (deviation(row, known=one) for one in (Known(), NOTHING_KNOWN))
        assert 0.14 < exp(row["low"] * known) < 0.99, figure
        assert 1.01 < exp(row["high"] * known) < 8, (
            figure
        )  # a slip of the point shows; a wide band may be honest
        assert 0.002 < exp(row["low"] * none) < exp(row["high"] * none) < 500, figure
        assert figure.partition(",")[0] in names | {"other", "memory"}, figure


@pytest.mark.parametrize("subject", BANDS)
def test_knowing_less_never_narrows(subject):
    for figure, row in corrections(subject).get("bands", {}).items():
        assert all(0.02 * row["within"] < row[name] < 2 for name in LEVELS), figure


@pytest.mark.parametrize("subject", BANDS)
def test_what_was_seen_is_there_to_be_seen(subject):
    seen = corrections(subject).get("seen", {})
    named = set(seen.get("chips", ()))
    named = {chip for chip in named if not chip.startswith("cpu-")}  # processors, as machines have them
    assert named <= set(by_id()) | {"cpu"}
    assert set(seen.get("classes", ())) <= {one.id for one in classes()} | {"cpu"}
    for chip in named - {"cpu"}:
        assert by_id()[chip].kind.id in seen["classes"], f"{chip} was seen, so its class was"


def test_terms_fitted_on_runs_say_on_how_many():
    for subject in ("speed_training", "speed_images"):
        told = re.findall(r"# (\d+) runs, (\d+) sources", text_of(subject))
        assert len(told) > 10
        assert all(int(runs) >= int(sources) >= 1 for runs, sources in told)
        lone = [runs for runs, _ in told if int(runs) < 2]
        assert len(lone) < 0.12 * len(told), "what rests on a single row stays near its class, and is rare"


@pytest.mark.parametrize("subject", SPEEDS)
def test_a_calibration_says_when_and_on_what_it_was_made(subject):
    told = re.search(r"Fitted by `python -m lab refit` on (\d+) runs of (\d+) sources", text_of(subject))
    assert told, subject
    assert int(told[1]) > 100
    assert int(told[2]) >= 2
