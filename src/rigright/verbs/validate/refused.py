"""Rows of inference.csv that contradict themselves: each says which two cells, and is not predicted."""

from __future__ import annotations

from functools import cache

from rigright.base.errors import AskError, RigError, unknown
from rigright.base.tables import Row
from rigright.base.words import say
from rigright.facts.nodes import Node, find_node
from rigright.facts.units import devices_of

MODES = ("serve", "batch", "single", "max")


def refuse(row: Row) -> None:
    """Raise for the first thing of a row that cannot be beside another."""
    value = row.get("mode")
    if value and value not in MODES:
        raise unknown(say("{text}", text="mode"), value, known=MODES)
    _refuse_chips(row)
    tp, pp, chips = row.get("tp") or 1, row.get("pp") or 1, row.get("n_chips")
    if chips is not None and tp * pp > chips and not row.get("disagg"):
        raise AskError(
            say(
                "tp {tp} x pp {pp} x dp {dp} x cp {cp} needs {needed} GPUs; there are {cards}",
                tp=tp, pp=pp, dp=1, cp=1, needed=tp * pp, cards=chips,
            )
        )  # fmt: skip
    context, least = row.get("context_tok"), (row.get("prompt_tok") or 0) + (row.get("output_tok") or 0)
    if context is not None and least > context:
        raise AskError(
            say(
                "{told} tokens do not fit in a context of {context}",
                told=f"{least:,g}",
                context=f"{context:,g}",
            )
        )


def _refuse_chips(row: Row) -> None:
    """A cell of chips that names unlike ones, or another number than that of the row."""
    name = row.get("chip") or ""
    node = _node(name)
    if node is None:
        return
    if node.is_mixed:
        raise AskError(say('"{text}" names several GPUs: a row has one kind', text=name))
    count, value = node.n_cards // devices_of(node.cards[0].chip), row.get("n_chips") or 1
    if count not in {1, value}:
        raise AskError(
            say('"{text}" is {count} GPUs; n_chips says {said}', text=name, count=count, said=value)
        )


@cache
def _node(name: str) -> Node | None:
    try:
        node = find_node(name) if name else None
    except RigError:
        return None  # that is stated where it is read
    return node if node is not None and node.cards else None
