"""Nodes: cards in a box, read from loose text such as "2x RTX 4090 + 1x 3090" or "2 nodes of 8x h100"."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from rigright.base.errors import AskError
from rigright.base.patterns import pattern
from rigright.base.record import dataclass, replace
from rigright.base.units import parse_bytes, show_bytes
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip
from rigright.facts.clouds import (
    clouds_of,
    find_instance,
    in_cloud,
    is_instance,
    machine_of,
    machine_of_family,
    offers,
)
from rigright.facts.computers import chip_of_computer
from rigright.facts.fabrics import Stated, cabled, take_cabling
from rigright.facts.find import Match, chips_meant, match_tokens, names_chip
from rigright.facts.host_words import take_host
from rigright.facts.hosts import CPU, Host, host_chip
from rigright.facts.mig import (
    PROFILE,
    GpuPart,
    instance_of,
    notes_on,
    profile_of,
    profiles,
    sliced,
    split_slice,
)
from rigright.facts.naming import MAX_NAME_CHARS, Counted, Token, pods, read_counts, read_tokens
from rigright.facts.power_limit import limited, split_limit
from rigright.facts.units import boxes_of

MANY = 256  # texts that are remembered
MOST_CARDS = 4096
MOST_NODES = 65536
MOST_FAMILY = 24  # signs in the name of a family of instances
WIDTHS = (16, 8, 4, 1)  # of a slot
BOX_CARDS = 8  # of a server, where more cards are named than one machine holds
MOST_BOXES = 9999  # of a cluster that is named by its cards
_NUMBER = r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+"
_NESTED = pattern(
    rf"(?P<nodes>{_NUMBER})\s*[x\u00d7*]\s*"
    r"(?:\((?P<bracketed>[^()]+)\)|(?P<inside>[0-9]{1,2}\s*[x\u00d7*][^()+;,]*|(?<=[x\u00d7*])(?:4|8|16)\s[^()+;,]*))",
    re.IGNORECASE,
)
_MANY = pattern(rf"(?P<count>{_NUMBER})\s*[x\u00d7*]?\s+(?P<name>[^()+;]*[a-z][^()+;]*)", re.IGNORECASE)
_FREE = pattern(r",\s*([0-9][0-9.]*\s*[kmgt]i?b?)\s+free\s*\Z", re.IGNORECASE)  # of every card of a machine
_OF_A_NAME = pattern(r"(?<=max)\+(?=\s*(?:pro\s*)?\d{3}\b)", re.IGNORECASE)  # "Ryzen AI Max+ 395"
_TIMES = frozenset("x×*")
_NO_COUNT = pattern(  # before a times sign: below zero, a fraction, a power, nothing, too many digits
    r"(?:\A|[+,;])\s*([-\u2212][0-9]+|[0-9]*[.,][0-9]+|[0-9]+e[0-9]+|0+|[0-9]{5,})\s*[x\u00d7*]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One device as a driver shows it."""

    chip: Chip
    index: int
    total_bytes: float  # what the driver reports as total
    free_bytes: float | None = None  # what is free now, where somebody looked

    @property
    def program_bytes(self) -> float:
        """What a program is handed: the total without the driver's own reserve."""
        return self.total_bytes - (self.chip.mem_usable_bytes - self.chip.mem_program_bytes)

    @property
    def room_bytes(self) -> float:
        """What a program may take now."""
        return self.program_bytes if self.free_bytes is None else min(self.free_bytes, self.program_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Cards in one box, and how many such boxes."""

    cards: tuple[Card, ...]
    n_nodes: int = 1
    notes: tuple[Sentence, ...] = ()  # what was assumed while reading
    host: Host | None = None  # of each box; None: nobody spoke of it

    @property
    def n_cards(self) -> int:
        """Cards in all boxes together."""
        return len(self.cards) * self.n_nodes

    @property
    def is_mixed(self) -> bool:
        """Whether it holds cards of more than one kind or size."""
        return len({(card.chip.id, card.total_bytes) for card in self.cards}) > 1

    @property
    def has_instances(self) -> bool:
        """Whether MIG cut some of its GPUs."""
        return any(card.chip.is_instance for card in self.cards)

    @property
    def shown(self) -> str:
        """Its cards for people: "8x H100 SXM5 80GB"."""
        kinds = Counter(card.chip.name for card in self.cards)
        inside = " + ".join(f"{count}x {name}" for name, count in kinds.items())
        boxes = inside if self.n_nodes == 1 else f"{self.n_nodes} x ({inside})"
        cables = dict.fromkeys(card.chip.cabling.shown for card in self.cards if card.chip.cabling)
        host = self.host.shown if self.host is not None and not self.has_no_cards else ""
        return ", ".join(filter(None, (boxes, *cables))) + (f" + {host}" if host else "")

    @property
    def has_no_cards(self) -> bool:
        """Whether its processor does all the work."""
        return all(card.chip.vendor == CPU for card in self.cards)


def split_free(text: str) -> tuple[str, float | None]:
    """A machine, and what other programs leave of each of its cards: "4090 + 64gb, 12gb free"."""
    match = _FREE.search(text[:MAX_NAME_CHARS])
    return (text, None) if match is None else (text[: match.start()], parse_bytes(match[1]))


def with_free(node: Node, free_bytes: float) -> Node:
    """The same, of whose cards so much is free."""
    smallest = min(node.cards, key=lambda card: card.total_bytes)
    if free_bytes > smallest.total_bytes:
        raise AskError(
            say(
                "{free} cannot be free: {chip} has {total}",
                free=show_bytes(free_bytes), chip=smallest.chip.name, total=show_bytes(smallest.total_bytes),
            ),
            hint=say("give what `nvidia-smi` lists as free, for example 12gb"),
        )  # fmt: skip
    return replace(node, cards=tuple(replace(card, free_bytes=free_bytes) for card in node.cards))


def with_limit(node: Node, watts: float) -> Node:
    """The same, with so many watts for each card."""
    return replace(node, cards=tuple(replace(card, chip=limited(card.chip, watts)) for card in node.cards))


def with_slice(node: Node, part: GpuPart) -> Node:
    """The same with a part of each GPU in its place."""
    cards = tuple(chip_card(sliced(card.chip, part)) for card in node.cards)
    share = cards[0].chip.mem_bytes / node.cards[0].chip.mem_bytes
    return replace(node, cards=cards, notes=(*node.notes, *notes_on(len(cards), share=share)))


@lru_cache(maxsize=MANY)
def find_node(text: str) -> Node:
    """The cards and boxes a loose text means, with their host; a cloud's instance by its full name."""
    text, free_bytes = split_free(text)
    if free_bytes is not None:
        return with_free(find_node(text), free_bytes)
    text, watts = split_limit(text)
    if watts is not None:
        return with_limit(find_node(text), watts)
    if PROFILE.fullmatch(text.strip()):
        known = next((row.chips[0] for row in profiles() if row.profile in text.lower()), "a100")
        raise AskError(
            say("{text} is a slice of which GPU?", text=text.strip()),
            hint=say("for example {example}", example=f'"{known} mig {text.strip()}"'),
        )
    text, part = split_slice(text)
    if part is not None:
        return with_slice(find_node(text), part)
    taken = take_host(text[:MAX_NAME_CHARS])
    if taken.host is None:
        return _find_cards(text)
    notes = taken.host.notes
    if taken.only:
        return Node(cards=(host_card(taken.host),), host=taken.host, notes=notes)
    node = _find_cards(taken.plain, host=taken.host)
    whole = next((card.chip for card in node.cards if card.chip.unified_memory), None)
    if whole is not None and "ram" not in taken.host.assumed:
        raise AskError(
            say("{chip} has soldered memory shared by CPU and GPU: it cannot be extended", chip=whole.name),
            hint=say("give its size with the chip: m3 ultra 512gb, strix halo 128gb"),
        )
    return replace(node, host=taken.host, notes=(*node.notes, *notes))


def host_card(host: Host) -> Card:
    """The processor with its memory, as a card that engines work on."""
    return chip_card(host_chip(host))


def chip_card(chip: Chip) -> Card:
    """A chip as a card by itself, with all of its memory."""
    return Card(chip=chip, index=0, total_bytes=chip.mem_usable_bytes)


def _of_instance(text: str) -> Node | None:
    """The machine that a cloud rents under this name; None where no cloud writes names so."""
    cloud = in_cloud(text)
    if cloud is not None:
        return find_node(cloud[1])
    rented = find_instance(text)
    if rented is not None and rented.chip is not None and rented.n_chips >= 1:
        return _in_one_box(find_node(f"{rented.n_chips:g}x {rented.chip}"))
    unpriced = machine_of(text)
    if unpriced is not None:
        return find_node(unpriced)
    if is_instance(text):
        raise AskError(
            say('unknown instance "{text}"', text=text),
            hint=say(
                "give its GPUs: {example}; `rigright look-up clouds` lists instances", example='"8x h100"'
            ),
        )
    return None


def rented_from(text: str) -> tuple[str, ...]:
    """The cloud that a machine is named after, where it rents such cards at a known price."""
    clouds = clouds_of(text) if in_cloud(text) or not names_chip(text) else frozenset[str]()
    chip = find_node(text).cards[0].chip.id if clouds else ""
    there = (offer for offer in offers() if offer.provider in clouds and offer.chip == chip)
    return tuple({offer.provider: None for offer in there if offer.usd_per_h or offer.native_per_h})


def _find_cards(text: str, *, host: Host | None = None) -> Node:
    text, called = chip_of_computer(text)
    family = machine_of(text)
    if family is None and len(text) <= MOST_FAMILY and not names_chip(text):
        family = machine_of_family(text)
    if family is not None:
        return _in_one_box(find_node(family))
    text, noted = _in_pods(text)
    text = _in_boxes(_OF_A_NAME.sub("", text))
    _refuse_odd_counts(text)
    if not {"-", ".", "_", ":", " "}.isdisjoint(text):  # as names of instances are
        machine = _of_instance(text)
        if machine is not None:
            return machine
    text, stated = take_cabling(text)
    groups = [read_counts(list(group)) for group in _split(read_tokens(text))]
    alone = len(groups) == 1 and groups[0].count is None  # shown as it was typed
    matches = [_match(group, shown=text if alone else _named(group) or text) for group in groups]
    n_nodes = next((group.n_nodes for group in groups if group.n_nodes is not None), 1)
    count = sum(_count(group, match) for group, match in zip(groups, matches, strict=True))
    if not 0 < count <= MOST_CARDS:
        raise _no_count(text, count)
    if not 0 < n_nodes <= MOST_NODES:
        raise AskError(
            say('"{text}" means {count} GPUs in {nodes} nodes', text=text, count=count, nodes=n_nodes)
        )
    stated = stated if host is None else in_slots(stated, host, cards=count)
    cards: list[Card] = []
    for group, match in zip(groups, matches, strict=True):
        for _ in range(_count(group, match)):
            cards.extend(_devices(match.chip, group, first=len(cards)))
    pairs = [cabled(card.chip, stated, cards=len(cards)) for card in cards]
    notes = (
        *noted,
        *(() if called is None else (called,)),
        *(match.note for match in matches if match.note),
        *(note for _, sentences in pairs for note in sentences),
    )
    is_cut = any(group.mig for group in groups)
    cut = notes_on(count, share=_cut_share(matches, cards)) if is_cut else ()
    node = Node(
        cards=tuple(replace(card, chip=chip) for card, (chip, _) in zip(cards, pairs, strict=True)),
        n_nodes=n_nodes,
        notes=tuple(dict.fromkeys((*notes, *cut))),
    )
    return node if is_cut else _in_real_boxes(node)


def _cut_share(matches: list[Match], cards: list[Card]) -> float:
    """The smallest share of its GPU's memory that an instance has."""
    whole = max(match.chip.mem_bytes for match in matches)
    return min(card.chip.mem_bytes for card in cards) / whole


def _named(group: Counted) -> str:
    return " ".join(token.text for token in group.name)


def _match(group: Counted, *, shown: str) -> Match:
    """The chip of a group; of several that a name means equally well, one that has the MIG profile stated."""
    match = match_tokens(shown, group.name, total_bytes=group.total_bytes)
    if not group.mig or match.note is None:
        return match
    chips = [chip for chip in chips_meant(_named(group)) if profile_of(chip, group.mig)]
    if not chips:
        return match
    if len(chips) == 1:
        return Match(chip=chips[0])
    others = ", ".join(chip.name for chip in chips[1:])
    note = say(
        'using {chip} for "{text}"; it could also mean {others}',
        chip=chips[0].name,
        text=shown,
        others=others,
    )
    return Match(chip=chips[0], note=note)


def _in_real_boxes(node: Node) -> Node:
    """Cards alike as the machines hold them that are sold; what stands in one box is left as it is."""
    number, boxes = boxes_of(node.cards[0].chip, len(node.cards))
    if boxes == 1 or node.is_mixed:
        return node
    boxes *= node.n_nodes
    sentence = say("assumed: {boxes} nodes of {held} GPUs", boxes=boxes, held=number)
    return replace(node, cards=node.cards[:number], n_nodes=boxes, notes=(*node.notes, sentence))


def _in_one_box(node: Node) -> Node:
    """The cards of a cloud's instance: it is one machine, whatever such machines usually hold."""
    cards = tuple(replace(card, index=place) for place, card in enumerate(node.cards * node.n_nodes))
    return replace(node, cards=cards, n_nodes=1, notes=() if node.n_nodes > 1 else node.notes)


def in_slots(stated: Stated, host: Host, *, cards: int) -> Stated:
    """Slots of several cards as a processor that was named feeds them, where nobody says how wide.

    As most of them are on a board that gives the others half as many lanes: of 44 lanes two slots get 16, and
    a third one 8.
    """
    if stated.pcie_lanes or "cpu" in host.assumed or cards < 2:
        return stated
    most = cards // 2 + 1
    halves = most + (cards - most) / 2
    lanes = next((wide for wide in WIDTHS if wide * halves <= host.slot_lanes), WIDTHS[-1])
    return stated if lanes == WIDTHS[0] else replace(stated, pcie_lanes=lanes)


def _in_pods(text: str) -> tuple[str, tuple[Sentence, ...]]:
    """A cluster that a maker sells under one name, as machines of it: "dgx superpod" is 32 DGX."""
    for name, nodes, chip in pods():
        match = re.search(rf"\b{name}s?\b", text, re.IGNORECASE)
        if match is None:
            continue
        rest = re.sub(r"\bdgx\b", " ", text[: match.start()] + " " + text[match.end() :], flags=re.IGNORECASE)
        rest = rest.strip() or chip
        note = say('"{text}": {count} DGX systems, one scalable unit', text=match[0], count=nodes)
        return f"{nodes} nodes of dgx {rest}", (note,)
    return text, ()


def _in_boxes(text: str) -> str:
    """A cluster as boxes: "2048x 8x h100", "2,048 x (8x h100)", "16384x h100"."""
    if not text.lstrip()[:1].isdecimal():
        return text
    nested = _NESTED.fullmatch(text[:MAX_NAME_CHARS].strip())
    if nested is not None:
        return f"{nested['nodes'].replace(',', '')} nodes of {nested['bracketed'] or nested['inside']}"
    many = None if names_chip(text) else _MANY.fullmatch(text[:MAX_NAME_CHARS].strip())
    count = 0 if many is None else int(many["count"].replace(",", ""))
    if many is None or count % BOX_CARDS or not MOST_CARDS < count <= BOX_CARDS * MOST_BOXES:
        return text
    return f"{count // BOX_CARDS} nodes of {BOX_CARDS}x {many['name']}"


def _refuse_odd_counts(text: str) -> None:
    """A number of cards that no machine can have, before the rest is taken for a name."""
    if not _TIMES & set(text.lower()):
        return
    match = _NO_COUNT.search(text[:MAX_NAME_CHARS])
    if match:
        raise _no_count(text, match.group(1))


def _no_count(text: str, count: object) -> AskError:
    return AskError(
        say(
            '"{text}": {count} is not a valid number of GPUs; use 1 to {most}',
            text=text,
            count=count,
            most=MOST_CARDS,
        )
    )


def _split(tokens: list[Token]) -> list[list[Token]]:
    """Cut at every plus outside brackets."""
    groups: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth = max(0, depth + {"open": 1, "close": -1}.get(token.kind, 0))
        if token.kind == "plus" and depth == 0:
            groups.append([])
        else:
            groups[-1].append(token)
    # a part without a name says more about the one before: "RTX 4090, 24564 MiB, 20 GiB free"
    joined: list[list[Token]] = []
    for group in groups:
        if joined and not any(token.kind in {"word", "unknown"} for token in group):
            joined[-1].extend(group)
        else:
            joined.append(group)
    return joined


def _count(group: Counted, match: Match) -> int:
    """How many chips a group names: said, or as many as the box holds, or one."""
    if group.count is not None:
        return group.count
    return group.box if group.box and group.mig is None and (match.chip.link_max_chips or 0) > 1 else 1


def _devices(chip: Chip, group: Counted, *, first: int) -> list[Card]:
    """The devices a driver shows for one chip."""
    item = device_of(chip) if group.mig is None else instance_of(chip, group.mig)
    total_bytes = group.total_bytes or item.mem_usable_bytes
    return [
        Card(chip=item, index=first + place, total_bytes=total_bytes, free_bytes=group.free_bytes)
        for place in range(chip.devices)
    ]


def device_of(chip: Chip) -> Chip:
    """One of the devices a chip shows: the chip itself, or its share of memory, bandwidth and peak."""
    if chip.devices == 1:
        return chip
    shared = [
        name for name in Chip.__slots__ if name.endswith(("_flops_per_s", "_ops_per_s")) or name in _SHARED
    ]
    parts = {name: getattr(chip, name) for name in shared}
    share = {name: value / chip.devices for name, value in parts.items() if value is not None}
    return replace(chip, name=f"{chip.name} 1/{chip.devices}", devices=1, **share)


_SHARED = frozenset(
    {"mem_bytes", "mem_usable_bytes", "mem_program_bytes", "mem_bytes_per_s", "l2_bytes", "tdp_w"}
)
