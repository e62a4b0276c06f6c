"""Phases, peak, layouts, schedules, offload: training memory as a whole."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.read import read_config
from rigright.base.errors import AskError
from rigright.cost.shards import stage_bounds
from rigright.cost.training.memory import PARTS
from rigright.cost.training.setup import in_flight, stage_edge, stage_of
from rigright.demand import Layout, Training
from rigright.facts.training import trainers
from rigright.predict.trained_memory import training_memory
from rigright.terms.training import set_up

GIB = 2**30


def llama(**changes):
    values = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
    }
    values |= {"num_key_value_heads": 8, "vocab_size": 128256, "num_hidden_layers": 32}
    return read_config(values | changes, "llama")


MISTRAL = llama(vocab_size=32000)
LLAMA = llama()


def allocated(training, layout=None, arch=MISTRAL, stage=0):
    memory = training_memory(arch, training, layout=layout or Layout(), stage=stage)
    return float(np.max(memory.allocated_bytes)) / GIB


# published runs: foundation-model-stack/fms-acceleration, scripts/benchmarks/refs, A100 80GB, 4096 tokens
RUNS = [
    (MISTRAL, "hf", {"method": "full", "precision": "bf16"}, 1, 4, 67.460),
    (MISTRAL, "hf-fused-linear", {"method": "full"}, 1, 4, 67.458),
    (LLAMA, "hf-fused", {"method": "full"}, 1, 4, 74.802),
    (LLAMA, "hf-fused", {"method": "full", "sharding": "fsdp"}, 2, 4, 74.804),
    (LLAMA, "hf-fused", {"method": "full", "sharding": "fsdp"}, 4, 4, 44.317),
    (LLAMA, "hf-fused-linear", {"method": "full", "sharding": "fsdp"}, 4, 4, 37.410),
    (MISTRAL, "hf", {"method": "lora", "precision": "bf16"}, 1, 4, 24.871),
    (MISTRAL, "hf", {"method": "qlora"}, 1, 4, 19.250),
    (MISTRAL, "hf-lean", {"method": "qlora"}, 1, 8, 26.461),
    (LLAMA, "hf-fused", {"method": "lora"}, 1, 8, 54.964),
    (LLAMA, "hf-fused-linear", {"method": "lora"}, 1, 16, 47.396),
    (LLAMA, "hf-fused-linear", {"method": "qlora"}, 1, 32, 69.001),
    (LLAMA, "hf-fused-linear", {"method": "lora", "sharding": "fsdp"}, 2, 16, 57.228),
    (LLAMA, "hf-fused-linear", {"method": "qlora", "sharding": "fsdp"}, 4, 8, 27.013),
]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run[1]}-{run[2]['method']}-{run[3]}x-{run[4]}")
def test_published_runs_within_five_percent(run):
    arch, trainer, asked, ranks, batch, peak_gib = run
    training = Training(
        trainer=trainer, targets="q k v o", recompute="full", micro_batch=batch, seq_tok=4096, **asked
    )
    assert allocated(training, Layout(dp=ranks), arch) == pytest.approx(peak_gib, rel=0.05)


# NVIDIA/Megatron-LM, tests/functional_tests/.../golden_values_dev_dgx_h100.json: GPT of 7 B, 131073 words
GPT = read_config(
    {
        "model_type": "gpt2",
        "n_embd": 4096,
        "n_inner": 16384,
        "n_head": 32,
        "n_layer": 32,
        "vocab_size": 131072,
        "n_positions": 8192,
        "tie_word_embeddings": False,
    },
    "gpt",
)


def test_megatron_with_tensor_parallelism():
    training = Training(trainer="megatron", sharding="zero1", micro_batch=2, seq_tok=8192)
    assert allocated(training, Layout(tp=4, dp=2), GPT) == pytest.approx(54.2, rel=0.15)


def test_an_interleaved_pipeline_holds_more_than_a_plain_one():
    plain = Training(trainer="megatron", seq_tok=8192, accumulate=8)
    many = Training(trainer="megatron", seq_tok=8192, accumulate=8, schedule="interleaved", virtual_stages=8)
    layout = Layout(pp=4, dp=2)
    assert allocated(many, layout, GPT) > allocated(plain, layout, GPT)
    setup = set_up(many, hidden=4096)
    held = in_flight(stage_of(GPT, setup, layout=layout, index=0))
    assert float(held) == pytest.approx(1 * (2 * 3 + 7 * 4 + 1) / 8)


@given(st.integers(1, 97), st.integers(1, 16))
def test_stage_edges_are_those_of_the_shards(layers, stages):
    bounds = stage_bounds(layers, min(stages, layers))
    stages = len(bounds)
    edges = [int(stage_edge(layers, stages, stage=index)) for index in range(stages + 1)]
    assert list(itertools.pairwise(edges)) == list(bounds)


@given(st.integers(1, 8), st.integers(1, 64), st.sampled_from(["1f1b", "gpipe", "zero-bubble"]))
def test_in_flight_micro_batches(pp, total, schedule):
    training = Training(schedule=schedule, accumulate=total)
    setup = set_up(training, hidden=1)
    held = in_flight(stage_of(MISTRAL, setup, layout=Layout(pp=pp), index=np.arange(pp)))
    held = np.broadcast_to(held, (pp,))
    assert np.all(held >= 1)
    assert np.all(held <= total)
    assert np.all(np.diff(held) <= 0)  # earlier stages never hold fewer
    if schedule == "1f1b":
        assert held[0] == min(pp, total)


def test_the_first_stage_holds_the_most_activations():
    memory = training_memory(
        GPT, Training(trainer="megatron", seq_tok=4096), layout=Layout(pp=4), stage=np.arange(4)
    )
    kept = memory.parts["activations"]
    assert np.argmax(kept) == 0
    assert memory.parts["loss"][3] > 0
    assert memory.parts["loss"][0] == 0


@given(
    st.sampled_from(sorted(trainers())),
    st.sampled_from(["full", "lora", "qlora", "dora"]),
    st.sampled_from(["none", "zero1", "zero2", "zero3", "fsdp", "hsdp"]),
    st.sampled_from(["none", "selective", "full"]),
    st.lists(
        st.tuples(*[st.integers(0, 2)] * 4, st.integers(1, 4096), st.integers(1, 8)), min_size=1, max_size=5
    ),
)
def test_an_array_of_layouts_is_each_layout_alone(trainer, method, sharding, recompute, choices):
    """One path: a million layouts at once are a million single ones, equal to the bit."""
    training = Training(trainer=trainer, method=method, sharding=sharding, recompute=recompute)
    tp, pp, dp, cp, seq, batch = np.array(choices).T
    sizes = [2**power for power in (tp, pp, dp, cp)]
    layout = Layout(tp=sizes[0], pp=sizes[1], dp=sizes[2], cp=sizes[3])
    asked = {"seq_tok": seq, "micro_batch": batch}
    together = training_memory(MISTRAL, replace(training, **asked), layout=layout, stage=sizes[1] - 1)
    for place in range(len(choices)):
        one = Layout(
            **{name: int(size[place]) for name, size in zip(("tp", "pp", "dp", "cp"), sizes, strict=True)}
        )
        single = replace(training, seq_tok=int(seq[place]), micro_batch=int(batch[place]))
        alone = training_memory(MISTRAL, single, layout=one, stage=one.pp - 1)
        assert np.broadcast_to(together.device_bytes, (len(choices),))[place] == float(alone.device_bytes)
        assert float(alone.allocated_bytes) == max(float(total) for total in alone.phases.values())
        assert sum(float(size) for size in alone.parts.values()) == pytest.approx(
            float(alone.allocated_bytes)
        )


@given(st.integers(1, 64), st.integers(1, 8))
def test_more_tokens_never_take_less(batch, times):
    small, large = (allocated(Training(micro_batch=size, seq_tok=512)) for size in (batch, batch * times))
    assert large >= small


@pytest.mark.parametrize("sharding", ["zero1", "zero2", "zero3", "fsdp"])
def test_dividing_states_saves_memory(sharding):
    layout = Layout(dp=8)
    training = Training(trainer="torchtitan", precision="bf16-mixed", seq_tok=512)
    assert allocated(replace(training, sharding=sharding), layout) < allocated(training, layout)


def test_each_way_to_save_saves():
    base = Training(seq_tok=8192, micro_batch=2)
    for change in (
        {"recompute": "full"},
        {"chunked_loss": True},
        {"method": "lora"},
        {"method": "qlora"},
        {"optimizer": "adamw-8bit", "seq_tok": 128},
        {"offload": "optimizer-cpu"},
        {"offload": "all-cpu", "sharding": "fsdp"},
    ):
        before = allocated(
            replace(base, **{name: change[name] for name in change if name == "seq_tok"}), arch=LLAMA
        )
        assert allocated(replace(base, **change), arch=LLAMA) < before, change


def test_what_is_offloaded_is_found_again_on_the_host_or_on_nvme():
    states = training_memory(MISTRAL, Training(precision="bf16-mixed"), layout=Layout())
    host = training_memory(
        MISTRAL, Training(precision="bf16-mixed", offload="optimizer-cpu"), layout=Layout()
    )
    nvme = training_memory(
        MISTRAL, Training(precision="bf16-mixed", offload="optimizer-nvme"), layout=Layout()
    )
    everything = training_memory(
        MISTRAL, Training(precision="bf16-mixed", offload="all-cpu", sharding="fsdp"), layout=Layout()
    )
    expected = 12 * 7_241_732_096
    assert float(host.host_bytes) == pytest.approx(expected)
    assert float(nvme.nvme_bytes) == pytest.approx(expected)
    assert float(nvme.host_bytes) == float(states.host_bytes) == 0
    assert float(everything.host_bytes) == pytest.approx(18 * 7_241_732_096)


def test_reference_models_stand_beside_the_one_that_learns():
    plain, paired = (allocated(Training(references=count, seq_tok=128)) for count in (0, 1))
    assert paired - plain == pytest.approx(2 * 7_241_732_096 / GIB)


def test_allocated_reserved_and_device_are_three_figures():
    memory = training_memory(MISTRAL, Training(seq_tok=2048), layout=Layout(dp=2))
    assert memory.allocated_bytes < memory.reserved_bytes < memory.device_bytes
    assert memory.allocated_bytes < memory.least_bytes
    alone = training_memory(MISTRAL, Training(seq_tok=2048), layout=Layout())
    nccl = (memory.device_bytes - memory.reserved_bytes) - (alone.device_bytes - alone.reserved_bytes)
    assert float(nccl) == pytest.approx(1.5 * GIB)


def test_accumulated_gradients_stand_through_the_backward_pass():
    once, often = (
        training_memory(MISTRAL, Training(accumulate=count, seq_tok=8192, micro_batch=4), layout=Layout())
        for count in (1, 8)
    )
    assert often.phases["backward-start"] - once.phases["backward-start"] == pytest.approx(2 * 7_241_732_096)


def test_torch_ddp_keeps_buckets_beside_the_gradients():
    alone, many = (training_memory(MISTRAL, Training(), layout=Layout(dp=size)) for size in (1, 2))
    grads = 2 * 7_241_732_096
    assert many.phases["backward-end"] - alone.phases["backward-end"] == pytest.approx(grads)


@pytest.mark.parametrize(
    ("field", "word"),
    [
        ("method", "adapters"),
        ("sharding", "zero4"),
        ("recompute", "some"),
        ("schedule", "2f2b"),
        ("offload", "cloud"),
        ("targets", "knees"),
        ("targets", ""),
        ("optimizer", "adamwest"),
        ("precision", "bf17"),
        ("trainer", "tensorflux"),
    ],
)
def test_unknown_words_are_refused_with_the_known_ones(field, word):
    with pytest.raises(AskError) as caught:
        training_memory(MISTRAL, Training(**{field: word}), layout=Layout())
    assert len(str(caught.value)) > 20


def test_every_part_has_a_place():
    memory = training_memory(MISTRAL, Training(), layout=Layout())
    assert set(memory.parts) == set(PARTS)


IMAGE = {
    "model_type": "resnet",
    "num_channels": 3,
    "embedding_size": 64,
    "hidden_sizes": [256, 512, 1024, 2048],
}


def test_image_models_train_by_the_same_interface():
    arch = read_config(IMAGE | {"depths": [3, 4, 6, 3], "layer_type": "bottleneck"}, "resnet-50")
    one, many = (allocated(Training(trainer="pytorch", micro_batch=size), arch=arch) for size in (1, 65))
    a_sample = (many - one) / 64 * 1024  # MiB
    assert 35 < a_sample < 60  # NVIDIA's recipe trains 256 images at once on a V100 of 16 GB


def test_an_encoder_counts_beside_its_decoder():
    values = {"model_type": "t5", "d_model": 512, "d_ff": 2048, "num_layers": 6, "num_heads": 8, "d_kv": 64}
    arch = read_config(values | {"vocab_size": 32128, "num_decoder_layers": 6}, "t5-small")
    both = training_memory(arch, Training(seq_tok=512, micro_batch=8), layout=Layout())
    decoder = read_config(values | {"vocab_size": 32128, "num_decoder_layers": 6, "num_layers": 1}, "t5")
    less = training_memory(decoder, Training(seq_tok=512, micro_batch=8), layout=Layout())
    assert both.parts["activations"] > less.parts["activations"]
