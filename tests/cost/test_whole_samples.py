"""Networks that take whole samples: work that no batch can change, and time that follows from it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import few
from rigright.arch import count
from rigright.arch.classifiers import classifier
from rigright.arch.image_kinds import arch_kind
from rigright.arch.sources import zoo
from rigright.arch.sources.painters import painter
from rigright.choice.networks import network_of
from rigright.cost.images import ImageRun, forward, image_rates, place_of, train, work_of_tower
from rigright.cost.layers import takes_samples
from rigright.demand import Training
from rigright.facts.chips import by_id, chips
from rigright.facts.engines import find_engine
from rigright.predict.painted import work_of_arch
from rigright.predict.samples import batch_time, network_rates
from rigright.terms.fitted import fitted, wire_of
from rigright.terms.speed import rates_of
from rigright.terms.training import set_up, training_rates

SD15 = "stable-diffusion-v1-5/stable-diffusion-v1-5#unet"
SDXL = "stabilityai/stable-diffusion-xl-base-1.0#unet"
LOOKED = ("resnet50", "vit_base_patch16_224", "convnext_base", "efficientnet_b0")
TERMS = fitted("speed_images")
RATED = tuple(chip.id for chip in chips() if np.isfinite(place_of(chip, "16bit", tables=TERMS).flops_per_s))
some = st.sampled_from(RATED)
looked = st.sampled_from(LOOKED)
precisions = st.sampled_from(["16bit", "tf32", "fp32", "fp8"])


@cache
def arch(name):
    return classifier(name)


@cache
def rates(chip, name, precision="16bit", *, compiled=False):
    run = ImageRun(precision=precision, compiled=compiled)
    return image_rates(
        [place_of(by_id()[chip], precision, tables=TERMS)],
        kinds=[arch_kind(arch(name))],
        runs=[run],
        tables=TERMS,
    )


def one(value):
    return float(np.ravel(value)[0])


@pytest.mark.parametrize("name", LOOKED)
def test_work_is_two_operations_a_multiply_add_and_is_told_alike_everywhere(name):
    found = arch(name)
    work = work_of_arch(found)
    assert work.macs * 2 == count.flops_per_sample(found, tok=1)
    assert work.params == count.params(found)
    towers = [work_of_tower(tower) for tower in found.towers]
    assert sum(tower.macs for tower in towers) == pytest.approx(work.macs)
    assert sum(tower.params for tower in towers) == pytest.approx(work.params)
    assert work.acts + work.pairs == pytest.approx(sum(tower.acts + tower.pairs for tower in towers))


@given(chip=some, name=looked, precision=precisions, batch=st.integers(1, 512), parts=st.integers(2, 8))
def test_operations_of_a_batch_are_those_of_its_samples(chip, name, precision, batch, parts):
    """Conserved: a batch computes what its parts do, and moves the weights once instead of each time."""
    work, told = work_of_arch(arch(name)), rates(chip, name, precision)
    whole, part = (forward(work, told, batch=size) for size in (batch * parts, batch))
    assert one(whole.compute_s) == pytest.approx(parts * one(part.compute_s))
    assert one(whole.compute_s) * one(told.flops_per_s) == pytest.approx(2 * work.macs * batch * parts)
    weights_s = work.params * one(told.elem_bytes) / one(told.mem_bytes_per_s)
    assert one(whole.memory_s) == pytest.approx(parts * one(part.memory_s) - (parts - 1) * weights_s)
    assert one(whole.total_s) <= parts * one(part.total_s) * (1 + 1e-9)


@given(chip=some, name=looked, precision=precisions, batch=st.integers(1, 512))
def test_a_pass_takes_at_least_the_longest_of_its_parts_and_at_most_all(chip, name, precision, batch):
    found = forward(work_of_arch(arch(name)), rates(chip, name, precision), batch=batch)
    parts = [one(found.compute_s), one(found.memory_s), one(found.launch_s)]
    kernels_s = work_of_arch(arch(name)).kernels * one(rates(chip, name, precision).starts)
    kernels_s *= one(rates(chip, name, precision).kernel_s)
    assert max(parts) <= one(found.total_s) * (1 + 1e-9)
    assert one(found.total_s) <= sum(parts) + kernels_s + 1e-12


@given(chip=some, name=looked, batch=st.integers(1, 256))
def test_narrower_numbers_never_take_longer_to_compute(chip, name, batch):
    work = work_of_arch(arch(name))
    wide, half = (forward(work, rates(chip, name, form), batch=batch) for form in ("fp32", "16bit"))
    assert one(half.compute_s) <= one(wide.compute_s) * 1.2, "old chips have no faster halves"
    assert one(half.total_s) <= one(wide.total_s) * 1.6


@pytest.mark.parametrize("name", ["tesla-p40", "gtx-1080-ti", "titan-xp"])
def test_chips_with_hardly_any_half_rate_multiply_halves_in_single(name):
    """GP102 multiplies 16 bit at a 64th of its 32-bit rate; cuBLAS and cuDNN then take 32 bit."""
    chip = by_id()[name]
    assert chip.fp16_flops_per_s < chip.fp32_flops_per_s / 60
    assert chip.plain_flops_per_s == chip.fp32_flops_per_s
    plain = forward(work_of_arch(arch("resnet50")), rates(name, "resnet50"), batch=64)
    assert 50 < 64 / one(plain.total_s) < 3000, "some hundred images a second, as people report"
    training = training_rates([chip], set_up(Training(), hidden=4096))
    assert one(training.peak_flops_per_s) == chip.fp32_flops_per_s
    served = rates_of([chip], find_engine("vllm"), weights="fp16")
    assert one(served.plain_flops_per_s) > 0.3 * chip.fp32_flops_per_s


@given(chip=some, name=looked, batch=st.integers(1, 256), ranks=st.sampled_from([1, 2, 4, 8, 64]))
def test_gradients_are_sent_where_there_is_somebody_to_send_them_to(chip, name, batch, ranks):
    work, told = work_of_arch(arch(name)), rates(chip, name)
    wire = wire_of([by_id()[chip]])
    alone = train(work, told, batch=batch)
    among = train(work, told, batch=batch, ranks=ranks, wire=wire)
    assert one(alone.link_s) == 0
    assert one(among.total_s) >= one(alone.total_s) * (1 - 1e-12)
    assert one(among.state_s) == one(alone.state_s), "every rank keeps all states"
    assert one(train(work, told, batch=batch, ranks=1, wire=wire).total_s) == pytest.approx(
        one(alone.total_s)
    )
    looked_at = forward(work, told, batch=batch)
    assert one(alone.compute_s) > 2 * one(looked_at.compute_s), "backward is more than forward"


@given(chip=some, name=looked, batches=st.lists(st.integers(1, 512), min_size=1, max_size=5))
def test_a_row_of_batches_is_each_of_them(chip, name, batches):
    work, told = work_of_arch(arch(name)), rates(chip, name)
    table = forward(work, told, batch=np.array(batches, dtype=float)).total_s
    for place, batch in enumerate(batches):
        assert table[place] == one(forward(work, told, batch=float(batch)).total_s)


@pytest.mark.parametrize("name", [SD15, SDXL])
@given(steps=st.integers(1, 100), batch=st.integers(1, 8))
@few
def test_a_picture_is_its_steps_and_then_its_pixels(name, steps, batch):
    drawn, chip = painter(name), by_id()["rtx-4090"]
    network = network_of(zoo.arch(name), steps=steps)
    assert takes_samples(network.arch)
    reached = network_rates(network, [chip], run=ImageRun())
    found = batch_time(network, reached, batch=batch)
    step = one(forward(work_of_arch(drawn.arch), reached.own.step, batch=batch * drawn.net.passes).total_s)
    pixels = one(forward(work_of_tower(drawn.decoder), reached.own.draw, batch=batch).total_s)
    assert one(found.total_s) == pytest.approx(steps * step + pixels)
    assert max(map(one, (found.compute_s, found.memory_s, found.fixed_s))) <= one(found.total_s) * (1 + 1e-9)


@given(px=st.sampled_from([256, 512, 768, 1024]), more=st.sampled_from([2, 3]))
def test_more_pixels_are_at_least_as_much_more_work(px, more):
    """Convolutions grow with the area, attention with its square; weights do not grow."""
    small, large = (painter(SD15, sides=(side, side)) for side in (px, px * more))
    few, many = (work_of_arch(one_.arch) for one_ in (small, large))
    assert many.macs >= few.macs * more**2 * 0.99
    assert many.macs <= few.macs * more**4
    assert many.params == few.params


@given(tok=st.integers(1, 512), batch=st.integers(1, 64))
def test_texts_take_no_less_the_longer_and_the_more_they_are(tok, batch):
    network = network_of(zoo.arch("BAAI/bge-large-en-v1.5"), tok=tok)
    longer = network_of(zoo.arch("BAAI/bge-large-en-v1.5"), tok=tok + 64)
    told = network_rates(network, [by_id()["l4"]], run=ImageRun())
    time = one(batch_time(network, told, batch=batch).total_s)
    assert one(batch_time(network, told, batch=batch + 1).total_s) >= time
    assert one(batch_time(longer, told, batch=batch).total_s) >= time
