"""Other packages add facts, targets and checks; a broken one is a sentence, and changes no answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import made_plugins as made
from rigright.base import plugin_tables, plugins
from rigright.base.errors import DataError, RigError
from rigright.base.tables import DATA, raw_rows, read_all
from rigright.base.words import tell
from rigright.doctor import examine
from rigright.doctor.examine import case_of
from rigright.doctor.record import NotSeen
from rigright.facts import chips, clouds, part_prices, prices
from rigright.machine.record import Machine
from rigright.verbs import export

SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 570.86.10              Driver Version: 570.86.10      CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA L40S                    On  |   00000000:01:00.0 Off |                    0 |
| N/A   30C    P8             32W /  350W |       1MiB /  46068MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""


def rig(*line, path=None, switch="1", timeout=120):
    env = {**os.environ, "RIGRIGHT_PLUGINS": switch, "XDG_CONFIG_HOME": os.devnull}
    env["PYTHONPATH"] = os.pathsep.join(map(str, (path, made.SOURCE) if path else (made.SOURCE,)))
    return subprocess.run(
        [sys.executable, "-P", "-m", "rigright", *line],
        capture_output=True, text=True, check=False, env=env, timeout=timeout, encoding="utf-8",
    )  # fmt: skip


@pytest.fixture(scope="module")
def acme(tmp_path_factory):
    return made.install(tmp_path_factory.mktemp("acme"), made.WHOLE, made.POINTS)


@pytest.fixture(scope="module")
def plan(acme, tmp_path_factory):
    done = rig("plan", "qwen3-32b", "--budget", "4000usd", "--json", path=acme)
    assert (done.returncode, done.stderr) == (0, "")
    file = tmp_path_factory.mktemp("plan") / "plan.json"
    file.write_text(done.stdout, encoding="utf-8")
    return file


def test_a_chip_and_its_price_are_planned_with_and_said(acme, plan):
    found = json.loads(plan.read_text(encoding="utf-8"))
    bought = next(one for one in found["plans"] if one["chip"] == "acme-x1")
    assert bought["supply"]["usd"]["value"] == pytest.approx(1900)
    assert found["plugins"] == "includes facts from plugin acme-rig 1.2: acme-x1 (chips, prices)"
    shown = rig("plan", "acme-lm-1", "--on", "acme x1", "--lang", "zh", path=acme).stdout
    assert "采用了插件数据：acme-rig 1.2: acme-x1 (chips, prices), acme/acme-lm-1 (models)" in shown
    assert "plugin acme-rig 1.2: data sheet of Acme" in rig("look-up", "chips", "acme x1", path=acme).stdout


def test_an_answer_that_uses_none_of_it_says_nothing(acme):
    line = ("explain", "qwen3-8b", "--on", "h100")
    assert rig(*line, path=acme).stdout == rig(*line).stdout


def test_a_target_writes_its_file_and_is_listed_and_completed(acme, plan, tmp_path):
    done = rig("export", "acme-jobs", "--from", str(plan), "--out", str(tmp_path / "out"), path=acme)
    assert (done.returncode, done.stderr) == (0, "")
    assert "written by plugin acme-rig 1.2" in done.stdout
    assert (tmp_path / "out/qwen3-32b.acme").read_text(encoding="utf-8").startswith("gpus 1\nvllm\nserve\n")
    assert "acme-jobs" in rig("export", "--help", path=acme).stdout
    script = rig("completion", "bash", path=acme).stdout
    typed = "COMP_WORDS=(rigright export acm); COMP_CWORD=2; _rigright; echo ${COMPREPLY[@]}"
    asked = subprocess.run(["bash", "-c", script + typed], capture_output=True, text=True, check=True)
    assert asked.stdout.split() == ["acme-jobs"]
    head = rig("export", "vllm", "--from", str(plan), path=acme).stdout
    assert "# includes facts from plugin acme-rig 1.2: acme-x1 (chips, prices)" in head


def test_a_check_is_found_by_the_doctor(acme, tmp_path):
    capture = tmp_path / "smi.txt"
    capture.write_text(SMI, encoding="utf-8")
    done = rig("doctor", "--from", str(capture), path=acme)
    assert done.returncode == 10
    assert "only 1 GPU (plugin acme-rig 1.2)" in done.stdout
    found = json.loads(rig("doctor", "--from", str(capture), "--json", path=acme).stdout)
    assert [one["group"] for one in found["checks"] if one["check"] == "acme_chassis"] == ["plugins"]
    assert (
        "只有 1 张 GPU（插件 acme-rig 1.2）"
        in rig("doctor", "--from", str(capture), "--only", "plugins", "--lang", "zh", path=acme).stdout
    )
    assert (
        "Whether the node stands in a chassis" in rig("look-up", "checks", "acme_chassis", path=acme).stdout
    )


def test_plugins_are_listed_and_can_be_left_out(acme):
    listed = json.loads(rig("look-up", "plugins", "--json", path=acme).stdout)
    assert listed == [
        {
            "package": "acme-rig", "version": "1.2",
            "facts": ["chips.csv 1", "prices.csv 1", "models.jsonl 1"],
            "targets": ["acme-jobs"], "checks": ["acme_chassis"], "left_out": None,
        }
    ]  # fmt: skip
    done = rig("plan", "qwen3-8b", "--on", "acme x1", path=acme, switch="0")
    assert (done.returncode, done.stdout) == (2, "")
    assert 'unknown GPU "acme x1"' in done.stderr


def test_the_row_that_the_manual_shows_is_taken(here, monkeypatch):
    plugin = put(here, only("facts", "acme_rig.data", {"acme_rig/data/chips.csv": made.SHOWN}))
    monkeypatch.setattr(plugin_tables.plugins, "plugins", lambda _: (plugin,))
    (fact,) = plugin_tables.facts.__wrapped__()
    assert (fact.row["name"], fact.row["sources"]) == (
        "Acme X1",
        "plugin acme-rig 1.2: data sheet of Acme, March 2026",
    )


def test_a_correction_says_that_it_is_one(tmp_path):
    row = {"id": "rtx-4090", "tdp_w": "400", "sources": "measured at Acme"}
    files = {"acme_rig/data/corrections/chips.csv": made.table("chips.csv", row)}
    made.install(tmp_path, files, {"facts": {"acme": "acme_rig.data"}})
    (found,) = json.loads(rig("look-up", "chips", "rtx-4090", "--limit", "1", "--json", path=tmp_path).stdout)
    assert found["tdp_w"] == 400
    assert found["source"].endswith("; tdp_w by plugin acme-rig 1.2: measured at Acme")
    explained = rig("explain", "qwen3-8b", "--on", "rtx 4090", path=tmp_path).stdout
    assert "includes facts from plugin acme-rig 1.2: rtx-4090 (chips)" in explained


def only(group, value, files, *, name="acme"):
    return {"acme_rig/__init__.py": "", **files}, {group: {name: value}}


def facts(**tables):
    return only("facts", "acme_rig.data", {f"acme_rig/data/{name}": text for name, text in tables.items()})


def chip(**cells):
    return facts(**{"chips.csv": made.table("chips.csv", made.CHIP | cells)})


PLAN = ("plan", "qwen3-8b", "--on", "rtx 4090")
BROKEN_FACTS = {
    "its folder is not there": (only("facts", "acme_rig.nowhere", {}), "there is no folder acme_rig/nowhere"),
    "its package is not there": (only("facts", "gone.data", {}), "there is no folder gone/data"),
    "a cell": (chip(tdp_w="much"), 'chips.csv, line 2, column tdp_w: cannot read "much"'),
    "nothing in a cell": (chip(mem_gib=""), 'chips.csv, line 2, column mem_gib: cannot read ""'),
    "beyond physics": (chip(mem_gb_per_s="nan"), 'column mem_gb_per_s: cannot read "nan"'),
    "no source": (chip(sources=""), 'column sources: cannot read ""'),
    "a date to come": (chip(as_of="2099-01"), 'column as_of: cannot read "2099-01"'),
    "a chip of ours": (
        chip(id="rtx-4090"),
        "rtx-4090 already exists; put a correction in corrections/chips.csv",
    ),
    "a name of ours": (chip(name="GeForce RTX 4090"), '"geforce rtx 4090" already exists'),
    "a PCI id of ours": (chip(pci_ids="10de:2684"), '"10de:2684" already exists'),
    "a column too many": (facts(**{"chips.csv": "id,colour\nacme,red\n"}), "chips.csv has no column colour"),
    "another table": (facts(**{"xids.csv": "code\n1\n"}), "rows cannot be added to xids.csv"),
    "a price of nothing": (
        facts(**{"prices.csv": made.table("prices.csv", made.PRICE)}),
        'prices.csv, line 2, column chip: cannot read "acme-x1"',
    ),
    "no text": (facts(**{"chips.csv": "id\n" + "\0" * 900}), "chips.csv"),
    "huge": (facts(**{"chips.csv": "id\n" + "acme\n" * 2_000_000}), "larger than the limit"),
    "too many rows": (
        facts(**{"prices.csv": made.table("prices.csv", *[made.PRICE] * 5001)}),
        "more than 5,000 rows",
    ),
    "no model": (facts(**{"models.jsonl": '{"_model": 3}\n'}), "models.jsonl, line 1: no config"),
    "a correction of nothing": (
        facts(**{"corrections/chips.csv": made.table("chips.csv", made.CHIP)}),
        "no acme-x1 to correct",
    ),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of Python's path in this very process; nothing of it is kept."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "_LEFT_OUT", {})
    plugins.loaded.cache_clear()
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme_rig"]:
        del sys.modules[name]


def put(folder, package):
    """Install it, and what its one entry point is to the tool."""
    files, points = package
    made.install(folder, files, points)
    ((group, named),) = points.items()
    ((name, value),) = named.items()
    module, _, attribute = value.partition(":")
    return plugins.Plugin(
        group=f"rigright.{group}",
        name=name,
        package="acme-rig",
        version="1.2",
        module=module,
        attribute=attribute,
    )


@pytest.mark.parametrize("fault", BROKEN_FACTS)
def test_broken_facts_are_a_sentence_and_none_of_them_counts(fault, here, monkeypatch):
    package, said = BROKEN_FACTS[fault]
    plugin = put(here, package)
    monkeypatch.setattr(plugin_tables.plugins, "plugins", lambda _: (plugin,))
    assert plugin_tables.facts.__wrapped__() == ()
    (left,) = plugins.left_out()
    assert str(left.said).startswith("plugin acme-rig 1.2: ")
    assert said in str(left.said)
    assert str(left.said).endswith("; its facts are not used")
    assert "其数据不采用" in tell(left.said, "zh")


def test_an_answer_without_what_is_left_out_is_the_usual_one(tmp_path):
    made.install(tmp_path, *BROKEN_FACTS["a cell"][0])
    done = rig(*PLAN, "--lang", "zh", path=tmp_path)
    assert (done.returncode, done.stdout) == (0, rig(*PLAN, "--lang", "zh").stdout)
    assert done.stderr.startswith("警告：插件 acme-rig 1.2：")
    assert done.stderr.count("\n") == 1


def code(group, text, *, name="acme", attribute=""):
    return only(group, f"acme_rig.code{attribute}", {"acme_rig/code.py": text}, name=name)


IMPORTS = "from rigright.doctor.record import *\nfrom rigright.base.words import in_both\n"
CHECK = f"{IMPORTS}@check(in_both('a', '甲', values={{}}))\ndef acme_one(case):\n    '''What.'''\n    "
BROKEN_CHECKS = {
    "no module": (
        only("checks", "acme_rig.gone", {}),
        "No module named 'acme_rig.gone'; its checks are not used",
    ),
    "an import that fails": (code("checks", "import nothing_of_that_name"), "No module named"),
    "an import that ends the program": (code("checks", "raise SystemExit(0)"), "it failed: SystemExit"),
    "nothing in it": (code("checks", "x = 1"), "acme_rig.code has no check"),
    "the name of one of ours": (
        code("checks", CHECK.replace("acme_one", "disk_space") + "yield Fine(says='x')"),
        'check "disk_space" already exists; its check is not used',
    ),
    "an import that writes": (
        code("checks", "import pathlib; pathlib.Path('/tmp/acme.txt').write_text('x')"),
        "plugins may only read; refused: open /tmp/acme.txt",
    ),
}
BROKEN_VERDICTS = {
    "an error": ("yield 1 / 0", "it failed: ZeroDivisionError: division by zero"),
    "an end": ("import sys; yield sys.exit(0)", "it failed: SystemExit"),
    "not a verdict": ("yield 'all is well'", "it returned something that is not a verdict"),
    "nothing to go through": ("return 7", "it failed: TypeError"),
    "half a finding": (
        "yield Finding(severity='awful', title='x', evidence=(), why='y', fix=())",
        "it returned something that is not a verdict",
    ),
    "a sentence without its values": (
        "yield Fine(says=in_both('{n}', '{n}', values={}))",
        "it failed: KeyError",
    ),
    "a program": ("import os; os.system('true'); yield Fine(says='x')", "refused: os.system"),
    "a file": ("open('acme.txt', 'w'); yield Fine(says='x')", "refused: open acme.txt"),
    "a file, quietly": (
        "\n    try: open('acme.txt', 'a')\n    except OSError: pass\n    yield Fine(says='x')",
        "refused: open acme.txt",
    ),
    "a connection": (
        "import socket; socket.create_connection(('127.0.0.1', 9)); yield Fine(says='x')",
        "refused: socket.getaddrinfo",
    ),
    "a signal": ("import os; os.kill(os.getpid(), 0); yield Fine(says='x')", "refused: os.kill"),
}


@pytest.mark.parametrize("fault", BROKEN_CHECKS)
def test_broken_checks_are_a_sentence_and_ours_stay(fault, here, monkeypatch):
    package, said = BROKEN_CHECKS[fault]
    plugin = put(here, package)
    monkeypatch.setattr(examine, "plugins", lambda _: (plugin,))
    assert examine._of_plugins(set(examine.checks())) == {}
    (left,) = plugins.left_out()
    assert said in str(left.said)


@pytest.mark.parametrize("fault", BROKEN_VERDICTS)
def test_a_check_that_breaks_or_changes_the_machine_is_not_observed(fault, here, monkeypatch, capsys):
    text, said = BROKEN_VERDICTS[fault]
    plugin = put(here, code("checks", f"{CHECK}print('a word in between')\n    {text}\n"))
    monkeypatch.setattr(examine, "plugins", lambda _: (plugin,))
    monkeypatch.chdir(here)
    (check,) = examine._of_plugins(set()).values()
    (verdict,) = examine._one(check, case_of(Machine(origin="live"))).verdicts
    assert isinstance(verdict, NotSeen)
    assert said in str(verdict.why)
    assert not (here / "acme.txt").exists()
    assert capsys.readouterr().out == ""


def test_a_broken_check_is_said_beside_the_answer(tmp_path):
    capture = tmp_path / "smi.txt"
    capture.write_text(SMI, encoding="utf-8")
    made.install(tmp_path, *BROKEN_CHECKS["an import that fails"][0])
    done, usual = (rig("doctor", "--from", str(capture), path=path) for path in (tmp_path, None))
    assert (done.returncode, done.stdout) == (usual.returncode, usual.stdout)
    assert done.stderr.startswith("warning: plugin acme-rig 1.2: it failed: ModuleNotFoundError")


TARGETS = {
    "no files": ("return {}", "it returned no files"),
    "no texts": ("return {'a': 1}", "is not a plain file name with text content"),
    "another kind": ("return 'text'", "it returned no files"),
    "a place of its own": ("return {'../../a': 'x'}", "is not a plain file name with text content"),
    "half a letter": ("return {'a': '\\ud800'}", "is not a plain file name with text content"),
    "an error": ("return launch.nothing", "it failed: AttributeError"),
    "what it may not": ("import subprocess; subprocess.run(['true'])", "refused: subprocess.Popen"),
}


@pytest.mark.parametrize("fault", TARGETS)
def test_a_target_that_breaks_is_an_error_of_one_sentence(fault, here):
    text, said = TARGETS[fault]
    plugin = put(here, code("targets", f"def export(launch):\n    {text}\n", attribute=":export"))
    with pytest.raises(DataError) as error:
        export._by_plugin(plugin, None)
    assert str(error.value).startswith('target "acme" of plugin acme-rig 1.2: ')
    assert said in str(error.value)


def test_a_target_takes_no_name_of_ours_and_one_that_breaks_is_an_error(plan, acme, tmp_path):
    files = {"bad_rig/__init__.py": "", "bad_rig/code.py": "import nothing_of_that_name\n"}
    points = {"targets": {"vllm": "bad_rig.code:export", "bad": "bad_rig.code:export"}}
    made.install(tmp_path, files, points, package="bad-rig", version="0.1")
    both = os.pathsep.join(map(str, (tmp_path, acme)))
    done = rig("export", "vllm", "--from", str(plan), path=both)
    assert "exec vllm" in done.stdout
    assert 'target "vllm" already exists; its target is not used' in done.stderr
    done = rig("export", "bad", "--from", str(plan), path=both)
    assert (done.returncode, done.stdout) == (3, "")
    assert 'error: target "bad" of plugin bad-rig 0.1: it failed: ModuleNotFoundError' in done.stderr


def test_a_name_that_ours_has_stays_ours(tmp_path):
    taking = {**made.CHIP, "id": "h100-acme", "name": "H100 of Acme"}
    made.install(tmp_path, *facts(**{"chips.csv": made.table("chips.csv", taking)}))
    for name in ("h100", "H100 PCIe", "rtx 4090"):
        line = ("explain", "qwen3-8b", "--on", name, "--json")
        assert rig(*line, path=tmp_path).stdout == rig(*line).stdout


READS = {
    "chips.csv": (chips._READERS, chips._REQUIRED),
    "prices.csv": (prices._READERS, ("chip", "kind", "currency", "typical", "as_of", "source", "confidence")),
    "clouds.csv": ({column: reader for column, (_, reader) in clouds._COLUMNS.items()}, clouds._REQUIRED),
}


@pytest.mark.parametrize("table", plugin_tables._rules())
def test_our_own_tables_keep_to_the_rules_of_plugins(table):
    known = {one: set(plugin_tables._shipped(one)) for one in plugin_tables._rules()}
    head = made.COLUMNS[table]
    assert [rule.column for rule in plugin_tables.rules(table)] == head
    undated = 0
    for line, raw in raw_rows(DATA / table):
        plugin_tables._check((table, line), raw, rows_of=known) if raw["as_of"] else None
        undated += not raw["as_of"]
    assert undated <= 3


@given(
    table=st.sampled_from(sorted(READS)),
    place=st.integers(0, 60),
    cell=st.one_of(
        st.sampled_from(
            ["", "0", "-1", "1e999", "nan", "inf", "٣", "1_0", "0x10", "y", "yes", "1 2", "2026-13", "²"]
        ),
        st.floats().map(str),
        st.text(max_size=12),
    ),
)
def test_whatever_the_rules_let_through_our_readers_read(table, place, cell):
    readers, required = READS[table]
    raw = dict.fromkeys(made.COLUMNS[table], "") | (made.CHIP if table == "chips.csv" else {})
    if table != "chips.csv":
        raw = dict(next(iter(plugin_tables._shipped(table).values())))
    column = made.COLUMNS[table][place % len(raw)]
    raw[column] = cell.strip()
    known = {one: set(plugin_tables._shipped(one)) for one in plugin_tables._rules()}
    try:
        plugin_tables._check((table, 2), raw, rows_of=known)
    except RigError:
        return
    (row,) = read_all(Path(table), [(2, raw)], readers=readers, required=required)
    if table == "chips.csv":
        made_of = chips._chip(row)
        assert 0 < made_of.mem_program_bytes < float("inf")
    elif table == "prices.csv":
        assert prices.dated(row["as_of"])


@pytest.mark.parametrize("cell", ["cooler air", "chassis kit; ram ddr5 16", "x 999999", "a b c d 5"])
def test_parts_of_hosts_that_the_rules_let_through_are_read(cell):
    rule = next(one for one in plugin_tables.rules("hosts.csv") if one.column == "parts")
    assert plugin_tables._KINDS["text"](cell, rule.allowed)
    assert part_prices._needs(cell)


@pytest.mark.live
def test_a_plugin_that_pip_installs_is_found(tmp_path):
    project = tmp_path / "project"
    made.install(project, made.WHOLE, {}, package="unused")
    lines = ["[build-system]", 'requires = ["hatchling"]', 'build-backend = "hatchling.build"', "[project]",
             'name = "acme-rig"', 'version = "1.2"']  # fmt: skip
    for group, points in made.POINTS.items():
        lines += [
            f'[project.entry-points."rigright.{group}"]',
            *(f'{name} = "{to}"' for name, to in points.items()),
        ]
    lines += ["[tool.hatch.build.targets.wheel]", 'packages = ["acme_rig"]']
    (project / "pyproject.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    target = tmp_path / "target"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", target, project], check=True
    )
    found = json.loads(rig("look-up", "plugins", "--json", path=target).stdout)
    assert [(one["package"], one["targets"], one["checks"]) for one in found] == [
        ("acme-rig", ["acme-jobs"], ["acme_chassis"])
    ]
    assert "Acme X1" in rig("plan", "qwen3-32b", "--budget", "4000usd", path=target).stdout
