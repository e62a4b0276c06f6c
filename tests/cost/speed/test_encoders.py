"""Encoders: a batch at once, paced by computing when it is large and by starting kernels when it is small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from rigright.arch.count import flops_per_tok
from rigright.arch.sources.open import open_model
from rigright.cost.speed.encoder import EncoderRates, encode_s
from rigright.facts.find import find_chip
from rigright.predict.samples import encoded_rates

BERT = "google-bert/bert-base-uncased"
CARDS = ("v100-sxm2-32gb", "a100-sxm4-80gb", "rtx-4090", "t4")


def rates(*names: str, engine: str = "fastertransformer", precision: str = "fp16") -> EncoderRates:
    return encoded_rates([find_chip(name) for name in names], engine, precision=precision)


def seconds(on: EncoderRates, samples: float, length: float, filled: float = 1.0) -> np.ndarray:
    return np.asarray(encode_s(open_model(BERT), on, samples=samples, length_tok=length, filled=filled))


@given(samples=some.integers(1, 256), length=some.integers(1, 512), chip=some.sampled_from(CARDS))
def test_more_tokens_never_take_less(samples: int, length: int, chip: str) -> None:
    on = rates(chip)
    assert seconds(on, samples + 1, length)[0] >= seconds(on, samples, length)[0]
    assert seconds(on, samples, length + 1)[0] >= seconds(on, samples, length)[0]


@given(samples=some.integers(1, 256), length=some.integers(8, 512), chip=some.sampled_from(CARDS))
def test_no_batch_beats_the_peak(samples: int, length: int, chip: str) -> None:
    card = find_chip(chip)
    least = flops_per_tok(open_model(BERT).trunk) * samples * length / (card.training_flops_per_s or 1)
    assert seconds(rates(chip), samples, length)[0] > least


def test_one_short_sentence_takes_what_the_host_takes() -> None:
    """TorchScript launches so slowly that a V100 and an A100 answer one sentence alike."""
    slow, fast = seconds(rates("v100-sxm2-32gb", "a100-sxm4-80gb", engine="torchscript"), 1, 32)
    assert slow == pytest.approx(fast)
    assert slow > 2 * seconds(rates("a100-sxm4-80gb"), 1, 32)[0]


def test_wider_numbers_take_longer() -> None:
    fp16, tf32, fp32 = (
        seconds(rates("a100-sxm4-80gb", precision=one), 32, 384)[0] for one in ("fp16", "tf32", "fp32")
    )
    assert fp16 < tf32 < fp32


def test_padding_that_is_skipped_is_not_paid() -> None:
    on = rates("a100-sxm4-80gb")
    assert seconds(on, 32, 384, filled=0.5)[0] < 0.6 * seconds(on, 32, 384)[0]


def test_an_engine_nobody_knows_goes_by_everybodys_terms() -> None:
    assert (
        seconds(rates("t4", engine="never heard of"), 8, 128)[0]
        == seconds(rates("t4", engine="plain"), 8, 128)[0]
    )


def test_an_array_of_chips_is_its_numbers() -> None:
    together = seconds(rates(*CARDS), 8, 128)
    assert together.tolist() == [seconds(rates(name), 8, 128)[0] for name in CARDS]
