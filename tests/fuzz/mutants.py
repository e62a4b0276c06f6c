"""Mutated inputs over every reader: `mutants.py --inputs 1000000 [--seed N] [--workers 2]`.

Nothing is registered. A reader is what the code holds: each form of the front door, each output of a
benchmark, each family of configs, and each public function that takes one foreign text. A seed is each longer
text that a test holds, beside the configs of the zoo: a new reader
and a new test's text are fuzzed as they are.
A worker that computes too long on one input ends with that input's number, and another goes on behind it.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import faulthandler
import gc
import importlib
import inspect
import json
import os
import pkgutil
import random
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
for _path in (TESTS, TESTS / "doctor", TESTS.parent / "src"):
    if str(_path) not in sys.path:
        sys.path.append(str(_path))

import doors  # noqa: E402 - the paths above come first

import rigright  # noqa: E402
from rigright.arch import count  # noqa: E402
from rigright.arch.read import read_config  # noqa: E402
from rigright.arch.sources import zoo  # noqa: E402
from rigright.base.errors import RigError  # noqa: E402
from rigright.base.units import MIB  # noqa: E402
from rigright.doctor.examine import case_of, examine  # noqa: E402
from rigright.machine.opened import read_machine  # noqa: E402
from rigright.machine.possible import possible  # noqa: E402
from rigright.verbs.runs.columns import NOTHING_SAID  # noqa: E402
from rigright.verbs.runs.document import document  # noqa: E402
from rigright.verbs.runs.files import outputs  # noqa: E402

HANG_CPU_S, HANG_S = 20.0, 600.0  # of an input; the other where it does not compute at all
ROOM_BYTES = 100 * MIB  # for an input of up to a tenth of that
LONGEST = 20_000  # letters of a mutant
SEED_LETTERS = (60, 20_000)
FOREIGN = frozenset(  # what a foreign text is called where it comes in
    {"text", "raw", "told", "said", "log", "printed", "status", "topo", "shown", "content", "report"}
)
NOT_READERS = re.compile(
    r"\.(families|report|faces|data|export)\.|_child$|\.child$|\.landing$|__main__|\.parts\."
    r"|look_up\.search$"  # a question, which `figure` asks
)
ODD = (
    "", "0", "-1", "-81920", "9999", "1e308", "1e999", "NaN", "nan", "Infinity", "null", "true", "[]",
    "{}", "[{}]", '"x"', "9" * 400, "9" * 5000, "\x00", "\ufeff", "|", ",", "\n", "\r\n", "\t" * 40,
    " " * 400,
    "%s", "٣", "[" * 300, "<" * 50,
    "GPU 0: ",
)  # fmt: skip
VALUES = (
    None,
    True,
    -1,
    0,
    10**400,
    1e308,
    float("nan"),
    "",
    "x" * 300,
    [],
    {},
    [[]],
    {"a": {}},
    ["x"],
    [None],
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@cache
def readers() -> dict[str, Callable[[str], object]]:
    """Every public function of the program that takes one foreign text."""
    found: dict[str, Callable[[str], object]] = {}
    for module in pkgutil.walk_packages(rigright.__path__, "rigright."):
        if NOT_READERS.search(module.name):
            continue
        held = importlib.import_module(module.name)
        for name, function in vars(held).items():
            if name.startswith("_") or not inspect.isfunction(function) or function.__module__ != module.name:
                continue
            parameters = inspect.signature(function).parameters.values()
            needed = [one for one in parameters if one.default is one.empty and one.kind != one.VAR_KEYWORD]
            if len(needed) == 1 and needed[0].name in FOREIGN and needed[0].annotation in {"str", "bytes"}:
                as_bytes = needed[0].annotation == "bytes"
                found[f"{module.name.removeprefix('rigright.')}.{name}"] = _called(
                    function, as_bytes=as_bytes
                )
    return found


def _called(function: Callable[[Any], object], *, as_bytes: bool) -> Callable[[str], object]:
    def read(text: str) -> object:
        found = function(text.encode("utf-8", "replace") if as_bytes else text)
        return list(found) if isinstance(found, Iterator) else found

    return read


@cache
def seeds() -> tuple[str, ...]:
    """Every longer text of the tests."""
    found: dict[str, None] = {}
    for path in sorted(TESTS.rglob("*.py")):
        if path == Path(__file__):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                text = node.value if isinstance(node.value, str) else node.value.decode("utf-8", "replace")
                if SEED_LETTERS[0] <= len(text) <= SEED_LETTERS[1] and ("\n" in text or text[:1] in "{["):
                    found[text] = None
    from benchmark_files import FILES

    return (*found, *FILES.values())


def parsed(path: Path) -> ast.Module:
    """The syntax of a file; the collector would go through all of it, again and again."""
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.enable()


@cache
def liked(name: str) -> tuple[str, ...]:
    """The seeds that a reader makes something of; of one that likes none, all."""
    good = []
    for text in seeds()[:: max(1, len(seeds()) // 60)]:
        with contextlib.suppress(Exception):
            if readers()[name](text):
                good.append(text)
    return tuple(good) or seeds()


def _number(text: str, dice: random.Random) -> str:
    numbers = list(NUMBER.finditer(text[:4000]))
    if not numbers:
        return text
    found = dice.choice(numbers)
    return text[: found.start()] + dice.choice(ODD) + text[found.end() :]


def _piece(text: str, dice: random.Random) -> str:
    at = dice.randint(0, len(text))
    return text[:at] + dice.choice(ODD) + text[at + dice.randint(0, 12) :]


def _again(text: str, dice: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    at = dice.randint(0, len(lines))
    return "".join([*lines[:at], *lines[at : at + 5] * dice.choice((1, 2, 20)), *lines[at:]])


def _turned(text: str, dice: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    at, end = sorted(dice.randint(0, len(lines)) for _ in range(2))
    return "".join(lines[:at] + lines[end:] if dice.random() < 0.5 else lines[end:] + lines[:end])


def _strange(text: str, dice: random.Random) -> str:
    other, at = dice.choice(seeds()), dice.randint(0, len(text))
    return text[:at] + other[: dice.randint(0, min(len(other), 2000))] + text[at:]


WAYS = (
    _number, _number, _piece, _again, _turned, _strange,
    lambda text, dice: text[: dice.randint(0, len(text))],
    lambda text, dice: text * dice.choice((1, 2, 2, 10)),
    lambda text, dice: text.replace("\n", dice.choice(("\r\n", " ", "\n\n", ""))),
    lambda text, dice: text.replace(dice.choice(text or " "), chr(dice.randint(0, 0x10F)), 1),
)  # fmt: skip


def mutant(text: str, dice: random.Random) -> str:
    """A text with some of what people and machines do to it."""
    for _ in range(dice.randint(1, 4)):
        text = dice.choice(WAYS)(text, dice)[:LONGEST]
    return text


def changed(value: Any, dice: random.Random) -> Any:
    """JSON with one value turned into another."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        key = dice.choice(list(value))
        if dice.random() < 0.1:
            return {name: one for name, one in value.items() if name != key}
        return {**value, key: changed(value[key], dice)}
    if isinstance(value, list) and value and dice.random() < 0.7:
        at = dice.randrange(len(value))
        return [*value[:at], changed(value[at], dice), *value[at + 1 :]]
    return dice.choice(VALUES)


