"""`explain --train`: what a method has no use for, counts beyond all sense, and pages all in one language."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rigright.base.errors import AskError
from rigright.base.words import CHINESE, tell
from rigright.demand import PlanWish
from rigright.faces.cli.main import main
from rigright.facts.training import find_optimizer, optimizers, precisions
from rigright.verbs.plan import plan

ASK = ["explain", "mistralai/Mistral-7B-v0.1", "--on", "rtx 4090"]


def test_a_flag_the_method_has_no_use_for_is_refused(capsys):
    for method, flag, value in (
        ("full", "--rank", "5"),
        ("full", "--targets", "all"),
        ("full", "--base", "nf4"),
        ("lora", "--base", "nf4"),
    ):
        assert main([*ASK, "--train", method, flag, value]) == 2
        assert re.search(rf"{flag} .*--train qlora", capsys.readouterr().err), (method, flag)


def test_the_same_flags_serve_where_they_are_for(capsys):
    assert main([*ASK, "--train", "qlora", "--rank", "5", "--targets", "all", "--base", "nf4"]) == 0
    assert capsys.readouterr().err == ""


def test_a_count_beyond_all_sense_is_refused(capsys):
    for flag in ("--seq", "--micro-batch", "--accumulate"):
        assert main([*ASK, "--train", "full", flag, "1000000000000"]) == 2
        refused = capsys.readouterr().err
        assert f"{flag} is 1000000000000" in refused
        assert "2,147,483,648" in refused, flag


def test_what_is_near_nothing_is_not_called_near():
    with pytest.raises(AskError, match='"zz"') as caught:
        find_optimizer("zz")
    assert all(name in str(caught.value.hint) for name in optimizers())
    with pytest.raises(AskError) as caught:
        find_optimizer("adamww")
    assert "adamw" in str(caught.value.hint)
    assert "muon" not in str(caught.value.hint)


def test_the_labels_of_precisions_are_told_in_chinese():
    for precision in precisions().values():
        assert not re.search(r"\b(?:with|and|under|pure|parameters)\b", tell(precision.said, CHINESE))


def test_numbers_of_reasons_are_told_in_chinese(capsys):
    assert main([*ASK, "--train", "lora", "--why", "--lang", "zh", "--width", "400"]) == 0
    shown = capsys.readouterr().out
    assert "最后一层每个 token 占" in shown
    for english in ("per token in the last layer", "gradients of FFN width", "parameters under"):
        assert english not in shown


def test_a_length_that_nobody_stated_is_halved_before_a_machine_is_refused():
    wish = PlanWish(work="finetune", method="qlora", on="rtx 4060 ti 16gb", samples=5000)
    found = plan("qwen3-14b", wish=wish)
    assert (found.fits, found.first.work.seq_tok, found.open_length) == (True, 1024, False)
    assert not plan("qwen3-14b", wish=replace(wish, seq_tok=2048)).fits
