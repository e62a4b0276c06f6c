"""Where the figures of speed come from: formula, numbers in it, facts with their source, runs behind."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rigright.base.units import GIGA, TERA, show_seconds, show_short
from rigright.base.words import Sentence, say
from rigright.choice.case import Case
from rigright.cost.known import CHIP, CLASS, ELSEWHERE, KIN, NEVER, TRAVELLED, Known
from rigright.facts.chips import Chip
from rigright.facts.hosts import CPU, Host, host_chip
from rigright.predict.bands import HYBRID, STREAMS, least_known, subject_of, tell
from rigright.predict.served import server_rates
from rigright.predict.timed import TIME_PARTS, Speed, TimeParts

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
