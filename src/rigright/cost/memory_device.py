"""A GPU as an engine sees it: its memory, and the fitted terms of its kind."""

from __future__ import annotations

from rigright.base.units import KIB, MIB
from rigright.cost.memory_bands import SUBJECT
from rigright.cost.memory_settings import Device
from rigright.facts.chips import Chip
from rigright.facts.corrections import corrections
from rigright.facts.engines import Engine
from rigright.facts.nodes import Card


def device_of(card: Card, engine: Engine) -> Device:
    """What one engine finds on a card."""
    terms = corrections(SUBJECT)
    chip = card.chip
    own = engine_terms(engine)
    alone, joined = engine.libraries_mib
    collectives = terms["collectives_mib"][link_kind(chip)]
    return Device(
        total_bytes=card.program_bytes,
        free_bytes=card.room_bytes,
        context_bytes=terms["context_mib"][context_kind(chip)] * MIB,
        collectives_bytes=collectives * MIB,
        graph_bytes=terms["graphs"]["graph_kib"] * KIB,
        expert_graph_bytes=terms["graphs"]["expert_kib"] * KIB,
        graph_base_bytes=engine.graph_base_mib * MIB,
        graph_estimate=terms["graphs"]["estimated"],
        base_bytes=own["base_mib"] * MIB,
        libraries_bytes=float(alone * MIB),
        joined_bytes=float(
            (joined if link_kind(chip) == "switched" else min(joined, alone + collectives)) * MIB
        ),
        reserve=own["reserve"],
        slack_bytes=own["slack_mib"] * terms["slack_share"].get(context_kind(chip), 1.0) * MIB,
        chip=chip.id,
        capability=(chip.isa or "").partition(".")[0],
    )


def engine_terms(engine: Engine) -> dict[str, float]:
    """Fitted terms of an engine; what was not fitted for it alone is shared by all."""
    tables = corrections(SUBJECT)["engines"]
    return {**tables["default"], **tables.get(engine.id, {})}


def context_kind(chip: Chip) -> str:
    """Whose process context it carries."""
    known = corrections(SUBJECT)["context_mib"]
    makers = {"AMD": "soc" if chip.segment == "soc" else "rocm", "Apple": "metal"}
    return makers.get(chip.vendor, chip.segment if chip.segment in known else "consumer")


def link_kind(chip: Chip) -> str:
    """How cards of this kind reach each other: through a switch, or over PCIe."""
    return "switched" if chip.segment == "datacenter" and (chip.link_max_chips or 0) > 2 else "pcie"
