"""What the lines of a list mean: each kind of part, read from loose words into a `Rig`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from rigright.base.errors import AskError
from rigright.base.everyday import words_of
from rigright.base.record import replace
from rigright.base.units import GIB, KILO, TIB
from rigright.build.listed import ListLine, lines_of
from rigright.build.machine import Cards, Circuit, Disks, Modules, Rig
from rigright.facts.chips import Chip, chips
from rigright.facts.naming import pieces, vocabulary
from rigright.facts.nodes import Node, find_node
from rigright.facts.shop.cards import BLOWER, PASSIVE, WATER, shape_of
from rigright.facts.shop.cpus import processor_named
from rigright.facts.shop.find import chinese_words, named, ours, roomiest, shared, words
from rigright.facts.shop.tables import (
    Board,
    Cooler,
    Enclosure,
    Finished,
    Kit,
    PowerSupply,
    boards,
    cases,
    chipsets,
    coolers,
    finished,
    kits,
    supplies,
)

MOST_PARTS = 128
_COUNT = re.compile(
    r"\A(?P<n>\d{1,3})\s*(?:x(?![a-z])|\*|pcs|块|张|个|颗|条)\s*|\A(?P<dual>dual|twin|two|双路?|两[块张个颗])\s*"
    r"|(?:[\s,]+|(?<=w))[x*]\s*(?P<m>\d{1,2})\Z"
)
_FORMS = (
    ("ITX", r"\bitx\b|mini[- ]?itx|dtx"), ("mATX", r"\bm-?atx\b|micro[- ]?atx|matx|小板"),
    ("EEB", r"\b(?:ssi-?)?eeb\b"),
    ("CEB", r"\b(?:ssi-?)?ceb\b"), ("EATX", r"\be-?atx\b"), ("XL-ATX", r"xl[- ]?atx"), ("ATX", r"\batx\b"),
)  # fmt: skip
_BY_SPEED = {"DDR4": (2666, 4600), "DDR5": (4800, 9999)}  # MT/s that one generation alone has
_SPECS = re.compile(
    r"\b(?:am[45]|lga ?-?\d{4}(?:-3)?(?: narrow)?|s?trx?[45]|ddr[345]|"
    r"(?:micro|mini|e|xl|m)?[- ]?(?:atx|itx|dtx)|ssi[- ][ce]eb|2 x)\b"
)
_OPEN_FRAME = r"open|frame|bench|mining|no case|caseless|bare|开放|裸|矿|架子"
_KINDS_OF_CASE = (
    ("open frame", _OPEN_FRAME),
    ("rack 4U GPU", r"gpu (?:server )?chassis|\b[45]u gpu|gpu [45]u|(?:[4-9]|10)卡"),
    ("ATX Full Tower", r"full[- ]?tower|全塔"), ("ATX Mid Tower", r"mid[- ]?tower|中塔|\batx case\b|atx机箱"),
    ("Mini ITX Tower", r"\bitx\b|sff\b"), ("Micro ATX Mini Tower", r"\bm-?atx\b|micro[- ]?atx"),
)  # fmt: skip
_LOW_M = {"rack 1U": 0.03, "rack 2U": 0.066, "rack 3U": 0.105}  # what stands upright in it
_TOWER_BOARDS = {
    "ATX Mid Tower": "ATX mATX ITX", "Mini ITX Tower": "ITX", "Micro ATX Mini Tower": "mATX ITX",
    "ATX Full Tower": "EATX ATX mATX ITX",
}  # fmt: skip


def rig_of(lines: Iterable[ListLine]) -> Rig:
    """The machine that a list states."""
    lines = tuple(lines)
    many = ("modules", "cards", "supplies", "disks", "unknown", "repeated")
    fields: dict[str, Any] = dict.fromkeys(many, ())
    for line in lines:
        read = _READERS.get(line.part)
        stated = {} if read is None else read(line.text)
        if read is not None and not stated:
            stated = {"unknown": ((line.part, line.text),)}
        for field, value in stated.items():
            if isinstance(value, tuple):
                fields[field] += value[:MOST_PARTS]
            elif field in fields and field == "nics":
                fields[field] += value
            elif field in fields and field == "cpu_count":
                fields[field] += value if stated["processor"] == fields["processor"] else 0
            elif fields.setdefault(field, value) != value:
                fields["repeated"] += ((line.part, line.text),)
    remarks = "\n".join(line.text for line in lines).casefold()
    whole = next((line.text for line in lines if line.part == "machine"), "")
    _, _, inside = re.sub(r"\bwith\b|\bw/|带|配", "+", whole).partition("+")
    if inside and not fields["cards"]:
        fields["cards"] = _card_groups(inside).get("cards", ())
    return Rig(**fields, remarks=remarks)


def counted(text: str) -> tuple[int, str]:
    """A count at either end, and the rest: "2x 1600W", "RTX 3090 x4", "双路 6338"."""
    match = _COUNT.search(text.strip().casefold())
    if match is None:
        return 1, text.strip()
    number = int(match["n"] or match["m"] or 2)
    plain = text.strip()
    rest = plain[match.end() :] if match.start() == 0 else plain[: match.start()]
    return max(1, number), rest.strip()


def english(text: str) -> str:
    """The makers and series of a line in English, in lower case."""
    plain = text.casefold()
    if not plain.isascii():
        for chinese, word in chinese_words():
            plain = plain.replace(chinese, f" {word} ")
    return plain


def _cpu(text: str) -> dict[str, Any]:
    count, name = counted(english(text).strip())
    name = re.sub(
        r"\(.*?\)|\b\d{1,3}[- ]?(?:c|cores?|t|threads?)\b(?:/\d+t)?|\d(?:\.\d+)? ?ghz|\bes\b|\bqs\b",
        " ",
        name,
    )
    if re.search(r"\bapple\b|\bm[1-6] (?:pro|max|ultra)\b", name):
        return {"machine": _machine_named("mac studio")}  # it comes with the machine around it
    processor = processor_named(name)
    return {} if processor is None else {"processor": processor, "cpu_count": count}


def _board(text: str) -> dict[str, Any]:
    plain = english(text)
    socket = re.search(r"\b(am[45]|lga ?-?\d{4}(?:-3)?|s?trx?[45]|swrx8|sp[356])\b", plain)
    kind = re.search(r"\bddr([345])\b|\bd([45])\b", plain)
    form = next((name for name, shape in _FORMS if re.search(shape, plain)), None)
    rows = named(_SPECS.sub(" ", plain), boards()) or named(plain, boards())
    rows = tuple(board for board in rows if form in {None, board.form}) or rows
    mem = f"DDR{kind[1] or kind[2]}" if kind else None
    rows = ours(tuple(board for board in rows if mem in {None, board.mem_type}) or rows)
    asked = words(plain)
    chips = chipsets()
    chipset = next((chips[item] for item in asked if item in chips), None) or next(
        (chips[item.rstrip("mie")] for item in asked if item.rstrip("mie") in chips), None
    )
    small = chipset is not None and f"{chipset.chipset}m".casefold() in asked
    if rows and not (len(rows) > 3 and chipset is not None):
        facts = shared(rows) | {"name": _shown(text, rows)}
        facts |= roomiest(rows, "slots", "mem_slots", "mem_max_bytes", "m2")
        suffixed = all(re.search(r"\bd(?:dr)?[45]\b", board.name.casefold()) for board in rows)
        if mem is None and suffixed and chipset is not None and len(chipset.mem) > 1:
            facts["mem_type"] = None  # it is sold in both kinds, and the table holds one
        return {"board": Board(**facts)}
    if chipset is None and socket is None:
        return {}
    if mem is None and chipset is not None and len(chipset.mem) == 1:
        mem = next(iter(chipset.mem))
    known = re.sub(r"[ -](?!3\Z)", "", socket[1].upper()) if socket else None
    return {"board": Board(
        name=text, socket=chipset.socket if chipset else known, chipset=chipset.chipset if chipset else None,
        form=form or ("mATX" if small else None), mem_type=mem, slots=(16,) if form == "ITX" else None,
        mem_slots=2 if form == "ITX" else None,
    )}  # fmt: skip


def _shown(text: str, rows: tuple[Any, ...]) -> str:
    """The name of the one row, else as it was written."""
    return f"{rows[0].vendor or ''} {rows[0].name}".strip() if len(rows) == 1 else text


def _ram(text: str) -> dict[str, Any]:
    plain = english(text)
    size = r"(\d{1,4})\s*(gb?|tb?)(?![a-wyz0-9/])"
    pair = re.search(rf"(\d{{1,2}})\s*[x*]\s*{size}", plain)
    turned = re.search(rf"{size}\s*[x*]\s*(\d{{1,2}})\b", plain)
    bare = re.search(r"\b(\d{1,3})\s*[x*]\s*(\d{1,3})\b", plain)
    kit = next((kits()[value] for value in re.findall(r"[a-z0-9/-]{6,}", plain) if value in kits()), None)
    if kit is not None and not pair and not turned and not bare:
        return {"modules": (_kit(kit, counted(plain)[0]),)}
    sizes = [int(value) * (TIB // GIB if unit[0] == "t" else 1) for value, unit in re.findall(size, plain)]
    count = each = None
    if pair:
        count, each = int(pair[1]), int(pair[2]) * (TIB // GIB if pair[3][0] == "t" else 1)
    elif turned:
        count, each = int(turned[3]), int(turned[1])
    elif bare and int(bare[1]) * int(bare[2]) > 0:
        count, each = int(bare[1]), int(bare[2])
        if each <= 4 < count:
            count, each = each, count  # "16x2" of a kit
    total = max(sizes, default=None) if sizes else None
    if not count and total is None:
        return {}
    registered = _registered(plain)
    speed = re.search(
        r"ddr[345][- ]?(\d{4,5})\b|\b(\d{4,5})\s*(?:mhz|mt/?s|mts)|(?<![\d.])([2-9]\d{3})(?!\d)", plain
    )
    kind = re.search(r"ddr([345])|\bd([45])\b|\bpc([345])-", plain)
    mts = int(speed[1] or speed[2] or speed[3]) if speed else None
    by_speed = next((name for name, (low, high) in _BY_SPEED.items() if mts and low <= mts <= high), None)
    whole = count * each if count and each else total
    return {"modules": (Modules(
        count=count or None, each_bytes=each * GIB if each else None,
        total_bytes=None if whole is None else whole * GIB,
        type=f"DDR{kind[1] or kind[2] or kind[3]}" if kind else by_speed, mts=mts, registered=registered,
        reduced=re.search(r"lrdimm|load[- ]reduced", plain) is not None,
        ecc=True if re.search(r"\becc\b", plain) and "non-ecc" not in plain else None,
        laptop=re.search(r"so-?dimm|laptop|笔记本", plain) is not None,
        stated_bytes=total * GIB if total and count and each and total > each else None,
    ),)}  # fmt: skip


def _registered(plain: str) -> bool | None:
    if re.search(r"\b(?:l?r-?dimm|registered|reg|recc|r-?ecc|eccr|3ds)\b|lrdimm|rdimm|服务器", plain):
        return True
    series = (
        r"vengeance|trident|ripjaws|fury|dominator|flare|aegis|royal|ballistix|t-?force|lancer|crucial pro"
    )
    return False if re.search(rf"\b(?:u-?dimm|unbuffered|{series})\b", plain) else None


def _kit(kit: Kit, count: int) -> Modules:
    number = kit.modules * count
    return Modules(
        count=number, each_bytes=kit.module_bytes, total_bytes=number * kit.module_bytes, type=kit.type,
        mts=kit.mts, registered=bool(kit.registered), ecc=kit.ecc, laptop=bool(kit.laptop),
    )  # fmt: skip


def _card_groups(text: str) -> dict[str, Any]:
    """Groups of cards joined by plus signs or commas, each with what is said of it."""
    plain = re.sub(
        r"pcie? ?(?:gen ?)?\d?(?:\.0)? ?x\d{1,2}\b|\bat x\d{1,2}(?:/x\d{1,2})*", " ", english(text)
    )
    plain = re.sub(r"(?<![\w.])o?(\d{1,3}) ?g(?![a-z])", r"\1gb", plain)
    if re.fullmatch(
        r"none|no(?: gpu)?|igpu|integrated.*|n/a|-+|无|没有|核显|集成显卡", text.strip().casefold()
    ):
        return {"cards": ()}
    cards: list[Cards] = []
    for group in re.split(r"\s*\+\s*|,\s*(?=\d+\s*x)|;\s*", plain):
        for words_zh, number in (("单槽", "1-slot"), ("双槽", "2-slot"), ("三槽", "3-slot")):
            group = group.replace(words_zh, f" {number} ")  # noqa: PLW2901 - the same in digits
        wide = re.search(r"(\d(?:\.\d+)?)[- ]?(?:slots?|槽)", group)
        long = re.search(r"(\d{3})\s?mm", group)
        limit = re.search(r"(?<![\d.])(\d{2,3})\s?w(?:atts?)?\b", group)
        rest = re.sub(
            r"\d(?:\.\d+)?[- ]?(?:slots?|槽)|\d{3}\s?mm|(?<![\d.])\d{2,3}\s?w(?:atts?)?\b|\(.*?\)|nvlink\S*",
            " ",
            group,
        )
        many, name = (1, rest) if "node" in rest else counted(rest)
        series = r"\b(?:\d{1,2}x|x\d{1,2}|dual|twin|triple)\b"  # "Ventus 3X", "Dual OC": no counts here
        name = name if "node" in rest else re.sub(series, " ", name)
        node = _node(name) or _node(re.sub(r"[()]", " ", group))
        if node is None:
            continue
        cooling = next((kind for kind, shape in _COOLINGS if re.search(shape, group)), None)
        for named_chip in dict.fromkeys(card.chip for card in node.cards):
            count = sum(card.chip == named_chip for card in node.cards) * node.n_nodes * many
            chip = _pluggable(named_chip, plain)
            if count > MOST_PARTS or (count > many and not re.search(_SAID_COUNT, name)):
                count = many  # a number of the model's name
            count *= 2 if count == 1 and re.search(r"双卡|双显卡|两张|两块", text) else 1
            cards.append(Cards(
                chip=chip, count=max(1, count // chip.devices),
                shape=shape_of(chip, _model(rest), cooling=cooling),
                slots=float(wide[1]) if wide else None, length_m=int(long[1]) / KILO if long else None,
                limit_w=float(limit[1]) if limit else None,
                bridged="nvlink" in plain and "no nvlink" not in plain,
            ))  # fmt: skip
    return {"cards": tuple(cards)} if cards else {}


def _pluggable(chip: Chip, text: str) -> Chip:
    """The model for a slot, where the text leaves the form open and a list of parts speaks of it."""
    if chip.form.startswith("PCIe") or re.search(r"sxm|oam|hgx|dgx|mezz|baseboard|模组", text):
        return chip
    texts = pieces(chip.name) - pieces(chip.form) - set(re.findall(r"sxm\d?", chip.name.casefold()))
    same = [
        item
        for item in chips()
        if item.form.startswith("PCIe")
        and item.mem_bytes == chip.mem_bytes
        and texts <= pieces(item.name)
        and item.architecture == chip.architecture
    ]
    return same[0] if len(same) == 1 else chip


_SAID_COUNT = r"[x*]\s*\d{1,2}\b|\b\d{1,2}\s*[x*]|quad|pair|node|dgx|hgx|nvl|[一二三四五六七八两双]"
_COOLINGS = (
    (WATER, r"water|hybrid|liquid|hydro|block|\baio\b|水冷|水"),
    (BLOWER, r"blower|turbo|涡轮|max-?q|鼓风"),
    (PASSIVE, r"\bpassive\b|被动"),
)  # fmt: skip


_CORE = re.compile(
    r"(?:\b(?:rtx|gtx|rx|titan|tesla|quadro|arc|radeon|instinct|geforce|pro|ai)\s+)*"
    r"\b[a-z]{0,3}[ -]?\d{2,5}(?:[a-z]{1,3})?\b"
    r"(?:[ -]*(?:ti|super|xtx|xt|gre|d|ada|blackwell|max-?q|sxm\d?|pcie|nvl)\b)*"
)


def _node(text: str) -> Node | None:
    """The cards a text names; words of makers and series that say nothing of a chip are left out."""
    plain = text.casefold().strip()
    known = vocabulary()
    kept = [
        value
        for value in re.findall(r"[a-z0-9.-]+", plain)
        if value in known or re.fullmatch(r"x\d+|.*\d.*|dual", value)
    ]
    count, _ = counted(plain)
    sized = re.search(r"\b\d{1,3}gb\b", plain)
    cores = sorted((match[0] for match in _CORE.finditer(plain)), key=len, reverse=True)[:4]
    cores += [
        core.removeprefix("pro ") for core in cores if core.startswith("pro ")
    ]  # "OC PRO GeForce RTX 2060"
    sizes = (f" {sized[0]}" if sized else "", "")
    named_so = [f"{count}x {core}{size}" for core in cores for size in dict.fromkeys(sizes)]
    for tried in (plain, " ".join(kept), *named_so):
        try:
            if tried.strip():
                return find_node(tried)
        except AskError:
            continue
    return None


def _model(text: str) -> str:
    """The words of a line that may name a maker's model."""
    return re.sub(r"\A\s*\d{1,3}\s*[x*]\s*|\b\d+ ?gb\b", " ", text).strip()


