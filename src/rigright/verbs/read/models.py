"""What a text says a model needs, and the machines it names for one, held against the laws of memory and speed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rigright.arch.record import Arch
from rigright.arch.sources.find import find
from rigright.base.errors import RigError
from rigright.base.patterns import pattern
from rigright.base.units import GIB, GIGA, KIB, show_short
from rigright.base.words import Sentence, say
from rigright.demand import ServingWish, TrainingWish
from rigright.facts.chips import Chip
from rigright.facts.formats import find_format
from rigright.terms.memory import weights_bytes
from rigright.verbs.look_up.model_card import ModelCard
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.quantities import LEAST, MOST, Quantity
from rigright.verbs.read.record import RIGHT, UNKNOWN, WRONG, Verdict
from rigright.verbs.read.subjects import Subject

BESIDE_WEIGHTS = 1.45  # what a need may be over the weights: caches, libraries, room
BELOW_WEIGHTS, BELOW_BINARY = 0.95, 0.985  # and under, in GB and in GiB, as such figures are rounded
STATES = (14.0, 22.0)  # bytes a parameter of mixed-precision training with Adam, with activations
LEAST_STATES = 6.0  # with 8-bit states and 16-bit everything
ADAPTED = (2.0, 4.5)  # bytes a parameter of LoRA in 16 bit, with activations
ADAPTED_4BIT = (0.5, 1.6)
NEAR_SPEED = 1.35  # over or under the band that a speed may still be called right
USUAL_FORMATS = ("bf16", "fp8", "gguf:Q8_0", "gguf:Q6_K", "gguf:Q5_K_M", "gguf:Q4_K_M", "awq4")
_FORMATS = (
    (r"q[2-8](?:_k)?(?:_[smlx]+|_[01])?(?![a-z0-9])", None),
    (r"fp32|float32|单精度|全精度fp32", "fp32"), (r"bf16|bfloat16", "bf16"), (r"fp16|float16|半精度|half[- ]precision|16[- ]?bit|16位", "fp16"),
    (r"fp8|8位浮点", "fp8"), (r"int8|8[- ]?bit|8位|w8a8", "int8"), (r"nvfp4|fp4", "nvfp4"), (r"mxfp4", "mxfp4"),
    (r"awq", "awq4"), (r"gptq", "gptq4"), (r"nf4|bitsandbytes", "nf4"),
    (r"int4|4[- ]?bit|4位|四位|四比特|4-bit", "gguf:Q4_K_M"),
)  # fmt: skip
_TRAINS = pattern(r"train|fine-?tun|训练|微调|预训练", re.IGNORECASE)
_ADAPTER = pattern(r"(q)?lora", re.IGNORECASE)
_CONTEXT = pattern(r"(\d{1,4})\s?k\b(?:\s?tokens?)?\s?(?:context|上下文)|(?:context|上下文)[^\d]{0,12}(\d{1,4})\s?k\b", re.IGNORECASE)
_ENOUGH = pattern(r"enough|suffic|can\b|recommend|suggest|足够|可|能|推荐|建议|支持", re.IGNORECASE)
_CANNOT = pattern(
    r"cannot|can't|can not|not enough|too small|insufficient|does(?:n't| not) fit|out of memory|oom|无法|不能|不够|放不下|装不下|跑不|不足以|爆显存",
    re.IGNORECASE,
)
_RUNS = pattern(
    r"\bruns?\b|\brun\b|\bfits?\b|serves?|serving|deploy|host|recommend|suggest|requir|needs?\b|handle|enough|load|inference|possible|\bon\b|运行|部署|推荐|建议|需要|需|可以|支持|跑|推理|训练|微调|加载|适合|使用|用|配置|搭载",
    re.IGNORECASE,
)


def arch_of(subject: Subject) -> Arch | None:
    """The model that a subject is."""
    card = subject.records[0]
    if not isinstance(card, ModelCard):
        return None
    try:
        return find(card.asked)
    except RigError:
        return None


def format_said(text: str) -> str | None:
    """The format of weights that a text names."""
    plain = text.casefold()
    for shape, name in _FORMATS:
        found = re.search(rf"(?<![a-z0-9])(?:{shape})", plain)
        if found is None:
            continue
        try:
            return name or find_format(found[0]).id
        except RigError:
            continue
    return None


def need(quantity: Quantity, subject: Subject, passage: Passage) -> tuple[Verdict, Sentence | str, str] | None:
    """Whether so much memory is what a model takes: verdict, the right figure, the command."""
    arch = arch_of(subject)
    if arch is None:
        return None
    model = arch.name.partition("#")[0]
    said = _clause(passage, quantity)
    adapter = _ADAPTER.search(f"{passage.topic} {said}")
    if adapter is not None or _TRAINS.search(f"{passage.topic} {said}"):
        method = "" if adapter is None else "qlora" if adapter[1] else "lora"
        return _training_need(quantity, arch, method=method, passage=passage)
    fmt = format_said(said) or format_said(passage.topic) or format_said(passage.whole)
    command = f"rigright look-up model {model}"
    if fmt is not None:
        size = weights_bytes(arch, fmt) * _nominal(subject, arch)
        return (_sized(quantity, size), say("{size} of weights in {format}, and caches on top", size=_gb(size), format=_label(fmt)), command)
    sizes = {name: weights_bytes(arch, name) * _nominal(subject, arch) for name in dict.fromkeys((arch.stored or "bf16", *USUAL_FORMATS))}
    fitting = [name for name, size in sizes.items() if _sized(quantity, size) == RIGHT]
    if fitting:
        best = min(fitting, key=lambda name: abs(sizes[name] - quantity.mid))
        return RIGHT, say("{size} of weights in {format}", size=_gb(sizes[best]), format=_label(best)), command
    both = say(
        "{four} of weights in Q4_K_M, {full} in BF16, and caches on top",
        four=_gb(sizes["gguf:Q4_K_M"]), full=_gb(sizes["bf16"]),
    )  # fmt: skip
    small = quantity.high * GIB / GIGA < sizes["gguf:Q4_K_M"] * BELOW_BINARY
    plenty = quantity.low >= sizes["bf16"] and _ENOUGH.search(_clause(passage, quantity)) is not None
    return (WRONG if small else RIGHT if plenty else UNKNOWN), both, command


def _nominal(subject: Subject, arch: Arch) -> float:
    """Of a model that is named by its size alone: that size over the size of the model it stands for."""
    from rigright.arch.count import params

    size = re.fullmatch(r"(\d{1,4}(?:\.\d{1,2})?)\s?[bB]", subject.text.strip())
    return 1.0 if size is None else float(size[1]) * GIGA / params(arch)


def _label(fmt: str) -> str:
    return find_format(fmt).label


def _gb(size: float) -> str:
    return f"{size / GIGA:.3g} GB" if size < 1000 * GIGA else f"{size / GIGA:,.0f} GB"


def _clause(passage: Passage, quantity: Quantity) -> str:
    return passage.text[max(0, quantity.start - 40) : quantity.end + 30]


def _sized(quantity: Quantity, size: float) -> Verdict:
    """Whether a need is what weights of a size take."""
    reads = ((1.0, size * BELOW_WEIGHTS), (GIB / GIGA, size * BELOW_BINARY))
    most = size * (2.0 if quantity.bound == LEAST else BESIDE_WEIGHTS)
    alone = quantity.low == quantity.high
    if quantity.bound == MOST and alone:
        return RIGHT if any(quantity.high * one >= low for one, low in reads) else WRONG
    return RIGHT if any(quantity.low * one <= most and quantity.high * one >= low for one, low in reads) else WRONG


def _training_need(quantity: Quantity, arch: Arch, *, method: str, passage: Passage) -> tuple[Verdict, Sentence | str, str]:
    from rigright.arch.count import params

    count = params(arch)
    low, high = {"": STATES, "lora": ADAPTED, "qlora": ADAPTED_4BIT}[method]
    model = arch.name.partition("#")[0]
    command = f"rigright explain {model} --on a100 --train {method or 'full'}"
    value = quantity.high
    if method:
        truth = say("{size} of weights before adapters and activations", size=_gb(count * low))
    else:
        truth = say("16 bytes a parameter: {size} before activations", size=_gb(count * 16))
    if value * GIB / GIGA < count * low * BELOW_BINARY and quantity.bound != MOST:
        soft = not method and value >= count * LEAST_STATES
        return (UNKNOWN if soft else WRONG), truth, command
    plenty = _ENOUGH.search(_clause(passage, quantity)) is not None or quantity.bound == LEAST
    return (RIGHT if value <= count * high * 1.3 or plenty else UNKNOWN), truth, command


def machine_of(cards: list[Subject]) -> str | None:
    """Cards as a command takes them."""
    parts = [f"{one.count}x {one.name}" for one in cards if isinstance(one.records[0], Chip)]
    return " + ".join(parts) if parts else None


def configurations(passage: Passage) -> Iterator[tuple[Subject, str, bool]]:
    """Models with the machine that a passage names for each, and whether it says that this works."""
    models = [one for one in (*passage.subjects, *passage.above) if one.kind == "model"]
    cards = [one for one in passage.subjects if one.kind == "chip"]
    if not models or not cards or passage.is_code:
        return
    works = _CANNOT.search(passage.text) is None
    in_cell = any(one.start < 0 for one in models)
    if not in_cell and _RUNS.search(passage.text) is None:
        return
    groups = [cards] if "+" in passage.text[cards[0].end : cards[-1].start] else [[one] for one in cards[:4]]
    for group in groups:
        machine = machine_of(group)
        if machine is not None:
            yield models[0], machine, works


def speed_of(quantity: Quantity, found: tuple[float, float, float]) -> tuple[Verdict, Sentence]:
    """Whether a speed is what is predicted: value, low, high."""
    value, low, high = found
    holds = quantity.low <= high * NEAR_SPEED and quantity.high >= low / NEAR_SPEED
    truth = say("{value} tok/s predicted ({low}-{high})", value=show_short(value), low=show_short(low), high=show_short(high))
    return (RIGHT if holds else WRONG), truth


def settings_of(text: str) -> tuple[str | None, int | None]:
    """The format and the context that a text names."""
    context = _CONTEXT.search(text)
    number = None if context is None else int(context[1] or context[2])
    return format_said(text), None if number is None else number * KIB


@lru_cache(256)
def judge(model: str, machine: str, fmt: str | None, context: int | None, *, works: bool) -> tuple[Verdict, Sentence, str]:
    """A configuration: whether it fits, and the command that explains it."""
    from rigright.verbs.explain import explain

    words = f"{f' --weights {fmt}' if fmt else ''}{f' --context {context}' if context else ''}"
    command = f'rigright explain {model} --on "{machine}"{words}'
    try:
        found = explain(model, machine, wish=ServingWish(weights=fmt, context_tok=context))
    except RigError as error:
        return UNKNOWN, error.sentence, command
    card = found.fullest
    label = _label(found.weights_format)
    tiny = fmt is None and found.weights_format.startswith(("gguf:Q2", "gguf:IQ2", "gguf:IQ1", "gguf:IQ3"))
    if not found.fits:
        truth = say(
            "does not fit in {format}: {need} a card of {have}",
            format=label, need=_gib(card.need_bytes), have=_gib(card.total_bytes),
        )  # fmt: skip
    elif tiny:
        truth = say("fits only in {format}", format=label)
    elif found.speed is None:
        truth = say("fits in {format}: {used} of {have} a card", format=label, used=_gib(card.need_bytes), have=_gib(card.total_bytes))
    else:
        rate = found.speed.output_tok_per_s if found.speed.concurrency > 1 else found.speed.user_tok_per_s
        truth = say("fits in {format}, {rate} tok/s", format=label, rate=show_short(rate.value))
    fits = found.fits and not tiny
    return (RIGHT if fits == works else WRONG), truth, command


@lru_cache(128)
def judge_training(model: str, machine: str, method: str, *, works: bool) -> tuple[Verdict, Sentence, str]:
    """A configuration that trains."""
    from rigright.verbs.explain_training import explain_training

    command = f'rigright explain {model} --on "{machine}" --train {method}'
    try:
        found = explain_training(model, machine, wish=TrainingWish(method=method))
    except RigError as error:
        return UNKNOWN, error.sentence, command
    worst = max(found.ranks, key=lambda one: one.least_bytes - one.total_bytes)
    fits = worst.least_bytes <= worst.total_bytes
    words = {"need": _gib(worst.least_bytes), "have": _gib(worst.total_bytes), "method": method}
    truth = say("{method} fits: {need} a card of {have}", **words) if fits else say(
        "{method} does not fit: {need} a card of {have}", **words
    )  # fmt: skip
    return (RIGHT if fits == works else WRONG), truth, command


def method_of(text: str) -> str | None:
    """The way of training that a text speaks of; None where it speaks of none."""
    adapter = _ADAPTER.search(text)
    if adapter is not None:
        return "qlora" if adapter[1] else "lora"
    return "full" if _TRAINS.search(text) else None


def _gib(size: float) -> str:
    return f"{size / GIB:,.1f} GiB"
