"""Every verb of the real machine: in every form, in both languages, on every screen."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import sys
import time
from itertools import pairwise

import pytest
from test_answers_in_every_form import ENGLISH, NAMES, Tags, cells

from desk import STARVED, Desk, fill, kept, probed, result, ticks
from rigright.base import shelf
from rigright.base.errors import AskError
from rigright.base.plain import dumps
from rigright.base.words import LANGUAGES
from rigright.faces.cli.front import ASKS
from rigright.faces.cli.main import main, verb_parser
from rigright.machine.stored import plain
from rigright.machine.system import Event
from rigright.report.formats import csv as csv_format
from rigright.report.formats import html, markdown, text
from rigright.report.screen import Screen

FAULTY = "row_remap_pending"
FROM_FILES = {
    "probe": "probe --from {folder}/healthy_8xh100.json",
    "probe all": "probe --from {folder}/gb10.json --all",
    "doctor": f"doctor --from {{folder}}/{FAULTY}.json",
    "doctor all": "doctor --from {folder}/nvlink_down.json --all",
    "doctor one": "doctor --from {folder}/healthy_2x4090.json --only ecc",
    "doctor plan": "doctor --from {folder}/healthy_2x4090.json --for '2x 4090'",
    "setup": "setup --from {folder}/healthy_8xh100.json",
    "setup cards": "setup --on '8x h100' --os 'ubuntu 24.04' --for vllm",
    "setup old": "setup --on p100 --os 'rocky 9' --framework torch",
    "bench": "bench --from {folder}/bench.json",
    "bench log": "bench --from {folder}/nccl.log",
    "bench list": "bench --list",
    "history": "history --since 2h --file {folder}/filled.db",
    "history bench": "history --since all --of bench --file {folder}/filled.db",
    "history machines": "history --since all --of machines --file {folder}/filled.db",
    "history events": "history --since all --of events --file {folder}/filled.db",
    "diagnose": "diagnose --since 2h --history {folder}/filled.db",
    "upgrade": "upgrade --from {folder}/healthy_8xh100.json --bound disk=60%,compute=40%",
    "upgrade many": "upgrade --from {folder}/healthy_2x4090.json --bound gpu_memory --machines 200",
    "fleet": "fleet probe --from {folder}/nodes",
    "fleet doctor": "fleet doctor --from {folder}/nodes",
    "fleet bench": "fleet bench --from {folder}/benched",
    "export": "export alerts --out {folder}/exported",
}
LIVE = {
    "watch": ("healthy_2x4090", "watch --once"),
    "diagnose now": ("idle_4090", "diagnose --for 1s"),
    "probe here": ("mig", "probe"),
    "doctor here": ("mismatch", "doctor"),
    "health": ("lost_gpu", "fleet health"),
}
EXITS = {"doctor": {0, 10, 20}, "fleet": {10, 20}, "health": {20}}
QUESTIONS = [*FROM_FILES, *LIVE]
NOTHING_FOUND = {"doctor one"}
NO_TABLE = {"diagnose", "diagnose now", "health", "export"}
AS_THEY_ARE = re.compile(
    r"来源|NVRM|CUDA 报告|: rigright: |：rigright: "
)  # sources, and what Slurm's own list shall show
FILES_TOLD = (
    "fleet files --slurm",
    "fleet files --kubernetes --image r:1",
    "export prometheus",
    "export grafana",
)
NCCL = """#       size         count      type   redop    root     time   algbw   busbw #wrong
  17179869184    4294967296     float     sum      -1  65000.0  264.31  462.54      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 462.54
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Everything that the questions read."""
    place = tmp_path_factory.mktemp("answers")
    for name in ("healthy_8xh100", "healthy_2x4090", "gb10", "nvlink_down", FAULTY):
        (place / f"{name}.json").write_text(kept(name), encoding="utf-8")
    nodes = place / "nodes"
    nodes.mkdir()
    for node, name in {"n1": "healthy_8xh100", "n2": "healthy_8xh100", "n3": "one_of_eight_missing"}.items():
        told = plain(probed(name))
        told["system"]["host"] = node
        (nodes / f"{node}.json").write_text(json.dumps(told), encoding="utf-8")
    (place / "nccl.log").write_text(NCCL, encoding="utf-8")
    figures = [
        result(value, on=f"gpu {n}", chip="NVIDIA H100 80GB HBM3")
        for n, value in enumerate((7e14, 6.9e14, 4e14))
    ]
    told = {
        "rigright_bench": 1, "quick": True, "seconds": 9.0, "machine": plain(probed("healthy_8xh100")),
        "results": [plain(one) for one in figures],
        "skipped": [{"part": "p2p", "why": "p2p"}],
    }  # fmt: skip
    (place / "bench.json").write_text(json.dumps(told), encoding="utf-8")
    (place / "benched").mkdir()
    (place / "benched" / "n1.json").write_text(json.dumps(told), encoding="utf-8")
    now_s = time.time()
    old = [result(7e14, at_s=now_s - 9000), result(5e14, at_s=now_s - 60)]
    moments = ticks(STARVED, {"disk_busy_share": 0.99, "io_pressure": 0.4}, until_s=now_s - 5)
    xid = Event(kind="xid", text="NVRM: Xid (PCI:0000:9b:00): 79, pid=1", at_s=now_s, code=79)
    fill(place / "filled.db", moments, results=old, on=probed("healthy_8xh100"), events=[xid])
    return place


@pytest.fixture(scope="module")
def answered():
    """Answers by their question: each is asked once, and shown in many ways."""
    return {}


@pytest.fixture
def answer(answered, monkeypatch, capsys, folder, tmp_path):
    """The answer to a question, before it is shown."""
    desk = Desk(monkeypatch, capsys, folder)

    def answering(kind, form="text"):
        if (kind, form) not in answered:
            if kind in LIVE:
                desk.sit(LIVE[kind][0])
            verb, *words = shlex.split(line_of(kind, folder))
            options = verb_parser(verb, "en").read(words if form == "text" else [*words, f"--{form}"])
            options.language = "en"
            if kind == "export":
                options.out = str(tmp_path / "exported")
            answered[kind, form] = shelf.take(ASKS, verb, bears="answer")(options)
        return answered[kind, form]

    return answering


def line_of(kind, folder):
    return (LIVE[kind][1] if kind in LIVE else FROM_FILES[kind]).format(folder=folder)


@pytest.fixture
def show(answer):
    """A question's answer as text on some screen."""
    return lambda kind, **screen: text.render(answer(kind).page(), Screen(**screen))


