"""Every cache figure we were given, exact to the byte, and what a cache must obey."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch import cache
from rigright.arch.read import read_config
from rigright.arch.record import Arch, Layer, Mix, Mixer, Tower

TABLE = Path(__file__).parents[2].parent / "shared" / "models" / "kv.csv"
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines())) if TABLE.is_file() else []


def arch_of(*mixers: Mixer) -> Arch:
    layers = tuple(Layer(weights=(), mixer=mixer) for mixer in mixers)
    return Arch(name="x", family="x", task="text", towers=(Tower(name="text", hidden=8, layers=layers),))


def attention(kind: Mix = Mix.FULL, **more: object) -> Mixer:
    return Mixer(kind=kind, heads=8, kv_heads=2, key_dim=64, value_dim=64, **more)


@pytest.mark.parametrize("row", ROWS, ids=[row["model"] for row in ROWS])
def test_every_measured_row_is_exact(shared, row):
    path = shared / "models" / "configs" / f"{row['model'].replace('/', '__')}.json"
    arch = read_config(json.loads(path.read_text(encoding="utf-8")), row["model"])
    assert cache.kv_bytes_per_token(arch) == int(row["kv_bytes_per_token_bf16"])
    assert cache.kv_constant_bytes(arch) == int(row["constant_bytes_per_sequence"])


def test_a_sum_over_layers():
    full, near = attention(), attention(Mix.WINDOW, window_tok=100)
    borrowed = attention(shares_cache=True)
    arch = arch_of(full, full, near, borrowed)
    assert cache.kv_bytes_per_token(arch) == 2 * (2 * 2 * 64) * 2
    assert cache.kv_constant_bytes(arch) == 99 * (2 * 2 * 64) * 2 + 8


def test_a_latent_is_shared_by_all_heads_and_an_indexer_adds_its_keys():
    latent = Mixer(
        kind=Mix.LATENT, heads=128, kv_heads=1, key_dim=192, value_dim=128, latent_dim=576, index_dim=128
    )
    assert cache.kv_bytes_per_token(arch_of(latent)) == (576 + 128) * 2


def test_states_are_constant_and_keep_their_own_precision():
    state = Mixer(kind=Mix.SSM, state32_elems=1000, state16_elems=10)
    assert cache.kv_bytes_per_token(arch_of(state)) == 0
    assert cache.kv_constant_bytes(arch_of(state)) == 4020


def test_a_compressed_cache_may_grow_by_a_fraction():
    assert cache.kv_bytes_per_token(arch_of(attention(every_tok=3))) == pytest.approx(512 / 3)
    assert isinstance(cache.kv_bytes_per_token(arch_of(attention(every_tok=4))), int)


def test_an_encoder_keeps_nothing():
    assert cache.kv_bytes_per_token(arch_of(attention(Mix.BOTH))) == 0


def test_whisper_keeps_the_keys_of_its_encoder():
    raw = {"model_type": "whisper"}
    arch = read_config(raw, "whisper")
    crossed = [layer.cross for layer in arch.trunk.layers if layer.cross is not None]
    held = sum(cache.entry_elems(mixer) for mixer in crossed) * 1500 * 2
    assert cache.kv_constant_bytes(arch) == held > 0


@given(window=st.integers(1, 10_000), layers=st.integers(1, 8))
def test_a_window_never_holds_more_than_full_attention_would(window, layers):
    near = arch_of(*(attention(Mix.WINDOW, window_tok=window) for _ in range(layers)))
    full = arch_of(*(attention() for _ in range(layers)))
    counters = layers * cache.WINDOW_COUNTER_BYTES
    assert cache.kv_constant_bytes(near) - counters == (window - 1) * cache.kv_bytes_per_token(full)
