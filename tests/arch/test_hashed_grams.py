"""Qwen4-Exp: tables of hashed n-grams, hyper-connections and indexers, against another program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rigright.arch import cache, count
from rigright.arch.read import read_config
from rigright.arch.record import is_matrix
from rigright.base.errors import DataError

CASES = json.loads((Path(__file__).parent / "qwen4_exp_reference.json").read_text(encoding="utf-8"))["cases"]
PROMPTS_TOK = (128, 256)
POSITION_BYTES = 3 * 8  # Transformers keeps each token's three positions beside the cache; engines need not


def small(**changes):
    return read_config({**CASES[1]["config"], **changes}, "small")


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_parameters_and_caches_equal_the_other_programs(case):
    arch = read_config(case["config"], "small")
    assert count.params(arch) == case["params"]
    assert count.embedding_params(arch) == case["embedding_params"]
    grown, constant = cache.kv_bytes_per_token(arch), cache.kv_constant_bytes(arch)
    assert [constant + (grown + POSITION_BYTES) * prompt for prompt in PROMPTS_TOK] == case["cache_bytes"]
    assert arch.warnings == ()


def test_tables_have_as_many_rows_as_the_next_primes_together():
    tables = [w for layer in small().trunk.layers for w in layer.weights if w.role == "embed.ngram"]
    primes = [997, 1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061, 1063, 1069, 1087, 1091, 1093]
    assert tables[0].shape == (-(-sum(primes) // 128) * 128, 128 // 16)
    assert tables[1].shape[0] > tables[0].shape[0]  # the second layer takes the primes after these
    assert not any(map(is_matrix, tables))


def test_looking_up_costs_no_multiplication():
    few, many = small(ngram_vocab_size_base=100), small(ngram_vocab_size_base=10_000)
    assert count.params(many) > 2 * count.params(few)
    assert count.flops_per_tok(many.trunk) == count.flops_per_tok(few.trunk)


@pytest.mark.parametrize(
    "changes",
    [
        {"ngram_size": 1},
        {"heads_per_ngram": 10**6},
        {"ple_embed_dim": 129},
        {"ple_layer_ids": "all"},
        {"ple_layer_ids": list(range(1, 9999))},
        {"ngram_vocab_size_base": 10**12},
        {"ple_layer_ids": [-5]},
        {"ple_layer_ids": [7]},
    ],
)
def test_what_cannot_be_is_refused_at_once(changes):
    with pytest.raises(DataError):
        small(**changes)
