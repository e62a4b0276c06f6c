"""One question of a search as plain records: what is run, what may be used, what was wished."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from rigright.arch.count import params
from rigright.arch.record import Arch
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.base.record import dataclass, kept, replace
from rigright.base.units import GIGA, MEGA, TERA
from rigright.base.words import say
from rigright.choice.drafts import NONE, Drafts, drafts_of, head_bytes
from rigright.choice.offload import asked_offload, can_offload, least_offload
from rigright.choice.ways import Site, is_sliced, ways_on
from rigright.choice.work import USUAL_TOK_PER_S, Work, contexts, is_for_one, patience_s, work_of, works
from rigright.demand import SETTINGS, KvStore, Offload, PlanWish, Serving, ServingWish
from rigright.facts.chips import Chip, chips
from rigright.facts.engines import Engine, find_engine
from rigright.facts.formats import find_format
from rigright.facts.host_words import ram_hosts
from rigright.facts.hosts import CPU, Host
from rigright.facts.nodes import Card, Node, chip_card, device_of, find_node
from rigright.facts.units import box_of, devices_of, fills_boxes, sold_count, units_of
from rigright.search.market import Market, counts_of

NODE_CHIPS = 8
MOST_CHIPS = 64
COUNTS = (*range(1, 9), 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64)
MOST_OF = {"consumer": 4, "workstation": 8}  # nobody fills a room with such cards unasked
FREE_ENOUGH = 0.8  # of what the freest of its kind has: less, and a card counts as taken
SOUGHT = (  # of a wish: what cards are sought by
    *("on", "owned", "chips", "vendors", "most_chips", "used"),
    *("buy", "clouds", "spot", "currency"),
)
SINGLE = frozenset({"soc", "embedded"})
_SIZE = re.compile(r"(?P<number>[0-9]*\.?[0-9]+) *(?P<unit>[mbt])", re.IGNORECASE)


_FREE = ServingWish()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Cards alike, and how many of them may be taken."""

    card: Card
    counts: tuple[int, ...]
    per_node: int
    owned: int = 0  # there already
    named: bool = False  # somebody asked for just these
    mix: tuple[Card, ...] = ()  # unlike cards that work together; `card` then stands for all
    beside: tuple[Card, ...] = ()  # the machine's others, which are paid for and wait
    whole: int = 0  # chips of the machine that is paid for, however many of them work; 0: those that work
    host: Host | None = None  # what stands around them, where somebody spoke of it

    @property
    def chip(self) -> Chip:
        """What is on the card."""
        return self.card.chip

    @property
    def room_bytes(self) -> float:
        """What the largest number of them holds together."""
        return sum(card.room_bytes for card in self.mix) or self.card.room_bytes * self.counts[-1]

    @property
    def is_boxed(self) -> bool:
        """Whether boxes have a size of their own: those of a machine that is named, and boards."""
        return bool(self.whole or self.owned or self.mix) or units_of(self.chip).sold[0] > 1

    @property
    def chips(self) -> tuple[Chip, ...]:
        """Every kind of chip in it."""
        return tuple({card.chip.id: card.chip for card in self.mix}.values()) or (self.chip,)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindWay:
    """How weights and caches are kept, in which engine, on which kinds (by their place)."""

    engine: Engine
    weights: str
    kv: str
    kinds: tuple[int, ...]
    usual: bool = True  # the engine that people take for such work on such a chip
    drafts: Drafts = NONE
    offload: Offload | None = None  # what lies in main memory
    kv_store: KvStore | None = None  # caches beside the GPUs
    budget_tok: int | None = None  # tokens of a pass; None here and below: the engine's own
    max_seqs: int | None = None
    utilisation: float | None = None
    graphs: bool = True
    compiled: bool = False

    def serving(self, *, context_tok: int, batch: int = 1, prompt_tok: int | None = None) -> Serving:
        """So many sequences, each so long, kept in this way."""
        return Serving(
            engine=self.engine.asked, weights=self.weights, kv=self.kv, offload=self.offload,
            kv_store=self.kv_store,
            context_tok=context_tok, batch=batch, prompt_tok=prompt_tok,
            **{name: getattr(self, name) for name in SETTINGS},
        )  # fmt: skip

    @property
    def label(self) -> str:
        """The way in a few words."""
        return find_format(self.weights).label


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything a search looks at: a pure function of this."""

    arch: Arch
    wish: PlanWish
    market: Market
    kinds: tuple[Kind, ...]
    ways: tuple[Any, ...]  # each a `Way`, or a way to train
    usual: Work = field(default_factory=lambda: works()["serve"])  # what such work usually is
    cut: ServingWish = _FREE  # a layout that is fixed: counts of None are free
    by_hand: bool = False  # that layout is looked at although no search would try it
    later_params: float | None = None  # of the model that should fit later
    more: bool = False  # engines, formats and layouts beside the usual ones
    level: int = 0  # how much it settles for
    apart: bool = True  # workers for prompts and workers for tokens may be parted
    contexts: tuple[int, ...] = ()  # shorter than the wish's, for where that has no room
    pace_tok_per_s: float = USUAL_TOK_PER_S  # that each user gets at least, where nobody says
    beside: tuple[float, ...] = ()  # users of other questions that ask the same: all are scored in one call

    @property
    def is_loaded(self) -> bool:
        """Whether the load is given; else each layout runs at the highest that its limits leave it."""
        return self.wish.users is not None or self.wish.rate_per_s is not None

    @property
    def users(self) -> tuple[float, ...]:
        """Those that were stated, with those of the questions beside this one; none: the load is open."""
        return () if self.wish.users is None else tuple(sorted({self.wish.users, *self.beside}))

    @property
    def comfort_s(self) -> dict[str, float]:
        """Limits of time that people want who do not name these; none where an output of all is asked for."""
        wish, ttft = self.wish, self.usual.ttft_s
        if ttft is None or wish.tok_per_s is not None:
            return {}
        usual = {"ttft_s": patience_s(ttft, wish.prompt_tok or 0), "tpot_s": 1 / self.pace_tok_per_s}
        return {name: bound for name, bound in usual.items() if getattr(wish, name) is None}

    @property
    def paces(self) -> tuple[Question, ...]:
        """The same for users who read, then for users who wait; where the load is given for the latter."""
        read = self.usual.enough_tok_per_s
        if self.is_loaded or read <= USUAL_TOK_PER_S or "tpot_s" not in self.comfort_s:
            return (self,)
        return (replace(self, pace_tok_per_s=read), self)


def ask(
    arch: Arch,
    wish: PlanWish,
    *,
    market: Market,
    cut: ServingWish = _FREE,
    stated: PlanWish | None = None,
    own: bool = False,
) -> Question:
    """Fill the question in: which kinds of cards, and which ways to run on them.

    `stated`: the wish before it was filled in; `own`: nothing is bought or rented beside what is there.
    """
    kinds = kinds_of(wish, counts=() if own else COUNTS, market=market)
    kinds = tuple(kind for kind in kinds if kind.owned) if own else kinds
    return Question(
        arch=arch,
        wish=wish,
        market=market,
        kinds=kinds,
        ways=ways_of(arch, wish, kinds=kinds, cut=cut),
        contexts=() if stated is None else contexts(stated, wish)[1:],
        usual=work_of(wish.work, arch) if wish.work in works() else works()["serve"],
        cut=cut,
        later_params=None if wish.grows_to is None else _params_of(wish.grows_to),
    )


def kinds_of(wish: PlanWish, *, counts: tuple[int, ...], market: Market) -> tuple[Kind, ...]:
    """The kinds of cards that may be taken: a machine, what is owned, or the whole catalogue.

    `counts`: numbers of cards that are looked for, each or the next that is sold or rented; none: only what
    is there.
    """
    kinds = _kinds_at(market, PlanWish(**{name: getattr(wish, name) for name in SOUGHT}), counts=counts)
    if not kinds:
        raise _none_left(wish, market=market)
    return kinds


@kept
def _kinds_at(market: Market, wish: PlanWish, *, counts: tuple[int, ...]) -> tuple[Kind, ...]:
    return tuple(kind for kind in _kinds(wish, counts=counts, market=market) if kind.counts)


def _none_left(wish: PlanWish, *, market: Market) -> AskError:
    """That nothing is left to look at: chips that were named come in larger numbers."""
    for name in wish.chips if wish.most_chips else ():
        chip = find_node(name).cards[0].chip
        least = counts_of(chip, wish, market=market, asked=(1,))
        if least:
            return AskError(
                say(
                    "{chip} comes {count} at a time: more than {most}",
                    chip=chip.name, count=least[0], most=wish.most_chips or 0,
                ),
                hint=say("raise --max-chips, or remove it"),
            )  # fmt: skip
    return AskError(say("no GPU matches all filters; remove a chip or vendor"))


def _params_of(text: str) -> float:
    """Parameters of "70B", or of a model of that name."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return float(params(open_model(text)))
    return float(match["number"]) * {"m": MEGA, "b": GIGA, "t": TERA}[match["unit"].lower()]


