"""Alert rules for Prometheus, with the unit tests that promtool runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rigright.base.words import tell
from rigright.export.asked import ExportRequest
from rigright.export.text import dumps
from rigright.facts.monitoring import Alert, alerts

NAME = "alerts"
RULES, TESTS = "rigright-alerts.yml", "rigright-alerts-test.yml"
_GROUP = "rigright"
_ABOUT = "{{ if $labels.gpu }}GPU {{ $labels.gpu }} {{ $labels.name }} @ {{ end }}{{ $labels.instance }}: "


def export(asked: ExportRequest) -> dict[str, str]:
    """The rules and their tests."""
    rules = {"groups": [{"name": _GROUP, "rules": [_rule(alert, asked) for alert in alerts()]}]}
    tests = {
        "rule_files": [RULES],
        "evaluation_interval": "1m",
        "tests": [test for alert in alerts() for test in _tests(alert)],
    }
    return {
        RULES: dumps(rules, "promtool check rules " + RULES),
        TESTS: dumps(tests, "promtool test rules " + TESTS),
    }


def _rule(alert: Alert, asked: ExportRequest) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expr,
        "for": alert.hold,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": _ABOUT + tell(alert.says, asked.language),
            "fix": tell(alert.fix, asked.language),
        },
    }


def _tests(alert: Alert) -> Iterator[dict[str, Any]]:
    """It fires where it must and rests where it must."""
    for series, fires in ((alert.fires, True), (alert.rests, False)):
        # that the alert is firing after so long
        expr = f'count(ALERTS{{alertname="{alert.name}",alertstate="firing"}})'
        samples = [{"labels": "{}", "value": 1}] if fires else []
        yield {
            "name": f"{alert.name} {'fires' if fires else 'rests'}",
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [{"expr": expr, "eval_time": f"{alert.at}m", "exp_samples": samples}],
        }
