"""Laws of the time of a training step: conserved, monotone, arrays as numbers; published runs."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.read import read_config
from rigright.cost.training.rates import matmul_of
from rigright.cost.training.time import TrainingTime, days
from rigright.demand import Layout, Training
from rigright.facts.chips import by_id
from rigright.facts.corrections import corrections
from rigright.predict.trained import steps
from rigright.terms.training import set_up, training_rates

A100, H100, GB200, RTX = "a100-sxm4-80gb", "h100-sxm5-80gb", "gb200", "rtx-4090"
PARTS = ("forward", "backward", "recompute", "optimizer", "tp", "dp", "pp", "ep", "cp", "bubble", "host")


def llama(**changes):
    values = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "num_hidden_layers": 32,
    }
    return read_config(values | changes, "llama")


def gpt(layers, hidden, heads):
    config = {"model_type": "gpt2", "n_layer": layers, "n_embd": hidden, "n_head": heads, "vocab_size": 51200}
    return read_config(config | {"n_positions": 2048}, "gpt")


def mixtral():
    config = {
        "model_type": "mixtral",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 32000,
        "num_hidden_layers": 32,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
    }
    return read_config(config, "mixtral")


LLAMA = llama()
BASE = Training(trainer="megatron", micro_batch=1, seq_tok=8192, accumulate=8, sharding="zero1")


def time_of(training=BASE, layout=None, *, arch=LLAMA, chip=H100, terms=None):
    rates = training_rates([by_id()[chip]], set_up(training, hidden=arch.trunk.hidden), tables=terms)
    return steps(arch, training, layout=layout or Layout(dp=8), rates=rates)


def step(*args, **kwargs):
    return float(np.squeeze(time_of(*args, **kwargs).step_s))


def speed(*args, **kwargs):
    return float(np.squeeze(time_of(*args, **kwargs).tok_per_s_per_chip))


@pytest.mark.parametrize(
    ("training", "layout"),
    [
        (BASE, Layout(dp=8)),
        (replace(BASE, recompute="full"), Layout(tp=2, pp=4, dp=2, sequence_parallel=True)),
        (replace(BASE, sharding="fsdp", trainer="hf"), Layout(dp=16)),
        (replace(BASE, method="qlora", trainer="hf"), Layout()),
        (replace(BASE, schedule="interleaved", virtual_stages=2), Layout(tp=4, pp=4, cp=2)),
    ],
)
def test_parts_add_up_to_the_step(training, layout):
    found = time_of(training, layout)
    total = sum(float(np.squeeze(getattr(found, f"{name}_s"))) for name in PARTS)
    assert total == pytest.approx(float(np.squeeze(found.step_s)))


def test_a_step_holds_the_tokens_of_all_replicas():
    found = time_of(replace(BASE, micro_batch=2, accumulate=3), Layout(dp=4, tp=2))
    assert float(found.tok_per_step) == 2 * 3 * 4 * 8192
    ranks, step_s = 8, float(np.squeeze(found.step_s))
    assert float(np.squeeze(found.tok_per_s_per_chip)) == pytest.approx(2 * 3 * 4 * 8192 / ranks / step_s)
    assert float(np.squeeze(found.samples_per_s)) == pytest.approx(2 * 3 * 4 / step_s)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([1, 2, 4, 8]),
            st.sampled_from([1, 2, 3, 8]),
            st.sampled_from([1, 2, 16]),
            st.sampled_from([1, 2]),
            st.sampled_from([1, 4]),
        ),
        min_size=2,
        max_size=6,
    ),
    st.sampled_from(["none", "zero1", "fsdp", "hsdp"]),
    st.sampled_from(["none", "selective", "full"]),
)
def test_many_layouts_at_once_are_each_as_if_alone(cuts, sharding, recompute):
    training = replace(BASE, sharding=sharding, recompute=recompute)
    tp, pp, dp, cp, micro = (np.array(column) for column in zip(*cuts, strict=True))
    together = time_of(replace(training, micro_batch=micro), Layout(tp=tp, pp=pp, dp=dp, cp=cp))
    for place, cut in enumerate(cuts):
        alone = time_of(
            replace(training, micro_batch=cut[4]), Layout(tp=cut[0], pp=cut[1], dp=cut[2], cp=cut[3])
        )
        for field in fields(TrainingTime):
            whole = np.broadcast_to(getattr(together, field.name), (len(cuts),))
            assert whole[place] == np.squeeze(getattr(alone, field.name))


@given(
    st.sampled_from([A100, H100, GB200, RTX, "mi300x"]),
    st.sampled_from(["megatron", "hf", "torchtitan", "composer"]),
    st.sampled_from([1, 2, 8]),
    st.sampled_from([1, 4]),
    st.sampled_from([1, 8, 64]),
    st.sampled_from([512, 4096, 131072]),
)
def test_every_part_is_a_time_and_no_chip_beats_its_peak(chip, trainer, tp, pp, dp, seq):
    training = Training(trainer=trainer, seq_tok=seq, accumulate=4)
    found = time_of(training, Layout(tp=tp, pp=pp, dp=dp), chip=chip)
    for name in PARTS:
        assert float(np.squeeze(getattr(found, f"{name}_s"))) >= -1e-12, name
    assert 0 < float(np.squeeze(found.mfu)) < 1
    assert float(np.squeeze(found.hfu)) >= float(np.squeeze(found.mfu))


def test_mfu_counts_six_a_weight_and_half_the_score_matrix():
    found = time_of()
    matrices = 32 * (2 * 4096**2 + 2 * 1024 * 4096 + 3 * 4096 * 14336) + 4096 * 128256
    attention = 32 * 6 * 4096 * 8192  # a causal mask leaves half of 12 hidden x length
    flops = 6 * matrices + attention
    told = float(np.squeeze(found.tok_per_s_per_chip)) * flops / by_id()[H100].bf16_flops_per_s
    assert float(np.squeeze(found.mfu)) == pytest.approx(told, rel=1e-3)


def test_hfu_counts_what_is_recomputed():
    found = time_of(replace(BASE, recompute="full"))
    ratio = float(np.squeeze(found.hfu)) / float(np.squeeze(found.mfu))
    assert 1.25 < ratio < 1.36


def test_recompute_costs_up_to_a_third_more():
    none, full = (step(replace(BASE, recompute=level)) for level in ("none", "full"))
    assert 1.2 < full / none < 1.36


def test_selective_recompute_costs_little_with_and_much_without_flash():
    kept, again = (replace(BASE, recompute=level) for level in ("none", "selective"))
    assert step(kept) < step(again) < step(replace(BASE, recompute="full"))
    assert step(kept) < step(replace(kept, flash=False))


def test_longer_sequences_are_slower_a_token():
    speeds = [speed(replace(BASE, seq_tok=tokens)) for tokens in (4096, 16384, 65536, 262144)]
    assert speeds == sorted(speeds, reverse=True)


def test_a_window_bounds_what_length_costs():
    windowed = read_config(
        {"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32}
        | {"num_key_value_heads": 8, "vocab_size": 32000, "num_hidden_layers": 32, "sliding_window": 4096},
        "mistral",
    )
    whole = llama(vocab_size=32000)
    long = replace(BASE, seq_tok=131072)
    assert speed(long, arch=windowed) > 1.5 * speed(long, arch=whole)
    short = replace(BASE, seq_tok=4096)
    assert speed(short, arch=windowed) == pytest.approx(speed(short, arch=whole), rel=0.01)


@pytest.mark.parametrize("name", ["compute", "mixing", "memory", "kernel"])
def test_chips_that_reach_more_are_never_slower(name):
    tables = corrections("speed_training")
    bare = {key: {k: v for k, v in row.items() if k != name} for key, row in tables["chips"].items()}
    times = []
    for value in (0.3, 0.6, 0.9):
        chips = bare | {"all": bare["all"] | {name: value}}
        times.append(step(terms={**tables, "chips": chips}, training=replace(BASE, trainer="hf")))
    assert times == sorted(times, reverse=True)
    assert times[0] > times[-1]


def test_eight_bit_multiplications_pay_where_the_chip_has_them():
    plain, eight = replace(BASE, matmul="16bit"), replace(BASE, matmul="fp8")
    assert 1.15 < speed(eight, chip=H100) / speed(plain, chip=H100) < 2
    assert speed(eight, chip=A100) == speed(plain, chip=A100)
    four = replace(BASE, matmul="nvfp4")
    assert speed(four, chip=GB200) > speed(eight, chip=GB200)
    assert speed(four, chip=H100) == speed(eight, chip=H100)


@pytest.mark.parametrize(
    ("precision", "matmul", "found"),
    [
        (None, None, "16bit"),
        ("mxfp8", None, "mxfp8"),
        ("fp8-delayed", None, "fp8"),
        ("fp8", "16bit", "16bit"),
    ],
)
def test_the_precision_names_the_format_of_multiplications(precision, matmul, found):
    assert matmul_of(replace(BASE, precision=precision, matmul=matmul)) == found


def bubble(schedule, virtual=1, micro=8):
    training = replace(BASE, schedule=schedule, virtual_stages=virtual, accumulate=micro)
    found = time_of(training, Layout(pp=8), arch=llama(vocab_size=1000))
    return float(np.squeeze(found.bubble_s)) / float(np.squeeze(found.step_s))


def test_the_bubble_is_the_textbook_one_where_stages_are_alike():
    micro, pp = 8, 8
    assert bubble("1f1b") == pytest.approx((pp - 1) / (micro + pp - 1), abs=0.03)
    assert bubble("gpipe") == bubble("1f1b")


def test_interleaving_zero_bubble_and_many_micro_batches_shrink_it():
    assert bubble("interleaved", 4) < bubble("interleaved", 2) < bubble("1f1b")
    assert bubble("zero-bubble") < bubble("1f1b")
    assert bubble("1f1b", micro=64) < bubble("1f1b", micro=16) < bubble("1f1b", micro=8)


def test_adapters_need_no_gradients_of_the_base():
    single = Training(trainer="hf", micro_batch=4, seq_tok=2048, accumulate=1)
    full, lora, qlora, dora = (
        step(replace(single, method=method), Layout()) for method in ("full", "lora", "qlora", "dora")
    )
    assert 1.2 < full / lora < 2
    assert lora < qlora
    assert lora < dora


def test_rounded_weights_are_made_whole_once_a_pass_however_many_tokens():
    short = Training(trainer="hf", method="lora", micro_batch=1, seq_tok=512, accumulate=1)

    def dearer(training):
        return step(replace(training, method="qlora"), Layout()) / step(training, Layout())

    assert dearer(short) > dearer(replace(short, micro_batch=16)) > 1


def test_wider_adapters_and_more_targets_cost_more():
    lora = Training(trainer="hf", method="lora", micro_batch=4, accumulate=1, targets="attn", rank=16)
    assert step(lora, Layout()) < step(replace(lora, rank=256), Layout())
    assert step(lora, Layout()) < step(replace(lora, targets="all"), Layout())


def test_reference_models_run_forward_beside():
    dpo = replace(BASE, references=1)
    assert 1.2 < step(dpo) / step(BASE) < 1.45


def test_padding_is_worked_on_and_not_told():
    found, packed = time_of(replace(BASE, padded=0.25)), time_of()
    assert float(np.squeeze(found.step_s)) == float(np.squeeze(packed.step_s))
    assert float(found.tok_per_step) == 0.75 * float(packed.tok_per_step)


def test_uneven_experts_hold_everybody_up():
    even = replace(BASE, seq_tok=4096)
    assert step(replace(even, imbalance=1.3), arch=mixtral()) > step(even, arch=mixtral())


def test_a_compiler_spares_cheap_operations():
    loop = Training(trainer="pytorch", micro_batch=4, accumulate=1)
    assert step(replace(loop, compiled=True), Layout()) < step(loop, Layout())


def test_states_on_the_host_cost_time_and_on_a_drive_more():
    kinds = ("none", "optimizer-cpu", "optimizer-nvme")
    times = [step(replace(BASE, offload=kind), Layout(dp=4)) for kind in kinds]
    assert times == sorted(times)
    assert times[0] < times[1] < times[2]
    sharded = replace(BASE, sharding="fsdp", trainer="hf")
    assert step(replace(sharded, offload="all-cpu")) > step(sharded)


def test_divided_states_make_the_optimizer_faster_in_proportion():
    alone = float(np.squeeze(time_of(replace(BASE, sharding="none")).optimizer_s))
    shared_out = float(np.squeeze(time_of(replace(BASE, sharding="zero1")).optimizer_s))
    assert alone == pytest.approx(8 * shared_out)


def test_gathering_weights_hides_behind_large_micro_batches():
    training = replace(BASE, trainer="composer", sharding="fsdp", seq_tok=2048, accumulate=1)

    def share(micro):
        found = time_of(replace(training, micro_batch=micro), Layout(dp=64))
        return float(np.squeeze(found.dp_s / found.step_s))

    assert share(1) > share(4) > share(16)


def test_tensor_parallelism_over_pcie_is_slower_than_stages():
    training = Training(trainer="megatron", micro_batch=1, seq_tok=4096, accumulate=32)
    tensor, stages = speed(training, Layout(tp=8), chip=RTX), speed(training, Layout(pp=8), chip=RTX)
    assert tensor < stages
    assert speed(training, Layout(tp=8), chip=H100) > 0.7 * speed(training, Layout(pp=8), chip=H100)


def test_experts_beyond_the_box_pay_for_the_network():
    training = replace(BASE, seq_tok=4096)
    config = {
        "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
        "moe_intermediate_size": 768,
        "num_experts": 128, "num_experts_per_tok": 8, "num_attention_heads": 32, "num_key_value_heads": 4,
        "head_dim": 128, "vocab_size": 151936, "num_hidden_layers": 48,
    }  # fmt: skip
    arch = read_config(config, "qwen3")

    def sent(chip, ep):
        return float(np.squeeze(time_of(training, Layout(dp=64, ep=ep), arch=arch, chip=chip).ep_s))

    assert sent(H100, 1) == 0
    assert sent(H100, 64) > 2 * sent(H100, 8)
    assert sent(GB200, 64) < 2 * sent(GB200, 8)


def test_small_micro_batches_leave_the_card_waiting_for_the_host():
    small = llama(hidden_size=512, intermediate_size=1536, num_attention_heads=8, vocab_size=32000)
    training = Training(trainer="hf", micro_batch=1, seq_tok=128, accumulate=1)

    def waits(micro):
        found = time_of(replace(training, micro_batch=micro), Layout(), arch=small)
        return float(np.squeeze(found.host_s / found.step_s))

    assert waits(1) > 0.5
    assert waits(512) < waits(1)


def test_days_are_tokens_over_speed():
    found = time_of()
    told = days(1e12, found, ranks=512)
    assert float(np.squeeze(told)) == pytest.approx(
        1e12 / float(np.squeeze(found.tok_per_s_per_chip)) / 512 / 86400
    )


def test_two_chips_at_once_are_each_as_if_alone():
    setup = set_up(BASE, hidden=4096)
    both = training_rates([by_id()[A100], by_id()[H100]], setup)
    together = steps(LLAMA, BASE, layout=Layout(dp=8), rates=both).step_s
    assert together[0] == np.squeeze(time_of(chip=A100).step_s)
    assert together[1] == np.squeeze(time_of(chip=H100).step_s)


# seconds a step on A100: Korthikanti et al., arXiv 2205.05198, table 5
KORTHIKANTI = [
    ((96, 12288, 96), 8, 64, (18.13, 13.75)),
    ((105, 20480, 128), 35, 280, (49.05, 37.83)),
]


@pytest.mark.parametrize(("shape", "pp", "batch", "measured_s"), KORTHIKANTI)
def test_published_steps_of_large_models(shape, pp, batch, measured_s):
    arch = gpt(*shape)
    training = Training(trainer="megatron", precision="fp16-mixed", accumulate=batch, flash=False)
    plain = step(replace(training, recompute="full"), Layout(tp=8, pp=pp), arch=arch, chip=A100)
    lean = Layout(tp=8, pp=pp, sequence_parallel=True)
    selective = step(replace(training, recompute="selective"), lean, arch=arch, chip=A100)
    assert (plain, selective) == pytest.approx(measured_s, rel=0.12)


# TFLOPS a GPU, attention counted whole: NVIDIA NeMo, long sequences (Llama-3-8B, fp8, B200). Nothing was
# fitted on these.
LONG = [
    (8192, 8, 1, 1, 64, 1671),
    (65536, 64, 1, 4, 4, 1600),
    (262144, 256, 4, 4, 1, 1590),
    (1048576, 1024, 4, 16, 1, 1608),
]


@pytest.mark.parametrize(("seq", "chips", "tp", "cp", "micro", "tflops"), LONG)
def test_long_sequences_nobody_fitted(seq, chips, tp, cp, micro, tflops):
    hidden, layers, vocab = 4096, 32, 128256
    flops = layers * hidden**2 * (12 + 12 / 4 + 18 * 3.5 + 12 * seq / hidden + 6 * vocab / layers / hidden)
    measured = tflops * 1e12 / flops
    training = replace(BASE, seq_tok=seq, accumulate=micro, matmul="fp8")
    layout = Layout(tp=tp, cp=cp, dp=chips // tp // cp, sequence_parallel=True)
    assert speed(training, layout, chip="b200-sxm") == pytest.approx(measured, rel=0.15)


def test_fsdp_of_adapters_costs_the_host_more_than_of_whole_layers():
    from rigright.cost.training.learners import adapted

    arch = llama()
    assert [adapted(arch, targets) for targets in ("q v", "attn", "linear")] == [2, 4, 7]
    found = [
        float(told(arch, H100, method=method, sharding="fsdp", targets="linear", micro_batch=1, seq_tok=128))
        for method in ("full", "lora")
    ]
    assert found[1] > found[0] * 1.5


def told(arch, chip, **training):
    """Seconds that the host adds on eight ranks."""
    asked = Training(trainer="hf", recompute="none", **training)
    rates = training_rates([by_id()[chip]], set_up(asked, hidden=4096))
    return np.ravel(steps(arch, asked, layout=Layout(dp=8), rates=rates).host_s)[0]
