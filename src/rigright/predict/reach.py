"""What the cards of a case reach with its model: alike, unlike, or with a processor beside them."""

from __future__ import annotations

from rigright.base.record import dataclass
from rigright.choice.case import Case
from rigright.cost.speed.rates import Rates
from rigright.cost.speed.work import PassWork
from rigright.demand import Numbers
from rigright.facts.chips import Chip
from rigright.predict.columns import blended
from rigright.predict.ranks import dealt_of
from rigright.predict.served import server_rates
from rigright.terms.speed import work_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What a machine reaches with a model."""

    work: PassWork
    rates: Rates  # one entry a kind of card
    chips: tuple[Chip, ...]
    shares: Numbers = None  # of a pass, that each card does which layers are dealt to; None: all do the same
    takes_turns: bool = False  # all stages with one processor

    @property
    def whole(self) -> Rates:
        """The same as one: each kind of card weighs by its part of a pass."""
        return self.rates if self.shares is None else blended(self.rates, self.shares)


def reached(case: Case, *, chunk_tok: Numbers) -> Reached:
    """What the cards of a case reach; unlike ones that layers are dealt to with prompts cut so."""
    chips = tuple({card.chip.id: card.chip for card in case.cards}.values())
    if case.serving.offload is not None and case.host is not None:
        from rigright.predict.beside import beside_cards

        work, rates = beside_cards(case)
        return Reached(work=work, rates=rates, chips=chips, takes_turns=True)
    weights = case.serving.weights
    work, dealt = work_of(case.arch, weights=weights, kv=case.serving.kv), dealt_of(case)
    if dealt is None:
        return Reached(work=work, rates=server_rates(chips, case.engine, weights=weights), chips=chips)
    rates = server_rates(dealt.chips, case.engine, weights=weights)
    even = dealt.evened(rates, work=work, chunk_tok=chunk_tok)
    return Reached(work=work, rates=even, chips=dealt.chips, shares=dealt.shares)
