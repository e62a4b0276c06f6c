"""Every option of a command that takes a file, with a mutant of a sound one: it is answered or refused.

Which options there are is asked of the commands' own rows; what stands here is how each is called.
"""

from __future__ import annotations

import io
import json
import random
import re
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

from desk import result
from rigright.faces.cli.front import verbs
from rigright.faces.cli.main import main
from rigright.faces.cli.options import rows
from rigright.machine.record import Machine
from rigright.machine.stored import plain
from rigright.verbs.look_up.verb import kind_names

FILES = re.compile(r"FILE|PLAN|\.csv|\.json")
ANSWERED = {0, 1, 2, 3, 4, 5, 6, 10, 20}  # 10 and 20: warnings and faults
WRITTEN = {  # what a command writes
    "--save", "--out", "--script", "--fix-script", "--bundle", "--docker", "--requirements",
}  # fmt: skip
ELSEWHERE = {  # read by what another door or test reads, or beside what no mutant may start
    ("bench", "--plan"): "starts engines; `doctor --for` reads the same file",
    ("fleet", "--for"): "asks nodes; `doctor --for` reads the same file",
    ("fleet", "--baseline"): "asks nodes; `doctor --baseline` reads the same file",
    ("watch", "--token"): "the mutants read tokens by `read_token`",
    ("web", "--token"): "serves; the mutants read tokens by `read_token`",
    ("watch", "--baseline"): "goes on for ever; `doctor --baseline` reads the same file",
    ("bench", "--baseline"): "measures; `doctor --baseline` reads the same file",
    ("history", "--file"): "a database: test_foreign_bytes damages it anywhere",
    ("diagnose", "--history"): "a database: test_foreign_bytes damages it anywhere",
    ("validate", "--predictions"): "written",
    ("measure", "--plan"): "starts programs; `doctor --for` reads the same file",
    ("measure", "--read"): "starts programs; `validate` reads the same files",
}
PRICES = (
    "chip,condition,price,currency,as_of,source\n"
    "rtx-4090,used,1500,usd,2026-10-01,shop\nH100,rent,2.5,usd,2026-10,x\n"
)
ANCHORS = (
    '[[anchor]]\nsubject = "inference"\nruns = 3\nchip = "rtx-4090"\nengine = "vllm"\n'
    'figure = "output_tok_per_s"\nchips = 1\nload = 8\n'
    'prompt_tok = 1024\noutput_tok = 256\nshift = 1.1\nnarrow = 0.5\nmodel = "llama-3.1-8b"\n'
)
BASELINE = (
    'rigright_baseline = 1\n[expect]\ndriver = "570.86.15"\n[[bench]]\npart = "memory"\nwhat = "copy"\n'
    'unit = "bytes/s"\nvalue = 1e12\ntolerance = 0.1\n'
)
BENCH = {
    "rigright_bench": 1,
    "quick": True,
    "seconds": 1.0,
    "machine": plain(Machine()),
    "results": [plain(result(7e14))],
    "skipped": [],
}
NCCL = (
    "# nccl-tests version 2.13\n#  size  count  type  redop  root  time  algbw  busbw\n"
    "  17179869184    4294967296     float     sum      -1  65000.0  264.31  462.54      0\n"
)
RUNS = (
    "id,source,chip,n_chips,arch,engine,mode,weights,metric,value,unit,load,prompt_tok,output_tok\n"
    "1,x,H100,1,llama-3.1-8b,vllm,serve,bf16,output_tok_s_total,2000,tok/s,16,1024,256\n"
)
TRACE = "request,arrival_s,prompt_tok,output_tok,first_token_s\na,0.0,100,20,0.1\nb,0.5,30,5,\nc,1.0,7,9,2\n"
SETUP = {"chip": "h100-sxm", "n_chips": 1, "arch": "llama-3.1-8b", "engine": "vllm", "tp": 1, "util": 0.9}
GRID = "model,on,users\nllama-3.1-8b | qwen2.5-7b,H100,4\nllama-3.1-8b,rtx-4090,1 | 2\n"
PARTS = (
    "motherboard: ASUS ProArt X870E-Creator\ncpu: Ryzen 9 9950X\ngpu: 2x RTX 4090\npsu: 1600 W\n"
    "ram: 2x 48 GB DDR5\n"
)
SMI = "GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-12345678-1234-1234-1234-123456789012)\n"
MACHINE = json.dumps(plain(Machine()))
_FIT = "llama-3.1-8b --on rtx-4090 --users 2 --engine vllm"


CONDITIONS = ("memory>=24GB", "price<=2000", "name~rtx 4090", "year=2022-10", "fp16>=300TFLOPS", "tdp<450W")
MOST_QUESTIONS = 20  # of a grid: each takes as long as a command


def _said(line: str) -> tuple[int, str, str]:
    return _answer(line.split())


