"""Plans drawn at random, as `plan --json` prints them: what `export` must be able to write down."""

from __future__ import annotations

import copy
import random
import shlex
from functools import cache

from rigright.demand import METHODS
from rigright.facts.abilities import ability
from rigright.facts.engines import find_engine
from rigright.facts.launching import programs
from rigright.facts.nodes import BOX_CARDS
from rigright.options.read import read_wish
from rigright.report.pages.plan import plain
from rigright.verbs.plan import plan

HOSTILE = (
    "a b; touch /tmp/owned",
    'it\'s "quoted" $(id) `id` ${HOME}',
    "back\\slash %h %% $$x",
    "中文/模型-8B",
    "#hash: [x] {y} & | > <",
    "{{ .Values.x }}/<b>",
    "~/models/a'b",
    "true",
    "1e3",
    "C:\\models\\x.gguf",
)
ASKED = {
    "vllm": ("Qwen/Qwen3-8B", {"on": "2x4090", "users": "16", "engine": "vllm"}),
    "sglang": ("Qwen/Qwen3-30B-A3B", {"on": "8x h100", "users": "64", "engine": "sglang"}),
    "llama.cpp": ("Qwen/Qwen3-8B", {"on": "2x3090", "users": "2", "engine": "llama.cpp"}),
    "ollama": ("Qwen/Qwen3-8B", {"on": "2x3090", "users": "2", "engine": "ollama"}),
    "tensorrt-llm": ("Qwen/Qwen3-8B", {"on": "2x h100", "users": "16", "engine": "tensorrt-llm"}),
    "hf": ("Qwen/Qwen3-8B", {"on": "2x4090", "mode": "finetune", "method": "lora", "trainer": "hf"}),
    **{
        name: ("Qwen/Qwen3-8B", {"on": "8x h100", "method": "grpo lora", "trainer": name})
        for name in ("trl", "verl", "openrlhf")
    },
    "torchtitan": ("Qwen/Qwen3-14B", {"on": "8x h100", "mode": "pretrain", "trainer": "torchtitan"}),
    "megatron": ("Qwen/Qwen3-14B", {"on": "8x h100", "mode": "pretrain", "trainer": "megatron"}),
}
SHAPES = (  # model, its layers and experts: each kind that Megatron trains
    ("Qwen/Qwen3-14B", 40, 1),
    ("Qwen/Qwen3-30B-A3B", 48, 128),
    ("Qwen/Qwen2.5-7B-Instruct", 28, 1),
    ("Qwen/Qwen1.5-MoE-A2.7B", 24, 60),
    ("meta-llama/Llama-3.1-70B", 80, 1),
    ("mistralai/Mixtral-8x7B-v0.1", 32, 8),
    ("mistralai/Mistral-7B-v0.1", 32, 1),
    ("deepseek-ai/DeepSeek-V3", 61, 256),
    ("deepseek-ai/DeepSeek-V2-Lite", 27, 64),
    ("openai-community/gpt2", 12, 1),
)


GROUPED = {"accelerate", "axolotl", "torchtitan"}  # they divide states over groups of ranks
OFFLOADED = {  # what each way to divide states can lay into main memory
    "none": ("none",), "zero1": ("none", "optimizer-cpu"), "zero2": ("none", "optimizer-cpu"),
    "zero3": ("none", "optimizer-cpu", "all-cpu"), "fsdp": ("none", "all-cpu"), "hsdp": ("none", "all-cpu"),
}  # fmt: skip
LAYERED = {"llama.cpp", "ollama"}
BY_GPU = {"tensorrt-llm"}  # over several nodes its starter is another


@cache
def base(program: str) -> dict:
    """A real plan of a program."""
    model, said = ASKED[program]
    return plain(plan(model, wish=read_wish(said)), "en")


def _first(program: str) -> dict:
    """The first of its plans alone, to be changed."""
    data = base(program)
    return copy.deepcopy(data | {"plans": data["plans"][:1]})


