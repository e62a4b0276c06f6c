"""Refuses wishes that no machine can answer, before anything is searched."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.arch.record import Arch
from rigright.base.errors import AskError, clash, unknown
from rigright.base.words import say
from rigright.choice.drafts import check_draft
from rigright.choice.ways import check_format
from rigright.cost.layers import generates, is_generator, transcribes
from rigright.demand import PlanWish, ServingWish, TrainingWish
from rigright.facts.chips import chips
from rigright.facts.clouds import clouds_of, no_prices, offers, providers_of
from rigright.facts.engines import Engine, find_engine
from rigright.facts.formats import find_format, find_kv_format
from rigright.facts.nodes import find_node
from rigright.facts.own_prices import own_clouds
from rigright.options.read import idle, refusals, values_in
from rigright.options.row import EMBED, IMAGE, LEARN, SERVE, SPEECH, TRAIN
from rigright.options.rows import SAMPLE_MODES, TRAINING_MODES, options_of
from rigright.search.find import takes_images
from rigright.verbs.seen.here import is_place

WRITES = frozenset({"chat", "rag", "agent", "rerank"})  # modes of models that read what people write


def check(arch: Arch, wish: PlanWish) -> None:
    """Raise for the first thing that cannot be."""
    for wrong in _wrong(arch, wish):
        raise wrong
    _check_lengths(wish)
    _check_deadline(wish)
    named = [find_engine(engine) for engine in wish.engines]
    _check_able(arch, wish, engine=named[0] if len(named) == 1 else None)
    for form in wish.weights:
        check_format(form)
    if wish.quality is not None:
        find_format(wish.quality)
    for wrong in _lossy(wish):
        raise wrong
    for form in wish.kv:
        find_kv_format(form)
    for name in (wish.on, wish.owned, *wish.chips):
        if name is not None and not is_place(name):
            find_node(name)


def check_single(arch: Arch, wish: ServingWish | TrainingWish, *, work: PlanWish) -> None:
    """The same for one model on one machine: what says nothing of such a model is refused."""
    for error in _other_work(arch, work):
        raise error
    _check_deadline(work)
    trains = isinstance(wish, TrainingWish)
    if isinstance(wish, ServingWish):
        if wish.batch is not None and wish.rate_per_s is not None and generates(arch):
            raise clash("--batch", "--rate")
        _check_lengths(wish)
        _check_able(arch, wish, engine=None if wish.engine is None else find_engine(wish.engine))
    if trains:
        kind = LEARN if arch.task in {"vision", "image"} else TRAIN
    else:
        written = SPEECH if transcribes(arch) else SERVE
        kind = written if generates(arch) else EMBED if arch.task == "embed" else IMAGE
    routed = any(layer.ffn and layer.ffn.experts for layer in arch.trunk.layers)
    asked = ("ep", "attention_dp") if isinstance(wish, ServingWish) and not routed else ()
    for flag in (
        f"--{name.replace('_', '-')}" for name in asked if int(getattr(wish, name) or 0) > (name == "ep")
    ):
        raise AskError(
            say("{model} has no experts: {option} does not apply", model=arch.name, option=flag),
            hint=say("remove {option}", option=flag),
        )
    for option in (*idle(wish, "explain", kind=kind), *idle(work, "explain", kind=kind)):
        raise AskError(
            say("{option} does not apply to {work}", option=option.flag, work=arch.name),
            hint=say("remove {option}", option=option.flag),
        )


def _lossy(wish: PlanWish) -> Iterator[AskError]:
    """Formats that were named and lose more than was allowed."""
    floor = None if wish.quality is None else find_format(wish.quality).loss_rank
    for form in wish.weights if floor is not None else ():
        try:
            lossy = find_format(form).loss_rank > (floor or 0)
        except AskError:  # a word that each engine means otherwise
            continue
        if lossy:
            yield AskError(
                say("{format} loses more than --quality {quality}", format=form, quality=wish.quality),
                hint=say("remove one of them"),
            )


def _check_able(arch: Arch, wish: PlanWish | ServingWish, *, engine: Engine | None) -> None:
    """Refuse drafts of a model, and memory for caches, that the one engine asked for does not use."""
    check_draft(arch, wish.drafting, engine=engine)
    store = wish.kv_store
    if store is None or engine is None:
        return
    from rigright.facts.abilities import NVME, RAM, ability, unable

    for tier, size, name in ((RAM, store.ram_bytes, "RAM"), (NVME, store.nvme_bytes, "NVMe")):
        if size and ability(engine, tier) is None:
            raise unable(engine, tier, what=say("KV cache in {tier}", tier=name), option="--offload-kv")


def _check_lengths(wish: PlanWish | ServingWish) -> None:
    """Refuse a prompt, and what is written after it, that are longer than the context that was asked for."""
    context, least = wish.context_tok, (wish.prompt_tok or 0) + (wish.output_tok or 0)
    if context is not None and least > context:
        raise AskError(
            say(
                "{told} tokens do not fit in a context of {context}",
                told=f"{least:,}",
                context=f"{context:,}",
            ),
            hint=say("--context counts prompt and output: use --context {least}, or remove it", least=least),
        )


def _check_deadline(wish: PlanWish) -> None:
    """Refuse a deadline of work that nobody said the amount of."""
    if wish.days is None or wish.samples is not None:
        return
    from rigright.choice.training import tokens_of

    if tokens_of(wish) is not None:
        return
    more = "--tokens" if wish.work in TRAINING_MODES else "--requests"
    more = "--samples" if wish.work in SAMPLE_MODES else f"{more} | --samples"
    raise AskError(
        say("{option} needs {others}", option="--days", others=more),
        hint=say("add {others}, or remove {option}", option="--days", others=more),
    )


def kind_of(arch: Arch, wish: PlanWish) -> str:
    """What the work is, now that the model is known."""
    trains = wish.work in TRAINING_MODES
    if not takes_images(arch, wish):
        return TRAIN if trains else SPEECH if transcribes(arch) else SERVE
    if trains:
        return LEARN
    return EMBED if arch.task == "embed" else IMAGE


def _other_work(arch: Arch, wish: PlanWish) -> Iterator[AskError]:
    """That the model is not made for such work."""
    ranks = wish.work == "rerank" and arch.task == "embed"  # a cross-encoder reads question and passage whole
    if wish.work in WRITES and not generates(arch) and not ranks:
        yield AskError(
            say("{model} does not generate text", model=arch.name),
            hint=say("add --mode {modes}", modes=EMBED if arch.task == "embed" else " | ".join(SAMPLE_MODES)),
        )
    if wish.work in SAMPLE_MODES and generates(arch):
        yield AskError(
            say("{model} generates text, not images or embeddings", model=arch.name),
            hint=say("add --mode {modes}", modes="serve | chat | batch"),
        )
    if wish.work == IMAGE and arch.task == EMBED:
        yield AskError(
            say("{model} is for text embeddings: it has no images", model=arch.name),
            hint=say("add --mode {modes}", modes=EMBED),
        )
    if wish.work == EMBED and is_generator(arch):
        yield AskError(
            say("{model} is for images: it makes no embeddings", model=arch.name),
            hint=say("add --mode {modes}", modes=IMAGE),
        )
    if wish.work == SPEECH and not transcribes(arch):
        yield AskError(
            say("{model} does not transcribe speech", model=arch.name),
            hint=say("remove {option}", option="--mode"),
        )
    if wish.work in WRITES and transcribes(arch):
        yield AskError(
            say("{model} transcribes speech", model=arch.name), hint=say("add --mode {modes}", modes=SPEECH)
        )


def _wrong(arch: Arch, wish: PlanWish) -> Iterator[AskError]:
    yield from _other_work(arch, wish)
    table = {option.name: option for option in options_of("plan")}
    kinds = frozenset({kind_of(arch, wish)})
    values = values_in(wish, "plan", kinds=kinds)
    for name, value in values.items():
        table[name].check(value)
        yield from refusals(table[name], values=values, kinds=kinds, model=arch.name)
    if takes_images(arch, wish):
        from rigright.choice.networks import ENGINE

        if any(find_engine(name).id != ENGINE for name in wish.engines):
            yield AskError(
                say("{model} does not generate text: it has no choice of engine", model=arch.name),
                hint=say("remove {option}", option="--engine"),
            )
    yield from _names(wish)


def check_clouds(wish: PlanWish) -> None:
    """Refuse clouds that have no prices."""
    for wrong in _names(wish):
        raise wrong


def _names(wish: PlanWish) -> Iterator[AskError]:
    known = sorted({chip.vendor for chip in chips()})
    rented = sorted({offer.provider for offer in offers()} | own_clouds())
    for kind, asked, there in (("vendor", wish.vendors, known), ("cloud", wish.clouds, rented)):
        for name in asked:
            is_there = name.casefold() in {text.casefold() for text in there}
            if not is_there and not (kind == "cloud" and providers_of(name)):
                yield _machine_of_cloud(kind, name) or unknown(say("{text}", text=kind), name, known=there)
    yield from _unrented(wish)


def _machine_of_cloud(kind: str, name: str) -> AskError | None:
    """Why a cloud without prices, or a machine of one, is no cloud to rent from."""
    if kind != "cloud" or not clouds_of(name):
        return no_prices(name)
    hint = say("add {option}", option=f"--on {shlex.quote(name)}")
    return AskError(say('"{name}" is a machine, not a cloud', name=name), hint=hint)


def _unrented(wish: PlanWish) -> Iterator[AskError]:
    """A machine that was named with clouds none of which rents such cards."""
    if wish.on is None or not wish.clouds or is_place(wish.on):
        return
    asked = {text.casefold() for name in wish.clouds for text in (name, *providers_of(name))}
    if asked & {own_cloud.casefold() for own_cloud in own_clouds()}:
        return  # at prices of the user's own
    there = {card.chip.id for card in find_node(wish.on).cards}
    rented = {offer.chip for offer in offers() if offer.provider.casefold() in asked}
    if there and there.isdisjoint(rented):
        first, second = f"--on {shlex.quote(wish.on)}", f"--cloud {','.join(wish.clouds)}"
        yield clash(first, second)
