"""Files for other programs, made of what rigright knows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from rigright.base import shelf
from rigright.base.errors import AskError, DataError, RigError
from rigright.base.everyday import words_of
from rigright.base.files import unwritten, write_whole
from rigright.base.plain import dumps
from rigright.base.plugins import TARGETS as TARGETS_ADDED
from rigright.base.plugins import Plugin, is_free, loaded, plugins, run
from rigright.base.units import MIB
from rigright.base.words import ENGLISH, Sentence, say
from rigright.export.asked import ExportRequest
from rigright.export.commands import LAUNCHES, file_of
from rigright.export.launch import Launch
from rigright.export.quantizing import quantizing
from rigright.facts.launching import programs

TARGETS = "rigright.export.targets"
PLAN = "plan.json"  # beside what was made of it, for whoever holds measurements against it
_FILE = re.compile(r"[A-Za-z0-9_][\w.@-]{0,100}")
MOST_FILES, MOST_CHARS = 100, 4 * MIB  # that a plugin may hand back
_PLACE = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")


def export(
    target: str,
    *,
    watched: tuple[str, ...] = (),
    alertmanagers: tuple[str, ...] = (),
    token_file: str | None = None,
    every_s: float | None = None,
    language: str = ENGLISH,
) -> dict[str, str]:
    """File name -> text, of one target; `watched` is where `watch --serve` answers."""
    target = target_meant(target)
    usual = ExportRequest()
    asked = ExportRequest(
        watched=tuple(map(_place, watched)) or usual.watched,
        alertmanagers=tuple(map(_place, alertmanagers)),
        token_file=token_file,
        every_s=usual.every_s if every_s is None else every_s,
        language=language,
    )
    files: dict[str, str] = shelf.take(TARGETS, target, bears="export")(asked)
    return files


def known() -> tuple[str, ...]:
    """Every target by its name."""
    return (*_launches(), *shelf.names(TARGETS), *added())


@cache
def added() -> dict[str, Plugin]:
    """The targets that plugins add, by name; none takes the place of another."""
    result: dict[str, Plugin] = {}
    for plugin in plugins(TARGETS_ADDED):
        known = {*_launches(), *shelf.names(TARGETS), *result}
        if is_free(plugin.point.name, known, plugin=plugin, what=say("its target is")):
            result[plugin.point.name] = plugin
    return result


def target_meant(name: str) -> str:
    """A target by its name, or by what else people call it; one that is not there is refused."""
    bare = re.sub(r"[\s._-]", "", name.lower())
    targets = {re.sub(r"[._-]", "", target): target for target in known()}
    target = words_of("target").get(name.lower()) or targets.get(bare)
    if target is None:
        near = difflib.get_close_matches(name, known(), n=1)
        raise AskError(
            say('cannot export to "{target}"', target=name),
            hint=say("did you mean {near}?", near=near[0])
            if near
            else say("targets: {known}", known=", ".join(known())),
        )
    return target


def is_launched(target: str) -> bool:
    """Whether a target starts a plan."""
    return target in _launches() or target in added()


def _launches() -> tuple[str, ...]:
    """The targets of a plan."""
    return tuple(shelf.load(LAUNCHES, "NAME").values())


def planned_for(model: str, target: str, *, fields: Mapping[str, str]) -> dict[str, Any]:
    """The plan of a model by the options of `plan`, with the program of the target where nobody named one."""
    from rigright.arch.sources.open import open_model
    from rigright.options.row import TRAINS
    from rigright.options.rows import kinds_of, options_of
    from rigright.search.find import takes_images
    from rigright.verbs.ordering import wish_of
    from rigright.verbs.plan import plan
    from rigright.verbs.planning.planned import as_data

    program = programs().get(target)
    asked = wish_of(fields)
    if program is not None and program.post and asked.objective is None:
        raise AskError(say("{target} needs a loss", target=target), hint=say("add --train dpo | grpo | ppo"))
    if program is not None and not program.works and not takes_images(open_model(model), asked):
        asks = {option.name: option.works for option in options_of("plan")}
        of_training = kinds_of(fields.get("mode")) <= TRAINS or any(asks[name] <= TRAINS for name in fields)
        trains = program.kind == "train" and (of_training or not program.serves)
        engine = program.serves or program.runs[0]
        fields = (
            {"mode": "finetune", "trainer": program.runs[0], **fields}
            if trains
            else {"engine": engine, **fields}
        )
    return as_data(plan(model, wish=wish_of(fields)), ENGLISH)


def launch_files(
    target: str,
    data: Mapping[str, Any],
    *,
    number: int = 1,
    checkpoint: str | None = None,
    script: str = "train.py",
) -> dict[str, str]:
    """File name -> text, of one plan of a `plan --json`."""
    from rigright.verbs.launch import launch_of, plan_of
    from rigright.verbs.launch_check import check_apart, check_cut, lost_of, note_of

    program = target if target in programs() else None

    def launched(fields: Mapping[str, Any], *, nth: int = 1) -> Launch:
        return launch_of(fields, program, number=nth, checkpoint=checkpoint, script=script)

    launch = launched(data, nth=number)
    check_apart(launch, target)
    if target in added():
        return _by_plugin(added()[target], launch)
    write_out: Callable[[Launch], dict[str, str]] = shelf.take(LAUNCHES, file_of(target), bears="export")
    write_out(launch)  # what it refuses by itself says more

    def bare(plan: Mapping[str, Any]) -> dict[str, str]:
        return write_out(replace(launched({**data, "plans": [plan]}), why=()))

    lost = tuple(lost_of(plan_of(data, number), bare, program=launch.program))
    check_cut(lost, launch.program)
    return quantizing(launch) | write_out(replace(launch, why=(*launch.why, *note_of(lost))))


def one_plan(data: Mapping[str, Any], *, number: int, checkpoint: str | None = None) -> str:
    """One plan of a `plan --json`, alone in a file, with the weights that it is started with."""
    plans = data["plans"] or [value for value in (data.get("nearest"),) if value]
    fields = {"checkpoint": checkpoint} if checkpoint else {}
    return dumps({**data, **fields, "plans": plans[number - 1 : number]}, ENGLISH) + "\n"


def every_launch(data: Mapping[str, Any], *, number: int) -> dict[str, dict[str, str] | Sentence]:
    """The files of one plan for each target, or why there are none; other programs are left out."""
    from rigright.verbs.launch import runs_with

    plans = data["plans"] or [value for value in (data["nearest"],) if value]
    runs = {runs_with(plan) for plan in plans[number - 1 : number]}
    sentence: dict[str, dict[str, str] | Sentence] = {}
    for target in (*_launches(), *added()):
        program = programs().get(target)
        if program is None or not runs.isdisjoint(program.runs):
            try:
                sentence[target] = launch_files(target, data, number=number)
            except RigError as error:
                sentence[target] = error.sentence
    return sentence


def by_plugin(target: str) -> Sentence | None:
    """Whose target it is, where a plugin adds it."""
    return say("written by plugin {plugin}", plugin=added()[target]) if target in added() else None


def _by_plugin(plugin: Plugin, launch: Launch) -> dict[str, str]:
    """What a plugin's target writes: text under plain names, or an error that says what it is instead."""
    try:
        made: object = run(lambda: loaded(plugin)(launch))
    except DataError as error:
        raise _of(plugin, error.sentence) from None
    files: dict[object, object] = made if isinstance(made, dict) else {}
    if not 0 < len(files) <= MOST_FILES:
        raise _of(plugin, say("it returned no files, or more than {most}", most=MOST_FILES))
    fields: dict[str, str] = {}
    for name, text in files.items():
        plain = isinstance(name, str) and _FILE.fullmatch(name) is not None
        if not (plain and isinstance(text, str) and len(text) <= MOST_CHARS and _is_text(text)):
            raise _of(plugin, say("{name} is not a plain file name with text content", name=repr(name)[:80]))
        fields[str(name)] = text
    return fields


def _is_text(text: str) -> bool:
    """Whether it can be written."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _of(plugin: Plugin, why: Sentence) -> DataError:
    return DataError(
        say('target "{target}" of plugin {plugin}: {why}', target=plugin.point.name, plugin=plugin, why=why)
    )


def _place(text: str) -> str:
    """A host and a port."""
    if not _PLACE.fullmatch(text) or not 0 < int(text.rpartition(":")[2]) < 65536:
        raise AskError(say('"{text}" is not HOST:PORT; for example node1:9477', text=text))
    return text


def write(files: dict[str, str], folder: str) -> tuple[str, ...]:
    """Write them into a folder that is there or is made; what lies there already is not touched."""
    place = Path(folder)
    there = [name for name in files if (place / name).exists()]
    if there:
        raise AskError(
            say(
                "{folder} already contains {file}; use another folder, or remove it",
                folder=folder,
                file=there[0],
            )
        )
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_whole(place / name, text)
    except OSError as error:
        raise unwritten(folder, error) from None
    return tuple(str(place / name) for name in files)
