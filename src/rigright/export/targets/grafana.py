"""Grafana: a dashboard of the metrics, to be imported as it is."""

from __future__ import annotations

import json
from typing import Any

from rigright.base.words import say, tell
from rigright.export.asked import ExportRequest
from rigright.facts.monitoring import Panel, dashboard

NAME = "grafana"
FILE = "rigright-dashboard.json"
_SCHEMA = 39  # of Grafana 11; newer ones raise it by themselves
_WIDE, _PANEL_TALL = 24, 8  # of Grafana's grid
_TYPES = {"stat": "stat", "graph": "timeseries", "table": "table", "states": "state-timeline"}
_SOURCE = {"type": "prometheus", "uid": "${source}"}


def export(asked: ExportRequest) -> dict[str, str]:
    """The dashboard."""
    rows: list[dict[str, Any]] = []
    top = 0
    for row in dashboard():
        place = {"h": 1, "w": _WIDE, "x": 0, "y": top}
        rows.append(
            {"id": len(rows) + 1, "type": "row", "title": tell(row.title, asked.language), "gridPos": place}
        )
        top += 1
        for order, panel in enumerate(row.panels):
            across = len(row.panels) if len(row.panels) <= 3 else -(-len(row.panels) // 2)
            wide = _WIDE // across
            place = {
                "h": _PANEL_TALL,
                "w": wide,
                "x": wide * (order % across),
                "y": top + _PANEL_TALL * (order // across),
            }
            rows.append({"id": len(rows) + 1, "gridPos": place, **_panel(panel, asked.language)})
        top += _PANEL_TALL * (1 if len(row.panels) <= 3 else 2)
    data = {
        "uid": "rigright",
        "title": "rigright",
        "tags": ["rigright", "gpu"],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": _choices(asked.language)},
        "annotations": {"list": []},
        "panels": rows,
    }
    return {FILE: json.dumps(data, ensure_ascii=False, indent=2) + "\n"}


def _choices(language: str) -> list[dict[str, Any]]:
    """The source and the nodes one may choose on the page."""
    return [
        {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
        {
            "name": "instance",
            "label": tell(say("node"), language),
            "type": "query",
            "datasource": _SOURCE,
            "query": "label_values(rigright_collector_up, instance)",
            "refresh": 2,
            "includeAll": True,
            "multi": True,
            "allValue": ".*",
        },
    ]


def _panel(panel: Panel, language: str) -> dict[str, Any]:
    targets = [
        {
            "refId": chr(ord("A") + order),
            "datasource": _SOURCE,
            "expr": expr,
            "legendFormat": legend,
            "instant": panel.kind in {"stat", "table"},
        }
        for order, (expr, legend) in enumerate(panel.exprs)
    ]
    return {
        "type": _TYPES[panel.kind],
        "title": tell(panel.title, language),
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": {},
        "targets": targets,
    }
