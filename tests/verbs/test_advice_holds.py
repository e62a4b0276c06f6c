"""Advice is kept to: what `explain` says would fit fits when it is asked for, and saves what was said."""

from __future__ import annotations

import random
import shlex

import pytest

from rigright.arch.sources import zoo
from rigright.arch.sources.open import open_model
from rigright.base.errors import RigError
from rigright.demand import ServingWish, TrainingWish
from rigright.faces.cli.main import verb_parser
from rigright.faces.cli.options import typed_options
from rigright.facts.nodes import find_node
from rigright.options.read import fill, values_of
from rigright.predict.ranks import MOST_BATCH, MOST_CONTEXT_TOK, worst
from rigright.report.pages.brief import again
from rigright.search.single import single
from rigright.verbs.explain import explain
from rigright.verbs.explain_training import remedies as training_remedies
from rigright.verbs.fit import FitWish, fit
from rigright.verbs.training.case import build_case as build_training
from sampled_tables import THOROUGH, whole_when_thorough

MACHINES = (
    "rtx 4090",
    "2x rtx 3090",
    "rtx 3060 12gb",
    "8x h100",
    "4x a100 40gb",
    "rtx 4090 + rtx 3060 12gb",
    "m3 max 64gb",
    "rtx 4090 (6 GiB free)",
)
ENGINES = ("vllm", "sglang", "llama.cpp", "tensorrt-llm", "transformers")


def questions(number, seed):
    """Command lines as different people might type them; each seed its own."""
    rng = random.Random(seed)  # noqa: S311 - questions, no secret
    for _ in range(number):
        words = [rng.choice(zoo.names()), "--on", rng.choice(MACHINES)]
        words += ["--engine", rng.choice(ENGINES)] if rng.random() < 0.5 else []
        words += ["--context", rng.choice(["1k", "8k", "32k", "128k"])] if rng.random() < 0.5 else []
        words += ["--batch", rng.choice(["2", "16", "100"])] if rng.random() < 0.4 else []
        words += ["--kv", "fp8"] if rng.random() < 0.2 else []
        yield words


def said(options, wish):
    """What a command line says of a serving or a training."""
    return fill(wish, "explain", values=values_of("explain", typed_options(options, "explain")))


def asked(words):
    options = verb_parser("explain", "en").read(words)
    return explain(options.model, options.on, wish=said(options, ServingWish))


def spare_bytes(words):
    """The verdict of a question alone, without all that is said beside it."""
    options = verb_parser("explain", "en").read(words)
    case = single(open_model(options.model), find_node(options.on), wish=said(options, ServingWish)).case
    return float(worst(case).spare_bytes)


def with_flags(words, flags):
    """The same command line, each flag said once, the last time as it was said last."""
    told = list(words)
    for flag in flags:
        if flag.startswith("--") and flag in told:
            start = told.index(flag)
            del told[start : start + 2]
    return [*told, *flags]


def chosen(words, found):
    """The same question with all that was chosen said, so that nothing is chosen anew."""
    serving, layout = found.serving, found.layout
    told = {"--engine": serving.engine.replace(" ", "=="), "--weights": serving.weights, "--kv": serving.kv}
    told |= {f"--{name}": str(getattr(layout, name)) for name in ("tp", "pp", "dp")}
    lengths = {"--context": serving.context_tok, "--prompt": serving.prompt_tok or 1, "--output": 1}
    told |= {flag: str(value) for flag, value in (lengths | {"--batch": serving.batch}).items()}
    missing = [word for flag, value in told.items() if flag not in words for word in (flag, value)]
    return [*words, *missing]


def answered(number, seed):
    """Questions that have an answer, with it."""
    for words in questions(number, seed):
        try:
            yield words, asked(words)
        except RigError:
            continue  # a cache format this engine has not, heads that do not divide


@pytest.fixture(scope="module")
def served():
    return list(answered(20 if THOROUGH else 6, seed=4))


def fits(words, flag, value):
    return spare_bytes(with_flags(words, [flag, str(value)])) >= 0


@whole_when_thorough
def test_the_largest_context_and_batch_fit_and_one_more_does_not(served):
    seen = 0
    for asked, found in served:
        limits = found.limits
        if limits is None:
            continue
        seen += 1
        words = chosen(asked, found)
        most = limits.model_context_tok or MOST_CONTEXT_TOK
        if limits.context_tok:
            assert fits(words, "--context", limits.context_tok), words
        if limits.context_tok is not None and limits.context_tok < most:
            assert not fits(words, "--context", limits.context_tok + 1), words
        if limits.batch:
            assert fits(words, "--batch", limits.batch), words
        if limits.batch < MOST_BATCH:
            assert not fits(words, "--batch", limits.batch + 1), words
    assert seen > len(served) / 2