def front_door(dice: random.Random) -> None:
    """A machine of a mutant: nothing impossible in it, and the doctor can look at it."""
    machine = read_machine(mutant(dice.choice(seeds()), dice).encode("utf-8", "replace"), name="mutant")
    if possible(machine) is not machine:
        raise AssertionError("an impossible reading is left")
    if dice.random() < 0.1:
        examine(case_of(machine))


def any_reader(dice: random.Random) -> None:
    """One of the readers, with a mutant of what it likes."""
    name = dice.choice(sorted(readers()))
    readers()[name](mutant(dice.choice(liked(name)), dice))


def benchmark(dice: random.Random) -> None:
    """All that the readers of benchmarks make of a mutant."""
    found = document("mutant.json", mutant(dice.choice(seeds()), dice))
    for output in outputs():
        if output.claims(found):
            list(output.rows(found, NOTHING_SAID))


def config(dice: random.Random) -> None:
    """A config of the zoo with other values."""
    raw = zoo.config(dice.choice(zoo.names()))
    for _ in range(dice.randint(1, 3)):
        raw = changed(raw, dice)
    if isinstance(raw, dict):
        count.params(read_config(raw, "mutant"))


def door(dice: random.Random) -> None:
    """A command with a mutant of a file that it takes."""
    doors.any_door(mutant, dice)


