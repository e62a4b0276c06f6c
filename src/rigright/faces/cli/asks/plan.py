"""`plan`: which machine for this model, this work and these limits."""

from __future__ import annotations

import argparse
import shlex

from rigright.base.words import Sentence, say
from rigright.faces.cli.answer import Answer

STAGE = "plan"
SUMMARY = say("the best few machines for a model, its work and your limits: speed, price, power, and why")

Options = tuple[tuple[str, str | None, Sentence], ...]  # name, metavar (None: a flag), help

MACHINE: Options = (
    ("on", "MACHINE", say('plan on this machine: "8x h100", "2x rtx 3090", "p5.48xlarge"')),
    ("own", "MACHINE", say("cards you own: they cost power alone")),
    ("chips", "NAMES", say('only these cards: "h100, mi300x"')),
    ("vendor", "NAMES", say("only these vendors: nvidia, amd, apple ...")),
    ("cloud", "NAMES", say("only what these clouds rent out: aws, gcp ...")),
    ("buy", None, say("only what is bought")),
    ("rent", None, say("only what is rented")),
    ("spot", None, say("rent at spot prices, where they are known")),
    ("max-chips", "N", say("cards at most")),
)
WORK: Options = (
    ("mode", "MODE", say('"serve", "chat" for one, "batch", "finetune", "pretrain", "image", "embed"')),
    ("prompt", "N", say("tokens of a prompt: 2048, 8k")),
    ("output", "N", say("tokens of an answer")),
    ("context", "N", say("tokens a sequence may hold, where that is more than both")),
    ("users", "N", say("requests in flight at once")),
    ("rate", "N", say("requests that arrive: 5/s, 300/min")),
    ("image-size", "N", say("pixels of a picture's side")),
    ("steps", "N", say("denoising steps of an image")),
    ("cached", "SHARE", say("share of prompts found in the prefix cache: 50%")),
    (
        "draft",
        "SHARE",
        say("tokens may be drafted (MTP, EAGLE ...): chance that one is kept, if those before are: 70%"),
    ),
    ("draft-tokens", "N", say("tokens drafted for each pass")),
)
TRAINING: Options = (
    ("tokens", "N", say("tokens to train on: 10B")),
    ("samples", "N", say("samples to train on, of --seq tokens each")),
    ("epochs", "N", say("times all of it is seen")),
    ("seq", "N", say("tokens of a sequence")),
    ("batch", "N", say("sequences of an optimizer step, over all cards")),
    ("method", "METHOD", say('"full", "lora", "qlora"')),
    ("trainer", "NAME", say('"hf", "fsdp", "deepspeed", "megatron" ...')),
    ("days", "TIME", say("a deadline: 14, 36h")),
)
LIMITS: Options = (
    ("ttft", "TIME", say("time to the first token at most: 1s")),
    ("tpot", "TIME", say("time of each next token at most: 50ms")),
    ("latency", "TIME", say("time of a batch of images at most: 5s")),
    ("percentile", "P", say("both hold for such a share of requests: p95; otherwise on average")),
    ("tok-per-s", "N", say("tokens a second of the whole system, at least")),
    ("budget", "MONEY", say('to spend in all: "$8000", "60000 CNY", "5万"')),
    ("per-hour", "MONEY", say("an hour, at most")),
    ("per-mtok", "MONEY", say("a million tokens, at most")),
    ("watts", "POWER", say("the cards may draw: 1.5kW")),
    ("engine", "NAMES", say('only these engines: "vllm", "llama.cpp"')),
    ("weights", "NAMES", say('only these weight formats: "bf16", "fp8", "Q4_K_M"')),
    ("kv", "NAMES", say('only these cache formats: "16bit", "fp8"')),
    ("quality", "FORMAT", say('lose no more than this format does: "fp8"')),
    ("licence", "NAME", say("the licence of the weights must hold this name: apache")),
    ("growth", "FACTOR", say("leave room for such a load: 2x")),
    ("grows-to", "MODEL", say('a larger model that should fit later: "70B" or a name')),
)
MONEY: Options = (
    ("tariff", "MONEY", say("a kilowatt-hour: $0.12")),
    ("pue", "N", say("power of the building over power of the machines: 1.3")),
    ("years", "N", say("a bought machine is written off over")),
    ("duty", "SHARE", say("share of the time it works: 40%")),
    ("prices", "FILE.csv", say("your own prices: columns chip and usd, or price and currency")),
)
SHOWN: Options = (
    ("aim", "AIM", say('what the first plan is best at: "cost", "speed", "latency", "power", "quality"')),
    ("plans", "N", say("plans shown at most")),
)
CASE = (
    (say("work"), WORK),
    (say("training"), TRAINING),
    (say("limits"), LIMITS),
    (say("money"), MONEY),
)
GROUPS = ((say("machine"), MACHINE), *CASE, (say("answer"), SHOWN))


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `plan`."""
    parser.add_argument("model", help=str(say("a name, a config.json, a folder, a GGUF file, a hub id")))
    for title, options in GROUPS:
        add_options(parser, title, options=options)


def add_options(parser: argparse.ArgumentParser, title: Sentence, *, options: Options) -> None:
    """One group of options."""
    group = parser.add_argument_group(str(title))
    for name, metavar, text in options:
        if metavar is None:
            group.add_argument(
                f"--{name}", dest=_dest(name), action="store_const", const="yes", help=str(text)
            )
        else:
            aliases = ("--license",) if name == "licence" else ()
            group.add_argument(f"--{name}", *aliases, dest=_dest(name), metavar=metavar, help=str(text))


def told(options: argparse.Namespace, groups: tuple[Options, ...]) -> dict[str, str]:
    """What was said, option by option."""
    found = {name: getattr(options, _dest(name)) for group in groups for name, _, _ in group}
    return {name: text for name, text in found.items() if text is not None}


def command(start: list[str], words: dict[str, str]) -> str:
    """A command with its options, as it is typed."""
    flags = {name for _, group in GROUPS for name, metavar, _ in group if metavar is None}
    typed = [
        word
        for name, text in words.items()
        for word in ([f"--{name}"] if name in flags else [f"--{name}", text])
    ]
    return shlex.join([*start, *typed])


def _dest(name: str) -> str:
    return name.replace("-", "_")


def answer(options: argparse.Namespace) -> Answer:
    """Plan."""
    from rigright.verbs.plan import plan
    from rigright.verbs.planning.words import read_wish

    words = told(options, tuple(group for _, group in GROUPS))
    result = plan(
        options.model,
        wish=read_wish(words),
        why=options.why,
        asked=command(["rigright", "plan", options.model], words),
    )

    from rigright.report.pages import plan as pages
    from rigright.report.pages import plan_data as data

    return Answer(
        page=lambda: pages.page(result, why=options.why),
        plain=lambda language: data.plain(result, language),
        sheet=lambda: data.sheet(result),
    )
