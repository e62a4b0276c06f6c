"""vision.csv: every row is answered, near what was measured, with the band that was promised."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from lab.runs import read_runs
from lab.subjects.speed_images import SUBJECT
from rigright.base.errors import AskError
from rigright.facts.chips import chips
from rigright.facts.corrections import corrections
from rigright.predict.painted import ImageCases
from rigright.verbs.runs.columns import side
from rigright.verbs.validate.foreign import noted
from rigright.verbs.validate.kinds.vision import KIND, read_image, work_of_row

PLAIN = dict.fromkeys(KIND.columns) | {
    "id": "V1",
    "source": "made",
    "model": "resnet50",
    "gpu": "RTX4090",
    "mode": "infer",
    "img_size": 224,
    "batch_size": 256,
    "precision": "amp",
    "layout": "nchw",
    "compile": "eager",
    "framework": "timm pt240 cu124",
    "note": "",
}


def row(**changed):
    return PLAIN | changed


def speed(**changed):
    return KIND.predict(row(**changed))[0].predicted


@pytest.fixture(scope="module")
def rows(shared):
    return read_runs(str(shared / "measured" / "vision.csv")).rows


def test_every_published_row_is_answered_and_half_of_each_source_within_fifteen_per_cent(rows):
    predicted = ImageCases.of([read_image(row).case for row in rows]).samples_per_s()
    errors = {}
    for row, one in zip(rows, predicted, strict=True):
        errors.setdefault(row["source"], []).append(abs(one / row["samples_per_s"] - 1))
    medians = {source: float(np.median(found)) for source, found in errors.items()}
    assert np.isfinite(predicted).all()
    assert sum(median < 0.15 for median in medians.values()) >= 0.9 * len(medians)
    assert np.mean(list(medians.values())) < 0.08


def test_a_row_with_the_counts_alone_is_near_one_with_our_own_description():
    known, counted = (
        speed(model=name, params_m=25.56, gmacs=4.11, mactivs=11.11)
        for name in ("resnet50", "resnet50.some_new_variant_of_nobody")
    )
    assert known == pytest.approx(counted, rel=0.02)
    assert speed(model="resnet_new", params_m=25.56, gmacs=4.11, mactivs=11.11) == pytest.approx(
        known, rel=0.05
    )


def test_a_network_of_known_parameters_is_estimated_from_them_and_says_so():
    found = KIND.predict(row(model="nobodys_net_9", params_m=25.0))[0]
    assert found.predicted == pytest.approx(speed(), rel=0.6)
    assert "nobodys_net_9" in str(found.why)


def test_what_is_missing_is_told():
    with pytest.raises(AskError, match="gpu "):
        KIND.predict(row(gpu=None))
    with pytest.raises(AskError):
        KIND.predict(row(model=None))
    with pytest.raises(AskError, match="nobodys_net_9"):
        KIND.predict(row(model="nobodys_net_9"))
    with pytest.raises(AskError):
        KIND.predict(row(gpu="CPU abacus-9000"))
    assert all(KIND.predict(row(gpu=chip.id))[0].predicted > 0 for chip in chips())


def test_cards_that_are_not_counted_are_those_of_a_server():
    one, many = (
        KIND.predict(row(model=f"test_bert-large_{cards}", n_gpus=None))[0]
        for cards in ("single_card", "multi_card")
    )
    assert many.predicted > 4 * one.predicted
    assert many.high / many.low > one.high / one.low


def test_a_batch_that_fits_one_card_is_of_each_and_a_larger_one_of_all():
    """DeepLearningExamples tell the batch of a card, lambda's tables that of all."""
    each, all_of_them = (
        speed(model="BERT-large", mode="train", gpu="A100-80GB", n_gpus=8, seq_len=384, batch_size=size)
        for size in (32, 256 * 8)
    )
    assert each < all_of_them
    alone = speed(model="BERT-large", mode="train", gpu="A100-80GB", n_gpus=1, seq_len=384, batch_size=32)
    assert 4 < each / alone < 8


def test_what_is_compiled_ahead_is_quicker_than_eager_and_narrow_integers_are_quicker_yet():
    """MLPerf 6.0, ResNet-50 on two L4 in TensorRT, int8: 25,200 images a second."""
    asked = {"model": "resnet", "gpu": "l4", "n_gpus": 2, "batch_size": None, "img_size": 224}
    eager = speed(**asked, precision="fp16")
    half, narrow = (
        speed(**asked, precision=said, framework="MLPerf v6.0; TensorRT 10.8") for said in ("fp16", "int8")
    )
    assert eager < half < narrow
    assert narrow == pytest.approx(25_200, rel=0.35)


def test_names_of_others_find_the_network():
    assert speed(model="Resnet-50") == speed(model="resnet")
    assert speed(model="google/vit-base-patch16-224") == speed(model="vit_base_patch16_224")
    half, whole = (
        speed(model=name, seq_len=128) for name in ("distilbert-base-uncased", "bert-base-uncased")
    )
    assert 1.3 < half / whole < 2.5


def test_larger_images_and_wider_numbers_are_slower_and_a_compiler_is_quicker():
    assert speed(img_size=320) < speed()
    wide, short, half = (
        speed(gpu="A100-40GB-SXM", precision=said) for said in ("fp32", "fp32 (TF32 on Ampere+)", "amp")
    )
    assert wide < short < half
    assert speed(compile="torch.compile (dynamo)") > speed()
    assert speed(layout="nhwc") > speed()
    assert speed(mode="train") < speed() / 2


