"""Optimizers, precisions and training programs: every row."""

from __future__ import annotations

import pytest

from rigright.base.errors import AskError
from rigright.facts.training import (
    find_optimizer,
    find_precision,
    find_trainer,
    optimizers,
    precisions,
    trainers,
)


def test_every_trainer_names_rows_that_are_there():
    for trainer in trainers().values():
        assert trainer.mixed in precisions()
        assert trainer.mixed_sharded in precisions()
        assert trainer.optimizer in optimizers()
        assert trainer.selective in {"core", "ops"}
        assert trainer.recompute in {"none", "selective", "full"}
        assert trainer.source
        assert 0 <= trainer.logit <= 16
        assert 0 <= trainer.dropout < 1


def test_names_and_aliases_are_used_once():
    for table in (optimizers(), precisions(), trainers()):
        names = [name for row in table.values() for name in (row.id, *row.aliases)]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("precision", precisions().values(), ids=lambda row: row.id)
def test_precisions_are_consistent(precision):
    assert precision.param in {2, 4}
    assert precision.residual in {precision.compute, 4}
    assert precision.grad <= precision.state + 2
    assert precision.master in {0, 4}
    assert not (precision.master and precision.param == 4)  # a master copy stands beside 16-bit weights
    assert precision.input <= precision.compute


@pytest.mark.parametrize("optimizer", optimizers().values(), ids=lambda row: row.id)
def test_optimizers_are_consistent(optimizer):
    assert optimizer.source
    assert 0 <= optimizer.copies <= 2
    assert optimizer.bytes is None or 0 < optimizer.bytes <= 8
    assert optimizer.step_copies in {0, 1}


@pytest.mark.parametrize(
    ("asked", "found"),
    [("AdamW", "adamw"), ("paged_adamw_8bit", "adamw-8bit-paged"), ("adamw_torch_fused", "adamw-fused")],
)
def test_loose_names_of_optimizers(asked, found):
    assert find_optimizer(asked).id == found


def test_loose_names_of_precisions_and_trainers():
    assert find_precision("BF16 mixed").id == "bf16-mixed"
    assert find_precision("float32").id == "fp32"
    assert find_trainer("Megatron LM").id == "megatron"
    assert find_trainer("llama-factory").id == "ms-swift"


def test_a_wrong_name_suggests_the_nearest():
    with pytest.raises(AskError, match="adamw"):
        find_optimizer("adanw")
    with pytest.raises(AskError, match="torchtitan"):
        find_trainer("torchtitn")
