"""The questions whose answers are judged in every form (`test_every_answer.py`): a line each, as it is typed.

Those with a shape in `stories/json_contract.json` keep its keys and types; files lie below `{folder}`.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from rigright.faces import question
from rigright.faces.cli.parser import Parser

SHAPES = json.loads(
    (Path(__file__).parents[1] / "stories" / "json_contract.json").read_text(encoding="utf-8")
)

PLANNING = """
plan qwen3-32b --on '1x rtx 5090'
plan qwen3-8b --own '2x rtx 3090' --mode chat
plan llama-3.1-8b --on 4090 --rate 100/s --ttft 1s
plan llama-3.1-8b --on 4090 --users 8 --ttft 1ms --percentile p95
plan llama-3.1-70b --own '4090 + 3090' --mode chat
plan llama-3.1-8b --cloud aws --users 16 --max-chips 4
plan llama-3.1-8b --chips 4090 --budget '60000 CNY'
plan qwen3-8b --mode finetune --tokens 10M --on '1x rtx 4090'
plan qwen2.5-14b --mode finetune --method qlora --samples 20k --budget '$5000'
plan llama-3.1-8b --licence nosuch
explain qwen3-8b --on '1x rtx 4090'
explain qwen3-32b --on '1x rtx 4090'
explain llama-3.1-8b --on 4090 --context 2048
explain llama-3.1-70b --on '8x h100' --train full
explain sdxl --on 4090
compare '1x rtx 5090' '1x rtx 4090' --for qwen3-8b --users 8
simulate qwen3-8b --on '1x rtx 4090' --rate 20 --requests 60 --ttft 1s --arrivals burst
simulate qwen3-8b --on '1x rtx 4090' --concurrency 4 --requests 20
build '4x 4090' --room '230V 16A' --details --why
build '8x h100 sxm'
build '2x rtx 4090'
cost '2x rtx 4090' --years 3
"""
TABLES = """
completion fish
mcp --list
look-up 4090
look-up nvlink
look-up plugins
look-up checks gpu
look-up xids 79
look-up model bert-base no-such-thing gpt2
look-up chips 4090
look-up chips --where memory>=100GB --where vendor=AMD --sort bw
look-up prices
look-up software v100
look-up clouds
look-up chips
look-up cpus
look-up architectures
look-up platforms
look-up benchmarks
look-up engines
look-up formats
look-up models
"""
MACHINES = """
probe --from {folder}/played/healthy_8xh100.json
probe --from {folder}/played/gb10.json --all
doctor --from {folder}/played/row_remap_pending.json
doctor --from {folder}/played/nvlink_down.json --all
doctor --from {folder}/played/healthy_2x4090.json --only ecc
doctor --from {folder}/played/healthy_2x4090.json --for '2x 4090'
setup --from {folder}/played/healthy_8xh100.json
setup --on p100 --os 'rocky 9' --framework torch
bench --from {folder}/played/bench.json
bench --from {folder}/played/nccl.log
history --since 2h --file {folder}/played/filled.db
history --since all --of bench --file {folder}/played/filled.db
history --since all --of machines --file {folder}/played/filled.db
history --since all --of events --file {folder}/played/filled.db
diagnose --since 2h --history {folder}/played/filled.db
upgrade --from {folder}/played/healthy_8xh100.json --bound disk=60%,compute=40%
upgrade --from {folder}/played/healthy_2x4090.json --bound gpu_memory --machines 200
fleet probe --from {folder}/played/nodes
fleet doctor --from {folder}/played/nodes
fleet bench --from {folder}/played/benched
fleet files --kubernetes --image r:1
export alerts --out {folder}/exported
export prometheus
export grafana
diagnose --for 1s
probe
doctor
fleet health
"""
HERE = "healthy_2x4090"  # where it matters to no question
SCENES = {  # the played machine at which a question is asked
    "diagnose --for 1s": "idle_4090",
    "probe": "mig",
    "doctor": "mismatch",
    "fleet health": "lost_gpu",
}


@dataclass(frozen=True, slots=True)
class Question:
    """One of them."""

    line: str

    @property
    def verb(self) -> str:
        return self.line.split()[0]

    @property
    def as_json(self) -> str:
        """The line that asks for JSON, as the contract names it."""
        before, dashes, command = self.line.partition(" -- ")
        return f"{before} --json{dashes}{command}".strip()

    @property
    def planned(self) -> bool:
        """Whether it looks at no file and at no machine."""
        return self.line.strip() in PLANNING or (self.verb in PLANNED and "{folder}" not in self.line)


PLANNED = {"plan", "explain", "fit", "compare", "simulate", "build", "cost", "look-up"}
_HELD = [" ".join(line.replace("--json", "").split()) for line in SHAPES]
QUESTIONS = [
    Question(line) for line in dict.fromkeys([*_HELD, *(PLANNING + TABLES + MACHINES).split("\n")]) if line
]


def named(line: str) -> tuple[str, dict[str, object]]:
    """The verb of a line that was typed, and what it says by the names of arguments."""
    verb, *words = shlex.split(line)
    verb = verb.replace("-", "_")
    known = question.arguments_of(verb)
    flags = {name: one for name, one in known.items() if not one.placed}
    said: dict[str, object] = {}
    placed: list[str] = []
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            placed.append(word)
            continue
        flag, equals, value = word[2:].partition("=")
        one = flags[name := flag.replace("-", "_")]
        bare = one.is_flag or (one.bare and not equals and (not words or words[0][0] == "-"))
        value = True if bare else value if equals else words.pop(0)
        said[name] = [*said.get(name, []), value] if one.repeated else value
    for name, one in known.items():
        if one.placed and placed:
            count = len(placed) if one.count in {"*", "+"} else 1
            said[name], placed = (placed if one.count in {"*", "+"} else placed[0]), placed[count:]
    assert not placed, line
    return verb, said


def parser(verb: str) -> Parser:
    """Its parser, made once."""
    if verb not in _PARSERS:
        _PARSERS[verb] = question.parser_of(verb)
    return _PARSERS[verb]


_PARSERS: dict[str, Parser] = {}