@pytest.mark.parametrize("kind", QUESTIONS)
def test_the_exit_code_tells_the_worst_and_nothing_is_said_aside(monkeypatch, capsys, folder, kind):
    desk = Desk(monkeypatch, capsys, folder)
    if kind in LIVE:
        desk.sit(LIVE[kind][0])
    if kind == "export":
        desk.folder = folder / "again"
        desk.folder.mkdir()
    said = desk.ask(f"{line_of(kind, desk.folder)} --json")
    assert (said.code, said.err) == (said.data.get("exit_code", 0), "")
    assert said.code in EXITS.get(kind.split()[0], {0})


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_line_is_wider_than_the_screen(show, kind, language):
    """Commands are never broken: they are there to be copied."""
    for width in (40, 60, 100):
        for line in show(kind, width=width, language=language).splitlines():
            assert cells(line) <= width or "$ " in line, (width, line)


@pytest.mark.parametrize("kind", QUESTIONS)
def test_chinese_holds_no_english_sentence(show, kind):
    out = show(kind, language="zh", width=4000)
    assert re.search(r"[\u4e00-\u9fff]", out)
    lines = [line for line in out.splitlines() if "$ " not in line and not AS_THEY_ARE.search(line)]
    assert [line for line in lines if ENGLISH.search(NAMES.sub("", line))] == []


