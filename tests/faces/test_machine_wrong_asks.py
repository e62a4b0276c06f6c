"""Wrong asks of the verbs of the real machine: an exit code, one sentence, and nothing was done."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from desk import Desk

WRONG = """
2  probe extra
2  probe --frm x
2  probe --save ''
4  probe --from {folder}/none
3  probe --from {folder}/junk.json
3  probe --from {folder}/empty
3  probe --from {folder}/bytes
3  probe --from {folder}/emptyfolder
2  probe --bundle {folder}/emptyfolder
2  probe --bundle {folder}/b.tar.gz --from {folder}/junk.json
3  probe --save {folder}/file/x.json --from {folder}/h100.txt
2  doctor --only nosuch
2  doctor --only ''
4  doctor --from {folder}/none
4  doctor --for {folder}/none.json --from {folder}/h100.txt
2  doctor --for '8x nosuch' --from {folder}/h100.txt
2  doctor --for {folder}/junk.json --from {folder}/h100.txt
3  doctor --fix-script {folder}/file/x.sh --from {folder}/h100.txt
2  doctor --fix-script {folder}/file --from {folder}/h100.txt
2  setup --on nosuch
2  setup --on h100 --from {folder}/junk.json
2  setup --on h100 --os 'plan 9'
2  setup --on h100 --framework nosuch
2  setup --on h100 --for nosuch
2  setup --on h100 --script --docker
3  setup --on h100 --script {folder}/file/x.sh
2  setup --on h100 --requirements {folder}/file
2  bench nosuch
2  bench ram --time 0.1s
2  bench --time x
4  bench --from {folder}/none
3  bench --from {folder}/junk.json
3  bench --from {folder}/bytes
2  bench --endpoint ftp://x
2  bench ram --save {folder}/emptyfolder
4  bench ram --save {folder}/none/x.json
4  bench --listen no.such.host.invalid
2  watch --once --every 0s
2  watch --for x
2  watch --serve x
2  watch --serve 127.0.0.1:99999
2  watch --serve 0.0.0.0:9477
4  watch --serve --token {folder}/none
2  watch --markdown
2  watch --token {folder}/file
2  history --since x
2  history --since 1h --until 2h
2  history --of nosuch
4  history --file {folder}/none
3  history --file {folder}/bytes
4  history
2  diagnose --for 0s
2  diagnose --since x
2  diagnose --since 1h --for 1s
4  diagnose --since 1h
4  diagnose --history {folder}/none
3  diagnose --since 1h --history {folder}/bytes
2  upgrade --bound nosuch
2  upgrade --bound disk=60%,compute=60%
2  diagnose --from {folder}/h100.txt --for 30s
3  upgrade --from {folder}/junk.json --bound disk
2  upgrade --bound disk --machines 0
2  upgrade --bound disk --budget x
2  fleet
2  fleet nosuch
2  fleet probe
2  fleet probe --hosts a --slurm
2  fleet probe --from {folder}/none
2  fleet doctor --from {folder}/emptyfolder
2  fleet probe --hosts 'a[1-'
2  fleet probe --hosts=-oProxyCommand=true
2  fleet probe --hosts a --parallel 0
2  fleet probe --hosts a --options "'"
2  fleet health --only nosuch
2  fleet files
2  export
2  export nosuch
2  export prometheus --watched x
2  export prometheus --watched a:99999
2  export prometheus --alertmanager 'a b:1'
2  export prometheus --every 0s
3  export alerts --out {folder}/file/x
2  measure
2  measure --every 1ms -- true
2  measure --steps x -- true
3  measure --plan {folder}/junk.json -- true
4  measure --plan {folder}/none -- true
2  measure --save {folder}/emptyfolder -- true
4  measure --save {folder}/none/x.json -- true
2  measure --save {folder}/x.csv -- true
"""
LINES = [(int(line[0]), line[1:].strip()) for line in WRONG.strip().splitlines()]
VERBS = {line.split()[0] for _, line in LINES}


@pytest.fixture
def desk(monkeypatch, capfd, tmp_path):
    for name, raw in {
        "junk.json": b'{"x": [}', "empty": b"", "bytes": bytes(range(256)), "file": b"x",
        "h100.txt": b"GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(raw)
    (tmp_path / "emptyfolder").mkdir()
    return Desk(monkeypatch, capfd, tmp_path)


def listing(folder):
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if "home" not in one.parts)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_wrong_ask_is_one_sentence_and_a_hint(desk, verb):
    """Its words are kept in the golden pages."""
    for code, line in LINES:
        if line.split()[0] != verb:
            continue
        before = listing(desk.folder)
        said = desk.ask(line)
        assert (said.code, said.out) == (code, ""), (line, said.err)
        assert 1 <= said.err.count("\n") <= 2, line
        assert all(re.match(r"\w+: \S", one) for one in said.err.splitlines()), line
        assert re.search(r"\.\d+: ", said.err) is None, (line, "the name of a file of our own")
        assert listing(desk.folder) == before, line


def test_a_wrong_ask_is_json_and_chinese_too(desk):
    for code, line in LINES[::4]:
        before, dashes, command = line.partition(" -- ")
        said = desk.ask(f"{before} --json --lang zh{dashes}{command}")
        assert said.code == code, line
        told = said.data["error"]
        assert told["exit_code"] == code
        assert re.search(r"[\u4e00-\u9fff]", told["message"]), told["message"]
        message = json.dumps(told["message"], ensure_ascii=False)[1:-1]
        assert message in json.dumps(said.err, ensure_ascii=False)


def test_every_verb_has_its_wrong_asks_and_each_is_a_golden_page():
    asked = [line.split()[0] for _, line in LINES]
    assert {verb for verb in asked if asked.count(verb) >= 5} == VERBS
    assert len(VERBS) == 11
    kept = (Path(__file__).parent / "golden_cases.txt").read_text(encoding="utf-8").splitlines()
    assert {short(line) for _, line in LINES} <= {short(line) for line in kept}


def short(line):
    """The same wherever its files lie."""
    return (
        re.sub(r"\{folder\}/", "", line)
        .replace("/file/", "/empty/")
        .replace("file/", "empty/")
        .replace(" file", " empty")
    )
