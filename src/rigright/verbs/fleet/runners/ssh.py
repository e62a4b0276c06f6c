"""Over ssh, with the keys and the configuration that the user has: nothing has to be installed there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rigright.base.patience import patience
from rigright.base.words import say
from rigright.machine.remote.talk import talk
from rigright.verbs.fleet.hosts import hosts_of
from rigright.verbs.fleet.jobs import FleetWish, Runner, program
from rigright.verbs.fleet.nodes import NodeReport

_CONNECT_S = 10
OPTIONS = (
    "-T",
    *("-o", "BatchMode=yes"),  # a question nobody answers is an error at once
    *("-o", f"ConnectTimeout={_CONNECT_S}"),
    *("-o", "ControlMaster=no"),
    *("-o", "ServerAliveInterval=10"),
    *("-o", "ServerAliveCountMax=3"),
    *("-o", "ClearAllForwardings=yes"),
    *("-o", "ForwardAgent=no"),
    *("-o", "LogLevel=ERROR"),
)


class _Ssh(Runner):
    """A program for each host."""

    name, flag = "ssh", "hosts"
    reach_s = 15.0

    def __init__(self, wish: FleetWish) -> None:
        super().__init__(wish)
        self._hosts = hosts_of(wish.where)
        self._ssh = program("ssh", missing=say("ssh not found: install an OpenSSH client"))
        self._options = (*OPTIONS, *wish.options, "--")

    def expected(self) -> Iterator[NodeReport]:
        """The hosts that were named."""
        return (NodeReport(node=host) for host in self._hosts)

    def argv(self, nodes: Sequence[str], line: str) -> tuple[str, ...]:
        """The user's ssh, which asks nothing."""
        return (self._ssh, *self._options, *nodes, line)

    def address(self, node: str) -> str:
        """What the user's configuration puts in the place of a host's name: other nodes do not have it."""
        output = talk((self._ssh, "-G", *self._options, node), patience_s=patience(_CONNECT_S)).output
        pairs = (line.split(maxsplit=1) for line in output.decode("utf-8", "replace").splitlines())
        names = [pair[1].strip() for pair in pairs if len(pair) == 2 and pair[0].lower() == "hostname"]
        return names[0] if names else node.rpartition("@")[2]


RUNNER = _Ssh
