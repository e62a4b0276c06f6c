"""What a text says a model needs, and machines it names for one, against the laws of memory and speed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from rigright.arch.cache import kv_bytes_per_token
from rigright.arch.count import params
from rigright.arch.record import Arch
from rigright.arch.sources.find import find
from rigright.base.errors import RigError, maybe
from rigright.base.patterns import pattern
from rigright.base.record import dataclass, replace
from rigright.base.units import GIB, GIGA, KIB, KILO, show_bytes, show_short
from rigright.base.words import say
from rigright.demand import ServingWish, TrainingWish
from rigright.facts.chips import Chip
from rigright.facts.engines import engines_in, find_engine
from rigright.facts.formats import find_format
from rigright.facts.training import objectives
from rigright.predict.timed import Speed
from rigright.terms.fitted import priors
from rigright.terms.memory import weights_bytes
from rigright.verbs.look_up.model_card import ModelCard
from rigright.verbs.read.claims import claim_of, figured
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.quantities import EXACT, LEAST, MOST, StatedQuantity
from rigright.verbs.read.record import NEED, RIGHT, UNKNOWN, WRONG, ClaimVerdict, GuideClaim, Verdict
from rigright.verbs.read.subjects import CHIP, MODEL, ClaimSubject

_BESIDE_WEIGHTS, PLENTY = 1.45, 2.0  # what a need may be over the weights: caches, libraries, room
_BELOW_WEIGHTS, _BELOW_BINARY = 0.95, 0.985  # and under, in GB and in GiB, as such figures are rounded
STATES = 16.0  # bytes a parameter of mixed-precision training with Adam
BYTES = {  # a parameter: the least and the most that a way of training takes, with activations
    "full": (14.0, 28.0),
    "lora": (2.0, 6.0),
    "qlora": (0.5, 2.0),
}
_LEAST_STATES = 6.0  # of full training with 8-bit states and 16-bit everything
_NEAR_SPEED = 1.35  # over or under the band that a speed may still be called right
_ALONE = pattern(
    r"single[- ](?:user|stream|request)|one (?:user|request)|batch(?:[ -]size)?\s?(?:of|=|:)?\s?1(?!\d)"
    r"|\bbs\s?=?\s?1(?!\d)|单用户|单并发|单路|单请求|一个用户",
    re.IGNORECASE,
)
_EACH = pattern(r"per[- ](?:user|request|stream)|/user|each user|每个?(?:用户|请求)|单用户", re.IGNORECASE)
_AT_ONCE = pattern(
    r"(?:concurrency|batch(?:[ -]size)?|并发数?)\s?(?:of|=|:|：|为)?\s?(\d{1,4})(?![\d.])"
    r"|(\d{1,4})\s?(?:concurrent|parallel|simultaneous|users\b|个?用户|人同时|路?并发)",
    re.IGNORECASE,
)
MOST_CARDS = 4  # of a sentence that are looked at, each by itself
_NEAR_FORMAT = 40  # signs before a figure in which its format stands
USUAL_FORMATS = ("bf16", "fp8", "gguf:Q8_0", "gguf:Q6_K", "gguf:Q5_K_M", "gguf:Q4_K_M", "awq4")
_FOUR_BIT, TINY = "gguf:Q4_K_M", ("gguf:Q2", "gguf:IQ1", "gguf:IQ2", "gguf:IQ3")
_FORMATS = (
    (r"q[2-8](?:_k)?(?:_[smlx]+|_[01])?(?![a-z0-9])", None),
    (r"fp32|float32|单精度", "fp32"),
    (r"bf16|bfloat16", "bf16"),
    (r"fp16|float16|半精度|half[- ]precision|16[- ]?bit|16位", "fp16"),
    (r"fp8|8位浮点", "fp8"),
    (r"int8|8[- ]?bit|8位|w8a8", "int8"),
    (r"nvfp4|fp4", "nvfp4"),
    (r"mxfp4", "mxfp4"),
    (r"awq", "awq4"),
    (r"gptq", "gptq4"),
    (r"nf4|bitsandbytes", "nf4"),
    (r"int4|4[- ]?bit|4位|四位|四比特", _FOUR_BIT),
)
_TRAINS = pattern(r"train|fine-?tun|训练|微调", re.IGNORECASE)
_ADAPTER = pattern(r"(q)?lora", re.IGNORECASE)
_CONTEXT = pattern(
    r"(\d{1,4})\s?k\b(?:\s?tokens?)?\s?(?:context|上下文)|(?:context|上下文)[^\d]{0,12}(\d{1,4})\s?k\b",
    re.IGNORECASE,
)
_PER_TOKEN = pattern(
    r"(?:per|a|each|every)\s(?:generated\s)?token\b|每\s?个?\s?token|/\s?token", re.IGNORECASE
)
_NEAR_TOKEN = 0.06
_ENOUGH = pattern(r"enough|suffic|can\b|recommend|suggest|足够|可|能|推荐|建议|支持", re.IGNORECASE)
_CANNOT = pattern(
    r"cannot|can't|can not|not enough|too small|insufficient|does(?:n't| not) fit|out of memory|oom"
    r"|无法|不能|不够|放不下|装不下|跑不|不足以|爆显存",
    re.IGNORECASE,
)
_RUNS = pattern(
    r"\bruns?\b|\bfits?\b|\btrain|fine-?tun|serves?|serving|deploy|host|recommend|suggest|requir|needs?\b|handle|enough|load"
    r"|inference|possible|\bon\b|运行|部署|推荐|建议|需|可以|支持|跑|推理|训练|微调|加载|适合|使用|用|配置|搭载",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedMachine:
    """A model on a machine as a text has it."""

    model: str
    machine: str  # as a command takes it
    works: bool  # whether the text says so
    weights: str | None = None
    context_tok: int | None = None
    method: str | None = None  # of training; None: it serves
    objective: str | None = None  # a loss of preferences or rewards
    engine: str | None = None
    users: int | None = None  # at once; None: the text does not say

    @property
    def wish(self) -> ServingWish:
        """It as something to serve."""
        return ServingWish(
            weights=self.weights, context_tok=self.context_tok, engine=self.engine, users=self.users
        )

    @property
    def command(self) -> str:
        """What explains it."""
        words = f"{f' --engine {self.engine}' if self.engine else ''}"
        words += f"{f' --weights {self.weights}' if self.weights else ''}"
        words += f"{f' --context {self.context_tok}' if self.context_tok else ''}"
        words += f"{f' --concurrency {self.users}' if self.users else ''}"
        words = f" --train {self.method}" if self.method else words
        words += f" --objective {self.objective}" if self.objective else ""
        return f'rigright explain {self.model} --on "{self.machine}"{words}'


def arch_of(subject: ClaimSubject) -> Arch | None:
    """The model that a subject is."""
    card = subject.records[0]
    return maybe(lambda: find(card.asked) if isinstance(card, ModelCard) else None)


def _format_named(text: str, at: int | None = None) -> str | None:
    """The format of weights that a text names; of several the last one before a place, else the first."""
    plain = text.casefold()
    rows = sorted(
        (match.start(), -len(match[0]), match[0], name or "")
        for shape, name in _FORMATS
        for match in re.finditer(rf"(?<![a-z0-9])(?:{shape})", plain)
    )
    before = [row for row in rows if at is not None and row[0] < at]
    for _, _, word, name in (*reversed(before), *rows):
        try:
            return name or find_format(word).id
        except RigError:
            continue
    return None


def label(weights: str) -> str:
    """A format for people."""
    return find_format(weights).label


def needs(passage: Passage) -> Iterator[GuideClaim]:
    """What a passage says models take of memory."""
    named = any(subject.kind == MODEL for subject in (*passage.subjects, *passage.above))
    sizes = named and any(quantity.unit == "bytes" for quantity in passage.figures)
    for figure in figured(passage) if sizes else ():
        verdict = need(figure.quantity, figure.subject, passage=passage) if figure.kind.id == NEED else None
        if verdict is not None:
            yield claim_of(passage, figure.quantity.start, subject=figure.subject, kind=NEED, verdict=verdict)


def need(quantity: StatedQuantity, subject: ClaimSubject, *, passage: Passage) -> ClaimVerdict | None:
    """Whether so much memory is what a model takes."""
    arch = arch_of(subject)
    if arch is None:
        return None
    start = max(0, quantity.start - _NEAR_FORMAT)
    text = passage.text[start : quantity.end + 30]
    command = f"rigright look-up model {arch.name.partition('#')[0]}"
    if _PER_TOKEN.search(text):
        kept = kv_bytes_per_token(arch) / (2 if _format_named(text) in {"fp8", "int8"} else 1)
        near = any(abs(quantity.mid * scale / kept - 1) <= _NEAR_TOKEN for scale in (1.0, KIB / KILO))
        truth = say("{size} of KV cache a token", size=show_bytes(kept))
        return ClaimVerdict(verdict=RIGHT if near else WRONG, truth=truth, command=command)
    sizes_told = sum(each.unit == "bytes" for each in passage.figures)
    method = method_of(f"{passage.topic} {passage.text if sizes_told == 1 else text}")
    enough = _ENOUGH.search(text) is not None
    if method is not None:
        return _training_need(quantity, arch, method=method, enough=enough)
    size = re.fullmatch(r"(\d{1,4}(?:\.\d{1,2})?)\s?[bB]", subject.text.strip())
    nominal = 1.0 if size is None else float(size[1]) * GIGA / params(arch)  # it is named by its size alone
    weights = (
        _format_named(text, quantity.start - start)
        or _format_named(passage.topic)
        or _format_named(passage.whole)
    )
    if weights is not None:
        full = weights_bytes(arch, weights) * nominal
        truth = say("{size} of weights in {format}, and caches on top", size=gb(full), format=label(weights))
        return ClaimVerdict(verdict=sized(quantity, full), truth=truth, command=command)
    formats = dict.fromkeys((arch.stored or "bf16", *USUAL_FORMATS))
    sizes = {name: weights_bytes(arch, name) * nominal for name in formats}
    return _need_of_any_format(quantity, sizes, enough=enough, command=command)


def _need_of_any_format(
    quantity: StatedQuantity, sizes: Mapping[str, float], *, enough: bool, command: str
) -> ClaimVerdict:
    """Whether a need is that of some usual format, where the text names none."""
    stated = replace(quantity, bound=EXACT) if quantity.bound == LEAST else quantity
    fitting = [name for name, size in sizes.items() if sized(stated, size) == RIGHT]
    if fitting:
        best = min(fitting, key=lambda name: abs(sizes[name] - quantity.mid))
        truth = say("{size} of weights in {format}", size=gb(sizes[best]), format=label(best))
        return ClaimVerdict(verdict=RIGHT, truth=truth, command=command)
    four, full = sizes[_FOUR_BIT], sizes["bf16"]
    truth = say(
        "{four} of weights in Q4_K_M, {full} in BF16, and caches on top", four=gb(four), full=gb(full)
    )
    small = quantity.high * GIB / GIGA < four * _BELOW_BINARY
    verdict = WRONG if small else RIGHT if enough and quantity.low >= full else UNKNOWN
    return ClaimVerdict(verdict=verdict, truth=truth, command=command)


def gb(size: float) -> str:
    """A size as guides write it."""
    return f"{size / GIGA:.3g} GB" if size < KILO * GIGA else f"{size / GIGA:,.0f} GB"


def sized(quantity: StatedQuantity, size: float) -> Verdict:
    """Whether a need is what weights of a size take."""
    reads = ((1.0, size * _BELOW_WEIGHTS), (GIB / GIGA, size * _BELOW_BINARY))
    most = size * (PLENTY if quantity.bound == LEAST else _BESIDE_WEIGHTS)
    if quantity.bound == MOST and quantity.low == quantity.high:
        most = float("inf")
    fine = any(quantity.low * value <= most and quantity.high * value >= low for value, low in reads)
    return RIGHT if fine else WRONG


def _training_need(quantity: StatedQuantity, arch: Arch, *, method: str, enough: bool) -> ClaimVerdict:
    """Whether so much memory is what training takes."""
    count, (low, high) = params(arch), BYTES[method]
    command = f"rigright explain {arch.name.partition('#')[0]} --on a100 --train {method}"
    truth = say("{size} of weights before adapters and activations", size=gb(count * low))
    if method == "full":
        truth = say("16 bytes a parameter: {size} before activations", size=gb(count * STATES))
    value = quantity.high
    if value * GIB / GIGA < count * low * _BELOW_BINARY and quantity.bound != MOST:
        soft = method == "full" and value >= count * _LEAST_STATES
        return ClaimVerdict(verdict=UNKNOWN if soft else WRONG, truth=truth, command=command)
    if value <= count * high or enough or quantity.bound == LEAST:
        return ClaimVerdict(verdict=RIGHT, truth=truth, command=command)
    card = f"{value / GIGA:.0f}gb"  # activations may be most of a small model
    return trains(StatedMachine(model=arch.name.partition("#")[0], machine=card, works=True, method=method))


def method_of(text: str) -> str | None:
    """The way of training that a text speaks of; None where it speaks of none."""
    adapter = _ADAPTER.search(text)
    if adapter is not None:
        return "qlora" if adapter[1] else "lora"
    return "full" if _TRAINS.search(text) or objective_in(text) else None


def objective_in(text: str) -> str | None:
    """The loss that a text names: none by a part of a model's name."""
    words = re.findall(r"(?<![\w-])[A-Za-z]{3,5}(?![\w-])", text)
    return next((word.lower() for word in words if word.isupper() and word.lower() in objectives()), None)


