"""What runs on this machine: every model of the zoo in the best format that fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rigright.arch import count
from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.base.errors import AskError, RigError
from rigright.base.words import say
from rigright.cost.estimate import Estimate
from rigright.cost.images.networks import takes_samples
from rigright.cost.memory_device import device_of
from rigright.cost.memory_kv import generates
from rigright.demand import ServingWish
from rigright.facts.engines import Engine, find_engine
from rigright.facts.formats import Format, find_format, ggml_types
from rigright.facts.licences import licence_of
from rigright.facts.nodes import Node
from rigright.report.fitted import Fitted, Fitting
from rigright.verbs.here import the_node
from rigright.verbs.serving.cards import worst
from rigright.verbs.serving.case import GGUF, Case, build_case
from rigright.verbs.serving.limits import context_limit
from rigright.verbs.serving.samples import sample_speed
from rigright.verbs.serving.speed import speed

LEAST_CONTEXT_TOK = 4096  # what a row must hold when nobody says
MOST_LOSS = 8  # formats that lose more are shown only when asked for
SHOWN = 20
AT_ONCE = 32  # images that are looked at, or texts, on each card
BITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FitWish:
    """What the models shall be, and how they shall run."""

    task: str | None = None
    family: str | None = None
    licence: str | None = None
    min_params: float | None = None
    max_params: float | None = None
    context_tok: int | None = None
    engine: str | None = None
    every_format: bool = False  # a row for each format that fits, the lossy ones too
    limit: int | None = SHOWN  # None: all


MOST_TOLD = 12


def fit(on: str | None = None, *, wish: FitWish | None = None, asked: str = "") -> Fitted:
    """Every model that fits there or here, best first: most parameters, then least loss of quality."""
    wish = wish or FitWish()
    if wish.limit is not None and wish.limit < 1:
        raise AskError(say("the limit is 1 or more, not {limit}", limit=wish.limit))
    node = the_node(on)
    archs, unread = _models(node, wish)
    if not archs:
        raise _nothing_asked(wish)
    cases = [case for arch in archs for case in _fitting(arch, node, wish=wish)]
    cases.sort(key=lambda case: (-count.params(case.arch), find_format(case.serving.weights).loss_rank))
    shown = cases if wish.limit is None else cases[: wish.limit]
    free = [float(device_of(card, find_engine("llama.cpp")).free_bytes) for card in node.cards]
    return Fitted(
        machine=node.shown,
        free_bytes=sum(free) * node.n_nodes,
        total_bytes=sum(card.total_bytes for card in node.cards) * node.n_nodes,
        context_tok=wish.context_tok or LEAST_CONTEXT_TOK,
        rows=tuple(_row(case) for case in shown),
        found=len({case.arch.name for case in cases}),
        looked_at=len(archs),
        unread=unread,
        notes=node.notes,
        asked=asked,
    )


def _models(node: Node, wish: FitWish) -> tuple[list[Arch], tuple[str, ...]]:
    """Models of the zoo that the wish allows, one of each architecture."""
    found: dict[object, Arch] = {}
    unread = []
    for name in zoo.names():
        try:
            arch = zoo.arch(name)
        except RigError:
            unread.append(name)
            continue
        if _wanted(arch, wish):
            stored = None if _reads_gguf(_engine(arch, node, wish=wish)) else arch.stored
            same = found.setdefault((arch.towers, stored), arch)
            if len(_own_name(arch)) < len(_own_name(same)):
                found[arch.towers, stored] = arch
    return list(found.values()), tuple(unread)


def _nothing_asked(wish: FitWish) -> AskError:
    """No model of the zoo is wanted: what there is of what was asked."""
    archs = [arch for arch in map(zoo.arch, zoo.names()) if arch is not None]
    said = {
        "task": {arch.task for arch in archs},
        "family": {arch.family for arch in archs},
        "licence": {licence_of(arch.name) or "" for arch in archs},
    }
    for name, there in said.items():
        asked = getattr(wish, name)
        if asked is not None and not any(asked.lower() in one.lower() for one in there):
            words = sorted(there - {""})[:MOST_TOLD]
            return AskError(
                say(
                    'no model of the zoo has {field} "{asked}"; there are {there}',
                    field=name,
                    asked=asked,
                    there=", ".join(words),
                )
            )
    return AskError(say("no model of the zoo is all that was asked; leave one of the filters out"))


def _own_name(arch: Arch) -> str:
    """Of models alike in all but training, the one with the shortest name stands for all."""
    return arch.name.rpartition("/")[2]


def _wanted(arch: Arch, wish: FitWish) -> bool:
    params = count.params(arch)
    return (
        (wish.task is None or arch.task == wish.task)
        and (wish.family is None or wish.family.lower() in arch.family.lower())
        and (wish.licence is None or wish.licence.lower() in (licence_of(arch.name) or "").lower())
        and (wish.min_params is None or params >= wish.min_params)
        and (wish.max_params is None or params <= wish.max_params)
    )


def _fitting(arch: Arch, node: Node, *, wish: FitWish) -> Iterator[Case]:
    """The case of the best format that fits, or of every format."""
    free = sum(card.free_bytes or card.total_bytes for card in node.cards) * node.n_nodes
    params = count.params(arch)
    for name in _formats(arch, node, wish=wish):
        if params * _least_bits(name) / BITS > free:
            continue
        case = _case(arch, node, wish=wish, form=name)
        if case is not None and float(worst(case).spare_bytes) >= 0:
            yield case
            if not wish.every_format:
                return


def _formats(arch: Arch, node: Node, *, wish: FitWish) -> list[str]:
    """Formats the engine takes for this model, best first."""
    own = _engine(arch, node, wish=wish)
    if arch.stored is not None and not _reads_gguf(own):
        return [arch.stored]
    names = {*own.formats, *(() if _reads_gguf(own) else (arch.dtype,))}
    if arch.dtype == "fp16":
        names.discard("bf16")
    kept = [name for name in names if wish.every_format or find_format(name).loss_rank <= MOST_LOSS]
    return sorted(kept, key=lambda name: (find_format(name).loss_rank, -_least_bits(name)))


def _engine(arch: Arch, node: Node, *, wish: FitWish) -> Engine:
    """The engine asked for; else llama.cpp on consumer cards and Macs, vLLM on others, torch for the rest."""
    if wish.engine is not None:
        return find_engine(wish.engine)
    if not generates(arch):
        return find_engine("transformers")
    home = node.is_mixed or any(card.chip.segment not in {"datacenter", "workstation"} for card in node.cards)
    return find_engine("llama.cpp" if home else "vllm")


def _reads_gguf(engine: Engine) -> bool:
    return engine.formats[0].startswith(GGUF)


def _least_bits(name: str) -> float:
    """No tensor of the format takes fewer bits an element: a bound that needs no count."""
    form = find_format(name)
    if isinstance(form, Format):
        return min(form.bits, form.rest_bits)
    kind = ggml_types()[form.base]
    return min(kind.block_bytes * BITS / kind.block_elems, 2.0)


def _case(arch: Arch, node: Node, *, wish: FitWish, form: str) -> Case | None:
    context = wish.context_tok or min(LEAST_CONTEXT_TOK, arch.max_context_tok or LEAST_CONTEXT_TOK)
    if wish.context_tok is not None and generates(arch) and (arch.max_context_tok or context) < context:
        return None
    asked = ServingWish(engine=_engine(arch, node, wish=wish).id, weights=form, context_tok=context)
    try:
        return build_case(arch, node, wish=asked)
    except AskError:
        return None  # heads that cannot be cut over so many cards


def _samples_per_s(case: Case) -> Estimate | None:
    """Of whole images or texts, as many at once on each card as are usual, where they fit."""
    if not takes_samples(case.arch):
        return None
    usual = 1 if case.arch.task == "image" else AT_ONCE
    many = case.over(batch=usual * len(case.cards))
    found = sample_speed(many if float(worst(many).spare_bytes) >= 0 else case)
    return None if found is None else found.rate


def _row(case: Case) -> Fitting:
    memory = worst(case)
    arch = case.arch
    context = context_limit(case) if generates(arch) else None
    return Fitting(
        model=arch.name,
        task=arch.task,
        family=arch.family,
        params=count.params(arch),
        active_params=count.active_params(arch),
        weights_format=case.serving.weights,
        engine=case.engine.id,
        weights_bytes=case.weights.total_bytes,
        used_bytes=float(memory.need_bytes),
        spare_bytes=float(memory.spare_bytes),
        context_tok=context,
        model_context_tok=arch.max_context_tok,
        is_endless=generates(arch) and context is None,
        licence=licence_of(arch.name),
        samples_per_s=_samples_per_s(case),
        user_tok_per_s=speed(case, memory).user_tok_per_s if generates(arch) else None,
    )