def _psu(text: str) -> dict[str, Any]:
    """Supplies of one line, joined by a plus or a comma."""
    supplies = [
        supply
        for group in re.split(r"\s\+\s(?=.*\d{3})|\sand\s(?=.*\d{3})|,\s(?=\d+ ?x)", text)
        for supply in _supplies(group)
    ]
    return {"supplies": tuple(supplies)} if supplies else {}


def _supplies(text: str) -> tuple[PowerSupply, ...]:
    count, name = counted(english(text))
    watts = re.search(r"(?<![\d.])(\d{3,4})\s*w(?:atts?)?(?![a-z0-9])|(?<![\d.])(\d(?:\.\d+)?)\s*kw\b", name)
    said_w = None if watts is None else float(watts[1]) if watts[1] else float(watts[2]) * KILO
    bare = re.sub(
        r"(?<![\d.])\d{3,4}\s*w(?:atts?)?\b|atx ?3\.?\d?|pcie ?5\.?\d?|80 ?\+?(?:plus)?|\d{3} ?v\b", " ", name
    )
    worded = re.search(r"[a-z]{2}", re.sub(r"any|gold|atx|platinum|titanium|bronze|server|psu", "", bare))
    pool = supplies() if worded else ()
    rows = named(name if watts is None else bare, pool)
    if said_w is not None:
        rows = tuple(row for row in rows if row.watts == said_w) or tuple(
            item for item in named(f"{bare} {said_w:.0f}", pool) if item.watts == said_w
        )
    rows = ours(rows)
    number = re.search(r"(?<![\w.])(\d{3,4})(?![\w.])", bare)
    if said_w is None and not rows and number and 300 <= int(number[1]) <= 3500:
        said_w = float(number[1])
    new = re.search(r"atx ?3|12vhpwr|12v-?2x6|pcie ?5", name) is not None
    if rows:
        supply = PowerSupply(**shared(rows) | {"name": _shown(text, rows)})
        return (supply,) * count if supply.watts else ()
    if said_w is None:
        return ()
    forms = (("SFX-L", r"sfx-?l"), ("SFX", r"sfx"), ("CRPS", r"server|crps|服务器|c20"))
    form = next((kind for kind, shape in forms if re.search(shape, name)), None)
    return (PowerSupply(name=counted(text)[1], watts=said_w, atx3=new or None, form=form),) * count


