"""Documents with the output of the commands that they show; each command is a fork of this program."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from rigright.base.words import CHINESE, ENGLISH
from rigright.faces.cli.main import main as answer
from rigright.faces.cli.terminal import started_as

ROOT = Path(__file__).parent.parent
TODAY = "2026-11-21"  # pins the date that prices are compared with
CONSOLE = re.compile(r"(?<=^```console\n)\$ .*?(?=^```$)", re.MULTILINE | re.DOTALL)
TOOK = re.compile(r"(?<=checks in )\d+\.\d(?= s:)|\d+\.\d(?= 秒内完成)")  # depends on the load
OURS = re.compile(r"(?:\./rig|rigright) ")
WELL = {0, 1, 10, 20}  # the doctor exits with 10 or 20 for findings
LOCALES = {ENGLISH: "C.UTF-8", CHINESE: "zh_CN.UTF-8"}
WARM = (  # asked before the forks, so that what they all need is loaded once
    ("explain", "qwen3-8b", "--on", "2x 4090"),
    ("plan", "qwen3-8b", "--on", "rtx 4090"),
    ("compare", "3090", "4090", "--for", "qwen3-8b"),
    ("build", "2x rtx 4090"),
    ("cost", "rtx 4090"),
    ("doctor", "--from", "docs/examples/two-4090.json"),
)


def transcripts() -> Iterator[tuple[Path, str]]:
    """Each document that shows commands, with what they print now."""
    shown = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
    for part in ("tutorials", "explanation"):
        shown += sorted((ROOT / "docs" / part).glob("*.md"))
    for words in WARM:
        with redirect_stdout(io.StringIO()):
            answer(list(words))
    with get_context("fork").Pool(os.cpu_count()) as pool:
        yield from zip(shown, pool.imap(transcript, shown), strict=True)


def transcript(path: Path) -> str:
    """A document with its console blocks filled by running their commands in a temporary folder and home."""
    language = CHINESE if path.stem.endswith(".zh-CN") else ENGLISH
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as home:
        work = Path(home) / "work"
        shutil.copytree(ROOT / "docs" / "examples", work)
        folder, width = (ROOT, "100") if path.parent == ROOT else (work, "80")
        shown = {"LC_ALL": LOCALES[language], "COLUMNS": width, "RIGRIGHT_TODAY": TODAY}
        environment = {**shown, "HOME": home, "PATH": os.environ["PATH"]}
        return CONSOLE.sub(lambda block: "".join(_console(block[0], folder, environment)), text)


def _console(block: str, folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Each command of a block with its output."""
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        ours, *rest = re.split(r" (?=[|>] )", command, maxsplit=1) if OURS.match(command) else ("", command)
        printed = _printed(command, shlex.split(ours)[1:], folder, environment) if ours else ""
        if rest:
            script = f"cat {rest[0]}" if ours else command
            printed = subprocess.run(
                ["/bin/sh", "-c", script],
                env=environment,
                cwd=folder,
                input=printed,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                check=True,
            ).stdout
        yield f"$ {command}\n{TOOK.sub('0.2', printed)}"


def _printed(command: str, words: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    """What a command of ours writes on standard output."""
    text = partial(tempfile.TemporaryFile, "w+", encoding="utf-8")
    with text() as out, text() as err:
        child = os.fork()
        if not child:
            code = 70
            try:
                os.chdir(folder)
                os.environ.clear()
                os.environ.update(environment)
                os.environ["RIG_STARTED_AS"] = "./rig" if command.startswith("./rig ") else ""
                started_as.cache_clear()
                sys.stdin, sys.stdout, sys.stderr = io.StringIO(), out, err
                code = answer(words)
                out.flush()
                err.flush()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        printed, said = out.read(), err.read()
    if code not in WELL:
        raise RuntimeError(f"{command}: {said}")  # a worker of a pool that exits is waited for without end
    return printed
