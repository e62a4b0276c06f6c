"""Where each figure comes from: its formula, the numbers in it, the source of the facts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rigright.arch.cache import entry_elems
from rigright.base.units import GIGA, TERA, show_bytes, show_seconds, show_short
from rigright.base.words import Sentence, say
from rigright.choice.case import Case
from rigright.cost.known import CHIP, CLASS, ELSEWHERE, KIN, NEVER, TRAVELLED, Known
from rigright.cost.layers import lanes
from rigright.cost.memory.serving import ServingMemory
from rigright.facts.chips import Chip
from rigright.facts.formats import find_format, find_kv_format
from rigright.facts.hosts import CPU, Host, host_chip
from rigright.predict.bands import HYBRID, STREAMS, least_known, subject_of, tell
from rigright.predict.served import server_rates
from rigright.predict.timed import TIME_PARTS, Speed, TimeParts
from rigright.verbs.serving.explained import Reason

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


DIGITS = 6  # of a second: less is the noise of sums
BANDED = {"TTFT": "ttft_s", "TPOT": "tpot_s", "tok/s": "output_tok_per_s"}
Row = tuple[str, Sentence, Sentence | str, str]  # part, formula, numbers, source


def speed_rows(case: Case, speed: Speed) -> Iterator[Row]:
    """What each card reaches, what each figure is made of, and how wide its band is."""
    chip = case.cards[0].chip
    subject = subject_of(case.engine, chip)
    fitted = f"data/corrections/{STREAMS if subject == HYBRID else subject}.toml"
    rates = server_rates((chip,), case.engine, weights=case.serving.weights)
    memory, compute = float(np.max(rates.mem_bytes_per_s)), float(np.max(rates.flops_per_s))
    share = memory / chip.mem_bytes_per_s
    yield (
        "rates",
        say("rated value x efficiency"),
        f"{chip.mem_bytes_per_s / GIGA:,.0f} GB/s x {share:.2f}; {compute / TERA:,.0f} TFLOP/s",
        f"{chip.sources} ({chip.as_of}); {fitted}",
    )
    host = _beside(case)
    if host is not None:
        own = host_chip(host)
        reached = float(
            np.max(server_rates((own,), case.engine, weights=case.serving.weights).mem_bytes_per_s)
        )
        share_of, rate = reached / own.mem_bytes_per_s, f"{reached / GIGA:,.0f}"
        yield (
            "RAM",
            say("channels x transfers/s x 8 bytes x efficiency"),
            f"{host.channels} x {host.transfers_per_s / GIGA:.1f} GT/s x 8 B x {share_of:.2f} = {rate} GB/s",
            f"{host.cpu.source}; {fitted}",
        )
    yield (
        "TPOT",
        say(
            "forward pass: sqrt(compute² + memory²) per matmul, + KV cache, communication and "
            "fixed costs per layer and pass; + interleaved prefills"
        ),
        say(
            "{parts} with {running} sequences; interleaved prefills {others}",
            parts=_parts(speed.token_pass),
            running=show_short(speed.running),
            others=show_seconds(max(round(speed.tpot_s.value - speed.token_pass.total_s, DIGITS), 0.0)),
        ),
        fitted,
    )
    yield "TTFT", say("prefill passes + queueing"), _parts(speed.prompt_pass), fitted
    yield (
        "tok/s",
        say("running sequences / time in system x output tokens"),
        say("{running} sequences of {output} tokens",
            running=show_short(speed.running), output=f"{speed.output_tok:,.0f}"),
        fitted,
    )  # fmt: skip
    yield from _bands(case)


def _parts(parts: TimeParts) -> str:
    texts = [f"{part} {show_seconds(parts.of(part))}" for part in TIME_PARTS if parts.of(part) > 0]
    return " + ".join(texts)


def _beside(case: Case) -> Host | None:
    """The host, where it works on the model."""
    alone = case.cards[0].chip.vendor == CPU
    return case.host if case.serving.offload is not None or alone else None


def _bands(case: Case) -> Iterator[Row]:
    """How wide each band is, and what was measured of the like."""
    arch, engine, host = case.arch, case.engine, _beside(case)
    chip = case.cards[0].chip if host is None else host_chip(host)
    subject = subject_of(engine, chip)
    known = least_known(subject, arch=arch, engine=engine, chips=(chip,))
    edges = tell(dict.fromkeys(BANDED.values(), 1.0), arch=arch, engine=engine, chips=(chip,), host=host)
    texts = [f"{name} x{edges[text].low:.2f}-{edges[text].high:.2f}" for name, text in BANDED.items()]
    yield (
        "80 %",
        what_was_seen(chip, known),
        ", ".join(texts),
        f"data/corrections/bands_{subject}.toml",
    )


def what_was_seen(chip: Chip, known: Known) -> Sentence:
    """Why a band is as wide as it is."""
    level, engine = int(known.chip), int(known.engine)
    if chip.vendor == CPU and engine == TRAVELLED:
        here = say("measured / predicted on held-out benchmarks of this CPU")
        alike = say("measured / predicted on held-out benchmarks of CPUs in its class, {kind}",
                    kind=chip.kind.id)  # fmt: skip
        return here if level == CHIP else alike
    if engine == NEVER:
        return say("widest: no benchmark of this engine")
    if engine == ELSEWHERE:
        return say("wider: few benchmarks of this engine, none on this GPU")
    if level == CHIP:
        return say("measured / predicted on held-out benchmarks of this GPU")
    sentences = {
        CLASS: say("wider: benchmarks of its class {kind}, none of this GPU", kind=chip.kind.id),
        KIN: say("wider: benchmarks of related GPUs, none of this GPU or its class"),
    }
    return sentences.get(level, say("widest: no benchmark of this GPU or its class"))
