"""Lines that are typed, and what the page sends for each."""

from __future__ import annotations

import shlex

MODELS = ("llama-3.1-8b", "qwen3-32b", "mixtral-8x7b", "nobody-knows-this")
HOW = ("full", "lora", "qlora")
CARDS = ("4090", "8x h100", "2x 3090", "zx81")
FEW = (  # one of each kind
    *("plan qwen3-32b --mode chat --concurrency 8", "plan llama-3.1-8b --on '2x 4090' --lang zh"),
    *("plan qwen3-8b --mode finetune --tokens 1M --method lora", "plan qwen3-8b --on 4090 --budget 1usd"),
    *("plan qwen3-8b --tpot 0", "plan nobody-knows-this", "plan qwen3-8b --mode nonsense --lang zh"),
    *("explain llama-3.1-8b --on 4090", "explain llama-2-7b --on 4090 --train=lora"),
    *("build '2x rtx 4090' --lang zh", "cost '2x rtx 4090' --years 3", "cost", "compare 4090 --for qwen3-8b"),
    *("look-up myths", "look-up myths --lang zh", "look-up chips 4090", "look-up chips --where nonsense"),
)
MANY = (
    *(f"fit '{card}' --lang {lang}" for card in CARDS for lang in ("en", "zh")),
    *(f"plan {model} --mode finetune --on '{card}'" for model in MODELS for card in CARDS[:2]),
    *(
        f"explain {model} --on '{card}' --train={how}"
        for model in MODELS[:2]
        for card in CARDS
        for how in HOW
    ),
    *(f"look-up {kind} --lang {lang}" for kind in ("chips", "engines", "formats") for lang in ("en", "zh")),
    *(f"explain {model} --on '{card}'" for model in MODELS for card in CARDS),
    *(f"explain {model} --on '{card}' --lang zh --context 4k" for model in MODELS for card in CARDS),
    *(f"plan {model} --on '{card}'" for model in MODELS for card in CARDS),
    *(f"plan {model} --on '{card}' --concurrency 4 --lang zh" for model in MODELS for card in CARDS),
    *(f"cost '{card}' --place {place}" for card in CARDS for place in ("US-CA", "CN-GD", "nowhere")),
    *(f"compare 4090 '{card}' --for {model}" for card in CARDS for model in MODELS),
)


def asked(line):
    """What the page sends for a line that is typed."""
    verb, *words = shlex.split(line)
    placed = {"plan": "model", "explain": "model", "fit": "machine", "build": "what", "cost": "what"}.get(
        verb
    )
    said, loose, language = {}, [], "en"
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            loose.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        value = value if equals else words.pop(0)
        if name == "lang":
            language = value
        elif name == "where":
            said["where"] = [value]
        else:
            said[name.replace("-", "_")] = value
    if verb == "compare":
        said["things"] = loose
    elif verb == "look-up":
        said |= {"kind": loose[0], "words": loose[1:]}
    elif loose:
        said[placed] = loose[0]
    return verb.replace("-", "_"), said, language
