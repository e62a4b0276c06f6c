"""`simulate`: a load played request by request."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from rigright.base.errors import AskError
from rigright.base.units import parse_count, parse_rate, parse_seconds, parse_share
from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.asks.explain import add_serving, read_wish

STAGE = "plan"
SUMMARY = say("a load played request by request: waiting, first and next tokens, what meets its targets")

_COUNTS = (
    ("--requests", "requests", say("requests to play (1000); with --trace, a file for their tokens")),
    ("--concurrency", "concurrency", say("closed loop: so many users, each asks again when answered")),
    ("--output", "output_tok", say("tokens of each answer (256)")),
    ("--seed", "seed", say("another throw of the dice (0)")),
    ("--burst", "burst", say("requests that come together, with --arrivals burst (10)")),
    ("--replicas", "replicas", say("so many such machines (1)")),
    (
        "--prefill-workers",
        "prefill_workers",
        say("so many such machines for prompts alone, caches sent over"),
    ),
)
_TIMES = (
    ("--slo-ttft", "ttft_s", say("a good request has its first token within: 1s")),
    ("--slo-tpot", "tpot_s", say("and each further one within, on average: 50ms")),
    ("--period", "period_s", say("from top to top of a day, with --arrivals diurnal (24h)")),
    ("--think", "think_s", say("closed loop: between an answer and the next question (0)")),
)
_SPREADS = (
    ("--prompt-spread", "prompt_spread", say("how lengths of prompts spread: deviation over mean (0)")),
    ("--output-spread", "output_spread", say("the same of answers")),
    ("--burstiness", "gap_spread", say("how gaps spread, with --arrivals gamma: 1 is Poisson (2)")),
)
_ONLY_MADE = (
    "concurrency", "rate_per_s", "output_tok", "seed", "burst", "period_s", "think_s", "prompt_spread",
    "output_spread", "gap_spread", "cached_share", "arrivals",
)  # fmt: skip


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `simulate`."""
    parser.add_argument(
        "model", nargs="?", help=str(say("a name, a config.json, a folder, a GGUF file, a hub id"))
    )
    parser.add_argument("--on", metavar="MACHINE", help=str(say('the cards: "8x h100"')))
    _add_load(parser)
    _add_fleet(parser)
    add_serving(parser)


def _add_load(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(str(say("what comes")))
    group.add_argument(
        "--trace", metavar="T.csv", help=str(say("requests of a file: arrival_s, prompt_tok, output_tok"))
    )
    group.add_argument("--setup", metavar="T.json", help=str(say("the machine and settings of a trace")))
    group.add_argument(
        "--rate", dest="rate_per_s", metavar="R", help=str(say("requests that come: 5/s, 300/min"))
    )
    group.add_argument(
        "--arrivals", help=str(say('how they come: "poisson", "gamma", "burst", "diurnal", "closed"'))
    )
    group.add_argument(
        "--cached",
        dest="cached_share",
        metavar="SHARE",
        help=str(say("of each prompt, found in the prefix cache")),
    )
    for flag, name, text in (*_COUNTS[:5], *_SPREADS, *_TIMES):
        group.add_argument(flag, dest=name, metavar="N", help=str(text))


def _add_fleet(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(str(say("who serves it")))
    group.add_argument(
        "--policy", help=str(say('how passes are made up: "vllm", "sglang", "tensorrt-llm", "static" ...'))
    )
    group.add_argument("--chunks", choices=("on", "off"), help=str(say("prompts cut over passes, or whole")))
    group.add_argument("--router", help=str(say('"least-busy" or "round-robin"')))
    for flag, name, text in _COUNTS[5:]:
        group.add_argument(flag, dest=name, metavar="N", help=str(text))


def answer(options: argparse.Namespace) -> Answer:
    """Play."""
    from rigright.report.pages import simulate as pages
    from rigright.verbs.simulate.frame import simulate
    from rigright.verbs.simulate.wish import PlayWish

    out = _file(options)
    result = simulate(
        options.model,
        options.on,
        wish=read_wish(options),
        load=PlayWish(**_load(options)),
        out=out,
        asked=_asked(options),
    )
    return Answer(
        page=lambda: pages.page(result),
        plain=lambda language: pages.plain(result, language),
    )


def _file(options: argparse.Namespace) -> str | None:
    """With a trace, --requests names a file."""
    if options.trace is None:
        if options.setup is not None:
            raise AskError(say("--setup goes with --trace"))
        return None
    given = [name for name in _ONLY_MADE if getattr(options, name) is not None]
    if given:
        flags = ", ".join("--" + name.removesuffix("_tok").removesuffix("_per_s").removesuffix("_share")
                          .replace("_", "-").removesuffix("-s") for name in given)  # fmt: skip
        raise AskError(say("{flags}: a trace tells that itself", flags=flags))
    out: str | None = options.requests
    return out


def _load(options: argparse.Namespace) -> dict[str, Any]:
    """What was said of the load; the rest keeps its default."""
    told: dict[str, Any] = {
        name: getattr(options, name) for name in ("trace", "setup", "policy", "router", "arrivals")
    }
    readers = (
        (_COUNTS, parse_count), (_TIMES, parse_seconds), (_SPREADS, _spread),
        ((("", "rate_per_s", ""), ), parse_rate), ((("", "cached_share", ""), ), parse_share),
        ((("", "prompt_tok", ""), ), parse_count),
    )  # fmt: skip
    for fields, reader in readers:
        for _, name, _ in fields:
            text = getattr(options, name)
            told[name] = None if text is None or (name == "requests" and options.trace) else reader(text)
    told["chunks"] = None if options.chunks is None else options.chunks == "on"
    return {name: value for name, value in told.items() if value is not None}


def _spread(text: str) -> float:
    return parse_share(text) if text.strip("0. ") else 0.0


def _asked(options: argparse.Namespace) -> str:
    """The command that asks this again."""
    words = ["rigright", "simulate", *([options.model] if options.model else [])]
    for flag in ("--on", "--trace", "--setup", "--engine", "--weights", "--kv", "--tp", "--policy"):
        value = getattr(options, flag.strip("-"), None)
        words += [flag, value] if value is not None else []
    return shlex.join(words)
