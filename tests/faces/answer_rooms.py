"""Where questions are asked: their files, the machines they are asked at, and what was answered already."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
import time
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pytest
from questions import HERE, SCENES, Question

from desk import STARVED, UNSET, fill, machine, probed, result, ticks
from kept_answers import keep
from rigright.base.page import Page
from rigright.base.plain import dumps
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.main import answering, main, verb_parser
from rigright.machine.record import Machine
from rigright.machine.stored import plain, restored
from rigright.machine.system import Event
from rigright.report.formats import text
from rigright.report.screen import Screen

RUN = (
    "{id},mine,llama.cpp,meta-llama/Meta-Llama-3-8B,{chip},1,gguf:Q4_K_M,f16,single,1,0,512,"
    "decode_tok_s_per_user,{value}\n"
)
BOX = {
    "schema": 1,
    "devices": [
        {"index": 0, "vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3", "recovery": "gpu reset"},
        {"index": 1, "vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3", "recovery": "none"},
    ],
}
MACHINE = restored(Machine, BOX, where="box")
FIGURES = [result(7e14, at_s=1e9), result(4e14, at_s=2e9)]
XID = Event(kind="xid", text="NVRM: Xid (PCI:0000:01:00): 79", at_s=2e9, code=79)
BENCHED = {
    "rigright_bench": 1, "quick": True, "seconds": 1.0, "machine": BOX,
    "results": [plain(one) for one in FIGURES], "skipped": [{"part": "p2p", "why": "one card"}],
}  # fmt: skip
FILES = {
    "bench.json": json.dumps(BENCHED),
    "nodes/n1.json": json.dumps(BENCHED),
    "nodes/n2.json": json.dumps(BOX),
    "smi.xml": (
        "<nvidia_smi_log><driver_version>550.1</driver_version><attached_gpus>2</attached_gpus>"
        '<gpu id="00000000:01:00.0"><product_name>NVIDIA GeForce RTX 4090</product_name>'
        "<fb_memory_usage><total>24564 MiB</total><used>1 MiB</used></fb_memory_usage>"
        "<processes><process_info><pid>7</pid><used_memory>1 MiB</used_memory></process_info></processes>"
        "</gpu></nvidia_smi_log>"
    ),
    "box.json": json.dumps(BOX),
    "prices.csv": "chip,price,currency,as_of\n4090,1800,USD,2025-01\nnosuch,5,USD,2026\n",
    "plan.json": json.dumps({"model": "m", "params": 8e9, "plans": [{"chip": "rtx-4090", "n_chips": 2}]}),
    "parts.txt": "cpu: 7950x\nboard: b650 tomahawk\ngpu: 2x rtx 4090\npsu: 850W\nram: a few\n",
    "junk.json": '{"x": [}',
    "empty": "",
    "emptyfolder/.none": "",
    "h100.txt": "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n",
    "trace.csv": "arrival_s,prompt_tok,output_tok\n0,100,20\n1,x,20\n2,300,20\n",
    "grid.csv": "model,on,users\nllama-3.1-8b,h100,8\nqwen3-8b,4090,many\n",
    "runs.csv": (
        "id,source,engine,model,chip,n_chips,weights,kv,mode,load,prompt_tok,output_tok,metric,value\n"
        + RUN.format(id="a", chip="rtx-4090", value=99)
        + RUN.format(id="b", chip="nosuch", value=99)
        + RUN.format(id="c", chip="rtx-4090", value="x")
    ),
    "steps.csv": (
        "id,source,model,chip,n_chips,framework,precision,method,sharding,micro_batch,global_batch,seq_tok,"
        "tok_per_s_per_chip,mfu,peak_gib\n"
        "a,mine,meta-llama/Llama-2-7b-hf,h100-sxm5-80gb,8,torchtitan,bf16,full,FSDP,2,16,4096,9000,0.4,\n"
    ),
}
NCCL = """#       size         count      type   redop    root     time   algbw   busbw #wrong
  17179869184    4294967296     float     sum      -1  65000.0  264.31  462.54      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 462.54
