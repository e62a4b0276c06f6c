"""What starts a plan holds every choice of it, in flags the program has, whatever its model is called."""

from __future__ import annotations

import copy
import io
import json
import re
import shlex
import subprocess
import time
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import yaml
from hypothesis import settings

from launch_plans import HOSTILE, argv_of, base, drawn
from rigright.base.errors import AskError, RigError
from rigright.export.commands import command_of
from rigright.export.text import flat
from rigright.faces.cli.main import main
from rigright.facts.launching import flags, programs
from rigright.verbs.export import launch_files
from rigright.verbs.launch import launch_of, read_plan
from rigright.verbs.launch_check import compare_flags, running_words
from spoken import shown, values

SERVERS = [name for name, one in programs().items() if one.kind == "serve"]
COUNT = 4 * settings.default.max_examples  # plans a target: 60, and 400 in make test-live
CONFIGURED = {"axolotl", "llama-factory", "transformers"}  # by a file, whose keys their tables hold


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


FLAGGED = [name for name, one in programs().items() if flags(name) and not one.works]


@pytest.mark.parametrize("target", FLAGGED)
def test_every_flag_of_many_plans_is_one_that_the_program_has(target):
    table = flags(target)
    assert {one.version for one in table.values()} == {programs()[target].version}
    script = "serve.sh" if target in SERVERS else "train.sh"
    for data in drawn(target, COUNT):
        for name, text in launch_files(target, data).items():
            if (
                target not in CONFIGURED
                and name.endswith(".sh")
                and name.startswith(script.removesuffix(".sh"))
            ):
                words = argv_of(text)
                if words[0] == "torchrun" and target != "torchrun":
                    place = next(at for at, word in enumerate(words) if word.endswith(".py"))
                    checked(words[:place], flags("torchrun"))
                    words = words[place + 1 :] if target == "megatron" else []
                checked(words, table)
            elif name.endswith((".json", ".yaml")):
                told = yaml.safe_load(text)
                if target in CONFIGURED and name not in {"adapter_config.json", "ds_config.json"}:
                    assert {f"--{key}" for key in told} <= set(table)


