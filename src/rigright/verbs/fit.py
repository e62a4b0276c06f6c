"""What runs on this machine: every model of the zoo in the best format that fits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product

from rigright.arch import count
from rigright.arch.record import Arch
from rigright.arch.sight import eye_of
from rigright.arch.sources import zoo
from rigright.arch.sources.identity import identity_of
from rigright.arch.sources.quality import copies, rated, series_of
from rigright.base.errors import AskError, RigError
from rigright.base.patience import patience
from rigright.base.record import Inner, dataclass, derived, replace
from rigright.base.words import Sentence, say
from rigright.choice.case import Case, fixed
from rigright.choice.offload import can_offload, least_offload, ram_bytes, with_offload
from rigright.choice.ways import NO_LOSS, Site, formats_in, taken_on, ways_on
from rigright.choice.work import USUAL_TOK_PER_S, contexts, seen_with, settled
from rigright.cost.estimate import Estimate
from rigright.cost.layers import generates, takes_samples
from rigright.demand import Images, PlanWish, ServingWish
from rigright.facts.engines import Engine
from rigright.facts.formats import find_format
from rigright.facts.licences import licence_of
from rigright.facts.nodes import Node
from rigright.predict.ranks import context_limit, worst
from rigright.predict.speed import speed
from rigright.search.single import single
from rigright.terms.memory import is_over
from rigright.verbs.seen.here import the_node
from rigright.verbs.serving.samples import sample_speed


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """One model in one format that fits."""

    model: str  # its id
    task: str  # what it is for
    family: str  # of its architecture
    params: int  # of the model
    active_params: int  # that work on a token
    weights_format: str  # a name of `rigright look-up formats`
    kv_format: str | None  # of its cache, "16bit" where nothing smaller was needed
    engine: str  # that runs it
    weights_bytes: float  # of all cards
    used_bytes: float  # of the fullest card, with the context asked for
    spare_bytes: float  # on the fullest card
    context_tok: int | None  # largest with one sequence; None where nothing is generated, or no limit is
    model_context_tok: int | None  # what the model itself allows
    is_endless: bool = False  # it generates, and no context is too long
    licence: str | None  # of the model
    quality: float | None = None  # the arena's score, where it has one
    released: str | None = None  # ISO date
    samples_per_s: Estimate | None = None  # of whole images or texts
    audio_h_per_h: Estimate | None = None  # of what transcribes
    user_tok_per_s: Estimate | None = None  # of each user, under that load; None where nothing is generated
    output_tok_per_s: Estimate | None = None  # of all that are in flight
    concurrency: float | None = None  # requests in flight: one at home, elsewhere as many as suit it
    ram_bytes: float = 0.0  # of it in main memory, because the cards have no room
    sized_tok: int | None = None  # context of each sequence that is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """All that fits, cut to the limit."""

    machine: str
    free_bytes: float
    total_bytes: float
    context_tok: int | None  # every row is sized for at least so many
    models: tuple[Fitting, ...]
    found: int  # before the limit
    looked_at: int
    unread: tuple[str, ...] = ()  # models of the zoo that cannot be read
    notes: tuple[Sentence, ...] = ()
    asked: Inner[str] = ""

    @derived
    def order(self) -> str:
        """How rows are ordered."""
        return "arena score, or its estimate from size and age, less what the format loses"


SAMPLE_TOK = 512  # of a text that is read as a whole
SHOWN = 20
BEST_SHARE = 0.8  # of a bandwidth that any engine reaches
LOST_SCORE = 3.0  # of the arena, for the square of each rank that a format loses: Q4 27, Q3 75, Q2 150
AT_ONCE = 32  # images that are looked at, or texts, on each card


@dataclass(frozen=True, slots=True, kw_only=True)
class FitWish:
    """What the models shall be, and how they shall run."""

    task: str | None = None
    family: str | None = None
    licence: str | None = None
    min_params: float | None = None
    max_params: float | None = None
    context_tok: int | None = None
    images: Images | None = None  # in each request
    users: int | None = None  # at once, each with a whole context; None: one
    engine: str | None = None
    every_format: bool = False  # a row for each format that fits, the lossy ones too
    limit: int | None = SHOWN  # None: all

    @property
    def batch(self) -> int:
        """Sequences that lie in memory at once."""
        return self.users or 1

    @property
    def at_once(self) -> ServingWish:
        """The serving that has to fit."""
        return ServingWish(batch=self.batch)


MOST_LISTED = 12
MOST_S = 10.0  # of rows: the best stand first


def fit(on: str | None = None, *, wish: FitWish | None = None, asked: str = "") -> Fitted:
    """Every model that fits there or here, the most useful first, one of each family.

    Usefulness is the arena's score, or what size and age tell of it, less what the format loses.
    """
    wish = wish or FitWish()
    if wish.limit is not None and wish.limit < 1:
        raise AskError(say("the limit must be at least 1, got {limit}", limit=wish.limit))
    node = the_node(on)
    archs, unread = models_of(wish)
    if not archs:
        raise _nothing_asked(wish)
    cases = [case for arch in archs for case in _fitting(arch, node, wish=wish)]
    worth = {case: usefulness(case.arch, case.serving.weights) for case in cases}
    cases.sort(key=lambda case: (not generates(case.arch), _crawls(case), -worth[case]))
    kept = cases if wish.every_format or wish.family is not None else _one_a_family(cases)
    shown = kept if wish.limit is None else kept[: wish.limit]
    rows, notes = _rows(shown, node, wish=wish)
    free = [card.room_bytes for card in node.cards]
    return Fitted(
        machine=node.shown,
        free_bytes=sum(free) * node.n_nodes,
        total_bytes=sum(card.total_bytes for card in node.cards) * node.n_nodes,
        context_tok=min((row.sized_tok for row in rows if row.sized_tok), default=wish.context_tok),
        models=rows,
        found=len({case.arch.name for case in cases}),
        looked_at=len(archs),
        unread=unread,
        notes=(*node.notes, *notes),
        asked=asked,
    )


def _rows(
    cases: list[Case], node: Node, *, wish: FitWish
) -> tuple[tuple[Fitting, ...], tuple[Sentence, ...]]:
    """A row each, as many as there is time for; and how many were left."""
    until, rows = time.monotonic() + patience(MOST_S), list[Fitting]()
    for case in cases:
        if time.monotonic() > until:
            left = say("{count} more models are not listed: narrow the question, or lower --limit",
                       count=len(cases) - len(rows))  # fmt: skip
            return tuple(rows), (left,)
        rows.append(_row(case, node, wish=wish))
    return tuple(rows), ()


def usefulness(arch: Arch, weights: str) -> float:
    """The arena's score, or its estimate, less what the format loses."""
    lost = max(find_format(weights).loss_rank - NO_LOSS, 0)
    return rated(arch)[0] - lost * lost * LOST_SCORE


