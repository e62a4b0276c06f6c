"""One stream: what memory, cores, hosts and power allow, and how prompts and cards share the work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from rigright.arch.sources.open import open_model
from rigright.cost.speed.eras import table_of
from rigright.cost.speed.pipeline import micro_seqs
from rigright.cost.speed.reach import chain, cores_per_s, reached
from rigright.cost.speed.service import Limits, serve
from rigright.cost.speed.step import Pass
from rigright.cost.speed.stream import Stream, prompt_s, stream_of, token_s
from rigright.cost.speed.work import PassWork
from rigright.demand import Layout, Traffic
from rigright.facts.chips import Chip, chips
from rigright.facts.corrections import corrections
from rigright.facts.engines import Engine, engines, find_engine
from rigright.facts.find import find_chip
from rigright.terms.speed import speed_terms, stored, stream_terms, work_of

LLAMA = "meta-llama/Llama-3.1-8B"
ONE = Layout()


def engine(name: str, version: str | None = None) -> Engine:
    found = engines()[name]
    return found if version is None else replace(found, version=version)


def work(model: str = LLAMA, weights: str = "gguf:Q4_K_M") -> PassWork:
    return work_of(open_model(model), weights=weights, kv="16bit")


def stream(
    *names: str, name: str = "llama.cpp", version: str = "2024-05", weights: str = "gguf:Q4_K_M"
) -> Stream:
    found = [find_chip(chip) for chip in names]
    return stream_of(speed_terms(found, engine(name, version), weights=weights))


def token(on: Stream, *, context_tok: float = 512, cards: int = 1, of: PassWork | None = None) -> np.ndarray:
    return np.asarray(
        token_s(of or work(), on, layout=Layout(pp=cards), seqs=1, context_tok=context_tok), dtype=float
    )


def prompt(
    on: Stream, *, tok: float = 512, seen_tok: float = 0, cards: int = 1, of: PassWork | None = None
) -> np.ndarray:
    content = Pass(prefill_tok=tok, prefill_seen_tok=seen_tok, prefill_seqs=1)
    return np.asarray(prompt_s(of or work(), on, layout=Layout(pp=cards), content=content), dtype=float)


def test_twice_the_bandwidth_is_not_twice_the_speed_where_cores_unpack() -> None:
    """An A100 has twice the memory rate of an RTX 4090 and reads 4-bit weights no faster."""
    a100, rtx = token(stream("a100-sxm4-80gb", "rtx-4090"))
    assert 0.8 < rtx / a100 < 1.25
    shares = [
        one.rates.mem_bytes_per_s[0] / find_chip(name).mem_bytes_per_s
        for name in ("a100-sxm4-80gb", "rtx-4090")
        for one in [stream(name, weights="gguf:F16")]
    ]
    assert shares[0] < 0.6 < shares[1]


def test_a_stream_never_beats_its_memory() -> None:
    size = sum(gemm.size_bytes for gemm in work().gemms)
    for chip in chips():
        known = stream(chip.id)
        if np.isfinite(known.rates.mem_bytes_per_s[0]):
            assert token(known)[0] > size / chip.mem_bytes_per_s, chip.id


def test_every_chip_with_stated_rates_has_a_speed() -> None:
    """A card that nobody measured is told by its class."""
    lost = [
        chip.id
        for chip in chips()
        if chip.fp32_flops_per_s and not np.isfinite(token(stream(chip.id, version="2026-01"))[0])
    ]
    assert lost == []


@given(
    context=some.floats(0, 1e5),
    more=some.floats(0, 1e5),
    chip=some.sampled_from(("rtx-3090", "apple-m2-ultra")),
)
def test_longer_contexts_never_make_tokens_sooner(context: float, more: float, chip: str) -> None:
    on = stream(chip)
    assert token(on, context_tok=context + more)[0] >= token(on, context_tok=context)[0]


@given(tok=some.integers(1, 20_000), more=some.integers(0, 20_000), cards=some.integers(1, 8))
def test_longer_prompts_never_take_less(tok: int, more: int, cards: int) -> None:
    on = stream("rtx-4090")
    assert prompt(on, tok=tok + more, cards=cards)[0] >= 0.999 * prompt(on, tok=tok, cards=cards)[0] or (
        cards > 1  # a prompt of one pass more fills a pipeline better
    )


def test_what_is_in_the_cache_before_a_prompt_slows_it() -> None:
    on = stream("rtx-4090", version="b9000")
    assert prompt(on, seen_tok=32768)[0] > 1.2 * prompt(on)[0]


def test_one_stream_over_cards_is_no_faster_and_a_long_prompt_is() -> None:
    on = stream("rtx-4090")
    one, four = token(on)[0], token(on, cards=4)[0]
    assert one < four < 1.2 * one
    assert prompt(on, tok=8192, cards=4)[0] < 0.6 * prompt(on, tok=8192)[0]
    assert prompt(on, tok=256, cards=4)[0] >= prompt(on, tok=256)[0]


@pytest.mark.parametrize("name", ["rtx-4090", "mi300x", "apple-m3-ultra"])
@pytest.mark.parametrize("cards", [1, 2, 4, 8])
def test_a_service_for_one_user_makes_tokens_as_the_stream_does(name: str, cards: int) -> None:
    """The law of streams was held against runs; what plans and explanations ask gives the same tokens."""
    on = stream(name)
    found = serve(
        work(), on.rates, layout=Layout(pp=cards),
        traffic=Traffic(prompt_tok=512, output_tok=64, concurrency=1),
        limits=Limits(pool_tok=np.inf, max_seqs=8, budget_tok=2048),
    )  # fmt: skip
    alone = token(on, context_tok=512 + 64 / 2, cards=cards)
    assert float(np.ravel(found.tpot_s)[0]) == pytest.approx(float(alone[0]))


@pytest.mark.parametrize("name", ["rtx-4090", "a100-sxm4-80gb", "apple-m3-ultra"])
@pytest.mark.parametrize("tok", [512, 2048, 8192])
def test_a_service_for_one_user_reads_a_prompt_as_the_stream_does(name: str, tok: int) -> None:
    """Prompts of several passes keep more than one card busy; beside that a server has its own delays."""
    on = stream(name)
    quick = replace(on.rates, request_s=0.0, ahead=0.0)
    for cards in (1, 2, 4, 8):
        found = serve(
            work(), quick, layout=Layout(pp=cards),
            traffic=Traffic(prompt_tok=tok, output_tok=64, concurrency=1),
            limits=Limits(pool_tok=np.inf, max_seqs=1, budget_tok=512),
        )  # fmt: skip
        alone = float(prompt(on, tok=tok, cards=cards)[0])
        assert float(np.ravel(found.ttft_s)[0]) == pytest.approx(alone, rel=0.12), cards


@given(
    tok=some.integers(1, 20_000), cards=some.integers(1, 16), running=some.integers(1, 16),
    name=some.sampled_from(("llama.cpp", "vllm", "transformers")),
)  # fmt: skip
def test_no_pipeline_is_faster_than_all_its_cards_at_once(
    tok: int, cards: int, running: int, name: str
) -> None:
    on = stream("rtx-4090", name=name, version="2026-01", weights="bf16")

    def times(pp: int) -> tuple[float, float]:
        found = serve(
            work(weights="bf16"), on.rates, layout=Layout(pp=pp),
            traffic=Traffic(prompt_tok=tok, output_tok=64, concurrency=running),
            limits=Limits(pool_tok=np.inf, max_seqs=running, budget_tok=512),
        )  # fmt: skip
        first = float(np.ravel(found.ttft_s)[0])
        return first, first + 63 * float(np.ravel(found.tpot_s)[0])

    (first, whole), (_, whole_alone) = times(cards), times(1)
    assert whole >= 0.999 * whole_alone / cards
    # the queue may move from before the first token to after it; a prompt alone stays the quickest
    assert first >= 0.999 * float(prompt(on, tok=tok, cards=cards)[0])


@given(running=some.integers(0, 100), stages=some.integers(1, 16))
def test_a_pipeline_shares_sequences_out_and_cuts_none(running: int, stages: int) -> None:
    own = float(micro_seqs(running, Layout(pp=stages), rates=stream("rtx-4090").rates))
    assert own * stages == pytest.approx(max(running, stages if running else 0))


def test_rows_cut_over_cards_as_in_2023_lose_to_layers() -> None:
    old, new = stream("rtx-4090", version="2023-10"), stream("rtx-4090", version="2024-05")
    assert token(old, cards=8)[0] > token(new, cards=8)[0]


def test_an_array_of_cards_is_its_numbers() -> None:
    names = ("rtx-3090", "h100-pcie-80gb", "apple-m1-max", "rx-7900-xtx")
    together = token(stream(*names))
    assert together.tolist() == [token(stream(name))[0] for name in names]
    contexts = np.array([10.0, 1000.0, 5000.0])
    on = stream("rtx-3090")
    assert token(on, context_tok=contexts).tolist() == [token(on, context_tok=one)[0] for one in contexts]
    picked = stream(*names).at(np.array([2, 0]))
    assert token(picked).tolist() == [together[2], together[0]]


def test_a_host_that_is_slower_than_the_chip_sets_the_pace() -> None:
    """Small models take transformers the same time on any card: the interpreter is what they wait for."""
    small = work("Qwen/Qwen2-0.5B", "bf16")
    slow, fast = token(
        stream("a100-sxm4-80gb", "h100-sxm5-80gb", name="transformers", weights="bf16"), of=small
    )
    assert slow == pytest.approx(fast)
    bare = token(stream("a100-sxm4-80gb", name="exllama", weights="bf16"), of=small)[0]
    assert slow > 2 * bare


def test_power_holds_large_multiplications_back() -> None:
    """The same silicon with half the watts multiplies slower."""
    chip = find_chip("rtx-4090")
    asked = engine("llama.cpp", "2024-05")
    terms = stream_terms(asked, chip=chip, weights="gguf:F16")

    def rate(one: Chip) -> float:
        return reached(one, terms, elem_bytes=stored("gguf:F16").elem_bytes)["flops_per_s"]

    assert rate(replace(chip, tdp_w=225.0)) < 0.85 * rate(chip)
    assert rate(replace(chip, tdp_w=None)) > rate(chip)


def test_an_engine_goes_by_the_table_of_its_age_and_back_end() -> None:
    tables = corrections("speed_streams")
    chips = {
        name: find_chip(name)
        for name in ("rtx-4090", "rtx-5090", "strix-halo-8060s", "rx-7900-xtx", "arc-b580")
    }
    chips["apple"] = find_chip("apple-m2-ultra")

    def named(asked: str, chip: str, version: str = "") -> str | None:
        found = find_engine(asked)
        return table_of(tables, replace(found, version=version or found.version), chip=chips[chip])

    assert named("llama.cpp", "rtx-4090", "2023-10") == "llama.cpp cuda 2023"
    assert named("llama.cpp", "rtx-4090", "2024-05 (CUDA 12.1)") == "llama.cpp cuda 2024"
    assert named("llama.cpp", "rtx-4090", "b2900") == "llama.cpp cuda 2024"
    assert named("llama.cpp b9187", "rtx-4090") == named("llama.cpp", "rtx-4090") == "llama.cpp cuda"
    assert named("llama.cpp", "rtx-5090", "2025-12-24") == "llama.cpp cuda fp4"
    assert named("llama.cpp", "rtx-5090", "2025-12-19") == "llama.cpp cuda without fp4"
    assert (
        named("llama.cpp vulkan", "rtx-4090")
        == named("llama.cpp vulkan b9187", "rx-7900-xtx")
        == "llama.cpp vulkan"
    )
    assert named("llama.cpp-vulkan", "rx-7900-xtx", "b6077") == "llama.cpp vulkan 2025"
    assert (
        named("llama.cpp (Vulkan)", "arc-b580") == named("llama.cpp", "arc-b580") == "llama.cpp vulkan intel"
    )
    assert named("llama.cpp sycl", "arc-b580") == "llama.cpp sycl"
    assert named("llama.cpp", "strix-halo-8060s", "b6077") == "llama.cpp rocm apu 2025"
    assert named("llama.cpp-hip", "strix-halo-8060s") == named("llama.cpp", "rx-7900-xtx") == "llama.cpp rocm"
    assert named("ollama", "apple", "0.13") == "llama.cpp metal"
    assert named("vllm", "rtx-4090", "0.4.2") == "vllm early"
    assert named("vllm", "rtx-4090", "0.11") is None


def test_an_engine_with_its_backend_is_found_again_by_its_own_words() -> None:
    asked = find_engine("llama.cpp vulkan b9187")
    assert (asked.id, asked.backend, asked.version) == ("llama.cpp", "vulkan", "9187")
    assert find_engine(asked.asked) == asked
    assert find_engine(find_engine("llama.cpp").asked) == find_engine("llama.cpp")
    assert find_engine("llama.cpp rocm hipblaslt").options == ("hipblaslt",)


def test_tables_build_on_tables_that_are_there_and_on_no_circle() -> None:
    tables = corrections("speed_streams")
    for name in tables["engines"]:
        assert chain(tables, name)[-1] == "plain"
    for era in tables["eras"]:
        assert era in tables["engines"]


def test_a_format_is_as_wide_as_its_blocks() -> None:
    assert stored("gguf:Q4_K_M").elem_bytes == pytest.approx(4.5 / 8)
    assert stored("bf16").elem_bytes == 2
    assert stored("hqq4/codebook").names[-1] == "codebook"


def test_cores_are_counted_whoever_made_them() -> None:
    """82 SMs at 1.7 GHz; 76 cores at 1.4 GHz; and what states no rate stays unknown."""
    assert cores_per_s(find_chip("rtx-3090")) == pytest.approx(82 * 1.695e9, rel=0.01)
    assert cores_per_s(find_chip("apple-m2-ultra")) == pytest.approx(76 * 1.4e9, rel=0.01)


def test_cards_without_matrix_units_multiply_narrow_weights_by_dot_products() -> None:
    """A P40 does four products of 8 bit for one of 32 bit; a GTX 980 Ti, of the age before, none."""
    asked = find_engine("llama.cpp")

    def rate(name: str, weights: str) -> float:
        chip = find_chip(name)
        terms = stream_terms(asked, chip=chip, weights=weights)
        return reached(chip, terms, elem_bytes=stored(weights).elem_bytes)["flops_per_s"]

    assert rate("tesla-p40", "gguf:Q4_0") > 1.4 * rate("tesla-p40", "gguf:F16")
    assert rate("gtx-980-ti", "gguf:Q4_0") == pytest.approx(rate("gtx-980-ti", "gguf:F16"))
