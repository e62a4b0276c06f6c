"""Other packages add facts, targets and checks; a broken one is a sentence, and changes no answer."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager

import pytest

import made_plugins as made
from desk import quiet
from programs import Ended, rigright
from rigright.arch.sources import zoo
from rigright.base import plugins
from rigright.base.errors import DataError
from rigright.base.tables import DATA, raw_rows
from rigright.base.words import tell
from rigright.doctor import examine
from rigright.doctor.examine import case_of
from rigright.doctor.record import NotSeen
from rigright.facts import chips, prices
from rigright.machine.record import Machine
from rigright.verbs import export
from spoken import values

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


def env_of(switch):
    return {**os.environ, "RIGRIGHT_PLUGINS": switch, "XDG_CONFIG_HOME": os.devnull}


def started(*line, path):
    """A program that starts, and finds packages as any program does."""
    env = env_of("1") | {"PYTHONPATH": os.pathsep.join(map(str, (path, made.SOURCE)))}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "rigright", *line],
        capture_output=True, text=True, check=False, env=env, timeout=120, encoding="utf-8",
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)


SAME = (
    "rigright.arch.families",
    "rigright.arch.kin",
    "rigright.base.telling",
    "rigright.base.words",
    "rigright.report",
)  # read no facts


def rig(*line, path=None, switch="1"):
    """A program beside these packages, which has read no table and looked for no package yet."""

    def afresh():
        if path is None:
            return
        sys.path[:0] = str(path).split(os.pathsep)
        for name, module in [*sys.modules.items()]:
            if name.startswith("rigright.") and not name.startswith(SAME):
                for one in vars(module).values():
                    clear = getattr(one, "cache_clear", None)
                    if callable(clear):
                        clear()

    return rigright(*line, env=env_of(switch), first=afresh)


@pytest.fixture(scope="module", autouse=True)
def loaded(tmp_path_factory):
    """What programs load, so that none of them loads it by itself."""
    capture = tmp_path_factory.mktemp("smi") / "smi.txt"
    capture.write_text(SMI, encoding="utf-8")
    for line in ("plan qwen3-8b --on h100", "look-up chips h100", f"doctor --from {capture}"):
        quiet(line.split())


@pytest.fixture(scope="module")
def acme(tmp_path_factory):
    return made.install(tmp_path_factory.mktemp("acme"), made.WHOLE, made.POINTS)


@pytest.fixture(scope="module")
def plan(acme, tmp_path_factory):
    done = started("plan", "qwen3-32b", "--budget", "4000usd", "--json", path=acme)
    assert (done.code, done.err) == (0, "")
    file = tmp_path_factory.mktemp("plan") / "plan.json"
    file.write_text(done.out, encoding="utf-8")
    return file


USED = "acme-rig 1.2: acme-x1"


def test_a_chip_and_its_price_are_planned_with_and_said(acme, plan):
    found = json.loads(plan.read_text(encoding="utf-8"))
    bought = next(one for one in found["plans"] if one["chip"] == "acme-x1")
    assert bought["supply"]["usd"]["value"] == pytest.approx(1900)
    assert found["plugins"].endswith(USED)
    shown = rig("plan", "acme-lm-1", "--on", "acme x1", "--lang", "zh", path=acme).out
    assert "acme-rig 1.2: acme-x1, acme/acme-lm-1" in shown
    assert "plugin acme-rig 1.2: data sheet of Acme" in rig("look-up", "chips", "acme x1", path=acme).out


def test_an_answer_that_uses_none_of_it_says_nothing(acme):
    line = ("explain", "qwen3-8b", "--on", "h100")
    assert rig(*line, path=acme) == rig(*line)


def test_a_target_writes_its_file_and_is_listed_and_completed(acme, plan, tmp_path):
    done = rig("export", "acme-jobs", "--from", str(plan), "--out", str(tmp_path / "out"), path=acme)
    assert (done.code, done.err) == (0, "")
    assert "acme-rig 1.2" in done.out
    assert (tmp_path / "out/qwen3-32b.acme").read_text(encoding="utf-8").startswith("gpus 1\nvllm\nserve\n")
    assert "acme-jobs" in rig("export", "--help", path=acme).out
    (tmp_path / "completion").write_text(rig("completion", "bash", path=acme).out, encoding="utf-8")
    typed = "COMP_WORDS=(rigright export acm); COMP_CWORD=2; _rigright; echo ${COMPREPLY[@]}"
    asked = subprocess.run(
        ["bash", "-c", f"source completion; {typed}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert asked.stdout.split() == ["acme-jobs"]
    head = rig("export", "vllm", "--from", str(plan), path=acme).out
    assert re.search(rf"^# .*{re.escape(USED)}$", head, re.MULTILINE)


def test_a_check_is_found_by_the_doctor(acme, tmp_path):
    capture = tmp_path / "smi.txt"
    capture.write_text(SMI, encoding="utf-8")
    done = rig("doctor", "--from", str(capture), path=acme)
    assert done.code == 10
    assert "acme-rig 1.2)" in done.out
    found = rig("doctor", "--from", str(capture), "--json", path=acme).data
    assert [one["group"] for one in found["checks"] if one["check"] == "acme_chassis"] == ["plugins"]
    chinese = rig("doctor", "--from", str(capture), "--only", "plugins", "--lang", "zh", path=acme).out
    assert "只有 1 张 GPU" in chinese, "the words of the plugin's own"
    assert "acme-rig 1.2" in chinese
    told = rig("look-up", "checks", "acme_chassis", path=acme).out
    assert "Whether the node stands in a chassis" in told, "the manual of the plugin's own"


def test_plugins_are_listed_and_can_be_left_out(acme):
    listed = rig("look-up", "plugins", "--json", path=acme).data
    assert listed == [
        {
            "package": "acme-rig", "version": "1.2",
            "facts": ["acme/acme-lm-1", "acme-x1"],
            "targets": ["acme-jobs"], "checks": ["acme_chassis"], "left_out": None,
        }
    ]  # fmt: skip
    done = rig("plan", "qwen3-8b", "--on", "acme x1", path=acme, switch="0")
    assert (done.code, done.out) == (2, "")
    assert 'GPU "acme' in done.err


def test_the_row_that_the_manual_shows_is_taken(tmp_path):
    with installed(tmp_path, only("facts", "acme_rig.data", {"acme_rig/data/chips.csv": made.SHOWN})):
        row = read("chips.csv")[-1]
    assert (row.name, row.sources) == (
        "Acme X1",
        "plugin acme-rig 1.2: data sheet of Acme, March 2026",
    )


def only(group, value, files, *, name="acme"):
    return {"acme_rig/__init__.py": "", **files}, {group: {name: value}}


def facts(**tables):
    return only("facts", "acme_rig.data", {f"acme_rig/data/{name}": text for name, text in tables.items()})


def chip(**cells):
    return facts(**{"chips.csv": made.table("chips.csv", made.CHIP | cells)})


GONE = "ModuleNotFoundError: No module named 'nothing_of_that_name'"
PLAN = ("plan", "qwen3-8b", "--on", "rtx 4090")
BROKEN_FACTS = {
    "its folder is not there": (only("facts", "acme_rig.nowhere", {}), {"folder": "acme_rig/nowhere"}),
    "its package is not there": (only("facts", "gone.data", {}), {"folder": "gone/data"}),
    **{
        f"a cell of {column}": (
            chip(**{column: cell}),
            {"file": "chips.csv", "line": "2", "column": column, "cell": cell},
        )
        for column, cell in (("tdp_w", "much"), ("mem_gib", ""), ("mem_gb_per_s", "nan"), ("sources", ""))
    },
    **{
        f"{column} of ours": (
            chip(**{column: cell}),
            {"file": "chips.csv", "column": column, "cell": cell.casefold()},
        )
        for column, cell in (("id", "rtx-4090"), ("name", "GeForce RTX 4090"), ("pci_ids", "10de:2684"))
    },
    "a price of nothing": (
        facts(**{"prices.csv": made.table("prices.csv", made.PRICE)}),
        {"file": "prices.csv", "cell": "acme-x1"},
    ),
    "no text": (facts(**{"chips.csv": "id\n" + "\0" * 900}), {"file": "chips.csv"}),
    "a model behind one": (
        facts(**{"models.jsonl": made.MODEL + '{"_model": 3}\n'}),
        {"why": "KeyError: '_source'"},
    ),
}


READS = {
    "chips.csv": {"kind": chips.Chip, "unique": ("id", "name", "pci_ids")},
    "prices.csv": {"kind": prices.Price, "chips": chips.by_id},
}


def read(table):
    """A table of ours with what plugins add."""
    return plugins.read_facts(table, **READS[table])


@contextmanager
def installed(folder, package):
    """A package in a folder of Python's path in this very process; nothing of it is kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(plugins.SWITCH, "1")
        patch.syspath_prepend(made.install(folder, *package))
        patch.setattr(plugins, "_LEFT_OUT", {})
        patch.setattr(plugins, "_ADDED", {})
        try:
            for kept in (plugins.plugins, plugins.loaded):
                kept.cache_clear()
            yield
        finally:
            plugins.plugins.cache_clear()
            for name in [name for name in sys.modules if name.partition(".")[0] == "acme_rig"]:
                del sys.modules[name]


