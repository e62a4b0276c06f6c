"""What starts a plan holds every choice of it, in flags the program has, whatever its model is called."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest
import yaml

from launch_plans import HOSTILE, drawn
from rigright.base.errors import AskError
from rigright.facts.launching import flags, programs
from rigright.verbs.export import launch_files
from rigright.verbs.launch import read_plan

SERVERS = [name for name, one in programs().items() if one.kind == "serve"]
COUNT = 300


def argv_of(script):
    """The command of a script, as a shell splits it."""
    lines = [line for line in script.split("\n") if not line.startswith(("#", "export ", "set "))]
    words = shlex.split("\n".join(lines).replace("\\\n", " "))
    assert words[0] == "exec"
    assert words[-1] == "$@"
    return words[1:-1]


def checked(argv, table):
    """Each flag of a command is one of the table, and takes what it is given."""
    found = {}
    place = 0
    while place < len(argv):
        word = argv[place]
        value = None
        if word.endswith(".py"):
            break  # what follows is the script's own
        if word.startswith("--"):
            assert word in table, word
            if table[word].takes != "0" and place + 1 < len(argv):
                place, value = place + 1, argv[place + 1]
            assert table[word].accepts(value), (word, value, table[word])
            found[word] = value
        place += 1
    return found


@pytest.mark.parametrize("target", [name for name in programs() if flags(name)])
def test_every_flag_of_300_plans_is_one_that_the_program_has(target):
    table = flags(target)
    assert {one.version for one in table.values()} == {programs()[target].version}
    script = "serve.sh" if target in SERVERS else "train.sh"
    for data in drawn(target, COUNT):
        for name, text in launch_files(target, data).items():
            if name == script:
                checked(argv_of(text), table)
            elif name.endswith(".json"):
                json.loads(text)
            elif name.endswith(".yaml"):
                yaml.safe_load(text)


@pytest.mark.parametrize("target", [name for name in SERVERS if flags(name)])
def test_every_choice_of_a_plan_stands_in_the_command(target):
    words = {
        "vllm": {
            "tp": "--tensor-parallel-size",
            "pp": "--pipeline-parallel-size",
            "context_tok": "--max-model-len",
        },
        "sglang": {"tp": "--tp-size", "pp": "--pp-size", "context_tok": "--context-length"},
        "llama.cpp": {},
    }[target]
    for data in drawn(target, 40):
        one = data["plans"][0]
        files = launch_files(target, data)
        found = checked(argv_of(files["serve.sh"]), flags(target))
        for name, flag in words.items():
            told = {**one["layout"], **one["work"]}[name]
            assert found[flag] == str(told), (name, flag)
        assert programs()[target].kv[one["work"]["kv"]] in found.values()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("target", ["vllm", "sglang"])
def test_a_shell_hands_a_hostile_name_over_as_it_is(target, name, tmp_path):
    data = drawn(target, 1)[0] | {"model_asked": name, "model": "Qwen/Qwen3-8B"}
    text = launch_files(target, data)["serve.sh"]
    for program in ("vllm", "python3"):
        fake = tmp_path / program
        fake.write_text('#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word"; done\n')
        fake.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "-c", text], capture_output=True, text=True, check=True, env={"PATH": f"{tmp_path}"}
    )
    assert done.stdout.splitlines() == argv_of(text)[1:]
    assert name in done.stdout.splitlines()


@pytest.mark.parametrize("name", ["a\nb", "--trust-remote-code", "x\x00y", "a\u2028b"])
def test_a_name_that_no_command_can_hold_is_refused(name):
    data = drawn("vllm", 1)[0] | {"model_asked": name}
    with pytest.raises(AskError):
        launch_files("vllm", data)


def test_a_plan_is_not_started_with_another_engine():
    with pytest.raises(AskError, match="runs with vllm, not with sglang"):
        launch_files("sglang", drawn("vllm", 1)[0])


def test_a_file_that_is_no_plan_is_one_sentence(tmp_path):
    (tmp_path / "x.json").write_text('{"plans": 3}')
    with pytest.raises(AskError, match="holds no plan"):
        read_plan(str(tmp_path / "x.json"))


@pytest.mark.parametrize("broken", [{"work": {}}, {"layout": {}}, {"n_nodes": 0}, {"chip": 3, "machine": 3}])
def test_a_broken_plan_is_one_sentence(broken):
    data = drawn("vllm", 1)[0]
    data["plans"][0] |= broken
    with pytest.raises(AskError):
        launch_files("vllm", data)
