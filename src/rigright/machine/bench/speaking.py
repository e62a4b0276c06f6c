"""Asks an OpenAI-compatible server and takes the time of each token. What comes back is foreign: bounded."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import IO, Any

from rigright.base import http
from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, DataError, MissingError
from rigright.base.patience import patience
from rigright.base.units import MIB
from rigright.base.words import say

KEY = "OPENAI_API_KEY"
LONGEST_LINE, MOST_LINES = MIB, 20_000
PATIENCE_S = 120.0
ENGINES = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp", "library": "ollama"}
WORDS = ("time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One request, timed."""

    ttft_s: float
    total_s: float
    prompt_tok: int | None  # as the server counted
    output_tok: int

    @property
    def tpot_s(self) -> float | None:
        """Seconds from one token to the next, after the first."""
        return (self.total_s - self.ttft_s) / (self.output_tok - 1) if self.output_tok > 1 else None


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
            value = bounded_json(answer.read(LONGEST_LINE))
            return {str(item["id"]): str(item.get("owned_by") or "") for item in value["data"]}
        except (ValueError, KeyError, TypeError, AttributeError, OSError, HTTPException):
            raise DataError(
                say("{url} does not answer as an OpenAI-compatible server", url=endpoint)
            ) from None


def engine(endpoint: str, owner: str) -> tuple[tuple[str, str], ...]:
    """Which engine answers, as far as it tells: its name, and vLLM its version."""
    name = ENGINES.get(owner.lower().replace("_", ""))
    if name is None:
        return ()
    version = None
    asked = f"{base_of(endpoint).removesuffix('/v1')}/version"
    with (
        suppress(DataError, MissingError, ValueError, AttributeError, OSError, HTTPException),
        _opened(asked, None) as answer,
    ):
        version = bounded_json(answer.read(LONGEST_LINE)).get("version")
    row = (("engine_version", version[:40]),) if isinstance(version, str) else ()
    return (("engine", name), *row)


def speak(endpoint: str, model: str, *, prompt: str, output_tok: int) -> Spoken:
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
    return Spoken(
        ttft_s=first,
        total_s=last,
        prompt_tok=_count(usage, "prompt_tokens"),
        output_tok=_count(usage, "completion_tokens") or pieces,
    )


def events(answer: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The events of a stream; what is no JSON object is passed over."""
    for _ in range(MOST_LINES):
        line = answer.readline(LONGEST_LINE)
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
            wait_s=patience(PATIENCE_S),
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
