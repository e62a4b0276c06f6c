"""Rows of training tables as the law of time takes them, and how near their speeds come."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from lab.record import Subject
from lab.subjects.speed_training import SUBJECT
from lab.terms import tree
from rigright.base.errors import AskError
from rigright.facts.chips import by_id
from rigright.facts.corrections import corrections
from rigright.predict.trained import alike, steps_of
from rigright.predict.trained_memory import training_memory
from rigright.verbs.validate.foreign import noted_cells
from rigright.verbs.validate.kinds import training as words
from rigright.verbs.validate.kinds.training import KIND, read_row

BRIDGE = {
    "id": "a", "source": "somebody: a page", "model": "LLAMA3_70B", "arch": "meta-llama/Meta-Llama-3-70B",
    "chip": "h100-sxm5-80gb", "n_chips": "64", "framework": "Megatron-Bridge", "precision": "FP8",
    "method": "full-pretrain", "tp": "4", "pp": "8", "cp": "1", "micro_batch": "1", "global_batch": "256",
    "seq_tok": "8192", "note": "VP=5",
}  # fmt: skip
SUBMITTED = {
    "id": "b", "source": "somebody: results", "model": "Llama-2-70B", "arch": "meta-llama/Llama-2-70b-hf",
    "chip": "gb200", "n_chips": "72", "framework": "MLPerf v5.1 PyTorch", "method": "lora",
    "precision": "fp8 (or fp4 in v5.1) per submission", "global_batch": "9", "seq_tok": "8192",
}  # fmt: skip


def row(base=BRIDGE, **changes):
    told, faults = noted_cells(KIND.name, base | changes)
    assert not faults
    return told


def timed(base=BRIDGE, **changes):
    return read_row(row(base, **changes)).timed.case


def assumed(base=BRIDGE, **changes):
    taken = read_row(row(base, **changes)).taken
    return (*taken.assumed, *taken.timed)


def tok_per_s(cases, terms=None):
    return steps_of(cases, tables=terms).tok_per_s_per_chip


def test_what_the_row_tells_is_taken():
    found = timed()
    assert found.chip.id == "h100-sxm5-80gb"
    assert (found.layout.tp, found.layout.pp, found.layout.dp) == (4, 8, 2)
    assert found.training.accumulate == 128
    assert (found.training.schedule, found.training.virtual_stages) == ("interleaved", 5)
    assert found.training.matmul == "fp8"
    assert found.layout.sequence_parallel


def test_megatron_divides_norms_unless_told_not_to():
    assert not timed(note="no sequence parallel; full recompute").layout.sequence_parallel
    assert not timed(tp="1").layout.sequence_parallel


def test_replicas_are_what_the_chips_leave():
    found = timed(dp="7")
    assert found.layout.dp == 2
    assert found.training.accumulate == 128


@pytest.mark.parametrize(
    ("precision", "framework", "matmul"),
    [
        ("MXFP8", "NeMo", "mxfp8"),
        ("NVFP4", "NeMo", "nvfp4"),
        ("amp_fp8(DEFAULT)", "Composer", "fp8"),
        ("float8", "torchtitan", "fp8"),
        ("fp8 (or fp4 in v5.1) per submission", "MLPerf v5.0 NeMo", "fp8"),
        ("fp8 (or fp4 in v5.1) per submission", "MLPerf v5.1 NeMo", "nvfp4"),
        ("amp_bf16(DEFAULT)", "Composer", "16bit"),
        ("", "hf", "16bit"),
    ],
)
def test_formats_of_multiplications_are_read(precision, framework, matmul):
    assert words.matmul_of(precision, framework) == matmul


def test_submissions_are_taken_as_megatron():
    assert words.trainer_of("MLPerf v5.1 PyTorch NVIDIA Release 25.09").id == "megatron"


def test_a_layout_nobody_told_divides_the_chips_feeds_every_replica_and_fits():
    found = timed(SUBMITTED)
    layout, chip = found.layout, by_id()["gb200"]
    assert layout.tp * layout.pp * layout.cp * layout.dp == 72
    assert layout.dp <= 9
    held = training_memory(found.arch, found.training, layout=layout, stage=np.arange(layout.pp)).least_bytes
    assert np.max(held) <= chip.mem_usable_bytes
    assert len(assumed(SUBMITTED)) == len(assumed(SUBMITTED, tp="2", pp="1", cp="4")) + 1


def test_a_layout_that_is_told_is_kept():
    found = timed(SUBMITTED, tp="2", pp="1", cp="4")
    assert (found.layout.tp, found.layout.cp, found.layout.dp) == (2, 4, 9)


def test_samples_that_vary_are_padded_to_the_longest_of_their_batch():
    base = {
        "id": "p", "source": "s", "arch": "meta-llama/Llama-3.2-3B", "chip": "l40s", "n_chips": "1",
        "framework": "HF PEFT", "method": "lora", "micro_batch": "4", "global_batch": "4", "seq_tok": "768",
    }  # fmt: skip
    varied = timed(base, note="variable-length (mean 210 tok)")
    assert varied.training.seq_tok == 315
    assert varied.training.padded == pytest.approx(1 / 3)
    assert timed(base).training.seq_tok == 768
    long = timed(base, note="variable-length (mean 700 tok)")
    assert long.training.seq_tok == 768


def test_micro_batches_nobody_told_fill_the_pipeline():
    found = timed(global_batch="")
    assert found.training.accumulate == 64
    assert any("64" in str(note) for note in assumed(global_batch=""))


def test_a_row_without_a_chip_says_so():
    with pytest.raises(AskError):
        timed(chip="")


def test_rows_priced_together_are_each_as_if_alone():
    rows = [
        timed(),
        timed(micro_batch="2"),
        timed(SUBMITTED),
        timed(chip="gb200", tp="2"),
        timed(method="lora"),
    ]
    groups = tuple(alike(rows))
    assert sorted(sum(groups, ())) == list(range(len(rows)))
    assert len(groups) == 3
    together = tok_per_s(rows)
    for place, one in enumerate(rows):
        assert together[place] == tok_per_s([one])[0]


def test_terms_that_are_given_are_used():
    tables = corrections("speed_training")
    weaker = {**tables, "chips": tables["chips"] | {"h100-sxm5-80gb": {"kernel": 0.4}}}
    assert tok_per_s([timed()], terms=weaker)[0] < 0.7 * tok_per_s([timed()])[0]


def test_the_subject_hangs_every_dial_below_a_term_that_is_there():
    rows = [row(), row(SUBMITTED), row(SUBMITTED, source="another: page", chip="b200-sxm")]
    assert isinstance(SUBJECT, Subject)
    tables = corrections(SUBJECT.name)
    hung = tree(SUBJECT.dials(rows, tables), tables)
    assert all(spread > 0 for spread in hung.spreads)
    values = hung.values(np.zeros(len(hung.dials)))
    assert np.all(values > 0)
    bare = [value for dial, value in zip(hung.dials, values, strict=True) if dial.path[-1].endswith("_bare")]
    assert max(bare) <= 1


def test_a_class_that_one_source_tells_of_has_no_terms_of_its_own():
    alone = SUBJECT.dials([row(), row(chip="l40s")], corrections(SUBJECT.name))
    assert not any(dial.path[1].startswith("nvidia-") for dial in alone)
    both = SUBJECT.dials([row(), row(source="another: page")], corrections(SUBJECT.name))
    assert any(dial.path == ("chips", "nvidia-hopper", "compute") for dial in both)


def test_releases_of_one_page_are_one_source():
    first, second = row(source="NVIDIA: page (26.02)"), row(source="NVIDIA: page (26.04)")
    assert SUBJECT.keys(first)["source"] == SUBJECT.keys(second)["source"] == "NVIDIA"
    assert SUBJECT.keys(first)["engine"] == "megatron"
    assert SUBJECT.keys(first)["class"] == "nvidia-hopper"


@pytest.fixture(scope="module")
def measured(shared):
    with (shared / "measured" / "training.csv").open(encoding="utf-8", newline="") as file:
        raws = [raw for raw in csv.DictReader(file) if raw["chip"]]
    rows = [noted_cells(KIND.name, raw)[0] for raw in raws]
    return rows, tok_per_s([read_row(one).timed.case for one in rows])


def test_every_row_with_a_chip_is_answered(measured):
    _, found = measured
    assert np.isfinite(found).all()
    assert (found > 0).all()


def test_sources_are_met_within_a_tenth_on_average(measured):
    rows, predicted = measured
    told = np.array([bool(one.get("tok_per_s_per_chip")) for one in rows])
    rows, found = [one for one, is_told in zip(rows, told, strict=True) if is_told], predicted[told]
    errors = np.abs(found / np.array([one["tok_per_s_per_chip"] for one in rows]) - 1)
    sources = np.array([SUBJECT.keys(one)["source"] for one in rows])
    medians = {name: float(np.median(errors[sources == name])) for name in set(sources)}
    assert np.mean(list(medians.values())) < 0.08, medians
    assert max(medians.values()) < 0.2, medians