def serving(target: str, dice: random.Random) -> dict:
    """A plan that serves, with every choice drawn anew."""
    data = _first(target)
    one = data["plans"][0]
    work, layout = one["work"], one["layout"]
    tp, pp, dp = dice.choice((1, 2, 4, 8)), dice.choice((1, 1, 2, 4)), dice.choice((1, 1, 2, 3))
    if target in LAYERED:
        tp = 1
    if target in BY_GPU:
        pp = pp if tp * pp <= BOX_CARDS else 1
        dp = dp if tp * pp * dp <= BOX_CARDS else 1
    one["n_nodes"] = dice.choice((1, 1, 1, 2)) if tp * pp * dp % 2 == 0 and target not in BY_GPU else 1
    one["n_chips"] = tp * pp * dp
    layout |= {"tp": tp, "pp": pp, "dp": dp, "ep": dice.choice((1, tp)) if target not in LAYERED else 1}
    layout["attention_dp"] = target == "sglang" and tp > 1 and dice.random() < 0.3
    formats = ("gguf:Q4_K_M", "gguf:Q8_0") if target in LAYERED else ("bf16", "fp16", "fp8", "awq4")
    work |= {
        "weights": dice.choice(formats),
        "kv": dice.choice(tuple(programs()[target].kv)),
        "context_tok": dice.choice((512, 4096, 8192, 32768)),
        "batch": dice.randint(1, 300),
        "budget_tok": dice.choice((None, 512, 8192)),
        "max_seqs": dice.choice((None, 1, 64)),
        "utilisation": dice.choice((None, 0.5, 0.95)),
        "graphs": dice.random() < 0.8,
    }
    if target in LAYERED and dice.random() < 0.3:
        work["offload"] = {"layers": dice.randint(0, 10), "experts": 0}
    able = [method for method in METHODS if ability(find_engine(target), method)]
    method = dice.choice([method for method in able if method != "eagle3"] or [""])
    one["drafts"] |= {"drafted_tok": 0, "method": method, "model": "qwen3-0.6b"}
    if method and not (target == "sglang" and pp > 1):
        one["drafts"]["drafted_tok"] = dice.choice((0, 0, 3))
    if dice.random() < 0.3:
        one["concurrency"], data["wish"]["rate_per_s"] = None, 2.5
    else:
        one["concurrency"] = float(dice.randint(1, 300))
    data["model_asked"] = dice.choice((data["model"], *HOSTILE))
    return data


def training(target: str, dice: random.Random) -> dict:
    """A plan that trains, with every choice drawn anew."""
    data = _first(target if target in ASKED else "hf")
    one = data["plans"][0]
    dp, nodes = dice.choice((1, 2, 8, 16)), dice.choice((1, 1, 2))
    one["n_nodes"], one["n_chips"] = (nodes if dp % nodes == 0 else 1), dp
    one["layout"] |= {"tp": 1, "pp": 1, "dp": dp}
    method = dice.choice(("full", "lora", "qlora", "dora"))
    sharding = dice.choice(("none", "zero1", "zero2", "zero3", "fsdp", "hsdp"))
    if target == "llama-factory" and method == "qlora":  # it has no ZeRO over such a base
        sharding = dice.choice(("none", "fsdp"))
    if target == "torchtitan":
        sharding = dice.choice(("none", "zero3", "fsdp", "hsdp"))
    sharding = "fsdp" if sharding == "hsdp" and target not in GROUPED else sharding
    offload = dice.choice(OFFLOADED[sharding]) if target != "torchrun" else "none"
    optimizers = (
        ("adamw", "lion") if offload != "none" else (None, "adamw", "adamw-8bit", "adafactor", "lion")
    )
    one["work"] |= {
        "method": method,
        "optimizer": dice.choice(optimizers),
        "precision": dice.choice(("fp16", "fp32") if sharding == "none" else (None, "fp16", "fp32")),
        "micro_batch": dice.randint(1, 16),
        "accumulate": dice.choice((None, 1, 32)),
        "seq_tok": dice.choice((512, 2048, 8192)),
        "recompute": dice.choice(("none", "full")),
        "rank": dice.choice((8, 16, 64)),
        "targets": dice.choice(("attn", "all", "q v", "attn ffn")),
        "sharding": sharding,
        "offload": offload,
    }
    data["wish"]["train_tok"] = dice.choice((None, 1e9))
    if target == "torchtitan":
        tp, pp = dice.choice((1, 2)), dice.choice((1, 1, 2))
        one["layout"] |= {"tp": tp, "pp": pp}
        one["n_chips"] = dp * tp * pp
        one["work"] |= {
            "method": "full",
            "optimizer": dice.choice((None, "adamw")),
            "precision": dice.choice((None, "bf16", "fp32")),
            "recompute": dice.choice(("none", "selective", "full")),
            "offload": "none" if sharding == "none" else dice.choice(("none", "all-cpu")),
            "compiled": dice.random() < 0.3,
        }
    if target == "megatron":
        _megatron(data, dice)
    data["model_asked"] = dice.choice((data["model"], *HOSTILE))
    return data


