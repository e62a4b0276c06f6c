"""Values as tools write them ("81920 MiB", "[N/A]") -> SI units, or None; fields by the words of tools."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from typing import Any

from rigright.base.tables import DATA, raw_rows
from rigright.base.units import GIB, KIB, KILO, MEGA, MIB

_MOST_BLOCKS = 20_000


def blocks(
    text: str, head: re.Pattern[str], *, most: int = _MOST_BLOCKS
) -> Iterator[tuple[re.Match[str], str]]:
    """Every block in order; of more than so many the last holds the rest."""
    matches = [*islice(head.finditer(text), most), None]
    for match, after in pairwise(matches):
        if match is not None:
            yield match, text[match.end() : after.start() if after is not None else len(text)]


_UNKNOWN = frozenset(
    {"", "n/a", "not supported", "unknown error", "err!", "-", "not active [n/a]", "redacted"}
)
_FILLED_IN_NEVER = frozenset(
    {
        *(
            "",
            "none",
            "no dimm",
            "empty",
            "unknown",
            "undefined",
            "not specified",
            "not applicable",
            "n/a",
            "0",
        ),
        *("x.x", "o.e.m.", "to be filled by o.e.m.", "default string", "system product name"),
        *("system manufacturer", "base board product name"),
    }
)
_REFUSED = (
    "requested functionality",
    "insufficient permissions",
    "gpu is lost",
    "gpu requires reset",
    "function not",
)
_SIZES = {"b": 1, "kib": KIB, "kb": KIB, "mib": MIB, "mb": MIB, "gib": GIB, "gb": GIB, "": MIB}
_RATES = {"kb/s": KILO, "mb/s": MEGA, "": KILO}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,6})?) ?([kKMGTP]?)(i?B|i)?")
_POWERS = {letter: float(KIB**power) for power, letter in enumerate("kmgtp", start=1)}
_WORD = re.compile(r"^[ \t]*(?:- )?([A-Za-z][^:\n]{0,80}):[ \t]*(\S[^\n]{0,8000})", re.MULTILINE)
_MOST_WORDS = 100_000
_CELLS = re.compile(r"^[^\n,]*,[^\n]*", re.MULTILINE)
_UNIT = re.compile(r" ?\[[^\[\]]{1,12}\]\Z")
_MOST_CELLS = 200  # of a line
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)\s*([A-Za-z/%()]*)")
_YES = {"yes": True, "enabled": True, "active": True, "no": False, "disabled": False, "not active": False}
_ADDRESS = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?(?![0-9a-f:])")
_RECOVERY = {
    "reset": "gpu reset",
    "reboot": "node reboot",
    "drain p2p": "drain p2p",
    "drain and reset": "drain and reset",
    "none": "none",
}
_MODES = {
    "default": "default",
    "prohibited": "prohibited",
    "exclusive_process": "exclusive process",
    "e. process": "exclusive process",
    "exclusive_thread": "exclusive thread",
}
_GENS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
_MOST_LANES = 32
_GTS = re.compile(r"(\d+(?:\.\d+)?) ?([GM])T/s")
_MOST_NUMBER = 1e18
_LOGIN = re.compile(r"//[^/@\s]+@")


def seen(text: str | None) -> str | None:
    """A value that says something; None for "N/A", "[Not Supported]" and their like."""
    bare = (text or "").strip()
    if bare.startswith("[") and bare.endswith("]"):
        bare = bare[1:-1].strip()
    lower = bare.lower()
    return None if lower in _UNKNOWN or lower.startswith(_REFUSED) else bare


def without_login(text: str) -> str:
    """Addresses in a text without the user and the password before the host."""
    return _LOGIN.sub("//", text)


def firmware_word(text: str | None) -> str | None:
    """A name in firmware, which has many words for none; makers leave some as they found them."""
    stated = (text or "").strip()
    return None if stated.lower() in _FILLED_IN_NEVER else stated


def words_in(text: str, *, lower: bool = False) -> dict[str, str]:
    """The lines of a text that read "word: value"; of a word that stands twice the first counts."""
    words: dict[str, str] = {}
    for name, value in islice(_WORD.findall(text), _MOST_WORDS):
        words.setdefault((name.lower() if lower else name).strip(), value.strip())
    return words


def csv_rows(text: str, *, marks: tuple[str, ...], most: int) -> list[dict[str, str]]:
    """The rows of a CSV under its line of heads, without units; of what is asked in a loop each thing once.

    `marks`: columns of which the first that is there says who a row is.
    """
    lines = [match[0] for match in islice(_CELLS.finditer(text), most + 1)]
    heads = heads_of(lines[0]) if lines else []
    rows: dict[object, dict[str, str]] = {}
    for place, line in enumerate(line for line in lines[1:] if line != lines[0]):
        row = dict(zip(heads, cells_of(line), strict=False))
        rows.setdefault(next((row[mark] for mark in marks if mark in row), place), row)
    return list(rows.values())


def heads_of(line: str) -> list[str]:
    """The heads of a CSV, without their units."""
    return [_UNIT.sub("", cell) for cell in cells_of(line)]


def cells_of(line: str) -> list[str]:
    """The cells of one line of a CSV."""
    return [cell.strip(' \t\r"') for cell in line.split(",", _MOST_CELLS)]


def size_of(value: object, *, unit: float = 1.0) -> float | None:
    """Bytes, of a number in some unit, or of text whose units are powers of two: "1.8T", "64 GB"."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value * unit if abs(value) < _MOST_NUMBER else None
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    return float(match[1]) * (_POWERS[match[2].lower()] if match[2] else 1.0 if match[3] else unit)


