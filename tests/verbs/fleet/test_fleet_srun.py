"""One srun for all nodes, played: its labels, what it says of nodes, and those whose Python is too old."""

from __future__ import annotations

import os

import pytest

import spoken
from rigright.base.errors import AskError, MissingError
from rigright.machine.record import Machine
from rigright.machine.stored import plain
from rigright.verbs.fleet.jobs import FleetWish
from rigright.verbs.fleet.troubles import BROKEN_OFF, LATE
from rigright.verbs.fleet.verb import fleet

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the played srun is a POSIX shell's")
SRUN = """\
#!/bin/sh
# As srun: each line that comes back bears the number of its task. Of nodes that read on, one is asked.
echo "$*" >> {folder}/asked
list={nodes}
while [ "$1" != --job-name=rigright ]; do
  [ "$1" = --nodelist ] && list=$2
  shift
done
shift
task=0
for node in $(echo "$list" | tr , ' '); do
  (. {folder}/"$node".sh; exec "$@") | sed "s/^/$task: /"
  task=$((task + 1))
done
cat {folder}/complaints >&2
"""
SINFO = "#!/bin/sh\nprintf 'n1 idle\\nn2 idle\\nn3 drained\\nn4 idle*\\n'\n"


@pytest.fixture
def cluster(far, monkeypatch):
    """Nodes n1 and n2 are idle; what options choose is n1 and n2 as well."""
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    far.program("srun", SRUN.format(folder=far.folder, nodes="n1,n2"))
    far.program("sinfo", SINFO)
    (far.folder / "complaints").touch()
    for node in ("n1", "n2"):
        far.answer(node, {"node": node, "nodes": "n[1-2]", "machine": plain(Machine())})
    return far


def over(where="", what="probe", **more):
    return fleet(what, wish=FleetWish(over="slurm", where=where, patience_s=50.0, **more))


def troubles(found):
    return {node.node: str(node.trouble) for node in found.silent}


def test_idle_nodes_are_asked_and_the_others_are_left_out_with_their_state(cluster):
    found = over()
    assert {node.node for node in found.told} == {"n1", "n2"}
    states = {node.node: spoken.values(node.trouble)["state"] for node in found.silent}
    assert states == {"n3": "drained", "n4": "not responding"}
    assert len(cluster.lines("asked")) == 1


def test_a_job_asks_its_own_nodes_and_who_they_name(cluster, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n1")
    taken = "sed -n '/\"lifeline\": /{p;q;}' > given"
    cluster.script("n1", f"cd {cluster.folder}; {taken}; cat n1.told; exit 0")
    found = over()
    assert {node.node: node.trouble is None for node in found.nodes} == {"n1": True, "n2": False}
    assert found.silent[0].trouble != BROKEN_OFF, "it is named by the other, and says nothing"
    assert '"lifeline": false' in cluster.lines("given")[0], "srun ends what it started, not standard input"
    assert "--overlap --nodes 1 --nodelist n1" in cluster.lines("asked")[0]


def test_a_silent_node_has_the_reason_that_srun_gives_for_it(cluster):
    cluster.script("n2", "exit 1")
    complaints = "srun: error: Permission denied\nsrun: error: n2: task 1: Exited, connection refused\n"
    (cluster.folder / "complaints").write_text(complaints)
    assert "connection refused" in troubles(over())["n2"]


def test_options_choose_nodes_that_srun_alone_knows(cluster):
    found = over("-p 'my part' -N 2")
    assert {node.node for node in found.told} == {"n1", "n2"}
    assert cluster.lines("asked")[0].startswith("-p my part -N 2 --ntasks")
    cluster.script("n1", "exit 1")
    cluster.script("n2", "exit 1")
    (cluster.folder / "complaints").write_text("srun: error: Invalid partition name specified\n")
    with pytest.raises(MissingError, match="Invalid partition"):
        over("-p nowhere")
    with pytest.raises(AskError, match="srun"):
        over('-w "n1')


@pytest.mark.parametrize("where", ["", "-N 2"])
def test_nodes_without_python_are_read_by_their_shells_in_one_more_srun(cluster, where):
    cluster.without_python("n1", "healthy_2x4090", also="gzip base64")
    with (cluster.folder / "n1.sh").open("a") as script:
        script.write("export SLURMD_NODENAME=n1\n")
    cluster.script("n2", "echo rigright-no-python Python 3.9.2; exit 3")
    found = over(where)
    (node,) = found.told
    assert (node.node, node.machine.system.host) == ("n1", "n1")
    assert len(cluster.lines("asked")) == 2
    assert where or "--python" in troubles(found)["n2"]


def test_an_srun_that_hangs_is_left_with_its_last_words(cluster, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_PATIENCE", "0.01")
    cluster.program("srun", "#!/bin/sh\necho 'srun: job 7 queued' >&2\nexec sleep 600\n")
    found = fleet("probe", wish=FleetWish(over="slurm", patience_s=0.3))
    assert {"n1", "n2"} <= set(troubles(found))
    assert all("job 7 queued" in troubles(found)[node] for node in ("n1", "n2"))
    cluster.program("srun", "#!/bin/sh\nexec sleep 600\n")
    found = fleet("probe", wish=FleetWish(over="slurm", patience_s=0.3))
    assert {node.trouble for node in found.silent} >= {LATE}
