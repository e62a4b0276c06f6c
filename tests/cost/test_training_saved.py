"""Saved activations against PyTorch's own count (scripts/oracle_training.py wrote saved_by_torch.json)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.read import read_config
from rigright.arch.record import Arch, Layer
from rigright.cost.training.saved import Batch, Saved, layer_input, layer_saved, layer_working
from rigright.demand import Layout, Training
from rigright.terms.training import set_up

TORCH = json.loads((Path(__file__).parent / "saved_by_torch.json").read_text(encoding="utf-8"))
ROWS = TORCH["rows"]
SMALL_SHARE = 0.025  # statistics, router scores, low-rank products: counted roughly
VIEWS_SHARE = 0.12  # a fused projection whose values are a view of it keeps queries and keys twice


def name_of(row):
    words = (row.get("targets", "full"), row.get("precision", ""), row.get("recompute", ""))
    return "-".join(filter(None, (row["model"], row.get("attention", ""), *words))).replace(" ", "")


def arch_of(row) -> Arch:
    values = row["config"] | {"num_hidden_layers": 2}
    return read_config(values, row["model"])


def training_of(row) -> Training:
    precision = row.get("precision") or (None if row.get("autocast") else "bf16")
    return Training(
        method="lora" if "targets" in row else "full",
        targets=row.get("targets", "attn"),
        precision=precision,
        recompute=row.get("recompute", "none"),
        flash=row.get("attention") != "eager",
        seq_tok=row["seq_tok"],
    )


def measured(row) -> tuple[Layer, float, float, float]:
    """The layer, and what our law says it keeps, works with and keeps when recomputed."""
    arch, training = arch_of(row), training_of(row)
    habit = set_up(training, hidden=arch.trunk.hidden).habit
    layer = arch.trunk.layers[0]
    heads = layer.mixer.kv_heads
    batch = Batch(samples=1, seq_tok=row["seq_tok"], layout=Layout(), kv_heads=heads)
    kept, works = batch.size_of(layer_saved(layer, habit)), batch.size_of(layer_working(layer, habit))
    return layer, float(kept), float(works), float(batch.size_of(layer_input(habit)))


@pytest.mark.parametrize("row", [row for row in ROWS if row.get("recompute") != "full"], ids=name_of)
def test_a_layer_keeps_what_torch_keeps(row):
    layer, kept, _, _ = measured(row)
    if row.get("precision") == "bf16-amp":  # autocast keeps a 16-bit copy of every matrix as well
        kept += 2 * sum(w.shape[0] * w.shape[1] for w in layer.weights if len(w.shape) == 2)
    share = VIEWS_SHARE if row["model"] == "gpt_neox" else SMALL_SHARE
    assert kept == pytest.approx(row["kept_bytes"], rel=share)


@pytest.mark.parametrize("row", [row for row in ROWS if row.get("recompute") == "full"], ids=name_of)
def test_full_recompute_keeps_the_input_alone(row):
    _, _, _, inputs = measured(row)
    assert inputs == row["kept_bytes"]


def test_the_working_set_of_a_recomputed_layer_is_torchs_peak():
    row = next(row for row in ROWS if row.get("recompute") == "full" and "targets" in row)
    _, kept, works, inputs = measured(row)
    vocab, tokens = row["config"]["vocab_size"], row["seq_tok"]
    logits = 2 * vocab * tokens  # the output holds them to the end
    ours = inputs * 2 + kept + works + logits
    assert ours == pytest.approx(row["peak2_bytes"], rel=0.03)


def test_logits_stand_fourteen_bytes_wide_at_the_peak():
    """bf16 logits 2, log-softmax 4, the gradient of the loss 4, that of log-softmax 4."""
    row = ROWS[0]
    assert set_up(training_of(row), hidden=1).trainer.logit == 14


def test_the_oracle_counted_more_than_one_family():
    assert len({row["model"] for row in ROWS}) >= 4
    assert "torch" in TORCH["by"]


def llama(**changes) -> Arch:
    values = {
        "model_type": "llama",
        "hidden_size": 1024,
        "intermediate_size": 2816,
        "num_attention_heads": 16,
    }
    values |= {"num_key_value_heads": 4, "vocab_size": 32000, "num_hidden_layers": 4}
    return read_config(values | changes, "llama")


def kept_of(training: Training, layout: Layout, arch: Arch | None = None) -> float:
    arch = arch or llama()
    habit = set_up(training, hidden=arch.trunk.hidden).habit
    batch = Batch(samples=1, seq_tok=training.seq_tok, layout=layout, kv_heads=4)
    return float(batch.size_of(layer_saved(arch.trunk.layers[0], habit)))


def test_megatron_keeps_34_bytes_an_element_of_a_gpt_layer():
    """Korthikanti et al. 2022: 34 s b h with attention recomputed; 24/t + 10 with tensor parallelism."""
    values = {"model_type": "gpt2", "n_embd": 1024, "n_head": 16, "n_layer": 2, "vocab_size": 50257}
    arch = read_config(values | {"n_positions": 1024, "n_ctx": 1024}, "gpt2")
    training = Training(trainer="megatron", seq_tok=1024)
    sbh = 1024 * 1024
    statistics = 4 * 16 * 1024  # log-sum-exp of the heads, which the paper leaves out
    assert kept_of(training, Layout(), arch) - statistics == pytest.approx(34 * sbh, rel=0.001)
    cut = kept_of(training, Layout(tp=4), arch) - statistics / 4
    assert cut == pytest.approx((10 + 24 / 4) * sbh, rel=0.001)
    both = kept_of(training, Layout(tp=4, sequence_parallel=True), arch) - statistics / 4
    assert both == pytest.approx(34 / 4 * sbh, rel=0.001)


@given(st.sampled_from(["hf", "liger", "megatron", "torchtitan", "unsloth", "pytorch"]), st.integers(1, 3))
def test_fewer_things_are_kept_by_every_way_to_save_memory(trainer, doublings):
    base = Training(trainer=trainer, seq_tok=1024, recompute="none")
    layout = Layout(tp=2**doublings)
    assert kept_of(base, layout) < kept_of(base, Layout())
    assert kept_of(Training(trainer=trainer, seq_tok=1024, recompute="selective"), Layout()) <= kept_of(
        base, Layout()
    )
    assert (
        kept_of(Training(trainer=trainer, seq_tok=1024, method="lora"), Layout())
        < kept_of(base, Layout()) + 8 * 1024 * 1024 * 4
    )
    eager = Training(trainer=trainer, seq_tok=1024, flash=False)
    assert kept_of(eager, Layout()) > kept_of(base, Layout())


@given(st.integers(1, 8), st.integers(64, 4096))
def test_kept_bytes_grow_with_tokens_alone_under_flash_attention(times, tokens):
    one = kept_of(Training(seq_tok=tokens), Layout())
    many = kept_of(Training(seq_tok=tokens * times), Layout())
    assert many == pytest.approx(one * times)


def test_scores_grow_with_the_square_without_flash_attention():
    short, long = (kept_of(Training(seq_tok=tokens, flash=False), Layout()) for tokens in (1024, 2048))
    flash = kept_of(Training(seq_tok=1024), Layout())
    assert long - 2 * short == pytest.approx(2 * 6 * 16 * 1024**2)
    assert short > flash


def test_saved_parts_add_up():
    one, other = Saved(whole=1, split=2), Saved(whole=3, pair=4)
    assert one + other == Saved(whole=4, split=2, pair=4)


def test_experts_keep_one_copy_for_each_expert_a_token_goes_to():
    values = {"model_type": "mixtral", "hidden_size": 512, "intermediate_size": 1792, "num_hidden_layers": 2}
    values |= {"num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 1000, "num_local_experts": 8}
    two = read_config(values | {"num_experts_per_tok": 2}, "mixtral")
    four = read_config(values | {"num_experts_per_tok": 4}, "mixtral")
    habit = set_up(Training(), hidden=512).habit
    less, more = (layer_saved(arch.trunk.layers[0], habit) for arch in (two, four))
    assert more.expert == 2 * less.expert
    assert more.stream > less.stream


def test_fp8_keeps_half_of_each_linear_input():
    wide = kept_of(Training(trainer="megatron", precision="bf16-mixed", seq_tok=128), Layout())
    narrow = kept_of(Training(trainer="megatron", precision="fp8", seq_tok=128), Layout())
    assert 0.7 < narrow / wide < 0.95


def test_a_mask_byte_is_kept_where_something_drops_out():
    dry = kept_of(Training(trainer="megatron", dropout=0.0, seq_tok=128), Layout())
    wet = kept_of(Training(trainer="megatron", dropout=0.1, seq_tok=128), Layout())
    assert wet - dry == 2 * 1024 * 128


def test_state_space_layers_keep_something_too():
    values = {"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 2, "vocab_size": 1000}
    values |= {
        "state_size": 16,
        "conv_kernel": 4,
        "expand": 2,
        "time_step_rank": 48,
        "intermediate_size": 1536,
    }
    arch = read_config(values, "mamba")
    habit = set_up(Training(), hidden=768).habit
    assert layer_saved(arch.trunk.layers[0], habit).split > 0