def _case(text: str) -> dict[str, Any]:
    plain = english(text)
    plainly = re.search(r"\A(?:generic |any )?(?:open|test|mining|\du)\b", plain)
    rows = (
        ()
        if plainly
        else tuple(enclosure for enclosure in named(plain, cases()) if enclosure.vendor != "generic")
    )
    rows = ours(tuple(enclosure for enclosure in rows if (enclosure.kind or "").casefold() in plain) or rows)
    if rows:
        facts = shared(rows) | {"name": _shown(text, rows)}
        return {"case": Enclosure(**facts | roomiest(rows, "card_m", "slots", "cooler_m", "psu_m", "boards"))}
    rack = re.search(r"(?<![a-z0-9])([1-9])u(?![a-z0-9])", plain)
    kind = next((kind for kind, shape in _KINDS_OF_CASE if re.search(shape, plain)), None)
    if kind in {None, "ATX Mid Tower"} and (rack or re.search(r"\brack", plain)):
        kind = f"rack {rack[1]}U" if rack else "rack 4U"
    if kind is None:
        return {}
    takes = _TOWER_BOARDS.get(kind)
    fits = frozenset(takes.split()) if takes else None
    return {"case": Enclosure(name=text, kind=kind, boards=fits, cooler_m=_LOW_M.get(kind))}