def each(table, folder, judge, package=lambda one: one):
    """Each broken package of a table, installed and judged by what it tells."""
    for place, (fault, (broken, told)) in enumerate(table.items()):
        with installed(folder / str(place), package(broken)):
            try:
                judge(told)
            except BaseException as wrong:
                wrong.add_note(fault)
                raise


def without_words(said, told):
    """Whether a sentence tells this, and tells it in both languages."""
    assert told.items() <= values(said).items(), (told, values(said))
    english, chinese = tell(said, "en"), tell(said, "zh")
    assert english != chinese
    assert all(one in text for text in (english, chinese) for one in told.values())


def test_broken_facts_are_a_sentence_and_none_of_them_counts(tmp_path):
    def judge(told):
        usual = [len(list(raw_rows(DATA / table))) for table in READS]
        assert [len(read(table)) for table in READS] == usual
        assert [*zoo._of_plugins(set())] == []
        assert plugins.added() == {}
        ((_, said),) = plugins.left_out()
        without_words(said, {"plugin": "acme-rig 1.2", **told})

    each(BROKEN_FACTS, tmp_path, judge)


def test_an_answer_without_what_is_left_out_is_the_usual_one(tmp_path):
    made.install(tmp_path, *BROKEN_FACTS["a cell of tdp_w"][0])
    done = rig(*PLAN, "--lang", "zh", path=tmp_path)
    assert (done.code, done.out) == (0, rig(*PLAN, "--lang", "zh").out)
    assert "acme-rig 1.2" in done.err
    assert done.err.count("\n") == 1