def _kinds(wish: PlanWish, *, counts: tuple[int, ...], market: Market) -> Iterator[Kind]:
    named = wish.on if wish.on is not None else wish.owned
    node = find_node(named) if market.there is None and named is not None else market.there
    if node is not None:
        yield from _of_node(node, wish, counts=() if wish.on is not None else counts, market=market)
    if wish.on is not None or not counts:
        return
    chosen = {find_node(name).cards[0].chip.id for name in wish.chips}
    owned = set() if node is None else {card.chip.id for card in node.cards}
    vendors = {vendor.casefold() for vendor in wish.vendors}
    for chip in chips():
        allowed = (not chosen or chip.id in chosen) and (not vendors or chip.vendor.casefold() in vendors)
        in_shops = chip.offered and chip.segment != "embedded" and (wish.used or not _is_outdated(chip))
        if allowed and chip.id not in owned and (chosen or in_shops):
            yield _catalogue(chip, wish, counts=counts, market=market, named=bool(chosen))


def _is_outdated(chip: Chip) -> bool:
    """Whether new software knows it no more: nobody who does not ask for it is sold one."""
    from rigright.facts.chips import features_of

    features = features_of(chip.isa)
    return features is not None and features.is_ended


def _of_node(node: Node, wish: PlanWish, *, counts: tuple[int, ...], market: Market) -> Iterator[Kind]:
    """The cards of a machine, kind by kind, and together where unlike; `counts`: more may be bought."""
    owned = wish.on is None
    freest: dict[str, float] = {}
    for card in node.cards:
        freest[card.chip.id] = max(card.room_bytes, freest.get(card.chip.id, 0.0))
    alike: dict[tuple[str, float, bool], list[Card]] = {}
    for card in node.cards:
        taken = card.room_bytes < FREE_ENOUGH * freest[card.chip.id]  # by other programs
        alike.setdefault((card.chip.id, card.total_bytes, taken), []).append(card)
    for cards in alike.values():
        there = len(cards) * node.n_nodes
        most = min(there, wish.most_chips or there)
        more = _beside(cards[0].chip, wish, there=there, counts=counts, market=market)
        each = min(devices_of(cards[0].chip), most)  # a card is taken with all its devices
        some = (
            range(each, most + 1, each)
            if most <= MOST_CHIPS
            else (most, *(2**power for power in range(each.bit_length() - 1, most.bit_length())))
        )
        yield Kind(
            card=min(cards, key=lambda card: card.room_bytes),
            counts=tuple(sorted({*some, *more})),
            per_node=max(len(node.cards), box_of(cards[0].chip)) if owned else len(node.cards),
            owned=there if owned else 0,
            named=True,
            whole=0 if owned else there,
            beside=tuple(card for card in node.cards if card not in cards) if node.n_nodes == 1 else (),
            host=node.host,
        )
    if len(alike) > 1 and node.n_nodes == 1:
        yield _mixed(node, owned=owned)


