"""Where each figure comes from: its formula, the numbers in it, the source of the facts."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.arch.cache import entry_elems
from rigright.base.units import show_bytes
from rigright.base.words import Sentence, say
from rigright.choice.case import Case
from rigright.cost.layers import lanes
from rigright.cost.memory.serving import ServingMemory
from rigright.facts.formats import find_format, find_kv_format
from rigright.predict.timed import Speed
from rigright.verbs.serving.explained import Reason
from rigright.verbs.serving.speed_reasons import speed_rows

FITTED = "data/corrections/memory_serving.toml"


def reasons(case: Case, memory: ServingMemory, *, speed: Speed | None = None) -> tuple[Reason, ...]:
    """A row for each part of the fullest rank, and for each figure of speed."""
    timed = () if speed is None else speed_rows(case, speed)
    return tuple(
        Reason(part=part, formula=formula, numbers=numbers, source=source)
        for part, formula, numbers, source in (*_rows(case, memory), *timed)
    )


def _rows(case: Case, memory: ServingMemory) -> Iterator[tuple[str, Sentence, str, str]]:
    engine, settings, layout = case.engine, case.settings, case.layout
    form, kv = find_format(case.serving.weights), find_kv_format(case.serving.kv)
    yield (
        "weights",
        say("elements x bits per weight of each tensor, split over tp and pp"),
        f"{form.label}; tp {layout.tp}, pp {layout.pp}; {show_bytes(case.weights.total_bytes)}",
        f"{case.arch.source or case.arch.name}; {form.source}",
    )
    if lanes(case.arch):
        # layers of each kind times elements of an entry
        entries = " + ".join(f"{count} x {entry_elems(mixer):,}" for mixer, count in lanes(case.arch).items())
        yield (
            "cache",
            say("sequences x cached tokens x layers x elements per entry x bits, split over KV heads"),
            f"{entries}; {kv.bits:g} bit; {case.serving.batch} x {case.serving.context_tok}",
            f"{kv.source}; {engine.source}",
        )
    yield (
        "step",
        say("max(tokens per step x widest layer, logit rows x vocabulary x bytes)"),
        _step(case),
        engine.source,
    )
    yield (
        "graphs",
        say("captured batch sizes x layers x fitted size"),
        f"{int(settings.graph_sizes)} x {len(case.arch.trunk.layers)}",
        FITTED,
    )
    if any(engine.libraries_mib):
        yield (
            "libraries",
            say("startup overhead outside tensors, as shown in the log; higher with several GPUs"),
            "",
            engine.source,
        )
    yield ("collectives", say("collective buffers with several GPUs, fitted"), "", FITTED)
    yield ("context", say("process memory before the first tensor, fitted"), "", FITTED)
    if engine.pool == "share":
        yield (
            "unused",
            say("the rest of the engine's share, reserved for KV cache"),
            f"{float(settings.share):g} of {engine.share_of}; {show_bytes(float(memory.pool_bytes))}",
            engine.source,
        )


def _step(case: Case) -> str:
    settings, engine = case.settings, case.engine
    tokens = f"{int(settings.budget_tok)} tok x ({engine.hidden_copies:g} x {case.arch.trunk.hidden} + ffn)"
    return f"{tokens}; {int(settings.max_seqs)} x {case.arch.vocab} x {engine.logit_bytes:g} B"