def condition(dice: random.Random) -> None:
    """A condition of `look-up` with other words and numbers."""
    doors.any_condition(mutant, dice)


KINDS = (front_door, front_door, front_door, any_reader, any_reader, benchmark, config, config, condition)
COMMAND_EACH = 50  # a whole command takes as long as many readings


def one(number: int, seed: int) -> None:
    """One input; only a RigError may come out of a reader, and it says something."""
    dice = random.Random(seed * 1_000_003 + number)  # noqa: S311 - it plays, it hides nothing
    kind = door if dice.random() < 1 / COMMAND_EACH else dice.choice(KINDS)
    try:
        kind(dice)
    except RigError as error:
        if not str(error.sentence):
            raise AssertionError("an error without a sentence") from None


def work(first: int, end: int, *, seed: int, step: int, until: float) -> int:
    """Inputs one after another within bounds of time and memory; each fault is a line of JSON."""
    readers()
    zoo.names()
    faults = 0
    for number in range(first, end, step):
        if time.monotonic() > until:
            break
        sys.stdout.write(json.dumps({"begins": number}) + "\n")
        sys.stdout.flush()
        patient()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            one(number, seed)
        except Exception as error:  # noqa: BLE001 - every one of them is a fault
            faults += 1
            where = [
                f"{Path(at.filename).name}:{at.lineno}" for at in traceback.extract_tb(error.__traceback__)
            ]
            told = {"input": number, "error": f"{type(error).__name__}: {error}"[:200], "at": where[-4:]}
            sys.stdout.write(json.dumps(told) + "\n")
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        if grown > ROOM_BYTES:
            faults += 1
            sys.stdout.write(json.dumps({"input": number, "error": f"{grown // MIB} MiB of memory"}) + "\n")
    patient(0)
    return faults


def patient(cpu_s: float = HANG_CPU_S) -> None:
    """End this process with a traceback when it computes for so long; 0: no more."""
    if cpu_s:
        faulthandler.dump_traceback_later(HANG_S, exit=True, file=sys.__stderr__)
    else:
        faulthandler.cancel_dump_traceback_later()
    if hasattr(signal, "setitimer"):
        faulthandler.register(signal.SIGPROF, file=sys.__stderr__, chain=True)
        signal.setitimer(signal.ITIMER_PROF, cpu_s)


def main() -> int:
    """Share the inputs among workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--step", type=int, default=0, help="a worker's own")
    said = parser.parse_args()
    end = said.first + said.inputs
    if said.step:
        work(said.first, end, seed=said.seed, step=said.step, until=time.monotonic() + said.seconds)
        return 0
    with ThreadPoolExecutor(said.workers) as pool:
        found = list(pool.map(lambda place: _worker(said, said.first + place, end), range(said.workers)))
    done, faults = (sum(counts) for counts in zip(*found, strict=True))
    sys.stdout.write(f"{done} inputs, {faults} faults\n")
    return min(faults, 1)


def _worker(said: argparse.Namespace, first: int, end: int) -> tuple[int, int]:
    """Inputs done and faults of one share, with a new process after each that ended."""
    line = [sys.executable, __file__, "--seed", str(said.seed), "--step", str(said.workers)]
    until = time.monotonic() + said.seconds
    done = faults = 0
    while first < end:
        line_now = [*line, "--first", str(first), "--inputs", str(end - first)]
        line_now += ["--seconds", str(until - time.monotonic())]
        child = subprocess.Popen(line_now, stdout=subprocess.PIPE, text=True)
        for text in child.stdout or ():
            told = json.loads(text)
            if "begins" in told:
                first, done = told["begins"] + said.workers, done + 1
            if "error" in told:
                faults += 1
                sys.stdout.write(text)
        if not child.wait():
            break
        faults += 1
        sys.stdout.write(
            f"input {first - said.workers} hung or died ({child.returncode}): its traceback is above\n"
        )
        sys.stdout.flush()
    return done, faults


if __name__ == "__main__":
    sys.exit(main())
