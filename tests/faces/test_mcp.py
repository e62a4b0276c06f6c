"""The tools of an agent, asked by the protocol's own client."""

from __future__ import annotations

import http.client
import json
import re
import shlex
import socket
import sys
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from answer_rooms import typed
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from test_python import BOX, RUNS, timeless

from kept_answers import keep
from ports import free_port
from programs import Program, folder_env, until
from rigright.faces import question, tools
from rigright.faces.agents import server
from rigright.faces.cli.main import main
from rigright.faces.short import SHORT, TEXT, shortened

SAME = {  # as typed -> tool and arguments; other questions: test_every_answer.py
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
    "build '2x rtx 4090'": ("build", {"what": "2x rtx 4090"}),
    "look-up chips --where memory>=100GB --where vendor=AMD": (
        "look_up",
        {"kind": "chips", "where": ["memory>=100GB", "vendor=AMD"]},
    ),
    "doctor --from {root}/box.json": ("doctor", {"from": "box.json"}),
    "validate {root}/runs.csv": ("validate", {"files": ["runs.csv"]}),
}


@pytest.fixture(scope="module", autouse=True)
def kept():
    """Each question is answered once, whichever door it comes through."""
    with pytest.MonkeyPatch.context() as patch:
        keep(patch, {}, of=None)
        yield


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agents") / "root"
    folder.mkdir()
    (folder / "box.json").write_text(json.dumps(BOX), encoding="utf-8")
    (folder / "runs.csv").write_text(RUNS, encoding="utf-8")
    (folder.parent / "outside.json").write_text(json.dumps(BOX), encoding="utf-8")
    (folder / "link.json").symlink_to(folder.parent / "outside.json")
    return folder


@pytest.fixture(scope="module")
def asked_in_short(root):
    return conversation(server(root), *SAME.values())[1]


def test_a_short_answer_is_part_of_the_full_one(heard, asked_in_short):
    for line, answer in zip(SAME, asked_in_short, strict=True):
        full, short = heard[1][line].structured_content, dict(answer.structured_content)
        left = short.pop("left_out", {})
        assert len(json.dumps(short, ensure_ascii=False)) <= SHORT, line
        assert len(answer.content[0].text) < TEXT + 100
        for key, value in timeless(short).items():
            assert value == timeless(full)[key] or any(one.split(".")[0] == key for one in left), (line, key)


def test_a_short_answer_counts_what_it_leaves_out():
    rows = [{"name": f"row {number}", "none": None, "empty": []} for number in range(1000)]
    short = shortened(rows, most=2000)
    assert len(json.dumps(short["rows"])) <= 2000
    assert len(short["rows"]) + short["left_out"]["rows"] == 1000
    assert short["rows"][0] == {"name": "row 0"}
    assert shortened({"rows": [0, False, None, "x"]}, most=2000) == {"rows": [0, False, None, "x"]}
    nested = {"plans": [{"steps": ["x" * 50] * 20, "name": number} for number in range(2)]}
    short = shortened(nested, most=1000)
    assert [one["name"] for one in short["plans"]] == [0, 1]
    assert short["left_out"]["plans.steps"] > 20


def conversation(target, *questions):
    """What a client hears: the tools, then the answer to each question."""

    async def held():
        async with Client(target) as client:
            listed = (await client.list_tools()).tools
            return listed, [await client.call_tool(name, said) for name, said in questions]

    return anyio.run(held)


@pytest.fixture(scope="module")
def heard(root):
    full = [(name, said | {"detail": "full"}) for name, said in SAME.values()]
    listed, answers = conversation(server(root), *full)
    return {tool.name: tool for tool in listed}, dict(zip(SAME, answers, strict=True))


@pytest.mark.parametrize("line", SAME)
def test_the_answer_is_line_1_and_the_json_of_the_command(line, heard, root):
    answer = heard[1][line]
    words = shlex.split(line.format(root=root))
    printed = json.loads(typed([*words, "--json"]).out)
    first = typed([*words, "--width", "400"]).out.splitlines()[0]
    assert not answer.is_error
    (page,) = (part.text for part in answer.content)
    assert page.replace("\\", "").startswith(f"# {first}")  # which a screen may wrap
    structured = answer.structured_content
    assert "left_out" not in structured
    assert timeless(structured) == timeless(shortened(tools.as_object(printed), most=10**9))


@pytest.mark.parametrize("line", SAME)
def test_question_and_answer_are_as_the_schemas_say(line, heard):
    tool, said = SAME[line]
    schema = heard[0][tool].input_schema
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(said)
    assert heard[0][tool].annotations.read_only_hint
    schema, answer = heard[0][tool].output_schema, heard[1][line].structured_content
    Draft202012Validator(schema).validate(answer)
    assert set(answer) <= {"rows", *schema["properties"]}
    assert "left_out" in schema["properties"]
    assert len(json.dumps(schema)) < 6000  # an agent reads every word of it


def test_the_schemas_are_those_of_the_options(heard):
    taken = {name: tool.input_schema["properties"] for name, tool in heard[0].items()}
    assert set(taken) == set(tools.TOOLS)
    assert taken["plan"]["mode"]["enum"][:2] == ["serve", "chat"]
    assert taken["plan"]["used"]["type"] == "boolean"
    assert taken["plan"]["concurrency"]["type"] == ["number", "string"]
    assert "users" not in taken["plan"]
    assert heard[0]["compare"].input_schema["required"] == ["things"]
    assert all(one["description"] for properties in taken.values() for one in properties.values())
    every = [one["description"] for properties in taken.values() for one in properties.values()]
    assert not [one for one in every if "--" in re.sub(r"`[^`]*`", "", one)]
    assert taken["plan"]["days"]["description"].endswith("a number is days")
    assert taken["plan"]["currency"]["type"] == "string"