"""
NODES = {"n1": "healthy_2x4090", "n2": "healthy_2x4090", "n3": "x8_link"}
SAVED = ("healthy_8xh100", "healthy_2x4090", "gb10", "nvlink_down", "row_remap_pending")


def written(folder: Path) -> Path:
    """The small files that questions read."""
    for name, said in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(said, encoding="utf-8")
    (folder / "emptyfolder" / ".none").unlink()
    (folder / "bytes").write_bytes(bytes(range(256)))
    return folder


def filled(folder: Path, *, now_s: float | None = None) -> Path:
    """Everything that the questions read: small files, and what played machines left."""
    now_s = time.time() if now_s is None else now_s
    written(folder)
    moments = ticks(STARVED, {"disk_busy_share": 0.99}, until_s=now_s - 2)
    fill(folder / "filled.db", moments, results=FIGURES, events=[XID], on=MACHINE)
    played(folder / "played", now_s)
    return folder


def played(folder: Path, now_s: float) -> None:
    """Files of the machines that scenarios play."""
    (folder / "nodes").mkdir(parents=True)
    (folder / "benched").mkdir()
    for name in SAVED:
        (folder / f"{name}.json").write_text(json.dumps(plain(looked(name, now_s))), encoding="utf-8")
    for node, name in NODES.items():
        told = plain(looked(name, now_s))
        told["system"]["host"] = node
        (folder / "nodes" / f"{node}.json").write_text(json.dumps(told), encoding="utf-8")
    (folder / "nccl.log").write_text(NCCL, encoding="utf-8")
    figures = [
        result(value, on=f"gpu {n}", chip="NVIDIA H100 80GB HBM3")
        for n, value in enumerate((7e14, 6.9e14, 4e14))
    ]
    measured = {"results": [plain(one) for one in figures]}
    told = json.dumps(BENCHED | {"machine": plain(looked("healthy_8xh100", now_s))} | measured)
    for name in ("bench.json", "benched/n1.json"):
        (folder / name).write_text(told, encoding="utf-8")
    old = [result(7e14, at_s=now_s - 9000), result(5e14, at_s=now_s - 60)]
    moments = ticks(STARVED, {"disk_busy_share": 0.99, "io_pressure": 0.4}, until_s=now_s - 5)
    xid = Event(kind="xid", text="NVRM: Xid (PCI:0000:9b:00): 79, pid=1", at_s=now_s, code=79)
    fill(folder / "filled.db", moments, results=old, on=looked("healthy_8xh100", now_s), events=[xid])


def looked(name: str, now_s: float) -> Machine:
    """A scenario's machine as if it had been looked at then."""
    found = probed(name)
    return replace(found, system=replace(found.system, now_s=now_s))


@dataclass(frozen=True, slots=True)
class Said:
    """What the command line printed."""

    code: int
    out: str
    err: str


def typed(words: list[str], *, encoding: str = "utf-8") -> Said:
    """`rigright WORDS` in this process, on streams of their own."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, newline="\n") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = main([*words])
    sys.stdout.flush()
    told = []
    for stream in (out, err):
        stream.flush()
        told.append(stream.buffer.getvalue().decode(stream.encoding))
    assert "Traceback" not in told[1], (words, told[1])
    assert "bug in rigright" not in told[1], (words, told[1])
    return Said(code, *told)


@dataclass
class Asked:
    """A question with its answer, to be shown in many ways."""

    question: Question
    words: list[str]
    answer: Answer
    said: Said  # by the command line, 100 cells wide
    said_json: Said
    options: object
    folder: Path

    @cached_property
    def page(self) -> Page:
        return self.answer.page()

    @cached_property
    def detailed(self) -> Page:
        """The page with everything on it; the same where a verb has no longer one."""
        before = getattr(self.options, "details", None)
        if before is None:
            return self.page
        pages = []
        for self.options.details in (True, before):  # who asks last is who the kept answer is shown to
            with answering(self.question.verb, self.options) as answer:
                pages.append(answer.page())
        return pages[0]

    @cached_property
    def data(self) -> object:
        return json.loads(self.json())

    def json(self, language: str = "en") -> str:
        return dumps(self.answer.data(language), language)

    def text(self, *, detailed: bool = False, **screen) -> str:
        return text.render(self.detailed if detailed else self.page, Screen(**screen))


class Room:
    """Asks every question once, at the machine that it is about."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept: dict[str | None, dict] = {}  # by the machine at which it was asked

    def sit(self, patch: pytest.MonkeyPatch, scene: str | None, *, runs: bool = False) -> None:
        """This scenario's machine; None: nobody looks at it. `runs`: programs of the real one can be run."""
        for name in UNSET:
            patch.delenv(name, raising=False)
        patch.setenv("LD_LIBRARY_PATH", str(self.folder))
        path = os.environ["PATH"]
        for key, value in machine(scene).env.items() if scene else ():
            patch.setenv(key, value)
        if scene and runs:
            patch.setenv("PATH", os.pathsep.join((os.environ["PATH"], path)))
        patch.setenv("RIGRIGHT_HOME", str(self.folder / "home"))
        patch.setenv("RIGRIGHT_PATIENCE", "10")  # a busy machine changes no answer

    def open(self, question: Question, stack: ExitStack) -> Asked:
        """The answer, as long as the stack is open; whoever asks again meanwhile gets the same one."""
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        scene = None if question.planned else SCENES.get(question.line, HERE)
        self.sit(patch, scene, runs=question.verb == "measure")
        keep(patch, self.kept.setdefault(scene, {}), of=None)
        words = shlex.split(question.line.format(folder=self.folder))
        before, behind = (
            (words[: words.index("--")], words[words.index("--") :]) if "--" in words else (words, [])
        )
        said_json = typed([*before, "--json", *behind])
        said = typed([*before, "--width", "100", *behind])
        options = verb_parser(words[0], "en").read(words[1:])
        options.language = "en"
        answer = stack.enter_context(answering(words[0], options))
        return Asked(question, words, answer, said, said_json, options, self.folder)
