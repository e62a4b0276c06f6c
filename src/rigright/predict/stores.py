"""Room for KV caches beside the GPUs of a replica, in tokens, and how fast those return."""

from __future__ import annotations

import numpy as np

from rigright.arch.record import Arch
from rigright.cost.memory.kv import token_bytes
from rigright.cost.speed.prefix import KvTiers
from rigright.cost.speed.rates import FULL_LANES, USUAL_GEN
from rigright.demand import Layout, Numbers, Serving
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine
from rigright.facts.fabrics import pcie_bytes_per_s
from rigright.facts.formats import find_kv_format
from rigright.facts.kv_stores import storing


def tiers_of(
    arch: Arch, serving: Serving, *, engine: Engine, layout: Layout, bus_bytes_per_s: Numbers
) -> KvTiers | None:
    """The tiers of a replica: each rank loads its own part over its own slot, replicas share the drives."""
    store = serving.kv_store
    if store is None:
        return None
    element_bytes = find_kv_format(serving.kv).element_bytes
    each = np.maximum(token_bytes(arch, layout, element_bytes=element_bytes) * layout.tp, 1.0)
    ram, disk = storing(engine, "ram"), storing(engine, "nvme")
    return KvTiers(
        ram_tok=store.ram_bytes / layout.dp / each * (ram is not None),
        ram_tok_per_s=bus_bytes_per_s * (ram.share if ram else 1.0) * layout.tp * layout.pp / each,
        disk_tok=store.nvme_bytes / layout.dp / each * (disk is not None),
        disk_tok_per_s=(disk.bytes_per_s or np.inf if disk else np.inf) / layout.dp / each,
    )


def bus_of(chip: Chip) -> float:
    """What a card's slot carries from main memory."""
    return pcie_bytes_per_s(chip.pcie_gen or USUAL_GEN, min(chip.pcie_lanes or FULL_LANES, FULL_LANES))
