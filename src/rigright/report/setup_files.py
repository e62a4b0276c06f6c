"""What `setup` chose, as files: an install script, a Dockerfile, a requirements file; each line explained."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import replace

from rigright.base.words import Sentence, clean, is_known, say, tell, worded
from rigright.facts.launching import Serves, serving
from rigright.facts.software import version_of, written
from rigright.report.typed import typed
from rigright.verbs.setup.choice import WINDOWS, Pick, SetUp, SetupStep

_WIDTH = 96
_NOBLE_FROM = (12, 6)  # the first CUDA with images of Ubuntu 24.04


def script(result: SetUp, language: str) -> str:
    """A script for bash, or for PowerShell: read first, it says what each step is for."""
    head = _comment(_head(result), language)
    if result.system.os_id == WINDOWS:
        lines = [*head, '$ErrorActionPreference = "Stop"', ""]
    else:
        lines = ["#!/usr/bin/env bash", *head, "set -eu", ""]
    if result.already is not None:
        lines += _comment((say("nothing to do"),), language)
    for step in result.steps:
        lines += [*_comment((step.title,), language, mark="## "), *_comment((step.why,), language)]
        lines += [_line(command, step, by_root=result.system.by_root) for command in step.commands]
        if step.disturbs and "reboot" in " ".join(step.commands):
            again = say(
                "uncomment it or reboot manually, then run this file again: finished steps are skipped"
            )
            lines += _comment((again,), language)
        lines.append("")
    lines += _comment((*result.notes, *result.unknown), language)
    return "\n".join(lines).rstrip() + "\n"


_DEVICES = {  # how a container is given the cards; NVIDIA's toolkit does it by itself
    "amd": "--device /dev/kfd --device /dev/dri --group-add video --security-opt seccomp=unconfined",
    "intel": "--device /dev/dri --group-add render",
}


def dockerfile(result: SetUp, language: str) -> str:
    """A Dockerfile; the driver stays on the host."""
    pick = result.contained or result.pick
    lines = _comment(_head(replace(result, pick=pick)), language)
    if "nvidia" in result.system.vendors:
        needs = say(
            "the host needs driver {driver} or newer and NVIDIA's container toolkit",
            driver=(pick.least_driver if pick else None) or "?",
        )
        lines += _comment((needs,), language)
    if pick is None or pick.installer is not None:
        return "\n".join([*lines, *_comment(result.unknown, language)]) + "\n"
    serves = serving().get(pick.name)
    lines += _hosted(result, pick, serves=serves, language=language)
    if pick.image is not None:
        sentence = say("the engine's official image: Python, CUDA libraries and engine as tested upstream")
        lines += [*_comment((sentence,), language), f"FROM {pick.image}"]
    else:
        lines += _wheels(result, pick, language=language)
    if serves is not None:
        lines += _served(serves, tp=result.split_over or 1, language=language)
    elif pick.pip:
        lines += ["WORKDIR /work", 'CMD ["python3"]']
    return "\n".join(lines) + "\n"


def _hosted(result: SetUp, pick: Pick, *, serves: Serves | None, language: str) -> list[str]:
    """What is typed on the host: the toolkit once, then build and run."""
    lines = list[str]()
    for step in result.docker_steps[:1]:
        lines += _comment((say("on the host, once:"),), language)
        lines += [
            f"#   {typed(command, needs_root=step.as_root, by_root=result.system.by_root)}"
            for command in step.commands
        ]
    name = pick.name.replace(".", "")
    devices = next((_DEVICES[vendor] for vendor in result.system.vendors if vendor in _DEVICES), "--gpus all")
    run = f"docker run --rm {devices} --ipc=host -it {name}"
    if serves is not None:
        keep = f"-v {name}-cache:{serves.cache}"
        run = f"docker run --rm {devices} --ipc=host -p 127.0.0.1:{serves.port}:{serves.port} {keep} {name}"
    lines += _comment((say("then build it and run it:"),), language)
    return [*lines, f"#   docker build -t {name} .", f"#   {run}"]


def _served(serves: Serves, *, tp: int, language: str) -> list[str]:
    """The server: its model, its port, whether it is well, and how it starts."""
    lines = list[str]()
    if serves.model:
        sentence = say("a small model to try; use yours with docker run -e MODEL=...")
        lines += [*_comment((sentence,), language), f"ENV MODEL={serves.model} TP={tp}"]
    else:
        lines += [f"ENV OLLAMA_HOST=0.0.0.0:{serves.port}"]
    command = serves.command.format(model='"$MODEL"', tp='"$TP"')
    return [
        *lines,
        f"VOLUME {serves.cache}",
        f"EXPOSE {serves.port}",
        f"HEALTHCHECK --start-period=30m --interval=30s CMD {serves.health} || exit 1",
        "ENTRYPOINT []",
        f"CMD {json.dumps(['sh', '-c', f'exec {command}'])}",
    ]


def _wheels(result: SetUp, pick: Pick, *, language: str) -> Iterator[str]:
    """An image that wheels are installed in: with nvcc and a compiler where kernels are built."""
    if pick.toolkit:
        nvcc = say("kernels are compiled with nvcc: use an image with the CUDA toolkit")
        yield from _comment((nvcc,), language)
        cuda = version_of(result.toolkit or pick.cuda or "13.0")[:2]
        yield f"FROM nvidia/cuda:{written(cuda)}.0-devel-ubuntu{'24.04' if cuda >= _NOBLE_FROM else '22.04'}"
        yield "RUN apt-get update && apt-get install -y --no-install-recommends python3-venv git && \\"
        yield "    rm -rf /var/lib/apt/lists/* && python3 -m venv /opt/venv"
        yield "ENV PATH=/opt/venv/bin:$PATH"
    else:
        sentence = say(
            "the wheels ship their own CUDA libraries: Python and a C compiler for Triton are enough"
        )
        yield from _comment((sentence,), language)
        yield f"FROM python:{result.python or '3.12'}-slim"
        yield "RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev git && \\"
        yield "    rm -rf /var/lib/apt/lists/*"
    torch = [text for text in pick.pip if text.startswith("torch")]
    rest = [text for text in pick.pip if text not in torch]
    if torch:
        index = f" --index-url {pick.index}" if pick.index else ""
        yield from _comment((say("torch build that fits these GPUs"),) if pick.index else (), language)
        yield f"RUN pip install --no-cache-dir {' '.join(map(shlex.quote, torch))}{index}"
    if rest and pick.name == "flash-attn":  # it builds against the torch that is there
        yield "RUN pip install --no-cache-dir ninja packaging wheel"
    isolated = "--no-build-isolation " if pick.name == "flash-attn" else ""
    if rest:
        yield f"RUN pip install --no-cache-dir {isolated}{' '.join(map(shlex.quote, rest))}"


def requirements(result: SetUp, language: str) -> str:
    """A requirements file for pip."""
    lines = _comment(_head(result), language)
    pick = result.pick
    if pick is None or not pick.pip:
        sentences = result.unknown
        if pick is not None:
            sentences = (say("{name} is not installed with pip: see --script", name=pick.name),)
        return "\n".join([*lines, *_comment(sentences, language)]) + "\n"
    lines += _comment((say("Python {python}", python=pick.pythons or "3"),), language)
    if pick.index:
        index = say("the index for torch {build}; everything else comes from PyPI", build=pick.build)
        lines += _comment((index,), language)
        lines.append(f"--extra-index-url {pick.index}")
    build = f"+{pick.build}" if pick.index and pick.build else ""
    lines += [
        text + build if build and text.startswith("torch==") and not text.endswith("*") else text
        for text in pick.pip
    ]
    return "\n".join(lines) + "\n"


def _head(result: SetUp) -> tuple[Sentence, ...]:
    pick = result.pick
    head = say("software for {machine}", machine=result.system.shown)
    return (
        (head,)
        if pick is None
        else (
            head,
            say("{name} {version}", name=pick.name, version=pick.version),
            say("source: {what}", what=sourced(pick)),
        )
    )


def sourced(pick: Pick) -> Sentence:
    """Where it is from, from when, and how sure; not said where nobody knows."""
    sure = worded("confidence")(pick.confidence)
    return say(
        "{source}; {date}, confidence {confidence}",
        source=pick.source or None,
        date=pick.as_of,
        confidence=sure,
    )


def _comment(sentences: tuple[Sentence, ...], language: str, *, mark: str = "# ") -> list[str]:
    """Sentences as comments; nothing in them can end the line or steer a terminal."""
    texts: list[str] = []
    for sentence in filter(is_known, sentences):
        plain = " ".join(clean(tell(sentence, language)).split())
        texts += [mark + line for line in textwrap.wrap(plain, _WIDTH, break_on_hyphens=False)]
    return texts


def _line(command: str, step: SetupStep, *, by_root: bool) -> str:
    """A command as the script has it: root's through sudo, a restart only after it was read."""
    line = typed(command, needs_root=step.as_root, by_root=by_root)
    return f"# {line}" if "reboot" in command else line
