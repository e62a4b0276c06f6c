"""What a benchmark's file leaves open and the user says: options, or a plan, as cells of our tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rigright.arch.sources.open import open_model
from rigright.base.errors import RigError
from rigright.base.units import GIB, MEGA
from rigright.facts.engines import find_engine
from rigright.facts.hosts import Host
from rigright.facts.nodes import find_node
from rigright.options.read import values_of
from rigright.verbs.runs.columns import options_of
from rigright.verbs.runs.planned import PlannedRun, read_plan

_IN_NAME = re.compile(r"(?<![a-z])(nvfp4|mxfp4|fp8|awq|gptq|w4a16|w8a8|int8|int4)(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetup:
    """What the user says of runs; it goes before what their files say."""

    values: Mapping[str, object] = field(default_factory=dict)  # by option, read

    def cells(self, kind: str) -> dict[str, str]:
        """Cells of a table."""
        fields: dict[str, str] = {}
        for option, column in options_of(kind).items():
            value = self.values.get(option)
            if value is not None:
                fields[column] = "true" if option == "no-graphs" else _text(value)  # eager, then
        if self.values.get("on"):
            node = find_node(str(self.values["on"]))
            if node.has_no_cards and node.host is not None and kind == "inference":
                fields |= _host_cells(node.host)
            else:
                fields["chip"] = node.cards[0].chip.id
                fields["n_chips"] = str(node.n_cards)
            if kind == "training":
                fields["nodes"] = str(node.n_nodes)
        if self.values.get("engine") and kind != "training":
            engine = find_engine(_text(self.values["engine"]))
            fields["engine"], fields["engine_version"] = engine.id, engine.version
        if self.values.get("batch") and kind == "inference":
            fields["mode"] = "batch"
        return fields

    def number(self, option: str) -> float | None:
        """A number that was said."""
        value = self.values.get(option)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def chips(self) -> int:
        """How many GPUs were said; one where none were."""
        return find_node(str(self.values["on"])).n_cards if self.values.get("on") else 1


NOTHING_SAID = RunSetup()


def completed(kind: str, fields: Mapping[str, str], *, setup: RunSetup) -> dict[str, str]:
    """A run's cells with what was said of it; weights that nobody named are those the model's files hold."""
    cells = {**fields, **setup.cells(kind)}
    column = {"inference": "weights", "memory": "format"}.get(kind)
    if column is None or cells.get(column) or not cells.get("arch") or cells.get("engine") == "llama.cpp":
        return cells
    named = _IN_NAME.search(cells.get("model") or cells["arch"])
    if named is not None:
        return {**cells, column: named[1].lower()}
    try:
        arch = open_model(cells["arch"])
    except RigError:
        return cells
    return {**cells, column: arch.stored or arch.dtype}


def planned_setup(planned: PlannedRun) -> RunSetup:
    """What a plan says was to be run."""
    work, layout = planned.work, planned.layout
    fields: dict[str, object] = {
        "model": planned.model,
        "on": planned.machine,
        "engine": work.get("engine"),
        "weights": work.get("weights"),
        "kv": work.get("kv"),
        "trainer": work.get("trainer"),
        "seq": work.get("seq_tok"),
        "micro-batch": work.get("micro_batch"),
        **{name: work.get(name) for name in ("method", "optimizer", "precision", "sharding", "recompute")},
        **{name: layout.get(name) for name in ("tp", "pp", "dp", "ep", "cp")},
        "attention-dp": layout.get("attention_dp"),
    }
    return RunSetup(values={name: value for name, value in fields.items() if value not in (None, "")})


def _host_cells(host: Host) -> dict[str, str]:
    """A processor that does all the work, with its memory."""
    return {
        "cpu": f"{host.sockets}x {host.cpu.name}" if host.sockets > 1 else host.cpu.name,
        "ram_gb": f"{host.ram_bytes / GIB:.10g}",
        "ram_type": host.ram_kind,
        "ram_mts": f"{host.transfers_per_s / MEGA:.10g}",
        "ram_channels": str(host.channels),
    }


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return str(value[0])
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def setup_of(verb: str, fields: Mapping[str, str]) -> RunSetup:
    """What options say; a plan says the rest."""
    values = values_of(verb, fields)
    planned = planned_setup(read_plan(str(values["plan"]))) if "plan" in values else NOTHING_SAID
    return RunSetup(values={**planned.values, **values})
