"""Machines of `tests/scenarios/`: each a played driver, a tree of files and recorded commands, as a World."""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from functools import cache
from pathlib import Path

from fake_driver import SCENARIOS, Driver
from fake_trees import Remembered, Tree, grow_in, sayings
from rigright.machine.parts.surroundings import matters
from rigright.machine.world import ROOT, CommandOutput, World, command_file

_OURS = {"PYTHONPATH"}  # where the tests find rigright


def names() -> list[str]:
    """Every scenario there is."""
    return sorted(path.stem for path in SCENARIOS.glob("*.toml"))


def scenario(name: str) -> dict:
    """One scenario as its file says it."""
    return tomllib.loads((SCENARIOS / f"{name}.toml").read_text(encoding="utf-8"))


def scene(name: str, folder: Path) -> World:
    """The machine of a scenario, live: its driver plays, its files lie below `folder`.

    Its commands are recorded. A program started with `scene(...).env` sees the same machine.
    """
    told = scenario(name)
    commands = recorded({**sayings(told.get("host", {})), **told.get("commands", {})}, folder)
    env = {
        **{key: value for key, value in os.environ.items() if not matters(key) or key in _OURS},
        "PATH": str(folder / "bin"),
        **(Driver.play(told["driver"], folder).env if "driver" in told else no_driver(folder)),
    }
    return World(root=grown(told, folder, env), env=env, is_live=True, commands=commands)


@cache
def _tree(host: str) -> Tree:
    """The tree of a host; those that are alike are grown once."""
    tree = Tree()
    grow_in(tree, json.loads(host))
    return tree


def remembered(name: str, folder: Path) -> Remembered:
    """The same machine for readers in this process: its files are in memory, only its driver plays."""
    told = scenario(name)
    said = {**sayings(told.get("host", {})), **told.get("commands", {})}
    answers = {
        command_file(tuple(shlex.split(line))): CommandOutput(code=0, out=text) for line, text in said.items()
    }
    env = {
        **{key: value for key, value in os.environ.items() if not matters(key) or key in _OURS},
        **(Driver.play(told["driver"], folder).env if "driver" in told else no_driver(folder)),
    }
    return Remembered(
        root=Path("/nowhere"),
        env=env,
        is_live=True,
        commands=Path("/nowhere"),
        tree=_tree(json.dumps(told.get("host", {}), sort_keys=True)),
        said=answers,
    )


def no_driver(folder: Path) -> dict[str, str]:
    """Variables of a machine without the library, whatever this one has."""
    (folder / "empty").mkdir(exist_ok=True)
    return {"LD_LIBRARY_PATH": str(folder / "empty")}


def grown(told: dict, folder: Path, env: dict[str, str]) -> Path:
    """The tree of files of the scenario's [host], which programs are pointed to as well."""
    root = folder / "root"
    root.mkdir(exist_ok=True)
    if "host" in told:
        from fake_trees import grow

        root = grow(root, told["host"])
    env[ROOT] = str(root)
    return root


def recorded(said: dict[str, str], folder: Path) -> Path:
    """What commands say: a file each for our reader, a script each for other programs."""
    commands, scripts = folder / "commands", folder / "bin"
    for place in (commands, scripts):
        place.mkdir(exist_ok=True)
    by_program: dict[str, list[str]] = {}
    for command, text in said.items():
        argv = tuple(shlex.split(command))
        file = commands / command_file(argv)
        file.write_text(f"0\n{text}", encoding="utf-8")
        asked, answer = shlex.quote(" ".join(argv[1:])), shlex.quote(str(file))
        line = f'[ "$*" = {asked} ] && exec /usr/bin/tail -n +2 {answer}'
        by_program.setdefault(argv[0], []).append(line)
    for program, lines in by_program.items():
        script = scripts / program
        script.write_text("#!/bin/sh\n" + "\n".join(lines) + "\nexit 1\n", encoding="utf-8")
        script.chmod(0o755)
    return commands