def _crawls(case: Case) -> bool:
    """Whether not even the bandwidth of the memory allows a pace that people read at."""
    met = count.active_params(case.arch) / max(count.params(case.arch), 1)
    size, rate = case.weights.total_bytes, min(card.chip.mem_bytes_per_s for card in case.cards)
    if case.host is not None and case.serving.offload is not None:
        size, rate = _moved_bytes(case), case.host.mem_bytes_per_s
    return generates(case.arch) and rate * BEST_SHARE < size * met * USUAL_TOK_PER_S


def _moved_bytes(case: Case) -> float:
    """What of it lies in main memory beside the cards."""
    offload = case.serving.offload
    return 0.0 if offload is None else ram_bytes(case.arch, case.serving, offload=offload)


def _one_a_family(cases: list[Case]) -> list[Case]:
    """The best of each series of models: "Qwen3", "Llama-3.1", whoever packed it."""
    result: dict[str, Case] = {}
    for case in cases:
        result.setdefault(series_of(case.arch.name), case)
    return list(result.values())


def models_of(wish: FitWish) -> tuple[list[Arch], tuple[str, ...]]:
    """Models of the zoo that the wish allows, one of each architecture."""
    arches: dict[object, Arch] = {}
    unread = []
    for name in (name for name in zoo.every_name() if name not in copies()):
        try:
            arch = zoo.arch(name)
        except RigError:
            unread.append(name)
            continue
        if _wanted(arch, wish):
            alike = (arch.towers, arch.stored, arch.max_context_tok)
            arches[alike] = max(arches.get(alike, arch), arch, key=_standing)
    return [seen_with(arch, wish.images) for arch in arches.values()], tuple(unread)


