"""What is watched for: alerts (data/alerts.toml) and the panels of a dashboard (data/dashboard.toml)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml
from rigright.base.words import Sentence
from rigright.facts.faults import (
    codes_of,
    corrected_errors,
    nvlink_errors,
    pcie_replays,
    repeated,
    repeated_codes,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert with the series of its test."""

    name: str
    expr: str  # PromQL
    hold: str  # how long it must be so: "5m"
    severity: str  # "critical", "warning", "info"
    says: Sentence
    fix: Sentence
    fires: Mapping[str, str]  # series -> values a minute, that raise it
    rests: Mapping[str, str]  # that must not
    at: int  # minutes after which it is asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One picture of the dashboard."""

    title: Sentence
    kind: str  # "stat", "graph", "table", "states"
    unit: str  # as Grafana calls it
    exprs: tuple[tuple[str, str], ...]  # PromQL and legend


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelRow:
    """Panels beside each other."""

    title: Sentence
    panels: tuple[Panel, ...]


@cache
def alerts() -> tuple[Alert, ...]:
    """Every alert, in the order of the table."""
    codes: dict[str, object] = {
        f"{severity}_xids": codes_of(severity) for severity in ("fault", "warning", "note")
    }
    many = repeated()
    codes |= {"repeated_xids": repeated_codes(), "times": many.times, "within_h": many.within_h}
    worth = nvlink_errors()
    by_gen = (f"{most} * (GEN == bool {gen})" for gen, most in pcie_replays().items())
    gen = "max_over_time(rigright_gpu_pcie_generation[7d])"
    codes |= {
        "corrected_times": corrected_errors(),
        "replays": f"({' + '.join(by_gen)})".replace("GEN", gen),
        "nvlink_any": "|".join(kind for kind, times in worth.items() if times == 1),
        "nvlink_many": "|".join(kind for kind, times in worth.items() if times > 1),
        "nvlink_times": max(worth.values()),
    }
    return tuple(
        Alert(
            **row
            | {
                "expr": row["expr"].format(**codes),
                "says": Sentence(row["says"]),
                "fix": Sentence(row["fix"], (("gpu", "{{ $labels.gpu }}"),)),
            }
        )
        for row in read_toml(DATA / "alerts.toml")["alert"]
    )


@cache
def dashboard() -> tuple[PanelRow, ...]:
    """Every row of the dashboard."""
    table = read_toml(DATA / "dashboard.toml")
    return tuple(
        PanelRow(
            title=Sentence(row["title"]),
            panels=tuple(_panel(panel) for panel in table["panel"] if panel["row"] == row["title"]),
        )
        for row in table["row"]
    )


def _panel(row: Mapping[str, Any]) -> Panel:
    return Panel(
        title=Sentence(str(row["title"])),
        kind=str(row["kind"]),
        unit=str(row["unit"]),
        exprs=tuple((str(expr), str(legend)) for expr, legend in row["exprs"]),
    )
