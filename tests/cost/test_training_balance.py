"""A training step against what must hold of any: work conserved, bytes by hand, time against memory."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.count import flops_per_tok
from rigright.arch.sources import zoo
from rigright.arch.sources.open import open_model
from rigright.cost.training.time import days, exposed_s
from rigright.cost.training.work import effort_of, model_flops_per_tok, pairs_of
from rigright.demand import Layout, Training
from rigright.facts.chips import by_id, chips
from rigright.predict.trained import steps
from rigright.predict.trained_memory import training_memory
from rigright.terms.training import set_up, training_rates

H100 = "h100-sxm5-80gb"
LLAMA = zoo.arch("meta-llama/Llama-3.1-8B")
MIXTRAL = zoo.arch("mistralai/Mixtral-8x7B-v0.1")
GEMMA = zoo.arch("google/gemma-3-27b-it")
MODELS = {"llama": LLAMA, "mixtral": MIXTRAL, "gemma": GEMMA}
TRAINERS = ("hf", "megatron", "torchtitan", "deepspeed")
BASE = Training(trainer="megatron", seq_tok=4096, accumulate=8)
PARTS = ("forward", "backward", "recompute", "optimizer", "tp", "dp", "pp", "ep", "cp", "bubble", "host")

models = st.sampled_from(sorted(MODELS))
trainers = st.sampled_from(TRAINERS)
trained = st.sampled_from([one.id for one in chips() if one.training_flops_per_s and one.mem_bytes_per_s])
widths = st.sampled_from([1, 2, 4, 8])
lengths = st.sampled_from([512, 2048, 8192, 32768])
recomputes = st.sampled_from(["none", "selective", "full"])
shardings = st.sampled_from(["none", "zero1", "zero2", "zero3", "fsdp"])


@cache
def rates(training, chip, hidden):
    return training_rates([by_id()[chip]], set_up(training, hidden=hidden))


def timed(training=BASE, layout=None, *, arch=LLAMA, chip=H100):
    return steps(arch, training, layout=layout or Layout(), rates=rates(training, chip, arch.trunk.hidden))


def one(value):
    return float(np.ravel(value)[0])


def step_s(*args, **kwargs):
    return one(timed(*args, **kwargs).step_s)


def rank_bytes(training, layout, arch=LLAMA):
    return one(training_memory(arch, training, layout=layout).allocated_bytes)


@given(model=models, chip=trained, trainer=trainers, tp=widths, pp=widths, dp=widths, seq=lengths,
       recompute=recomputes, sharding=shardings)  # fmt: skip
def test_a_step_is_the_sum_of_its_parts_on_every_chip_and_nobody_does_more_than_the_peak(
    *, model, chip, trainer, tp, pp, dp, seq, recompute, sharding
):
    training = Training(trainer=trainer, seq_tok=seq, accumulate=4, recompute=recompute, sharding=sharding)
    found = timed(training, Layout(tp=tp, pp=pp, dp=dp), arch=MODELS[model], chip=chip)
    parts = [one(getattr(found, f"{name}_s")) for name in PARTS]
    assert all(np.isfinite(part) and part >= -1e-12 for part in parts)
    assert sum(parts) == pytest.approx(one(found.step_s))
    assert 0 < one(found.mfu) <= one(found.hfu) <= 1
    tok = seq * 4 * dp
    assert one(found.tok_per_step) == pytest.approx(tok)
    assert one(found.tok_per_s_per_chip) * one(found.step_s) * tp * pp * dp == pytest.approx(tok)


@given(model=models, trainer=trainers, tp=widths, seq=lengths, micro=st.sampled_from([1, 2, 8]))
def test_recompute_buys_memory_with_time(model, trainer, tp, seq, micro):
    kept, again = (
        Training(trainer=trainer, seq_tok=seq, micro_batch=micro, accumulate=4, recompute=level)
        for level in ("none", "full")
    )
    layout, arch = Layout(tp=tp), MODELS[model]
    assert step_s(again, layout, arch=arch) > step_s(kept, layout, arch=arch)
    assert one(timed(kept, layout, arch=arch).recompute_s) == 0
    assert rank_bytes(again, layout, arch) <= rank_bytes(kept, layout, arch)
    ratio = one(timed(again, layout, arch=arch).hfu) / one(timed(again, layout, arch=arch).mfu)
    assert 1 < ratio <= 4 / 3 + 0.05, "forward once more: a third of three"


@given(model=models, trainer=trainers, tp=widths, micro=st.integers(1, 16), more=st.integers(1, 16))
def test_more_tokens_take_longer_and_each_of_them_no_longer(model, trainer, tp, micro, more):
    small, large = (
        Training(trainer=trainer, seq_tok=2048, micro_batch=count, accumulate=4)
        for count in (micro, micro + more)
    )
    few, many = (timed(one_, Layout(tp=tp), arch=MODELS[model]) for one_ in (small, large))
    assert one(many.step_s) > one(few.step_s)
    assert one(many.tok_per_s_per_chip) >= one(few.tok_per_s_per_chip) * (1 - 1e-9)


@given(trainer=trainers, gathered=st.integers(1, 64), more=st.integers(1, 64), dp=widths)
def test_gathering_more_micro_batches_a_step_never_slows_a_token(trainer, gathered, more, dp):
    """Optimizer and gradients are once a step, whatever is in it."""
    few, many = (
        timed(Training(trainer=trainer, seq_tok=2048, accumulate=count), Layout(dp=dp))
        for count in (gathered, gathered + more)
    )
    assert one(many.tok_per_s_per_chip) >= one(few.tok_per_s_per_chip) * (1 - 1e-9)
    assert one(many.optimizer_s) == pytest.approx(one(few.optimizer_s))


@given(model=models, sharding=shardings, dp=st.sampled_from([1, 2, 8, 64]), more=st.sampled_from([2, 4, 8]))
def test_more_replicas_do_more_together_and_no_more_each(model, sharding, dp, more):
    training = replace(BASE, sharding=sharding)
    few, many = (timed(training, Layout(dp=count), arch=MODELS[model]) for count in (dp, dp * more))
    assert one(many.samples_per_s) >= one(few.samples_per_s)
    divided = one(few.optimizer_s) - one(many.optimizer_s)  # shards of states become smaller
    assert one(many.step_s) >= one(few.step_s) - divided - 1e-12


@given(model=models, chip=trained, tp=widths, more=st.sampled_from([2, 4]))
def test_more_ranks_never_raise_what_one_of_them_computes(model, chip, tp, more):
    few, many = (timed(BASE, Layout(tp=count), arch=MODELS[model], chip=chip) for count in (tp, tp * more))
    for name in ("forward_s", "backward_s", "optimizer_s"):
        assert one(getattr(many, name)) <= one(getattr(few, name)) * (1 + 1e-9), name


@pytest.mark.parametrize("model", sorted(MODELS))
@given(training=st.builds(Training, trainer=trainers, recompute=recomputes, sharding=shardings,
                          accumulate=st.just(4), seq_tok=lengths))  # fmt: skip
def test_a_chip_alone_sends_nothing(model, training):
    found = timed(training, Layout(), arch=MODELS[model])
    for name in ("tp", "dp", "pp", "ep", "cp", "bubble"):
        assert one(getattr(found, f"{name}_s")) == pytest.approx(0, abs=1e-9), name


@pytest.mark.parametrize("sharding", ["none", "zero1", "fsdp"])
def test_gradients_on_the_wire_are_as_many_bytes_as_reckoned_by_hand(sharding):
    """Eight ranks in boxes of their own, one port each, nothing hidden: bytes over the port's rate.

    Llama-3.1-8B: every gradient (2 or 4 bytes) round the ring once to be summed, and gradients or weights
    once more to be brought back; where weights are gathered layer by layer, once more for backward.
    """
    training = replace(BASE, sharding=sharding, accumulate=1, trainer="megatron")
    setup = set_up(training, hidden=LLAMA.trunk.hidden)
    bare = replace(rates(training, H100, LLAMA.trunk.hidden), dp_bare=1.0, spread=0.0)
    lone = replace(bare.wire, domain=np.array([1.0]), box=np.array([1.0]), start_s=0.0, hop_s=0.0,
                   outer_start_s=np.array([0.0]), box_start_s=0.0)  # fmt: skip
    found = steps(LLAMA, training, layout=Layout(dp=8), rates=replace(bare, wire=lone))
    grad, gather = max(setup.precision.grad, 2), setup.precision.gather
    width = {"none": 2 * grad, "zero1": grad + gather, "fsdp": grad + 2 * gather}[sharding]
    elems = 8.03e9
    expected = 7 / 8 * elems * width / one(lone.outer_bytes_per_s)
    assert one(found.dp_s) == pytest.approx(expected, rel=0.02)


@given(
    sent=st.floats(0, 10), cover=st.floats(0, 10), bare=st.floats(0, 1), more=st.floats(0, 5),
)  # fmt: skip
def test_what_is_hidden_is_no_more_than_what_hides_it(sent, cover, bare, more):
    shown = float(exposed_s(sent, cover_s=cover, bare=bare))
    assert bare * sent - 1e-12 <= shown <= sent + 1e-12
    assert sent - shown <= cover + 1e-12
    assert float(exposed_s(sent + more, cover_s=cover, bare=bare)) >= shown - 1e-12
    assert float(exposed_s(sent, cover_s=cover + more, bare=bare)) <= shown + 1e-12


@pytest.mark.parametrize(
    ("name", "billions", "tok"),
    [
        ("meta-llama/Llama-3.1-8B", 7.505, 8192), ("meta-llama/Llama-3.1-70B", 69.5, 4096),
        ("mistralai/Mixtral-8x7B-v0.1", 12.75, 2048), ("Qwen/Qwen2.5-7B", 7.07, 4096),
    ],
)  # fmt: skip
def test_flops_of_a_token_are_six_for_each_weight_it_meets_and_its_share_of_the_scores(name, billions, tok):
    """PaLM's count (appendix B), with half of the score matrix where a causal mask leaves half."""
    arch = zoo.arch(name)
    trunk = arch.trunk
    width = trunk.layers[0].mixer.heads * trunk.layers[0].mixer.key_dim
    expected = 6 * billions * 1e9 + 6 * len(trunk.layers) * width * tok
    assert float(model_flops_per_tok(effort_of(arch), tok)) == pytest.approx(expected, rel=0.01)


