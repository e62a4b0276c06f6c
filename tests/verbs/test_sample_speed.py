"""Whole images and texts in explain and fit: what a person with such a card sees."""

from __future__ import annotations

import json

import pytest

from rigright.demand import PlanWish, ServingWish, Size, TrainingWish
from rigright.faces.cli.main import main
from rigright.report.pages.figures import samples_table
from rigright.report.pages.fit import page as page_of
from rigright.report.pages.plan_words import work
from rigright.verbs.explain import explain as explain_verb
from rigright.verbs.explain_training import explain_training
from rigright.verbs.fit import FitWish
from rigright.verbs.fit import fit as fit_verb
from rigright.verbs.plan import plan


def explained(model, on, **wish):
    return explain_verb(model, on, wish=ServingWish(**wish)).samples


def shown(speed):
    return "|".join(str(cell) for row in samples_table(speed, details=True).rows for cell in row)


def test_a_class_sorts_pictures_on_one_card():
    """timm: resnet50 in amp makes 4,218 to 4,303 images a second on such a card, compiled 8,039 to 8,237."""
    found = explained("resnet50", "rtx 4090", weights="fp16", batch=256)
    assert found.rate.low < 4250 < found.rate.high
    assert found.compiled.low < 8140 < found.compiled.high
    assert found.bound == "memory"
    assert "torch.compile" in shown(found)


def test_two_cards_do_twice_as_much_each_alone():
    one, two = (
        explained("vit-base", on, weights="fp16", batch=32 * n) for n, on in ((1, "t4"), (2, "2x t4"))
    )
    assert two.rate.value == pytest.approx(2 * one.rate.value)
    assert (two.batch_per_card, two.cards) == (32, 2)


def test_unlike_cards_add_up():
    wish = {"weights": "fp16", "batch": 64}
    mixed = explained("resnet50", "1x rtx 3090 + 1x rtx 4090", **wish)
    alone = [explained("resnet50", on, weights="fp16", batch=32) for on in ("rtx 3090", "rtx 4090")]
    assert mixed.rate.value == pytest.approx(sum(one.rate.value for one in alone))


def test_a_painter_is_told_its_size_steps_and_what_lies_beside():
    found = explained("sdxl", "rtx 4090", picture=Size.square(768))
    assert (found.image_px, found.steps) == (768, 30)
    assert found.beside_bytes > 1e9
    assert {"an image of 768 x 768 pixels", "30"} < {*shown(found).split("|")}
    assert found.batch_s.low < 1 / found.rate.value < found.batch_s.high


def test_texts_become_vectors():
    short, long = (explained("bge-large", "rtx 4090", context_tok=tok, weights="fp16") for tok in (64, 512))
    assert short.unit == "texts"
    assert short.rate.value > long.rate.value
    assert long.length_tok == 512
    assert long.compiled is None
    assert "512" in shown(long).split("|")


def test_a_writer_has_no_samples_and_odd_numbers_no_speed():
    assert explained("llama-3.1-8b", "rtx 4090") is None
    assert explained("resnet50", "rtx 4090", weights="int8") is None


def test_scripts_get_the_same(capsys):
    assert main(["explain", "sdxl", "--on", "rtx 4090", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["samples"]
    assert told["unit"] == "images"
    assert told["images_per_s"]["low"] < told["images_per_s"]["value"] < told["images_per_s"]["high"]
    assert told["bound"] in told["parts_s"]


def test_fit_tells_samples_a_second():
    rows = fit_verb("rtx 4090", wish=FitWish(family="resnet")).models
    speeds = {row.model.rpartition("/")[2]: row.samples_per_s.value for row in rows}
    assert speeds["resnet-18"] > speeds["resnet-50"] > speeds["resnet-152"]
    written = fit_verb("rtx 4090", wish=FitWish(family="gemma", max_params=9e9, limit=4)).models
    assert all(row.samples_per_s is None for row in written if row.context_tok)


def test_the_page_of_fit_has_the_column_only_where_it_says_something():
    asked = FitWish(task="embed", max_params=1e9, limit=2), FitWish(family="gemma", max_params=9e9, limit=2)
    heads = [
        {str(column.head) for part in page_of(fit_verb("rtx 4090", wish=wish)).parts
         for column in getattr(part, "columns", ())}
        for wish in asked
    ]  # fmt: skip
    assert heads[0] - heads[1], "images or texts a second"


@pytest.mark.parametrize("name", ["convnext_base", "ConvNext-Base", "efficientnet_b0"])
def test_classifiers_answer_to_the_names_benchmarks_write(name):
    assert explained(name, "rtx 4090", weights="fp16").rate.value > 0


def test_a_classifier_looks_at_pictures_of_another_size():
    small, large = (
        explained("convnext_base", "rtx 4090", weights="fp16", batch=32, picture=Size.square(px))
        for px in (224, 384)
    )
    assert small.rate.value > 2 * large.rate.value


def learning(model, on, **wish):
    return explain_training(model, on, wish=TrainingWish(trainer="pytorch", **wish)).samples


def test_eight_cards_learn_as_published():
    """Lambda: ResNet-50 in amp learns from 20,728 to 22,101 images a second on 8 H100 SXM."""
    found = learning("resnet50", "8x h100 sxm", micro_batch=128)
    assert 0.75 * 22_000 < found.rate.value < 1.3 * 22_000
    assert found.cards == 8
    assert found.batch_s.value == pytest.approx(8 * 128 / found.rate.value)
    assert found.batch_per_card == 128


def test_links_are_told_where_there_are_any():
    alone, many = (learning("vit-base", on, micro_batch=16) for on in ("1x t4", "8x t4"))
    assert "links" not in dict(alone.parts_s)
    assert many.rate.value <= 8 * alone.rate.value


def test_what_learns_from_tokens_has_no_images():
    assert learning("bert-base-uncased", "rtx 4090") is None


def test_fp32_learns_slower():
    half, full = (learning("resnet50", "rtx 4090", micro_batch=64, precision=p) for p in (None, "fp32"))
    assert full.rate.value < half.rate.value


def test_the_wish_is_told_as_it_was_understood():
    asked = PlanWish(on="1x h100", samples=1e6, days=1)
    bge, xl = (plan(name, wish=asked) for name in ("bge-large", "sdxl"))
    assert (bge.wish.work, bge.wish.prompt_tok) == ("embed", 512)
    assert (xl.wish.work, xl.wish.image_px, xl.wish.steps) == ("image", 1024, 30)
    assert " 512 " in str(work(bge.wish))
    assert "1024 x 1024 " in str(work(xl.wish))


def test_the_next_command_looks_at_pictures_of_the_same_size(capsys):
    main(["plan", "convnext_base", "--on", "rtx 4090", "--image-size", "384"])
    told = next(line for line in capsys.readouterr().out.splitlines() if "rigright explain" in line)
    assert "--image-size 384" in told
