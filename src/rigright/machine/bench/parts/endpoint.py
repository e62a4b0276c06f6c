"""A language model behind an OpenAI-compatible address: times to first and next tokens, tokens a second.

512 tokens in, 128 out, with 1 to 32 requests in flight at all times. The tokens are those the server counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from rigright.base.errors import RigError
from rigright.base.words import say
from rigright.machine.bench.ask import Ask, Deadline
from rigright.machine.bench.figures import Settings, spread
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.speaking import Spoken, engine, models, prompt_of, speak

TITLE = say("a language model behind an address: latency and tokens a second")
GROUP = "network"
NEEDS = ("endpoint",)
SHARE = 4.0

PROMPT_TOK, OUTPUT_TOK = 512, 128
LOADS, QUICK_LOADS = (1, 2, 4, 8, 16, 32), (1, 8)
ROUNDS = 2  # requests that each place in flight sends


def run(ask: Ask) -> Iterator[Result | Skipped]:
    """Every load, the lightest first."""
    endpoint = ask.endpoint or ""
    served = models(endpoint)
    model = ask.model or next(iter(served), None)
    if model is None:
        yield Skipped(part="", why=say("the server names no model; name one with --model"))
        return
    until = Deadline.of(ask.spare_s)
    speak(endpoint, model, prompt=prompt_of(16, 0), output_tok=4)
    words: Settings = (("model", model), *engine(endpoint, served.get(model, "")))
    seed = 1
    for load in QUICK_LOADS if ask.quick else LOADS:
        if until.is_over():
            yield Skipped(part="", why=say("time ran out before {what}", what=f"{load}"))
            return
        try:
            began = time.perf_counter()
            spoken = _together(endpoint, model, load=load, seed=seed)
            took = time.perf_counter() - began
        except RigError as error:
            yield Skipped(part="", why=error.sentence)
            return
        seed += load * ROUNDS
        yield from told(spoken, load=load, took_s=took, on=endpoint, about=words)


def _together(endpoint: str, model: str, *, load: int, seed: int) -> list[Spoken]:
    prompts = [prompt_of(PROMPT_TOK, seed + place) for place in range(load * ROUNDS)]
    with ThreadPoolExecutor(load) as pool:
        return list(pool.map(lambda one: speak(endpoint, model, prompt=one, output_tok=OUTPUT_TOK), prompts))


def told(spoken: list[Spoken], *, load: int, took_s: float, on: str, about: Settings) -> Iterator[Result]:
    """Three figures of one load."""
    # mean lengths, as the server counts them
    prompts = [one.prompt_tok for one in spoken if one.prompt_tok is not None]
    prompt = round(sum(prompts) / len(prompts)) if prompts else PROMPT_TOK
    output = round(sum(one.output_tok for one in spoken) / len(spoken))
    words = (
        *about,
        ("load", str(load)),
        ("requests", str(len(spoken))),
        ("prompt_tok", str(prompt)),
        ("output_tok", str(output)),
    )
    name = f"{load} at once"
    yield spread(
        f"first token, {name}", on=on, values=[one.ttft_s for one in spoken], unit="s", settings=words
    )
    gaps = [one.tpot_s for one in spoken if one.tpot_s is not None]
    if gaps:
        yield spread(f"next token, {name}", on=on, values=gaps, unit="s", settings=words)
    tokens = sum(one.output_tok for one in spoken)
    found = spread(f"tokens, {name}", on=on, values=[tokens / took_s], unit="items_per_s", settings=words)
    yield replace(found, repeats=len(spoken))
