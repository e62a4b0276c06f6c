"""Tokens drafted and then checked at once: by a head the model brings, or by something small beside it."""

from __future__ import annotations

from rigright.arch import count
from rigright.arch.record import Arch, Tower
from rigright.base.record import dataclass
from rigright.demand import PlanWish
from rigright.terms.memory import weights_bytes

HEAD = "mtp"
USUAL_TOK = 3  # drafted for a pass, where no head of the model says how far it was taught to look


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """How many tokens are drafted for each pass of a sequence, and how many of them are kept on average."""

    drafted_tok: int = 0
    accepted_tok: float = 0.0
    own: bool = False  # by a head of the model


NONE = Drafts()


def drafts_of(arch: Arch, wish: PlanWish) -> Drafts:
    """What the wish tells of drafting. Each token is kept with the same chance, if all before it were."""
    if wish.draft is None:
        return NONE
    heads = _heads(arch)
    drafted = wish.draft_tok or sum(len(head.layers) for head in heads) or USUAL_TOK
    accepted = sum(wish.draft**place for place in range(1, drafted + 1))
    return Drafts(drafted_tok=drafted, accepted_tok=accepted, own=bool(heads))


def paid_tok(arch: Arch, drafts: Drafts) -> float:
    """Tokens kept, less the time that a head of the model takes: a layer's for each token it drafts."""
    heads = _heads(arch) if drafts.own else ()
    layers = sum(len(head.layers) for head in heads) / max(len(heads), 1)
    busy = drafts.drafted_tok * layers / len(arch.trunk.layers)
    return (1 + drafts.accepted_tok) / (1 + busy) - 1


def head_bytes(arch: Arch, weights: str, *, drafts: Drafts) -> float:
    """Weights of the heads that draft, each parameter as wide as the model's are on average."""
    if not drafts.own:
        return 0.0
    params = sum(
        count.elems(weight) * weight.copies
        for head in _heads(arch)
        for layer in head.layers
        for weight in layer.weights
    )
    return params * weights_bytes(arch, weights) / count.params(arch)


def _heads(arch: Arch) -> tuple[Tower, ...]:
    return tuple(tower for tower in arch.spare if tower.name == HEAD)
