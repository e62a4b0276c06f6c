"""What to change when a training does not fit: each change is the same law with another setting."""

from __future__ import annotations

import json
import re

import pytest

from rigright.arch.sources.open import open_model
from rigright.demand import TrainingWish
from rigright.faces.cli.main import main
from rigright.facts.nodes import find_node
from rigright.verbs.explain_training import LEAST_SHARE, remedies
from rigright.verbs.training.case import build_case
from rigright.verbs.validate.ask import model_of


def case(model="meta-llama/Llama-3.1-8B", on="1x rtx 4090", **wish):
    return build_case(open_model(model), find_node(on), wish=TrainingWish(**wish))


def flags(found):
    return {one.flag for one in found}


def test_every_change_saves_something_worth_telling():
    for wish in ({}, {"method": "lora", "seq_tok": 8192}, {"trainer": "megatron"}):
        asked = case(**wish)
        for one in remedies(asked):
            assert one.saves_bytes > LEAST_SHARE * asked.card_bytes
            assert str(one.price)


def test_what_is_done_already_is_not_offered():
    done = case(recompute="full", chunked_loss=True, optimizer="adamw-8bit", method="qlora", seq_tok=512)
    offered = flags(remedies(done))
    assert not offered & {"--recompute full", "--chunked-loss", "--optimizer adamw-8bit", "--train qlora"}


def test_sharding_is_offered_where_there_are_replicas():
    fixed = {"sharding": "none", "micro_batch": 1, "recompute": "full"}
    alone, many = (remedies(case(on=on, **fixed)) for on in ("1x a100 40gb", "8x a100 40gb"))
    assert not any(one.flag == "--sharding fsdp" for one in alone)
    assert {"--sharding zero1", "--sharding zero2", "--sharding fsdp"} <= flags(many)
    saved = {one.flag: one.saves_bytes for one in many}
    assert saved["--sharding zero1"] < saved["--sharding fsdp"]
    assert saved["--sharding zero2"] < saved["--sharding fsdp"]


def test_flash_attention_is_offered_where_scores_are_kept():
    assert "--flash" in flags(remedies(case(flash=False, seq_tok=4096, recompute="none")))
    assert "--flash" not in flags(remedies(case(seq_tok=4096)))


def test_shorter_sequences_are_offered_for_long_ones_alone():
    assert "--seq 2048" in flags(remedies(case(seq_tok=4096)))
    assert not any((one.flag or "").startswith("--seq") for one in remedies(case(seq_tok=512)))


def test_gentle_changes_together_are_as_few_as_are_enough():
    asked = case("Qwen/Qwen2.5-7B", method="qlora", seq_tok=4096, micro_batch=2)
    found = remedies(asked)
    together = [one for one in found if str(one.change).count(";")]
    if any(
        one.fits and not {"--train", "--seq"} & set((one.flag or "").split())
        for one in found
        if one not in together
    ):
        assert not together
    else:
        (best,) = together
        assert best.fits
        assert "--train" not in best.flag
        assert "--seq" not in best.flag


def test_images_are_not_offered_shorter_sequences_or_4_bit():
    asked = case("microsoft/resnet-50", on="1x rtx 3060", micro_batch=4096)
    offered = flags(remedies(asked))
    assert "--micro-batch 1" in offered
    assert "--train qlora" not in offered
    assert not any((flag or "").startswith("--seq") for flag in offered)


def test_free_memory_counts_where_it_is_known():
    whole = case()
    part = case(on="RTX 4090, 24564 MiB, 20 GiB free")
    assert part.card_bytes < whole.card_bytes


@pytest.mark.parametrize(
    "row",
    [
        {"arch": "mistralai/Mistral-7B-v0.1", "shape": "layers=1", "model": "nonsense"},
        {"shape": "layers=32,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=32000,gated=yes", "model": "x"},
        {"model": "mistral 7b v0.1"},
    ],
)
def test_a_row_names_its_model_by_arch_else_shape_else_name(row):
    arch, notes = model_of(row)
    assert len(arch.trunk.layers) == 32
    assert notes == ()


def test_the_command_answers_in_text_and_json(capsys):
    code = main(["explain", "llama-3.1-8b", "--on", "rtx 4090", "--train", "qlora", "--recompute", "full"])
    assert code == 0
    assert re.match(r"✓ 1x RTX 4090 \w+ Llama-3\.1-8B \(QLoRA\): ", capsys.readouterr().out)
    code = main(["explain", "llama-3.1-8b", "--on", "rtx 4090", "--train", "full", "--json"])
    assert code == 0  # answered, though it does not fit
    data = json.loads(capsys.readouterr().out)
    assert data["fits"] is False
    assert data["remedies"]


def test_the_command_refuses_in_a_sentence_and_a_hint(capsys):
    assert main(["explain", "llama-3.1-8b", "--on", "rtx 4090", "--train", "full", "--micro-batch", "0"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error.endswith(": --micro-batch is 0")
    assert hint
