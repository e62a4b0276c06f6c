"""Workers of prompts and workers of tokens: each is started as it was planned, and meets the others."""

from __future__ import annotations

import copy
import json
import shlex
from functools import cache
from itertools import chain

import pytest

from launch_plans import argv_of
from rigright.base.errors import AskError
from rigright.export.commands import command_of
from rigright.export.text import flat
from rigright.facts.launching import flags, programs
from rigright.options.read import read_wish
from rigright.report.pages.plan import plain
from rigright.verbs.export import every_launch, launch_files
from rigright.verbs.launch import launch_of
from rigright.verbs.launch_check import compare_flags, running_words
from rigright.verbs.plan import plan

TIGHT = {
    "on": "8x h100", "prompt": "2048", "output": "512", "ttft": "2s", "tpot": "15.5ms", "concurrency": "64",
}  # fmt: skip
POOLS = [  # tp, dp, attention data parallel: of prompts, and of tokens
    ((2, 2, False), (4, 1, False)), ((1, 4, False), (4, 1, False)), ((2, 1, False), (2, 3, False)),
    ((4, 1, True), (4, 1, True)), ((1, 2, False), (2, 3, True)),
]  # fmt: skip
CUTS = {"vllm": "--tensor-parallel-size", "sglang": "--tp-size"}


@cache
def _planned():
    return plain(plan("llama-3.1-70b", wish=read_wish(TIGHT)), "en")


def apart(target, prompts, tokens, *, nodes=1):
    """A real plan of workers apart, of such pools."""
    data = copy.deepcopy(_planned())
    one = data["plans"][0]
    assert one["prefill"]
    one["work"]["engine"] = target
    for group, (tp, dp, spread) in (("prefill", prompts), ("layout", tokens)):
        one[group] |= {"tp": tp, "pp": 1, "dp": dp, "ep": 1, "cp": 1, "attention_dp": spread}
    one["n_chips"] = sum(tp * dp for tp, dp, _ in (prompts, tokens))
    one["n_nodes"] = nodes
    return data | {"plans": [one]}


def exported(script):
    """The variables that a script sets."""
    lines = (line.split()[1] for line in script.splitlines() if line.startswith("export "))
    return dict(line.split("=", 1) for line in lines)


def checked(words, table):
    """A flag's values, each of which it takes."""
    found = {}
    starts = [place for place, word in enumerate(words) if word.startswith("--")]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
        values = words[start + 1 : end]
        one = table[words[start]]
        assert one.accepts(values[0] if values else None), words[start:end]
        assert len(values) <= 1 or one.takes == "+"
        found.setdefault(words[start], []).append(values)
    return found


@pytest.mark.parametrize("target", CUTS)
@pytest.mark.parametrize(("prompts", "tokens"), POOLS)
def test_each_worker_is_started_as_it_was_planned(target, prompts, tokens):
    files = launch_files(target, apart(target, prompts, tokens))
    workers = {name: text for name, text in files.items() if name.startswith("serve-")}
    assert [name.split("-")[1] for name in workers] == ["prefill"] * prompts[1] + ["decode"] * tokens[1]
    cards, ports, met = [], [], []
    for name, text in workers.items():
        tp, _, spread = prompts if "prefill" in name else tokens
        own = checked(argv_of(text), flags(target))
        wide = own[CUTS[target]][0][0]
        assert wide == ("1" if spread and target == "vllm" else str(tp))
        mine = exported(text)["CUDA_VISIBLE_DEVICES"].split(",")
        assert len(mine) == tp
        cards += mine
        ports.append(own["--port"][0][0])
        if target == "vllm":
            handed = json.loads(own["--kv-transfer-config"][0][0])
            role = {"prefill": "kv_producer", "decode": "kv_consumer"}[name.split("-")[1]]
            assert handed == {"kv_connector": "NixlConnector", "kv_role": role}
            first = int(exported(text)["VLLM_NIXL_SIDE_CHANNEL_PORT"])
            met += range(first, first + tp)  # each rank with sequences of its own counts up from it
        else:
            assert own["--disaggregation-mode"] == [[name.split("-")[1]]]
            assert own["--disaggregation-transfer-backend"] == [["nixl"]]
            met += chain.from_iterable(own.get("--disaggregation-bootstrap-port", []))
    assert sorted(map(int, cards)) == list(range(prompts[0] * prompts[1] + tokens[0] * tokens[1]))
    assert len({*ports}) == len(ports)
    assert len({*met}) == len(met) > 0


@pytest.mark.parametrize("target", CUTS)
def test_the_router_knows_every_worker_and_the_load_goes_to_it(target):
    files = launch_files(target, apart(target, (2, 2, False), (4, 1, False)))
    router = programs()[target].router
    words = argv_of(files["router.sh"])
    assert words[: len(router.command)] == [*router.command]
    assert f"{router.package}=={router.version}" in files["router.sh"]
    told = checked(words, flags(router.package))
    assert {one.version for one in flags(router.package).values()} == {router.version}
    for stage in ("prefill", "decode"):
        mine = [text for name, text in files.items() if name.startswith(f"serve-{stage}")]
        own = [checked(argv_of(text), flags(target)) for text in mine]
        assert [one[0] for one in told[f"--{stage}"]] == [
            f"http://127.0.0.1:{one['--port'][0][0]}" for one in own
        ]
        meets = [one.get("--disaggregation-bootstrap-port", [[]])[0] for one in own]
        assert [one[1:] for one in told[f"--{stage}"]] == meets
    port = told["--port"][0][0]
    assert f"http://127.0.0.1:{port}" in files["bench.sh"]
    assert port not in {argv_of(text)[argv_of(text).index("--port") + 1] for name, text in files.items()
                        if name.startswith("serve-")}  # fmt: skip


def test_whatever_starts_no_such_workers_refuses_the_plan_by_name():
    data = apart("vllm", (2, 2, False), (4, 1, False))
    found = every_launch(data, number=1)
    able = {name for name, files in found.items() if isinstance(files, dict)}
    assert able == {"vllm"}
    assert len(found) > 5
    for target in {*found} - able:
        with pytest.raises(AskError, match="prefill workers"):
            launch_files(target, data)
    for engine, nodes, chip in (
        ("tensorrt-llm", 1, "h100-sxm"),
        ("vllm", 2, "h100-sxm"),
        ("vllm", 1, "gaudi3"),
    ):
        told = apart(engine, (2, 2, False), (4, 1, False), nodes=nodes)
        told["plans"][0]["chip"] = chip if chip == "gaudi3" else told["plans"][0]["chip"]
        with pytest.raises(AskError, match="prefill workers"):
            launch_files(engine, told)


def test_a_worker_that_runs_is_held_against_those_of_its_kind():
    launch = launch_of(apart("vllm", (2, 2, False), (4, 1, False)), "vllm")
    for worker in launch.workers:
        words = running_words(shlex.join(flat(command_of(worker))))
        assert all(one.kept for one in compare_flags(launch, words))
        other = [word.replace("kv_", "no_") for word in words]
        assert {one.flag for one in compare_flags(launch, other) if not one.kept} == {"--kv-transfer-config"}