@pytest.mark.parametrize("kind", QUESTIONS)
def test_colour_and_ascii_change_no_word(show, kind):
    """What colour says, words say too; what a screen cannot draw is drawn with what it can."""
    plain_text, coloured = show(kind), show(kind, colour=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain_text
    poor = show(kind, unicode=False)
    drawn = set("█▓▒░▚▙▞▛•│─…✓✗")
    assert not drawn & set(poor)
    assert len(poor.splitlines()) >= len(plain_text.splitlines()) // 2


@pytest.mark.parametrize("kind", QUESTIONS)
def test_json_is_one_value_without_nan_and_with_the_same_keys_in_each_language(answer, kind):
    def refuse(name):
        raise AssertionError(name)

    made = answer(kind, "json")
    english, chinese = (
        json.loads(dumps(made.plain(one), one), parse_constant=refuse) for one in ("en", "zh")
    )
    assert isinstance(english, dict)
    assert keys(english) == keys(chinese)


def keys(value):
    if isinstance(value, dict):
        return {key: keys(inner) for key, inner in value.items()}
    return [keys(one) for one in value] if isinstance(value, list) else None


@pytest.mark.parametrize("kind", QUESTIONS)
def test_csv_is_a_table_whose_rows_are_of_one_length(answer, kind):
    made = answer(kind, "csv")
    page = made.sheet() if made.sheet is not None else made.page()
    if kind in NO_TABLE:
        with pytest.raises(AskError, match="no table"):
            csv_format.render(page, Screen())
        return
    rows = list(csv.reader(io.StringIO(csv_format.render(page, Screen()))))
    assert len(rows) > (kind not in NOTHING_FOUND)
    assert {len(row) for row in rows} == {len(rows[0])}
    assert len(set(rows[0])) == len(rows[0]) or not any(rows[0])  # a list for eyes has no heads


@pytest.mark.parametrize("kind", QUESTIONS)
def test_html_is_one_whole_page_that_fetches_nothing(answer, show, kind):
    tags = Tags()
    tags.feed(html.render(answer(kind).page(), Screen()))
    assert tags.open == []
    assert tags.fetched == []
    assert show(kind).split()[0] in "".join(tags.text)


@pytest.mark.parametrize("kind", QUESTIONS)
def test_markdown_tables_hold_together(answer, kind):
    lines = markdown.render(answer(kind).page(), Screen()).splitlines()
    for before, after in pairwise(lines):
        if before.startswith("|") and after.startswith("|"):
            assert before.replace("\\|", "").count("|") == after.replace("\\|", "").count("|")


@pytest.mark.parametrize(
    "kind", ["probe", "doctor", "bench", "history", "diagnose", "upgrade", "fleet doctor"]
)
def test_a_screen_of_ascii_gets_ascii(kind, folder, monkeypatch):
    """LANG=C: nothing that such a screen cannot draw, and no error for it."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(shlex.split(line_of(kind, folder))) in {0, 10, 20}
    assert raw.getvalue().isascii()
    assert raw.getvalue().count(b"\n") > 3


@pytest.mark.parametrize("line", FILES_TOLD)
@pytest.mark.parametrize("language", LANGUAGES)
def test_files_go_to_the_screen_as_they_are(monkeypatch, capsys, folder, line, language):
    """What is piped into kubectl or a file is the same whatever the screen's width; JSON tells it by name."""
    desk = Desk(monkeypatch, capsys, folder)
    narrow, wide = (desk.ask(f"{line} --lang {language} --width {width}") for width in (40, 200))
    assert narrow.code == 0
    assert narrow.out == wide.out
    told = desk.ask(f"{line} --lang {language} --json").data["files"]
    texts = list(told.values()) if isinstance(told, dict) else [one["text"] for one in told]
    assert any(text.strip() and text.strip() in narrow.out for text in texts)
