"""Over a real Ray of two nodes on loopback: one task a node, each tells of its own machine."""

from __future__ import annotations

import pytest
from far_nodes import FarNodes

from ray_nodes import two_nodes
from rigright.base.errors import AskError, MissingError
from rigright.verbs.fleet.frame import FleetWish, fleet

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The second node has the machine of a scenario; the first one is this host."""
    pytest.importorskip("pynvml", reason="the module of readings goes along to the nodes from here")
    far = FarNodes(tmp_path_factory.mktemp("ray") / "far")
    settings = far.settings("second", "x8_link")
    with two_nodes({name: value for name, value in settings.items() if name != "PATH"}) as address:
        yield address


def over(where, what="doctor"):
    return fleet(what, wish=FleetWish(over="ray", where=where, patience_s=60.0))


def test_each_node_tells_of_its_own_machine(cluster):
    found = over(cluster)
    assert len(found.told) == 2, [str(one.trouble) for one in found.silent]
    assert len({one.node for one in found.nodes}) == 2
    cards = {len(one.machine.devices): one for one in found.told}
    assert 8 in cards, "the second node's played cards are seen from a worker of Ray"
    assert any("x8 instead of x16" in str(one.title) for _, one in cards[8].findings)
    shown = dict(cards[8].machine.environment)
    assert "CUDA_VISIBLE_DEVICES" not in shown, "what Ray empties for a task is not the node's"


@pytest.mark.parametrize(
    ("address", "kind", "said"),
    [
        ("127.0.0.1:1", MissingError, "no answer from"),
        ("nowhere", AskError, "host:port"),
        ("127.0.0.1:x", AskError, "host:port"),
    ],
)
def test_a_cluster_that_is_not_there_is_told_at_once(address, kind, said):
    pytest.importorskip("ray")
    with pytest.raises(kind, match=said):
        over(address)


def test_without_ray_it_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingError, match="pip install"):
        over("127.0.0.1:6379")
