"""A machine that was looked at as the node that plans are made for: its cards, and what is free now."""

from __future__ import annotations

import os

from rigright.base.files import expanded
from rigright.facts.nodes import Node, find_node, split_free, with_free, with_limit
from rigright.facts.power_limit import split_limit

HERE = frozenset(
    {
        "here",
        "this machine",
        "my machine",
        "my gpu",
        "my pc",
        "localhost",
        "本机",
        "这台机器",
        "我的机器",
        "我的电脑",
    }
)
_ENDINGS = (".json", ".xml", ".gz", ".tgz", ".tar", ".txt", ".log", ".csv")


def the_node(on: str | None) -> Node:
    """The cards that `--on` means: named ones, those of a file, or, where nothing is said, those here."""
    looked = looked_at(on)
    return find_node(on or "") if looked is None else looked


def looked_at(on: str | None) -> Node | None:
    """The cards of this machine or of a file, as they were seen; None where `on` names cards."""
    rest, free_bytes = (on, None) if on is None else split_free(on)
    if free_bytes is not None:
        looked = looked_at(rest)
        return None if looked is None else with_free(looked, free_bytes)
    rest, watts = (on, None) if on is None else split_limit(on)
    if watts is not None:
        looked = looked_at(rest)
        return None if looked is None else with_limit(looked, watts)
    if on is None or on.strip().casefold() in HERE:
        from rigright.machine.probe import probe
        from rigright.machine.world import here
        from rigright.verbs.seen.node import node_of

        return node_of(probe(here()), alone=on is not None)
    if not is_place(on):
        return None
    from rigright.machine.opened import open_machine
    from rigright.verbs.seen.node import node_of

    return node_of(open_machine(on))


def is_place(on: str) -> bool:
    """Whether it means a machine that is looked at, and not cards by their name."""
    if on.strip().casefold() in HERE:
        return True
    path = expanded(on)
    is_path = os.sep in on or "/" in on or on.startswith("~")
    is_meant = on.startswith(("./", "../", "/", "~/")) or on.lower().endswith(_ENDINGS)
    return is_meant or (is_path and path.exists())


def limited(name: str, watts: float) -> str:
    """A machine whose cards draw so many watts together, in words."""
    cards = (looked_at(name) or find_node(name)).cards
    each = watts / len(cards)
    if all(card.chip.tdp_w is None or card.chip.tdp_w <= each for card in cards):
        return name
    plain, free = split_limit(name)[0], ""
    if split_free(plain)[1] is not None:
        plain, comma, free = plain.rpartition(",")
        free = comma + free
    return f"{plain} @ {each:.0f}W{free}"