def _ssd(text: str) -> dict[str, Any]:
    disks = []
    for written in re.split(r"\s*\+\s*|,\s*|;\s*", text):
        if not re.search(r"\d", written):
            continue
        count, shown = counted(written)
        rest = english(shown)
        gen = re.search(r"(?:gen ?|pcie ?|p)([345])(?:\.0)?\b", rest)
        sata = re.search(
            r"\bsata\b|\bhdd\b|exos|ironwolf|barracuda|机械|2\.5 ?(?:inch|寸)|3\.5|870 evo|mx500", rest
        )
        other = "u2" if re.search(r"\bu\.?[23]\b|pm9a3|pm1733|pm1743|p5\d{3}\b", rest) else None
        m2 = re.search(r"nvme|m\.2|gen ?[345]|9[0789]0 (?:pro|evo)|sn[578]\d0|固态", rest)
        kind = "sata" if sata else other or ("m2" if m2 else None)
        disks.append(Disks(
            count=min(count, MOST_PARTS), kind=kind, gen=int(gen[1]) if gen else None, name=shown,
        ))  # fmt: skip
    return {"disks": tuple(disks)} if disks else {}


def _cooler(text: str) -> dict[str, Any]:
    plain = english(text)
    bare = re.sub(
        r"\b\d+(?:\.\d+)? ?(?:mm|cfm|rpm|db)\b|\b(?:air|water|radiator|cooler|liquid)\b", " ", plain
    )
    result = named(bare, coolers()) or named(plain, coolers())
    rows = ours(tuple(cooler for cooler in result if cooler.vendor != "generic"))
    if rows:
        facts = shared(rows) | roomiest(rows, "sockets")
        return {"cooler": Cooler(**facts | {"name": _shown(text, rows)})}
    radiator = re.search(r"(?<!\d)(120|140|240|280|360|420|480)(?!\d)", plain)
    if re.search(r"aio|liquid|water|radiator|loop", plain) or radiator:
        return {
            "cooler": Cooler(name=text, type="liquid", radiator_mm=int(radiator[1]) if radiator else None)
        }
    if re.search(r"stock|boxed|wraith|included", plain):
        return {"cooler": Cooler(name=text, type="air", holds_w=95.0, height_m=0.075)}
    return (
        {"cooler": Cooler(name=text, type="air")} if re.search(r"\bair\b|tower|fan|heatsink", plain) else {}
    )


