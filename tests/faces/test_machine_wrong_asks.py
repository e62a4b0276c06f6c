"""Wrong asks of the verbs of the real machine: an exit code, one sentence, and nothing was done."""

from __future__ import annotations

import json
import re

import pytest

from desk import Desk

WRONG = """
2  unexpected argument        | probe extra
2  did you mean --from        | probe --frm x
2  --save has no value        | probe --save ''
4  no such file               | probe --from {folder}/none
3  format not recognised      | probe --from {folder}/junk.json
3  is empty                   | probe --from {folder}/empty
3  not text                   | probe --from {folder}/bytes
3  no readable file           | probe --from {folder}/emptyfolder
2  is a folder                | probe --bundle {folder}/emptyfolder
2  remove --from              | probe --bundle {folder}/b.tar.gz --from {folder}/junk.json
3  cannot write               | probe --save {folder}/file/x.json --from {folder}/h100.txt
2  unknown check or group     | doctor --only nosuch
2  --only has no value        | doctor --only ''
4  no such file               | doctor --from {folder}/none
4  no such file               | doctor --for {folder}/none.json --from {folder}/h100.txt
2  unknown GPU                | doctor --for '8x nosuch' --from {folder}/h100.txt
2  contains no plan           | doctor --for {folder}/junk.json --from {folder}/h100.txt
3  cannot write               | doctor --fix-script {folder}/file/x.sh --from {folder}/h100.txt
2  already exists             | doctor --fix-script {folder}/file --from {folder}/h100.txt
2  unknown GPU                | setup --on nosuch
2  one of them                | setup --on h100 --from {folder}/junk.json
2  unknown system             | setup --on h100 --os 'plan 9'
2  no requirements known      | setup --on h100 --framework nosuch
2  no requirements known      | setup --on h100 --for nosuch
2  only one file can          | setup --on h100 --script --docker
3  cannot write               | setup --on h100 --script {folder}/file/x.sh
2  already exists             | setup --on h100 --requirements {folder}/file
2  unknown part               | bench nosuch
2  too short to measure       | bench ram --time 0.1s
2  as a time                  | bench --time x
4  no such file               | bench --from {folder}/none
3  as a benchmark             | bench --from {folder}/junk.json
3  as a benchmark             | bench --from {folder}/bytes
2  not an address             | bench --endpoint ftp://x
2  is a folder                | bench ram --save {folder}/emptyfolder
4  there is no folder         | bench ram --save {folder}/none/x.json
4  cannot listen              | bench --listen no.such.host.invalid
2  as a time                  | watch --once --every 0s
2  as a time                  | watch --for x
2  use a port                 | watch --serve x
2  use a port                 | watch --serve 127.0.0.1:99999
2  add --token                | watch --serve 0.0.0.0:9477
4  no such file               | watch --serve --token {folder}/none
2  needs --once               | watch --markdown
2  need --serve               | watch --token {folder}/file
2  as a time                  | history --since x
2  more recent than           | history --since 1h --until 2h
2  nosuch                     | history --of nosuch
4  no history                 | history --file {folder}/none
3  not a rigright history     | history --file {folder}/bytes
4  no history                 | history
2  as a time                  | diagnose --for 0s
2  as a time                  | diagnose --since x
2  use one of them            | diagnose --since 1h --for 1s
4  no history                 | diagnose --since 1h
4  no history                 | diagnose --history {folder}/none
3  not a rigright history     | diagnose --since 1h --history {folder}/bytes
2  as shares of causes        | upgrade --bound nosuch
2  more than 100 %            | upgrade --bound disk=60%,compute=60%
2  --from reads a file        | diagnose --from {folder}/h100.txt --for 30s
3  format not recognised      | upgrade --from {folder}/junk.json --bound disk
2  not a valid number         | upgrade --bound disk --machines 0
2  as an amount               | upgrade --bound disk --budget x
2  WHAT                       | fleet
2  nosuch                     | fleet nosuch
2  no nodes given             | fleet probe
2  use only one of            | fleet probe --hosts a --slurm
2  there is no folder         | fleet probe --from {folder}/none
2  is empty                   | fleet doctor --from {folder}/emptyfolder
2  is not a host name         | fleet probe --hosts 'a[1-'
2  is not a host name         | fleet probe --hosts=-oProxyCommand=true
2  must be 1 to 512           | fleet probe --hosts a --parallel 0
2  cannot read --options      | fleet probe --hosts a --options "'"
2  unknown check or group     | fleet health --only nosuch
2  no target given            | fleet files
2  TARGET                     | export
2  cannot export to "nosuch" | export nosuch
2  is not HOST:PORT           | export prometheus --watched x
2  is not HOST:PORT           | export prometheus --watched a:99999
2  is not HOST:PORT           | export prometheus --alertmanager 'a b:1'
2  as a time                  | export prometheus --every 0s
3  cannot write               | export alerts --out {folder}/file/x
2  no command given           | measure
2  is too short               | measure --every 1ms -- true
2  as a number                | measure --steps x -- true
3  is not a plan              | measure --plan {folder}/junk.json -- true
4  no such plan               | measure --plan {folder}/none -- true
2  is a folder                | measure --save {folder}/emptyfolder -- true
4  there is no folder         | measure --save {folder}/none/x.json -- true
2  add --plan                 | measure --save {folder}/x.csv -- true
"""
LINES = [
    (int(code), says.strip(), line.strip())
    for code, says, line in re.findall(r"^(\d)  (.+?)\| (.+)$", WRONG, flags=re.MULTILINE)
]
VERBS = {
    "probe",
    "doctor",
    "setup",
    "bench",
    "watch",
    "history",
    "diagnose",
    "upgrade",
    "fleet",
    "export",
    "measure",
}


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


@pytest.mark.parametrize(("code", "says", "line"), LINES, ids=[line for _, _, line in LINES])
def test_a_wrong_ask_is_one_sentence(desk, code, says, line):
    before = listing(desk.folder)
    said = desk.ask(line)
    assert (said.code, said.out) == (code, ""), said.err
    assert says in said.err
    assert said.err.startswith("error: ")
    assert [line for line in said.err.splitlines()[1:] if not line.startswith("hint: ")] == []
    assert said.err.count("\n") <= 2
    assert re.search(r"\.\d+: ", said.err) is None, "the name of a file of our own"
    assert listing(desk.folder) == before


@pytest.mark.parametrize(("code", "line"), [(code, line) for code, _, line in LINES[::4]])
def test_a_wrong_ask_is_json_and_chinese_too(desk, code, line):
    before, dashes, command = line.partition(" -- ")
    said = desk.ask(f"{before} --json --lang zh{dashes}{command}")
    assert said.code == code
    told = said.data["error"]
    assert told["exit_code"] == code
    assert re.search(r"[\u4e00-\u9fff]", told["message"]), told["message"]
    assert json.dumps(told["message"], ensure_ascii=False)[1:-1] in json.dumps(said.err, ensure_ascii=False)


def test_every_verb_has_its_wrong_asks():
    asked = [line.split()[0] for _, _, line in LINES]
    assert {verb for verb in asked if asked.count(verb) >= 5} == VERBS