def _beside(
    chip: Chip, wish: PlanWish, *, there: int, counts: tuple[int, ...], market: Market
) -> tuple[int, ...]:
    """Numbers of cards with some that are bought beside those that are there, or all of them rented."""
    most = wish.most_chips or max(MOST_CHIPS, sold_count(chip, 1))
    bought = [there + sold_count(chip, count - there) for count in counts if count > there]
    bought = [count for count in bought if fills_boxes(chip, count)]
    rented = counts_of(chip, replace(wish, buy=False), market=market, asked=counts)
    return tuple(count for count in (*bought, *rented) if count <= most) if counts else ()


def _mixed(node: Node, *, owned: bool) -> Kind:
    """All cards of a machine together, as one kind: its chip bears all their names."""
    count = len(node.cards)
    smallest = min(node.cards, key=lambda card: card.room_bytes)
    tdp_w = sum(card.chip.tdp_w or 0.0 for card in node.cards) / count
    chip = replace(smallest.chip, name=node.shown, tdp_w=tdp_w or None)
    return Kind(
        card=replace(smallest, chip=chip),
        counts=(count,),
        per_node=count,
        owned=count if owned else 0,
        named=True,
        mix=node.cards,
        whole=0 if owned else count,
        host=node.host,
    )


def _catalogue(chip: Chip, wish: PlanWish, *, counts: tuple[int, ...], market: Market, named: bool) -> Kind:
    item = device_of(chip)
    alone = chip.segment in SINGLE or chip.form == "soldered"
    usual = counts[-1] if named else MOST_OF.get(chip.segment, counts[-1])
    most = 1 if alone else wish.most_chips or usual
    return Kind(
        card=chip_card(item),
        counts=counts_of(
            chip,
            wish,
            market=market,
            asked=[count for count in counts if count <= most],
            most=wish.most_chips,
        ),
        per_node=box_of(chip),
        named=named,
    )


