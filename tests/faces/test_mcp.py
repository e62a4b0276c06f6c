"""The tools of an agent, asked by the protocol's own client."""

from __future__ import annotations

import http.client
import json
import shlex
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from test_python import BOX, RUNS, timeless

from ports import free_port
from rigright.faces import tools
from rigright.faces.agents import server
from rigright.faces.cli.main import main

SAME = {  # as typed -> tool and arguments
    "plan qwen3-32b --mode chat --budget 8000usd": (
        "plan",
        {"model": "qwen3-32b", "mode": "chat", "budget": "8000usd"},
    ),
    "plan llama-3.1-8b --on '2x 4090' --concurrency 8 --used --lang zh": (
        "plan",
        {
            "model": "llama-3.1-8b",
            "on": "2x 4090",
            "concurrency": 8,
            "used": True,
            "rent": False,
            "lang": "zh",
        },
    ),
    "explain llama-3.1-8b --on 4090 --context 2048": (
        "explain",
        {"model": "llama-3.1-8b", "on": "4090", "context": 2048},
    ),
    "fit 4090 --limit 3": ("fit", {"machine": "4090", "limit": 3}),
    "compare 4090 5090 --for llama-3.1-8b": ("compare", {"things": ["4090", "5090"], "for": "llama-3.1-8b"}),
    "build '2x rtx 4090'": ("build", {"what": "2x rtx 4090"}),
    "cost '2x rtx 4090' --years 3": ("cost", {"what": "2x rtx 4090", "years": 3}),
    "look-up chips 4090": ("look_up", {"kind": "chips", "words": ["4090"]}),
    "look-up chips --where memory>=100GB --where vendor=AMD": (
        "look_up",
        {"kind": "chips", "where": ["memory>=100GB", "vendor=AMD"]},
    ),
    "probe --from {root}/box.json": ("probe", {"from": "box.json"}),
    "doctor --from {root}/box.json": ("doctor", {"from": "box.json"}),
    "validate {root}/runs.csv": ("validate", {"files": ["runs.csv"]}),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agents") / "root"
    folder.mkdir()
    (folder / "box.json").write_text(json.dumps(BOX), encoding="utf-8")
    (folder / "runs.csv").write_text(RUNS, encoding="utf-8")
    (folder.parent / "outside.json").write_text(json.dumps(BOX), encoding="utf-8")
    (folder / "link.json").symlink_to(folder.parent / "outside.json")
    return folder


def conversation(target, *questions):
    """What a client hears: the tools, then the answer to each question."""

    async def held():
        async with Client(target) as client:
            listed = (await client.list_tools()).tools
            return listed, [await client.call_tool(name, said) for name, said in questions]

    return anyio.run(held)


@pytest.fixture(scope="module")
def heard(root):
    listed, answers = conversation(server(root), *SAME.values())
    return {tool.name: tool for tool in listed}, dict(zip(SAME, answers, strict=True))


@pytest.mark.parametrize("line", SAME)
def test_the_answer_is_line_1_and_the_json_of_the_command(line, heard, root, capsys):
    answer = heard[1][line]
    typed = shlex.split(line.format(root=root))
    main([*typed, "--json"])
    printed = json.loads(capsys.readouterr().out)
    main([*typed, "--width", "400"])
    first = capsys.readouterr().out.splitlines()[0]
    assert not answer.is_error
    short, whole = (part.text for part in answer.content)
    assert short.startswith(first.lstrip("✓✗!? "))  # which a screen may wrap
    assert timeless(json.loads(whole)) == timeless(printed)
    structured = answer.structured_content
    assert timeless(structured) == timeless({"rows": printed} if isinstance(printed, list) else printed)


@pytest.mark.parametrize("line", SAME)
def test_the_schema_takes_the_question(line, heard):
    tool, said = SAME[line]
    schema = heard[0][tool].input_schema
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(said)
    assert heard[0][tool].annotations.read_only_hint


@pytest.mark.parametrize("line", SAME)
def test_the_answer_has_the_keys_that_its_schema_names(line, heard):
    tool, _ = SAME[line]
    schema, answer = heard[0][tool].output_schema, heard[1][line].structured_content
    Draft202012Validator(schema).validate(answer)
    assert set(answer) <= {"rows", *schema["properties"]}
    assert len(json.dumps(schema)) < 6000  # an agent reads every word of it


def test_the_schemas_are_those_of_the_options(heard):
    taken = {name: tool.input_schema["properties"] for name, tool in heard[0].items()}
    assert set(taken) == set(tools.TOOLS)
    assert taken["plan"]["mode"]["enum"][:2] == ["serve", "chat"]
    assert taken["plan"]["used"]["type"] == "boolean"
    assert taken["plan"]["concurrency"]["type"] == ["number", "string"]
    assert "users" not in taken["plan"]
    assert heard[0]["compare"].input_schema["required"] == ["things", "for"]
    assert all(one["description"] for properties in taken.values() for one in properties.values())


def test_no_tool_takes_what_writes_or_runs():
    for root in (None, Path()):
        taken = {name for tool in tools.offered(root) for name in tools.arguments(tool, root)}
        assert not taken & {"save", "bundle", "fix_script", "predictions"}
        assert not taken & {"run_code", "prices", "anchors", "check"}
    assert "validate" not in tools.offered(None)
    assert "from" not in tools.arguments("doctor", None)
    assert "from" not in tools.arguments("build", Path())


PATHS = (
    "/etc/passwd",
    "~root/x",
    "../up",
    "a/../../b",
    "C:\\x",
    "\\\\host\\x",
    "box.json",
    "-",
    "file:///etc",
)
NAMES = (("plan", "model"), ("explain", "on"), ("cost", "what"), ("fit", "machine"), ("doctor", "for"))
FILES = (("doctor", "from"), ("probe", "from"), ("validate", "files"), ("doctor", "baseline"))
OUTSIDE = ("/etc/passwd", "../outside.json", "link.json", "x/../../outside.json", "\0")
WRONG = [
    ("plan", {"model": "qwen3-32b", "bugdet": 3}, 'unknown option "bugdet"', "budget"),
    ("plan", {}, "missing: model", "--help"),
    ("plan", {"model": "qwen3-32b", "mode": "foo"}, 'unknown mode "foo"', "choose serve"),
    ("explain", {"model": "qwen3-32b", "on": "rtx 9999"}, "9999", ""),
    ("nosuch", {}, 'unknown tool "nosuch"', "plan, explain"),
    ("probe", {"save": "x.json"}, 'unknown option "save"', ""),
    ("build", {"from": "box.json"}, 'unknown option "from"', ""),
    *((tool, {name: text}, "looks like a file", "") for tool, name in NAMES for text in PATHS),
    *(
        (tool, {name: [text] if name == "files" else text}, "not below the folder", "")
        for tool, name in FILES
        for text in OUTSIDE
    ),
]


@pytest.fixture(scope="module")
def refused(root):
    return conversation(server(root), *((tool, said) for tool, said, *_ in WRONG))[1]


@pytest.mark.parametrize("place", range(len(WRONG)), ids=lambda place: f"{WRONG[place][0]}-{place}")
def test_errors_are_the_sentences_of_the_command(place, refused):
    *_, wrong, hint = WRONG[place]
    answer = refused[place]
    assert answer.is_error
    said = answer.content[0].text
    assert said.startswith("error: ")
    assert wrong in said
    assert hint in said
    assert answer.structured_content["error"]["kind"] in {"ask", "missing", "data"}


def test_errors_are_told_in_the_language_of_the_question(root):
    told = tools.call("plan", {"model": "qwen3-32b", "mode": "foo", "lang": "zh"}, root=root)
    assert told.line.startswith("错误：")
    assert "foo" in told.data["error"]["message"]
    assert tools.call("plan", {"lang": ["zh"]}, root=root).failed


def test_over_standard_input_relative_names_are_no_files(root):
    """The server answers from an empty folder, wherever it was started."""
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "rigright", "mcp", "--root", str(root)], cwd=str(root)
    )
    (root / "qwen3").mkdir()
    (root / "qwen3" / "mine").mkdir()
    (root / "qwen3" / "mine" / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    _, (found, local, saved) = conversation(
        command,
        ("plan", {"model": "qwen3-8b", "on": "4090"}),
        ("explain", {"model": "qwen3/mine", "on": "4090"}),
        ("doctor", {"from": "box.json"}),
    )
    assert "4090" in found.content[0].text
    assert local.is_error
    assert 'unknown model "qwen3/mine"' in local.content[0].text
    assert not saved.is_error


def test_over_http_on_loopback_alone(root):
    port = free_port()
    line = [sys.executable, "-m", "rigright", "mcp", "--http", str(port)]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=root) as running:
        try:
            for _ in range(200):
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.1)
            asked = ("fit", {"machine": "4090", "limit": 2})
            listed, (answer,) = conversation(f"http://127.0.0.1:{port}/mcp", asked)
            assert "validate" not in {tool.name for tool in listed}
            assert not answer.is_error
            for wrong in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
                with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as rebound:
                    heads = {"Content-Type": "application/json", "Accept": "application/json"} | wrong
                    rebound.request("POST", "/mcp", body="{}", headers=heads)
                    assert rebound.getresponse().status in {403, 421}
        finally:
            running.terminate()


def test_without_the_package_the_error_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("rigright.faces.agents.find_spec", lambda _: None)
    assert main(["mcp"]) == 4
    assert "rigright[mcp]" in capsys.readouterr().err


def test_the_list_and_wrong_starts(capsys, tmp_path):
    assert main(["mcp", "--list", "--json"]) == 0
    assert "validate" not in json.loads(capsys.readouterr().out)
    assert main(["mcp", "--list", "--lang", "zh"]) == 0
    assert "个工具" in capsys.readouterr().out
    assert main(["mcp", "--root", str(tmp_path / "nosuch")]) == 4
    assert main(["mcp", "--http", "0"]) == 2
