"""Bands: told as ratios, wider the less is known, one path for one plan or a million."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.sources.open import open_model
from rigright.base.errors import MissingError
from rigright.cost.bands import (
    BY_HAND,
    EDGE,
    FIGURES,
    LEVELS,
    band,
    banded,
    beyond,
    deviation,
    estimate,
    figure_of,
    mark,
    shared_part,
    terms_in,
)
from rigright.cost.known import (
    CHIP,
    CLASS,
    ELSEWHERE,
    KIN,
    NEVER,
    NOTHING,
    TRAVELLED,
    Known,
    Ran,
    engine_level,
    kind_of,
    ran,
    source_family,
)
from rigright.facts import anchors as store
from rigright.facts.chips import by_id
from rigright.facts.engines import find_engine
from rigright.terms import known as knowing
from rigright.terms.known import known_of, known_of_one

TERMS = {
    "within": 0.1, "source": 0.15, "chip": 0.05, "class": 0.07, "kin": 0.2,
    "elsewhere": 0.08, "engine": 0.2, "model": 0.04, "kind": 0.1, "low": -1.5, "high": 1.2,
}  # fmt: skip
BANDS = {
    "seen": {
        "chips": ["h100-sxm5-80gb"],
        "classes": ["nvidia-hopper"],
        "engines": {"vllm": ["h100-sxm5-80gb"], "llama.cpp": ["rtx-3090", "rtx-4090", "h100-sxm5-80gb"]},
        "kinds": ["dense"],
        "models": ["a"],
        "sources": ["bench"],
    },
    "bands": {
        "ttft": TERMS | {"within": 0.3},
        "ttft, split": TERMS | {"within": 0.5},
        "tpot": TERMS,
        "other": TERMS | {"within": 0.7},
    },
}
CHIPS = (NOTHING, KIN, CLASS, CHIP)
ENGINES = (NEVER, ELSEWHERE, TRAVELLED)


def toy(**told):
    """What is known where these bands hold."""
    return Known(bands=BANDS["bands"], **told)


@pytest.fixture(autouse=True)
def tested_bands(monkeypatch):
    monkeypatch.setattr(knowing, "bands_of", lambda _: BANDS)


def width(known, metric="tpot_ms"):
    low, high = band(metric, known=known)
    return float(np.log(high / low))


def test_a_figure_that_was_measured_on_this_chip_has_the_band_as_it_is_written():
    assert band("tpot_ms", known=toy()) == pytest.approx((np.exp(-0.15), np.exp(0.12)))
    assert band("ttft_s", known=toy()) == pytest.approx((np.exp(-0.45), np.exp(0.36)))


def test_runs_and_plans_name_the_same_figures():
    assert figure_of("ttft_ms") == figure_of("ttft_s") == "ttft"
    assert figure_of("ttft_ms, split") == "ttft_ms, split"
    assert set(FIGURES.values()) <= {
        "ttft",
        "tpot",
        "decode",
        "prefill",
        "output",
        "latency",
        "train",
        "samples",
    }


def test_a_kind_of_a_figure_has_its_own_band_else_that_of_the_figure_else_that_of_others():
    bands = BANDS["bands"]
    assert terms_in(bands, "ttft, split") == bands["ttft, split"]
    assert terms_in(bands, "tpot, split") == bands["tpot"]
    assert terms_in(bands, "watts") == bands["other"]
    assert terms_in({}, "watts")["low"] < 0 < terms_in({}, "watts")["high"]


def test_knowing_less_never_narrows_a_band():
    for chip, engine, kind in product(CHIPS, ENGINES, (True, False)):
        here = width(toy(chip=chip, engine=engine, kind=kind))
        if chip > NOTHING:
            assert width(toy(chip=chip - 1, engine=engine, kind=kind)) > here
        if engine > NEVER:
            assert width(toy(chip=chip, engine=engine - 1, kind=kind)) > here
        if kind:
            assert width(toy(chip=chip, engine=engine, kind=False)) > here


def test_who_measures_and_which_model_count_too():
    for missing in ({"source": False}, {"model": False}):
        assert width(toy(**missing)) > width(toy())
    known = known_of_one(
        "toy", by_id()["h100-sxm5-80gb"], what=Ran(model="b", source="Lab/bench_v2.1: a page")
    )
    assert (known.source, known.model) == (True, False)
    assert not known_of_one("toy", by_id()["h100-sxm5-80gb"], what=Ran(model="a")).source


@pytest.mark.parametrize(
    ("source", "family"),
    [
        ("mlcommons/inference_results_v4.1:closed/a.txt@198fc46799", "inference_results"),
        ("gbeezybez/inference_results_v6.0:summary.json", "inference_results"),
        ("ai-dynamo/aiconfigurator:systems/silicon.csv@09 (NVIDIA sweep)", "aiconfigurator"),
        ("ikawrakow/ik_llama.cpp#263", "ik_llama.cpp#263"),
        ("measured here", "measured here"),
    ],
)
def test_rounds_of_a_benchmark_are_one_source(source, family):
    assert source_family(source) == family


@given(st.lists(st.floats(0, 2), min_size=len(LEVELS), max_size=len(LEVELS)))
def test_whatever_a_table_says_knowing_less_is_not_narrower(values):
    terms = dict(zip(LEVELS, values, strict=True)) | {"within": 0.05}
    chips = deviation(terms, known=toy(chip=np.array(CHIPS)))
    engines = deviation(terms, known=toy(engine=np.array(ENGINES)))
    for widths in (chips, engines):
        assert (np.diff(widths) <= 1e-12).all()
        assert widths[-1] == pytest.approx(0.05)


def test_variances_of_levels_add():
    assert deviation(TERMS, known=toy(source=False)) == pytest.approx(np.hypot(0.1, 0.15))
    edges = (0.5, 2.0)
    assert beyond("tpot_ms", edges=edges, known=toy()) == pytest.approx(edges)
    assert beyond("tpot_ms", edges=edges, known=toy(source=False)) == pytest.approx(edges)
    wider = np.exp(np.hypot(np.log(2), EDGE * 0.05))
    assert beyond("tpot_ms", edges=edges, known=toy(chip=CLASS)) == pytest.approx((1 / wider, wider))
    assert shared_part("tpot_ms", known=toy()) == pytest.approx(0.0)
    assert 0.5 < shared_part("tpot_ms", known=toy(source=False)) < 0.8
    assert set(BY_HAND) == set(LEVELS)


@given(
    st.lists(
        st.tuples(st.sampled_from(CHIPS), st.sampled_from(ENGINES), st.booleans()), min_size=1, max_size=8
    )
)
def test_an_array_of_plans_is_as_each_of_them_alone(plans):
    chips, engines, kinds = (np.array(column) for column in zip(*plans, strict=True))
    low, high = band("ttft_ms", known=toy(chip=chips, engine=engines, kind=kinds))
    for place, (chip, engine, kind) in enumerate(plans):
        alone = band("ttft_ms", known=toy(chip=chip, engine=engine, kind=kind))
        assert (low[place], high[place]) == pytest.approx(alone, rel=1e-12)


def test_a_figure_lies_in_its_own_band():
    found = banded("tpot_ms", value=np.array([10.0, 20.0]), known=toy(chip=np.array([NOTHING, CHIP])))
    assert (found.low < found.value).all()
    assert (found.value < found.high).all()


def test_what_is_known_of_chips_engines_and_models():
    h100, h200, mi300 = (by_id()[chip] for chip in ("h100-sxm5-80gb", "h200-sxm-141gb", "mi300x"))
    known = known_of("toy", (h100, h200, mi300), what=Ran(engine="vllm", kind="moe"))
    assert list(known.chip) == [CHIP, CLASS, NOTHING]
    assert list(known.engine) == [TRAVELLED, ELSEWHERE, ELSEWHERE]
    assert known.least() == 2
    assert not known.kind
    assert known.at(np.array([2, 0])).chip.tolist() == [NOTHING, CHIP]
    assert known_of_one("toy", h200, what=Ran(engine="sglang")).chip == CLASS
    assert known_of_one("toy", h200, what=Ran(engine="sglang")).engine == NEVER
    assert (
        known_of_one("toy", h200, what=Ran()).engine == TRAVELLED
    )  # nobody asks for one: it can be missing to nobody
    assert known_of_one("toy", by_id()["a100-sxm4-80gb"], what=Ran()).chip == KIN


def test_an_engine_that_ran_on_several_chips_is_known_on_their_kin():
    l40s, mi300, h100 = (by_id()[chip] for chip in ("l40s", "mi300x", "h100-sxm5-80gb"))
    known = known_of("toy", (l40s, mi300, h100), what=Ran(engine="llama.cpp"))
    assert known.engine.tolist() == [TRAVELLED, ELSEWHERE, TRAVELLED]


@given(st.sets(st.sampled_from("abcdefg"), max_size=6), st.sampled_from("abcdefg"))
def test_an_engine_that_ran_on_more_chips_is_known_no_less(ran, more):
    kins = {chip: "kin" if chip < "d" else "far" for chip in "abcdefg"}
    fewer = engine_level("a", "kin", ran={chip: kins[chip] for chip in ran})
    assert fewer <= engine_level("a", "kin", ran={chip: kins[chip] for chip in ran | {more}})


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("meta-llama/Llama-3.1-8B", "dense"),
        ("deepseek-ai/DeepSeek-V3", "moe+latent"),
        ("mistralai/Mixtral-8x7B-v0.1", "moe"),
        ("google-bert/bert-base-uncased", "embed"),
    ],
)
def test_kinds_of_models(model, kind):
    assert kind_of(open_model(model)) == kind


def test_a_mark_says_how_a_figure_is_known():
    assert mark("tpot_ms", known=toy()) == "fitted"
    assert mark("tpot_ms", known=toy(chip=NOTHING)) == "physics"
    assert mark("tpot_ms", known=Known()) == "physics"
    assert mark("tpot_ms", known=toy(narrow={"tpot": 0.7})) == "measured"


def test_own_runs_move_a_figure_and_narrow_its_band():
    own = toy(shift={"tpot": 1.1}, narrow={"tpot": 0.5})
    found = estimate("tpot_s", value=0.02, known=own)
    assert found.value == pytest.approx(0.022)
    assert found.low == pytest.approx(0.022 * np.exp(-0.15 * 0.5))
    assert found.high == pytest.approx(0.022 * np.exp(0.12 * 0.5))
    assert found.mark == "measured"
    untouched = estimate("ttft_s", value=0.02, known=own)
    assert (untouched.value, untouched.mark) == (0.02, "fitted")


def anchors_file(path, *blocks):
    path.write_text("\n".join(f"[[anchor]]\n{block}" for block in blocks), encoding="utf-8")
    return str(path)


ONE = """
subject = "toy"
chip = "h100-sxm5-80gb"
engine = "vllm"
figure = "tpot"
shift = 1.2
narrow = 0.8
runs = 3
as_of = "2026-11-21"
"""


def test_own_runs_count_for_their_chip_and_engine_alone(tmp_path):
    h100, h200 = by_id()["h100-sxm5-80gb"], by_id()["h200-sxm-141gb"]
    with store.use(anchors_file(tmp_path / "a.toml", ONE)) as used:
        known = known_of("toy", (h100, h200), what=Ran(engine="vllm"))
        assert known.shift["tpot"].tolist() == [1.2, 1.0]
        assert known.narrow["tpot"].tolist() == [0.8, 1.0]
        assert used == {"h100-sxm5-80gb, vllm, tpot"}
        assert known_of("toy", (h100,), what=Ran(engine="sglang")).shift == {}
        assert known_of("another", (h100,), what=Ran(engine="vllm")).shift == {}
    assert known_of("toy", (h100,), what=Ran(engine="vllm")).shift == {}


def test_own_runs_stand_in_the_users_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with store.use(None):
        assert store.anchors() == ()
    (tmp_path / "rigright").mkdir()
    anchors_file(store.place(), ONE)
    with store.use(None):
        assert store.anchors()[0].chip == "h100-sxm5-80gb"
    with store.use(store.NONE):
        assert store.anchors() == ()


@pytest.mark.parametrize(
    "block",
    [
        ONE.replace("shift = 1.2", "shift = -1"),
        ONE.replace("narrow = 0.8", "narrow = 2"),
        ONE.replace('"tpot"', '"tpot"\nextra = 1'),
        'subject = "toy"',
        ONE.replace("shift = 1.2", 'shift = "much"'),
    ],
)
def test_a_file_of_own_runs_that_cannot_be_read_is_named(tmp_path, block):
    with (
        store.use(anchors_file(tmp_path / "mine.toml", ONE, block)),
        pytest.raises(store.DataError, match=r"mine\.toml: .* 2\b"),
    ):
        store.anchors()


def test_a_file_of_own_runs_that_is_not_there_is_said(tmp_path):
    with pytest.raises(MissingError, match=r"none\.toml"), store.use(str(tmp_path / "none.toml")):
        pass


def test_machines_split_between_prompts_and_tokens_have_bands_of_their_own():
    assert figure_of("ttft_ms", split=True) == "ttft, split"
    apart, together = (
        estimate(figure_of("ttft_ms", split=split), value=1.0, known=toy()) for split in (True, False)
    )
    assert apart.low < together.low < together.high < apart.high


def test_an_engine_on_a_backend_nobody_ran_is_an_engine_nobody_ran(monkeypatch):
    """Where bands tell backends apart; where they do not, the engine alone is what was measured."""
    seen = {"chips": [], "classes": [], "engines": {"llama.cpp rocm": ["strix-halo-8060s"]}}
    monkeypatch.setattr(knowing, "bands_of", lambda _: {"seen": seen})
    apu, arch = by_id()["strix-halo-8060s"], open_model("meta-llama/Llama-3.1-8B")

    def level(asked):
        return known_of("toy", (apu,), what=ran(arch, engine=find_engine(asked))).engine[0]

    assert level("llama.cpp") == level("llama.cpp rocm") == TRAVELLED
    assert level("llama.cpp vulkan") == NEVER
    seen["engines"] = {"llama.cpp": ["strix-halo-8060s"]}
    assert level("llama.cpp vulkan") == TRAVELLED
