"""Weights that nobody has published in the planned format: the script that makes them."""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath

from rigright.base.units import GIGA
from rigright.export.launch import Launch
from rigright.export.text import comments
from rigright.facts.checkpoints import recipe_of
from rigright.facts.formats import GGUF


def quantizing(launch: Launch) -> dict[str, str]:
    """The file of the bundle that makes them; none where they can be had."""
    if launch.making is None:
        return {}
    source, tool = launch.making.source, launch.making.tool
    quote = repr if tool.file.endswith(".py") else shlex.quote
    text = tool.text.format(
        source=quote(source),
        made=quote(launch.model),
        folder=quote(f"./{PurePosixPath(source).name}"),
        mix=quote(launch.serving.weights.removeprefix(GGUF)),
        loader=f"AutoModelFor{'ImageTextToText' if launch.making.sees else 'CausalLM'}",
        recipe=recipe_of(tool, launch.serving.weights),
    )
    size = round(launch.making.source_bytes / GIGA)
    head = (
        f"makes {launch.model} of {source}: run it once, before the server",
        f"loads {size} GB of 16-bit weights; needs: {tool.needs}",
    )
    start = "#!/bin/sh\n" if tool.file.endswith(".sh") else ""
    return {tool.file: start + comments(head) + text.lstrip("\n")}
