"""What is typed for the verbs that choose hardware, beside the options of `rigright.options.rows`."""

from __future__ import annotations

from rigright.base.units import parse_count
from rigright.base.words import say
from rigright.options.row import ANCHORS, MODEL, Rows, row

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
        row("room", "TEXT", text=say('power circuit: "110V 15A", "220V 16A"')),
    ),
    "compare": lambda: (
        row("things", "THING", placed=True, count="+",
            text=say('two to eight of: "4090" (as many as needed), "8x h100", "aws:p5.48xlarge", "aws"')),
        row("for", "MODEL", fields="model", text=MODEL, required=True),
        ANCHORS,
    ),
    "cost": lambda: (
        row("what", "WHAT", placed=True, count="?",
            text=say('a machine ("2x rtx 4090"), a model, an instance (aws:p5.48xlarge) or a plan.json')),
        row("for", "MODEL", fields="model", text=MODEL),
        row("from", "FILE", fields="from_file", text=say("a plan: output of `plan --json`; - is stdin")),
    ),
    "explain": lambda: (row("model", "", placed=True, text=MODEL), ANCHORS),
    "fit": lambda: (
        row("machine", "MACHINE", placed=True, count="?",
            text=say('a GPU, a machine or a memory size: 4090, "2x 3090", 24gb, here; default: this '
                     'machine')),
        ANCHORS,
    ),
    "plan": lambda: (row("model", "", placed=True, text=MODEL), ANCHORS),
    "report": lambda: (
        row("what", "PLAN.json|MODEL", placed=True,
            text=say("output of `plan --json`, or a model to plan with the options below")),
        row("out", "FILE", text=say("output file: .html, or .pdf (needs Chromium); default: print")),
    ),
    "simulate": lambda: (row("model", "", placed=True, count="?", text=MODEL),),
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