def test_batches_are_of_all_chips_together():
    one = speed(mode="train", n_gpus=1, batch_size=128, framework="PyTorch NGC")
    eight = speed(mode="train", n_gpus=8, batch_size=1024, framework="PyTorch NGC", gpu="H100-80GB-SXM")
    alone = speed(mode="train", n_gpus=1, batch_size=128, framework="PyTorch NGC", gpu="H100-80GB-SXM")
    assert 6 * alone < eight <= 8 * alone
    assert one < alone


def test_text_without_padding_is_shorter():
    padded, packed = (
        speed(
            model="BERT-large MLPerf pretrain",
            mode="train",
            seq_len=256,
            batch_size=96,
            padding_skipped=skipped,
        )
        for skipped in (0.0, 1.0)
    )
    assert 1.5 < packed / padded < 3


# NVIDIA/DeepLearningExamples: READMEs of GNMT (0663b67), Tacotron2 (02b49ac), Transformer-XL (0f6e186)
READ = [
    ("GNMT", "V100-16GB", "AMP fp16", 128, 66_050),
    ("GNMT", "V100-16GB", "fp32", 128, 21_346),
    ("Tacotron2", "V100-16GB", "fp32", 64, 12_933),
    ("WaveGlow", "V100-16GB", "AMP fp16", 10, 81_503),
    ("WaveGlow", "V100-16GB", "fp32", 4, 36_671),
    ("TransformerXL base", "A100-40GB-SXM", "AMP fp16", 32, 59_961),
    ("TransformerXL base", "V100-16GB", "AMP fp16", 32, 36_692),
    ("TransformerXL base", "V100-16GB", "fp32", 16, 13_981),
    ("TransformerXL large", "A100-40GB-SXM", "fp32 (TF32 on Ampere+)", 8, 14_497),
]


@pytest.mark.parametrize("case", READ, ids=lambda case: f"{case[0]} {case[1]} {case[2]}")
def test_networks_without_a_config_are_near_what_their_authors_print(case):
    model, gpu, precision, batch, measured = case
    found = speed(
        model=model,
        gpu=gpu,
        precision=precision,
        batch_size=batch,
        mode="train",
        framework="PyTorch NGC",
        img_size=None,
    )
    assert found == pytest.approx(measured, rel=0.25)


def test_dials_hang_below_their_kin_and_class(rows):
    tables = corrections("speed_images")
    dials = {dial.path: dial for dial in SUBJECT.dials(rows, tables)}
    assert dials["kinds", "resnet", "traffic"].parent == ("kinds", "convolution", "traffic")
    assert dials["kinds", "convolution", "traffic"].parent == ("kinds", "all", "traffic")
    assert dials["chips", "rtx-4090", "compute"].parent == ("chips", "nvidia-ada", "compute")
    assert ("chips", "all", "memory") not in dials
    assert dials["chips", "cpu", "compute"].parent is None


def test_a_dial_moves_the_rows_it_says_it_touches_and_no_others(rows):
    few = rows[:: max(len(rows) // 60, 1)]
    tables = corrections("speed_images")
    ready = SUBJECT.prepare(few)
    before = SUBJECT.predict(ready, tables)
    for dial in SUBJECT.dials(few, tables):
        section, key, name = dial.path if len(dial.path) == 3 else (*dial.path, None)
        old = tables[section]
        if name is None:
            changed = {**tables, section: {**old, key: old[key] * 1.1}}
        else:
            value = old.get(key, {}).get(name, dial.prior) * 0.9
            changed = {**tables, section: {**old, key: {**old.get(key, {}), name: value}}}
        moved = set(np.flatnonzero(SUBJECT.predict(ready, changed) != before))
        assert dial.touches is None or moved <= set(dial.touches), dial.path


def test_the_file_is_known_by_its_header(shared):
    with (shared / "measured" / "vision.csv").open(encoding="utf-8") as file:
        assert set(next(csv.reader(file))) == set(KIND.columns) - {words.column for words in noted("vision")}


@pytest.mark.parametrize(
    ("model", "gmacs"),
    [
        ("resnet", 4.1),
        ("EfficientNet (B0/B4) efficientnet-b4", 4.4),
        ("test_run_image_classification_vit-base-patch16-224-in21k_single_card", 17.5),
        ("SE-ResNeXt101-32x4d", 8.0),
        ("yolo-99", 43.5),
    ],
)
def test_names_of_other_tables(model, gmacs):
    work, _, _, wider = work_of_row({"model": model})
    assert work.macs / 1e9 == pytest.approx(gmacs, rel=0.12)
    assert wider == 1


def test_half_as_deep_is_half_the_work():
    whole, half = (work_of_row({"model": name, "seq_len": 128})[0] for name in ("BERT base", "distilroberta"))
    assert half.macs == pytest.approx(whole.macs / 2)


def test_a_test_of_a_language_model_is_wider_and_said():
    _, _, note, wider = work_of_row({"model": "test_run_lora_clm_llama-2-7b_multi_card"})
    assert wider > 1
    assert note is not None


def test_a_network_nobody_knows_is_refused():
    with pytest.raises(AskError, match="frobnet"):
        work_of_row({"model": "frobnet"})


def test_sides_and_processors_as_others_write_them():
    assert side("936x624") == 764
    assert side("224") == side("224x224") == 224
    row = {"gpu": "CPU Intel Xeon 6787P", "model": "resnet50"}
    assert read_image(row).case.place.mem_bytes_per_s > 4e11