def _answer(words: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    return code, out.getvalue(), err.getvalue()


PLAN = _said(f"plan {_FIT} --json")[1]
GUIDE = """The RTX 4090 has 24 GB and 1,008 GB/s; Llama-3.1-8B runs on it in fp16.

| part | model |
| --- | --- |
| CPU | AMD EPYC 7763 |
| GPU | 2x NVIDIA A100 80GB |

CUDA out of memory. Tried to allocate 2.00 GiB
    nvidia-smi -pl 300
"""
DOORS: dict[tuple[str, str], tuple[str, str]] = {  # verb and option -> the words before it, a sound file
    ("baseline", "--check"): ("--from {folder}/machine", BASELINE),
    ("baseline", "--bench"): ("--from {folder}/machine --save {folder}/out", json.dumps(BENCH)),
    ("baseline", "--from"): ("--save {folder}/out", SMI),
    ("bench", "--from"): ("", NCCL),
    ("build", "--check"): ("", PARTS),
    ("build", "--from"): ("", PLAN),
    ("build", "--prices"): ("2x4090", PRICES),
    ("calibrate", "--from"): ("--out {folder}/out", RUNS),
    ("calibrate", "--plan"): ("--from {folder}/runs --out {folder}/out", PLAN),
    ("compare", "--prices"): ("rtx-4090 rtx-3090 --for llama-3.1-8b", PRICES),
    ("compare", "--anchors"): ("rtx-4090 rtx-3090 --for llama-3.1-8b", ANCHORS),
    ("cost", "--from"): ("", PLAN),
    ("cost", "--prices"): ("rtx-4090", PRICES),
    ("diagnose", "--from"): ("", SMI),
    ("doctor", "--from"): ("", SMI),
    ("doctor", "--for"): ("--from {folder}/machine", PLAN),
    ("doctor", "--baseline"): ("--from {folder}/machine", BASELINE),
    ("doctor", "--before"): ("--from {folder}/machine", SMI),
    ("explain", "--anchors"): (_FIT, ANCHORS),
    ("export", "--from"): ("vllm", PLAN),
    ("explain", "--prices"): ("llama-3.1-8b --on rtx-4090 --budget 3000", PRICES),
    ("export", "--prices"): (f"vllm {_FIT}", PRICES),
    ("fit", "--anchors"): ("rtx-4090 --family llama --min-params 7b --max-params 9b", ANCHORS),
    ("plan", "--prices"): (_FIT, PRICES),
    ("plan", "--anchors"): (_FIT, ANCHORS),
    ("prices", "--prices"): ("show", PRICES),
    ("probe", "--from"): ("", SMI),
    ("read", "file"): ("", GUIDE),
    ("report", "--prices"): (_FIT, PRICES),
    ("report", "what"): ("", PLAN),
    ("setup", "--for"): ("", PLAN),
    ("setup", "--from"): ("", SMI),
    ("simulate", "--trace"): ("llama-3.1-8b --on H100", TRACE),
    ("simulate", "--setup"): ("--trace {folder}/trace", json.dumps(SETUP)),
    ("sweep", "grid"): ("--workers 1", GRID),
    ("upgrade", "--from"): ("", SMI),
    ("validate", "files"): ("", RUNS),
    ("validate", "--plan"): ("{folder}/runs", PLAN),
    ("validate", "--anchors"): ("{folder}/runs", ANCHORS),
}


def taken() -> set[tuple[str, str]]:
    """Every argument of every command that takes a file to read, as its row has it."""
    return {
        (verb, one.dest if one.placed else one.flag)
        for verb in verbs()
        for one in rows(verb)
        if FILES.search(one.metavar) and one.flag not in WRITTEN
    }


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory()
    beside = {"machine": MACHINE, "plan.json": PLAN, "runs": RUNS, "trace": TRACE}
    for name, text in beside.items():
        Path(folder.name, name).write_text(text)
    return folder


def ask(door: tuple[str, str], text: str) -> tuple[int, str]:
    """The exit code, and what was said on standard error."""
    return ask_bytes(door, text.encode("utf-8", "replace"))


def ask_bytes(door: tuple[str, str], raw: bytes) -> tuple[int, str]:
    """The same of what is no text."""
    folder = Path(_folder().name)
    given = folder / ("given.json" if DOORS[door][1].startswith("{") else "given")
    given.write_bytes(raw)
    words = DOORS[door][0].format(folder=folder)
    option = door[1] if door[1].startswith("-") else ""
    code, _, said = _said(f"{door[0].replace('_', '-')} {words} {option} {given}")
    return code, said


def any_door(mutant: Callable[[str, random.Random], str], dice: random.Random) -> None:
    """One of them, with a mutant: neither a bug nor a traceback."""
    door = dice.choice(sorted(DOORS))
    text = mutant(DOORS[door][1], dice)
    if door == ("sweep", "grid"):
        text = "".join(text.splitlines(keepends=True)[:MOST_QUESTIONS])
    code, said = ask(door, text)
    _check(door, code, said)


def any_condition(mutant: Callable[[str, random.Random], str], dice: random.Random) -> None:
    """What `look-up` is asked for, likewise."""
    kind = dice.choice([*kind_names(), ""])  # "": of all kinds
    words = ("look-up", kind) if kind else ("look-up",)
    condition = mutant(dice.choice(CONDITIONS), dice)
    code, _, said = _answer([*words, *([] if condition.startswith("-") else [condition])])
    _check(words, code, said)


def _check(asked: tuple[str, ...], code: int, said: str) -> None:
    if code not in ANSWERED or "Traceback" in said:
        raise AssertionError(f"{' '.join(asked)}: exit {code}: {said[:300]}")