@given(tok=st.integers(2, 3000), window=st.integers(1, 3000))
def test_keys_that_a_token_meets_counted_one_by_one(tok, window):
    """Token n sees n of those before it, or as many as its window holds."""
    mixer = replace(LLAMA.trunk.layers[0].mixer, window_tok=window)
    places = np.arange(tok)
    counted = np.minimum(places + 0.5, window).mean()
    assert float(pairs_of(mixer, tok)) == pytest.approx(counted, rel=0.02, abs=0.51)
    whole = replace(mixer, window_tok=None)
    assert float(pairs_of(whole, tok)) == pytest.approx((places + 0.5).mean())


@given(tok=st.floats(1e6, 1e13), ranks=st.integers(1, 4096), more=st.floats(1, 10))
def test_days_grow_with_tokens_and_shrink_with_ranks(tok, ranks, more):
    time = timed()
    told = one(days(tok, time, ranks=ranks))
    assert one(days(tok * more, time, ranks=ranks)) == pytest.approx(told * more)
    assert one(days(tok, time, ranks=ranks * 2)) == pytest.approx(told / 2)
    assert told * 86_400 * one(time.tok_per_s_per_chip) * ranks == pytest.approx(tok)


@given(
    rank=st.integers(1, 256), more=st.integers(1, 256), trainer=st.sampled_from(["hf", "unsloth", "axolotl"])
)
def test_adapters_cost_less_than_all_weights_and_wider_ones_no_less(rank, more, trainer):
    narrow, wide = (
        Training(trainer=trainer, method="lora", targets="all", rank=width, seq_tok=2048, accumulate=4)
        for width in (rank, rank + more)
    )
    full = Training(
        trainer=trainer, seq_tok=2048, accumulate=4, recompute=set_up(narrow, hidden=4096).habit.recompute
    )
    assert step_s(narrow) <= step_s(wide)
    if rank <= 64:
        assert step_s(narrow) < step_s(full)
    assert one(timed(narrow).optimizer_s) <= one(timed(full).optimizer_s)


@given(
    tps=st.lists(widths, min_size=1, max_size=3), dps=st.lists(widths, min_size=1, max_size=3),
    sharding=shardings, model=models,
)  # fmt: skip
def test_layouts_against_each_other_are_as_one_by_one(tps, dps, sharding, model):
    training, arch = replace(BASE, sharding=sharding), MODELS[model]
    table = timed(training, Layout(tp=np.array(tps)[:, None], dp=np.array(dps)), arch=arch).step_s
    for row, tp in enumerate(tps):
        for column, dp in enumerate(dps):
            assert table[row, column] == step_s(training, Layout(tp=tp, dp=dp), arch=arch)


def test_a_window_of_sound_is_heard_once_however_long_its_text():
    """Whisper's encoder works on 30 s for each sample, and not for each token of it."""
    arch = open_model("whisper-large-v3")
    encoder = next(tower for tower in arch.towers if tower.name == "encoder")
    whole = {tok: float(model_flops_per_tok(effort_of(arch), tok)) * tok for tok in (112, 448)}
    assert 3 * flops_per_tok(encoder) < whole[112] < whole[448] < 2 * whole[112]
    assert whole[448] == pytest.approx(6 * 637e6 * 1500 + 6 * 906e6 * 448, rel=0.35)
