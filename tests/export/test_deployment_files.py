"""Files that others start, read by those they are for: Kubernetes' schemas, Compose, systemd, nginx."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import PurePosixPath

import pytest
import yaml

import debian
from compose_program import compose_program
from launch_plans import HOSTILE, base, drawn
from rigright.base.errors import RigError
from rigright.facts.launching import programs
from rigright.verbs.export import launch_files

SERVERS = [name for name, one in programs().items() if one.kind == "serve"]
COUNT = 20  # of each program; `make test-engines` asks for more
GROUP = {  # of sigs.k8s.io/lws, api/leaderworkerset/v1: no package has its schema
    "replicas", "leaderWorkerTemplate", "rolloutStrategy", "startupPolicy", "networkConfig",
}  # fmt: skip
GROUPED = {
    "leaderTemplate", "workerTemplate", "size", "restartPolicy", "subGroupPolicy", "volumeClaimTemplates",
    "persistentVolumeClaimRetentionPolicy",
}  # fmt: skip


def exported(target, programs_=SERVERS, count=COUNT):
    """Each plan's files of a target, with the plan; those that are refused are left out."""
    for program in programs_:
        for data in drawn(program, count):
            try:
                yield data, launch_files(target, data)
            except RigError:
                continue


def documents(data):
    """What Kubernetes itself knows of a document: of a group of pods, the pods."""
    if data["kind"] != "LeaderWorkerSet":
        return [data]
    template = data["spec"]["leaderWorkerTemplate"]
    assert data["apiVersion"] == "leaderworkerset.x-k8s.io/v1"
    assert set(data["spec"]) <= GROUP
    assert set(template) <= GROUPED
    return [
        {"apiVersion": "v1", "kind": "PodTemplate", "metadata": data["metadata"], "template": template[name]}
        for name in ("leaderTemplate", "workerTemplate")
    ]


def test_kubernetes_own_schemas_take_every_file():
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    kinds = set()
    for _, files in exported("kubernetes", count=12):
        for name, text in files.items():
            for one in documents(yaml.safe_load(text)) if name.endswith(".yaml") else ():
                kinds.add(one["kind"])
                kubernetes_validate.validate(one, "1.35", strict=True)
    assert kinds == {"Deployment", "Service", "ConfigMap", "PodTemplate"}


# ollama/ollama, parser/parser.go: a command, and its words up to the end of the line, less quotes around them
PARAMETERS = {"num_ctx", "num_gpu", "num_batch"}  # of api.Options, each a whole number


def read_modelfile(text):
    """The commands of a Modelfile."""
    found = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        command, _, rest = line.partition(" ")
        assert command in {"FROM", "PARAMETER"}, line
        assert not rest.startswith('"'), line
        found.append((command, rest.strip()))
    return found


@pytest.mark.parametrize("name", [*HOSTILE, '"quoted".gguf', " x .gguf"])
def test_a_modelfile_is_read_back_as_it_was_planned(name):
    for data in [base("ollama"), *drawn("ollama", COUNT)]:
        weights = data["plans"][0]["work"]["weights"][5:]
        file = name if name.endswith(".gguf") else f"{PurePosixPath(name).name}-{weights}.gguf"
        first, *others = read_modelfile(launch_files("ollama", data, checkpoint=name)["Modelfile"])
        assert first == ("FROM", file if file.startswith("~") else f"./{file}")
        told = dict(one.split(" ") for command, one in others if command == "PARAMETER")
        assert set(told) <= PARAMETERS
        assert int(told["num_ctx"]) == data["plans"][0]["work"]["context_tok"]
        assert all(value.isdecimal() for value in told.values())


@pytest.mark.live
def test_compose_itself_reads_what_was_planned(tmp_path):
    program = compose_program()
    seen = 0
    for data, files in exported("compose"):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        done = subprocess.run(
            [program, "-f", tmp_path / "compose.yaml", "config", "--format", "json"],
            capture_output=True, text=True, timeout=60, check=False,
            env={"PATH": "/usr/bin:/bin", "HOME": "/root"},
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        read = json.loads(done.stdout)["services"]
        written = yaml.safe_load(files["compose.yaml"])["services"]
        assert set(read) == set(written)
        for name, service in read.items():
            if name == "balancer":
                continue
            # `config` writes a dollar as two again: what it prints can be read again
            assert service["command"] == written[name]["command"]
            assert service["healthcheck"]["test"] == written[name]["healthcheck"]["test"]
        seen += 1
        assert data["plans"]
    assert seen > 3 * COUNT


@pytest.mark.live
def test_compose_itself_refuses_what_it_does_not_know(tmp_path):
    text = launch_files("compose", base("vllm"))["compose.yaml"].replace("shm_size:", "shm_sizes:")
    (tmp_path / "compose.yaml").write_text(text)
    asked = [compose_program(), "-f", tmp_path / "compose.yaml", "config", "-q"]
    assert subprocess.run(asked, capture_output=True, timeout=60, check=False).returncode != 0


def verified(files):
    """What systemd says of units."""
    asked = ["systemd-analyze", "verify", "--man=no", *files]
    return subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.live
def test_systemd_itself_finds_nothing_to_say_of_any_unit(tmp_path):
    debian.needs("systemd")
    units = []
    for place, (_, files) in enumerate(exported("systemd")):
        for name in (one for one in files if one.endswith(".service")):
            units.append(tmp_path / f"p{place}-{name}")
            units[-1].write_text(files[name])
    assert len(units) > 3 * COUNT
    done = verified(units)
    assert (done.returncode, done.stderr) == (0, "")
    units[0].write_text(units[0].read_text().replace("Restart=on-failure", "Restart=maybe"))
    assert "maybe" in verified(units[:1]).stderr


@pytest.mark.live
def test_nginx_itself_takes_what_deals_requests_out(tmp_path):
    debian.needs("nginx-light")
    for engine in ("llama.cpp", "ollama", "tensorrt-llm"):
        data = copy.deepcopy(base(engine))
        data["plans"][0] |= {"n_chips": 4, "n_nodes": 1}
        data["plans"][0]["layout"] |= {"tp": 1, "pp": 1, "dp": 4}
        (tmp_path / "nginx.conf").write_text(launch_files(engine, data)["nginx.conf"])
        asked = ["nginx", "-t", "-q", "-c", tmp_path / "nginx.conf"]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False)
        assert (done.returncode, done.stderr) == (0, "")