def pc_of(text: str) -> Rig:
    """A PC in one sentence: "b650, 64gb, 850w, 2 slots"."""
    plain = unicodedata.normalize("NFKC", text).replace("瓦", "w")
    pieces = filter(None, map(str.strip, re.split(r"[,;+、\n]|\band\b|\bwith\b|和", plain)))
    slots, lines = None, list[str]()
    for piece in pieces:
        match = re.search(r"(\d)\s*(?:x\s*)?(?:pci-?e\s*)?(?:x16\s*)?(?:slots?\b|个?插槽|槽)", english(piece))
        slots = int(match[1]) if match else slots
        lines += [] if match else [f"{_kind_of(piece)}{piece}"]
    listed = lines_of("\n".join(lines), name="--have")
    listed = tuple(
        ListLine(part="case", text=line.text) if line.part == "note" and _case(line.text) else line
        for line in listed
    )
    rig = rig_of(listed)
    notes = tuple((line.part, line.text) for line in listed if line.part == "note")
    board = rig.board if slots is None else replace(rig.board or Board(name="board"), slots=(16,) * slots)
    return replace(rig, board=board, unknown=(*rig.unknown, *notes))


def _kind_of(piece: str) -> str:
    """What kind of part a word is in a sentence about a PC; "" where its own words say it."""
    if words(english(piece)) & chipsets().keys():
        return "board: "
    if re.search(r"(?i)^\d+ ?(?:gb?|tb?)\s*(?:ddr\d.*|ram|内存)?$", piece):
        return "ram: "
    return "" if _machine_named(piece) is None else "machine: "


