"""Adapters of what paints and looks: planned as they are explained, cheaper than the whole."""

from __future__ import annotations

import pytest

import rigright

MODELS = ("sdxl", "flux.1-dev", "vit-base-patch16-224")


def explained(model, method, **options):
    return rigright.explain(model, on="h200", train=method, micro_batch=1, **options)


@pytest.mark.parametrize("model", MODELS)
def test_adapters_take_less_time_and_memory_than_the_whole(model):
    full, adapters = (explained(model, method, recompute="none") for method in ("full", "lora"))
    assert adapters.samples.rate.value > full.samples.rate.value
    assert adapters.peak_bytes < full.peak_bytes
    spread = [each.samples.rate.low / each.samples.rate.value for each in (adapters, full)]
    assert spread[0] < spread[1], "no run of adapters was measured"


@pytest.mark.parametrize("model", MODELS)
def test_what_is_recomputed_costs_time_and_saves_memory(model):
    kept, again = (explained(model, "lora", recompute=word) for word in ("none", "full"))
    assert again.samples.rate.value < kept.samples.rate.value
    assert again.peak_bytes < kept.peak_bytes


@pytest.mark.parametrize("method", ["lora", "qlora"])
def test_plan_says_what_explain_says(method):
    first = rigright.plan("sdxl", on="rtx 3090", method=method, samples=3000).plans[0]
    work = first.work
    fields = {"micro_batch": work.micro_batch, "recompute": work.recompute or "none"}
    told = rigright.explain("sdxl", on="rtx 3090", train=method, **fields)
    assert told.samples.rate.value == pytest.approx(first.figures["images_per_s"].value, rel=1e-6)


def test_a_painter_of_twelve_billion_learns_on_24_gb():
    """What its users do: a 4-bit base, every layer recomputed."""
    told = rigright.explain("flux.1-dev", on="rtx 4090", train="qlora")
    assert told.fits
    assert told.peak_bytes < 16 * 2**30