def machines(passage: Passage) -> Iterator[tuple[ClaimSubject, StatedMachine]]:
    """Models with the machine that a passage names for each, and whether it says that this works."""
    models = [subject for subject in (*passage.subjects, *passage.above) if subject.kind == MODEL]
    cards = [
        subject
        for subject in passage.subjects
        if subject.kind == CHIP and isinstance(subject.records[0], Chip)
    ]
    if not models or not cards or passage.is_code:
        return
    if models[0].start >= 0 and _RUNS.search(passage.text) is None:
        return
    text = f"{passage.topic} {passage.whole if models[0].start < 0 else passage.text}"
    context = _CONTEXT.search(text)
    mixed = "+" in passage.text[cards[0].end : cards[-1].start]
    for group in [cards] if mixed else [[subject] for subject in cards[:MOST_CARDS]]:
        yield (
            models[0],
            StatedMachine(
                model=models[0].name.partition("#")[0],
                machine=" + ".join(f"{subject.count}x {subject.name}" for subject in group),
                works=_CANNOT.search(passage.text) is None,
                weights=_format_named(text),
                context_tok=None if context is None else int(context[1] or context[2]) * KIB,
                method=method_of(f"{passage.topic} {passage.text}"),
                objective=objective_in(f"{passage.topic} {passage.text}"),
                engine=_engine_named(passage.text),
                users=_at_once(passage.text),
            ),
        )