def code(group, text, *, name="acme", attribute=""):
    return only(group, f"acme_rig.code{attribute}", {"acme_rig/code.py": text}, name=name)


IMPORTS = "from rigright.doctor.record import *\nfrom rigright.base.words import in_both\n"
CHECK = f"{IMPORTS}@check(in_both('a', '甲', values={{}}))\ndef acme_one(case):\n    '''What.'''\n    "
BROKEN_CHECKS = {
    "no module": (
        only("checks", "acme_rig.gone", {}),
        {"why": "ModuleNotFoundError: No module named 'acme_rig.gone'"},
    ),
    "an import that fails": (code("checks", "import nothing_of_that_name"), {"why": GONE}),
    "an import that ends the program": (code("checks", "raise SystemExit(0)"), {"why": "SystemExit: 0"}),
    "nothing in it": (code("checks", "x = 1"), {"module": "acme_rig.code"}),
    "the name of one of ours": (
        code("checks", CHECK.replace("acme_one", "disk_space") + "yield Fine(says='x')"),
        {"name": "disk_space"},
    ),
}
BROKEN_VERDICTS = {
    "an error": ("yield 1 / 0", {"why": "ZeroDivisionError: division by zero"}),
    "an end": ("import sys; yield sys.exit(0)", {"why": "SystemExit: 0"}),
    "not a verdict": ("yield 'all is well'", {}),
    "nothing to go through": ("return 7", {"why": "TypeError: 'int' object is not iterable"}),
    "half a finding": (
        "yield Finding(severity='awful', title='x', evidence=(), why='y', fix=())",
        {},
    ),
    "a sentence without its values": (
        "yield Fine(says=in_both('{n}', '{n}', values={}))",
        {"why": "KeyError: 'n'"},
    ),
}