def read_value(kind: str, text: str | None) -> object:
    """A value of one kind of `data/nvidia_smi.csv`; None where nothing, or nothing sensible, is said."""
    given = seen(text)
    return None if given is None else _READERS[kind](given)


def _scaled(scales: Mapping[str, float]) -> Callable[[str], float | None]:
    """A number with a unit of the table; an unknown unit is no reading."""

    def read(text: str) -> float | None:
        match = _NUMBER.match(text.strip("() "))
        factor = None if match is None else scales.get(match.group(2).lower())
        if match is None or factor is None:
            return None
        value = float(match.group(1)) * factor
        return value if math.isfinite(value) and abs(value) < _MOST_NUMBER else None

    return read


def _count(text: str) -> int | None:
    """The whole number a value begins with: "16x", "192 bank(s)", "3"."""
    match = re.match(r"\d{1,18}(?![.\d])", text)
    return int(match.group()) if match else None


def _mark(text: str) -> str | None:
    """A serial or UUID; one of zeros alone was never written, or was masked."""
    return text if re.search(r"[1-9A-Fa-f]", text.removeprefix("GPU-")) else None


def address(text: str | None) -> str | None:
    """A PCI address as sysfs writes it: "00000000:1E:00.0" -> "0000:1e:00.0"; without a function it is 0."""
    match = _ADDRESS.match((text or "").lower().replace("0x", ""))
    if match is None:
        return None
    return f"{(match[1] or '').lstrip('0').rjust(4, '0')}:{match[2]}:{match[3]}.{match[4] or 0}"


def _pci_id(text: str) -> str | None:
    """Device and vendor in one number: "0x20B210DE" -> "10de:20b2"; zeros say nothing."""
    digits = text.lower().removeprefix("0x")
    if not re.fullmatch(r"[0-9a-f]{8}", digits) or digits[:4] == "0000":
        return None
    return f"{digits[4:].zfill(4)}:{digits[:4]}"


def _lanes(text: str) -> int | None:
    """The width beside a speed, or alone: "1 (16.0GT/s x16)", "x16", "16"."""
    match = re.search(r"GT/s x(\d{1,2})", text) or re.fullmatch(r"x?(\d{1,2})", text)
    return int(match.group(1)) if match else None


def gen_of(speed: str | None) -> int | None:
    """The PCIe generation of "16.0 GT/s PCIe" or "1 (16.0GT/s x16)"; "Unknown" is none."""
    match = _GTS.search(speed or "")
    if match is None:
        return None
    return _GENS.get(float(match[1]) / (KILO if match[2] == "M" else 1))


def lanes_of(width: int | None) -> int | None:
    """A width that can be: nothing hangs on a link of 0 lanes, and 255 means unknown."""
    return width if width is not None and 0 < width <= _MOST_LANES else None


def _amd_id(text: str) -> str | None:
    """A device of AMD by its number alone: "0x738c" -> "1002:738c"."""
    digits = text.lower().removeprefix("0x")
    return f"1002:{digits}" if re.fullmatch(r"[0-9a-f]{4}", digits) else None


