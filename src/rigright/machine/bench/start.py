"""The child process: reads questions from standard input, answers each with lines of JSON.

It may be run by another Python than rigright's own, one that has PyTorch. It ends itself, and all it
started, as soon as nobody holds its standard input any more.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from rigright.base.errors import MissingError, RigError
from rigright.base.words import say
from rigright.machine.bench.accelerator import accelerators, seen
from rigright.machine.bench.record import BenchRequest, Result, Skipped
from rigright.machine.bench.table import NO_NUMPY, PARTS, PartRow
from rigright.machine.bench.tasks import brief, is_sticky
from rigright.machine.stored import plain, restored

_LINE_BYTES = 100_000


def main() -> None:
    """Answer until the questions end."""
    # standard output for answers alone; what libraries print goes to standard error
    kept = os.dup(1)
    os.dup2(2, 1)
    out = os.fdopen(kept, "w", encoding="utf-8")
    asks: queue.Queue[str] = queue.Queue()
    folders: set[str] = set()
    listening = {"folders": folders}
    threading.Thread(target=_listen, args=(_own_stdin(), asks), kwargs=listening, daemon=True).start()
    while True:
        ask = restored(BenchRequest, json.loads(asks.get()), where="ask")
        if ask.folder is not None:
            folders.add(ask.folder)
        for kind, thing in _answers(ask):
            out.write(json.dumps({kind: thing}) + "\n")
            out.flush()


def _own_stdin() -> int:
    """Standard input for questions alone; what is forked here finds an empty one that no thread holds."""
    kept = os.dup(0)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return kept


def _listen(ear: int, asks: queue.Queue[str], *, folders: set[str]) -> None:
    """Pass questions on; once nobody asks any more, end everything."""
    heard = b""
    while more := os.read(ear, _LINE_BYTES):
        *lines, heard = (heard + more).split(b"\n")
        for line in lines:
            asks.put(line.decode("utf-8", "replace"))
        heard = heard[:_LINE_BYTES]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _answers(ask: BenchRequest) -> Iterator[tuple[str, Any]]:
    """What one part measures, then that it is done; what goes wrong is said."""
    try:
        part = PARTS[ask.part]
        _refuse(part)
        for value in part.run(ask):
            if isinstance(value, Result):
                yield "result", plain(_completed(value, ask))
            else:
                yield "skipped", plain(replace(value, part=ask.part))
    except RigError as error:
        yield "skipped", plain(Skipped(part=ask.part, why=error.sentence))
    except Exception as error:  # noqa: BLE001 - a driver, a disk or a library may fail in any way
        why = say("it failed: {why}", why=brief(error))
        yield "skipped", plain(Skipped(part=ask.part, why=why))
        if is_sticky(error):
            yield "broken", True
    # give memory back before the next part
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
    yield "done", ask.part


def _refuse(part: PartRow) -> None:
    """Whether what only this process can see does for the part."""
    why = part.too_few_cards(seen()[1]) if part.least_cards else None
    if why is None and "numpy" in part.needs:
        try:
            import_module("numpy")  # before anything is timed
        except ImportError:
            why = NO_NUMPY
    if why is not None:
        raise MissingError(why)


def _completed(result: Result, ask: BenchRequest) -> Result:
    """A result with its part, its moment and what it ran on."""
    torch = sys.modules.get("torch")
    own = (("torch", str(getattr(torch, "__version__", "?"))),) if torch is not None else ()
    return replace(
        result,
        part=ask.part,
        settings=result.settings + own,
        at_s=result.at_s or time.time(),
        chip=result.chip or _chip(result, ask),
    )


def _chip(result: Result, ask: BenchRequest) -> str | None:
    """The name of the card a result was measured on; of the first, where it names none of them."""
    if "torch" not in sys.modules or not result.on.startswith("gpu"):
        return None
    cards = {card.on: card.name for card in accelerators(ask)}
    return cards.get(result.on.split(" -> ")[0]) or next(iter(cards.values()), None)
