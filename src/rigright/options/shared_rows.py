"""Arguments that several verbs share, a row each; and those of every verb: how an answer is shown."""

from __future__ import annotations

from rigright.base.words import LANGUAGES, Sentence, say
from rigright.options.readers import cells
from rigright.options.row import Option, row

FORMS = ("json", "markdown", "html", "csv")
MODEL = say("a name, a config.json, a folder, a GGUF file, a hub id")

ANCHORS = row("anchors", "FILE", text=say("your own runs, saved by `calibrate --from`; none: ignore them"))
BASELINE = row("baseline", "FILE", text=say("compare with the baseline from `rigright baseline --save`"))
FROM = row(
    "from", "FILE", fields="from_file",
    text=say("another machine: file, folder, tar, zip or gzip of tool output (nvidia-smi, dmesg, "
             "amd-smi, a bug report, several in one file), or of `probe --save`; - is stdin"),
)  # fmt: skip
HELP = row("help", "", text=say("show this help"), short="h")
VERSION = row("version", "", text=say("show the version"))
WHY = row("why", "", text=say("show formulas, facts and their sources"))
DETAILS = row("details", "", text=say("show everything: all options, every part, all assumptions"))


def _form(name: str, *, text: Sentence) -> Option:
    others = " ".join(form for form in FORMS if form != name)
    return row(name, "", text=text, fields="form", bare=name, default="text", bars=others)


SHOWING = (
    _form("json", text=say("print JSON for scripts")),
    _form("markdown", text=say("print Markdown")),
    _form("html", text=say("print one self-contained HTML page")),
    _form("csv", text=say("print the first table as CSV")),
    WHY,
    DETAILS,
    row("lang", "en|zh", text=say("language; default: from the locale"), choices=lambda: LANGUAGES),
    row("color", "auto|always|never", default="auto", choices=lambda: ("auto", "always", "never"),
        text=say("colours; auto: only on a terminal, and not if NO_COLOR is set")),
    row("width", "CELLS", read=cells, text=say("output width in columns; default: the terminal's"),
        zero=True),
)  # fmt: skip