@pytest.mark.parametrize("target", [name for name in SERVERS if flags(name)])
def test_every_choice_of_a_plan_stands_in_the_command(target):
    words = {
        "vllm": {
            "tp": "--tensor-parallel-size",
            "pp": "--pipeline-parallel-size",
            "context_tok": "--max-model-len",
        },
        "sglang": {"tp": "--tp-size", "pp": "--pp-size", "context_tok": "--context-length"},
        "tensorrt-llm": {"tp": "--tp_size", "pp": "--pp_size", "context_tok": "--max_seq_len"},
        "llama.cpp": {},
    }[target]
    for data in drawn(target, COUNT // 2):
        one = data["plans"][0]
        files = launch_files(target, data)
        found = checked(argv_of(files.get("serve.sh") or files["serve-0.sh"]), flags(target))
        for name, flag in words.items():
            told = {**one["layout"], **one["work"]}[name]
            assert found[flag] == str(told), (name, flag)
        kv = programs()[target].kv[one["work"]["kv"]]
        if target == "tensorrt-llm":  # reads it from a file, whose keys are those of TorchLlmArgs
            read = yaml.safe_load(files["llm_api_options.yaml"])
            drafts = {"speculative_config"} if one["drafts"]["drafted_tok"] else set()
            own = {"dtype", "kv_cache_config", "enable_attention_dp", "cuda_graph_config"}
            assert set(read) == own | drafts
            assert set(read["kv_cache_config"]) == {"dtype", "free_gpu_memory_fraction"}
            assert read["kv_cache_config"]["dtype"] == kv
        else:
            assert kv in found.values()


CUTS = [  # tp, pp, dp, ep, attention_dp: of eight GPUs
    (8, 1, 1, 1, False), (8, 1, 1, 8, False), (8, 1, 1, 8, True), (4, 1, 2, 1, False), (4, 1, 2, 4, False),
    (4, 1, 2, 4, True), (2, 2, 2, 2, False), (1, 1, 8, 1, False),
]  # fmt: skip
RANKS = {  # the flags of a program: tensor and pipeline ranks, its own replicas, experts
    "vllm": ("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size"),
    "sglang": ("--tp-size", "--pp-size", "--dp-size"),
    "tensorrt-llm": ("--tp_size", "--pp_size", None),
}


@pytest.fixture(scope="module")
def planned():
    """A plan of a model with experts, and one without, by the target."""
    made = {}
    for target in RANKS:
        for model in ("Qwen/Qwen3-30B-A3B", "qwen3-32b"):
            words = ["plan", model, "--on", "8x h100", "--engine", target, "--concurrency", "512", "--json"]
            with redirect_stdout(io.StringIO()) as said:
                assert main(words) == 0
            made[target, model] = json.loads(said.getvalue())
    return made


@pytest.mark.parametrize("target", RANKS)
@pytest.mark.parametrize("model", ["Qwen/Qwen3-30B-A3B", "qwen3-32b"])
def test_the_servers_together_are_the_layout_of_the_plan(target, model, planned):
    tensor, pipeline, data_flag = RANKS[target]
    for tp, pp, dp, ep, spread in CUTS:
        routed = model.endswith("A3B")
        if ep > 1 and not routed:
            continue
        data = copy.deepcopy(planned[target, model])
        plan = data["plans"][0]
        layout = {"tp": tp, "pp": pp, "dp": dp, "ep": ep, "attention_dp": spread}
        plan["layout"] |= layout
        plan["work"] |= {"batch": 512, "budget_tok": 4096}
        launch = launch_of(data, target=target)
        found = [checked(argv_of_words(command_of(one)), flags(target)) for one in launch.servers]
        own = [int(one.get(data_flag) or 1) for one in found]
        wide = 1 if target == "sglang" and spread else own[0]  # its attention ranks are its tensor ranks
        gpus = [int(one[tensor]) * int(one[pipeline]) * wide for one in found]
        assert sum(gpus) == 8, layout
        assert [one.first_gpu for one in launch.servers] == [8 // len(found) * at for at in range(len(found))]
        if target == "vllm":  # its replicas share one set of experts
            assert routed <= (len(found) == dp), layout
            assert {("--enable-expert-parallel" in one) for one in found} == {ep > 1}
            assert set(own) == {tp if spread else dp if not routed else 1}, layout
            assert {int(one["--max-num-seqs"]) >= 512 // (dp * (tp if spread else 1)) for one in found} == {
                True
            }
        if target == "sglang":  # told of all ranks
            ranks = tp if spread else 1
            assert {("--enable-dp-attention" in one) for one in found} == {spread}
            assert {one["--ep-size"] for one in found} == {str(ep)}
            assert {one["--chunked-prefill-size"] for one in found} == {str(4096 * ranks)}
            assert {int(one["--max-running-requests"]) % ranks for one in found} == {0}
        if target == "tensorrt-llm":
            options = yaml.safe_load(launch_files(target, data)["llm_api_options.yaml"])
            assert options["enable_attention_dp"] is spread


def argv_of_words(words):
    """A command as a program hears it."""
    return [str(word) for group in words for word in group]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("target", ["vllm", "sglang"])
def test_a_shell_hands_a_hostile_name_over_as_it_is(target, name, tmp_path):
    text = launch_files(target, base(target), checkpoint=name)["serve.sh"]
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
    with pytest.raises(AskError):
        launch_files("vllm", base("vllm"), checkpoint=name)


def test_a_loose_name_is_loaded_by_its_id_and_what_has_a_place_as_it_was_typed(tmp_path):
    for typed, loaded in (
        ("qwen3 8b", "Qwen/Qwen3-8B"),
        ("Qwen/Qwen3-8B-AWQ", "Qwen/Qwen3-8B-AWQ"),
        (str(tmp_path), str(tmp_path)),
    ):
        argv = argv_of(launch_files("vllm", base("vllm") | {"model_asked": typed})["serve.sh"])
        assert argv[2] == loaded


def test_a_plan_is_not_started_with_another_engine():
    with pytest.raises(AskError, match="vllm, not sglang"):
        launch_files("sglang", drawn("vllm", 1)[0])


@pytest.mark.parametrize(
    ("target", "program", "mode"),
    [("axolotl", "vllm", "--mode finetune --trainer"), ("vllm", "hf", "--mode serve --engine")],
)
def test_a_plan_of_the_other_kind_is_refused_with_what_fits_it(target, program, mode):
    with pytest.raises(AskError, match=f"^{target} ") as refused:
        launch_files(target, base(program))
    hint = values(refused.value.hint)
    assert all(launch_files(one, base(program)) for one in hint["fitting"].split(", "))
    assert (hint["flag"], hint["asked"]) == (mode, programs()[target].runs[0])


def test_what_watches_takes_no_plan(tmp_path, capsys):
    assert main(["export", "prometheus", "--from", str(tmp_path / "plan.json")]) != 0
    said = capsys.readouterr().err
    assert re.match(r"\w+: prometheus ", said)
    assert "plan.json" not in said, "it is refused before the file is looked for"


def test_a_file_that_is_no_plan_is_one_sentence(tmp_path):
    (tmp_path / "x.json").write_text('{"plans": 3}')
    with pytest.raises(AskError, match=re.escape(str(tmp_path / "x.json"))):
        read_plan(str(tmp_path / "x.json"))


@pytest.mark.parametrize("broken", [{"work": {}}, {"layout": {}}, {"n_nodes": 0}, {"chip": 3, "machine": 3}])
def test_a_broken_plan_is_one_sentence(broken):
    data = drawn("vllm", 1)[0]
    data["plans"][0] |= broken
    with pytest.raises(AskError):
        launch_files("vllm", data)


WRAPPERS = {
    "kubernetes": (
        "vllm",
        lambda files: yaml.safe_load(files["deployment.yaml"])["spec"]["template"]["spec"],
    ),
    "kserve": ("sglang", lambda files: yaml.safe_load(files["inferenceservice.yaml"])["spec"]["predictor"]),
}


def inside(name):
    """A name in a container: weights that are a file or a folder lie under /models there."""
    local = name.startswith(("/", "~")) or name.endswith(".gguf")
    return f"/models/{name.rpartition('/')[2]}" if local else name


@pytest.mark.parametrize("name", HOSTILE)
def test_names_come_through_every_wrapper_as_they_are(name):
    for target, (engine, pod_of) in WRAPPERS.items():
        container = pod_of(launch_files(target, base(engine), checkpoint=name))["containers"][0]
        assert inside(name) in [word.replace("$$(", "$(") for word in container["args"]]
        assert container["readinessProbe"]["httpGet"]["path"] == "/health"
    files = launch_files("compose", base("vllm"), checkpoint=name)
    service = yaml.safe_load(files["compose.yaml"])["services"]["qwen3-8b"]
    assert inside(name) in [word.replace("$$", "$") for word in service["command"]]
    assert service["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"] == ["0", "1"]
    files = launch_files("ray", base("vllm"), checkpoint=name)
    ray = yaml.safe_load(files["serve.yaml"])["applications"][0]["args"]["llm_configs"][0]
    assert ray["model_loading_config"]["model_source"] == name
    assert {f"--{key.replace('_', '-')}" for key in ray["engine_kwargs"]} <= set(flags("vllm"))
    job = launch_files("slurm", base("vllm"), checkpoint=name)["job.sbatch"]
    inner = next(line for line in shlex.split(job.split("set -euo")[1]) if "exec" in line)
    assert name in shlex.split(inner.replace("\\\n", " "))
    for target in ("axolotl", "llama-factory", "transformers"):
        text = "".join(launch_files(target, base("hf"), checkpoint=name).values())
        assert name in text or json.dumps(name, ensure_ascii=False) in text


@pytest.mark.parametrize("name", HOSTILE)
def test_systemd_hands_a_name_over_as_it_is(name):
    unit = launch_files("systemd", base("vllm"), checkpoint=name)["qwen3-8b.service"]
    line = unit.split("ExecStart=")[1].split("\nRestart")[0].replace(" \\\n  ", "\0")
    words = [one[1:-1] for one in line.split("\0")]
    plain = [re.sub(r"\\(.)", r"\1", one).replace("%%", "%").replace("$$", "$") for one in words]
    assert name in plain


def test_replicas_of_a_program_without_any_have_gpus_and_ports_of_their_own():
    data = copy.deepcopy(base("llama.cpp"))
    data["plans"][0] |= {"n_chips": 4, "n_nodes": 1}
    data["plans"][0]["layout"] |= {"pp": 2, "dp": 2}
    files = launch_files("llama.cpp", data)
    assert "CUDA_VISIBLE_DEVICES=0,1" in files["serve-0.sh"]
    assert "CUDA_VISIBLE_DEVICES=2,3" in files["serve-1.sh"]
    assert files["nginx.conf"].count("    server 127.0.0.1:") == 2
    job = launch_files("slurm", data)["job.sbatch"]
    assert "#SBATCH --array=0-1" in job
    assert job.count("srun --kill") == 2


def test_a_training_on_slurm_is_requeued_with_one_task_a_node():
    data = copy.deepcopy(base("hf"))
    data["plans"][0] |= {"n_chips": 16, "n_nodes": 2}
    data["plans"][0]["layout"] |= {"dp": 16}
    job = launch_files("slurm", data)["job.sbatch"]
    for line in ("--nodes=2", "--ntasks-per-node=1", "--gpus-per-node=8", "--requeue", "--signal=B:USR1@360"):
        assert f"#SBATCH {line}\n" in job
    assert subprocess.run(["bash", "-n"], input=job, text=True, check=False).returncode == 0


def test_several_nodes_are_refused_where_one_is_started():
    data = copy.deepcopy(base("vllm"))
    data["plans"][0] |= {"n_chips": 16, "n_nodes": 2}
    for target in ("compose", "systemd", "kserve"):
        with pytest.raises(AskError) as refused:
            launch_files(target, data)
        assert target in shown(refused.value.sentence), shown(refused.value.sentence)


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_several_nodes_are_a_group_of_pods_that_know_their_leader(engine):
    data = copy.deepcopy(base(engine))
    data["plans"][0] |= {"n_chips": 16, "n_nodes": 2}
    files = launch_files("kubernetes", data)
    group = yaml.safe_load(files["leaderworkerset.yaml"])
    template = group["spec"]["leaderWorkerTemplate"]
    leader, worker = (template[one]["spec"]["containers"][0] for one in ("leaderTemplate", "workerTemplate"))
    assert template["size"] == 2
    for one in (leader, worker):
        assert one["args"][one["args"].index("--node-rank") + 1] == "$(LWS_WORKER_INDEX)"
        assert "LWS_LEADER_ADDRESS" in " ".join(one["args"])
        assert one["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    assert ("--headless" in worker["args"]) == (engine == "vllm")
    assert "--headless" not in leader["args"]
    assert leader["startupProbe"]
    assert not {"startupProbe", "livenessProbe", "readinessProbe"} & set(worker)
    selector = yaml.safe_load(files["service.yaml"])["spec"]["selector"]
    labels = template["leaderTemplate"]["metadata"]["labels"]
    assert {**labels, "leaderworkerset.sigs.k8s.io/worker-index": "0"} == selector


def test_every_image_is_pinned_to_a_version():
    for one in programs().values():
        for image in one.images.values():
            assert re.search(r":[^/]*\d", image), image


def test_cards_without_an_image_are_refused_with_what_starts_without_one():
    data = copy.deepcopy(base("sglang"))
    data["plans"][0] |= {"chip": "mi300x", "machine": "8x MI300X"}
    for target in ("kubernetes", "kserve", "compose"):
        with pytest.raises(AskError, match="SGLang on AMD"):
            launch_files(target, data)


@pytest.mark.parametrize("target", ["compose", "kubernetes"])
def test_what_a_command_reads_is_in_its_container(target):
    files = launch_files(target, base("tensorrt-llm"))
    text = files["compose.yaml" if target == "compose" else "deployment.yaml"]
    assert "/config/llm_api_options.yaml" in text
    if target == "kubernetes":
        (name,) = yaml.safe_load(files["files.yaml"])["data"]
        assert name == "llm_api_options.yaml"
    else:
        assert "./llm_api_options.yaml" in text
    services = yaml.safe_load(launch_files("compose", base("ollama"))["compose.yaml"])["services"]
    service = next(iter(services.values()))
    assert service["environment"]["OLLAMA_NUM_PARALLEL"]
    assert service["environment"]["OLLAMA_HOST"] == "0.0.0.0:11434"


@pytest.mark.parametrize("engine", ["ollama", "tensorrt-llm"])
def test_replicas_of_every_program_that_runs_none_by_itself_are_started(engine):
    data = copy.deepcopy(base(engine))
    data["plans"][0] |= {"n_chips": 2, "n_nodes": 1}
    data["plans"][0]["layout"] |= {"tp": 1, "pp": 1, "dp": 2}
    files = launch_files(engine, data)
    assert "CUDA_VISIBLE_DEVICES=1" in files["serve-1.sh"]
    assert "nginx.conf" in files
    services = yaml.safe_load(launch_files("compose", data)["compose.yaml"])["services"]
    assert set(services) == {"qwen3-8b-0", "qwen3-8b-1", "balancer"}


def test_a_server_of_other_weights_is_told_by_what_it_runs_and_a_guessed_file_is_not_held_against_it(
    tmp_path,
):
    launch = launch_of(base("vllm"), "vllm")
    words = flat(command_of(launch))
    other = compare_flags(launch, ["vllm", "serve", "other/model", *words[3:]])
    assert {one.flag: one.running for one in other if not one.kept} == {"model": "other/model"}
    hub = launch_of(base("llama.cpp"), "llama.cpp")
    command = flat(command_of(hub))
    assert all(one.kept for one in compare_flags(hub, command))
    local = compare_flags(hub, [command[0], "-m", "any.gguf", *command[3:]])
    assert "model" not in {one.flag for one in local}
    said = ["export", "llama.cpp", "Qwen/Qwen3-8B", "--on", "3090", "--checkpoint", "mine.gguf"]
    assert main([*said, "--out", str(tmp_path / "launch")]) == 0
    assert "needs a checkpoint" not in (tmp_path / "launch" / "serve.sh").read_text()
    named = launch_of(read_plan(str(tmp_path / "launch" / "plan.json")), "llama.cpp")
    other = compare_flags(named, ["llama-server", "-m", "theirs.gguf", *flat(command_of(named))[3:]])
    assert [(one.planned, one.running) for one in other if not one.kept] == [("mine.gguf", "theirs.gguf")]


def test_a_launch_brings_its_plan_and_says_what_reads_it(tmp_path, capsys):
    said = ["export", "vllm", "Qwen/Qwen3-8B", "--on", "2x4090", "--out", str(tmp_path / "launch")]
    assert main(said) == 0
    capsys.readouterr()
    bench = (tmp_path / "launch" / "bench.sh").read_text()
    assert "rigright validate bench.json --plan plan.json" in bench
    again = ["export", "vllm", "--from", str(tmp_path / "launch" / "plan.json")]
    assert main(again) == 0
    assert (tmp_path / "launch" / "serve.sh").read_text() in capsys.readouterr().out


def test_a_server_is_held_against_its_plan_under_every_name_of_a_flag():
    launch = launch_of(base("vllm"), "vllm")
    plan = shlex.join(flat(command_of(launch)))
    assert all(one.kept for one in compare_flags(launch, running_words(plan)))
    other = plan.replace("--tensor-parallel-size 2", "-tp 1").replace(
        "--max-model-len 8192", "--max_model_len=4096"
    )
    wrong = {one.flag: one.running for one in compare_flags(launch, running_words(other)) if not one.kept}
    assert wrong == {"--tensor-parallel-size": "1", "--max-model-len": "4096"}
    bare = {one.flag for one in compare_flags(launch, running_words("vllm serve other")) if not one.kept}
    assert {"model", "--gpu-memory-utilization", "--tensor-parallel-size"} <= bare
    assert "--pipeline-parallel-size" not in bare  # one stage is what it has by itself


def test_the_command_of_a_process_is_read():
    with subprocess.Popen(["sleep", "9"]) as process:
        until = time.monotonic() + 20
        while not Path(f"/proc/{process.pid}/cmdline").read_bytes() and time.monotonic() < until:
            time.sleep(0.01)  # between its start and its program it has no words
        assert running_words(str(process.pid)) == ["sleep", "9"]
        process.kill()
    with pytest.raises(RigError, match="999999999"):
        running_words("999999999")
