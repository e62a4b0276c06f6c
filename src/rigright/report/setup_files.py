"""What `setup` chose, as files: an install script, a Dockerfile, a requirements file; each line explained."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator

from rigright.base.words import Sentence, say, tell
from rigright.report.draw.cells import clean
from rigright.report.set_up import WINDOWS, Pick, SetUp, SetupStep
from rigright.report.typed import typed

WIDTH = 96


def script(result: SetUp, language: str) -> str:
    """A script for bash, or for PowerShell: read first, it says what each step is for."""
    head = _comment(_head(result), language)
    if result.target.os_id == WINDOWS:
        lines = [*head, '$ErrorActionPreference = "Stop"', ""]
    else:
        lines = ["#!/usr/bin/env bash", *head, "set -eu", ""]
    if result.already is not None:
        lines += _comment((say("right as it is: nothing is to be done"),), language)
    for step in result.steps:
        lines += [*_comment((step.title,), language, mark="## "), *_comment((step.why,), language)]
        lines += [_line(command, step, by_root=result.target.by_root) for command in step.commands]
        if step.disturbs and "reboot" in " ".join(step.commands):
            lines += _comment(
                (say("take the # away, or restart by hand; then run this file again: what is done stays"),),
                language,
            )
        lines.append("")
    lines += _comment((*result.notes, *result.unknown), language)
    return "\n".join(lines).rstrip() + "\n"


def dockerfile(result: SetUp, language: str) -> str:
    """A Dockerfile; the driver stays on the host."""
    pick = result.pick
    lines = _comment(_head(result), language)
    lines += _comment(
        (
            say(
                "the host needs driver {driver} or newer and NVIDIA's container toolkit",
                driver=(result.pick.least_driver if result.pick else None) or "?",
            ),
        ),
        language,
    )
    if pick is None:
        return "\n".join([*lines, *_comment(result.unknown, language)]) + "\n"
    if pick.image is not None:
        lines += [
            *_comment(
                (say("the engine's own image: Python, CUDA libraries and engine as its makers tested them"),),
                language,
            ),
            f"FROM {pick.image}",
        ]
    else:
        lines += list(_from_python(result, pick, language=language))
    return "\n".join(lines) + "\n"


def _from_python(result: SetUp, pick: Pick, *, language: str) -> Iterator[str]:
    yield from _comment(
        (say("the wheels bring their own CUDA libraries: a plain Python image is enough"),), language
    )
    yield f"FROM python:{result.python or '3.12'}-slim"
    if pick.toolkit:
        yield from _comment(
            (say("kernels are built with nvcc, which this image lacks: use one with the CUDA toolkit"),),
            language,
        )
    torch = [one for one in pick.pip if one.startswith("torch")]
    rest = [one for one in pick.pip if one not in torch]
    if torch:
        index = f" --index-url {pick.index}" if pick.index else ""
        yield from _comment(
            (say("torch in the build that fits these chips"),) if pick.index else (), language
        )
        yield f"RUN pip install --no-cache-dir {' '.join(map(shlex.quote, torch))}{index}"
    if rest:
        yield f"RUN pip install --no-cache-dir {' '.join(map(shlex.quote, rest))}"


def requirements(result: SetUp, language: str) -> str:
    """A requirements file for pip."""
    lines = _comment(_head(result), language)
    pick = result.pick
    if pick is None or not pick.pip:
        told = (
            result.unknown
            if pick is None
            else (say("{name} is not installed with pip: see the script", name=pick.name),)
        )
        return "\n".join([*lines, *_comment(told, language)]) + "\n"
    lines += _comment((say("Python {python}", python=pick.python or "3"),), language)
    if pick.index:
        lines += _comment(
            (
                say(
                    "the index that holds torch for {build}; all else comes from the package index",
                    build=pick.build,
                ),
            ),
            language,
        )
        lines.append(f"--extra-index-url {pick.index}")
    build = f"+{pick.build}" if pick.index and pick.build else ""
    lines += [
        one + build if build and one.startswith("torch==") and not one.endswith("*") else one
        for one in pick.pip
    ]
    return "\n".join(lines) + "\n"


def _head(result: SetUp) -> tuple[Sentence, ...]:
    pick = result.pick
    told = [say("software for {machine}", machine=result.target.shown)]
    if pick is not None:
        told.append(say("{name} {version}", name=pick.name, version=pick.version))
        if pick.source:
            told.append(
                say(
                    "by: {source}; as of {date}, confidence {confidence}",
                    source=pick.source,
                    date=pick.as_of,
                    confidence=pick.confidence,
                )
            )
    return tuple(told)


def _comment(said: tuple[Sentence, ...], language: str, *, mark: str = "# ") -> list[str]:
    """Sentences as comments; nothing in them can end the line or steer a terminal."""
    found: list[str] = []
    for one in said:
        plain = " ".join(clean(tell(one, language)).split())
        found += [mark + line for line in textwrap.wrap(plain, WIDTH, break_on_hyphens=False)]
    return found


def _line(command: str, step: SetupStep, *, by_root: bool) -> str:
    """A command as the script has it: root's through sudo, a restart only after it was read."""
    line = typed(command, needs_root=step.as_root, by_root=by_root)
    return f"# {line}" if "reboot" in command else line