def _with_ram(question: Question) -> Iterator[Kind]:
    """One card of each kind that is bought for a desk, in each machine that is bought for its memory.

    A card is left out that another of its maker beats in price, memory, bandwidth and compute: the machine
    around them is the same. What lies in main memory is too slow for many.
    """
    wish = question.wish
    is_named = wish.on is not None or wish.owned is not None
    if is_named or wish.buy is False or not is_for_one(wish):
        return
    there = None if question.market.ordered is None else question.market.ordered.host
    hosts = ram_hosts() if there is None else (there,)
    kinds = [kind for kind in question.kinds if kind.chip.segment in MOST_OF and 1 in kind.counts]
    quotes = [question.market.quote(kind.chip) for kind in kinds]
    worth = [
        (
            kind,
            (-quote.usd, kind.chip.mem_bytes, kind.chip.mem_bytes_per_s, kind.chip.fp16_flops_per_s or 0.0),
        )
        for kind, quote in zip(kinds, quotes, strict=True)
        if not (kind.named or kind.host) and quote is not None
    ]
    for kind, own in worth:
        others = (other for item, other in worth if item.chip.vendor == kind.chip.vendor and other != own)
        if not any(all(map(operator.ge, other, own)) for other in others):
            yield from (replace(kind, counts=(1,), host=host) for host in hosts)


def spilling(question: Question) -> Question:
    """The same on whole machines of which the main memory is known; where they are bought, memory is too."""
    named = [kind for kind in question.kinds if kind.host is not None and kind.named]
    kinds = [kind for kind in (*named, *_with_ram(question)) if kind.host and kind.chip.vendor != CPU]
    return replace(question, kinds=tuple(kinds), ways=())