def _nothing_asked(wish: FitWish) -> AskError:
    """No model of the zoo is wanted: what there is of what was asked."""
    archs = [arch for arch in map(zoo.arch, zoo.names()) if arch is not None]
    groups = {
        "task": {arch.task for arch in archs},
        "family": {arch.family for arch in archs},
        "licence": {licence_of(arch.name) or "" for arch in archs},
    }
    for name, there in groups.items():
        asked = getattr(wish, name)
        if asked is not None and not any(asked.lower() in text.lower() for text in there):
            words = sorted(there - {""})[:MOST_LISTED]
            return AskError(
                say(
                    'no model has {field} "{asked}"; known: {there}',
                    field=name,
                    asked=asked,
                    there=", ".join(words),
                )
            )
    return AskError(say("no model matches all filters; remove one"))


def _standing(arch: Arch) -> tuple[float, bool, int]:
    """Of models alike in all but training the best stands; of equals what is packed, then the shortest."""
    identity = identity_of(arch.name)
    packed = identity is not None and identity.ollama is not None
    return rated(arch)[0], packed, -len(arch.name.rpartition("/")[2])


def _wanted(arch: Arch, wish: FitWish) -> bool:
    params = count.params(arch)
    return (
        (wish.task is None or arch.task == wish.task)
        and (wish.images is None or (generates(arch) and eye_of(arch) is not None))
        and (wish.family is None or wish.family.lower() in arch.family.lower())
        and (wish.licence is None or wish.licence.lower() in (licence_of(arch.name) or "").lower())
        and (wish.min_params is None or params >= wish.min_params)
        and (wish.max_params is None or params <= wish.max_params)
    )


def _fitting(arch: Arch, node: Node, *, wish: FitWish) -> Iterator[Case]:
    """The case of the best format that fits, or of every one; with a shorter context where none was said."""
    stated = PlanWish(
        on=node.shown, engines=() if wish.engine is None else (wish.engine,), context_tok=wish.context_tok,
        images=wish.images,
    )  # fmt: skip
    if not generates(arch):
        case = fixed(arch, node, wish=wish.at_once, work=replace(stated, context_tok=SAMPLE_TOK))
        if float(worst(case).spare_bytes) >= 0:
            yield case
        return
    if wish.context_tok is not None and (arch.max_context_tok or wish.context_tok) < wish.context_tok:
        return
    chips = tuple({card.chip.id: card.chip for card in node.cards}.values())
    work = settled(arch, stated, chips=chips)
    site = Site(chips=chips, cards=node.n_cards, boxes=node.n_nodes, mixed=node.is_mixed)
    engine = taken_on(arch, work, site=site)[0]
    room = sum(card.room_bytes for card in node.cards) * node.n_nodes
    forms = formats_in(arch, work, engine=engine, chips=chips, more=wish.every_format)
    texts: set[str] = set()
    for context, form in product(contexts(stated, work)[:2], tuple(forms)):
        if form in texts or is_over(arch, form, room=room):
            continue
        case = fixed(arch, node, wish=wish.at_once, work=replace(work, context_tok=context, weights=(form,)))
        if float(worst(case).spare_bytes) >= 0:
            yield case
            texts.add(form)
            if not wish.every_format:
                return
    if not texts:
        short = replace(work, context_tok=contexts(stated, work)[:2][-1])
        spilled = _spilled(arch, node, wish=wish, work=work, engine=engine)
        yield from _squeezed(arch, node, wish=wish, work=short, site=site) if spilled is None else (spilled,)


