"""Makes `src/rigright/data/parts/*.csv` of a folder of BuildCores tables: clean, short, one row a product.

    python scripts/parts_tables.py FOLDER

What the source states wrongly or by default is left empty (docs/decisions/049): a connector count of zero,
the generation of slots, more than five M.2 slots, 0 mm. Registered memory is what the field or the name says.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rigright.facts.shop.find import FILLER

OUT = Path(__file__).parent.parent / "src" / "rigright" / "data" / "parts"
OWN = OUT.parent / "cpus.csv"
DRIVE_NOISE = re.compile(r"\b(?:SSD|NVMe|M\.2-?\d*|PCIe|\d\.0 x\d+|\d+(?:\.\d+)? ?[TG]B)\b")
MEMORY_MAX = {"1": "1024", "2": "2048", "1000": "1024", "2000": "2048"}
SOCKETS = {"2 x LGA 2011-3": "LGA2011-3", "TR4": "sTR4", "LGA 1151v2": "LGA1151"}
FORMS = {
    "Micro ATX": "mATX", "Mini-ITX": "ITX", "Mini DTX": "ITX", "Micro-ATX": "mATX", "SSI EEB": "EEB",
    "SSI CEB": "CEB", "XL ATX": "XL-ATX", "SSI-EEB": "EEB", "SSI-CEB": "CEB",
}  # fmt: skip
ROWS = dict[str, str]


def rows(folder: Path, name: str) -> list[ROWS]:
    """A table of the source."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def short(row: ROWS, *more: str) -> str:
    """A product's name without its vendor and what other columns state."""
    name = FILLER.sub(" ", row["name"])
    for word in filter(None, (row["vendor"], *more)):
        name = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", " ", name, flags=re.IGNORECASE)
    return " ".join(dict.fromkeys(re.sub(r"\s[-—+]+\s", " ", name).split())) or row["name"]


def above_zero(cell: str) -> str:
    """A figure that is one; zero is unknown."""
    return cell if cell and float(cell) > 0 else ""


def socket(cell: str) -> str:
    """One spelling of a socket."""
    cell = cell.removeprefix("2 x ")
    return SOCKETS.get(cell, cell).replace("LGA ", "LGA").removesuffix(" Narrow")


def boards(folder: Path) -> Iterator[ROWS]:
    """Mainboards: how many slots of each length, and no generation, which the source does not know."""
    for row in rows(folder, "boards"):
        counts: dict[str, int] = {}
        for count, lanes in re.findall(r"(\d+)x x(\d+)@", row["pcie_slots_as_given"]):
            counts[lanes] = counts.get(lanes, 0) + int(count)
        m2 = row["m2_records"]
        chipset = re.sub(r"^(?:AMD|Intel) ", "", row["chipset"])
        yield {
            "name": short(row, row["socket"], row["mem_type"], row["form_factor"], "ATX", "AMD", "Intel",
                          "Micro", row["socket"].replace(" ", "")),
            "vendor": row["vendor"], "socket": socket(row["socket"]), "chipset": chipset,
            "form": FORMS.get(row["form_factor"], row["form_factor"]), "mem_type": row["mem_type"],
            "mem_slots": row["mem_slots"] if row["mem_slots"] in {"2", "4", "6", "8", "12", "16"} else "",
            "mem_max_gb": above_zero(MEMORY_MAX.get(row["mem_max_gb"], row["mem_max_gb"])),
            "cpus": "2" if row["socket"].startswith("2 x") else "1",
            "slots": " ".join(f"{counts[lanes]}x{lanes}" for lanes in sorted(counts, key=int, reverse=True)),
            "m2": m2 if 0 < int(m2 or 0) <= 5 else "", "year": row["year"],
        }  # fmt: skip


def psus(folder: Path) -> Iterator[ROWS]:
    """Power supplies; counts of zero are unknown."""
    for row in rows(folder, "psus"):
        if float(row["watts"] or 0) < 300:
            continue
        new = re.search(r"atx ?3|12vhpwr|12v-2x6|pcie ?5", row["name"], re.IGNORECASE) is not None
        h12v = above_zero(row["h12v"]) or (
            "" if new or row["flags"] or not above_zero(row["pcie_6p2"]) else "0"
        )
        yield {
            "name": short(row, f"{row['watts']}W", row["efficiency"]), "vendor": row["vendor"],
            "watts": row["watts"], "efficiency": row["efficiency"].removeprefix("80+ "),
            "form": row["form_factor"].replace("Mini-ITX", "SFX"), "eps": above_zero(row["eps_8pin"]),
            "pcie": above_zero(row["pcie_6p2"]), "h12v": h12v,
            "atx3": "y" if new or above_zero(h12v or "0") else "", "length_mm": above_zero(row["length_mm"]),
        }  # fmt: skip


def cases(folder: Path) -> Iterator[ROWS]:
    """Cases whose room for cards is known."""
    for row in rows(folder, "cases"):
        if row["max_gpu_length_mm"] or row["expansion_slots"]:
            fits = re.sub("Mini-DTX", "ITX", row["boards"]).split()
            yield {
                "name": short(row, row["form_factor"]), "vendor": row["vendor"], "kind": row["form_factor"],
                "boards": " ".join(sorted({FORMS.get(one, one) for one in fits})),
                "card_mm": above_zero(row["max_gpu_length_mm"]), "slots": above_zero(row["expansion_slots"]),
                "psu_form": row["psu_form"], "psu_mm": above_zero(row["psu_max_length_mm"]),
                "cooler_mm": above_zero(row["cooler_height_mm"]), "volume_l": above_zero(row["volume_l"]),
            }  # fmt: skip