def _amd_isa(text: str) -> str | None:
    """An instruction set; rocm-smi 6.0 wrote the step of gfx90a in decimals: "gfx9010"."""
    match = re.fullmatch(r"gfx90(1[0-5])", text.lower())
    name = f"gfx90{int(match.group(1)):x}" if match else text.lower()
    return name if re.fullmatch(r"gfx[0-9a-f]{3,4}", name) else None


def _intel_id(text: str) -> str | None:
    """A device of Intel by its number alone: "0xbd5" -> "8086:0bd5"."""
    digits = text.lower().removeprefix("0x").zfill(4)
    return f"8086:{digits}" if re.fullmatch(r"[0-9a-f]{4}", digits) else None


def _intel_name(text: str) -> str | None:
    """A name without marks of law; None for what Level Zero calls a card newer than itself."""
    name = text.replace("(R)", "").replace("(TM)", "").strip()
    if name.startswith("HL-"):
        return f"Gaudi {name}"
    return None if not name or re.fullmatch(r"Intel Graphics \[0x[0-9a-f]+\]", name) else name


def _percent(text: str) -> float | None:
    """A share that no counter takes beyond all."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?) ?%?", text)
    return min(float(match[1]) / 100, 1.0) if match else None


def _bracketed(text: str) -> str | None:
    """The name that people know, where a code name stands before it: "Navi 22 [Radeon RX 6700]"."""
    match = re.search(r"\[([^\]]+)\]\s*\Z", text)
    name = match.group(1) if match else text
    return None if re.fullmatch(r"0x[0-9a-fA-F]+", name) else name


def _version(text: str) -> str | None:
    """A driver's version; the kernel's own amdgpu has none, and tools put the kernel's name there."""
    return text if re.fullmatch(r"\d{1,4}(?:\.\d{1,6}){1,3}", text) else None


_READERS: dict[str, Callable[[str], object]] = {
    "text": str,
    "gen": gen_of,
    "lanes": _lanes,
    "amd_id": _amd_id,
    "amd_isa": _amd_isa,
    "intel_id": _intel_id,
    "intel_name": _intel_name,
    "percent": _percent,
    "bracketed": _bracketed,
    "raw_bytes": _scaled({**_SIZES, "": 1}),
    "mark": _mark,
    "word": lambda text: text.lower(),
    "version": _version,
    "bytes": _scaled(_SIZES),
    "rate": _scaled(_RATES),
    "hz": _scaled({"mhz": MEGA, "": MEGA}),
    "s": _scaled({"us": 1 / MEGA}),
    "w": _scaled({"w": 1, "": 1}),
    "c": _scaled({"c": 1, "": 1}),
    "share": _scaled({"%": 0.01, "": 0.01}),
    "count": _count,
    "sum": _count,
    "number": _scaled({"": 1}),
    "yes": lambda text: _YES.get(text.lower()),
    "address": address,
    "pci_id": _pci_id,
    "pstate": lambda text: _count(text.upper().removeprefix("P")),
    "recovery": lambda text: _RECOVERY.get(text.lower(), text.lower()),
    "compute_mode": lambda text: _MODES.get(text.lower(), text.lower()),
}


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    kind: str
    words: Mapping[str, tuple[tuple[str, ...], ...]]


@cache
def _rows(table: str) -> tuple[_Row, ...]:
    """Of each field and form the words to try in turn, each a sum of one or more."""
    return tuple(
        _Row(
            row["field"],
            row["kind"],
            {
                form: tuple(tuple(text.split("+")) for text in cell.split(";") if text)
                for form, cell in row.items()
                if form not in {"field", "kind"}
            },
        )
        for _, row in raw_rows(DATA / table, required=("field", "kind"))
    )


def words(table: str, form: str) -> frozenset[str]:
    """Every word of one form that says something we keep."""
    return frozenset(word for row in _rows(table) for sums in row.words[form] for word in sums)


def read_fields(table: str, form: str, *, values: Mapping[str, str]) -> dict[str, Any]:
    """Every field of the table that these values say something of."""
    fields = {}
    for row in _rows(table):
        value = _first(row, form, values=values)
        if value is not None:
            fields[row.name] = value
    return fields


def _first(row: _Row, form: str, *, values: Mapping[str, str]) -> Any:
    for sums in row.words[form]:
        given = [read_value(row.kind, values.get(word)) for word in sums]
        known: list[Any] = [value for value in given if value is not None]
        if known:
            return known[0] if len(sums) == 1 else sum(known)
    return None
