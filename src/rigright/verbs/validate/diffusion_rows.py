"""A row of images_energy.csv or diffusion.csv as what is asked: a network, a picture, cards."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rigright.arch.denoisers import GUESSED, Denoiser, denoiser
from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.words import Sentence, say
from rigright.cost.diffusion import DiffusionRun
from rigright.facts.chips import Chip
from rigright.facts.find import find_chip

_CUT = re.compile(r"(ulysses|ring|cfg|pipefusion)\s*=?(\d{1,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffusionAsk:
    """One row."""

    net: Denoiser
    chip: Chip
    run: DiffusionRun
    unsaid: tuple[str, ...]  # columns that decide the time, and were empty
    assumed: tuple[Sentence, ...]


def read_diffusion(row: Row) -> DiffusionAsk:
    """What a row asks; what it leaves open is as the network is usually run."""
    if not row.get("model"):
        raise AskError(say("the row has no model"))
    if not row.get("chip"):
        raise AskError(say("the row has no chip"))
    net = denoiser(row["model"])
    usual = {
        "height": net.height,
        "width": net.width_px,
        "frames": net.frames,
        "steps": net.steps,
        "batch": 1,
    }
    # an image's row has no frames; a picture whose sides are told has as many as its network makes
    unsaid = tuple(name for name in usual if row.get(name) is None and (name != "frames" or net.frames > 1))
    told = {name: float(row.get(name) or usual[name]) for name in usual}
    cut = {name: int(count) for name, count in _CUT.findall((row.get("parallelism") or "").lower())}
    ranks = row.get("n_gpus") or 1
    guided = min(cut.get("cfg", 1), net.passes, ranks)
    assumed = [
        say("{column} not stated: assuming {value}", column=name, value=f"{usual[name]:g}") for name in unsaid
    ]
    if net.kind == GUESSED:
        assumed.append(say("compute of {model} estimated from its size", model=row["model"][:60]))
    return DiffusionAsk(
        net=net,
        chip=find_chip(row["chip"]),
        run=DiffusionRun(
            **told,
            ranks=ranks,
            guided=guided,
            ring=min(cut.get("ring", 1), max(ranks // guided, 1)),
            compiled=bool(row.get("compiled")),
            cache=row.get("step_cache") or "",
        ),
        unsaid=unsaid,
        assumed=tuple(assumed),
    )