def _megatron(data: dict, dice: random.Random) -> None:
    """A model of each kind, cut every way that Megatron cuts it."""
    one = data["plans"][0]
    data["model"], layers, experts = dice.choice(SHAPES)
    tp, cp, dp = dice.choice((1, 2, 4)), dice.choice((1, 1, 2)), dice.choice((1, 2, 8, 16))
    fsdp = dice.random() < 0.2
    pp = 1 if fsdp else dice.choice([count for count in (1, 2, 4, 8) if count <= layers])
    chunks = dice.choice([count for count in (1, 1, 2, 3) if pp > 1 and pp * count <= layers] or [1])
    ep = dice.choice([count for count in (1, 2, 4, 8) if experts % count == 0 and tp * dp * cp % count == 0])
    one["n_chips"], one["n_nodes"] = tp * pp * dp * cp, 1
    one["layout"] |= {
        "tp": tp,
        "pp": pp,
        "dp": dp,
        "cp": cp,
        "ep": ep,
        "sequence_parallel": tp > 1 and dice.random() < 0.8,
    }
    offload = "none" if fsdp else dice.choice(("none", "none", "optimizer-cpu"))
    one["work"] |= {
        "method": "full",
        "optimizer": dice.choice((None, "adamw") if fsdp else (None, "adamw", "lion", "sgd", "muon")),
        "precision": dice.choice((None, "bf16-mixed", "fp16-mixed", "fp32", "fp8")),
        "recompute": dice.choice(("none", "selective", "full")),
        "sharding": dice.choice(("zero2", "zero3", "fsdp", "hsdp"))
        if fsdp
        else dice.choice(("none", "zero1")),
        "schedule": "interleaved" if chunks > 1 else "1f1b",
        "virtual_stages": chunks,
        "offload": offload,
        "flash": dice.random() < 0.8,
        "chunked_loss": dice.random() < 0.3,
        "seq_tok": dice.choice((512, 2048, 4096)),
    }


def drawn(target: str, count: int, *, seed: int = 14):
    """So many plans of a target, the same ones each time."""
    dice = random.Random(f"{target} {seed}")  # noqa: S311 - no secret hangs on it
    draw = serving if programs()[target].kind == "serve" else training
    return [draw(target, dice) for _ in range(count)]


def argv_of(script):
    """The command of a script, as a shell splits it."""
    lines = [line for line in script.split("\n") if not line.startswith(("#", "export ", "set ", ": ", "[ "))]
    words = shlex.split("\n".join(lines).replace("\\\n", " "))
    assert words[0] == "exec"
    assert words.count("$@") == 1
    return [word for word in words[1:] if word != "$@"]