def test_the_tools_fit_in_a_context_window(heard):
    for tool in heard[0].values():
        assert tool.title
        assert 100 < len(tool.description) < 1200
    read = [
        tool.model_dump(by_alias=True, exclude={"output_schema"}, exclude_none=True)
        for tool in heard[0].values()
    ]
    assert len(json.dumps(read)) < 36_000  # 9,000 tokens


@pytest.mark.parametrize("tool", tools.TOOLS)
def test_the_examples_that_an_agent_reads_are_answered(tool, root, heard):
    schema, row = heard[0][tool].input_schema, tools.about(tool)
    assert set(row.takes) <= set(schema["properties"])
    for said in row.examples:
        Draft202012Validator(schema).validate(said)
        assert set(said) <= set(schema["properties"])
        if tool not in {"fit", "validate"}:  # dear, and of a file of the asker's own
            assert not tools.call(tool, said, root=root).failed
        else:
            assert question.read(tool, named=said)


def test_names_that_others_use_are_understood_or_named(root):
    def first(tool, **said):
        told = tools.call(tool, said, root=root)
        return told.text.splitlines()[1 if told.failed else 0]

    assert first("plan", model="qwen3-8b", users=4, on="4090").startswith("# ")
    assert first("compare", things="4090, 5090", **{"for": "qwen3-8b"}).startswith("# ")
    assert re.search(r"[\u4e00-\u9fff]", first("look_up", kind="chips", words="4090", lang="zh-CN"))
    assert first("look_up", kind="gpu", words="4090").startswith("# ")
    assert first("plan", model="qwen3-8b", gpu="4090").endswith(" on?")
    assert first("explain", model="qwen3-8b", on="4090", quantization="int4").endswith(" weights?")
    assert '{"model": ' in first("explain")


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
WRONG = [  # tool, arguments, what the sentence names, and the hint
    ("plan", {"model": "qwen3-32b", "bugdet": 3}, '"bugdet"', "budget"),
    ("explain", {}, "model", '{"model": '),
    ("plan", {"model": "qwen3-32b", "mode": "foo"}, '"foo"', "serve"),
    ("explain", {"model": "qwen3-32b", "on": "rtx 9999"}, "9999", ""),
    ("nosuch", {}, '"nosuch"', "plan, explain"),
    ("probe", {"save": "x.json"}, '"save"', ""),
    ("build", {"from": "box.json"}, '"from"', ""),
    *(
        (tool, {name: text}, f'{name}: "{text}"', "qwen3-32b, 8x h100")
        for tool, name in NAMES
        for text in PATHS
    ),
    *(
        (tool, {name: [text] if name == "files" else text}, f'"{text}"', "")
        for tool, name in FILES
        for text in OUTSIDE[:-1]
    ),
    *((tool, {name: ["\0"] if name == "files" else "\0"}, "", "") for tool, name in FILES),
]


@pytest.fixture(scope="module")
def refused(root):
    return conversation(server(root), *((tool, said) for tool, said, *_ in WRONG))[1]


def test_errors_say_what_was_asked_and_what_is_possible(refused):
    for (tool, said, names, hint), answer in zip(WRONG, refused, strict=True):
        told = answer.content[0].text
        assert answer.is_error, (tool, said)
        first, *rest = told.splitlines()
        assert names in first, (tool, said)
        assert len(rest) < 2, (tool, said)
        assert hint in "".join(rest), (tool, said)
        assert answer.structured_content["error"]["kind"] == "ask", (tool, said)


def test_errors_are_told_in_the_language_of_the_question(root):
    told = tools.call("plan", {"model": "qwen3-32b", "mode": "foo", "lang": "zh"}, root=root)
    assert told.text.startswith("错误：")
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
        ("look_up", {"kind": "chips", "words": ["4090"]}),
        ("explain", {"model": "qwen3/mine", "on": "4090"}),
        ("doctor", {"from": "box.json"}),
    )
    assert "4090" in found.content[0].text
    assert local.is_error
    assert '"qwen3/mine"' in local.content[0].text
    assert local.structured_content["error"]["kind"] in {"ask", "missing"}
    assert not saved.is_error


def test_over_http_on_loopback_alone(root):
    port = free_port()
    with Program("mcp", "--http", port, env=folder_env(root.parent), cwd=root) as running:
        until(lambda: answers(port) or running.poll() is not None, what="a server")
        asked = ("look_up", {"kind": "chips", "words": ["4090"]})
        listed, (answer,) = conversation(f"http://127.0.0.1:{port}/mcp", asked)
        assert "validate" not in {tool.name for tool in listed}
        assert not answer.is_error
        for wrong in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as rebound:
                heads = {"Content-Type": "application/json", "Accept": "application/json"} | wrong
                rebound.request("POST", "/mcp", body="{}", headers=heads)
                assert rebound.getresponse().status in {403, 421}


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def test_without_the_package_the_error_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("rigright.faces.agents.find_spec", lambda _: None)
    assert main(["mcp"]) == 4
    assert re.search(r"pip install '?mcp>=", capsys.readouterr().err)


def test_the_list_and_wrong_starts(capsys, tmp_path):
    assert main(["mcp", "--list", "--json"]) == 0
    assert "validate" not in json.loads(capsys.readouterr().out)
    assert main(["mcp", "--list", "--lang", "zh"]) == 0
    assert "个工具" in capsys.readouterr().out
    assert main(["mcp", "--root", str(tmp_path / "nosuch")]) == 4
    assert main(["mcp", "--http", "0"]) == 2
