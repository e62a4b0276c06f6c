"""The loop on a CPU: plan, export, the real llama-server, a client, and `validate` of what it measured."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from hypothesis import settings

from launch_plans import argv_of, drawn
from ports import free_ports
from rigright.options.read import read_wish
from rigright.report.pages import validate as pages
from rigright.report.pages.plan import plain
from rigright.verbs.bench.verb import BenchWish, Keep, bench
from rigright.verbs.export import launch_files, write
from rigright.verbs.plan import plan
from rigright.verbs.runs.columns import setup_of
from rigright.verbs.validate.verb import validate
from tiny_llama import tiny

LLAMA_SERVER = Path(__file__).parent.parent / "llama-server"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rigright-engines"
COUNT = 4 * settings.default.max_examples
SAID = {"on": "rtx 3090", "engine": "llama.cpp", "weights": "gguf:F16", "users": "2",
        "prompt": "64", "output": "16", "context": "1024"}  # fmt: skip

pytest.importorskip("xllamacpp", reason="llama.cpp's own server comes as a package for Linux on x86-64 alone")


@pytest.fixture
def loop(tmp_path):
    """A folder with a plan, what was exported of it, and the program that it starts."""
    (tmp_path / "tiny").mkdir()
    gguf = tiny(tmp_path / "tiny")
    data = plain(plan(str(tmp_path / "tiny"), wish=read_wish(SAID)), "en")
    (tmp_path / "plan.json").write_text(json.dumps(data, default=str))
    write(launch_files("llama.cpp", data, checkpoint=str(gguf)), str(tmp_path / "launch"))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "llama-server"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{LLAMA_SERVER}" "$@"\n')
    program.chmod(0o755)
    return tmp_path


@contextlib.contextmanager
def started(loop):
    """The exported server, on a port that is free, until it is ended by its process id; its port."""
    folder, (port,) = loop / "launch", free_ports(1)
    env = {**os.environ, "PATH": f"{loop / 'bin'}:{os.environ['PATH']}"}
    log = folder / "server.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            # one thread: two wait for each other in a loop, for seconds where others have the processor
            ["sh", "serve.sh", "--port", str(port), "--threads", "1"],
            cwd=folder,
            env=env,
            stdout=out,
            stderr=out,
        )
    try:
        for _ in range(300):
            assert server.poll() is None, log.read_text()[-3000:]
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as answer,
            ):
                assert answer.status == 200
                break
            time.sleep(0.2)
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


def scores_of(file, loop):
    """What `validate` says of a client's file, by figure."""
    result = validate([str(file)], setup=setup_of("validate", {"plan": str(loop / "plan.json")}))
    return {one["name"]: one for one in pages.plain(result, "en")["scores"] if one["of"] == "group"}


@pytest.mark.live
def test_plan_export_server_our_own_client_validate(loop):
    with started(loop) as port:
        made = bench(
            "endpoint",
            wish=BenchWish(endpoint=f"http://127.0.0.1:{port}/v1"),
            plan=str(loop / "plan.json"),
            keep=Keep(rows=str(loop / "runs"), history=False),
        )
    assert not made.skipped
    assert {one.basis for one in made.results} == {"planned"}
    settings = dict(made.results[0].result.settings)
    assert (settings["engine"], settings["load"], settings["requests"]) == ("llama.cpp", "2", "100")
    assert 60 < int(settings["prompt_tok"]) < 80  # the 64 that were planned, in this model's own tokens
    assert settings["output_tok"] == "16"
    (file,) = made.rows
    rows = list(csv.DictReader(Path(file).read_text().splitlines()))
    assert {(row["chip"], row["weights"], row["arch"]) for row in rows} == {
        ("rtx-3090", "gguf:F16", str(loop / "tiny"))
    }
    scores = scores_of(file, loop)
    assert {"ttft_ms", "tpot_ms", "output_tok_s_total"} == set(scores)
    assert all(one["answered"] == 1 for one in scores.values())


@pytest.mark.skipif(not os.environ.get("RIGRIGHT_ENGINES"), reason="`make test-engines` runs these")
def test_plan_export_server_vllm_client_validate(loop):
    client = next(CACHE.glob("vllm-*/bin/vllm"), None)
    assert client is not None, "scripts/engines vllm"
    with started(loop) as port:
        env = {**os.environ, "PATH": f"{client.parent}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(
            ["sh", "bench.sh", "--base-url", f"http://127.0.0.1:{port}",
             "--num-prompts", "8", "--save-detailed"],
            cwd=loop / "launch", env=env, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    found = json.loads((loop / "launch" / "bench.json").read_text())
    assert found["completed"] == 8, found["errors"]
    assert found["total_output_tokens"] == 8 * 16
    scores = scores_of(loop / "launch" / "bench.json", loop)
    assert {"ttft_ms", "tpot_ms", "output_tok_s_total"} <= set(scores)
    assert all(one["answered"] == 1 for one in scores.values())


def test_llama_cpps_own_parser_accepts_every_command():
    commands = [
        argv_of(text)[1:]
        for data in drawn("llama.cpp", COUNT)
        for name, text in launch_files("llama.cpp", data).items()
        if name.startswith("serve")
    ]
    wrong = [*commands[0], "--no-such-flag"]
    asked = "".join(json.dumps(one) + "\n" for one in [*commands, wrong])
    done = subprocess.run(
        [sys.executable, LLAMA_SERVER, "--parse-only"],
        input=asked, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    *said, refused = [line for line in done.stdout.splitlines() if line.startswith("CASE ")]
    assert len(said) == len(commands) >= COUNT
    assert refused == "CASE refused"
    assert set(said) == {"CASE ok"}, next(
        command for word, command in zip(said, commands, strict=True) if word != "CASE ok"
    )
