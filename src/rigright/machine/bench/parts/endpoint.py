"""A language model behind an OpenAI-compatible address: times to first and next tokens, tokens a second.

The load of a plan; or 512 tokens in, 128 out, with 1 to 32 requests in flight at all times. The tokens are
those the server counts. What comes back is foreign: bounded.
"""

from __future__ import annotations

import json
import os
import random
import time
import urllib.error
import urllib.parse
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPException
from typing import IO, Any

from rigright.base import http
from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, DataError, MissingError, RigError
from rigright.base.patience import patience
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.bench.record import BenchRequest, Result, SentLoad, Settings, Skipped
from rigright.machine.bench.tasks import Deadline, spread, taken, too_late

PROMPT_TOK, _OUTPUT_TOK = 512, 128
_LOADS, _QUICK_LOADS = (1, 2, 4, 8, 16, 32), (1, 8)
_ROUNDS = 2  # requests that each place in flight sends
_WARM_WORDS = 64
_MOST_SEEDS = 900_000
_MOST_IN_FLIGHT = 1024
KEY = "OPENAI_API_KEY"
_LONGEST_LINE, _MOST_LINES = MIB, 20_000
_PATIENCE_S = 120.0
_ENGINES = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp", "library": "ollama"}
WORDS = ("time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spoken:
    """One request, timed."""

    ttft_s: float
    total_s: float
    prompt_tok: int | None  # as the server counted
    output_tok: int

    @property
    def tpot_s(self) -> float | None:
        """Seconds from one token to the next, after the first."""
        return (self.total_s - self.ttft_s) / (self.output_tok - 1) if self.output_tok > 1 else None


def endpoint(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Every load, the lightest first; a server that breaks down at one is asked for no heavier one."""
    url = ask.endpoint or ""
    served = models(url)
    model = ask.model or next(iter(served), None)
    if model is None:
        raise MissingError(say("the server lists no model; use --model"))
    until = Deadline.of(ask.spare_s)
    seed = random.SystemRandom().randrange(1, _MOST_SEEDS)  # no prompt of an earlier run: none is cached
    warm = speak(url, model, prompt=prompt_of(_WARM_WORDS, seed - 1), output_tok=4)
    words = _WARM_WORDS / (warm.prompt_tok or _WARM_WORDS)  # of a token
    about: Settings = (("model", model), *engine(url, served.get(model, "")))
    for load in (ask.load,) if ask.load else _loads(_QUICK_LOADS if ask.quick else _LOADS):
        if until.is_over():
            yield too_late(_name(load))
            return
        began = time.perf_counter()
        spoken = _sent(url, model, load=load, seed=seed, words=words, until=until)
        took = time.perf_counter() - began
        seed += load.requests
        yield from _load_results(spoken, load=load, took_s=took, on=url, about=about)


def _loads(at_once: tuple[int, ...]) -> tuple[SentLoad, ...]:
    return tuple(
        SentLoad(prompt_tok=PROMPT_TOK, output_tok=_OUTPUT_TOK, concurrency=number, requests=number * _ROUNDS)
        for number in at_once
    )


def _name(load: SentLoad) -> str:
    return f"{load.concurrency} at once" if load.rate_per_s is None else f"{load.rate_per_s:g} a second"


def _sent(
    endpoint: str, model: str, *, load: SentLoad, seed: int, words: float, until: Deadline
) -> list[_Spoken]:
    """All requests of a load, at the moments it sets; when time runs out, those that were sent by then."""
    arrivals = [0.0] * load.requests
    if load.rate_per_s is not None:
        gaps = random.Random(seed)  # as strangers come: each without regard to the others  # noqa: S311
        for place in range(1, load.requests):
            arrivals[place] = arrivals[place - 1] + gaps.expovariate(load.rate_per_s)
    length = max(1, round(load.prompt_tok * words))
    began = time.monotonic()

    def one(place: int) -> _Spoken | None:
        time.sleep(max(0.0, min(began + arrivals[place] - time.monotonic(), until.left_s())))
        if place and until.is_over():
            return None
        return speak(endpoint, model, prompt=prompt_of(length, seed + place), output_tok=load.output_tok)

    places = min(load.concurrency or load.requests, _MOST_IN_FLIGHT)
    with ThreadPoolExecutor(places) as pool:
        try:
            return [spoken for spoken in pool.map(one, range(load.requests)) if spoken is not None]
        except RigError:
            pool.shutdown(cancel_futures=True)
            raise


def _load_results(
    spoken: list[_Spoken], *, load: SentLoad, took_s: float, on: str, about: Settings
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
    firsts = [item.ttft_s for item in spoken]
    yield taken(f"first token, {name}", on=on, times_s=firsts, settings=words)
    gaps = [item.tpot_s for item in spoken if item.tpot_s is not None]
    if gaps:
        yield taken(f"next token, {name}", on=on, times_s=gaps, settings=words)
    tokens = sum(item.output_tok for item in spoken)
    result = spread(f"tokens, {name}", on=on, values=[tokens / took_s], unit="tok_per_s", settings=words)
    yield replace(result, repeats=len(spoken))


def base_of(endpoint: str) -> str:
    """The address without its last slash; only http and https are asked."""
    parts = urllib.parse.urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise AskError(say('"{text}" is not an address; for example http://127.0.0.1:8000/v1', text=endpoint))
    return endpoint.rstrip("/")


def models(endpoint: str) -> dict[str, str]:
    """What the server serves: each model and who owns it, which engines put their own name in."""
    with _opened(f"{base_of(endpoint)}/models", None) as answer:
        try:
            value = bounded_json(answer.read(_LONGEST_LINE))
            return {str(item["id"]): str(item.get("owned_by") or "") for item in value["data"]}
        except (ValueError, KeyError, TypeError, AttributeError, OSError, HTTPException):
            raise DataError(
                say("{url} does not answer as an OpenAI-compatible server", url=endpoint)
            ) from None


def engine(endpoint: str, owner: str) -> tuple[tuple[str, str], ...]:
    """Which engine answers, as far as it tells: its name, and vLLM its version."""
    name = _ENGINES.get(owner.lower().replace("_", ""))
    if name is None:
        return ()
    version = None
    asked = f"{base_of(endpoint).removesuffix('/v1')}/version"
    with (
        suppress(DataError, MissingError, ValueError, AttributeError, OSError, HTTPException),
        _opened(asked, None) as answer,
    ):
        version = bounded_json(answer.read(_LONGEST_LINE)).get("version")
    row = (("engine_version", version[:40]),) if isinstance(version, str) else ()
    return (("engine", name), *row)


def speak(endpoint: str, model: str, *, prompt: str, output_tok: int) -> _Spoken:
    """Send one prompt and time what streams back."""
    body = {
        "model": model,
        "prompt": prompt,
        "max_tokens": output_tok,
        "temperature": 0.0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
    }
    began = time.perf_counter()
    first = last = None
    pieces, usage = 0, dict[str, Any]()
    try:
        with _opened(f"{base_of(endpoint)}/completions", body) as answer:
            for event in events(answer):
                usage = value if isinstance(value := event.get("usage"), dict) else usage
                if _has_text(event.get("choices")):
                    last = time.perf_counter() - began
                    first = first or last
                    pieces += 1
    except (OSError, HTTPException) as error:
        why = str(error) or type(error).__name__
        raise DataError(say("{url} closed the connection early: {why}", url=endpoint, why=why)) from None
    if first is None or last is None:
        raise DataError(say("{url} sent no token", url=endpoint))
    return _Spoken(
        ttft_s=first,
        total_s=last,
        prompt_tok=_count(usage, "prompt_tokens"),
        output_tok=_count(usage, "completion_tokens") or pieces,
    )


def events(answer: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The events of a stream; what is no JSON object is passed over."""
    for _ in range(_MOST_LINES):
        line = answer.readline(_LONGEST_LINE)
        if not line:
            return
        head, _, data = line.partition(b":")
        if head.strip() != b"data":
            continue
        if data.strip() == b"[DONE]":
            return
        try:
            event = bounded_json(data)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def prompt_of(tokens: int, seed: int) -> str:
    """Common words, about one token each, different from prompt to prompt so that no cache answers."""
    return f"{seed}: " + " ".join(
        WORDS[(seed * 7 + place * (seed % 5 + 1)) % len(WORDS)] for place in range(tokens)
    )


def _has_text(choices: object) -> bool:
    return isinstance(choices, list) and any(
        isinstance(choice, dict) and choice.get("text") for choice in choices
    )


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _opened(url: str, body: Mapping[str, Any] | None) -> Any:
    key = os.environ.get(KEY)
    asked = None if body is None else json.dumps(body).encode()
    try:
        return http.opened(
            url,
            wait_s=patience(_PATIENCE_S),
            body=asked,
            key=key,
            headers={"Content-Type": "application/json"},
        )
    except urllib.error.HTTPError as error:
        with error:
            text = error.read(300).decode("utf-8", "replace").strip()
        raise DataError(say("{url} returned {code}: {said}", url=url, code=error.code, said=text)) from None
    except (OSError, ValueError, HTTPException) as error:
        why = getattr(error, "reason", None) or error
        raise MissingError(say("no answer from {url}: {why}", url=url, why=why)) from None
