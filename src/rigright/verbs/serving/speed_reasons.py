"""Where the figures of speed come from: formula, numbers in it, facts with their source, runs behind."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rigright.base.units import GIGA, TERA, show_seconds, show_short
from rigright.base.words import Sentence, say
from rigright.choice.case import Case
from rigright.cost.known import CHIP, CLASS, ELSEWHERE, KIN, NEVER, Known
from rigright.cost.speed.rates import rates_of
from rigright.cost.speed.told import least_known, subject_of, tell
from rigright.facts.chips import Chip
from rigright.facts.classes import class_of
from rigright.report.timed import TIME_PARTS, Speed, TimeParts

DIGITS = 6  # of a second: less is the noise of sums
BANDED = {"TTFT": "ttft_s", "TPOT": "tpot_s", "tok/s": "output_tok_per_s"}
Row = tuple[str, Sentence, Sentence | str, str]  # part, formula, numbers, source


def speed_rows(case: Case, found: Speed) -> Iterator[Row]:
    """What each card reaches, what each figure is made of, and how wide its band is."""
    chip = case.cards[0].chip
    fitted = f"data/corrections/{subject_of(case.engine, chip)}.toml"
    rates = rates_of((chip,), case.engine, weights=case.serving.weights)
    memory, compute = float(np.max(rates.mem_bytes_per_s)), float(np.max(rates.flops_per_s))
    share = memory / chip.mem_bytes_per_s
    yield (
        "rates",
        say("what the chip states x the share that is reached"),
        f"{chip.mem_bytes_per_s / GIGA:,.0f} GB/s x {share:.2f}; {compute / TERA:,.0f} TFLOP/s",
        f"{chip.sources} ({chip.as_of}); {fitted}",
    )
    yield (
        "TPOT",
        say(
            "a pass: the root of computing squared + reading squared for each multiplication, + caches, links"
            " and fixed costs of layers and passes; then the prompts of others between"
        ),
        say(
            "{parts} with {running} sequences; prompts of others {others}",
            parts=_parts(found.token_pass),
            running=show_short(found.running),
            others=show_seconds(max(round(found.tpot_s.value - found.token_pass.total_s, DIGITS), 0.0)),
        ),
        fitted,
    )
    yield "TTFT", say("the passes of the prompt + waiting for others"), _parts(found.prompt_pass), fitted
    yield (
        "tok/s",
        say("running sequences / time in the system x output tokens"),
        say("{running} sequences of {output} tokens",
            running=show_short(found.running), output=f"{found.output_tok:,.0f}"),
        fitted,
    )  # fmt: skip
    yield from _bands(case)


def _parts(parts: TimeParts) -> str:
    told = [f"{part} {show_seconds(parts.of(part))}" for part in TIME_PARTS if parts.of(part) > 0]
    return " + ".join(told)


def _bands(case: Case) -> Iterator[Row]:
    """How wide each band is, and what was measured of the like."""
    arch, engine, chip = case.arch, case.engine, case.cards[0].chip
    subject = subject_of(engine, chip)
    known = least_known(subject, arch=arch, engine=engine, chips=(chip,))
    edges = tell(dict.fromkeys(BANDED.values(), 1.0), arch=arch, engine=engine, chips=(chip,))
    told = [f"{name} x{edges[one].low:.2f}-{edges[one].high:.2f}" for name, one in BANDED.items()]
    yield (
        "80 %",
        what_was_seen(chip, known),
        ", ".join(told),
        f"data/corrections/bands_{subject}.toml",
    )


def what_was_seen(chip: Chip, known: Known) -> Sentence:
    """Why a band is as wide as it is."""
    level, engine = int(known.chip), int(known.engine)
    if engine == NEVER:
        return say("widest: no benchmark of this engine")
    if engine == ELSEWHERE:
        return say("wider: few benchmarks of this engine, none on this GPU")
    if level == CHIP:
        return say("measured / predicted on held-out benchmarks of this GPU")
    if level == CLASS:
        return say("wider: no benchmark of this GPU, but of its class {kind}", kind=class_of(chip).id)
    if level == KIN:
        return say("wider: no benchmark of this GPU or its class, but of related GPUs")
    return say("widest: no benchmark of this GPU or its class")