def _spilled(arch: Arch, node: Node, *, wish: FitWish, work: PlanWish, engine: Engine) -> Case | None:
    """With a part in main memory, in the smallest format that people take."""
    if not can_offload(engine) or node.host is None or node.has_no_cards:
        return None
    chips = [card.chip for card in node.cards]
    forms = tuple(formats_in(arch, work, engine=engine, chips=chips))
    if not forms:
        return None
    case = fixed(arch, node, wish=wish.at_once, work=replace(work, weights=(forms[-1],)))
    offload = least_offload(arch, case.serving, cards=node.cards, host=node.host)
    return None if offload is None else replace(case, serving=with_offload(case.serving, offload))


def _squeezed(arch: Arch, node: Node, *, wish: FitWish, work: PlanWish, site: Site) -> Iterator[Case]:
    """The first way that fits of all there are: formats that lose more, smaller caches, other engines."""
    room = sum(card.room_bytes for card in node.cards) * node.n_nodes
    for way in ways_on(arch, work, site=site, more=True):
        if is_over(arch, way.weights, room=room):
            continue
        packed = replace(work, engines=(way.engine.id,), weights=(way.weights,), kv=(way.kv,))
        case = fixed(arch, node, wish=wish.at_once, work=packed)
        if float(worst(case).spare_bytes) >= 0:
            yield case
            return


def _samples_per_s(case: Case) -> Estimate | None:
    """Of whole images or texts, as many at once on each card as are usual, where they fit."""
    if not takes_samples(case.arch):
        return None
    usual = 1 if case.arch.task == "image" else AT_ONCE
    many = case.over(batch=usual * len(case.cards))
    result = sample_speed(many if float(worst(many).spare_bytes) >= 0 else case)
    return None if result is None else result.rate


def _row(case: Case, node: Node, *, wish: FitWish) -> Fitting:
    arch = case.arch
    if generates(arch):
        asked = ServingWish(
            engine=wish.engine, context_tok=wish.context_tok, users=wish.users, images=wish.images
        )
        if wish.every_format or wish.users:
            asked = replace(asked, weights=case.serving.weights)
        if wish.users:  # the way that has room for them all
            context = case.serving.context_tok
            asked = replace(asked, engine=case.engine.id, kv=case.serving.kv, context_tok=context)
        case = single(arch, node, wish=asked).case
    memory, identity = worst(case), identity_of(arch.name)
    context = context_limit(case.over(batch=-(-wish.batch // case.layout.dp))) if generates(arch) else None
    timed = speed(case) if generates(arch) else None
    return Fitting(
        model=arch.name,
        task=arch.task,
        family=arch.family,
        quality=rated(arch)[0] if rated(arch)[1] else None,
        released=None if identity is None else identity.released,
        params=count.params(arch),
        active_params=count.active_params(arch),
        weights_format=case.serving.weights,
        kv_format=case.serving.kv,
        engine=case.engine.id,
        weights_bytes=case.weights.total_bytes,
        used_bytes=float(memory.need_bytes),
        spare_bytes=float(memory.spare_bytes),
        context_tok=context,
        model_context_tok=arch.max_context_tok,
        is_endless=generates(arch) and context is None,
        licence=licence_of(arch.name),
        samples_per_s=_samples_per_s(case),
        audio_h_per_h=None if timed is None else timed.audio_h_per_h,
        user_tok_per_s=None if timed is None else timed.user_tok_per_s,
        output_tok_per_s=None if timed is None else timed.output_tok_per_s,
        concurrency=None if timed is None else timed.concurrency,
        ram_bytes=_moved_bytes(case),
        sized_tok=case.serving.context_tok if generates(arch) else None,
    )
