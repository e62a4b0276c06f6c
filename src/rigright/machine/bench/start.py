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

from rigright.base import shelf
from rigright.base.errors import RigError
from rigright.base.words import say
from rigright.machine.bench.accelerator import is_sticky, seen
from rigright.machine.bench.ask import BenchRequest
from rigright.machine.bench.needs import IN_CHILD, NO_NUMPY, too_few_cards
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.stored import plain, restored

PARTS = "rigright.machine.bench.parts"
LINE_BYTES = 100_000


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
    while more := os.read(ear, LINE_BYTES):
        *lines, heard = (heard + more).split(b"\n")
        for line in lines:
            asks.put(line.decode("utf-8", "replace"))
        heard = heard[:LINE_BYTES]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _answers(ask: BenchRequest) -> Iterator[tuple[str, Any]]:
    """What one part measures, then that it is done; what goes wrong is said."""
    try:
        # why the cards there are do not do for a part
        needs = shelf.take(PARTS, ask.part, bears="NEEDS")
        why = too_few_cards(needs, seen()[1]) if IN_CHILD.keys() & set(needs) else None
        if why is None and "numpy" in needs:  # loaded before anything is timed
            why = None if loads("numpy") else NO_NUMPY
        if why is not None:
            yield "skipped", plain(Skipped(part=ask.part, why=why))
            yield "done", ask.part
            return
        for value in shelf.take(PARTS, ask.part, bears="run")(ask):
            yield ("result" if isinstance(value, Result) else "skipped"), plain(_completed(value, ask))
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


def loads(module: str) -> bool:
    """Whether it can be imported, which it then is."""
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def brief(error: BaseException) -> str:
    """An error on one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    first = (str(error).strip().splitlines() or [""])[0][:200]
    return f"{type(error).__name__}: {first}".rstrip(": ")


def _completed(result: Result | Skipped, ask: BenchRequest) -> Result | Skipped:
    """A result with its part, its moment and what it ran on."""
    if isinstance(result, Skipped):
        return replace(result, part=ask.part)
    torch = sys.modules.get("torch")
    settings = result.settings
    if torch is not None:
        settings += (("torch", str(getattr(torch, "__version__", "?"))),)
    return replace(
        result,
        part=ask.part,
        settings=settings,
        at_s=result.at_s or time.time(),
        chip=result.chip or _chip(result, ask),
    )


def _chip(result: Result, ask: BenchRequest) -> str | None:
    """The name of the card a result was measured on."""
    if "torch" not in sys.modules or not result.on.startswith("gpu"):
        return None
    from rigright.machine.bench.accelerator import accelerators

    cards = {card.on: card.name for card in accelerators(ask)}
    return next((name for on, name in cards.items() if result.on.split(" -> ")[0] == on), None) or (
        next(iter(cards.values()), None)
    )