@whole_when_thorough
def test_every_remedy_asked_for_does_what_was_said_of_it(served):
    tried = 0
    for words, found in served:
        before = found.fullest.spare_bytes
        for remedy in found.remedies:
            if remedy.flag is None:
                continue
            after = spare_bytes(with_flags(words, shlex.split(remedy.flag)))
            assert (after >= 0) == remedy.fits, (words, remedy.flag)
            assert after - before == pytest.approx(remedy.saves_bytes, rel=1e-9, abs=2), (words, remedy.flag)
            tried += 1
    assert tried > len(served)


def trainings(number, seed):
    """Trainings as different people might ask for them."""
    rng = random.Random(seed)  # noqa: S311 - questions, no secret
    options = {
        "--trainer": ("hf", "pytorch", "deepspeed", "megatron"),
        "--recompute": ("none", "full"),
        "--seq": ("512", "4096"),
        "--micro-batch": ("1", "8"),
        "--sharding": ("none", "zero2", "fsdp"),
        "--optimizer": ("adamw", "adamw-8bit"),
        "--tp": ("2",),
    }
    for _ in range(number):
        words = [rng.choice(zoo.names()), "--on", rng.choice(MACHINES)]
        words += ["--train", rng.choice(["full", "full", "lora", "qlora"])]
        for flag, values in options.items():
            words += [flag, rng.choice(values)] if rng.random() < 0.3 else []
        yield words + [flag for flag in ("--no-flash", "--chunked-loss") if rng.random() < 0.3]


def trained(words):
    """A training as the command line asks for it."""
    options = verb_parser("explain", "en").read(words)
    return build_training(open_model(options.model), find_node(options.on), wish=said(options, TrainingWish))


def check_training_remedies(words):
    """Each remedy asked for again gives the figure it promised; how many there were."""
    before = trained(words)
    if before.least_bytes() <= before.card_bytes:
        return 0
    found = training_remedies(before)
    for remedy in found:
        after = trained(shlex.split(again(shlex.join(words), remedy.flag)))
        assert (after.least_bytes() <= after.card_bytes) == remedy.fits, (words, remedy.flag)
        saved = before.least_bytes() - after.least_bytes()
        assert saved == pytest.approx(remedy.saves_bytes, rel=1e-9, abs=2), (words, remedy.flag)
    return len(found)


@whole_when_thorough
def test_every_training_remedy_asked_for_does_what_was_said_of_it():
    tried, asked = 0, 24 if THOROUGH else 6
    for words in trainings(asked, seed=6):
        try:
            trained(words)
        except RigError:
            continue  # heads that do not divide, more ranks than cards
        tried += check_training_remedies(words)
    assert tried > asked


def test_flags_take_the_place_of_those_that_stood_there():
    asked = "rigright explain m --micro-batch 4 --on 'rtx 4090' --recompute none --no-flash"
    kept = ["rigright", "explain", "m", "--on", "rtx 4090", "--no-flash"]
    for flags in ("--recompute full --micro-batch 1", "--micro-batch 1 --recompute full"):
        assert shlex.split(again(asked, flags)) == [*kept, *flags.split()]


def test_adapters_instead_of_full_training_keep_the_sharding_they_were_weighed_with():
    words = ["Mistral-7B-Instruct-v0.3", "--on", "2x rtx 3090", "--train", "full", "--recompute", "none"]
    assert check_training_remedies([*words, "--no-flash", "--seq", "8192"]) > 4


def test_what_fit_lists_explain_confirms_to_the_byte():
    one, two = "rtx 4090", "2x a100 40gb"
    for on, family in ((one, "gemma2"), (two, "qwen2"), (one, "bert"), (two, "vit"), (one, "mamba")):
        row = fit(on, wish=FitWish(family=family, limit=1, max_params=10e9)).models[0]
        words = [row.model, "--on", on, "--engine", row.engine, "--weights", row.weights_format]
        found = asked(words)
        assert found.fits, row
        assert found.fullest.spare_bytes == row.spare_bytes, row
        if row.sized_tok:
            assert found.serving.context_tok == row.sized_tok >= min(4096, row.model_context_tok or 4096), row
            assert found.speed.user_tok_per_s == row.user_tok_per_s, row
        assert found.params == row.params, row
        if found.limits is None or found.serving.batch == 1:  # a row tells the longest of one sequence
            assert (found.limits.context_tok if found.limits else None) == row.context_tok, row
        elif row.context_tok is not None:
            assert row.context_tok >= found.limits.context_tok, row
