"""How a model is cut over the cards of a machine where nobody says: all of them work."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from itertools import product

import numpy as np

from rigright.arch.record import Arch, Mixer
from rigright.base.errors import AskError, clash
from rigright.base.record import replace
from rigright.base.words import say
from rigright.cost.layers import takes_samples
from rigright.cost.weights import has_experts
from rigright.demand import Layout, Numbers, ServingWish
from rigright.facts.engines import Engine
from rigright.facts.nodes import Node

STAGED = 1.25  # a pipeline has to promise so much more: of it nothing was measured under load
STAGES = (1, 2, 3, 4, 6, 8, 12, 16)
MOST_TP = 16


def usual_layout(arch: Arch, engine: Engine, *, node: Node, wish: ServingWish) -> Layout:
    """All cards: tensor parallel as far as heads allow, then pipeline; or layer by layer."""
    own = node.n_cards // ((wish.dp or 1) * (wish.cp or 1)) or 1
    alone = takes_samples(arch) or node.has_instances
    if alone and (wish.tp or 1) * (wish.pp or 1) * (wish.cp or 1) == 1:
        return Layout(dp=wish.dp or node.n_cards)  # each card works alone
    if engine.split == "layer":
        dealt = Layout(pp=min(wish.pp or own, len(arch.trunk.layers)), dp=wish.dp or 1)
        check_layout(arch, node, layout=dealt)
        return dealt
    inside = min(len(node.cards), max(own // (wish.pp or 1), 1))
    tp = wish.tp or next(tp for tp in range(inside, 0, -1) if inside % tp == 0 and divides(arch, tp))
    layout = Layout(
        tp=tp,
        pp=wish.pp or max(min(own // tp, len(arch.trunk.layers)), 1),
        dp=wish.dp or 1,
        ep=wish.ep or 1,
        cp=wish.cp or 1,
        attention_dp=bool(wish.attention_dp),
    )
    check_layout(arch, node, layout=layout)
    return layout


def replica_cuts(arch: Arch, engine: Engine, *, counts: Collection[int]) -> list[tuple[int, int]]:
    """Ranks and stages of a replica that heads and layers allow, of at most so many cards."""
    most, layers = max(counts), len(arch.trunk.layers)
    if engine.split == "layer":
        return [(1, pp) for pp in sorted({1, *counts}) if pp <= min(most, layers, MOST_TP)]
    widths = [tp for tp in range(1, min(most, MOST_TP) + 1) if divides(arch, tp)]
    return [(tp, pp) for tp, pp in product(widths, STAGES) if tp * pp <= most and pp <= layers]


def expert_cuts(arch: Arch, engine: Engine) -> tuple[tuple[bool, bool], ...]:
    """Whether experts are shared out over the ranks, and whether attention is whole on each of them."""
    routed = has_experts(arch) and engine.split == "tensor"
    return ((False, False), (True, False), (True, True)) if routed else ((False, False),)


def replica_layouts(
    arch: Arch, engine: Engine, *, wish: ServingWish, counts: Collection[int]
) -> list[tuple[int, int, int, bool]]:
    """Ranks, stages, expert ranks and whether attention is whole, as somebody stated them: usual or not.

    One card, which is not what was stated, where that cannot be.
    """
    pairs = replica_cuts(arch, engine, counts=counts)
    widths, stages = ((value,) if value else () for value in (wish.tp, wish.pp))
    own = product(widths or {tp for tp, _ in pairs}, stages or {pp for _, pp in pairs})
    rows = []
    for tp, pp in own:
        if tp * pp > max(counts) or pp > len(arch.trunk.layers) or not divides(arch, tp):
            continue
        if tp > 1 and engine.split == "layer":
            continue
        for cut, spread in expert_cuts(arch, engine):
            ep = wish.ep or (tp if cut else 1)
            attention_dp = spread if wish.attention_dp is None else wish.attention_dp
            if tp % ep == 0:
                rows.append((tp, pp, ep, attention_dp and tp > 1))
    return sorted(set(rows)) or [(1, 1, 1, False)]


def over_attention(wish: ServingWish, *, cards: int) -> ServingWish:
    """Experts over more ranks than tensors are cut over: attention stands whole on groups of them.

    Engines count those groups as data parallelism, `--tp 1 --dp 8 --ep 8`; here they are of one replica.
    """
    tp, ep = wish.tp or wish.ep or 1, wish.ep or 1
    ranks = ep // tp
    dp = None if wish.dp is None else wish.dp // ranks if ranks else 0
    if ep % tp or ranks < 2 or dp == 0 or ep * (wish.pp or 1) * (dp or 1) > cards:
        return wish
    if wish.attention_dp is False:
        raise clash(f"--tp {tp} --ep {ep}", "--no-attention-dp")
    return replace(wish, tp=ep, dp=dp, attention_dp=True)


def open_layouts(
    arch: Arch, engine: Engine, *, cards: int, layout: Layout | None = None
) -> tuple[Layout, ...]:
    """Every layout over all of the cards that may be meant; `layout`: what was named of it."""
    layouts = (
        [layout]
        if layout is not None
        else [
            Layout(tp=tp, pp=pp, dp=cards // (tp * pp))
            for tp, pp in replica_cuts(arch, engine, counts=(cards,))
            if cards % (tp * pp) == 0
        ]
    )
    return tuple(
        replace(item, ep=item.tp if cut else 1, attention_dp=spread)
        for cut, spread in expert_cuts(arch, engine)
        for item in layouts
        if item.tp > 1 or not cut
    )


def is_staged(split: str | Numbers, pp: Numbers) -> Numbers:
    """Whether layers are cut into stages by an engine that could cut tensors instead."""
    return (np.asarray(pp) > 1) & (np.asarray(split) == "tensor")


def surely(serves: Numbers, *, staged: Numbers) -> Numbers:
    """What layouts of one machine are compared by: a pipeline is taken where it serves clearly more.

    People take tensor parallel as far as links are fast; a gain that the law of pipelines may well miss is
    no reason to take another.
    """
    return np.asarray(serves) / np.where(staged, STAGED, 1.0)


def divides(arch: Arch, tp: int) -> bool:
    """Whether every layer's heads share out evenly over so many ranks."""
    return all(
        mixer.heads % tp == 0
        and (mixer.latent_dim > 0 or mixer.kv_heads % tp == 0 or tp % mixer.kv_heads == 0)
        for mixer in _attending(arch)
    )