def configured(passage: Passage, subject: ClaimSubject, *, machine: StatedMachine) -> Iterator[GuideClaim]:
    """A model on a machine: whether it fits, and the speed that the text gives it."""
    verdict = trains(machine) if machine.method else serves(machine)
    at = max(subject.start, 0)
    yield claim_of(passage, at, subject=subject, kind="configuration", verdict=verdict)
    rate = next((quantity for quantity in passage.figures if quantity.unit == "tok_per_s"), None)
    if rate is not None and not machine.method:
        speed = _speed(rate, machine, each=_EACH.search(passage.text) is not None)
        if speed is not None:
            yield claim_of(passage, rate.start, subject=subject, kind="speed", verdict=speed)


def _engine_named(text: str) -> str | None:
    """The engine that a text names; None where it names several, or none."""
    named = {find_engine(word).id for word in engines_in(text)}
    return named.pop() if len(named) == 1 else None


def _at_once(text: str) -> int | None:
    """How many requests a text says are in flight."""
    if _ALONE.search(text):
        return 1
    said = _AT_ONCE.search(text)
    return None if said is None else max(1, int(said[1] or said[2]))


def _speed(rate: StatedQuantity, machine: StatedMachine, *, each: bool) -> ClaimVerdict | None:
    """Whether so many tokens a second are what comes of it: of one user or of all, as the text leaves open.

    Where it names neither load nor lengths, anything from one user to a server that is full is right.
    """
    speeds = _speeds_on(machine)
    if not speeds:
        return None
    ones = [speed.user_tok_per_s for speed in speeds]
    alls = ones if each or machine.users == 1 else [speed.output_tok_per_s for speed in speeds]
    one, most = ones[0], max(alls, key=lambda value: value.value)
    spans = [(value.low, value.high) for value in (one, most)]
    if machine.users is None:
        spans = [(min(value.low for value in (*ones, *alls)), max(value.high for value in (*ones, *alls)))]
    fine = any(rate.low <= high * _NEAR_SPEED and rate.high >= low / _NEAR_SPEED for low, high in spans)
    shown, best = show_short(one.value), show_short(most.value)
    if machine.users is None and shown != best:
        truth = say(
            "{one} tok/s for one user, up to {most} tok/s at full load with short texts", one=shown, most=best
        )
    else:
        band = {"low": show_short(most.low), "high": show_short(most.high)}
        truth = say("{value} tok/s predicted ({low}-{high})", value=best, **band)
    return ClaimVerdict(verdict=RIGHT if fine else WRONG, truth=truth, command=machine.command)


