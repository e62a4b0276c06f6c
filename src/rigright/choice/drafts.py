"""Tokens drafted and then checked together: by a head, by a small model, or copied from the prompt."""

from __future__ import annotations

from functools import cache
from itertools import accumulate, repeat
from typing import Any

from rigright.arch import count
from rigright.arch.cache import kv_bytes_per_token
from rigright.arch.record import Arch, Tower
from rigright.base.errors import AskError
from rigright.base.record import dataclass, replace
from rigright.base.words import say
from rigright.cost.speed.work import PassWork
from rigright.demand import METHODS, Drafting, Numbers, PlanWish
from rigright.facts.engines import Engine
from rigright.terms.memory import weights_bytes
from rigright.terms.speed import work_of

HEAD = "mtp"
OWN, MADE, MODEL, COPIED = METHODS
USUAL_TOK = 3  # drafted for a pass, where no head of the model says how far it was taught to look
HEAD_LAYERS = 2.0  # of an EAGLE-3 head: one layer, and a vocabulary of its own as large as another
HEAD_ROWS, HEAD_SQUARES, HEAD_BYTES = 32_000, 17.5, 2  # its vocabulary, matrices by width, 16-bit parameters
LIKE_VOCAB = 0.02  # vocabularies that differ by padding alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """How many tokens are drafted for each pass of a sequence, and how many of them are kept on average."""

    drafted_tok: int = 0
    accepted_tok: float = 0.0
    own: bool = False  # by a head of the model
    method: str = ""  # "mtp", "eagle3", "draft", "ngram"
    model: str = ""  # that drafts, smaller


NONE = Drafts()


def drafts_of(arch: Arch, wish: PlanWish, *, engine: Engine) -> Drafts:
    """What an engine drafts by a wish. Each token is kept with the same chance, if all before it were."""
    if wish.drafting is None:
        return NONE
    from rigright.facts.abilities import acceptance  # which most questions need not

    method = _method(arch, wish.drafting, engine=engine)
    if not method:
        return NONE
    own = sum(len(head.layers) for head in _heads(arch)) if method == OWN else 0
    drafted = wish.draft_tok or own or USUAL_TOK
    share = wish.drafting.accepted
    share = acceptance(method, wish.work) if share is None else share
    kept = sum(accumulate(repeat(share, drafted), lambda chance, each: chance * each))
    model = wish.drafting.model if method == MODEL else ""
    return Drafts(drafted_tok=drafted, accepted_tok=kept, own=method == OWN, method=method, model=model)


def _method(arch: Arch, draft: Drafting, *, engine: Engine) -> str:
    """How an engine drafts for a model; "": not at all. A head made for it is taken where it is asked for."""
    from rigright.facts.abilities import ability

    methods = (draft.method,) if draft.method else (*((OWN,) if _heads(arch) else ()), COPIED)
    return next((method for method in methods if ability(engine, method) is not None), "")


def check_draft(arch: Arch, draft: Drafting | None, *, engine: Engine | None) -> None:
    """Refuse what drafts nothing for this model, or not in this engine."""
    if draft is None:
        return
    wrong = None
    if draft.method == OWN and not _heads(arch):
        wrong = say("{model} has no MTP head to draft tokens", model=arch.name)
    elif draft.model:
        small = drafter(draft.model)
        unlike = abs(small.vocab - arch.vocab) > LIKE_VOCAB * arch.vocab
        if unlike or count.params(small) >= count.params(arch):
            wrong = say("{draft} cannot draft for {model}: it must be smaller, with the same vocabulary",
                        draft=small.name, model=arch.name)  # fmt: skip
    if wrong is not None:
        raise AskError(wrong, hint=say("use --draft eagle3, --draft ngram or a small model of its family"))
    if engine is not None and not _method(arch, draft, engine=engine):
        from rigright.facts.abilities import unable

        how = say("speculative decoding by {draft}", draft=str(draft) or COPIED)
        raise unable(engine, draft.method or COPIED, what=how, option="--draft")


@cache
def drafter(name: str) -> Arch:
    """The small model of a name."""
    from rigright.arch.sources.open import open_model

    return open_model(name)


def paid_tok(arch: Arch, drafts: Drafts) -> float:
    """Tokens kept, less the time that a head takes for each token it drafts; a model's is timed by itself."""
    heads = _heads(arch) if drafts.own else ()
    layers = sum(len(head.layers) for head in heads) / max(len(heads), 1)
    layers = HEAD_LAYERS if drafts.method == MADE else layers
    busy = drafts.drafted_tok * layers / len(arch.trunk.layers)
    return (1 + drafts.accepted_tok) / (1 + busy) - 1


def pass_work(arch: Arch, *, weights: str, kv: str, drafts: Drafts) -> PassWork:
    """What a forward pass does, with the work of a small model that drafts for it."""
    work = work_of(arch, weights=weights, kv=kv)
    if not drafts.model:
        return work
    small = drafter(drafts.model)
    return replace(work, drafter=work_of(small, weights=_form(small, work.weights), kv=kv))


def head_bytes(arch: Arch, weights: str, *, drafts: Drafts, context_tok: Numbers = 0) -> Any:
    """Weights of what drafts, and a small model's cache of one context.

    Parameters of the model's own head are as wide as the model's are on average.
    """
    if drafts.model:
        small = drafter(drafts.model)
        return weights_bytes(small, _form(small, weights)) + kv_bytes_per_token(small) * context_tok
    if drafts.method == MADE:
        hidden = arch.trunk.hidden
        return HEAD_BYTES * (HEAD_SQUARES * hidden * hidden + HEAD_ROWS * hidden)
    if not drafts.own:
        return 0.0
    params = sum(
        count.elems(weight) * weight.copies
        for head in _heads(arch)
        for layer in head.layers
        for weight in layer.weights
    )
    return params * weights_bytes(arch, weights) / count.params(arch)


def cache_share(arch: Arch, drafts: Drafts) -> float:
    """The part of the memory for caches that the model keeps where a small one has its own beside it."""
    own = float(kv_bytes_per_token(arch))
    beside = float(kv_bytes_per_token(drafter(drafts.model))) if drafts.model else 0.0
    return own / (own + beside) if beside else 1.0


def _form(small: Arch, weights: str) -> str:
    """The format of a small model beside one in `weights`: alike in GGUF, else as it is published."""
    return weights if weights.startswith("gguf:") else small.stored or small.dtype


def _heads(arch: Arch) -> tuple[Tower, ...]:
    return tuple(tower for tower in arch.spare if tower.name == HEAD)
