"""Memory of an engine on a card: what was fitted of both, and the bands of what it needs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import kept, replace
from rigright.base.units import KIB, MIB
from rigright.cost.bands import Parts, summed_band
from rigright.cost.memory.serving import ServingMemory, parts_of
from rigright.cost.memory.settings import EngineCard, Start
from rigright.cost.own_runs import SERVING
from rigright.cost.weights import WeightBytes, least_bytes, stored
from rigright.demand import Numbers, Serving
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine, find_engine
from rigright.facts.formats import GgufMix, find_format, find_kv_format
from rigright.facts.nodes import Card
from rigright.terms.fitted import fitted, noted, own_runs

MANY = 1024  # cards, each under an engine
SHARES = frozenset({"preallocated"})  # of a card: as sure on one that was not measured
LOADING_BYTES = (
    100 * MIB
)  # logs of vLLM show that much more than is counted in every fourth start, of any size

# tokens and merges in a GGUF file: 57 +- 5 B a token left over in 24 published sizes of Llama-3-70B files
GGUF_BYTES_PER_TOKEN = 57


def weigh(arch: Arch, weights: str) -> WeightBytes:
    """Bytes of every place of the model."""
    return stored(arch, find_format(weights))


@kept
def weights_bytes(arch: Arch, weights: str) -> int:
    """Bytes of all weights, as an engine loads them."""
    return round(weigh(arch, weights).total_bytes)


def is_over(arch: Arch, weights: str, *, room: float) -> bool:
    """Whether the weights alone take more: of most that do their number tells it."""
    return least_bytes(arch, find_format(weights)) > room or weights_bytes(arch, weights) > room


def file_bytes(arch: Arch, weights: str) -> int:
    """Bytes of the files: the weights and, in a GGUF, the vocabulary."""
    vocabulary = arch.vocab * GGUF_BYTES_PER_TOKEN if isinstance(find_format(weights), GgufMix) else 0
    return weights_bytes(arch, weights) + vocabulary


def file_band(arch: Arch, weights: str, *, least_spread: float = 0.0) -> tuple[float, float]:
    """Where four of five files of a format lie: with and without vocabulary, and as the mix is made."""
    spread = max(find_format(weights).spread, least_spread)
    return weights_bytes(arch, weights) * (1 - spread), file_bytes(arch, weights) * (1 + spread)


def started(serving: Serving) -> Start:
    """How an engine is started, with what is tabulated of it and of the formats."""
    form = find_format(serving.weights)
    return Start(
        serving=serving,
        engine=find_engine(serving.engine),
        kv_elem_bytes=find_kv_format(serving.kv).element_bytes,
        unpack_bytes=0.0 if isinstance(form, GgufMix) else form.unpack_bytes,
    )


def device_of(card: Card, engine: Engine) -> EngineCard:
    """What one engine finds on a card."""
    engine_card = _device_of(card, engine)
    runs = own_runs(SERVING, engines={engine.id})
    return replace(engine_card, own=noted(runs, chips={card.chip.id, ""})) if runs else engine_card


@lru_cache(maxsize=MANY)
def _device_of(card: Card, engine: Engine) -> EngineCard:
    terms = fitted(SERVING)
    chip = card.chip
    own = engine_terms(engine)
    alone, joined = engine.libraries_mib
    collectives = terms["collectives_mib"][_link_kind(chip)]
    return EngineCard(
        total_bytes=card.program_bytes,
        free_bytes=card.room_bytes,
        context_bytes=terms["context_mib"][_context_kind(chip)] * MIB,
        collectives_bytes=collectives * MIB,
        graph_bytes=terms["graphs"]["graph_kib"] * KIB,
        expert_graph_bytes=terms["graphs"]["expert_kib"] * KIB,
        graph_base_bytes=engine.graph_base_mib * MIB,
        graph_estimate=terms["graphs"]["estimated"],
        base_bytes=own["base_mib"] * MIB,
        libraries_bytes=float(alone * MIB),
        joined_bytes=float(
            (joined if _link_kind(chip) == "switched" else min(joined, alone + collectives)) * MIB
        ),
        budget_tok=engine.default(engine.budget_tok, card.program_bytes, chip=chip.id),
        max_seqs=engine.default(engine.max_seqs, card.program_bytes, chip=chip.id),
        graph_sizes=engine.default(engine.graph_sizes, card.program_bytes, chip=chip.id) or 0,
        reserve=own["reserve"],
        slack_bytes=own["slack_mib"] * terms["slack_share"].get(_context_kind(chip), 1.0) * MIB,
        chip=chip.id,
        capability=(chip.isa or "").partition(".")[0],
    )


def engine_terms(engine: Engine) -> dict[str, float]:
    """Fitted terms of an engine; what was not fitted for it alone is shared by all."""
    tables = fitted(SERVING)["engines"]
    return {**tables["default"], **tables.get(engine.id, {})}


def _context_kind(chip: Chip) -> str:
    """Whose process context it carries."""
    known = fitted(SERVING)["context_mib"]
    makers = {"AMD": "soc" if chip.segment == "soc" else "rocm", "Apple": "metal"}
    return makers.get(chip.vendor, chip.segment if chip.segment in known else "consumer")


def _link_kind(chip: Chip) -> str:
    """How cards of this kind reach each other: through a switch, or over PCIe."""
    return "switched" if chip.segment == "datacenter" and (chip.link_max_chips or 0) > 2 else "pcie"


def band(kind: str, value: Numbers, *, parts: Parts, wider: float = 1.0) -> tuple[Numbers, Numbers]:
    """80 % band of a value that is the sum of its parts; `wider`: where its like was not measured."""
    edges = fitted(SERVING)["bands"][kind]
    return summed_band(value, parts=parts, edges=edges, wider=1.0 if kind in SHARES else wider)


def pool_band(memory: ServingMemory, *, wider: float = 1.0, mixed: float = 0.0) -> tuple[Numbers, Numbers]:
    """Of what the engine gives to caches: what the parts beside it take more, it has less."""
    parts = replace(
        parts_of(memory, mixed=mixed),
        counted=memory.weights_bytes,
        graphs=0.0,
        beside=0.0,
        loading=LOADING_BYTES,
    )
    low, high = band("start", memory.pool_bytes, parts=parts, wider=wider)
    return 2 * memory.pool_bytes - high, 2 * memory.pool_bytes - low


def away(engine: Engine, chip: str) -> tuple[str, ...]:
    """What of this was not measured: the "engine"; or its "version", the "chip"."""
    known = fitted(SERVING)["known"].get(engine.id)
    if known is None:
        return ("engine",)
    minor = ".".join(engine.version.split(".")[:2])
    new = {
        "version": bool(known["versions"]) and minor not in known["versions"],
        "chip": bool(known["chips"]) and chip not in known["chips"],
    }
    return tuple(name for name, is_new in new.items() if is_new)


def widened(missing: tuple[str, ...]) -> float:
    """How much wider a band is for what was not measured; such doubts add as errors do."""
    terms = fitted(SERVING)["wider"]
    return 1 + float(np.hypot.reduce([terms[name] - 1 for name in missing], initial=0.0))
