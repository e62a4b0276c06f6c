"""What is typed for the verbs that choose hardware: one row each, in the groups of `--help`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from rigright.base.units import (
    GIGA,
    KILO,
    MEGA,
    TERA,
    parse_amount,
    parse_count,
    parse_factor,
    parse_rate,
    parse_seconds,
    parse_share,
    parse_watts,
)
from rigright.base.words import Sentence, say
from rigright.options.readers import (
    cached,
    currency,
    days,
    draft,
    duty,
    flag,
    hours,
    images,
    kv_store,
    length,
    money,
    names,
    params,
    part,
    percentile,
    picture,
    pue,
    rates,
    spread,
    switch,
    whole,
)
from rigright.options.row import (
    ALL,
    ANCHORS,
    EMBED,
    FREE,
    IMAGE,
    LEARN,
    MODEL,
    PROMPTED,
    SAMPLES,
    SERVE,
    SPEECH,
    TEXT,
    TRAIN,
    TRAINS,
    Option,
    Rows,
    row,
)

METHODS = ("full", "lora", "qlora", "dora")
ROLLOUTS = ("sleep", "colocate", "apart")
ROLLED = "objective=grpo objective=rloo objective=ppo"
ADAPTERS = ("train=lora", "train=qlora", "train=dora")
AIMS = ("cost", "speed", "latency", "ttft", "power", "quality", "price")
LOADS = ("poisson", "gamma", "burst", "diurnal", "closed", "together")
TRAINING_MODES = ("finetune", "pretrain")
SAMPLE_MODES = ("image", "embed")
MADE = (
    "rate concurrency output seed burst period think prompt-spread output-spread burstiness cached arrivals"
)
PLANS = "plan compare cost"
PAID = f"{PLANS} explain"  # that say what something costs, and hold it against limits of money
ONE = "explain simulate"
RUNS = "validate calibrate"  # what a benchmark's own file leaves open
_JOINED = re.compile(r"[a-z0-9]\||\|[a-z0-9]")  # letters on a side of it: another word
_AROUND = re.compile(r"[+,/&_-]|\b(?:with|and|training|fine-?tuning)\b|微调|训练|用|做")
GPUS, FAR, LONG_S = int(MEGA), KILO * TERA, GIGA  # the most GPUs, units of what is no count, seconds


def objectives() -> tuple[str, ...]:
    """Every loss of post-training."""
    from rigright.base.tables import DATA, read_toml

    return tuple(read_toml(DATA / "objectives.toml"))


@cache
def _objectives() -> dict[str, str]:
    """Every word for one, the longest first."""
    from rigright.base.tables import DATA, read_toml

    words = [(word, name) for name, row in read_toml(DATA / "objectives.toml").items()
             for word in (name, row["label"].lower(), *row.get("aliases", ()))]  # fmt: skip
    return dict(sorted(words, key=lambda pair: -len(pair[0])))


def trains_as(text: str) -> tuple[str, str] | None:
    """The loss and the method of words such as "GRPO LoRA", "qlora+dpo"; None where they name no loss."""
    from rigright.base.numerals import plain

    rest = plain(text)
    if rest in METHODS:
        return None
    for word, name in _objectives().items():
        before, there, after = rest.partition(word)
        if there and not (word.isascii() and _JOINED.search(before[-1:] + "|" + after[:1])):
            rest = " ".join(_AROUND.sub(" ", f"{before} {after}").split())
            if rest:
                from rigright.base.everyday import named

                rest = named("method", rest)
            return (name, rest) if rest in {"", *METHODS} else None
    return None


def _loss_and_method(first: str, second: str) -> str | None:
    """The two as one, where one names a loss and the other how its weights are trained."""
    named = [(trains_as(text) or ("", ""))[0] for text in (first, second)]
    return None if all(named) or not any(named) else f"{first} {second}"


def modes() -> tuple[str, ...]:
    """Every kind of work: those of data/works.toml, then training and whole samples."""
    from rigright.base.tables import DATA, read_toml

    served = [name for name, row in read_toml(DATA / "works.toml").items() if "names" not in row]
    return (*served, *TRAINING_MODES, *SAMPLE_MODES)


def kinds_of(mode: str | None) -> frozenset[str]:
    """What a mode may turn out to be once the model is known."""
    if mode in TRAINING_MODES:
        return TRAINS
    if mode == SPEECH:
        return frozenset({SPEECH})
    return SAMPLES if mode in SAMPLE_MODES else TEXT | SAMPLES


def _row(
    name: str,
    metavar: str,
    *,
    read: Callable[[str], Any],
    text: Sentence,
    verbs: str = PLANS,
    fields: str = "",
    **more: Any,
) -> Option:
    if metavar == "MONEY" or (metavar == "N" and read is not parse_count):
        more.setdefault("most", FAR)
    return row(name, metavar, text=text, read=read, verbs=verbs, fields=fields, **more)


MACHINE = (
    _row("on", "MACHINE", read=str,
         text=say('the machine: "8x h100", "rtx 4090 + 64gb", "p5.48xlarge", or a file from `probe --save`'),
         verbs=f"{PLANS} {ONE} fit {RUNS}", bars="own chips vendor plan", offered="chips"),
    _row("own", "MACHINE", read=str, text=say("GPUs you own: only power is paid for"),
         verbs="plan cost explain", fields="owned", offered="chips"),
    _row("chips", "NAMES", read=names, text=say('only these GPUs: "h100, mi300x"'), verbs="plan cost",
         offered="chips"),
    _row("vendor", "NAMES", read=names, text=say("only these vendors: nvidia, amd, apple ..."),
         verbs="plan cost", fields="vendors"),
    _row("cloud", "NAMES", read=names, text=say("only these clouds: aws, gcp ..."), verbs="plan cost explain",
         fields="clouds"),
    _row("buy", "", read=flag(value=True), text=say("buy only"), verbs=PAID, bars="rent cloud spot"),
    _row("rent", "", read=flag(value=False), text=say("rent only"), verbs=PAID, fields="buy"),
    _row("spot", "", read=flag(value=True), text=say("rent at spot prices where known"), verbs=PAID),
    _row("max-chips", "N", read=parse_count, text=say("maximum number of GPUs"), fields="most_chips",
         most=GPUS),
)  # fmt: skip
WORK = (
    _row("mode", "MODE", read=str,
         text=say("serve, chat, rag, agent, batch, finetune, pretrain, image, embed ..."), fields="work",
         verbs=f"{PLANS} explain", choices=modes),
    _row("prompt", "N", read=parse_count, text=say("prompt tokens: 2048, 8k"), fields="prompt_tok",
         verbs=f"{PLANS} {ONE} {RUNS}", works=PROMPTED | {EMBED}),
    _row("output", "N", read=parse_count, text=say("output tokens"), fields="output_tok",
         verbs=f"{PLANS} {ONE} {RUNS}", works=PROMPTED),
    _row("context", "N", read=parse_count, text=say("context tokens per sequence: 8192, 32k"),
         fields="context_tok", verbs=f"{PLANS} {ONE} fit {RUNS}", works=PROMPTED | {EMBED}),
    _row("concurrency", "N", read=whole, text=say("concurrent requests"), aliases="users",
         fields="users concurrency", verbs=f"{PLANS} {ONE} fit {RUNS}", works=TEXT, bars="rate", most=GIGA),
    _row("rate", "R", read=parse_rate, text=say("request rate: 5/s, 300/min"), fields="rate_per_s",
         verbs=f"{PLANS} {ONE}", works=TEXT | SAMPLES, most=FAR),
    _row("cached", "SHARE", read=cached, text=say("prefix cache hit rate, as a share of the prompt: 50%"),
         fields="cached_share", verbs=f"{PLANS} {ONE}", works=PROMPTED, zero=True),
    _row("turns", "N", read=parse_count, text=say("turns of a session"),
         verbs=f"{PLANS} {ONE}", works=PROMPTED, most=MEGA),
    _row("think", "TIME", read=parse_seconds, text=say("time between turns: 5s"),
         fields="think_s", verbs=f"{PLANS} {ONE}", works=PROMPTED, most=LONG_S),
    _row("shared", "N", read=parse_count, text=say("tokens that all prompts share"),
         fields="shared_tok", verbs=f"{PLANS} {ONE}", works=PROMPTED),
    _row("offload-kv", "SIZE", read=kv_store,
         text=say('KV cache outside the GPU: "ram 200gb, NVMe 2tb"'), fields="kv_store",
         verbs=f"{PLANS} {ONE}", works=PROMPTED),
    _row("draft", "WHAT", read=draft,
         text=say("drafting: mtp, eagle3, ngram or a model; acceptance: 70%"),
         verbs=f"{PLANS} {ONE}",
         fields="drafting draft", works=PROMPTED),
    _row("draft-tokens", "N", read=parse_count, text=say("tokens drafted per step"),
         fields="draft_tok", verbs=f"{PLANS} {ONE}", works=PROMPTED, needs="draft", most=1024),
    _row("image-size", "PIXELS", read=picture, text=say("size of an image or video: 1024, 1280x720, 720p"),
         fields="picture", verbs=f"{PLANS} explain", works=frozenset({IMAGE, LEARN})),
    _row("frames", "N", read=length, text=say("length of a video: 81 frames, or 5s"),
         fields="length", verbs=f"{PLANS} explain", works=frozenset({IMAGE})),
    _row("images", "N", read=images, text=say("images in each request: 2, 2x1024x768"),
         verbs=f"{PLANS} {ONE} fit", works=PROMPTED, bars="trace"),
    _row("steps", "N", read=parse_count, text=say("denoising steps of an image or video"),
         verbs=f"{PLANS} explain", works=frozenset({IMAGE}), most=100_000),
    _row("batch", "N", read=parse_count,
         text=say("batch size over all GPUs: samples, or sequences at full context"),
         fields="global_batch batch", verbs=f"{PLANS} explain {RUNS}", works=ALL - TEXT,
         works_in=(("explain", ALL),), bars="concurrency"),
)  # fmt: skip
ENGINE = (
    _row("engine", "NAME", read=names, text=say('inference engine: "vllm", "llama.cpp" ...'),
         fields="engines engine", verbs=f"{PLANS} {ONE} fit {RUNS}", works=TEXT | SAMPLES, offered="engines"),
    _row("weights", "NAME", read=names, text=say('weight format: "bf16", "fp8", "Q4_K_M"'),
         aliases="format", verbs=f"{PLANS} {ONE} {RUNS}", works=TEXT | SAMPLES, offered="formats"),
    _row("kv", "NAME", read=names, text=say('KV cache format: "16bit", "fp8", "q8_0"'),
         verbs=f"{PLANS} {ONE} {RUNS}", works=TEXT, offered="kv formats"),
    _row("quality", "FORMAT", read=str, text=say('no lower quality than this format: "fp8"'), works=TEXT,
         offered="formats"),
    _row("step-tokens", "N", read=parse_count, text=say("tokens an engine processes in one step"),
         fields="budget_tok", verbs=f"{ONE} {RUNS}", works=TEXT),
    _row("max-seqs", "N", read=parse_count, text=say("maximum number of sequences in the engine"),
         verbs=f"{ONE} {RUNS}", works=TEXT),
    _row("util", "SHARE", read=part, text=say("share of GPU memory for the engine: 0.9"),
         fields="utilisation", verbs=f"{ONE} {RUNS}", works=TEXT),
    _row("gpu-layers", "N", read=parse_count, text=say("layers on the GPU (as -ngl); the rest in RAM"),
         aliases="ngl", verbs=ONE, works=PROMPTED, most=GPUS),
    _row("cpu-moe", "N", read=parse_count, text=say("layers with experts in RAM (as --n-cpu-moe)"),
         aliases="n-cpu-moe", verbs=ONE, works=PROMPTED, most=GPUS),
    _row("no-graphs", "", read=flag(value=False), text=say("without CUDA graphs (eager mode)"),
         fields="graphs", verbs=f"{ONE} {RUNS}", works=TEXT),
)  # fmt: skip
LAYOUT = (
    _row("tp", "N", read=parse_count, text=say("tensor parallel"), verbs=f"{ONE} {RUNS}", most=GPUS),
    _row("pp", "N", read=parse_count, text=say("pipeline parallel"), verbs=f"{ONE} {RUNS}", most=GPUS),
    _row("dp", "N", read=parse_count, text=say("replicas (data parallel)"), verbs=f"{ONE} {RUNS}", most=GPUS),
    _row("ep", "N", read=parse_count, text=say("expert parallel"), verbs=f"{ONE} {RUNS}", most=GPUS),
    _row("cp", "N", read=parse_count, text=say("context parallel"), verbs=f"{ONE} {RUNS}", most=GPUS),
    _row("attention-dp", "", read=switch,
         text=say("data-parallel attention inside tensor parallel"), verbs=f"{ONE} {RUNS}", works=TEXT,
         bars="no-attention-dp"),
    _row("no-attention-dp", "", read=flag(value=False),
         text=say("without data-parallel attention"), verbs=f"{ONE} {RUNS}", works=TEXT,
         fields="attention_dp"),
    _row("sequence-parallel", "", read=flag(value=True),
         text=say("sequence parallel on top of tensor parallel"), verbs="explain", works=TRAINS),
)  # fmt: skip
TRAINING = (
    _row("train", "METHOD", read=str, verbs="explain", fields="method", works=TRAINS,
         text=say("train, not serve: full, lora, qlora, dora; with a loss: grpo lora"),
         choices=lambda: METHODS, bare="full", bars="serve", aliases="method", joins=_loss_and_method),
    _row("serve", "", read=flag(value=True), text=say("serve (default)"), verbs="explain"),
    _row("tokens", "N", read=parse_amount, fields="train_tok",
         text=say("tokens to train on, or of a batch job: 10B"),
         verbs=f"{PLANS} explain", works=frozenset({TRAIN, SERVE}), bars="samples", most=MEGA * TERA),
    _row("samples", "N", read=parse_amount, text=say("samples to process or train on, --seq tokens each"),
         verbs=f"{PLANS} explain", works=TRAINS | SAMPLES, most=MEGA * TERA),
    _row("epochs", "N", read=parse_amount, text=say("epochs"), verbs=f"{PLANS} explain", works=TRAINS,
         needs="samples", most=MEGA),
    _row("seq", "N", read=parse_count, text=say("tokens per training sequence"), fields="seq_tok",
         verbs=f"{PLANS} explain {RUNS}", works=frozenset({TRAIN})),
    _row("method", "METHOD", read=str, text=say("full, lora, qlora, dora"), aliases="train",
         verbs=f"{PLANS} {RUNS}", works=TRAINS, choices=lambda: METHODS, bare="full", joins=_loss_and_method),
    _row("objective", "NAME", read=str, text=say("loss of preferences or rewards"),
         verbs=f"{PLANS} explain", works=frozenset({TRAIN}), choices=objectives),
    _row("group", "N", read=parse_count, text=say("completions per prompt (num_generations): 8"),
         verbs=f"{PLANS} explain", works=frozenset({TRAIN}), needs=ROLLED, most=4096,
         aliases="num-generations n-samples-per-prompt"),
    _row("prompts", "N", read=parse_count, text=say("prompts per optimizer step, each with its group"),
         verbs=f"{PLANS} explain", works=frozenset({TRAIN}), needs=ROLLED, bars="batch", most=MEGA),
    _row("completion", "N", read=parse_count, text=say("tokens of a completion, part of --seq"),
         fields="completion_tok", verbs=f"{PLANS} explain", works=frozenset({TRAIN}), needs=ROLLED,
         aliases="max-completion-length generate-max-len"),
    _row("rollout", "NAME", read=str, text=say("rollout engine: sleep between rollouts, colocate, apart"),
         verbs="explain", works=frozenset({TRAIN}), needs=ROLLED, choices=lambda: ROLLOUTS),
    _row("rollout-gpus", "N", read=parse_count, text=say("GPUs of a rollout engine that stands apart"),
         verbs="explain", works=frozenset({TRAIN}), needs="rollout=apart", most=GPUS),
    _row("rollout-tp", "N", read=parse_count, text=say("GPUs of one rollout engine (tensor parallel)"),
         verbs="explain", works=frozenset({TRAIN}), needs=ROLLED, most=GPUS),
    _row("waves", "N", read=parse_count, text=say("parts of its completions an engine writes in turn"),
         verbs="explain", works=frozenset({TRAIN}), needs=ROLLED, most=4096),
    _row("trainer", "NAME", read=str, text=say("framework: hf, pytorch, deepspeed, megatron ..."),
         verbs=f"{PLANS} explain {RUNS}", works=TRAINS),
    _row("days", "TIME", read=days, text=say("deadline: 14, 36h"), verbs=f"{PLANS} explain",
         works=TRAINS | SAMPLES | TEXT, most=MEGA),
    _row("optimizer", "NAME", read=str, text=say("adamw, adamw-8bit, adafactor, lion, sgd, muon ..."),
         verbs=f"explain {RUNS}", works=TRAINS),
    _row("precision", "NAME", read=str, text=say("bf16-mixed, bf16, fp16-mixed, fp32, fp8"),
         verbs=f"explain {RUNS}", works=TRAINS),
    _row("micro-batch", "N", read=parse_count, text=say("micro-batch: samples per forward pass on one GPU"),
         verbs=f"explain {RUNS}", works=TRAINS),
    _row("accumulate", "N", read=parse_count,
         text=say("gradient accumulation: micro-batches per optimizer step"), verbs="explain",
         works=TRAINS),
    _row("recompute", "NAME", read=str, text=say("activation checkpointing: none, selective, full"),
         verbs=f"explain {RUNS}", works=TRAINS),
    _row("rank", "N", read=parse_count, text=say("LoRA rank"), verbs="explain", works=TRAINS,
         needs=" ".join(ADAPTERS)),
    _row("targets", "NAME", read=str, text=say("matrices with adapters: attn, ffn, all"), verbs="explain",
         works=TRAINS, needs=" ".join(ADAPTERS)),
    _row("base", "FORMAT", read=str, text=say("format of the frozen base model"), verbs="explain",
         works=TRAINS, needs="train=qlora"),
    _row("references", "N", read=parse_count,
         text=say("frozen copies of the model kept beside it: 1 for DPO, GRPO and PPO, 0 without a KL term"),
         verbs="explain", works=TRAINS, most=16, zero=True),
    _row("sharding", "NAME", read=str, text=say("none, zero1, zero2, zero3, fsdp, hsdp"),
         verbs=f"explain {RUNS}", works=TRAINS),
    _row("offload", "NAME", read=str, text=say("none, optimizer-cpu, all-cpu, optimizer-nvme, all-nvme"),
         verbs="explain", works=TRAINS),
    _row("schedule", "NAME", read=str,
         text=say("pipeline schedule: 1f1b, gpipe, interleaved, zero-bubble"), verbs="explain",
         works=TRAINS),
    _row("virtual-stages", "N", read=parse_count, text=say("model chunks per pipeline rank"),
         verbs="explain", works=TRAINS),
    _row("flash", "", read=flag(value=True), text=say("flash attention (the default)"), verbs="explain",
         works=TRAINS, bars="no-flash"),
    _row("no-flash", "", read=flag(value=False), text=say("without flash attention"), verbs="explain",
         works=TRAINS, fields="flash"),
    _row("chunked-loss", "", read=flag(value=True), text=say("fused or chunked cross-entropy"),
         verbs="explain", works=TRAINS),
    _row("compiled", "", read=flag(value=True), text=say("torch.compile or another fusing compiler"),
         verbs="explain", works=TRAINS | {IMAGE}),
)  # fmt: skip
LOAD = (
    _row("trace", "T.csv", read=str, text=say("replay a trace: arrival_s, prompt_tok, output_tok"),
         verbs="simulate", bars=MADE),
    _row("setup", "T.json", read=str, text=say("machine and settings of the trace"), verbs="simulate",
         needs="trace"),
    _row("out", "FILE.csv", read=str, text=say("write the times of each request's first and last token"),
         verbs="simulate"),
    _row("requests", "N", read=whole, verbs=f"{PLANS} {ONE}", works=TEXT, fields="requests samples",
         text=say("requests of a job that ends (simulate: 1000): how long it takes, what it costs"),
         bars="trace"),
    _row("arrivals", "NAME", read=str, verbs="simulate", choices=lambda: LOADS,
         text=say("arrivals: poisson, gamma, burst, diurnal; closed, together (all start at once)")),
    _row("burst", "N", read=parse_count, text=say("requests that arrive together (10)"), verbs="simulate",
         needs="arrivals=burst"),
    _row("burstiness", "N", read=spread, text=say("variation of the gaps (CV): 1 is Poisson (2)"),
         fields="gap_spread", verbs="simulate", needs="arrivals=gamma", zero=True, most=1000),
    _row("period", "TIME", read=parse_seconds, text=say("period of the cycle (24h)"), fields="period_s",
         verbs="simulate", needs="arrivals=diurnal", most=LONG_S),
    _row("prompt-spread", "N", read=spread, text=say("variation of prompt lengths (CV) (0)"),
         verbs="simulate", zero=True, most=1000),
    _row("output-spread", "N", read=spread, text=say("variation of output lengths (CV) (0; users 0.1)"),
         verbs="simulate", zero=True, most=1000),
    _row("seed", "N", read=parse_count, text=say("random seed (0)"), verbs="simulate", zero=True,
         most=2**64 - 1),
    _row("policy", "NAME", read=str,
         text=say('batching policy: "vllm", "sglang", "tensorrt-llm", "static" ...'), verbs="simulate"),
    _row("chunks", "on|off", read=switch, text=say("chunked prefill"), verbs="simulate",
         choices=lambda: ("on", "off")),
    _row("replicas", "N", read=parse_count, text=say("number of machines (1)"), verbs="simulate",
         most=4096),
    _row("prefill-workers", "N", read=parse_count,
         text=say("machines added for prefill only; they send their KV cache"), verbs="simulate", most=4096),
    _row("router", "NAME", read=str, text=say('"least-busy" or "round-robin"'), verbs="simulate",
         needs="replicas dp"),
)  # fmt: skip
LIMITS = (
    _row("ttft", "TIME", read=parse_seconds, text=say("time to first token, at most: 1s"), fields="ttft_s",
         verbs=f"{PLANS} {ONE}", works=TEXT, most=LONG_S),
    _row("tpot", "TIME", read=parse_seconds, text=say("time per output token, at most: 50ms"),
         fields="tpot_s", verbs=f"{PLANS} {ONE}", works=TEXT, most=LONG_S),
    _row("latency", "TIME", read=parse_seconds, text=say("time of a batch of images, at most: 5s"),
         fields="latency_s", verbs=f"{PLANS} explain", works=SAMPLES, most=LONG_S),
    _row("percentile", "P", read=percentile, text=say("TTFT and TPOT hold for this percentile: p95"),
         verbs=f"{PLANS} {ONE}", works=TEXT),
    _row("tok-per-s", "N", read=parse_amount, text=say("output tokens/s of the whole system, at least"),
         verbs=f"{PLANS} explain", works=TEXT),
    _row("budget", "MONEY", read=money(), text=say("total budget: 8000usd, 60000cny, 5万"),
         fields="budget_usd",
         verbs=PAID),
    _row("per-hour", "MONEY", read=money("h"), text=say("cost per hour, at most: 20, 20usd/h"),
         fields="usd_per_h",
         verbs=PAID),
    _row("per-mtok", "MONEY", read=money("mtok"), text=say("cost per 1M output tokens, at most: 0.5, 4元"),
         fields="usd_per_mtok", works=TEXT,
         verbs=PAID),
    _row("watts", "POWER", read=parse_watts, fields="power_w", most=TERA, verbs=PAID,
         text=say("power limit of the GPUs that are named; else power at the wall, at most: 1.5kW")),
    _row("have", "PC", read=str, bars="rent spot cloud", verbs=PLANS,
         text=say('the PC that takes the cards: "b650, 64gb, 850w"; only cards are bought')),
    _row("room", "PLACE", read=str, verbs=PLANS,
         text=say('where a bought machine stands: "230V 16A", "home 120V", "rack 2U", quiet')),
    _row("licence", "NAME", read=str, text=say("model licence: apache, mit ..."), aliases="license",
         verbs=f"{PLANS} fit", works=ALL - {TRAIN}),
    _row("growth", "FACTOR", read=parse_factor, text=say("headroom for more load: 2x, +50%"),
         works=TEXT | SAMPLES, most=MEGA),
    _row("grows-to", "MODEL", read=str, text=say('headroom for a larger model: "70B" or a name'),
         works=TEXT),
)  # fmt: skip
MONEY = (
    _row("tariff", "MONEY", read=money("kwh"), text=say("electricity price per kWh: 0.12, 0.6元/度"),
         fields="tariff_usd_per_kwh",
         verbs=PAID),
    _row("place", "NAME", read=str, text=say("place, for tariff and CO2: US-CA, DE, CN-GD, Guangdong, 广东"),
         bars="tariff",
         verbs=PAID),
    _row("customer", "WHO", read=str, text=say("type of tariff: home or company"), needs="place",
         choices=lambda: ("home", "company"),
         verbs=PAID),
    _row("pue", "N", read=pue, text=say("PUE, total power over IT power: 1.3"),
         most=100,
         verbs=PAID),
    _row("years", "N", read=parse_amount, text=say("depreciation of a bought machine, in years"),
         most=1000,
         verbs=PAID),
    _row("duty", "SHARE", read=duty, text=say("time the machine is in use: 40%, 8h/day, 40h/week"),
         aliases="utilisation utilization", plain_in="explain",
         verbs=PAID),
    _row("used", "", read=flag(value=True), text=say("buy used cards where a used price is known"),
         bars="rent spot",
         verbs=PAID),
    _row("currency", "CODE", read=currency, text=say("show money in this currency: CNY, EUR"),
         verbs=PAID),
    _row("cooling", "SHARE", read=parse_share, text=say("cooling, as a share of the machine's power: 30%"),
         verbs="cost", bars="pue", most=10),
    _row("space", "MONEY", read=money("month"), text=say("rack or room of a bought machine, per month"),
         verbs="cost", fields="space_usd"),
    _row("upkeep", "SHARE", read=part, text=say("yearly repairs, as a share of the price: 5%"),
         verbs="cost"),
    _row("people", "MONEY", read=money("month"),
         text=say("staff for a bought machine, per month"), verbs="cost", fields="people_usd"),
    _row("api", "IN/OUT", read=rates,
         text=say("API price per 1M tokens, prompt/output: 0.15/0.60, 2元/8元"), verbs="cost",
         aliases="api-usd-per-mtok", fields="api_usd_per_mtok"),
    _row("mtok", "N", read=parse_amount,
         text=say("million output tokens needed per month; default: all the machine can produce"),
         verbs="cost", fields="mtok_per_month", most=GIGA),
    _row("hours", "TIME", read=hours, text=say("hours of use in all those years: 200, 30d; off otherwise"),
         verbs="cost", bars="duty mtok", most=GIGA),
    _row("after", "YEARS", read=parse_amount, text=say("replace the machine after this many years"),
         verbs="cost", fields="after_years", most=1000),
    _row("then", "MACHINE", read=str, text=say("the replacement, if it is a different machine"),
         verbs="cost", needs="after"),
    _row("prices", "FILE.csv", read=str,
         text=say("your own price list: columns chip and usd, or price and currency"), fields="prices_file",
         verbs=PAID),
)  # fmt: skip
MODELS = (
    _row("model", "MODEL", read=str, text=say("the model of the run"), verbs=RUNS),
    _row("plan", "FILE", read=str, text=say("the plan of the run: output of `plan --json`"), verbs=RUNS),
    _row("task", "NAME", read=str, text=say('"text", "image-text", "embed", "vision", "image", "speech"'),
         verbs="fit"),
    _row("family", "NAME", read=str, text=say("model family: llama, qwen3"), verbs="fit"),
    _row("min-params", "SIZE", read=params, text=say("minimum size: 7B"), verbs="fit",
         most=MEGA * TERA),
    _row("max-params", "SIZE", read=params, text=say("maximum size: 70B"), verbs="fit",
         most=MEGA * TERA),
    _row("all-formats", "", read=flag(value=True), text=say("list every format that fits"),
         fields="every_format", verbs="fit"),
)  # fmt: skip
SHOWN = (
    _row("aim", "AIM", read=str, text=say("rank by: cost, speed, latency, power, quality"),
         choices=lambda: AIMS),
    _row("plans", "N", read=parse_count, text=say("maximum number of plans to show"), fields="most_plans",
         verbs="plan", most=1000),
    _row("limit", "N", read=parse_count, text=say("maximum rows; 0: all"), verbs="fit", zero=True),
)  # fmt: skip
GROUPS: tuple[tuple[Sentence, tuple[Option, ...]], ...] = (
    (say("machine"), MACHINE),
    (say("models"), MODELS),
    (say("workload"), WORK),
    (say("engine"), ENGINE),
    (say("layout"), LAYOUT),
    (say("training"), TRAINING),
    (say("load"), LOAD),
    (say("limits"), LIMITS),
    (say("money"), MONEY),
    (say("answer"), SHOWN),
)

PLANNED = frozenset(
    {*("build", "compare", "cost", "explain"), *("fit", "plan", "report", "simulate")}
)  # planning options, too
ROWS: dict[str, Rows] = {
    "build": lambda: (
        row("what", "CARDS|MODEL", placed=True, count="?",
            text=say('"2x rtx 4090", "8x h100 sxm"; or a model, planned first with the options below')),
        row("check", "FILE",
            text=say("check a parts list, one part per line (cpu: ..., gpu: 2x RTX 4090); - is stdin")),
        row("from", "PLAN.json", fields="from_file",
            text=say("the machine of a plan: output of `plan --json`; - is stdin")),
    ),
    "compare": lambda: (
        row("things", "THING", placed=True, count="+",
            text=say('two to eight of: "4090" (as many as needed), "8x h100", "aws:p5.48xlarge", "aws"; '
                     'with --on: models, engines, formats or methods')),
        row("for", "MODEL", fields="model", aliases="model",
            text=say("the model to run; without it: facts of each side by side")),
        ANCHORS,
    ),
    "cost": lambda: (
        row("what", "WHAT", placed=True, count="?",
            text=say('a machine ("2x rtx 4090"), a model, an instance (aws:p5.48xlarge) or a plan.json')),
        row("for", "MODEL", fields="model", aliases="model", text=MODEL),
        row("from", "FILE", fields="from_file", text=say("a plan: output of `plan --json`; - is stdin")),
    ),
    "explain": lambda: (row("model", "", placed=True, offered="models", text=MODEL), FREE, ANCHORS),
    "fit": lambda: (
        row("machine", "MACHINE", placed=True, count="?",
            text=say('a GPU, a machine or a memory size: 4090, "2x 3090", 24gb, here; default: this '
                     'machine')),
        FREE,
        ANCHORS,
    ),
    "plan": lambda: (
        row("model", "", placed=True, count="?", offered="models",
            text=say("a name, a config.json, a folder, a GGUF file; "
                     "without it: the best models for --budget")),
        FREE,
        ANCHORS,
    ),
    "report": lambda: (
        row("what", "PLAN.json|MODEL", placed=True,
            text=say("output of `plan --json`, or a model to plan with the options below")),
        row("out", "FILE", text=say("output file: .html, or .pdf (needs Chromium); default: print")),
    ),
    "simulate": lambda: (row("model", "", placed=True, count="?", offered="models", text=MODEL),),
    "sweep": lambda: (
        row("grid", "GRID.csv", placed=True,
            text=say('columns: "model", any option of plan, "play" (requests to simulate), "seed"; "a | '
                     'b" in a cell means both; - is stdin')),
        row("out", "OUT.csv", text=say("write the answers here; an interrupted sweep resumes")),
        row("workers", "N", read=parse_count, text=say("processes; default: one per core")),
        row("ray", "ADDRESS",
            text=say('run on a Ray cluster: "auto", or host:port of its head node')),
    ),
}  # fmt: skip


def rivals(flag: str) -> frozenset[str]:
    """The flags that exclude one, whichever of the two says so."""
    every = [option for _, rows in GROUPS for option in rows]
    name = flag.removeprefix("--")
    own = {f"--{other}" for option in every if option.name == name for other in option.bars}
    return frozenset(own | {option.flag for option in every if name in option.bars})


@cache
def groups_of(verb: str) -> tuple[tuple[Sentence, tuple[Option, ...]], ...]:
    """The options of a verb under their headings; several verbs have those of `plan`."""
    asked = "plan" if verb in {"sweep", "build", "report", "export"} else verb
    taken = (
        (title, tuple(option.of(asked) for option in rows if asked in option.verbs)) for title, rows in GROUPS
    )
    return tuple((title, rows) for title, rows in taken if rows)


@cache
def options_of(verb: str) -> tuple[Option, ...]:
    """Every option of a verb, in order."""
    return tuple(option for _, rows in groups_of(verb) for option in rows)
