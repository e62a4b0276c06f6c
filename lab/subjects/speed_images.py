"""Time of image networks: terms of kinds of networks and of classes of chips, from samples a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from lab.record import Dial, Subject, Tables
from rigright.base.tables import Row
from rigright.facts.chips import Chip
from rigright.predict.painted import ImageCase, ImageCases
from rigright.verbs.validate.kinds.vision import read_image

SPEED = "samples_per_s"
KIND_TERMS = ("compute", "traffic", "fused", "reorder", "back_compute", "back_traffic", "back_last")
CHIP_TERMS = ("compute", "compute32", "memory", "kernel_s")
LIMITS = {  # terms of a run
    "sharp": (1.0, 4.0),
    "pair_traffic": (0.0, 50.0),
    "hidden": (0.005, 1.0),
    "drag": (1e-4, 0.1),
}
SHARES = frozenset({"kinds compute", "kinds fused"})  # never above one
WIDE = {"reorder": 2.0, "back_last": 2.5}  # terms that differ more between kinds than others do
SPREADS = {"kinds": (0.5, 0.3, 0.25), "chips": (0.3, 0.15, 0.1, 0.06)}  # from everybody down to one
STILL = frozenset({"compute", "memory", "kernel_s"})  # for everybody: what traffic of all kinds says as well
CPU = "cpu"
CPU_TERMS = {"compute": 0.65, "memory": 0.7, "kernel_s": 4.5e-5}  # from physics, before any run
CPU_SPREAD = 0.4

Chain = Callable[[ImageCase], tuple[str, ...]]


def prepare(rows: Sequence[Row]) -> ImageCases:
    """Rows side by side."""
    return ImageCases.of([read_image(row).case for row in rows])


def dials(rows: Sequence[Row], tables: Tables) -> tuple[Dial, ...]:
    """Terms that some row moves."""
    asks = [read_image(row).case for row in rows]
    result = [
        Dial(path=("run", name), prior=tables["run"][name], spread=0.7, low=low, high=high)
        for name, (low, high) in LIMITS.items()
    ]
    for name in KIND_TERMS:
        result += _hung(asks, tables, section="kinds", name=name, chain=_kind_chain)
    for name in CHIP_TERMS:
        result += _hung(asks, tables, section="chips", name=name, chain=_chip_chain)
    return tuple(result)


def _hung(
    asks: Sequence[ImageCase], tables: Tables, *, section: str, name: str, chain: Chain
) -> Iterator[Dial]:
    """One term of everybody, and below it of each narrower group that some ask is in."""
    groups: dict[tuple[int, str, str], list[int]] = {}
    for place, ask in enumerate(asks):
        # whether a term matters to an ask
        wide = ask.run.precision in {"fp32", "tf32"}
        matters = {
            "chips compute32": wide and isinstance(ask.place, Chip),
            "chips kernel_s": not isinstance(ask.place, Chip),
            "kinds fused": ask.run.compiled,
            "kinds reorder": not wide and not ask.run.channels_last,
            "kinds back_compute": ask.trains,
            "kinds back_traffic": ask.trains,
            "kinds back_last": ask.trains and ask.run.channels_last,
        }
        if matters.get(f"{section} {name}", True):
            names = chain(ask)
            for depth, key in enumerate(names):
                groups.setdefault((depth, key, names[depth - 1] if depth else ""), []).append(place)
    for (depth, key, above), touches in groups.items():
        if depth or section != "chips" or name not in STILL:
            own = section == "chips" and key == CPU and name in CPU_TERMS
            yield Dial(
                path=(section, key, name),
                parent=(section, above, name) if above and not own else None,
                prior=CPU_TERMS[name] if own else tables[section]["all"][name],
                spread=CPU_SPREAD if own else SPREADS[section][depth] * WIDE.get(name, 1.0),
                high=1.0 if f"{section} {name}" in SHARES else float("inf"),
                touches=tuple(touches),
            )


def _kind_chain(ask: ImageCase) -> tuple[str, ...]:
    return tuple(dict.fromkeys(("all", ask.kind.kin, ask.kind.id)))


def _chip_chain(ask: ImageCase) -> tuple[str, ...]:
    if not isinstance(ask.place, Chip):
        return ("all", CPU)
    kind = ask.place.kind
    return tuple(dict.fromkeys(("all", kind.kin, kind.id, ask.place.id)))


def keys(row: Row) -> Mapping[str, str]:
    """What is left out whole, and what bands are stated by."""
    ask = read_image(row).case
    return {
        "source": row["source"] or "",
        "chip": _chip_chain(ask)[-1],
        "model": row["model"] or "",
        "metric": SPEED,
        "part": f"{ask.kind.id} {_chip_chain(ask)[-1]} {ask.trains}",
        "class": ask.place.kind.id if isinstance(ask.place, Chip) else CPU,
        "kind": ask.kind.kin,
        "band": "samples, training" if ask.trains else "samples",
    }


SUBJECT = Subject(
    name="speed_images",
    kind="vision",
    teaches=lambda row: bool(row.get(SPEED)) and "habana" not in (row.get("framework") or ""),
    measured=lambda row: float(row[SPEED]),
    prepare=prepare,
    predict=ImageCases.samples_per_s,
    dials=dials,
    keys=keys,
)
