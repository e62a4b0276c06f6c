"""What is typed for the verbs that tell facts, prices and accuracy, or serve the answers of others."""

from __future__ import annotations

from rigright.base.units import parse_count
from rigright.base.words import say
from rigright.options.readers import currency, port
from rigright.options.row import ANCHORS, Rows, row

PRICE_LISTS = ("show", "import", "check", "forget")
PLANNED = frozenset({"calibrate", "validate"})  # have planning options, too
CURRENCY = row("currency", "CODE", read=currency, text=say("show money in this currency: CNY, EUR"))
ROWS: dict[str, Rows] = {
    "calibrate": lambda: (
        row("from", "FILE", fields="own", count="+", required=True,
            text=say("your own runs: a table, benchmark output, a log or a folder")),
        row("out", "FILE", text=say("where to keep your runs; default: your settings folder")),
    ),
    "completion": lambda: (
        row("shell", "SHELL", placed=True, offered="shells",
            text=say("bash, zsh, fish or powershell; in bash: source <(rigright completion bash); "
                     "in PowerShell: rigright completion powershell | Out-String | Invoke-Expression")),
    ),
    "look-up": lambda: (
        row("kind", "", placed=True, count="?", offered="kinds",
            text=say("chips, cpus, clouds, ...; other words are searched in all kinds")),
        row("words", "", placed=True, count="*",
            text=say("a name, loosely written: 4090, epyc 9554")),
        row("where", "FIELD>=VALUE", repeated=True,
            text=say("filter such as memory>=24GB or architecture~ada; repeatable")),
        row("vendor", "NAME", text=say("only this vendor")),
        row("segment", "NAME", text=say("only consumer, workstation, datacenter, embedded or soc")),
        row("min-memory", "SIZE", text=say("only with at least this memory")),
        row("since", "DATE", text=say("only from this date: 2023 or 2023-06")),
        row("task", "NAME", text=say("only models for this task: text, embed, vision ...")),
        row("family", "NAME", text=say("only models of this family")),
        row("min-params", "N", text=say("only models with at least this many parameters: 7B")),
        row("max-params", "N", text=say("only models with at most this many parameters: 70B")),
        row("shape", "SIZES", repeated=True, text=say("a model given by its dimensions")),
        row("run-code", "", text=say("allow file.py:factory to run and be traced")),
        row("input", "SHAPE", text=say("input of a traced module: 1x3x224x224")),
        row("sort", "FIELD", text=say("sort by a field: numbers descending, text ascending")),
        row("reverse", "", text=say("reverse the order")),
        row("limit", "N", read=parse_count, text=say("maximum rows; 0: all"), zero=True),
        row("sources", "", text=say("show the source of each row")),
        CURRENCY,
    ),
    "mcp": lambda: (
        row("http", "PORT", read=port, text=say("listen on http://127.0.0.1:PORT/mcp; default: stdio")),
        row("root", "FOLDER",
            text=say("folder that tools may read from: runs for validate, saved machines for probe and "
                     "doctor")),
        row("list", "", text=say("list the tools and their arguments")),
    ),
    "prices": lambda: (
        row("what", "WHAT", placed=True, offered="price lists",
            text=say("show, import, check or forget; a name alone is shown")),
        row("names", "NAME", placed=True, count="*",
            text=say("show: a card or a part (4090, ram ddr5); import, check: a CSV or JSON file, - is "
                     "stdin")),
        row("used", "", text=say("assume cards are bought used")),
        CURRENCY,
        row("prices", "FILE", text=say("use the prices in this file")),
    ),
    "read": lambda: (
        row("file", "FILE", placed=True,
            text=say("a guide: a text or Markdown file, - for stdin, or its text in quotes")),
    ),
    "validate": lambda: (
        row("files", "FILE", placed=True, count="+",
            text=say("a table of runs; output of vLLM, SGLang, llama-bench ...; a folder; - is stdin")),
        row("predictions", "OUT.csv", text=say("write every prediction as CSV; - is stdout")),
        ANCHORS,
    ),
    "web": lambda: (
        row("serve", "[HOST:]PORT", default="9479", text=say("listen address; default: 127.0.0.1:9479")),
        row("token", "FILE", text=say("require the token in this file; mandatory beyond 127.0.0.1")),
        row("hub", "", text=say("allow looking up models on the hub; default: offline")),
    ),
}  # fmt: skip
