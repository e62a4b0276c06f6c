"""One question of a search as plain records: what is run, what may be used, what was wished."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from rigright.arch.count import params
from rigright.arch.record import Arch
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.base.units import GIGA, MEGA, TERA
from rigright.base.words import say
from rigright.demand import PlanWish
from rigright.facts.chips import Chip, chips
from rigright.facts.engines import Engine, find_engine
from rigright.facts.formats import find_format
from rigright.facts.kv_formats import find_kv_format
from rigright.facts.nodes import Card, Node, device_of, find_node
from rigright.facts.running import NATIVE, engines_of, how_runs
from rigright.search.drafts import NONE, Drafts, drafts_of
from rigright.search.market import Market

GGUF = "gguf:"
PLAIN_GGUF = {"bf16": "gguf:BF16", "fp16": "gguf:F16", "fp32": "gguf:F32"}
PACKED_LOSS = 6  # files of such formats are run as they are, and not packed anew
USUAL_LOSS = 7  # formats that lose more are taken only when asked for
NODE_CHIPS = 8
MOST_CHIPS = 64
COUNTS = (*range(1, 9), 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64)
MOST_OF = {"consumer": 16, "workstation": 32}  # nobody fills a room with such cards unasked
FREE_ENOUGH = 0.8  # of what the freest of its kind has: less, and a card counts as taken
SERVERS = ("vllm", "sglang", "tensorrt-llm")  # engines of data centres
SINGLE = frozenset({"soc", "embedded"})
_SIZE = re.compile(r"(?P<number>[0-9]*\.?[0-9]+) *(?P<unit>[mbt])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Cards alike, and how many of them may be taken."""

    card: Card
    counts: tuple[int, ...]
    per_node: int
    owned: int = 0  # there already
    named: bool = False  # somebody asked for just these
    mix: tuple[Card, ...] = ()  # unlike cards that work together; `card` then stands for all
    whole: int = 0  # chips of the machine that is paid for, however many of them work; 0: those that work

    @property
    def chip(self) -> Chip:
        """What is on the card."""
        return self.card.chip

    @property
    def chips(self) -> tuple[Chip, ...]:
        """Every kind of chip in it."""
        return tuple({card.chip.id: card.chip for card in self.mix}.values()) or (self.chip,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How weights and caches are kept, in which engine, on which kinds (by their place)."""

    engine: Engine
    weights: str
    kv: str
    kinds: tuple[int, ...]
    usual: bool = True  # the engine that people take for such work on such a chip
    drafts: Drafts = NONE

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
    later_params: float | None = None  # of the model that should fit later


def ask(arch: Arch, wish: PlanWish, *, market: Market) -> Question:
    """Fill the question in: which kinds of cards, and which ways to run on them."""
    kinds = kinds_of(wish, counts=COUNTS, there=market.there)
    return Question(
        arch=arch,
        wish=wish,
        market=market,
        kinds=kinds,
        ways=_ways(arch, wish, kinds=kinds),
        later_params=None if wish.grows_to is None else _params_of(wish.grows_to),
    )


def kinds_of(wish: PlanWish, *, counts: tuple[int, ...], there: Node | None = None) -> tuple[Kind, ...]:
    """The kinds of cards that may be taken: a machine, what is owned, or the whole catalogue."""
    kinds = tuple(_kinds(wish, counts=counts, there=there))
    if not kinds:
        raise AskError(say("no chip is all that was asked; leave a chip or vendor out"))
    return kinds


def _params_of(text: str) -> float:
    """Parameters of "70B", or of a model of that name."""
    told = _SIZE.fullmatch(text.strip())
    if told is None:
        return float(params(open_model(text)))
    return float(told["number"]) * {"m": MEGA, "b": GIGA, "t": TERA}[told["unit"].lower()]


def _kinds(wish: PlanWish, *, counts: tuple[int, ...], there: Node | None) -> Iterator[Kind]:
    named = wish.on if wish.on is not None else wish.owned
    node = find_node(named) if there is None and named is not None else there
    if node is not None:
        yield from _of_node(node, wish, counts=() if wish.on is not None else counts)
    if wish.on is not None:
        return
    chosen = {find_node(name).cards[0].chip.id for name in wish.chips}
    owned = set() if node is None else {card.chip.id for card in node.cards}
    vendors = {vendor.casefold() for vendor in wish.vendors}
    for chip in chips():
        allowed = (not chosen or chip.id in chosen) and (not vendors or chip.vendor.casefold() in vendors)
        in_shops = chip.offered and chip.segment != "embedded"
        if allowed and chip.id not in owned and (chosen or in_shops):
            yield _catalogue(chip, wish, counts=counts, named=bool(chosen))


def _of_node(node: Node, wish: PlanWish, *, counts: tuple[int, ...]) -> Iterator[Kind]:
    """The cards of a machine, kind by kind, and together where unlike; `counts`: more may be bought."""
    owned = wish.on is None
    cards = [card for _ in range(node.n_nodes) for card in node.cards]
    alike: dict[tuple[str, float, bool], list[Card]] = {}
    for card in cards:
        alike.setdefault((card.chip.id, card.total_bytes, _is_taken(card, cards)), []).append(card)
    for found in alike.values():
        most = min(len(found), wish.most_chips or len(found))
        more = {count for count in counts if count <= (wish.most_chips or MOST_CHIPS)}
        yield Kind(
            card=min(found, key=lambda card: card.room_bytes),
            counts=tuple(sorted({*range(1, most + 1), *more})),
            per_node=max(len(node.cards), _per_node(found[0].chip)) if owned else len(node.cards),
            owned=len(found) if owned else 0,
            named=True,
            whole=0 if owned else len(found),
        )
    if len(alike) > 1 and node.n_nodes == 1:
        yield _mixed(node, owned=owned)


def _is_taken(card: Card, cards: list[Card]) -> bool:
    """Whether other programs hold so much of it that its like had better work without it."""
    like = [one.room_bytes for one in cards if one.chip.id == card.chip.id]
    return card.room_bytes < FREE_ENOUGH * max(like)


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
    )


def _catalogue(chip: Chip, wish: PlanWish, *, counts: tuple[int, ...], named: bool) -> Kind:
    one = device_of(chip)
    alone = chip.segment in SINGLE or chip.form == "soldered"
    usual = counts[-1] if named else MOST_OF.get(chip.segment, counts[-1])
    most = 1 if alone else wish.most_chips or usual
    return Kind(
        card=Card(chip=one, index=0, total_bytes=one.mem_usable_bytes),
        counts=tuple(count for count in counts if count <= most),
        per_node=_per_node(chip),
        named=named,
    )


def _per_node(chip: Chip) -> int:
    """How many stand in one box: a rack of links counts as one, a slot machine holds eight."""
    if chip.segment in SINGLE or chip.form == "soldered":
        return 1
    return min(max(chip.link_max_chips or 0, NODE_CHIPS), MOST_CHIPS + NODE_CHIPS)


def _ways(arch: Arch, wish: PlanWish, *, kinds: tuple[Kind, ...]) -> tuple[Way, ...]:
    found: dict[tuple[str, str, str, bool], list[int]] = {}
    for place, kind in enumerate(kinds):
        for key in _ways_of(arch, wish, kind=kind):
            found.setdefault(key, []).append(place)
    ways = tuple(
        Way(engine=find_engine(engine), weights=weights, kv=kv, kinds=tuple(places), usual=usual)
        for (engine, weights, kv, usual), places in found.items()
    )
    drafts = drafts_of(arch, wish)
    drafted = (replace(way, drafts=drafts) for way in ways if way.engine.id in SERVERS)
    return (*ways, *drafted) if drafts.drafted_tok else ways


def _ways_of(arch: Arch, wish: PlanWish, *, kind: Kind) -> Iterator[tuple[str, str, str, bool]]:
    for rank, name in enumerate(_engines(wish, kind, arch=arch)):
        engine = find_engine(name)
        if kind.mix and engine.split != "layer":
            continue
        for weights in _formats(arch, wish, engine=engine):
            hows = [how_runs(engine.id, weights, chip=chip) for chip in kind.chips]
            own_too = weights == "fp16" != arch.dtype and how_runs(engine.id, arch.dtype, chip=kind.chip)
            if None in hows or (own_too and not wish.weights):
                continue
            for kv in _caches(wish, engine, chip=kind.chip):
                yield name, weights, kv, rank == 0 or bool(wish.engines)


def _engines(wish: PlanWish, kind: Kind, *, arch: Arch) -> tuple[str, ...]:
    """The engines asked for; else the one people take for such work there; on a named machine others too."""
    if wish.engines:
        return tuple(find_engine(name).id for name in wish.engines)
    runs, chip = engines_of(kind.chip), kind.chip
    gguf = (arch.stored or "").startswith(GGUF) or any(
        find_format(name).id.startswith(GGUF) for name in wish.weights
    )
    packed = arch.stored is not None and not gguf and find_format(arch.stored).loss_rank >= PACKED_LOSS
    home = bool(kind.mix) or (wish.work == "chat" and chip.segment != "datacenter" and not packed)
    order = ("llama.cpp", "vllm") if gguf or home else ("vllm", "llama.cpp")
    usual = tuple(name for name in order if name in runs)
    if gguf or not kind.named:
        return usual[:1]
    served = tuple(name for name in SERVERS if name in runs) if chip.segment == "datacenter" else ()
    return tuple(dict.fromkeys((*usual[:1], *(served or usual))))


def reads_gguf(engine: Engine) -> bool:
    """Whether it loads GGUF files."""
    return any(name.startswith(GGUF) for name in engine.formats)


def _formats(arch: Arch, wish: PlanWish, *, engine: Engine) -> tuple[str, ...]:
    """Formats to try: those asked for, or the model's own and the engine's, down to the quality floor."""
    if wish.weights:
        ids = [find_format(name).id for name in wish.weights]
        return tuple(PLAIN_GGUF.get(name, name) if reads_gguf(engine) else name for name in ids)
    return _usual_formats(arch.stored, arch.dtype, engine_id=engine.id, floor=most_loss(wish))


def most_loss(wish: PlanWish) -> int:
    """The rank of the format that may lose most."""
    return USUAL_LOSS if wish.quality is None else find_format(wish.quality).loss_rank


@cache
def _usual_formats(stored: str | None, dtype: str, *, engine_id: str, floor: int) -> tuple[str, ...]:
    engine = find_engine(engine_id)
    if stored is not None and stored.startswith(GGUF) == reads_gguf(engine):
        own = [stored]
    elif reads_gguf(engine):
        own = []
    else:
        own = ["fp16", dtype] if dtype != "fp32" else ["fp16"]
    least = find_format(stored).loss_rank if stored else 0
    names = [*own, *engine.formats, *(() if reads_gguf(engine) else ("nvfp4",))]
    if dtype == "fp16" and "bf16" in names:
        names.remove("bf16")
    packed = least >= PACKED_LOSS
    kept = [
        name
        for name in dict.fromkeys(names)
        if name in own or (find_format(name).loss_rank > least and not packed)
    ]
    return tuple(name for name in kept if find_format(name).loss_rank <= floor or name == stored)


def _caches(wish: PlanWish, engine: Engine, *, chip: Chip) -> tuple[str, ...]:
    if wish.kv:
        forms = [find_kv_format(name) for name in wish.kv]
        return tuple(form.id for form in forms if not form.engines or engine.id in form.engines)
    saves = engine.kv_save
    native = saves == "fp8" and how_runs(engine.id, "fp8", chip=chip) == NATIVE
    return ("16bit", "fp8") if native else ("16bit",)
