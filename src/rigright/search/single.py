"""A search of length one: the case that comes first on a given machine, for every verb that takes one.

`plan --on` shows the same first: both ask the same question. What somebody fixed is fixed here as well.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.record import dataclass, replace
from rigright.base.words import DECIDES, Sentence, say
from rigright.choice.case import Case, check_wish, fixed, serving_case, taken_for_bf16
from rigright.choice.layout import check_layout, over_attention
from rigright.choice.offload import asked_offload, with_offload
from rigright.choice.ways import Site, is_sliced, ways_on
from rigright.choice.work import assumed, contexts, settled
from rigright.choice.work import traffic_of as sent
from rigright.cost.layers import generates, takes_samples
from rigright.demand import PlanWish, ServingWish
from rigright.facts.host_words import find_host
from rigright.facts.nodes import Node
from rigright.predict.kept import TIMES
from rigright.search.loads import traffic_of
from rigright.search.market import Market
from rigright.search.plans import Candidates, fitted, layout_at, safe_at, serving_at
from rigright.search.question import ask, offloaded, spilling
from rigright.search.record import Safe
from rigright.search.score import CUTS
from rigright.search.serving import best, wider

if TYPE_CHECKING:
    from rigright.search.priced import Priced

STATED = (  # by either wish
    *(
        "prompt_tok",
        "output_tok",
        "context_tok",
        "picture",
        "length",
        "images",
        "rate_per_s",
        "cached_share",
        "turns",
        "think_s",
    ),
    *("shared_tok", "kv_store", "percentile", "drafting", "draft_tok"),
)
SAMPLE_TOK = 512  # of a text that is read as a whole
NOTHING_SOLD = Market(today=date(1970, 1, 1), cards={}, offers={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """The case, the wish as it was understood, and what was assumed."""

    case: Case
    wish: PlanWish
    notes: tuple[Sentence, ...] = ()
    priced: Priced | None = None  # where a market was given, and the search found it
    safe: Safe | None = None  # the highest load whose limits hold in nine cases of ten, where none was told


def single(
    arch: Arch, node: Node, *, wish: ServingWish, work: PlanWish | None = None, market: Market | None = None
) -> Single:
    """The case of a model on a machine; `work`: the load and its limits, where somebody stated them.

    `market`: where prices are asked for; without one nothing costs anything.
    """
    check_wish(wish)
    typed, wish = wish, over_attention(wish, cards=node.n_cards)
    offload = asked_offload(arch, wish)
    if offload is not None and node.host is None and not node.has_no_cards:
        host = find_host("")  # what is not said of it is as usual, and told
        node = replace(node, host=host, notes=(*node.notes, *host.notes))
    given = _asked(wish, work or PlanWish(), node=node)
    chips = tuple({card.chip.id: card.chip for card in node.cards}.values())
    full = settled(arch, given, chips=chips, more=given.on is None) if generates(arch) else given
    sold = replace(NOTHING_SOLD if market is None else market, there=node)
    pair = _searched(arch, wish=wish, stated=given, work=full, market=sold)
    if pair is None:
        node = node if wish.engine or is_sliced(wish) else _together(arch, node, work=full)
        if not generates(arch):
            full = replace(full, context_tok=full.context_tok or SAMPLE_TOK)
        else:  # a context that people settle for, so that what has to change is not the length alone
            full = replace(full, context_tok=contexts(given, full)[:2][-1])
        case = fixed(arch, node, wish=wish, work=full)
        if takes_samples(arch) and not given.owned:
            case = replace(case, notes=(*case.notes, *_idle(node, cards=len(case.cards))))
        case = replace(case, traffic=sent(full, full.users or case.serving.batch))
        if full.users is None and full.rate_per_s is None and generates(arch):
            full = replace(full, users=float(case.serving.batch))  # nothing was searched: that load is stated
    else:
        full = pair[0].question.wish
        case = _case_at(*pair, node=node, cut=wish)
    notes = assumed(arch, given, filled=full) if generates(arch) else ()
    serving = replace(case.serving, batch=wish.batch or case.serving.batch)
    kept = offload or case.serving.offload
    serving = serving if kept is None else with_offload(serving, kept)
    traffic = case.traffic if generates(arch) else None
    case = replace(
        case,
        serving=serving,
        traffic=None if traffic is None else replace(traffic, requests=wish.requests or full.samples),
        percentile=full.percentile,
        most_s=tuple((name, bound) for name in TIMES if (bound := getattr(full, name)) is not None),
        picture=given.picture,
        length=given.length,
        steps=wish.steps,
        notes=(
            *node.notes,
            *arch.warnings,
            *notes,
            *_counted(typed, wish),
            *taken_for_bf16(case, wish.weights),
            *case.notes,
            *_towers(arch),
        ),
    )
    safe = None if pair is None else safe_at(pair[0], int(pair[0].options.index[pair[1]]))
    return Single(case=case, wish=full, notes=notes, safe=safe, priced=_priced(pair, market))


def _priced(pair: tuple[Candidates, int] | None, market: Market | None) -> Priced | None:
    if pair is None or market is None:
        return None
    from rigright.search.priced import priced_option

    return priced_option(*pair)


def _together(arch: Arch, node: Node, *, work: PlanWish) -> Node:
    """The machine; of unlike cards that no engine runs such weights on together, the larger ones."""
    chips = tuple({card.chip.id: card.chip for card in node.cards}.values())
    site = Site(chips=chips, cards=node.n_cards, mixed=True)
    if not node.is_mixed or any(ways_on(arch, work, site=site, more=True)):
        return node
    alike = [[card for card in node.cards if card.chip.id == chip.id] for chip in chips]
    return replace(node, cards=tuple(max(alike, key=lambda cards: sum(item.room_bytes for item in cards))))


def _asked(wish: ServingWish, work: PlanWish, *, node: Node) -> PlanWish:
    """What was said of a serving, as a question of the search; sequences held stand for an unstated load."""
    users = wish.users or work.users
    if users is None and wish.rate_per_s is None and work.rate_per_s is None and wish.batch is not None:
        users = float(wish.batch)
    return replace(
        work,
        on=None if work.owned is not None else node.shown,
        owned=None if work.owned is None else node.shown,
        engines=() if wish.engine is None else (wish.engine,),
        weights=() if wish.weights is None else (wish.weights,),
        kv=() if wish.kv is None else (wish.kv,),
        users=users,
        **{name: getattr(wish, name) or getattr(work, name) for name in STATED},
        most_plans=1,
    )


def _searched(
    arch: Arch, *, wish: ServingWish, stated: PlanWish, work: PlanWish, market: Market
) -> tuple[Candidates, int] | None:
    """What the search puts first; None where nothing fits, or the cut is one that it does not know."""
    if not generates(arch) or takes_samples(arch) or (wish.cp or 1) > 1:
        return None
    own = work.owned is not None
    question = replace(ask(arch, work, market=market, cut=wish, stated=stated, own=own), apart=False)
    if question.ways or wider(question).ways or offloaded(spilling(question)).ways:
        flag = any(getattr(wish, name) is not None for name in CUTS)
        return best(question) or (best(replace(question, by_hand=True)) if flag else None)
    from rigright.search.why import is_known, no_way

    if is_known(question):
        raise AskError(no_way(question))
    return None


def _case_at(table: Candidates, place: int, *, node: Node, cut: ServingWish) -> Case:
    """One option of a table as a case on the machine."""
    question, points = table.question, table.scored.points
    point = int(table.options.index[place])
    way, kind = question.ways[int(points.way[point])], question.kinds[int(points.kind[point])]
    layout, serving = layout_at(table.scored, point), serving_at(table, point, way=way)
    if cut.tp or cut.pp or cut.dp:
        check_layout(question.arch, node, layout=layout)
    serving, _ = fitted(question, kind, serving=serving, layout=layout)
    cards = [card for _ in range(node.n_nodes) for card in node.cards]
    if not kind.mix:
        like = [
            card
            for card in cards
            if card.chip.id == kind.chip.id and card.total_bytes == kind.card.total_bytes
        ]
        cards = sorted(like or cards, key=lambda card: -card.room_bytes)[: int(points.n_chips[point])]
    return serving_case(
        question.arch,
        serving,
        layout=layout,
        cards=cards,
        host=node.host,
        traffic=traffic_of(question, float(points.load[point]), way=way),
        drafts=way.drafts,
        notes=() if question.wish.owned else _idle(node, cards=len(cards)),  # those cost nothing more
    )


def _counted(typed: ServingWish, wish: ServingWish) -> tuple[Sentence, ...]:
    """How the layout that was typed is counted, where engines count it otherwise."""
    if typed == wish:
        return ()
    fields = {
        "typed": f"--tp {typed.tp} --ep {typed.ep}",
        "counted": f"--tp {wish.tp} --ep {wish.ep} --attention-dp",
    }
    return (say("{typed} is computed as {counted}", **fields).of(DECIDES),)


def _idle(node: Node, *, cards: int) -> tuple[Sentence, ...]:
    """Cards that are there and have nothing to do."""
    idle = node.n_cards - cards
    return (
        ()
        if idle <= 0
        else (say("{idle} of {paid} GPUs stay idle", idle=idle, paid=node.n_cards).of(DECIDES),)
    )


def _towers(arch: Arch) -> tuple[Sentence, ...]:
    if arch.pictured is None and any(
        tower.name in {"vision", "audio"} for tower in arch.towers if tower is not arch.trunk
    ):
        return (say("activation memory of image and audio encoders is not counted"),)
    return ()