def offloaded(question: Question) -> Question:
    """The same with ways whose model lies in main memory in part; no ways where none can.

    Of what is bought, each card in the smallest machine that holds it all.
    """
    wish, kinds, ways = question.wish, list[Kind](), list[KindWay]()
    asked = asked_offload(question.arch, question.cut)
    settled = set[tuple[str, str, str]]()  # what a smaller machine is enough for
    for kind in question.kinds:
        if kind.host is None:
            continue
        count = max(kind.whole, kind.owned) or kind.counts[0]
        cards = kind.mix or (kind.card,) * count
        if len(cards) != count or (kind.per_node < count and not kind.mix):
            continue
        site = Site(chips=kind.chips, cards=count, mixed=True)  # layer by layer, as for unlike cards
        able, looked = list[KindWay](), set[tuple[str, str, str]]()
        for way in ways_on(question.arch, wish, site=site):
            packed = (kind.chip.id, way.engine.id, way.weights)
            if not can_offload(way.engine) or (not kind.named and packed in settled | looked):
                continue
            looked.add(packed)  # with its usual cache
            settings = question.cut.settings
            settings["budget_tok"] = settings["budget_tok"] or way.engine.ram_batch
            kind_way = KindWay(
                engine=way.engine, weights=way.weights, kv=way.kv, kinds=(len(kinds),), **settings,
                drafts=drafts_of(question.arch, wish, engine=way.engine),
            )  # fmt: skip
            serving = kind_way.serving(
                context_tok=wish.context_tok or (wish.prompt_tok or 0) + (wish.output_tok or 0),
                batch=max(int(wish.users or 1), 1),
            )
            beside = {"drafts": kind_way.drafts, "context_tok": serving.context_tok}
            taken = head_bytes(question.arch, way.weights, **beside) / count
            left = tuple(
                replace(card, free_bytes=card.room_bytes - taken) if taken else card for card in cards
            )
            offload = asked or least_offload(question.arch, serving, cards=left, host=kind.host)
            if offload is not None:
                able.append(replace(kind_way, offload=offload))
                settled.add(packed)
        if able or kind.named:
            kinds.append(replace(kind, counts=(count,), mix=cards if count > 1 else ()))
            ways += able
    return replace(question, kinds=tuple(kinds), ways=tuple(ways), apart=False)


def ways_of(
    arch: Arch,
    wish: PlanWish,
    *,
    kinds: tuple[Kind, ...],
    more: bool = False,
    others: bool = False,
    cut: ServingWish = _FREE,
) -> tuple[KindWay, ...]:
    """Every way to run it, each with the kinds it runs on; `more` and `others` as in `ways_on`."""
    groups: dict[tuple[str, str, str, bool], list[int]] = {}
    seen: dict[object, list[tuple[str, str, str, bool]]] = {}
    for place, kind in enumerate(kinds):
        cards = max(kind.whole, kind.owned)
        alike = (kind.chip.vendor, kind.chip.isa, kind.chip.segment, kind.chip.architecture, cards)
        key = kind.chips if kind.mix else alike
        if key not in seen:
            boxes = -(-cards // kind.per_node) or 1
            site = Site(
                chips=kind.chips, cards=cards, boxes=boxes, mixed=bool(kind.mix), sliced=is_sliced(cut)
            )
            able = ways_on(arch, wish, site=site, more=more, others=others)
            seen[key] = [(item.engine.id, item.weights, item.kv, item.usual) for item in able]
        for way in seen[key]:
            groups.setdefault(way, []).append(place)
    asked = {find_engine(name).id: find_engine(name) for name in wish.engines}
    ways = tuple(
        KindWay(
            engine=asked.get(engine) or find_engine(engine),
            weights=weights,
            kv=kv,
            kinds=tuple(places),
            usual=usual,
            **cut.settings,
            kv_store=wish.kv_store,
        )
        for (engine, weights, kv, usual), places in groups.items()
    )
    if wish.drafting is None:
        return ways
    pairs = [(way, drafts_of(arch, wish, engine=way.engine)) for way in ways]
    drafted = tuple(replace(way, drafts=drafts) for way, drafts in pairs if drafts.drafted_tok)
    alone = cut is not _FREE and drafted  # one case is explained as it is asked for, though it may be slower
    return drafted if alone else (*ways, *drafted)
