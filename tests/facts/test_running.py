"""What runs where: rows hold together, and known cases come out as their documents say."""

from __future__ import annotations

import pytest

from processors import processors
from rigright.facts.chips import by_id, chips
from rigright.facts.engines import engines, engines_of, how_runs, runnings
from rigright.facts.formats import find_format

KNOWN = [
    ("vllm", "fp8", "h100-sxm5-80gb", "native"),
    ("vllm", "fp8", "rtx-4090", "native"),
    ("vllm", "fp8", "rtx-3090", "16-bit"),
    ("vllm", "fp8", "v100-pcie-32gb", None),
    ("vllm", "bf16", "v100-pcie-32gb", None),
    ("vllm", "fp16", "v100-pcie-32gb", "native"),
    ("vllm", "bf16", "t4", None),
    ("vllm", "awq4", "t4", "16-bit"),
    ("vllm", "nvfp4", "b200-sxm", "native"),
    ("vllm", "nvfp4", "h100-sxm5-80gb", "16-bit"),
    ("vllm", "fp8", "mi300x", "native"),
    ("vllm", "fp8", "mi250x", None),
    ("vllm", "bf16", "apple-m4-max-40c", None),
    ("llama.cpp", "gguf:Q4_K_M", "apple-m4-max-40c", "native"),
    ("llama.cpp", "gguf:Q4_K_M", "rx-7900-xtx", "native"),
    ("llama.cpp", "bf16", "rtx-4090", None),
    ("tensorrt-llm", "fp8", "rtx-4090", "native"),
    ("tensorrt-llm", "bf16", "mi300x", None),
]


@pytest.mark.parametrize(("engine", "form", "chip", "how"), KNOWN)
def test_known_cases(engine, form, chip, how):
    assert how_runs(engine, form, chip=by_id()[chip]) == how


def test_rows_name_engines_formats_and_chips_that_are_there():
    for row in runnings():
        assert row.engine in engines()
        assert row.how in {"native", "16-bit"}
        assert any(row.holds(chip) for chip in (*chips(), *processors())), f"no chip is of {row}"
        for form in row.formats:
            if "*" not in form:
                find_format(form)


def test_an_engine_runs_its_own_formats_somewhere():
    for engine in engines().values():
        covered = [row for row in runnings() if row.engine == engine.id]
        if covered:
            for form in engine.formats:
                assert any(row.takes(form) for row in covered), f"{engine.id} {form} runs on no chip"


def test_newer_chips_of_a_maker_run_what_older_ones_do():
    """Formats multiplied natively never go away with a later compute capability of NVIDIA."""
    ours = sorted(
        (chip for chip in chips() if chip.vendor == "NVIDIA" and chip.compute_capability),
        key=lambda chip: chip.compute_capability,
    )
    for engine in ("vllm", "sglang", "tensorrt-llm"):
        for form in ("fp16", "bf16", "fp8", "awq4"):
            runs = [how_runs(engine, form, chip=chip) is not None for chip in ours]
            assert runs == sorted(runs), f"{engine} {form}"


def test_nearly_every_chip_runs_something():
    newer = [chip for chip in chips() if chip.architecture != "Kepler"]  # no engine is built for it any more
    nothing = [chip.id for chip in newer if not engines_of(chip)]
    assert len(nothing) <= 1, nothing