@cache
def _attending(arch: Arch) -> frozenset[Mixer]:
    """Every kind of layer with heads."""
    mixers = {id(layer.mixer): layer.mixer for layer in arch.trunk.layers}  # most layers share one
    return frozenset(mixer for mixer in mixers.values() if mixer is not None and mixer.heads)


def check_layout(arch: Arch, node: Node, *, layout: Layout) -> None:
    """Refuse more ranks than cards, heads that do not divide, more stages than layers."""
    needed = layout.tp * layout.pp * layout.dp * layout.cp
    if needed > node.n_cards:
        raise AskError(
            say(
                "tp {tp} x pp {pp} x dp {dp} x cp {cp} needs {needed} GPUs; there are {cards}",
                tp=layout.tp, pp=layout.pp, dp=layout.dp, cp=layout.cp, needed=needed, cards=node.n_cards,
            )
        )  # fmt: skip
    if node.has_instances and layout.tp * layout.pp * layout.cp > 1:
        raise AskError(
            say("a model cannot be split over MIG instances: a program sees only one"),
            hint=say("use a larger profile or the whole GPU; or run one copy on each instance: --tp 1"),
        )
    if not divides(arch, layout.tp):
        fitting = [str(tp) for tp in range(1, node.n_cards + 1) if divides(arch, tp)]
        raise AskError(
            say(
                "{model} cannot be split over tp {tp}: its heads allow tp {fitting}",
                model=arch.name,
                tp=layout.tp,
                fitting=", ".join(fitting),
            )
        )
    check_experts(arch, layout.ep, ranks=layout.tp * layout.cp)
    if max(layout.tp, layout.ep) % min(layout.tp, layout.ep):
        fields = {"first": f"--tp {layout.tp}", "second": f"--ep {layout.ep}"}
        raise AskError(
            say("{first} and {second} cannot be combined: one must divide the other", **fields),
            hint=say("remove one of them"),
        )
    if layout.pp > len(arch.trunk.layers):
        raise AskError(
            say("pp {pp} is more than the {layers} layers", pp=layout.pp, layers=len(arch.trunk.layers))
        )


def check_experts(arch: Arch, ep: int, *, ranks: int) -> None:
    """Refuse ranks that experts do not share out over, and more of them than a stage has."""
    from rigright.cost.training.learners import trunk_of

    experts = max((layer.ffn.experts for layer in trunk_of(arch).layers if layer.ffn is not None), default=0)
    if ep > 1 and (experts == 0 or experts % ep):
        fitting = [str(count) for count in range(1, min(experts, ranks) + 1) if experts % count == 0]
        raise AskError(
            say("ep {ep} does not divide {experts} experts", ep=ep, experts=experts),
            hint=say("use --ep {counts}", counts=", ".join(fitting)) if experts else None,
        )
    if ep > ranks:
        raise AskError(
            say("experts cannot be split over {ep} ranks: tp x dp x cp is {ranks}", ep=ep, ranks=ranks),
            hint=say("use a smaller --ep or --pp"),
        )