def test_broken_checks_are_a_sentence_and_ours_stay(tmp_path):
    def judge(told):
        assert examine._of_plugins(set(examine.checks())) == {}
        ((_, said),) = plugins.left_out()
        without_words(said, {"plugin": "acme-rig 1.2", **told})

    each(BROKEN_CHECKS, tmp_path, judge)


def test_a_check_that_breaks_is_not_observed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def judge(told):
        (check,) = examine._of_plugins(set()).values()
        (verdict,) = examine._one(check, case_of(Machine(origin="live"))).verdicts
        assert isinstance(verdict, NotSeen)
        assert values(verdict.why) == told
        assert capsys.readouterr().out == ""

    def package(text):
        return code("checks", f"{CHECK}print('a word in between')\n    {text}\n")

    each(BROKEN_VERDICTS, tmp_path, judge, package)


def test_a_broken_check_is_said_beside_the_answer(tmp_path):
    capture = tmp_path / "smi.txt"
    capture.write_text(SMI, encoding="utf-8")
    made.install(tmp_path, *BROKEN_CHECKS["an import that fails"][0])
    done, usual = (rig("doctor", "--from", str(capture), path=path) for path in (tmp_path, None))
    assert (done.code, done.out) == (usual.code, usual.out)
    assert "acme-rig 1.2: " in done.err
    assert GONE in done.err


TARGETS = {
    "no files": ("return {}", {"most": "100"}),
    "no texts": ("return {'a': 1}", {"name": "'a'"}),
    "another kind": ("return 'text'", {"most": "100"}),
    "a place of its own": ("return {'../../a': 'x'}", {"name": "'../../a'"}),
    "half a letter": ("return {'a': '\\ud800'}", {"name": "'a'"}),
    "an error": (
        "return launch.nothing",
        {"why": "AttributeError: 'NoneType' object has no attribute 'nothing'"},
    ),
}


def test_a_target_that_breaks_is_an_error_of_one_sentence(tmp_path):
    def judge(told):
        (plugin,) = plugins.plugins(plugins.TARGETS)
        with pytest.raises(DataError) as error:
            export._by_plugin(plugin, None)
        assert values(error.value.sentence) == {"target": "acme", "plugin": "acme-rig 1.2", **told}

    def package(text):
        return code("targets", f"def export(launch):\n    {text}\n", attribute=":export")

    each(TARGETS, tmp_path, judge, package)


def test_a_target_takes_no_name_of_ours_and_one_that_breaks_is_an_error(plan, acme, tmp_path):
    files = {"bad_rig/__init__.py": "", "bad_rig/code.py": "import nothing_of_that_name\n"}
    points = {"targets": {"vllm": "bad_rig.code:export", "bad": "bad_rig.code:export"}}
    made.install(tmp_path, files, points, package="bad-rig", version="0.1")
    both = os.pathsep.join(map(str, (tmp_path, acme)))
    done = rig("export", "vllm", "--from", str(plan), path=both)
    assert "exec vllm" in done.out
    assert '"vllm"' in done.err
    assert "bad-rig 0.1: " in done.err
    done = rig("export", "bad", "--from", str(plan), path=both)
    assert (done.code, done.out) == (3, "")
    assert all(one in done.err for one in ('"bad"', "bad-rig 0.1: ", GONE))


def test_a_name_that_ours_has_stays_ours(tmp_path):
    taking = {**made.CHIP, "id": "h100-acme", "name": "H100 of Acme"}
    made.install(tmp_path, *facts(**{"chips.csv": made.table("chips.csv", taking)}))
    line = ("compare", "h100", "H100 PCIe", "rtx 4090", "--for", "qwen3-8b", "--json")
    usual = rig(*line)
    assert [one["plan"]["chip"] for one in usual.data["contenders"]]
    assert rig(*line, path=tmp_path) == usual


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
    found = started("look-up", "plugins", "--json", path=target).data
    assert [(one["package"], one["targets"], one["checks"]) for one in found] == [
        ("acme-rig", ["acme-jobs"], ["acme_chassis"])
    ]
    assert "Acme X1" in started("plan", "qwen3-32b", "--budget", "4000usd", path=target).out
