"""The limits people have: each is kept by every plan, or the nearest is named with its number."""

from __future__ import annotations

import re

from rigright.facts.chips import short
from rigright.facts.find import find_chip

# the whole market costs ten times as much
SOME = "--chips '3060 12gb, 3090, 4090, l4, l40s, a100 80gb, h100, 7900 xtx, mi300x' --engine vllm"
FEW = "--chips '3090, h100' --engine vllm"
MODEL = f"plan llama-3.1-8b --users 8 {SOME}"


def plans(ask, line):
    data = ask(f"{line} --json").data
    assert data["fits"], data["verdict"]
    return data["plans"]


KEPT = [
    ("--buy --budget '$1500'", lambda plan: plan["figures"]["usd"]["value"] <= 1500),
    ("--buy --budget '10000 CNY'", lambda plan: plan["figures"]["usd"]["value"] <= 1600),
    ("--rent --per-hour '$2'", lambda plan: plan["figures"]["usd_per_h"]["value"] <= 2),
    ("--per-mtok '$0.5'", lambda plan: plan["figures"]["usd_per_mtok"]["value"] <= 0.5),
    ("--watts 300W", lambda plan: plan["figures"]["power_w"]["value"] <= 300),
    ("--max-chips 1", lambda plan: plan["n_chips"] == 1),
    ("--vendor amd", lambda plan: find_chip(plan["chip"]).vendor == "AMD"),
    ("--chips '4090, 3090'", lambda plan: plan["chip"] in {"rtx-4090", "rtx-3090"}),
    ("--cloud aws", lambda plan: plan["supply"]["how"] == "rent" and "aws" in plan["supply"]["label"]),
    ("--buy", lambda plan: plan["supply"]["how"] == "buy"),
    ("--rent", lambda plan: plan["supply"]["how"] == "rent"),
    ("--ttft 200ms", lambda plan: plan["figures"]["ttft_s"]["value"] <= 0.2),
    ("--tpot 15ms", lambda plan: plan["figures"]["tpot_s"]["value"] <= 0.015),
    ("--ttft 800ms --percentile p99", lambda plan: plan["figures"]["ttft_s"]["value"] <= 0.8),
    ("--tok-per-s 500", lambda plan: plan["figures"]["output_tok_per_s"]["value"] >= 500),
    ("--engine sglang --on h100", lambda plan: plan["work"]["engine"].startswith("sglang")),
    ("--weights fp8 --on h100", lambda plan: plan["work"]["weights"] == "fp8"),
    ("--quality fp8 --on h100", lambda plan: plan["work"]["weights"] in {"bf16", "fp16", "fp8"}),
    ("--kv 16bit --on h100", lambda plan: plan["work"]["kv"] == "16bit"),
    ("--context 64k --on h100", lambda plan: plan["work"]["context_tok"] == 65536),
]


def test_every_plan_keeps_the_limit(ask):
    for flags, kept in KEPT:
        line = "plan llama-3.1-8b --users 8" if "--on" in flags or "--chips" in flags else MODEL
        for plan in plans(ask, f"{line} {flags}"):
            assert kept(plan), (flags, plan["machine"], plan["figures"])


BROKEN = [
    (f"plan llama-3.1-70b --buy --users 4 --budget '$500' {FEW}", "usd", 500),
    ("plan llama-3.1-8b --on h100 --engine vllm --users 8 --ttft 1ms", "ttft_s", 0.001),
    ("plan llama-3.1-8b --on h100 --engine vllm --users 8 --tpot 100us", "tpot_s", 0.0001),
    (f"plan llama-3.1-8b --users 8 {FEW} --watts 5W", "power_w", 5),
    (f"plan llama-3.1-8b --users 8 {FEW} --rent --per-hour '$0.01'", "usd_per_h", 0.01),
    ("plan llama-3.1-8b --on 4090 --engine vllm --rate 100000/s", "requests_per_s", 100_000),
    ("plan llama-3.1-8b --on 4090 --users 8 --tok-per-s 1M", "output_tok_per_s", 1_000_000),
    ("plan llama-3.1-8b --on 4090 --users 8 --grows-to 400B", "later_params", 400e9),
    ("plan llama-3.1-8b --mode pretrain --tokens 10T --on '8x h100' --days 1", "days", 1),
]


