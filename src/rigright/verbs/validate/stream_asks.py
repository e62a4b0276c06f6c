"""A row of one stream or one static batch -> what ran, how, and what had to be assumed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.words import Sentence, say
from rigright.cost.speed.reach import KERNEL
from rigright.cost.speed.work import Work, work_of
from rigright.facts.chips import Chip
from rigright.facts.corrections import corrections
from rigright.facts.engines import Engine, engines, find_engine
from rigright.facts.find import find_chip
from rigright.facts.formats import find_format
from rigright.facts.kv_formats import find_kv_format
from rigright.verbs.validate.models import model_of

SUBJECT = "speed_streams"
USUAL = {"prompt_tok": 128, "output_tok": 256}
_DEPTH = re.compile(r"depth (\d+)|@ ?d(\d+)")
_KERNEL = re.compile(r"\bkernel (\w+)")
_ALONE = ("decode phase only", "decode only")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamAsk:
    """What a row asks."""

    metric: str
    engine: Engine
    chip: Chip
    arch: Arch
    work: Work
    weights: str  # id of the format, and after a slash the kernel that reads it
    cards: int
    tp: int  # of the cards, those that share each layer
    seqs: int
    prompt_tok: float
    output_tok: float
    seen_tok: float  # in the cache before the prompt
    alone: bool  # the time of the prompt is left out
    assumed: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    row: Row
    assumed: list[Sentence] = field(default_factory=list)

    def number(self, column: str) -> float:
        """A cell, or what is usual."""
        if self.row.get(column) is not None:
            return float(self.row[column])
        self.assumed.append(say("{column} is empty: taken as {value}", column=column, value=USUAL[column]))
        return float(USUAL[column])


def read_stream(row: Row) -> StreamAsk:
    """Read one row; what it leaves open is assumed and said."""
    arch, notes = model_of(row)
    reading = _Reading(row=row, assumed=[*notes])
    engine = engine_of(row)
    weights = weights_of(row, engine, arch=arch)
    chip = find_chip(row.get("chip") or "")
    cards = int(row.get("n_chips") or row.get("tp") or 1)
    tp = int(row.get("tp") or 1) if engine.split == "layer" else int(row.get("tp") or cards)
    note = row.get("note") or ""
    depth = _DEPTH.search(note)
    seen = float(depth[1] or depth[2]) if depth and row["metric"] == "prefill_tok_s" else 0.0
    return StreamAsk(
        metric=row["metric"],
        engine=engine,
        chip=chip,
        arch=arch,
        work=work_of(
            arch, weights=weights.partition(KERNEL)[0], kv=find_kv_format(row.get("kv") or "16bit").id
        ),
        weights=weights,
        cards=cards,
        tp=1 if engine.split == "layer" else tp,
        seqs=int(row.get("load") or 1),
        prompt_tok=reading.number("prompt_tok"),
        output_tok=reading.number("output_tok"),
        seen_tok=seen,
        alone=any(words in note for words in _ALONE),
        assumed=tuple(reading.assumed),
    )


def engine_of(row: Row) -> Engine:
    """The engine as the speed tables know it, at the version a row tells."""
    asked = (row.get("engine") or "").strip().lower()
    if not asked:
        raise AskError(say("engine is empty"))
    called = corrections(SUBJECT)["callings"].get(asked)
    if called is None:
        engine = find_engine(asked)
    else:
        like = engines()[called["like"]]
        says = like.says if called["like"] == called["engine"] else {}
        engine = replace(like, id=called["engine"], split=called["split"], says=says)
    version = row.get("engine_version")
    return engine if version is None else replace(engine, version=version)


def weights_of(row: Row, engine: Engine, *, arch: Arch) -> str:
    """The format of the weights: as told, as the engine means it, or as the model is published."""
    told = (row.get("weights") or arch.stored or arch.dtype).strip().lower()
    spoken = corrections(SUBJECT)["spoken"].get(told)
    if spoken is not None:
        return f"{spoken['format']}{KERNEL}{spoken['kernel']}"
    kernel = _KERNEL.search(row.get("note") or "")
    return find_format(engine.says.get(told, told)).id + (KERNEL + kernel[1].lower() if kernel else "")
