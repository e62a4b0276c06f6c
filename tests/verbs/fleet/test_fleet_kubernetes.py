"""Manifests that a validator of Kubernetes takes, and answers read from pods' logs by a played kubectl."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import spoken
from rigright.base.errors import AskError, MissingError
from rigright.faces.cli.main import main
from rigright.machine.device import Device
from rigright.machine.record import Machine
from rigright.machine.remote.envelope import heard, lines
from rigright.machine.stored import plain
from rigright.machine.system import System
from rigright.verbs.fleet.health import files
from rigright.verbs.fleet.jobs import FleetWish
from rigright.verbs.fleet.verb import fleet

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the played kubectl is a script with a first line")
KINDS = {
    "probe": {},
    "job": {"nodes": 4},
    "watch": {"metrics": True, "image": "registry.example/rigright:1"},
}
MEGA = 2**20


def manifest(**options):
    ((_, text),) = files("kubernetes", **options).items()
    return text


def validated(text, tmp_path):
    """What kubernetes-validate says, strictly."""
    told = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(told), redirect_stderr(told):
        warnings.simplefilter("ignore")  # what it says of its own libraries
        checking = pytest.importorskip("kubernetes_validate.utils")
        file = tmp_path / "manifest.yaml"
        file.write_text(text, encoding="utf-8")
        newest = checking.latest_version()
        code = checking.validate_file(str(file), newest, strict=True, quiet=False, no_warn=True)
    return code, told.getvalue()


def test_a_manifest_is_valid(tmp_path):
    for kind, options in KINDS.items():
        code, said = validated(manifest(**options), tmp_path)
        assert code == 0, (kind, said)
        assert ("job" if kind == "job" else "daemonset") in said


def test_a_wrong_word_in_it_is_noticed(tmp_path):
    """So that the test above can fail."""
    for kind, right, wrong in (
        ("probe", "containers:", "containerz:"),
        ("job", "mountPath:", "mountPaht:"),
        ("watch", "capabilities:", "capability:"),
    ):
        text = manifest(**KINDS[kind])
        assert right in text
        code, _ = validated(text.replace(right, wrong, 1), tmp_path)
        assert code != 0, (kind, wrong)


def test_pods_have_no_more_rights_than_reading():
    for options in KINDS.values():
        text = manifest(**options)
        assert "privileged:" not in text
        assert "hostNetwork" not in text
        assert "hostPID" not in text
        assert text.count("drop: [ALL]") == text.count("readOnlyRootFilesystem: true") == 1
        assert "automountServiceAccountToken: false" in text
        mounts = re.findall(r"mountPath: (\S+?)[,}](.*)", text)
        assert {place for place, rest in mounts if "readOnly: true" not in rest} == {"/tmp"}  # noqa: S108 - in the pod


def test_the_parcel_in_it_is_the_program_and_fits_into_a_config_map():
    (packed,) = re.findall(r'parcel: "([A-Za-z0-9+/=]+)"', manifest())
    assert len(packed) < MEGA
    assert b"first to land" in base64.b64decode(packed)[:200]


def test_the_container_line_does_what_it_says(tmp_path):
    """The very words of the manifest, run by a shell with the parcel where the pod has it."""
    text = manifest(nodes=1)
    (packed,) = re.findall(r'parcel: "([A-Za-z0-9+/=]+)"', text)
    (line,) = re.findall(r"- \|-\n\s+(.+)\n", text)
    (tmp_path / "parcel").write_bytes(base64.b64decode(packed))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sleep").symlink_to("/bin/true")
    line = line.replace("/parcel/parcel", shlex.quote(str(tmp_path / "parcel")))
    env = os.environ | {
        "PATH": f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NODE_NAME": "node-7",
    }
    done = subprocess.run(["sh", "-c", line], env=env, capture_output=True, timeout=60, check=True)
    (told,) = heard(done.stdout)
    assert told["node"] == "node-7"
    assert told["machine"]["cpu"]["threads"]


@pytest.mark.parametrize("image", ["", "a b", "x\ny", 'x"', "-x", "$(id)", "x" * 300])
def test_a_name_that_is_no_image(image):
    with pytest.raises(AskError) as refused:
        files("kubernetes", image=image)
    assert f'"{image[:60]}"' in str(refused.value)


def test_metrics_need_an_image_with_rigright():
    with pytest.raises(AskError, match="--image"):
        files("kubernetes", metrics=True)


@pytest.mark.parametrize("nodes", [0, -1, 10**6])
def test_a_number_of_nodes_that_nobody_has(nodes):
    with pytest.raises(AskError) as refused:
        files("kubernetes", nodes=nodes)
    assert str(nodes) in spoken.shown(refused.value.sentence)


def test_files_are_printed_as_they_are(capsys):
    assert main(["fleet", "files", "--kubernetes", "--nodes", "3"]) == 0
    assert capsys.readouterr().out == manifest(nodes=3)
    assert main(["fleet", "files", "--slurm", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["files"]
    assert set(told) == {"rigright-health.sh", "slurm.conf"}
    assert main(["fleet", "files"]) == 2
    said = capsys.readouterr().err
    assert all(way in said for way in ("--slurm", "--kubernetes", "--shell"))


KUBECTL = """\
#!{python}
import json, sys
from pathlib import Path
folder = Path({folder!r})
words = sys.argv[1:]
(folder / "asked").open("a").write(json.dumps(words) + "\\n")
if "get" in words:
    file = folder / "pods.json"
    if not file.exists():
        sys.exit("error: the server doesn't have a resource type \\"pods\\"")
    sys.stdout.write(file.read_text())
