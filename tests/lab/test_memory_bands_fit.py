"""The fit of memory bands: on figures made up here it finds how far they scatter."""

from dataclasses import replace

import numpy as np
import pytest

from lab import memory_serving as lab
from rigright.base.tables import read_toml

SHAPES = {
    "start": {"counted": (0.99, 1.01), "step": (0.9, 1.1)},
    "device": {"counted": (0.98, 1.02), "beside": (0.5, 2.0)},
}


def made(what, ratio, *, source="a", kind="start", away=(), **sizes):
    parts = {
        "counted": 0.0,
        "step": 0.0,
        "libraries": 0.0,
        "graphs": 0.0,
        "beside": 0.0,
        "loading": 0.0,
        "mixed": 0.0,
    } | sizes
    predicted = sum(parts.values())
    return lab.Figure(
        source=source,
        model=what,
        version="1",
        what=what,
        kind=kind,
        measured=predicted * ratio,
        predicted=predicted,
        parts=parts,
        away=away,
    )


def steps(scatter, sources=("a", "b", "c")):
    ratios = np.exp(np.linspace(-scatter, scatter, 21))
    return [made("activation", ratio, source=source, step=2.0) for source in sources for ratio in ratios]


def test_a_part_is_as_unsure_as_its_figures_scatter():
    low, high = lab.fitted(steps(0.2), SHAPES)["start"]["step"]
    assert np.log([low, high]) == pytest.approx([-0.2 * lab.AIM, 0.2 * lab.AIM], abs=0.025)
    low, high = lab.fitted(steps(0.2, sources=("a",)), SHAPES)["start"]["step"]
    assert high == pytest.approx(np.exp(0.2 * lab.AIM * lab.STRANGER), rel=0.04)
    low, high = lab.fitted(steps(0.001), SHAPES)["start"]["step"]
    assert high == pytest.approx(np.exp(lab.LEAST_OFF["step"]), rel=0.001)


def test_a_total_is_stretched_until_it_holds():
    ratios = np.exp(np.linspace(-0.1, 0.1, 25))
    found = [made("total", ratio, source=source, kind="device", counted=10.0, beside=1.0)
             for source in "ab" for ratio in ratios]  # fmt: skip
    bands = lab.fitted(found, SHAPES)["device"]
    share = np.mean([lab.inside(one, bands) for one in found])
    assert lab.AIM <= share < 0.95


def test_what_was_not_measured_is_wider_until_it_holds():
    near = steps(0.05)
    far = [
        made("activation", ratio, source="d", away=("chip",), step=2.0)
        for ratio in np.exp(np.linspace(-0.13, 0.13, 15))
    ]
    bands = lab.fitted([*near, *far], SHAPES)
    wider = lab.widened([*near, *far], bands, {"chip": 1.0, "version": 7.0})
    assert wider["chip"] > lab.LEAST
    assert wider["version"] == 7.0
    assert np.mean([lab.inside(one, bands["start"], wider=wider["chip"]) for one in far]) >= lab.AIM


def test_a_pool_has_less_where_its_neighbours_take_more():
    pool = made("kv_cache_available", 1.0, counted=10.0)
    terms = {"counted": (1.0, 1.05)}
    assert lab.inside(replace(pool, measured=9.6), terms)
    assert not lab.inside(replace(pool, measured=10.4), terms)


def test_committed_bands_are_written_as_they_were_fitted():
    text = lab.TERMS.read_text(encoding="utf-8")
    terms = read_toml(lab.TERMS)
    bands = {kind: {name: tuple(pair) for name, pair in own.items()} for kind, own in terms["bands"].items()}
    assert lab.written(text, bands, terms["wider"]) == text
