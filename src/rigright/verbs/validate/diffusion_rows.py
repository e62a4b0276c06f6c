"""A row of images_energy.csv or diffusion.csv as what is asked: a network, a picture, cards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from rigright.arch.denoisers import GUESSED, Denoiser, denoiser
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError, RigError
from rigright.base.tables import Row
from rigright.base.words import Sentence, say
from rigright.choice.networks import TRIED, Network, network_of
from rigright.cost.diffusion import DiffusionRun
from rigright.facts.chips import Chip
from rigright.facts.find import find_chip

_CUT = re.compile(r"(ulysses|ring|cfg|pipefusion|dp)\s*=?(\d{1,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffusionAsk:
    """One row."""

    net: Denoiser
    network: Network | None  # of an open one whose kind no fitted run was of
    chip: Chip
    run: DiffusionRun  # of one group of cards
    copies: int  # groups, each with its part of the batch
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
    told = {name: float(row.get(name) or usual[name]) for name in usual if name != "batch"}
    cut = {name: int(count) for name, count in _CUT.findall((row.get("parallelism") or "").lower())}
    copies = min(cut.get("dp", 1), row.get("n_gpus") or 1)
    ranks, batch = (row.get("n_gpus") or 1) // copies, ceil((row.get("batch") or usual["batch"]) / copies)
    guided = min(cut.get("cfg", 1), net.passes, ranks)
    assumed = [
        say("{column} not stated: assuming {value}", column=name, value=f"{usual[name]:g}") for name in unsaid
    ]
    if net.kind == GUESSED:
        assumed.append(say("compute of {model} estimated from its size", model=row["model"][:60]))
    return DiffusionAsk(
        net=net,
        chip=find_chip(row["chip"]),
        network=_open(row["model"], net, run=told) if ranks == 1 else None,
        copies=copies,
        run=DiffusionRun(
            **told,
            batch=float(batch),
            ranks=ranks,
            guided=guided,
            ring=min(cut.get("ring", 1), max(ranks // guided, 1)),
            compiled=bool(row.get("compiled")),
            cache=row.get("step_cache") or "",
        ),
        unsaid=unsaid,
        assumed=tuple(assumed),
    )


def _open(model: str, net: Denoiser, *, run: Mapping[str, float]) -> Network | None:
    """An open network that makes square images, of a kind whose time no run of its like was fitted to."""
    if net.kind in {*TRIED, GUESSED} or run["height"] != run["width"]:
        return None
    try:
        return network_of(open_model(model), image_px=int(run["height"]), steps=int(run["steps"]))
    except RigError:
        return None
