"""A language model behind an OpenAI-compatible address: times to first and next tokens, tokens a second.

The load of a plan; or 512 tokens in, 128 out, with 1 to 32 requests in flight at all times. The tokens are
those the server counts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from rigright.base.errors import RigError
from rigright.base.words import say
from rigright.machine.bench.ask import BenchRequest, Deadline, SentLoad
from rigright.machine.bench.figures import Settings, spread
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.speaking import Spoken, engine, models, prompt_of, speak

TITLE = say("an LLM endpoint: latency and tokens/s")
GROUP = "network"
NEEDS = ("endpoint",)
SHARE = 4.0

PROMPT_TOK, OUTPUT_TOK = 512, 128
LOADS, QUICK_LOADS = (1, 2, 4, 8, 16, 32), (1, 8)
ROUNDS = 2  # requests that each place in flight sends
WARM_WORDS = 64
MOST_SEEDS = 900_000
MOST_IN_FLIGHT = 1024


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Every load, the lightest first."""
    endpoint = ask.endpoint or ""
    served = models(endpoint)
    model = ask.model or next(iter(served), None)
    if model is None:
        yield Skipped(part="", why=say("the server lists no model; use --model"))
        return
    until = Deadline.of(ask.spare_s)
    seed = random.SystemRandom().randrange(1, MOST_SEEDS)  # no prompt of an earlier run: none is cached
    warm = speak(endpoint, model, prompt=prompt_of(WARM_WORDS, seed - 1), output_tok=4)
    words = WARM_WORDS / (warm.prompt_tok or WARM_WORDS)  # of a token
    about: Settings = (("model", model), *engine(endpoint, served.get(model, "")))
    for load in (ask.load,) if ask.load else _loads(QUICK_LOADS if ask.quick else LOADS):
        if until.is_over():
            yield Skipped(part="", why=say("time ran out before {what}", what=_name(load)))
            return
        try:
            began = time.perf_counter()
            spoken = _sent(endpoint, model, load=load, seed=seed, words=words, until=until)
            took = time.perf_counter() - began
        except RigError as error:
            yield Skipped(part="", why=error.sentence)
            return
        seed += load.requests
        yield from _load_results(spoken, load=load, took_s=took, on=endpoint, about=about)


def _loads(at_once: tuple[int, ...]) -> tuple[SentLoad, ...]:
    return tuple(
        SentLoad(prompt_tok=PROMPT_TOK, output_tok=OUTPUT_TOK, concurrency=number, requests=number * ROUNDS)
        for number in at_once
    )


def _name(load: SentLoad) -> str:
    return f"{load.concurrency} at once" if load.rate_per_s is None else f"{load.rate_per_s:g} a second"


def _sent(
    endpoint: str, model: str, *, load: SentLoad, seed: int, words: float, until: Deadline
) -> list[Spoken]:
    """All requests of a load, at the moments it sets; when time runs out, those that were sent by then."""
    arrivals = [0.0] * load.requests
    if load.rate_per_s is not None:
        gaps = random.Random(seed)  # as strangers come: each without regard to the others  # noqa: S311
        for place in range(1, load.requests):
            arrivals[place] = arrivals[place - 1] + gaps.expovariate(load.rate_per_s)
    length = max(1, round(load.prompt_tok * words))
    began = time.monotonic()

    def one(place: int) -> Spoken | None:
        time.sleep(max(0.0, min(began + arrivals[place] - time.monotonic(), until.left_s())))
        if place and until.is_over():
            return None
        return speak(endpoint, model, prompt=prompt_of(length, seed + place), output_tok=load.output_tok)

    places = min(load.concurrency or load.requests, MOST_IN_FLIGHT)
    with ThreadPoolExecutor(places) as pool:
        try:
            return [spoken for spoken in pool.map(one, range(load.requests)) if spoken is not None]
        except RigError:
            pool.shutdown(cancel_futures=True)
            raise


def _load_results(
    spoken: list[Spoken], *, load: SentLoad, took_s: float, on: str, about: Settings
) -> Iterator[Result]:
    """Three figures of one load."""
    # mean lengths, as the server counts them
    prompts = [item.prompt_tok for item in spoken if item.prompt_tok is not None]
    prompt = round(sum(prompts) / len(prompts)) if prompts else load.prompt_tok
    output = round(sum(item.output_tok for item in spoken) / len(spoken))
    words = (
        *about,
        ("load", str(load.concurrency) if load.rate_per_s is None else f"{load.rate_per_s:g} req/s"),
        ("requests", str(len(spoken))),
        ("prompt_tok", str(prompt)),
        ("output_tok", str(output)),
    )
    name = _name(load)
    yield spread(
        f"first token, {name}", on=on, values=[item.ttft_s for item in spoken], unit="s", settings=words
    )
    gaps = [item.tpot_s for item in spoken if item.tpot_s is not None]
    if gaps:
        yield spread(f"next token, {name}", on=on, values=gaps, unit="s", settings=words)
    tokens = sum(item.output_tok for item in spoken)
    result = spread(f"tokens, {name}", on=on, values=[tokens / took_s], unit="tok_per_s", settings=words)
    yield replace(result, repeats=len(spoken))
