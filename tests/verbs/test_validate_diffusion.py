"""`validate` of images and videos made of noise: seconds and watts, held against published runs."""

from __future__ import annotations

import pytest

from rigright.arch.denoisers import GUESSED, denoiser
from rigright.arch.sources.open import open_model
from rigright.verbs.validate.kinds.diffusion import read_diffusion
from rigright.verbs.validate.verb import validate

HEAD = (
    "id,source,model,chip,n_gpus,parallelism,height,width,frames,steps,batch,precision,"
    "latency_s,images_or_videos_per_s,avg_power_w,energy_j_per_item,note\n"
)
FLUX = "black-forest-labs/FLUX.1-dev"
CLIP = (480, 832, 81)
H100 = "h100-sxm5-80gb"


def row(model=FLUX, chip=H100, **told):
    size = told.pop("size", (1024, 1024, ""))
    usual = {"cards": 1, "cut": "ulysses1 ring1", "steps": 28, "batch": 1, "note": ""}
    cards, cut, steps, batch, note = (usual | told).values()
    height, width, frames = size
    return f"a,s,{model},{chip},{cards},{cut},{height},{width},{frames},{steps},{batch},bf16,,,,,{note}\n"


@pytest.fixture
def ask(tmp_path):
    def answers(*rows):
        file = tmp_path / "runs.csv"
        file.write_text(HEAD + "".join(rows), encoding="utf-8")
        found = validate(str(file))
        assert found.kind == "diffusion"
        return [{one.metric: one for one in each.predictions} for each in found.rows]

    return answers


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        (row(), 6.71),  # xDiT docs/performance/flux.md
        (row(note="torch.compile"), 4.30),
        (row("tencent/HunyuanVideo", size=(720, 1280, 129), steps=50), 1689.4),  # ML.ENERGY
        (row("tencent/HunyuanVideo", "h20-96gb", size=(720, 1280, 129), steps=50), 6639.2),  # xDiT
        (row("Wan-AI/Wan2.1-T2V-14B", cards=8, cut="ulysses8 ring1", size=CLIP, steps=50), 71.8),
        (row("stabilityai/stable-diffusion-3.5-large", batch=16), 99.7),
    ],
)  # fmt: skip
def test_published_runs_are_met(ask, asked, seconds):
    (found,) = ask(asked)
    one = found["latency_s"]
    assert one.predicted == pytest.approx(seconds, rel=0.3)
    assert one.low < seconds < one.high


def test_measured_watts_lie_in_the_band(ask):
    """ML.ENERGY, FLUX.1-dev: 683 W of one H100; of eight with one image, which wait for the host, 8 x 317."""
    alone, eight = ask(row(steps=50), row(cards=8, cut="ulysses8 ring1", steps=50))
    assert alone["avg_power_w"].low < 683 <= alone["avg_power_w"].high
    assert eight["avg_power_w"].low < 8 * 317 < eight["avg_power_w"].high


def test_twice_the_steps_or_images_take_twice_as_long(ask):
    once, steps, images = (one["latency_s"].predicted for one in ask(row(), row(steps=56), row(batch=2)))
    assert steps / once == pytest.approx(2, rel=0.06)
    assert images / once == pytest.approx(2, rel=0.08)


def test_more_cards_are_quicker_where_there_is_enough_to_do_and_no_further(ask):
    """A video keeps eight cards at work; one image of SANA waits for its program to start layers."""
    cuts = [(1, "ulysses1 ring1"), (2, "ulysses2 ring1"), (8, "ulysses8 ring1")]
    video = [row("tencent/HunyuanVideo", cards=n, cut=cut, size=(720, 1280, 129)) for n, cut in cuts]
    image = [row("Efficient-Large-Model/SANA1.5_1.6B_1024px", cards=n, cut=cut, steps=20) for n, cut in cuts]
    one, two, eight = (found["latency_s"].predicted for found in ask(*video))
    assert one > two > eight
    assert one / eight > 5
    one, two, eight = (found["latency_s"].predicted for found in ask(*image))
    assert min(two, eight) > one / 1.2


def test_a_ring_costs_more_than_an_exchange_of_heads(ask):
    cuts = ("ulysses1 ring8", "ulysses8 ring1")
    found = ask(*(row("Wan-AI/Wan2.1-T2V-14B", cards=8, cut=cut, size=CLIP) for cut in cuts))
    slow, quick = (one["latency_s"].predicted for one in found)
    assert slow > 1.1 * quick


def test_what_a_row_leaves_open_is_assumed_said_and_widens_the_band(ask):
    told, open_row = ask(row(), row(steps=""))
    sure, unsure = told["latency_s"], open_row["latency_s"]
    assert unsure.predicted == pytest.approx(sure.predicted)
    assert unsure.high / unsure.low > 2 * sure.high / sure.low
    assert sure.why is None or "steps" not in str(sure.why)
    assert "steps" in str(unsure.why)


def test_an_unknown_network_is_taken_by_its_size_with_a_wider_band(ask):
    known, small, large = ask(row(), row("x/Dream-3B"), row("x/Dream-12B"))
    assert large["latency_s"].predicted > 2.5 * small["latency_s"].predicted
    assert large["latency_s"].high / large["latency_s"].low > known["latency_s"].high / known["latency_s"].low
    assert denoiser("x/Dream-12B").kind == GUESSED


def test_names_find_the_network_they_mean():
    assert denoiser("Wan-AI/Wan2.2-T2V-A14B-Diffusers").layers == 40
    assert denoiser("Wan-AI/Wan2.1-T2V-1.3B-Diffusers").layers == 30
    assert denoiser("black-forest-labs/FLUX.1-schnell").steps == 4
    assert denoiser("Efficient-Large-Model/SANA1.5_4.8B_1024px_diffusers").layers == 60
    assert denoiser("stabilityai/stable-diffusion-xl-base-1.0").kind == "unet"


@pytest.mark.parametrize("name", ["sd3-medium", "sd3", "stable diffusion 3 medium", "SD3.5 Large", "pixart"])
def test_a_short_name_is_the_network_that_every_verb_takes_it_for(name):
    ask = read_diffusion({"model": name, "chip": "l40s"})
    assert ask.net == denoiser(open_model(name).name)
    assert ask.net.word