def test_an_impossible_wish_gets_the_nearest_and_the_limit_with_its_number(ask):
    for line, limit, bound in BROKEN:
        said = ask(line)
        assert said.code == 0, line
        assert said.mark == "✗", line
        data = ask(f"{line} --json").data
        assert not data["fits"], line
        assert data["plans"] == [], line
        assert data["nearest"]["n_chips"] >= 1, line
        assert short(data["nearest"]["machine"]) in said.flat, "line 1 names the nearest"
        told = {one["limit"]: one["nearest"] for one in data["broken"]}
        at_least = limit in {"requests_per_s", "output_tok_per_s", "later_params"}
        assert told[limit] < bound if at_least else told[limit] > bound, line


def test_cards_one_owns_are_taken_before_any_are_bought(ask):
    for mode in ("serve", "chat"):
        first = plans(ask, f"plan qwen3-32b --own '2x 3090' --mode {mode}")[0]
        assert (first["chip"], first["supply"]["how"]) == ("rtx-3090", "own"), mode
        assert "usd" not in first["figures"] or first["figures"]["usd"]["value"] == 0


def test_unlike_cards_work_together(ask):
    first = plans(ask, "plan llama-3.1-70b --own '4090 + 3090' --mode chat")[0]
    assert first["supply"]["how"] == "own"
    assert "4090" in first["machine"]
    assert "3090" in first["machine"]
    assert first["layout"]["pp"] == 2


def test_a_small_model_gets_a_small_machine_where_nobody_says_how_many_ask(ask):
    """Nobody who asks for an 8B model and says nothing else wants eight cards."""
    said = ask("plan llama-3.1-8b --json").data
    assert said["wish"]["users"] == 8
    assert any(note.endswith(" 8") for note in said["notes"]), "that so many were assumed is said"
    first = said["plans"][0]
    assert first["n_chips"] == 1
    assert first["figures"]["usd_per_h"]["value"] < 0.2
    assert all(plan["n_chips"] <= 2 for plan in said["plans"])


def test_a_named_machine_is_filled_where_nobody_says_how_many_ask(ask):
    data = ask("plan llama-3.1-8b --on h100 --json").data
    assert data["wish"]["users"] is None
    assert data["plans"][0]["concurrency"] > 8


def test_traffic_that_grows_is_planned_for(ask):
    now, later = (
        plans(ask, f"plan llama-3.1-8b --users 50 --cloud aws {SOME} {more}")[0]
        for more in ("", "--growth 2x")
    )
    assert (now["concurrency"], later["concurrency"]) == (50, 100)
    assert later["figures"]["usd_per_h"]["value"] >= now["figures"]["usd_per_h"]["value"]


def test_a_larger_model_later_needs_more_room_now(ask):
    plain, roomy = (plans(ask, f"{MODEL} --cloud aws {more}")[0] for more in ("", "--grows-to 70B"))
    assert roomy["figures"]["usd_per_h"]["value"] > plain["figures"]["usd_per_h"]["value"]
    assert roomy["n_chips"] * roomy["room_bytes"] > 35e9


def test_the_licence_of_weights_is_a_limit(ask):
    free = ask("plan qwen2.5-7b --on h100 --licence apache --json").data
    assert free["fits"]
    bound = ask("plan llama-3.1-8b --on h100 --licence apache --json").data
    assert not bound["fits"]
    assert bound["broken"][0]["limit"] == "licence"
    assert "llama3.1" in bound["verdict"]


def test_weights_packed_by_their_makers_are_not_packed_anew(ask):
    """Nobody packs MXFP4 weights into another four bits."""
    formats = {plan["work"]["weights"] for plan in plans(ask, "plan gpt-oss-120b --on h100")}
    assert formats == {"mxfp4"}


NEVER = [("nvfp4", "v100"), ("nvfp4", "t4"), ("fp8", "v100"), ("mxfp4", "v100")]


def test_a_format_that_a_chip_cannot_run_is_refused_with_those_it_can(ask):
    for form, chip in NEVER:
        said = ask(f"plan llama-3.1-8b --on {chip} --weights {form}")
        assert (said.code, said.is_error) == (2, True), (form, chip)
        assert re.match(rf"\w+: vllm \w+ not run {form} \w+ on {chip}", said.err, re.IGNORECASE)
        offered = said.err.rpartition(": ")[2].strip().split(", ")
        assert form not in offered
        again = ask(f"plan llama-3.1-8b --on '8x {chip}' --weights {offered[0]}")
        assert again.code == 0, again.err


