"""A world with known truth: chips of two classes that read at a share of their bandwidth, plus a start."""

from __future__ import annotations

import numpy as np

from lab.record import Dial, Subject
from rigright.base.units import GIGA
from rigright.facts.chips import by_id
from rigright.facts.find import find_chip

TABLES = {"chips": {"all": {"memory": 0.6, "start_s": 0.002}}}
HOPPER = ("h100-sxm5-80gb", "h200-sxm-141gb")
ADA = ("rtx-4090", "rtx-4080", "rtx-4070")
TRUTH = {"h100-sxm5-80gb": 0.8, "h200-sxm-141gb": 0.76, "rtx-4090": 0.9, "rtx-4080": 0.88, "rtx-4070": 0.5}
START_S = 0.004


def run(chip, size_bytes, *, source="s1", model="m", noise=1.0, share=None):
    """One measured run of the toy world."""
    rate = by_id()[chip].mem_bytes_per_s * (share or TRUTH[chip])
    value = (size_bytes / rate + START_S) * noise
    return {
        "chip": chip,
        "size": size_bytes,
        "source": source,
        "model": model,
        "metric": "read_s",
        "value": value,
    }


def dials(rows, tables):
    del tables
    found = [
        Dial(path=("chips", "all", "start_s"), prior=0.002, spread=1.0),
        Dial(path=("chips", "all", "memory"), prior=0.6, high=1.0, spread=0.5),
    ]
    chips = sorted({row["chip"] for row in rows})
    found += [
        Dial(path=("chips", name, "memory"), parent=("chips", "all", "memory"), high=1.0, spread=0.2)
        for name in sorted({by_id()[chip].kind.id for chip in chips})
    ]
    for chip in chips:
        parent = ("chips", by_id()[chip].kind.id, "memory")
        touches = tuple(n for n, row in enumerate(rows) if row["chip"] == chip)
        found.append(
            Dial(path=("chips", chip, "memory"), parent=parent, high=1.0, spread=0.1, touches=touches)
        )
    return tuple(found)


def prepare(rows):
    chips = [by_id()[row["chip"]] for row in rows]
    return chips, np.array([row["size"] for row in rows])


def predict(ready, tables):
    chips, sizes = ready
    terms = [chip.terms_in(tables["chips"]) for chip in chips]
    rates = np.array([chip.mem_bytes_per_s * term["memory"] for chip, term in zip(chips, terms, strict=True)])
    return sizes / rates + np.array([term["start_s"] for term in terms])


def keys(row):
    return {name: row[name] for name in ("source", "chip", "model", "metric")} | {
        "engine": "toy",
        "class": by_id()[row["chip"]].kind.id,
    }


SUBJECT = Subject(
    name="toy",
    kind="toy",
    teaches=lambda row: row["value"] > 0,
    measured=lambda row: row["value"],
    prepare=prepare,
    predict=predict,
    dials=dials,
    keys=keys,
    noise=0.05,
)


def _as_toy(row):
    return {
        "chip": row["chip"],
        "size": GIGA * row["prompt_tok"],
        "source": row["source"] or "",
        "model": row["model"] or "m",
        "metric": row["metric"],
        "value": row["value"] or 0.0,
    }


def _prepare_inference(rows):
    for row in rows:
        find_chip(row["chip"] or "")
    return prepare([_as_toy(row) for row in rows])


FILED = Subject(  # the same world, from files of the kind inference.csv
    name="toy",
    kind="inference",
    teaches=lambda row: bool(row["value"]),
    measured=lambda row: row["value"],
    prepare=_prepare_inference,
    predict=predict,
    dials=lambda rows, tables: dials([_as_toy(row) for row in rows], tables),
    keys=lambda row: keys(_as_toy(row)),
    noise=0.05,
)
HEAD = "id,source,engine,model,chip,mode,prompt_tok,metric,value"


def table(rows):
    """A file of such runs."""
    lines = [
        ",".join((f"r{n}", row["source"], "toy", row["model"], row["chip"], "serve"))
        + f",{row['size'] / GIGA:g},tpot_ms,{row['value']:.6g}"
        for n, row in enumerate(rows)
    ]
    return "\n".join([HEAD, *lines]) + "\n"
