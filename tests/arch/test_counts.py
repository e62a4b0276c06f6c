"""Every parameter count we were given, exact to the last parameter, and what a count must obey."""

from __future__ import annotations

import csv
import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from rigright.arch import count
from rigright.arch.read import read_config
from rigright.arch.record import Weight

TABLE = Path(__file__).parents[2].parent / "shared" / "models" / "params.csv"
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines())) if TABLE.is_file() else []

SMALL = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": 100,
}


def config_of(shared: Path, model: str) -> dict[str, object]:
    path = shared / "models" / "configs" / f"{model.replace('/', '__')}.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", ROWS, ids=[row["model"] for row in ROWS])
def test_every_published_row_is_exact(shared, row):
    arch = read_config(config_of(shared, row["model"]), row["model"])
    assert count.params(arch) == int(row["params"])
    if row["embedding_params"]:
        assert count.embedding_params(arch) == int(row["embedding_params"])
    if row["active_params"]:
        assert count.active_params(arch) == int(row["active_params"])
    if row["tied"]:
        assert str(arch.tied) == row["tied"]


def test_tying_saves_exactly_one_table():
    tied = read_config({**SMALL, "tie_word_embeddings": True}, "tied")
    apart = read_config({**SMALL, "tie_word_embeddings": False}, "apart")
    assert count.params(apart) - count.params(tied) == count.embedding_params(tied) == 6400


def test_a_tied_head_still_multiplies():
    tied = read_config({**SMALL, "tie_word_embeddings": True}, "tied")
    apart = read_config({**SMALL, "tie_word_embeddings": False}, "apart")
    assert count.flops_per_tok(tied.trunk, head_tied=True) == count.flops_per_tok(apart.trunk)


def test_a_layer_more_adds_a_layer():
    three, four = (read_config({**SMALL, "num_hidden_layers": n}, "n") for n in (3, 4))
    own = sum(count.elems(weight) * weight.copies for weight in four.trunk.layers[0].weights)
    assert count.params(four) - count.params(three) == own


def test_only_routed_experts_make_a_difference_between_all_and_active():
    dense = read_config(SMALL, "dense")
    assert count.active_params(dense) == count.params(dense)
    expert = Weight(role="expert.up", shape=(8, 64), copies=16, used=2)
    layer = replace(dense.trunk.layers[0], weights=(*dense.trunk.layers[0].weights, expert))
    sparse = replace(dense, towers=(replace(dense.trunk, layers=(layer,)),))
    assert count.params(sparse) - count.active_params(sparse) == 14 * 8 * 64


def test_flops_are_twice_the_matrices():
    arch = read_config({**SMALL, "tie_word_embeddings": False}, "flops")
    norms = 64 * (2 * 3 + 1)
    assert count.flops_per_tok(arch.trunk) == 2 * (count.params(arch) - count.embedding_params(arch) - norms)


def test_pairs_cost_scores_and_sums():
    mixer = read_config(SMALL, "pairs").trunk.layers[0].mixer
    assert mixer is not None
    assert count.flops_per_pair(mixer) == 2 * 4 * (16 + 16)


def test_a_remembered_hash_is_nobody_elses():
    arch = read_config(SMALL, "one")
    first = hash(arch)
    assert hash(read_config(SMALL, "one")) == first
    assert hash(replace(arch, name="another")) != first
    again = pickle.loads(pickle.dumps(arch))  # noqa: S301 - our own
    assert again == arch
    assert not hasattr(again, "_hash")  # another process throws other dice
    assert "_hash" not in repr(arch)


def test_layers_that_are_equal_but_not_one_are_counted_together():
    arch = read_config(SMALL, "one")
    twin = replace(arch.trunk, layers=tuple(replace(layer) for layer in arch.trunk.layers))
    assert count.alike(twin) == count.alike(arch.trunk) == {arch.trunk.layers[0]: 3}
