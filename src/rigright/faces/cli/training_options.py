"""The options of `explain --train`: what is trained, and how."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import fields
from typing import Any

from rigright.base.errors import AskError
from rigright.base.units import parse_count
from rigright.base.words import Sentence, say
from rigright.demand import TrainingWish
from rigright.faces.cli.answer import Answer

METHODS = ("full", "lora", "qlora", "dora")

_WORDS: tuple[tuple[str, str, Sentence], ...] = (
    ("--trainer", "trainer", say("framework: pytorch, hf, deepspeed, megatron ...")),
    ("--optimizer", "optimizer", say("adamw, adamw-8bit, adafactor, lion, sgd, muon ...")),
    ("--precision", "precision", say("bf16-mixed, bf16, fp16-mixed, fp32, fp8")),
    ("--base", "base", say("format of the frozen base (qlora)")),
    ("--recompute", "recompute", say("none, selective, full")),
    ("--targets", "targets", say("matrices with adapters: attn, ffn, all")),
    ("--sharding", "sharding", say("none, zero1, zero2, zero3, fsdp, hsdp")),
    ("--schedule", "schedule", say("of the pipeline: 1f1b, gpipe, interleaved, zero-bubble")),
    ("--offload", "offload", say("none, optimizer-cpu, all-cpu, optimizer-nvme, all-nvme")),
)
_COUNTS: tuple[tuple[str, str, Sentence], ...] = (
    ("--micro-batch", "micro_batch", say("samples of one forward pass on one card")),
    ("--seq", "seq_tok", say("tokens of a training sample")),
    ("--rank", "rank", say("rank of the adapters")),
    ("--virtual-stages", "virtual_stages", say("model chunks of one pipeline rank")),
    ("--accumulate", "accumulate", say("micro-batches of one optimizer step")),
)
_FLAGS: tuple[tuple[str, str, bool, Sentence], ...] = (
    ("--no-flash", "flash", False, say("attention with the whole score matrix")),
    ("--flash", "flash", True, say("attention tile by tile (the default)")),
    ("--chunked-loss", "chunked_loss", True, say("the logits never stand whole")),
    ("--compiled", "compiled", True, say("cheap operations fused by a compiler")),
    ("--sequence-parallel", "sequence_parallel", True, say("norms cut over tokens beside tensor parallel")),
)
_ONLY: tuple[tuple[str, str, tuple[str, ...]], ...] = (  # flags that say something to some methods alone
    ("--rank", "rank", ("lora", "qlora", "dora")),
    ("--targets", "targets", ("lora", "qlora", "dora")),
    ("--base", "base", ("qlora",)),
)
SHARED = ("tp", "pp", "dp", "ep", "cp")  # said once for serving and training
TRAINING = (  # each option that says something of a training alone, and where it is kept
    *((flag, name) for flag, name, _ in (*_WORDS, *_COUNTS)),
    *((flag, flag.removeprefix("--").replace("-", "_")) for flag, *_ in _FLAGS),
)


def add_training_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say what is trained, and how."""
    group = parser.add_argument_group(str(say("training")))
    group.add_argument(
        "--train",
        nargs="?",
        const="full",
        choices=METHODS,
        help=str(say("train it: full, lora, qlora, dora")),
    )
    for flag, name, text in (*_WORDS, *_COUNTS):
        group.add_argument(
            flag, dest=name, metavar="N" if (flag, name, text) in _COUNTS else None, help=str(text)
        )
    for flag, _, _, text in _FLAGS:
        group.add_argument(flag, action="store_true", help=str(text))


def answer_training(options: argparse.Namespace) -> Answer:
    """Explain the training."""
    from rigright.report.pages import training as pages
    from rigright.verbs.explain_training import explain_training

    wish, asked = read_training(options), asked_training(options)
    result = explain_training(options.model, options.on, wish=wish, why=options.why, asked=asked)
    return Answer(
        page=lambda: pages.page(result, why=options.why),
        plain=lambda language: pages.plain(result, language),
    )


def read_training(options: argparse.Namespace) -> TrainingWish:
    """What was said of the training; what was not said keeps the wish's own default."""
    _refuse_idle(options)
    told: dict[str, Any] = {"method": options.train}
    told |= {name: getattr(options, name) for _, name, _ in _WORDS}
    told |= {name: _count(getattr(options, name)) for _, name, _ in _COUNTS}
    told |= {name: _count(getattr(options, name)) for name in SHARED}
    told |= {name: value for flag, name, value, _ in _FLAGS if getattr(options, _stored(flag))}
    known = {field.name for field in fields(TrainingWish)}
    return TrainingWish(
        **{name: value for name, value in told.items() if value is not None and name in known}
    )


def _refuse_idle(options: argparse.Namespace) -> None:
    """What the method has no use for is not passed over in silence."""
    for flag, name, methods in _ONLY:
        if getattr(options, name) is not None and options.train not in methods:
            raise AskError(
                say(
                    "{flag} says nothing of --train {method}; it is for {methods}",
                    flag=flag,
                    method=options.train,
                    methods=", ".join(methods),
                )
            )


def asked_training(options: argparse.Namespace) -> str:
    """The command that asks this again."""
    told = [(flag, getattr(options, name)) for flag, name, _ in (*_WORDS, *_COUNTS)]
    told += [(f"--{name}", getattr(options, name)) for name in SHARED]
    on = [] if options.on is None else ["--on", options.on]
    words = ["rigright", "explain", options.model, *on, "--train", options.train]
    words += [word for flag, value in told if value is not None for word in (flag, value)]
    words += [flag for flag, _, _, _ in _FLAGS if getattr(options, _stored(flag))]
    return shlex.join(words)


def _stored(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _count(text: str | None) -> int | None:
    return None if text is None else parse_count(text)
