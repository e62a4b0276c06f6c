"""`explain`: one model on one machine."""

from __future__ import annotations

import argparse
import shlex

from rigright.base.errors import AskError
from rigright.base.units import parse_count
from rigright.base.words import say
from rigright.demand import ServingWish
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.training_options import SHARED, TRAINING, add_training_arguments, answer_training

STAGE = "plan"
SUMMARY = say("one model on one machine: memory by part and card, how far it goes, and what to change")

_COUNTS = (
    ("--context", "context_tok", say("tokens a sequence holds at its end: 8192, 32k")),
    ("--batch", "batch", say("sequences, or samples, held at once")),
    ("--prompt", "prompt_tok", say("tokens of the prompt, out of the context")),
    ("--budget", "budget_tok", say("tokens an engine puts in one step")),
    ("--max-seqs", "max_seqs", say("sequences the engine is ready for")),
    ("--tp", "tp", say("cards a layer is cut over")),
    ("--pp", "pp", say("pipeline stages")),
    ("--dp", "dp", say("replicas")),
    ("--ep", "ep", say("cards the experts are dealt out to")),
    ("--cp", "cp", say("cards a context is cut over")),
    ("--image-size", "image_size", say("pixels of a picture's side")),
)
_SERVING = (
    ("--engine", "engine"),
    ("--weights", "weights"),
    ("--kv", "kv"),
    ("--util", "utilisation"),
    ("--no-graphs", "no_graphs"),
    ("--attention-dp", "attention_dp"),
    *((flag, name) for flag, name, _ in _COUNTS if name not in SHARED),
)


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `explain`."""
    parser.add_argument("model", help=str(say("a name, a config.json, a folder, a GGUF file, a hub id")))
    parser.add_argument(
        "--on",
        metavar="MACHINE",
        help=str(say('the cards: "8x h100"; or a file of `probe --save`; else those here')),
    )
    add_serving(parser)
    add_training_arguments(parser)


def add_serving(parser: argparse.ArgumentParser) -> None:
    """The options that say how it is served."""
    group = parser.add_argument_group(str(say("serving")))
    group.add_argument("--serve", action="store_true", help=str(say("serve it (the default)")))
    group.add_argument("--engine", help=str(say('"vllm", "sglang", "llama.cpp" ...; a version may follow')))
    group.add_argument(
        "--weights", "--format", dest="weights", help=str(say('weight format: "bf16", "fp8", "Q4_K_M"'))
    )
    group.add_argument("--kv", help=str(say('cache format: "16bit", "fp8", "q8_0"')))
    for flag, name, text in _COUNTS:
        group.add_argument(flag, dest=name, metavar="N", help=str(text))
    group.add_argument("--util", dest="utilisation", metavar="SHARE", help=str(say("share of the card: 0.9")))
    group.add_argument("--no-graphs", action="store_true", help=str(say("no CUDA graphs (eager mode)")))
    group.add_argument(
        "--attention-dp",
        action="store_true",
        help=str(say("attention replicated, each with its own sequences")),
    )


def answer(options: argparse.Namespace) -> Answer:
    """Explain."""
    _refuse_other_kind(options)
    if options.train:
        return answer_training(options)
    from rigright.report.pages import explain as pages
    from rigright.verbs.explain import explain

    result = explain(
        options.model, options.on, wish=read_wish(options), why=options.why, asked=_asked(options)
    )
    return Answer(
        page=lambda: pages.page(result, why=options.why),
        plain=lambda language: pages.plain(result, language),
    )


def _refuse_other_kind(options: argparse.Namespace) -> None:
    """An option that would change nothing is an error, not silence."""
    if options.train and options.serve:
        raise AskError(say("--serve and --train are two questions; ask one at a time"))
    given = [flag for flag, name in (_SERVING if options.train else TRAINING) if getattr(options, name)]
    if given and options.train:
        raise AskError(
            say(
                "{flags}: only for serving; with --train, --seq is the length and --micro-batch the samples",
                flags=", ".join(given),
            )
        )
    if given:
        raise AskError(say("{flags}: only for training; add --train", flags=", ".join(given)))


def _asked(options: argparse.Namespace) -> str:
    """The command that asks this again."""
    told = [("--engine", options.engine), ("--weights", options.weights), ("--kv", options.kv)]
    told += [(flag, getattr(options, name)) for flag, name, _ in _COUNTS]
    told += [("--util", options.utilisation)]
    words = ["rigright", "explain", options.model, *([] if options.on is None else ["--on", options.on])]
    words += [word for flag, value in told if value is not None for word in (flag, value)]
    words += ["--no-graphs"] * options.no_graphs + ["--attention-dp"] * options.attention_dp
    return shlex.join(words)


def read_wish(options: argparse.Namespace) -> ServingWish:
    """What was said of the serving."""
    counts = {name: _count(getattr(options, name)) for _, name, _ in _COUNTS}
    return ServingWish(
        engine=options.engine,
        weights=options.weights,
        kv=options.kv,
        utilisation=_share(options.utilisation),
        graphs=not options.no_graphs,
        attention_dp=options.attention_dp,
        **counts,
    )


def _count(text: str | None) -> int | None:
    return None if text is None else parse_count(text)


def _share(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise AskError(say('cannot read "{text}" as a share; write for example 0.9', text=text)) from None
