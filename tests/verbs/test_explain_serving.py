"""`explain` for serving: verdicts, exact limits, remedies, unlike cards, and the same in JSON."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import few
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError, RigError
from rigright.base.words import DECIDES, tell
from rigright.cost.memory.serving import PARTS
from rigright.demand import PlanWish, ServingWish, Size
from rigright.faces.cli.main import main
from rigright.facts.nodes import find_node
from rigright.predict.kept import SAFE
from rigright.predict.ranks import largest, largest_batch, largest_context, worst
from rigright.predict.timed import TimeParts
from rigright.report.pages import explain as pages
from rigright.report.pages.figures import time_tables
from rigright.search.single import single
from rigright.verbs.explain import explain


def case_of(model, on, **wish):
    return single(open_model(model), find_node(on), wish=ServingWish(**wish)).case


def spare(case, **changes):
    return float(worst(case.over(**changes)).spare_bytes)


def test_the_question_of_the_readme():
    found = explain("llama-3.1-70b", "8x h100")
    assert found.fits
    layout = found.layout
    assert layout.tp * layout.pp * layout.dp == 8, "every card that is paid for works"
    assert len(found.cards) == 8
    weights = dict(found.fullest.parts_bytes)["weights"]
    assert weights * layout.tp * layout.pp == pytest.approx(70_553_706_496 * 2, rel=0.001)
    assert found.limits.pool_tok * layout.dp > 900_000
    assert found.limits.pool_low_tok < found.limits.pool_tok < found.limits.pool_high_tok
    assert 8_192 <= found.limits.context_tok <= found.limits.model_context_tok == 131_072


def test_parts_and_pool_account_for_every_byte_the_driver_shows():
    for model, on, wish in [
        ("llama-3.1-70b", "8x h100", {}),
        ("llama-3.1-8b", "rtx 4090", {"engine": "llama.cpp"}),
        ("llama-3.1-8b", "rtx 4090", {"engine": "sglang"}),
        ("llama-3.1-8b", "a100", {"engine": "tensorrt-llm"}),
        ("llama-3.1-8b", "a100", {"engine": "transformers"}),
    ]:
        card = explain(model, on, wish=ServingWish(**wish)).fullest
        sizes = dict(card.parts_bytes)
        assert set(sizes) == {*PARTS, "unused"}
        beside_step = 0.0 if wish.get("engine") != "sglang" else sizes["step"]
        assert sum(sizes.values()) == pytest.approx(card.used_bytes, rel=0.001, abs=beside_step), wish


@pytest.mark.parametrize(
    ("model", "on", "wish"),
    [
        ("llama-3.1-8b", "rtx 4090", {"batch": 3}),
        ("llama-3.1-8b", "rtx 4090", {"engine": "sglang", "kv": "fp8"}),
        ("qwen2.5-14b", "rtx 3090 + rtx 4090", {"weights": "Q6_K"}),
        ("gemma-3-27b-it", "l40s", {"weights": "awq4", "batch": 2}),
        ("mistral-7b-v0.1", "t4", {"engine": "transformers", "weights": "nf4"}),
        ("deepseek-v2-lite", "a6000", {"batch": 5}),
        ("qwen2.5-72b", "4x a100 80gb", {"pp": 2, "tp": 2}),
    ],
)
def test_limits_are_exact(model, on, wish):
    case = case_of(model, on, **wish)
    context, batch = largest_context(case), largest_batch(case)
    assert context > 0
    assert spare(case, context_tok=context) >= 0
    if context < (case.arch.max_context_tok or 10**9):
        assert spare(case, context_tok=context + 1) < 0
    assert batch == 0 or spare(case, batch=batch) >= 0
    assert spare(case, batch=batch + 1) < 0


@given(st.integers(0, 10**7), st.integers(1, 10**7))
def test_the_largest_is_the_largest(edge, most):
    assert largest(lambda tried: edge - tried, most) == min(edge, most)


def test_what_does_not_fit_is_told_with_what_would():
    found = explain("llama-3.1-70b", "2x rtx 4090", wish=ServingWish(engine="vllm", weights="bf16"))
    assert not found.fits
    assert found.limits.context_tok == 0
    enough = [remedy.fits for remedy in found.remedies]
    assert enough == sorted(enough, reverse=True), "what is enough comes first"
    assert min(remedy.saves_bytes for remedy in found.remedies) > 0
    fitting = next(remedy for remedy in found.remedies if remedy.fits and "--weights" in (remedy.flag or ""))
    again = explain(
        "llama-3.1-70b",
        "2x rtx 4090",
        wish=ServingWish(
            engine="vllm",
            weights=fitting.flag.split()[1],
            context_tok=found.serving.context_tok,
            batch=found.serving.batch,
            tp=found.layout.tp,
            pp=found.layout.pp,
        ),
    )
    assert again.fits
    assert again.fullest.spare_bytes - found.fullest.spare_bytes == pytest.approx(fitting.saves_bytes)


def test_layers_can_stay_on_the_host_where_the_engine_allows():
    found = explain("llama-3.1-70b", "rtx 4090", wish=ServingWish(engine="llama.cpp"))
    host = [remedy for remedy in found.remedies if "RAM" in str(remedy.change)]
    assert len(host) == 1
    assert host[0].fits
    assert "-ngl" in str(host[0].price)
    assert host[0].saves_bytes >= -found.fullest.spare_bytes


def test_when_nothing_alone_is_enough_all_are_tried_together():
    found = explain("llama-3.1-405b", "4x rtx 3090", wish=ServingWish(engine="vllm"))
    assert not found.fits
    flags = [remedy.flag for remedy in found.remedies if remedy.flag is not None]
    (together,) = (flag for flag in flags if flag.count("--") > 1)
    assert sum(flag in together for flag in flags) > 2


def test_unlike_cards_get_layers_by_their_memory():
    found = explain(
        "llama-3.1-70b", "rtx 4090 + rtx 3060 12gb", wish=ServingWish(weights="Q2_K", context_tok=2048)
    )
    first, second = found.cards
    assert found.engine == "llama.cpp"
    assert first.layers[0] == 0
    assert first.layers[1] == second.layers[0]
    assert second.layers[1] == 80
    large, small = (card.layers[1] - card.layers[0] for card in found.cards)
    assert large > 1.8 * small


def test_a_lone_user_of_several_cards_waits_for_each_in_turn():
    """Cards that hold layers work one after another: a further one makes room, not tokens."""
    wish = ServingWish(weights="Q4_K_M", engine="llama.cpp", context_tok=8192)
    fast, slow, both, swapped, four = (
        explain("llama-3.1-8b", on, wish=replace(wish, pp=cards)).speed.tpot_s.value
        for on, cards in (
            ("rtx 4090", 1),
            ("rtx 3060 12gb", 1),
            ("rtx 4090 + rtx 3060 12gb", 2),
            ("rtx 3060 12gb + rtx 4090", 2),
            ("4x rtx 4090", 4),
        )
    )
    assert fast < swapped < both < slow, "the head is on the last card: it is read sooner by the faster one"
    assert both < 1.1 * swapped
    assert fast < four < 1.2 * fast


def test_unlike_cards_do_so_much_of_a_pass_as_they_hold_of_the_layers():
    """What is in use on a card when the engine starts moves layers off it, and their time with them."""
    wish = ServingWish(weights="Q4_K_M", engine="llama.cpp", context_tok=8192, pp=2)
    machines = ("rtx 4090 + rtx 3060 12gb", "rtx 4090 (9 GiB free) + rtx 3060 12gb", "2x 4090", "2x 3060")
    free, busy, fast, slow = (explain("llama-3.1-8b", on, wish=wish) for on in machines)
    assert [[card.layers for card in found.cards] for found in (free, busy)] == [
        [(0, 23), (23, 32)],
        [(0, 15), (15, 32)],
    ]
    low, high = fast.speed.tpot_s.value, slow.speed.tpot_s.value
    parts = [(found.speed.tpot_s.value - low) / (high - low) for found in (free, busy)]
    assert parts[1] - parts[0] == pytest.approx((23 - 15) / 32, rel=0.15), (
        "eight layers more on the slow card"
    )
    assert parts[0] > 9 / 32, "and the head beside its nine"
    assert busy.speed.prefill_tok_per_s.value < free.speed.prefill_tok_per_s.value


def test_where_a_split_must_be_told_it_is():
    """The head of Gemma comes on top of what the small card gets by free memory."""
    on, wish = "rtx 4090 + rtx 3060 12gb", {"engine": "llama.cpp", "context_tok": 4096}
    tight = explain("gemma-3-27b-it", on, wish=ServingWish(weights="Q8_0", **wish))
    assert tight.fits
    counts = [card.layers[1] - card.layers[0] for card in tight.cards]
    assert any(f"--tensor-split {counts[0]},{counts[1] + 1}" in str(note) for note in tight.notes)
    roomy = explain("gemma-3-27b-it", on, wish=ServingWish(weights="Q4_K_M", **wish))
    assert not any("--tensor-split" in str(note) for note in roomy.notes)


def test_free_memory_is_what_counts():
    wish = ServingWish(weights="Q8_0", context_tok=8192)
    free, busy = (explain("llama-3.1-8b", on, wish=wish) for on in ("rtx 4090", "rtx 4090 (9 GiB free)"))
    assert free.fits
    assert not busy.fits
    chosen = explain("llama-3.1-8b", "rtx 4090 (9 GiB free)")
    assert chosen.fits, "what nobody fixed is chosen for the memory that is free"
    assert chosen.weights != explain("llama-3.1-8b", "rtx 4090").weights


def test_wide_cuts_go_as_far_as_heads_allow():
    layout = explain("qwen2.5-7b", "8x a100", wish=ServingWish(batch=16, tp=4)).layout
    assert layout.tp == 4  # 28 heads
    assert layout.tp * layout.pp * layout.dp == 8
    with pytest.raises(AskError, match="tp 1, 2, 4"):
        explain("qwen2.5-7b", "8x a100", wish=ServingWish(tp=3))


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({"context_tok": 0}, "0"),
        ({"batch": -1}, "-1"),
        ({"utilisation": 1.5}, "1.5"),
        ({"kv": "q8_0", "engine": "vllm"}, "llama.cpp"),
        ({"kv": "q9"}, "fp8"),
        ({"tp": 16}, "16"),
        ({"engine": "fortran"}, "fortran"),
        ({"weights": "bf17"}, "bf16"),
        ({"picture": Size.square(448)}, "--image-size"),
        ({"picture": Size.square(1)}, "--image-size"),
    ],
)
def test_wrong_questions_are_told_what_is_there(wish, told):
    with pytest.raises(RigError, match=told):
        explain("llama-3.1-70b", "8x h100", wish=ServingWish(**wish))


def test_pictures_cost_by_their_size():
    small, large = (
        explain(
            "vit-base-patch16-224",
            "rtx 3060 12gb",
            wish=ServingWish(batch=32, picture=Size.square(side)),
        )
        for side in (224, 448)
    )
    assert dict(large.fullest.parts_bytes)["step"] > 3 * dict(small.fullest.parts_bytes)["step"]
    assert small.limits is None


def test_encoders_and_speech_are_answered_too():
    for model in ("bge-large-en-v1.5", "whisper-large-v3", "clip-vit-large-patch14", "mamba-2.8b"):
        found = explain(model, "rtx 3060 12gb")
        assert found.fits, model
        assert found.fullest.used_bytes < 12 * 2**30


def test_every_part_can_be_traced():
    found = explain("deepseek-v3", "8x h200", why=True)
    parts = {reason.part for reason in found.why}
    assert {"weights", "cache", "step", "graphs", "context", "unused"} <= parts
    assert all(reason.source for reason in found.why)


def run(capsys, *words):
    code = main(["explain", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_json_is_stable_and_whole(capsys):
    asked = ("llama-3.1-8b", "--on", "2x rtx 4090", "--pp", "2", "--json", "--context", "16k", "--why")
    code, out, _ = run(capsys, *asked)
    told = json.loads(out)
    assert code == 0
    assert set(told) == {
        "schema_version", "model", "params", "machine", "engine", "engine_version", "weights", "kv",
        "context_tok",
        "batch", "budget_tok", "max_seqs", "utilisation", "serving", "layout", "fits", "verdict", "cards",
        "ram", "limits", "speed", "samples", "held", "certainty", "safe", "broken", "days", "supply",
        "figures",
        "remedies", "why", "notes",
    }  # fmt: skip
    assert told["context_tok"] == 16_384
    switches = {"sequence_parallel": False, "attention_dp": False}
    layout = {"tp": 1, "pp": 2, "dp": 1, "ep": 1, "cp": 1, **switches}
    assert told["layout"] == layout, "llama.cpp deals out layers"
    card = told["cards"][0]
    assert card["used_low_bytes"] <= card["used_bytes"] <= card["used_high_bytes"]
    assert {"weights", "cache", "step"} <= set(card["parts_bytes"])
    assert told["why"][0]["formula"]


def test_the_page_begins_with_a_verdict(capsys):
    _, out, _ = run(capsys, "llama-3.1-70b", "--on", "8x h100")
    lines = [line for line in out.splitlines() if line]
    assert lines[0].startswith(("✓ 8x H100", "[ok] 8x H100"))
    assert "8x H100" in out
    _, out, _ = run(capsys, "llama-3.1-70b", "--on", "rtx 4090", "--engine", "vllm")
    assert out.splitlines()[0].startswith("✗")


def test_the_next_command_keeps_what_was_asked(capsys):
    asked = ("--on", "2x rtx 4090", "--engine", "vllm", "--context", "4k", "--weights", "bf16")
    _, out, _ = run(capsys, "llama-3.1-70b", *asked)
    typed = next(line for line in out.splitlines() if "$ rigright explain" in line)
    for word in ("llama-3.1-70b", "--on '2x rtx 4090'", "--engine vllm", "--context 4k", "--weights awq4"):
        assert word in typed
    assert "--weights bf16" not in typed


def test_chinese_pages_speak_chinese_only_where_words_are(capsys):
    _, out, _ = run(capsys, "llama-3.1-70b", "--on", "rtx 4090", "--lang", "zh", "--engine", "llama.cpp")
    assert "放不下" in out
    assert "weights" not in out.replace("--weights", "")


def test_the_last_row_of_a_pass_is_the_sum_of_those_above():
    token = TimeParts(memory_s=0.02, compute_s=0.001, links_s=0.0, fixed_s=0.003)
    prompt = TimeParts(memory_s=0.1, compute_s=0.5, links_s=0.0, fixed_s=0.05)
    speed = SimpleNamespace(token_pass=token, prompt_pass=prompt, audio_h_per_h=None)
    *parts, total = next(time_tables(speed, None)).rows
    for place in (1, 2):
        assert float(total[place]) == pytest.approx(sum(float(row[place]) for row in parts))


def test_wrong_words_on_the_command_line(capsys):
    for words in (
        ("llama-3.1-70b",),
        ("llama-3.1-70b", "--on", "9x nothing"),
        ("llama-3.1-70b", "--on", "h100", "--context", "many"),
        ("llama-3.1-70b", "--on", "h100", "--util", "all"),
        ("no-such-model-at-all", "--on", "h100"),
    ):
        code, out, err = run(capsys, *words)
        assert code > 0
        assert err
        assert not out
        assert "Traceback" not in err


def test_verdicts_are_sentences_of_both_languages():
    found = explain("llama-3.1-8b", "rtx 4090")
    page = pages.page(replace(found, asked="rigright explain"), why=True)
    assert tell(page.title, "zh") != tell(page.title, "en")
    assert len(page.parts) >= 5


def test_more_stages_than_cards_are_refused_whatever_the_engine():
    for engine in ("vllm", "llama.cpp", "transformers"):
        with pytest.raises(AskError, match=r"pp 4 .* 2$"):
            explain("llama-3.1-8b", "2x rtx 4090", wish=ServingWish(engine=engine, pp=4))


def test_what_an_engine_does_not_do_is_told():
    with pytest.raises(AskError, match=r"llama\.cpp .*--tp"):
        explain("llama-3.1-8b", "2x rtx 4090", wish=ServingWish(engine="llama.cpp", tp=2))


MODELS = (
    "llama-3.1-8b",
    "deepseek-v3",
    "mamba-2.8b",
    "whisper-tiny",
    "gpt2",
    "t5-small",
    "vit-base-patch16-224",
)
MACHINES = ("8x h100", "rtx 4090 + 3090", "m3 max", "rtx 4090 (1 GiB free)", "2 nodes of 8x h100")
OPTIONS = (
    "--context 1m", "--batch 100000", "--engine sglang", "--engine hf==4.38", "--engine ollama", "--tp 3",
    "--pp 4", "--ep 8", "--kv fp8", "--weights Q4_K_M", "--util 0.01", "--step-tokens 1", "--no-graphs",
    "--attention-dp", "--json", "--why",
)  # fmt: skip


@few
@given(st.sampled_from(MODELS), st.sampled_from(MACHINES), st.lists(st.sampled_from(OPTIONS), max_size=4))
def test_no_question_breaks_it(model, on, options):
    words = " ".join(options).split()
    assert main(["explain", model, "--on", on, *words]) in {0, 2}


@pytest.mark.parametrize(
    ("model", "on", "wish", "engine", "weights"),
    [
        ("llama-3.1-8b", "rtx 4090", {}, "llama.cpp", "gguf:Q8_0"),
        ("llama-3.1-8b", "h100", {}, "vLLM", "bf16"),
        ("llama-3.1-8b", "rtx 4090", {"weights": "Q5_K_M"}, "llama.cpp", "gguf:Q5_K_M"),
        ("llama-3.1-8b", "rtx 4090", {"engine": "ollama"}, "Ollama", "gguf:Q8_0"),
        ("llama3.1:8b", "rtx 4090", {}, "Ollama", "gguf:Q4_K_M"),
        ("llama-3.1-8b", "rtx 4090", {"engine": "llama.cpp", "weights": "bf16"}, "llama.cpp", "gguf:BF16"),
        ("bert-base-uncased", "m3 max", {}, "transformers", "fp16"),
        ("gpt-oss-20b", "rtx 4090", {}, "llama.cpp", "gguf:MXFP4"),
    ],
)
def test_what_nobody_said_is_what_people_do(model, on, wish, engine, weights):
    found = explain(model, on, wish=ServingWish(**wish))
    assert (found.engine, found.weights) == (engine, weights)


@pytest.mark.parametrize(
    ("model", "on", "wish"),
    [
        ("llama-3.1-8b", "rtx 3060 12gb", {"weights": "bf16"}),
        ("llama-3.1-70b", "h100", {"weights": "bf16", "batch": 4}),
        ("gemma-3-27b", "rtx 4080", {"batch": 16}),
        ("llama-3.1-8b", "rtx 4060", {"engine": "vllm"}),
    ],
)
def test_every_cure_promises_what_its_command_gives(model, on, wish):
    found = explain(model, on, wish=ServingWish(**wish))
    assert not found.fits
    assert [cure.fits for cure in found.remedies] == sorted(
        (cure.fits for cure in found.remedies), reverse=True
    )
    for cure in (cure for cure in found.remedies if cure.flag is not None):
        asks = dict(cure.asks)
        after = explain(model, asks.pop("on", on), wish=ServingWish(**wish | asks))
        assert after.fits is cure.fits
        assert after.fullest.need_bytes == pytest.approx(cure.peak_bytes)


def test_a_long_context_is_asked_about_for_one_prompt_that_fills_it():
    found = explain("llama-3.1-8b", "h100", wish=ServingWish(context_tok=131_072))
    assert (found.speed.concurrency, found.speed.prompt_tok + found.speed.output_tok) == (1, 131_072)
    many = explain("llama-3.1-8b", "h100", wish=ServingWish(context_tok=131_072, users=8))
    assert many.speed.prompt_tok < 8192
    whole = explain("Qwen2.5-7B-Instruct-1M", "2x h100", wish=ServingWish(context_tok=1 << 20))
    assert whole.serving.context_tok == open_model("Qwen2.5-7B-Instruct-1M").max_context_tok


def test_limits_that_a_band_crosses_and_versions_nobody_knows_cost_the_tick():
    asked = {"wish": ServingWish(users=50)}
    rate = explain("llama-3.1-8b", "h100", **asked).speed.output_tok_per_s.value
    found = explain("llama-3.1-8b", "h100", work=PlanWish(tok_per_s=rate * 0.97), **asked)
    assert not found.broken
    assert found.certainty["output_tok_per_s"] < SAFE
    newer = explain("llama-3.1-8b", "h100", wish=ServingWish(engine="vllm 99.0"))
    assert any(note.kind == DECIDES for note in newer.notes)


def test_fp4_weights_run_before_blackwell_where_somebody_asks_for_them():
    assert explain("llama-3.1-8b", "rtx 4090", wish=ServingWish(weights="nvfp4")).weights == "nvfp4"
    assert explain("llama-3.1-70b", "h100").weights != "nvfp4"


def test_a_batch_job_counted_in_tokens_is_so_many_requests():
    found = explain("llama-3.1-8b", "h100", work=PlanWish(train_tok=1e9))
    assert found.wish.samples == -(-1e9 // (found.wish.prompt_tok + found.wish.output_tok))
    assert found.days is not None