def coolers(folder: Path) -> Iterator[ROWS]:
    """Coolers of processors."""
    for row in rows(folder, "coolers"):
        yield {
            "name": re.sub(r"\b(?:Air|Water|\d+mm)\b", "", short(row)).strip() or row["name"],
            "vendor": row["vendor"],
            "type": row["type"], "height_mm": above_zero(row["height_mm"]) if row["type"] != "liquid" else "",
            "radiator_mm": above_zero(row["radiator_mm"]),
            "sockets": re.sub(r"\bTR4\b", "sTR4", row["sockets"]),
        }  # fmt: skip


def cards(folder: Path) -> Iterator[ROWS]:
    """Graphics cards of known chips; widths beyond five slots are millimetres."""
    for row in rows(folder, "cards"):
        wide = float(row["slots"] or 0)
        long = float(row["length_mm"] or 0)
        yield {
            "chip": row["chip"], "name": short(row, "AMD", "NVIDIA", f"{row['mem_gb']}GB"),
            "vendor": row["vendor"], "length_mm": f"{long:g}" if long > 100 else "",
            "slots": f"{wide:g}" if 0 < wide <= 5 else "", "plugs": row["power_connectors"],
            "cooling": row["cooling"].replace(" Fans", "").replace(" Fan", ""),
        }  # fmt: skip


def memory(folder: Path) -> Iterator[ROWS]:
    """Kits of memory by their part numbers."""
    for row in rows(folder, "ram"):
        registered = row["registered"] == "Registered" or re.search(
            r"rdimm|registered", row["name"] + row["flags"], re.IGNORECASE
        )
        for number in row["part_number"].split()[:3]:
            if len(number) < 6:
                continue
            yield {
                "part": number, "vendor": row["vendor"], "type": row["type"], "modules": row["modules"],
                "module_gb": row["module_gb"], "mts": row["mts"], "ecc": "y" if row["ecc"] == "ECC" else "",
                "registered": "y" if registered else "", "laptop": "y" if "SO-" in row["form_factor"] else "",
            }  # fmt: skip


def drives(folder: Path) -> Iterator[ROWS]:
    """NVMe drives."""
    for row in rows(folder, "drives"):
        yield {
            "name": DRIVE_NOISE.sub("", short(row)).strip() or row["name"],
            "vendor": row["vendor"], "gen": row["pcie_gen_derived"], "lanes": row["lanes_derived"],
            "form": row["form_factor"],
        }  # fmt: skip


def processors(folder: Path) -> Iterator[ROWS]:
    """Processors that data/cpus.csv lacks."""
    with OWN.open(encoding="utf-8", newline="") as file:
        known = {plain(row["name"]) for row in csv.DictReader(file)}
    for row in rows(folder, "cpus"):
        name = re.sub(r"\s+\d(?:\.\d+)? GHz.*|[™®]|\s*OEM/Tray|\s*\d+-Core.*", "", row["name"]).strip()
        if plain(name) in known or plain(name).replace("ryzen", "") in known:
            continue
        threadripper = "PRO" in name or (name.endswith("WX") and "sTR5" in row["socket"])
        yield {
            "name": name, "socket": "sTR5 (WRX90)" if threadripper else socket(row["socket"]),
            "architecture": row["microarch"], "cores": row["cores"], "tdp_w": above_zero(row["tdp_w"]),
            "igpu": "n" if row["igpu"] in {"", "None"} else "y",
        }  # fmt: skip


def plain(name: str) -> str:
    """A name as it is compared."""
    return re.sub(r"[^a-z0-9]", "", name.lower().removeprefix("amd ").removeprefix("intel "))


def _agreed(found: Iterable[ROWS]) -> Iterator[ROWS]:
    """Rows of one part number that contradict each other: what they differ in is left empty."""
    by_part: dict[str, list[ROWS]] = {}
    for row in found:
        by_part.setdefault(row.get("part") or str(len(by_part)), []).append(row)
    for rows_of_one in by_part.values():
        first = rows_of_one[0]
        alike = {name for name in first if len({row[name] for row in rows_of_one}) == 1}
        if {"type", "modules", "module_gb"} <= alike or len(rows_of_one) == 1:
            yield {name: value if name in alike else "" for name, value in first.items()}


def write(name: str, found: Iterable[ROWS]) -> None:
    """One table, each row once, by name."""
    unique = sorted({tuple(row.items()) for row in _agreed(found)})
    once = {(dict(row).get("vendor"), next(iter(row))[1], *(v for _, v in row[1:])): row for row in unique}
    with (OUT / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        kept = list(once.values())
        writer.writerow([column for column, _ in kept[0]])
        writer.writerows([value for _, value in row] for row in kept)


def main(folder: Path) -> None:
    """Every table."""
    for name, make in {
        "boards": boards, "psus": psus, "cases": cases, "coolers": coolers, "cards": cards,
        "memory": memory, "drives": drives, "processors": processors,
    }.items():  # fmt: skip
        write(name, make(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
