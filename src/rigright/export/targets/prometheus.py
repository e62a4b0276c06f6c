"""Prometheus: where to scrape, which rules to load, whom to tell."""

from __future__ import annotations

from typing import Any

from rigright.base.units import KILO
from rigright.export.asked import ExportRequest
from rigright.export.targets import alerts
from rigright.export.text import dumps

NAME = "prometheus"
CONFIG = "prometheus.yml"
JOB = "rigright"
_TOO_SLOW = 0.8  # of the interval: a scrape that takes longer is a failed one


def export(asked: ExportRequest) -> dict[str, str]:
    """A whole configuration; the job alone may be copied into one that is there."""
    every, wait = _duration(asked.every_s), _duration(_TOO_SLOW * min(asked.every_s, 10.0))
    job: dict[str, Any] = {
        "job_name": JOB,
        "scrape_interval": every,
        "scrape_timeout": wait,
        "static_configs": [{"targets": list(asked.watched)}],
    }
    if asked.token_file is not None:
        job["authorization"] = {"type": "Bearer", "credentials_file": asked.token_file}
    config: dict[str, Any] = {
        "global": {"scrape_interval": every, "evaluation_interval": every},
        "rule_files": [alerts.RULES],
    }
    if asked.alertmanagers:
        config["alerting"] = {
            "alertmanagers": [{"static_configs": [{"targets": list(asked.alertmanagers)}]}],
        }
    config["scrape_configs"] = [job]
    head = ("rigright watch --serve answers at each target", f"promtool check config {CONFIG}")
    return {CONFIG: dumps(config, *head), **alerts.export(asked)}


def _duration(time_s: float) -> str:
    """A time as Prometheus writes it: whole numbers only."""
    return f"{time_s:.0f}s" if time_s == int(time_s) else f"{time_s * KILO:.0f}ms"
