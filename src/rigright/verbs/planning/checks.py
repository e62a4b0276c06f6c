"""Refuses wishes that no machine can answer, before anything is searched."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.words import Sentence, say
from rigright.cost.memory_kv import generates
from rigright.demand import PlanWish
from rigright.facts.chips import chips
from rigright.facts.clouds import offers
from rigright.facts.engines import find_engine
from rigright.facts.formats import find_format
from rigright.facts.kv_formats import find_kv_format
from rigright.facts.nodes import find_node
from rigright.search.find import takes_images
from rigright.verbs.here import is_place
from rigright.verbs.planning.words import OPTIONS

SERVING = frozenset({"serve", "chat", "batch"})
OF_TOKENS = {
    "output_tok": "--output", "context_tok": "--context", "seq_tok": "--seq", "train_tok": "--tokens",
    "tpot_s": "--tpot", "users": "--users", "kv": "--kv", "grows_to": "--grows-to",
}  # fmt: skip
OF_SAMPLES = {"image_px": "--image-size", "steps": "--steps", "latency_s": "--latency"}
ABOVE_ZERO = (
    *("prompt_tok", "output_tok", "context_tok", "users", "rate_per_s", "ttft_s", "tpot_s", "tok_per_s"),
    *("image_px", "steps", "latency_s", "draft", "draft_tok"),
    *("budget_usd", "usd_per_h", "usd_per_mtok", "power_w", "most_chips", "growth", "train_tok", "samples"),
    *("epochs", "seq_tok", "global_batch", "days", "years", "duty", "most_plans", "tariff_usd_per_kwh"),
)


def check(arch: Arch, wish: PlanWish) -> None:
    """Raise for the first thing that cannot be."""
    for wrong in _wrong(arch, wish):
        raise AskError(wrong)
    for engine in wish.engines:
        find_engine(engine)
    for form in (*wish.weights, *(() if wish.quality is None else (wish.quality,))):
        find_format(form)
    for form in wish.kv:
        find_kv_format(form)
    for name in (wish.on, wish.owned, *wish.chips):
        if name is not None and not is_place(name):
            find_node(name)


def _wrong(arch: Arch, wish: PlanWish) -> Iterator[Sentence]:
    yield from _numbers(wish)
    yield from _places(wish)
    yield from _loads(wish)
    if wish.work == "chat" and not generates(arch):
        yield say("{model} writes no text token by token; ask with --mode image or embed", model=arch.name)
    idle = _idle(arch, wish)
    if idle:
        yield say(
            "{model} works on whole images or texts: {options} would change nothing",
            model=arch.name,
            options=", ".join(idle),
        )
    idle = [flag for name, flag in OF_SAMPLES.items() if getattr(wish, name) and generates(arch)]
    if idle:
        yield say(
            "{model} writes text: {options} would change nothing", model=arch.name, options=", ".join(idle)
        )
    if wish.work in {"image", "embed"} and generates(arch):
        yield say("{model} writes text; ask with --mode serve, chat or batch", model=arch.name)


def _idle(arch: Arch, wish: PlanWish) -> list[str]:
    """What was said of tokens, to a network that has none."""
    if generates(arch) or not takes_images(arch, wish):
        return []
    names = OF_TOKENS | ({"prompt_tok": "--prompt"} if arch.task != "embed" else {})
    flags = [flag for name, flag in names.items() if getattr(wish, name)]
    from rigright.cost.images.networks import ENGINE

    engines = [name for name in wish.engines if find_engine(name).id != ENGINE]
    return [*flags, *(["--engine"] if engines else [])]


def _numbers(wish: PlanWish) -> Iterator[Sentence]:
    for name in ABOVE_ZERO:
        value = getattr(wish, name)
        if value is not None and not value > 0:
            yield say("{name} cannot be {value}: it is above zero", name=_option(name), value=value)


def _option(field: str) -> str:
    """The option that fills a field of the wish."""
    return next((f"--{name}" for name, option in OPTIONS.items() if option.field == field), field)


def _places(wish: PlanWish) -> Iterator[Sentence]:
    if wish.on is not None and (wish.owned is not None or wish.chips):
        yield say("--on names the machine; leave --own and --chips out, or leave --on out")
    known = sorted({chip.vendor for chip in chips()})
    for vendor in wish.vendors:
        if vendor.casefold() not in {name.casefold() for name in known}:
            yield say('no vendor "{name}"; there are {known}', name=vendor, known=", ".join(known))
    rented = sorted({offer.provider for offer in offers()})
    for cloud in wish.clouds:
        if cloud.casefold() not in {name.casefold() for name in rented}:
            yield say('no prices of a cloud "{name}"; there are {known}', name=cloud, known=", ".join(rented))
    if wish.clouds and wish.buy:
        yield say("--cloud is rented and --buy is bought; leave one of them out")


def _loads(wish: PlanWish) -> Iterator[Sentence]:
    if wish.users is not None and wish.rate_per_s is not None:
        yield say("--users and --rate are two ways to tell the load; say one of them")
    if wish.draft_tok is not None and wish.draft is None:
        yield say("--draft-tokens tells how many are drafted; say with --draft what share of them is kept")
    longest = (wish.prompt_tok or 0) + (wish.output_tok or 0)
    if wish.context_tok is not None and wish.prompt_tok and wish.output_tok and longest > wish.context_tok:
        yield say(
            "{prompt} tokens in and {output} out are more than the context of {context}",
            prompt=f"{wish.prompt_tok:,}",
            output=f"{wish.output_tok:,}",
            context=f"{wish.context_tok:,}",
        )
