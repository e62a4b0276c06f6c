"""What a page promises is what its command answers: cures, advice, more hardware, other machines."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from test_next_commands import asked

from rigright.demand import PlanWish, ServingWish, TrainingWish
from rigright.options.read import read_wish
from rigright.predict.kept import SAFE
from rigright.report.pages import explain as explain_page
from rigright.report.pages import plan as plan_page
from rigright.report.pages import training as training_page
from rigright.report.pages.brief import again
from rigright.report.pages.plan_next import on_instead, on_step
from rigright.verbs.explain import explain
from rigright.verbs.explain_training import explain_training
from rigright.verbs.plan import plan
from rigright.verbs.training.case import Trained

UNFIT = [  # asked of a machine that is too small or too slow, as they are typed
    ("minimax-m2", {"tpot": "35ms", "on": "12gb"}),
    ("yi-1.5-34b", {"mode": "agent", "ttft": "8s", "tpot": "35ms", "on": "rtx 4070 ti + 64gb"}),
    ("command-r-35b", {"mode": "rag", "ttft": "1s", "on": "m2 ultra 192gb"}),
    ("qwen3-32b", {"users": "1", "on": "rtx 3060 12gb"}),
    ("llama-3.1-405b", {"chips": "4090", "max-chips": "2"}),
    ("llama-3.1-70b", {"mode": "finetune", "method": "full", "on": "rtx 3060 12gb"}),
    ("sdxl", {"mode": "finetune", "on": "rtx 3050 8gb"}),
]


def read(command):
    """The model and the wish of a `plan` command."""
    _, verb, model, *words = shlex.split(command)
    assert verb == "plan"
    flags = [word for word in words if word.startswith("--")]
    told = {
        flag.removeprefix("--"): "yes" if flag == "--rent" else words[words.index(flag) + 1] for flag in flags
    }
    return model, read_wish(told)


@pytest.mark.parametrize(("model", "words"), UNFIT, ids=[model for model, _ in UNFIT])
def test_what_would_do_is_what_its_command_answers(model, words):
    typed = " ".join(f"--{name} {shlex.quote(value)}" for name, value in words.items())
    result = plan(model, wish=read_wish(words), asked=f"rigright plan {model} {typed}")
    promised = [(on_step(result, one), one.plan) for one in result.steps]
    promised += [(on_instead(result, one), one.plans[0]) for one in (result.elsewhere,) if one is not None]
    assert promised
    for command, promise in promised:
        name, wish = read(command)
        found = plan(name, wish=wish).plans[0]
        assert found.figures == promise.figures, command
        assert (found.layout, found.work, found.chip.id) == (promise.layout, promise.work, promise.chip.id)


@pytest.mark.parametrize(("model", "words"), UNFIT[:4], ids=[model for model, _ in UNFIT[:4]])
def test_what_is_answered_with_a_tick_stands_before_what_is_not(model, words):
    steps = plan(model, wish=read_wish(words)).steps
    tones = [plan_page.verdict(one.planned).tone for one in steps]
    assert tones == sorted(tones, key=lambda tone: tone != "good")


CURED = [
    "qwen3-32b --on 'rtx 4090' --weights bf16",
    "llama-3.1-70b --on 'rtx 4090'",
    "qwen3-14b --on 'rtx 3060 12gb' --weights bf16 --concurrency 4",
    "phi-4 --on 'h100 pcie' --train full --seq 1024",
    "gemma-2-9b --on '2x rtx 3090' --train full --micro-batch 4",
    "olmo-2-13b --on 'rtx 3060 12gb' --train lora",
]


@pytest.mark.parametrize("words", CURED)
def test_a_cure_takes_what_it_says_when_it_is_typed(words):
    typed = f"rigright explain {words}"
    said = answer(shlex.split(typed))
    assert not said.fits
    cure = next(one for one in said.remedies if one.fits and one.flag)
    command = again(typed, cure.flag)
    changed = answer(shlex.split(command))
    assert changed.fits, command
    size = changed.peak_bytes if isinstance(changed, Trained) else changed.fullest.need_bytes
    assert size == pytest.approx(cure.peak_bytes), command


def answer(words):
    """The record of an `explain` command."""
    from rigright.faces.cli.asks.explain import answer as explained
    from rigright.faces.cli.main import verb_parser

    options = verb_parser("explain", "en").read(words[2:])
    options.language = "en"
    return explained(options).record


ADVISED = [
    ("gemma-2-9b", "v100 32gb", "qlora"),
    ("mistral-7b", "8x b200", "qlora"),
    ("phi-4", "2x h200", "qlora"),
    ("qwen2.5-14b", "rtx pro 6000", "lora"),
    ("llama-3.2-3b", "h100 pcie", "full"),
]


def test_a_larger_micro_batch_is_advised_where_it_is_faster_and_as_sure():
    advised = 0
    for model, on, method in ADVISED:
        wish = TrainingWish(method=method, micro_batch=1, seq_tok=1024)
        now = explain_training(model, on, wish=wish, asked="rigright explain")
        if now.quicker is None:
            continue
        then = explain_training(model, on, wish=replace(wish, micro_batch=now.quicker))
        advised += 1
        assert then.time.tok_per_s > now.time.tok_per_s
        assert training_page._verdict(then).tone == training_page._verdict(now).tone
    assert advised


def test_a_machine_is_not_built_for_what_does_not_fit_it():
    for words in (
        ["build", "llama-3.1-70b", "--mode", "finetune", "--method", "full", "--on", "rtx 3060 12gb"],
        ["build", "llama-3.1-405b", "--on", "rtx 3060 12gb"],
    ):
        from rigright.base.errors import AskError
        from rigright.verbs.build import build

        told = {
            words[place].removeprefix("--"): words[place + 1]
            for place in range(2, len(words), 2)
        }  # fmt: skip
        with pytest.raises(AskError) as failed:
            build(words[1], wish=read_wish(told))
        machine = dict(failed.value.hint.values)["machine"]
        assert plan(words[1], wish=read_wish({**told, "on": shlex.split(machine)[0]})).plans
        assert asked(words)[0] == 2


def test_a_kind_of_training_is_kept_however_it_is_cut():
    cut = TrainingWish(method="full", tp=2)
    tuned = explain_training("qwen3-8b", "8x h100", wish=TrainingWish(method="full", tp=2, work="finetune"))
    assert tuned.training.seq_tok != explain_training("qwen3-8b", "8x h100", wish=cut).training.seq_tok


def test_limits_are_judged_alike_by_both_verbs():
    """A load that nobody said is as high as the limits leave it; one that was said keeps them or does not."""
    limits = PlanWish(ttft_s=1.0, tpot_s=0.05)
    free = explain("llama-3.1-70b", "8x h100", work=limits)
    assert free.safe is not None
    assert free.safe.concurrency < free.speed.concurrency
    assert explain_page._verdict(free).tone == "good"
    told = explain("llama-3.1-70b", "8x h100", wish=ServingWish(users=free.speed.concurrency), work=limits)
    assert told.safe is None
    assert min(told.certainty.values()) < SAFE
    assert explain_page._verdict(told).tone == "warn"
    missed = explain("llama-3.1-70b", "8x h100", wish=ServingWish(users=2000), work=limits)
    assert {one.limit for one in missed.broken} <= {"ttft_s", "tpot_s"}
    assert explain_page._verdict(missed).tone == "bad"


def test_a_default_limit_that_is_typed_moves_no_figure_of_explain():
    plain = explain("qwen3-8b", "rtx 4090")
    typed = explain("qwen3-8b", "rtx 4090", work=PlanWish(ttft_s=5.0))
    assert typed.layout == plain.layout
    assert typed.serving == plain.serving
    assert typed.speed.tpot_s == plain.speed.tpot_s
    assert typed.speed.ttft_s == plain.speed.ttft_s