def _nic(text: str) -> dict[str, Any]:
    """Network cards that take a slot."""
    plain = english(text)
    if re.search(r"on[- ]?board|built|integrated|wifi|板载|自带", plain):
        return {"nics": 0}
    return {"nics": min(counted(plain)[0], MOST_PARTS)}


def _room(text: str) -> dict[str, Any]:
    room = room_of(text)
    return {} if room is None else {"room": room}


def room_of(text: str) -> Circuit | None:
    """What a place bears: "110V 15A", "two 20 amp circuits at 120 V", "rack 2U, quiet"."""
    homes = {word.replace(" ", ""): circuit for word, circuit in words_of("room").items()}
    pieces = re.split(r"[,;+，；、]|\band\b|和", text.casefold())
    plain = " ".join(homes.get("".join(piece.split()), piece) for piece in pieces)
    units, quiet = re.search(r"(?<![\w.])(\d{1,2})\s*u\b", plain), re.search(r"\bquiet\b", plain)
    volts = re.search(r"(\d{3})\s*(?:v|伏)", plain)
    amps = re.search(r"(\d{1,3})\s*(?:a(?![a-z0-9])|amps?|安)", plain)
    many = re.search(r"\b(\d)\s*(?:x|circuits|breakers|路)|(two|dual|两路|双路)|x\s*(\d)\b", plain)
    if not (volts or amps or units or quiet):
        return None
    circuits = 1 if many is None else 2 if many[2] else int(many[1] or many[3])
    return Circuit(
        volts=float(volts[1]) if volts else None,
        amps=float(amps[1]) if amps else None,
        circuits=max(1, circuits),
        units=int(units[1]) if units else None,
        quiet=quiet is not None,
    )


def _machine(text: str) -> dict[str, Any]:
    finished = _machine_named(text)
    return {} if finished is None else {"machine": finished}


def _machine_named(text: str) -> Finished | None:
    """The finished machine whose longest calling has all its words in a text."""
    texts = re.sub(r"[^a-z0-9.\u4e00-\u9fff-]+", " ", text.casefold()).split()
    plain = f" {' '.join(item.strip('-') for item in texts)} "
    close = [
        (len(word), item)
        for item in finished()
        for word in item.words
        if all(
            f" {part} " in plain or f" {part}-" in plain or (not part.isascii() and part in plain)
            for part in word.split()
        )
    ]
    return max(close, key=lambda pair: pair[0])[1] if close else None


_READERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "cpu": _cpu, "board": _board, "ram": _ram, "gpu": _card_groups, "psu": _psu, "case": _case, "ssd": _ssd,
    "cooler": _cooler, "nic": _nic, "room": _room, "machine": _machine,
}  # fmt: skip
