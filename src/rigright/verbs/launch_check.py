"""A server that runs, held against its plan: flag by flag, as the program's own parser reads them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from rigright.base.errors import AskError, MissingError
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.export.commands import command_of
from rigright.export.launch import Launch
from rigright.export.text import Variable, flat
from rigright.facts.launching import FlagCheck, flags, switches

PLACES = {
    "--host",
    "--port",
    "--alias",
    "--metrics",
    "--node-rank",
    "--master-addr",
    "--dist-init-addr",
    "--disaggregation-bootstrap-port",
}
_MOST_BYTES = int(MIB)


def running_words(text: str) -> list[str]:
    """The words of a command, or of the process with that id."""
    if not text.isdecimal():
        try:
            return shlex.split(text)
        except ValueError:
            raise AskError(say('"{told}": unclosed quote', told=text)) from None
    from rigright.machine.world import here

    raw = here().raw(f"/proc/{text}/cmdline", most=_MOST_BYTES)
    if not raw:
        raise MissingError(say("no process with PID {told}", told=text))
    return raw.decode(errors="replace").rstrip("\0").split("\0")


def compare_flags(launch: Launch, words: Sequence[str]) -> tuple[FlagCheck, ...]:
    """Each flag of the plan beside that of the server; a flag is known under every name it has.

    Of workers apart the server is the one that it is most like.
    """
    if not flags(launch.program.id):
        raise AskError(say("no flag table for {engine}", engine=launch.program.label))
    alike = {worker.stage: worker for worker in launch.workers}.values() or (launch,)
    return min(
        (_compare_flags(item, words) for item in alike), key=lambda rows: sum(not row.kept for row in rows)
    )


def _compare_flags(launch: Launch, words: Sequence[str]) -> tuple[FlagCheck, ...]:
    planned = _given(launch, [word for word in flat(command_of(launch)) if not isinstance(word, Variable)])
    running = _given(launch, words)
    model = FlagCheck(flag="model", planned=launch.model, running=_model(words, running))
    rows = (
        FlagCheck(flag=flag, planned=value, running=running.get(flag))
        for flag, value in planned.items()
        if flag not in PLACES and value != launch.model
    )
    more = (
        FlagCheck(flag=flag, planned=None, running=running[flag])
        for flag in switches()
        if flag in running and flag not in planned
    )
    # a file that was downloaded or made bears any name
    any_name = launch.making or (launch.weights_folder is None and (model.running or "").endswith(".gguf"))
    return (*([] if any_name else [model]), *rows, *more)


def servers_of(launch: Launch) -> Iterator[tuple[int, tuple[FlagCheck, ...]]]:
    """Each server of the program that runs here: its process id, and its flags beside the plan's."""
    from rigright.machine.world import here

    pattern = launch.program.process
    for name in here().names("/proc") if pattern else ():
        raw = here().raw(f"/proc/{name}/cmdline", most=_MOST_BYTES) if name.isdecimal() else None
        words = (raw or b"").decode(errors="replace").rstrip("\0").split("\0")
        if words[0] and _starts(pattern, words):
            yield int(name), compare_flags(launch, words)


def _starts(pattern: str, words: Sequence[str]) -> bool:
    """Whether a command starts the program: it, or an interpreter that is given it, stands first."""
    return any(re.search(pattern, " ".join(words[place : place + 3])) for place in range(min(len(words), 3)))


def _model(words: Sequence[str], given: dict[str, str]) -> str | None:
    """What a server loads: by its flag, or right behind the word that starts it."""
    for flag in ("--model", "--model-path", "--hf-repo"):
        if flag in given:
            return given[flag]
    starts = (
        place for place, word in enumerate(words) if word.rpartition("/")[2] in {"serve", "trtllm-serve"}
    )
    return next((words[place + 1] for place in starts if place + 1 < len(words)), None)


def _given(launch: Launch, words: Sequence[str]) -> dict[str, str]:
    """Flags by their first name -> what they are given; a flag alone: yes."""
    table = flags(launch.program.id)
    fields: dict[str, str] = {}
    place = 0
    while place < len(words):
        name, equals, value = words[place].partition("=")
        name = name.replace("_", "-") if name not in table and name.startswith("--") else name
        place += 1
        flag = table.get(name)
        if flag is None:
            continue
        if not equals:
            value = "no" if name.startswith("--no-") and not flag.flag.startswith("--no-") else "yes"
            if flag.takes != "0" and place < len(words) and words[place] not in table:
                value, place = words[place], place + 1
        fields[flag.flag] = value
    return fields
