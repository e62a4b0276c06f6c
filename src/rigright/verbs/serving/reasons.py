"""Where each figure comes from: its formula, the numbers in it, the source of the facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from rigright.arch.cache import entry_elems
from rigright.base.tables import DATA, read_toml
from rigright.base.units import GIGA, TERA, show_bytes, show_seconds, show_short
from rigright.base.words import Sentence, in_both, say
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

DIGITS = 6  # of a second: less is the noise of sums
BANDED = {"TTFT": "ttft_s", "TPOT": "tpot_s", "tok/s": "output_tok_per_s"}
Row = tuple[str, Sentence, Sentence | str, str]  # part, formula, numbers, source


def reasons(case: Case, memory: ServingMemory, *, speed: Speed | None = None) -> tuple[Reason, ...]:
    """A row for each part of the fullest rank, and for each figure of speed."""
    return reasons_of([*_rows(case, memory), *(() if speed is None else speed_rows(case, speed))])


def reasons_of(rows: Iterable[Row]) -> tuple[Reason, ...]:
    """Rows as they are shown."""
    return tuple(
        Reason(part=part, formula=formula, numbers=numbers, source=source)
        for part, formula, numbers, source in rows
    )


def formulas(table: str, numbers: Mapping[str, Sentence | str], **sources: object) -> Iterator[Row]:
    """Each part that has numbers, with its formula (data/formulas.toml)."""
    for row in read_toml(DATA / "formulas.toml")[table]:
        for part in row["parts"]:
            if part in numbers:
                formula = in_both(*row["formula"], values={})
                yield part, formula, numbers[part], row["source"].format_map(sources)


def _rows(case: Case, memory: ServingMemory) -> Iterator[Row]:
    engine, settings, layout = case.engine, case.settings, case.layout
    form, kv = find_format(case.serving.weights), find_kv_format(case.serving.kv)
    step = f"{int(settings.budget_tok)} tok x ({engine.hidden_copies:g} x {case.arch.trunk.hidden} + ffn)"
    numbers = {
        "weights": f"{form.label}; tp {layout.tp}, pp {layout.pp}; {show_bytes(case.weights.total_bytes)}",
        "step": f"{step}; {int(settings.max_seqs)} x {case.arch.vocab} x {engine.logit_bytes:g} B",
        "graphs": f"{int(settings.graph_sizes)} x {len(case.arch.trunk.layers)}",
        "collectives": "",
        "context": "",
    }
    if lanes(case.arch):  # layers of each kind times elements of an entry
        entries = " + ".join(f"{count} x {entry_elems(mixer):,}" for mixer, count in lanes(case.arch).items())
        tokens = f"{case.serving.batch} x {case.serving.context_tok}"
        numbers["cache"] = f"{entries}; {kv.bits:g} bit; {tokens}"
    if any(engine.libraries_mib):
        numbers["libraries"] = ""
    if engine.pool == "share":
        share = f"{float(settings.share):g} of {engine.share_of}"
        numbers["unused"] = f"{share}; {show_bytes(float(memory.pool_bytes))}"
    return formulas(
        "serving", numbers, model=case.arch.source or case.arch.name,
        format=form.source, kv=kv.source, engine=engine.source,
    )  # fmt: skip


def speed_rows(case: Case, speed: Speed) -> Iterator[Row]:
    """What each card reaches, what each figure is made of, and how wide its band is."""
    chip, host = case.cards[0].chip, _beside(case)
    subject = subject_of(case.engine, chip)
    rates = server_rates((chip,), case.engine, weights=case.serving.weights)
    memory, compute = float(np.max(rates.mem_bytes_per_s)), float(np.max(rates.flops_per_s))
    share = memory / chip.mem_bytes_per_s
    numbers: dict[str, Sentence | str] = {
        "rates": f"{chip.mem_bytes_per_s / GIGA:,.0f} GB/s x {share:.2f}; {compute / TERA:,.0f} TFLOP/s",
        "TPOT": say(
            "{parts} with {running} sequences; interleaved prefills {others}",
            parts=_parts(speed.token_pass),
            running=show_short(speed.running),
            others=show_seconds(max(round(speed.tpot_s.value - speed.token_pass.total_s, DIGITS), 0.0)),
        ),
        "TTFT": _parts(speed.prompt_pass),
        "tok/s": say(
            "{running} sequences of {output} tokens",
            running=show_short(speed.running),
            output=f"{speed.output_tok:,.0f}",
        ),
    }
    if host is not None:
        own = host_chip(host)
        rates = server_rates((own,), case.engine, weights=case.serving.weights)
        reached = float(np.max(rates.mem_bytes_per_s))
        transfers = f"{host.channels} x {host.transfers_per_s / GIGA:.1f} GT/s x 8 B"
        numbers["RAM"] = f"{transfers} x {reached / own.mem_bytes_per_s:.2f} = {reached / GIGA:,.0f} GB/s"
    yield from formulas(
        "speed", numbers, chip=f"{chip.sources} ({chip.as_of})", host="" if host is None else host.cpu.source,
        fitted=f"data/corrections/{STREAMS if subject == HYBRID else subject}.toml",
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
