"""What is exported for monitoring speaks of metrics that exist, and promtool agrees with every rule."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debian import needs
from rigright.base.errors import AskError
from rigright.export.asked import ExportRequest
from rigright.export.targets import alerts as rules
from rigright.export.targets import grafana
from rigright.export.text import dumps
from rigright.facts.monitoring import alerts, dashboard
from rigright.machine.exporter.metric import metrics
from rigright.verbs.export import export, write

KNOWN = {metric.name: metric for metric in metrics()}


def named(expr):
    return set(re.findall(r"rigright_[a-z_]+", expr))


EXPRS = [alert.expr for alert in alerts()] + [
    expr for row in dashboard() for panel in row.panels for expr, _ in panel.exprs
]


@pytest.mark.parametrize("expr", EXPRS)
def test_every_metric_that_is_asked_for_is_served(expr):
    assert named(expr) <= set(KNOWN)


@pytest.mark.parametrize("expr", EXPRS)
def test_labels_that_are_asked_for_are_there(expr):
    for name, inside in re.findall(r"(rigright_[a-z_]+)\{([^}]*)\}", expr):
        asked = set(re.findall(r"([a-z]+)\s*[=!]", inside)) - {"instance"}
        assert asked <= set(KNOWN[name].labels)


def test_a_counter_is_never_shown_as_it_stands_unless_its_sum_is_meant():
    for row in dashboard():
        for panel in row.panels:
            for expr, _ in panel.exprs:
                bare = [name for name in named(expr) if KNOWN[name].kind == "counter"]
                assert not bare or "rate(" in expr or "increase(" in expr or "uncorrected" in expr


def test_every_alert_of_the_guides_and_of_other_tools_is_there():
    told = {alert.name for alert in alerts()}
    must = (
        "Missing",
        "Down",
        "Xid",
        "UncorrectedErrors",
        "RowsPending",
        "RowsFailed",
        "SlowedByHeat",
        "PowerBrake",
    )
    assert {f"RigGpu{word}" for word in must} <= told
    assert {
        "RigGpuPcieNarrow",
        "RigGpuPcieSlow",
        "RigGpuNvlinkDown",
        "RigCollectorStale",
        "RigCollectorGone",
    } <= told


def test_panels_lie_beside_each_other_and_never_on_each_other():
    (text,) = grafana.export(ExportRequest()).values()
    taken = set()
    for panel in json.loads(text)["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_the_dashboard_speaks_chinese_and_asks_the_same():
    english, chinese = (
        json.loads(grafana.export(ExportRequest(language=one))[grafana.FILE]) for one in ("en", "zh")
    )
    assert [panel["title"] for panel in english["panels"]] != [panel["title"] for panel in chinese["panels"]]
    exprs = [
        [target["expr"] for panel in one["panels"] for target in panel.get("targets", [])]
        for one in (english, chinese)
    ]
    assert exprs[0] == exprs[1]


def promtool(*argv, folder):
    return subprocess.run(["promtool", *argv], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    needs("prometheus")
    folder = tmp_path_factory.mktemp("exported")
    write(
        export("prometheus", watched=("n1:9477", "n2:9477"), alertmanagers=("am:9093",), token_file="bearer"),  # noqa: S106
        str(folder / "made"),
    )
    return folder / "made"


@pytest.mark.live
@pytest.mark.parametrize(
    "argv",
    [
        ("check", "config", "--lint=none", "prometheus.yml"),
        ("check", "rules", rules.RULES),
        ("test", "rules", rules.TESTS),
    ],
    ids=" ".join,
)
def test_promtool_agrees(exported, argv):
    (exported / "bearer").write_text("secret")
    done = promtool(*argv, folder=exported)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.live
def test_promtool_notices_a_rule_that_no_longer_fires(exported, tmp_path):
    shutil.copytree(exported, tmp_path / "broken")
    file = tmp_path / "broken" / rules.RULES
    file.write_text(file.read_text().replace("rigright_gpu_up == 0", "rigright_gpu_up == 2"))
    done = promtool("test", "rules", rules.TESTS, folder=tmp_path / "broken")
    assert done.returncode != 0
    assert "RigGpuDown" in done.stdout + done.stderr


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.floats(0.001, 1e6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1, max_size=6), plain, max_size=4))
def test_another_program_reads_the_same_from_our_yaml(data):
    yaml = pytest.importorskip("yaml")
    safe = json.loads(json.dumps(data, ensure_ascii=True))
    loaded = yaml.safe_load(dumps(safe, "a comment"))
    assert (loaded or {}) == safe


@pytest.mark.parametrize("target", ["", "grafanna", "../alerts", "vllm-nothing"])
def test_an_unknown_target_is_one_sentence(target):
    with pytest.raises(AskError):
        export(target)


@pytest.mark.parametrize("place", ["node", "node:", ":9477", "a b:1", "node:1;rm", "http://node:9477"])
def test_a_place_that_is_none_is_refused(place):
    with pytest.raises(AskError):
        export("prometheus", watched=(place,))


def test_what_lies_there_already_is_not_touched(tmp_path):
    (tmp_path / rules.RULES).write_text("mine")
    with pytest.raises(AskError, match=rules.RULES):
        write(export("alerts"), str(tmp_path))
    assert (tmp_path / rules.RULES).read_text() == "mine"
    assert not (tmp_path / rules.TESTS).exists()
