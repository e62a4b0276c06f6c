"""A server that runs here, beside its plan; and a plan of a processor alone, all the way."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from launch_plans import base
from rigright.base.words import LANGUAGES, tell
from rigright.export.commands import command_of
from rigright.export.text import flat
from rigright.faces.cli.main import main
from rigright.facts.launching import flags, programs, switches
from rigright.options.read import read_wish
from rigright.report.pages import validate as pages
from rigright.report.pages.plan import plain
from rigright.verbs.doctor import doctor
from rigright.verbs.export import launch_files
from rigright.verbs.launch import launch_of
from rigright.verbs.launch_check import compare_flags, running_words
from rigright.verbs.plan import plan
from rigright.verbs.runs.columns import setup_of
from rigright.verbs.validate.verb import validate

SERVERS = ("vllm", "sglang", "llama.cpp")
BENCH = {
    "date": "20261101-120000", "backend": "openai", "model_id": "Qwen/Qwen3-0.6B",
    "tokenizer_id": "Qwen/Qwen3-0.6B", "num_prompts": 8, "max_concurrency": 1, "duration": 20.0,
    "completed": 8, "total_input_tokens": 8192, "total_output_tokens": 1024, "request_throughput": 0.4,
    "output_throughput": 51.2, "mean_ttft_ms": 500.0, "median_ttft_ms": 490.0, "p99_ttft_ms": 600.0,
    "mean_tpot_ms": 19.0, "median_tpot_ms": 19.0, "p99_tpot_ms": 22.0,
}  # fmt: skip


@contextlib.contextmanager
def running(folder, words):
    """A process with the command line of a server."""
    program = folder / "fake"
    program.write_text("read line\n")
    with subprocess.Popen(
        [words[0], program, *words[1:]], executable="/bin/sh", stdin=subprocess.PIPE
    ) as process:
        until = time.monotonic() + 20
        while bytes(program) not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
            assert time.monotonic() < until
            time.sleep(0.01)
        try:
            yield process.pid
        finally:
            process.kill()


def test_the_doctor_tells_which_flags_of_a_running_server_differ_and_what_each_costs(tmp_path):
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(base("llama.cpp"), default=str))
    planned = flat(command_of(launch_of(base("llama.cpp"), "llama.cpp")))
    slots = planned[planned.index("--parallel") + 1]
    other = [*planned, "-np", "99"]  # of a flag that is given twice the last one holds
    with running(tmp_path, ["llama-server", *other[1:]]) as pid:
        result = doctor(only=("server_flags",), plan=str(file))
        (found,) = (one for _, one in result.findings if one.about == f"pid {pid}")
        assert [re.findall(r"\d+", tell(found.title, code)) for code in LANGUAGES] == [["1"], ["1"]]
        (line,) = (str(one.shows) for one in found.evidence)
        assert re.match(rf"--parallel: \w+ {slots}, \w+ 99; ", line)
        assert "TTFT" in line
        export = shlex.split(found.fix[0].command)
        assert main(export[1:]) == 0
        assert main(shlex.split(found.verify)[1:]) == 1  # the flag is still another
    with running(tmp_path, ["llama-server", *planned[1:]]) as pid:
        result = doctor(only=("server_flags",), plan=str(file))
        assert f"pid {pid}" not in {one.about for _, one in result.findings}
        assert f"pid {pid}" in {one.about for checked in result.checks for one in checked.verdicts}


@pytest.mark.parametrize("target", SERVERS)
def test_every_flag_of_a_launch_has_a_cost_and_every_server_is_known_by_its_command(target):
    launch = launch_of(base(target), target)
    rows = compare_flags(launch, running_words(shlex.join(flat(command_of(launch)))))
    assert all(one.kept for one in rows)
    assert {one.flag for one in rows if replace(one, planned="8", running="9").costs is None} == set()
    assert programs()[target].process
    assert {flag for flag in switches() if flag in flags(target)} or target == "llama.cpp"


def test_a_switch_that_the_plan_does_not_have_is_told():
    launch = launch_of(base("vllm"), "vllm")
    words = shlex.join(flat(command_of(launch)))
    wrong = [
        one.flag for one in compare_flags(launch, running_words(f"{words} --enforce-eager")) if not one.kept
    ]
    assert wrong == ["--enforce-eager"]
    assert all(one.kept for one in compare_flags(launch, running_words(f"{words} --no-enforce-eager")))


def test_a_plan_of_a_processor_alone_is_launched_validated_and_examined(tmp_path):
    said = {"on": "ryzen 9950x", "engine": "llama.cpp"}
    data = plain(plan("Qwen/Qwen3-0.6B", wish=read_wish(said)), "en")
    file, measured = tmp_path / "plan.json", tmp_path / "bench.json"
    file.write_text(json.dumps(data, default=str))
    measured.write_text(json.dumps(BENCH))
    assert "--n-gpu-layers 0" in launch_files("llama.cpp", data)["serve.sh"]
    by_plan = validate([str(measured)], setup=setup_of("validate", {"plan": str(file)}))
    named = setup_of(
        "validate", said | {"model": data["model"], "weights": data["plans"][0]["work"]["weights"]}
    )
    by_name = validate([str(measured)], setup=named)
    scores = [pages.plain(one, "en")["scores"] for one in (by_plan, by_name)]
    assert scores[0] == scores[1]
    assert any(one["answered"] for one in scores[0])
    assert not doctor(only=("gpu_wanted",), plan=str(file)).findings
