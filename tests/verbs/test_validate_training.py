"""How tables of training runs write things, and how well their peaks are predicted."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from rigright.base.errors import RigError
from rigright.base.tables import DATA
from rigright.choice.training_runs import DEEP
from rigright.facts.chips import by_id
from rigright.facts.training import trainers
from rigright.predict import trained_unsaid as unsaid_law
from rigright.predict.trained_memory import training_memory
from rigright.verbs.validate.foreign import noted_cells
from rigright.verbs.validate.kinds import training as kind
from rigright.verbs.validate.kinds import training as words
from rigright.verbs.validate.kinds.training import KIND, read_row, read_rows
from rigright.verbs.validate.record import caught
from rigright.verbs.validate.verb import validate
from sampled_tables import part, part_of_file, whole_when_thorough


@pytest.mark.parametrize(
    ("framework", "trainer"),
    [
        ("HF Trainer/SFTTrainer + fms-acceleration [none]", "hf"),
        ("HF Trainer/SFTTrainer + fms-acceleration [foak-fast-kernels]", "hf-fused"),
        ("HF Trainer/SFTTrainer + fms-acceleration [foak-fast-kernels-liger]", "hf-fused-linear"),
        ("HF Trainer/SFTTrainer + fms-acceleration [accelerated-peft-bnb]", "hf-lean"),
        ("HF Trainer/SFTTrainer + fms-acceleration [accelerated-peft-autogptq-foak]", "hf-fused"),
        ("HF Trainer/SFTTrainer + fms-acceleration [baseline-peft-bnb]", "hf"),
        ("HF PEFT FSDP", "hf"),
        ("Megatron-LM", "megatron"),
        ("Megatron-DeepSpeed", "megatron-deepspeed"),
        ("Megatron-Bridge/Megatron-Core", "megatron"),
        ("NeMo Framework", "megatron"),
        ("ms-swift", "ms-swift"),
        ("ms-swift Megatron", "megatron"),
        ("axolotl", "axolotl"),
        ("Composer/llm-foundry FSDP", "composer"),
        ("torchtitan", "torchtitan"),
        ("LitGPT", "litgpt"),
        ("Unsloth 2025.3", "unsloth"),
    ],
)
def test_programs_are_known_by_the_longest_name_in_the_text(framework, trainer):
    assert words.trainer_of(framework).id == trainer


def test_an_unknown_program_is_unknown():
    assert words.trainer_of("some notebook") is None


def test_a_row_of_an_unknown_program_is_unanswered_and_takes_no_other_with_it(tmp_path):
    rows = [
        ROW | {"id": str(place), "framework": name}
        for place, name in enumerate(("torchtune", "paddle-2.5.1", ""))
    ]
    path = tmp_path / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(ROW))
        table.writeheader()
        table.writerows(rows)
    known, unknown, unsaid = (row.predictions for row in validate(str(path)).rows)
    assert all(one.predicted is not None for one in (*known, *unsaid))
    assert all(one.predicted is None and "paddle" in str(one.why) for one in unknown)
    assert all(one.why is not None for one in unsaid)  # what stands in for it is said


def test_a_row_that_meets_a_defect_takes_no_other_with_it(monkeypatch):
    def law(cases, **_named):
        if any(case.training.seq_tok == 777 for case in cases):
            raise ZeroDivisionError
        return fullest(cases)

    fullest = unsaid_law.fullest_of
    rows = [noted_cells(KIND.name, ROW | {"seq_tok": length})[0] for length in ("512", "777")]
    alone = KIND.predict(rows[0])
    monkeypatch.setattr(unsaid_law, "fullest_of", law)
    good, bad = kind.answers(rows)
    assert [one.predicted for one in good] == pytest.approx([one.predicted for one in alone])
    assert isinstance(bad, RigError)


@pytest.fixture(scope="module")
def published(shared, tmp_path_factory):
    """A part of every source, read."""
    path, folder = shared / "measured" / "training.csv", tmp_path_factory.mktemp("alone")
    file = Path(part_of_file(path, folder, every=25, by=("source",)))
    with file.open(encoding="utf-8", newline="") as table:
        return [noted_cells(KIND.name, raw)[0] for raw in csv.DictReader(table)]


def test_rows_asked_together_come_to_the_same_bits_as_each_alone(published):
    rows = [row for row in published if not isinstance(caught(read_row, row), RigError)]
    together = kind.answers(rows)
    assert len(rows) > 20
    assert together == [kind.answers([row])[0] for row in rows]


def test_layouts_chosen_together_are_those_chosen_alone(published):
    rows = [row | {"tp": None, "pp": None} for row in published if (row["n_chips"] or 1) > 1]

    def read(found):
        return [one for one in found if not isinstance(one, RigError)]

    together = read(read_rows(rows))
    alone = read(read_rows([row])[0] for row in rows)
    assert [one.taken.layout for one in together] == [one.taken.layout for one in alone]
    assert any(one.taken.layout.tp > 1 for one in together)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("ZeRO-1 (distributed optimizer)", "zero1"),
        ("distributed optimizer", "zero1"),
        ("FSDP FULL_SHARD", "fsdp"),
        ("zero3", "zero3"),
        ("DeepSpeed ZeRO-3 CPU offload", "zero3"),
        ("none (DDP)", "none"),
        ("hybrid shard", "hsdp"),
        ("", "none"),
    ],
)
def test_shardings(written, meant):
    assert (words.meant("sharding", written) or "none") == meant


@pytest.mark.parametrize(
    ("method", "precision", "meant"),
    [
        ("full-pretrain", "bf16", "full"),
        ("full (no tuner flag; Megatron-SWIFT default)", "bfloat16", "full"),
        ("lora", "bfloat16", "lora"),
        ("lora", "bfloat16 + 4bit", "qlora"),
        ("qlora", "bf16 + nf4", "qlora"),
        ("peft:vera", "bfloat16", "lora"),
        ("dora", "", "dora"),
        ("", "", "full"),
    ],
)
def test_methods(method, precision, meant):
    assert words.method_of(method, precision) == meant


@pytest.mark.parametrize(
    ("precision", "trainer", "sharding", "meant"),
    [
        ("bfloat16", "hf", "none", "bf16"),
        ("bfloat16", "hf", "zero2", None),
        ("bf16-mixed", "hf", "fsdp", None),
        ("bf16", "megatron", "zero1", None),
        ("fp16", "megatron-deepspeed", "zero1", None),
        ("FP8", "megatron", "zero1", "fp8"),
        ("MXFP8", "megatron", "zero1", "fp8"),
        ("amp_fp8(DEFAULT)", "composer", "fsdp", None),
        ("float32", "hf", "none", "fp32"),
    ],
)
def test_precisions(precision, trainer, sharding, meant):
    assert words.precision_of(precision, trainers()[trainer], sharding=sharding) == meant


def noted(text, **cells):
    """The row of a note."""
    return noted_cells(KIND.name, {**cells, "note": text})[0]


@pytest.mark.parametrize(
    ("text", "column", "value"),
    [
        ("lora r=16 targets=q_proj k_proj; tokens", "lora_rank", 16),
        ("attn= packing=true lora_rank=8 grad_accum=4", "lora_rank", 8),
        ("lora/llama-3.2-3B-rank32-dora", "lora_rank", 32),
        ("attn=flash", "lora_rank", None),
        ("cpu offload; 2x24GB", "offload", "all-cpu"),
        ("no offload", "offload", None),
        ("+activation offload", "offload", None),
        ("sample_packing=true cce=True", "chunked_loss", True),
        ("sample_packing=true", "chunked_loss", None),
        ("sequence-parallel=true; bf16=true", "sequence_parallel", True),
        ("no sequence parallel", "sequence_parallel", False),
        ("FlashAttention2; none", "flash", None),
        ("no FlashAttention; interleaved PP", "flash", False),
        ("attn=eager", "flash", False),
        ("transformer-impl=local; bf16=true", "flash", False),
        ("transformer-impl=local; use-flash-attn=true", "flash", None),
        ("hidden-dropout=0.0", "dropout", 0.0),
        ("bf16=true", "dropout", None),
        ("lora_rank=8 grad_accum=16", "accumulate", 16),
        ("grad_accum=$(expr", "accumulate", None),
        ("rlhf=dpo; samples", "paired", True),
        ("rlhf=; samples", "paired", None),
        ("rlhf=ppo;", "rlhf", "ppo"),
        ("packing= ; samples may be shorter than max_length", "short_samples", True),
        ("packing=true; samples may be shorter than max_length", "short_samples", None),
        ("FlashAttention; torch.compile", "compiled", True),
        ("compile=true", "compiled", True),
        ("FlashAttention; no torch.compile", "compiled", None),
        ("mean 512 tokens", "mean_tok", 512),
        ("optimizer in bwd", "step_in_backward", True),
        ("peak is OOM of 80 GB", "oom", True),
    ],
)
def test_what_stands_in_flags_and_notes(text, column, value):
    assert noted(text)[column] == value


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("lora r=16 targets=q_proj k_proj v_proj o_proj; tokens/s", "q k v o"),
        ("lora_r=8 targets=linear", "linear"),
        ("lora/llama-3.2-3B-rank10-target-mlp", "ffn"),
        ("targets=- q_proj", None),
        ("attn=flash", None),
    ],
)
def test_which_matrices_carry_adapters(text, targets):
    assert words.targets_of(noted(text)["lora_targets"]) == targets


def test_chunks_of_a_pipeline_rank():
    asked = ROW | {"tp": "1", "pp": "4", "dp": "2", "n_chips": "8"}
    for text, chunks in (
        ("num-layers-per-virtual-pipeline-stage=1", 8),
        ("num-virtual-stages-per-pipeline-rank=2", 2),
        ("", 1),
    ):  # fmt: skip
        row, _ = noted_cells(KIND.name, asked | {"flags": text})
        assert read_row(row).taken.training.virtual_stages == chunks


def test_recompute_in_words():
    said = ("true", "", "Full", "at times")
    assert [words.meant("recompute", cell) for cell in said] == ["full", "", "full", None]


def test_a_global_batch_says_how_many_micro_batches_are_gathered():
    row = {"arch": "mistralai/Mistral-7B-v0.1", "framework": "Megatron-LM", "method": "full", "n_chips": 8}
    row |= {"pp": 4, "tp": 1, "micro_batch": 2, "global_batch": 32, "seq_tok": 2048}
    assert read_row(row).taken.training.accumulate == 8
    assert read_row(row | {"global_batch": None, "accumulate": 5}).taken.training.accumulate == 5
    assert read_row(row | {"global_batch": None}).taken.training.accumulate == DEEP * 4
    assert read_row(row | {"global_batch": 1}).taken.training.accumulate == 1


def rows_of(path, keep):
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if keep(row)]


@pytest.fixture(scope="module")
def measured(shared, tmp_path_factory):
    """Runs with a peak; of each source and sort of peak a fifth."""
    path, folder = shared / "measured" / "training.csv", tmp_path_factory.mktemp("part")
    file = part_of_file(path, folder, every=5, by=("source", "peak_kind"), keep=lambda row: row["peak_kind"])
    return validate(file)


def score(found, group, source):
    return next(s for s in found.scores if (s.of, s.group, s.name) == ("source", group, source))


LIMITS = [  # source, kind -> median and 90th percentile of the absolute error, as reached, with a little room
    ("foundation-model-stack/fms-acceleration", "allocated", 0.02, 0.08),
    ("NVIDIA/Megatron-LM", "allocated", 0.04, 0.06),
    ("huggingface/peft", "reserved", 0.07, 0.16),
    ("bigscience-workshop/bigscience", "device", 0.15, 0.2),
]


@whole_when_thorough
@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: f"{limit[0].split('/')[-1]}-{limit[1]}")
def test_published_peaks(measured, limit):
    source, group, median, p90 = limit
    found = score(measured, group, source)
    assert found.answered == found.measured
    assert found.median_error < median
    assert found.p90_error < p90


@whole_when_thorough
def test_every_row_of_a_known_model_is_answered(measured):
    peaks = [one for row in measured.rows for one in row.predictions if one.metric == "peak_gib"]
    answered = sum(one.predicted is not None for one in peaks)
    assert answered / len(peaks) > 0.98


@whole_when_thorough
def test_four_of_five_measured_peaks_lie_in_the_band(measured):
    counted = [s for s in measured.scores if s.of == "source" and s.answered and s.group != "rounded"]
    assert np.mean([s.band_coverage for s in counted]) > 0.75


@whole_when_thorough
def test_runs_that_fit_and_runs_that_did_not(shared):
    """316 runs of fms-acceleration on cards of 80 GB: 100 of them ran out of memory."""
    rows = rows_of(shared / "measured" / "training.csv", lambda row: "fms-acceleration" in row["source"])
    assert len(rows) == 316
    rows = part(rows, every=3, by=("peak_kind",))
    card = by_id()["a100-sxm4-80gb"].mem_usable_bytes
    right = 0
    for raw in rows:
        asked = read_row(noted_cells(KIND.name, raw | {"seq_tok": raw["seq_tok"] or "4096"})[0])
        case = asked.peaking.case
        memory = training_memory(case.arch, case.training, layout=case.layout)
        right += (float(memory.least_bytes) <= card) != ("OOM" in raw["note"])
    assert right / len(rows) > 0.95


def test_runs_kept_in_our_own_table():
    found = validate(str(DATA / "runs" / "training.csv"))
    assert score(found, "reserved", "pytorch/torchtitan").median_error < 0.05
    assert score(found, "allocated", "pytorch/torchtune").median_error < 0.07
    assert score(found, "allocated", "Lightning-AI/litgpt").median_error < 0.05
    assert score(found, "reserved", "AnswerDotAI/fsdp_qlora").median_error < 0.07


def test_every_row_of_our_own_table_names_its_source():
    for row in rows_of(DATA / "runs" / "training.csv", lambda _: True):
        assert ":" in row["source"]
        assert row["peak_kind"] in {"allocated", "reserved"}
        assert row["note"]


@pytest.mark.parametrize(
    ("source", "month"),
    [
        ("Lightning-AI/litgpt:tutorials/resource-tables.md (2023-10)", "2023-10"),
        ("pytorch/torchtitan:benchmarks/llama3_h100_202412_torchtitan.md", "2024-12"),
        ("x (2024)", "2024-12"),
        ("modelscope/ms-swift:docs", None),
    ],
)
def test_a_source_tells_when(source, month):
    assert words.month_of(source) == month


def test_a_program_is_taken_as_it_was_then():
    assert words.trainer_of("LitGPT", month="2023-10").id == "litgpt-2023"
    assert words.trainer_of("LitGPT", month="2024-06").id == "litgpt"
    assert words.trainer_of("torchtitan", month="2024-12").compiled_logit == 14
    assert words.trainer_of("torchtitan").compiled_logit < 14


def test_kernels_beneath_a_front_end_are_what_trains():
    assert words.trainer_of("LLaMA-Factory Unsloth+FA2").id == "unsloth"


ROW = {
    "id": "1", "source": "a/b", "arch": "meta-llama/Llama-2-7b-hf", "chip": "rtx-4090", "n_chips": "1",
    "framework": "torchtune", "precision": "bf16", "method": "full", "peak_kind": "allocated",
    "micro_batch": "2", "seq_tok": "2048", "optimizer": "adamw", "recompute": "full",
}  # fmt: skip


def peak_of(**changes):
    row, _ = noted_cells(KIND.name, ROW | changes)
    return KIND.predict({**dict.fromkeys(KIND.columns), **row})[-1]


def test_a_run_that_ran_fitted_its_card():
    loose = peak_of()  # AdamW of 7B needs 50 GiB: it ran on 24, so its states were smaller
    assert loose.high <= 24
    assert loose.predicted < 24
    named = peak_of(optimizer="adamw-fused", chip="h100-sxm5-80gb")
    assert named.predicted > 45


def test_what_is_unsaid_widens_the_band_and_is_named():
    told, half = (
        peak_of(method="lora", flags="r=16; targets=q_proj v_proj"),
        peak_of(method="lora", seq_tok=""),
    )
    assert half.high / half.low > told.high / told.low * 1.05
    assert "seq_tok" in str(half.why)
    assert told.why is None or "seq_tok" not in str(told.why)


def test_gradients_used_in_the_backward_pass_are_not_kept():
    card = {"chip": "h100-sxm5-80gb", "optimizer": "AdamW8bit"}
    assert peak_of(**card, flags="optimizer in backward").predicted < peak_of(**card).predicted - 5


def test_activations_on_the_host_are_not_parameters_on_the_host():
    assert noted("", recompute="full+offload")["offload_inputs"]
    assert words.meant("recompute", "full+offload") == "full"
    card = {"chip": "h200-sxm-141gb", "micro_batch": "16", "flags": "optimizer in backward"}
    assert peak_of(**card, recompute="full+offload").predicted < peak_of(**card).predicted


def test_a_compiler_fuses_norms_and_loss():
    card = {"chip": "", "recompute": "none", "framework": "torchtune", "micro_batch": "8"}
    assert peak_of(**card, flags="torch.compile").predicted < peak_of(**card).predicted * 0.95


def test_a_batch_nobody_tells_lies_between_one_and_what_fits():
    row = {"method": "qlora", "micro_batch": "", "flags": "r=16; targets=q_proj v_proj"}
    small, large = peak_of(**row), peak_of(**row, chip="h200-sxm-141gb")
    assert large.predicted > small.predicted
    assert large.high / large.low > small.high / small.low
    assert small.high <= 24
    assert "add micro_batch" in str(large.why)


def test_a_slow_host_is_in_the_band_of_small_batches():
    def rate(**changes):
        lora = {"method": "lora", "flags": "r=16; targets=q_proj v_proj", "chip": "h100-sxm5-80gb"}
        row, _ = noted_cells(KIND.name, ROW | lora | changes)
        return KIND.predict({**dict.fromkeys(KIND.columns), **row})[0]

    busy, idle = rate(), rate(micro_batch="1", seq_tok="128")
    assert idle.high / idle.low > busy.high / busy.low * 1.2  # widths add by squares
    assert "host" not in str(idle.why)
