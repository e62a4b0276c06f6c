"""Over a real Slurm of two nodes on this host: srun asks both, the health program drains the faulty one."""

from __future__ import annotations

import pytest
from slurm_cluster import two_nodes

from rigright.base.errors import MissingError
from rigright.machine.bench.record import BenchWish
from rigright.machine.remote.parcel import Bench, RemoteRequest
from rigright.verbs.fleet.hosts import expand, folded
from rigright.verbs.fleet.jobs import FleetWish, NodeJob, run, runner_of
from rigright.verbs.fleet.runners.slurm import RUNNER
from rigright.verbs.fleet.verb import fleet

pytestmark = pytest.mark.live

MACHINES = {"n1": "healthy_8xh100", "n2": "lost_gpu"}


@pytest.fixture(scope="module")
def cluster():
    with two_nodes(MACHINES) as slurm:
        yield slurm


@pytest.fixture
def slurm(cluster, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", str(cluster.conf))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    yield cluster
    cluster.heal()


def over(where="", what="doctor", patience_s=60.0):
    return fleet(what, wish=FleetWish(over="slurm", where=where, patience_s=patience_s))


def test_srun_asks_every_idle_node_and_each_tells_of_its_own_machine(slurm):
    found = over()
    assert {one.node for one in found.told} == {"n1", "n2"}, [str(one.trouble) for one in found.silent]
    by_node = {one.node: one for one in found.told}
    assert by_node["n1"].machine.system.host == "n1"
    lost = [one for _, one in by_node["n2"].findings if one.about == "gpu 3" and one.severity == "fault"]
    assert lost
    assert not [one for _, one in by_node["n1"].findings if one.severity == "fault"]
    assert found.exit_code == 20
    assert slurm.waits_for(lambda: slurm.states() == {"n1": "idle", "n2": "idle"}), "asking changes nothing"


@pytest.mark.parametrize("where", ["", "--nodelist=n[1-2] -N 2"])
def test_nodes_without_python_are_read_by_their_shells_in_one_more_srun(slurm, where):
    wish = FleetWish(over="slurm", where=where, python="/nowhere/python3", patience_s=60.0)
    found = fleet("doctor", wish=wish)
    by_node = {one.node: one for one in found.told}
    assert set(by_node) == {"n1", "n2"}, [str(one.trouble) for one in found.silent]
    assert all(len(one.machine.pci) > 8 for one in by_node.values())
    assert slurm.states().keys() == {"n1", "n2"}


@pytest.mark.usefixtures("slurm")
def test_jobs_that_are_asked_together_all_answer():
    """One that is done stops no other, however long that takes."""
    short = RemoteRequest(patience_s=60.0)
    long = RemoteRequest(patience_s=60.0, bench=Bench(wish=BenchWish(quick=True), parts=("ram",)))
    jobs = [NodeJob(nodes=("n1",), request=short), NodeJob(nodes=("n2",), request=long)]
    reports = [report for _, report in run(runner_of(FleetWish(over="slurm")), jobs)]
    assert {report.node for report in reports if report.machine is not None} == {"n1", "n2"}


def test_options_of_srun_choose_the_nodes(slurm):
    found = over("--nodelist=n2 -N 1", what="probe")
    assert [one.node for one in found.nodes] == ["n2"]
    assert slurm.waits_for(lambda: slurm.states()["n2"] == "idle")


@pytest.mark.parametrize(
    ("where", "said"),
    [("-p nowhere", "Invalid partition"), ("--no-such-option", "no-such-option"), ("-w n7", "n7|node")],
)
@pytest.mark.usefixtures("slurm")
def test_what_srun_refuses_is_told_in_its_words(where, said):
    with pytest.raises(MissingError, match=said):
        over(where, what="probe")


def test_waiting_for_nodes_that_never_come_ends(slurm, monkeypatch):
    monkeypatch.setattr(RUNNER, "reach_s", 1.0)
    with pytest.raises(MissingError, match="timed out"):
        over("-N 2 --exclusive --begin=now+1hour", what="probe", patience_s=1.0)
    assert slurm.waits_for(lambda: not slurm.run("squeue", "-h").strip(), 20), "the job was left in the queue"


def test_names_are_folded_as_slurm_folds_them(slurm):
    names = ["n01", "n02", "n03", "n10", "gpu9", "login"]
    assert sorted(slurm.run("scontrol", "show", "hostnames", folded(names)).split()) == sorted(names)
    assert set(expand(slurm.run("scontrol", "show", "hostlist", ",".join(names)).strip())) == set(names)


def test_a_faulty_node_drains_itself_with_the_reason_and_the_healthy_one_stays(slurm):
    """As our own files set it up; somebody's own reason is kept, and nothing resumes by itself."""
    (slurm.folder / "armed").touch()
    assert slurm.waits_for(lambda: slurm.states()["n2"].startswith("drain")), health_log(slurm)
    reason = slurm.run("sinfo", "-h", "-N", "-n", "n2", "-o", "%E").strip()
    assert reason.startswith("rigright: gpu 3: "), reason
    assert slurm.waits_for(lambda: slurm.codes("n1") and slurm.codes("n2")), health_log(slurm)
    assert slurm.states()["n1"] == "idle"
    assert "20" not in slurm.codes("n1")

    slurm.run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=mine")
    looked = len(slurm.codes("n2"))
    assert slurm.waits_for(lambda: len(slurm.codes("n2")) >= looked + 2), health_log(slurm)
    assert slurm.run("sinfo", "-h", "-N", "-n", "n2", "-o", "%E").strip() == "mine"

    found = over(what="probe")
    silent = {one.node: str(one.trouble) for one in found.silent}
    assert [one.node for one in found.told] == ["n1"]
    assert "drain" in silent["n2"]


def health_log(slurm):
    return {path.name: path.read_text()[-600:] for path in slurm.folder.glob("*.health")}
