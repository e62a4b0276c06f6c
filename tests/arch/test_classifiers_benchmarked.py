"""Classifiers of benchmark tables: parameters and multiply-adds as those tables print them."""

import csv

import pytest

from rigright.arch import count
from rigright.arch.classifiers import classifier, classifier_configs

FUSED = {"vit_so400m_patch14_siglip_384"}  # counted by a tool that sees no pairs in a fused attention


def benchmarked(shared):
    """Parameters and multiply-adds a model and image size, as printed beside the measured speeds."""
    found = {}
    with (shared / "measured" / "vision.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["model"] in classifier_configs() and row["params_m"] and row["gmacs"]:
                key = (row["model"], int(row["img_size"]))
                found.setdefault(key, (float(row["params_m"]), float(row["gmacs"])))
    return found


def test_parameters_as_printed(shared):
    rows = benchmarked(shared)
    assert len({model for model, _ in rows}) >= 30
    wrong = {}
    for (model, side), (params_m, _) in rows.items():
        native = count.params(classifier(model)) / 10**6
        if abs(native - params_m) > 0.006:
            wrong[model, side] = (params_m, native)
    assert not wrong


def test_multiply_adds_as_printed(shared):
    wrong = {}
    for (model, side), (_, gmacs) in benchmarked(shared).items():
        arch = classifier(model, image_px=side)
        flops = count.flops_per_tok(arch.trunk) if model in FUSED else count.flops_per_sample(arch)
        ours = flops / 2 / 10**9
        if abs(ours - gmacs) > 0.02 + 0.02 * gmacs:  # two decimals; some count norms and gates as well
            wrong[model, side] = (gmacs, ours)
    assert not wrong


def test_a_name_nobody_has_is_none():
    assert classifier("resnet5000") is None


@pytest.mark.parametrize("name", ["resnet50", "convnext_tiny", "efficientnet_b0", "regnety_032"])
def test_larger_images_cost_more_and_hold_more(name):
    small, large = classifier(name, image_px=224), classifier(name, image_px=320)
    assert count.flops_per_sample(large) > count.flops_per_sample(small)
    assert count.kept_elems(large.trunk) > count.kept_elems(small.trunk)
    assert count.params(large) == count.params(small)


def test_every_classifier_of_the_table_is_read_without_a_warning():
    for name in classifier_configs():
        arch = classifier(name)
        assert arch.task == "vision"
        assert not [told for told in map(str, arch.warnings) if "not known" in told]