else:
    pod = words[words.index("logs") + 3]
    log = folder / (pod + ".log")
    if not log.exists():
        sys.exit("Error from server (BadRequest): container \\"probe\\" is waiting to start")
    sys.stdout.buffer.write(log.read_bytes())
"""


def pod(name, node, phase="Running", created="2026-11-22T10:00:00Z", **status):
    return {
        "metadata": {"name": name, "namespace": "rigright", "creationTimestamp": created},
        "spec": {"nodeName": node},
        "status": {"phase": phase, **status},
    }


@pytest.fixture
def cluster(far):
    """A kubectl that shows pods and logs from a folder."""
    far.program("kubectl", KUBECTL.format(python=sys.executable, folder=str(far.folder)))
    return far


def log_of(node, *devices):
    """What a pod on a node with these cards writes."""
    told = {"node": node, "machine": plain(Machine(devices=devices, system=System(host=node)))}
    return b"time=now level=info something else\n" + "".join(lines(told)).encode()


def over(**more):
    return fleet("doctor", wish=FleetWish(over="kubernetes", **more))


def test_pods_logs_are_answers_of_their_nodes(cluster):
    pods = [
        pod("a", "node-a"),
        pod("old", "node-a", created="2026-11-21T10:00:00Z"),
        pod("b", "node-b"),
        pod("c", "node-c", "Pending", conditions=[{"status": "False", "message": "0/3 nodes are available"}]),
        pod("d", "node-d"),
        pod("e", "node-e"),
    ]
    (cluster.folder / "pods.json").write_text(json.dumps({"items": pods}), encoding="utf-8")
    (cluster.folder / "a.log").write_bytes(log_of("node-a", Device(index=3, vendor="nvidia", state="lost")))
    healthy = log_of("node-b", Device(index=0, vendor="nvidia", name="NVIDIA H100 80GB HBM3"))
    (cluster.folder / "b.log").write_bytes(healthy + healthy)
    (cluster.folder / "e.log").write_bytes(b"just started\n")
    found = over(options=("--context", "lab"))
    assert {one.node for one in found.told} == {"node-a", "node-b"}
    by_node = {one.node: one for one in found.nodes}
    assert any(one.about == "gpu 3" for _, one in by_node["node-a"].findings)
    assert "0/3 nodes are available" in str(by_node["node-c"].trouble)
    assert '"probe"' in str(by_node["node-d"].trouble), "what the server says of its container"
    assert spoken.values(by_node["node-e"].trouble) == {"pod": "e"}
    asked = [json.loads(line) for line in cluster.lines("asked")]
    assert all(words[:2] == ["--context", "lab"] for words in asked)
    assert not any("old" in words for words in asked), "the newest pod of a node speaks for it"


def test_a_kubectl_that_answers_otherwise(cluster):
    others = ["{}", "[]", '{"items": [{}]}', '{"items": [1]}', '{"items": {"a": 1}}', "not json"]
    for text in (None, *others, "[" * 100_000):
        if text is not None:
            (cluster.folder / "pods.json").write_text(text, encoding="utf-8")
        with pytest.raises(MissingError):
            over()


def test_no_pods_says_how_to_start_them(cluster):
    (cluster.folder / "pods.json").write_text('{"items": []}', encoding="utf-8")
    with pytest.raises(MissingError, match="fleet files --kubernetes"):
        over()


def test_pods_do_not_bench(cluster):
    with pytest.raises(AskError):
        fleet("bench", wish=FleetWish(over="kubernetes"))
    assert cluster.lines("asked") == []
