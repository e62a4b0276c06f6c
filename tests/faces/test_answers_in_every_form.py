"""Every verb that plans, plays and compares: in every form, in both languages, on every screen."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from kept_answers import keep
from rigright.faces.cli.main import main

RUNS = (
    "id,source,engine,model,chip,n_chips,weights,kv,mode,load,prompt_tok,output_tok,metric,value\n"
    "a,mine,llama.cpp,meta-llama/Meta-Llama-3-8B,rtx-4090,1,gguf:Q4_K_M,f16,single,1,0,512,decode_tok_s_per_user,99\n"
    "b,mine,llama.cpp,meta-llama/Meta-Llama-3-8B,nosuch,1,gguf:Q4_K_M,f16,single,1,0,512,decode_tok_s_per_user,99\n"
    "c,mine,llama.cpp,meta-llama/Meta-Llama-3-8B,rtx-4090,1,gguf:Q4_K_M,f16,single,1,0,512,decode_tok_s_per_user,x\n"
)
FILES = {
    "runs.csv": RUNS,
    "parts.txt": "cpu: 7950x\nboard: ProArt X670E\nram: 2x48GB\ngpu: RTX 4090\npsu: 1000W\ncase: Torrent\n",
    "grid.csv": "model,on,users\nllama-3.1-8b,h100,8\nqwen3-8b,4090,2\n",
    "trace.csv": "arrival_s,prompt_tok,output_tok\n0,100,20\n1,x,20\n2,300,20\n",
}
QUESTIONS = {
    "serve": "plan llama-3.1-8b --on '2x 4090' --users 8",
    "chat": "plan qwen3-32b --mode chat --buy --budget 5万",
    "batch": "plan llama-3.1-8b --mode batch --on h100",
    "tune": "plan llama-2-7b --mode finetune --method lora --on 4090 --samples 50k --seq 1024",
    "qlora": "plan qwen2.5-14b --mode finetune --method qlora --samples 20k --budget '$5000'",
    "pretrain": "plan llama-2-7b --mode pretrain --on '64x h100' --tokens 1T --seq 4096",
    "image": "plan sdxl --mode image --on 4090",
    "look": "plan resnet-50 --mode image --on 4090",
    "nearest": "plan llama-3.1-70b --buy --users 4 --budget '$500'",
    "nothing": "plan deepseek-v3 --on '2x 4090'",
    "licence": "plan llama-3.1-8b --licence nosuch",
    "compare": "compare 4090 5090 aws --for llama-3.1-8b --users 8",
    "play": "simulate llama-3.1-8b --on h100 --rate 5 --requests 30 --ttft 1s --tpot 50ms",
    "jam": "simulate llama-3.1-8b --on h100 --rate 1000 --requests 100 --arrivals burst",
    "trace": "simulate llama-3.1-8b --on h100 --trace {folder}/trace.csv",
    "explain": "explain llama-3.1-8b --on 4090 --context 2048",
    "too large": "explain llama-3.1-70b --on 4090",
    "train": "explain llama-2-7b --on 4090 --train lora",
    "fit": "fit --on 4090 --limit 4",
    "sweep": "sweep {folder}/grid.csv --workers 1",
    "order": "build '4x 4090' --room '230V 16A' --details --why",
    "rack": "build '8x h100 sxm'",
    "no machine": "build '10x rtx 5090'",
    "list": "build --check {folder}/parts.txt --details",
    "validate": "validate {folder}/runs.csv",
    "calibrate": "calibrate --from {folder}/runs.csv --out {folder}/own.toml",
}
NAMES = re.compile(
    r"\b(?:hf|deepspeed|torchtitan|megatron) [a-z0-9 -]+|\$ rigright .*|https?://\S+"
    r"|\([^)]*\)|[“\"'`][^”\"'`]*[”\"'`]|\b[A-Z][\w./+-]*(?: [A-Z0-9(][\w./+-]*)*"
)
ENGLISH = re.compile(r"[a-z]{3,} [a-z]{2,} [a-z]{2,}")
NARROW = 40
WIDE = re.compile(
    r"[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Everything that the questions read."""
    place = tmp_path_factory.mktemp("answers")
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def answered():
    """What has been answered already."""
    return {}


