"""Images, embeddings and painters asked of `explain`, and as rows of tables of `validate`: one figure."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from drawn_questions import THOROUGH, arch_of, judged_rows, node_of, seeds

from rigright.base.errors import RigError
from rigright.choice.case import Case
from rigright.cost.estimate import Estimate
from rigright.demand import ServingWish, Size, TrainingWish
from rigright.predict.timed import SampleSpeed
from rigright.search.single import single
from rigright.verbs.explain import explain_case
from rigright.verbs.explain_training import explain_training

COUNT = 60 if THOROUGH else 25
LOOKS = (
    *("resnet50", "resnet18", "vit_base_patch16_224", "vit_large_patch14_224", "convnext_base"),
    *("efficientnet_b0", "swin_base_patch4_window7_224", "regnety_016", "beit_large_patch16_224"),
)
READS = (
    *("bge-m3", "BAAI/bge-large-en-v1.5", "intfloat/e5-large-v2", "intfloat/multilingual-e5-large"),
    *("thenlper/gte-large", "Qwen/Qwen3-Embedding-0.6B", "Qwen/Qwen3-Embedding-4B"),
    *("nomic-ai/nomic-embed-text-v1.5", "sentence-transformers/all-MiniLM-L6-v2"),
)
PAINTS = (
    *("black-forest-labs/FLUX.1-dev", "flux.1-schnell", "stabilityai/stable-diffusion-3.5-large"),
    *("PixArt-Sigma", "sdxl", "stable-diffusion-v1-5", "Qwen/Qwen-Image"),
)
CARDS = ("l4", "rtx 4090", "rtx 3090", "a100 80gb", "h100", "h200", "rtx 5090", "mi300x", "v100 32gb", "t4")
Row = dict[str, object]
Asked = tuple[Row, Estimate]


def one_case(model: str, machine: str, **said: object) -> tuple[Case, SampleSpeed] | None:
    """The case that `explain` answers, and its speed; None where such numbers do not run or fit there."""
    try:
        case = single(arch_of(model), node_of(machine), wish=ServingWish(**said)).case
        found = explain_case(case, machine=machine).samples
    except RigError:
        return None
    return None if found is None else (case, found)


def machine_of(dice: random.Random) -> tuple[str, str, int]:
    """A kind of card, as many of it as work, and both in words."""
    card, count = dice.choice(CARDS), dice.choice((1, 1, 2, 4))
    return card, f"{count}x {card}", count


def looks(dice: random.Random) -> Asked | None:
    """Images that are looked at."""
    model, (card, machine, count) = dice.choice(LOOKS), machine_of(dice)
    weights, compiled = dice.choice(("fp16", "bf16", "fp32")), dice.random() < 0.3
    found = one_case(
        model, machine, weights=weights, batch=count * dice.choice((1, 8, 64)), compiled=compiled
    )
    if found is None:
        return None
    case, speed = found
    row = {
        "model": dice.choice((model, case.arch.name)), "gpu": card, "mode": "infer", "precision": weights,
        "batch_size": speed.batch_per_card, "n_gpus": count, "compile": "inductor" if compiled else "",
        "samples_per_s": "", "img_size": "",
    }  # fmt: skip
    return row, speed.rate


def learns(dice: random.Random) -> Asked | None:
    """Images that are learnt from, in batches of a card that no table would mean for all of them."""
    model, (card, machine, count) = dice.choice(LOOKS), machine_of(dice)
    precision = dice.choice(("bf16-mixed", "fp32"))
    wish = TrainingWish(precision=precision, micro_batch=dice.choice((2, 4, 8)))
    try:
        answer = explain_training(model, machine, wish=wish)
    except RigError:
        return None
    if answer.samples is None or not answer.fits:
        return None
    row = {
        "model": dice.choice((model, answer.model)), "gpu": card, "mode": "train",
        "precision": "fp32" if precision == "fp32" else "amp", "batch_size": answer.samples.batch_per_card,
        "n_gpus": count, "compile": "", "samples_per_s": "", "img_size": "",
    }  # fmt: skip
    return row, answer.samples.rate


def reads(dice: random.Random) -> Asked | None:
    """Texts that are embedded."""
    model, (card, machine, count) = dice.choice(READS), machine_of(dice)
    tok, engine = dice.choice((32, 128, 256, 512)), dice.choice((None, None, "vllm"))
    found = one_case(
        model, machine, weights=dice.choice(("fp16", "bf16", "fp32")), batch=count * dice.choice((1, 8, 32)),
        context_tok=tok, engine=engine,
    )  # fmt: skip
    if found is None:
        return None
    case, speed = found
    row = {
        "engine": case.engine.id, "arch": model, "chip": card, "n_chips": count, "mode": "batch",
        "weights": case.serving.weights, "load": speed.batch_per_card * count,
        "prompt_tok": tok, "output_tok": 0, "metric": "latency_ms",
    }  # fmt: skip
    taken = speed.batch_s
    return row, Estimate(value=taken.value * 1e3, low=taken.low * 1e3, high=taken.high * 1e3)


def paints(dice: random.Random) -> Asked | None:
    """Images that are made."""
    model, (card, machine, count) = dice.choice(PAINTS), machine_of(dice)
    px, steps, compiled = dice.choice((512, 1024)), dice.choice((4, 20, 50)), dice.random() < 0.3
    batch = count * dice.choice((1, 2, 4))
    found = one_case(
        model,
        machine,
        batch=batch,
        steps=steps,
        picture=None if px is None else Size.square(px),
        compiled=compiled,
    )
    if found is None:
        return None
    case, speed = found
    row = {
        "model": dice.choice((model, case.arch.name)), "chip": card, "height": px, "width": px,
        "steps": steps, "batch": batch, "n_gpus": count, "parallelism": f"dp={count}",
        "compiled": int(compiled), "latency_s": "", "avg_power_w": "",
    }  # fmt: skip
    return row, speed.batch_s


KINDS = {"looks": looks, "learns": learns, "reads": reads, "paints": paints}
FIGURE = {"looks": "samples_per_s", "learns": "samples_per_s", "reads": "latency_ms", "paints": "latency_s"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", seeds(6, quick=1))
def test_a_row_of_samples_is_predicted_as_the_question_is_answered(
    seed: int, kind: str, tmp_path: Path
) -> None:
    dice = random.Random(seed)  # noqa: S311 - a draw of questions
    asked = [found for found in (KINDS[kind](dice) for _ in range(COUNT)) if found is not None]
    assert len(asked) > COUNT // 3
    rows = [{"id": place, **row} for place, (row, _) in enumerate(asked)]
    different = []
    for (row, want), judged in zip(asked, judged_rows(rows, tmp_path), strict=True):
        found = next(one for one in judged.predictions if one.metric == FIGURE[kind])
        got, told = [found.predicted, found.low, found.high], [want.value, want.low, want.high]
        if None in got or got != pytest.approx(told, rel=1e-6):
            different.append((row, got, told, str(found.why)))
    assert different == []
