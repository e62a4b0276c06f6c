"""Image networks: laws of their time, work counted and printed alike, published seconds an image."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.benched import benched
from rigright.arch.classifiers import classifier, classifier_configs
from rigright.arch.image_kinds import OTHER, arch_kind, kind_of
from rigright.arch.sources import zoo
from rigright.arch.sources.painters import painter, painter_of
from rigright.choice.networks import network_of
from rigright.cost.images import (
    ImageRates,
    ImageRun,
    ImageWork,
    cpu_place,
    forward,
    image_rates,
    place_of,
    train,
    work_of_counts,
)
from rigright.demand import Size
from rigright.facts.chips import by_id, chips
from rigright.facts.corrections import corrections
from rigright.facts.cpus import find_cpu
from rigright.predict.painted import work_of_arch
from rigright.predict.samples import batch_time, network_rates
from rigright.terms.fitted import fitted, wire_of

SD15 = "stable-diffusion-v1-5/stable-diffusion-v1-5#unet"
SDXL = "stabilityai/stable-diffusion-xl-base-1.0#unet"
works = st.builds(
    ImageWork,
    macs=st.floats(1e6, 1e12),
    acts=st.floats(1e4, 1e10),
    pairs=st.floats(0, 1e9),
    params=st.floats(1e5, 1e10),
    kernels=st.floats(10, 2000),
)
TERMS = fitted("speed_images")
RATED = [chip for chip in chips() if np.isfinite(place_of(chip, "16bit", tables=TERMS).flops_per_s)]
chip_ids = st.sampled_from(sorted(chip.id for chip in RATED))
kinds = st.sampled_from(["resnet50", "vit_base", "efficientnet_b0", "swin_tiny", "nobody's net"]).map(kind_of)
runs = st.builds(
    ImageRun,
    precision=st.sampled_from(["16bit", "tf32", "fp32", "fp8"]),
    channels_last=st.booleans(),
    compiled=st.booleans(),
    fused_attention=st.booleans(),
)


def rates(chip, kind=OTHER, run=None):
    run = run or ImageRun()
    return image_rates(
        [place_of(by_id()[chip], run.precision, tables=TERMS)], kinds=[kind], runs=[run], tables=TERMS
    )


def seconds(time):
    return float(np.asarray(time.total_s).reshape(-1)[0])


@given(chip=chip_ids, work=works, kind=kinds, run=runs, batch=st.floats(1, 4096), more=st.floats(1, 100))
def test_more_samples_take_longer_and_each_of_them_no_longer(chip, work, kind, run, batch, more):
    found = rates(chip, kind, run)
    few, many = (seconds(forward(work, found, batch=n)) for n in (batch, batch * more))
    assert few <= many * (1 + 1e-9)
    assert many / more <= few * (1 + 1e-9)


@given(chip=chip_ids, work=works, kind=kinds, run=runs, batch=st.floats(1, 4096))
def test_a_training_step_takes_more_than_a_forward_pass(chip, work, kind, run, batch):
    found = rates(chip, kind, run)
    assert seconds(train(work, found, batch=batch)) > seconds(forward(work, found, batch=batch))


@given(chip=chip_ids, work=works, kind=kinds, batch=st.floats(1, 4096))
def test_compiled_never_takes_longer(chip, work, kind, batch):
    eager, compiled = (rates(chip, kind, ImageRun(compiled=on)) for on in (False, True))
    assert seconds(forward(work, compiled, batch=batch)) <= seconds(forward(work, eager, batch=batch))


@given(work=works, batch=st.floats(1, 512), ranks=st.sampled_from([1, 2, 8, 64]))
def test_more_ranks_never_shorten_a_step_of_the_same_batch(work, batch, ranks):
    chip = by_id()["rtx-4090"]
    alone = train(work, rates("rtx-4090"), batch=batch)
    shared = train(work, rates("rtx-4090"), batch=batch, ranks=ranks, wire=wire_of([chip]))
    assert seconds(shared) >= seconds(alone)


def test_no_chip_is_quicker_than_its_stated_rate_by_more_than_its_boost():
    """Clocks above the stated boost carry some chips a little beyond their sheet, and none far."""
    work = work_of_arch(classifier("vit_huge_patch14_224"))
    every = [chip for chip in chips() if chip.training_flops_per_s]
    run = ImageRun()
    found = image_rates(
        [place_of(chip, run.precision, tables=TERMS) for chip in every],
        kinds=[kind_of("vit_huge_patch14_224")] * len(every),
        runs=[run] * len(every),
        tables=TERMS,
    )
    stated = np.array([chip.training_flops_per_s for chip in every])
    reached = 2 * work.macs * 256 / forward(work, found, batch=256).total_s
    assert (reached < 1.05 * stated).all()
    assert (reached > 0.1 * stated).all()


def test_many_at_once_equal_each_alone():
    names, run = ["resnet50", "vit_base_patch16_224", "swin_tiny_patch4_window7_224"], ImageRun()
    devices = ["rtx-4090", "h100-sxm5-80gb", "apple-m3-ultra"]
    parts = [work_of_arch(classifier(name)) for name in names]
    names_of_work = [field.name for field in fields(ImageWork)]
    together = ImageWork(
        **{name: np.array([float(getattr(work, name)) for work in parts]) for name in names_of_work}
    )
    places = [place_of(by_id()[name], run.precision, tables=TERMS) for name in devices]
    found = image_rates(places, kinds=[kind_of(name) for name in names], runs=[run] * 3, tables=TERMS)
    side = forward(together, found, batch=64).total_s
    for place, name in enumerate(names):
        alone = forward(parts[place], rates(devices[place], kind_of(name)), batch=64)
        assert seconds(alone) == side[place]


def test_work_counted_from_a_config_is_what_benchmarks_print():
    work = work_of_arch(classifier("resnet50", image_px=224))
    printed = work_of_counts(gmacs=4.11, mactivs=11.11, params_m=25.56)
    assert work.macs == pytest.approx(printed.macs, rel=0.01)
    assert work.acts == pytest.approx(printed.acts, rel=0.01)
    assert work.params == pytest.approx(printed.params, rel=0.01)


def test_attention_that_is_fused_writes_no_scores():
    work = work_of_arch(classifier("vit_base_patch8_224"))
    kind = kind_of("vit_base_patch8_224")
    plain, fused = (rates("rtx-3090", kind, ImageRun(fused_attention=on)) for on in (False, True))
    assert work.pairs > work.acts
    assert seconds(forward(work, plain, batch=64)) > 1.3 * seconds(forward(work, fused, batch=64))


def test_small_batches_wait_for_the_program_that_starts_kernels():
    work, kind = work_of_arch(classifier("resnet152")), kind_of("resnet152")
    eager = forward(work, rates("h100-sxm5-80gb", kind), batch=1)
    assert float(eager.busy_s[0]) == pytest.approx(float(np.asarray(eager.launch_s).reshape(-1)[0]))


def test_a_processor_is_slower_than_a_card():
    work, kind = work_of_arch(classifier("resnet50")), kind_of("resnet50")
    place = cpu_place(find_cpu("i9-10940X"), tables=TERMS)
    slow = forward(
        work,
        image_rates([place], kinds=[kind], runs=[ImageRun(precision="fp32", compiled=True)], tables=TERMS),
        batch=1,
    )
    assert 0.005 < seconds(slow) < 0.05
    assert seconds(forward(work, rates("rtx-4090", kind), batch=1)) < seconds(slow)


def test_every_classifier_of_the_table_has_a_kind_with_its_kin_in_the_corrections():
    tables = corrections("speed_images")["kinds"]
    for name in classifier_configs():
        assert arch_kind(classifier(name)) == kind_of(name) != OTHER, name
        assert kind_of(name).kin in tables, name


def test_networks_of_benchmarks_are_found_by_the_names_people_write():
    for name in (
        "GNMT",
        "Transformer-XL base",
        "transformerxllarge",
        "NCF",
        "Tacotron2",
        "SSD300 (ResNet50)",
    ):
        assert benched(name) is not None, name
    assert benched("resnet50") is None


def test_every_rate_is_there_for_every_chip():
    assert len(RATED) >= len(chips()) - 3
    for chip in RATED:
        found = rates(chip.id)
        for field in fields(ImageRates):
            value = np.asarray(getattr(found, field.name), dtype=float)
            assert (value >= 0).all(), (chip.id, field.name)


def painted_s(name, chip, *, batch, run=None, **asked):
    network = network_of(zoo.arch(name), **asked)
    rates = network_rates(network, [by_id()[chip]], run=run or ImageRun())
    return float(batch_time(network, rates, batch=batch).total_s[0])


def test_four_times_the_pixels_take_about_four_times_as_long_and_more_for_attention():
    small, large = (painted_s(SDXL, "rtx-4090", batch=8, picture=Size.square(px)) for px in (512, 1024))
    assert 3.5 < large / small < 6


def test_guidance_and_steps_multiply():
    known = painter(SD15, sides=(512, 512))
    assert (known.net.steps, known.net.passes) == (50, 2)
    short, mid, long = (painted_s(SD15, "rtx-3090", batch=4, steps=steps) for steps in (10, 20, 40))
    assert long - mid == pytest.approx(2 * (mid - short))
    assert short > mid - short, "pixels are drawn after the steps"


def test_a_generator_nobody_listed_takes_thirty_steps_with_guidance():
    found = painter_of(zoo.config(SD15), "somebody/new-painter", sides=(512, 512))
    assert (found.net.steps, found.net.passes) == (30, 2)


# seconds a batch: READMEs of alexeigor/sd-benchmarks and of fal-ai's benchmarks; diffusers pull 2764
PUBLISHED = [
    (SD15, 512, "a100-sxm4-40gb", 1, 50, False, 1.96),
    (SD15, 512, "a100-sxm4-80gb", 1, 50, False, 1.614),
    (SD15, 512, "a100-sxm4-80gb", 1, 50, True, 1.352),
    (SD15, 512, "a100-sxm4-40gb", 8, 50, False, 7.04),
    (SD15, 512, "a100-sxm4-40gb", 16, 50, False, 13.57),
    (SD15, 512, "a10", 4, 50, False, 10.01),
    (SD15, 512, "a10", 8, 50, False, 19.53),
    (SD15, 512, "h100-pcie-80gb", 1, 50, False, 1.44),
    (SD15, 512, "h100-pcie-80gb", 1, 50, True, 1.11),
    (SD15, 512, "v100-sxm2-16gb", 1, 50, False, 2.96),
    (SD15, 512, "t4", 1, 50, False, 7.83),
    (SDXL, 1024, "a100-sxm4-80gb", 1, 50, False, 5.917),
]


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda case: f"{case[2]} x{case[3]}")
def test_published_seconds_an_image_are_met_within_a_third(case):
    name, side, chip, batch, steps, compiled, measured_s = case
    run = ImageRun(compiled=compiled)
    assert (
        0.66
        < painted_s(name, chip, batch=batch, steps=steps, picture=Size.square(side), run=run) / measured_s
        < 1.4
    )
