"""Networks of whole samples: time and memory of a batch, whatever a sample is; laws that hold for all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.count import params
from rigright.arch.denoisers import denoiser
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.choice.networks import (
    ENGINE,
    LOOK,
    PACKED,
    PAINT,
    PRECISIONS,
    READ,
    WIDTHS,
    loaded_bytes,
    moved_bytes,
    network_memory,
    network_of,
    part_bytes,
)
from rigright.cost.diffusion import SUBJECT, DiffusionRun, diffusion_rates, diffusion_time
from rigright.cost.images import ImageRun, forward
from rigright.cost.layers import takes_samples
from rigright.demand import Length, Size
from rigright.facts.chips import by_id
from rigright.facts.engines import find_engine
from rigright.facts.nodes import find_node
from rigright.predict.painted import Learning, work_of_arch
from rigright.predict.samples import batch_time, network_rates, network_speed, train_time
from rigright.terms.fitted import fitted, wire_of
from rigright.terms.memory import device_of
from rigright.verbs.validate.kinds.diffusion import predict

NAMES = ("resnet50", "vit-base", "sd 1.5", "sdxl", "sd3", "flux.1-schnell", "bge-large-en-v1.5")
NETWORKS = {name: network_of(open_model(name)) for name in NAMES}
names = st.sampled_from(NAMES)
chip_ids = st.sampled_from(["rtx-4090", "rtx-3090", "h100-sxm5-80gb", "t4", "mi300x"])
GIB = 2**30


def total_s(network, chip, *, batch, run=None):
    rates = network_rates(network, [by_id()[chip]], run=run or ImageRun())
    return float(np.squeeze(batch_time(network, rates, batch=batch).total_s))


def memory(name, chip, *, batch, form="fp16"):
    device = device_of(find_node(chip).cards[0], find_engine(ENGINE))
    return network_memory(NETWORKS[name], form, batch=batch, device=device)


def test_what_a_sample_is_follows_from_the_model():
    does = {name: network.does for name, network in NETWORKS.items()}
    assert does == {
        "resnet50": LOOK, "vit-base": LOOK, "sd 1.5": PAINT, "sdxl": PAINT, "sd3": PAINT,
        "flux.1-schnell": PAINT, "bge-large-en-v1.5": READ,
    }  # fmt: skip
    assert network_of(open_model("stable-diffusion-v1-5/stable-diffusion-v1-5#vae")).does == LOOK
    assert not takes_samples(open_model("llama-3.1-8b"))


def test_generators_draw_at_the_size_they_were_made_for():
    assert NETWORKS["sd 1.5"].painter.width_px == 512
    assert NETWORKS["sdxl"].painter.width_px == 1024
    assert network_of(open_model("sdxl"), picture=Size.square(768)).painter.height_px == 768
    assert NETWORKS["flux.1-schnell"].steps == 4
    assert network_of(open_model("flux.1-schnell"), steps=28).steps == 28


def test_a_generator_nobody_ships_is_refused_by_name():
    stranger = replace(open_model("sdxl"), name="my/own-painter")
    with pytest.raises(AskError, match="my/own-painter"):
        network_of(stranger)


@given(name=names, chip=chip_ids, batch=st.integers(1, 128), more=st.integers(2, 8))
def test_more_at_once_take_longer_and_each_no_longer(name, chip, batch, more):
    few, many = (total_s(NETWORKS[name], chip, batch=one) for one in (batch, batch * more))
    assert few <= many * (1 + 1e-9)
    assert many / more <= few * (1 + 1e-9)


@given(name=names, chip=chip_ids, batch=st.integers(1, 64))
def test_no_part_alone_takes_longer_than_the_whole(name, chip, batch):
    network = NETWORKS[name]
    time = batch_time(network, network_rates(network, [by_id()[chip]], run=ImageRun()), batch=batch)
    whole = float(np.squeeze(time.total_s))
    for part in (time.compute_s, time.memory_s, time.fixed_s):
        assert 0 < float(np.squeeze(part)) <= whole * (1 + 1e-9)


@given(name=names, batch=st.integers(1, 64))
def test_chips_together_are_as_chips_alone(name, batch):
    network, ids = NETWORKS[name], ("rtx-4090", "h100-sxm5-80gb", "t4")
    rates = network_rates(network, [by_id()[one] for one in ids], run=ImageRun())
    together = np.broadcast_to(batch_time(network, rates, batch=batch).total_s, (3,))
    assert list(together) == [total_s(network, one, batch=batch) for one in ids]


def test_each_further_step_takes_as_long():
    arch = open_model("sdxl")
    counts = (1, 2, 3, 10, 31, 60)
    whole = [total_s(network_of(arch, steps=count), "rtx-4090", batch=1) for count in counts]
    assert whole == pytest.approx([whole[0] + (count - 1) * (whole[1] - whole[0]) for count in counts])
    assert whole[0] < whole[-1]


def test_larger_pictures_take_longer_and_more_room():
    small, large = (network_of(open_model("sdxl"), picture=Size.square(px)) for px in (512, 1024))
    assert total_s(large, "rtx-4090", batch=1) > 2 * total_s(small, "rtx-4090", batch=1)
    device = device_of(find_node("rtx 4090").cards[0], find_engine(ENGINE))
    sizes = [network_memory(one, "fp16", batch=1, device=device).need_bytes for one in (small, large)]
    assert sizes[0] < sizes[1]


def test_looking_is_one_forward_pass():
    network = NETWORKS["resnet50"]
    rates = network_rates(network, [by_id()["rtx-4090"]], run=ImageRun())
    plain = forward(work_of_arch(network.arch), rates.own, batch=32)
    assert batch_time(network, rates, batch=32).total_s == plain.total_s


@given(ranks=st.sampled_from([1, 2, 4, 8]), batch=st.integers(1, 256))
def test_learning_takes_longer_than_looking_and_more_ranks_never_less(ranks, batch):
    network, chip = NETWORKS["resnet50"], by_id()["h100-sxm5-80gb"]
    rates = network_rates(network, [chip], run=ImageRun(), trains=True)
    alone, many = (
        float(
            train_time(
                network, rates, batch=batch, learning=Learning(ranks=count, wire=wire_of([chip]))
            ).total_s[0]
        )
        for count in (1, ranks)
    )
    assert total_s(network, "h100-sxm5-80gb", batch=batch) < alone <= many * (1 + 1e-9)


def test_a_generator_holds_all_its_parts():
    """Published: SDXL in fp16 is 6.5 GiB of weights, SD3 with T5 about 14, FLUX about 31."""
    for name, low, high in (("sdxl", 6.2, 6.8), ("sd3", 13.5, 15), ("flux.1-schnell", 30, 33)):
        assert low * GIB < float(memory(name, "h100", batch=1).weights_bytes) < high * GIB
    own = memory("sdxl", "h100", batch=1)
    beside = sum(part_bytes(NETWORKS["sdxl"], "fp16").values())
    assert sum(part_bytes(NETWORKS["sdxl"], "fp32").values()) == 2 * beside
    assert float(own.weights_bytes) > 3 * beside, "the denoiser is the largest part"


PAINTERS = (
    "sdxl",
    "flux.1-dev",
    "flux.2-dev",
    "qwen-image-edit",
    "wan2.2",
    "hunyuanvideo-1.5",
    "ltx-2",
    "mochi",
)


@given(name=st.sampled_from(PAINTERS), form=st.sampled_from(("fp16", "int8", "nf4")))
def test_parts_that_wait_need_less_of_the_card_and_more_time(name, form):
    there, away = (network_of(open_model(name), waits=waits) for waits in (False, True))
    card = device_of(find_node("rtx-5090").cards[0], find_engine(ENGINE))
    few, many = (network_memory(network, form, batch=1, device=card) for network in (away, there))
    assert float(few.need_bytes) <= float(many.need_bytes)
    assert moved_bytes(there, form) == 0 < loaded_bytes(away, form) <= moved_bytes(away, form)
    times = [
        float(
            batch_time(
                network, network_rates(network, [by_id()["rtx-5090"]], run=ImageRun(), form=form), batch=1
            ).total_s[0]
        )
        for network in (there, away)
    ]
    assert times[0] < times[1]


@given(name=st.sampled_from(PAINTERS[4:]), frames=st.integers(1, 200), more=st.integers(1, 200))
def test_a_longer_video_takes_longer(name, frames, more):
    short, long = (
        network_of(open_model(name), length=Length(frames=count)) for count in (frames, frames + more)
    )
    chip = by_id()["h100-sxm5-80gb"]
    times = [
        float(batch_time(network, network_rates(network, [chip], run=ImageRun()), batch=1).total_s[0])
        for network in (short, long)
    ]
    assert times[0] <= times[1]
    assert long.painter.seconds == pytest.approx((frames + more) / long.painter.net.fps)


@pytest.mark.parametrize(
    ("name", "published_b"),
    [
        ("flux.2-dev", 32.2), ("flux.2-klein-4b", 3.88), ("flux.2-klein-9b", 9.08), ("z-image-turbo", 6.15),
        ("hunyuanvideo", 12.8), ("hunyuanvideo-1.5", 8.33), ("ltx-2", 18.9), ("ltx-video", 1.92),
        ("mochi", 10.03), ("cogvideox-2b", 1.69), ("cogvideox-5b", 5.57), ("hidream", 17.1), ("chroma", 8.9),
        ("cogview4", 6.37), ("wan2.1-i2v-14b", 16.4), ("wan2.2-ti2v-5b", 5.0), ("auraflow", 6.83),
        ("lumina-image-2.0", 2.61), ("kolors", 2.58), ("sana", 1.6),
    ],
)  # fmt: skip
def test_denoisers_have_the_parameters_of_their_files(name, published_b):
    assert params(open_model(name)) == pytest.approx(published_b * 1e9, rel=0.006)


@given(name=names, batch=st.integers(1, 64), more=st.integers(1, 64))
def test_more_samples_never_need_less(name, batch, more):
    few, many = (memory(name, "h100", batch=one) for one in (batch, batch + more))
    assert float(few.need_bytes) <= float(many.need_bytes)
    assert float(few.spare_bytes) >= float(many.spare_bytes) - 1


@given(name=names, chip=chip_ids)
def test_bands_hold_the_figure_and_what_was_never_run_has_the_widest(name, chip):
    found = network_speed(NETWORKS[name], by_id()[chip], value=100.0)
    assert found.low < found.value < found.high
    assert found.high / found.low < 10, "a band that says nothing helps nobody"


def test_a_painter_is_told_as_validate_tells_it():
    """One law for what plans and what is held against runs."""
    network, chip = NETWORKS["flux.1-schnell"], by_id()["h100-sxm5-80gb"]
    rates = network_rates(network, [chip], run=ImageRun())
    net = denoiser("flux.1-schnell")
    run = DiffusionRun(height=1024, width=1024, frames=1, steps=net.steps)
    terms = fitted(SUBJECT)
    rates_there = diffusion_rates([chip], wire=wire_of([chip]), tables=terms)
    told = diffusion_time(net, rates_there, run=run, tables=terms)
    assert batch_time(network, rates, batch=1).total_s == pytest.approx(told.total_s)
    found = network_speed(network, chip, value=1 / float(told.total_s[0]))
    row = {
        "model": "FLUX.1-schnell", "chip": "H100 SXM5 80GB", "n_gpus": 1, "height": 1024, "width": 1024,
        "steps": net.steps, "batch": 1,
    }  # fmt: skip
    said = next(one for one in predict(row) if one.metric == "latency_s")
    assert found.value == pytest.approx(1 / said.predicted)
    assert found.high == pytest.approx(1 / said.low)


def test_every_precision_has_a_width():
    assert {*PRECISIONS, *PACKED} == set(WIDTHS)
