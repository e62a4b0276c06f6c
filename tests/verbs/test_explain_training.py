"""`explain --train`: verdict, ranks, how far it goes, what to change."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError, RigError
from rigright.base.page import Commands
from rigright.base.words import CHINESE, ENGLISH
from rigright.demand import PlanWish, TrainingWish
from rigright.facts.nodes import find_node
from rigright.predict.kept import SAFE
from rigright.predict.trained_memory import training_memory
from rigright.report.formats import text
from rigright.report.pages import brief
from rigright.report.pages import training as pages
from rigright.report.screen import Screen
from rigright.verbs.explain_training import explain_training
from rigright.verbs.training.case import build_case, reach

MODEL, CARD = "meta-llama/Llama-3.1-8B", "1x rtx 4090"


def explain(model=MODEL, on=CARD, *, why=False, **wish):
    return explain_training(model, on, wish=TrainingWish(**wish), why=why, asked="rigright explain")


def test_full_training_of_8b_does_not_fit_a_4090_and_says_what_does():
    found = explain()
    assert not found.fits
    assert found.worst.spare_bytes < 0
    fitting = [one for one in found.remedies if one.fits]
    flags = [one.flag for one in fitting]
    assert (
        flags.index("--train lora")
        < flags.index("--train qlora")
        < flags.index("--sharding fsdp --offload all-cpu")
    )
    assert list(found.remedies[: len(fitting)]) == fitting, "what helps stands first"
    assert all(one.saves_bytes > 0 for one in found.remedies)


def test_a_remedy_that_says_it_fits_fits():
    found = explain(method="lora", seq_tok=4096, micro_batch=2, recompute="none")
    recompute = next(one for one in found.remedies if one.flag == "--recompute full")
    again = explain(method="lora", seq_tok=4096, micro_batch=2, recompute="full")
    assert again.fits == recompute.fits
    before, after = found.worst.least_bytes, again.worst.least_bytes
    assert before - after == pytest.approx(recompute.saves_bytes)


def test_the_largest_batch_fits_and_one_more_does_not():
    wish = {"method": "qlora", "recompute": "full", "seq_tok": 1024}
    most = explain(**wish).limits.micro_batch
    assert most > 1
    assert explain(**wish, micro_batch=most).fits
    assert not explain(**wish, micro_batch=most + 1).fits


def test_the_longest_sequence_fits_and_a_longer_one_does_not():
    wish = {"method": "qlora", "recompute": "full"}
    most = explain(**wish).limits.seq_tok
    assert explain(**wish, seq_tok=most).fits
    assert not explain(**wish, seq_tok=most + 128).fits


def test_reach_is_monotone():
    case = build_case(open_model(MODEL), find_node(CARD), wish=TrainingWish(method="qlora", recompute="full"))
    sizes = training_memory(
        case.arch, case.over(micro_batch=np.arange(1, 50)).training, layout=case.layout
    ).least_bytes
    assert np.all(np.diff(sizes) >= 0)
    assert reach(case).micro_batch >= 1


def test_every_rank_is_shown_and_the_worst_is_named():
    found = explain("meta-llama/Llama-3.1-70B", "8x h100", trainer="megatron", tp=2, pp=4, seq_tok=8192)
    assert [rank.stage for rank in found.ranks] == [0, 1, 2, 3]
    assert found.ranks[0].layers == (0, 20)
    assert found.ranks[-1].layers[1] == 80
    assert found.worst.stage == 0
    data = pages.plain(found, ENGLISH)
    assert len(data["ranks"]) == 4
    assert data["worst_stage"] == 0
    json.dumps(data)


def test_ranks_are_counted_from_the_machine():
    found = explain(on="8x h100", micro_batch=1)
    assert found.layout.dp == 8
    assert found.training.sharding == "fsdp"
    assert found.worst.ranks == 8
    adapters = explain(on="8x h100", method="lora")
    assert adapters.training.sharding == "none"


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"tp": 3, "on": "8x h100"}, r"\btp 3\b"),
        ({"tp": 16, "on": "8x h100"}, "16 GPUs; .* 8$"),
        ({"pp": 64, "on": "64x h100"}, "\\b32\\b"),
        ({"dp": 0}, r"\bdp\b.* 0"),
        ({"seq_tok": 0}, r"seq.* 0"),
        ({"micro_batch": 0}, r"micro.batch.* 0"),
        ({"virtual_stages": 0, "schedule": "interleaved"}, "virtual_stages.* 0"),
        ({"ep": 4, "on": "8x h100"}, "\\b0\\b"),
        ({"optimizer": "adamant"}, '"adamant"'),
        ({"method": "magic"}, "full, lora, qlora, dora"),
        ({"targets": "elbows"}, "elbows"),
    ],
)
def test_wrong_questions(wish, said):
    with pytest.raises(AskError, match=said):
        explain(on=wish.pop("on", CARD), **wish)


def test_pages_in_both_languages_and_with_reasons():
    found = explain(why=True)
    assert pages.page(found, why=True).tone == "bad"
    for language in (ENGLISH, CHINESE):
        shown = text.render(pages.page(found, why=True), Screen(width=100, language=language))
        assert shown.startswith("✗")
        assert "corrections" in shown
    assert {"weights", "gradients", "optimizer", "reserved", "device"} <= {one.part for one in found.why}


def test_the_next_command_replaces_flags_it_had():
    asked = "rigright explain m --on x --train full --micro-batch 4"
    found = explain_training(MODEL, CARD, wish=TrainingWish(micro_batch=4), asked=asked)
    commands = next(part for part in pages.page(found).parts if isinstance(part, Commands))
    assert commands.items[0].count("--train") == 1
    assert commands.items[-1].endswith("--details")


@pytest.mark.parametrize(
    "model", ["microsoft/resnet-50", "google/vit-base-patch16-224", "google-bert/bert-base-uncased"]
)
def test_image_models_and_encoders(model):
    try:
        found = explain(model, micro_batch=8)
    except RigError as error:
        pytest.skip(str(error))
    assert found.fits
    assert found.limits.micro_batch > 8


def test_mixed_cards_are_judged_by_the_smallest():
    found = explain(on="1x rtx 4090 + 1x rtx 3060", method="qlora")
    assert found.worst.total_bytes < 13 * 2**30


def test_parts_add_up_to_the_peak():
    found = explain(method="lora", seq_tok=1024)
    for rank in found.ranks:
        assert sum(size for _, size in rank.parts_bytes) == pytest.approx(rank.allocated_bytes)
        assert dict(rank.phases_bytes)[rank.peak_phase] == pytest.approx(rank.allocated_bytes)
        assert rank.used_low_bytes < rank.used_bytes < rank.used_high_bytes


def test_cards_left_over_are_said():
    found = explain(on="8x h100", pp=3)
    assert any("6 of 8 GPUs" in str(note) for note in found.notes)


def test_experts_are_dealt_out_to_ranks_that_are_there():
    moe = "mistralai/Mixtral-8x7B-v0.1"
    with pytest.raises(AskError, match=r"ep 3 .* 8 "):
        explain(moe, "8x h100", ep=3)
    with pytest.raises(AskError, match="8"):
        explain(moe, "8x h100", ep=8, pp=8)
    assert explain(moe, "8x h100", ep=8).layout.ep == 8


def test_a_length_beyond_the_model_is_noted():
    found = explain(method="qlora", seq_tok=200_000, recompute="full")
    assert any("200,000" in str(note) for note in found.notes)


@pytest.mark.parametrize("seq_tok", [2048, 3072])
def test_a_nearly_full_card_shows_what_is_needed_of_it(seq_tok):
    worst = explain(on="1x h100", seq_tok=seq_tok).worst
    assert worst.least_bytes == pytest.approx(worst.used_bytes)
    assert worst.used_bytes < worst.total_bytes < worst.least_high_bytes


@pytest.mark.parametrize("batch", [None, 256])
def test_images_are_learnt_in_batches_that_people_take(batch):
    found = explain("resnet50", global_batch=batch)
    assert found.training.micro_batch == 128
    assert found.samples.rate.value > 1000


def test_gradients_stand_apart_from_the_optimizer():
    assert brief.TRAINED["gradients"] != brief.TRAINED["optimizer"]


def test_a_date_that_the_band_crosses_is_no_sure_one():
    days = explain_training(
        MODEL, "h100", wish=TrainingWish(method="lora"), work=PlanWish(train_tok=1e9)
    ).days
    work = PlanWish(train_tok=1e9, days=days.value * 1.05)
    found = explain_training(MODEL, "h100", wish=TrainingWish(method="lora"), work=work)
    assert not found.broken
    assert found.certainty["days"] < SAFE