def test_an_engine_that_a_chip_cannot_run_is_refused_with_those_it_can(ask):
    for engine, chip, instead in (
        ("vllm", "m2 ultra", "llama.cpp"),
        ("mlx", "4090", "vllm"),
        ("tensorrt-llm", "mi300x", "sglang"),
    ):
        for verb in ("plan", "explain"):
            said = ask(f"{verb} llama-3.1-8b --on '{chip}' --engine {engine}")
            assert (said.code, said.is_error) == (2, True), (engine, verb)
            assert said.err.split()[1] == engine
            offered = said.err.rpartition(": ")[2].strip().split(", ")
            assert instead in offered
            assert engine not in offered


def test_a_card_that_nothing_runs_on_any_more_is_told(ask):
    said = ask("plan llama-3.1-8b --on k80")
    assert (said.code, said.is_error) == (2, True)
    assert "Tesla K80" in said.err


def test_a_cache_that_the_engine_does_not_keep_names_who_does(ask):
    for verb in ("plan", "explain"):
        assert "llama.cpp" in ask(f"{verb} llama-3.1-8b --on a100 --engine vllm --kv q8_0").err


def test_a_cache_that_one_engine_keeps_is_run_in_that_engine(ask):
    first = plans(ask, "plan llama-3.1-8b --on a100 --kv q8_0")[0]["work"]
    alone = ask("explain llama-3.1-8b --on a100 --kv q8_0 --json").data
    assert first["kv"] == alone["kv"] == "q8_0"
    assert first["engine"].startswith("llama.cpp")
    assert alone["engine"] == "llama.cpp"
    assert first["weights"] == alone["weights"]


def test_bf16_on_a_card_without_it_runs_in_fp16_and_says_so(ask):
    for engine in ("", "--engine vllm"):
        question = f"llama-3.1-8b --on '2x t4' --weights bf16 {engine}"
        work = plans(ask, f"plan {question}")[0]["work"]
        assert (work["engine"].split()[0], work["weights"]) == ("vllm", "fp16")
        notes = ask(f"explain {question} --json").data["notes"]
        assert any(re.match(r"T4 has no bf16: \w+ fp16", note) for note in notes), notes


def test_half_precision_that_was_asked_for_is_taken(ask):
    assert plans(ask, "plan llama-3.1-8b --on a100 --weights fp16")[0]["work"]["weights"] == "fp16"


def test_a_context_beyond_the_model_is_told_with_what_it_was_made_for(ask):
    for verb in ("plan", "explain"):
        said = ask(f"{verb} llama-3.1-8b --on h100 --context 300k")
        assert said.mark == "!", verb
        assert "307,200" in said.flat
        assert "131,072" in said.flat


def test_a_layout_that_does_not_divide_is_refused_with_one_that_does(ask):
    for line, told in (
        ("explain llama-3.1-8b --on '3x h100' --tp 3", ("tp 3", "tp 1, 2")),
        ("explain llama-3.1-70b --on '8x h100' --tp 4 --pp 3", ("12 GPUs", " 8")),
        ("explain llama-3.1-8b --on h100 --pp 2", ("2 GPUs", " 1")),
        ("explain llama-3.1-8b --on '64x h100' --tp 1 --pp 33", ("pp 33", " 32 ")),
    ):
        said = ask(line)
        assert (said.code, said.is_error) == (2, True), line
        assert all(one in said.err for one in told), (line, said.err)


def test_no_plan_is_ten_times_as_dear_as_the_first(ask):
    for line in (
        "plan llama-3.1-8b --users 8",
        "plan qwen3-32b --mode chat --buy",
        "plan llama-3.1-70b --users 32",
    ):
        found = [plan["figures"]["usd_per_h"]["value"] for plan in plans(ask, line)]
        assert max(found) <= 10.5 * found[0], line


def test_plans_are_unlike_and_each_says_what_it_is_for(ask):
    found = plans(ask, "plan llama-3.1-70b --users 32")
    machines = [(plan["chip"], plan["supply"]["how"], plan["work"]["weights"]) for plan in found]
    assert len(set(machines)) == len(machines)
    assert found[0]["reasons"]


def test_prices_that_are_old_are_never_told_as_new(ask):
    for plan in plans(ask, MODEL):
        if plan["supply"]["stale"]:
            assert any(plan["supply"]["as_of"] in note for note in plan["notes"])


def test_own_prices_come_first(ask, tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("chip,price,currency\nrtx 3090,700,CNY\n", encoding="utf-8")
    question = "plan llama-3.1-8b --users 8 --buy --chips 3090"
    ours, own = (plans(ask, f"{question} {more}")[0] for more in ("", f"--prices {path}"))
    assert own["supply"]["usd"]["value"] < 150 < ours["supply"]["usd"]["value"]
    assert not own["supply"]["stale"]