@lru_cache(256)
def _speeds_on(machine: StatedMachine) -> tuple[Speed, ...]:
    """The speed at the load that a text names; where it names none, of one user and of a full server."""
    from rigright.verbs.explain import explain

    wishes = [replace(machine.wish, context_tok=None, users=machine.users or 1)]
    if machine.users is None:
        least = {prior.name: min(prior.values) for prior in priors("serving").values()}
        wishes.append(replace(machine.wish, context_tok=None, **least))
    try:
        answers = [explain(machine.model, machine.machine, wish=each) for each in wishes]
    except RigError:
        return ()
    if not all(answer.fits for answer in answers):
        return ()
    return tuple(answer.speed for answer in answers if answer.speed is not None)


@lru_cache(256)
def serves(machine: StatedMachine) -> ClaimVerdict:
    """Whether a model fits a machine; in two bits, which nobody asked for, it does not."""
    from rigright.verbs.explain import explain

    try:
        answer = explain(machine.model, machine.machine, wish=machine.wish)
    except RigError as error:
        return ClaimVerdict(verdict=UNKNOWN, truth=error.sentence, command=machine.command)
    card = answer.fullest
    shown = {
        "format": label(answer.weights),
        "have": show_bytes(card.total_bytes),
        "need": show_bytes(card.need_bytes),
    }
    tiny = machine.weights is None and answer.weights.startswith(TINY)
    if not answer.fits:
        truth = say("does not fit in {format}: {need} a card of {have}", **shown)
    elif tiny:
        truth = say("fits only in {format}", format=shown["format"])
    elif answer.speed is None:
        truth = say("fits in {format}: {need} of {have} a card", **shown)
    else:
        many = answer.speed.concurrency > 1
        rate = answer.speed.output_tok_per_s if many else answer.speed.user_tok_per_s
        truth = say("fits in {format}, {rate} tok/s", format=shown["format"], rate=show_short(rate.value))
    fits = answer.fits and not tiny
    return ClaimVerdict(
        verdict=RIGHT if fits == machine.works else WRONG, truth=truth, command=machine.command
    )


@lru_cache(128)
def trains(machine: StatedMachine) -> ClaimVerdict:
    """Whether a model can be trained on a machine."""
    from rigright.verbs.explain_training import explain_training

    wish = TrainingWish(method=machine.method, objective=machine.objective)
    try:
        trained = explain_training(machine.model, machine.machine, wish=wish)
    except RigError as error:
        return ClaimVerdict(verdict=UNKNOWN, truth=error.sentence, command=machine.command)
    worst = max(trained.ranks, key=lambda rank_use: rank_use.least_bytes - rank_use.total_bytes)
    fits = worst.least_bytes <= worst.total_bytes
    shown = {
        "need": show_bytes(worst.least_bytes),
        "have": show_bytes(worst.total_bytes),
        "method": machine.method,
    }
    truth = say("training ({method}) does not fit: {need} a card of {have}", **shown)
    if fits:
        truth = say("training ({method}) fits: {need} of {have} a card", **shown)
    return ClaimVerdict(
        verdict=RIGHT if fits == machine.works else WRONG, truth=truth, command=machine.command
    )