@pytest.fixture
def ask(capsys, monkeypatch, folder, answered):
    for name in ("LANG", "LC_ALL", "LC_MESSAGES", "LANGUAGE", "RIGRIGHT_LANG", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    keep(monkeypatch, answered)

    def asking(kind, more=""):
        line = QUESTIONS[kind].format(folder=folder)
        code = main([*shlex.split(line), *shlex.split(more)])
        said = capsys.readouterr()
        assert code == 0, said.err
        assert said.err == ""
        return said.out

    return asking


def cells(line):
    """How many places of a screen a line takes."""
    return len(line) + len(WIDE.findall(line))


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_line_is_wider_than_the_screen(ask, kind, language):
    """Commands are never broken: they are there to be copied."""
    for line in ask(kind, f"--width {NARROW} --lang {language}").splitlines():
        assert cells(line) <= NARROW or line.strip().startswith("$ rigright"), line


@pytest.mark.parametrize("kind", sorted(set(QUESTIONS) - {"sweep"}))
def test_chinese_holds_no_english_sentence(ask, kind):
    out = ask(kind, "--lang zh --width 400")
    assert re.search(r"[\u4e00-\u9fff]", out)
    left = [line for line in out.splitlines() if ENGLISH.search(NAMES.sub("", line))]
    assert left == []


@pytest.mark.parametrize(
    "kind", ["serve", "nearest", "compare", "play", "too large", "train", "fit", "validate"]
)
def test_colours_come_only_when_asked_for(ask, kind, monkeypatch):
    assert "\x1b" not in ask(kind)
    assert "\x1b" in ask(kind, "--color always")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in ask(kind)


@pytest.mark.parametrize("kind", QUESTIONS)
def test_json_is_one_value_without_nan(ask, kind):
    def refuse(name):
        raise AssertionError(name)

    data = json.loads(ask(kind, "--json"), parse_constant=refuse)
    assert isinstance(data, dict)
    chinese = json.loads(ask(kind, "--json --lang zh"))
    assert list(chinese) == list(data)


@pytest.mark.parametrize("kind", QUESTIONS)
def test_csv_is_a_table_whose_rows_are_of_one_length(ask, kind):
    rows = list(csv.reader(io.StringIO(ask(kind, "--csv"))))
    if kind in {"nothing", "licence"}:
        return
    assert len(rows) > 1
    assert {len(row) for row in rows} == {len(rows[0])}
    assert len(set(rows[0])) == len(rows[0])


class Tags(HTMLParser):
    """Tags that are opened and closed, and whatever a page would fetch from elsewhere."""

    void = frozenset({"meta", "br", "hr", "img", "link", "input", "col"})

    def __init__(self):
        super().__init__()
        self.open, self.fetched, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.void:
            self.open.append(tag)
        self.fetched += [
            value for name, value in attrs if name in {"src", "href"} and not value.startswith("#")
        ]

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("kind", QUESTIONS)
def test_html_is_one_whole_page_that_fetches_nothing(ask, kind):
    tags = Tags()
    tags.feed(ask(kind, "--html"))
    assert tags.open == []
    assert tags.fetched == []
    plain = ask(kind).splitlines()[0]
    assert plain.split(" ")[0] in "".join(tags.text)


@pytest.mark.parametrize("kind", QUESTIONS)
def test_markdown_tables_hold_together(ask, kind):
    rows = [line for line in ask(kind, "--markdown").splitlines() if line.startswith("|")]
    for before, after in pairwise(rows):
        if set(after) <= set("|-: "):
            assert before.replace("\\|", "").count("|") == after.count("|")


@pytest.mark.parametrize("kind", ["serve", "tune", "image", "compare", "play", "explain"])
def test_why_shows_a_formula_and_a_source(ask, kind):
    plain, why = ask(kind), ask(kind, "--why")
    if kind in {"compare", "play"}:
        assert len(why) >= len(plain)
        return
    assert "why: formula, numbers, sources" in why
    assert "why: formula, numbers, sources" not in plain


@pytest.mark.parametrize("kind", ["serve", "compare", "play", "calibrate"])
def test_the_same_question_has_the_same_answer(ask, kind, answered):
    def steady(text):
        return re.sub(r"\d+\.\d s\b", "", text)

    first = steady(ask(kind))
    answered.clear()
    assert steady(ask(kind)) == first
